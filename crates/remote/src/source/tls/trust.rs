//! Whose signatures on certificates are believed.

use std::fmt;
use std::sync::{Arc, LazyLock};

use credentials::{Authorities, Surroundings};
use parking_lot::Mutex;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;

/// Sets of authorities that are kept ready: a process has one, a test some.
const KEPT_MAX: usize = 8;

static KEPT: LazyLock<Mutex<Vec<Kept>>> = LazyLock::new(Mutex::default);

struct Kept {
    authorities: Arc<Authorities>,
    trust: Arc<Trust>,
}

/// The authorities of which a server's certificate has to come from one.
pub struct Trust {
    anchors: Arc<RootCertStore>,
    said: String,
}

impl Trust {
    /// Those that the surroundings name, else those of the system and the grid. They are read when
    /// first asked for, and again when their directory changes; so this may take a while.
    pub fn of(surroundings: &Surroundings) -> Arc<Self> {
        let authorities = Authorities::load(surroundings);
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
        Trust { anchors: Arc::new(anchors), said }
    }

    pub(super) fn anchors(&self) -> &RootCertStore {
        &self.anchors
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
