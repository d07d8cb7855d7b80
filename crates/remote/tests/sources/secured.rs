//! An authority, its servers, and their users' credentials.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use credentials::{Choice, CredentialStore, Environment, TokenFrom};
use farroot_remote::Config;
use farroot_remote::source::tls::provider;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;

/// An authority in a folder of its own.
pub struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
    der: CertificateDer<'static>,
}

impl Authority {
    pub fn new() -> Self {
        Self::named("Test CA")
    }

    pub fn named(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        Authority { folder, der: certificate.der().clone(), issuer: Issuer::new(params, key) }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn host(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(names).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (vec![certificate.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
    }

    /// A certificate of this machine and its key, as files for a server of others.
    pub fn host_files(&self) -> (PathBuf, PathBuf) {
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(names).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (self.secret("host.pem", &certificate.pem()), self.secret("host.key", &key.serialize_pem()))
    }

    /// A server of this machine, which asks for nothing.
    pub fn server(&self) -> TlsAcceptor {
        let (chain, key) = self.host();
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }

    /// One that wants a certificate of `users`.
    pub fn asking(&self, users: &Authority) -> TlsAcceptor {
        let mut roots = RootCertStore::empty();
        roots.add(users.der.clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
        let (chain, key) = self.host();
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier.build().unwrap())
            .with_single_cert(chain, key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }

    /// A certificate of a user with its key, in one file.
    pub fn user(&self) -> PathBuf {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "Ada Lovelace");
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let text = format!("{}{}", certificate.pem(), key.serialize_pem());
        self.secret("user.pem", &text)
    }

    pub fn secret(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// A user who trusts this authority alone, and has the chosen credential.
    pub fn config(&self, choice: Choice) -> Config {
        let user = Environment::of_process().user_id;
        let ca = self.path().join("ca.pem");
        let variables = [("SSL_CERT_FILE", ca.to_str().unwrap())];
        let mut environment = Environment::new(user, None, variables);
        environment.temporary = Some(self.path().to_owned());
        let credential_store = CredentialStore::new(environment, choice);
        Config { credential_store, ..Config::default() }
    }

    pub fn with_token(&self, token: &str) -> Config {
        self.config(Choice { token: Some(TokenFrom::Secret(token.into())), ..Choice::default() })
    }
}

/// A JSON Web Token with these claims, which no one has signed.
pub fn token(claims: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}.{}", part(r#"{"alg":"none"}"#), part(claims), part("signature"))
}

/// As the header has user and password.
pub fn basic(credentials: &str) -> String {
    format!("Basic {}", STANDARD.encode(credentials))
}
