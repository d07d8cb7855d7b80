//! Objects: member after member, or one member of all objects after the other, in place or behind
//! pointers to objects of their class.

use super::bytes::{Bytes, Place, StreamedHeader};
use super::column::{integer, record_of, wrong_column};
use super::pointer::{Tag, address, nowhere, skip_pointer};
use super::value::{self, Run};
use crate::array::{Array, Numbers};
use crate::error::{Error, ErrorKind, Result};
use crate::tree::interpret::layout::{
    Counted, Counter, Layout, NumberRun, Part, Pointer, Prefix, Record, Version,
};
use crate::types::framing::{IS_REFERENCED, MEMBERWISE};

/// Numbers of a member that older objects lack; more are not made out of nothing.
const DEFAULT_WIDTH_MAX: usize = 256;

type Fields = [(String, Array)];

/// Reads one object into the fields that are its own; these then have `target` values each.
pub fn append<'a>(
    header: bool,
    record: &Record,
    bytes: &mut Bytes<'a>,
    fields: &mut Fields,
    target: usize,
) -> Result<()> {
    let mut open = None;
    let version = if header {
        let header = bytes.header()?;
        if header.version & MEMBERWISE != 0 {
            let class = class_of(record);
            return Err(Error::unsupported(format!("class {class} streamed member by member")));
        }
        let checksum = match header.version {
            0 if holds_more(header, bytes) => bytes.checksum(record)?,
            _ => 0,
        };
        open = Some(header);
        record.version(i32::from(header.version), checksum)
    } else {
        record.versions.first()
    };
    let version = version.ok_or_else(|| unknown_version(record))?;
    let read = members(record, version, Order::Single, bytes, fields, target).and_then(|()| {
        let Some(header) = open else { return Ok(()) };
        if version.parts.last() == Some(&Part::Rest) {
            let left = header.end.and_then(|end| bytes.len().checked_sub(end));
            bytes.take(left.ok_or_else(|| Error::corrupt("an object of unknown length"))?)?;
        }
        bytes.close(header)
    });
    read.map_err(|e| misfit(e, open).within(class_of(record)))
}

/// Why an object of known length cannot be read: where its bytes are not those that its streamer
/// info says, a streamer that was written by hand has most likely made them.
fn misfit(error: Error, header: Option<StreamedHeader>) -> Error {
    match (&error.kind, header) {
        (ErrorKind::Corrupt(why), Some(StreamedHeader { end: Some(_), .. })) => {
            Error::unsupported(format!(
                "objects that are not written as the file describes them, but by a streamer of their \
             own, unless the file is damaged ({why})"
            ))
        }
        _ => error,
    }
}

fn holds_more(header: StreamedHeader, bytes: &Bytes<'_>) -> bool {
    header.end.is_some_and(|end| end < bytes.len())
}

/// How objects are written: one by one, or each member of that many before the next member.
#[derive(Debug, Clone, Copy)]
pub enum Order {
    Single,
    Memberwise(usize),
}

impl Order {
    fn count(self) -> usize {
        match self {
            Order::Single => 1,
            Order::Memberwise(count) => count,
        }
    }
}

/// Reads the members of objects into the fields that are theirs.
pub fn members<'a>(
    record: &Record,
    version: &Version,
    order: Order,
    bytes: &mut Bytes<'a>,
    fields: &mut Fields,
    target: usize,
) -> Result<()> {
    if order.count() == 0 {
        // Of no objects not even the headers of their members are there.
        return Ok(());
    }
    let mut next = 0;
    while let Some(part) = version.parts.get(next) {
        if let (Order::Single, Some(run)) = (order, version.run_at(next)) {
            numbers(run, bytes, fields)?;
            next += run.fields.len();
            continue;
        }
        next += 1;
        one_part(part, order, bytes, fields, target).map_err(|e| {
            match part.member().and_then(|at| record.names.get(at)) {
                Some(name) => e.within(name),
                None => e,
            }
        })?;
    }
    let is_first = record.versions.first().is_some_and(|first| std::ptr::eq(first, version));
    if is_first { Ok(()) } else { fill(fields, target) }
}

