//! ROOT's own containers, whose objects are of classes that only the bytes name.
//!
//! ```text
//! TObjArray      = header [TObject] [name] count : i32 lower bound : i32 pointer…
//! TOrdCollection = header [TObject] [name] count : i32 pointer…
//! TList          = header TObject [name] count : i32 (pointer [option])…
//! TMap           = header [TObject] [name] count : i32 (pointer pointer)…
//! TClonesArray   = header [TObject] [name] "class;version" count : i32 lower bound : i32 objects
//! ```
//!
//! The objects of a `TClonesArray` follow each other with a flag in front of each or, where it
//! bypasses their streamer, member by member.
//! (Source: ROOT, `TObjArray::Streamer`, `TList::Streamer`, `TMap::Streamer`,
//! `TClonesArray::Streamer`, `TOrdCollection::Streamer`, and `TCollection::Streamer` for
//! `THashTable`.)
//!
//! Objects of classes that the file does not describe are records without members, and so are those
//! that are within themselves.

use super::bytes::{Bytes, Place, StreamedHeader};
use super::column::{plain, record_of, wrong_column};
use super::object::{self, Order};
use super::pointer::{Tag, address, nowhere};
use super::value;
use crate::array::Array;
use crate::array::indirect::alternative;
use crate::error::{Error, Result};
use crate::tree::interpret::layout::{Container, Layout, NamedClass, Text, memberless};
use crate::types::framing::BYPASS_STREAMER;

/// The last versions without the beginning that `TCollection` has in all.
const WITHOUT_TOBJECT: u16 = 2;
const WITHOUT_NAME: u16 = 1;
/// The first version of `TList` with a name, and options of objects.
const LIST_WITH_OPTIONS: u16 = 4;

/// Reads a container and appends its objects as a list.
pub fn objects(kind: Container, bytes: &mut Bytes<'_>, column: &mut Array) -> Result<()> {
    let Array::List { offsets, content } = column else { wrong_column() };
    let header = bytes.header()?;
    bytes.enter()?;
    match kind {
        Container::Array | Container::Ordered => {
            beginning(header, bytes)?;
            let count = bytes.count()?;
            if kind == Container::Array {
                bytes.take(4)?;
            }
            (0..count).try_for_each(|_| pointer(bytes, content))?;
        }
        Container::List => list(header, bytes, content)?,
        Container::Map => {
            beginning(header, bytes)?;
            let count = bytes.count()?;
            let (entries, fields) = record_of(content);
            for _ in 0..count {
                for (_, field) in &mut *fields {
                    pointer(bytes, field)?;
                }
            }
            *entries += count;
        }
        Container::Clones => clones(header, bytes, content)?,
    }
    offsets.to_mut().push(content.len() as i64);
    bytes.leave();
    bytes.close(header)
}

/// `TObject` and the name; the bits of the former.
fn beginning(header: StreamedHeader, bytes: &mut Bytes<'_>) -> Result<u32> {
    let mut bits = 0;
    if header.version > WITHOUT_TOBJECT {
        (_, bits) = object::tobject(bytes)?;
    }
    if header.version > WITHOUT_NAME {
        bytes.text()?;
    }
    Ok(bits)
}

fn list(header: StreamedHeader, bytes: &mut Bytes<'_>, content: &mut Array) -> Result<()> {
    let with_options = header.version >= LIST_WITH_OPTIONS;
    object::tobject(bytes)?;
    if with_options {
        bytes.text()?;
    }
    for _ in 0..bytes.count()? {
        pointer(bytes, content)?;
        if with_options {
            bytes.text()?;
        }
    }
    Ok(())
}

fn clones(header: StreamedHeader, bytes: &mut Bytes<'_>, content: &mut Array) -> Result<()> {
    let bits = beginning(header, bytes)?;
    let named = bytes.text()?;
    let count = bytes.u32()? as usize;
    bytes.take(4)?;
    if count == 0 {
        // Member by member, their headers are there all the same.
        let left = header.end.and_then(|end| bytes.len().checked_sub(end));
        return bytes.take(left.unwrap_or(0)).map(drop);
    }
    let mut of = named.splitn(2, |byte| *byte == b';');
    let class = of.next().unwrap_or_default();
    let version = of.next().and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    let Ok(known) = bytes.named(class) else {
        let end = header.end.filter(|end| *end <= bytes.len() && count <= bytes.len());
        let end = end.ok_or_else(|| Error::unsupported("an array of unknown length"))?;
        bytes.take(bytes.len() - end)?;
        return (0..count).try_for_each(|_| unknown(class, content).map(drop));
    };
    if bits & BYPASS_STREAMER != 0 {
        return clones_by_members(known, version, count, bytes, content);
    }
    if count > bytes.len() {
        return Err(Error::corrupt(format!("{count} objects in {} bytes", bytes.len())));
    }
    for _ in 0..count {
        match bytes.chunk::<1>()? {
            [0] => push(content, -1, -1),
            _ => object(known, bytes, content).map(drop)?,
        }
    }
    Ok(())
}

