//! The metadata of a file for a client that opens it elsewhere.

use std::ops::Range;

use bytes::Bytes;
use rootfile::{Known, Progress};

use super::File;
use super::remembered::add_needed;
use remote::near::FileMetadata;

/// Records of tables that are sent.
const TABLES_MAX: usize = 4;

impl File {
    /// The bytes by which the file is opened, and the records of the trees in its top directory. Of
    /// a file that cannot be read so there are none: the client will learn why.
    pub(crate) async fn metadata_to_send(&self) -> FileMetadata {
        let info = self.inner.remote.info();
        let mut pieces = Vec::new();
        if self.add_metadata(&mut pieces).await.is_none() {
            pieces.clear();
        }
        FileMetadata { size: info.size, modified: info.modified, pieces }
    }

    async fn add_metadata(&self, pieces: &mut Vec<(u64, Bytes)>) -> Option<()> {
        let keys = self.keys(false).await.ok()?;
        let streamers = &self.format().classes.streamers;
        let mut paths: Vec<String> = Vec::new();
        for key in keys.iter().filter(|key| streamers.inherits(&key.class, "TTree")) {
            if !paths.contains(&key.path) && paths.len() < TABLES_MAX {
                paths.push(key.path.clone());
            }
        }
        for path in &paths {
            self.reading(|file, known| file.has_record(known, path)).await.ok()?;
        }
        let known = self.known();
        let mut opening = known.without_bytes();
        add_needed(self.format(), &known, &mut opening, |_, _| Ok(Progress::Ready(())))?;
        let mut all = opening.clone();
        for path in &paths {
            add_needed(self.format(), &known, &mut all, |file, known| {
                file.has_record(known, path)
            })?;
        }
        add_pieces(&opening, &known.without_bytes(), pieces);
        add_pieces(&all, &opening, pieces);
        Some(())
    }
}

/// Adds the bytes that are not among those `before`.
fn add_pieces(known: &Known, before: &Known, pieces: &mut Vec<(u64, Bytes)>) {
    for (offset, piece) in known.pieces() {
        let here = offset..offset + piece.len() as u64;
        let part = |range: &Range<u64>| {
            piece.slice((range.start - offset) as usize..(range.end - offset) as usize)
        };
        pieces.extend(before.missing(here).iter().map(|range| (range.start, part(range))));
    }
}
