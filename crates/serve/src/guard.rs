//! Protection of a server: TLS around connections, the clients within it, and their rights.

use std::io::{self, Error, ErrorKind};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::header::{AUTHORIZATION, HeaderMap};
use mutex::Mutex;
use remote::cache::{CacheQuota, Charges};
use remote::clock::seconds_since_1970;
use remote::credentials::{Environment, KerberosService};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::{ExposeSecret, SecretString};
use tokio_rustls::TlsAcceptor;

use super::access::{
    AccessRule, AccessRules, AskForCertificate, Bearer, ClientTrust, Denial, DocumentFetch, Issuer,
    IssuerSettings, Judged, ProofFault, Proved, QuotaReaders, ReaderLists, ServedPlace,
    TOKEN_BYTES_MAX, TokenFault, UncheckedToken, Visitor, X509Settings,
};
use super::gsi::GsiHost;
use super::peer::Peer;
use super::stream::Stream;

/// Which certificate is shown, and who may read.
#[derive(Debug, Clone, Default)]
pub struct Protection {
    /// Files with the certificate, followed by those that lead to its authority, and with its key,
    /// both PEM. Without them there is no TLS.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// A file with bearer tokens, one a line: without rules, who sends one of them may read. Needs
    /// TLS.
    pub tokens: Option<PathBuf>,
    /// A file with `user:password` on each line, for HTTP. Needs TLS.
    pub users: Option<PathBuf>,
    /// Issuers whose tokens are accepted. Need TLS.
    pub issuers: Vec<IssuerSettings>,
    /// As which service tickets of Kerberos are accepted, over XRootD.
    pub kerberos: Option<KerberosService>,
    /// Whose certificates of clients are accepted. Needs TLS.
    pub x509: Option<X509Settings>,
    /// Who may read which files; the first rule for a file counts. Without any, clients of the
    /// lists may read all, and where there is no list, all clients.
    pub rules: Vec<AccessRule>,
}

impl Protection {
    /// This, with the parts of another where this names none.
    #[must_use]
    pub fn or(self, other: Protection) -> Protection {
        Protection {
            tls: self.tls.or(other.tls),
            tokens: self.tokens.or(other.tokens),
            users: self.users.or(other.users),
            kerberos: self.kerberos.or(other.kerberos),
            issuers: if self.issuers.is_empty() { other.issuers } else { self.issuers },
            x509: self.x509.or(other.x509),
            rules: if self.rules.is_empty() { other.rules } else { self.rules },
        }
    }

    /// Whether a client can prove something within TLS only.
    fn needs_tls(&self) -> bool {
        let has_lists = self.tokens.is_some() || self.users.is_some();
        has_lists || !self.issuers.is_empty() || self.x509.is_some()
    }

    /// Whether a client can prove something.
    fn has_proofs(&self) -> bool {
        self.needs_tls() || self.kerberos.is_some()
    }
}

/// The same, ready to be used. All clones change together when the files are read again.
#[derive(Clone)]
pub struct Guard(Arc<GuardFiles>);

struct GuardFiles {
    served: GuardedFiles,
    fetch: DocumentFetch,
    state: Mutex<Arc<GuardState>>,
}

/// The files that are served, as far as a guard has to know.
#[derive(Debug, Clone, Default)]
pub struct GuardedFiles {
    /// They are those of a proxy.
    pub is_far: bool,
    /// The quotas of its cache.
    pub quotas: Vec<CacheQuota>,
}

/// The content of the files.
struct GuardState {
    protection: Protection,
    acceptor: Option<TlsAcceptor>,
    tokens: Vec<SecretString>,
    /// As a client sends them.
    users: Vec<SecretString>,
    issuers: Vec<Issuer>,
    x509: Option<ClientTrust>,
    gsi: Option<Arc<GsiHost>>,
    rules: AccessRules,
    quota_readers: QuotaReaders,
}

impl Guard {
    /// With the authorities of this environment for servers of issuers.
    ///
    /// # Errors
    /// A file cannot be read or is malformed; there is something to protect and no TLS.
    pub fn new(
        protection: &Protection,
        served: GuardedFiles,
        environment: Environment,
    ) -> io::Result<Self> {
        let state = Mutex::new(Arc::new(GuardState::read(protection, &served, None)?));
        let fetch = DocumentFetch::new(environment);
        Ok(Guard(Arc::new(GuardFiles { served, fetch, state })))
    }

