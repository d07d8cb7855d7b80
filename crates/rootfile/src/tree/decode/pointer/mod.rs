//! Pointers, as `TBufferFile::WriteObjectAny` writes them.

use super::bytes::{BYTE_COUNT, Bytes, Header, NEW_CLASS, Place};
use super::object::{append, fill};
use super::value;
use super::wrong_column;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::tree::interpret::layout::Pointer;

const CLASS_MASK: u32 = 0x8000_0000;

/// Reads a pointer: nothing, an object with its class, or a reference to one before.
pub fn pointer(pointer: &Pointer, bytes: &mut Bytes<'_>, column: &mut Array) -> Result<()> {
    let Array::Option { index, content } = column else { wrong_column() };
    let own = bytes.reference();
    let target = match Tag::read(bytes)? {
        Tag::Null => -1,
        Tag::Object(reference) => match bytes.seen(reference, address(content)) {
            Some(place) => place.at,
            // First in what was skipped, or in another column.
            None => bytes.again(reference, |bytes| match Tag::read(bytes)? {
                Tag::New { class, end } => object(pointer, (reference, class, end), bytes, content),
                _ => Err(nowhere()),
            })?,
        },
        Tag::New { class, end } => object(pointer, (own, class, end), bytes, content)?,
    };
    index.push(target);
    Ok(())
}

/// Reads an object behind its class; where it is in the column.
fn object(
    pointer: &Pointer,
    (reference, class, end): (u32, Option<&[u8]>, usize),
    bytes: &mut Bytes<'_>,
    content: &mut Array,
) -> Result<i64> {
    let class = class.ok_or_else(nowhere)?;
    let known = pointer.classes.iter().find(|(name, _)| name.as_bytes() == class);
    let (_, record) = known.ok_or_else(|| {
        let class = String::from_utf8_lossy(class);
        Error::unsupported(format!("a pointer to class {class}, which has no streamer info"))
    })?;
    let column = address(content);
    let (entries, fields) = value::record_of(content);
    let at = *entries as i64;
    bytes.opened(reference, |bytes| append(true, record, bytes, fields, *entries + 1))?;
    fill(fields, *entries + 1)?;
    *entries += 1;
    bytes.close(Header { version: 0, end: Some(end) })?;
    bytes.see(reference, column, Place { tag: 0, at });
    Ok(at)
}

/// Tells one column from all others, for as long as an entry is read.
pub fn address(boxed: &Array) -> usize {
    std::ptr::from_ref(boxed) as usize
}

/// A reference to what is no object, or no class.
pub fn nowhere() -> Error {
    Error::unsupported("a pointer to an object that is not in the entry")
}

pub fn skip_pointer(bytes: &mut Bytes<'_>) -> Result<()> {
    if let Tag::New { end, .. } = Tag::read(bytes)? {
        bytes.take(bytes.len() - end)?;
    }
    Ok(())
}

/// What a pointer is written as.
pub enum Tag<'a> {
    Null,
    Object(u32),
    /// An object, behind which `end` bytes are left.
    New {
        class: Option<&'a [u8]>,
        end: usize,
    },
}

impl<'a> Tag<'a> {
    pub fn read(bytes: &mut Bytes<'a>) -> Result<Tag<'a>> {
        let first = bytes.u32()?;
        if first == 0 {
            return Ok(Tag::Null);
        }
        if first == NEW_CLASS || first & BYTE_COUNT == 0 {
            return match first & CLASS_MASK {
                0 => Ok(Tag::Object(first)),
                _ => Err(Error::unsupported("a pointer to an object of unknown length")),
            };
        }
        let len = (first & !BYTE_COUNT) as usize;
        let end = bytes.len().checked_sub(len).ok_or_else(|| {
            Error::corrupt(format!("object of {len} bytes where {} are left", bytes.len()))
        })?;
        let class = match bytes.u32()? {
            NEW_CLASS => Some(bytes.class_name()?),
            tag => bytes.class_at(tag & !CLASS_MASK),
        };
        if end > bytes.len() {
            return Err(Error::corrupt("a pointer to an object without bytes"));
        }
        Ok(Tag::New { class, end })
    }
}

#[cfg(test)]
mod tests;
