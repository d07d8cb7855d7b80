//! Logins: the identity that a client proves at the beginning of a connection.

use std::sync::Arc;

use bytes::Bytes;
use secrecy::ExposeSecret;
use xrootd::auth::{krb5, token_of};
use xrootd::error::ErrorCode;
use xrootd::message::auth::Auth;
use xrootd::server::Tag;

use super::Connection;
use super::answer::Outcome;
use super::asking::Asking;
use crate::access::Visitor;
use crate::gsi::GSI;
use crate::guard::Guard;
use crate::peer::Peer;

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
        let auth = auth.clone();
        let guard = self.guard.clone();
        let peer = self.peer.clone();
        self.work.spawn(async move {
            let visitor = visitor_of_login(&guard, &auth, &peer).await;
            Outcome::LoggedIn { tag, visitor }
        });
    }

    /// Where rules decide for each file, a client that has proved nothing may log in, too.
    /// One whose proof is refused is told why: it may go on to another login.
    pub(super) fn finish_login(&mut self, tag: Tag, visitor: Result<Visitor, String>) {
        let visitor = match visitor {
            Ok(visitor) => visitor,
            Err(why) => return self.server.answer_error(tag, ErrorCode::AUTH_FAILED, &why),
        };
        if self.guard.has_rules() || self.guard.knows(&visitor) {
            self.visitor = Arc::new(visitor);
            return self.server.answer_done(tag);
        }
        let text = "this token may not read here";
        self.server.answer_error(tag, ErrorCode::AUTH_FAILED, text);
    }
}

/// Who a client is that logs in so. A token that is malformed is none.
async fn visitor_of_login(guard: &Guard, auth: &Auth, peer: &Peer) -> Result<Visitor, String> {
    if &auth.protocol == b"krb5" {
        let request = krb5::request_of(&auth.credential).map_err(|error| error.to_string())?;
        return guard.visitor_of_ticket(Bytes::copy_from_slice(request), peer).await;
    }
    Ok(match token_of(&auth.credential) {
        Ok(token) => guard.visitor_of_token(token.expose_secret(), peer).await,
        Err(_) => guard.visitor_of_peer(peer).await,
    })
}
