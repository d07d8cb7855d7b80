//! The order in which wants are served, and those that wait for memory.
//!
//! All demands go before all hints; within each, the lower `order` first. A want is *admitted*
//! (sent for) when its cost fits into the memory budget beside everything admitted and not yet
//! released. A large one at the front is not overtaken: the consumer needs the order.
//!
//! Two exceptions keep everything moving. The first demand of a file none of whose demands is
//! admitted is admitted whatever it costs: a consumer that holds nothing can give nothing back.
//! And a hint is admitted alone when nothing else is.
//!
//! Memory that has been handed out and not been given back holds back hints only: demands are
//! served.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{FileId, WantId};
use crate::message::Urgency;

/// Of the memory, this part is never given to hints, so that a demand finds room.
const KEPT_FOR_DEMANDS: u64 = 4;

/// Facts about a want for its admission.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticket {
    pub file: FileId,
    pub urgency: Urgency,
    pub order: u64,
    /// Length of its range.
    pub bytes: u64,
    /// Memory it holds from admission to release.
    pub cost: u64,
    pub admitted: bool,
    /// A consumer holds its result.
    pub handed_over: bool,
}

#[derive(Debug, Default)]
struct PerFile {
    /// Demands not admitted, by order.
    waiting: BTreeSet<(u64, WantId)>,
    /// Demands admitted and not released.
    holding: u32,
}

#[derive(Debug)]
pub(crate) struct Admission {
    memory_max: u64,
    used: u64,
    peak: u64,
    /// Bytes in the hands of consumers, made of wants that have been released.
    handed_out: u64,
    /// Bytes of admitted hints.
    hinted: u64,
    tickets: BTreeMap<WantId, Ticket>,
    demands: BTreeSet<(u64, WantId)>,
    hints: BTreeSet<(u64, WantId)>,
    admitted_hints: BTreeSet<(u64, WantId)>,
    files: BTreeMap<FileId, PerFile>,
    /// Files with waiting demands and no admitted one.
    starving: BTreeSet<FileId>,
}

impl Admission {
    pub(crate) fn new(memory_max: u64) -> Self {
        Admission {
            memory_max,
            used: 0,
            peak: 0,
            handed_out: 0,
            hinted: 0,
            tickets: BTreeMap::new(),
            demands: BTreeSet::new(),
            hints: BTreeSet::new(),
            admitted_hints: BTreeSet::new(),
            files: BTreeMap::new(),
            starving: BTreeSet::new(),
        }
    }

    /// The budget is another one from now on.
    pub(crate) fn set_memory_max(&mut self, memory_max: u64) {
        self.memory_max = memory_max;
    }

