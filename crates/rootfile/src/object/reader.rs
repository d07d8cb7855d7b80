//! Reading objects through their layouts.
//!
//! ```text
//! object    = header members…          header = [bytes | 0x40000000 : u32] version : u16
//! pointer   = 0 : u32 | reference : u32 | [bytes | 0x40000000 : u32] tag : u32 [name…0] object
//! tag       = 0xffffffff (a class's name follows) | class reference | 0x80000000
//! ```
//!
//! References count bytes from the start of the record to the pointer or tag, plus 2; objects
//! without a byte count are counted one by one instead.
//! (Source: ROOT, `io/doc/TFile/dobject.md`, `TBufferFile::ReadClass`, `ReadObjectAny`.)

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::branches::Extent;
use super::marks::{Marked, Marks};
use super::numbers::{scalar, scalars};
use super::queue::{ClassRef, DEPTH_AT_ONCE, Deferred};
use super::{Object, ObjectId, Objects, Opaque, Unread, Value, special};
use crate::cursor::Cursor;
use crate::error::{Error, ErrorKind, Result};
use crate::memory;
use crate::ntuple;
use crate::streamer::{Class, ClassId, ClassLayout, Collection, MemberKind, Streamers};
use crate::types::cpp;
use crate::types::framing::BYTE_COUNT;
use crate::types::special::Special;

/// The reference of the record's own object.
const ROOT_REFERENCE: u32 = 1;

/// Objects in objects in place, or without their length in front: real ones stay below thirty.
const DEPTH_MAX: u32 = 128;
/// Values of one record, so that a small record that expands can't take all memory.
const VALUES_MAX: usize = 1 << 23;
/// After so many values it is looked whether there is memory for as many more, at about so many
/// bytes.
const VALUES_CHECKED: usize = 1 << 17;
const VALUES_BYTES: usize = 64 << 20;
/// Values that need not take a byte each: arrays of a class's own that nothing was written for.
const EMPTY_MAX: usize = 1 << 12;

/// Reads the object of `class` that `content` consists of, and all objects in it.
///
/// `key_len` is the length of the key in front of it (references count from there), `offset` the
/// absolute offset of the content, for errors. An object that can't be read but has a known
/// length becomes [`Unread`], also the record's own.
///
/// # Errors
/// `Limit`; `Corrupt` and `Unsupported` where an object of unknown length can't be read.
pub fn read_object(
    streamers: &Streamers,
    class: &str,
    content: &Bytes,
    key_len: u64,
    offset: u64,
) -> Result<Objects> {
    read_object_at(streamers, class, Cursor::new(content, offset), key_len, &Opaque::new())
}

/// The same of the content that a cursor is at the beginning of, all of which the object has to be.
/// Objects of `opaque` classes become [`Unread`], but for those that are base classes.
///
/// # Errors
/// As [`read_object`].
pub fn read_object_at(
    streamers: &Streamers,
    class: &str,
    content: Cursor<'_>,
    key_len: u64,
    opaque: &Opaque,
) -> Result<Objects> {
    let all = Extent::All;
    read_to_extent(streamers, class, content, key_len, opaque, all).map(|(objects, _)| objects)
}

/// As [`read_object`], and where the parts of the objects are.
///
/// # Errors
/// As [`read_object`].
pub(crate) fn read_object_with_marks(
    streamers: &Streamers,
    class: &str,
    content: &Bytes,
    key_len: u64,
    offset: u64,
) -> Result<(Objects, Marks)> {
    let cursor = Cursor::new(content, offset);
    let none = Opaque::new();
    let marked = Extent::Marked(Marks::default());
    let read = read_to_extent(streamers, class, cursor, key_len, &none, marked);
    read.map(|(objects, extent)| match extent {
        Extent::Marked(marks) => (objects, marks),
        _ => (objects, Marks::default()),
    })
}

