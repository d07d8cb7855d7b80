//! The messages of a stream of Arrow, as their bytes arrive. No memory is taken by a number that
//! the stream has, before it is compared with a limit.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::{MessageHeader, root_as_message};
use arrow_schema::{DataType, SchemaRef};
use bytes::Bytes;

use super::frames::{BATCH_BYTES_MAX, Frame, Frames, too_long, wrong};
use crate::read::threads::decoders::caught;
use remote::Result;

/// Items of one list of a fixed length.
const ITEMS_MAX: i32 = 1 << 24;
/// Items of a column, or of lists in it, in one batch.
const NODE_ITEMS_MAX: i64 = 1 << 32;
/// Stands before a buffer that is not compressed.
const NOT_COMPRESSED: i64 = -1;

/// A stream of which a part has arrived.
pub struct Messages {
    frames: Frames,
    schema: Option<SchemaRef>,
    /// Decoded bytes that its batches may still have.
    room: u64,
}

/// The content of a message.
pub enum Message {
    Schema(SchemaRef),
    Batch(RecordBatch),
}

impl Messages {
    /// A stream whose batches have at most so many bytes, decoded, together.
    pub fn new(decoded_max: u64) -> Self {
        Messages { frames: Frames::default(), schema: None, room: decoded_max }
    }

    /// Bytes that have arrived.
    pub fn supply(&mut self, bytes: impl Into<Bytes>) {
        self.frames.supply(bytes);
    }

    /// Whether the mark of the end has arrived, and nothing behind it.
    pub fn are_complete(&self) -> bool {
        self.frames.are_complete()
    }

    /// The next message; `None` where not all of it has arrived, and behind the last.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are no stream of Arrow; `LimitReached` for a batch that is too
    /// long.
    pub fn next_message(&mut self) -> Result<Option<Message>> {
        let Some(Frame { metadata, body }) = self.frames.next_frame()? else { return Ok(None) };
        self.decoded(&metadata, &Buffer::from(body)).map(Some)
    }

    fn decoded(&mut self, metadata: &[u8], body: &Buffer) -> Result<Message> {
        let message = root_as_message(metadata).map_err(wrong)?;
        match (message.header_type(), self.schema.clone()) {
            (MessageHeader::Schema, None) => {
                let schema = message.header_as_schema().ok_or_else(|| wrong("no schema"))?;
                let schema = arrow_ipc::convert::try_fb_to_schema(schema).map_err(wrong)?;
                schema.fields().iter().try_for_each(|field| check_type(field.data_type()))?;
                let schema = SchemaRef::new(schema);
                self.schema = Some(schema.clone());
                Ok(Message::Schema(schema))
            }
            (MessageHeader::RecordBatch, Some(schema)) => {
                let batch = message.header_as_record_batch().ok_or_else(|| wrong("no batch"))?;
                self.room -= check_buffers(&batch, body, self.room)?;
                let version = message.version();
                let none = HashMap::new();
                let read = arrow_ipc::reader::read_record_batch;
                // A defect of the library on bytes of a server is an error of the answer.
                let batch = caught("the decoder of the server's answer", || {
                    read(body, batch, schema, &none, None, &version).map_err(wrong)
                });
                batch.map(Message::Batch)
            }
            (kind, _) => Err(wrong(format!("a message of the kind {kind:?}"))),
        }
    }
}

/// Checks lengths in a type, from which the library computes others.
fn check_type(data_type: &DataType) -> Result<()> {
    match data_type {
        DataType::FixedSizeList(field, length) if (0..=ITEMS_MAX).contains(length) => {
            check_type(field.data_type())
        }
        DataType::List(field) | DataType::LargeList(field) => check_type(field.data_type()),
        DataType::Struct(fields) => {
            fields.iter().try_for_each(|field| check_type(field.data_type()))
        }
        DataType::Union(fields, _) => {
            fields.iter().try_for_each(|(_, field)| check_type(field.data_type()))
        }
        DataType::FixedSizeList(..) | DataType::FixedSizeBinary(_) => {
            Err(wrong("lists of a length that no column has"))
        }
        _ => Ok(()),
    }
}

