//! Fetch, decode, assemble: the part of a read that runs.
//!
//! One task a read. It holds no thread while it waits, starts decoding a basket when the
//! basket's last byte is here, and hands batches out in order. What holds it back is the memory
//! budget (permits live until a batch is handed out) and the consumer (a batch waits until the
//! one before has been taken).
//!
//! Most reads ask for everything at once. Two kinds of items come later: those that a cut decides
//! about (`pipeline/deciding.rs`), and counts for baskets that turn out to lack their entry offsets
//! (`pipeline/counts.rs`). `pipeline/assemble.rs` makes batches of decoded items.

mod assemble;
mod counts;
mod deciding;
pub(crate) mod item;
mod refused;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use rootfile::tree::BasketPlace;
use rootfile::{Array, Known};
use tokio::sync::mpsc;

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::ledger::Phase;
use crate::fetch::{Permit, RemoteFile, Urgency, Want, Wants};
use crate::located::Located;
use crate::read::core::batches::{Batches, Maker};
use crate::read::core::columns::Column;
use crate::read::core::cut::Predicate;
use crate::read::core::decoders::Decoders;
use crate::read::core::fill::slots::{Assembly, Place};
use crate::read::core::steps::Rank;
use crate::read::tree::plan::{DECIDED_AHEAD, Item, Plan};
use counts::Counting;
use deciding::Deciding;
use item::{Outcome, Slot, State, decode_item, put_item};
use refused::Refused;
pub(crate) use refused::too_late;

/// What a pipeline reads from.
#[derive(Clone)]
pub struct Job {
    pub remote: Arc<RemoteFile>,
    /// What came with the metadata; baskets in it are not fetched again.
    pub known: Known,
    pub tree: Arc<rootfile::tree::Tree>,
    pub tree_path: Arc<str>,
    /// The columns of the plan.
    pub columns: Vec<Arc<Column>>,
    /// The first so many of them are handed out.
    pub shown: usize,
    /// For each column the one that counts its items, where there is one.
    pub counters: Vec<Option<Arc<Column>>>,
    pub decision: Option<Decision>,
    pub decoders: Decoders,
    pub(crate) rank: Rank,
}

/// Who decides which entries are read.
#[derive(Clone)]
pub struct Decision {
    /// Positions of the columns that the predicate gets, in its order.
    pub columns: Vec<usize>,
    /// `None`: somebody else, who tells.
    pub predicate: Option<Arc<dyn Predicate>>,
}

/// What a cut has left of window after window, in entries of the table that listens.
pub type Told = mpsc::UnboundedReceiver<Vec<Range<u64>>>;

/// What other threads have done.
enum Work {
    Decoded {
        item: usize,
        outcome: Result<Outcome>,
        permit: Option<Permit>,
    },
    /// Decoded to where it goes, where it takes so many bytes.
    Put {
        item: usize,
        nbytes: usize,
        permit: Option<Permit>,
    },
    /// This version cannot read it, and nobody has named its column.
    Refused {
        item: usize,
        error: Error,
    },
    Decided {
        window: usize,
        mask: Result<Vec<bool>>,
    },
}

struct Pipeline {
    job: Job,
    plan: Plan,
    wants: Wants,
    /// The item of each want.
    wanted: Vec<usize>,
    /// Wants that have not come.
    open: usize,
    /// What has become of each item.
    slots: Vec<Slot>,
    /// What is filled where nothing has to be decided.
    assembly: Assembly,
    counting: Counting,
    deciding: Option<Deciding>,
    refused: Refused,
    /// Decoded items that each batch still lacks.
    lacking: Vec<usize>,
    /// Those of them whose bytes have not come.
    absent: Vec<usize>,
    /// The next batch to be assembled.
    next: usize,
    /// Batches before this one are waited for: they are demands, and what is decoded for them
    /// counts as the consumer's.
    awaited: usize,
    done: mpsc::UnboundedSender<Work>,
}

