//! The common form of protocols of authentication: messages there and back.

use std::fmt;

use bytes::Bytes;

use super::gsi::SessionKey;

/// A message of an authentication.
#[derive(Clone, PartialEq, Eq)]
pub struct Step {
    pub credential: Bytes,
    /// Whether the server needs no further message, so that requests may follow at once.
    pub last: bool,
}

/// One authentication under way. An error says why the exchange cannot go on, without a secret.
pub trait Exchange: fmt::Debug + Send + Sync {
    /// The first message. `arguments` is the text behind the protocol's name in the server's offer.
    fn begin(&mut self, arguments: &str) -> Result<Step, String>;

    /// The message that answers kXR_authmore.
    fn proceed(&mut self, challenge: &[u8]) -> Result<Step, String>;

    /// The key that both sides have after the last message, once; most protocols make none.
    fn session_key(&mut self) -> Option<SessionKey> {
        None
    }
}

impl Step {
    /// A message behind which requests may follow.
    pub fn last(credential: Bytes) -> Step {
        Step { credential, last: true }
    }

    /// A message that the server answers by a challenge.
    pub fn more(credential: Bytes) -> Step {
        Step { credential, last: false }
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Step {{ {} bytes, last: {} }}", self.credential.len(), self.last)
    }
}

/// The error of a protocol of one step where the server wants another.
pub(super) fn no_further_step(name: &str) -> Result<Step, String> {
    Err(format!("the server wants a further step, and {name} has none"))
}
