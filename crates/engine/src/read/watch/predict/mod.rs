//! Which bytes of a table a client will ask for next. Pure: reads go in, ranges come out.
//!
//! A client's reads between two moments at which it waits for nothing are a *fill*: one basket of a
//! client without a cache, the vectors of a TTreeCache, which holds some clusters. What comes next
//! is taken to be more of the same: the next baskets of the columns of the last fill, and of those
//! that have been read again and again and whose turn comes later. ROOT may fill its cache with all
//! branches at first, to learn; so the first fill proves nothing where the second one has fewer.
//!
//! A prediction is only counted until one has been right; then ranges are fetched, as many bytes as
//! the last fill had and as the link holds, and no more than predictions have been worth so far. A
//! client that jumps, or leaves more than a twentieth unread, ends this until predictions have been
//! right again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Range;
use std::sync::Arc;

use super::places::TablePlaces;

/// Fills in a row after which a column is followed that was not in the last one.
const STEADY: u32 = 3;
/// Of a client without a cache so much is ahead from the start, bytes.
const AHEAD_MIN: u64 = 64 << 10;
/// Predictions are judged by the last of them, bytes; and from so many on.
const JUDGED: Range<u64> = 1 << 20..64 << 20;
/// Of what is judged, at most one part in so many may be unused.
const UNUSED_PART: u64 = 20;
/// Right predictions that are needed after the client has been found to jump, at most.
const PROOFS_MAX: u32 = 8;

/// What to do before the client asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Advice {
    /// Fetch these, most urgent first.
    pub fetch: Vec<Range<u64>>,
    /// These were fetched in vain.
    pub drop: Vec<Range<u64>>,
}

/// One client's way through one table.
#[derive(Debug)]
pub struct Predictor {
    table: Arc<TablePlaces>,
    columns: BTreeMap<u32, Cursor>,
    /// Columns whose next baskets are expected.
    followed: Vec<u32>,
    /// Baskets or pages that are expected, by column and number.
    expected: BTreeSet<(u32, u32)>,
    expected_bytes: u64,
    fill: Fill,
    fills: u32,
    /// Bytes of the last fill.
    last_bytes: u64,
    /// Right predictions that are still needed before anything is fetched.
    proofs_missing: u32,
    proofs_needed: u32,
    /// Bytes that were expected and read, since predictions were last found to be wrong.
    earned: u64,
    judged_used: u64,
    judged_unused: u64,
}

/// How far a column has been read.
#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    /// The basket or page behind the last one that was read, and behind the last expected one.
    next: u32,
    ahead: u32,
    /// Fills in a row that have read it in order.
    steady: u32,
    /// The last fill that has read it.
    fill: u32,
    /// It is known from a file like this one that it will be read.
    is_usual: bool,
}

/// What has been read since the client last waited for nothing.
#[derive(Debug, Default)]
struct Fill {
    units: u32,
    bytes: u64,
    /// First entries of what was read, the lowest and the highest.
    entries: Option<(u64, u64)>,
    /// Bytes that were expected, and bytes that were read out of order.
    right: u64,
    wrong: u64,
}

impl Predictor {
    /// A client of which nothing is known.
    pub fn new(table: Arc<TablePlaces>) -> Self {
        Predictor {
            table,
            columns: BTreeMap::new(),
            followed: Vec::new(),
            expected: BTreeSet::new(),
            expected_bytes: 0,
            fill: Fill::default(),
            fills: 0,
            last_bytes: 0,
            proofs_missing: 1,
            proofs_needed: 1,
            earned: 0,
            judged_used: 0,
            judged_unused: 0,
        }
    }

    /// Expects the client to begin as one of a file like this one did: with so many bytes of these
    /// columns.
    pub fn begin(&mut self, columns: &[u32], bytes: u64) -> Advice {
        for column in columns {
            self.columns.insert(*column, Cursor { is_usual: true, ..Cursor::default() });
        }
        self.proofs_missing = 0;
        self.last_bytes = bytes;
        self.followed = columns.to_vec();
        Advice { fetch: self.extend(bytes), drop: Vec::new() }
    }

