//! Select, then read: the columns that decide about entries are read first, window by window,
//! whichever table they are of, and of the others the surviving entries.
//!
//! Deciding runs ahead of the batches that the consumer waits for; windows that are decided and not
//! handed out are bounded here, and the bytes fetched for them by the engine's budget, as all
//! others.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rootfile::Array;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::run::{self, Reading};
use super::{Joined, Place};
use crate::located::unlocated;
use crate::read::core::batches::{BatchSender, Batches};
use crate::read::core::columns::Batch;
use crate::read::core::cut::{self, Cut, Predicate};
use crate::read::core::steps::{ReadPriority, windows_starts, with_borders};
use crate::read::core::table::{Columns, Table};
use crate::read::threads::decoders::{AT_ONCE, caught};
use remote::fetch::LentMemory;
use remote::fetch::ledger::Phase;
use remote::{Error, ErrorKind, Result};

/// Bytes of deciding columns that may wait to be handed out, and at most which part of the memory
/// budget, of which they are.
const WAITING_BYTES: u64 = 32 << 20;
const WAITING_PART: u64 = 8;
/// Bytes that each window counts in addition, for a read that has been started.
const WINDOW_BYTES: u64 = 64 << 10;

/// A read with a cut.
struct Cutting {
    table: Arc<dyn Table>,
    predicate: Arc<dyn Predicate>,
    /// Where the columns come from that are handed out.
    shown: Vec<(String, Source)>,
    /// For each part the names of the columns by which its entries are looked up.
    keys: Vec<Vec<(String, Source)>>,
    /// Of each column that decides whether it is needed later, and the column without entries.
    kept: Vec<bool>,
    empty: Vec<Array>,
    /// First entries of the batches and, last, the end; and the same of the windows.
    starts: Vec<u64>,
    windows: Vec<u64>,
}

/// Where values come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Source {
    /// From a column that decided.
    Decided(usize),
    /// From a column of which only surviving entries are read.
    Rest(Place),
}

/// A pipeline that receives the survivors.
struct Listener {
    /// Entries of the table that it has, and how those are numbered there.
    entries_covered: u64,
    entry_offset: i64,
    runs: mpsc::UnboundedSender<Vec<Range<u64>>>,
}

/// The rest of a batch: surviving entries, and columns that decided, where they are needed.
struct Left {
    runs: Vec<Range<u64>>,
    decided: Vec<Array>,
    /// Its share of the memory budget.
    _counted: Vec<LentMemory>,
}

/// A window that is put together with others.
struct Taken {
    runs: Vec<Range<u64>>,
    decided: Vec<Option<Array>>,
    counted: LentMemory,
}

/// A window about which all is decided.
struct Window {
    runs: Vec<Range<u64>>,
    /// Surviving entries of columns that decided and are needed.
    decided: Vec<Option<Array>>,
    /// Its share of [`WAITING_BYTES`], and of the memory budget.
    room: OwnedSemaphorePermit,
    counted: LentMemory,
}

pub async fn start(
    joined: &Joined,
    cut: &Cut,
    starts: Vec<u64>,
    rank: ReadPriority,
) -> Result<Batches> {
    let deciding = joined.deciding(cut)?;
    let windows = windows(&deciding, &starts).await?;
    let (all, places) = joined.lists()?;
    let mut lists: Vec<Box<dyn Columns>> = all.iter().map(|list| list.pick(&[])).collect();
    let (decided_lists, decided_places) = deciding.lists()?;
    // Of one that is named twice the first.
    let decided_places: HashMap<Place, usize> =
        decided_places.into_iter().enumerate().rev().map(|(at, place)| (place, at)).collect();
    let mut kept = vec![false; deciding.columns.len()];
    let mut source = |part: usize, columns: &dyn Columns, at: usize| -> Result<Source> {
        let decided = decided_lists[part].position(columns, at);
        let decided = decided.map(|at| Place { part, at });
        let decided = decided.and_then(|place| decided_places.get(&place).copied());
        Ok(match decided {
            Some(at) => {
                kept[at] = true;
                Source::Decided(at)
            }
            None => Source::Rest(Place { part, at: lists[part].add(columns, at)? }),
        })
    };
    let mut shown: Vec<(String, Source)> = Vec::with_capacity(places.len());
    for (column, Place { part, at }) in joined.columns.iter().zip(places) {
        shown.push((column.name.clone(), source(part, &*all[part], at)?));
    }
    let mut keys = vec![Vec::new(); joined.parts.len()];
    for (at, part) in joined.parts.iter().enumerate() {
        if !shown.iter().any(|(_, source)| source.is_rest_of(at)) {
            continue;
        }
        for name in part.alignment.columns() {
            keys[at].push((name.clone(), source(0, &*joined.own().require(name)?, 0)?));
        }
    }
    let mut readings = Vec::new();
    let mut listeners = Vec::new();
    for (part, columns) in joined.parts.iter().zip(lists) {
        let (runs, feed) = mpsc::unbounded_channel();
        let feed = Some((&windows[..], feed));
        readings.push(Reading::begin(joined, part, columns, &starts, feed, rank).await?);
        listeners.push(Listener {
            entries_covered: part.entries_covered(),
            entry_offset: part.friend.entry_offset,
            runs,
        });
    }
    let decided = run::start(&deciding, windows.clone(), rank).await?;
    let table = joined.table();
    let remote = table.file().remote().clone();
    let predicate = cut.predicate.clone();
    let empty = deciding.empty_columns().map(|(_, array)| array).collect();
    let steps = starts.len().saturating_sub(1);
    let cutting = Cutting { table, predicate, shown, keys, kept, empty, starts, windows };
    let batches = Batches::start(&remote, async move |output: BatchSender| {
        cutting.run(decided, listeners, readings, output).await
    });
    Ok(batches.in_steps(steps))
}

