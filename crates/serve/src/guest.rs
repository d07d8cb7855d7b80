//! Clients, each for one request.

use std::io;
use std::sync::Arc;

use remote::cache::Charges;

use crate::access::{ServedPlace, Visitor};
use crate::clients::Client;
use crate::guard::Guard;

/// A client for one request: its connection, who it has proved to be, and what it may read. Cheap
/// to clone.
#[derive(Debug, Clone)]
pub struct Guest {
    pub client: Arc<Client>,
    pub visitor: Arc<Visitor>,
    guard: Guard,
}

impl Guest {
    pub fn new(client: Arc<Client>, visitor: Arc<Visitor>, guard: Guard) -> Self {
        Guest { client, visitor, guard }
    }

    /// Whether it may read there.
    ///
    /// # Errors
    /// `PermissionDenied`, with a [`Denial`](crate::access::Denial).
    pub fn may_read(&self, place: &ServedPlace) -> io::Result<()> {
        self.guard.decide(&self.visitor, place)
    }

    /// The quotas of the cache that bytes for it are charged to.
    pub fn charges(&self) -> Charges {
        self.guard.charges(&self.visitor)
    }

    /// Whether rules decide for each file.
    pub fn has_rules(&self) -> bool {
        self.guard.has_rules()
    }
}