pub(super) fn read_to_extent(
    streamers: &Streamers,
    class: &str,
    mut content: Cursor<'_>,
    key_len: u64,
    opaque: &Opaque,
    extent: Extent,
) -> Result<(Objects, Extent)> {
    let (streamers, collection) = match streamers.collection(class) {
        Some((streamers, collection)) => (streamers, Some(collection)),
        None => (Cow::Borrowed(streamers), None),
    };
    let mut reader = ObjectReader {
        streamers: &streamers,
        opaque,
        objects: Vec::new(),
        references: BTreeMap::new(),
        next_reference: ROOT_REFERENCE,
        links: Vec::new(),
        key_len: u32::try_from(key_len).unwrap_or(u32::MAX),
        depth: 0,
        deferred: Deferred::default(),
        values_left: VALUES_MAX,
        empty: Arc::new(ClassLayout::of_names("".into(), &[])),
        extent,
    };
    let class = reader.class_named(class);
    let id = reader.reserve(&class)?;
    reader.refer(ROOT_REFERENCE, Reference::Object(id));
    let cursor = &mut content;
    let within = cursor.clone();
    match collection {
        _ if reader.is_opaque(&class) => reader.leave(id, cursor.remaining(), cursor)?,
        Some(collection) => reader.whole_collection(id, &class, &collection, cursor)?,
        None => reader.whole(id, &class, cursor)?,
    }
    reader.read_deferred(&within)?;
    Ok((Objects { objects: reader.objects, links: reader.links }, reader.extent))
}

/// The version in front of an object, and where the object ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectHeader {
    pub version: u16,
    /// Bytes behind the version, where the object says.
    pub len: Option<usize>,
}

impl ObjectHeader {
    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<ObjectHeader> {
        let start = cursor.clone();
        if cursor.remaining() < 4 || cursor.peek_u32()? & BYTE_COUNT == 0 {
            return Ok(ObjectHeader { version: cursor.u16()?, len: None });
        }
        let count = (cursor.u32()? & !BYTE_COUNT) as usize;
        let version = cursor.u16()?;
        match count.checked_sub(2) {
            Some(len) if len <= cursor.remaining() => Ok(ObjectHeader { version, len: Some(len) }),
            _ => Err(start.corrupt(format!("an object of {count} bytes"))),
        }
    }
}

/// Where something begins that may turn out to be unreadable, and how many marks came before.
pub(super) struct Start<'a> {
    cursor: Cursor<'a>,
    marks: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Reference {
    Class(ClassRef),
    Object(ObjectId),
}

pub(super) struct ObjectReader<'s> {
    pub(super) streamers: &'s Streamers,
    opaque: &'s Opaque,
    pub(super) objects: Vec<Object>,
    pub(super) references: BTreeMap<u32, Reference>,
    /// Reference of the next class or object without a byte count.
    pub(super) next_reference: u32,
    /// Where references stand.
    pub(super) links: Vec<u32>,
    pub(super) key_len: u32,
    depth: u32,
    pub(super) deferred: Deferred,
    values_left: usize,
    empty: Arc<ClassLayout>,
    pub(super) extent: Extent,
}

