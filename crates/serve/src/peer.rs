//! A connection as far as it tells who its client is.

use std::sync::Arc;

use crate::access::ShownChain;

/// A connection as far as it tells who its client is.
#[derive(Debug, Clone, Default)]
pub struct Peer {
    pub is_encrypted: bool,
    /// Certificates of the key that the client has proved to have, here and nowhere else.
    pub shown: Option<Arc<ShownChain>>,
}

impl Peer {
    /// Within TLS, in which a client has shown these certificates.
    pub fn within_tls(session: &rustls::ServerConnection) -> Self {
        let shown = session.peer_certificates().filter(|chain| !chain.is_empty());
        let shown = shown.map(|chain| chain.iter().map(|one| one.to_vec()).collect());
        Peer { is_encrypted: true, shown: shown.map(|chain| Arc::new(ShownChain::new(chain))) }
    }
}
