//! Which server an address names: the one place that knows every protocol.

use std::sync::Arc;

use super::Server;
use super::http::HttpServer;
use super::local::LocalServer;
use super::network::Network;
use super::pelican::PelicanServer;
use super::xrootd::XrootdServer;
use crate::address::{Address, Scheme};
use crate::config::Config;
use crate::error::Result;

/// The server that a file's address names.
///
/// # Errors
/// `InvalidArgument` for an address, or settings, that name no server.
pub fn server_for(
    url: &Address,
    config: &Config,
    network: Arc<dyn Network>,
) -> Result<Arc<dyn Server>> {
    let own = url.access().map(|access| access.apply(config));
    let config = own.as_ref().unwrap_or(config);
    match url.scheme() {
        Scheme::Local => Ok(Arc::new(LocalServer::new())),
        Scheme::Http | Scheme::Https | Scheme::S3 => {
            Ok(Arc::new(HttpServer::new(url, config, network)?))
        }
        Scheme::Pelican => Ok(Arc::new(PelicanServer::new(url, config, network)?)),
        Scheme::Root | Scheme::Roots => Ok(Arc::new(XrootdServer::new(url, config, network)?)),
    }
}
