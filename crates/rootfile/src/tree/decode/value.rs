//! One value after the other, for types that do not come in runs.

use super::bytes::{Bytes, StreamedHeader};
use super::column::{extend, plain, record_of, wrong_column};
use super::container;
use super::object::{self, Order};
use crate::array::{Array, Number, Numbers};
use crate::error::{Error, Result};
use crate::memory;
use crate::tree::interpret::layout::{Frame, Layout, List, Record, Text, Version};
use crate::types::framing::{IS_REFERENCED, MEMBERWISE, SAYS_ITEM_VERSION};
use crate::types::scalar::Scalar;

/// How many values a run has.
#[derive(Debug, Clone, Copy)]
pub enum Run {
    Count(usize),
    ToEnd,
}

/// Reads one value and appends it.
pub fn append<'a>(layout: &Layout, bytes: &mut Bytes<'a>, column: &mut Array) -> Result<()> {
    match (layout, column) {
        (Layout::Scalars { scalar: Scalar::Bits, .. }, column) => {
            append_run(layout, Run::Count(1), bytes, column)
        }
        (Layout::Scalars { scalar, .. }, Array::Numbers { numbers, .. }) => {
            let size = layout.fixed_size().ok_or_else(|| Error::limit("value of absurd size"))?;
            extend(*scalar, numbers, bytes.take(size)?)
        }
        (Layout::Text(Text::Standard { framed: true }), column) => {
            let header = bytes.header()?;
            text(Text::Standard { framed: false }, bytes, column)?;
            bytes.close(header)
        }
        (Layout::Text(kind), column) => text(*kind, bytes, column),
        (Layout::List(list), column) if list.frame == Frame::Own => {
            let header = bytes.header()?;
            if let Layout::Unknown(class) = &*list.item {
                unknown_items(class.as_deref(), header, bytes, column)?;
            } else {
                let wise = memberwise(list, header, bytes)?;
                items(list, wise, bytes, column)?;
            }
            bytes.close(header)
        }
        (Layout::List(list), column) => items(list, None, bytes, column),
        (Layout::Record { header, record }, column) if record.is_wrapper => {
            wrapped(column, |fields, entries| {
                object::append(*header, record, bytes, fields, entries + 1)
            })
        }
        (Layout::Record { header, record }, column) => {
            let (entries, fields) = record_of(column);
            object::append(*header, record, bytes, fields, *entries + 1)?;
            *entries += 1;
            Ok(())
        }
        (Layout::Regular { framed, .. }, column) => {
            if !*framed {
                return regular(layout, None, bytes, column);
            }
            let header = bytes.header()?;
            let wise = memberwise_of_all(layout, header, bytes)?;
            regular(layout, wise, bytes, column)?;
            bytes.close(header)
        }
        (Layout::Pointer(pointer), column) => object::pointer(pointer, bytes, column),
        (Layout::Any, column) => container::pointer(bytes, column),
        (Layout::Objects(kind), column) => container::objects(*kind, bytes, column),
        (Layout::Unknown(class), _) => Err(object::undescribed(class.as_deref())),
        (Layout::Filled(item), column) => filled(item, bytes, column),
        (Layout::Named(class, item), column) => {
            if bytes.short_class_name()? != class.as_bytes() {
                return Err(Error::unsupported(format!("another class than {class}")));
            }
            append(item, bytes, column)
        }
        // Needs the object that it is in.
        _ => wrong_column(),
    }
}

/// Reads into the only field of objects, which a column consists of.
fn wrapped(
    column: &mut Array,
    read: impl FnOnce(&mut [(String, Array)], usize) -> Result<()>,
) -> Result<()> {
    let nothing = Array::Record { class: None, entries: 0, fields: Vec::new() };
    let mut fields = [(String::new(), std::mem::replace(column, nothing))];
    let entries = fields[0].1.len();
    let done = read(&mut fields, entries);
    let [(_, filled)] = fields;
    *column = filled;
    done
}

/// Reads a member of several objects, one value after the other: they share one frame where the
/// member has any.
pub fn append_run<'a>(
    layout: &Layout,
    run: Run,
    bytes: &mut Bytes<'a>,
    column: &mut Array,
) -> Result<()> {
    match (layout, run) {
        (Layout::Scalars { scalar: Scalar::Bits, .. }, _) => {
            let Array::Numbers { numbers: Numbers::U32(all), .. } = column else { wrong_column() };
            each(run, bytes, |bytes| {
                let bits = bytes.u32()?;
                if bits & IS_REFERENCED != 0 {
                    bytes.take(2)?;
                }
                all.push(bits);
                Ok(())
            })
        }
        (Layout::Scalars { scalar, .. }, Run::Count(count)) => {
            let Array::Numbers { numbers, .. } = column else { wrong_column() };
            let len = layout.fixed_size().and_then(|size| size.checked_mul(count));
            let len = len.ok_or_else(|| Error::limit("run of absurd size"))?;
            extend(*scalar, numbers, bytes.take(len)?)
        }
        (Layout::Text(Text::Standard { .. }), _) => {
            let plain = Text::Standard { framed: false };
            framed(run, bytes, |_, bytes| each(run, bytes, |bytes| text(plain, bytes, column)))
        }
        (Layout::List(list), _) if list.frame != Frame::None => {
            framed(run, bytes, |header, bytes| {
                let wise = memberwise(list, header, bytes)?;
                each(run, bytes, |bytes| items(list, wise, bytes, column))
            })
        }
        (Layout::Regular { framed: true, .. }, _) => framed(run, bytes, |header, bytes| {
            let wise = memberwise_of_all(layout, header, bytes)?;
            each(run, bytes, |bytes| regular(layout, wise, bytes, column))
        }),
        _ => each(run, bytes, |bytes| append(layout, bytes, column)),
    }
}

