//! One value after the other, for types that do not come in runs.

use super::{MEMBERWISE, extend, wrong_column};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::tree::interpret::{Layout, Part, Record};

/// Set in a byte count to tell it from a version (ROOT: `kByteCountMask`).
const BYTE_COUNT: u32 = 0x4000_0000;
/// Length of a foreign class's checksum, which follows a version of 0.
const CHECKSUM_LEN: usize = 4;
/// Set in a TObject's bits where a process id follows (ROOT: `kIsReferenced`).
pub const IS_REFERENCED: u32 = 1 << 4;

/// Bytes that are consumed from the front.
#[derive(Debug, Clone)]
pub struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Bytes { rest: bytes }
    }

    pub fn len(&self) -> usize {
        self.rest.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(|| {
            Error::corrupt(format!("value of {len} bytes where {} are left", self.rest.len()))
        })?;
        self.rest = rest;
        Ok(taken)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| {
            Error::corrupt(format!("value of {N} bytes where {} are left", self.rest.len()))
        })?;
        self.rest = rest;
        Ok(*taken)
    }

    fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.chunk()?))
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.chunk()?))
    }

    /// A string's bytes: a length of one byte, or 255 and four.
    fn text(&mut self) -> Result<&'a [u8]> {
        let [short] = self.chunk()?;
        let len = if short == u8::MAX { self.u32()? as usize } else { usize::from(short) };
        self.take(len)
    }
}

/// Reads one value of type `layout` and appends it.
pub fn append(layout: &Layout, bytes: &mut Bytes<'_>, column: &mut Array) -> Result<()> {
    match (layout, column) {
        (Layout::Scalars { scalar, .. }, Array::Numbers { numbers, .. }) => {
            let size = layout.fixed_size().ok_or_else(|| Error::limit("value of absurd size"))?;
            extend(*scalar, numbers, bytes.take(size)?);
        }
        (Layout::Text, Array::Strings { offsets, bytes: text }) => {
            text.extend_from_slice(bytes.text()?);
            offsets.push(text.len() as i64);
        }
        (Layout::List(item), Array::List { offsets, content }) => {
            append_list(item, bytes, content)?;
            offsets.push(content.len() as i64);
        }
        (Layout::Record(record), Array::Record { entries, fields, .. }) => {
            append_record(record, bytes, &mut fields.iter_mut())?;
            *entries += 1;
        }
        _ => wrong_column(),
    }
    Ok(())
}

fn append_list(item: &Layout, bytes: &mut Bytes<'_>, content: &mut Array) -> Result<()> {
    let count = bytes.u32()? as usize;
    if let (Layout::Scalars { scalar, .. }, Array::Numbers { numbers, .. }) = (item, &mut *content)
    {
        let len = item.fixed_size().and_then(|size| size.checked_mul(count));
        let len = len.ok_or_else(|| Error::limit("list of absurd size"))?;
        extend(*scalar, numbers, bytes.take(len)?);
        return Ok(());
    }
    // Every other item takes at least one byte: a count that lies ends the loop by an error.
    for _ in 0..count {
        if bytes.is_empty() {
            return Err(Error::corrupt(format!("{count} items do not fit into their entry")));
        }
        append(item, bytes, content)?;
    }
    Ok(())
}

/// Reads the members of one object, bases included, into the fields that are theirs.
fn append_record(
    record: &Record,
    bytes: &mut Bytes<'_>,
    fields: &mut std::slice::IterMut<'_, (String, Array)>,
) -> Result<()> {
    let end = match (&record.class, record.version) {
        (Some(name), Some(version)) => Some(object_end(name, version, bytes)?),
        _ => None,
    };
    for part in &record.parts {
        match part {
            Part::Member(_, layout) => {
                let Some((_, field)) = fields.next() else { wrong_column() };
                append(layout, bytes, field)?;
            }
            Part::Base(base) => append_record(base, bytes, fields)?,
            Part::TObject => skip_tobject(bytes)?,
        }
    }
    match end {
        Some(end) if bytes.len() != end => Err(Error::corrupt(format!(
            "object has {} bytes more or less than its byte count says",
            bytes.len().abs_diff(end)
        ))),
        _ => Ok(()),
    }
}

/// Reads an object's byte count and version: how many bytes must be left after it.
fn object_end(name: &str, expected: i32, bytes: &mut Bytes<'_>) -> Result<usize> {
    let byte_count = bytes.u32()?;
    if byte_count & BYTE_COUNT == 0 {
        return Err(Error::unsupported(format!("object of class {name} without a byte count")));
    }
    let len = (byte_count & !BYTE_COUNT) as usize;
    let end = bytes.len().checked_sub(len).ok_or_else(|| {
        Error::corrupt(format!("object of {len} bytes where {} are left", bytes.len()))
    })?;
    let version = bytes.u16()?;
    if version & MEMBERWISE != 0 {
        return Err(Error::unsupported(format!("class {name} streamed member by member")));
    }
    if version == 0 {
        bytes.take(CHECKSUM_LEN)?;
    } else if i32::from(version) != expected {
        return Err(Error::unsupported(format!(
            "class {name} of version {version} where {expected} was expected"
        )));
    }
    Ok(end)
}

/// `TObject::Streamer`: version, unique id, bits, and for referenced ones a process id.
fn skip_tobject(bytes: &mut Bytes<'_>) -> Result<()> {
    let version = bytes.u16()?;
    if u32::from(version) & (BYTE_COUNT >> 16) != 0 {
        // The other half of a byte count; then comes the version.
        bytes.take(4)?;
    }
    bytes.take(4)?;
    if bytes.u32()? & IS_REFERENCED != 0 {
        bytes.take(2)?;
    }
    Ok(())
}
