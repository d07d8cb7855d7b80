//! TLS around a session, as far as its messages depend on it.

/// Whether the session is inside TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    Off,
    /// Asked for, and not answered.
    Asked,
    On,
}
