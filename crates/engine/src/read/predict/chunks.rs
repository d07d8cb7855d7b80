//! Predictions for clients that each read one chunk of the entries of a table. Pure.
//!
//! coffea's executors divide the entries of a file among processes: each opens the file, reads its
//! chunk and closes it. The first vector is mostly all that a client reads, and predicts no further
//! read of this client. But chunks are adjacent, and have the same columns. Two clients with
//! adjacent chunks of the same columns prove it: then the baskets behind the furthest chunk are
//! fetched for later clients, as many chunks as clients have the file open at once, and no more
//! bytes than all clients have read. Where chunks end within baskets, a chunk's first and last
//! basket of each column are kept for the other client that reads them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::fills::Advice;
use super::table_places::{TablePlaces, Unit};

/// Maximum of bytes that are fetched ahead and not read yet.
const AHEAD_MAX: u64 = 64 << 20;
/// Maximum of clients for which chunks are fetched ahead.
const CLIENTS_MAX: usize = 16;
/// Chunks are refuted when more than 1/20 of the used and unused bytes fetched ahead, and more than
/// 1/20 of 1 MiB, are unused.
const UNUSED_PART: u64 = 20;
const JUDGED_MIN: u64 = 1 << 20;

/// The chunks of one table.
#[derive(Debug)]
pub struct Chunks {
    table: Arc<TablePlaces>,
    /// By client number: of clients that have the file open, and of those that closed it last.
    by_client: BTreeMap<u64, Chunk>,
    /// The largest number of clients that had the file open at once.
    clients_max: usize,
    /// By column, the number behind the last basket or page that is read or expected.
    ahead: BTreeMap<u32, u32>,
    expected: BTreeSet<(u32, u32)>,
    expected_bytes: u64,
    /// Baskets that are kept for a second client, and those that are to be dropped.
    shared: BTreeSet<(u32, u32)>,
    not_shared: Vec<(u32, u32)>,
    /// Whether chunks end within baskets.
    has_shared: bool,
    state: State,
    read_bytes: u64,
    used_bytes: u64,
    unused_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No two chunks are adjacent so far.
    Unproven,
    Proven,
    /// Too many of the prefetched bytes were not read.
    Refuted,
}

/// Baskets and pages that one client has read.
#[derive(Debug, Default)]
struct Chunk {
    /// The numbers of baskets or pages by column.
    columns: BTreeMap<u32, Range<u32>>,
    bytes: u64,
    fills: u32,
    has_left: bool,
    /// The client has read out of order.
    has_gaps: bool,
}

impl Chunk {
    /// Whether the client has probably read its whole chunk: with one vector of several columns, or
    /// before it closed the file.
    fn is_whole(&self) -> bool {
        let is_vector = self.fills == 1 && self.columns.len() > 1;
        !self.columns.is_empty() && !self.has_gaps && (self.has_left || is_vector)
    }

    /// Whether `next` has the same columns and begins where this chunk ends, or with its last
    /// baskets.
    fn is_before(&self, next: &Chunk) -> bool {
        let mut is_behind = false;
        for ((column, this), (other, next)) in self.columns.iter().zip(&next.columns) {
            let is_adjacent = next.start == this.end || next.start + 1 == this.end;
            let is_earlier = next.start < this.start || next.end < this.end;
            if column != other || !is_adjacent || is_earlier {
                return false;
            }
            is_behind |= next.start > this.start && next.end > this.end;
        }
        is_behind && self.columns.len() == next.columns.len()
    }

    /// Whether this chunk and `next`, which follows it, share a basket.
    fn shares_with(&self, next: &Chunk) -> bool {
        self.columns.values().zip(next.columns.values()).any(|(this, next)| next.start < this.end)
    }
}

