//! Objects of one record, or of several, written into another one.
//!
//! Bytes between pointers, byte counts and changed members are copied. References and the names of
//! classes depend on offsets, so these are written anew.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bytes::Bytes;

use crate::array::Number;
use crate::error::{Error, Result};
use crate::object::marks::{Mark, Marked};
use crate::object::{ObjectId, ObjectRef, Objects, read_object_with_marks};
use crate::streamer::{Count, MemberKind, Streamers};
use crate::types::scalar::Scalar;
use crate::write::buffer::Buffer;

/// The reference to a record's own object.
const ROOT_REFERENCE: u32 = 1;
/// The version of `TObject`, and the bit behind which the number of a process follows.
const OBJECT_VERSION: u16 = 1;
const IS_REFERENCED: u32 = 1 << 4;
/// In front of offsets of baskets that have eight bytes, in versions of `TBranch` up to 9.
const EIGHT_BYTES: u8 = 2;
/// Versions of `TList` from this on have a text behind each object.
const LIST_WITH_OPTIONS: i32 = 4;

/// The content of an input's record, and where the parts of its objects are.
#[derive(Debug)]
pub struct SourceRecord {
    content: Bytes,
    pub(crate) objects: Objects,
    marks: Vec<Mark>,
    /// For each mark the first one behind it and all marks within it.
    next: Vec<usize>,
    /// The mark of each object that a pointer leads to.
    bodies: BTreeMap<ObjectId, usize>,
}

/// A list's object, and the offset of its first item.
#[derive(Debug, Clone, Copy)]
struct MarkedList {
    object: ObjectId,
    first: usize,
}

/// An object of one of several records, by their position.
pub(crate) type Object = (usize, ObjectId);

/// Changes to objects as they are copied.
#[derive(Debug, Clone, Default)]
pub(crate) struct Edits {
    /// Bytes in place of those of a member, by its position in its object.
    pub members: BTreeMap<(Object, usize), Vec<u8>>,
    /// Objects that are left out: of lists, too.
    pub dropped: BTreeSet<Object>,
    /// Further objects of a list.
    pub added: BTreeMap<Object, Vec<Object>>,
    /// Objects that another one stands for.
    pub replaced: BTreeMap<Object, Object>,
    /// New bytes of objects that a pointer leads to.
    pub bodies: BTreeMap<Object, Vec<u8>>,
    /// New objects that pointers lead to, by the object of the pointer and its position there.
    pub pointed: BTreeMap<(Object, usize), Object>,
}

impl SourceRecord {
    /// Reads the object of `class` that `content` is, behind a key of `key_len` bytes at `offset`.
    ///
    /// # Errors
    /// As [`crate::object::read_object`]; `Unsupported` where a part refers to one that cannot be
    /// read.
    pub(crate) fn read(
        streamers: &Streamers,
        class: &str,
        content: Bytes,
        key_len: u64,
        offset: u64,
    ) -> Result<SourceRecord> {
        let (objects, marks) = read_object_with_marks(streamers, class, &content, key_len, offset)?;
        if let Some(unread) = objects.root().unread() {
            return Err(unread.why.clone().within(class));
        }
        let marks: Vec<Mark> = marks.all.into_iter().filter(|mark| mark.at < mark.end).collect();
        if let Some(lost) = marks.iter().find(|mark| mark.part == Marked::Lost) {
            let message =
                "a pointer into an object that cannot be read, so that it cannot be copied";
            return Err(Error::unsupported(message).at(offset + lost.at as u64));
        }
        let mut next = vec![marks.len(); marks.len()];
        let mut open: Vec<usize> = Vec::new();
        let mut bodies = BTreeMap::new();
        for (at, mark) in marks.iter().enumerate() {
            while let Some(last) = open.pop_if(|last| marks[*last].end <= mark.at) {
                next[last] = at;
            }
            open.push(at);
            if let Marked::Object { id, .. } = mark.part {
                bodies.insert(id, at);
            }
        }
        Ok(SourceRecord { content, objects, marks, next, bodies })
    }

    pub(crate) fn content(&self) -> &Bytes {
        &self.content
    }

    /// Whether a pointer leads to an object, so that it can be copied without the objects around
    /// it.
    pub(crate) fn is_part(&self, id: ObjectId) -> bool {
        self.bodies.contains_key(&id)
    }

    /// The bytes of an object that a pointer leads to.
    pub(super) fn body(&self, id: ObjectId) -> Option<Bytes> {
        let mark = &self.marks[*self.bodies.get(&id)?];
        let Marked::Object { body, .. } = mark.part else { return None };
        Some(self.content.slice(body..mark.end))
    }