/// Where windows begin and, last, end: with clusters, or where a tree's deciding columns have some
/// baskets.
async fn windows(deciding: &Joined, starts: &[u64]) -> Result<Vec<u64>> {
    let mut trees_bytes = 0.0;
    let mut windows = starts.to_vec();
    for (columns, part) in deciding.lists()?.0.iter().zip(&deciding.parts) {
        let Some(first) = starts.first() else { break };
        let Some(end) = starts.last() else { break };
        let first = part.friend.to_friend_entry(*first);
        let end = part.friend.to_friend_entry(*end);
        match columns.cluster_starts(first..end).await? {
            Some(clusters) => {
                let own: Vec<u64> =
                    windows.iter().map(|start| part.friend.to_friend_entry(*start)).collect();
                let all = with_borders(&own, clusters.into_iter());
                windows = all.into_iter().map(|start| part.friend.to_table_entry(start)).collect();
            }
            None => trees_bytes += columns.bytes_per_entry().await?,
        }
    }
    match trees_bytes > 0.0 {
        true => Ok(windows_starts(&windows, trees_bytes)),
        false => Ok(windows),
    }
}

impl Source {
    fn is_rest_of(self, number: usize) -> bool {
        matches!(self, Source::Rest(Place { part, .. }) if part == number)
    }
}

impl Cutting {
    async fn run(
        self,
        decided: Batches,
        listeners: Vec<Listener>,
        mut readings: Vec<Reading>,
        mut output: BatchSender,
    ) -> Result<()> {
        let (ready, mut windows) = mpsc::unbounded_channel::<Window>();
        let closed = output.sender.clone();
        let hand_out = async {
            for pair in self.starts.windows(2) {
                let Ok(slot) = output.sender.clone().reserve_owned().await else { return Ok(()) };
                output.waits_for(Phase::Bytes);
                let first = self.windows.partition_point(|start| *start < pair[0]);
                let last = self.windows.partition_point(|start| *start < pair[1]);
                let mut parts = Vec::with_capacity(last - first);
                for _ in first..last {
                    // None: deciding has failed, and says so itself.
                    let Some(window) = windows.recv().await else { return Ok(()) };
                    let Window { runs, decided, room, counted } = window;
                    // Another one may wait in its place.
                    drop(room);
                    parts.push(Taken { runs, decided, counted });
                }
                let left = Left::of(parts, &self.empty)?;
                let batch = self.batch(pair[0]..pair[1], left, &mut readings).await?;
                output.waits_for(Phase::Joining);
                slot.send(Ok(output.accounted(batch)));
            }
            Ok(())
        };
        tokio::select! {
            done = async { tokio::try_join!(self.decide(decided, listeners, ready), hand_out) } => {
                done.map(|_| ())
            }
            () = closed.closed() => Ok(()),
        }
    }

    /// Reads the deciding columns, and sends the survivors to the listeners.
    async fn decide(
        &self,
        mut decided: Batches,
        listeners: Vec<Listener>,
        ready: mpsc::UnboundedSender<Window>,
    ) -> Result<()> {
        let budget = self.table.file().remote().fetcher().memory_bytes_max();
        // Less than four gigabytes.
        let waiting = WAITING_BYTES.min(budget / WAITING_PART).max(1) as u32;
        let room = Arc::new(Semaphore::new(waiting as usize));
        while let Some(batch) = decided.next_unreported().await {
            let batch = batch?;
            let bytes = (batch.nbytes() as u64).saturating_add(WINDOW_BYTES);
            let bytes = u32::try_from(bytes).unwrap_or(waiting).min(waiting);
            // Never closed.
            let Ok(room) = room.clone().acquire_many_owned(bytes).await else { break };
            let entries = batch.entries.clone();
            let window = self.window(batch, room).await?;
            listeners.iter().for_each(|listener| listener.send(&entries, &window.runs));
            if ready.send(window).is_err() {
                break;
            }
        }
        Ok(())
    }
}

