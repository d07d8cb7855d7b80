//! Files below a directory that is copied: of a disk or of a server, in few round trips.
//!
//! A server chooses the names that it lists. The copy takes a name within its directory only; it
//! refuses one that would lead elsewhere, and leaves none out without a word. Links are followed,
//! as copies of other places are read through them; one that leads back to a directory above it is
//! refused.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use futures::{StreamExt, stream};
use tokio::task::spawn_blocking;
use url::Url;

use crate::Remote;
use crate::address::{self, Address};
use crate::error::{Error, ErrorKind, Result};
use crate::listing::Listed;
use crate::matching::is_no_directory;
use crate::source::seconds_since_1970;

/// Directories that are listed at a time.
const LISTINGS_MAX: usize = 16;
/// Where links of a server lead back, there is no end.
const FOLDERS_MAX: usize = 100_000;
const DEPTH_MAX: usize = 256;

/// The facts of a file in a listing, without a request for the file itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    pub size: Option<u64>,
    /// Seconds since 1970.
    pub modified: Option<i64>,
}

/// A file below a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// Its names from the directory on.
    pub below: PathBuf,
    pub source: String,
    pub facts: Facts,
}

/// The files and directories below a directory.
#[derive(Debug, Default)]
pub struct Tree {
    pub files: Vec<TreeFile>,
    /// Directories, each behind the one that it is in.
    pub folders: Vec<PathBuf>,
    /// Errors of entries that cannot be copied.
    pub failed: Vec<Error>,
}

/// A directory that is to be listed.
struct Folder {
    url: Address,
    below: PathBuf,
    /// The server does not report whether it is one: it may be a file, of which this is known.
    doubt: Option<Facts>,
}