/// Starts reading on the present tokio runtime; `told` is there where somebody else decides.
pub fn start(job: Job, plan: Plan, told: Option<Told>) -> Batches {
    let (remote, steps) = (job.remote.clone(), plan.batches.len());
    let batches = Batches::start(&remote, |maker| {
        let (done, work) = mpsc::unbounded_channel();
        // Nobody tells anything.
        let told = told.unwrap_or_else(|| mpsc::unbounded_channel().1);
        Pipeline::new(job, plan, done).run(work, told, maker)
    });
    batches.in_steps(steps)
}

impl Pipeline {
    fn new(job: Job, plan: Plan, done: mpsc::UnboundedSender<Work>) -> Self {
        let deciding = job.decision.clone().map(|decision| {
            Deciding::new(decision, &plan, job.rank.urgent, job.remote.pipe_bytes())
        });
        let mut lacking = vec![0; plan.batches.len()];
        let mut slots = Vec::with_capacity(plan.items.len());
        for item in &plan.items {
            let mut slot = Slot::default();
            let certain = match &deciding {
                Some(deciding) => item.column < job.shown && deciding.decides(item.column),
                None => true,
            };
            if certain {
                slot.needed_by = item.batches.clone().collect();
                item.batches.clone().for_each(|batch| lacking[batch] += 1);
            }
            slots.push(slot);
        }
        for at in plan.windows.iter().flat_map(|window| &window.items) {
            slots[*at].undecided += 1;
        }
        // What a cut leaves is asked for later, and sooner needed.
        let wants = match deciding {
            Some(_) => job.remote.want(Vec::new()),
            None => job.remote.want_in_order(Vec::new()),
        };
        let awaited = usize::from(job.rank.urgent);
        let assembly = Assembly::new(job.decoders.helper().cloned());
        Pipeline {
            job,
            plan,
            wants,
            wanted: Vec::new(),
            open: 0,
            slots,
            assembly,
            counting: Counting::default(),
            deciding,
            refused: Refused::default(),
            absent: lacking.clone(),
            lacking,
            next: 0,
            awaited,
            done,
        }
    }

    async fn run(
        mut self,
        mut work: mpsc::UnboundedReceiver<Work>,
        mut told: Told,
        mut maker: Maker,
    ) -> Result<()> {
        self.expect_counts()?;
        if self.deciding.is_none() {
            self.ask((0..self.plan.items.len()).collect());
        }
        while self.next < self.plan.batches.len() {
            self.ask_ahead();
            maker.tell(self.waits_for(maker.is_handing_over()));
            tokio::select! {
                biased;
                Some(work) = work.recv() => match work {
                    Work::Decoded { item, outcome, permit } => {
                        self.wants.decoded(stored(&self.plan.items[item]));
                        self.take(item, outcome?, permit)?;
                    }
                    Work::Put { item, nbytes, permit } => {
                        self.wants.decoded(stored(&self.plan.items[item]));
                        self.put(item, nbytes, permit);
                    }
                    Work::Refused { item, error } => {
                        self.wants.decoded(stored(&self.plan.items[item]));
                        self.refuse(item, error);
                    }
                    Work::Decided { window, mask } => self.hear(window, &mask?)?,
                },
                runs = told.recv(), if self.listens() => match runs {
                    Some(runs) => self.told(runs),
                    // Who decides has failed, and says so itself.
                    None => return Ok(()),
                },
                slot = maker.sender.reserve(), if self.is_complete(self.next) => {
                    let Ok(slot) = slot else { return Ok(()) };
                    // Assembled only now: until it can be handed out, what a batch is made of
                    // counts against the budget.
                    slot.send(Ok(self.batch(self.next, &maker)?));
                    self.next += 1;
                }
                grant = self.wants.next(), if self.open > 0 => {
                    let Some(grant) = grant else { self.open = 0; continue };
                    let grant = grant.map_err(|error| error.with_url(self.job.remote.url()))?;
                    self.open -= 1;
                    self.come(self.wanted[grant.index], grant.bytes, Some(grant.permit));
                }
                () = maker.waiting.notified() => self.wait_for(self.next + 1),
                () = maker.sender.closed() => return Ok(()),
            }
        }
        Ok(())
    }

    /// What the consumer is waiting for, if it is: the batch that is being handed over, or what the
    /// next one lacks.
    fn waits_for(&self, handing_over: bool) -> Phase {
        let undecided = !self.is_decided(self.next);
        match (self.absent[self.next], self.lacking[self.next]) {
            _ if handing_over => Phase::Joining,
            (0, 0) if !undecided => Phase::Joining,
            (0, lacking) if lacking > 0 => Phase::Decoding,
            _ => Phase::Bytes,
        }
    }