/// Reads values behind one header. Where there are no values, the header may be lacking, too.
fn framed<'a>(
    run: Run,
    bytes: &mut Bytes<'a>,
    read: impl FnOnce(StreamedHeader, &mut Bytes<'a>) -> Result<()>,
) -> Result<()> {
    if matches!(run, Run::ToEnd) && bytes.is_empty() {
        return Ok(());
    }
    let header = bytes.header()?;
    read(header, bytes)?;
    bytes.close(header)
}

fn each<'a>(
    run: Run,
    bytes: &mut Bytes<'a>,
    mut one: impl FnMut(&mut Bytes<'a>) -> Result<()>,
) -> Result<()> {
    match run {
        Run::Count(count) => (0..count).try_for_each(|_| one(bytes)),
        Run::ToEnd => {
            while !bytes.is_empty() {
                let before = bytes.len();
                one(bytes)?;
                if bytes.len() == before {
                    return Err(Error::corrupt("items without bytes fill an entry"));
                }
            }
            Ok(())
        }
    }
}

/// As many items as there are in a frame.
fn filled(item: &Layout, bytes: &mut Bytes<'_>, column: &mut Array) -> Result<()> {
    let Array::List { offsets, content } = column else { wrong_column() };
    let header = bytes.header()?;
    let end = header.end.ok_or_else(|| Error::unsupported("an array of unknown length"))?;
    while bytes.len() > end {
        let before = bytes.len();
        append(item, bytes, content)?;
        if bytes.len() == before {
            return Err(Error::corrupt("items without bytes fill an array"));
        }
    }
    offsets.to_mut().push(content.len() as i64);
    bytes.close(header)
}

fn text(kind: Text, bytes: &mut Bytes<'_>, column: &mut Array) -> Result<()> {
    if let Text::Object { header } = kind {
        let header = if header { Some(bytes.header()?) } else { None };
        object::tobject(bytes)?;
        text(Text::Root, bytes, column)?;
        return header.map_or(Ok(()), |header| bytes.close(header));
    }
    let Array::Strings { offsets, bytes: text } = column else { wrong_column() };
    let own: &[u8] = match kind {
        Text::Leaf if bytes.is_empty() => &[],
        Text::Root | Text::Leaf | Text::Standard { .. } | Text::Object { .. } => bytes.text()?,
        Text::Pointed => {
            let len = bytes.u32()? as usize;
            bytes.take(len)?
        }
        Text::Whole => bytes.take(bytes.len())?,
    };
    memory::room(text, own.len())?;
    text.extend_from_slice(own);
    offsets.push(text.len() as i64);
    Ok(())
}

/// Kinds of items that are written member by member.
#[derive(Clone, Copy)]
enum Memberwise<'l> {
    /// Objects of a class, in a version of it.
    Objects(&'l Record, &'l Version),
    /// `TObjString`: the `TObject` parts of all, then the texts.
    Texts,
}

/// How the items of a collection are written, where that is member by member.
fn memberwise<'l>(
    list: &'l List,
    header: StreamedHeader,
    bytes: &mut Bytes<'_>,
) -> Result<Option<Memberwise<'l>>> {
    if header.version & MEMBERWISE == 0 {
        return Ok(None);
    }
    let record = match &*list.item {
        Layout::Record { record, .. } => record,
        Layout::Text(Text::Object { .. }) => {
            item_version(header, None, bytes)?;
            return Ok(Some(Memberwise::Texts));
        }
        Layout::Unknown(_) => {
            // Empty ones can be read.
            item_version(header, None, bytes)?;
            return Ok(None);
        }
        _ => return Err(Error::corrupt("collection of no objects, streamed member by member")),
    };
    let version = match item_version(header, Some(record), bytes)? {
        None => record.versions.first(),
        Some((version, checksum)) => record.version(i32::from(version), checksum),
    };
    let version = version.ok_or_else(|| object::unknown_version(record))?;
    Ok(Some(Memberwise::Objects(record, version)))
}

/// The same of an array of collections, of which one header says it.
fn memberwise_of_all<'l>(
    array: &'l Layout,
    header: StreamedHeader,
    bytes: &mut Bytes<'_>,
) -> Result<Option<Memberwise<'l>>> {
    match array {
        Layout::Regular { item, .. } => memberwise_of_all(item, header, bytes),
        Layout::List(list) => memberwise(list, header, bytes),
        _ => Ok(None),
    }
}