    /// The record's own object.
    pub(crate) fn root(&self) -> ObjectRef<'_> {
        self.objects.root()
    }

    /// Objects that pointers lead to, and which cannot be read: references within them would not
    /// be right in a copy.
    ///
    /// # Errors
    /// `Unsupported` where such an object is a part of another one.
    pub(crate) fn unreadable(&self) -> Result<Vec<ObjectId>> {
        let check = |object: ObjectRef<'_>| match (self.bodies.get(&object.id), object.unread()) {
            (Some(_), _) => Ok(object.id),
            (None, Some(unread)) => Err(unread.why.clone().within(object.class())),
            (None, None) => Ok(object.id),
        };
        self.objects.unread_objects().map(check).collect()
    }
}

impl Edits {
    /// Gives a member of whole numbers other ones: one, or as many as an array is to have.
    ///
    /// # Errors
    /// `Limit` where its type cannot hold them.
    pub fn set(
        &mut self,
        record: usize,
        object: ObjectRef<'_>,
        name: &str,
        values: &[i64],
    ) -> Result<()> {
        // Versions that lack the member have nothing to say.
        let Some((owner, member)) = object.position(name) else { return Ok(()) };
        let kind = object.of(owner).kind(member);
        let bytes = encoded(kind, values).map_err(|error| error.within(name))?;
        self.members.insert(((record, owner), member), bytes);
        Ok(())
    }

    /// Gives an object other bits (`TObject::fBits`). References to it are lost.
    ///
    /// # Errors
    /// `Corrupt` for an object without its number.
    pub fn set_bits(&mut self, record: usize, object: ObjectRef<'_>, bits: u32) -> Result<()> {
        let Some((owner, member)) = object.base_position("TObject") else { return Ok(()) };
        let mut to = Buffer::default();
        to.u16(OBJECT_VERSION);
        to.u32(object.int("fUniqueID")? as u32);
        to.u32(bits & !IS_REFERENCED);
        self.members.insert(((record, owner), member), to.into_vec());
        Ok(())
    }

    /// Gives a member other bytes.
    pub fn set_bytes(&mut self, record: usize, object: ObjectRef<'_>, name: &str, to: Buffer) {
        if let Some((owner, member)) = object.position(name) {
            self.members.insert(((record, owner), member), to.into_vec());
        }
    }
}

fn encoded(kind: &MemberKind, values: &[i64]) -> Result<Vec<u8>> {
    let mut to = Buffer::default();
    let (number, values) = match (kind, values) {
        (MemberKind::Number(Scalar::Number(number)), [_]) => (*number, values),
        (MemberKind::Numbers(Scalar::Number(number), Count::Member(..)), _) => {
            to.bool(!values.is_empty());
            (*number, values)
        }
        (MemberKind::BasketSeeks(_), _) => {
            to.u8(EIGHT_BYTES);
            (Number::I64, values)
        }
        _ => return Err(Error::unsupported("a member of an unusual type")),
    };
    for value in values {
        number_to(&mut to, number, *value)
            .ok_or_else(|| Error::limit(format!("{value} in a member of another time")))?;
    }
    Ok(to.into_vec())
}

fn number_to(to: &mut Buffer, number: Number, value: i64) -> Option<()> {
    match number {
        Number::Bool => to.bool(value != 0),
        Number::I8 => to.i8(value.try_into().ok()?),
        Number::I16 => to.i16(value.try_into().ok()?),
        Number::I32 => to.i32(value.try_into().ok()?),
        Number::I64 => to.i64(value),
        Number::U8 => to.u8(value.try_into().ok()?),
        Number::U16 => to.u16(value.try_into().ok()?),
        Number::U32 => to.u32(value.try_into().ok()?),
        Number::U64 => to.u64(value.try_into().ok()?),
        Number::F32 => to.f32(value as f32),
        Number::F64 => to.f64(value as f64),
    }
    Some(())
}

/// Writes objects of records.
pub(crate) struct Copier<'a> {
    records: Vec<&'a SourceRecord>,
    edits: &'a Edits,
    /// Where each object was written, as references say it.
    written: BTreeMap<Object, u32>,
}

impl<'a> Copier<'a> {
    pub fn new(records: Vec<&'a SourceRecord>, edits: &'a Edits) -> Self {
        let roots = (0..records.len()).map(|record| ((record, records[record].root().id), record));
        let written = roots.map(|(root, _)| (root, ROOT_REFERENCE)).collect();
        Copier { records, edits, written }
    }

