//! The content of each origin, or place within it, and the time when its server last confirmed it.
//!
//! An address is kept without user, password and query: they identify the user, and may be secrets.

use std::path::Path;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::format::ContentId;
use crate::address::Address;
use crate::origin::{FileOrigin, OriginKey, number, place};
use crate::source::FileInfo;
use crate::store::folder::Folder;

/// Bytes of a note of an address; nothing that farroot writes is longer.
const NAME_BYTES_MAX: u64 = 64 << 10;
/// Bytes of a file's beginning that copies of it have to share: the time of the last change is
/// among them, behind the file's name.
const HEAD_BYTES: usize = 1024;

/// The known facts of an origin, or of a place within it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// The key, in hexadecimal.
    pub key: String,
    /// Which part of the address's query chose the file, as a hash.
    pub query: String,
    /// Without user, password and query.
    pub address: String,
    /// The server's description of the file.
    pub info: FileInfo,
    /// Where its bytes are cached.
    pub content: ContentId,
    /// When the server confirmed it, seconds since 1970.
    pub checked: u64,
}

/// The addresses whose files are cached. Cheap to clone; several processes may share the folder.
#[derive(Debug, Clone)]
pub struct Names {
    folder: Folder,
}

impl Names {
    /// In a folder of its own within `parent`.
    pub fn new(parent: &Path) -> Self {
        Names { folder: Folder::new(parent, "names") }
    }

    /// The name under a key.
    pub fn find(&self, key: &OriginKey) -> Option<Name> {
        let bytes = self.folder.load(number(key), NAME_BYTES_MAX)?;
        let name: Name = serde_json::from_slice(&bytes).ok()?;
        // Two keys may have one number.
        (name.key == HEXLOWER.encode(key)).then_some(name)
    }

    /// Keeps a name under its key. Where that fails, it is not known.
    pub fn keep(&self, name: &Name) {
        if let (Ok(text), Some(number)) = (serde_json::to_vec(name), name.number()) {
            let _ = self.folder.save(number, &text);
        }
    }

    /// Forgets a name.
    pub fn forget(&self, name: &Name) {
        name.number().into_iter().for_each(|number| self.folder.forget(number));
    }

    /// Removes the names of earlier versions of farroot, whose contents were shared between
    /// origins.
    pub fn clear_earlier(&self) {
        for number in self.folder.numbers() {
            let bytes = self.folder.load(number, NAME_BYTES_MAX);
            if bytes.is_some_and(|bytes| serde_json::from_slice::<Name>(&bytes).is_err()) {
                self.folder.forget(number);
            }
        }
    }

    /// All of them, by address.
    pub fn all(&self) -> Vec<Name> {
        let name = |number| serde_json::from_slice(&self.folder.load(number, NAME_BYTES_MAX)?).ok();
        let mut names: Vec<Name> = self.folder.numbers().into_iter().filter_map(name).collect();
        names.sort_by(|a, b| a.address.cmp(&b.address));
        names
    }
}

impl Name {
    fn number(&self) -> Option<u64> {
        u64::from_str_radix(self.key.get(..16)?, 16).ok()
    }

    /// Whether an address is the place that this is known of, or one of several.
    pub fn is_of(&self, address: &Address) -> bool {
        let wanted = place(address);
        self.address == wanted || self.address.split('|').any(|place| place == wanted)
    }
}

/// The content of a file that only this place within an origin is known to have, with these first
/// bytes as far as they are known.
pub fn own_content(origin: &FileOrigin, at: &Address, info: &FileInfo, head: &[u8]) -> ContentId {
    let modified = info.modified.map_or_else(String::new, |seconds| seconds.to_string());
    let version = info.version.as_deref().unwrap_or_default();
    let size = info.size.to_string();
    let key = origin.key(Some(at));
    let mut parts =
        vec![&b"own"[..], &key, size.as_bytes(), modified.as_bytes(), version.as_bytes(), head];
    let status = info.status_changed.map(|(seconds, rest)| format!("{seconds}.{rest:09}"));
    parts.extend(status.as_deref().map(str::as_bytes));
    content_of(&parts)
}

