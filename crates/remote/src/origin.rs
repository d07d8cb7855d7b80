//! The origin of a file's bytes: whatever is kept of a file answers for the same origin alone.
//!
//! Everything that a file says of itself comes from the server that sends it: size, version,
//! identifier, first bytes. None of it shows that bytes of one server are those of another. So
//! cached bytes belong to the places that a caller has named for one file, in a list of
//! alternatives, a Metalink or by the name of a redirector, and to nothing else. Bytes that may
//! have come without TLS never answer for places that are all reached within it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use credentials::CredentialStore;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::address::{Address, Scheme};
use crate::proofs;

/// Names an origin, or a place within it: a hash (SHA-256), so that no server can find an address
/// with the key of another's.
pub type OriginKey = [u8; 32];

/// Parameters that are for the client alone begin so.
const OF_CLIENT: [&str; 2] = ["xrd.", "xrdcl."];

/// The places of one file, as its caller has named them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOrigin {
    /// Sorted, without user, password and query.
    places: Vec<String>,
    /// Servers of S3, which the settings name and addresses do not.
    service: String,
    is_protected: bool,
    is_local: bool,
    query: String,
    /// Users and passwords of the addresses, which may choose the file, too. Never stored as it is.
    user_info: String,
}

impl FileOrigin {
    /// The origin of a file that is at these addresses; `None` where none is far away.
    pub fn of(urls: &[Address], credential_store: &CredentialStore) -> Option<Self> {
        let is_far = !urls.iter().all(Address::is_local);
        is_far.then(|| FileOrigin::named(urls, credential_store))
    }

    /// The same of any addresses: also of those of this machine alone.
    pub fn named(urls: &[Address], credential_store: &CredentialStore) -> Self {
        let is_s3 = |url: &Address| url.scheme() == Scheme::S3;
        let service = match urls.iter().any(is_s3) {
            true => service_of(credential_store),
            false => String::new(),
        };
        let is_protected = urls.iter().all(|url| match url.scheme() {
            Scheme::Local | Scheme::Roots | Scheme::Https | Scheme::Pelican => true,
            Scheme::S3 => !service.starts_with("http://"),
            Scheme::Root | Scheme::Http => false,
        });
        let mut places: Vec<String> = urls.iter().map(place).collect();
        places.sort();
        places.dedup();
        let query = urls.iter().filter_map(chosen).collect::<Vec<_>>().join("|");
        let user_info = urls.iter().filter_map(Address::user_info).collect::<Vec<_>>().join("|");
        let is_local = urls.iter().all(Address::is_local);
        FileOrigin { places, service, is_protected, is_local, query, user_info }
    }

    /// Whether all of them are of this machine.
    pub fn is_local(&self) -> bool {
        self.is_local
    }

    /// Whether all of them are reached within TLS.
    pub fn is_protected(&self) -> bool {
        self.is_protected
    }

    /// The same places, for bytes from one that is reached without TLS.
    #[must_use]
    pub fn exposed(&self, is_exposed: bool) -> Self {
        FileOrigin { is_protected: self.is_protected && !is_exposed, ..self.clone() }
    }

    /// Whether an address is the only place.
    pub fn is_only(&self, at: &Address) -> bool {
        self.places == [place(at)]
    }

    /// The places, for people.
    pub fn shown(&self) -> String {
        self.places.join("|")
    }

    /// The places, without user, password and query.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(String::as_str)
    }

    /// Which parts of a file's address choose its content beside its place, as a hash: its query,
    /// and its user and password, by which a server may let only some read it.
    pub fn query(&self) -> String {
        let query = self.query.as_str();
        match (self.query.is_empty(), self.user_info.is_empty()) {
            (true, true) => String::new(),
            (false, true) => HEXLOWER.encode(&hash([query].into_iter())),
            // With the places, so that one password has another hash at each of them.
            (_, false) => {
                let places = self.places.iter().map(String::as_str);
                let parts = [query, &*self.user_info].into_iter().chain(places);
                HEXLOWER.encode(&hash(parts))
            }
        }
    }

    /// The key of its entry; of a server that it has led to, with that one's address.
    pub fn key(&self, at: Option<&Address>) -> OriginKey {
        let way = if self.is_protected { "within TLS" } else { "without TLS" };
        let at = at.map(place).unwrap_or_default();
        let places = self.places.iter().map(String::as_str);
        hash([way, &*self.service, &*at].into_iter().chain(places))
    }
}

/// Whether bytes of an open file may have come without TLS. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Exposure(Arc<AtomicBool>);

