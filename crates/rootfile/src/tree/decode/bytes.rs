//! The bytes of one entry, consumed from the front, and the objects that pointers in them refer to.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::tree::interpret::layout::{Classes, NamedClass, Record};
use crate::types::framing::{BYTE_COUNT, MAP_OFFSET, MEMBERWISE, NEW_CLASS};

/// Containers in containers: more than any sane file has.
const DEPTH_MAX: usize = 32;
/// Objects in objects of any class: deeper ones are decoded without members.
const OPEN_MAX: usize = 64;
/// Objects are read again for each column that points to them: so many times the entry in all.
const AGAIN_MAX: usize = 64;
/// Arrays of nothing take no byte each: so many of an entry, and so many for each byte of it.
const EMPTY_MAX: usize = 256;
const EMPTY_PER_BYTE_MAX: usize = 64;
/// Names of template classes are long; this is beyond any.
const CLASS_NAME_LEN_MAX: usize = 16 * 1024;

/// Bytes that are consumed from the front.
#[derive(Debug, Clone)]
pub struct Bytes<'a> {
    /// All of the entry, in which references are looked up.
    all: &'a [u8],
    rest: &'a [u8],
    /// The value of a reference to the byte behind the last one.
    end: u32,
    /// Objects by their references and the columns that have them.
    seen: BTreeMap<(u32, usize), Place>,
    /// References of objects that are being read.
    open: Vec<u32>,
    /// Nested columns that are read and dropped: they may be gone when a pointer refers to them.
    aside: usize,
    /// Bytes of objects that were read for a pointer from elsewhere.
    again: usize,
    /// Arrays that may be of nothing, so far.
    empty: usize,
    /// Those that the bytes may name.
    classes: Option<&'a Classes>,
    /// The number of containers that are open.
    depth: usize,
}

/// Where an object is that pointers further on may refer to: its alternative, of several, and its
/// position there.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub tag: i8,
    pub at: i64,
}

/// Byte count and version in front of an object or a collection.
#[derive(Debug, Clone, Copy)]
pub struct StreamedHeader {
    pub version: u16,
    /// Bytes that are left behind the object or collection; `None` without a byte count.
    pub end: Option<usize>,
}

impl<'a> Bytes<'a> {
    /// `start` is where the bytes begin in the record that holds them.
    pub fn new(bytes: &'a [u8], start: u32) -> Self {
        let end = start.wrapping_add(bytes.len() as u32).wrapping_add(MAP_OFFSET);
        Bytes {
            all: bytes,
            rest: bytes,
            end,
            seen: BTreeMap::new(),
            open: Vec::new(),
            aside: 0,
            again: 0,
            empty: 0,
            classes: None,
            depth: 0,
        }
    }

    /// Begins a container, which is to be left.
    pub fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        match self.depth {
            0..=DEPTH_MAX => Ok(()),
            _ => Err(Error::limit("containers nested too deeply")),
        }
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// With classes that the bytes may name.
    pub fn naming(self, classes: Option<&'a Classes>) -> Self {
        Bytes { classes, ..self }
    }

