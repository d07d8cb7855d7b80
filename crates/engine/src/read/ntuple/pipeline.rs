//! Fetch, decode, assemble: the part of a read of an RNTuple that runs.
//!
//! As [`crate::read::tree::pipeline`], with parts in the place of baskets: when the last page of a column's
//! share of a cluster has come, all are decoded, straight into the arrays that are handed out.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use rootfile::Array;
use rootfile::ntuple::PageUse;
use tokio::sync::mpsc;

use super::FieldColumn;
use super::plan::{Part, Plan, local};
use crate::error::Result;
use crate::fetch::ledger::Phase;
use crate::fetch::{Permit, RemoteFile, Urgency, Want, Wants};
use crate::located::Located;
use crate::read::Decoders;
use crate::read::core::batches::{Batches, Maker, Parcel};
use crate::read::core::columns::Batch;
use crate::read::core::cut::within;
use crate::read::core::fill::filling::{Company, Filling};
use crate::read::core::fill::slots::Shelf;
use crate::read::core::steps::Rank;

/// What a pipeline reads from.
pub struct Job {
    pub remote: Arc<RemoteFile>,
    pub decoders: Decoders,
    pub ntuple: Arc<rootfile::ntuple::Ntuple>,
    pub path: Arc<str>,
    pub columns: Arc<[FieldColumn]>,
    pub rank: Rank,
}

/// What has been done on another thread: a part decoded to where it goes, where it takes so many
/// bytes.
struct Put {
    part: usize,
    /// Bytes of its pages in the file.
    stored: u64,
    nbytes: Result<usize>,
    permits: Vec<Permit>,
}

/// What has become of a part.
#[derive(Default)]
struct Slot {
    /// By piece of its pages.
    pieces: Vec<Option<Bytes>>,
    /// Pieces that have not come.
    absent: usize,
    /// For each batch that it goes into, its number among the parts of its column there.
    numbers: Vec<u64>,
    /// Shares of the memory budget, held until a batch is waited for.
    permits: Vec<Permit>,
}

/// Where some of a part's entries go.
struct Place {
    shelf: Arc<Shelf>,
    /// Number of the part among those of its column in the batch.
    number: u64,
    /// In entries of the part.
    runs: Vec<Range<usize>>,
}

struct Pipeline {
    job: Job,
    plan: Plan,
    wants: Wants,
    /// Wants that have not come.
    open: usize,
    slots: Vec<Slot>,
    /// The arrays that are being filled, by batch; one a column.
    shelves: BTreeMap<usize, Vec<Arc<Shelf>>>,
    /// Parts that each batch still lacks.
    lacking: Vec<usize>,
    /// The next batch to be assembled.
    next: usize,
    /// Batches before this one are waited for: they are demands, and what is decoded for them
    /// counts as the consumer's.
    awaited: usize,
    done: mpsc::UnboundedSender<Put>,
}

/// Starts reading on the present tokio runtime.
pub fn start(job: Job, plan: Plan) -> Batches {
    let (remote, steps) = (job.remote.clone(), plan.batches.len());
    let batches = Batches::start(&remote, |maker| {
        let (done, work) = mpsc::unbounded_channel();
        Pipeline::new(job, plan, done).run(work, maker)
    });
    batches.in_steps(steps)
}

impl Pipeline {
    fn new(job: Job, plan: Plan, done: mpsc::UnboundedSender<Put>) -> Self {
        let slot = |part: &Part| {
            let pieces: Vec<_> =
                part.pages.iter().flat_map(|used| used.page.pieces()).map(|_| None).collect();
            Slot { absent: pieces.len(), pieces, ..Slot::default() }
        };
        let mut slots: Vec<Slot> = plan.parts.iter().map(slot).collect();
        for batch in &plan.batches {
            // Parts come cluster by cluster, and so in the order of their entries.
            let mut next = vec![0; job.columns.len()];
            for part in &batch.parts {
                let next = &mut next[plan.parts[*part].column];
                slots[*part].numbers.push(*next);
                *next += 1;
            }
        }
        let lacking = plan.batches.iter().map(|batch| batch.parts.len()).collect();
        let awaited = usize::from(job.rank.urgent);
        let want = |item: &super::plan::Item| {
            let batch = plan.parts[item.part].batches.start;
            // A number of an entry, so that reads side by side are served side by side.
            let turn = plan.batches[batch].entries.start;
            Want {
                cost: (item.range.end - item.range.start) + item.decoded,
                range: item.range.clone(),
                urgency: if batch < awaited { Urgency::Demand } else { Urgency::Hint },
                order: job.rank.place(turn),
            }
        };
        let wants = job.remote.want_in_order(plan.items.iter().map(want).collect());
        let open = plan.items.len();
        let shelves = BTreeMap::new();
        Pipeline { job, plan, wants, open, slots, shelves, lacking, next: 0, awaited, done }
    }