    /// Reads the files again, by another protection if there is one. Connections stay; their next
    /// requests need a credential that still counts, new connections get the new certificate, and
    /// the keys of issuers are fetched again.
    ///
    /// # Errors
    /// As [`Guard::new`]; then everything stays as it was.
    pub fn reload(&self, protection: Option<&Protection>) -> io::Result<()> {
        let before = self.state();
        let protection = protection.unwrap_or(&before.protection);
        let state = GuardState::read(protection, &self.0.served, Some(&before))?;
        *self.0.state.lock() = Arc::new(state);
        Ok(())
    }

    /// Whether the keys of all issuers can be fetched.
    ///
    /// # Errors
    /// The first that cannot.
    pub async fn check_issuers(&self) -> io::Result<()> {
        for issuer in &self.state().issuers {
            issuer.check(&self.0.fetch).await.map_err(Error::other)?;
        }
        Ok(())
    }

    fn state(&self) -> Arc<GuardState> {
        self.0.state.lock().clone()
    }

    pub fn has_tls(&self) -> bool {
        self.state().acceptor.is_some()
    }

    /// Why a client that has proved nothing may not read.
    pub fn denial_of_unknown(&self, visitor: &Visitor) -> Denial {
        self.state().denial(Denial::Unknown(visitor.fault(seconds_since_1970())))
    }

    /// Whether everyone may read everything.
    pub fn is_open(&self) -> bool {
        self.state().rules.are_open()
    }

    /// Whether a client that proves nothing may read something.
    pub fn has_public(&self) -> bool {
        self.state().rules.has_public()
    }

    /// Whether rules decide for each file, and so a client may come without a proof at first.
    pub fn has_rules(&self) -> bool {
        self.state().rules.are_written()
    }

    /// Whether a client may read there: the one decision, for each request.
    ///
    /// # Errors
    /// `PermissionDenied`, with a [`Denial`](crate::access::Denial).
    pub fn decide(&self, visitor: &Visitor, place: &ServedPlace) -> io::Result<()> {
        let state = self.state();
        let decided = state.rules.decide(visitor, place, &state.issuers, seconds_since_1970());
        decided.map_err(|why| Error::new(ErrorKind::PermissionDenied, state.denial(why)))
    }

    /// The quotas of the cache that a client's bytes are charged to.
    pub fn charges(&self, visitor: &Visitor) -> Charges {
        let state = self.state();
        state.quota_readers.charges(visitor, &state.issuers, seconds_since_1970())
    }

    /// The stream within TLS, and the connection as far as it tells who its client is.
    ///
    /// # Errors
    /// The handshake fails, or there is no TLS here.
    pub async fn within(
        &self,
        stream: impl Stream + 'static,
    ) -> io::Result<(Box<dyn Stream>, Peer)> {
        accepted(&self.acceptor()?, stream).await
    }

    /// The stream of a client of HTTP/2, within TLS.
    ///
    /// # Errors
    /// As for [`within`](Self::within).
    #[cfg(feature = "flight")]
    pub async fn within_http2(
        &self,
        stream: impl Stream + 'static,
    ) -> io::Result<(Box<dyn Stream>, Peer)> {
        let mut config = ServerConfig::clone(self.acceptor()?.config());
        config.alpn_protocols = vec![b"h2".to_vec()];
        accepted(&TlsAcceptor::from(Arc::new(config)), stream).await
    }

    fn acceptor(&self) -> io::Result<TlsAcceptor> {
        self.state().acceptor.clone().ok_or_else(|| ErrorKind::Unsupported.into())
    }

    /// Whether a client has proved who it is, and the proof still counts.
    pub fn knows(&self, visitor: &Visitor) -> bool {
        visitor.is_known(seconds_since_1970())
    }

    /// The stream, within TLS if it is encrypted.
    ///
    /// # Errors
    /// As for [`within`](Self::within).
    pub async fn within_if(
        &self,
        is_encrypted: bool,
        stream: impl Stream + 'static,
    ) -> io::Result<(Box<dyn Stream>, Peer)> {
        match is_encrypted {
            true => self.within(stream).await,
            false => Ok((Box::new(stream), Peer::default())),
        }
    }

