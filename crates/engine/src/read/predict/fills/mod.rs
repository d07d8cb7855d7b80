//! Prediction of the bytes that a client reads next. Pure: reads go in, ranges come out.
//!
//! A client's reads between two moments at which it waits for nothing are a *fill*: one basket of a
//! client without a cache, the vectors of a TTreeCache, which holds some clusters. The next fill is
//! expected to be alike: the next baskets of the columns of the last fill, and of those that were
//! read in several fills and are due later. Where each fill reads one column (as coffea reads a
//! chunk), a column that is read again begins the next *round*: the columns that were read since
//! its last turn follow, in their order. ROOT may fill its cache with all branches at first, to
//! learn; so the first fill proves nothing where the second one has fewer columns.
//!
//! Predictions are only counted until one has been right. Then ranges are fetched: as much as the
//! client reads during a request (`pace`), and beyond one fill no more than was predicted rightly
//! so far. A client that jumps, or leaves more than a twentieth unread, ends this until predictions
//! have been right again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::read::predict::pace::{ClientPace, Way};
use crate::read::predict::table_places::{TablePlaces, Unit};

/// Fills in a row after which a column is followed that was not in the last one.
const STEADY: u32 = 3;
/// Of a client without a cache so much is ahead from the start, bytes.
const AHEAD_MIN: u64 = 64 << 10;
/// Predictions are judged by the last of them, bytes; and from so many on.
const JUDGED: Range<u64> = 1 << 20..64 << 20;
/// Of the judged bytes, at most one part in so many may be unused.
const UNUSED_PART: u64 = 20;
/// Right predictions that are needed after the client has been found to jump, at most.
const PROOFS_MAX: u32 = 8;

/// Ranges to fetch and to drop before the client's next request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Advice {
    /// Fetch these, most urgent first.
    pub fetch: Vec<Range<u64>>,
    /// These were fetched in vain.
    pub drop: Vec<Range<u64>>,
}

impl Advice {
    pub fn add(&mut self, more: Advice) {
        self.fetch.extend(more.fetch);
        self.drop.extend(more.drop);
    }
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
    pace: ClientPace,
    /// Number of the fill since which columns are read in turns.
    round: Option<u32>,
    /// Number of the fill since which each fill has read one column.
    alone_since: u32,
    /// Right predictions that are still needed before anything is fetched.
    proofs_missing: u32,
    proofs_needed: u32,
    /// Bytes that were expected and read, since predictions were last found to be wrong.
    earned: u64,
    /// Bytes that were read in order.
    orderly: u64,
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
    /// The last fill that read the column, and how many of its baskets.
    fill: u32,
    units: u32,
    /// It is known from a file like this one that it will be read.
    is_usual: bool,
}

