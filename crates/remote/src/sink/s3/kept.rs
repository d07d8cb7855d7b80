//! Parts that are sent at the end, as some of their bytes are replaced.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::spawn_blocking;

use super::part::ObjectPart;
use crate::error::{Error, ErrorKind, Result};

/// Bytes that are kept in memory; parts beyond that are kept on a disk.
const MEMORY_BYTES_MAX: usize = 32 << 20;

/// Parts by their number.
#[derive(Default)]
pub struct KeptParts {
    parts: BTreeMap<u32, KeptPart>,
    memory_bytes: usize,
    disk: Option<Arc<File>>,
    disk_bytes: u64,
}

struct KeptPart {
    /// In the object.
    offset: u64,
    len: usize,
    place: Place,
}

enum Place {
    Memory(Vec<u8>),
    /// From that byte of the temporary file on.
    Disk(u64),
}

impl KeptParts {
    /// Keeps a part, which is behind all others.
    ///
    /// # Errors
    /// `Io` where the disk takes no more.
    pub async fn add(&mut self, part: ObjectPart) -> Result<()> {
        let ObjectPart { number, offset, bytes, .. } = part;
        let len = bytes.len();
        let place = if self.memory_bytes + len <= MEMORY_BYTES_MAX {
            self.memory_bytes += len;
            Place::Memory(bytes)
        } else {
            let disk = self.disk()?;
            let at = self.disk_bytes;
            on_disk(move || disk.write_all_at(&bytes, at)).await?;
            self.disk_bytes += len as u64;
            Place::Disk(at)
        };
        self.parts.insert(number, KeptPart { offset, len, place });
        Ok(())
    }

    fn disk(&mut self) -> Result<Arc<File>> {
        if self.disk.is_none() {
            self.disk = Some(Arc::new(tempfile::tempfile().map_err(|error| no_room(&error))?));
        }
        let gone = || Error::new(ErrorKind::Io, "there is no temporary file");
        self.disk.clone().ok_or_else(gone)
    }

    /// Replaces those of some bytes of the object that are in parts that are kept; the others,
    /// where there are such, are handed back with their place.
    ///
    /// # Errors
    /// As [`KeptParts::add`].
    pub async fn replace(&mut self, offset: u64, bytes: Bytes) -> Result<Option<(u64, Bytes)>> {
        let mut at = offset;
        let mut rest = bytes;
        let disk = self.disk.clone();
        for part in self.parts.values_mut() {
            let end = part.offset + part.len as u64;
            if rest.is_empty() || at < part.offset || at >= end {
                continue;
            }
            let start = (at - part.offset) as usize;
            let now = rest.split_to(rest.len().min(part.len - start));
            at += now.len() as u64;
            match (&mut part.place, &disk) {
                (Place::Memory(bytes), _) => {
                    bytes[start..start + now.len()].copy_from_slice(&now);
                }
                (Place::Disk(begin), Some(disk)) => {
                    let disk = disk.clone();
                    let at = *begin + start as u64;
                    on_disk(move || disk.write_all_at(&now, at)).await?;
                }
                (Place::Disk(_), None) => {}
            }
        }
        Ok((!rest.is_empty()).then_some((at, rest)))
    }

    /// The next part in the object's order, which is no longer kept.
    ///
    /// # Errors
    /// `Io` where the disk does not give it back.
    pub async fn pop(&mut self) -> Result<Option<(u32, Bytes)>> {
        let Some((number, part)) = self.parts.pop_first() else { return Ok(None) };
        let bytes = match part.place {
            Place::Memory(bytes) => bytes,
            Place::Disk(at) => {
                let disk = self.disk()?;
                let mut bytes = vec![0; part.len];
                on_disk(move || disk.read_exact_at(&mut bytes, at).map(|()| bytes)).await?
            }
        };
        Ok(Some((number, bytes.into())))
    }
}

/// On a thread that may wait for the disk.
async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T> {
    let done = spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(|error| no_room(&error))
}

fn no_room(error: &io::Error) -> Error {
    let text = format!("the temporary file of parts that are sent at the end: {error}");
    Error::new(ErrorKind::Io, text).with_advice("make room on the disk that TMPDIR names")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five parts of 10 MiB are more than memory takes.
    #[tokio::test]
    async fn bytes_are_replaced_across_parts_in_memory_and_on_a_disk() {
        let len = 10 << 20;
        let mut kept = KeptParts::default();
        let mut next = ObjectPart::first();
        for number in 1..=5 {
            let part = ObjectPart { bytes: vec![number; len], ..next };
            next = part.next();
            kept.add(part).await.unwrap();
        }
        assert_eq!(kept.disk_bytes, 2 * len as u64);
        // The end of the third part, all of the fourth, and the beginning of the fifth.
        let patch = Bytes::from(vec![9; len + 20]);
        assert_eq!(kept.replace(3 * len as u64 - 10, patch).await.unwrap(), None);
        let patch = Bytes::from(vec![8; 15]);
        let rest = kept.replace(5 * len as u64 - 5, patch).await.unwrap();
        assert_eq!(rest, Some((5 * len as u64, Bytes::from(vec![8; 10]))));
        for number in 1..=5 {
            let (popped, bytes) = kept.pop().await.unwrap().unwrap();
            assert_eq!(u32::from(number), popped);
            let mut expected = vec![number; len];
            match number {
                3 => expected[len - 10..].fill(9),
                4 => expected.fill(9),
                5 => {
                    expected[..10].fill(9);
                    expected[len - 5..].fill(8);
                }
                _ => {}
            }
            assert!(bytes == expected, "{number}");
        }
        assert!(kept.pop().await.unwrap().is_none());
    }
}
