//! Linked attribute sets: RNTuples about ranges of entries of another one, of which the footer of
//! that one knows.
//!
//! ```text
//! record = schema major minor:u16  length of the anchor:u32  locator of the anchor  name
//! ```
//!
//! The anchor's place is that of its object, not of its key, and no directory lists it. Here the
//! RNTuple stands for a directory of its sets, so that each has a path. The list came with format
//! 1.0.1: older footers end in front of it.

use std::ops::Range;

use super::anchor::CLASS;
use super::reader::{EnvelopeReader, Locator, elsewhere};
use crate::error::{Error, Result};
use crate::key::Key;

/// Bytes of a record of a set without a name.
const RECORD_LEN_MIN: usize = 8 + 8 + 4 + 4;

/// Where an attribute set is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeSet {
    pub name: String,
    /// Major and minor version of the meaning of its fields.
    pub schema_version: [u16; 2],
    /// Of the anchor, in the file.
    place: Locator,
    /// Bytes of the anchor, uncompressed.
    length: u32,
}

impl AttributeSet {
    /// Reads the part of a footer behind its cluster groups.
    pub(super) fn list(footer: &mut EnvelopeReader<'_>) -> Result<Vec<AttributeSet>> {
        if footer.remaining() == 0 {
            return Ok(Vec::new());
        }
        let (count, mut list) = footer.list(RECORD_LEN_MIN)?;
        let mut sets = Vec::with_capacity(count);
        for _ in 0..count {
            let mut record = list.record()?;
            sets.push(AttributeSet {
                schema_version: [record.u16()?, record.u16()?],
                length: record.u32()?,
                place: record.locator()?,
                name: record.string()?,
            });
        }
        Ok(sets)
    }

    /// That it can be opened.
    ///
    /// # Errors
    /// `Unsupported` where it is in no file, `Corrupt` where it has no name.
    pub fn is_here(&self) -> Result<()> {
        match &self.place {
            _ if self.name.is_empty() => Err(Error::corrupt("an attribute set without a name")),
            Locator::Range(_) => Ok(()),
            Locator::Elsewhere(kind) => Err(elsewhere(*kind).within(&self.name)),
        }
    }

    /// The place of its anchor, and the anchor's bytes, uncompressed; `None` if it is in no file.
    pub(crate) fn anchor(&self) -> Option<(Range<u64>, u32)> {
        let Locator::Range(range) = &self.place else { return None };
        Some((range.clone(), self.length))
    }

    /// Its anchor as the content of a record that has no key of its own.
    pub(super) fn key(&self) -> Option<Key> {
        let Locator::Range(range) = &self.place else { return None };
        Some(Key {
            record_len: range.end - range.start,
            content_len: u64::from(self.length),
            key_len: 0,
            cycle: 1,
            datime: 0,
            offset: range.start,
            directory_offset: 0,
            class: CLASS.into(),
            name: self.name.clone(),
            title: String::new(),
        })
    }
}
