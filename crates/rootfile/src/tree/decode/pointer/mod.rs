//! Pointers, as `TBufferFile::WriteObjectAny` writes them.

use super::bytes::Bytes;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::types::framing::{BYTE_COUNT, CLASS_MASK, NEW_CLASS};

/// Tells one column from all others, for as long as an entry is read.
pub fn address(boxed: &Array) -> usize {
    std::ptr::from_ref(boxed) as usize
}

/// The error of a reference that leads to no object, or to no class.
pub fn nowhere() -> Error {
    Error::unsupported("a pointer to an object that is not in the entry")
}

pub fn skip_pointer(bytes: &mut Bytes<'_>) -> Result<()> {
    if let Tag::New { end, .. } = Tag::read(bytes)? {
        bytes.take(bytes.len() - end)?;
    }
    Ok(())
}

/// Stored forms of a pointer.
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
