//! One client of a watched file: its reads go to a predictor for each table.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mutex::Mutex;
use tokio::time::Instant;

use super::key_reads::KEY_BYTES_MAX;
use super::last_baskets::LastBaskets;
use super::places::Places;
use super::shared::{Predicted, Shared};
use super::table_reader::TableReader;
use crate::read::predict::chunks::Chunks;
use crate::read::predict::fills::Advice;
use crate::read::predict::history::{AccessHistory, ReaderKind};
use crate::read::predict::table_places::TablePlaces;

/// A single range as long as this is of a client that copies the file.
const COPY_BYTES: u64 = 1 << 20;
/// Maximum number of ranges that are kept until the baskets in them are known.
const EARLY_MAX: usize = 1 << 16;

#[derive(Debug)]
pub struct Client {
    shared: Arc<Shared>,
    number: u64,
    opened: Instant,
    /// Whether nothing is fetched ahead for this client.
    only_reads: bool,
    reader: Mutex<Reader>,
}

#[derive(Debug, Default)]
struct Reader {
    /// One a table; none before the file's metadata are here.
    tables: Vec<TableReader>,
    /// Reads of before.
    early: Vec<Range<u64>>,
    /// Reads that have not been answered.
    unanswered: usize,
    last: LastBaskets,
}

/// A read of a client that has begun.
#[derive(Debug)]
pub struct ClientRead {
    pub answering: Answering,
    /// Ranges to fetch meanwhile, behind those of the read.
    pub predicted: Predicted,
    /// Keys of baskets to fetch with those that are read.
    pub keys: Predicted,
    /// Offsets of baskets that a second client reads, too.
    pub ends: BTreeSet<u64>,
    /// Whether all that the client will probably read of the file is read or expected.
    pub is_at_end: bool,
}

/// A read until the client has its answer.
#[derive(Debug)]
pub struct Answering {
    client: Arc<Client>,
    ranges: Vec<Range<u64>>,
}

impl Client {
    /// A client with a number of its own.
    pub fn new(shared: Arc<Shared>, number: u64, only_reads: bool) -> Arc<Self> {
        let opened = Instant::now();
        let reader = Mutex::default();
        Arc::new(Client { shared, number, opened, only_reads, reader })
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// If the file's metadata are here, fetches the ranges that clients of such files read first.
    pub fn begin(&self) {
        // Without predictors, no read of the client is followed.
        let places = self.shared.places().filter(|_| !self.only_reads);
        let Some(places) = places else { return };
        let now = self.opened.elapsed();
        let predicted = self.reader.lock().begin(self.number, places, &self.shared, now);
        self.shared.fetch(predicted);
    }

    /// The bytes of a range that the client read before, if they are kept.
    pub fn last(&self, range: &Range<u64>) -> Option<Bytes> {
        self.reader.lock().last.get(range)
    }

    /// The client asks for ranges.
    pub fn read(self: &Arc<Self>, ranges: &[Range<u64>]) -> ClientRead {
        let mut advice = Advice::default();
        let mut keys = Advice::default();
        let mut ends = BTreeSet::new();
        let mut is_at_end = false;
        let mut reader = self.reader.lock();
        reader.unanswered += 1;
        let answering = Answering { client: self.clone(), ranges: ranges.to_vec() };
        let ranges = &joined(ranges)[..];
        let is_copy = |range: &Range<u64>| range.end.saturating_sub(range.start) >= COPY_BYTES;
        // Until `expect`, see there.
        let mut chunks = self.shared.chunks.lock();
        match self.shared.places() {
            _ if ranges.len() == 1 && is_copy(&ranges[0]) => {}
            Some(places) => {
                keys = reader.read(places, &mut chunks, ranges);
                let now = self.opened.elapsed();
                let way = self.shared.way();
                for (table, chunks) in reader.tables.iter_mut().zip(&mut *chunks) {
                    advice.add(table.asked(chunks, now, way));
                    ends.append(&mut chunks.ends(self.number));
                    is_at_end |= table.is_at_end(chunks);
                }
            }
            None if reader.early.len() + ranges.len() <= EARLY_MAX => {
                reader.early.extend_from_slice(ranges);
            }
            None => {}
        }
        let keys = self.shared.expect_keys(keys);
        let predicted = self.shared.expect(advice);
        ClientRead { answering, predicted, keys, ends, is_at_end }
    }
}

impl Reader {
    fn begin(&mut self, client: u64, places: &Places, shared: &Shared, now: Duration) -> Predicted {
        let mut begun = Advice::default();
        if !self.tables.is_empty() {
            return shared.expect(begun);
        }
        let table = |table: &Arc<TablePlaces>| TableReader::new(client, table.clone());
        self.tables.extend(places.tables.iter().map(table));
        let history =
            |table: &Arc<TablePlaces>| shared.histories.load(ReaderKind::ByteRanges, table.shape());
        let histories: Vec<Option<AccessHistory>> = places.tables.iter().map(history).collect();
        let early = std::mem::take(&mut self.early);
        let mut chunks = shared.chunks.lock();
        self.read(places, &mut chunks, &early);
        // The keys that such reads let expect have not been fetched.
        self.tables.iter_mut().for_each(|table| drop(table.end_keys()));
        let tables = self.tables.iter_mut().zip(&mut *chunks).zip(histories);
        for ((table, chunks), history) in tables {
            begun.add(table.begin(chunks, history));
            if self.unanswered == 0 {
                begun.add(table.answered(chunks, now, shared.way()));
            }
        }
        begun.drop.extend(shared.take_first_fill());
        shared.expect(begun)
    }

