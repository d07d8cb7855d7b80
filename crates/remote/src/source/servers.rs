//! The server that an address names: the one place that knows every protocol.

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

/// The configuration with the caller's choice of credentials for this address.
pub fn config_for<'a>(url: &Address, config: &'a Config) -> Cow<'a, Config> {
    let Some(access) = url.access() else { return Cow::Borrowed(config) };
    // Credentials that the call names go before all that the settings name.
    let said = access.choice.clone();
    let set = config.credential_store.choice().clone();
    let says_who = said.token.is_some()
        || said.proxy.is_some()
        || said.ccache.is_some()
        || said.order.is_some();
    let s3_profile = said.s3_profile.clone().or(set.s3_profile.clone());
    let choice = if says_who { said } else { set };
    let credential_store = config.credential_store.with(Choice { s3_profile, ..choice });
    Cow::Owned(Config { credential_store, insecure: access.insecure, ..config.clone() })
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use credentials::{CredentialStore, Environment};

    use super::*;
    use crate::source::network::Tcp;

    /// Regression: connections were counted by the names of servers. Each bucket of S3 had a count
    /// of its own, and so had its uploads, and a federation's director.
    #[test]
    fn a_server_is_counted_by_the_host_and_port_of_its_connections() {
        let endpoint = |address: &str, service: &str| {
            let environment = Environment::new(1, None, [("AWS_ENDPOINT_URL", service)]);
            let credential_store = CredentialStore::new(environment, Choice::default());
            let config = Config { credential_store, ..Config::default() };
            let network = Arc::new(Tcp::new(Duration::from_secs(1)));
            let address = Address::parse(address).unwrap();
            server_for(&address, &config, network).unwrap().endpoint()
        };
        for (address, service, host, port) in [
            ("root://host//f", "", "host", 1094),
            ("roots://user@host:1095//f", "", "host", 1095),
            ("http://host/f", "", "host", 80),
            ("https://host/f", "", "host", 443),
            // With the bucket in the path, and in the name of the host.
            ("s3://one/k", "https://s3.example.org:9000/gateway", "s3.example.org", 9000),
            ("s3://two/k", "https://s3.example.org:9000/gateway", "s3.example.org", 9000),
            ("s3://one/k", "https://s3.example.org", "s3.example.org", 443),
            ("s3://one/k", "", "one.s3.us-east-1.amazonaws.com", 443),
            ("s3://o.ne/k", "", "s3.us-east-1.amazonaws.com", 443),
        ] {
            assert_eq!(endpoint(address, service), Some((host.to_owned(), port)), "{address}");
        }
        assert_eq!(endpoint("/tmp/f", ""), None);
        assert_eq!(endpoint("pelican://federation.org/f", ""), None, "its director is not known");
    }
}
