//! Files written to servers: whole under their names, or not at all.

mod cut;
pub mod http;
mod odd;
mod slow;
mod xrootd;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use farroot_remote::{CreateOptions, Error, Hasher, Remote, Written};

/// Bytes of the test file that differ from place to place.
pub fn content(size: usize) -> Vec<u8> {
    (0..size as u64).map(|at| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

/// Replaces a file that is there.
pub const OVER: CreateOptions =
    CreateOptions { overwrite: true, in_place: false, shared: false, size: None };

/// Writes a file as a writer of ROOT files does: forward, in pieces of this many bytes, and then
/// its first 100 once more.
pub async fn upload(
    remote: &Remote,
    address: &str,
    content: &[u8],
    piece: usize,
    options: CreateOptions,
) -> Result<Written, Error> {
    let mut upload = remote.create(address, options).await?;
    let head = content.len().min(100);
    upload.write(0, vec![0; head].into(), true).await?;
    for (number, part) in content[head..].chunks(piece).enumerate() {
        let offset = head + number * piece;
        upload.write(offset as u64, Bytes::copy_from_slice(part), false).await?;
    }
    upload.sync().await?;
    upload.write(0, Bytes::copy_from_slice(&content[..head]), false).await?;
    upload.finish().await
}

/// The written file is as it should be, by the checksum that came with it.
pub fn check(written: &Written, content: &[u8]) {
    assert_eq!(written.size, content.len() as u64);
    let checksum = written.checksum.clone().expect("a checksum");
    let mut hasher = Hasher::new(checksum.algorithm());
    hasher.update(content);
    assert_eq!(checksum, hasher.finish());
}

/// Every file of a folder, those below included, and how many bytes it has.
pub fn files(folder: &Path) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(path),
                Ok(metadata) => {
                    let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                    found.insert(name, metadata.len());
                }
                Err(_) => {}
            }
        }
    }
    found
}
