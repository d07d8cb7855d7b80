//! Columns of a table and of its friends that are read when they are looked at.

use std::ops::Range;

use futures::future::{BoxFuture, FutureExt};
use rootfile::Array;

use super::alignment::Alignment;
use super::{Joined, JoinedTable, Keys, Place, lookup};
use crate::read::core::lazy::{LazyColumns, Learning};
use crate::read::core::table::Columns;
use remote::Result;

/// Watches which columns of each table are touched. All tables are read in the same steps.
pub struct LazyJoined {
    parts: Vec<LazyTable>,
    shown: Vec<Place>,
    present: Range<u64>,
}

struct LazyTable {
    part: JoinedTable,
    columns: Box<dyn Columns>,
    /// `None` where entries are looked up.
    reader: Option<Box<dyn LazyColumns>>,
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
            let there = part.entries_covered();
            let own = entries.start.min(there)..entries.end.min(there);
            let own = part.friend.to_friend_entry(own.start)..part.friend.to_friend_entry(own.end);
            let reader = match part.alignment {
                Alignment::Entry => Some(columns.lazily(own, step, learning).await?),
                Alignment::Index(..) => None,
            };
            let lacks = part.lacks_entries(&*joined.table());
            parts.push(LazyTable { part: part.clone(), columns, reader, lacks, keys });
        }
        Ok(LazyJoined { parts, shown, present: entries.start..entries.start })
    }

    /// Goes to the next step; its entries, or `None` after the last one.
    async fn next(&mut self) -> Result<Option<Range<u64>>> {
        let mut readers = self.parts.iter_mut().filter_map(|part| part.reader.as_mut());
        // The table itself is the first part, and is never looked up.
        let Some(own) = readers.next() else { return Ok(None) };
        let Some(present) = own.advance().await.transpose()? else { return Ok(None) };
        self.present = present;
        // A friend that has no more entries stays where it is.
        for reader in readers {
            reader.advance().await.transpose()?;
        }
        Ok(Some(self.present.clone()))
    }

    /// The values of a column for the entries of the present step.
    async fn values(&mut self, column: usize) -> Result<Array> {
        let Place { part, at } = self.shown[column];
        let present = self.present.clone();
        if let Alignment::Index(index, both) = self.parts[part].part.alignment.clone() {
            let mut numbers = Vec::new();
            for (name, key) in self.parts[part].keys.clone() {
                numbers.push((name, self.parts[0].touch(key, &present).await?));
            }
            let count = (present.end - present.start) as usize;
            let wanted = lookup::entries_of(&index, &both, numbers, count)?;
            let LazyTable { part, columns, .. } = &self.parts[part];
            let columns = columns.pick(&[at]);
            let mut read = lookup::read(&part.friend.name, &*columns, &wanted).await?;
            return Ok(read.swap_remove(0));
        }
        self.parts[part].touch(at, &present).await
    }
}

impl LazyColumns for LazyJoined {
    fn advance(&mut self) -> BoxFuture<'_, Option<Result<Range<u64>>>> {
        async move { self.next().await.transpose() }.boxed()
    }

    fn touch(&mut self, column: usize, _entries: Range<u64>) -> BoxFuture<'_, Result<Array>> {
        self.values(column).boxed()
    }
}

impl LazyTable {
    async fn touch(&mut self, at: usize, present: &Range<u64>) -> Result<Array> {
        let there = self.part.entries_covered();
        let own = present.start.min(there)..present.end.min(there);
        let own =
            self.part.friend.to_friend_entry(own.start)..self.part.friend.to_friend_entry(own.end);
        let array = match &mut self.reader {
            Some(reader) if !own.is_empty() => reader.touch(at, own).await?,
            _ => self.columns.empty_at(at),
        };
        let missing = (present.end - present.start) as usize - array.len();
        Ok(if self.lacks { lookup::padded(array, missing) } else { array })
    }
}
