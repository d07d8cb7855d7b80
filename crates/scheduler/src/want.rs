//! The life of a want: waiting, admitted, ready, released; or failed, or cancelled.

use std::ops::Range;

use crate::budget::Budgets;
use crate::chunk::{State, Waiter};
use crate::demand::Ticket;
use crate::ids::{FileId, RequestId, Time, WantId};
use crate::message::{Event, Urgency, WantFailure};
use crate::scheduler::{FILE_BYTES_MAX, Scheduler};
use crate::server::{BANDWIDTH_GUESS, Server};

#[derive(Debug)]
pub(crate) struct Want {
    pub file: FileId,
    pub range: Range<u64>,
    pub urgency: Urgency,
    pub order: u64,
    pub stage: Stage,
    /// It was a hint once and has not been promoted.
    pub hinted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Not admitted.
    Waiting,
    /// Sent for: so many bytes are not here.
    Admitted { missing: u64 },
    /// All here.
    Ready,
    /// All here and taken over by the consumer; holds memory, not bytes.
    Taken,
}

impl Want {
    pub(crate) fn waiter(&self, want: WantId) -> Waiter {
        Waiter { urgency: self.urgency, order: self.order, want }
    }

    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.stage, Stage::Ready | Stage::Taken)
    }

    /// The consumer waits for it now.
    fn is_awaited(&self) -> bool {
        self.urgency == Urgency::Demand && !self.is_ready()
    }

    fn bytes(&self) -> u64 {
        self.range.end - self.range.start
    }
}

impl Scheduler {
    /// The consumer waits (or will wait) for a range. Among equals in urgency the lower `order`
    /// goes first; ranges with one order go by offset and are fetched in the fewest pieces, so give
    /// the parts of one batch the same order. `cost`: memory, in bytes, that the want holds from
    /// being sent for until [`Self::release`]; no less than the length of the range is counted.
    ///
    /// It ends in [`Event::Ready`] or [`Event::Failed`], unless cancelled before. An empty range
    /// is ready at once.
    ///
    /// A consumer that needs several wants at once to go on keeps the sum of their costs within
    /// the memory budget, or [hands them over](Self::hand_over) one by one as it decodes them.
    pub fn want(
        &mut self,
        now: Time,
        file: FileId,
        range: Range<u64>,
        urgency: Urgency,
        order: u64,
        cost: u64,
    ) -> WantId {
        self.advance(now);
        let id = WantId(self.new_name());
        let range = range.start..range.end.max(range.start);
        let hinted = urgency == Urgency::Hint;
        let stage = Stage::Waiting;
        let want = Want { file, range: range.clone(), urgency, order, stage, hinted };
        let refusal = match self.files.get(&file) {
            None => Some(WantFailure::NoSource),
            Some(state) if state.sources.all_failed() => Some(WantFailure::NoSource),
            Some(state) => {
                let size = state.size.unwrap_or(FILE_BYTES_MAX);
                (range.end > size).then_some(WantFailure::BeyondEnd { size })
            }
        };
        if let Some(why) = refusal {
            self.events.push_back(Event::Failed { want: id, why });
            return id;
        }
        if range.is_empty() {
            self.wants.insert(id, Want { stage: Stage::Taken, ..want });
            self.enlist(file, id);
            self.events.push_back(Event::Ready { want: id });
            return id;
        }
        self.counters.demands_unready += u64::from(want.is_awaited());
        let bytes = want.bytes();
        self.wants.insert(id, want);
        self.enlist(file, id);
        let cost = cost.max(bytes);
        let admitted = false;
        let handed_over = false;
        let ticket = Ticket { file, urgency, order, bytes, cost, admitted, handed_over };
        self.admission.submit(id, ticket);
        self.admit();
        id
    }

    fn enlist(&mut self, file: FileId, want: WantId) {
        if let Some(state) = self.files.get_mut(&file) {
            state.wants.insert(want);
        }
    }

