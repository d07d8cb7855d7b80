//! Fetch, decode, assemble: the part of a read of an RNTuple that runs.
//!
//! As [`crate::read::pipeline`], with one step more: a page is decoded when it has come, and the
//! array of a cluster's entries is put together from its pages when the last one is decoded.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use rootfile::Array;
use rootfile::ntuple::{Elements, PageUse, decode};
use tokio::sync::mpsc;

use super::FieldColumn;
use super::plan::{Plan, local};
use crate::error::{Error, Result};
use crate::fetch::ledger::Phase;
use crate::fetch::{Permit, RemoteFile, Urgency, Want, Wants};
use crate::read::Decoders;
use crate::read::batches::{Batches, Maker, Parcel};
use crate::read::columns::Batch;
use crate::read::cut::within;
use crate::read::tree::Rank;

/// What a pipeline reads from.
pub struct Job {
    pub remote: Arc<RemoteFile>,
    pub decoders: Decoders,
    pub ntuple: Arc<rootfile::ntuple::Ntuple>,
    pub path: Arc<str>,
    pub columns: Arc<[FieldColumn]>,
    pub rank: Rank,
}

/// What other threads have done.
enum Work {
    Page { item: usize, elements: Result<Elements>, permit: Permit },
    Array { part: usize, array: Result<Array>, permits: Vec<Permit> },
}

/// What has become of a part.
#[derive(Default)]
struct Slot {
    pages: Vec<Option<Elements>>,
    /// Pages that have not come, and pages that are not decoded.
    absent: usize,
    lacking: usize,
    /// Shares of the memory budget, held until a batch is waited for.
    permits: Vec<Permit>,
    array: Option<Array>,
}

struct Pipeline {
    job: Job,
    plan: Plan,
    wants: Wants,
    /// Wants that have not come.
    open: usize,
    slots: Vec<Slot>,
    /// Parts that each batch still lacks.
    lacking: Vec<usize>,
    /// The next batch to be assembled.
    next: usize,
    /// Batches before this one are waited for: they are demands, and what is decoded for them
    /// counts as the consumer's.
    awaited: usize,
    done: mpsc::UnboundedSender<Work>,
}

/// Starts reading on the present tokio runtime.
pub fn start(job: Job, plan: Plan) -> Batches {
    let remote = job.remote.clone();
    Batches::start(&remote, |maker| {
        let (done, work) = mpsc::unbounded_channel();
        Pipeline::new(job, plan, done).run(work, maker)
    })
}

impl Pipeline {
    fn new(job: Job, plan: Plan, done: mpsc::UnboundedSender<Work>) -> Self {
        let slot = |pages: usize| Slot {
            pages: (0..pages).map(|_| None).collect(),
            absent: pages,
            lacking: pages,
            ..Slot::default()
        };
        let slots = plan.parts.iter().map(|part| slot(part.pages.len())).collect();
        let lacking = plan.batches.iter().map(|batch| batch.parts.len()).collect();
        let awaited = usize::from(job.rank.urgent);
        let want = |item: &super::plan::Item| {
            let batch = plan.parts[item.part].batches.start;
            // A number of an entry, so that reads side by side are served side by side.
            let turn = plan.batches[batch].entries.start.min(u64::from(u32::MAX));
            Want {
                cost: (item.range.end - item.range.start) + item.decoded,
                range: item.range.clone(),
                urgency: if batch < awaited { Urgency::Demand } else { Urgency::Hint },
                order: (job.rank.order << 32) + turn,
            }
        };
        let wants = job.remote.want(plan.items.iter().map(want).collect());
        let open = plan.items.len();
        Pipeline { job, plan, wants, open, slots, lacking, next: 0, awaited, done }
    }

    async fn run(
        mut self,
        mut work: mpsc::UnboundedReceiver<Work>,
        mut maker: Maker,
    ) -> Result<()> {
        for part in 0..self.slots.len() {
            self.put_together(part);
        }
        while self.next < self.plan.batches.len() {
            maker.tell(self.waits_for(maker.is_handing_over()));
            tokio::select! {
                biased;
                Some(work) = work.recv() => self.take(work)?,
                slot = maker.sender.reserve(), if self.lacking[self.next] == 0 => {
                    let Ok(slot) = slot else { return Ok(()) };
                    slot.send(Ok(self.batch(self.next, &maker)?));
                    self.next += 1;
                }
                grant = self.wants.next(), if self.open > 0 => {
                    let Some(grant) = grant else { self.open = 0; continue };
                    let grant = grant.map_err(|error| error.with_url(self.job.remote.url()))?;
                    self.open -= 1;
                    self.decode(grant.index, grant.bytes, grant.permit);
                }
                () = maker.waiting.notified() => self.wait_for(self.next + 1),
                () = maker.sender.closed() => return Ok(()),
            }
        }
        Ok(())
    }

    /// What the consumer is waiting for, if it is.
    fn waits_for(&self, handing_over: bool) -> Phase {
        let parts = &self.plan.batches[self.next].parts;
        if handing_over || self.lacking[self.next] == 0 {
            Phase::Joining
        } else if parts.iter().all(|part| self.slots[*part].absent == 0) {
            Phase::Decoding
        } else {
            Phase::Bytes
        }
    }

