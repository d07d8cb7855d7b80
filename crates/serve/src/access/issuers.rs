//! Issuers of tokens, and their keys: from a file or by HTTPS, fetched again when they are old, and
//! when a token names one that is not among them.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mutex::Mutex;
use serde::Deserialize;
use tokio::time::Instant;
use tracing::{info, warn};
use url::Url;

use super::denial::TokenFault;
use super::fetch::{DOCUMENT_BYTES_MAX, DocumentFetch};
use super::keys::KeySet;
use super::place::PlacePattern;
use super::token::{TokenClaims, UncheckedToken};

/// Where an issuer describes itself (OpenID Connect Discovery 1.0, section 4).
const DESCRIPTION: &str = ".well-known/openid-configuration";
/// After this time keys are fetched again when the next token comes.
const FRESH: Duration = Duration::from_secs(60 * 60);
/// Keys that cannot be fetched again are used for so long: revoked ones have to end.
const USABLE: Duration = Duration::from_secs(24 * 60 * 60);
/// Between two attempts to fetch them: clients choose the names of keys.
const PAUSE: Duration = Duration::from_secs(60);

/// An issuer as an administrator lists it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssuerSettings {
    /// Its name in rules.
    pub name: String,
    /// As tokens have it (`iss`).
    pub url: String,
    /// One of these is what tokens have to be for (`aud`).
    pub audience: Vec<String>,
    /// Folders at which the paths of its scopes begin.
    pub base: Vec<String>,
    /// A file with its keys; without, they are fetched.
    pub keys: Option<PathBuf>,
}

/// An issuer whose tokens are accepted.
pub struct Issuer {
    pub name: String,
    pub url: String,
    audience: Vec<String>,
    pub bases: Vec<PlacePattern>,
    keys: IssuerKeys,
}

/// The keys of one issuer.
struct IssuerKeys {
    from: KeysFrom,
    state: Mutex<KeysState>,
    /// Who has it fetches.
    fetching: tokio::sync::Mutex<()>,
}

enum KeysFrom {
    File(PathBuf),
    /// The place of its description.
    Issuer(Url),
}

#[derive(Default, Clone)]
struct KeysState {
    /// And since when.
    known: Option<(Arc<KeySet>, Instant)>,
    /// They count until they are fetched again, which is due now.
    is_old: bool,
    /// Before it no attempt is made.
    again: Option<Instant>,
}

impl Issuer {
    /// An issuer, with the keys that are known of it from before.
    ///
    /// # Errors
    /// A text that names the fault.
    pub fn new(
        settings: &IssuerSettings,
        is_far: bool,
        before: Option<&Issuer>,
    ) -> Result<Self, String> {
        let IssuerSettings { name, url, audience, base, keys } = settings.clone();
        let wrong = |why: &str| format!("the issuer {name}: {why}");
        if name.is_empty() || name.contains(':') {
            return Err(wrong("its name is a word without a colon"));
        }
        if audience.is_empty() {
            return Err(wrong("it needs an audience, which its tokens are for"));
        }
        let parsed = Url::parse(&url).map_err(|error| wrong(&format!("{url}: {error}")))?;
        if parsed.scheme() != "https" || parsed.host_str().is_none() {
            return Err(wrong(&format!("{url}: keys are fetched by https only")));
        }
        let from = match keys {
            Some(path) => KeysFrom::File(path),
            None => {
                let description = format!("{}/{DESCRIPTION}", url.trim_end_matches('/'));
                let description = Url::parse(&description);
                KeysFrom::Issuer(description.map_err(|error| wrong(&error.to_string()))?)
            }
        };
        let bases = base.iter().map(|base| PlacePattern::parse(base, is_far));
        let bases: Vec<PlacePattern> =
            bases.collect::<Result<_, _>>().map_err(|why| wrong(&why))?;
        let before = before.filter(|before| before.url == url);
        let before = before.and_then(|before| before.keys.state.lock().known.clone());
        let state = match &from {
            KeysFrom::Issuer(_) => KeysState { known: before, is_old: true, again: None },
            KeysFrom::File(path) => {
                let keys = of_file(path).map_err(|why| wrong(&why))?;
                let known = Some((Arc::new(keys), Instant::now()));
                KeysState { known, is_old: false, again: None }
            }
        };
        let state = Mutex::new(state);
        let keys = IssuerKeys { from, state, fetching: tokio::sync::Mutex::default() };
        Ok(Issuer { name, url, audience, bases, keys })
    }