    /// Who the client of a connection is by the certificates that it has shown there.
    pub async fn certificate(&self, peer: &Peer) -> Option<Arc<Judged>> {
        let state = self.state();
        Some(state.x509.as_ref()?.judge(peer.shown.as_ref()?).await)
    }

    /// This host's side of `gsi`, if clients may log in by it.
    pub fn gsi(&self) -> Option<Arc<GsiHost>> {
        self.state().gsi.clone()
    }

    /// Whether clients may log in without TLS.
    pub fn has_plain_logins(&self) -> bool {
        let state = self.state();
        state.gsi.is_some() || state.protection.kerberos.is_some()
    }

    /// Whether a client can prove something over HTTP.
    pub fn has_http_proofs(&self) -> bool {
        self.state().protection.needs_tls()
    }

    /// Who a client is that sends neither a token nor a password.
    pub async fn visitor_of_peer(&self, peer: &Peer) -> Visitor {
        Visitor { certificate: self.certificate(peer).await, ..Visitor::default() }
    }

    /// Who a client with this token is.
    pub async fn visitor_of_token(&self, token: &str, peer: &Peer) -> Visitor {
        let certificate = self.certificate(peer).await;
        if !peer.is_encrypted {
            return Visitor { certificate, ..Visitor::with_fault(TokenFault::Exposed) };
        }
        let state = self.state();
        let is_it =
            |known: &SecretString| is_same(known.expose_secret().as_bytes(), token.as_bytes());
        let proved = match state.tokens.iter().any(is_it) {
            true => Ok(Proved::Listed),
            false => state.proved(token, &self.0.fetch).await,
        };
        let bearer = Some(Bearer::new(token));
        match proved {
            Ok(proved) => Visitor { proved, fault: None, bearer, certificate },
            Err(fault) => Visitor { bearer, certificate, ..Visitor::with_fault(fault) },
        }
    }

    /// Who a client with this ticket is: an AP-REQ of Kerberos.
    ///
    /// # Errors
    /// Why the ticket is not accepted, in words for the client.
    pub async fn visitor_of_ticket(&self, request: Bytes, peer: &Peer) -> Result<Visitor, String> {
        let service = self.state().protection.kerberos.clone();
        let service = service.ok_or("no Kerberos tickets are taken here")?;
        // The library reads files.
        let client = tokio::task::spawn_blocking(move || service.client_of(&request)).await;
        let client = client.map_err(|_| "the Kerberos library failed".to_owned())?;
        let client = client.map_err(|why| format!("the Kerberos ticket is not accepted: {why}"))?;
        let proved = Proved::Ticket(client);
        Ok(Visitor { proved, ..self.visitor_of_peer(peer).await })
    }

    /// The logins that clients of XRootD are offered, the more deliberate ones first. Tokens are
    /// offered within TLS only.
    pub fn logins(&self) -> String {
        let state = self.state();
        let kerberos = &state.protection.kerberos;
        let mut offers = String::new();
        if !state.rules.are_open() {
            offers = format!("&P=ztn,0:{TOKEN_BYTES_MAX}:");
        }
        if let Some(KerberosService { principal, .. }) = kerberos {
            offers = format!("{offers}&P=krb5,{principal}");
        }
        if let Some(gsi) = &state.gsi {
            offers.push_str(&gsi.offer());
        }
        if state.rules.are_written() && (state.acceptor.is_some() || kerberos.is_some()) {
            // The name proves nothing: such a client reads public files, or sends a token with a
            // path.
            offers.push_str("&P=unix");
        }
        offers
    }

    /// Who a client is that sends this HTTP request.
    pub async fn visitor(&self, headers: &HeaderMap, peer: &Peer) -> Visitor {
        let mut lines = headers.get_all(AUTHORIZATION).iter();
        let Some(line) = lines.next() else { return self.visitor_of_peer(peer).await };
        let shown = line.to_str().ok().and_then(|line| line.trim().split_once(' '));
        let Some((kind, shown)) = shown.filter(|_| lines.next().is_none()) else {
            let certificate = self.certificate(peer).await;
            return Visitor { certificate, ..Visitor::with_fault(TokenFault::Malformed) };
        };
        let shown = shown.trim();
        match &*kind.to_ascii_lowercase() {
            "bearer" => self.visitor_of_token(shown, peer).await,
            "basic" if peer.is_encrypted => {
                let certificate = self.certificate(peer).await;
                Visitor { certificate, ..self.state().user(shown) }
            }
            _ => self.visitor_of_peer(peer).await,
        }
    }

