//! Fetch, decode, assemble: the part of a read that runs.
//!
//! One task a read. It holds no thread while it waits, starts decoding a basket when the
//! basket's last byte is here, and hands batches out in order. What holds it back is the memory
//! budget (permits live until a batch is handed out) and the consumer (a batch waits until the
//! one before has been taken).

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use rootfile::tree::{Basket, BasketPlace};
use rootfile::{Array, Codecs};
use tokio::sync::{Notify, mpsc};

use super::columns::{Batch, Column};
use super::decoders::Decoders;
use super::plan::{Item, Plan};
use crate::error::{Error, Result};
use crate::fetch::errand::Errand;
use crate::fetch::ledger::Phase;
use crate::fetch::{Permit, RemoteFile, Urgency, Want, Wants};

/// What a pipeline reads from.
#[derive(Clone)]
pub struct Job {
    pub remote: Arc<RemoteFile>,
    pub tree: Arc<rootfile::tree::Tree>,
    pub tree_path: Arc<str>,
    pub columns: Arc<[Column]>,
    pub decoders: Decoders,
    /// Where this read stands among others: lower comes first.
    pub order: u64,
    /// Somebody already waits for the first batch.
    pub urgent: bool,
}

type Decoded = (usize, Result<Array>, Option<Permit>);

struct Pipeline {
    job: Job,
    plan: Plan,
    /// Decoded items that some batch still needs.
    held: Vec<Option<(Arc<Array>, Option<Permit>)>>,
    /// Items that each batch still lacks.
    lacking: Vec<usize>,
    /// Items of each batch whose bytes have not come.
    absent: Vec<usize>,
    /// What the next batch waits for, for the report.
    errand: Errand,
    /// The next batch to be assembled.
    next: usize,
    /// Batches before this one are waited for: they are demands, and what is decoded for them
    /// counts as the consumer's.
    awaited: usize,
}

/// Batches on their way, in order; after an error nothing more comes. Dropping it ends the read.
#[derive(Debug)]
pub struct Batches {
    receiver: mpsc::Receiver<Result<Batch>>,
    waiting: Arc<Notify>,
    errand: Errand,
}

impl Batches {
    /// The next batch; `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<Batch>> {
        if self.receiver.is_empty() {
            self.waiting.notify_one();
        }
        let _waiting = self.errand.waiting();
        self.receiver.recv().await
    }
}

/// Starts reading on the present tokio runtime.
pub fn start(job: Job, plan: Plan) -> Batches {
    let (sender, receiver) = mpsc::channel(1);
    let waiting = Arc::new(Notify::new());
    let asked = waiting.clone();
    let errand = Errand::begin(job.remote.trace(), Phase::Bytes, Some(job.remote.tag()));
    let reported = errand.clone();
    tokio::spawn(async move {
        let lacking: Vec<usize> = plan.batches.iter().map(|batch| batch.items.len()).collect();
        let absent = lacking.clone();
        let held = plan.items.iter().map(|_| None).collect();
        let awaited = usize::from(job.urgent);
        let errand = reported;
        let pipeline = Pipeline { job, plan, held, lacking, absent, errand, next: 0, awaited };
        if let Err(error) = pipeline.run(&sender, &asked).await {
            let _ = sender.send(Err(error)).await;
        }
    });
    Batches { receiver, waiting, errand }
}

