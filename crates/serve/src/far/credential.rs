//! The credential that an origin is shown.

use std::io;
use std::time::{Duration, UNIX_EPOCH};

use remote::ErrorKind;
use remote::address::{Address, CacheUse, CallAccess, with_access};
use remote::clock::seconds_since_1970;
use secrecy::ExposeSecret;

use super::mounts::MountedFile;
use super::{AskedAddress, FarFiles, failure};
use crate::access::{Denial, Proved, Visitor};
use crate::guest::Guest;
use crate::origin_credential::OriginCredential;

impl FarFiles {
    /// The address with the credential that its origin is shown. Where that is the client's own,
    /// the origin has let the client read the file: now, or a short time ago.
    ///
    /// # Errors
    /// `PermissionDenied`, with a [`Denial`], where the origin does not; its other errors.
    /// `NotFound` where it would have to be asked, and may not be.
    pub async fn asked(
        &self,
        guest: &Guest,
        address: Address,
        cache_use: CacheUse,
    ) -> io::Result<AskedAddress> {
        let charges = guest.charges();
        if address.is_local() {
            let MountedFile { address, info } = self.0.mounts.file(guest, &address).await?;
            return Ok(AskedAddress { address, lent: None, now: Some(info), charges });
        }
        let mut origins = self.0.origins.iter().filter(|origin| origin.allows(&address));
        let credential = origins.next().and_then(|origin| origin.credential());
        let kept = match credential {
            None => return Ok(AskedAddress { address, lent: None, now: None, charges }),
            Some(OriginCredential::Passthrough(kept)) => *kept,
            Some(OriginCredential::Token(path)) => {
                let credential_store = self.0.engine.config().credential_store;
                let lent =
                    self.0.service_tokens.lent(path, &credential_store).await.map_err(failure)?;
                let address = Address::parse(&lent.on(address.as_str())).map_err(failure)?;
                return Ok(AskedAddress { address, lent: Some(lent), now: None, charges });
            }
            Some(of_proxy) => {
                let choice = of_proxy.choice().unwrap_or_default();
                let access = CallAccess { choice, ..CallAccess::default() };
                let address = Address::parse(&with_access(address.as_str(), &access));
                let address = address.map_err(failure)?;
                return Ok(AskedAddress { address, lent: None, now: None, charges });
            }
        };
        let bearer = guest.visitor.bearer.as_ref();
        let lent = bearer.map(|bearer| self.0.answers.lent(bearer));
        let asked = match &lent {
            Some(lent) => Address::parse(&lent.on(address.as_str())).map_err(failure)?,
            None => address.clone(),
        };
        let answers = &self.0.answers;
        match answers.remembered(bearer, &address) {
            Some(true) => {}
            Some(false) => return Err(denied(&guest.visitor)),
            None if cache_use == CacheUse::Only => {
                let text = "its server has to be asked whether the client may read it";
                return Err(failure(remote::Error::new(ErrorKind::NotFound, text)));
            }
            None => match self.opened(&asked, charges, CacheUse::Verified).await {
                Ok(_) => answers.allowed(bearer, &address, lasts(&guest.visitor, kept)),
                Err(error) => {
                    let kinds = [ErrorKind::PermissionDenied, ErrorKind::Unauthenticated];
                    if !kinds.contains(&error.kind()) {
                        return Err(failure(error));
                    }
                    tracing::info!("the origin refuses a client: {error}");
                    answers.refused(bearer, &address);
                    return Err(denied(&guest.visitor));
                }
            },
        }
        Ok(AskedAddress { address: asked, lent, now: None, charges })
    }
}

/// The refusal of an origin, as this proxy's own.
fn denied(visitor: &Visitor) -> io::Error {
    let denial = match &visitor.bearer {
        Some(_) => Denial::Forbidden(None),
        None => visitor.denial(seconds_since_1970()),
    };
    io::Error::new(io::ErrorKind::PermissionDenied, denial)
}

/// How long an answer counts: never longer than the token.
fn lasts(visitor: &Visitor, kept: Duration) -> Duration {
    let now = seconds_since_1970();
    let expires = match (&visitor.proved, &visitor.bearer) {
        (Proved::Token(claims), _) => Some(claims.expires),
        // By the token's own word.
        (_, Some(bearer)) => {
            let claims = remote::credentials::Claims::of(bearer.secret.expose_secret());
            let until = claims.and_then(|claims| claims.expires);
            until.and_then(|until| Some(until.duration_since(UNIX_EPOCH).ok()?.as_secs()))
        }
        _ => None,
    };
    let left = expires.map(|expires| Duration::from_secs(expires.saturating_sub(now)));
    left.map_or(kept, |left| left.min(kept))
}