    /// The client reads a basket or page.
    pub fn read(&mut self, column: u32, number: u32) {
        let Some(unit) = self.table.unit(column, number) else { return };
        let (entry, bytes) = (unit.entry, unit.bytes());
        let cursor =
            self.columns.entry(column).or_insert(Cursor { next: number, ..Cursor::default() });
        if number + 1 == cursor.next {
            // The last one once more: entries of two fills are in it.
            return;
        }
        let was_expected = self.expected.remove(&(column, number));
        if was_expected {
            self.expected_bytes -= bytes;
            self.fill.right += bytes;
        } else if number != cursor.next {
            self.fill.wrong += bytes;
            cursor.steady = 0;
        }
        cursor.next = if was_expected { cursor.next.max(number + 1) } else { number + 1 };
        cursor.ahead = cursor.ahead.max(cursor.next);
        if cursor.fill != self.fills + 1 {
            cursor.fill = self.fills + 1;
            cursor.steady += 1;
        }
        self.fill.units += 1;
        self.fill.bytes += bytes;
        let (low, high) = self.fill.entries.unwrap_or((entry, entry));
        self.fill.entries = Some((low.min(entry), high.max(entry)));
    }

    /// The client waits for what it has read: where all of that was expected, as much can be
    /// fetched meanwhile.
    pub fn asked(&mut self, link_bytes: u64) -> Advice {
        let is_right = self.fill.right > 0 && self.fill.right == self.fill.bytes;
        match self.is_proven() && is_right {
            true => Advice { fetch: self.top_up(link_bytes), drop: Vec::new() },
            false => Advice::default(),
        }
    }

    /// The client has everything that it has asked for, over links that hold so many bytes.
    pub fn answered(&mut self, link_bytes: u64) -> Advice {
        let Some((_, high)) = self.fill.entries else { return Advice::default() };
        let fill = std::mem::take(&mut self.fill);
        self.fills += 1;
        self.last_bytes = fill.bytes;
        let was_proven = self.is_proven();
        self.followed = self.to_follow(fill.units, high);
        let mut drop = self.pass_over();
        let was_to_learn = self.fills == 2 && !was_proven && self.judged_unused > 0;
        if fill.wrong <= fill.right && was_to_learn {
            self.expect_nothing();
            self.judged_unused = 0;
        } else if self.is_wrong(&fill) {
            drop.extend(self.expect_nothing());
            self.begin_anew();
        } else {
            self.credit(&fill);
        }
        let mut fetch = match was_proven {
            true => Vec::new(),
            // What was only counted is fetched now.
            false => self.expected_ranges(),
        };
        fetch.extend(self.top_up(link_bytes));
        Advice {
            fetch: if self.is_proven() { fetch } else { Vec::new() },
            drop: if was_proven { drop } else { Vec::new() },
        }
    }

    /// Whether predictions are fetched, and not only counted.
    pub fn is_proven(&self) -> bool {
        self.proofs_missing == 0
    }

    pub fn table(&self) -> &TablePlaces {
        &self.table
    }

    /// The client has gone: what had been fetched for it, if anything was.
    pub fn end(&mut self) -> Vec<Range<u64>> {
        let expected = self.expect_nothing();
        if self.is_proven() { expected } else { Vec::new() }
    }

    /// What the next client of a file like this one will probably begin with: columns, and bytes
    /// of them. `None` where this one has not read in order.
    pub fn habit(&self) -> Option<(Vec<u32>, u64)> {
        let last =
            |(_, cursor): &(&u32, &Cursor)| cursor.fill == self.fills || self.is_steady(cursor);
        let columns: Vec<u32> =
            self.columns.iter().filter(last).map(|(column, _)| *column).collect();
        let is_orderly = self.fills > 0 && self.proofs_needed == 1;
        is_orderly.then_some((columns, self.last_bytes.max(self.earned.min(JUDGED.start))))
    }

    fn is_steady(&self, cursor: &Cursor) -> bool {
        cursor.steady >= STEADY || cursor.is_usual
    }

    /// Columns whose next baskets are expected, after a fill whose last part begins at an entry.
    fn to_follow(&self, units: u32, high: u64) -> Vec<u32> {
        // What the first fill says is only counted.
        let is_vector = units > 1 && (self.fills > 1 || !self.is_proven());
        let is_followed = |(column, cursor): (&u32, &Cursor)| {
            let is_in_last = cursor.fill == self.fills;
            // What was passed over is not read any more.
            let is_due_later =
                || self.table.unit(*column, cursor.next).is_some_and(|unit| unit.entry >= high);
            let follows = is_in_last && (is_vector || self.is_steady(cursor))
                || !is_in_last && self.is_steady(cursor) && is_due_later();
            follows.then_some(*column)
        };
        self.columns.iter().filter_map(is_followed).collect()
    }

    /// Expects no longer what lies behind the client, and what is of columns that it has left.
    fn pass_over(&mut self) -> Vec<Range<u64>> {
        let Predictor { columns, followed, .. } = self;
        let is_behind = |(column, number): &(u32, u32)| {
            let next = columns.get(column).map_or(0, |cursor| cursor.next);
            *number < next || followed.binary_search(column).is_err()
        };
        let gone: Vec<(u32, u32)> =
            self.expected.iter().filter(|unit| is_behind(unit)).copied().collect();
        self.expect_not(gone)
    }