impl Pipeline {
    async fn run(mut self, sender: &mpsc::Sender<Result<Batch>>, waiting: &Notify) -> Result<()> {
        let (decoded_sender, mut decoded) = mpsc::unbounded_channel::<Decoded>();
        let (mut wants, wanted_items, first_of_batch) = self.ask();
        for (at, bytes) in self.embedded() {
            self.decode(at, bytes, None, &decoded_sender);
        }
        let mut open = wanted_items.len();
        let mut told = None;
        while self.next < self.plan.batches.len() {
            self.tell(sender.capacity() == 0, &mut told);
            let complete = self.lacking[self.next] == 0;
            tokio::select! {
                biased;
                Some((at, array, permit)) = decoded.recv() => self.take(at, array?, permit),
                slot = sender.reserve(), if complete => {
                    let Ok(slot) = slot else { return Ok(()) };
                    // Assembled only now: until it can be handed out, what a batch is made of
                    // counts against the budget.
                    slot.send(Ok(self.batch(self.next)?));
                    self.next += 1;
                }
                grant = wants.next(), if open > 0 => {
                    let Some(grant) = grant else { open = 0; continue };
                    let grant = grant.map_err(|e| self.name(e))?;
                    open -= 1;
                    let at = wanted_items[grant.index];
                    self.decode(at, grant.bytes, Some(grant.permit), &decoded_sender);
                }
                () = waiting.notified() => {
                    self.wait_for(self.next + 1, &wants, &first_of_batch);
                }
                () = sender.closed() => return Ok(()),
            }
        }
        Ok(())
    }

    /// Tells the report what the consumer is waiting for, if it is: the batch that is being handed
    /// over, or what the next one lacks.
    fn tell(&self, handing_over: bool, told: &mut Option<Phase>) {
        let phase = match (self.absent[self.next], self.lacking[self.next]) {
            _ if handing_over => Phase::Joining,
            (0, 0) => Phase::Joining,
            (0, _) => Phase::Decoding,
            _ => Phase::Bytes,
        };
        if told.replace(phase) != Some(phase) {
            self.errand.enter(phase);
        }
    }

    /// Asks for every stored item. Returns the stream, the item of each want, and the first want
    /// of each batch.
    fn ask(&self) -> (Wants, Vec<usize>, Vec<usize>) {
        let mut wants = Vec::new();
        let mut wanted_items = Vec::new();
        let mut first_of_batch = vec![0; self.plan.batches.len() + 1];
        for (at, item) in self.plan.items.iter().enumerate() {
            let Some(range) = item.range.clone() else { continue };
            let urgent = self.job.urgent && item.batches.start == 0;
            first_of_batch[item.batches.start + 1] = wants.len() + 1;
            wants.push(Want {
                cost: (range.end - range.start) + item.decoded,
                range,
                urgency: if urgent { Urgency::Demand } else { Urgency::Hint },
                order: (self.job.order << 32) + wants.len() as u64,
            });
            wanted_items.push(at);
        }
        for at in 1..first_of_batch.len() {
            first_of_batch[at] = first_of_batch[at].max(first_of_batch[at - 1]);
        }
        (self.job.remote.want(wants), wanted_items, first_of_batch)
    }

    fn embedded(&self) -> Vec<(usize, Bytes)> {
        let embedded = |(at, item): (usize, &Item)| {
            let branch = &self.job.tree.branches[self.job.columns[item.column].branch.0 as usize];
            match &branch.baskets[item.basket].place {
                BasketPlace::Embedded(bytes) => Some((at, bytes.clone())),
                BasketPlace::Stored(_) => None,
            }
        };
        self.plan.items.iter().enumerate().filter_map(embedded).collect()
    }

    fn decode(
        &mut self,
        at: usize,
        bytes: Bytes,
        permit: Option<Permit>,
        sink: &mpsc::UnboundedSender<Decoded>,
    ) {
        let item = self.plan.items[at].clone();
        for batch in item.batches.clone() {
            self.absent[batch] -= 1;
        }
        let (tree, columns) = (self.job.tree.clone(), self.job.columns.clone());
        let (sink, path) = (sink.clone(), self.job.tree_path.clone());
        let url = self.job.remote.url().to_owned();
        self.job.decoders.run(self.job.remote.tag(), move |codecs| {
            let array = decode_item(&tree, &columns, &item, &bytes, codecs).map_err(|error| {
                let error = Error::from(error.within(&path)).with_url(url);
                match item.range {
                    Some(range) => error.with_range(range),
                    None => error,
                }
            });
            let _ = sink.send((at, array, permit));
        });
    }