    /// The values of `WWW-Authenticate`.
    pub fn challenges(&self, fault: Option<ProofFault>) -> Vec<String> {
        let state = self.state();
        let has_tokens = !state.tokens.is_empty() || !state.issuers.is_empty();
        // RFC 6750, section 3.1.
        let fault = match fault {
            Some(ProofFault::Token(fault)) => {
                Some(format!(", error=\"invalid_token\", error_description=\"{fault}\""))
            }
            Some(ProofFault::Certificate(_) | ProofFault::TicketExpired) | None => None,
        };
        let bearer = format!("Bearer realm=\"farroot\"{}", fault.unwrap_or_default());
        let has_users = state.protection.users.is_some();
        let all = [(has_tokens, bearer), (has_users, "Basic realm=\"farroot\"".to_owned())];
        all.into_iter().filter_map(|(is_wanted, text)| is_wanted.then_some(text)).collect()
    }
}

impl GuardState {
    fn read(
        protection: &Protection,
        served: &GuardedFiles,
        before: Option<&GuardState>,
    ) -> io::Result<Self> {
        let is_far = served.is_far;
        let Protection { tls, tokens, users, issuers, kerberos, x509, rules } = protection;
        let asks = x509.is_some();
        let acceptor = tls.as_ref().map(|(certificate, key)| acceptor(certificate, key, asks));
        let acceptor = acceptor.transpose()?;
        if protection.needs_tls() && acceptor.is_none() {
            let message = "tokens, passwords and certificates of clients are taken within TLS \
                           only: name a certificate of the server, too";
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        let lines =
            |path: &Option<PathBuf>| path.as_ref().map_or(Ok(Vec::new()), |path| lines(path));
        let wrong = |why: String| Error::new(ErrorKind::InvalidInput, why);
        if let Some(service) = kerberos {
            service.check().map_err(wrong)?;
        }
        let has_gsi = x509.as_ref().is_some_and(|x509| x509.gsi);
        let gsi = match tls.as_ref().filter(|_| has_gsi) {
            Some((certificate, key)) => GsiHost::read(certificate, key)?.map(Arc::new),
            None => None,
        };
        let x509 = x509.as_ref().map(ClientTrust::new).transpose();
        let x509 = x509.map_err(|why| wrong(format!("x509: {why}")))?;
        let lists = ReaderLists {
            has_tokens: tokens.is_some(),
            has_users: users.is_some(),
            has_tickets: kerberos.is_some(),
            has_certificates: x509.is_some(),
            has_voms: x509.as_ref().is_some_and(ClientTrust::has_vomsdir),
            is_far,
        };
        let users = lines(users)?;
        if users.iter().any(|user| !user.expose_secret().contains(':')) {
            return Err(Error::new(
                ErrorKind::InvalidData,
                "a user without a colon and a password",
            ));
        }
        let known = |url: &str| before?.issuers.iter().find(|issuer| issuer.url == url);
        let issuers = issuers.iter().map(|one| Issuer::new(one, is_far, known(&one.url)));
        let issuers: Vec<Issuer> = issuers.collect::<Result<_, _>>().map_err(wrong)?;
        let names = |issuer: &Issuer| [issuer.name.clone(), issuer.url.clone()];
        for (at, issuer) in issuers.iter().enumerate() {
            let is_twice =
                |other: &Issuer| names(issuer).iter().any(|name| names(other).contains(name));
            if issuers[..at].iter().any(is_twice) {
                return Err(wrong(format!("the issuer {} is listed twice", issuer.name)));
            }
        }
        let rules = AccessRules::new(rules, &issuers, lists).map_err(wrong)?;
        let quota_readers = QuotaReaders::new(&served.quotas, &issuers, lists).map_err(wrong)?;
        let protection = protection.clone();
        let tokens = lines(tokens)?;
        Ok(GuardState {
            protection,
            acceptor,
            tokens,
            users,
            issuers,
            x509,
            gsi,
            rules,
            quota_readers,
        })
    }

    /// A denial as it is true here: no proof helps where nothing can be proved.
    fn denial(&self, denial: Denial) -> Denial {
        match self.protection.has_proofs() {
            true => denial,
            false => Denial::Forbidden(None),
        }
    }

    /// The proof that a signed token is.
    async fn proved(&self, token: &str, fetch: &DocumentFetch) -> Result<Proved, TokenFault> {
        if self.issuers.is_empty() {
            return Err(TokenFault::Unlisted);
        }
        let token = UncheckedToken::parse(token)?;
        let issuer = self.issuers.iter().find(|issuer| issuer.url == token.issuer());
        let issuer = issuer.ok_or(TokenFault::Issuer)?;
        let claims = issuer.claims(token, fetch, seconds_since_1970()).await?;
        Ok(Proved::Token(Box::new(claims)))
    }

    /// The user of a name and password, as HTTP has them (RFC 7617).
    fn user(&self, shown: &str) -> Visitor {
        let Ok(shown) = STANDARD.decode(shown) else { return Visitor::default() };
        let known = |user: &&SecretString| is_same(user.expose_secret().as_bytes(), &shown);
        let user = self.users.iter().find(known);
        let name = user.and_then(|user| user.expose_secret().split_once(':'));
        let proved = name.map_or(Proved::Nothing, |(name, _)| Proved::User(name.to_owned()));
        Visitor { proved, ..Visitor::default() }
    }
}

/// Why a folder that may be written to is not served there.
pub fn unprotected(address: IpAddr) -> Error {
    let text = format!(
        "anyone who reaches {address} could change the files: say who may with --token or --users, \
         or serve this machine only"
    );
    Error::new(ErrorKind::InvalidInput, text)
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Guard(tls: {}, open: {})", self.has_tls(), self.is_open())
    }
}