impl Exposure {
    /// Notes a place of the file.
    pub fn note(&self, url: &Address, credential_store: &CredentialStore) {
        if FileOrigin::of(std::slice::from_ref(url), credential_store)
            .is_some_and(|o| !o.is_protected())
        {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Whether one of the places so far is reached without TLS.
    pub fn is_exposed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// An address without user, password and query; of a file of this machine its absolute path.
pub fn place(url: &Address) -> String {
    match url.to_local() {
        Some(path) => path.to_string_lossy().into_owned(),
        None => url.anonymous().as_str().to_owned(),
    }
}

/// The service that has the buckets, as far as settings name one.
fn service_of(credential_store: &CredentialStore) -> String {
    let settings = credential_store.s3_settings().unwrap_or_default();
    let region = settings.region.unwrap_or_default();
    settings.endpoint.unwrap_or_else(|| format!("Amazon {region}"))
}

/// The part of an address's query that may choose the file.
fn chosen(url: &Address) -> Option<String> {
    let is_web = matches!(url.scheme(), Scheme::Http | Scheme::Https | Scheme::Pelican);
    let query = url.query().filter(|_| is_web)?;
    let is_of_client = |part: &str| {
        let part = part.to_ascii_lowercase();
        OF_CLIENT.iter().any(|begin| part.starts_with(begin))
    };
    let chooses = |part: &&str| !proofs::is_usual(part) && !is_of_client(part);
    let parts: Vec<&str> = query.split('&').filter(chooses).collect();
    (!parts.is_empty()).then(|| parts.join("&"))
}

fn hash<'a>(parts: impl Iterator<Item = &'a str>) -> OriginKey {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// The number of a key in names of files.
pub fn number(key: &OriginKey) -> u64 {
    key.first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    fn of(texts: &[&str]) -> FileOrigin {
        let urls: Vec<Address> = texts.iter().map(|text| url(text)).collect();
        FileOrigin::of(&urls, &CredentialStore::default()).unwrap()
    }

    #[test]
    fn who_asks_makes_no_difference_and_where_does() {
        let plain = of(&["root://host//data/f.root"]).key(None);
        let key = |text: &str| of(&[text]).key(None);
        assert_eq!(key("root://alice@host:1094//data/f.root?authz=secret"), plain);
        for other in [
            "root://other//data/f.root",
            "root://host:1095//data/f.root",
            "roots://host//data/f.root",
            "http://host/data/f.root",
            "root://host//data/F.root",
        ] {
            assert_ne!(key(other), plain, "{other}");
        }
        let both = of(&["root://host//f", "root://other//f"]);
        assert_eq!(both.key(None), of(&["root://other//f", "root://host//f"]).key(None));
        assert_ne!(both.key(None), of(&["root://host//f"]).key(None));
        let at = |text: &str| both.key(Some(&url(text)));
        assert_ne!(at("root://host//f"), at("root://other//f"));
        assert_eq!(FileOrigin::of(&[url("/tmp/f")], &CredentialStore::default()), None);
    }

    #[test]
    fn one_place_without_tls_exposes_a_file() {
        for protected in ["roots://a//f", "https://a/f", "davs://a/f", "osdf:///f"] {
            assert!(of(&[protected]).is_protected(), "{protected}");
            let mixed = of(&[protected, "root://b//f"]);
            assert!(!mixed.is_protected());
            let origin = of(&[protected]);
            assert_ne!(origin.exposed(true).key(None), origin.key(None));
            assert_eq!(origin.exposed(false).key(None), origin.key(None));
        }
        let exposure = Exposure::default();
        let credential_store = CredentialStore::default();
        exposure.note(&url("https://a/f"), &credential_store);
        assert!(!exposure.is_exposed());
        exposure.note(&url("http://a/f"), &credential_store);
        exposure.note(&url("https://a/f"), &credential_store);
        assert!(exposure.is_exposed());
    }

    #[test]
    fn a_query_that_chooses_the_file_is_told_from_one_that_proves_who_asks() {
        let query = |text: &str| of(&[text]).query();
        let one = query("https://host/get?id=1");
        assert_eq!(query("https://host/get?authz=secret&id=1&X-Amz-Signature=5"), one);
        assert_ne!(query("https://host/get?id=2"), one);
        assert_eq!(query("https://host/get?authz=secret"), "");
        assert_eq!(query("root://host//f?svcClass=t"), "");
        assert!(!one.contains("id"));
    }

    /// Regression: a file that was read with a password was trusted for an address without one.
    #[test]
    fn a_user_and_a_password_are_told_from_others() {
        let query = |text: &str| of(&[text]).query();
        let one = query("https://u:secret@host/f");
        assert_eq!(query("https://u:secret@host/f?authz=token"), one);
        for other in [
            "https://host/f",
            "https://u@host/f",
            "https://u:other@host/f",
            "https://v:secret@host/f",
            "https://u:secret@host/f?id=1",
            "https://u:secret@host/g",
        ] {
            assert_ne!(query(other), one, "{other}");
        }
        assert_ne!(query("root://u@host//f"), query("root://host//f"));
        assert!(!one.contains("secret") && !one.contains("u:"));
    }
}
