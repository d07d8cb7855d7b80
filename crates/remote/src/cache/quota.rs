//! Quotas: parts of a cache's room, and the contents that are charged to them.
//!
//! A quota has a place, whose files are charged to it, or stands for an identity. The program that
//! knows who asks says which quotas those are ([`Charges`]), by their position in the settings. A
//! content is charged once ([`decided`]), when its first bytes come in, and so long as any of them
//! are there. The file beside its segments that notes this has hashes of the quotas' names.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::content::{CHARGED, numbers};
use super::replica_files::REPLICA;
use super::segment::UNFINISHED;
use crate::address::Address;
use crate::charges::{Charges, QUOTAS_MAX};
use crate::disk;
use crate::error::{Error, ErrorKind, Result};
use crate::report::size;

/// Quotas that the file names at the most: also such that the settings no longer have.
const NAMED_MAX: usize = 2 * QUOTAS_MAX;
/// More than so many take.
const CHARGED_BYTES_MAX: u64 = 8 << 10;

/// A part of the cache's room.
#[derive(Clone)]
pub struct CacheQuota {
    /// By which contents are found to be charged to it, also after a restart.
    pub name: String,
    /// Bytes on all disks together at the most.
    pub bytes_max: u64,
    /// The files that are charged to it; `None` for a quota of an identity.
    pub place: Option<QuotaPlace>,
}

/// Whether the file at an address is one of a quota.
#[derive(Clone)]
pub struct QuotaPlace(Arc<dyn Fn(&Address) -> bool + Send + Sync>);

impl QuotaPlace {
    /// The files for which `has` is true.
    pub fn new(has: impl Fn(&Address) -> bool + Send + Sync + 'static) -> Self {
        QuotaPlace(Arc::new(has))
    }

    /// Whether the file at an address is one of them.
    pub fn has(&self, address: &Address) -> bool {
        (self.0)(address)
    }
}

impl CacheQuota {
    /// `LimitReached` where a quota with so many bytes has no room for more of them.
    pub(super) fn check_room(&self, taken: u64, bytes: u64) -> Result<()> {
        let CacheQuota { name, bytes_max, .. } = self;
        if taken.saturating_add(bytes) <= *bytes_max {
            return Ok(());
        }
        let [bytes, most, taken] = [bytes, *bytes_max, taken].map(size);
        let text = format!("the quota {name} has no room for {bytes}: of {most} it has {taken}");
        Err(Error::new(ErrorKind::LimitReached, text)
            .with_advice("let the quota have more bytes, or end pins (`farroot cache unpin`)"))
    }
}

/// Its name says which place it has.
impl PartialEq for CacheQuota {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.bytes_max == other.bytes_max
    }
}

impl Eq for CacheQuota {}

impl fmt::Debug for CacheQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CacheQuota({}: {})", self.name, self.bytes_max)
    }
}

/// The quotas that a request for a file names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AskedCharges {
    /// By where the file is.
    pub of_place: Charges,
    /// By who asks.
    pub of_identity: Charges,
}

/// The quotas that a content is charged to: the one decision. `kept` are those of the bytes of it
/// that are here, if any are: who has brought these in has paid. Its place is the same for all.
pub fn decided(kept: Option<Charges>, asked: AskedCharges) -> Charges {
    kept.unwrap_or(asked.of_identity).and(asked.of_place)
}

/// How much of a quota is used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct QuotaTotals {
    /// Its name.
    pub name: String,
    /// Bytes on all disks together at the most.
    pub bytes_max: u64,
    /// Bytes on the disks that are charged to it.
    pub disk_bytes: u64,
    /// Bytes that arrived and were not cached as the quota was full, since the cache was made.
    pub refused_bytes: u64,
}

/// The quotas of a cache. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Quotas {
    all: Arc<[CacheQuota]>,
    /// By which they are named on the disk.
    hashes: Arc<[String]>,
}

impl Quotas {
    /// Those of the settings; beyond [`QUOTAS_MAX`] they do not count.
    pub fn new(quotas: &[CacheQuota]) -> Self {
        let quotas = &quotas[..quotas.len().min(QUOTAS_MAX)];
        let hashes = quotas.iter().map(|quota| hash(&quota.name));
        Quotas { all: quotas.into(), hashes: hashes.collect() }
    }

    /// In the order of the settings.
    pub fn all(&self) -> &[CacheQuota] {
        &self.all
    }

    /// The names on the disk, in the same order.
    pub fn hashes(&self) -> &[String] {
        &self.hashes
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Those of the places of a file.
    pub fn of_places<'a>(&self, places: impl IntoIterator<Item = &'a str>) -> Charges {
        if self.all.iter().all(|quota| quota.place.is_none()) {
            return Charges::default();
        }
        let address = |place: &str| match place.starts_with('/') {
            true => Address::local(Path::new(place)).ok(),
            false => Address::parse(place).ok(),
        };
        let addresses: Vec<Address> = places.into_iter().filter_map(address).collect();
        let has = |quota: &CacheQuota| {
            let place = quota.place.as_ref();
            place.is_some_and(|place| addresses.iter().any(|address| place.has(address)))
        };
        Charges::of((0..).zip(&*self.all).filter_map(|(at, quota)| has(quota).then_some(at)))
    }

