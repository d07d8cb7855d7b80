//! The proxy's own tokens, from files that tools renew in place. Connections belong to one token,
//! and a busy one would outlive it: so each new token has an address, and connections, of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mutex::Mutex;
use remote::address::LentToken;
use remote::credentials::{Choice, CredentialStore, TokenFrom};
use remote::{Error, ErrorKind, Result};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;
use tracing::warn;

/// How often a file is read.
const LOOK: Duration = Duration::from_secs(1);

/// The tokens of all files.
#[derive(Debug, Default)]
pub struct ServiceTokens(Mutex<BTreeMap<PathBuf, ServiceToken>>);

#[derive(Debug)]
struct ServiceToken {
    secret: SecretString,
    lent: Arc<LentToken>,
    looked: Instant,
}

impl ServiceTokens {
    /// The token of a file as it is now; where it has none now, the one before.
    ///
    /// # Errors
    /// `Unauthenticated` where there is neither; the log has the reason.
    pub async fn lent(
        &self,
        path: &PathBuf,
        credential_store: &CredentialStore,
    ) -> Result<Arc<LentToken>> {
        let now = Instant::now();
        if let Some(known) = self.0.lock().get(path).filter(|known| known.looked + LOOK > now) {
            return Ok(known.lent.clone());
        }
        let token = Some(TokenFrom::File(path.clone()));
        let credential_store = credential_store.with(Choice { token, ..Choice::default() });
        let read = tokio::task::spawn_blocking(move || credential_store.token()).await;
        let read = read.map_err(|error| error.to_string());
        let read = read.and_then(|read| read.map_err(|why| why.to_string()));
        let mut tokens = self.0.lock();
        let before = tokens.get_mut(path);
        let secret = match (read, before) {
            (Ok(Some(token)), Some(before))
                if token.secret.expose_secret() == before.secret.expose_secret() =>
            {
                before.looked = now;
                return Ok(before.lent.clone());
            }
            (Ok(Some(token)), _) => token.secret,
            // It may still be valid, and the cache may answer without.
            (Ok(None) | Err(_), Some(before)) => {
                warn!("{}: no token that can be used; the one before is kept", path.display());
                before.looked = now;
                return Ok(before.lent.clone());
            }
            (Ok(None), None) => return Err(lacking(&format!("{}: it is empty", path.display()))),
            (Err(why), None) => return Err(lacking(&why)),
        };
        let lent = Arc::new(LentToken::new(secret.clone()));
        tokens.insert(path.clone(), ServiceToken { secret, lent: lent.clone(), looked: now });
        Ok(lent)
    }
}

/// The error for clients, whom the files of the proxy do not concern.
fn lacking(why: &str) -> Error {
    warn!("a token for an origin cannot be used: {why}");
    let text = "this proxy has no valid credential for the file's server: its log has the reason";
    Error::new(ErrorKind::Unauthenticated, text)
}
