//! Columns of an RNTuple of which somebody else decides, window after window, which entries are read.
//!
//! What is read at a time is the share of a cluster in a batch, since nothing less of a collection
//! can be fetched: as soon as all about it is told, and long before the consumer comes to it.

use std::ops::Range;
use std::sync::Arc;

use rootfile::Array;
use rootfile::ntuple::Cluster;
use tokio::sync::mpsc;

use super::{FieldColumn, Ntuple, pipeline};
use crate::error::Result;
use crate::fetch::ledger::Phase;
use crate::located::unlocated;
use crate::read::core::batches::{Batches, Maker};
use crate::read::core::columns::Batch;
use crate::read::core::cut::{add, within};
use crate::read::core::pipeline::Told;
use crate::read::core::steps::{Rank, with_borders};

struct Listening {
    ntuple: Ntuple,
    columns: Vec<FieldColumn>,
    clusters: Vec<Arc<Cluster>>,
    /// First entries of the batches and, last, the end.
    starts: Vec<u64>,
    /// The same of what is read at a time.
    shares: Vec<u64>,
    rank: Rank,
}

/// A share about which all is told.
struct Share {
    runs: Vec<Range<u64>>,
    /// On its way; `None` where there is nothing to read.
    batches: Option<Batches>,
}

/// Reads in batches that begin at `starts`, whose last is the end; `windows` are what is told of,
/// and all `starts` are among them.
pub async fn start(
    ntuple: &Ntuple,
    columns: Vec<FieldColumn>,
    starts: &[u64],
    windows: &[u64],
    told: Told,
    rank: Rank,
) -> Result<Batches> {
    let entries = starts.first().copied().unwrap_or(0)..starts.last().copied().unwrap_or(0);
    let clusters = ntuple.clusters(&entries).await?;
    let shares = with_borders(starts, clusters.iter().map(|cluster| cluster.entries.start));
    let (ntuple, starts, windows) = (ntuple.clone(), starts.to_vec(), windows.to_vec());
    let remote = ntuple.file().remote().clone();
    let listening = Listening { ntuple, columns, clusters, starts, shares, rank };
    Ok(Batches::start(&remote, async move |maker: Maker| listening.run(windows, told, maker).await))
}

impl Listening {
    async fn run(self, windows: Vec<u64>, told: Told, mut maker: Maker) -> Result<()> {
        let (ready, mut shares) = mpsc::unbounded_channel();
        let closed = maker.sender.clone();
        let hand_out = async {
            for pair in self.starts.windows(2) {
                let Ok(slot) = maker.sender.clone().reserve_owned().await else { return Ok(()) };
                maker.tell(Phase::Bytes);
                let first = self.shares.partition_point(|start| *start < pair[0]);
                let last = self.shares.partition_point(|start| *start < pair[1]);
                let mut parts = Vec::with_capacity(last - first);
                for _ in first..last {
                    // None: listening has failed, and says so itself.
                    let Some(share) = shares.recv().await else { return Ok(()) };
                    parts.push(self.read(share).await?);
                }
                maker.tell(Phase::Joining);
                slot.send(Ok(maker.parcel(self.joined(pair[0]..pair[1], parts)?)));
            }
            Ok(())
        };
        tokio::select! {
            done = async { tokio::try_join!(self.listen(&windows, told, ready), hand_out) } => {
                done.map(|_| ())
            }
            () = closed.closed() => Ok(()),
        }
    }

    /// Begins to read each share when all about it is told.
    async fn listen(
        &self,
        windows: &[u64],
        mut told: Told,
        ready: mpsc::UnboundedSender<Share>,
    ) -> Result<()> {
        let mut heard: Vec<Range<u64>> = Vec::new();
        let mut number = 0;
        for pair in self.shares.windows(2) {
            while windows.get(number).is_some_and(|until| *until < pair[1]) {
                // None: who decides has failed, and says so itself.
                let Some(runs) = told.recv().await else { return Ok(()) };
                runs.into_iter().for_each(|run| add(&mut heard, run));
                number += 1;
            }
            let entries = pair[0]..pair[1];
            let runs: Vec<Range<u64>> = within(&heard, &entries).collect();
            heard.retain(|run| run.end > entries.end);
            let batches = match runs.is_empty() {
                true => None,
                false => Some(self.begin(&entries, runs.clone())?),
            };
            if ready.send(Share { runs, batches }).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn begin(&self, entries: &Range<u64>, runs: Vec<Range<u64>>) -> Result<Batches> {
        let of = |cluster: &&Arc<Cluster>| {
            cluster.entries.start < entries.end && cluster.entries.end > entries.start
        };
        let clusters = self.clusters.iter().filter(of).cloned().collect();
        let starts = vec![entries.start, entries.end];
        let plan = self.ntuple.planned(&self.columns, clusters, starts, Some(runs))?;
        let rank = Rank { urgent: false, ..self.rank };
        Ok(pipeline::start(self.ntuple.job(self.columns.clone(), rank), plan))
    }

    /// The columns of a share, when they have come.
    async fn read(&self, share: Share) -> Result<(Vec<Range<u64>>, Vec<Array>)> {
        let mut columns = Vec::new();
        if let Some(mut batches) = share.batches
            && let Some(batch) = batches.next_unreported().await
        {
            columns = batch?.columns;
        }
        Ok((share.runs, columns.into_iter().map(|(_, array)| array).collect()))
    }

    /// The shares of a batch, one after the other.
    fn joined(
        &self,
        entries: Range<u64>,
        parts: Vec<(Vec<Range<u64>>, Vec<Array>)>,
    ) -> Result<Batch> {
        let mut by_column: Vec<Vec<Array>> = self.columns.iter().map(|_| Vec::new()).collect();
        let mut survivors = Vec::new();
        for (runs, arrays) in parts {
            runs.into_iter().for_each(|run| add(&mut survivors, run));
            for (parts, array) in by_column.iter_mut().zip(arrays) {
                parts.push(array);
            }
        }
        let columns = self.columns.iter().zip(by_column).map(|(column, arrays)| {
            let array = Array::concat(arrays)
                .map_err(unlocated)?
                .unwrap_or_else(|| column.interpretation.empty());
            Ok((column.name.clone(), array))
        });
        let columns = columns.collect::<Result<_>>()?;
        Ok(Batch { entries, survivors: Some(survivors), columns, left_out: Vec::new() })
    }
}
