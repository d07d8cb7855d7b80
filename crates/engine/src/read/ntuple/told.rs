//! Select, then read: the columns that decide about entries come first, window by window, and of
//! the others what survives.
//!
//! A window is the share of a cluster in a batch, since nothing less of a collection can be
//! fetched. Deciding goes on ahead of what the consumer waits for; what is decided and not handed
//! out is bounded here, and what is fetched for it by the engine's budget, as anything.

use std::ops::Range;
use std::sync::Arc;

use rootfile::Array;
use rootfile::ntuple::Cluster;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::{FieldColumn, Ntuple, pipeline, plan};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::HandedOut;
use crate::fetch::ledger::Phase;
use crate::read::batches::{Batches, Maker};
use crate::read::columns::Batch;
use crate::read::cut::{Cut, Predicate, survivors};
use crate::read::plan::Step;
use crate::read::tree::Rank;

/// Bytes of deciding columns that may wait to be handed out, and at most which part of the memory
/// budget, of which they are.
const WAITING_BYTES: u64 = 32 << 20;
const WAITING_PART: u64 = 8;
/// What each window counts for beside them: a read that has been begun.
const WINDOW_BYTES: u64 = 64 << 10;

/// A read with a cut.
struct Cutting {
    ntuple: Ntuple,
    columns: Vec<FieldColumn>,
    /// Columns that the predicate gets, in its order.
    deciding: Vec<FieldColumn>,
    /// Where a column is among the deciding ones; such a one is not read again.
    decides: Vec<Option<usize>>,
    predicate: Arc<dyn Predicate>,
    clusters: Vec<Arc<Cluster>>,
    /// First entries of the batches and, last, the end.
    starts: Vec<u64>,
    rank: Rank,
}

/// A window about which all is decided.
struct Window {
    runs: Vec<Range<u64>>,
    /// Columns that decided, what has survived of them.
    decided: Vec<Option<Array>>,
    /// The others, on their way; `None` where there is nothing to read.
    rest: Option<Batches>,
    /// Its share of [`WAITING_BYTES`], and what it holds of the budget.
    room: OwnedSemaphorePermit,
    counted: HandedOut,
}

pub async fn start(
    ntuple: &Ntuple,
    columns: Vec<FieldColumn>,
    cut: &Cut,
    entries: Range<u64>,
    step: Step,
    rank: Rank,
) -> Result<Batches> {
    let deciding: Vec<FieldColumn> =
        cut.columns.iter().map(|path| ntuple.column(ntuple.the(path)?)).collect::<Result<_>>()?;
    let entries = ntuple.there(entries)?;
    let clusters = ntuple.clusters(&entries).await?;
    let schema = &ntuple.metadata().schema;
    let starts = plan::starts(schema, &columns, &clusters, &entries, step);
    let decides = columns.iter().map(|column| {
        let same = |other: &FieldColumn| other.interpretation == column.interpretation;
        deciding.iter().position(same)
    });
    let cutting = Cutting {
        ntuple: ntuple.clone(),
        decides: decides.collect(),
        columns,
        deciding,
        predicate: cut.predicate.clone(),
        clusters,
        starts,
        rank,
    };
    let remote = ntuple.file().remote().clone();
    Ok(Batches::start(&remote, async move |maker: Maker| cutting.run(maker).await))
}

impl Cutting {
    async fn run(self, mut maker: Maker) -> Result<()> {
        let (ready, mut windows) = mpsc::unbounded_channel();
        let windows_starts = self.windows_starts();
        let (cutting, closed) = (Arc::new(self), maker.sender.clone());
        let decide = cutting.clone().decide(windows_starts.clone(), ready);
        let hand_out = async {
            for pair in cutting.starts.windows(2) {
                let Ok(slot) = maker.sender.clone().reserve_owned().await else { return Ok(()) };
                maker.tell(Phase::Bytes);
                let first = windows_starts.partition_point(|start| *start < pair[0]);
                let last = windows_starts.partition_point(|start| *start < pair[1]);
                let mut parts = Vec::with_capacity(last - first);
                for _ in first..last {
                    // None: deciding has failed, and says so itself.
                    let Some(window) = windows.recv().await else { return Ok(()) };
                    parts.push(cutting.read(window).await?);
                }
                maker.tell(Phase::Joining);
                let batch = cutting.joined(pair[0]..pair[1], parts)?;
                slot.send(Ok(maker.parcel(batch)));
            }
            Ok(())
        };
        tokio::select! {
            done = async { tokio::try_join!(decide, hand_out) } => done.map(|_| ()),
            () = closed.closed() => Ok(()),
        }
    }

