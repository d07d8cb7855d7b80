//! The client of a connection, for work away from it: by the login, or by a token with a path.

use std::sync::Arc;

use crate::access::Visitor;
use crate::clients::Client;
use crate::far::token_of_name;
use crate::guard::Guard;
use crate::guest::Guest;
use crate::peer::Peer;

/// The client of a connection, for work away from it.
#[derive(Debug, Clone)]
pub struct Asking {
    pub guard: Guard,
    pub client: Arc<Client>,
    pub visitor: Arc<Visitor>,
    pub peer: Peer,
}

impl Asking {
    /// The client for a request about a path: by the token in its query, if rules want one and it
    /// has one, else by the login.
    pub async fn guest(&self, path: &str) -> Guest {
        let Asking { guard, client, visitor, peer } = self;
        let token = token_of_name(path).filter(|_| guard.has_rules());
        let visitor = match token {
            Some(token) => Arc::new(guard.visitor_of_token(&token, peer).await),
            None if peer.shown.is_none() => visitor.clone(),
            // Authorities may have changed since the login.
            None => {
                let certificate = guard.certificate(peer).await;
                Arc::new(Visitor { certificate, ..Visitor::clone(visitor) })
            }
        };
        Guest::new(client.clone(), visitor, guard.clone())
    }
}