    fn decode(&mut self, at: usize, bytes: Bytes, permit: Permit) {
        let item = &self.plan.items[at];
        self.slots[item.part].absent -= 1;
        let part = &self.plan.parts[item.part];
        let (page, range) = (part.pages[item.page].clone(), item.range.clone());
        let name = format!("{}/cluster {}", self.job.columns[part.column].name, part.cluster);
        let (ntuple, path) = (self.job.ntuple.clone(), self.job.path.clone());
        let (done, url) = (self.done.clone(), self.job.remote.url().to_owned());
        self.job.decoders.run(self.job.remote.tag(), move |codecs| {
            let column = &ntuple.schema.columns[page.column as usize];
            let elements = decode::page(codecs, column, &page.page, &bytes).map_err(|error| {
                let where_ = format!("{path}/{name}/column {}/page {}", page.column, page.number);
                Error::from(error.at(range.start).within(&where_)).with_url(url).with_range(range)
            });
            let _ = done.send(Work::Page { item: at, elements, permit });
        });
    }

    fn take(&mut self, work: Work) -> Result<()> {
        match work {
            Work::Page { item, elements, permit } => {
                let item = &self.plan.items[item];
                let slot = &mut self.slots[item.part];
                let elements = elements?;
                permit.resize(elements.nbytes() as u64);
                if self.plan.parts[item.part].batches.start < self.awaited {
                    permit.hand_over();
                }
                slot.permits.push(permit);
                slot.pages[item.page] = Some(elements);
                slot.lacking -= 1;
                let part = item.part;
                self.put_together(part);
            }
            Work::Array { part, array, permits } => {
                let batches = self.plan.parts[part].batches.clone();
                let slot = &mut self.slots[part];
                slot.array = Some(array?);
                slot.permits = permits;
                if batches.start < self.awaited {
                    slot.permits.iter().for_each(Permit::hand_over);
                }
                for batch in batches {
                    self.lacking[batch] -= 1;
                }
            }
        }
        Ok(())
    }

    /// Makes the array of a part whose pages are all decoded.
    fn put_together(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        if slot.lacking > 0 {
            return;
        }
        let part = &mut self.plan.parts[at];
        let uses = std::mem::take(&mut part.pages).into_iter();
        let pages: Vec<(PageUse, Elements)> = uses.zip(slot.pages.drain(..).flatten()).collect();
        let permits = std::mem::take(&mut slot.permits);
        let cluster = self.plan.clusters[part.cluster].clone();
        let entries = local(&cluster, &part.entries);
        let (columns, column) = (self.job.columns.clone(), part.column);
        let (done, url) = (self.done.clone(), self.job.remote.url().to_owned());
        let where_ = format!("{}/{}/cluster {}", self.job.path, columns[column].name, part.cluster);
        self.job.decoders.run(self.job.remote.tag(), move |_| {
            let array = columns[column].interpretation.assemble(&cluster, entries, pages);
            let array = array.map_err(|error| Error::from(error.within(&where_)).with_url(url));
            let _ = done.send(Work::Array { part: at, array, permits });
        });
    }

    /// The consumer waits for the batches before `until`. What they hold is the consumer's, or a
    /// batch larger than the budget could never be completed.
    fn wait_for(&mut self, until: usize) {
        let until = until.min(self.plan.batches.len());
        if until <= self.awaited {
            return;
        }
        let mut late: Vec<usize> = Vec::new();
        for (at, item) in self.plan.items.iter().enumerate() {
            let first = self.plan.parts[item.part].batches.start;
            if (self.awaited..until).contains(&first) {
                late.push(at);
            }
        }
        // Items are in the order of their batches: these are one run.
        if let (Some(first), Some(last)) = (late.first(), late.last()) {
            self.wants.promote(*first..last + 1);
        }
        for batch in self.awaited..until {
            for part in &self.plan.batches[batch].parts {
                self.slots[*part].permits.iter().for_each(Permit::hand_over);
            }
        }
        self.awaited = until;
    }

    fn batch(&mut self, number: usize, maker: &Maker) -> Result<Parcel> {
        let entries = self.plan.batches[number].entries.clone();
        let parts = std::mem::take(&mut self.plan.batches[number].parts);
        let mut by_column: Vec<Vec<Array>> = self.job.columns.iter().map(|_| Vec::new()).collect();
        // Parts come cluster by cluster, and so in the order of their entries.
        for at in parts.iter().copied() {
            let column = self.plan.parts[at].column;
            by_column[column].extend(self.share(at, number, &entries));
        }
        let mut columns = Vec::with_capacity(by_column.len());
        for (column, arrays) in self.job.columns.iter().zip(by_column) {
            let array = Array::concat(arrays)?.unwrap_or_else(|| column.interpretation.empty());
            columns.push((column.name.clone(), array));
        }
        // It counts as handed out before what it was made of ceases to count.
        let parcel = maker.parcel(Batch { entries, survivors: self.plan.runs.clone(), columns });
        for at in parts {
            if self.plan.parts[at].batches.end == number + 1 {
                self.slots[at].permits.clear();
            }
        }
        Ok(parcel)
    }

    /// The share of a part in a batch; the last batch that needs it takes it away.
    fn share(&mut self, at: usize, number: usize, entries: &Range<u64>) -> Option<Array> {
        let part = &self.plan.parts[at];
        let own = part.entries.clone();
        let wanted = entries.start.max(own.start)..entries.end.min(own.end);
        let slot = &mut self.slots[at];
        let last = part.batches.end == number + 1;
        let index =
            |run: Range<u64>| (run.start - own.start) as usize..(run.end - own.start) as usize;
        let share = match &self.plan.runs {
            Some(runs) => {
                let runs: Vec<Range<usize>> = within(runs, &wanted).map(index).collect();
                slot.array.as_ref().map(|array| array.gather(&runs))
            }
            None if last && wanted == own => return slot.array.take(),
            None => slot.array.as_ref().map(|array| array.slice(index(wanted))),
        };
        if last {
            slot.array = None;
        }
        share
    }
}