    /// How an object is read of a class that the bytes name.
    pub fn named(&self, class: &[u8]) -> Result<&'a NamedClass> {
        let name = std::str::from_utf8(class).ok();
        let known = name.and_then(|name| self.classes?.0.get(name));
        known.ok_or_else(|| {
            let class = String::from_utf8_lossy(class);
            Error::unsupported(format!("class {class}, which has no streamer info"))
        })
    }

    pub fn len(&self) -> usize {
        self.rest.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The value of a reference to the next byte.
    pub fn reference(&self) -> u32 {
        self.end.wrapping_sub(self.rest.len() as u32)
    }

    /// Keeps where the object of a reference is in the column that is at `column` in memory.
    pub fn see(&mut self, reference: u32, column: usize, place: Place) {
        if self.aside == 0 {
            self.seen.insert((reference, column), place);
        }
    }

    /// Where that column has the object, if it does.
    pub fn seen(&self, reference: u32, column: usize) -> Option<Place> {
        let place = self.seen.get(&(reference, column)).copied();
        place.filter(|_| self.aside == 0)
    }

    /// Reads into columns that are dropped.
    pub fn aside<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.aside += 1;
        let read = read(self);
        self.aside -= 1;
        read
    }

    /// Whether an object of any class can be read here: it is neither within itself nor too deep.
    pub fn may_open(&self, reference: u32) -> bool {
        self.open.len() < OPEN_MAX && !self.open.contains(&reference)
    }

    /// Reads the object of a reference.
    pub fn opened<T>(
        &mut self,
        reference: u32,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.open.push(reference);
        let read = read(self);
        self.open.pop();
        read
    }

    /// The bytes from a reference on; `None` where it leads to none that were consumed.
    fn before(&self, reference: u32) -> Option<&'a [u8]> {
        let behind = self.end.checked_sub(reference)? as usize;
        let at = self.all.len().checked_sub(behind).filter(|_| behind > self.rest.len())?;
        Some(&self.all[at..])
    }

    /// Reads the object of a reference, and goes on at the present offset.
    pub fn again<T>(
        &mut self,
        reference: u32,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let from = self.before(reference);
        let from =
            from.ok_or_else(|| Error::corrupt("a pointer to an object that is not there"))?;
        let rest = std::mem::replace(&mut self.rest, from);
        let read = read(self);
        self.again = self.again.saturating_add(from.len() - self.rest.len());
        self.rest = rest;
        if self.again > self.all.len().saturating_mul(AGAIN_MAX) {
            return Err(Error::limit("pointers that lead to too much"));
        }
        read
    }

    /// Counts arrays that need not take a byte each.
    pub fn hold(&mut self, arrays: usize) -> Result<()> {
        self.empty = self.empty.saturating_add(arrays);
        let bytes = self.all.len();
        if self.empty > EMPTY_MAX.saturating_add(bytes.saturating_mul(EMPTY_PER_BYTE_MAX)) {
            return Err(Error::limit(format!("{} arrays in {bytes} bytes", self.empty)));
        }
        Ok(())
    }

    /// The class that a reference is to.
    pub fn class_at(&self, reference: u32) -> Option<&'a [u8]> {
        let name = self.before(reference)?.strip_prefix(&NEW_CLASS.to_be_bytes())?;
        let len = name.iter().take(CLASS_NAME_LEN_MAX).position(|byte| *byte == 0)?;
        Some(&name[..len])
    }

    /// Forgets the objects that pointers may refer to: those of the next entry start anew.
    pub fn forget(&mut self) {
        self.seen.clear();
        self.again = 0;
    }

    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(len) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.short(len)),
        }
    }

    #[inline]
    pub fn chunk<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.rest.split_first_chunk::<N>() {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(*taken)
            }
            None => Err(self.short(N)),
        }
    }

    #[cold]
    fn short(&self, len: usize) -> Error {
        Error::corrupt(format!("value of {len} bytes where {} are left", self.rest.len()))
    }

    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.chunk()?))
    }

    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.chunk()?))
    }

    /// The next four bytes, if there are so many, which stay.
    pub fn peek_u32(&self) -> Option<u32> {
        self.rest.first_chunk().map(|first| u32::from_be_bytes(*first))
    }

    /// The checksum behind a version of 0, and 0 where none is there.
    pub fn checksum(&mut self, record: &Record) -> Result<u32> {
        let has_one = self.peek_u32().is_none_or(|next| record.has_checksum(next));
        if has_one { self.u32() } else { Ok(0) }
    }

    /// How many items follow, of at least a byte each.
    pub fn count(&mut self) -> Result<usize> {
        let count = self.u32()? as usize;
        if count > self.rest.len() {
            return Err(Error::corrupt(format!("{count} items in {} bytes", self.rest.len())));
        }
        Ok(count)
    }

    /// A string's bytes: a length of one byte, or 255 and four.
    #[inline]
    pub fn text(&mut self) -> Result<&'a [u8]> {
        let [short] = self.chunk()?;
        let len = if short == u8::MAX { self.u32()? as usize } else { usize::from(short) };
        self.take(len)
    }

    /// A string's bytes up to a zero byte.
    pub fn class_name(&mut self) -> Result<&'a [u8]> {
        let len = self.rest.iter().take(CLASS_NAME_LEN_MAX).position(|byte| *byte == 0);
        let name =
            self.take(len.ok_or_else(|| Error::corrupt("a class's name without an end"))?)?;
        self.take(1)?;
        Ok(name)
    }

    /// A class's name as `TLeafObject` writes it: its length in one byte, then it and a zero.
    pub fn short_class_name(&mut self) -> Result<&'a [u8]> {
        let [len] = self.chunk()?;
        let name = self.take(usize::from(len))?;
        self.take(1)?;
        Ok(name)
    }

    /// Byte count and version; some objects have only the version.
    pub fn header(&mut self) -> Result<StreamedHeader> {
        let Some(counted) = self.peek_u32().filter(|first| first & BYTE_COUNT != 0) else {
            return match self.u16()? {
                version if version & MEMBERWISE == 0 => Ok(StreamedHeader { version, end: None }),
                _ => Err(Error::corrupt("half a header")),
            };
        };
        self.take(4)?;
        let len = (counted & !BYTE_COUNT) as usize;
        let end = self.len().checked_sub(len).ok_or_else(|| {
            Error::corrupt(format!("object of {len} bytes where {} are left", self.len()))
        })?;
        Ok(StreamedHeader { version: self.u16()?, end: Some(end) })
    }

    /// Verifies that the bytes which a header announced have been consumed, and no others.
    pub fn close(&self, header: StreamedHeader) -> Result<()> {
        match header.end {
            Some(end) if end != self.len() => Err(Error::corrupt(format!(
                "object has {} bytes more or less than its byte count says",
                self.len().abs_diff(end)
            ))),
            _ => Ok(()),
        }
    }
}
