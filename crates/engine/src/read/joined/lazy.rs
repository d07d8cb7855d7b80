//! Columns of a table and of its friends that are read when they are looked at.

use std::ops::Range;

use rootfile::Array;

use super::friends::Alignment;
use super::{Joined, Keys, Part, Place, lookup};
use crate::error::Result;
use crate::read::core::lazy::Learning;
use crate::read::core::lazy::Reader;
use crate::read::core::table::Selected;

/// Watches what is touched of each table. All go in the same steps.
pub struct LazyJoined {
    parts: Vec<LazyPart>,
    shown: Vec<Place>,
    present: Range<u64>,
}

struct LazyPart {
    part: Part,
    columns: Selected,
    reader: Reader,
    lacks: bool,
    keys: Keys,
}

impl LazyJoined {
    /// Begins before the first step of so many entries.
    pub async fn start(
        joined: &Joined,
        entries: Range<u64>,
        step: u64,
        learning: Learning,
    ) -> Result<Self> {
        let (lists, shown, keys) = joined.lists_with_keys()?;
        let mut parts = Vec::with_capacity(lists.len());
        for ((part, columns), keys) in joined.parts.iter().zip(lists).zip(keys) {
            let there = part.there();
            let own = entries.start.min(there)..entries.end.min(there);
            let own = part.friend.own(own.start)..part.friend.own(own.end);
            let reader = match part.alignment {
                Alignment::Entry => Reader::start(&columns, own, step, learning).await?,
                Alignment::Index(..) => Reader::Nothing,
            };
            let lacks = part.lacks(joined.table());
            parts.push(LazyPart { part: part.clone(), columns, reader, lacks, keys });
        }
        Ok(LazyJoined { parts, shown, present: entries.start..entries.start })
    }

    /// Goes to the next step; its entries, or `None` after the last one.
    pub fn advance(&mut self) -> Option<Range<u64>> {
        let mut parts = self.parts.iter_mut();
        self.present = parts.next()?.reader.advance()?;
        // Who has no more entries has none to give.
        for part in parts {
            part.reader.advance();
        }
        Some(self.present.clone())
    }

    /// The values of a column for the entries of the present step.
    pub async fn touch(&mut self, column: usize) -> Result<Array> {
        let Place { part, at } = self.shown[column];
        let present = self.present.clone();
        if let Alignment::Index(index, both) = self.parts[part].part.alignment.clone() {
            let mut numbers = Vec::new();
            for (name, key) in self.parts[part].keys.clone() {
                numbers.push((name, self.parts[0].touch(key, &present).await?));
            }
            let count = (present.end - present.start) as usize;
            let wanted = lookup::entries_of(&index, &both, numbers, count)?;
            let LazyPart { part, columns, .. } = &self.parts[part];
            if let Selected::Tree(tree, columns) = columns.pick(&[at]) {
                let mut read = lookup::read(&part.friend.name, &tree, &columns, &wanted).await?;
                return Ok(read.swap_remove(0));
            }
        }
        self.parts[part].touch(at, &present).await
    }
}

impl LazyPart {
    async fn touch(&mut self, at: usize, present: &Range<u64>) -> Result<Array> {
        let there = self.part.there();
        let own = present.start.min(there)..present.end.min(there);
        let own = self.part.friend.own(own.start)..self.part.friend.own(own.end);
        let array = match own.is_empty() {
            true => self.columns.empty_at(at),
            false => self.reader.touch(&self.columns, at, &own).await?,
        };
        let missing = (present.end - present.start) as usize - array.len();
        Ok(if self.lacks { lookup::padded(array, missing) } else { array })
    }
}
