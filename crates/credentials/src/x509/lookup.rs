//! Places where users have their proxies and certificates.

use std::path::PathBuf;
use std::time::SystemTime;

use super::Identity;
use crate::files::{self, Access};
use crate::{Choice, Environment, Kind, Place, Reason, Unusable};

/// A place that may have an identity.
pub(crate) enum Source {
    /// One file with all.
    Proxy(Place),
    /// A file with the certificate, and one with the key.
    Pair(Place, Place),
}

impl Source {
    pub(crate) fn place(&self) -> &Place {
        match self {
            Source::Proxy(place) | Source::Pair(place, _) => place,
        }
    }

    /// The file with the key.
    pub(crate) fn key(&self) -> &Place {
        match self {
            Source::Proxy(place) | Source::Pair(_, place) => place,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Source::Proxy(_) => "the proxy",
            Source::Pair(..) => "the certificate",
        }
    }
}

/// The places, in the order in which they are looked at.
pub(crate) fn sources(environment: &Environment, choice: &Choice) -> Vec<Source> {
    if let Some(path) = &choice.proxy {
        return vec![Source::Proxy(Place::named(path, "the argument proxy"))];
    }
    let mut sources = Vec::new();
    sources.push(Source::Proxy(match environment.variable("X509_USER_PROXY") {
        Some(path) => Place::named(path, "X509_USER_PROXY"),
        None => {
            let name = format!("x509up_u{}", environment.user_id);
            Place::usual(environment.temporary().join(name))
        }
    }));
    if let Some(path) = environment.variable("X509_USER_CERT") {
        // As Globus has it: the key may be in the certificate's file.
        let key = environment.variable("X509_USER_KEY");
        let certificate = Place::named(path, "X509_USER_CERT");
        sources.push(match key {
            Some(key) => Source::Pair(certificate, Place::named(key, "X509_USER_KEY")),
            None => Source::Proxy(certificate),
        });
    } else if let Some(home) = &environment.home {
        let globus: PathBuf = home.join(".globus");
        sources.push(Source::Pair(
            Place::usual(globus.join("usercert.pem")),
            Place::usual(globus.join("userkey.pem")),
        ));
    }
    sources
}

/// The first identity that is there. One that cannot be used is an error, but for an encrypted
/// key in its usual place, which most grid users have and make proxies of.
pub(crate) fn find(
    environment: &Environment,
    choice: &Choice,
    now: SystemTime,
) -> Result<Option<Identity>, Unusable> {
    for source in sources(environment, choice) {
        match take(&source, environment.user_id, now) {
            Ok(None) => {}
            Err(Unusable { reason: Reason::Encrypted, place, .. }) if !place.is_named() => {}
            found => return found,
        }
    }
    Ok(None)
}

/// The identity of one place; `None` where there is none.
pub(crate) fn take(
    source: &Source,
    user: u32,
    now: SystemTime,
) -> Result<Option<Identity>, Unusable> {
    let fail = |place: &Place, reason| {
        let place = place.clone();
        Unusable { kind: Kind::X509, name: source.name(), place, reason }
    };
    let read = |place: &Place, access| match place.path() {
        None => Ok(None),
        Some(path) => match files::read(path, user, access) {
            Ok(None) if place.is_named() => Err(fail(place, Reason::Missing)),
            read => read.map_err(|reason| fail(place, reason)),
        },
    };
    let place = source.place();
    let key_place = source.key();
    let (certificates, key) = match source {
        Source::Proxy(place) => (None, read(place, Access::Secret)?),
        Source::Pair(certificate, key) => {
            let Some((text, _)) = read(certificate, Access::Open)? else { return Ok(None) };
            (Some(text), read(key, Access::Secret)?)
        }
    };
    let Some((key, mode)) = key else {
        let lacking = certificates.map(|_| fail(key_place, Reason::Missing));
        return lacking.map_or(Ok(None), Err);
    };
    let text = certificates.as_deref().unwrap_or(&key);
    let identity = Identity::read(text, &key, place.clone(), Some(mode));
    let identity = identity.map_err(|reason| match reason {
        Reason::Encrypted => fail(key_place, reason),
        _ => fail(place, reason),
    })?;
    match now.duration_since(identity.not_after) {
        Ok(ago) => Err(fail(place, Reason::Expired(ago))),
        Err(_) => Ok(Some(identity)),
    }
}