impl Remote {
    /// All that is below a source; `None` where that is a file, or its kind is unknown.
    ///
    /// # Errors
    /// An error of listing the directory itself; `LimitReached`.
    pub(super) async fn tree(&self, source: &str) -> Result<Option<Tree>> {
        let [url] = &address::parse(source)?[..] else { return Ok(None) };
        if let Some(path) = url.to_local() {
            if !path.is_dir() {
                return Ok(None);
            }
            let path = path.to_owned();
            let walked = spawn_blocking(move || on_disk(&path)).await;
            let gone = |_| Error::new(ErrorKind::Cancelled, "the program is ending");
            return walked.map_err(gone)?.map(Some);
        }
        let first = match self.list(source).await {
            Ok(listed) => listed,
            Err(error) if !self.is_directory(source) && is_file(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut tree = Tree::default();
        let mut level = tree.add(url, Path::new(""), first);
        while !level.is_empty() {
            if tree.folders.len() + level.len() > FOLDERS_MAX {
                let text = format!("more than {FOLDERS_MAX} directories are below this one");
                let error = Error::new(ErrorKind::LimitReached, text).with_url(url.to_string());
                return Err(error.with_advice("copy parts of it"));
            }
            let listings = level.into_iter().map(|folder| async move {
                let listed = self.list(folder.url.as_str()).await;
                (folder, listed)
            });
            let mut listings = stream::iter(listings.collect::<Vec<_>>()).buffered(LISTINGS_MAX);
            let mut next = Vec::new();
            while let Some((folder, listed)) = listings.next().await {
                match listed {
                    Ok(listed) => {
                        tree.folders.push(folder.below.clone());
                        next.extend(tree.add(&folder.url, &folder.below, listed));
                    }
                    Err(error) => match folder.doubt.filter(|_| is_file(&error)) {
                        Some(facts) => tree.add_file(&folder.url, folder.below, facts),
                        None => tree.failed.push(error),
                    },
                }
            }
            level = next;
        }
        Ok(Some(tree))
    }
}

/// Whether an address is perhaps that of a file: there is no directory, or no listing.
pub fn is_file(error: &Error) -> bool {
    is_no_directory(error) || error.kind() == ErrorKind::Unsupported
}

impl Tree {
    /// Takes the names in a directory; those that are directories, or may be.
    fn add(&mut self, folder: &Address, below: &Path, listed: Vec<Listed>) -> Vec<Folder> {
        let mut folders = Vec::new();
        let mut names = BTreeSet::new();
        for Listed { name, size, is_directory, modified, .. } in listed {
            let is_deep = below.components().count() >= DEPTH_MAX;
            if !is_name(&name) || is_deep {
                let text = match is_deep {
                    true => format!("directories within directories, more than {DEPTH_MAX}"),
                    false => format!("a name is listed that leads out of its directory: {name:?}"),
                };
                let error = Error::new(ErrorKind::Corrupt, text).with_url(folder.to_string());
                self.failed.push(error.with_advice("it is not copied; tell the site"));
                continue;
            }
            if !names.insert(name.clone()) {
                continue;
            }
            let below = below.join(&name);
            let url = match folder.child(&name) {
                Ok(url) => url,
                Err(error) => {
                    self.failed.push(error);
                    continue;
                }
            };
            let facts = Facts { size, modified: modified.map(seconds_since_1970) };
            match is_directory {
                Some(false) => self.add_file(&url, below, facts),
                Some(true) => folders.push(Folder { url, below, doubt: None }),
                None => folders.push(Folder { url, below, doubt: Some(facts) }),
            }
        }
        folders
    }

    fn add_file(&mut self, url: &Address, below: PathBuf, facts: Facts) {
        // In http:// addresses it has an escape; elsewhere two addresses would be read.
        match address::parse(url.as_str()) {
            Ok(same) if same.len() == 1 => {
                let source = url.as_str().to_owned();
                self.files.push(TreeFile { below, source, facts });
            }
            _ => {
                let text = "an address cannot have a | before a / in a name";
                let error = Error::new(ErrorKind::Unsupported, text).with_url(url.to_string());
                self.failed.push(error.with_advice("give it another name"));
            }
        }
    }
}

/// Whether a name is that of something in its directory.
fn is_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let is_one = matches!(parts.next(), Some(Component::Normal(part)) if part == name);
    is_one && parts.next().is_none() && !name.contains('\0')
}

/// A directory of a disk, with those that lead to it.
struct DiskFolder {
    path: PathBuf,
    below: PathBuf,
    /// Device and number of each directory that it is in, and of itself.
    above: Vec<(u64, u64)>,
}

fn on_disk(top: &Path) -> Result<Tree> {
    let mut tree = Tree::default();
    let path = top.to_owned();
    let below = PathBuf::new();
    let above = those_above(top).map_err(|error| failed(top, &error))?;
    let mut folders = vec![DiskFolder { path, below, above }];
    while let Some(DiskFolder { path, below, above }) = folders.pop() {
        let names = match names_in(&path) {
            Ok(names) => names,
            Err(error) if below.as_os_str().is_empty() => return Err(error),
            Err(error) => {
                tree.failed.push(error);
                continue;
            }
        };
        for name in names {
            let path = path.join(&name);
            let below = below.join(&name);
            let there = match fs::metadata(&path) {
                Ok(there) => there,
                Err(error) => {
                    tree.failed.push(failed(&path, &error));
                    continue;
                }
            };
            if there.is_file() {
                tree.add_disk_file(&path, below, &there);
            } else if !there.is_dir() {
                let text = "it is no regular file, and is not copied";
                tree.failed.push(wrong(&path, text));
            } else if above.contains(&identity(&there)) {
                tree.failed.push(wrong(&path, "the link leads to a directory that it is in"));
            } else if below.components().count() > DEPTH_MAX || tree.folders.len() >= FOLDERS_MAX {
                tree.failed.push(wrong(&path, "too many directories within directories"));
            } else {
                tree.folders.push(below.clone());
                // A link leads to a directory that is in others.
                let is_link = fs::symlink_metadata(&path).is_ok_and(|there| there.is_symlink());
                let led = if is_link { those_above(&path).unwrap_or_default() } else { Vec::new() };
                let above = above.iter().copied().chain([identity(&there)]).chain(led).collect();
                folders.push(DiskFolder { path, below, above });
            }
        }
    }
    tree.folders.sort();
    tree.files.sort_by(|a, b| a.below.cmp(&b.below));
    Ok(tree)
}

fn identity(there: &Metadata) -> (u64, u64) {
    (there.dev(), there.ino())
}

/// The device and number of a directory and of those that it is in, whatever links lead to it.
fn those_above(folder: &Path) -> std::io::Result<Vec<(u64, u64)>> {
    let folder = fs::canonicalize(folder)?;
    folder.ancestors().map(|above| fs::metadata(above).map(|there| identity(&there))).collect()
}

impl Tree {
    fn add_disk_file(&mut self, path: &Path, below: PathBuf, there: &Metadata) {
        let Some(source) = source_of(path) else {
            let text = "the name of the file is not UTF-8, and it is not copied";
            return self.failed.push(wrong(path, text));
        };
        let modified = there.modified().ok().map(|time: SystemTime| seconds_since_1970(time));
        let facts = Facts { size: Some(there.len()), modified };
        self.files.push(TreeFile { below, source, facts });
    }
}

/// The path, or where that could mean something else, its address.
fn source_of(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    if path.is_absolute() && !text.contains("://") {
        return Some(text.to_owned());
    }
    let url = Url::from_file_path(path).ok()?;
    Some(String::from(url).replace('|', "%7C"))
}

fn names_in(folder: &Path) -> Result<Vec<OsString>> {
    let entries = fs::read_dir(folder).map_err(|error| failed(folder, &error))?;
    let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
    let mut names: Vec<_> =
        names.collect::<std::io::Result<_>>().map_err(|e| failed(folder, &e))?;
    names.sort();
    Ok(names)
}

fn wrong(path: &Path, text: &str) -> Error {
    Error::new(ErrorKind::Unsupported, text).with_url(path.to_string_lossy())
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::from_io(error).retryable(false).with_url(path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn listed(name: &str, is_directory: Option<bool>) -> Listed {
        let name = name.to_owned();
        let address = String::new();
        Listed { name, address, size: None, is_directory, modified: None }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for wrong in ["", ".", "..", "a/b", "/etc/passwd", "../a", "a/", "./a", "a\0b"] {
            assert!(!is_name(wrong), "{wrong}");
        }
        for right in ["a", "a b", "..a", ".a", "a\\b", "-", "~"] {
            assert!(is_name(right), "{right}");
        }
        let mut tree = Tree::default();
        let folder = Address::parse("root://h//d").unwrap();
        let names = ["..", "f", "f", "sub", "a|", "x?y", "what"];
        let kind = |name: &str| match name {
            "sub" => Some(true),
            "what" => None,
            _ => Some(false),
        };
        let all = names.map(|name| listed(name, kind(name))).to_vec();
        let folders = tree.add(&folder, Path::new("top"), all);
        assert_eq!(tree.failed.len(), 2, "{:?}", tree.failed);
        let files: Vec<_> = tree.files.iter().map(|file| &*file.source).collect();
        assert_eq!(files, ["root://h//d/f", "root://h//d/a|"]);
        assert_eq!(folders.len(), 2);
        assert!(folders[1].doubt.is_some());
    }

    #[test]
    fn a_disk_is_gone_through_with_its_links_and_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["a/b/c", "empty"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        for name in ["a/b/c/f", "a/.hidden", "g"] {
            fs::write(path(name), name).unwrap();
        }
        symlink(folder.path(), path("a/b/up")).unwrap();
        symlink(path("a/b/c"), path("link")).unwrap();
        symlink("nowhere", path("dangling")).unwrap();
        // All that is beside the folder was copied, too.
        symlink("../..", path("a/outside")).unwrap();
        let tree = on_disk(folder.path()).unwrap();
        let files: Vec<_> = tree.files.iter().map(|file| file.below.to_str().unwrap()).collect();
        assert_eq!(files, ["a/.hidden", "a/b/c/f", "g", "link/f"]);
        let folders: Vec<_> = tree.folders.iter().map(|below| below.to_str().unwrap()).collect();
        assert_eq!(folders, ["a", "a/b", "a/b/c", "empty", "link"]);
        assert_eq!(tree.failed.len(), 3, "{:?}", tree.failed);
    }
}
