//! The key in front of a basket (ROOT: `TBasket`; read in [`crate::tree::Basket`]).

use super::buffer::Buffer;
use super::key::KeyHead;
use super::table::RecordPlace;
use crate::error::Result;

/// Bytes that a `TBasket` adds to its key.
const BASKET_LEN: usize = 19;
const BASKET_VERSION: u16 = 3;

/// Fields of a basket's key that describe its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BasketFields {
    pub entries: u64,
    /// Bytes of the entries alone.
    pub data_len: usize,
    /// Bytes of the entries and their offsets, before compression.
    pub content_len: usize,
    /// Whether offsets of the entries follow them.
    pub has_offsets: bool,
}

/// The key of a basket of a branch, `number` of its baskets come before it.
pub fn head(branch: &str, tree: &str, number: usize, place: RecordPlace) -> KeyHead {
    KeyHead {
        class: "TBasket".into(),
        name: branch.to_owned(),
        title: tree.to_owned(),
        datime: place.datime,
        cycle: number as u16,
        directory: place.directory,
        extra: BASKET_LEN,
    }
}

/// The bytes of a basket's key, of which `stored` bytes follow at a place.
///
/// # Errors
/// As [`KeyHead::write`].
pub fn key(
    head: &KeyHead,
    place: RecordPlace,
    stored: usize,
    fields: BasketFields,
) -> Result<Buffer> {
    let BasketFields { entries, data_len, content_len, has_offsets } = fields;
    let key_len = head.len(place.offset);
    let entry_len = data_len.checked_div(entries as usize).unwrap_or(0);
    let mut key = Buffer::default();
    head.write(&mut key, place.offset, stored as u64, content_len as u64)?;
    key.u16(BASKET_VERSION);
    key.u32((key_len + content_len) as u32); // fBufferSize
    key.u32(if has_offsets { entries as u32 + 1 } else { entry_len as u32 }); // fNevBufSize
    key.u32(entries as u32); // fNevBuf
    key.u32((key_len + data_len) as u32); // fLast
    key.u8(0);
    Ok(key)
}
