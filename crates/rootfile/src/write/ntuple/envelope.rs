//! Little-endian writing of envelopes: numbers, strings, frames, locators (read in
//! [`crate::ntuple`]).
//!
//! (Source: ROOT, `BinaryFormatSpecification.md`, "Frames", "Locators" and "Envelopes".)

use twox_hash::XxHash3_64;

use crate::ntuple::EnvelopeKind;

/// Bytes of the checksum that ends an envelope.
const CHECKSUM_LEN: usize = 8;
/// The first four bytes of a locator with 64 bits of size: its own length, and its type.
const LARGE: i32 = -(20 | 1 << 24);

/// An envelope that is being written.
#[derive(Debug)]
pub(in crate::write) struct EnvelopeWriter {
    bytes: Vec<u8>,
}

macro_rules! numbers {
    ($($name:ident $kind:ty),*) => {$(
        /// Appends the number, little-endian.
        pub fn $name(&mut self, number: $kind) {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
    )*};
}

impl EnvelopeWriter {
    /// An empty one of that kind.
    pub fn new(kind: EnvelopeKind) -> Self {
        EnvelopeWriter { bytes: (kind as u64).to_le_bytes().to_vec() }
    }

    /// The beginning of a part of an envelope.
    pub fn part() -> Self {
        EnvelopeWriter { bytes: Vec::new() }
    }

    numbers!(u16 u16, u32 u32, i32 i32, u64 u64, i64 i64, f64 f64);

    /// Appends the bytes of another writer.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a string behind its length.
    pub fn string(&mut self, text: &str) {
        self.u32(text.len() as u32);
        self.bytes(text.as_bytes());
    }

    /// Appends a record frame.
    pub fn record(&mut self, write: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.i64(0);
        write(self);
        self.end_frame(start, 1);
    }

    /// Appends a list frame of so many items.
    pub fn list(&mut self, count: usize, write: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.i64(0);
        self.u32(count as u32);
        write(self);
        self.end_frame(start, -1);
    }

    fn end_frame(&mut self, start: usize, sign: i64) {
        let len = sign * (self.bytes.len() - start) as i64;
        self.bytes[start..start + 8].copy_from_slice(&len.to_le_bytes());
    }

    /// Appends where `size` bytes are.
    pub fn locator(&mut self, offset: u64, size: u64) {
        match i32::try_from(size) {
            Ok(size) => self.i32(size),
            Err(_) => {
                self.i32(LARGE);
                self.u64(size);
            }
        }
        self.u64(offset);
    }

    /// The written bytes.
    pub fn into_part(self) -> Vec<u8> {
        self.bytes
    }

    /// The whole envelope, and its checksum.
    pub fn finish(mut self) -> (Vec<u8>, u64) {
        let len = (self.bytes.len() + CHECKSUM_LEN) as u64;
        let [kind, ..] = self.bytes[..] else { return (self.bytes, 0) };
        let head = u64::from(kind) | len << 16;
        self.bytes[..8].copy_from_slice(&head.to_le_bytes());
        let checksum = XxHash3_64::oneshot(&self.bytes);
        self.u64(checksum);
        (self.bytes, checksum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_locators() {
        let mut to = EnvelopeWriter::part();
        to.list(2, |to| to.u16(7));
        to.record(|to| to.string("ab"));
        let list = [&(-14i64).to_le_bytes()[..], &[2, 0, 0, 0, 7, 0]].concat();
        let record = [&14i64.to_le_bytes()[..], &[2, 0, 0, 0, b'a', b'b']].concat();
        assert_eq!(to.into_part(), [list, record].concat());
        let mut to = EnvelopeWriter::part();
        to.locator(5 << 32, 0x7fff_ffff);
        to.locator(6 << 32, 0x8000_0000);
        let written = to.into_part();
        assert_eq!(written[..12], [0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 5, 0, 0, 0]);
        // ROOT negates all of it, not just the sign bit.
        assert_eq!(written[12..16], [0xec, 0xff, 0xff, 0xfe]);
        assert_eq!(written[16..24], 0x8000_0000u64.to_le_bytes());
        assert_eq!(written[24..], (6u64 << 32).to_le_bytes());
    }
}