    /// The claims of one of its tokens, if they are valid now (seconds since 1970).
    ///
    /// # Errors
    /// Why not.
    pub async fn claims(
        &self,
        token: UncheckedToken<'_>,
        fetch: &DocumentFetch,
        now: u64,
    ) -> Result<TokenClaims, TokenFault> {
        let keys = self.keys.find(token.key_id(), &self.url, fetch).await;
        token.claims(&*keys.ok_or(TokenFault::NoKeys)?, &self.audience, now)
    }

    /// Whether its keys can be fetched.
    ///
    /// # Errors
    /// A text with the reason.
    pub async fn check(&self, fetch: &DocumentFetch) -> Result<(), String> {
        let fetched = self.keys.fetched(&self.url, fetch).await;
        fetched.map(drop).map_err(|why| format!("the issuer {}: {why}", self.name))
    }
}

impl IssuerKeys {
    /// Keys that have one with this name, as far as the issuer has it; `None` where there are none.
    async fn find(
        &self,
        id: Option<&str>,
        issuer: &str,
        fetch: &DocumentFetch,
    ) -> Option<Arc<KeySet>> {
        let known = self.known();
        let usable = known.as_ref().filter(|(keys, _)| keys.has(id));
        let _turn = match usable {
            Some((keys, true)) => return Some(keys.clone()),
            // Another request fetches them.
            Some((keys, _)) => match self.fetching.try_lock() {
                Ok(turn) => turn,
                Err(_) => return Some(keys.clone()),
            },
            None => self.fetching.lock().await,
        };
        let is_due = {
            let is_here = self.known().is_some_and(|(keys, is_new)| is_new && keys.has(id));
            let again = self.state.lock().again;
            !is_here && again.is_none_or(|again| Instant::now() >= again)
        };
        if is_due {
            // The first time, and once they are old, the proxy fetches them by itself.
            let is_by_client = self.known().is_some_and(|(_, is_new)| is_new);
            let next = Instant::now() + PAUSE;
            self.state.lock().again = is_by_client.then_some(next);
            match self.fetched(issuer, fetch).await {
                Ok(keys) => {
                    info!("the keys of {issuer} are fetched");
                    let mut state = self.state.lock();
                    state.known = Some((Arc::new(keys), Instant::now()));
                    state.is_old = false;
                }
                Err(why) => {
                    warn!("the keys of {issuer} cannot be fetched: {why}");
                    self.state.lock().again = Some(next);
                }
            }
        }
        self.known().map(|(keys, _)| keys)
    }

    /// The keys that may be used, and whether they need not be fetched again.
    fn known(&self) -> Option<(Arc<KeySet>, bool)> {
        let KeysState { known, is_old, .. } = self.state.lock().clone();
        let (keys, since) = known?;
        let age = since.elapsed();
        match self.from {
            KeysFrom::File(_) => Some((keys, true)),
            KeysFrom::Issuer(_) => (age < USABLE).then_some((keys, !is_old && age < FRESH)),
        }
    }

    async fn fetched(&self, issuer: &str, fetch: &DocumentFetch) -> Result<KeySet, String> {
        let description = match &self.from {
            KeysFrom::File(path) => {
                let path = path.clone();
                let read = tokio::task::spawn_blocking(move || of_file(&path)).await;
                return read.map_err(|error| error.to_string())?;
            }
            KeysFrom::Issuer(place) => fetch.document(place).await?,
        };
        #[derive(Deserialize)]
        struct Description {
            issuer: String,
            jwks_uri: String,
        }
        let description: Description = serde_json::from_slice(&description)
            .map_err(|error| format!("its description cannot be read: {error}"))?;
        if description.issuer != issuer {
            return Err("its description is that of another issuer".to_owned());
        }
        let place = Url::parse(&description.jwks_uri)
            .map_err(|error| format!("the place of its keys: {error}"))?;
        KeySet::parse(&fetch.document(&place).await?)
    }
}

/// The keys of a file.
fn of_file(path: &Path) -> Result<KeySet, String> {
    let named = |why: String| format!("{}: {why}", path.display());
    let file = std::fs::File::open(path).map_err(|error| named(error.to_string()))?;
    let mut bytes = Vec::new();
    let read = file.take(DOCUMENT_BYTES_MAX as u64).read_to_end(&mut bytes);
    read.map_err(|error| named(error.to_string()))?;
    KeySet::parse(&bytes).map_err(named)
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Issuer({}, {})", self.name, self.url)
    }
}