impl Cutting {
    /// The surviving entries of a window.
    async fn window(&self, batch: Batch, room: OwnedSemaphorePermit) -> Result<Window> {
        let entries = batch.entries.clone();
        let columns = batch.columns.iter().zip(&self.kept);
        let kept: Vec<Option<Array>> =
            columns.map(|((_, array), kept)| kept.then(|| array.clone())).collect();
        let runs = cut::survivors(&entries, &self.mask(batch).await?)?;
        let local = |run: &Range<u64>| {
            (run.start - entries.start) as usize..(run.end - entries.start) as usize
        };
        let local: Vec<Range<usize>> = runs.iter().map(local).collect();
        let gathered = |array: Option<Array>| array.map(|array| array.gather(&local));
        let decided: Vec<Option<Array>> = kept.into_iter().map(gathered).collect();
        let bytes = decided.iter().flatten().map(|array| array.nbytes() as u64).sum();
        let counted = self.table.file().remote().fetcher().hand_out(bytes);
        Ok(Window { runs, decided, room, counted })
    }

    /// The predicate's decision, made on a decoding thread.
    async fn mask(&self, batch: Batch) -> Result<Vec<bool>> {
        let (said, mask) = oneshot::channel();
        let predicate = self.predicate.clone();
        let file = self.table.file();
        file.decoders().run(file.remote().tag(), AT_ONCE, move |_| {
            // A reader that does not wait any more has dropped its end.
            let _ = said.send(caught("the function of a cut", || predicate.decide(batch)));
        });
        let gone = || Error::new(ErrorKind::Cancelled, "the cut has gone without an answer");
        mask.await.map_err(|_| gone())?
    }

    /// All columns of a batch, when they have come.
    async fn batch(
        &self,
        entries: Range<u64>,
        left: Left,
        readings: &mut [Reading],
    ) -> Result<Batch> {
        let count = left.runs.iter().map(|run| (run.end - run.start) as usize).sum();
        let mut read: Vec<Vec<Array>> = Vec::with_capacity(readings.len());
        for reading in &mut *readings {
            read.push(reading.take(&entries, count).await?);
        }
        for at in 1..readings.len() {
            let key =
                |(name, source): &(String, Source)| (name.clone(), left.array(*source, &read));
            let keys = || self.keys[at].iter().map(key).collect();
            if let Some(columns) = readings[at].looked_up(keys, count).await? {
                read[at] = columns;
            }
        }
        let left_out = Vec::new();
        let mut columns = Vec::with_capacity(self.shown.len());
        let sources = self.shown.iter().enumerate().map(|(at, (_, source))| (*source, at));
        let last: HashMap<Source, usize> = sources.collect();
        for (number, (name, source)) in self.shown.iter().enumerate() {
            let is_last = last.get(source) == Some(&number);
            let array = match source {
                Source::Rest(Place { part, at }) if is_last => {
                    let rest = read[*part][*at].empty_like();
                    std::mem::replace(&mut read[*part][*at], rest)
                }
                source => left.array(*source, &read),
            };
            columns.push((name.clone(), array));
        }
        Ok(Batch { entries, survivors: Some(left.runs), columns, left_out })
    }
}

impl Left {
    /// Window after window.
    fn of(windows: Vec<Taken>, empty: &[Array]) -> Result<Self> {
        let mut runs = Vec::new();
        let mut parts: Vec<Vec<Array>> = vec![Vec::new(); empty.len()];
        let mut counted = Vec::with_capacity(windows.len());
        for Taken { runs: left, decided, counted: holds } in windows {
            left.into_iter().for_each(|run| cut::add(&mut runs, run));
            for (parts, array) in parts.iter_mut().zip(decided) {
                parts.extend(array);
            }
            counted.push(holds);
        }
        let joined = parts.into_iter().zip(empty).map(|(parts, empty)| {
            Ok(Array::concat(parts).map_err(unlocated)?.unwrap_or_else(|| empty.clone()))
        });
        Ok(Left { runs, decided: joined.collect::<Result<_>>()?, _counted: counted })
    }

    fn array(&self, source: Source, read: &[Vec<Array>]) -> Array {
        match source {
            Source::Rest(Place { part, at }) => read[part][at].clone(),
            Source::Decided(at) => self.decided[at].clone(),
        }
    }
}

impl Listener {
    /// Of these entries of the table some runs are left.
    fn send(&self, entries: &Range<u64>, runs: &[Range<u64>]) {
        if entries.start >= self.entries_covered {
            return;
        }
        let there = entries.start..entries.end.min(self.entries_covered);
        let own = |entry: u64| entry.checked_add_signed(self.entry_offset).unwrap_or(0);
        let own = |run: Range<u64>| own(run.start)..own(run.end);
        // A pipeline that has ended has dropped its end.
        let _ = self.runs.send(cut::within(runs, &there).map(own).collect());
    }
}
