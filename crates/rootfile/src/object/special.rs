//! Reading objects of classes whose streamers are written by hand in ROOT.

use super::marks::Marked;
use super::reader::{ObjectHeader, ObjectReader};
use super::{ObjectId, Value};
use crate::array::{Number, Numbers};
use crate::cursor::Cursor;
use crate::error::Result;
use crate::types::framing::{BYPASS_STREAMER, IS_REFERENCED, MEMBERWISE};
use crate::types::special::Special;

/// The values of an object of that version, in the order of [`Special::members`].
pub(super) fn read(
    special: Special,
    reader: &mut ObjectReader<'_>,
    id: ObjectId,
    version: u16,
    cursor: &mut Cursor<'_>,
) -> Result<Vec<Value>> {
    match special {
        Special::Object => tobject(cursor).map(|(id, bits)| vec![id, bits.into()]),
        Special::Ref => {
            let (id, bits) = tobject(cursor)?;
            Ok(vec![id, bits.into(), Value::Uint(cursor.u16()?.into())])
        }
        Special::Datime => Ok(vec![Value::Uint(cursor.u32()?.into())]),
        Special::Text => Ok(vec![Value::Text(cursor.text()?)]),
        Special::Array(basic) => {
            let count = cursor.count(basic.size())?;
            Ok(vec![Value::Numbers(cursor.numbers(basic, count)?)])
        }
        Special::List => list(reader, id, version, cursor),
        Special::ObjArray => {
            let (name, _) = collection_name(version, 2, cursor)?;
            let items = reader.begin(Marked::Null, cursor);
            let count = cursor.count(4)?;
            let lower = Value::Int(cursor.i32()?.into());
            reader.is(items, Marked::Items { object: id, first: cursor.position() });
            let all = reader.many(count, cursor, |to, at| {
                let item = to.begin(Marked::Item, at);
                let object = to.pointer(at)?;
                to.end(item, at);
                Ok(object)
            })?;
            reader.end(items, cursor);
            Ok(vec![name, lower, all])
        }
        Special::Ordered => {
            let (name, _) = collection_name(version, 2, cursor)?;
            let count = cursor.count(4)?;
            Ok(vec![name, reader.many(count, cursor, ObjectReader::pointer)?])
        }
        Special::Map => {
            let (name, _) = collection_name(version, 2, cursor)?;
            let count = cursor.count(8)?;
            let pair = |to: &mut ObjectReader<'_>, at: &mut Cursor<'_>| {
                Ok(Value::List(vec![to.pointer(at)?, to.pointer(at)?]))
            };
            Ok(vec![name, reader.many(count, cursor, pair)?])
        }
        Special::ClonesArray => clones_array(reader, version, cursor),
        Special::RefArray => {
            let (name, _) = collection_name(version, 0, cursor)?;
            let count = cursor.count(4)?;
            let lower = Value::Int(cursor.i32()?.into());
            let process = Value::Uint(cursor.u16()?.into());
            let ids = Value::Numbers(Numbers::U32(cursor.u32s(count)?));
            Ok(vec![name, lower, process, ids])
        }
        Special::SymmetricMatrix(number) => symmetric_matrix(number, cursor),
        Special::TreeIndex => tree_index(version, cursor),
        Special::NumberMap => number_map(version, cursor),
        Special::RooList => roo_list(reader, version, cursor),
        Special::BranchClones => branch_clones(reader, cursor),
        Special::Nothing => Ok(Vec::new()),
        // A basket inside of a tree: its bytes are for the basket's own reader.
        Special::Basket => Ok(vec![Value::Text(cursor.take(cursor.remaining())?)]),
    }
}

/// `TObject`: its identifier and its bits.
pub(super) fn tobject(cursor: &mut Cursor<'_>) -> Result<(Value, u32)> {
    if cursor.u16()? & MEMBERWISE != 0 {
        cursor.skip(4)?;
    }
    let id = Value::Uint(cursor.u32()?.into());
    let bits = cursor.u32()?;
    if bits & IS_REFERENCED != 0 {
        cursor.skip(2)?;
    }
    Ok((id, bits))
}