    /// First entries of the windows and, last, the end.
    fn windows_starts(&self) -> Vec<u64> {
        let (Some(first), Some(end)) = (self.starts.first(), self.starts.last()) else {
            return Vec::new();
        };
        let inside = self.clusters.iter().map(|cluster| cluster.entries.start);
        let inside = inside.filter(|start| (*first..*end).contains(start));
        let mut starts: Vec<u64> = self.starts.iter().copied().chain(inside).collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// Reads the deciding columns, and begins reading what survives of the others.
    async fn decide(
        self: Arc<Self>,
        starts: Vec<u64>,
        ready: mpsc::UnboundedSender<Window>,
    ) -> Result<()> {
        let clusters = self.clusters.clone();
        let plan = self.ntuple.planned(&self.deciding, clusters, starts, None)?;
        let job = self.ntuple.job(self.deciding.clone(), self.rank);
        let mut batches = pipeline::start(job, plan);
        let budget = self.ntuple.file().remote().fetcher().memory_bytes_max();
        // Less than four gigabytes.
        let waiting = WAITING_BYTES.min(budget / WAITING_PART).max(1) as u32;
        let room = Arc::new(Semaphore::new(waiting as usize));
        while let Some(batch) = batches.next_unreported().await {
            let batch = batch?;
            let bytes = (batch.nbytes() as u64).saturating_add(WINDOW_BYTES);
            let bytes = u32::try_from(bytes).unwrap_or(waiting).min(waiting);
            // Never closed.
            let Ok(room) = room.clone().acquire_many_owned(bytes).await else { break };
            if ready.send(self.window(batch, room).await?).is_err() {
                break;
            }
        }
        Ok(())
    }

    async fn window(&self, batch: Batch, room: OwnedSemaphorePermit) -> Result<Window> {
        let entries = batch.entries.clone();
        let kept: Vec<Option<Array>> = self
            .decides
            .iter()
            .map(|decides| decides.map(|at| batch.columns[at].1.clone()))
            .collect();
        let mask = self.mask(batch).await?;
        let runs = survivors(&entries, &mask)?;
        let local: Vec<Range<usize>> = runs
            .iter()
            .map(|run| (run.start - entries.start) as usize..(run.end - entries.start) as usize)
            .collect();
        let decided: Vec<Option<Array>> =
            kept.into_iter().map(|array| array.map(|array| array.gather(&local))).collect();
        let bytes = decided.iter().flatten().map(|array| array.nbytes() as u64).sum();
        let counted = self.ntuple.file().remote().fetcher().hand_out(bytes);
        let rest = self.rest();
        let rest = match runs.is_empty() || rest.is_empty() {
            true => None,
            false => {
                let starts = vec![entries.start, entries.end];
                let clusters = self.clusters_of(&entries);
                let plan = self.ntuple.planned(&rest, clusters, starts, Some(runs.clone()))?;
                let rank = Rank { urgent: false, ..self.rank };
                Some(pipeline::start(self.ntuple.job(rest, rank), plan))
            }
        };
        Ok(Window { runs, decided, rest, room, counted })
    }

    /// What the predicate says, on a decoding thread.
    async fn mask(&self, batch: Batch) -> Result<Vec<bool>> {
        let (said, mask) = oneshot::channel();
        let predicate = self.predicate.clone();
        let file = self.ntuple.file();
        file.decoders().run(file.remote().tag(), move |_| {
            // Who does not wait any more has been dropped.
            let _ = said.send(predicate.decide(batch));
        });
        let gone = || Error::new(ErrorKind::Cancelled, "the cut has gone without an answer");
        mask.await.map_err(|_| gone())?
    }

    /// The columns that do not decide.
    fn rest(&self) -> Vec<FieldColumn> {
        let columns = self.columns.iter().zip(&self.decides);
        columns.filter(|(_, decides)| decides.is_none()).map(|(column, _)| column.clone()).collect()
    }

    fn clusters_of(&self, entries: &Range<u64>) -> Vec<Arc<Cluster>> {
        let of = |cluster: &&Arc<Cluster>| {
            cluster.entries.start < entries.end && cluster.entries.end > entries.start
        };
        self.clusters.iter().filter(of).cloned().collect()
    }

    /// All columns of a window, when they have come.
    async fn read(&self, window: Window) -> Result<(Vec<Range<u64>>, Vec<Array>)> {
        let mut rest = Vec::new();
        if let Some(mut batches) = window.rest
            && let Some(batch) = batches.next_unreported().await
        {
            rest = batch?.columns;
        }
        let mut rest = rest.into_iter();
        let arrays = window.decided.into_iter().zip(&self.columns).map(|(decided, column)| {
            let read = decided.or_else(|| rest.next().map(|(_, array)| array));
            read.unwrap_or_else(|| column.interpretation.empty())
        });
        drop((window.room, window.counted));
        Ok((window.runs, arrays.collect()))
    }

    /// The windows of a batch, one after the other.
    fn joined(
        &self,
        entries: Range<u64>,
        parts: Vec<(Vec<Range<u64>>, Vec<Array>)>,
    ) -> Result<Batch> {
        let mut by_column: Vec<Vec<Array>> = self.columns.iter().map(|_| Vec::new()).collect();
        let mut survivors = Vec::new();
        for (runs, arrays) in parts {
            runs.into_iter().for_each(|run| crate::read::cut::add(&mut survivors, run));
            for (parts, array) in by_column.iter_mut().zip(arrays) {
                parts.push(array);
            }
        }
        let columns = self.columns.iter().zip(by_column).map(|(column, arrays)| {
            let array = Array::concat(arrays)?.unwrap_or_else(|| column.interpretation.empty());
            Ok((column.name.clone(), array))
        });
        let columns = columns.collect::<Result<_>>()?;
        Ok(Batch { entries, survivors: Some(survivors), columns, left_out: Vec::new() })
    }
}
