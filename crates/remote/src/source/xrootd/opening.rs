//! The beginning of a connection: whether TLS is requested, and which credentials may be sent.
//! Files are read, and the Kerberos library is called, while TCP connects.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use credentials::{CredentialStore, Kind, Token, advice};
use futures::future::BoxFuture;
use secrecy::ExposeSecret;
use tokio::task::spawn_blocking;
use xrootd::auth::{Credential, Method, krb5, offers};
use xrootd::client::{Client, ClientConfig, Tls};
use xrootd::error::SessionError;
use xrootd::profile::{Authentication, Profile};

use super::starts::Newcomer;
use super::{XrootdServer, gsi};
use crate::error::{Error, ErrorKind, Result};
use crate::source::tls::{self, TlsConfig, Trust};

/// How long a credential may take: Kerberos may ask over the network.
const CREDENTIAL_TIME: Duration = Duration::from_secs(10);

/// The first messages of a connection.
pub struct Opening {
    pub config: ClientConfig,
    pub profile: Profile,
    /// No request leaves before the server has answered the login: it may want a credential.
    pub careful: bool,
    /// Ready for TLS, where that is requested.
    pub tls: Option<Arc<TlsConfig>>,
    /// Credentials for offers that are known.
    pub ready: Vec<Ready>,
    /// A hash that distinguishes these credentials from others, and reveals nothing of them.
    pub shown: u64,
}

impl Opening {
    /// The connection as far as its start depends on it.
    pub fn newcomer(&self, asks: bool) -> Newcomer {
        let in_clear = self.config.tls == Tls::NotOffered;
        Newcomer { asks, careful: self.careful, in_clear, costly: self.is_costly() }
    }

    /// A login by gsi takes a tenth of a second of a server's processor, for xrootd 5 makes up a
    /// prime each time. Sixteen at once would hold up the one with the first request.
    fn is_costly(&self) -> bool {
        let of_gsi = |ready: &Ready| ready.method == Method::Gsi && ready.outcome.is_ok();
        self.config.unasked == Some(Method::Gsi) || self.ready.iter().any(of_gsi)
    }

    /// Everything leaves at once, without credentials that the server has not requested.
    pub fn leave_credential_out(&mut self) {
        self.config.unasked = None;
        self.ready.clear();
    }
}

/// A credential, or why there is none and a hint, for people.
pub type Outcome = std::result::Result<Credential, String>;

/// The answer to a request for a credential.
pub struct Ready {
    pub method: Method,
    pub arguments: String,
    pub outcome: Outcome,
}

/// Hashes the part that stays the same as long as the user has the same credential.
impl Hash for Ready {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.outcome {
            Ok(Credential::Ztn(token)) => token.expose_secret().hash(state),
            // Each message is another one, but for the ticket, which is where these bytes are.
            Ok(Credential::Krb5(request)) => request.expose_secret().get(80..200).hash(state),
            Ok(Credential::Gsi(credential)) => credential.chain_pem.hash(state),
            Err(_) => false.hash(state),
        }
    }
}

/// The protocols that the credentials allow, as far as a caller may see them: those that may be
/// used, and the names of the others.
pub fn methods(credential_store: &CredentialStore, user: &str) -> (Vec<Method>, Vec<String>) {
    let named = Method::Unix { user: user.to_owned(), group: user.to_owned() };
    let all = [
        (Kind::Token, Method::Ztn),
        (Kind::Kerberos, Method::Krb5),
        (Kind::X509, Method::Gsi),
        (Kind::Unix, named),
        (Kind::Unix, Method::Host),
    ];
    // A store without credentials does not forbid a login by name.
    let is_empty = credential_store.order().is_some_and(|order| order.is_empty());
    let may = |kind| credential_store.allows(kind) || (kind == Kind::Unix && is_empty);
    let (used, excluded): (Vec<_>, Vec<_>) = all.into_iter().partition(|(kind, _)| may(*kind));
    let names = excluded.iter().map(|(_, method)| method.name().to_owned());
    let names = if is_empty { Vec::new() } else { names.collect() };
    (used.into_iter().map(|(_, method)| method).collect(), names)
}

