//! Pointers, as `TBufferFile::WriteObjectAny` writes them.

use super::bytes::{BYTE_COUNT, Bytes, Header, NEW_CLASS, Seen};
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
    let of = std::ptr::from_ref(pointer) as usize;
    let own = bytes.reference();
    let target = match Tag::read(bytes)? {
        Tag::Null => -1,
        Tag::Object(reference) => match bytes.seen(reference) {
            Some(Seen::Object { of: known, at }) if known == of => at,
            _ => return Err(Error::unsupported("a pointer to an object elsewhere")),
        },
        Tag::New { class, end } => {
            let class =
                class.ok_or_else(|| Error::unsupported("a pointer to a class named elsewhere"))?;
            let known = pointer.classes.iter().find(|(name, _)| name.as_bytes() == class);
            let (_, record) = known.ok_or_else(|| {
                let class = String::from_utf8_lossy(class);
                Error::unsupported(format!(
                    "a pointer to class {class}, which has no streamer info"
                ))
            })?;
            let (entries, fields) = value::record_of(content);
            let at = *entries as i64;
            append(true, record, bytes, fields, *entries + 1)?;
            fill(fields, *entries + 1)?;
            *entries += 1;
            bytes.close(Header { version: 0, end: Some(end) })?;
            bytes.see(own, Seen::Object { of, at });
            at
        }
    };
    index.push(target);
    Ok(())
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
        let reference = bytes.reference();
        let tag = bytes.u32()?;
        let class = if tag == NEW_CLASS {
            let class = bytes.class_name()?;
            bytes.see(reference, Seen::Class(class));
            Some(class)
        } else {
            bytes.class_at(tag & !CLASS_MASK)
        };
        if end > bytes.len() {
            return Err(Error::corrupt("a pointer to an object without bytes"));
        }
        Ok(Tag::New { class, end })
    }
}
