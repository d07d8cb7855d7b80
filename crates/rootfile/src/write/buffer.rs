//! Big-endian writing with byte counts and class tags (ROOT: `TBufferFile`).
//!
//! (Source: ROOT I/O, `Bytes.h`, `TBufferFile.cxx`.)

use std::collections::BTreeMap;

/// Marks a four-byte number as a count of the bytes behind it (`kByteCountMask`).
const BYTE_COUNT: u32 = 0x4000_0000;
/// In front of the name of a class that the buffer has not named yet (`kNewClassTag`).
const NEW_CLASS: u32 = 0xffff_ffff;
/// Marks a reference to a class that the buffer has named (`kClassMask`).
const CLASS: u32 = 0x8000_0000;
/// Added to the positions that references hold (`kMapOffset`).
const MAP_OFFSET: u32 = 2;

/// Bytes of one object, as they are before compression.
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    /// Bytes of the key in front: references count from its first byte.
    displacement: u32,
    /// Where each class was named, as references say it.
    classes: BTreeMap<String, u32>,
}

/// A byte count whose bytes are being written: the position of the count.
#[derive(Debug)]
#[must_use = "a count that is not ended stays zero"]
pub struct ByteCount(usize);

macro_rules! numbers {
    ($($name:ident $kind:ty),*) => {$(
        /// Appends the number, big-endian.
        #[inline]
        pub fn $name(&mut self, number: $kind) {
            self.bytes.extend_from_slice(&number.to_be_bytes());
        }
    )*};
}

impl Buffer {
    /// Of an object behind a key of so many bytes.
    pub fn behind_key(key_len: usize) -> Self {
        Buffer { displacement: key_len as u32, ..Buffer::default() }
    }

    numbers!(u8 u8, i8 i8, u16 u16, i16 i16, u32 u32, i32 i32, u64 u64, i64 i64, f32 f32, f64 f64);

    /// Appends a bool as a byte.
    pub fn bool(&mut self, is: bool) {
        self.u8(is.into());
    }

    /// Appends bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a counted string: a length of one byte, or 255 and one of four (ROOT: `TString`).
    pub fn string(&mut self, text: &str) {
        match u8::try_from(text.len()) {
            Ok(len) if len < 255 => self.u8(len),
            _ => {
                self.u8(255);
                self.u32(text.len() as u32);
            }
        }
        self.bytes(text.as_bytes());
    }

    /// Begins an object of a class of that version: a byte count and the version.
    pub fn begin(&mut self, version: u16) -> ByteCount {
        let count = self.begin_counted();
        self.u16(version);
        count
    }

    /// Begins content that only a byte count precedes.
    pub fn begin_counted(&mut self) -> ByteCount {
        self.u32(0);
        ByteCount(self.bytes.len() - 4)
    }

    /// Ends content that began with a byte count.
    pub fn end(&mut self, count: ByteCount) {
        let len = (self.bytes.len() - count.0 - 4) as u32;
        self.bytes[count.0..count.0 + 4].copy_from_slice(&(len | BYTE_COUNT).to_be_bytes());
    }

    /// Writes an object that a pointer leads to: count, class, and the bytes that `write` appends.
    pub fn pointed(&mut self, class: &str, write: impl FnOnce(&mut Buffer)) {
        let count = self.begin_counted();
        self.class(class);
        write(self);
        self.end(count);
    }

    /// A pointer to nothing.
    pub fn null(&mut self) {
        self.u32(0);
    }

    fn class(&mut self, class: &str) {
        if let Some(at) = self.classes.get(class) {
            let reference = CLASS | at;
            return self.u32(reference);
        }
        let at = self.bytes.len() as u32 + self.displacement + MAP_OFFSET;
        self.u32(NEW_CLASS);
        self.bytes(class.as_bytes());
        self.u8(0);
        self.classes.insert(class.to_owned(), at);
    }

    /// Where the next byte goes, as references to an object that begins here say it.
    pub fn reference(&self) -> u32 {
        self.bytes.len() as u32 + self.displacement + MAP_OFFSET
    }

    /// The members of `TObject`: version, unique ID, bits.
    pub fn tobject(&mut self, bits: u32) {
        self.u16(1);
        self.u32(0);
        self.u32(bits);
    }

    /// The members of `TNamed`.
    pub fn tnamed(&mut self, bits: u32, name: &str, title: &str) {
        let count = self.begin(1);
        self.tobject(bits);
        self.string(name);
        self.string(title);
        self.end(count);
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn into_vec(self) -> Vec<u8> {
        self.bytes
    }
}

/// `TObject` bits of an object that is on the heap and not deleted (`kIsOnHeap | kNotDeleted`), as
/// ROOT has and writes them.
pub const BITS: u32 = 0x0300_0000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_counts_and_classes() {
        let mut buffer = Buffer::behind_key(40);
        let count = buffer.begin(3);
        buffer.string("ab");
        buffer.end(count);
        assert_eq!(buffer.into_vec(), [0x40, 0, 0, 5, 0, 3, 2, b'a', b'b']);
        let mut buffer = Buffer::behind_key(40);
        buffer.string(&"x".repeat(255));
        assert_eq!(buffer.len(), 5 + 255);
    }

    #[test]
    fn a_class_is_named_once() {
        let mut buffer = Buffer::behind_key(40);
        for number in [1, 2] {
            buffer.pointed("A", |buffer| buffer.u8(number));
        }
        let first = [0x40, 0, 0, 7, 0xff, 0xff, 0xff, 0xff, b'A', 0, 1];
        let second = [0x40, 0, 0, 5, 0x80, 0, 0, 46, 2];
        assert_eq!(buffer.into_vec(), [&first[..], &second].concat());
    }
}
