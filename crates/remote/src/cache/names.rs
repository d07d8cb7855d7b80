//! The content of each origin, or place within it, and the time when its server last confirmed it.
//!
//! An address is kept without user, password and query: they identify the user, and may be secrets.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::disks::Disks;
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
    /// Which parts of the address beside its place chose the file, as a hash.
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
    disks: Arc<Disks>,
    /// One on each disk, with the same names: any of them may be lost with it.
    folders: Arc<[Folder]>,
}

impl Names {
    /// In a folder of its own within each of `parents`, which are those of the disks.
    pub fn new(disks: Arc<Disks>, parents: &[&Path]) -> Self {
        let folders = parents.iter().map(|parent| Folder::new(parent, "names")).collect();
        Names { disks, folders }
    }

    /// The folders on the disks in use.
    fn folders(&self) -> impl Iterator<Item = &Folder> {
        let in_use = self.disks.in_use().map(|(number, _)| number);
        in_use.filter_map(|number| self.folders.get(number as usize))
    }

    /// The name under a key: the latest one, as a disk may have been away.
    pub fn find(&self, key: &OriginKey) -> Option<Name> {
        let found = self.folders().filter_map(|folder| load(folder, number(key)));
        // Two keys may have one number.
        let found = found.filter(|name| name.key == HEXLOWER.encode(key));
        found.max_by_key(|name| name.checked)
    }

    /// Keeps a name under its key. Where that fails, it is not known.
    pub fn keep(&self, name: &Name) {
        if let (Ok(text), Some(number)) = (serde_json::to_vec(name), name.number()) {
            // The place of a disk that is gone stays as it is.
            self.disks.check_all();
            for folder in self.folders() {
                let _ = folder.save(number, &text);
            }
        }
    }

    /// Forgets a name.
    pub fn forget(&self, name: &Name) {
        for folder in self.folders() {
            name.number().into_iter().for_each(|number| folder.forget(number));
        }
    }

    /// Removes the names of earlier versions of farroot, whose contents were shared between
    /// origins.
    pub fn clear_earlier(&self) {
        for folder in self.folders() {
            for number in folder.numbers() {
                let bytes = folder.load(number, NAME_BYTES_MAX);
                if bytes.is_some_and(|bytes| serde_json::from_slice::<Name>(&bytes).is_err()) {
                    folder.forget(number);
                }
            }
        }
    }

    /// All of them, by address.
    pub fn all(&self) -> Vec<Name> {
        let mut names: BTreeMap<String, Name> = BTreeMap::new();
        for folder in self.folders() {
            for name in folder.numbers().into_iter().filter_map(|number| load(folder, number)) {
                let is_later = |known: &Name| known.checked < name.checked;
                if names.get(&name.key).is_none_or(is_later) {
                    names.insert(name.key.clone(), name);
                }
            }
        }
        let mut names: Vec<Name> = names.into_values().collect();
        names.sort_by(|a, b| a.address.cmp(&b.address));
        names
    }
}

fn load(folder: &Folder, number: u64) -> Option<Name> {
    serde_json::from_slice(&folder.load(number, NAME_BYTES_MAX)?).ok()
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

/// The content of the replica of one version of a file, whose name has this key and query.
pub fn replica_content(key: &str, query: &str, info: &FileInfo) -> ContentId {
    let modified = info.modified.map_or_else(String::new, |seconds| seconds.to_string());
    let version = info.version.as_deref().unwrap_or_default();
    let status = info.status_changed.map(|(seconds, rest)| format!("{seconds}.{rest:09}"));
    content_of(&[
        b"replica",
        key.as_bytes(),
        query.as_bytes(),
        info.size.to_string().as_bytes(),
        modified.as_bytes(),
        version.as_bytes(),
        status.unwrap_or_default().as_bytes(),
    ])
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

    fn names_in(parent: &Path) -> Names {
        Names::new(Arc::new(Disks::claim(&[parent]).unwrap()), &[parent])
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
        let names = names_in(parent.path());
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
        let names = names_in(parent.path());
        let earlier = r#"{"address":"root://a//f","info":{"size":1},"content":[],"checked":1}"#;
        names.folders[0].save(7, earlier.as_bytes()).unwrap();
        assert!(names.all().is_empty());
        names.clear_earlier();
        assert!(names.folders[0].numbers().is_empty());
    }
}
