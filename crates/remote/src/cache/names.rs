//! Which content an address has, and when its server last said so.
//!
//! An address is kept without user, password and query: they say who asks, and may be secrets.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use twox_hash::XxHash64;

use super::format::ContentId;
use crate::address::Address;
use crate::source::FileInfo;
use crate::store::folder::Folder;

/// Bytes of a note of an address; nothing that farroot writes is longer.
const NAME_BYTES_MAX: u64 = 64 << 10;
/// Bytes of a file's beginning that copies of it have to share.
const HEAD_BYTES: usize = 256;

/// What is known of an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// Without user, password and query.
    pub address: String,
    /// What its server has said of the file.
    pub info: FileInfo,
    /// Where its bytes are held.
    pub content: ContentId,
    /// When the server said so, seconds since 1970.
    pub checked: u64,
}

/// The addresses whose files are held. Cheap to clone; several processes may share the folder.
#[derive(Debug, Clone)]
pub struct Names {
    folder: Folder,
}

impl Names {
    /// In a folder of its own within `parent`.
    pub fn new(parent: &Path) -> Self {
        Names { folder: Folder::new(parent, "names") }
    }

    /// What is known of an address.
    pub fn find(&self, address: &Address) -> Option<Name> {
        let shown = address.anonymous();
        let bytes = self.folder.load(number(shown.as_str()), NAME_BYTES_MAX)?;
        let name: Name = serde_json::from_slice(&bytes).ok()?;
        // Two addresses may have one number.
        (name.address == shown.as_str()).then_some(name)
    }

    /// Keeps what is known of an address. Where that fails, it is not known.
    pub fn keep(&self, name: &Name) {
        if let Ok(text) = serde_json::to_vec(name) {
            let _ = self.folder.save(number(&name.address), &text);
        }
    }

    /// Forgets an address.
    pub fn forget(&self, address: &str) {
        self.folder.forget(number(address));
    }

    /// All of them, by address.
    pub fn all(&self) -> Vec<Name> {
        let name = |number| serde_json::from_slice(&self.folder.load(number, NAME_BYTES_MAX)?).ok();
        let mut names: Vec<Name> = self.folder.numbers().into_iter().filter_map(name).collect();
        names.sort_by(|a, b| a.address.cmp(&b.address));
        names
    }
}

/// The number of an anonymous address in names of files: a hash of its text.
pub fn number(address: &str) -> u64 {
    XxHash64::oneshot(0, address.as_bytes())
}

/// The content of a file that only this address is known to have, with these first bytes as far as
/// they are known.
pub fn own_content(address: &Address, info: &FileInfo, head: &[u8]) -> ContentId {
    let shown = address.anonymous();
    let modified = info.modified.map_or_else(String::new, |seconds| seconds.to_string());
    let version = info.version.as_deref().unwrap_or_default();
    let size = info.size.to_string();
    content_of(&[
        b"own",
        shown.as_str().as_bytes(),
        size.as_bytes(),
        modified.as_bytes(),
        version.as_bytes(),
        head,
    ])
}

/// The content of a file that says which one it is, by a number in its first bytes that no other
/// file has: the same wherever it is. `None` where too little of it is here.
pub fn shared_content(uuid: u128, size: u64, head: &[u8]) -> Option<ContentId> {
    let head = head.get(..HEAD_BYTES)?;
    Some(content_of(&[b"uuid", &uuid.to_le_bytes(), &size.to_le_bytes(), head]))
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
    use super::*;

    fn url(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    fn info(modified: i64, version: &str) -> FileInfo {
        FileInfo::new(1000, Some(modified), Some(version.into())).unwrap()
    }

    #[test]
    fn who_asks_makes_no_difference_and_where_does() {
        let of = |text: &str| own_content(&url(text), &info(1, "a"), b"");
        let plain = of("root://host//data/f.root");
        assert_eq!(of("root://alice@host:1094//data/f.root?authz=secret"), plain);
        assert_ne!(of("root://other//data/f.root"), plain, "two origins with one path");
        assert_ne!(of("root://host//data/F.root"), plain, "case");
        assert_ne!(own_content(&url("root://host//data/f.root"), &info(2, "a"), b""), plain);
        assert_ne!(own_content(&url("root://host//data/f.root"), &info(1, "b"), b""), plain);
    }

    #[test]
    fn a_file_that_says_which_one_it_is_is_the_same_everywhere() {
        let head = [5; 300];
        let content = shared_content(17, 1000, &head).unwrap();
        assert_eq!(shared_content(17, 1000, &head[..256]), Some(content));
        assert_ne!(shared_content(18, 1000, &head), Some(content));
        assert_ne!(shared_content(17, 1001, &head), Some(content));
        assert_ne!(shared_content(17, 1000, &[6; 300]), Some(content));
        assert_eq!(shared_content(17, 1000, &head[..255]), None);
    }

    #[test]
    fn names_are_kept_without_secrets() {
        let parent = tempfile::tempdir().unwrap();
        let names = Names::new(parent.path());
        let place = url("root://alice:secret@host:1094//data/f.root?authz=token");
        assert_eq!(names.find(&place), None);
        let address = place.anonymous().as_str().to_owned();
        let name = Name { address, info: info(1, "a"), content: [3; 16], checked: 5 };
        names.keep(&name);
        assert_eq!(names.find(&place), Some(name.clone()));
        assert_eq!(names.all(), std::slice::from_ref(&name));
        for kept in std::fs::read_dir(parent.path().join("farroot-names")).unwrap() {
            let bytes = std::fs::read(kept.unwrap().path()).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains("secret") && !text.contains("token") && !text.contains("alice"));
        }
        names.forget(&name.address);
        assert_eq!(names.find(&place), None);
    }
}
