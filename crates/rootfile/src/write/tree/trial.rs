//! Which level of ZSTD a branch is worth: tried on its first entries, and decided by sizes alone.
//!
//! ROOT's level 5 is the library's 10, of which a good part of all columns has nothing: the sizes
//! of float columns, say, are those of level 7 within 0.5 %, or even of level 1, which is several
//! times as fast.

use std::sync::Arc;

use super::content::write_content;
use super::plan::PlannedBranch;
use crate::error::Result;
use crate::write::compression::{Compression, CompressionAlgorithm, Encoders};
use crate::write::rows::ColumnRun;
use crate::write::table::{Encode, Encoded};

/// Levels of the library below that which ROOT's 5 means.
const LOWER_LEVELS: [i32; 3] = [1, 4, 7];
/// ROOT's level that is tried.
const ROOT_LEVEL: u8 = 5;
/// A level is good enough where its size is no more than 1 + 1/200 of the best.
const SIZE_MARGIN: usize = 200;

/// The work of a trial: its result is not stored.
#[derive(Debug)]
pub(super) struct EncodeTrial {
    pub branch: Arc<PlannedBranch>,
    pub number: usize,
    pub run: ColumnRun,
    pub compression: Compression,
    /// Whether lower levels may be better.
    pub is_tried: bool,
}

/// What a trial found.
#[derive(Debug)]
pub(super) struct TrialFacts {
    pub number: usize,
    pub compression: Compression,
    pub entries: u64,
    pub stored_len: usize,
}

/// Whether ROOT's number of a compression leaves the library's level open.
pub(super) fn is_open(compression: Compression) -> bool {
    compression.algorithm == CompressionAlgorithm::Zstd
        && compression.level == ROOT_LEVEL
        && compression.exact.is_none()
}

impl Encode for EncodeTrial {
    fn encode(self: Box<Self>, encoders: &mut Encoders) -> Result<Encoded> {
        let mut content = std::mem::take(&mut encoders.scratch);
        content.clear();
        let facts = write_content(&self.branch, &self.run, 0, &mut content);
        let facts = facts.map_err(|error| error.within(&self.branch.name))?;
        let mut bytes = Vec::new();
        let mut stored = |compression| {
            bytes.clear();
            encoders.compress(compression, &content, &mut bytes).map(|()| bytes.len())
        };
        let mut compression = self.compression;
        let mut stored_len = stored(compression)?;
        if self.is_tried {
            let enough = stored_len + stored_len / SIZE_MARGIN;
            for level in LOWER_LEVELS {
                let lower = Compression { exact: Some(level), ..self.compression };
                let len = stored(lower)?;
                if len <= enough {
                    (compression, stored_len) = (lower, len);
                    break;
                }
            }
        }
        let content_len = content.len();
        encoders.scratch = content;
        let entries = facts.entries;
        let facts = Box::new(TrialFacts { number: self.number, compression, entries, stored_len });
        Ok(Encoded { bytes: Vec::new(), content_len, facts })
    }
}
