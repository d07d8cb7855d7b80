//! The one module that names where ciphers come from.

use std::sync::{Arc, LazyLock};

use rustls::crypto::CryptoProvider;

static PROVIDER: LazyLock<Arc<CryptoProvider>> =
    LazyLock::new(|| Arc::new(rustls::crypto::ring::default_provider()));

/// The ciphers, signatures and random numbers of TLS. It is never set as the process's default: a
/// program that farroot is part of may have another.
pub fn provider() -> Arc<CryptoProvider> {
    PROVIDER.clone()
}
