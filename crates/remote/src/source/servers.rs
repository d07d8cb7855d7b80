//! Which server an address names: the one place that knows every protocol.

use std::borrow::Cow;
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
use credentials::Choice;

/// The configuration with what the caller said of credentials with this address.
pub fn config_for<'a>(url: &Address, config: &'a Config) -> Cow<'a, Config> {
    let Some(access) = url.access() else { return Cow::Borrowed(config) };
    // What the call names of who asks goes before all that the settings name.
    let (said, set) = (access.choice.clone(), config.wallet.choice().clone());
    let says_who = said.token.is_some()
        || said.proxy.is_some()
        || said.ccache.is_some()
        || said.order.is_some();
    let s3_profile = said.s3_profile.clone().or(set.s3_profile.clone());
    let choice = if says_who { said } else { set };
    let wallet = config.wallet.with(Choice { s3_profile, ..choice });
    Cow::Owned(Config { wallet, insecure: access.insecure, ..config.clone() })
}

/// The server that a file's address names.
///
/// # Errors
/// `InvalidArgument` for an address, or settings, that name no server.
pub fn server_for(
    url: &Address,
    config: &Config,
    network: Arc<dyn Network>,
) -> Result<Arc<dyn Server>> {
    let config = &*config_for(url, config);
    match url.scheme() {
        Scheme::Local => Ok(Arc::new(LocalServer::new())),
        Scheme::Http | Scheme::Https | Scheme::S3 => {
            Ok(Arc::new(HttpServer::new(url, config, network)?))
        }
        Scheme::Pelican => Ok(Arc::new(PelicanServer::new(url, config, network)?)),
        Scheme::Root | Scheme::Roots => Ok(Arc::new(XrootdServer::new(url, config, network)?)),
    }
}
