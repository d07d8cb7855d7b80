//! The loop of a read: request pieces, decode those that arrived, hand over complete batches.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use rootfile::Array;
use tokio::sync::mpsc;

use super::assembly::Assembly;
use super::plan::{DECIDED_AHEAD, Item, Plan};
use super::slot::{Asked, Counts, LeftOutColumns, Slot, State};
use super::undecided::Undecided;
use super::{Arrived, Decision, Decoded, Job, Source};
use crate::read::core::batches::{BatchSender, Batches};
use crate::read::core::cut::SurvivorFeed;
use crate::read::core::fill::slots::Destination;
use crate::read::threads::decoders::caught;
use remote::fetch::ledger::Phase;
use remote::fetch::{MemoryReservation, Urgency, Want, Wants};
use remote::{Error, ErrorKind, Result};

/// Results of decoding threads.
pub(super) enum Work {
    Decoded {
        item: usize,
        decoded: Result<Decoded>,
        reservations: Vec<MemoryReservation>,
    },
    /// This version cannot read it, and its column may be left out.
    Refused {
        item: usize,
        error: Error,
    },
    Decided {
        window: usize,
        mask: Result<Vec<bool>>,
    },
}

/// Items with the bytes of their pieces.
type AtHand = Vec<(usize, Vec<Bytes>)>;

/// A read that runs.
pub struct Pipeline<S: Source> {
    pub source: S,
    pub job: Job,
    pub plan: Plan<S::Locator>,
    pub(super) wants: Wants,
    /// The item of each want, and which of its pieces.
    wanted: Vec<(usize, usize)>,
    /// Wants that have not come.
    open: usize,
    /// The state of each item.
    pub slots: Vec<Slot>,
    /// The columns that are filled where no cut has to be decided.
    pub(super) assembly: Assembly,
    pub(super) undecided: Option<Undecided>,
    pub(super) left_out: LeftOutColumns,
    /// Decoded items that each batch still lacks.
    pub(super) lacking: Vec<usize>,
    /// Those of them whose bytes have not come.
    pub(super) absent: Vec<usize>,
    /// The next batch to be assembled.
    next: usize,
    /// Batches before this one are waited for: they are demands, and items decoded for them count
    /// as the consumer's.
    awaited: usize,
    pub(super) done: mpsc::UnboundedSender<Work>,
}

/// Starts reading on the present tokio runtime.
pub fn start<S: Source>(
    job: Job,
    source: S,
    plan: Plan<S::Locator>,
    decision: Option<Decision>,
) -> Batches {
    let remote = job.remote.clone();
    let steps = plan.batches.len();
    let batches = Batches::start(&remote, |output| {
        let (done, work) = mpsc::unbounded_channel();
        let (columns, predicate, feed) = match decision {
            None => (None, None, None),
            Some(Decision::SurvivorFeed(feed)) => (Some(Vec::new()), None, Some(feed)),
            Some(Decision::Predicate { columns, predicate }) => {
                (Some(columns), Some(predicate), None)
            }
        };
        let urgent = job.rank.urgent;
        let pipe_bytes = job.remote.pipe_bytes();
        let undecided =
            columns.map(|columns| Undecided::new(columns, predicate, &plan, urgent, pipe_bytes));
        let mut pipeline = Pipeline::new(job, source, plan, undecided, done);
        let at_hand = pipeline.begin();
        async { pipeline.run(at_hand?, work, feed, output).await }
    });
    batches.in_steps(steps)
}