impl Chunks {
    pub fn new(table: Arc<TablePlaces>) -> Self {
        Chunks {
            table,
            by_client: BTreeMap::new(),
            clients_max: 0,
            ahead: BTreeMap::new(),
            expected: BTreeSet::new(),
            expected_bytes: 0,
            shared: BTreeSet::new(),
            not_shared: Vec::new(),
            has_shared: false,
            state: State::Unproven,
            read_bytes: 0,
            used_bytes: 0,
            unused_bytes: 0,
        }
    }

    /// Whether clients read chunks, so that the reads of one client do not predict its next reads.
    pub fn are_proven(&self) -> bool {
        self.state == State::Proven
    }

    /// Whether clients read chunks, and the last entries are read or expected.
    pub fn are_at_end(&self) -> bool {
        let is_at_end = |(column, ahead): (&u32, &u32)| self.table.unit(*column, *ahead).is_none();
        self.are_proven() && self.ahead.iter().all(is_at_end)
    }

    /// Whether a client began behind the table's first entries, or closed the file before the last
    /// ones: then a later client may begin anywhere.
    pub fn is_divided(&self) -> bool {
        let behind_last = |column: &u32, end: u32| self.table.unit(*column, end).is_none();
        let is_part = |chunk: &Chunk| {
            chunk.columns.iter().any(|(column, read)| {
                read.start > 0 || chunk.has_left && !behind_last(column, read.end)
            })
        };
        self.by_client.values().any(is_part)
    }

    /// A client opens the file. Returns the ranges to fetch and to drop.
    pub fn open(&mut self, client: u64) -> Advice {
        self.by_client.entry(client).or_default();
        let open = self.by_client.values().filter(|chunk| !chunk.has_left).count();
        self.clients_max = self.clients_max.max(open.min(CLIENTS_MAX));
        self.advice()
    }

    /// A client reads a basket or page. Returns whether it was fetched ahead for any client.
    pub fn read(&mut self, client: u64, column: u32, number: u32) -> bool {
        let Some(unit) = self.table.unit(column, number) else { return false };
        let bytes = unit.bytes();
        self.read_bytes += bytes;
        let chunk = self.by_client.entry(client).or_default();
        chunk.bytes += bytes;
        let read = chunk.columns.entry(column).or_insert(number..number);
        chunk.has_gaps |= !(read.start..=read.end).contains(&number);
        let last = read.end.saturating_sub(1);
        if number == read.end && read.start < last && self.shared.remove(&(column, last)) {
            // The chunk did not end with this basket.
            self.not_shared.push((column, last));
        }
        read.end = read.end.max(number + 1);
        let was_expected = self.expected.remove(&(column, number));
        if was_expected {
            self.expected_bytes -= bytes;
            self.used_bytes += bytes;
        }
        if let Some(ahead) = self.ahead.get_mut(&column) {
            *ahead = (*ahead).max(number + 1);
        }
        was_expected
    }

    /// Offsets of the first and last basket of each column that a client has read; empty where
    /// chunks end with baskets.
    pub fn ends(&mut self, client: u64) -> BTreeSet<u64> {
        let Some(chunk) = self.by_client.get(&client).filter(|_| self.has_shared) else {
            return BTreeSet::new();
        };
        let ends = chunk.columns.iter().flat_map(|(column, read)| {
            [read.start, read.end - 1].into_iter().map(|number| (*column, number))
        });
        let ends: Vec<(u32, u32)> = ends.collect();
        self.shared.extend(&ends);
        self.ranges(ends.into_iter()).into_iter().map(|range| range.start).collect()
    }

    /// A client has received all that it asked for. Returns the ranges to fetch and to drop.
    pub fn answered(&mut self, client: u64) -> Advice {
        let Some(chunk) = self.by_client.get_mut(&client) else { return Advice::default() };
        if chunk.columns.is_empty() {
            return Advice::default();
        }
        chunk.fills += 1;
        self.compare(client);
        self.advice()
    }