/// Version of the class of a collection's items, or 0 and its checksum, where it says.
fn item_version(
    header: StreamedHeader,
    record: Option<&Record>,
    bytes: &mut Bytes<'_>,
) -> Result<Option<(u16, u32)>> {
    if header.version & !MEMBERWISE < SAYS_ITEM_VERSION {
        return Ok(None);
    }
    let version = bytes.header()?.version;
    let checksum = match (version, record) {
        (0, Some(record)) => bytes.checksum(record)?,
        (0, None) => bytes.u32()?,
        _ => 0,
    };
    Ok(Some((version, checksum)))
}

/// Items of a class that is not described: of which nothing is written, or that are enumerations,
/// which ROOT writes as numbers of four bytes whatever they are.
fn unknown_items(
    class: Option<&str>,
    header: StreamedHeader,
    bytes: &mut Bytes<'_>,
    column: &mut Array,
) -> Result<()> {
    const NUMBER: Layout = Layout::Scalars { scalar: Scalar::Number(Number::I32), shape: vec![] };
    let Array::List { offsets, content } = plain(column) else { wrong_column() };
    let is_memberwise = header.version & MEMBERWISE != 0;
    if is_memberwise {
        item_version(header, None, bytes)?;
    }
    let count = bytes.u32()? as usize;
    let left = header.end.and_then(|end| bytes.len().checked_sub(end));
    let are_numbers = !is_memberwise && left.is_some() && left == count.checked_mul(4);
    match &mut **content {
        _ if count == 0 => {}
        Array::Record { entries, .. } if left == Some(0) => *entries += count,
        content @ Array::Record { entries: 0, .. } if are_numbers => {
            *content = NUMBER.empty();
            append_run(&NUMBER, Run::Count(count), bytes, content)?;
        }
        content @ Array::Numbers { .. } if are_numbers => {
            append_run(&NUMBER, Run::Count(count), bytes, content)?;
        }
        _ => return Err(object::undescribed(class)),
    }
    offsets.to_mut().push(content.len() as i64);
    Ok(())
}

/// Reads a count and that many items.
fn items(
    list: &List,
    memberwise: Option<Memberwise<'_>>,
    bytes: &mut Bytes<'_>,
    column: &mut Array,
) -> Result<()> {
    let Array::List { offsets, content } = plain(column) else { wrong_column() };
    let memberless = match (memberwise, &*list.item) {
        (Some(Memberwise::Objects(record, version)), _) => {
            record.names.is_empty() && version.takes_no_bytes()
        }
        (None, Layout::Record { header: false, record }) => record.names.is_empty(),
        _ => false,
    };
    if memberless {
        // As many as it says: they take no bytes, neither here nor in memory.
        *record_of(content).0 += bytes.u32()? as usize;
        offsets.to_mut().push(content.len() as i64);
        return Ok(());
    }
    let count = bytes.count()?;
    match (memberwise, &*list.item) {
        (Some(Memberwise::Texts), _) => {
            (0..count).try_for_each(|_| object::tobject(bytes).map(drop))?;
            (0..count).try_for_each(|_| text(Text::Root, bytes, content))?;
        }
        (Some(Memberwise::Objects(record, version)), _) if record.is_wrapper => {
            wrapped(content, |fields, entries| {
                let order = Order::Memberwise(count);
                object::members(record, version, order, bytes, fields, entries + count)
            })?;
        }
        (Some(Memberwise::Objects(record, version)), _) => {
            let (entries, fields) = record_of(content);
            let target = *entries + count;
            object::members(record, version, Order::Memberwise(count), bytes, fields, target)?;
            *entries = target;
        }
        (None, item @ Layout::Scalars { .. }) => {
            append_run(item, Run::Count(count), bytes, content)?;
        }
        (None, item) => (0..count).try_for_each(|_| append(item, bytes, content))?,
    }
    offsets.to_mut().push(content.len() as i64);
    Ok(())
}

/// The items of an array of fixed length, without the frame.
fn regular(
    layout: &Layout,
    memberwise: Option<Memberwise<'_>>,
    bytes: &mut Bytes<'_>,
    column: &mut Array,
) -> Result<()> {
    let (Layout::Regular { length, item, .. }, Array::Regular { entries, content, .. }) =
        (layout, column)
    else {
        wrong_column()
    };
    if *length > bytes.len() {
        return Err(Error::corrupt(format!("{length} items in {} bytes", bytes.len())));
    }
    (0..*length).try_for_each(|_| match (memberwise, &**item) {
        (Some(_), Layout::List(list)) => items(list, memberwise, bytes, content),
        (Some(_), item @ Layout::Regular { .. }) => regular(item, memberwise, bytes, content),
        (_, item) => append(item, bytes, content),
    })?;
    *entries += 1;
    Ok(())
}
