//! Authorities whose signatures on certificates are trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use credentials::x509::revocations;
use credentials::{Authorities, Environment};
use mutex::{Mutex, PerProcess};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer};

use super::provider::provider;

/// Sets of authorities that are kept ready: a process has one, a test some.
const KEPT_MAX: usize = 8;
/// After this long an authority's list is read again: sites fetch new ones some times a day.
const REVOKED_KEPT: Duration = Duration::from_secs(3_600);

static KEPT: PerProcess<Vec<Kept>> = PerProcess::new();

struct Kept {
    authorities: Arc<Authorities>,
    trust: Arc<Trust>,
}

/// The authorities of which a server's certificate has to come from one.
pub struct Trust {
    anchors: Arc<RootCertStore>,
    /// The same, whole.
    certificates: BTreeSet<Vec<u8>>,
    said: String,
    /// Where lists of certificates that were taken back may be.
    directories: Vec<PathBuf>,
    /// Those of each authority in use, by its name.
    revoked: Mutex<BTreeMap<Vec<u8>, Revoked>>,
}

/// The revocation lists of an authority.
#[derive(Clone)]
struct Revoked {
    read: SystemTime,
    lists: Arc<Vec<CertificateRevocationListDer<'static>>>,
}

impl Trust {
    /// Those that the environment name, else those of the system and the grid. They are read at
    /// first use, and again when their directory changes; so this may take a while.
    pub fn of(environment: &Environment) -> Arc<Self> {
        let authorities = Authorities::load(environment);
        let mut kept = KEPT.lock();
        if let Some(known) = kept.iter().find(|kept| Arc::ptr_eq(&kept.authorities, &authorities)) {
            return known.trust.clone();
        }
        let trust = Arc::new(Trust::new(&authorities));
        if kept.len() >= KEPT_MAX {
            kept.remove(0);
        }
        kept.push(Kept { authorities, trust: trust.clone() });
        trust
    }

    pub fn new(authorities: &Authorities) -> Self {
        let mut anchors = RootCertStore::empty();
        let all = authorities.anchors.iter().map(|der| CertificateDer::from(der.as_slice()));
        let (count, _) = anchors.add_parsable_certificates(all);
        let places: Vec<_> =
            authorities.places.iter().map(|place| place.display().to_string()).collect();
        let said = match (count, places.is_empty()) {
            (0, _) => match authorities.skipped.first() {
                Some((path, why)) => format!("no authorities at all ({}: {why})", path.display()),
                None => "no authorities at all: none were found".to_owned(),
            },
            (_, true) => format!("the {count} authorities of the system"),
            (_, false) => format!("the {count} authorities of {}", places.join(", ")),
        };
        let said = said + &authorities.lacking();
        let directories = authorities.places.iter().filter(|place| place.is_dir()).cloned();
        let directories = directories.collect();
        let certificates = authorities.anchors.iter().chain(&authorities.own).cloned().collect();
        let anchors = Arc::new(anchors);
        let revoked = Mutex::default();
        Trust { anchors, certificates, said, directories, revoked }
    }

    pub(super) fn anchors(&self) -> &Arc<RootCertStore> {
        &self.anchors
    }

    /// Whether a certificate is one of the authorities', as one is that signs itself.
    pub(super) fn has(&self, certificate: &CertificateDer<'_>) -> bool {
        self.certificates.contains(certificate.as_ref())
    }

    /// Certificates that an authority, by its name as DER, has revoked, as far as its directory has
    /// a list that can be read. Reads files at first use, and again after a while.
    pub(super) fn revoked_by(
        &self,
        issuer: &[u8],
        now: SystemTime,
    ) -> Arc<Vec<CertificateRevocationListDer<'static>>> {
        let mut revoked = self.revoked.lock();
        let is_fresh =
            |known: &&Revoked| now.duration_since(known.read).is_ok_and(|age| age < REVOKED_KEPT);
        if let Some(known) = revoked.get(issuer).filter(is_fresh) {
            return known.lists.clone();
        }
        let lists = revocations(&self.directories, issuer, now).into_iter().map(From::from);
        let can_be_read = |list: &CertificateRevocationListDer<'static>| {
            let builder =
                WebPkiServerVerifier::builder_with_provider(self.anchors.clone(), provider());
            builder.with_crls([list.clone()]).build().is_ok()
        };
        let lists = Arc::new(lists.filter(can_be_read).collect::<Vec<_>>());
        revoked.insert(issuer.to_owned(), Revoked { read: now, lists: lists.clone() });
        lists
    }

    /// How many there are, and where they are from.
    pub fn said(&self) -> &str {
        &self.said
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trust({})", self.said)
    }
}
