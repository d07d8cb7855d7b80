//! The level of ZSTD that a branch is worth: tried on its first entries, and decided by sizes
//! alone; and the size of entries that follows.

use std::sync::Arc;

use super::content::write_content;
use super::plan::PlannedBranch;
use crate::error::Result;
use crate::write::compression::{Compression, Encoders};
use crate::write::rows::ColumnRun;
use crate::write::table::{Encode, Encoded};

/// The work of a trial: its result is not stored.
#[derive(Debug)]
pub(super) struct EncodeTrial {
    pub branch: Arc<PlannedBranch>,
    pub number: usize,
    pub run: ColumnRun,
    pub compression: Compression,
}

/// Result of a trial.
#[derive(Debug)]
pub(super) struct TrialFacts {
    pub number: usize,
    pub compression: Compression,
    pub entries: u64,
    pub stored_len: usize,
}

impl Encode for EncodeTrial {
    fn encode(self: Box<Self>, encoders: &mut Encoders) -> Result<Encoded> {
        let mut content = std::mem::take(&mut encoders.scratch);
        content.clear();
        let facts = write_content(&self.branch, &self.run, 0, &mut content);
        let facts = facts.map_err(|error| error.within(&self.branch.name))?;
        let (compression, stored_len) =
            encoders.lowest_level(self.compression, &content, content.len())?;
        let content_len = content.len();
        encoders.scratch = content;
        let entries = facts.entries;
        let facts = Box::new(TrialFacts { number: self.number, compression, entries, stored_len });
        Ok(Encoded { bytes: Vec::new(), content_len, facts })
    }
}
