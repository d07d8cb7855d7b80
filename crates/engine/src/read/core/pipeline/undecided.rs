//! Decisions of a cut so far, window by window.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use super::plan::Plan;
use crate::read::core::cut::Predicate;

/// Bytes of deciding columns asked for and not yet decided about, at least; on a link that holds
/// more, twice the bytes that it holds.
pub const UNDECIDED_BYTES: u64 = 8 << 20;
/// Bytes requested before the first decision: those that the link holds, but no less than a handful
/// of new connections bring in their first flight, and no more than may well be for nothing.
const UNSEEN_BYTES: RangeInclusive<u64> = 64 << 10..=1 << 20;
/// Where at least this part of all bytes has survived, waiting for a decision brings nothing.
pub const NEARLY_ALL: (u64, u64) = (31, 32);

/// Which windows of a plan are decided, and the entries that the decisions have left.
pub struct Undecided {
    /// Positions of the columns that the predicate gets, in its order.
    pub columns: Vec<usize>,
    /// Of each column of the plan whether it is one of these.
    decides: Vec<bool>,
    /// `None`: another reader decides, and sends the survivors.
    pub predicate: Option<Arc<dyn Predicate>>,
    /// Windows whose deciding items have been asked for: those before this one.
    pub asked: usize,
    /// Windows before this one are decided.
    pub decided: usize,
    /// Items that each window lacks to be decided.
    pub lacking: Vec<usize>,
    /// Entries that each decided window has left.
    pub survivors: Vec<Option<Vec<Range<u64>>>>,
    /// Bytes of deciding items that were asked for and that some window still needs.
    pub undecided_bytes: u64,
    /// Bytes that may be asked for without a decision.
    pub unseen_bytes: u64,
    /// Bytes of the other items about which all is decided, and of those that are needed.
    pub seen: u64,
    pub kept: u64,
}

impl Undecided {
    pub fn new<P>(
        columns: Vec<usize>,
        predicate: Option<Arc<dyn Predicate>>,
        plan: &Plan<P>,
        urgent: bool,
        pipe_bytes: u64,
    ) -> Self {
        let unseen_bytes =
            if urgent { pipe_bytes.clamp(*UNSEEN_BYTES.start(), *UNSEEN_BYTES.end()) } else { 0 };
        let mut decides = vec![false; columns.iter().max().map_or(0, |last| last + 1)];
        columns.iter().for_each(|column| decides[*column] = true);
        let is_deciding =
            |at: &&usize| decides.get(plan.items[**at].column).is_some_and(|decides| *decides);
        let lacking =
            plan.windows.iter().map(|window| window.items.iter().filter(is_deciding).count());
        Undecided {
            lacking: lacking.collect(),
            columns,
            decides,
            predicate,
            asked: 0,
            decided: 0,
            survivors: vec![None; plan.windows.len()],
            undecided_bytes: 0,
            unseen_bytes,
            seen: 0,
            kept: 0,
        }
    }

    pub fn decides(&self, column: usize) -> bool {
        self.decides.get(column).is_some_and(|decides| *decides)
    }
}
