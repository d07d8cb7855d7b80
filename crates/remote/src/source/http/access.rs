//! The credential that a server is shown: one, decided for each connection.
//!
//! A server gets a credential within TLS only, and only where the caller has named it (see
//! [`Address::is_named`]). It is a password where the address has one, else the bearer token, else
//! the X.509 proxy or certificate, in that order or the caller's: one alone, because servers that
//! see two choose, and not all the better one (EOS took an unknown certificate for nobody although
//! the token beside it was good). A token that was found, and names other servers as those that it
//! is for, is not shown. Files are read again for each connection, as the field's tools renew them
//! in place.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use credentials::{
    CredentialStore, Identity, Kind, Span, Token, TokenUse, Unusable, Validity, advice, choose,
};
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Request, StatusCode};
use mutex::Mutex;
use percent_encoding::percent_decode_str;
use secrecy::ExposeSecret;

use super::body::RequestBody;
use crate::address::{Address, Scheme};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::source::tls::{TlsConfig, Trust, config_for};

/// Keys of a query that identify the user: nothing else is to be said then.
const ASKING_KEYS: [&str; 6] =
    ["authz", "access_token", "xrdhttptk", "dcache-http-uuid", "x-amz-signature", "signature"];

/// Places of tokens that a server has refused.
type Refused = Arc<Mutex<BTreeSet<String>>>;

/// Credentials that a server of one origin may get.
pub struct Access {
    credential_store: CredentialStore,
    is_encrypted: bool,
    is_named: AtomicBool,
    host: String,
    port: u16,
    refused: Refused,
    has_password: bool,
    is_insecure: bool,
    has_warned: AtomicBool,
    last: Mutex<Arc<Introduction>>,
}

/// The credentials of one connection.
#[derive(Default)]
pub struct Introduction {
    /// For `https`.
    pub tls: Option<Arc<TlsConfig>>,
    /// Of which each request shows one, by its path.
    tokens: Vec<Token>,
    host: String,
    port: u16,
    refused: Refused,
    credential: ShownCredential,
    /// Credentials that exist and cannot be used.
    unusable: Vec<Unusable>,
}

/// The kind of credential that is sent, for messages.
#[derive(Default)]
enum ShownCredential {
    #[default]
    Nothing,
    Password,
    Token,
    Certificate(Box<Identity>),
}

impl Access {
    /// To the server of this address.
    pub fn new(url: &Address, config: &Config) -> Self {
        let has_password = url.to_http().is_some_and(|url| !url.username().is_empty());
        // One that others send to, and that the user's list has.
        let is_listed = || url.host().is_some_and(|host| config.may_follow(host));
        let is_named = url.is_named() || is_listed();
        Access {
            credential_store: config.credential_store.clone(),
            is_encrypted: matches!(url.scheme(), Scheme::Https | Scheme::Pelican),
            // Of S3 its own keys, which are no concern of a connection.
            is_named: AtomicBool::new(is_named && url.scheme() == Scheme::Https),
            refused: Refused::default(),
            host: url.host().unwrap_or_default().trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or_default(),
            has_password,
            is_insecure: config.insecure,
            has_warned: AtomicBool::new(false),
            last: Mutex::default(),
        }
    }

    pub fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// From now on the server gets the caller's credentials: it wants them, and the caller has
    /// named it. False where it gets them already.
    pub fn entrust(&self) -> bool {
        self.is_encrypted && !self.is_named.swap(true, Ordering::Relaxed)
    }

    /// The warning that the server was not verified, for the report: once.
    pub fn warning(&self) -> Option<String> {
        let is_first = self.is_insecure && !self.has_warned.swap(true, Ordering::Relaxed);
        is_first.then(|| "insecure: any certificate is believed to be the server's".into())
    }

    /// The credentials of the next connection, to a `host:port` within TLS. Files are read for
    /// them.
    ///
    /// # Errors
    /// `Unauthenticated` where the credential that the caller gave for this call cannot be used.
    pub async fn begin(self: &Arc<Self>, server: Option<String>) -> Result<Arc<Introduction>> {
        let Some(server) = server else { return Ok(Arc::default()) };
        let access = self.clone();
        let reading = tokio::task::spawn_blocking(move || access.read(&server));
        let gone = |_| Error::new(ErrorKind::Cancelled, "the program is ending");
        let shown = Arc::new(reading.await.map_err(gone)??);
        *self.last.lock() = shown.clone();
        Ok(shown)
    }