    /// Appends the first record's own object.
    pub fn root(&mut self, to: &mut Buffer) {
        let len = self.records[0].content.len();
        self.copy(0, 0..len, 0, to);
    }

    /// Appends an object that a pointer of the first record leads to, as the record's own.
    pub fn only(&mut self, id: ObjectId, to: &mut Buffer) {
        let source = self.records[0];
        let Some(mark) = source.bodies.get(&id) else { return self.root(to) };
        let Mark { end, part: Marked::Object { body, .. }, .. } = source.marks[*mark] else {
            return;
        };
        self.written = BTreeMap::from([((0, id), ROOT_REFERENCE)]);
        self.copy(0, body..end, mark + 1, to);
    }

    /// Appends a pointer to an object: the object itself where it was not written yet.
    pub fn pointer(&mut self, object: Object, to: &mut Buffer) {
        let object = self.edits.replaced.get(&object).copied().unwrap_or(object);
        if let Some(reference) = self.written.get(&object) {
            return to.u32(*reference);
        }
        let source = self.records[object.0];
        let class = source.objects.get(object.1).class();
        if let Some(bytes) = self.edits.bodies.get(&object).filter(|_| !self.is_dropped(object)) {
            self.written.insert(object, to.reference());
            return to.pointed(class, |to| to.bytes(bytes));
        }
        let Some(mark) = source.bodies.get(&object.1).filter(|_| !self.is_dropped(object)) else {
            return to.null();
        };
        let Mark { end, part: Marked::Object { body, .. }, .. } = source.marks[*mark] else {
            return to.null();
        };
        self.written.insert(object, to.reference());
        to.pointed(class, |to| self.copy(object.0, body..end, mark + 1, to));
    }

    fn is_dropped(&self, object: Object) -> bool {
        self.edits.dropped.contains(&object)
    }

    /// Appends a range of a record with its edits; `mark` is the position of its first mark.
    fn copy(&mut self, record: usize, range: Range<usize>, mut mark: usize, to: &mut Buffer) {
        let source = self.records[record];
        let mut at = range.start;
        while let Some(next) = source.marks.get(mark).filter(|next| next.end <= range.end) {
            to.bytes(&source.content[at..next.at]);
            self.part(record, mark, to);
            at = next.end;
            mark = source.next[mark];
        }
        to.bytes(&source.content[at..range.end]);
    }

    fn part(&mut self, record: usize, mark: usize, to: &mut Buffer) {
        let Mark { at, end, part } = self.records[record].marks[mark];
        match part {
            Marked::Counted => {
                let count = to.begin_counted();
                self.copy(record, at + 4..end, mark + 1, to);
                to.end(count);
            }
            Marked::Null | Marked::Lost => to.null(),
            Marked::Reference(id) | Marked::Object { id, .. } => self.pointer((record, id), to),
            Marked::Member { object, member } => {
                let edits = self.edits;
                let member = ((record, object), member);
                match (edits.members.get(&member), edits.pointed.get(&member)) {
                    (Some(bytes), _) => to.bytes(bytes),
                    (None, Some(target)) => self.pointer(*target, to),
                    (None, None) => self.copy(record, at..end, mark + 1, to),
                }
            }
            Marked::Items { object, first } => {
                self.items(record, mark, MarkedList { object, first }, to)
            }
            Marked::Item => self.copy(record, at..end, mark + 1, to),
        }
    }

    /// The objects of a list, without those that are left out, and with those that are added.
    fn items(&mut self, record: usize, mark: usize, list: MarkedList, to: &mut Buffer) {
        let source = self.records[record];
        let MarkedList { object, first } = list;
        let Mark { at, .. } = source.marks[mark];
        let mut kept = Vec::new();
        let mut item = mark + 1;
        while item < source.next[mark] {
            let target = match source.marks.get(item + 1).map(|pointer| pointer.part) {
                Some(Marked::Reference(id) | Marked::Object { id, .. }) => Some((record, id)),
                _ => None,
            };
            if !target.is_some_and(|target| self.is_dropped(target)) {
                kept.push(item);
            }
            item = source.next[item];
        }
        let edits = self.edits;
        let added = edits.added.get(&(record, object)).map(Vec::as_slice).unwrap_or_default();
        to.u32((kept.len() + added.len()) as u32);
        to.bytes(&source.content[at + 4..first]);
        kept.into_iter().for_each(|item| self.part(record, item, to));
        let list = source.objects.get(object);
        for further in added {
            self.pointer(*further, to);
            if list.class() != "TObjArray" && list.version() >= LIST_WITH_OPTIONS {
                to.string("");
            }
        }
    }
}
