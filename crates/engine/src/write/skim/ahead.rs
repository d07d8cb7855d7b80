//! Baskets of the first input that are requested together with the columns of its cut.
//!
//! The connections to its server are new: each one becomes faster with every round trip in which it
//! transfers as much as it may. The columns of the cut are too few bytes for that, so the copy
//! began on connections that were still slow. Baskets that arrive before the cut is decided are
//! [kept](RemoteFile::keep) until they are copied.

use std::collections::BTreeSet;
use std::ops::Range;

use futures::{FutureExt, StreamExt};
use remote::fetch::{RemoteFile, Urgency, Want, Wants};
use rootfile::tree::{BasketPlace, BranchId, Tree};

/// Maximum bytes that are requested, and the part of all bytes of the branches that they may be:
/// where no entry passes the cut they are fetched in vain.
const AHEAD_BYTES: u64 = 4 << 20;
const AHEAD_PART: u64 = 16;
/// Fewer bytes make no connection faster.
const AHEAD_LEAST: u64 = 64 << 10;
/// The order of these wants: behind all others.
const LAST: u64 = u64::MAX;

/// Requested baskets of an input. Dropping it gives up those that no other reader wants.
pub struct AheadBaskets {
    baskets: Wants,
    /// Baskets of the cut, which its reader takes from wants of its own: requested here so that
    /// they are sent for first.
    _cut: Wants,
}

impl AheadBaskets {
    /// Requests the first baskets of `branches`, after all baskets of `cut`: the branches that the
    /// cut and new columns are computed from. `None` where `branches` have few bytes, or `cut` has
    /// more than `bytes_max`.
    pub fn request(
        file: &RemoteFile,
        tree: &Tree,
        branches: &[BranchId],
        cut: &[BranchId],
        bytes_max: u64,
    ) -> Option<AheadBaskets> {
        let cut: BTreeSet<BranchId> = cut.iter().copied().collect();
        let others = branches.iter().filter(|branch| !cut.contains(branch)).copied();
        let mut others = baskets(tree, others);
        let cut = baskets(tree, cut.iter().copied());
        let mut left = (bytes_of(&others) / AHEAD_PART).min(AHEAD_BYTES).min(bytes_max);
        if left < AHEAD_LEAST || bytes_of(&cut) > bytes_max {
            return None;
        }
        others.sort_by_key(|range| range.start);
        let fits = |range: &Range<u64>| {
            let rest = left.checked_sub(range.end - range.start);
            left = rest.unwrap_or(0);
            rest.is_some()
        };
        let ahead: Vec<Range<u64>> = others.into_iter().take_while(fits).collect();
        if ahead.is_empty() {
            return None;
        }
        let _cut = file.want(wants(cut, Urgency::Demand, 0));
        Some(AheadBaskets { baskets: file.want(wants(ahead, Urgency::Hint, LAST)), _cut })
    }

    /// Keeps the baskets that have arrived; returns the others, which are still under way. Errors
    /// are left to the reader that copies the baskets.
    pub fn keep_arrived(mut self) -> Wants {
        while let Some(Some(_)) = self.baskets.next().now_or_never() {}
        self.baskets
    }
}

/// The records of branches' baskets.
fn baskets(tree: &Tree, branches: impl Iterator<Item = BranchId>) -> Vec<Range<u64>> {
    let baskets = branches.flat_map(|branch| &tree.branches[branch.0 as usize].baskets);
    let stored = baskets.filter_map(|basket| match &basket.place {
        BasketPlace::Stored(range) => Some(range.clone()),
        BasketPlace::Embedded(_) => None,
    });
    stored.collect()
}

fn bytes_of(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().fold(0, |sum, range| sum.saturating_add(range.end - range.start))
}

fn wants(ranges: Vec<Range<u64>>, urgency: Urgency, order: u64) -> Vec<Want> {
    let want = |range: Range<u64>| {
        let cost = range.end - range.start;
        Want { range, cost, urgency, order }
    };
    ranges.into_iter().map(want).collect()
}
