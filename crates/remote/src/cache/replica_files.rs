//! The files of a replica on a disk: its bytes, and the facts about it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::content::{CHARGED, OPEN_LOCK};
use super::evict::Held;
use crate::checksum::{Algorithm, Checksum, Hasher};
use crate::disk;
use crate::source::FileInfo;

/// The replica, in the folder of its content.
pub const REPLICA: &str = "fast.root";
/// The facts about it, whose time of modification is that of its last use.
pub const ABOUT: &str = "fast.json";
/// Its lock is held by the process that makes the replica.
pub const MAKING: &str = "making";
/// More than the facts take.
const ABOUT_BYTES_MAX: u64 = 64 << 10;
/// Bytes that are hashed at a time.
const STEP_BYTES: usize = 1 << 20;

/// The facts about a replica.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReplicaFacts {
    /// The file that it was made of, as its server described it.
    pub of: FileInfo,
    pub size: u64,
    /// The checksum of the replica's own bytes.
    pub adler32: String,
    /// Seconds since 1970.
    pub made: u64,
}

/// A replica as eviction sees it.
#[derive(Debug)]
pub struct FoundReplica {
    pub path: PathBuf,
    pub begun: u64,
    pub held: Held,
}

/// The facts about the replica in a folder.
pub fn facts(folder: &Path) -> Option<ReplicaFacts> {
    let text = disk::read(&folder.join(ABOUT), ABOUT_BYTES_MAX).ok()?;
    serde_json::from_slice(&text).ok()
}

/// The replica in a folder.
pub fn found(folder: &Path, stays: bool) -> Option<FoundReplica> {
    let path = folder.join(REPLICA);
    let bytes = fs::symlink_metadata(&path).ok()?.len();
    let used = fs::metadata(folder.join(ABOUT)).and_then(|about| about.modified());
    let used = used.ok().and_then(|used| used.duration_since(SystemTime::UNIX_EPOCH).ok());
    let used = used.as_ref().map_or(0, Duration::as_secs);
    let begun = facts(folder).map_or(0, |facts| facts.made);
    // It took longer to make than a segment takes to be fetched.
    Some(FoundReplica {
        path,
        begun,
        held: Held { bytes, uses: 1, used, stays, ..Held::default() },
    })
}

/// Whether the bytes of the replica in a folder are those that were written; `None` without one.
pub fn is_sound(folder: &Path) -> Option<bool> {
    let path = folder.join(REPLICA);
    path.exists().then(|| {
        let found = checksum(&path, Algorithm::Adler32).ok();
        facts(folder).zip(found).is_some_and(|(facts, found)| found.to_string() == facts.adler32)
    })
}

/// Whether a name is of a file beside segments.
pub fn is_own(name: &str) -> bool {
    [REPLICA, ABOUT, MAKING, OPEN_LOCK, CHARGED].contains(&name)
}

/// The checksum of a file.
///
/// # Errors
/// An error of the disk.
pub fn checksum(path: &Path, algorithm: Algorithm) -> io::Result<Checksum> {
    let mut file = File::open(path)?;
    let mut hasher = Hasher::new(algorithm);
    let mut buffer = vec![0; STEP_BYTES];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finish()),
            count => hasher.update(&buffer[..count]),
        }
    }
}