    /// Those that the content of a folder is charged to.
    pub fn of_folder(&self, folder: &Path) -> Charges {
        if self.is_empty() {
            return Charges::default();
        }
        let named = named(folder);
        let is_named = |at: &usize| named.contains(&self.hashes[*at]);
        Charges::of((0..self.hashes.len()).filter(is_named))
    }

    /// Notes beside the segments of a content what it is charged to. Quotas that the settings do
    /// not have any more stay noted, as long as bytes are there.
    ///
    /// # Errors
    /// An error of writing it.
    pub fn note(&self, folder: &Path, charges: Charges) -> io::Result<()> {
        let before = if has_bytes(folder) { named(folder) } else { BTreeSet::new() };
        let new = charges.positions().filter_map(|at| self.hashes.get(at).cloned());
        let names: BTreeSet<String> = new.chain(before.iter().cloned()).take(NAMED_MAX).collect();
        if names == before {
            return Ok(());
        }
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
        for name in names {
            writeln!(file, "{name}")?;
        }
        file.persist(folder.join(CHARGED)).map(drop).map_err(|error| error.error)
    }
}

/// Whether a folder has bytes of its content.
pub fn has_bytes(folder: &Path) -> bool {
    !numbers(folder).is_empty() || fs::exists(folder.join(REPLICA)).unwrap_or(false)
}

/// The quotas that the file in a folder names. Without a file there are none, as in a cache of
/// before.
fn named(folder: &Path) -> BTreeSet<String> {
    let bytes = disk::read(&folder.join(CHARGED), CHARGED_BYTES_MAX).unwrap_or_default();
    let text = String::from_utf8(bytes).unwrap_or_default();
    text.lines().take(NAMED_MAX).map(str::to_owned).collect()
}

fn hash(name: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(name.as_bytes())[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(name: &str, place: Option<QuotaPlace>) -> CacheQuota {
        CacheQuota { name: name.to_owned(), bytes_max: 1000, place }
    }

    #[test]
    fn who_brings_a_content_in_pays_and_its_place_always_does() {
        let [place, alice, bob] = [0, 1, 2].map(|at| Charges::of([at]));
        let asked = |of_identity| AskedCharges { of_place: place, of_identity };
        assert_eq!(decided(None, asked(alice)), Charges::of([0, 1]));
        assert_eq!(decided(Some(alice), asked(bob)), Charges::of([0, 1]));
        // A content that was cached before the cache had quotas is charged to no identity.
        assert_eq!(decided(Some(Charges::default()), asked(bob)), place);
        assert_eq!(decided(None, AskedCharges::default()), Charges::default());
        assert!(Charges::of([127]).has(127) && Charges::of([128]).is_empty());
    }

    #[test]
    fn charges_are_found_again_by_the_names_of_quotas() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let all = [quota("user:alice", None), quota("group:cms:/cms", None)];
        let quotas = Quotas::new(&all);
        assert!(quotas.of_folder(folder).is_empty(), "a cache of before has no such file");
        fs::write(folder.join("00000.far"), "").unwrap();
        quotas.note(folder, Charges::of([0])).unwrap();
        quotas.note(folder, Charges::of([1])).unwrap();
        assert_eq!(quotas.of_folder(folder), Charges::of([0, 1]));
        let other = Quotas::new(&[all[1].clone(), quota("user:bob", None), all[0].clone()]);
        assert_eq!(other.of_folder(folder), Charges::of([0, 2]));
        let text = fs::read_to_string(folder.join(CHARGED)).unwrap();
        assert!(!text.contains("alice") && !text.contains("cms"), "{text}");
        // One that the settings no longer have stays noted.
        other.note(folder, Charges::of([1])).unwrap();
        assert_eq!(quotas.of_folder(folder), Charges::of([0, 1]));
        // All bytes were evicted: the next who bring it in pay.
        fs::remove_file(folder.join("00000.far")).unwrap();
        quotas.note(folder, Charges::of([1])).unwrap();
        assert_eq!(quotas.of_folder(folder), Charges::of([1]));
        fs::write(folder.join(CHARGED), vec![b'\n'; 1 << 20]).unwrap();
        assert!(quotas.of_folder(folder).is_empty(), "no file of farroot's is as long");
    }

    #[test]
    fn a_place_is_charged_by_its_address() {
        let has = |address: &Address| address.as_str().starts_with("root://h//user/");
        let quotas = [quota("user:alice", None), quota("place", Some(QuotaPlace::new(has)))];
        let quotas = Quotas::new(&quotas);
        assert_eq!(quotas.of_places(["root://h//user/f"]), Charges::of([1]));
        assert_eq!(quotas.of_places(["root://g//user/f", "root://h//user/f"]), Charges::of([1]));
        assert!(quotas.of_places(["root://h//other/f", "no address of any kind"]).is_empty());
    }
}