    fn read(&self, server: &str) -> Result<Introduction> {
        let host = self.host.clone();
        let port = self.port;
        let refused = self.refused.clone();
        let mut shown = Introduction { host, port, refused, ..Introduction::default() };
        if self.has_password {
            shown.credential = ShownCredential::Password;
        } else if self.is_named.load(Ordering::Relaxed) {
            self.choose(&mut shown)?;
        }
        let trust = Trust::of(self.credential_store.environment());
        let identity = match &shown.credential {
            ShownCredential::Certificate(identity) => Some(&**identity),
            _ => None,
        };
        shown.tls = Some(config_for(server, &trust, identity, self.is_insecure)?);
        Ok(shown)
    }

    fn choose(&self, shown: &mut Introduction) -> Result<()> {
        let choice = self.credential_store.choice();
        for kind in self.credential_store.order().unwrap_or(vec![Kind::Token, Kind::X509]) {
            let (credential, is_given) = match kind {
                Kind::Token => {
                    let is_given = choice.token.is_some();
                    let found = self.credential_store.tokens().and_then(|found| match is_given {
                        // The caller's own word for this server.
                        true => Ok(found),
                        false => self.fitting(found),
                    });
                    let credential = found.map(|found| {
                        shown.tokens = found;
                        (!shown.tokens.is_empty()).then_some(ShownCredential::Token)
                    });
                    (credential, is_given)
                }
                Kind::X509 => {
                    let identity = self.credential_store.identity();
                    let credential = identity
                        .map(|one| one.map(|one| ShownCredential::Certificate(Box::new(one))));
                    (credential, choice.proxy.is_some())
                }
                Kind::Kerberos | Kind::S3 | Kind::Unix => continue,
            };
            match credential {
                Ok(None) => {}
                Ok(Some(credential)) => {
                    shown.credential = credential;
                    return Ok(());
                }
                Err(why) if is_given => {
                    return Err(Error::new(ErrorKind::Unauthenticated, why.to_string()));
                }
                // Public files are read without; where the server wants one, the refusal says why.
                Err(why) => shown.unusable.push(why),
            }
        }
        Ok(())
    }

    /// Those of the tokens that name no other servers.
    ///
    /// # Errors
    /// Why the first one may not be shown, where none may.
    fn fitting(&self, found: Vec<Token>) -> std::result::Result<Vec<Token>, Unusable> {
        let mut fit = Vec::new();
        let mut unfit = None;
        for token in found {
            match token.for_server(&self.host, self.port) {
                Ok(token) => fit.push(token),
                Err(why) => unfit = unfit.or(Some(why)),
            }
        }
        match unfit {
            Some(why) if fit.is_empty() => Err(why),
            _ => Ok(fit),
        }
    }

    /// A request was refused: of several tokens it was shown another may be taken, as only the
    /// server knows which issuers it trusts. Whether there is one.
    pub fn try_another(&self, method: &Method, url: &Address) -> bool {
        let shown = self.last.lock().clone();
        let path = url.path();
        let Some(token) = shown.token(method, &path) else { return false };
        let left = shown.left();
        let is_another = left.len() > 1 && token.is_among_others;
        // Another connection may have tried the next one already.
        is_another && self.refused.lock().insert(token.place.to_string())
    }

    /// A refusal with the credentials that were sent, and their state.
    pub fn explain(
        &self,
        error: Error,
        status: StatusCode,
        headers: &HeaderMap,
        url: &Address,
    ) -> Error {
        let shown = self.last.lock().clone();
        let is_asked = shown.tls.as_ref().is_some_and(|tls| tls.is_asked());
        let is_about_it = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => true,
            // nginx, of a client's certificate.
            StatusCode::BAD_REQUEST => is_asked,
            _ => false,
        };
        if !is_about_it {
            return error;
        }
        let (sent, advice) = self.said(&shown, url, SystemTime::now());
        let wants: Vec<&str> = headers
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .filter_map(|value| value.to_str().ok()?.split_whitespace().next())
            .filter(|scheme| {
                scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            })
            .collect();
        let wants = match (wants.is_empty(), is_asked) {
            (false, _) => format!(" (it wants {})", wants.join(" or ")),
            (true, true) => " (it asks for a certificate)".into(),
            (true, false) => String::new(),
        };
        let kind = match error.kind() {
            ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
            _ => ErrorKind::Unauthenticated,
        };
        Error::new(kind, format!("{}{wants}; {sent}", error.message())).with_advice(advice)
    }

    /// The credentials that were sent, and a hint for the user.
    fn said(&self, shown: &Introduction, url: &Address, now: SystemTime) -> (String, String) {
        let make = format!("{}; or {}", advice::MAKE_PROXY, advice::FETCH_TOKEN);
        if is_asking(url.query()) {
            let sent = "it was asked with what the address itself says of who asks";
            return (sent.into(), "ask for a new address, or leave that part away".into());
        }
        if !self.is_encrypted {
            let sent = match self.has_password {
                true => "it was asked with the password of the address",
                false => "without TLS nothing is shown but a password in the address",
            };
            return (sent.into(), "write https:// where the server has it".into());
        }
        match &shown.credential {
            ShownCredential::Password => (
                "it was asked with the password of the address".into(),
                "check the password".into(),
            ),
            ShownCredential::Token => match shown.token(&Method::GET, &url.path()) {
                Some(token) => of_token(token, url, now),
                None => ("nothing was shown".into(), make),
            },
            ShownCredential::Certificate(identity) => of_certificate(identity, now),
            ShownCredential::Nothing if !self.is_named.load(Ordering::Relaxed) => {
                let sent = "nothing was shown, since another server has named this one";
                (sent.into(), "name it in the address yourself, if you trust it".into())
            }
            ShownCredential::Nothing => match shown.unusable.first() {
                Some(why) => (format!("nothing was shown: {why}"), "then try again".into()),
                None => ("nothing was shown: no token and no proxy were found".into(), make),
            },
        }
    }
}