    /// A client has closed the file. Returns the ranges to fetch and to drop.
    pub fn leave(&mut self, client: u64) -> Advice {
        let Some(chunk) = self.by_client.get_mut(&client) else { return Advice::default() };
        chunk.has_left = true;
        match chunk.columns.is_empty() {
            true => drop(self.by_client.remove(&client)),
            false => self.compare(client),
        }
        while self.by_client.len() > 4 * CLIENTS_MAX
            && let Some(first) = self.by_client.iter().find(|(_, chunk)| chunk.has_left)
        {
            let first = *first.0;
            self.by_client.remove(&first);
        }
        self.advice()
    }

    /// Compares a client's chunk with the chunks of other clients: two adjacent ones are the proof.
    fn compare(&mut self, client: u64) {
        if self.state == State::Refuted {
            return;
        }
        let Some(chunk) = self.by_client.get(&client).filter(|chunk| chunk.is_whole()) else {
            return;
        };
        let others = self.by_client.iter().filter(|(other, _)| **other != client);
        let whole = others.map(|(_, other)| other).filter(|other| other.is_whole());
        let shares = |other: &Chunk| match (other.is_before(chunk), chunk.is_before(other)) {
            (true, _) => Some(other.shares_with(chunk)),
            (_, true) => Some(chunk.shares_with(other)),
            _ => None,
        };
        let Some(has_shared) = whole.filter_map(shares).reduce(|one, other| one | other) else {
            return;
        };
        self.has_shared |= has_shared;
        let new = chunk.columns.keys().filter(|column| !self.ahead.contains_key(column));
        let new: Vec<(u32, u32)> = new.map(|column| (*column, self.furthest(*column))).collect();
        self.ahead.extend(new);
        if self.state == State::Unproven {
            self.state = State::Proven;
        }
    }

    /// The number of the basket with which the chunk behind the furthest one begins.
    fn furthest(&self, column: u32) -> u32 {
        let chunks = self.by_client.values().filter_map(|chunk| chunk.columns.get(&column));
        let end = chunks.map(|read| read.end).max().unwrap_or(0);
        end.saturating_sub(u32::from(self.has_shared))
    }

    /// The ranges to fetch and to drop.
    fn advice(&mut self) -> Advice {
        if self.state != State::Proven {
            return Advice::default();
        }
        let mut drop = self.pass_over();
        if self.unused_bytes * UNUSED_PART > (self.used_bytes + self.unused_bytes).max(JUDGED_MIN) {
            self.state = State::Refuted;
            let mut rest = std::mem::take(&mut self.expected);
            rest.append(&mut self.shared);
            drop.extend(self.ranges(rest.into_iter()));
            (self.expected_bytes, self.has_shared) = (0, false);
            return Advice { fetch: Vec::new(), drop };
        }
        Advice { fetch: self.extend(), drop }
    }

    /// The lowest basket number of a column in the chunks of the last clients, of twice as many as
    /// had the file open at once; `None` where they have not read the column.
    fn lowest(&self, column: u32) -> Option<u32> {
        let read = self.by_client.values().filter(|chunk| !chunk.columns.is_empty());
        let last = read.rev().take(2 * self.clients_max);
        last.filter_map(|chunk| Some(chunk.columns.get(&column)?.start)).min()
    }

    /// Stops expecting, and keeping for a second client, baskets in front of the last clients'
    /// chunks. Returns the ranges to drop.
    fn pass_over(&mut self) -> Vec<Range<u64>> {
        let lowest: BTreeMap<u32, u32> =
            self.ahead.keys().filter_map(|column| Some((*column, self.lowest(*column)?))).collect();
        let is_passed = |(column, number): &(u32, u32)| {
            lowest.get(column).is_some_and(|lowest| number < lowest)
        };
        let passed: Vec<_> = self.expected.iter().filter(|unit| is_passed(unit)).copied().collect();
        for unit in &passed {
            self.expected.remove(unit);
        }
        let mut ranges = self.ranges(passed.into_iter());
        let unused = ranges.iter().map(|range| range.end - range.start).sum::<u64>();
        self.expected_bytes -= unused;
        self.unused_bytes += unused;
        let mut gone = std::mem::take(&mut self.not_shared);
        gone.extend(self.shared.iter().filter(|unit| is_passed(unit)));
        self.shared.retain(|unit| !is_passed(unit));
        ranges.extend(self.ranges(gone.into_iter()));
        ranges
    }

