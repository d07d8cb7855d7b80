//! One client's reads of one table: predicted from its earlier reads, or from the chunks of all
//! clients.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::chunks::Chunks;
use super::habit::Habit;
use super::places::TablePlaces;
use super::predict::pace::Way;
use super::predict::{Advice, Predictor};

#[derive(Debug)]
pub struct TableReader {
    /// The number of the client.
    client: u64,
    predictor: Predictor,
    /// Whether clients read chunks, so that this client's reads do not predict its next reads.
    reads_chunk: bool,
}

impl TableReader {
    pub fn new(client: u64, table: Arc<TablePlaces>) -> Self {
        TableReader { client, predictor: Predictor::new(table), reads_chunk: false }
    }

    pub fn predictor(&self) -> &Predictor {
        &self.predictor
    }

    /// The client has opened the file. Returns the ranges to fetch first, and to drop; those of the
    /// `habit` only where clients do not read parts of the table.
    pub fn begin(&mut self, chunks: &mut Chunks, habit: Option<Habit>) -> Advice {
        let mut advice = chunks.open(self.client);
        self.reads_chunk = chunks.are_proven();
        if let Some(habit) = habit.filter(|_| !chunks.is_divided()) {
            let columns = habit.columns_in(self.predictor.table());
            advice.add(self.predictor.begin(&columns, habit.bytes));
        }
        advice
    }

    /// The client reads a basket or page.
    pub fn read(&mut self, chunks: &mut Chunks, column: u32, number: u32) {
        chunks.read(self.client, column, number);
        self.predictor.read(column, number);
    }

    /// The client waits for what it reads. Returns the ranges to fetch and to drop meanwhile.
    pub fn asked(&mut self, chunks: &Chunks, now: Duration, way: Way) -> Advice {
        let mut advice = Advice { fetch: Vec::new(), drop: self.follow_chunks(chunks) };
        let own = self.predictor.asked(now, way);
        if !self.reads_chunk {
            advice.add(own);
        }
        advice
    }

    /// The client has received all that it reads. Returns the ranges to fetch and to drop.
    pub fn answered(&mut self, chunks: &mut Chunks, now: Duration, way: Way) -> Advice {
        let mut advice = chunks.answered(self.client);
        advice.drop.extend(self.follow_chunks(chunks));
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

    /// Ends the predictions from the client's own reads once clients read chunks. Returns their
    /// ranges, to be dropped.
    fn follow_chunks(&mut self, chunks: &Chunks) -> Vec<Range<u64>> {
        if self.reads_chunk || !chunks.are_proven() {
            return Vec::new();
        }
        self.reads_chunk = true;
        self.predictor.end()
    }
}
