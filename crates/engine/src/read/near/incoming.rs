//! The answer of a server as columns: batch after batch, with the entries that they have.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array as _, RecordBatch};
use arrow_schema::SchemaRef;
use rootfile::Array;

use super::arrays::array;
use super::coding::AnswerDecoder;
use super::layout::{Layout, Layouts};
use super::messages::{Message, Messages};
use super::request::{LAYOUTS, SKIPPED, VERSION};
use crate::read::core::columns::Batch;
use crate::read::core::cut::add;
use remote::near::SelectedBytes;
use remote::{Error, ErrorKind, Result};

/// Entries that are on their way.
pub struct Incoming {
    answer: SelectedBytes,
    /// Of an answer that is compressed as a whole.
    decoder: Option<AnswerDecoder>,
    messages: Messages,
    /// The columns without entries.
    like: Vec<(String, Array)>,
    /// Entries that were asked for and have not come.
    left: Range<u64>,
    has_cut: bool,
    is_begun: bool,
    bytes: u64,
}

/// What a request allows of its answer.
pub struct ExpectedAnswer {
    /// The columns without entries.
    pub columns: Vec<(String, Array)>,
    pub entries: Range<u64>,
    pub has_cut: bool,
    /// Bytes of the columns, decoded.
    pub decoded_max: u64,
}

impl Incoming {
    /// The answer to a request.
    ///
    /// # Errors
    /// No memory.
    pub fn new(answer: SelectedBytes, expected: ExpectedAnswer) -> Result<Self> {
        let ExpectedAnswer { columns: like, entries, has_cut, decoded_max } = expected;
        // Beside the columns it has metadata.
        let coded_max = decoded_max.saturating_mul(2);
        let decoder = answer.is_coded().then(|| AnswerDecoder::new(coded_max)).transpose()?;
        let messages = Messages::new(decoded_max);
        let left = entries;
        Ok(Incoming { answer, decoder, messages, like, left, has_cut, is_begun: false, bytes: 0 })
    }

    /// Bytes that have arrived.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next bytes are supplied to the messages; false behind the last.
    async fn supplied(&mut self) -> Result<bool> {
        loop {
            if let Some(decoder) = &mut self.decoder
                && let Some(piece) = decoder.next_piece()?
            {
                self.messages.supply(piece);
                return Ok(true);
            }
            let Some(bytes) = self.answer.next().await? else { return Ok(false) };
            self.bytes += bytes.len() as u64;
            match &mut self.decoder {
                Some(decoder) => decoder.supply(bytes),
                None => {
                    self.messages.supply(bytes);
                    return Ok(true);
                }
            }
        }
    }

    /// Waits for the types of the columns.
    ///
    /// # Errors
    /// As [`Incoming::next`].
    pub async fn begun(&mut self) -> Result<()> {
        while !self.is_begun {
            match self.messages.next_message()? {
                Some(Message::Schema(schema)) => self.begin(&schema)?,
                Some(Message::Batch(_)) => return Err(unfit("a batch before its schema")),
                None if self.supplied().await? => {}
                None => return Err(unfit("it ends before its end")),
            }
        }
        Ok(())
    }

    /// The next entries, after [`Incoming::begun`]: of a cut those that are left of them. `None`
    /// behind the last.
    ///
    /// # Errors
    /// `Corrupt` for an answer that does not fit the request; an error of the connection.
    pub async fn next(&mut self) -> Result<Option<Batch>> {
        loop {
            match self.messages.next_message()? {
                Some(Message::Schema(_)) => return Err(unfit("it has two schemas")),
                Some(Message::Batch(batch)) => return self.take(&batch).map(Some),
                None if self.supplied().await? => {}
                None => return self.end(),
            }
        }
    }

    /// Compares the types of the answer with those of the columns.
    fn begin(&mut self, schema: &SchemaRef) -> Result<()> {
        let text = schema.metadata().get(LAYOUTS).map(String::as_str).unwrap_or_default();
        let layouts: Layouts = serde_json::from_str(text)
            .map_err(|error| unfit(&format!("its types cannot be read: {error}")))?;
        let own: Vec<Layout> = self.like.iter().map(|(_, array)| Layout::of(array)).collect();
        let count = own.len() + usize::from(self.has_cut);
        if layouts.version != VERSION || layouts.columns != own || schema.fields().len() != count {
            return Err(unfit("it has columns of other types"));
        }
        self.is_begun = true;
        Ok(())
    }

    fn take(&mut self, batch: &RecordBatch) -> Result<Batch> {
        let mut columns = Vec::with_capacity(self.like.len());
        for ((name, like), found) in self.like.iter().zip(batch.columns()) {
            columns.push((name.clone(), array(found, like)?));
        }
        let count = batch.num_rows() as u64;
        let runs = match self.has_cut {
            true => Some(self.runs(batch)?),
            false => None,
        };
        let first = self.left.start;
        let end = match &runs {
            Some(runs) => runs.last().map_or(first, |run| run.end),
            None => first.saturating_add(count),
        };
        if end > self.left.end {
            return Err(unfit("it has more entries than were asked for"));
        }
        self.left.start = end;
        Ok(Batch { entries: first..end, survivors: runs, columns, left_out: Vec::new() })
    }

    /// The runs of entries of a batch, by how many were left out before each.
    fn runs(&self, batch: &RecordBatch) -> Result<Vec<Range<u64>>> {
        let last = batch
            .columns()
            .last()
            .filter(|_| batch.schema().field(self.like.len()).name() == SKIPPED);
        let skipped = last.and_then(|last| last.as_primitive_opt::<UInt64Type>());
        let skipped = skipped.filter(|skipped| skipped.null_count() == 0);
        let skipped = skipped.ok_or_else(|| unfit("it does not say which entries it has"))?;
        let mut runs = Vec::new();
        let mut next = self.left.start;
        for count in skipped.values() {
            let entry = next.checked_add(*count).filter(|entry| *entry < self.left.end);
            let entry = entry.ok_or_else(|| unfit("it has more entries than were asked for"))?;
            add(&mut runs, entry..entry + 1);
            next = entry + 1;
        }
        Ok(runs)
    }

    fn end(&mut self) -> Result<Option<Batch>> {
        let is_whole = self.messages.are_complete() && self.is_begun;
        if !is_whole || (!self.has_cut && !self.left.is_empty()) {
            return Err(unfit("it ends before its end"));
        }
        self.left.start = self.left.end;
        Ok(None)
    }
}

fn unfit(fault: &str) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("the server's answer is not what was asked for: {fault}"),
    )
}