    fn ranges(&self, units: impl Iterator<Item = (u32, u32)>) -> Vec<Range<u64>> {
        let range = |(column, number)| Some(self.table.unit(column, number)?.range.clone());
        units.filter_map(range).collect()
    }

    /// Expects the baskets of further chunks; returns their ranges.
    fn extend(&mut self) -> Vec<Range<u64>> {
        let whole = self.by_client.values().filter(|chunk| chunk.is_whole());
        let chunk = whole.map(|chunk| chunk.bytes).max().unwrap_or(0);
        let bound = (chunk * self.clients_max as u64).min(self.read_bytes).min(AHEAD_MAX);
        if self.expected_bytes + chunk.min(bound / 2) > bound {
            return Vec::new();
        }
        let from = self.ahead.iter().map(|(column, number)| (*column, *number));
        let order = |_: u32, _: u32, unit: &Unit| (unit.entry, unit.range.start);
        let mut more = Vec::new();
        let mut bytes = self.expected_bytes;
        for (column, number, unit) in self.table.in_order(from, order) {
            if bytes + unit.bytes() > bound {
                break;
            }
            bytes += unit.bytes();
            more.push((column, number));
        }
        for (column, number) in &more {
            self.ahead.insert(*column, number + 1);
        }
        self.expected_bytes = bytes;
        let ranges = self.ranges(more.iter().copied());
        self.expected.extend(more);
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: u32 = 5;
    const BASKETS: u32 = 80;
    const BYTES: u64 = 10_000;

    /// Clients of one table, and the baskets that are fetched for them.
    struct World {
        chunks: Chunks,
        here: BTreeMap<u64, u32>,
        fetched: u64,
        waits: u32,
        clients: u64,
    }

    impl World {
        fn new() -> Self {
            let unit = |column: u32, number: u32| {
                let start = u64::from(number * COLUMNS + column) * BYTES;
                Unit { range: start..start + BYTES, entry: u64::from(number) * 10 }
            };
            let column = |column: u32| (0..BASKETS).map(|number| unit(column, number)).collect();
            let columns = (0..COLUMNS).map(column).collect();
            let cluster_starts = (0..BASKETS).map(|number| u64::from(number) * 10).collect();
            let table = TablePlaces { columns, cluster_starts, ..TablePlaces::default() };
            let chunks = Chunks::new(Arc::new(table));
            World { chunks, here: BTreeMap::new(), fetched: 0, waits: 0, clients: 0 }
        }

        fn follow(&mut self, advice: Advice) {
            for range in advice.drop {
                self.here.remove(&range.start);
            }
            for range in advice.fetch {
                self.here.insert(range.start, 0);
                self.fetched += range.end - range.start;
            }
            assert!(self.chunks.expected_bytes <= self.chunks.read_bytes, "{:?}", self.chunks);
        }

        fn open(&mut self) -> u64 {
            self.clients += 1;
            let advice = self.chunks.open(self.clients);
            self.follow(advice);
            self.clients
        }

        /// A client reads baskets of two columns, and waits for those that were not fetched ahead.
        fn ask(&mut self, client: u64, baskets: Range<u32>) {
            let mut starts = Vec::new();
            for column in [1, 3] {
                for number in baskets.clone() {
                    self.chunks.read(client, column, number);
                    let unit = self.chunks.table.unit(column, number);
                    starts.extend(unit.map(|unit| unit.range.start));
                }
            }
            let ends = self.chunks.ends(client);
            let mut is_here = true;
            for start in starts {
                let Some(uses) = self.here.get_mut(&start) else {
                    is_here = false;
                    continue;
                };
                *uses += 1;
                if *uses > 1 || !ends.contains(&start) {
                    self.here.remove(&start);
                }
            }
            self.waits += u32::from(!is_here);
        }

        fn answer(&mut self, client: u64) {
            let advice = self.chunks.answered(client);
            self.follow(advice);
        }

        fn leave(&mut self, client: u64) {
            let advice = self.chunks.leave(client);
            self.follow(advice);
        }

        /// Four processes at a time each read one of the `chunks`, of `entries` entries.
        fn play(&mut self, chunks: &[u32], entries: u32) {
            for together in chunks.chunks(4) {
                let clients: Vec<u64> = together.iter().map(|_| self.open()).collect();
                for (client, chunk) in clients.iter().zip(together) {
                    let first = chunk * entries;
                    let stop = (chunk + 1) * entries;
                    self.ask(*client, first / 10..stop.div_ceil(10).min(BASKETS));
                }
                clients.iter().for_each(|client| self.answer(*client));
                clients.iter().for_each(|client| self.leave(*client));
            }
        }
    }

    #[test]
    fn chunks_are_here_from_the_second_of_each_process_on() {
        for entries in [20, 25, 40] {
            let mut world = World::new();
            let chunks: Vec<u32> = (0..800 / entries).collect();
            world.play(&chunks, entries);
            assert_eq!(world.waits, 4, "{entries} entries a chunk");
            let all = u64::from(BASKETS) * 2 * BYTES;
            assert!(world.fetched < all, "{entries} entries a chunk: {} bytes", world.fetched);
            let unused = world.chunks.unused_bytes;
            assert!(unused * UNUSED_PART <= world.fetched, "{entries} entries a chunk: {unused}");
            assert!(world.here.is_empty() || entries == 25, "{:?}", world.here);
        }
    }

    #[test]
    fn processes_that_begin_in_any_order_are_served_as_well() {
        let mut world = World::new();
        let chunks: Vec<u32> = (0..8).flat_map(|of| [2, 0, 3, 1].map(|at| of * 4 + at)).collect();
        world.play(&chunks, 25);
        assert_eq!(world.waits, 4);
        let unused = world.chunks.unused_bytes;
        assert!(unused * UNUSED_PART <= world.fetched, "{unused} bytes of {}", world.fetched);
    }

    #[test]
    fn clients_that_read_the_same_prove_nothing() {
        let mut world = World::new();
        let clients = [world.open(), world.open()];
        for number in 0..20 {
            for client in clients {
                world.ask(client, number..number + 1);
                world.answer(client);
            }
        }
        assert!(!world.chunks.are_proven() && !world.chunks.is_divided());
        clients.iter().for_each(|client| world.leave(*client));
        assert!(!world.chunks.are_proven() && world.chunks.is_divided());
    }

    #[test]
    fn chunks_that_are_passed_over_end_it() {
        let mut world = World::new();
        world.play(&[0, 1, 2, 3], 20);
        assert!(world.chunks.are_proven());
        let fetched = world.fetched;
        assert!(fetched > 0);
        world.play(&[30, 31, 32, 33, 34, 35, 36, 37], 20);
        assert!(!world.chunks.are_proven() && world.here.is_empty(), "{:?}", world.chunks);
        assert!(world.fetched <= 2 * fetched, "{} bytes", world.fetched);
    }

    /// Regression: two adjacent chunks made the ends of chunks be kept again, and never dropped.
    #[test]
    fn nothing_is_kept_for_a_second_client_once_chunks_are_refuted() {
        let mut world = World::new();
        world.play(&[0, 1, 2, 3], 20);
        world.play(&[30, 31, 32, 33, 34, 35, 36, 37], 20);
        assert_eq!(world.chunks.state, State::Refuted, "{:?}", world.chunks);
        world.play(&[10, 11, 12, 13], 25);
        let client = world.open();
        world.chunks.read(client, 1, 0);
        assert_eq!(world.chunks.ends(client), BTreeSet::new());
    }
}