impl From<u32> for Value {
    fn from(value: u32) -> Value {
        Value::Uint(value.into())
    }
}

/// The beginning of collections: `TObject` and the name, in versions above `plain_version`.
pub(super) fn collection_name(
    version: u16,
    plain_version: u16,
    cursor: &mut Cursor<'_>,
) -> Result<(Value, u32)> {
    let bits = if version > plain_version { tobject(cursor)?.1 } else { 0 };
    let name = if version > 1 || plain_version == 0 { cursor.text()? } else { bytes::Bytes::new() };
    Ok((Value::Text(name), bits))
}

/// `TBranchClones`, whose version says nothing of the numbers in the middle of it.
fn branch_clones(reader: &mut ObjectReader<'_>, cursor: &mut Cursor<'_>) -> Result<Vec<Value>> {
    /// Compression, sizes of baskets and offsets, how many baskets and which is written.
    const SETTINGS_LEN: usize = 20;
    /// Number of entries twice and of bytes twice, and an offset.
    const COUNTS_LEN: usize = 36;
    /// Before ROOT 5, where the first of these had four bytes.
    const SHORT_COUNTS_LEN: usize = 32;
    ObjectHeader::read(cursor)?;
    tobject(cursor)?;
    let name = cursor.text()?;
    let title = cursor.text()?;
    cursor.skip(SETTINGS_LEN)?;
    // A pointer with its length in front, as later versions have it, begins in no other way.
    let mut ahead = cursor.clone();
    ahead.skip(COUNTS_LEN)?;
    let is_long = ahead.u32()? >> 30 == 1 && ahead.u32()? >> 31 == 1;
    cursor.skip(if is_long { COUNTS_LEN } else { SHORT_COUNTS_LEN })?;
    let counts = reader.pointer(cursor)?;
    let class = cursor.text()?;
    let below = reader.object_named("TObjArray", cursor)?;
    Ok(vec![Value::Text(name), Value::Text(title), counts, Value::Text(class), below])
}

/// `TMatrixTSym`: its base class, and half of its numbers behind that.
fn symmetric_matrix(number: Number, cursor: &mut Cursor<'_>) -> Result<Vec<Value>> {
    const WHOLE_NUMBERS: usize = 6;
    ObjectHeader::read(cursor)?;
    tobject(cursor)?;
    let mut values = Vec::with_capacity(WHOLE_NUMBERS + 2);
    let rows = cursor.peek_u32()? as usize;
    for _ in 0..WHOLE_NUMBERS {
        values.push(Value::Int(cursor.i32()?.into()));
    }
    values.push(Value::Float(match number {
        Number::F32 => cursor.f32()?.into(),
        _ => cursor.f64()?,
    }));
    let half = rows.checked_mul(rows.saturating_add(1)).map(|twice| twice / 2);
    let there = cursor.remaining() / number.size();
    let half = half.filter(|half| *half <= there);
    let half = half.ok_or_else(|| cursor.corrupt(format!("a matrix of {rows} rows")))?;
    values.push(Value::Numbers(cursor.numbers(number, half)?));
    Ok(values)
}

/// `TTreeIndex`: names and, since version 2, minor numbers beside the major ones.
fn tree_index(version: u16, cursor: &mut Cursor<'_>) -> Result<Vec<Value>> {
    let base = ObjectHeader::read(cursor)?;
    let len = base.len.ok_or_else(|| cursor.corrupt("a tree index without a base class"))?;
    cursor.skip(len)?;
    let major = cursor.text()?;
    let minor = cursor.text()?;
    let arrays = if version > 1 { 3 } else { 2 };
    let there = cursor.clone().remaining().saturating_sub(8) / (8 * arrays);
    let count = usize::try_from(cursor.u64()?).ok().filter(|count| *count <= there);
    let count = count.ok_or_else(|| cursor.corrupt("a tree index larger than its record"))?;
    let values = cursor.numbers(Number::I64, count)?;
    let minors =
        if version > 1 { cursor.numbers(Number::I64, count)? } else { Number::I64.empty() };
    let entries = cursor.numbers(Number::I64, count)?;
    Ok(vec![
        Value::Text(major),
        Value::Text(minor),
        Value::Numbers(values),
        Value::Numbers(minors),
        Value::Numbers(entries),
    ])
}

