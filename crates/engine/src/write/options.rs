//! Options of a file that is written.

use std::sync::Arc;

use rootfile::write::{Compression, CompressionAlgorithm};

/// How a file is written; without further words as ROOT writes with `505`.
#[derive(Clone)]
pub struct WriteOptions {
    /// Replaces a file that is there already, once the new one is whole.
    pub overwrite: bool,
    /// Writes under the final name from the beginning, for places that take no other.
    pub in_place: bool,
    /// Other writers may have the file at the same time: the last that finishes keeps the name.
    pub shared: bool,
    /// Of the file (`fTitle`).
    pub title: String,
    /// Of objects, and of tables that have no other. ZSTD of level 5 means ROOT's size class.
    pub compression: Compression,
    /// Decoding threads that encode for this file at the same time; without it, all.
    pub threads: Option<usize>,
    /// Bytes held at the most, beside the arrays of the call that is under way: entries that fill
    /// no cluster yet, those that are being encoded, and bytes that the place has not taken.
    /// Without it, 144 MiB, or 48 MiB if the file is not compressed: more would only be memory that
    /// the kernel has to clear.
    pub memory_bytes: Option<usize>,
    /// Writes no time and no number of its own into the file, as ROOT's option of that name: the
    /// same entries give the same bytes. So does the variable `SOURCE_DATE_EPOCH`, with its time.
    pub reproducible: bool,
    /// Each time that a new file has grown by so many bytes, the part written so far can be read.
    /// It has no name of its own until it is finished: a crash leaves it beside its place, as
    /// `.NAME.*.part`, and there readers find all clusters up to the last checkpoint. Give it
    /// another name then: the next writer of that file removes the files that others have left. A
    /// checkpoint waits until its bytes are safe.
    pub checkpoint: Option<u64>,
    /// Is told how far the file is, after each piece that has been handed to its place.
    pub progress: Option<Arc<dyn Fn(WriteProgress) + Send + Sync>>,
}

/// How far a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteProgress {
    /// Entries that have been taken, of all tables.
    pub entries: u64,
    /// Bytes of the file that have been handed to its place.
    pub bytes: u64,
}

impl Default for WriteOptions {
    fn default() -> Self {
        WriteOptions {
            overwrite: false,
            in_place: false,
            shared: false,
            title: String::new(),
            compression: Compression::new(CompressionAlgorithm::Zstd, 5),
            threads: None,
            memory_bytes: None,
            reproducible: false,
            checkpoint: None,
            progress: None,
        }
    }
}

/// Bytes held where the caller says nothing else: enough for all threads to compress all the time.
const MEMORY_BYTES: usize = 144 << 20;
/// The same of a file that is not compressed: a cluster that is filled and one that is written.
const PLAIN_MEMORY_BYTES: usize = 48 << 20;

impl WriteOptions {
    /// Bytes held at the most: the caller's limit, or the usual one for the compression.
    pub(super) fn memory(&self) -> usize {
        let usual = if self.compression.level == 0 { PLAIN_MEMORY_BYTES } else { MEMORY_BYTES };
        self.memory_bytes.unwrap_or(usual)
    }

    /// Replaces a file that is there already, or leaves it alone.
    #[must_use]
    pub fn overwrite(self, overwrite: bool) -> Self {
        WriteOptions { overwrite, ..self }
    }

    /// The file's title.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        WriteOptions { title: title.into(), ..self }
    }

    /// Compression of objects.
    #[must_use]
    pub fn compression(self, compression: Compression) -> Self {
        WriteOptions { compression, ..self }
    }

    /// The same entries give the same bytes, or the file says when it was written.
    #[must_use]
    pub fn reproducible(self, reproducible: bool) -> Self {
        WriteOptions { reproducible, ..self }
    }

    /// Bytes after which a crash leaves a file that can be read; see
    /// [`WriteOptions::checkpoint`](Self#structfield.checkpoint).
    #[must_use]
    pub fn checkpoint(self, bytes: u64) -> Self {
        WriteOptions { checkpoint: Some(bytes), ..self }
    }

    /// Threads that encode at the same time, at the most.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        WriteOptions { threads: Some(threads), ..self }
    }

    /// Bytes held at the most.
    #[must_use]
    pub fn memory_bytes(self, memory_bytes: usize) -> Self {
        WriteOptions { memory_bytes: Some(memory_bytes), ..self }
    }

    /// Is told how far the file is.
    #[must_use]
    pub fn progress(self, say: impl Fn(WriteProgress) + Send + Sync + 'static) -> Self {
        WriteOptions { progress: Some(Arc::new(say)), ..self }
    }
}