    fn expect_nothing(&mut self) -> Vec<Range<u64>> {
        let all = self.expected.iter().copied().collect();
        self.expect_not(all)
    }

    fn expect_not(&mut self, gone: Vec<(u32, u32)>) -> Vec<Range<u64>> {
        let mut ranges = Vec::with_capacity(gone.len());
        for (column, number) in gone {
            self.expected.remove(&(column, number));
            if let Some(cursor) = self.columns.get_mut(&column) {
                cursor.ahead = cursor.next;
            }
            let Some(unit) = self.table.unit(column, number) else { continue };
            self.expected_bytes -= unit.bytes();
            self.judged_unused += unit.bytes();
            ranges.push(unit.range.clone());
        }
        ranges
    }

    /// Whether the client has jumped, or has left too much unread.
    fn is_wrong(&self, fill: &Fill) -> bool {
        let judged = self.judged_used + fill.right + self.judged_unused;
        fill.wrong > fill.right || self.judged_unused * UNUSED_PART > judged.max(JUDGED.start)
    }

    /// Trusts no prediction before others have been right.
    fn begin_anew(&mut self) {
        self.proofs_needed = (self.proofs_needed * 2).min(PROOFS_MAX);
        self.proofs_missing = self.proofs_needed;
        (self.earned, self.judged_used, self.judged_unused) = (0, 0, 0);
    }

    /// A fill was as expected, or nothing was expected of it.
    fn credit(&mut self, fill: &Fill) {
        self.earned += fill.right;
        self.judged_used += fill.right;
        if fill.right > 0 {
            self.proofs_missing = self.proofs_missing.saturating_sub(1);
        }
        if self.judged_used + self.judged_unused > JUDGED.end {
            self.judged_used /= 2;
            self.judged_unused /= 2;
        }
    }

    /// Bytes that may be ahead of the client: some clusters are a little larger than the last.
    fn bound(&self, link_bytes: u64) -> u64 {
        let fill = self.last_bytes + self.last_bytes / 8;
        // What the link holds, and half of that for bytes that wait here for their cluster.
        let link = link_bytes + link_bytes / 2;
        (fill + link.min(self.earned)).max(AHEAD_MIN)
    }

    /// Expects more where little is ahead.
    fn top_up(&mut self, link_bytes: u64) -> Vec<Range<u64>> {
        let bound = self.bound(link_bytes);
        let is_low = self.expected_bytes + self.last_bytes.max(bound / 4) <= bound;
        if is_low || self.expected.is_empty() { self.extend(bound) } else { Vec::new() }
    }

    /// Expects more, in the order of entries, until so many bytes are ahead; ends with a cluster
    /// where one fits.
    fn extend(&mut self, bound: u64) -> Vec<Range<u64>> {
        let table = self.table.clone();
        let mut next = BinaryHeap::new();
        let place = |column: u32, number: u32| {
            let unit = table.unit(column, number)?;
            Some(Reverse((unit.entry, unit.range.start, column, number)))
        };
        for column in &self.followed {
            let cursor = self.columns.entry(*column).or_default();
            next.extend(place(*column, cursor.ahead.max(cursor.next)));
        }
        let mut more: Vec<(u64, u32, u32, u64)> = Vec::new();
        let mut bytes = self.expected_bytes;
        while let Some(Reverse((entry, _, column, number))) = next.pop() {
            let Some(unit) = table.unit(column, number) else { continue };
            if bytes + unit.bytes() > bound {
                let cluster = table.cluster_of(entry);
                let within = more.partition_point(|(entry, ..)| *entry < cluster);
                more.truncate(if within > 0 { within } else { more.len() });
                break;
            }
            bytes += unit.bytes();
            more.push((entry, column, number, unit.bytes()));
            next.extend(place(column, number + 1));
        }
        let mut ranges = Vec::with_capacity(more.len());
        for (_, column, number, bytes) in more {
            self.expected.insert((column, number));
            self.expected_bytes += bytes;
            self.columns.entry(column).or_default().ahead = number + 1;
            ranges.extend(table.unit(column, number).map(|unit| unit.range.clone()));
        }
        ranges
    }

    fn expected_ranges(&self) -> Vec<Range<u64>> {
        let unit = |(column, number): &(u32, u32)| self.table.unit(*column, *number);
        let mut units: Vec<_> = self.expected.iter().filter_map(unit).collect();
        units.sort_unstable_by_key(|unit| (unit.entry, unit.range.start));
        units.into_iter().map(|unit| unit.range.clone()).collect()
    }
}

#[cfg(test)]
mod tests;