impl ObjectReader<'_> {
    pub(super) fn start<'c>(&self, cursor: &Cursor<'c>) -> Start<'c> {
        let marks = match &self.extent {
            Extent::Marked(marks) => marks.all.len(),
            _ => 0,
        };
        Start { cursor: cursor.clone(), marks }
    }

    /// The positions of parts; `None` where the caller does not need them.
    fn marks(&mut self) -> Option<&mut Marks> {
        match &mut self.extent {
            Extent::Marked(marks) => Some(marks),
            _ => None,
        }
    }

    /// Marks the beginning of a part, for [`ObjectReader::end`].
    pub(super) fn begin(&mut self, part: Marked, cursor: &Cursor<'_>) -> usize {
        self.marks().map_or(0, |marks| marks.begin(cursor.position(), part))
    }

    pub(super) fn end(&mut self, mark: usize, cursor: &Cursor<'_>) {
        if let Some(marks) = self.marks() {
            marks.end(mark, cursor.position());
        }
    }

    /// Sets the kind of a part that was begun before its kind was known.
    pub(super) fn is(&mut self, mark: usize, part: Marked) {
        if let Some(marks) = self.marks() {
            marks.all[mark].part = part;
        }
    }

    /// The header in front of an object or a collection.
    pub(super) fn header(&mut self, cursor: &mut Cursor<'_>) -> Result<ObjectHeader> {
        let at = cursor.clone();
        let header = ObjectHeader::read(cursor)?;
        if let (Some(marks), Some(len)) = (self.marks(), header.len) {
            let mark = marks.begin(at.position(), Marked::Counted);
            marks.end(mark, cursor.position() + len);
        }
        Ok(header)
    }

    /// Reads the record's own object, which all of the record is; behind the anchor of an RNTuple
    /// is its checksum.
    fn whole(&mut self, id: ObjectId, class: &ClassRef, cursor: &mut Cursor<'_>) -> Result<()> {
        let start = self.start(cursor);
        self.fill(id, class, cursor)?;
        match cursor.remaining() {
            left if left > 0 && !ntuple::is_class(&class.name) => {
                let message = format!("{left} bytes behind an object that its record is");
                let why = cursor.corrupt(message);
                cursor.skip(left)?;
                self.or_unread(Err(why), id, start, cursor)
            }
            _ => Ok(()),
        }
    }

    /// Reads a collection that is all of a record: without a header, unlike one in an object.
    fn whole_collection(
        &mut self,
        id: ObjectId,
        class: &ClassRef,
        collection: &Collection,
        cursor: &mut Cursor<'_>,
    ) -> Result<()> {
        let start = self.start(cursor);
        let done = self.elements(collection, cursor).and_then(|items| match cursor.remaining() {
            0 => {
                let layout = ClassLayout::of_names(class.name.clone(), &[Special::ELEMENTS]);
                self.set(id, 0, &Arc::new(layout), vec![items]);
                Ok(())
            }
            left => Err(cursor.unsupported(format!("{left} bytes more than the elements"))),
        });
        self.or_unread(done, id, start, cursor)
    }

    /// Reads an object in place.
    pub(super) fn object(&mut self, class: ClassId, cursor: &mut Cursor<'_>) -> Result<Value> {
        let class = ClassRef { name: self.streamers.class(class).name.clone(), id: Some(class) };
        let id = self.reserve(&class)?;
        match self.is_opaque(&class) {
            true => self.leave_in_place(id, cursor)?,
            false => self.fill(id, &class, cursor)?,
        }
        Ok(self.unwrapped(id))
    }

    /// An object as a value: a `std::array` has the value of its only member.
    fn unwrapped(&self, id: ObjectId) -> Value {
        let object = &self.objects[id.position()];
        match &object.values[..] {
            [items @ (Value::Numbers(_) | Value::List(_))] if cpp::is_array(&object.class) => {
                items.clone()
            }
            _ => Value::Object(id),
        }
    }

    /// Reads the part of an object that is of a base class.
    fn base(&mut self, class: ClassId, cursor: &mut Cursor<'_>) -> Result<Value> {
        let class = ClassRef { name: self.streamers.class(class).name.clone(), id: Some(class) };
        let id = self.reserve(&class)?;
        self.fill(id, &class, cursor)?;
        Ok(Value::Object(id))
    }

    /// Reads an object in place, of a class known by name only.
    pub(super) fn object_named(&mut self, class: &str, cursor: &mut Cursor<'_>) -> Result<Value> {
        let class = self.class_named(class);
        let id = self.reserve(&class)?;
        match self.is_opaque(&class) {
            true => self.leave_in_place(id, cursor)?,
            false => self.fill(id, &class, cursor)?,
        }
        Ok(Value::Object(id))
    }

    pub(super) fn is_opaque(&self, class: &ClassRef) -> bool {
        !self.opaque.is_empty() && self.opaque.contains(&*class.name)
    }

    /// Leaves the next bytes as an object.
    pub(super) fn leave(
        &mut self,
        id: ObjectId,
        len: usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<()> {
        let bytes = cursor.take(len)?;
        let why = Error::unsupported("left as bytes");
        self.objects[id.0 as usize].unread = Some(Box::new(Unread { bytes, why }));
        Ok(())
    }

    /// The same of an object that has to say how long it is.
    fn leave_in_place(&mut self, id: ObjectId, cursor: &mut Cursor<'_>) -> Result<()> {
        let mut ahead = cursor.clone();
        let Some(len) = ObjectHeader::read(&mut ahead)?.len else {
            let class = &self.objects[id.0 as usize].class;
            return Err(cursor.unsupported(format!("an object of {class} of unknown length")));
        };
        self.leave(id, ahead.position() - cursor.position() + len, cursor)
    }

    /// An object whose members have been read.
    pub(super) fn made(
        &mut self,
        class: ClassId,
        layout: &Arc<ClassLayout>,
        values: Vec<Value>,
    ) -> Result<Value> {
        let class = ClassRef { name: self.streamers.class(class).name.clone(), id: Some(class) };
        let id = self.reserve(&class)?;
        self.set(id, layout.version, layout, values);
        Ok(self.unwrapped(id))
    }

    /// Whether objects are so deep in others that they are read later. Marks are in the order of
    /// the bytes, and branches are never as deep.
    pub(super) fn is_deep(&self) -> bool {
        self.depth >= DEPTH_AT_ONCE && matches!(self.extent, Extent::All)
    }

    /// Reads something that may contain more of its kind.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_MAX {
            return Err(Error::limit(format!("objects nested deeper than {DEPTH_MAX}")));
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    /// Takes a place for an object, so that it can be referred to while it is read.
    pub(super) fn reserve(&mut self, class: &ClassRef) -> Result<ObjectId> {
        self.charge(1)?;
        memory::room(&mut self.objects, 1)?;
        let id = ObjectId(self.objects.len() as u32);
        self.objects.push(Object {
            class: class.name.clone(),
            version: 0,
            layout: self.empty.clone(),
            values: Vec::new(),
            unread: None,
        });
        Ok(id)
    }

    /// Reads an object into its place; where that can't be done but its length is known, its
    /// bytes.
    pub(super) fn fill(
        &mut self,
        id: ObjectId,
        class: &ClassRef,
        cursor: &mut Cursor<'_>,
    ) -> Result<()> {
        let done = self.nested(|reader| reader.fill_nested(id, class, cursor));
        done.map_err(|error| error.within(&class.name))
    }

    fn fill_nested(
        &mut self,
        id: ObjectId,
        class: &ClassRef,
        cursor: &mut Cursor<'_>,
    ) -> Result<()> {
        let special = class.id.and_then(|known| self.streamers.class(known).special.as_ref());
        match special {
            Some((special, layout)) if !special.has_header() => {
                special::read(*special, self, id, 0, cursor)
                    .map(|values| self.set(id, 0, layout, values))
            }
            _ => self.with_header(id, class, cursor),
        }
    }

    fn with_header(
        &mut self,
        id: ObjectId,
        class: &ClassRef,
        cursor: &mut Cursor<'_>,
    ) -> Result<()> {
        let start = self.start(cursor);
        let header = self.header(cursor)?;
        self.objects[id.0 as usize].version = i32::from(header.version);
        let Some(len) = header.len else {
            return self.members(id, class, header, cursor);
        };
        let mut content = cursor.split(len)?;
        let done = self.members(id, class, header, &mut content).and_then(|()| {
            match content.remaining() {
                0 => Ok(()),
                left => Err(content.unsupported(format!("{left} bytes more than its members"))),
            }
        });
        self.or_unread(done, id, start, cursor)
    }

    /// Turns a failure to understand into unread bytes, those from `start` to the cursor. An
    /// object that contradicts itself is often one whose class has a streamer written by hand.
    pub(super) fn or_unread(
        &mut self,
        done: Result<()>,
        id: ObjectId,
        start: Start<'_>,
        cursor: &Cursor<'_>,
    ) -> Result<()> {
        match done {
            Err(why) if matches!(why.kind, ErrorKind::Unsupported(_) | ErrorKind::Corrupt(_)) => {
                let Start { cursor: mut start, marks } = start;
                let bytes = start.take(cursor.position() - start.position())?;
                if let Some(all) = self.marks() {
                    all.all.truncate(marks);
                }
                let object = &mut self.objects[id.0 as usize];
                object.values.clear();
                object.layout = self.empty.clone();
                object.unread = Some(Box::new(Unread { bytes, why }));
                Ok(())
            }
            done => done,
        }
    }

    pub(super) fn set(
        &mut self,
        id: ObjectId,
        version: i32,
        layout: &Arc<ClassLayout>,
        values: Vec<Value>,
    ) {
        let object = &mut self.objects[id.0 as usize];
        object.version = version;
        object.layout = layout.clone();
        object.values = values;
    }

    fn members(
        &mut self,
        id: ObjectId,
        class: &ClassRef,
        header: ObjectHeader,
        cursor: &mut Cursor<'_>,
    ) -> Result<()> {
        let streamers = self.streamers;
        let Some(known) = class.id.map(|known| streamers.class(known)) else {
            let message = format!("class {} without streamer info", class.name);
            return Err(cursor.unsupported(message));
        };
        let version = i32::from(header.version);
        if let Some((special, layout)) = &known.special {
            let values = special::read(*special, self, id, header.version, cursor)?;
            self.set(id, version, layout, values);
            return Ok(());
        }
        if let Some(short) = class.id.and_then(|known| self.short_layout(known, header)) {
            return self.short_members(id, header.version, &short, cursor);
        }
        let layout = match version {
            0 if header.len.is_some() => unversioned(known, cursor)?,
            _ => known.layout(version),
        };
        let Some(layout) = layout else {
            let message = format!("no streamer info for version {version} of class {}", class.name);
            return Err(cursor.unsupported(message));
        };
        self.charge(layout.members.len())?;
        let mut values = Vec::with_capacity(layout.members.len());
        for (at, member) in layout.members.iter().enumerate() {
            let mark = self.begin(Marked::Member { object: id, member: at }, cursor);
            let value = self.value(&member.kind, &values, layout, cursor);
            values.push(value.map_err(|error| error.within(&member.name))?);
            self.end(mark, cursor);
        }
        self.set(id, version, layout, values);
        Ok(())
    }

    pub(super) fn value(
        &mut self,
        kind: &MemberKind,
        before: &[Value],
        layout: &ClassLayout,
        cursor: &mut Cursor<'_>,
    ) -> Result<Value> {
        match kind {
            MemberKind::Base(class, _) => self.base(*class, cursor),
            MemberKind::Object(class) => self.object(*class, cursor),
            MemberKind::Number(one) => scalar(*one, cursor),
            MemberKind::Numbers(one, count) => {
                let count = self.count(count, before, layout, cursor)?;
                count.map_or(Ok(Value::Null), |n| scalars(*one, n, cursor).map(Value::Numbers))
            }
            MemberKind::Times(one, times, count) => {
                let Some(count) = self.count(count, before, layout, cursor)? else {
                    return Ok(Value::Null);
                };
                self.many(*times, cursor, |_, at| scalars(*one, count, at).map(Value::Numbers))
            }
            MemberKind::Text => Ok(Value::Text(cursor.text()?)),
            MemberKind::Texts(n) => {
                ObjectHeader::read(cursor)?;
                self.texts(*n, cursor)
            }
            MemberKind::CountedTexts(count) => {
                let count = self.count(count, before, layout, cursor)?;
                self.texts(count.unwrap_or(0), cursor)
            }
            MemberKind::CharStar => {
                let len = cursor.count(1)?;
                Ok(Value::Text(cursor.take(len)?))
            }
            MemberKind::Objects(class, n) => self.many(*n, cursor, |to, at| to.object(*class, at)),
            MemberKind::Pointer => self.pointer(cursor),
            MemberKind::Pointers(n) => self.many(*n, cursor, Self::pointer),
            MemberKind::Collection(collection) => self.collection(collection, cursor),
            MemberKind::Collections(collection, n) => {
                self.charge(*n)?;
                self.collections(collection, *n, cursor).map(Value::List)
            }
            MemberKind::BareCollections(collection, n) => {
                self.many(*n, cursor, |to, at| to.elements(collection, at))
            }
            MemberKind::Loop { class, pointers, count } => {
                let count = self.member_count(count, before, layout);
                self.counted_objects(*class, *pointers, count, cursor)
            }
            MemberKind::BasketSeeks(count) => self.basket_seeks(count, before, layout, cursor),
            MemberKind::Special => Err(Error::unsupported("a member of a special class")),
            MemberKind::Unsupported(message) => Err(cursor.unsupported(message.as_str())),
        }
    }

    /// Reads `count` values of the same kind.
    pub(super) fn many(
        &mut self,
        count: usize,
        cursor: &mut Cursor<'_>,
        mut one: impl FnMut(&mut Self, &mut Cursor<'_>) -> Result<Value>,
    ) -> Result<Value> {
        self.charge(count)?;
        let there = cursor.remaining();
        if count > there.max(EMPTY_MAX) {
            return Err(cursor.corrupt(format!("{count} values in {there} bytes")));
        }
        let mut values = memory::with_room(count)?;
        for _ in 0..count {
            values.push(one(self, cursor)?);
        }
        Ok(Value::List(values))
    }

    /// An array of `TString`, behind the header that it has as an array.
    pub(super) fn texts(&mut self, count: usize, cursor: &mut Cursor<'_>) -> Result<Value> {
        self.many(count, cursor, |_, at| Ok(Value::Text(at.text()?)))
    }

    pub(super) fn charge(&mut self, values: usize) -> Result<()> {
        let left = self.values_left.checked_sub(values);
        let left =
            left.ok_or_else(|| Error::limit(format!("a record of more than {VALUES_MAX} values")))?;
        // Values take their memory in small pieces, of which none can be refused.
        let checks = |left: usize| (VALUES_MAX - left) / VALUES_CHECKED;
        if checks(left) != checks(self.values_left) {
            memory::check(VALUES_BYTES)?;
        }
        self.values_left = left;
        Ok(())
    }
}

/// The layout of an object of version 0: its class has none, and a checksum follows, or that is the
/// class's version (`ClassDef(..., 0)`), and none does.
fn unversioned<'c>(
    known: &'c Class,
    cursor: &mut Cursor<'_>,
) -> Result<Option<&'c Arc<ClassLayout>>> {
    let checksum = cursor.peek_u32();
    let exact = checksum.ok().and_then(|checksum| known.layout_of(checksum));
    if exact.is_none() && known.has_version_zero() {
        return Ok(known.layout(0));
    }
    Ok(known.layout_by_checksum(cursor.u32()?))
}
