//! Baskets in another place of another file (ROOT: `TBasket::CopyTo`).
//!
//! A record's key says where the record and its directory are; all else stays as it is. A basket
//! that is within the tree's record becomes a record of its own.

use bytes::Bytes;

use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::header::has_long_offsets;
use crate::write::buffer::Buffer;
use crate::write::compression::{Compression, Encoders};
use crate::write::key::BIG;
use crate::write::table::RecordPlace;

/// Of the fields of a key, and of its class's name with offsets of eight and four bytes.
const VERSION_AT: usize = 4;
const CYCLE_AT: usize = 16;
pub(super) const OFFSET_AT: usize = 18;
const CLASS_AT_LONG: usize = 34;
const CLASS_AT_SHORT: usize = 26;
/// The name of the class, with its length in front.
const CLASS: &[u8] = b"\x07TBasket";
/// The bits of `fSeekPdir` from this one on: a number that is added to those of processes in a
/// basket.
const PROCESS_SHIFT: u32 = 48;
/// Added to the flag of a basket whose entry offsets follow from a counter.
const FLAG_GENERATE_OFFSETS: u8 = 80;

/// Numbers that a basket's key gets in its new place.
#[derive(Debug, Clone, Copy)]
pub struct KeyNumbers {
    pub cycle: u16,
    /// Added to the number of the process whose references the basket has (`TRef`).
    pub processes: u16,
}

/// Makes the record of a basket, which was at `from` of its file, one for another place.
///
/// # Errors
/// As [`moved_head`].
pub fn move_record(
    record: &mut [u8],
    from: u64,
    to: RecordPlace,
    numbers: KeyNumbers,
) -> Result<()> {
    let head = moved_head(record, from, to, numbers)?;
    record[..head.len()].copy_from_slice(&head);
    Ok(())
}

/// New first bytes, up to the class name, for a basket's record that moves from `from` to `to`. The
/// remaining bytes stay the same.
///
/// # Errors
/// `Corrupt` if `record` is not that of a basket at `from`; `Limit` where a key with four-byte
/// offsets would need an offset beyond 2 GB or the number of a process.
pub fn moved_head(
    record: &[u8],
    from: u64,
    to: RecordPlace,
    numbers: KeyNumbers,
) -> Result<Vec<u8>> {
    let KeyNumbers { cycle, processes } = numbers;
    check(record, from)?;
    let is_long = is_long(record)?;
    let (width, len) = if is_long { (8, CLASS_AT_LONG) } else { (4, CLASS_AT_SHORT) };
    if !is_long && to.offset.max(to.directory) > BIG {
        let message = "a basket whose key cannot say a place beyond 2 GB: compress it anew";
        return Err(Error::limit(message).at(from));
    }
    if !is_long && processes > 0 {
        let message = "a basket whose key cannot say whose references it has (TRef, TProcessID)";
        return Err(Error::limit(message).at(from));
    }
    // The record is long enough: `check` has compared its class, which follows.
    let mut head = record[..len].to_vec();
    let before = match is_long {
        true => u16::from_be_bytes([head[OFFSET_AT + 8], head[OFFSET_AT + 9]]),
        false => 0,
    };
    let process = before.checked_add(processes);
    let process = process.ok_or_else(|| Error::limit("more than 65,536 processes").at(from))?;
    head[CYCLE_AT..CYCLE_AT + 2].copy_from_slice(&cycle.to_be_bytes());
    for (n, place) in
        [to.offset, to.directory | u64::from(process) << PROCESS_SHIFT].into_iter().enumerate()
    {
        let at = OFFSET_AT + n * width;
        head[at..at + width].copy_from_slice(&place.to_be_bytes()[8 - width..]);
    }
    Ok(head)
}

/// Whether a key has offsets of eight bytes.
///
/// # Errors
/// `Corrupt` where it is cut.
pub(super) fn is_long(record: &[u8]) -> Result<bool> {
    let version = record.get(VERSION_AT..VERSION_AT + 2);
    let version = version.ok_or_else(|| Error::corrupt("a basket that is cut"))?;
    Ok(has_long_offsets(u16::from_be_bytes([version[0], version[1]])))
}

