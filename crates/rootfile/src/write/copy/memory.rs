//! Files in memory: parts of a table that are written as a table of their own, and then copied.

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::known::{Known, Progress};
use crate::write::compression::{Compression, Encoders};
use crate::write::file::{FileOptions, FileWriter};

/// A file that is written in memory, by the caller's thread.
pub(super) struct MemoryFile {
    pub file: FileWriter,
    bytes: Vec<u8>,
}

impl MemoryFile {
    /// An empty file whose objects are not compressed.
    ///
    /// # Errors
    /// As [`FileWriter::new`].
    pub fn new() -> Result<Self> {
        let file = FileWriter::new(FileOptions {
            name: String::new(),
            title: String::new(),
            compression: Compression::NONE,
            uuid: 0,
            datime: 0,
        })?;
        Ok(MemoryFile { file, bytes: Vec::new() })
    }

    /// Encodes all pending work, and takes the records that have an offset.
    ///
    /// # Errors
    /// As [`FileWriter::poll_write`].
    pub fn go_on(&mut self, encoders: &mut Encoders) -> Result<()> {
        loop {
            while let Some(write) = self.file.poll_write()? {
                let start = write.offset as usize;
                let end = start + write.bytes.len();
                self.bytes.resize(self.bytes.len().max(end), 0);
                self.bytes[start..end].copy_from_slice(&write.bytes);
            }
            let Some((number, work)) = self.file.poll_work() else { return Ok(()) };
            let encoded = work.encode.encode(encoders)?;
            self.file.complete(number, encoded);
        }
    }

    /// All bytes of the file.
    ///
    /// # Errors
    /// As [`MemoryFile::go_on`].
    pub fn finish(mut self, encoders: &mut Encoders) -> Result<Bytes> {
        self.file.close();
        self.go_on(encoders)?;
        Ok(self.bytes.into())
    }
}

/// All bytes of a file, for reading.
pub(super) fn known(bytes: &Bytes) -> Known {
    let mut known = Known::new(Some(bytes.len() as u64));
    known.supply(0, bytes.clone());
    known
}

/// The value of a read for which all bytes are in memory.
///
/// # Errors
/// `Corrupt` where some are not.
pub(super) fn there<T>(progress: Progress<T>) -> Result<T> {
    match progress {
        Progress::Ready(value) => Ok(value),
        Progress::NeedsData(_) => Err(Error::corrupt("a file that is not all there")),
    }
}
