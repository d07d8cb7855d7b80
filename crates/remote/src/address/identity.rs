//! Whether two addresses lead to one file, so that writing to one destroys the other.

use std::os::unix::fs::MetadataExt;

use super::{Address, Target, parse};

/// A file that is there, however its address is written: by relative paths and links on a disk,
/// with its server's port or without.
#[derive(Clone, PartialEq, Eq)]
pub struct FileIdentity(Identity);

#[derive(Clone, PartialEq, Eq)]
enum Identity {
    Disk {
        device: u64,
        inode: u64,
    },
    /// Host, port and path on an XRootD server: users and queries name the same file.
    Server(String, u16, String),
    Other(Target),
}

impl Address {
    /// The file that it leads to; `None` where a disk has none.
    pub fn identity(&self) -> Option<FileIdentity> {
        let identity = match &self.target {
            Target::Local(path) => {
                let there = std::fs::metadata(path).ok()?;
                let number = Identity::Disk { device: there.dev(), inode: there.ino() };
                there.is_file().then_some(number)?
            }
            Target::Xrootd(url) => {
                Identity::Server(url.host.to_ascii_lowercase(), url.port, url.path.clone())
            }
            other => Identity::Other(other.clone()),
        };
        Some(FileIdentity(identity))
    }
}

/// Whether an address leads to the file at one of the others, each of which may name several
/// copies of its file. Of addresses that cannot be read, nothing is known.
pub fn is_among<'a>(address: &str, others: impl IntoIterator<Item = &'a str>) -> bool {
    let identities = |text: &str| -> Vec<FileIdentity> {
        let addresses = parse(text).unwrap_or_default();
        addresses.iter().filter_map(Address::identity).collect()
    };
    let own = identities(address);
    !own.is_empty()
        && others.into_iter().any(|other| identities(other).iter().any(|one| own.contains(one)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_name_a_file_in_several_ways() {
        let same = [
            ("root://host//a/f.root", "root://HOST:1094//a/f.root"),
            ("root://host//a/f.root", "root://user@host/a/f.root"),
            ("https://host/a/f.root", "https://HOST:443/a/f.root"),
            ("https://host/a/f.root", "https://host/b/../a/f.root"),
            ("s3://bucket/f.root", "s3://bucket/f.root"),
            ("root://host//a/f.root", "root://other//f.root|root://host//a/f.root"),
        ];
        for (one, other) in same {
            assert!(is_among(one, [other]), "{one} {other}");
        }
        let others = ["root://host//a/g.root", "root://host:1095//a/f.root", "https://host/f.root"];
        assert!(!is_among("root://host//a/f.root", others));
        assert!(!is_among("https://host/a/f.root", others));
    }

    /// A merge whose output was one of its inputs by another path replaced that input.
    #[test]
    fn a_disk_names_a_file_in_several_ways() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        std::fs::write(path("f"), "f").unwrap();
        std::fs::write(path("g"), "g").unwrap();
        std::fs::create_dir(path("d")).unwrap();
        std::os::unix::fs::symlink(path("f"), path("link")).unwrap();
        std::fs::hard_link(path("f"), path("hard")).unwrap();
        for name in ["f", "./f", "d/../f", "link", "hard"] {
            assert!(is_among(&path("f"), [&*path("g"), &*path(name)]), "{name}");
        }
        assert!(is_among(&path("f"), [&*format!("file://{}", path("f"))]));
        assert!(!is_among(&path("f"), [&*path("g"), &*path("none")]));
        assert!(!is_among(&path("none"), [&*path("none")]), "nothing to be replaced");
    }
}
