//! Columns as a stream of Arrow: batches of entries in their order, as they are ready.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use rootfile::Array;
use tokio::time::Instant;

use super::bounds::{SelectBounds, SelectTotals, too_long};
use super::plan::SelectPlan;
use super::turn::StepsInTurn;
use crate::Engine;
use crate::located::unlocated;
use crate::read::core::columns::Batch;
use crate::read::export::arrow::record_batch;
use crate::read::near::coding::AnswerEncoder;
use crate::read::near::layout::{Layout, Layouts};
use crate::read::near::request::{BufferCompression, LAYOUTS, SKIPPED, VERSION};
use remote::{Error, ErrorKind, Result};

/// How entries that are ready are put together to batches.
struct BatchSizes {
    /// Decoded bytes of a batch, from the first one on: as a new connection of TCP takes more with
    /// each round trip, each batch has as many as all before it.
    first: usize,
    most: usize,
    /// Entries that are ready are sent after this time, however few they are.
    time: Duration,
}

/// Buffers that are compressed each by itself, and metadata that are not.
const LARGE: BatchSizes =
    BatchSizes { first: 128 << 10, most: 1 << 20, time: Duration::from_millis(250) };
/// A stream that is compressed as a whole loses little by short batches.
const SMALL: BatchSizes =
    BatchSizes { first: 16 << 10, most: 1 << 20, time: Duration::from_millis(20) };
/// After this time without entries a batch without any shows that the server is at work.
const SILENCE: Duration = Duration::from_secs(5);

/// Entries that are ready to be sent.
struct ReadyEntries {
    columns: Vec<(String, Array)>,
    /// For each how many were left out before it, where that is wanted.
    skipped: Vec<u64>,
}

/// What the way to a client allows of an answer.
#[derive(Debug, Clone, Copy)]
pub struct AnswerForm {
    /// Of buffers, where the request names none.
    pub compression: BufferCompression,
    /// A stream whose buffers are not compressed may be compressed as a whole.
    pub may_be_coded: bool,
    /// The types may be sent before there are entries: the client learns behind them of an error.
    pub may_begin_early: bool,
}

/// The stream. Dropping it ends the read.
pub struct SelectedStream {
    batches: StepsInTurn,
    /// `None` behind the end.
    writer: Option<MessageWriter>,
    sizes: BatchSizes,
    is_coded: bool,
    schema: SchemaRef,
    layouts: Vec<Layout>,
    skipped: bool,
    ready: Option<ReadyEntries>,
    /// Decoded bytes of the next batch.
    batch_bytes: usize,
    sent: Instant,
    /// The entry behind the last one that was left.
    next: u64,
    has_ended: bool,
    /// Bytes that were made when the stream was started.
    first: Option<Vec<u8>>,
    bounds: SelectBounds,
    started: Instant,
    totals: SelectTotals,
}

impl SelectedStream {
    /// Starts to read, and waits for the first entries, unless the types may be sent before. So an
    /// error in them is one of the request, and not an answer without an end.
    ///
    /// # Errors
    /// `Unsupported` for columns without a type in Arrow; as [`SelectedStream::next`].
    pub(super) async fn start(
        engine: &Engine,
        plan: SelectPlan,
        bounds: SelectBounds,
        form: AnswerForm,
        started: Instant,
    ) -> Result<Self> {
        let SelectPlan { tables, scan, empty, skipped, compression, first } = plan;
        let compression = compression.unwrap_or(form.compression);
        let BegunStream { layouts, schema, arrow } = begun(empty, skipped, compression)?;
        let is_coded = form.may_be_coded && compression == BufferCompression::None;
        let encoder = is_coded.then(AnswerEncoder::new).transpose()?;
        let writer = Some(MessageWriter { arrow, encoder });
        let sizes = if is_coded { SMALL } else { LARGE };
        let next = first.start;
        let batches = StepsInTurn::new(engine, engine.scan(tables, scan), bounds.step_time);
        let totals = SelectTotals::default();
        let sent = Instant::now();
        let mut stream = SelectedStream {
            batches,
            writer,
            batch_bytes: sizes.first,
            sizes,
            is_coded,
            schema,
            layouts,
            skipped,
            ready: None,
            sent,
            next,
            has_ended: false,
            first: None,
            bounds,
            started,
            totals,
        };
        let mut first = match &mut stream.writer {
            Some(writer) => writer.taken()?,
            None => Vec::new(),
        };
        if !form.may_begin_early {
            first.extend(stream.made().await?.unwrap_or_default());
        }
        stream.first = Some(first);
        Ok(stream)
    }

    /// Whether the stream is compressed as a whole, by zstd.
    pub fn is_coded(&self) -> bool {
        self.is_coded
    }

    /// The cost so far.
    pub fn totals(&self) -> SelectTotals {
        SelectTotals { seconds: self.started.elapsed().as_secs_f64(), ..self.totals }
    }

