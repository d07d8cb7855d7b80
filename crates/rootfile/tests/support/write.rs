//! Files that are written as the engine writes them, with work that is done in any order.

use std::sync::Arc;

use farroot_rootfile::Array;
use farroot_rootfile::write::{
    Compression, DirectoryId, Encoded, Encoders, FileOptions, FileWriter, TableId, TableWriter,
};

/// A file with one table, and the bytes written so far.
pub struct Writing {
    file: FileWriter,
    table: TableId,
    encoders: Encoders,
    /// Results that have not been handed in.
    done: Vec<(u64, Encoded)>,
    bytes: Vec<u8>,
    order: u64,
}

impl Writing {
    /// `order`, an odd number, decides in which order work completes; 0 is that in which it came.
    pub fn new(name: &str, table: Box<dyn TableWriter>, order: u64) -> Self {
        let options = FileOptions {
            name: "written.root".into(),
            title: String::new(),
            compression: Compression::of_number(505).unwrap(),
            uuid: 7,
            datime: 1_000_000_000,
        };
        let mut file = FileWriter::new(options).unwrap();
        let table = file.add_table(DirectoryId::TOP, name, table);
        let encoders = Encoders::default();
        let done = Vec::new();
        let bytes = Vec::new();
        Writing { file, table, encoders, done, bytes, order }
    }

    pub fn extend(&mut self, columns: Vec<Arc<Array>>) {
        self.file.extend(self.table, columns).unwrap();
        self.run(self.order == 0);
    }

    /// Takes work and writes; with `all` until nothing is left to be done.
    fn run(&mut self, all: bool) {
        loop {
            while self.poll() {}
            if self.done.is_empty() || !all && self.done.len() < 7 {
                return;
            }
            // The next of a sequence that looks like chance (Knuth's MMIX), where it is not 0.
            self.order = self.order.wrapping_mul(6_364_136_223_846_793_005);
            let at = (self.order >> 33) as usize % self.done.len();
            let (number, encoded) = self.done.remove(at);
            self.file.complete(number, encoded);
        }
    }

    /// Does the work and the writes that the file wants; `true` if there were any.
    fn poll(&mut self) -> bool {
        let mut any = false;
        while let Some((number, work)) = self.file.poll_work() {
            let encoded = work.encode.encode(&mut self.encoders).unwrap();
            self.done.push((number, encoded));
            any = true;
        }
        while let Some(write) = self.file.poll_write().unwrap() {
            let start = write.offset as usize;
            let end = write.offset as usize + write.bytes.len();
            assert!(start <= self.bytes.len(), "forward only");
            self.bytes.resize(self.bytes.len().max(end), 0);
            self.bytes[start..end].copy_from_slice(&write.bytes);
            any = true;
        }
        any
    }

    /// The whole file.
    pub fn finish(mut self) -> Vec<u8> {
        self.file.close();
        self.run(true);
        assert!(self.file.is_finished());
        self.bytes
    }
}