    fn is_complete(&self, batch: usize) -> bool {
        self.lacking[batch] == 0 && self.is_decided(batch)
    }

    /// Asks for items that have not been asked for, and for the counts that they need. `items`
    /// ascend.
    fn ask(&mut self, items: Vec<usize>) {
        let mut wants = Vec::new();
        let mut at_hand = Vec::new();
        for at in items {
            let counts = std::mem::take(&mut self.slots[at].counts);
            let turn = self.turn(&self.plan.items[at]);
            for at in counts.iter().copied().chain([at]) {
                if !matches!(self.slots[at].state, State::Idle) {
                    continue;
                }
                let item = &self.plan.items[at];
                if let Some(bytes) = self.at_hand(item) {
                    at_hand.push((at, bytes));
                    continue;
                }
                let Some(range) = item.range.clone() else { continue };
                let urgent = item.batches.start < self.awaited;
                self.slots[at].state = State::Asked(self.wanted.len());
                self.wanted.push(at);
                wants.push(Want {
                    cost: (range.end - range.start) + item.decoded,
                    range,
                    urgency: if urgent { Urgency::Demand } else { Urgency::Hint },
                    order: self.job.rank.place(turn),
                });
            }
            self.slots[at].counts = counts;
        }
        self.open += wants.len();
        self.wants.add(wants);
        for (at, bytes) in at_hand {
            self.come(at, bytes, None);
        }
    }

    /// When an item's turn comes: a number of an entry, so that reads of one tree side by side are
    /// served side by side. What has the same turn is fetched in the order of the file.
    fn turn(&self, item: &Item) -> u64 {
        match &self.deciding {
            None => self.plan.batches[item.batches.start].entries.start,
            Some(deciding) => {
                let ahead = if deciding.decides(item.column) { DECIDED_AHEAD } else { 0 };
                let window = self.plan.window_of(item).saturating_sub(ahead);
                self.plan.windows.get(window).map_or(0, |window| window.entries.start)
            }
        }
    }

    /// The bytes of an item that came with the metadata.
    fn at_hand(&self, item: &Item) -> Option<Bytes> {
        let branch = &self.job.tree.branches[self.job.columns[item.column].branch.0 as usize];
        match &branch.baskets[item.basket].place {
            BasketPlace::Embedded(bytes) => Some(bytes.clone()),
            BasketPlace::Stored(range) => self.job.known.get(range.clone()),
        }
    }

    /// The bytes of an item are here.
    fn come(&mut self, at: usize, bytes: Bytes, permit: Option<Permit>) {
        for batch in &self.slots[at].needed_by {
            self.absent[*batch] -= 1;
        }
        self.arrive(at, bytes, permit);
    }

    /// Decodes an item, if the counts that it needs are here.
    fn arrive(&mut self, at: usize, bytes: Bytes, permit: Option<Permit>) {
        if matches!(self.slots[at].state, State::Gone) {
            return;
        }
        let Some(counts) = self.counts_of(at) else {
            self.slots[at].state = State::Parked(bytes, permit);
            return;
        };
        self.slots[at].state = State::Decoding;
        self.wants.decoding(stored(&self.plan.items[at]));
        let places = self.places(at);
        let (item, tree) = (self.plan.items[at].clone(), self.job.tree.clone());
        let column = self.job.columns[item.column].clone();
        let (done, path) = (self.done.clone(), self.job.tree_path.clone());
        let url = self.job.remote.url().to_owned();
        let turn = self.job.rank.place(item.entries.start);
        self.job.decoders.run(self.job.remote.tag(), turn, move |codecs| {
            let put = places
                .map(|places| put_item(&tree, &column, &item, &bytes, &counts, &places, codecs));
            let decoded = match put {
                Some(Ok(Some(nbytes))) => {
                    let _ = done.send(Work::Put { item: at, nbytes, permit });
                    return;
                }
                Some(Ok(None)) => Ok(Outcome::LacksCounts(bytes)),
                Some(Err(error)) => Err(error),
                None => decode_item(&tree, &column, &item, &bytes, &counts, codecs),
            };
            let outcome = decoded.map_err(|error| {
                let error = error.within(&path).located(url);
                match item.range {
                    Some(range) => error.with_range(range),
                    None => error,
                }
            });
            let _ = done.send(match outcome {
                Err(error) if column.optional && error.kind() == ErrorKind::Unsupported => {
                    Work::Refused { item: at, error }
                }
                outcome => Work::Decoded { item: at, outcome, permit },
            });
        });
    }