/// The stream within TLS, and the connection as far as it tells who its client is.
async fn accepted(
    acceptor: &TlsAcceptor,
    stream: impl Stream + 'static,
) -> io::Result<(Box<dyn Stream>, Peer)> {
    let stream = acceptor.accept(stream).await?;
    let peer = Peer::within_tls(stream.get_ref().1);
    Ok((Box::new(stream), peer))
}

fn acceptor(certificate: &Path, key: &Path, asks: bool) -> io::Result<TlsAcceptor> {
    let wrong = |path: &Path, why: String| {
        Error::new(ErrorKind::InvalidData, format!("{}: {why}", path.display()))
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(|found| found.collect::<Result<Vec<_>, _>>())
        .map_err(|error| wrong(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(wrong(certificate, "no certificate is in it".into()));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|e| wrong(key, e.to_string()))?;
    let config = ServerConfig::builder_with_provider(remote::source::tls::provider())
        .with_safe_default_protocol_versions()
        .map_err(Error::other)?;
    let config = match asks {
        true => config.with_client_cert_verifier(Arc::new(AskForCertificate)),
        false => config.with_no_client_auth(),
    };
    let config =
        config.with_single_cert(chain, private).map_err(|error| wrong(key, error.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The lines of a file, without blanks around them and without those that begin with `#`.
fn lines(path: &Path) -> io::Result<Vec<SecretString>> {
    let text = std::fs::read_to_string(path)
        .map(SecretString::from)
        .map_err(|error| Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    let lines = text.expose_secret().lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(SecretString::from).collect())
}

/// Compares without telling by the time where the first difference is.
pub fn is_same(known: &[u8], shown: &[u8]) -> bool {
    let differs = known.iter().zip(shown).fold(0, |differs, (a, b)| differs | (a ^ b));
    known.len() == shown.len() && differs == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_protected_needs_tls() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = folder.path().join("tokens");
        std::fs::write(&tokens, "# none\n\n marker-token \n").unwrap();
        let protection = Protection { tokens: Some(tokens.clone()), ..Protection::default() };
        let error =
            Guard::new(&protection, GuardedFiles::default(), Environment::default()).unwrap_err();
        assert!(error.to_string().contains("within TLS only"), "{error}");
        let read = lines(&tokens).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].expose_secret(), "marker-token");
        assert!(!format!("{read:?}").contains("marker"));
    }
}
