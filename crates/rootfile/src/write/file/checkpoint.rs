//! Files that can be read up to a point while they are written further (ROOT:
//! `TTree::AutoSave`).

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Checkpoints, DirectoryId, FileWriter, NamedObject, TableId};
use crate::error::Result;
use crate::write::table::Finished;

/// Bytes of the length that stands in a gap.
const MARK_LEN: usize = 4;

impl FileWriter {
    /// Makes a new file readable, as far as it is written, each time that it has grown by so many
    /// bytes. The records that this takes become free at the next time. Tables that cannot be
    /// read before they are finished, which are copies, are not in the file until then.
    ///
    /// A checkpoint comes between clusters; of several trees that are filled at the same time,
    /// where none is in the middle of one.
    pub fn set_checkpoint(&mut self, bytes: u64) {
        let every = bytes.max(1);
        self.checkpoints = Some(Checkpoints { every, next: self.end + every, records: None });
    }

    /// Whether the file could be read before now.
    pub(super) fn is_readable(&self) -> bool {
        let has_records = |checkpoints: &Checkpoints| checkpoints.records.is_some();
        self.old.is_some() || self.checkpoints.as_ref().is_some_and(has_records)
    }

    /// The records of the last checkpoint, which are free from now on.
    pub(super) fn superseded(&mut self) -> Option<Range<u64>> {
        self.checkpoints.as_mut()?.records.take()
    }

    /// Makes the file readable, where it is time. That depends on the placed records alone.
    pub(super) fn checkpoint(&mut self) -> Result<()> {
        let start = self.end;
        let is_due = self.checkpoints.as_ref().is_some_and(|due| start >= due.next);
        if !is_due || !self.tables.iter().all(|table| table.writer.is_even()) {
            return Ok(());
        }
        // The tables' keys are listed for this time alone.
        let mut before = BTreeMap::new();
        for table in self.tables.ids() {
            if !self.tables[table].is_placed || self.tables[table].set_of.is_some() {
                continue;
            }
            let directory = self.tables[table].directory;
            before.entry(directory).or_insert_with(|| self.directories[directory.0].listed());
            self.place_interim(table, directory)?;
        }
        self.place_metadata()?;
        for (directory, listed) in before {
            self.directories[directory.0].list_again(listed);
        }
        self.announce(start);
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.records = Some(start..self.end);
            checkpoints.next = self.end + checkpoints.every;
        }
        Ok(())
    }

    fn place_interim(&mut self, table: TableId, directory: DirectoryId) -> Result<()> {
        let place = self.place_in(directory);
        let name = self.tables[table].name.clone();
        let encoders = &mut self.encoders;
        let interim = self.tables.change(table, |open| open.writer.interim(place, encoders));
        let interim = interim.map_err(|error| error.within(&name))?;
        let Some(Finished { records, object }) = interim else { return Ok(()) };
        self.emit([records.into()], false);
        let compression = self.compression_of(&*object);
        let cycle = self.tables[table].cycle;
        self.place_object(&NamedObject { directory, name, object, compression, cycle })
    }

    /// Says of the first bytes at an offset that they will be replaced, by a gap's length.
    fn announce(&mut self, offset: u64) {
        let is_there = |write: &super::Write| write.offset == offset && !write.bytes.is_empty();
        let Some(at) = self.writes.iter().position(is_there) else { return };
        let mut rest = self.writes[at].clone();
        let first = rest.bytes.split_to(MARK_LEN.min(rest.bytes.len()));
        rest.offset += first.len() as u64;
        self.writes[at] = super::Write { offset, bytes: first, is_replaced: true };
        self.writes.insert(at + 1, rest);
    }
}