impl XrootdServer {
    /// Prepares the first messages of a connection.
    pub(super) async fn prepare(&self) -> Result<Opening> {
        let mut profile = self.starts.lock().profile().clone();
        let takes_early_hello = self.starts.lock().takes_early_hello();
        let mut config = self.config.clone();
        let unknown = profile.authentication == Authentication::Unknown;
        let at_hand = if unknown { self.at_hand().await } else { None };
        // A token goes unasked to servers that the caller has named, and to no others.
        config.unasked = at_hand.clone().filter(|method| *method != Method::Ztn || self.is_named);
        let careful = match (&at_hand, &config.unasked) {
            (Some(Method::Ztn), Some(_)) => false,
            (Some(_), _) => true,
            (None, _) => unknown && self.may_have_ticket(),
        };
        let wants_token = match &profile.authentication {
            Authentication::Needed(offered) => offers(offered).iter().any(|o| o.name == "ztn"),
            _ => at_hand == Some(Method::Ztn),
        };
        config.tls = match self.is_encrypted {
            true => Tls::Required,
            false if self.asks_tls || profile.insists_on_tls || wants_token => Tls::Wanted,
            false => Tls::NotOffered,
        };
        config.early_hello = config.tls != Tls::NotOffered && takes_early_hello;
        let tls = match config.tls {
            Tls::NotOffered => None,
            _ => Some(self.tls_config().await?),
        };
        let mut ready = self.ready_ahead(&config, &profile).await;
        if let Some(method) = &config.unasked {
            ready.push(self.fetch(method.clone(), String::new()).await);
        }
        let shown = self.hasher.hash_one(&ready);
        if self.starts.lock().shows(shown) {
            profile.burst = Some(true);
        }
        Ok(Opening { config, profile, careful, tls, ready, shown })
    }

    /// Requests behind a credential were lost with it.
    pub(super) fn note_refusal(&self, error: &SessionError, client: &Client, shown: u64) {
        if matches!(error, SessionError::NoAuthentication { .. }) {
            self.starts.lock().login_refused();
            *self.refused_login.lock() = Some(error.clone());
        }
        let for_it = matches!(error, SessionError::AuthenticationFirst { .. });
        if for_it && client.profile().burst == Some(false) {
            self.starts.lock().requests_lost(shown);
        }
    }

    /// The client's side of TLS with this server. No certificate is shown: none asks for it.
    pub(super) async fn tls_config(&self) -> Result<Arc<TlsConfig>> {
        let credential_store = self.credential_store.clone();
        let name = self.name.clone();
        let insecure = self.insecure;
        let made = spawn_blocking(move || {
            let trust = Trust::of(credential_store.environment());
            tls::config_for(&name, &trust, None, insecure)
        });
        made.await.map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?
    }

    /// The credential that the user has, as far as a look at files shows, for a server of which
    /// nothing is known.
    async fn at_hand(&self) -> Option<Method> {
        let may = |method: &Method| self.config.authentication.contains(method);
        let token = may(&Method::Ztn);
        let identity = may(&Method::Gsi);
        if !token && !identity {
            return None;
        }
        let credential_store = self.credential_store.clone();
        let found = spawn_blocking(move || {
            if token && matches!(credential_store.token(), Ok(Some(_))) {
                return Some(Method::Ztn);
            }
            (identity && matches!(credential_store.identity(), Ok(Some(_)))).then_some(Method::Gsi)
        });
        found.await.ok().flatten()
    }

    /// Whether there is a cache of Kerberos tickets where most are. To ask Kerberos would take
    /// longer than it is worth before a server wants it.
    fn may_have_ticket(&self) -> bool {
        let environment = self.credential_store.environment();
        let named = self.credential_store.choice().ccache.is_some()
            || environment.variable("KRB5CCNAME").is_some();
        let usual = format!("/tmp/krb5cc_{}", environment.user_id);
        self.config.authentication.contains(&Method::Krb5)
            && (named || std::path::Path::new(&usual).exists())
    }

