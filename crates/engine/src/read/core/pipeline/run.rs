//! The loop of a read: request pieces, decode those that arrived, hand over complete batches.

use std::ops::Range;
use std::sync::Arc;

use futures::StreamExt;
use rootfile::Array;
use tokio::sync::mpsc;

use super::assembly::Assembly;
use super::jobs::{DecodedItem, DueItem, ItemOutcome};
use super::plan::Plan;
use super::request::{AtHand, WantedPieces};
use super::share::Share;
use super::slot::{Asked, LeftOutColumns, Slot, State};
use super::undecided::Undecided;
use super::{Decision, Decoded, Job, Source};
use crate::read::core::batches::{BatchSender, Batches};
use crate::read::core::cut::SurvivorFeed;
use remote::Result;
use remote::fetch::Wants;
use remote::fetch::ledger::Phase;

/// Results of decoding threads.
pub(super) enum Work {
    Decoded(Vec<DecodedItem>),
    Decided { window: usize, mask: Result<Vec<bool>> },
}

/// A read that runs.
pub struct Pipeline<S: Source> {
    pub source: S,
    pub job: Job,
    pub plan: Plan<S::Locator>,
    pub(super) wants: Wants,
    pub(super) wanted: WantedPieces,
    /// Wants that have not come.
    pub(super) open: usize,
    /// Items that are here and have not been handed to a decoder.
    pub(super) due: Vec<DueItem>,
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
    pub(super) awaited: usize,
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
        let wants = wants.with_any_codec();
        let awaited = usize::from(job.rank.urgent);
        let assembly = Assembly::new(job.decoders.prefault().cloned());
        Pipeline {
            source,
            job,
            plan,
            wants,
            wanted: WantedPieces::default(),
            open: 0,
            due: Vec::new(),
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
            self.decode_due();
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
                delivery = self.wants.next(), if self.open > 0 => self.come_together(delivery)?,
                () = output.waiting.notified() => self.wait_for(self.next + 1),
                () = output.sender.closed() => return Ok(()),
            }
        }
        Ok(())
    }

    fn work_done(&mut self, work: Work) -> Result<()> {
        match work {
            Work::Decoded(items) => {
                let stored = items.iter().map(|done| self.plan.items[done.item].stored()).sum();
                self.wants.decoded(stored);
                items.into_iter().try_for_each(|done| match done.outcome {
                    ItemOutcome::Decoded(decoded) => self.take(done.item, decoded, done.shares),
                    ItemOutcome::Refused(error) => {
                        self.refuse(done.item, error);
                        Ok(())
                    }
                    ItemOutcome::Failed(error) => self.fail(done.item, error),
                })
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

    /// Decodes an item that waits for counts, where these are here.
    pub fn feed(&mut self, at: usize) {
        if matches!(self.slots[at].state, State::Parked(..))
            && self.counts_of(at).is_some()
            && let State::Parked(bytes, shares) = std::mem::take(&mut self.slots[at].state)
        {
            self.arrive(at, bytes, shares);
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

    pub(super) fn is_awaited(&self, at: usize) -> bool {
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
                    State::Asked(Asked { wants, shares, .. }) => {
                        late.extend_from_slice(wants);
                        shares.iter().for_each(Share::hand_over);
                    }
                    State::Parked(_, shares) => shares.iter().for_each(Share::hand_over),
                    State::Held(_, share) | State::Put(share) => {
                        share.iter().for_each(Share::hand_over);
                    }
                    State::Idle
                    | State::Decoding
                    | State::Refused(_)
                    | State::Failed(_)
                    | State::Gone => {}
                }
            }
        }
        late.sort_unstable();
        late.dedup();
        late.chunk_by(|a, b| a + 1 == *b)
            .for_each(|run| self.wants.promote(run[0]..run[run.len() - 1] + 1));
        self.awaited = self.awaited.max(until);
    }

    fn take(&mut self, at: usize, decoded: Decoded, shares: Vec<Share>) -> Result<()> {
        if self.is_dropped(at) {
            return Ok(());
        }
        match decoded {
            Decoded::Put(nbytes) => {
                self.counted(at);
                self.slots[at].state = State::Put(self.account(at, shares, nbytes));
                self.count_in(at);
            }
            Decoded::Array(array) => self.hold(at, array, shares),
            Decoded::LacksCounts(bytes) => {
                self.slots[at].state = State::Parked(bytes, shares);
                S::plan_counts(self, self.plan.items[at].column)?;
            }
        }
        Ok(())
    }

    fn hold(&mut self, at: usize, array: Arc<Array>, shares: Vec<Share>) {
        self.counted(at);
        if self.is_forgotten(at) {
            self.slots[at].state = State::Gone;
            return;
        }
        let share = self.account(at, shares, array.nbytes());
        self.slots[at].state = State::Held(array, share);
        self.count_in(at);
        // Items that waited for these counts are decoded.
        self.slots[at].dependents.clone().into_iter().for_each(|at| self.feed(at));
        self.feed_windows(at);
    }

    /// Gives the budget the size of a decoded item: one of its shares stands for that.
    fn account(&self, at: usize, shares: Vec<Share>, nbytes: usize) -> Option<Share> {
        let mut share = shares.into_iter().next()?;
        share.decoded(nbytes as u64);
        if self.is_awaited(at) {
            share.hand_over();
        }
        Some(share)
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