/// `TExMap`: a slot (since version 2), a hash, a key and a value of each pair.
fn number_map(version: u16, cursor: &mut Cursor<'_>) -> Result<Vec<Value>> {
    tobject(cursor)?;
    let with_slots = version > 1;
    let size = if with_slots { Value::Int(cursor.i32()?.into()) } else { Value::Null };
    let count = cursor.count(if with_slots { 28 } else { 24 })?;
    let pairs = (0..count).map(|_| {
        cursor.skip(if with_slots { 12 } else { 8 })?;
        Ok((Value::Int(cursor.i64()?), Value::Int(cursor.i64()?)))
    });
    Ok(vec![size, Value::Map(pairs.collect::<Result<_>>()?)])
}

fn roo_list(
    reader: &mut ObjectReader<'_>,
    version: u16,
    cursor: &mut Cursor<'_>,
) -> Result<Vec<Value>> {
    tobject(cursor)?;
    let count = cursor.count(4)?;
    let items = reader.many(count, cursor, ObjectReader::pointer)?;
    let name = if matches!(version, 2 | 3) { cursor.text()? } else { bytes::Bytes::new() };
    Ok(vec![Value::Text(name), items])
}

fn list(
    reader: &mut ObjectReader<'_>,
    id: ObjectId,
    version: u16,
    cursor: &mut Cursor<'_>,
) -> Result<Vec<Value>> {
    const WITH_OPTIONS: u16 = 4;
    let with_options = version >= WITH_OPTIONS;
    tobject(cursor)?;
    let name = if with_options { cursor.text()? } else { bytes::Bytes::new() };
    let mark = reader.begin(Marked::Null, cursor);
    let count = cursor.count(4)?;
    reader.is(mark, Marked::Items { object: id, first: cursor.position() });
    let mut options = Vec::new();
    let items = reader.many(count, cursor, |to, at| {
        let mark = to.begin(Marked::Item, at);
        let item = to.pointer(at)?;
        if with_options {
            options.push(Value::Text(at.text()?));
        }
        to.end(mark, at);
        Ok(item)
    })?;
    reader.end(mark, cursor);
    Ok(vec![Value::Text(name), items, Value::List(options)])
}

fn clones_array(
    reader: &mut ObjectReader<'_>,
    version: u16,
    cursor: &mut Cursor<'_>,
) -> Result<Vec<Value>> {
    let (name, bits) = collection_name(version, 2, cursor)?;
    let class = cursor.text()?;
    let count = cursor.count(0)?;
    let lower = Value::Int(cursor.i32()?.into());
    let named = String::from_utf8_lossy(&class).into_owned();
    let (class_name, class_version) = named.split_once(';').unwrap_or((&named, ""));
    if bits & BYPASS_STREAMER != 0 && count > 0 {
        let items =
            reader.clones_by_member(class_name, class_version.parse().ok(), count, cursor)?;
        return Ok(vec![name, Value::Text(class), lower, Value::List(items)]);
    }
    let there = cursor.clone().remaining();
    if count > there {
        return Err(cursor.corrupt(format!("{count} objects in {there} bytes")));
    }
    let items = reader.many(count, cursor, |to, at| {
        if at.u8()? == 0 { Ok(Value::Null) } else { to.object_named(class_name, at) }
    })?;
    Ok(vec![name, Value::Text(class), lower, items])
}
