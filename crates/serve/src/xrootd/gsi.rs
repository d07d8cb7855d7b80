//! Logins by `gsi`: two messages of the client, and one of this server between them.

use std::sync::Arc;

use bytes::Bytes;
use xrootd::error::ErrorCode;
use xrootd::server::Tag;

use super::Connection;
use super::answer::Outcome;
use crate::gsi::GsiStep;

/// Attempts of one connection: each costs two signatures.
const ATTEMPTS_MAX: usize = 3;

impl Connection {
    /// Starts to compute the answer to a message.
    pub(super) fn take_up_gsi(&mut self, tag: Tag, message: Bytes) {
        let begun = self.gsi.begun.take();
        self.gsi.attempts += usize::from(begun.is_none());
        let host = self.guard.gsi().filter(|_| self.gsi.attempts <= ATTEMPTS_MAX);
        let Some(host) = host else {
            let text = "gsi is not possible here, or was tried too often";
            return self.server.answer_error(tag, ErrorCode::AUTH_FAILED, text);
        };
        self.work.spawn(async move {
            let made = tokio::task::spawn_blocking(move || host.step(begun, &message)).await;
            let step = made.unwrap_or_else(|error| Err(error.to_string()));
            Outcome::Gsi { tag, step }
        });
    }

    /// Answers a message. Who has a certificate that is not accepted may log in, too.
    pub(super) fn finish_gsi(&mut self, tag: Tag, step: Result<GsiStep, String>) {
        match step {
            Ok(GsiStep::More(exchange, answer)) => {
                self.gsi.begun = Some(*exchange);
                self.server.answer_more(tag, answer);
            }
            Ok(GsiStep::Proved(shown)) => {
                self.peer.shown = Some(Arc::new(shown));
                let guard = self.guard.clone();
                let peer = self.peer.clone();
                self.work.spawn(async move {
                    Outcome::LoggedIn { tag, visitor: Ok(guard.visitor_of_peer(&peer).await) }
                });
            }
            Err(why) => self.server.answer_error(tag, ErrorCode::AUTH_FAILED, &why),
        }
    }
}