    /// Memory held by admitted wants, bytes.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// The most that was ever held.
    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }

    /// A consumer has taken so many bytes.
    pub(crate) fn hand_out(&mut self, bytes: u64) {
        self.handed_out = self.handed_out.saturating_add(bytes);
    }

    /// A consumer needs so many bytes no longer.
    pub(crate) fn take_back(&mut self, bytes: u64) {
        self.handed_out -= bytes.min(self.handed_out);
    }

    /// Bytes of admitted hints.
    pub(crate) fn hinted(&self) -> u64 {
        self.hinted
    }

    /// Wants that are not admitted: demands, hints.
    pub(crate) fn waiting(&self) -> [usize; 2] {
        [self.demands.len(), self.hints.len()]
    }

    /// A new want, not yet admitted.
    pub(crate) fn submit(&mut self, want: WantId, ticket: Ticket) {
        self.insert(want, Ticket { admitted: false, ..ticket });
    }

    /// A hint has become a demand. It keeps its admission if it has one.
    pub(crate) fn promote(&mut self, want: WantId) {
        if let Some(ticket) = self.remove(want) {
            self.insert(want, Ticket { urgency: Urgency::Demand, ..ticket });
        }
    }

    /// Its memory is known better.
    pub(crate) fn resize(&mut self, want: WantId, cost: u64) {
        if let Some(ticket) = self.remove(want) {
            self.insert(want, Ticket { cost, ..ticket });
        }
    }

    /// An admitted want goes back to waiting.
    pub(crate) fn send_back(&mut self, want: WantId) {
        if let Some(ticket) = self.remove(want) {
            self.insert(want, Ticket { admitted: false, ..ticket });
        }
    }

    /// A consumer holds the result of an admitted want.
    pub(crate) fn hand_over(&mut self, want: WantId) {
        if self.tickets.get(&want).is_some_and(|ticket| ticket.admitted)
            && let Some(ticket) = self.remove(want)
        {
            self.insert(want, Ticket { handed_over: true, ..ticket });
        }
    }

    /// The want is gone; the memory that it held is free.
    pub(crate) fn withdraw(&mut self, want: WantId) {
        self.remove(want);
    }

    /// A demand waits for memory that hints may hold.
    pub(crate) fn is_blocked(&self) -> bool {
        !self.demands.is_empty() && self.hinted > 0
    }

    /// The admitted hint that is needed last.
    pub(crate) fn last_hint(&self) -> Option<WantId> {
        self.admitted_hints.last().map(|(_, want)| *want)
    }

    /// Admits the next want, if any may be. `window`: bytes of hints that may be admitted.
    pub(crate) fn admit_next(&mut self, window: u64) -> Option<WantId> {
        let want = self.next(window)?;
        let ticket = self.remove(want)?;
        self.insert(want, Ticket { admitted: true, ..ticket });
        Some(want)
    }

    fn next(&self, window: u64) -> Option<WantId> {
        if let Some(file) = self.starving.first() {
            return self.files.get(file)?.waiting.first().map(|(_, want)| *want);
        }
        if let Some((_, want)) = self.demands.first() {
            let cost = self.tickets.get(want)?.cost;
            return self.fits(cost, self.memory_max).then_some(*want);
        }
        let (_, want) = self.hints.first()?;
        let ticket = self.tickets.get(want)?;
        let alone = self.hinted == 0;
        let in_window = alone || self.hinted.saturating_add(ticket.bytes) <= window;
        let memory = self.memory_max - self.memory_max / KEPT_FOR_DEMANDS;
        let nothing_else = self.used == 0 && self.handed_out == 0;
        let affordable =
            nothing_else || self.fits(ticket.cost.saturating_add(self.handed_out), memory);
        (in_window && affordable).then_some(*want)
    }

    fn fits(&self, cost: u64, memory: u64) -> bool {
        self.used.saturating_add(cost) <= memory
    }

    fn insert(&mut self, want: WantId, ticket: Ticket) {
        if ticket.handed_over {
            self.hand_out(ticket.cost);
            self.tickets.insert(want, ticket);
            return;
        }
        let key = (ticket.order, want);
        let file = self.files.entry(ticket.file).or_default();
        match (ticket.urgency, ticket.admitted) {
            (Urgency::Demand, false) => {
                self.demands.insert(key);
                file.waiting.insert(key);
            }
            (Urgency::Demand, true) => file.holding += 1,
            (Urgency::Hint, false) => {
                self.hints.insert(key);
            }
            (Urgency::Hint, true) => {
                self.admitted_hints.insert(key);
                self.hinted = self.hinted.saturating_add(ticket.bytes);
            }
        }
        if ticket.admitted {
            self.used = self.used.saturating_add(ticket.cost);
            self.peak = self.peak.max(self.used);
        }
        self.tickets.insert(want, ticket);
        self.look_after(ticket.file);
    }

    fn remove(&mut self, want: WantId) -> Option<Ticket> {
        let ticket = self.tickets.remove(&want)?;
        if ticket.handed_over {
            self.take_back(ticket.cost);
            return Some(ticket);
        }
        let key = (ticket.order, want);
        if let Some(file) = self.files.get_mut(&ticket.file) {
            match (ticket.urgency, ticket.admitted) {
                (Urgency::Demand, false) => {
                    file.waiting.remove(&key);
                }
                (Urgency::Demand, true) => file.holding -= 1,
                (Urgency::Hint, _) => {}
            }
        }
        self.demands.remove(&key);
        self.hints.remove(&key);
        if self.admitted_hints.remove(&key) {
            self.hinted -= ticket.bytes.min(self.hinted);
        }
        if ticket.admitted {
            self.used -= ticket.cost.min(self.used);
        }
        self.look_after(ticket.file);
        Some(ticket)
    }

    /// Keeps `starving` and `files` true.
    fn look_after(&mut self, file: FileId) {
        let Some(state) = self.files.get(&file) else { return };
        if state.holding == 0 && !state.waiting.is_empty() {
            self.starving.insert(file);
            return;
        }
        self.starving.remove(&file);
        if state.holding == 0 {
            self.files.remove(&file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: u64 = 1000;

    fn ticket(file: u32, urgency: Urgency, order: u64, cost: u64) -> Ticket {
        let file = FileId(file);
        Ticket { file, urgency, order, bytes: cost, cost, admitted: false, handed_over: false }
    }

    fn demand(admission: &mut Admission, want: u64, file: u32, order: u64, cost: u64) {
        admission.submit(WantId(want), ticket(file, Urgency::Demand, order, cost));
    }

    fn hint(admission: &mut Admission, want: u64, order: u64, cost: u64) {
        admission.submit(WantId(want), ticket(0, Urgency::Hint, order, cost));
    }

    fn admitted(admission: &mut Admission) -> Vec<u64> {
        std::iter::from_fn(|| admission.admit_next(WINDOW)).map(|want| want.0).collect()
    }

    #[test]
    fn demands_go_before_hints_and_lower_order_first() {
        let mut admission = Admission::new(10_000);
        hint(&mut admission, 1, 0, 10);
        demand(&mut admission, 2, 0, 9, 10);
        demand(&mut admission, 3, 0, 5, 10);
        assert_eq!(admitted(&mut admission), [3, 2, 1]);
    }

    #[test]
    fn memory_bounds_what_is_admitted_and_a_release_lets_the_next_in() {
        let mut admission = Admission::new(100);
        for want in 0..4 {
            demand(&mut admission, want, 0, want, 40);
        }
        assert_eq!(admitted(&mut admission), [0, 1]);
        admission.withdraw(WantId(1));
        assert_eq!(admitted(&mut admission), [2]);
        assert_eq!((admission.used(), admission.peak()), (80, 80));
    }

    #[test]
    fn a_file_that_holds_nothing_always_gets_its_first_demand() {
        let mut admission = Admission::new(100);
        demand(&mut admission, 0, 0, 0, 100);
        demand(&mut admission, 1, 1, 7, 500);
        demand(&mut admission, 2, 1, 8, 1);
        assert_eq!(admitted(&mut admission), [0, 1]);
        admission.withdraw(WantId(1));
        assert_eq!(admitted(&mut admission), [2]);
    }

    #[test]
    fn hints_stay_within_window_and_leave_memory_for_demands() {
        let mut admission = Admission::new(2000);
        for want in 0..20 {
            hint(&mut admission, want, want, 100);
        }
        assert_eq!(admitted(&mut admission).len(), 10, "the window");
        let mut admission = Admission::new(400);
        for want in 0..20 {
            hint(&mut admission, want, want, 100);
        }
        assert_eq!(admitted(&mut admission).len(), 3, "three quarters of the memory");
    }

    #[test]
    fn what_is_handed_out_holds_back_hints_and_no_demand() {
        let mut admission = Admission::new(400);
        admission.hand_out(250);
        for want in 0..3 {
            hint(&mut admission, want, want, 100);
        }
        assert_eq!(admitted(&mut admission), []);
        demand(&mut admission, 3, 0, 3, 200);
        demand(&mut admission, 4, 0, 4, 200);
        assert_eq!(admitted(&mut admission), [3, 4]);
        admission.take_back(250);
        admission.hand_over(WantId(3));
        admission.withdraw(WantId(4));
        assert_eq!((admission.used(), admitted(&mut admission)), (0, vec![WantId(0).0]));
        admission.withdraw(WantId(3));
        assert_eq!(admitted(&mut admission), [1, 2]);
    }

    #[test]
    fn a_promoted_hint_leaves_the_window_and_keeps_its_memory() {
        let mut admission = Admission::new(10_000);
        hint(&mut admission, 0, 0, 900);
        hint(&mut admission, 1, 1, 900);
        assert_eq!(admitted(&mut admission), [0]);
        admission.promote(WantId(0));
        assert_eq!(admitted(&mut admission), [1]);
        assert_eq!((admission.used(), admission.hinted()), (1800, 900));
    }

    #[test]
    fn nothing_is_left_when_all_are_gone() {
        let mut admission = Admission::new(100);
        demand(&mut admission, 0, 0, 0, 60);
        hint(&mut admission, 1, 0, 10);
        admitted(&mut admission);
        admission.resize(WantId(0), 90);
        admission.withdraw(WantId(0));
        admission.withdraw(WantId(1));
        assert_eq!((admission.used(), admission.hinted(), admission.files.len()), (0, 0, 0));
    }
}