impl<S: Source> Pipeline<S> {
    fn new(
        job: Job,
        source: S,
        plan: Plan<S::Locator>,
        undecided: Option<Undecided>,
        done: mpsc::UnboundedSender<Work>,
    ) -> Self {
        let mut lacking = vec![0; plan.batches.len()];
        let mut slots = Vec::with_capacity(plan.items.len());
        for item in &plan.items {
            let mut slot = Slot::default();
            let certain = match &undecided {
                Some(undecided) => item.column < job.shown && undecided.decides(item.column),
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
        // Entries that a cut leaves are requested later, and needed sooner.
        let wants = match undecided {
            Some(_) => job.remote.want(Vec::new()),
            None => job.remote.want_in_order(Vec::new()),
        };
        let awaited = usize::from(job.rank.urgent);
        let assembly = Assembly::new(job.decoders.prefault().cloned());
        Pipeline {
            source,
            job,
            plan,
            wants,
            wanted: Vec::new(),
            open: 0,
            slots,
            assembly,
            undecided,
            left_out: LeftOutColumns::default(),
            absent: lacking.clone(),
            lacking,
            next: 0,
            awaited,
            done,
        }
    }

    /// Requests the items that are certain; returns those of them that are at hand.
    fn begin(&mut self) -> Result<AtHand> {
        S::prepare(self)?;
        Ok(match self.undecided {
            Some(_) => AtHand::new(),
            None => self.send_for((0..self.plan.items.len()).collect()),
        })
    }

    async fn run(
        mut self,
        at_hand: AtHand,
        mut work: mpsc::UnboundedReceiver<Work>,
        mut feed: Option<SurvivorFeed>,
        mut output: BatchSender,
    ) -> Result<()> {
        for (at, bytes) in at_hand {
            self.complete(at, bytes, Vec::new());
        }
        while self.next < self.plan.batches.len() {
            self.ask_ahead();
            output.waits_for(self.waits_for(output.is_handing_over()));
            tokio::select! {
                biased;
                Some(work) = work.recv() => self.work_done(work)?,
                runs = next_survivors(&mut feed), if self.listens() => match runs {
                    Some(runs) => self.take_survivors(runs)?,
                    // Who decides has failed, and says so itself.
                    None => return Ok(()),
                },
                slot = output.sender.reserve(), if self.is_complete(self.next) => {
                    let Ok(slot) = slot else { return Ok(()) };
                    // Assembled only now: until a batch can be handed out, its items count against
                    // the budget.
                    slot.send(Ok(self.batch(self.next, &output)?));
                    self.next += 1;
                }
                delivery = self.wants.next(), if self.open > 0 => {
                    let Some(delivery) = delivery else { self.open = 0; continue };
                    let delivery = delivery.map_err(|error| error.with_url(self.job.remote.url()))?;
                    self.open -= 1;
                    self.come(delivery.index, delivery.bytes, delivery.reservation);
                }
                () = output.waiting.notified() => self.wait_for(self.next + 1),
                () = output.sender.closed() => return Ok(()),
            }
        }
        Ok(())
    }

    fn work_done(&mut self, work: Work) -> Result<()> {
        match work {
            Work::Decoded { item, decoded, reservations } => {
                self.wants.decoded(self.plan.items[item].stored());
                self.take(item, decoded?, reservations)
            }
            Work::Refused { item, error } => {
                self.wants.decoded(self.plan.items[item].stored());
                self.refuse(item, error);
                Ok(())
            }
            Work::Decided { window, mask } => self.hear(window, &mask?),
        }
    }

    /// The phase that the consumer waits for, if it does: the handing over of a batch, or the items
    /// that the next one lacks.
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
    pub fn ask(&mut self, items: Vec<usize>) {
        for (at, bytes) in self.send_for(items) {
            self.complete(at, bytes, Vec::new());
        }
    }

    /// Asks for those items that are not at hand; returns the others, with their bytes.
    fn send_for(&mut self, items: Vec<usize>) -> AtHand {
        let mut wants = Vec::new();
        let mut at_hand = AtHand::new();
        for at in items {
            let counts = std::mem::take(&mut self.slots[at].counts);
            let order = self.job.rank.place(self.turn(&self.plan.items[at]));
            for at in counts.iter().copied().chain([at]) {
                if !matches!(self.slots[at].state, State::Idle) {
                    continue;
                }
                let item = &self.plan.items[at];
                if let Some(bytes) = self.source.at_hand(item) {
                    self.slots[at].state = State::Decoding;
                    at_hand.push((at, bytes));
                    continue;
                }
                self.slots[at].state = State::Asked(Asked::of(item.pieces.len()));
                let urgent = item.batches.start < self.awaited;
                wants.extend(item.pieces.iter().enumerate().map(|(number, piece)| {
                    let range = piece.range.clone();
                    let cost = (range.end - range.start) + piece.decoded;
                    let urgency = if urgent { Urgency::Demand } else { Urgency::Hint };
                    (at, number, Want { range, cost, urgency, order })
                }));
            }
            self.slots[at].counts = counts;
        }
        // Pieces of several items may lie in turn.
        wants.sort_by_key(|(_, _, want)| (want.order, want.range.start));
        for (at, number, _) in &wants {
            if let State::Asked(asked) = &mut self.slots[*at].state {
                asked.wants[*number] = self.wanted.len();
            }
            self.wanted.push((*at, *number));
        }
        self.open += wants.len();
        self.wants.add(wants.into_iter().map(|(_, _, want)| want).collect());
        at_hand
    }

    /// When an item's turn comes: a number of an entry, so that reads of one table side by side are
    /// served side by side. Items of the same turn are fetched in the order of the file.
    fn turn(&self, item: &Item<S::Locator>) -> u64 {
        match &self.undecided {
            None => self.plan.batches[item.batches.start].entries.start,
            Some(undecided) => {
                let ahead = if undecided.decides(item.column) { DECIDED_AHEAD } else { 0 };
                let window = self.plan.window_of(item).saturating_sub(ahead);
                self.plan.windows.get(window).map_or(0, |window| window.entries.start)
            }
        }
    }

    /// A piece of an item is here.
    fn come(&mut self, want: usize, bytes: Bytes, reservation: MemoryReservation) {
        let (at, piece) = self.wanted[want];
        let awaited = self.is_awaited(at);
        let state = &mut self.slots[at].state;
        // Not where the item has been given up.
        let State::Asked(asked) = state else { return };
        asked.bytes[piece] = bytes;
        asked.absent -= 1;
        if asked.absent == 0 {
            asked.reservations.push(reservation);
            if let State::Asked(Asked { bytes, reservations, .. }) = std::mem::take(state) {
                self.complete(at, bytes, reservations);
            }
            return;
        }
        // Or an item larger than the budget could never be complete.
        if awaited {
            reservation.hand_over();
        }
        asked.reservations.push(reservation);
    }

    /// All bytes of an item are here.
    fn complete(&mut self, at: usize, bytes: Vec<Bytes>, reservations: Vec<MemoryReservation>) {
        for batch in &self.slots[at].needed_by {
            self.absent[*batch] -= 1;
        }
        self.arrive(at, bytes, reservations);
    }

    /// Decodes an item, if the counts that it needs are here.
    fn arrive(&mut self, at: usize, bytes: Vec<Bytes>, reservations: Vec<MemoryReservation>) {
        let Some(counts) = self.counts_of(at) else {
            self.slots[at].state = State::Parked(bytes, reservations);
            return;
        };
        self.slots[at].state = State::Decoding;
        let places = self.places(at);
        let item = &mut self.plan.items[at];
        self.wants.decoding(item.stored());
        let decode = self.source.decoder(item);
        let turn = self.job.rank.place(item.entries.start);
        let may_leave_out = self.source.may_leave_out(item.column);
        let done = self.done.clone();
        let remote = self.job.remote.clone();
        self.job.decoders.run(self.job.remote.tag(), turn, move |codecs| {
            let decoded = caught("a thread that decodes", || {
                decode(Arrived { bytes, counts, places }, codecs)
            });
            let decoded = decoded.map_err(|error| error.with_url(remote.url()));
            let _ = done.send(match decoded {
                Err(error) if may_leave_out && error.kind() == ErrorKind::Unsupported => {
                    Work::Refused { item: at, error }
                }
                decoded => Work::Decoded { item: at, decoded, reservations },
            });
        });
    }

    /// Where an item goes, if nothing is to be decided about its entries.
    fn places(&mut self, at: usize) -> Option<Vec<Destination>> {
        let item = &self.plan.items[at];
        let certain = self.undecided.is_none() && item.column < self.job.shown;
        (certain || item.survivors.is_some())
            .then(|| self.assembly.places(&self.plan, &self.source, self.job.shown, item))
    }

    /// The counts that decoding an item takes; `None` while they are not all here.
    fn counts_of(&self, at: usize) -> Option<Vec<Counts>> {
        let held = |counts: &usize| match &self.slots[*counts].state {
            State::Held(array, _) => {
                Some((self.plan.items[*counts].entries.clone(), Arc::clone(array)))
            }
            _ => None,
        };
        self.slots[at].counts.iter().map(held).collect()
    }

    /// Decodes an item that waits for counts, where these are here.
    pub fn feed(&mut self, at: usize) {
        if matches!(self.slots[at].state, State::Parked(..))
            && self.counts_of(at).is_some()
            && let State::Parked(bytes, reservations) = std::mem::take(&mut self.slots[at].state)
        {
            self.arrive(at, bytes, reservations);
        }
    }

    /// An item has been decoded, or is not needed after all: it needs no counts any more.
    pub(super) fn counted(&mut self, at: usize) {
        for counts in std::mem::take(&mut self.slots[at].counts) {
            let slot = &mut self.slots[counts];
            slot.dependents.retain(|dependent| *dependent != at);
            if slot.dependents.is_empty() && matches!(slot.state, State::Held(..)) {
                slot.state = State::Gone;
            }
        }
    }

    fn is_awaited(&self, at: usize) -> bool {
        self.plan.items[at].batches.start < self.awaited
    }

    /// The consumer waits for the batches before `until`. Their memory counts as the consumer's,
    /// else a batch larger than the budget could never be completed.
    fn wait_for(&mut self, until: usize) {
        let until = until.min(self.plan.batches.len());
        let mut late = Vec::new();
        for batch in self.awaited..until {
            for at in &self.plan.batches[batch].items {
                match &self.slots[*at].state {
                    State::Asked(Asked { wants, reservations, .. }) => {
                        late.extend_from_slice(wants);
                        reservations.iter().for_each(MemoryReservation::hand_over);
                    }
                    State::Parked(_, reservations) => {
                        reservations.iter().for_each(MemoryReservation::hand_over)
                    }
                    State::Held(_, reservation) | State::Put(reservation) => {
                        reservation.iter().for_each(MemoryReservation::hand_over);
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

    fn take(
        &mut self,
        at: usize,
        decoded: Decoded,
        reservations: Vec<MemoryReservation>,
    ) -> Result<()> {
        if self.is_dropped(at) {
            return Ok(());
        }
        match decoded {
            Decoded::Put(nbytes) => {
                self.counted(at);
                self.slots[at].state = State::Put(self.account(at, reservations, nbytes));
                self.count_in(at);
            }
            Decoded::Array(array) => self.hold(at, array, reservations),
            Decoded::LacksCounts(bytes) => {
                self.slots[at].state = State::Parked(bytes, reservations);
                S::plan_counts(self, self.plan.items[at].column)?;
            }
        }
        Ok(())
    }

    fn hold(&mut self, at: usize, array: Arc<Array>, reservations: Vec<MemoryReservation>) {
        self.counted(at);
        if self.is_forgotten(at) {
            self.slots[at].state = State::Gone;
            return;
        }
        let reservation = self.account(at, reservations, array.nbytes());
        self.slots[at].state = State::Held(array, reservation);
        self.count_in(at);
        // Items that waited for these counts are decoded.
        self.slots[at].dependents.clone().into_iter().for_each(|at| self.feed(at));
        self.feed_windows(at);
    }

    /// Gives the budget the size of a decoded item: one of its reservations stands for that.
    fn account(
        &self,
        at: usize,
        reservations: Vec<MemoryReservation>,
        nbytes: usize,
    ) -> Option<MemoryReservation> {
        let reservation = reservations.into_iter().next()?;
        reservation.resize(nbytes as u64);
        if self.is_awaited(at) {
            reservation.hand_over();
        }
        Some(reservation)
    }

    pub(super) fn count_in(&mut self, at: usize) {
        for batch in &self.slots[at].needed_by {
            self.lacking[*batch] -= 1;
        }
    }

    /// Whether an item's column has been left out since it was asked for.
    pub(super) fn is_dropped(&self, at: usize) -> bool {
        self.left_out.has(self.plan.items[at].column)
    }

    /// Whether a cut has left nothing of an item.
    pub(super) fn is_forgotten(&self, at: usize) -> bool {
        let slot = &self.slots[at];
        let undecided = self.undecided.is_none() || slot.undecided > 0;
        !undecided && slot.needed_by.is_empty() && slot.dependents.is_empty()
    }
}

/// The survivors of the next window, of a cut that is decided elsewhere.
async fn next_survivors(feed: &mut Option<SurvivorFeed>) -> Option<Vec<Range<u64>>> {
    match feed {
        Some(feed) => feed.recv().await,
        None => std::future::pending().await,
    }
}