/// Checks the lengths of a batch's buffers before any of them is decompressed, and returns their
/// sum.
fn check_buffers(batch: &arrow_ipc::RecordBatch<'_>, body: &Buffer, room: u64) -> Result<u64> {
    let is_compressed = batch.compression().is_some();
    let mut total = 0usize;
    for node in batch.nodes().into_iter().flatten() {
        if !(0..=NODE_ITEMS_MAX).contains(&node.length()) {
            return Err(wrong(format!("{} items of a column", node.length())));
        }
    }
    let most = usize::try_from(room).unwrap_or(usize::MAX).min(BATCH_BYTES_MAX);
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).map_err(wrong)?;
        let length = usize::try_from(buffer.length()).map_err(wrong)?;
        let end = start.checked_add(length).filter(|end| *end <= body.len());
        let end = end.ok_or_else(|| wrong("a buffer lies beyond its message"))?;
        let decoded = match body[start..end].first_chunk::<8>() {
            Some(prefix) if is_compressed => match i64::from_le_bytes(*prefix) {
                NOT_COMPRESSED => length,
                decoded => usize::try_from(decoded).map_err(wrong)?,
            },
            _ => length,
        };
        total = total.saturating_add(decoded);
        if total > most {
            return Err(too_long(total));
        }
    }
    Ok(total as u64)
}

/// Decodes a stream that arrives in pieces of so many bytes; how many rows it has.
///
/// # Errors
/// As [`Messages::next`].
pub fn rows(bytes: &[u8], piece: usize, decoded_max: u64) -> Result<u64> {
    let mut messages = Messages::new(decoded_max);
    let mut rows = 0;
    for part in bytes.chunks(piece.max(1)) {
        messages.supply(Bytes::copy_from_slice(part));
        while let Some(message) = messages.next_message()? {
            if let Message::Batch(batch) = message {
                rows += batch.num_rows() as u64;
            }
        }
    }
    match messages.are_complete() {
        true => Ok(rows),
        false => Err(wrong("it ends before its end")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, LargeStringArray};
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};

    use super::*;
    use remote::ErrorKind;

    fn stream() -> Vec<u8> {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
        let texts = (0..1000).map(|number| number.to_string());
        let texts: ArrayRef = Arc::new(LargeStringArray::from_iter_values(texts));
        let batch = RecordBatch::try_from_iter([("i", numbers), ("s", texts)]).unwrap();
        let options = IpcWriteOptions::default();
        let options = options.try_with_compression(Some(CompressionType::ZSTD)).unwrap();
        let schema = batch.schema();
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
        writer.write(&batch).unwrap();
        writer.write(&batch.slice(10, 5)).unwrap();
        writer.finish().unwrap();
        writer.into_inner().unwrap()
    }

    const ROOM: u64 = 1 << 20;

    #[test]
    fn messages_come_in_any_pieces() {
        let bytes = stream();
        for piece in [1, 7, 100, bytes.len()] {
            assert_eq!(rows(&bytes, piece, ROOM).unwrap(), 1005, "{piece}");
        }
        for end in (0..bytes.len()).step_by(97) {
            assert!(rows(&bytes[..end], 50, ROOM).is_err(), "{end}");
        }
        assert!(rows(&[&bytes[..], &[0xff; 8]].concat(), 10, ROOM).is_err(), "behind the end");
    }

    #[test]
    fn damage_is_an_error_or_other_numbers_and_never_a_panic() {
        let bytes = stream();
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..3000 {
            let mut damaged = bytes.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(0..damaged.len());
                damaged[at] = [0, 1, 0x7f, 0x80, 0xff, random.u8(..)][random.usize(0..6)];
            }
            let _ = rows(&damaged, 4096, ROOM);
        }
    }

    #[test]
    fn lengths_are_no_promises() {
        let bytes = stream();
        let mut long = bytes.clone();
        long[4..8].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
        assert!(rows(&long, 4096, ROOM).is_err());
        // A buffer that says it has 2^62 bytes.
        let wrong = bytes.windows(8).position(|eight| eight == 8000i64.to_le_bytes()).unwrap();
        let mut bomb = bytes.clone();
        bomb[wrong..wrong + 8].copy_from_slice(&(1i64 << 62).to_le_bytes());
        let error = rows(&bomb, 4096, ROOM).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitReached);
        // More than the read can have.
        let error = rows(&bytes, 4096, 8_000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitReached);
    }
}