    /// Where an item goes, if nothing is to be decided about its entries.
    fn places(&mut self, at: usize) -> Option<Vec<Place>> {
        let item = &self.plan.items[at];
        let certain = self.deciding.is_none() && item.column < self.job.shown;
        let columns = &self.job.columns[..self.job.shown];
        certain.then(|| self.assembly.places(&self.plan, columns, item))
    }

    /// The consumer waits for the batches before `until`. What they hold is the consumer's, or a
    /// batch larger than the budget could never be completed.
    fn wait_for(&mut self, until: usize) {
        let until = until.min(self.plan.batches.len());
        let mut late = Vec::new();
        for batch in self.awaited..until {
            for at in &self.plan.batches[batch].items {
                match &mut self.slots[*at].state {
                    State::Asked(want) => late.push(*want),
                    State::Parked(_, permit) | State::Held(_, permit) | State::Put(permit) => {
                        permit.iter().for_each(Permit::hand_over);
                    }
                    State::Idle | State::Decoding | State::Refused(_) | State::Gone => {}
                }
            }
        }
        late.sort_unstable();
        late.dedup();
        late.chunk_by(|a, b| a + 1 == *b)
            .for_each(|run| self.wants.promote(run[0]..run[run.len() - 1] + 1));
        self.awaited = self.awaited.max(until);
    }

    fn take(&mut self, at: usize, outcome: Outcome, permit: Option<Permit>) -> Result<()> {
        match outcome {
            _ if self.is_dropped(at) => Ok(()),
            Outcome::Array(array) => {
                self.hold(at, array, permit);
                Ok(())
            }
            Outcome::LacksCounts(bytes) => {
                self.slots[at].state = State::Parked(bytes, permit);
                self.count(self.plan.items[at].column)
            }
        }
    }

    fn hold(&mut self, at: usize, array: Arc<Array>, permit: Option<Permit>) {
        self.counted(at);
        if self.is_forgotten(at) {
            self.slots[at].state = State::Gone;
            return;
        }
        self.account(at, permit.as_ref(), array.nbytes());
        self.slots[at].state = State::Held(array, permit);
        self.count_in(at);
        self.feed_dependents(at);
        self.feed_windows(at);
    }

    fn put(&mut self, at: usize, nbytes: usize, permit: Option<Permit>) {
        self.counted(at);
        if self.is_dropped(at) {
            return;
        }
        self.account(at, permit.as_ref(), nbytes);
        self.slots[at].state = State::Put(permit);
        self.count_in(at);
    }

    /// Tells the budget what has become of a decoded item.
    fn account(&self, at: usize, permit: Option<&Permit>, nbytes: usize) {
        let Some(permit) = permit else { return };
        permit.resize(nbytes as u64);
        if self.plan.items[at].batches.start < self.awaited {
            permit.hand_over();
        }
    }

    fn count_in(&mut self, at: usize) {
        for batch in &self.slots[at].needed_by {
            self.lacking[*batch] -= 1;
        }
    }

    /// Whether an item's column has been left out since it was asked for.
    fn is_dropped(&self, at: usize) -> bool {
        !self.refused.keeps(self.plan.items[at].column)
    }

    /// Whether a cut has left nothing of an item.
    fn is_forgotten(&self, at: usize) -> bool {
        let slot = &self.slots[at];
        let undecided = self.deciding.is_none() || slot.undecided > 0;
        !undecided && slot.needed_by.is_empty() && slot.dependents.is_empty()
    }
}

/// Bytes of an item in the file.
fn stored(item: &Item) -> u64 {
    item.range.as_ref().map_or(0, |range: &Range<u64>| range.end - range.start)
}
