//! TLS around a byte stream, for https and within XRootD.
//!
//! [`provider`] names where ciphers are from, [`trust`] whose signatures are trusted, [`verifier`]
//! checks servers by it, [`config`] adds the user's certificate, [`stream`] is the stream itself,
//! and [`failure`] describes failures in words.
//!
//! A [`TlsSession`] is made before there is a connection, and so its first message can leave with
//! bytes of the caller; [`TlsSession::over`] gives the stream. Versions before 1.2 are not spoken.

mod config;
mod failure;
mod outside;
mod provider;
mod stream;
mod trust;
mod verifier;

pub use config::{TlsConfig, client_config, config_for};
pub use failure::{Failure, Stage};
pub use outside::verify_host;
pub use provider::provider;
pub use stream::{Encrypted, Handshake, Peer, TlsSession};
pub use trust::Trust;

use std::io;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::source::network::Stream;

/// TLS over a stream, with a server of this name. The handshake goes on while the stream is read,
/// and bytes that are written before its end leave with it.
///
/// # Errors
/// `InvalidArgument` for a name that no certificate can have.
pub fn connect(stream: Box<dyn Stream>, host: &str, config: &Arc<TlsConfig>) -> Result<Encrypted> {
    Ok(TlsSession::new(host, config, &[])?.over(stream, &[]))
}

/// The words for an error of such a stream; for another one its own.
pub fn explain(error: &io::Error) -> Error {
    match Failure::of(error) {
        Some(failure) => failure.explain(),
        None => Error::new(ErrorKind::Connection, error.to_string()),
    }
}

#[cfg(test)]
mod tests;
