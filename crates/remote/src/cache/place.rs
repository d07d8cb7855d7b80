//! The folder of a cache on the disk.
//!
//! ```text
//!   <folder>/farroot-names/<number>             an address, and which content it has
//!   <folder>/farroot-cache/v2/<hh>/<content>/   00000.far, 00000.idx, ..., open, pinned
//!   <folder>/farroot-cache/v2/notices/<number>  notices of the fetches of an address
//!   <folder>/farroot-cache/v2/lock, state       of eviction
//! ```

use std::io;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;

use super::format::ContentId;
use super::local::networked;
use crate::error::{Error, ErrorKind, Result};
use crate::store::folder::Folder;

/// The layout; another one has a folder of its own.
const LAYOUT: &str = "v2";
/// Layouts of earlier versions, which are removed: their contents were shared between origins.
const EARLIER: [&str; 1] = ["v1"];

/// Makes the place of a cache within a folder that the user names; returns where contents are.
///
/// # Errors
/// `InvalidArgument` where it cannot be, with the reason.
pub fn claim(folder: &Path) -> Result<PathBuf> {
    let own = Folder::new(folder, "cache");
    let claimed = own.claimed().and_then(|own| {
        let data = own.join(LAYOUT);
        std::fs::create_dir_all(&data)?;
        for earlier in EARLIER.map(|earlier| own.join(earlier)) {
            // A link is not followed; a process of an earlier version finds that all was evicted.
            if std::fs::symlink_metadata(&earlier).is_ok_and(|found| found.is_dir()) {
                let _ = std::fs::remove_dir_all(&earlier);
            }
        }
        Ok(data)
    });
    let data = claimed
        .map_err(|error| refused(folder, &format!("the folder cannot be written to ({error})")))?;
    match networked(&data) {
        Some(name) => Err(refused(
            folder,
            &format!(
                "the folder is on a network file system ({name}), which is no nearer than the files"
            ),
        )),
        None => Ok(data),
    }
}

fn refused(folder: &Path, why: &str) -> Error {
    let text = format!("nothing is cached in {}: {why}", folder.display());
    Error::new(ErrorKind::InvalidArgument, text)
        .with_advice("name a folder on a disk of this machine with FARROOT_CACHE_FOLDER")
}

/// Bytes that are free on the file system of a folder for this user, and all that it has.
///
/// # Errors
/// An error of the system's answer.
pub fn free_bytes(folder: &Path) -> io::Result<(u64, u64)> {
    let system = rustix::fs::statvfs(folder)?;
    let of = |blocks: u64| blocks.saturating_mul(system.f_frsize);
    Ok((of(system.f_bavail), of(system.f_blocks)))
}

/// Where the segments of a content are.
pub fn content_folder(data: &Path, id: &ContentId) -> PathBuf {
    let name = HEXLOWER.encode(id);
    data.join(&name[..2]).join(name)
}

/// All folders of contents.
pub fn content_folders(data: &Path) -> Vec<PathBuf> {
    let listed = |folder: &Path, length: usize| -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let is_named = |entry: &std::fs::DirEntry| {
            let name = entry.file_name();
            name.len() == length && name.to_string_lossy().bytes().all(|b| b.is_ascii_hexdigit())
        };
        entries.flatten().filter(is_named).map(|entry| entry.path()).collect()
    };
    listed(data, 2).iter().flat_map(|folder| listed(folder, 32)).collect()
}
