//! Objects, lists and texts in two passes: first where everything is, then column by column.
//!
//! A layout is turned into steps once a branch. The first pass walks over entries and writes down
//! where numbers, lists and texts are, without looking at them: members of fixed size that follow
//! each other are one step, whether of one object or of all those of a collection that is written
//! member by member. The second one fills each column in a loop of its own, for many entries
//! together.
//!
//! Layouts that name classes, point, count by other members and the like have no such plan, and are
//! read value by value. So are entries that are not written as they are in the first version of
//! their classes, or not at all: errors are then found, and reported, there.

mod fill;
mod plan;
mod walk;

use crate::array::Array;
use crate::error::Result;
use crate::tree::interpret::layout::Layout;
use fill::{Fill, Found};
use plan::Step;
use walk::Walk;

/// Entries are gone through until so many bytes have been: the bytes that the second pass reads are
/// then still in the processor's caches.
const BYTES_TOGETHER: u32 = 64 << 10;

/// How entries of one layout are read in bulk.
#[derive(Debug, Clone, PartialEq)]
pub struct Bulk {
    step: Step,
    fill: Fill,
    slots: usize,
}

impl Bulk {
    /// `None` where a layout has to be read value by value.
    pub fn of(layout: &Layout) -> Option<Bulk> {
        let mut slots = 0;
        let (step, fill) = plan::layout(layout, &mut slots)?;
        Some(Bulk { step, fill, slots })
    }

    /// Appends the entries between `bounds`, which ascend within `data`; `one` reads one that is
    /// not as planned.
    pub fn decode(
        &self,
        data: &[u8],
        bounds: &[u32],
        column: &mut Array,
        mut one: impl FnMut(&[u32], &mut Array) -> Result<()>,
    ) -> Result<()> {
        let mut found: Found = vec![Vec::new(); self.slots];
        let mut first = 0;
        for (entry, ends) in bounds.windows(2).enumerate() {
            if !self.find(data, ends, &mut found) {
                // Of this entry something may have been found: those before it once more.
                found.iter_mut().for_each(Vec::clear);
                for ends in bounds[first..=entry].windows(2) {
                    self.find(data, ends, &mut found);
                }
                self.fill.append(data, &found, entry - first, column)?;
                // Others of them will be like it.
                return bounds[entry..].windows(2).try_for_each(|ends| one(ends, column));
            }
            if ends[1] - bounds[first] >= BYTES_TOGETHER || entry + 2 == bounds.len() {
                self.fill.append(data, &found, entry + 1 - first, column)?;
                found.iter_mut().for_each(Vec::clear);
                first = entry + 1;
            }
        }
        Ok(())
    }

    /// Finds the spans of an entry; `false` where it is not as planned.
    fn find(&self, data: &[u8], ends: &[u32], found: &mut Found) -> bool {
        let mut walk = Walk::new(data, ends[0] as usize..ends[1] as usize, found);
        walk.single(&self.step).is_some() && walk.is_at_end()
    }
}

#[cfg(test)]
mod tests;