    /// The next bytes; `None` behind the last.
    ///
    /// # Errors
    /// Those of reading; `LimitReached`. The stream has no end then.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let left = self.bounds.time.saturating_sub(self.started.elapsed());
        let first = self.first.take();
        let made = async {
            match first {
                Some(first) => Ok(Some(first)),
                None => self.made().await,
            }
        };
        match tokio::time::timeout(left, made).await {
            Err(_) => Err(too_long(self.bounds)),
            Ok(made) => {
                let made = made?;
                self.totals.bytes += made.as_ref().map_or(0, |bytes| bytes.len() as u64);
                if self.totals.bytes > self.bounds.bytes {
                    let message = format!("an answer of more than {} bytes", self.bounds.bytes);
                    let error = Error::new(ErrorKind::LimitReached, message);
                    return Err(error.with_advice("ask for fewer entries at a time"));
                }
                self.sent = Instant::now();
                Ok(made)
            }
        }
    }

    async fn made(&mut self) -> Result<Option<Vec<u8>>> {
        while !self.has_ended {
            let wait = if self.ready.is_some() { self.sizes.time } else { SILENCE };
            let due = self.sent + wait;
            let batch = match tokio::time::timeout_at(due, self.batches.next()).await {
                // A future of the next batch that is dropped has taken none.
                Err(_) => return self.written().await.map(Some),
                Ok(None) => {
                    self.has_ended = true;
                    break;
                }
                Ok(Some(batch)) => batch?.batch,
            };
            let delay = self.started.elapsed().as_secs_f64();
            self.totals.delay.get_or_insert(delay);
            self.take(batch)?;
            if self.is_due() {
                return self.written().await.map(Some);
            }
        }
        if self.ready.is_some() {
            return self.written().await.map(Some);
        }
        self.writer.take().map(MessageWriter::finished).transpose()
    }

    fn is_due(&self) -> bool {
        let is_full = |ready: &ReadyEntries| {
            ready.columns.iter().map(|(_, array)| array.nbytes()).sum::<usize>() >= self.batch_bytes
        };
        self.ready.as_ref().is_some_and(is_full)
            || (self.ready.is_some() && self.sent.elapsed() >= self.sizes.time)
    }

    /// Adds entries to those that are ready.
    fn take(&mut self, batch: Batch) -> Result<()> {
        if let Some(skipped) = batch.left_out.first() {
            return Err(skipped.error.clone());
        }
        self.totals.entries += batch.entries.end - batch.entries.start;
        self.totals.selected += batch.len();
        if batch.is_empty() {
            return Ok(());
        }
        let skipped = if self.skipped { self.counts(&batch) } else { Vec::new() };
        for ((name, array), layout) in batch.columns.iter().zip(&self.layouts) {
            check(name, array, layout)?;
        }
        match &mut self.ready {
            None => self.ready = Some(ReadyEntries { columns: batch.columns, skipped }),
            Some(ready) => {
                for ((_, array), (_, more)) in ready.columns.iter_mut().zip(&batch.columns) {
                    array.append(more).map_err(unlocated)?;
                }
                ready.skipped.extend(skipped);
            }
        }
        Ok(())
    }

    /// For each entry how many were left out before it.
    fn counts(&mut self, batch: &Batch) -> Vec<u64> {
        let mut counts = Vec::with_capacity(batch.len() as usize);
        let whole = std::slice::from_ref(&batch.entries);
        for run in batch.survivors.as_deref().unwrap_or(whole) {
            counts.push(run.start.saturating_sub(self.next));
            counts.extend((run.start + 1..run.end).map(|_| 0));
            self.next = run.end;
        }
        counts
    }

    /// The entries that are ready, encoded on a thread that may compute for long.
    async fn written(&mut self) -> Result<Vec<u8>> {
        let schema = self.schema.clone();
        let ready = self.ready.take();
        let skipped = self.skipped;
        let gone = || Error::new(ErrorKind::Cancelled, "the server ends");
        let mut writer = self.writer.take().ok_or_else(gone)?;
        let written = tokio::task::spawn_blocking(move || {
            let batch = match ready {
                None => RecordBatch::new_empty(schema),
                Some(ready) => {
                    let counts = skipped.then_some(ready.skipped);
                    record(&schema, ready.columns, counts)?
                }
            };
            let bytes = writer.written(&batch)?;
            Ok::<_, Error>((writer, bytes))
        });
        let (writer, bytes) = written.await.map_err(|_| gone())??;
        self.writer = Some(writer);
        self.batch_bytes = (2 * self.batch_bytes).min(self.sizes.most);
        Ok(bytes)
    }
}

fn unwritten(error: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::Unsupported, format!("as a stream of Arrow: {error}"))
}

/// Writes batches as bytes of the answer.
struct MessageWriter {
    arrow: StreamWriter<Vec<u8>>,
    /// Of a stream that is compressed as a whole.
    encoder: Option<AnswerEncoder>,
}

