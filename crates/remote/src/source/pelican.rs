//! Files of a federation (Pelican, the OSDF): its discovery document names the director, and the
//! director a cache, to which it redirects.
//!
//! `https://FEDERATION/.well-known/pelican-configuration` is read without showing anything, and
//! remembered within the process. A federation that names no director serves its files itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use mutex::PerProcess;
use serde::Deserialize;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use url::Url;

use super::http::HttpServer;
use super::network::Network;
use super::one_shot;
use super::slotted::shared;
use super::{ConnectionEvent, DriverLink, FileRef, Server, ServerTraits};
use crate::address::{Address, Way};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};

/// How long a federation's document is good for, as Pelican's own client has it.
const DOCUMENT_LASTS: Duration = Duration::from_secs(30 * 60);
/// Longer documents are others.
const DOCUMENT_BYTES_MAX: u64 = 64 << 10;
/// Federations that are remembered.
const FEDERATIONS_MAX: usize = 100;

/// Directors by the host and port of their federations, and since when.
type Known = BTreeMap<String, (Instant, Url)>;

static KNOWN: PerProcess<Known> = PerProcess::new();

/// The document, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Discovery {
    #[serde(default)]
    director_endpoint: String,
}

/// One federation.
pub struct PelicanServer {
    name: String,
    federation: Address,
    config: Config,
    network: Arc<dyn Network>,
    traits: ServerTraits,
    director: OnceCell<Arc<HttpServer>>,
}

impl PelicanServer {
    /// The federation that an address names; nothing is sent yet.
    ///
    /// # Errors
    /// `InvalidArgument` for an address of another kind.
    pub fn new(url: &Address, config: &Config, network: Arc<dyn Network>) -> Result<Self> {
        let wrong = || {
            let error = Error::new(ErrorKind::InvalidArgument, "not an address of a federation");
            error.with_url(url.to_string())
        };
        let file = url.to_pelican().ok_or_else(wrong)?;
        let host = place_of(file).ok_or_else(wrong)?;
        // Gives the traits of any server that has not answered yet.
        let itself = HttpServer::director(url, file.clone(), config, network.clone())?;
        Ok(PelicanServer {
            name: format!("pelican://{host}"),
            federation: url.anonymous(),
            config: config.clone(),
            traits: itself.traits(),
            network,
            director: OnceCell::new(),
        })
    }

    async fn director(&self) -> Result<Arc<HttpServer>> {
        let found = self.director.get_or_try_init(|| async {
            let network = shared(self.network.clone(), &self.config);
            let director = discovered(&self.federation, &self.config, &network).await?;
            let network = self.network.clone();
            let server = HttpServer::director(&self.federation, director, &self.config, network);
            server.map(Arc::new)
        });
        found.await.cloned()
    }
}

impl Server for PelicanServer {
    fn name(&self) -> &str {
        &self.name
    }

    fn endpoint(&self) -> Option<(String, u16)> {
        self.director.get().and_then(|director| director.endpoint())
    }

    fn traits(&self) -> ServerTraits {
        self.director.get().map_or_else(|| self.traits.clone(), |director| director.traits())
    }

    fn forget(&self, file: &FileRef) {
        self.director.get().into_iter().for_each(|director| director.forget(file));
    }

    fn run(self: Arc<Self>, link: DriverLink) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            match self.director().await {
                Ok(director) => director.run(link).await,
                Err(error) => link.send(ConnectionEvent::Disconnected { error: Some(error) }),
            }
        })
    }
}

/// Host and port, as one text.
fn place_of(url: &Url) -> Option<String> {
    Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
}

/// The director of a federation: as its document names it, or as it is known from before.
async fn discovered(
    federation: &Address,
    config: &Config,
    network: &Arc<dyn Network>,
) -> Result<Url> {
    let itself = federation.to_pelican().cloned();
    let itself = itself.ok_or_else(|| Error::new(ErrorKind::InvalidArgument, "no federation"))?;
    let place = place_of(&itself).unwrap_or_default();
    // A director that an unverified server may have named is not used by a call that verifies
    // servers.
    let is_verified = !config.insecure;
    if let Some((since, director)) = KNOWN.lock().get(&place)
        && since.elapsed() < DOCUMENT_LASTS
        && is_verified
    {
        return Ok(director.clone());
    }
    let unknown = |error: Error| {
        let text = format!(
            "the federation {place} does not say where its director is: {}",
            error.message()
        );
        Error::new(error.kind(), text)
            .retryable(error.is_retryable())
            .with_advice("check the name: pelican://FEDERATION/path, or osdf:///path for the OSDF")
    };
    // As an address that another has named, it is shown nothing.
    let document = federation
        .led_to(&format!("https://{place}/.well-known/pelican-configuration"), Way::Redirect)?;
    let text = one_shot::document(&document, DOCUMENT_BYTES_MAX, config, network.clone());
    let director = read(&text.await.map_err(unknown)?, federation, itself).map_err(unknown)?;
    let mut known = KNOWN.lock();
    known.retain(|_, (since, _)| since.elapsed() < DOCUMENT_LASTS);
    if is_verified && known.len() < FEDERATIONS_MAX {
        known.insert(place, (Instant::now(), director.clone()));
    }
    Ok(director)
}

/// The director that a document names, which gets requests within TLS only.
fn read(document: &[u8], federation: &Address, itself: Url) -> Result<Url> {
    let discovery: Discovery = serde_json::from_slice(document).map_err(|error| {
        Error::new(ErrorKind::Corrupt, format!("its document cannot be read: {error}"))
    })?;
    if discovery.director_endpoint.is_empty() {
        let mut itself = itself;
        itself.set_path("");
        itself.set_query(None);
        return Ok(itself);
    }
    let director = federation.led_to(&discovery.director_endpoint, Way::Redirect)?;
    director.to_http().cloned().ok_or_else(|| Error::new(ErrorKind::Corrupt, "no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(document: &str) -> Result<String> {
        let federation = Address::parse("pelican://fed.org:8444/d/f").unwrap();
        let itself = federation.to_pelican().unwrap().clone();
        read(document.as_bytes(), &federation, itself).map(|director| director.to_string())
    }

    #[test]
    fn a_federation_names_its_director() {
        let document = r#"{"director_endpoint": "https://director.org", "jwks_uri": "https://x"}"#;
        assert_eq!(named(document).unwrap(), "https://director.org/");
        for itself in ["{}", r#"{"director_endpoint": ""}"#] {
            assert_eq!(named(itself).unwrap(), "https://fed.org:8444/");
        }
        for wrong in [
            "",
            "<html>",
            r#"{"director_endpoint": 7}"#,
            r#"{"director_endpoint": "http://director.org"}"#,
            r#"{"director_endpoint": "https://localhost"}"#,
            r#"{"director_endpoint": "director.org"}"#,
        ] {
            assert!(named(wrong).is_err(), "{wrong}");
        }
    }
}
