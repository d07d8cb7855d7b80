//! Which server an address names: the one place that knows every protocol.

use std::sync::Arc;

use super::Server;
use super::http::HttpServer;
use super::local::LocalServer;
use super::network::Network;
use super::xrootd::XrootdServer;
use crate::address::{Address, Scheme};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};

/// The server that a file's address names.
///
/// # Errors
/// `Unsupported` for schemes that this version does not speak.
pub fn server_for(
    url: &Address,
    config: &Config,
    network: Arc<dyn Network>,
) -> Result<Arc<dyn Server>> {
    match url.scheme() {
        Scheme::Local => Ok(Arc::new(LocalServer::new())),
        Scheme::Http | Scheme::Https | Scheme::S3 => {
            Ok(Arc::new(HttpServer::new(url, config, network)?))
        }
        Scheme::Root | Scheme::Roots => Ok(Arc::new(XrootdServer::new(url, config, network)?)),
        // Its director is asked first.
        encrypted @ Scheme::Pelican => {
            let what = format!("{} is not supported by this version", encrypted.name());
            let error = Error::new(ErrorKind::Unsupported, what).with_url(url.to_string());
            Err(error.with_advice("use root:// or http:// where the server has it"))
        }
    }
}