    /// The consumer waits for a want that was a hint.
    pub fn promote(&mut self, now: Time, id: WantId) {
        self.advance(now);
        let pipe = self.pipe_bytes();
        let Some(want) = self.wants.get_mut(&id) else { return };
        if want.urgency == Urgency::Demand {
            return;
        }
        let old = want.waiter(id);
        want.urgency = Urgency::Demand;
        want.hinted = false;
        let new = want.waiter(id);
        let range = want.range.clone();
        let file = want.file;
        self.counters.demands_unready += u64::from(want.is_awaited());
        self.readahead.used(want.bytes());
        if matches!(want.stage, Stage::Admitted { .. }) {
            self.readahead.late(want.bytes(), pipe);
        }
        if let Some(state) = self.files.get_mut(&file) {
            state.chunks.replace(&range, old, new);
        }
        self.admission.promote(id);
        self.refresh(file);
        self.admit();
    }

    /// The consumer waits for it no longer, and will not.
    pub fn cancel(&mut self, now: Time, id: WantId) {
        self.advance(now);
        self.drop_want(id);
        self.admit();
    }

    /// The memory it holds is known better (after decoding, say).
    pub fn resize(&mut self, now: Time, id: WantId, cost: u64) {
        self.advance(now);
        self.admission.resize(id, cost);
        self.admit();
    }

    /// A consumer holds the result of a want: until the want is released, its memory holds back
    /// only hints.
    pub fn hand_over(&mut self, now: Time, id: WantId) {
        self.advance(now);
        self.has_served(id);
        self.admission.hand_over(id);
        self.admit();
    }

    /// A consumer has taken so many bytes that were made of wants: until they are given back, so
    /// much less is read ahead.
    pub fn hand_out(&mut self, bytes: u64) {
        self.admission.hand_out(bytes);
    }

    /// A consumer needs so many bytes that were handed out no longer.
    pub fn take_back(&mut self, now: Time, bytes: u64) {
        self.advance(now);
        self.admission.take_back(bytes);
        self.admit();
    }

    /// Other limits from now on. Wants and requests in flight beyond them go on.
    pub fn set_budgets(&mut self, now: Time, budgets: Budgets) {
        self.advance(now);
        self.admission.set_memory_max(budgets.memory_bytes_max);
        self.budgets = budgets;
        self.admit();
    }

    /// The consumer has its own copy of a ready want's bytes: they may be forgotten, while the
    /// want still holds its memory. Optional; [`Self::release`] includes it.
    pub fn take(&mut self, now: Time, id: WantId) {
        self.advance(now);
        let Some(want) = self.wants.get_mut(&id).filter(|want| want.stage == Stage::Ready) else {
            return;
        };
        want.stage = Stage::Taken;
        let file = want.file;
        let range = want.range.clone();
        if let Some(state) = self.files.get_mut(&file) {
            let detached = state.chunks.detach(&range, id);
            self.forget(file, detached.forget);
        }
    }

    /// The consumer is done with it: its memory goes back to the budget.
    pub fn release(&mut self, now: Time, id: WantId) {
        self.advance(now);
        self.has_served(id);
        self.drop_want(id);
        self.admit();
    }

    /// Was it a hint, then a good one.
    fn has_served(&mut self, id: WantId) {
        if let Some(want) = self.wants.get_mut(&id)
            && want.hinted
            && want.is_ready()
        {
            self.readahead.used(want.bytes());
            want.hinted = false;
        }
    }

    /// Starts all wants that may be admitted.
    pub(crate) fn admit(&mut self) {
        loop {
            let window = self.readahead.window(self.pipe_bytes());
            while let Some(want) = self.admission.admit_next(window) {
                self.start(want);
            }
            if !self.admission.is_blocked() || !self.send_hint_back() {
                return;
            }
        }
    }

    /// Bytes that all links together hold, as far as they are known.
    pub fn pipe_bytes(&self) -> u64 {
        self.servers.values().fold(0, |sum, server| sum.saturating_add(server.pipe_bytes()))
    }

    /// The longest round trip to a server; zero while none is known.
    pub fn round_trip(&self) -> Time {
        let known = self.servers.values().filter_map(|server| server.round_trip.get());
        known.max().unwrap_or_default()
    }

    /// Bytes per second of the fastest link to a server, as loads have shown them; 0 while none
    /// has, and as long as the rate of a link that is slower than usual may still grow.
    pub fn bandwidth(&self) -> u64 {
        let shown = |server: &Server| match server.pace.rate() {
            rate if rate > BANDWIDTH_GUESS || !server.waves.grow() => rate,
            _ => 0,
        };
        self.servers.values().filter(|server| !server.traits.is_disk).map(shown).max().unwrap_or(0)
    }

