//! Protection of a server: TLS around connections, and simple authentication within it.
//!
//! For tests, demonstrations and small groups. A client's credential is compared with a list; there
//! are no rights beyond reading all or nothing.

use std::io::{self, Error, ErrorKind};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{AUTHORIZATION, HeaderMap};
use mutex::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::{ExposeSecret, SecretString};
use tokio_rustls::TlsAcceptor;

use super::stream::Stream;

/// Which certificate is shown, and who may read.
#[derive(Debug, Clone, Default)]
pub struct Protection {
    /// Files with the certificate, followed by those that lead to its authority, and with its key,
    /// both PEM. Without them there is no TLS.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// A file with bearer tokens, one a line: who shows one of them may read. Needs TLS.
    pub tokens: Option<PathBuf>,
    /// A file with `user:password` on each line, for HTTP. Needs TLS.
    pub users: Option<PathBuf>,
}

impl Protection {
    /// This, with the files of another where this names none.
    #[must_use]
    pub fn or(self, other: Protection) -> Protection {
        Protection {
            tls: self.tls.or(other.tls),
            tokens: self.tokens.or(other.tokens),
            users: self.users.or(other.users),
        }
    }
}

/// The same, ready to be used. All clones change together when the files are read again.
#[derive(Clone)]
pub struct Guard(Arc<GuardFiles>);

struct GuardFiles {
    protection: Protection,
    state: Mutex<GuardState>,
}

/// The content of the files. Cheap to clone.
#[derive(Clone)]
struct GuardState {
    acceptor: Option<TlsAcceptor>,
    /// `None` where anyone may read.
    wanted: Option<Arc<Wanted>>,
}

struct Wanted {
    tokens: Vec<SecretString>,
    /// As a client sends them.
    users: Vec<SecretString>,
    has_users: bool,
}

/// Which clients may read over one HTTP connection.
pub enum HttpEntry {
    /// Every client.
    Open,
    /// Within TLS: clients that send a credential which the guard accepts.
    Guarded(Guard),
    /// No client: a credential is required, and would be readable without TLS.
    Closed,
}

impl Guard {
    /// # Errors
    /// A file cannot be read or is malformed; there is something to protect and no TLS.
    pub fn new(protection: &Protection) -> io::Result<Self> {
        let state = Mutex::new(GuardState::read(protection)?);
        Ok(Guard(Arc::new(GuardFiles { protection: protection.clone(), state })))
    }

    /// Reads the files again. Connections stay; their next requests need a credential that is still
    /// listed, and new connections get the new certificate.
    ///
    /// # Errors
    /// As [`Guard::new`]; then everything stays as it was.
    pub fn reload(&self) -> io::Result<()> {
        let state = GuardState::read(&self.0.protection)?;
        *self.0.state.lock() = state;
        Ok(())
    }

    fn wanted(&self) -> Option<Arc<Wanted>> {
        self.0.state.lock().wanted.clone()
    }

    pub fn has_tls(&self) -> bool {
        self.0.protection.tls.is_some()
    }

    pub fn is_open(&self) -> bool {
        let Protection { tokens, users, .. } = &self.0.protection;
        tokens.is_none() && users.is_none()
    }

    /// The stream within TLS.
    ///
    /// # Errors
    /// The handshake fails, or there is no TLS here.
    pub async fn within(&self, stream: impl Stream + 'static) -> io::Result<Box<dyn Stream>> {
        let acceptor = self.0.state.lock().acceptor.clone();
        let Some(acceptor) = acceptor else { return Err(ErrorKind::Unsupported.into()) };
        Ok(Box::new(acceptor.accept(stream).await?))
    }

    /// Whether a token is one of those that may read.
    pub fn knows(&self, token: &[u8]) -> bool {
        let Some(wanted) = self.wanted() else { return true };
        wanted.tokens.iter().any(|known| is_same(known.expose_secret().as_bytes(), token))
    }

    /// Whether an HTTP request within TLS may read.
    pub fn lets_in(&self, headers: &HeaderMap) -> bool {
        let Some(wanted) = self.wanted() else { return true };
        let Some((kind, shown)) = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok()?.trim().split_once(' '))
        else {
            return false;
        };
        let shown = shown.trim();
        match &*kind.to_ascii_lowercase() {
            "bearer" => self.knows(shown.as_bytes()),
            "basic" => STANDARD.decode(shown).is_ok_and(|shown| {
                let known = |user: &SecretString| is_same(user.expose_secret().as_bytes(), &shown);
                wanted.users.iter().any(known)
            }),
            _ => false,
        }
    }

    /// The values of `WWW-Authenticate`.
    pub fn challenges(&self) -> Vec<&'static str> {
        let wanted = self.wanted();
        let has_users = wanted.as_ref().is_some_and(|wanted| wanted.has_users);
        let has_tokens = wanted.is_some_and(|wanted| !wanted.tokens.is_empty());
        let all =
            [(has_tokens, "Bearer realm=\"farroot\""), (has_users, "Basic realm=\"farroot\"")];
        all.into_iter().filter_map(|(is_wanted, text)| is_wanted.then_some(text)).collect()
    }
}

impl GuardState {
    fn read(protection: &Protection) -> io::Result<Self> {
        let Protection { tls, tokens, users } = protection;
        let acceptor = tls.as_ref().map(|(certificate, key)| acceptor(certificate, key));
        let acceptor = acceptor.transpose()?;
        if tokens.is_none() && users.is_none() {
            return Ok(GuardState { acceptor, wanted: None });
        }
        if acceptor.is_none() {
            let what = "tokens and passwords are taken within TLS only: name a certificate, too";
            return Err(Error::new(ErrorKind::InvalidInput, what));
        }
        let lines =
            |path: &Option<PathBuf>| path.as_ref().map_or(Ok(Vec::new()), |path| lines(path));
        let has_users = users.is_some();
        let users = lines(users)?;
        if users.iter().any(|user| !user.expose_secret().contains(':')) {
            return Err(Error::new(
                ErrorKind::InvalidData,
                "a user without a colon and a password",
            ));
        }
        let wanted = Wanted { tokens: lines(tokens)?, users, has_users };
        Ok(GuardState { acceptor, wanted: Some(Arc::new(wanted)) })
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

fn acceptor(certificate: &Path, key: &Path) -> io::Result<TlsAcceptor> {
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
        .map_err(Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| wrong(key, error.to_string()))?;
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
        let error = Guard::new(&protection).unwrap_err();
        assert!(error.to_string().contains("within TLS only"), "{error}");
        let read = lines(&tokens).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].expose_secret(), "marker-token");
        assert!(!format!("{read:?}").contains("marker"));
    }
}