/// Baskets that were read since the client last waited for nothing.
#[derive(Debug, Default)]
struct Fill {
    units: u32,
    columns: u32,
    bytes: u64,
    /// The lowest first entry of the baskets in front of those that were read, and the highest
    /// first entry of those that were read.
    entries: Option<(u64, u64)>,
    /// Bytes that were expected, and bytes that were read out of order.
    right: u64,
    wrong: u64,
    /// Number of an earlier fill that read a column of this one.
    read_before: Option<u32>,
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
            pace: ClientPace::default(),
            round: None,
            alone_since: 0,
            proofs_missing: 1,
            proofs_needed: 1,
            earned: 0,
            orderly: 0,
            judged_used: 0,
            judged_unused: 0,
        }
    }

    /// Expects the client to begin as one of a file like this one did: with so many bytes of these
    /// columns.
    pub fn begin(&mut self, columns: &[u32], bytes: u64) -> Advice {
        for column in columns {
            self.columns.entry(*column).or_default().is_usual = true;
        }
        self.proofs_missing = 0;
        self.pace.begin(bytes);
        self.followed = columns.to_vec();
        // The same fill of another file may be somewhat larger.
        Advice { fetch: self.extend(self.pace.fill()), drop: Vec::new() }
    }

    /// The client reads a basket or page. Returns whether it was fetched ahead for this client.
    pub fn read(&mut self, column: u32, number: u32) -> bool {
        let Some(unit) = self.table.unit(column, number) else { return false };
        let entry = unit.entry;
        let bytes = unit.bytes();
        let cursor =
            self.columns.entry(column).or_insert(Cursor { next: number, ..Cursor::default() });
        if number + 1 == cursor.next {
            // The last one once more: entries of two fills are in it.
            return false;
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
            if cursor.fill > 0 {
                self.fill.read_before = Some(cursor.fill);
            }
            (cursor.fill, cursor.units) = (self.fills + 1, 0);
            cursor.steady += 1;
            self.fill.columns += 1;
        }
        cursor.units += 1;
        self.fill.units += 1;
        self.fill.bytes += bytes;
        let before = self.table.unit(column, number.saturating_sub(1)).map_or(0, |at| at.entry);
        let (low, high) = self.fill.entries.unwrap_or((before, entry));
        self.fill.entries = Some((low.min(before), high.max(entry)));
        was_expected && self.is_proven()
    }

    /// The client waits for the ranges of this fill. Returns the ranges to fetch meanwhile, where
    /// they were expected; an expected fill also is the last missing proof. Where some of its bytes
    /// are fetched only now, over the same link, no more is added than would be late if requested
    /// after them.
    pub fn asked(&mut self, now: Duration, way: Way) -> Advice {
        let Fill { bytes, right, wrong, .. } = self.fill;
        if bytes > 0 {
            self.pace.asked(now);
        }
        if right == 0 || right * 2 < bytes || wrong > 0 {
            return Advice::default();
        }
        let was_fetched = self.is_proven() && right == bytes;
        if self.proofs_missing == 1 && self.is_as_before() {
            // Its ranges were only counted, not fetched.
            self.expect_nothing();
            self.proofs_missing = 0;
        }
        let fetch = match self.is_proven() {
            true if was_fetched => self.top_up(way),
            true => self.extend_by(self.pace.late(way), self.bound(way)),
            false => Vec::new(),
        };
        Advice { fetch, drop: Vec::new() }
    }

    /// Expects `bytes` more, up to `bound` in all; returns their ranges.
    fn extend_by(&mut self, bytes: u64, bound: u64) -> Vec<Range<u64>> {
        let most = (self.expected_bytes + bytes).min(bound);
        if bytes == 0 { Vec::new() } else { self.extend(most) }
    }

    /// Whether the present fill has baskets of every column that is followed, or is the next of a
    /// round. ROOT's cache leaves out columns that it has only read to learn.
    fn is_as_before(&self) -> bool {
        let is_read = |column: &u32| {
            self.columns.get(column).is_some_and(|cursor| cursor.fill == self.fills + 1)
        };
        let is_next_of_round = self.round.is_some() && self.fill.columns == 1;
        is_next_of_round || self.fill.units > 1 && self.followed.iter().all(is_read)
    }

    /// The client has received all ranges of this fill. Returns the ranges to fetch and to drop.
    pub fn answered(&mut self, now: Duration, way: Way) -> Advice {
        if self.fill.units == 0 {
            return Advice::default();
        }
        let fill = std::mem::take(&mut self.fill);
        self.fills += 1;
        self.last_bytes = fill.bytes;
        self.pace.answered(now, fill.bytes);
        self.set_round(&fill);
        let was_proven = self.is_proven();
        self.followed = self.to_follow(&fill);
        let mut drop = self.pass_over();
        let was_to_learn = self.fills == 2 && !was_proven && !drop.is_empty();
        if fill.wrong <= fill.right && was_to_learn {
            self.pace.forget();
            self.pace.answered(now, fill.bytes);
        } else if self.is_wrong(&fill) {
            drop.extend(self.expect_nothing());
            self.begin_anew();
        } else {
            self.credit(&fill);
        }
        if !was_proven {
            // Its ranges were only counted, not fetched.
            self.expect_nothing();
        }
        let fetch = self.top_up(way);
        Advice {
            fetch: if self.is_proven() { fetch } else { Vec::new() },
            drop: if was_proven { drop } else { Vec::new() },
        }
    }

    /// Begins a round, or goes on with one, where a column is read again after other columns, each
    /// in a fill of its own.
    fn set_round(&mut self, fill: &Fill) {
        if fill.columns > 1 || fill.wrong > fill.right {
            self.round = None;
            self.alone_since = self.fills + 1;
        }
        let is_after_others = |before: &u32| (self.alone_since..self.fills - 1).contains(before);
        self.round = self.round.or(fill.read_before.filter(is_after_others));
    }

    /// Whether predictions are fetched, and not only counted.
    pub fn is_proven(&self) -> bool {
        self.proofs_missing == 0
    }

    /// Whether predictions from the client's own reads have been right since they were last wrong.
    pub fn has_been_right(&self) -> bool {
        self.is_proven() && self.earned + self.fill.right > 0
    }

    /// Whether the client reads as expected, and all that it will probably read has been read or
    /// predicted.
    pub fn is_at_end(&self) -> bool {
        let is_at_end = |column: &u32| {
            let end = self.columns.get(column).map_or(0, |cursor| cursor.ahead.max(cursor.next));
            self.table.unit(*column, end).is_none()
        };
        let has_read = self.fills > 0 || self.fill.right > 0;
        let is_followed = self.is_proven() && has_read && !self.followed.is_empty();
        is_followed && self.followed.iter().all(is_at_end)
    }

    /// Whether the client reads one column after the other, and not several together.
    pub fn reads_alone(&self) -> bool {
        self.fill.columns <= 1 && self.alone_since <= self.fills
    }

    pub fn table(&self) -> &TablePlaces {
        &self.table
    }

    /// The client has gone. Returns the ranges that were fetched for it and not read.
    pub fn end(&mut self) -> Vec<Range<u64>> {
        let expected = self.expect_nothing();
        if self.is_proven() { expected } else { Vec::new() }
    }

    /// Ends all predictions, which count neither as right nor as wrong. Returns the ranges that
    /// were fetched for the client.
    pub fn pause(&mut self) -> Vec<Range<u64>> {
        let judged_unused = self.judged_unused;
        let expected = self.end();
        self.judged_unused = judged_unused;
        expected
    }

    /// The probable first reads of the next client of a file like this one: columns, and bytes of
    /// them. `None` where this one has not read in order.
    pub fn history(&self) -> Option<(Vec<u32>, u64)> {
        let is_read_on = |cursor: &Cursor| {
            cursor.fill == self.fills || self.is_steady(cursor) || self.is_in_round(cursor)
        };
        let read_on = self.columns.iter().filter(|(_, cursor)| is_read_on(cursor));
        let columns: Vec<u32> = read_on.map(|(column, _)| *column).collect();
        let is_orderly = self.fills > 0 && self.proofs_needed == 1;
        is_orderly.then_some((columns, self.last_bytes.max(self.orderly.min(JUDGED.start))))
    }

    fn is_steady(&self, cursor: &Cursor) -> bool {
        cursor.steady >= STEADY || cursor.is_usual
    }

    fn is_in_round(&self, cursor: &Cursor) -> bool {
        self.round.is_some_and(|round| cursor.fill >= round)
    }

    /// Columns whose next baskets are expected after a fill.
    fn to_follow(&self, fill: &Fill) -> Vec<u32> {
        // Predictions from the first fill are only counted.
        let is_vector = fill.units > 1 && (self.fills > 1 || !self.is_proven());
        let (low, high) = fill.entries.unwrap_or_default();
        let is_followed = |(column, cursor): (&u32, &Cursor)| {
            let entry = |number: u32| self.table.unit(*column, number).map(|unit| unit.entry);
            let begins = |from: u64| entry(cursor.next).is_some_and(|entry| entry >= from);
            let ends = |from: u64| entry(cursor.next + 1).is_none_or(|after| after > from);
            // Baskets that the client passed over are not read any more. Where columns are read in
            // turns, the other columns follow with the same entries, from within a basket on.
            let is_due_later = || match fill.columns {
                1 => begins(low) || ends(low),
                _ => begins(high),
            };
            let is_regular = self.is_steady(cursor) || self.is_in_round(cursor);
            let follows = match cursor.fill == self.fills {
                true => is_vector || is_regular,
                false => is_regular && is_due_later(),
            };
            follows.then_some(*column)
        };
        self.columns.iter().filter_map(is_followed).collect()
    }

    /// Ends predictions of baskets behind the client, and of columns that it has left.
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
            if let Some(cursor) = self.columns.get_mut(&column).filter(|at| at.next <= number) {
                cursor.ahead = cursor.next;
            }
            let Some(unit) = self.table.unit(column, number) else { continue };
            self.expected_bytes -= unit.bytes();
            ranges.push(unit.range.clone());
        }
        if self.is_proven() {
            self.judged_unused += ranges.iter().map(|range| range.end - range.start).sum::<u64>();
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
        self.orderly += fill.bytes - fill.wrong;
        self.judged_used += fill.right;
        if fill.right > 0 {
            self.proofs_missing = self.proofs_missing.saturating_sub(1);
        }
        if self.judged_used + self.judged_unused > JUDGED.end {
            self.judged_used /= 2;
            self.judged_unused /= 2;
        }
    }

    /// Maximum of bytes that may be fetched ahead of the client.
    fn bound(&self, way: Way) -> u64 {
        let fill = self.pace.fill();
        let more = self.pace.ahead(way).saturating_sub(fill);
        // Expected bytes of this fill count while the client still waits for them.
        (fill + more.min(self.earned + self.fill.right)).max(AHEAD_MIN)
    }

    /// Expects more where little is ahead.
    fn top_up(&mut self, way: Way) -> Vec<Range<u64>> {
        let bound = self.bound(way);
        let has_room = self.expected_bytes + self.last_bytes.max(bound / 4) <= bound;
        let is_low = self.expected.is_empty() || self.expected_bytes < self.last_bytes;
        if has_room || is_low { self.extend(bound) } else { Vec::new() }
    }

    /// Expects more baskets, in the order of entries or of turns, up to `bound` bytes ahead, and
    /// returns their ranges; ends with a cluster where one fits. The first basket always fits.
    fn extend(&mut self, bound: u64) -> Vec<Range<u64>> {
        let table = self.table.clone();
        let is_round = self.round.is_some();
        for column in &self.followed {
            self.columns.entry(*column).or_default();
        }
        let columns = &self.columns;
        let order = |column: u32, number: u32, unit: &Unit| {
            let cursor = columns.get(&column).copied().unwrap_or_default();
            let turn = u64::from(number.saturating_sub(cursor.next) / cursor.units.max(1));
            match is_round {
                true => (turn, u64::from(cursor.fill)),
                false => (unit.entry, unit.range.start),
            }
        };
        let from = self.followed.iter().filter_map(|column| {
            let cursor = columns.get(column)?;
            Some((*column, cursor.ahead.max(cursor.next)))
        });
        let mut more: Vec<(u64, u32, u32, u64)> = Vec::new();
        let mut bytes = self.expected_bytes;
        for (column, number, unit) in table.in_order(from, order) {
            if bytes > 0 && bytes + unit.bytes() > bound {
                let cluster = table.cluster_of(unit.entry);
                let within = more.partition_point(|(entry, ..)| *entry < cluster);
                let ends_within = within > 0 && !is_round;
                more.truncate(if ends_within { within } else { more.len() });
                break;
            }
            bytes += unit.bytes();
            more.push((unit.entry, column, number, unit.bytes()));
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
}

#[cfg(test)]
mod tests;
