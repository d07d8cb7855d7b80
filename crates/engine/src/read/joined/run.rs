//! A read of all entries.

use std::ops::Range;

use rootfile::Array;

use super::alignment::Alignment;
use super::{Joined, JoinedTable, Keys, Place, lookup};
use crate::read::core::batches::{BatchSender, Batches};
use crate::read::core::columns::Batch;
use crate::read::core::cut::SurvivorFeed;
use crate::read::core::steps::ReadPriority;
use crate::read::core::table::Columns;
use remote::fetch::ledger::Phase;
use remote::{Error, ErrorKind, Result};

/// The read of one part.
pub struct Reading {
    pub part: JoinedTable,
    pub columns: Box<dyn Columns>,
    /// `None` where entries are looked up, and where there are none.
    batches: Option<Batches>,
    /// Whether values may be missing.
    lacks: bool,
}

struct Run {
    readings: Vec<Reading>,
    /// For each part.
    keys: Vec<Keys>,
    shown: Vec<(String, Place)>,
    /// First entries of the batches and, last, the end.
    starts: Vec<u64>,
}

pub async fn start(joined: &Joined, starts: Vec<u64>, rank: ReadPriority) -> Result<Batches> {
    let (lists, places, keys) = joined.lists_with_keys()?;
    let mut readings = Vec::with_capacity(lists.len());
    for (part, columns) in joined.parts.iter().zip(lists) {
        readings.push(Reading::begin(joined, part, columns, &starts, None, rank).await?);
    }
    let shown = joined.columns.iter().map(|column| column.name.clone()).zip(places).collect();
    let steps = starts.len().saturating_sub(1);
    let run = Run { readings, keys, shown, starts };
    let batches = Batches::start(joined.file().remote(), |output| run.run(output));
    Ok(batches.in_steps(steps))
}

impl Reading {
    /// Begins to read in batches that begin at `starts`, whose last is the end: all entries or, of
    /// windows, of each only the entries that survive it.
    pub async fn begin(
        joined: &Joined,
        part: &JoinedTable,
        columns: Box<dyn Columns>,
        starts: &[u64],
        feed: Option<(&[u64], SurvivorFeed)>,
        rank: ReadPriority,
    ) -> Result<Self> {
        let lacks = part.lacks_entries(&*joined.table());
        let mut reading = Reading { part: part.clone(), columns, batches: None, lacks };
        let starts = reading.own_borders(starts);
        let looks_up = matches!(part.alignment, Alignment::Index(..));
        if looks_up || reading.columns.names().is_empty() || starts.len() < 2 {
            return Ok(reading);
        }
        let windows = feed.as_ref().map(|(windows, _)| reading.own_borders(windows));
        let feed = windows.as_deref().zip(feed.map(|(_, feed)| feed));
        let rank = rank.of_friend(part.friend.entry_offset);
        reading.batches = Some(reading.columns.start_at(&starts, feed, rank).await?);
        Ok(reading)
    }

    /// Borders between entries of the table as entries of the friend, as far as this has them.
    pub fn own_borders(&self, borders: &[u64]) -> Vec<u64> {
        let there = self.part.entries_covered();
        let mut own: Vec<u64> = borders.iter().map(|border| (*border).min(there)).collect();
        own.dedup();
        own.iter().map(|border| self.part.friend.to_friend_entry(*border)).collect()
    }

    /// Whether a batch of the table's entries has some of the friend's.
    pub fn has(&self, entries: &Range<u64>) -> bool {
        entries.start < self.part.entries_covered()
    }

    /// The columns for `entries` of the table or, of these, for so many that are left.
    pub async fn take(&mut self, entries: &Range<u64>, left: usize) -> Result<Vec<Array>> {
        let has = self.has(entries);
        let mut columns: Vec<Array> = match &mut self.batches {
            Some(batches) if has => {
                let batch = batches.next_unreported().await.transpose()?;
                let end = entries.end.min(self.part.entries_covered());
                let own = self.part.friend.to_friend_entry(entries.start)
                    ..self.part.friend.to_friend_entry(end);
                let batch = batch.filter(|batch| batch.entries == own).ok_or_else(|| {
                    let table = &self.part.friend.table;
                    let message = format!("{} ends before entry {}", table.path(), own.end);
                    Error::new(ErrorKind::Corrupt, message).with_url(table.file().url())
                })?;
                batch.columns.into_iter().map(|(_, array)| array).collect()
            }
            _ => self.columns.empty().into_iter().map(|(_, array)| array).collect(),
        };
        if self.lacks {
            let pad = |array: Array| {
                let missing = left.saturating_sub(array.len());
                lookup::padded(array, missing)
            };
            columns = columns.into_iter().map(pad).collect();
        }
        Ok(columns)
    }

    /// The columns for entries that are looked up, if they are: by the values of `keys` for `count`
    /// entries.
    pub async fn looked_up(
        &self,
        keys: impl FnOnce() -> Vec<(String, Array)>,
        count: usize,
    ) -> Result<Option<Vec<Array>>> {
        let Alignment::Index(index, both) = &self.part.alignment else { return Ok(None) };
        if self.columns.names().is_empty() {
            return Ok(None);
        }
        let wanted = lookup::entries_of(index, both, keys(), count)?;
        lookup::read(&self.part.friend.name, &*self.columns, &wanted).await.map(Some)
    }
}

impl Run {
    async fn run(self, output: BatchSender) -> Result<()> {
        let closed = output.sender.clone();
        tokio::select! {
            done = self.hand_out(output) => done,
            () = closed.closed() => Ok(()),
        }
    }

    async fn hand_out(mut self, mut output: BatchSender) -> Result<()> {
        let starts = std::mem::take(&mut self.starts);
        for pair in starts.windows(2) {
            let Ok(slot) = output.sender.clone().reserve_owned().await else { return Ok(()) };
            output.waits_for(Phase::Bytes);
            let entries = pair[0]..pair[1];
            let mut read = self.columns_of(&entries).await?;
            let mut columns = Vec::with_capacity(self.shown.len());
            let left_out = Vec::new();
            for (number, (name, place)) in self.shown.iter().enumerate() {
                let array = &mut read[place.part][place.at];
                let again = self.shown[number + 1..].iter().any(|(_, other)| other == place);
                let rest = array.empty_like();
                let array = if again { array.clone() } else { std::mem::replace(array, rest) };
                columns.push((name.clone(), array));
            }
            slot.send(Ok(output.accounted(Batch { entries, survivors: None, columns, left_out })));
        }
        Ok(())
    }

    /// The columns of each part for some entries.
    async fn columns_of(&mut self, entries: &Range<u64>) -> Result<Vec<Vec<Array>>> {
        let count = (entries.end - entries.start) as usize;
        let mut read: Vec<Vec<Array>> = Vec::with_capacity(self.readings.len());
        for reading in &mut self.readings {
            read.push(reading.take(entries, count).await?);
        }
        for at in 1..self.readings.len() {
            let key = |(name, at): &(String, usize)| (name.clone(), read[0][*at].clone());
            let keys = || self.keys[at].iter().map(key).collect();
            if let Some(columns) = self.readings[at].looked_up(keys, count).await? {
                read[at] = columns;
            }
        }
        Ok(read)
    }
}