/// Reads a member or a base class of objects into the fields that are theirs.
fn one_part(
    part: &Part,
    order: Order,
    bytes: &mut Bytes<'_>,
    fields: &mut Fields,
    target: usize,
) -> Result<()> {
    match part {
        Part::Member { at: Some(at), layout } => {
            let lengths = lengths(layout, order, fields, target)?;
            member(layout, order, &lengths, bytes, column(fields, *at))?;
        }
        Part::Member { at: None, layout } => {
            let lengths = lengths(layout, order, fields, target)?;
            bytes.aside(|bytes| member(layout, order, &lengths, bytes, &mut layout.empty()))?;
        }
        Part::Converted { at, layout } => {
            let mut own = layout.empty();
            member(layout, order, &[], bytes, &mut own)?;
            convert(&own, column(fields, *at))?;
        }
        Part::Base { at: Some(at), version, record, is_object } => {
            let fields = fields.get_mut(*at..*at + record.names.len());
            let fields = fields.unwrap_or_else(|| wrong_column());
            base(record, *version, *is_object, order, bytes, fields, target)?;
        }
        Part::Base { at: None, version, record, is_object } => {
            let mut scratch = record.empty();
            let (_, fields) = record_of(&mut scratch);
            let count = order.count();
            bytes.aside(|bytes| base(record, *version, *is_object, order, bytes, fields, count))?;
        }
        Part::TObject { id, bits } => {
            for _ in 0..order.count() {
                let (own_id, own_bits) = tobject(bytes)?;
                for (at, number) in [(id, own_id), (bits, own_bits)] {
                    if let Some(at) = at {
                        push_u32(column(fields, *at), number);
                    }
                }
            }
        }
        Part::Skip(len) => {
            let len = len.checked_mul(order.count()).unwrap_or(usize::MAX);
            bytes.take(len)?;
        }
        Part::Pointers(each) => {
            let count = each.checked_mul(order.count()).unwrap_or(usize::MAX);
            (0..count).try_for_each(|_| skip_pointer(bytes))?;
        }
        Part::Framed => {
            let left = bytes.header()?.end.and_then(|end| bytes.len().checked_sub(end));
            bytes.take(left.ok_or_else(|| Error::corrupt("a collection of unknown length"))?)?;
        }
        // Only of single objects, whose caller skips the rest.
        Part::Rest => {}
    }
    Ok(())
}

/// Single numbers of one object, with one look at the bytes that are left.
fn numbers(run: &NumberRun, bytes: &mut Bytes<'_>, fields: &mut Fields) -> Result<()> {
    let mut stored = bytes.take(run.size)?;
    for (at, is_widened) in &run.fields {
        let Array::Numbers { numbers, .. } = column(fields, *at) else { wrong_column() };
        let pushed = match is_widened {
            true => numbers.push_widened(stored),
            false => numbers.push_big_endian(stored),
        };
        stored = pushed.unwrap_or_else(|| wrong_column());
    }
    Ok(())
}

fn column(fields: &mut Fields, at: usize) -> &mut Array {
    match fields.get_mut(at) {
        Some((_, column)) => column,
        None => wrong_column(),
    }
}

/// A member of the objects that are being read. `lengths` are those of its arrays, where it is
/// one or more that another member counts.
fn member(
    layout: &Layout,
    order: Order,
    lengths: &[usize],
    bytes: &mut Bytes<'_>,
    column: &mut Array,
) -> Result<()> {
    match (layout, order, column) {
        (layout, _, column) if counted_in(layout).is_some() => {
            arrays_in(layout, lengths, bytes, column)
        }
        (layout, Order::Single, column) => value::append(layout, bytes, column),
        (layout, Order::Memberwise(count), column) => {
            value::append_run(layout, Run::Count(count), bytes, column)
        }
    }
}

