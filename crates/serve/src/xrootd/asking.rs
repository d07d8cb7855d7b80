//! The client of a connection, for work away from it: by the login, or by a token with a path.

use std::sync::Arc;

use crate::access::Visitor;
use crate::clients::Client;
use crate::far::token_of_name;
use crate::guard::Guard;
use crate::guest::Guest;

/// The client of a connection, for work away from it.
#[derive(Debug, Clone)]
pub struct Asking {
    pub guard: Guard,
    pub client: Arc<Client>,
    pub visitor: Arc<Visitor>,
    pub is_encrypted: bool,
}

impl Asking {
    /// The client for a request about a path: by the token in its query, if rules want one and it
    /// has one, else by the login.
    pub async fn guest(&self, path: &str) -> Guest {
        let Asking { guard, client, visitor, is_encrypted } = self;
        let token = token_of_name(path).filter(|_| guard.has_rules());
        let visitor = match token {
            Some(token) => Arc::new(guard.visitor_of_token(&token, *is_encrypted).await),
            None => visitor.clone(),
        };
        Guest::new(client.clone(), visitor, guard.clone())
    }
}
