//! One client's reads of one table: predicted from its earlier reads, or from the chunks of all
//! clients.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::key_reads::KeyReads;
use crate::read::predict::chunks::Chunks;
use crate::read::predict::fills::{Advice, Predictor};
use crate::read::predict::history::AccessHistory;
use crate::read::predict::pace::Way;
use crate::read::predict::table_places::TablePlaces;

#[derive(Debug)]
pub struct TableReader {
    /// The number of the client.
    client: u64,
    predictor: Predictor,
    /// Whether clients read chunks, and this client's reads have not predicted its next reads.
    reads_chunk: bool,
    /// Ranges that were fetched ahead for this client and for chunks, too, and that it reads now.
    fetched_twice: Vec<Range<u64>>,
    keys: KeyReads,
}

impl TableReader {
    pub fn new(client: u64, table: Arc<TablePlaces>) -> Self {
        TableReader {
            client,
            predictor: Predictor::new(table),
            reads_chunk: false,
            fetched_twice: Vec::new(),
            keys: KeyReads::default(),
        }
    }

    pub fn predictor(&self) -> &Predictor {
        &self.predictor
    }

    /// The client has opened the file. Returns the ranges to fetch first, and to drop; those of the
    /// `history` only where clients do not read parts of the table.
    pub fn begin(&mut self, chunks: &mut Chunks, history: Option<AccessHistory>) -> Advice {
        let mut advice = chunks.open(self.client);
        self.reads_chunk = chunks.are_proven();
        if let Some(history) = history.filter(|_| !chunks.is_divided()) {
            let columns = self.predictor.table().columns_of(&history);
            advice.add(self.predictor.begin(&columns, history.fill_bytes));
        }
        advice
    }

    /// The client reads a basket or page.
    pub fn read(&mut self, chunks: &mut Chunks, column: u32, number: u32) {
        let for_chunk = chunks.read(self.client, column, number);
        let for_client = self.predictor.read(column, number) && !self.reads_chunk;
        if for_chunk && for_client {
            let unit = self.predictor.table().unit(column, number);
            self.fetched_twice.extend(unit.map(|unit| unit.range.clone()));
        }
    }

    /// The client reads so many first bytes of a basket, and no more. Returns the keys to fetch and
    /// to drop.
    pub fn read_key(&mut self, column: u32, number: u32, length: u64) -> Advice {
        self.keys.read(self.predictor.table(), (column, number), length)
    }

    /// Expects no further reads of keys; returns the keys that the client has not read.
    pub fn end_keys(&mut self) -> Vec<Range<u64>> {
        self.keys.end()
    }

    /// The client waits for its read. Returns the ranges to fetch and to drop meanwhile.
    pub fn asked(&mut self, chunks: &Chunks, now: Duration, way: Way) -> Advice {
        let mut advice = Advice { fetch: Vec::new(), drop: self.choose(chunks) };
        // The read itself ends one of the two predictions.
        advice.drop.append(&mut self.fetched_twice);
        let own = self.predictor.asked(now, way);
        if !self.reads_chunk {
            advice.add(own);
        }
        advice
    }

    /// The client has received all that it reads. Returns the ranges to fetch and to drop.
    pub fn answered(&mut self, chunks: &mut Chunks, now: Duration, way: Way) -> Advice {
        let mut advice = chunks.answered(self.client);
        advice.drop.extend(self.choose(chunks));
        let own = self.predictor.answered(now, way);
        if !self.reads_chunk {
            advice.add(own);
        }
        advice
    }

    /// Whether all that will probably be read is read or expected.
    pub fn is_at_end(&self, chunks: &Chunks) -> bool {
        if self.reads_chunk { chunks.are_at_end() } else { self.predictor.is_at_end() }
    }

    /// The client has closed the file. Returns the ranges to fetch and to drop.
    pub fn leave(&mut self, chunks: &mut Chunks) -> Advice {
        let mut advice = chunks.leave(self.client);
        if !self.reads_chunk {
            advice.drop.extend(self.predictor.end());
        }
        advice
    }