fn clones_by_members(
    known: &NamedClass,
    version: Option<i32>,
    count: usize,
    bytes: &mut Bytes<'_>,
    content: &mut Array,
) -> Result<()> {
    if known.layout == (Layout::Text(Text::Object { header: true })) {
        return texts_by_members(known, count, bytes, content);
    }
    let Layout::Record { record, .. } = &known.layout else {
        return Err(Error::unsupported("objects without members, streamed member by member"));
    };
    let version = match version {
        Some(number) => record.version(number, 0),
        None => record.versions.first(),
    };
    let version = version.ok_or_else(|| object::unknown_version(record))?;
    if count > bytes.len() {
        return Err(Error::corrupt(format!("{count} objects in {} bytes", bytes.len())));
    }
    let (tag, alternative) = of_kind(content, known)?;
    let (entries, fields) = record_of(alternative);
    let first = *entries as i64;
    let target = *entries + count;
    object::members(record, version, Order::Memberwise(count), bytes, fields, target)?;
    *entries = target;
    (first..target as i64).for_each(|at| push(content, tag, at));
    Ok(())
}

/// The texts of several `TObjString`: behind the `TObject` parts of all of them.
fn texts_by_members(
    known: &NamedClass,
    count: usize,
    bytes: &mut Bytes<'_>,
    content: &mut Array,
) -> Result<()> {
    (0..count).try_for_each(|_| object::tobject(bytes).map(drop))?;
    for _ in 0..count {
        let (tag, alternative) = of_kind(content, known)?;
        let at = alternative.len() as i64;
        value::append(&Layout::Text(Text::Root), bytes, alternative)?;
        push(content, tag, at);
    }
    Ok(())
}

/// Reads a pointer to an object of any class: nothing, an object with its class, or a reference to
/// one before.
pub fn pointer(bytes: &mut Bytes<'_>, column: &mut Array) -> Result<()> {
    let own = bytes.reference();
    match Tag::read(bytes)? {
        Tag::Null => push(column, -1, -1),
        Tag::Object(reference) => match bytes.seen(reference, address(plain(column))) {
            Some(place) => push(column, place.tag, place.at),
            // The object came first in skipped bytes, or in another column.
            None => bytes.again(reference, |bytes| match Tag::read(bytes)? {
                Tag::New { class, end } => named_object(reference, class, end, bytes, column),
                _ => Err(nowhere()),
            })?,
        },
        Tag::New { class, end } => named_object(own, class, end, bytes, column)?,
    }
    Ok(())
}

/// Reads an object behind its class. One that leads back to itself is there without members within
/// itself.
fn named_object(
    reference: u32,
    class: Option<&[u8]>,
    end: usize,
    bytes: &mut Bytes<'_>,
    column: &mut Array,
) -> Result<()> {
    let class = class.ok_or_else(nowhere)?;
    let place = match bytes.named(class) {
        Ok(known) if bytes.may_open(reference) => {
            let (tag, at) = bytes.opened(reference, |bytes| object(known, bytes, column))?;
            bytes.close(StreamedHeader { version: 0, end: Some(end) })?;
            Place { tag, at }
        }
        _ => {
            bytes.take(bytes.len() - end)?;
            let (tag, at) = unknown(class, column)?;
            Place { tag, at }
        }
    };
    bytes.see(reference, address(plain(column)), place);
    Ok(())
}

/// Reads an object of a class that was named, and appends it; where it is.
fn object(known: &NamedClass, bytes: &mut Bytes<'_>, column: &mut Array) -> Result<(i8, i64)> {
    let (tag, alternative) = of_kind(column, known)?;
    let at = alternative.len() as i64;
    value::append(&known.layout, bytes, alternative)?;
    push(column, tag, at);
    Ok((tag, at))
}

/// Appends an object of a class that the file does not describe: a record without members.
fn unknown(class: &[u8], column: &mut Array) -> Result<(i8, i64)> {
    let empty = memberless(Some(&String::from_utf8_lossy(class)));
    let Array::Union { contents, .. } = plain(column) else { wrong_column() };
    let tag = alternative(contents, &empty)?;
    let Array::Record { entries, .. } = &mut contents[tag as usize] else { wrong_column() };
    let at = *entries as i64;
    *entries += 1;
    push(column, tag, at);
    Ok((tag, at))
}

/// The alternative for objects of a class.
fn of_kind<'c>(column: &'c mut Array, known: &NamedClass) -> Result<(i8, &'c mut Array)> {
    let Array::Union { contents, .. } = plain(column) else { wrong_column() };
    let tag = alternative(contents, &known.empty)?;
    Ok((tag, &mut contents[tag as usize]))
}

fn push(column: &mut Array, tag: i8, at: i64) {
    let Array::Union { tags, index, .. } = plain(column) else { wrong_column() };
    tags.push(tag);
    index.push(at);
}
