//! Baskets that stay where they are: a tree of the parts that a file has already.

use std::sync::Arc;

use super::BlockNumbers;
use super::basket::{KeyNumbers, embedded_record, move_record};
use super::new_columns::KeptEntries;
use super::plan::{BasketPart, TreePart};
use super::source::SourceTree;
use super::tree::{CopiedTree, Missing};
use crate::error::{Error, Result};
use crate::write::compression::Encoders;
use crate::write::table::RecordPlace;

impl CopiedTree {
    /// Adds the entries of a tree whose baskets are in the output already.
    ///
    /// # Errors
    /// As [`CopiedTree::plan`].
    pub(in crate::write) fn add_in_place(&mut self, tree: &Arc<SourceTree>) -> Result<()> {
        let part = self.plan(tree, Missing::Strict, KeptEntries::default())?;
        self.begin_in_place(&part);
        self.friends.are_of_one_file = true;
        Ok(())
    }

    /// Begins with a part whose baskets are in the output already. Those in the tree's own record
    /// get their place by [`CopiedTree::place_embedded`].
    pub(in crate::write) fn begin_in_place(&mut self, part: &TreePart) {
        self.begin(part);
        for (branch, at, basket) in part.baskets() {
            if let BasketPart::Stored(range) = &basket.part {
                let len = (range.end - range.start) as usize;
                let place = RecordPlace { offset: range.start, directory: 0, datime: 0 };
                self.place(BlockNumbers { owner: branch, number: at }, len, place);
            }
        }
    }

    /// The records, one behind the other from `place` on, of the baskets that were in the record of
    /// the present part's tree.
    ///
    /// # Errors
    /// As [`embedded_record`] and [`move_record`].
    pub(in crate::write) fn place_embedded(
        &mut self,
        part: &TreePart,
        mut place: RecordPlace,
        encoders: &mut Encoders,
    ) -> Result<Vec<u8>> {
        let mut records = Vec::new();
        for (branch, at, basket) in part.baskets() {
            let BasketPart::Embedded { bytes, entries } = &basket.part else { continue };
            let compression = self.compression(branch);
            let mut record = embedded_record(bytes, *entries, compression, encoders)?;
            self.add_bytes(branch, record.len(), bytes.len());
            let numbers = BlockNumbers { owner: branch, number: at };
            let cycle = self.place(numbers, record.len(), place);
            move_record(&mut record, 0, place, KeyNumbers { cycle, processes: 0 })?;
            place.offset += record.len() as u64;
            records.extend(record);
        }
        Ok(records)
    }

    /// Adds the branches of a tree with as many entries, whose baskets are in the output already.
    ///
    /// # Errors
    /// `Unsupported` for a branch that is there, and for another number of entries.
    pub(in crate::write) fn add_columns_in_place(&mut self, new: &Arc<SourceTree>) -> Result<()> {
        let within = |error: Error| error.within(&new.tree.name);
        if let Some(path) = new.paths.iter().find(|path| self.places.contains_key(*path)) {
            let message = "a new branch that is there already";
            return Err(within(Error::unsupported(message).within(path)));
        }
        if new.tree.entries != self.entries() {
            let message =
                format!("{} entries of new branches of {}", new.tree.entries, self.entries());
            return Err(within(Error::unsupported(message)));
        }
        for at in 0..new.paths.len() {
            self.add_branch(new, at);
            let part = new.part(at)?;
            self.last_branch().add_in_place(&part, &new.facts(at))?;
        }
        self.add_source(new.clone())
    }
}