fn base(
    record: &Record,
    version: i32,
    is_object: bool,
    order: Order,
    bytes: &mut Bytes<'_>,
    fields: &mut Fields,
    target: usize,
) -> Result<()> {
    match order {
        Order::Single => append(true, record, bytes, fields, target),
        Order::Memberwise(count) if is_object => (target - count + 1..=target)
            .try_for_each(|target| append(true, record, bytes, fields, target)),
        Order::Memberwise(_) => {
            let version = record.version(version, 0).or_else(|| record.versions.first());
            let version = version.ok_or_else(|| unknown_version(record))?;
            members(record, version, order, bytes, fields, target)
        }
    }
}

/// How long the counted arrays of the objects that are being read are; nothing for other members.
fn lengths(layout: &Layout, order: Order, fields: &Fields, target: usize) -> Result<Vec<usize>> {
    let Some(counted) = counted_in(layout) else { return Ok(Vec::new()) };
    let field = match counted.by {
        Counter::Field(at) => fields.get(at),
        Counter::Branch => None,
    };
    let Some((name, Array::Numbers { numbers, .. })) = field else {
        return Err(Error::corrupt("an array that no number counts"));
    };
    let all = target.saturating_sub(order.count())..target;
    let length = |at| {
        let length = integer(numbers, at).and_then(|length| usize::try_from(length).ok());
        let length = match length {
            Some(rows) if counted.triangle => {
                rows.checked_mul(rows.saturating_add(1)).map(|twice| twice / 2)
            }
            length => length,
        };
        length.ok_or_else(|| Error::corrupt(format!("{name} does not count an array")))
    };
    all.map(length).collect()
}

/// The counted array of a member, also where that is an array of such arrays.
fn counted_in(layout: &Layout) -> Option<&Counted> {
    match layout {
        Layout::Counted(counted) => Some(counted),
        Layout::Regular { item, .. } => counted_in(item),
        _ => None,
    }
}

/// Reads counted arrays of objects, of which each may have several in an array of any dimensions.
///
/// # Panics
/// Where the layout has no counted arrays.
pub fn arrays_in(
    layout: &Layout,
    lengths: &[usize],
    bytes: &mut Bytes<'_>,
    column: &mut Array,
) -> Result<()> {
    let mut layout = layout;
    let mut column = column;
    let mut each = 1usize;
    loop {
        match (layout, column) {
            (Layout::Counted(counted), column) => {
                return counted_arrays(counted, lengths, each, bytes, column);
            }
            (Layout::Regular { length, item, .. }, Array::Regular { entries, content, .. }) => {
                *entries += lengths.len().saturating_mul(each);
                each = each.saturating_mul(*length);
                (layout, column) = (item, content);
            }
            _ => wrong_column(),
        }
    }
}

/// Reads the counted arrays of objects, `each` of an object. A frame is in front of all of them, a
/// flag of those of one object.
fn counted_arrays(
    counted: &Counted,
    lengths: &[usize],
    each: usize,
    bytes: &mut Bytes<'_>,
    column: &mut Array,
) -> Result<()> {
    let Array::List { offsets, content } = column else { wrong_column() };
    let header = match counted.prefix {
        Prefix::Frame => Some(bytes.header()?),
        Prefix::Flag | Prefix::Nothing => None,
    };
    for length in lengths {
        bytes.hold(each)?;
        let there = counted.prefix != Prefix::Flag || bytes.chunk::<1>()? != [0];
        let length = if there { *length } else { 0 };
        for _ in 0..each {
            counted_array(&counted.item, length, bytes, content)?;
            offsets.to_mut().push(content.len() as i64);
        }
    }
    header.map_or(Ok(()), |header| bytes.close(header))
}

