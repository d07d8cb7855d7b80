//! Plays the part of the engine for a file that is written: does the work in a seeded order.

use bytes::Bytes;
use farroot_rootfile::write::{
    Compression, CompressionAlgorithm, Encoders, FileOptions, FileWriter,
};

use super::made_up::Dice;

/// A new file.
pub fn file() -> FileWriter {
    FileWriter::new(FileOptions {
        name: "f.root".into(),
        title: String::new(),
        compression: Compression::new(CompressionAlgorithm::Zstd, 5),
        uuid: 7,
        datime: 1_345_364_036,
    })
    .expect("its name is short")
}

/// The bytes that a file writes, while entries are added and after.
pub struct Written {
    pub file: FileWriter,
    bytes: Vec<u8>,
    encoders: Encoders,
    dice: Dice,
}

impl Written {
    pub fn new(file: FileWriter, seed: u64) -> Self {
        Written { file, bytes: Vec::new(), encoders: Encoders::default(), dice: Dice::new(seed) }
    }

    /// Does all pending work; results come back in another order.
    pub fn drive(&mut self) {
        loop {
            let mut works: Vec<_> = std::iter::from_fn(|| self.file.poll_work()).collect();
            let idle = works.is_empty();
            self.dice.shuffle(&mut works);
            for (number, work) in works {
                let encoded = work.encode.encode(&mut self.encoders).expect("no entry is huge");
                self.file.complete(number, encoded);
                self.write();
            }
            self.write();
            if idle {
                return;
            }
        }
    }

    fn write(&mut self) {
        while let Some(write) = self.file.poll_write().expect("all fits") {
            let start = write.offset as usize;
            let end = write.offset as usize + write.bytes.len();
            assert!(start <= self.bytes.len(), "forward only");
            self.bytes.resize(self.bytes.len().max(end), 0);
            self.bytes[start..end].copy_from_slice(&write.bytes);
        }
    }

    pub fn finish(mut self) -> Bytes {
        self.file.close();
        self.drive();
        assert!(self.file.is_finished());
        self.bytes.into()
    }
}