impl Introduction {
    /// Says who asks, unless the address does.
    pub fn sign(&self, request: &mut Request<RequestBody>) {
        if is_asking(request.uri().query()) {
            return;
        }
        let bearer = self.token(request.method(), request.uri().path()).and_then(bearer);
        if let Some(bearer) = bearer {
            request.headers_mut().entry(AUTHORIZATION).or_insert(bearer);
        }
    }

    /// The token for a path.
    fn token(&self, method: &Method, path: &str) -> Option<&Token> {
        let writes = !matches!(method.as_str(), "GET" | "HEAD" | "PROPFIND");
        let path = percent_decode_str(path).decode_utf8_lossy().into_owned();
        let wanted = TokenUse { host: self.host.clone(), port: self.port, path, writes };
        let left = self.left();
        let chosen = choose(&left, &wanted)?.place.to_string();
        self.tokens.iter().find(|token| token.place.to_string() == chosen)
    }

    /// Those that have not been refused; all where each one was.
    fn left(&self) -> Vec<Token> {
        let refused = self.refused.lock();
        let is_left = |token: &&Token| !refused.contains(&token.place.to_string());
        let left: Vec<Token> = self.tokens.iter().filter(is_left).cloned().collect();
        if left.is_empty() { self.tokens.clone() } else { left }
    }
}

fn is_asking(query: Option<&str>) -> bool {
    query.unwrap_or_default().split('&').any(|parameter| {
        let key = parameter.split('=').next().unwrap_or_default().to_ascii_lowercase();
        ASKING_KEYS.contains(&&*key)
    })
}

fn bearer(token: &Token) -> Option<HeaderValue> {
    let value = zeroize::Zeroizing::new(format!("Bearer {}", token.secret.expose_secret()));
    let mut value = HeaderValue::from_str(&value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn of_token(token: &Token, url: &Address, now: SystemTime) -> (String, String) {
    let place = &token.place;
    let Some(claims) = &token.claims else {
        let sent = format!("it was shown the token in {place}, which only the server can read");
        return (sent, advice::FETCH_TOKEN.into());
    };
    let mut sent = format!("it was shown the token in {place}");
    if let Some(issuer) = &claims.issuer {
        sent.push_str(&format!(" from {issuer}"));
    }
    if !claims.audience.is_empty() {
        sent.push_str(&format!(" for {}", claims.audience.join(", ")));
    }
    let advice = match claims.validity(now) {
        Validity::Over(ago) => {
            sent.push_str(&format!(", which expired {} ago", Span(ago)));
            advice::FETCH_TOKEN.into()
        }
        Validity::Early(left) => {
            sent.push_str(&format!(", which is valid in {} only", Span(left)));
            advice::SET_CLOCK.into()
        }
        Validity::Good(left) => {
            if let Some(left) = left {
                sent.push_str(&format!(", valid for {} more", Span(left)));
            }
            advice::another_token(&claims.scope, &url.path())
        }
    };
    (sent, advice)
}

fn of_certificate(identity: &Identity, now: SystemTime) -> (String, String) {
    let kind = if identity.is_proxy { "proxy" } else { "certificate" };
    let place = &identity.place;
    let subject = &identity.subject;
    let sent = format!("it was shown the {kind} in {place} of {subject:?}");
    let make = advice::MAKE_PROXY;
    match (now.duration_since(identity.not_after), identity.not_before.duration_since(now)) {
        (Ok(ago), _) => (format!("{sent}, which expired {} ago", Span(ago)), make.into()),
        (_, Ok(left)) if !left.is_zero() => {
            (format!("{sent}, which is valid in {} only", Span(left)), advice::SET_CLOCK.into())
        }
        _ if identity.is_proxy && !identity.voms => (
            format!("{sent}, which names no virtual organisation"),
            format!("make one that does: {make}"),
        ),
        _ => (sent, "ask the site whether this user may read the file".into()),
    }
}
