//! Demands of a simulated server on those who log in: TLS, a token.
//!
//! The handshake of TLS is that of rustls on both sides, over the simulated link: its messages,
//! records and round trips are real. Not simulated are the time that its computing takes, which is
//! none here, the keys, which are other ones each time, and the time by which certificates are
//! judged, which is this machine's.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use credentials::{Choice, CredentialStore, Environment};
use mutex::Mutex;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use secrecy::ExposeSecret;
use tokio_rustls::TlsAcceptor;
use xrootd::auth::token_of;
use xrootd::message::Auth;
use xrootd::server::ServedTls;

/// The credentials that a server wants of clients, and those that they have sent.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    pub tls: ServedTls,
    /// For TLS.
    pub host: Option<Host>,
    /// Its offers, in its words; none where no login wants proof.
    pub offers: &'static str,
    /// The token that is good now.
    pub token: &'static str,
    /// After so many answered reads every connection ends, and this token is good.
    pub expires: Option<(u32, &'static str)>,
    /// Connections, counted from one, whose credential is refused.
    pub refuses: BTreeSet<u8>,
    /// Connections that end when TLS begins.
    pub resets: BTreeSet<u8>,
    /// It announces protocol version 5.0.0, and bytes right behind kXR_protocol never get to TLS,
    /// as in dCache.
    pub is_buffering: bool,
    /// The tokens that were shown.
    pub shown: Arc<Mutex<Vec<String>>>,
}

impl Guard {
    /// Whether a credential is good on this connection.
    pub(crate) fn accepts(&self, connection: u8, auth: &Auth) -> bool {
        if self.refuses.contains(&connection) {
            return false;
        }
        if &auth.protocol != b"ztn\0" {
            return auth.protocol.starts_with(b"unix") && self.offers.contains("&P=unix");
        }
        let Ok(token) = token_of(&auth.credential) else { return false };
        let token = token.expose_secret().to_owned();
        let good = token == self.token;
        self.shown.lock().push(token);
        good
    }
}

/// The side of a server in TLS.
#[derive(Clone)]
pub struct Host(pub(crate) TlsAcceptor);

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Host")
    }
}

/// An authority, which clients trust, and a folder for their credentials.
pub struct Authority {
    folder: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Default for Authority {
    fn default() -> Self {
        Authority::new()
    }
}

impl Authority {
    /// # Panics
    /// Where no folder can be made.
    pub fn new() -> Authority {
        let folder = tempfile::tempdir().expect("a folder");
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "An authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let certificate = params.self_signed(&key).expect("a certificate");
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).expect("a file");
        Authority { folder, issuer: Issuer::new(params, key) }
    }

    /// A server of this name; `versions` of TLS, or all.
    ///
    /// # Panics
    /// Never: keys can be made.
    pub fn host(
        &self,
        name: &str,
        versions: Option<&'static rustls::SupportedProtocolVersion>,
    ) -> Host {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new([name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider);
        let config = match versions {
            Some(version) => config.with_protocol_versions(&[version]),
            None => config.with_safe_default_protocol_versions(),
        };
        let config = config.expect("versions").with_no_client_auth();
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let mut config =
            config.with_single_cert(vec![certificate.der().clone()], key).expect("a key");
        config.ticketer = rustls::crypto::ring::Ticketer::new().expect("tickets");
        Host(TlsAcceptor::from(Arc::new(config)))
    }

    /// The token of the user from now on.
    ///
    /// # Panics
    /// Where there is no folder any more.
    pub fn give(&self, token: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::write(self.token_file(), token).expect("a file");
        let closed = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(self.token_file(), closed).expect("a file");
    }

    /// The settings of a user who trusts this authority, and has the given credentials.
    pub fn user(&self) -> remote::Config {
        self.user_with(&[])
    }

    /// The same with these variables, and without a token if there are any.
    pub fn user_with(&self, more: &[(&str, &str)]) -> remote::Config {
        let path = |path: PathBuf| path.to_string_lossy().into_owned();
        let ca = path(self.folder.path().join("ca.pem"));
        let token = path(self.token_file());
        let mut variables = vec![("X509_CERT_FILE", &*ca)];
        variables.extend(more);
        if more.is_empty() && self.token_file().exists() {
            variables.push(("BEARER_TOKEN_FILE", &*token));
        }
        let mut environment = Environment::new(nix::unistd::geteuid().as_raw(), None, variables);
        environment.temporary = Some(self.folder.path().to_owned());
        let credential_store = CredentialStore::new(environment, Choice::default());
        remote::Config { credential_store, ..remote::Config::default() }
    }

    fn token_file(&self) -> PathBuf {
        self.folder.path().join("token")
    }
}