/// That a record is a basket, which says that it was at `from` of its file or says no place.
///
/// # Errors
/// `Corrupt` where it is not.
fn check(record: &[u8], from: u64) -> Result<()> {
    let corrupt = |message: &str| Error::corrupt(message).at(from);
    let number = |at: usize, len: usize| {
        let bytes = record.get(at..at + len).ok_or_else(|| corrupt("a basket that is cut"))?;
        Ok(bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    if number(0, 4)? != record.len() as u64 {
        return Err(corrupt("a basket of another length than its tree says"));
    }
    let (width, class) = if is_long(record)? { (8, CLASS_AT_LONG) } else { (4, CLASS_AT_SHORT) };
    if record.get(class..class + CLASS.len()) != Some(CLASS) {
        return Err(corrupt("another record where a basket should be"));
    }
    match number(OFFSET_AT, width)? {
        0 => Ok(()),
        own if own == from => Ok(()),
        own => Err(corrupt(&format!("a basket that says it is at {own}"))),
    }
}

/// The parts of a basket that is within its tree's record.
struct Embedded<'a> {
    /// The key, with the fields that a basket adds to it.
    key: &'a [u8],
    data: Bytes,
    /// Where each entry begins, counted from the key; none where all are of one size.
    offsets: Option<Vec<i32>>,
}

/// Whether [`embedded_record`] can make a record of it.
///
/// # Errors
/// `Corrupt` and `Unsupported` where it cannot.
pub(super) fn check_embedded(bytes: &Bytes, entries: usize) -> Result<()> {
    Embedded::read(bytes, entries).map(drop)
}

/// The record of a basket that is within its tree's record, for [`move_record`].
///
/// # Errors
/// As [`Encoders::compress`].
pub fn embedded_record(
    bytes: &Bytes,
    entries: usize,
    compression: Compression,
    encoders: &mut Encoders,
) -> Result<Vec<u8>> {
    let Embedded { key, data, offsets } = Embedded::read(bytes, entries)?;
    let mut content = Buffer::default();
    content.bytes(&data);
    if let Some(offsets) = offsets {
        content.u32(offsets.len() as u32 + 1);
        offsets.iter().for_each(|offset| content.i32(*offset));
        content.i32(0);
    }
    let content = content.into_vec();
    let mut record = key.to_vec();
    encoders.compress(compression, &content, &mut record)?;
    let len = u32::try_from(record.len()).map_err(|_| Error::limit("a basket of 4 GB"))?;
    record[..4].copy_from_slice(&len.to_be_bytes());
    record[6..10].copy_from_slice(&(content.len() as u32).to_be_bytes());
    // Where it is is not known yet, and its buffer follows.
    let width = if is_long(&record)? { 8 } else { 4 };
    record[OFFSET_AT..OFFSET_AT + width].fill(0);
    record[key.len() - 1] = 0;
    Ok(record)
}

impl Embedded<'_> {
    fn read(bytes: &Bytes, entries: usize) -> Result<Embedded<'_>> {
        let mut cursor = Cursor::new(bytes, 0);
        cursor.skip(VERSION_AT)?;
        let is_long = has_long_offsets(cursor.u16()?);
        cursor.skip(8)?;
        let key_len = usize::from(cursor.u16()?);
        cursor.skip(2 + if is_long { 16 } else { 8 })?;
        for _class_branch_tree in 0..3 {
            cursor.text()?;
        }
        let version = cursor.u16()?;
        cursor.skip(4)?;
        let offsets_len = cursor.i32()?;
        let held = cursor.u32()?;
        let last = cursor.u32()? as usize;
        let flag = cursor.u8()?;
        let is_usual = version > 1 && offsets_len >= 0 && flag < FLAG_GENERATE_OFFSETS;
        if !is_usual || cursor.position() != key_len || flag % FLAG_GENERATE_OFFSETS > 40 {
            return Err(Error::unsupported("a basket within the tree, of an unusual form"));
        }
        if held as usize != entries || flag <= 10 && flag != 1 || last < key_len {
            return Err(Error::corrupt("a basket within the tree that contradicts itself"));
        }
        let mut offsets = None;
        if flag % 10 != 2 && entries > 0 {
            let count = cursor.count(4)?;
            let all = cursor.i32s(count)?;
            let own = all.get(..entries).ok_or_else(|| cursor.corrupt("too few offsets"))?;
            offsets = Some(own.to_vec());
        }
        let data = cursor.take(last)?.slice(key_len..);
        Ok(Embedded { key: &bytes[..key_len], data, offsets })
    }
}