    async fn run(mut self, mut work: mpsc::UnboundedReceiver<Put>, mut maker: Maker) -> Result<()> {
        // Those of zeros alone have no pages to wait for.
        let complete = |part: &usize| self.slots[*part].absent == 0;
        for part in (0..self.slots.len()).filter(complete).collect::<Vec<_>>() {
            self.decode(part);
        }
        while self.next < self.plan.batches.len() {
            maker.tell(self.waits_for(maker.is_handing_over()));
            tokio::select! {
                biased;
                Some(put) = work.recv() => self.take(put)?,
                slot = maker.sender.reserve(), if self.lacking[self.next] == 0 => {
                    let Ok(slot) = slot else { return Ok(()) };
                    slot.send(Ok(self.batch(self.next, &maker)?));
                    self.next += 1;
                }
                grant = self.wants.next(), if self.open > 0 => {
                    let Some(grant) = grant else { self.open = 0; continue };
                    let grant = grant.map_err(|error| error.with_url(self.job.remote.url()))?;
                    self.open -= 1;
                    self.come(grant.index, grant.bytes, grant.permit);
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

    /// A page is here, or a piece of one.
    fn come(&mut self, at: usize, bytes: Bytes, permit: Permit) {
        let item = &self.plan.items[at];
        let (part, piece) = (item.part, item.piece);
        if self.is_awaited(part) {
            permit.hand_over();
        }
        let slot = &mut self.slots[part];
        slot.pieces[piece] = Some(bytes);
        slot.permits.push(permit);
        slot.absent -= 1;
        if slot.absent == 0 {
            self.decode(part);
        }
    }

    fn is_awaited(&self, part: usize) -> bool {
        self.plan.parts[part].batches.start < self.awaited
    }

    /// Decodes a part whose pages are all here.
    fn decode(&mut self, at: usize) {
        let places = self.places(at);
        let slot = &mut self.slots[at];
        let part = &mut self.plan.parts[at];
        let uses = std::mem::take(&mut part.pages).into_iter();
        let mut pieces = slot.pieces.drain(..).flatten();
        let pages: Vec<(PageUse, Bytes)> = uses.map(|used| joined(used, &mut pieces)).collect();
        let permits = std::mem::take(&mut slot.permits);
        let stored = pages.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        self.wants.decoding(stored);
        let cluster = self.plan.clusters[part.cluster].clone();
        let entries = local(&cluster, &part.entries);
        let turn = self.job.rank.place(part.entries.start);
        let (columns, column) = (self.job.columns.clone(), part.column);
        let (done, url) = (self.done.clone(), self.job.remote.url().to_owned());
        let ntuple = self.job.ntuple.clone();
        let where_ = format!("{}/{}/cluster {}", self.job.path, columns[column].name, part.cluster);
        self.job.decoders.run(self.job.remote.tag(), turn, move |codecs| {
            let how = &columns[column].interpretation;
            let own = || {
                let mut array = how.empty();
                how.reserve(pages.iter().map(|(page, _)| page), &mut array);
                array
            };
            let count = (entries.end - entries.start) as usize;
            let bytes = how.decoded_bytes(&ntuple.schema, &cluster);
            let decode = |array: &mut Array| {
                how.append(&ntuple.schema, &cluster, entries, &pages, codecs, array)
            };
            let nbytes = put(&places, count, bytes as usize, own, decode)
                .map_err(|error| error.within(&where_).located(url));
            let _ = done.send(Put { part: at, stored, nbytes, permits });
        });
    }

    /// Where a part goes.
    fn places(&mut self, at: usize) -> Vec<Place> {
        let part = &self.plan.parts[at];
        let own = &part.entries;
        let index =
            |run: Range<u64>| (run.start - own.start) as usize..(run.end - own.start) as usize;
        let place = |(batch, number): (usize, &u64)| {
            let shelves = self
                .shelves
                .entry(batch)
                .or_insert_with(|| new_shelves(&self.plan, &self.job, batch));
            let entries = &self.plan.batches[batch].entries;
            let wanted = entries.start.max(own.start)..entries.end.min(own.end);
            let runs = match &self.plan.runs {
                Some(runs) => within(runs, &wanted).map(index).collect(),
                None => vec![index(wanted)],
            };
            Place { shelf: shelves[part.column].clone(), number: *number, runs }
        };
        part.batches.clone().zip(&self.slots[at].numbers).map(place).collect()
    }

    fn take(&mut self, put: Put) -> Result<()> {
        let Put { part, stored, nbytes, mut permits } = put;
        self.wants.decoded(stored);
        let nbytes = nbytes?;
        // What is stored is no longer held: one share stands for what it has become.
        permits.truncate(1);
        for permit in &permits {
            permit.resize(nbytes as u64);
            if self.is_awaited(part) {
                permit.hand_over();
            }
        }
        self.slots[part].permits = permits;
        for batch in self.plan.parts[part].batches.clone() {
            self.lacking[batch] -= 1;
        }
        Ok(())
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
        let shelves = self.shelves.remove(&number);
        let shelves = shelves.unwrap_or_else(|| new_shelves(&self.plan, &self.job, number));
        let parts = std::mem::take(&mut self.plan.batches[number].parts);
        let mut columns = Vec::with_capacity(shelves.len());
        for (column, shelf) in self.job.columns.iter().zip(shelves) {
            columns.push((column.name.clone(), shelf.take().located(self.job.remote.url())?));
        }
        // It counts as handed out before what it was made of ceases to count.
        let (survivors, left_out) = (self.plan.runs.clone(), Vec::new());
        let parcel = maker.parcel(Batch { entries, survivors, columns, left_out });
        for at in parts {
            if self.plan.parts[at].batches.end == number + 1 {
                self.slots[at].permits.clear();
            }
        }
        Ok(parcel)
    }
}

/// A page with its bytes, which are the next pieces.
fn joined(used: PageUse, pieces: &mut impl Iterator<Item = Bytes>) -> (PageUse, Bytes) {
    let first = pieces.next().unwrap_or_default();
    let Some(further) = &used.page.further else { return (used, first) };
    let mut whole = first.to_vec();
    pieces.take(further.len()).for_each(|piece| whole.extend_from_slice(&piece));
    (used, whole.into())
}

/// Empty arrays for the columns of a batch, with room for its parts.
fn new_shelves(plan: &Plan, job: &Job, batch: usize) -> Vec<Arc<Shelf>> {
    let columns = &job.columns;
    let mut pages: Vec<Vec<&PageUse>> = columns.iter().map(|_| Vec::new()).collect();
    // Of other parts only a share goes in, and how large it is shows when they are decoded.
    let goes_in_whole = |part: &&Part| plan.runs.is_none() && part.batches.len() == 1;
    let parts = plan.batches[batch].parts.iter().map(|part| &plan.parts[*part]);
    for part in parts.filter(goes_in_whole) {
        pages[part.column].extend(&part.pages);
    }
    let entries = &plan.batches[batch].entries;
    let entries = usize::try_from(entries.end - entries.start).unwrap_or(0);
    let company = Company::of(entries, job.decoders.helper());
    let shelf = |(column, pages): (&FieldColumn, Vec<&PageUse>)| {
        let mut array = column.interpretation.empty();
        column.interpretation.reserve(pages.into_iter(), &mut array);
        Arc::new(Shelf::new(0, Filling::new(array, company.as_ref(), job.decoders.helper())))
    };
    columns.iter().zip(pages).map(shelf).collect()
}

/// Puts the `count` entries that `decode` appends to where they go. Returns the bytes that they take
/// there.
fn put(
    places: &[Place],
    count: usize,
    bytes: usize,
    own: impl Fn() -> Array,
    decode: impl FnOnce(&mut Array) -> rootfile::Result<()>,
) -> rootfile::Result<usize> {
    if let [Place { shelf, number, runs }] = places
        && *runs == [0..count]
    {
        return shelf.put(*number..number + 1, own, |column| {
            column.expect(bytes);
            column.fill(decode)?;
            column.expect_later(bytes);
            Ok(())
        });
    }
    let mut whole = own();
    decode(&mut whole)?;
    let mut nbytes = 0;
    for Place { shelf, number, runs } in places {
        let share = whole.gather(runs);
        nbytes += shelf.put(
            *number..number + 1,
            || whole.empty_like(),
            |column| column.append(&share),
        )?;
    }
    Ok(nbytes)
}