    /// A want has been admitted.
    fn start(&mut self, id: WantId) {
        let Some(want) = self.wants.get_mut(&id) else { return };
        let file = want.file;
        let range = want.range.clone();
        let waiter = want.waiter(id);
        let Some(state) = self.files.get_mut(&file) else { return };
        let attached = state.chunks.attach(&range, waiter);
        self.counters.wanted_bytes += attached.fresh;
        self.counters.over_read_bytes -= attached.rescued.min(self.counters.over_read_bytes);
        want.stage = Stage::Admitted { missing: attached.missing };
        if attached.missing == 0 {
            self.make_ready(id);
        }
        self.refresh(file);
    }

    /// A demand needs the memory of the hint that is needed last, if that one has not been sent
    /// for.
    fn send_hint_back(&mut self) -> bool {
        let Some(id) = self.admission.last_hint() else { return false };
        let Some(want) = self.wants.get_mut(&id) else { return false };
        let file = want.file;
        let range = want.range.clone();
        let Some(state) = self.files.get_mut(&file) else { return false };
        let untouched = state.chunks.within(&range).all(|(_, chunk)| chunk.state == State::Queued);
        if !untouched || !matches!(want.stage, Stage::Admitted { .. }) {
            return false;
        }
        want.stage = Stage::Waiting;
        let detached = state.chunks.detach(&range, id);
        self.counters.wanted_bytes -= detached.unsent.min(self.counters.wanted_bytes);
        self.admission.send_back(id);
        self.refresh(file);
        true
    }

    /// Bytes of a want have arrived.
    pub(crate) fn arrive(&mut self, id: WantId, bytes: u64) {
        let Some(want) = self.wants.get_mut(&id) else { return };
        let Stage::Admitted { missing } = &mut want.stage else { return };
        *missing = missing.saturating_sub(bytes);
        if *missing == 0 {
            self.make_ready(id);
        }
    }

    fn make_ready(&mut self, id: WantId) {
        let Some(want) = self.wants.get_mut(&id) else { return };
        self.counters.demands_unready -= u64::from(want.is_awaited());
        want.stage = Stage::Ready;
        self.events.push_back(Event::Ready { want: id });
    }

    /// A want comes to nothing.
    pub(crate) fn fail_want(&mut self, id: WantId, why: WantFailure) {
        if self.wants.get(&id).is_some_and(|want| !want.is_ready()) {
            self.drop_want(id);
            self.events.push_back(Event::Failed { want: id, why });
        }
    }

    /// Removes a want from everywhere.
    pub(crate) fn drop_want(&mut self, id: WantId) {
        let Some(want) = self.wants.remove(&id) else { return };
        self.counters.demands_unready -= u64::from(want.is_awaited());
        self.admission.withdraw(id);
        let pipe = self.pipe_bytes();
        let Some(state) = self.files.get_mut(&want.file) else { return };
        state.wants.remove(&id);
        if want.stage == Stage::Waiting {
            return;
        }
        let detached = state.chunks.detach(&want.range, id);
        self.counters.wanted_bytes -= detached.unsent.min(self.counters.wanted_bytes);
        if want.hinted {
            self.readahead.wasted(detached.wasted, pipe);
            self.counters.wasted_bytes += detached.wasted;
        }
        self.forget(want.file, detached.forget);
        for request in detached.orphaned {
            self.cancel_if_idle(request);
        }
        self.owe_nothing(want.file);
        self.refresh(want.file);
    }

    /// Cancels a request of whose bytes none is awaited, if much of it is still to come: little
    /// arrives sooner than it is stopped.
    fn cancel_if_idle(&mut self, id: RequestId) {
        let Some(request) = self.requests.get(&id) else { return };
        if request.cancelled || request.part.is_some() || request.left < CANCEL_BYTES_MIN {
            return;
        }
        let Some(state) = self.files.get_mut(&request.file) else { return };
        if request.segments.iter().any(|segment| state.chunks.is_awaited(segment)) {
            return;
        }
        self.abandon(id);
    }
}

/// Bytes still to come that make cancelling worth its trouble (on HTTP/1.1 it costs the
/// connection).
const CANCEL_BYTES_MIN: u64 = 256 << 10;
