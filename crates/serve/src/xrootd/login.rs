//! Logins: the identity that a client proves at the beginning of a connection.

use std::sync::Arc;

use xrootd::error::ErrorCode;
use xrootd::message::auth::Auth;
use xrootd::server::Tag;

use super::Connection;
use super::answer::Outcome;
use super::asking::Asking;
use crate::access::Visitor;
use crate::gsi::GSI;

impl Connection {
    pub(super) fn asking(&self) -> Asking {
        let Connection { guard, client, visitor, peer, .. } = self;
        let guard = guard.clone();
        let client = client.clone();
        let visitor = visitor.clone();
        Asking { guard, client, visitor, peer: peer.clone() }
    }

    /// Starts to find out who a client is.
    pub(super) fn take_up_login(&mut self, tag: Tag, auth: &Auth) {
        if auth.protocol == GSI {
            return self.take_up_gsi(tag, auth.credential.clone());
        }
        let token = token_of_login(auth).map(str::to_owned);
        let guard = self.guard.clone();
        let peer = self.peer.clone();
        self.work.spawn(async move {
            let visitor = match token {
                Some(token) => guard.visitor_of_token(&token, &peer).await,
                None => guard.visitor_of_peer(&peer).await,
            };
            Outcome::LoggedIn { tag, visitor }
        });
    }

    /// Where rules decide for each file, a client that has proved nothing may log in, too.
    pub(super) fn finish_login(&mut self, tag: Tag, visitor: Visitor) {
        if self.guard.has_rules() || self.guard.knows(&visitor) {
            self.visitor = Arc::new(visitor);
            return self.server.answer_done(tag);
        }
        let text = "this token may not read here";
        self.server.answer_error(tag, ErrorCode::AUTH_FAILED, text);
    }
}

/// The token of a `ztn` credential: the protocol's name, a version, `T`, two bytes, the length with
/// the NUL at the end, the token.
fn token_of_login(auth: &Auth) -> Option<&str> {
    let token = auth.credential.strip_prefix(b"ztn\0\0T\0\0")?;
    let (length, token) = token.split_first_chunk::<2>()?;
    let token = token.get(..usize::from(u16::from_be_bytes(*length)).checked_sub(1)?)?;
    std::str::from_utf8(token).ok()
}