    /// Credentials for the protocols that the server is known to offer, up to the first that can be
    /// used.
    async fn ready_ahead(&self, config: &ClientConfig, profile: &Profile) -> Vec<Ready> {
        let mut ready = Vec::new();
        let Authentication::Needed(offered) = &profile.authentication else { return ready };
        for offer in offers(offered) {
            let mut known = config.authentication.iter();
            let Some(method) = known.find(|method| method.name() == offer.name) else { continue };
            if method.objection(&offer.arguments, config.tls != Tls::NotOffered).is_some() {
                continue;
            }
            if method.exchange().is_some() {
                break;
            }
            let one = self.fetch(method.clone(), offer.arguments).await;
            let usable = one.outcome.is_ok();
            ready.push(one);
            if usable {
                break;
            }
        }
        ready
    }

    /// Gets a credential for an offer.
    pub(super) fn fetch(&self, method: Method, arguments: String) -> BoxFuture<'static, Ready> {
        let credential_store = self.credential_store.clone();
        let host = self.host.clone();
        let port = self.port;
        let to = ShownTo { host, port, is_entrusted: self.is_entrusted };
        let wanted = method.clone();
        let said = arguments.clone();
        Box::pin(async move {
            let work = spawn_blocking(move || credential(&credential_store, &to, &wanted, &said));
            let outcome = match tokio::time::timeout(CREDENTIAL_TIME, work).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(format!("nothing came within {} s", CREDENTIAL_TIME.as_secs())),
            };
            Ready { method, arguments, outcome }
        })
    }
}

/// The server that a credential is for.
struct ShownTo {
    host: String,
    port: u16,
    is_entrusted: bool,
}

impl ShownTo {
    /// A token as far as it may go there: by its own word, and by the caller's.
    fn fits(
        &self,
        credential_store: &CredentialStore,
        token: Token,
    ) -> std::result::Result<Token, String> {
        let host = self.host.trim_matches(['[', ']']);
        if token.names_server(host, self.port) {
            return Ok(token);
        }
        if !self.is_entrusted {
            return Err(format!(
                "another server has named {host}, and the token does not; name it in the address, \
                 or in FARROOT_REDIRECT_CREDENTIALS, if you trust it"
            ));
        }
        // A token that was given for this call is the caller's own word.
        match credential_store.choice().token {
            Some(_) => Ok(token),
            None => token.for_server(host, self.port).map_err(|why| why.to_string()),
        }
    }
}

fn credential(
    credential_store: &CredentialStore,
    to: &ShownTo,
    method: &Method,
    arguments: &str,
) -> Outcome {
    match method {
        Method::Ztn => match credential_store.token() {
            Ok(Some(token)) => {
                to.fits(credential_store, token).map(|token| Credential::Ztn(token.secret))
            }
            Ok(None) => Err(format!(
                "no token was found; set BEARER_TOKEN_FILE, or {}",
                advice::FETCH_TOKEN
            )),
            Err(error) => Err(error.to_string()),
        },
        Method::Krb5 => {
            let ticket = credential_store.ticket(krb5::principal(arguments)?);
            ticket.map(Credential::Krb5).map_err(|error| error.to_string())
        }
        Method::Gsi => gsi::credential(credential_store, &to.host).map(Credential::Gsi),
        Method::Unix { .. } | Method::Host => Err("it needs none".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use credentials::{Choice, Environment};

    use super::*;

    fn names(variables: &[(&str, &str)], choice: Choice) -> (Vec<&'static str>, Vec<String>) {
        let environment = Environment::new(1, None, variables.iter().copied());
        let (used, excluded) = methods(&CredentialStore::new(environment, choice), "me");
        (used.iter().map(Method::name).collect(), excluded)
    }

    #[test]
    fn what_may_be_shown_is_what_the_user_allows() {
        let all = vec!["ztn", "krb5", "gsi", "unix", "host"];
        assert_eq!(names(&[], Choice::default()), (all.clone(), vec![]));
        let (used, excluded) = names(&[("XrdSecPROTOCOL", "gsi,unix")], Choice::default());
        assert_eq!(used, ["gsi", "unix", "host"]);
        assert_eq!(excluded, ["ztn", "krb5"]);
        let (used, _) = names(&[("XrdSecPROTOCOL", "gsi")], Choice::default());
        assert_eq!(used, ["gsi"]);
        let (used, excluded) = methods(&CredentialStore::empty(), "me");
        let used: Vec<_> = used.iter().map(Method::name).collect();
        assert_eq!((used, excluded), (vec!["unix", "host"], vec![]));
    }
}