    /// Returns the keys of baskets to fetch and to drop.
    fn read(&mut self, places: &Places, chunks: &mut [Chunks], ranges: &[Range<u64>]) -> Advice {
        let mut keys = Advice::default();
        for range in ranges {
            for place in places.within(range) {
                let Some(unit) = places.tables[place.table].unit(place.column, place.number) else {
                    continue;
                };
                let Some(table) = self.tables.get_mut(place.table) else { continue };
                // One that is asked for in parts has been read with its last.
                if unit.range.end <= range.end {
                    if let Some(chunks) = chunks.get_mut(place.table) {
                        table.read(chunks, place.column, place.number);
                    }
                } else if unit.range.start == range.start
                    && range.end - range.start <= KEY_BYTES_MAX
                {
                    let length = range.end - range.start;
                    keys.add(table.read_key(place.column, place.number, length));
                }
            }
        }
        keys
    }

    /// Keeps bytes that the client may read again, where it reads one column after the other.
    fn keep(&mut self, places: &Places, shared: &Shared, range: &Range<u64>, bytes: &Bytes) {
        match self.tables.iter().all(|table| table.predictor().reads_alone()) {
            true => {
                let share = |bytes| shared.kept_total.share(bytes, shared.remote.fetcher());
                self.last.keep(places, range, bytes, share);
            }
            false => self.last.clear(),
        }
    }
}

/// Ranges with those that touch made one: a server may divide a client's request.
fn joined(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range.clone()),
        }
    }
    joined
}

impl Answering {
    /// The client receives the bytes of range number `index`.
    pub fn has_come(&self, index: usize, bytes: &Bytes) {
        let Client { shared, reader, .. } = &*self.client;
        let Some(places) = shared.places() else { return };
        let Some(range) = self.ranges.get(index) else { return };
        reader.lock().keep(places, shared, range, bytes);
    }

    /// The file is another one now.
    pub fn set_stale(&self) {
        self.client.shared.set_stale();
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let Client { shared, opened, reader, .. } = &*self.client;
        let mut advice = Advice::default();
        let mut is_at_end = false;
        let predicted = {
            let mut reader = reader.lock();
            reader.unanswered -= 1;
            if reader.unanswered > 0 {
                return;
            }
            let now = opened.elapsed();
            let way = shared.way();
            let mut chunks = shared.chunks.lock();
            for (table, chunks) in reader.tables.iter_mut().zip(&mut *chunks) {
                advice.add(table.answered(chunks, now, way));
                is_at_end |= table.is_at_end(chunks);
            }
            shared.expect(advice)
        };
        shared.fetch(predicted);
        if is_at_end {
            shared.open_next();
        }
    }
}

impl Drop for Client {
    /// Stores the access history for the next file like this one, and drops predictions for this
    /// client.
    fn drop(&mut self) {
        let reader = self.reader.get_mut();
        let Shared { histories, chunks, .. } = &*self.shared;
        for predictor in reader.tables.iter().map(TableReader::predictor) {
            if let Some((columns, bytes)) = predictor.history() {
                let table = predictor.table();
                let history = AccessHistory { fill_bytes: bytes, ..table.history_of(&columns) };
                histories.save(ReaderKind::ByteRanges, table.shape(), history);
            }
        }
        let mut advice = Advice::default();
        let mut keys = Vec::new();
        let mut chunks = chunks.lock();
        for (table, chunks) in reader.tables.iter_mut().zip(&mut *chunks) {
            advice.add(table.leave(chunks));
            keys.extend(table.end_keys());
        }
        // Nothing is to be fetched.
        self.shared.expect_keys(Advice { fetch: Vec::new(), drop: keys });
        let predicted = self.shared.expect(advice);
        drop(chunks);
        self.shared.fetch(predicted);
    }
}