/// The content of a file that says which one it is, by a number in its first bytes that no other
/// file has: the same at all places to which an origin leads. `None` where too little of it is
/// here.
pub fn shared_content(
    origin: &FileOrigin,
    uuid: u128,
    size: u64,
    head: &[u8],
) -> Option<ContentId> {
    let head = head.get(..HEAD_BYTES)?;
    let key = origin.key(None);
    Some(content_of(&[b"uuid", &key, &uuid.to_le_bytes(), &size.to_le_bytes(), head]))
}

fn content_of(parts: &[&[u8]]) -> ContentId {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut content = ContentId::default();
    content.copy_from_slice(&hasher.finalize()[..16]);
    content
}

#[cfg(test)]
mod tests {
    use credentials::CredentialStore;

    use super::*;

    fn url(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    fn origin(text: &str) -> FileOrigin {
        FileOrigin::of(&[url(text)], &CredentialStore::default()).unwrap()
    }

    fn info(modified: i64, version: &str) -> FileInfo {
        FileInfo::new(1000, Some(modified), Some(version.into())).unwrap()
    }

    #[test]
    fn who_asks_makes_no_difference_and_where_does() {
        let of = |text: &str| own_content(&origin(text), &url(text), &info(1, "a"), b"");
        let plain = of("root://host//data/f.root");
        assert_eq!(of("root://alice@host:1094//data/f.root?authz=secret"), plain);
        assert_ne!(of("root://other//data/f.root"), plain, "two origins with one path");
        assert_ne!(of("root://host//data/F.root"), plain, "case");
        let place = "root://host//data/f.root";
        for other in [info(2, "a"), info(1, "b")] {
            assert_ne!(own_content(&origin(place), &url(place), &other, b""), plain);
        }
    }

    #[test]
    fn a_file_that_says_which_one_it_is_is_the_same_everywhere_within_its_origin() {
        let head = [5; 1100];
        let of =
            |text: &str, uuid, size, head: &[u8]| shared_content(&origin(text), uuid, size, head);
        let content = of("root://a//f", 17, 1000, &head).unwrap();
        assert_eq!(of("root://a//f", 17, 1000, &head[..1024]), Some(content));
        assert_ne!(of("root://a//f", 18, 1000, &head), Some(content));
        assert_ne!(of("root://a//f", 17, 1001, &head), Some(content));
        assert_ne!(of("root://a//f", 17, 1000, &[6; 1100]), Some(content));
        assert_eq!(of("root://a//f", 17, 1000, &head[..1023]), None);
        assert_ne!(of("root://b//f", 17, 1000, &head), Some(content), "another's word");
    }

    #[test]
    fn names_are_kept_without_secrets() {
        let parent = tempfile::tempdir().unwrap();
        let names = Names::new(parent.path());
        let place = "root://alice:secret@host:1094//data/f.root?authz=token";
        let key = origin(place).key(None);
        let address = url(place).anonymous().as_str().to_owned();
        assert_eq!(names.find(&key), None);
        let info = info(1, "a");
        let content = [3; 16];
        let query = String::new();
        let name = Name { key: HEXLOWER.encode(&key), query, address, info, content, checked: 5 };
        names.keep(&name);
        assert_eq!(names.find(&key), Some(name.clone()));
        assert_eq!(names.all(), std::slice::from_ref(&name));
        assert!(name.is_of(&url("root://host//data/f.root")));
        for kept in std::fs::read_dir(parent.path().join("farroot-names")).unwrap() {
            let bytes = std::fs::read(kept.unwrap().path()).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains("secret") && !text.contains("token") && !text.contains("alice"));
        }
        names.forget(&name);
        assert_eq!(names.find(&key), None);
    }

    /// Earlier versions named contents by a number in the file itself: any server could send it.
    #[test]
    fn names_of_earlier_versions_are_cleared() {
        let parent = tempfile::tempdir().unwrap();
        let names = Names::new(parent.path());
        let earlier = r#"{"address":"root://a//f","info":{"size":1},"content":[],"checked":1}"#;
        names.folder.save(7, earlier.as_bytes()).unwrap();
        assert!(names.all().is_empty());
        names.clear_earlier();
        assert!(names.folder.numbers().is_empty());
    }
}