impl MessageWriter {
    /// A batch.
    fn written(&mut self, batch: &RecordBatch) -> Result<Vec<u8>> {
        // Enough for buffers that are not compressed.
        self.arrow.get_mut().reserve(batch.get_array_memory_size());
        self.arrow.write(batch).map_err(unwritten)?;
        self.taken()
    }

    /// The bytes that have been written: at first those of the types.
    fn taken(&mut self) -> Result<Vec<u8>> {
        let bytes = std::mem::take(self.arrow.get_mut());
        match &mut self.encoder {
            Some(encoder) => encoder.encoded(&bytes),
            None => Ok(bytes),
        }
    }

    /// The end.
    fn finished(mut self) -> Result<Vec<u8>> {
        self.arrow.finish().map_err(unwritten)?;
        let bytes = self.arrow.into_inner().map_err(unwritten)?;
        match self.encoder {
            Some(encoder) => encoder.finished(&bytes),
            None => Ok(bytes),
        }
    }
}

/// A stream that has its types, and no entries.
struct BegunStream {
    layouts: Vec<Layout>,
    schema: SchemaRef,
    arrow: StreamWriter<Vec<u8>>,
}

fn begun(
    empty: Vec<(String, Array)>,
    skipped: bool,
    compression: BufferCompression,
) -> Result<BegunStream> {
    if let Some((name, _)) = empty.iter().find(|(_, array)| !Layout::is_certain(array)) {
        let message = format!("{name} has objects of any class, which have no type in Arrow");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let layouts: Vec<Layout> = empty.iter().map(|(_, array)| Layout::of(array)).collect();
    let schema = schema(empty, &layouts, skipped)?;
    let compression = match compression {
        BufferCompression::Zstd => Some(CompressionType::ZSTD),
        BufferCompression::None => None,
    };
    let options = IpcWriteOptions::default().try_with_compression(compression);
    let arrow = options
        .and_then(|options| StreamWriter::try_new_with_options(Vec::new(), &schema, options))
        .map_err(unwritten)?;
    Ok(BegunStream { layouts, schema, arrow })
}

/// The first message of the answer to a request: the types of its columns.
///
/// # Errors
/// `Unsupported` for columns without a type in Arrow.
pub(super) fn types(plan: SelectPlan) -> Result<Vec<u8>> {
    let mut begun = begun(plan.empty, plan.skipped, BufferCompression::None)?;
    Ok(std::mem::take(begun.arrow.get_mut()))
}

/// The types of the columns, with their layouts.
fn schema(empty: Vec<(String, Array)>, layouts: &[Layout], skipped: bool) -> Result<SchemaRef> {
    let arrow = record_batch(empty, Some(0))?.schema();
    let mut fields: Vec<_> = arrow.fields().iter().cloned().collect();
    if skipped {
        fields.push(Arc::new(Field::new(SKIPPED, DataType::UInt64, false)));
    }
    let layouts = Layouts { version: VERSION, columns: layouts.to_vec() };
    let text = serde_json::to_string(&layouts);
    let text = text.map_err(|error| Error::new(ErrorKind::Unsupported, error.to_string()))?;
    let metadata = HashMap::from([(LAYOUTS.to_owned(), text)]);
    Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
}

/// Columns as a batch with this schema.
fn record(
    schema: &SchemaRef,
    columns: Vec<(String, Array)>,
    skipped: Option<Vec<u64>>,
) -> Result<RecordBatch> {
    let rows = columns.first().map(|(_, array)| array.len());
    let arrow = record_batch(columns, rows)?;
    let mut arrays: Vec<ArrayRef> = arrow.columns().to_vec();
    if let Some(skipped) = skipped {
        arrays.push(Arc::new(UInt64Array::from(skipped)));
    }
    let options = RecordBatchOptions::new().with_row_count(arrays.first().map(|one| one.len()));
    RecordBatch::try_new_with_options(schema.clone(), arrays, &options).map_err(unwritten)
}

/// Checks that an array has the type that its column was said to have, and texts that are texts.
fn check(name: &str, array: &Array, layout: &Layout) -> Result<()> {
    let wrong = |fault: &str| Err(Error::new(ErrorKind::Unsupported, format!("{name} {fault}")));
    if Layout::of(array) != *layout {
        return wrong("has entries of several types");
    }
    match is_text(array) {
        true => Ok(()),
        false => wrong("has texts that are not UTF-8"),
    }
}

/// Whether all texts are UTF-8, as Arrow wants them.
fn is_text(array: &Array) -> bool {
    match array {
        Array::Numbers { .. } => true,
        Array::Strings { offsets, bytes } => offsets.windows(2).all(|span| {
            let text = bytes.get(span[0] as usize..span[1] as usize);
            text.is_some_and(|text| std::str::from_utf8(text).is_ok())
        }),
        Array::List { content, .. }
        | Array::Regular { content, .. }
        | Array::Option { content, .. }
        | Array::WithParameter { content, .. } => is_text(content),
        Array::Record { fields, .. } => fields.iter().all(|(_, field)| is_text(field)),
        Array::Union { contents, .. } => contents.iter().all(is_text),
    }
}