    /// The consumer waits for the batches before `until`. What they hold is given back to the
    /// budget, or a batch larger than the budget could never be completed.
    fn wait_for(&mut self, until: usize, wants: &Wants, first_of_batch: &[usize]) {
        let until = until.min(self.plan.batches.len());
        if until <= self.awaited {
            return;
        }
        wants.promote(first_of_batch[self.awaited]..first_of_batch[until]);
        for batch in self.awaited..until {
            for at in &self.plan.batches[batch].items {
                if let Some((_, permit)) = &mut self.held[*at] {
                    *permit = None;
                }
            }
        }
        self.awaited = until;
    }

    fn take(&mut self, at: usize, array: Array, permit: Option<Permit>) {
        let ahead = self.plan.items[at].batches.start >= self.awaited;
        let permit = permit.filter(|_| ahead);
        if let Some(permit) = &permit {
            permit.resize(array.nbytes() as u64);
        }
        for batch in self.plan.items[at].batches.clone() {
            self.lacking[batch] -= 1;
        }
        self.held[at] = Some((Arc::new(array), permit));
    }

    fn batch(&mut self, number: usize) -> Result<Batch> {
        let entries = self.plan.batches[number].entries.clone();
        let items = std::mem::take(&mut self.plan.batches[number].items);
        let mut by_column: Vec<Vec<usize>> = vec![Vec::new(); self.job.columns.len()];
        for at in items {
            by_column[self.plan.items[at].column].push(at);
        }
        let mut columns = Vec::with_capacity(by_column.len());
        for (column, mut items) in self.job.columns.clone().iter().zip(by_column) {
            items.sort_by_key(|at| self.plan.items[*at].entries.start);
            let mut parts = Vec::with_capacity(items.len());
            for at in items {
                if let Some(part) = self.part(at, number, &entries) {
                    parts.push(part);
                }
            }
            let array = Array::concat(parts)?.unwrap_or_else(|| column.interpretation.empty());
            columns.push((column.name.clone(), array));
        }
        Ok(Batch { entries, columns })
    }

    /// The share of an item in a batch; the last batch that needs an item takes it away.
    fn part(&mut self, at: usize, number: usize, entries: &Range<u64>) -> Option<Array> {
        let item = &self.plan.items[at];
        let from = entries.start.max(item.entries.start) - item.entries.start;
        let to = entries.end.min(item.entries.end) - item.entries.start;
        let whole = from == 0 && to == item.entries.end - item.entries.start;
        let slice = |array: &Array| array.slice(from as usize..to as usize);
        if item.batches.end == number + 1 {
            let (array, _permit) = self.held[at].take()?;
            Some(match Arc::try_unwrap(array) {
                Ok(array) if whole => array,
                Ok(array) => slice(&array),
                Err(shared) => slice(&shared),
            })
        } else {
            self.held[at].as_ref().map(|(array, _)| slice(array))
        }
    }

    fn name(&self, error: Error) -> Error {
        error.with_url(self.job.remote.url())
    }
}

/// Decodes the wanted entries of one basket.
fn decode_item(
    tree: &rootfile::tree::Tree,
    columns: &[Column],
    item: &Item,
    bytes: &Bytes,
    codecs: &mut Codecs,
) -> rootfile::Result<Array> {
    let column = &columns[item.column];
    let branch = &tree.branches[column.branch.0 as usize];
    let reference = &branch.baskets[item.basket];
    let local = (item.entries.start - reference.entries.start) as usize
        ..(item.entries.end - reference.entries.start) as usize;
    let read = || {
        let basket = Basket::read(reference, bytes, codecs)?;
        if column.interpretation.needs_counts(&basket) {
            return Err(rootfile::Error::unsupported("baskets without their entry offsets"));
        }
        let mut array = column.interpretation.empty();
        array.reserve(local.len(), basket.data.len());
        column.interpretation.decode(&basket, local, &mut array)?;
        Ok(array)
    };
    read().map_err(|error: rootfile::Error| {
        let error = error.within(&format!("{}/basket {}", column.name, item.basket));
        match &item.range {
            Some(range) => error.at(range.start),
            None => error,
        }
    })
}