fn counted_array(
    item: &Layout,
    length: usize,
    bytes: &mut Bytes<'_>,
    content: &mut Array,
) -> Result<()> {
    if length > bytes.len() {
        return Err(Error::corrupt(format!("{length} items in {} bytes", bytes.len())));
    }
    match item {
        Layout::Scalars { .. } => value::append_run(item, Run::Count(length), bytes, content),
        item => (0..length).try_for_each(|_| value::append(item, bytes, content)),
    }
}

/// Reads a pointer: nothing, an object with its class, or a reference to one before.
pub fn pointer(pointer: &Pointer, bytes: &mut Bytes<'_>, column: &mut Array) -> Result<()> {
    let Array::Option { index, content } = column else { wrong_column() };
    let own = bytes.reference();
    let target = match Tag::read(bytes)? {
        Tag::Null => -1,
        Tag::Object(reference) => match bytes.seen(reference, address(content)) {
            Some(place) => place.at,
            // The object came first in skipped bytes, or in another column.
            None => bytes.again(reference, |bytes| match Tag::read(bytes)? {
                Tag::New { class, end } => pointed(pointer, reference, class, end, bytes, content),
                _ => Err(nowhere()),
            })?,
        },
        Tag::New { class, end } => pointed(pointer, own, class, end, bytes, content)?,
    };
    index.push(target);
    Ok(())
}

/// Reads an object behind its class; where it is in the column.
fn pointed(
    pointer: &Pointer,
    reference: u32,
    class: Option<&[u8]>,
    end: usize,
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
    let (entries, fields) = record_of(content);
    let at = *entries as i64;
    bytes.opened(reference, |bytes| append(true, record, bytes, fields, *entries + 1))?;
    fill(fields, *entries + 1)?;
    *entries += 1;
    bytes.close(StreamedHeader { version: 0, end: Some(end) })?;
    bytes.see(reference, column, Place { tag: 0, at });
    Ok(at)
}

/// `TObject::Streamer`: version, unique id, bits, and for referenced ones a process id.
pub fn tobject(bytes: &mut Bytes<'_>) -> Result<(u32, u32)> {
    let version = bytes.u16()?;
    if version & MEMBERWISE != 0 {
        // The other half of a byte count; then comes the version.
        bytes.take(4)?;
    }
    let id = bytes.u32()?;
    let bits = bytes.u32()?;
    if bits & IS_REFERENCED != 0 {
        bytes.take(2)?;
    }
    Ok((id, bits))
}

/// Appends numbers of another type.
fn convert(from: &Array, to: &mut Array) -> Result<()> {
    match (from, to) {
        (Array::Numbers { numbers, .. }, Array::Numbers { numbers: to, .. }) => {
            to.extend_converted(numbers)
        }
        _ => wrong_column(),
    }
}

fn push_u32(column: &mut Array, number: u32) {
    match column {
        Array::Numbers { numbers: Numbers::U32(all), .. } => all.push(number),
        _ => wrong_column(),
    }
}

/// Gives fields that an older version of the class lacks a zero for each object.
pub fn fill(fields: &mut Fields, target: usize) -> Result<()> {
    for (name, field) in fields {
        let lacking = target.saturating_sub(field.len());
        if lacking > 0 && !field.push_defaults(lacking, DEFAULT_WIDTH_MAX) {
            return Err(Error::limit(format!("no values for member {name}")));
        }
    }
    Ok(())
}

/// An object of a class that the file says nothing about.
pub fn undescribed(class: Option<&str>) -> Error {
    let class = class.unwrap_or("of a collection's items");
    Error::unsupported(format!("class {class}, which has no streamer info"))
}

pub fn unknown_version(record: &Record) -> Error {
    let class = class_of(record);
    Error::unsupported(format!("class {class} of a version that has no streamer info"))
}

fn class_of(record: &Record) -> &str {
    record.class.as_deref().unwrap_or("of a map's items")
}