    /// Chooses whether to follow chunks: as long as clients read chunks, unless predictions from
    /// the client's own reads have been right before. Returns the ranges of its predictions that
    /// end, to be dropped.
    fn choose(&mut self, chunks: &Chunks) -> Vec<Range<u64>> {
        let was_chunk = self.reads_chunk;
        let may_follow = was_chunk || !self.predictor.has_been_right();
        self.reads_chunk = chunks.are_proven() && may_follow;
        if self.reads_chunk == was_chunk {
            return Vec::new();
        }
        let expected = self.predictor.pause();
        // Of a client that has followed chunks they were only counted, not fetched.
        if was_chunk { Vec::new() } else { expected }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tokio::sync::mpsc;

    use super::*;
    use crate::read::predict::table_places::Unit;
    use crate::read::watch::pieces::Pieces;

    const BYTES: u64 = 40_000;
    const WAY: Way = Way { round_trip: Duration::from_millis(100), bytes: 400_000 };

    /// Clients of a table of five columns with 80 baskets each; they read columns 1 and 3.
    struct World {
        table: Arc<TablePlaces>,
        chunks: Chunks,
        clients: u64,
        now: Duration,
    }

    impl World {
        fn new() -> Self {
            let unit = |column: u64, number: u64| {
                let start = (number * 5 + column) * BYTES;
                Unit { range: start..start + BYTES, entry: number * 10 }
            };
            let column = |column| (0..80).map(|number| unit(column, number)).collect();
            let columns = (0..5).map(column).collect();
            let cluster_starts = Vec::new();
            let table = TablePlaces { columns, cluster_starts, ..TablePlaces::default() };
            let table = Arc::new(table);
            let chunks = Chunks::new(table.clone());
            World { table, chunks, clients: 0, now: Duration::ZERO }
        }

        fn open(&mut self) -> TableReader {
            self.clients += 1;
            let mut client = TableReader::new(self.clients, self.table.clone());
            client.begin(&mut self.chunks, None);
            client
        }

        /// The ranges that a client reads of baskets, and the advice before their answer.
        fn ask(
            &mut self,
            client: &mut TableReader,
            baskets: Range<u32>,
        ) -> (Vec<Range<u64>>, Advice) {
            let mut ranges = Vec::new();
            for (column, number) in
                [1, 3].into_iter().flat_map(|c| baskets.clone().map(move |n| (c, n)))
            {
                client.read(&mut self.chunks, column, number);
                ranges.extend(self.table.unit(column, number).map(|unit| unit.range.clone()));
            }
            self.now += Duration::from_millis(100);
            (ranges, client.asked(&self.chunks, self.now, WAY))
        }

        /// The advice before and after the answer to a read of baskets.
        fn read(&mut self, client: &mut TableReader, baskets: Range<u32>) -> Advice {
            let (_, mut advice) = self.ask(client, baskets);
            self.now += Duration::from_millis(100);
            advice.add(client.answered(&mut self.chunks, self.now, WAY));
            advice
        }

        /// Clients that each open the file, read the four baskets from one of `starts` on, and
        /// close it.
        fn read_chunks(&mut self, starts: &[u32]) {
            for start in starts {
                let mut client = self.open();
                self.read(&mut client, *start..start + 4);
                client.leave(&mut self.chunks);
            }
        }
    }

    /// Regression: once other clients had proven that they read chunks, nothing was fetched ahead
    /// any more for a client whose own predictions were right.
    #[test]
    fn a_client_with_right_predictions_keeps_them_beside_clients_that_read_chunks() {
        let mut world = World::new();
        let mut client = world.open();
        for number in 0..4 {
            world.read(&mut client, number..number + 1);
        }
        world.read_chunks(&[40, 44]);
        assert!(world.chunks.are_proven());
        let mut fetched = Vec::new();
        for number in 4..12 {
            let advice = world.read(&mut client, number..number + 1);
            assert_eq!(advice.drop, []);
            fetched.extend(advice.fetch);
        }
        assert!(fetched.iter().any(|range| range.start < 40 * 5 * BYTES), "{fetched:?}");
    }

    /// Regression: a client that had followed chunks was fetched nothing any more, also after these
    /// had turned out to be none.
    #[test]
    fn a_client_is_read_ahead_again_once_chunks_are_refuted() {
        let mut world = World::new();
        world.read_chunks(&[0, 4]);
        assert!(world.chunks.are_proven());
        let mut client = world.open();
        world.read(&mut client, 20..21);
        assert!(client.reads_chunk);
        world.read_chunks(&[60, 60, 60, 60, 60, 60]);
        assert!(!world.chunks.are_proven(), "{:?}", world.chunks);
        let mut fetched = Vec::new();
        for number in 21..26 {
            let advice = world.read(&mut client, number..number + 1);
            assert_eq!(advice.drop, [], "was only counted");
            fetched.extend(advice.fetch);
        }
        assert!(!client.reads_chunk && !fetched.is_empty());
    }

    /// Regression: ranges that were prefetched for a client and for chunks, too, were kept after
    /// this client had read them, until the file was closed.
    #[test]
    fn what_is_fetched_ahead_for_a_client_and_for_chunks_is_not_kept_once_read() {
        let mut world = World::new();
        let mut pieces = Pieces::default();
        let (orders, _receiver) = mpsc::unbounded_channel();
        let follow = |pieces: &mut Pieces, advice: Advice| {
            pieces.expect(advice.fetch, &orders);
            pieces.give_up(&advice.drop);
        };
        let mut client = world.open();
        for number in 8..12 {
            let advice = world.read(&mut client, number..number + 1);
            follow(&mut pieces, advice);
        }
        for start in [0, 4] {
            let mut other = world.open();
            let advice = world.read(&mut other, start..start + 4);
            follow(&mut pieces, advice);
            follow(&mut pieces, other.leave(&mut world.chunks));
        }
        assert!(world.chunks.are_proven());
        assert!((0..400).any(|at| pieces.claims(at * BYTES) > 1), "{pieces:?}");
        for number in 12..20 {
            let (ranges, advice) = world.ask(&mut client, number..number + 1);
            follow(&mut pieces, advice);
            for range in ranges {
                pieces.read(&range, &BTreeSet::new());
                assert_eq!(pieces.claims(range.start), 0, "{range:?}");
            }
            world.now += Duration::from_millis(100);
            let advice = client.answered(&mut world.chunks, world.now, WAY);
            follow(&mut pieces, advice);
        }
    }
}
