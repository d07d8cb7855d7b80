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

use super::{Object, ObjectId, Objects, Unread, Value, special};
use crate::array::{Number, Numbers};
use crate::cursor::Cursor;
use crate::error::{Error, ErrorKind, Result};
use crate::streamer::{Class, ClassId, Collection, Count, Item, Kind, Layout, Special, Streamers};
use crate::tree::interpret::Reduced;

const BYTE_COUNT: u32 = 0x4000_0000;
const NEW_CLASS: u32 = 0xffff_ffff;
const CLASS_MASK: u32 = 0x8000_0000;
/// Added to a position in the buffer to make a reference (ROOT: `kMapOffset`).
const MAP_OFFSET: u32 = 2;
/// The reference of the record's own object.
const ROOT_REFERENCE: u32 = 1;
/// In a version: members are written one after the other for all elements.
pub(super) const MEMBER_WISE: u16 = 1 << 14;

/// Names of template classes are long; this is beyond any.
const CLASS_NAME_LEN_MAX: usize = 16 * 1024;
/// Objects in objects. Real ones stay below thirty.
const DEPTH_MAX: u32 = 128;
/// Values of one record, so that a small record that expands can't take all memory.
const VALUES_MAX: usize = 1 << 23;

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
    let (streamers, collection) = match streamers.collection(class) {
        Some((streamers, collection)) => (streamers, Some(collection)),
        None => (Cow::Borrowed(streamers), None),
    };
    let mut reader = Reader {
        streamers: &streamers,
        objects: Vec::new(),
        references: BTreeMap::new(),
        next_reference: ROOT_REFERENCE,
        key_len: u32::try_from(key_len).unwrap_or(u32::MAX),
        depth: 0,
        values_left: VALUES_MAX,
        empty: Arc::new(Layout::of_names("".into(), &[])),
    };
    let class = reader.class_named(class);
    let id = reader.reserve(&class)?;
    reader.refer(ROOT_REFERENCE, Reference::Object(id));
    let cursor = &mut Cursor::new(content, offset);
    match collection {
        Some(collection) => reader.whole_collection(id, &class, &collection, cursor)?,
        None => reader.fill(id, &class, cursor)?,
    }
    Ok(Objects { objects: reader.objects })
}

/// The version in front of an object, and where the object ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectHeader {
    pub version: u16,
    /// Bytes behind the version, where the object says.
    pub len: Option<usize>,
}

impl ObjectHeader {
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<ObjectHeader> {
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

/// A class by its name, and what is known of it.
#[derive(Debug, Clone)]
struct ClassRef {
    name: Arc<str>,
    id: Option<ClassId>,
}

#[derive(Debug, Clone)]
enum Reference {
    Class(ClassRef),
    Object(ObjectId),
}

pub(super) struct Reader<'s> {
    pub(super) streamers: &'s Streamers,
    objects: Vec<Object>,
    references: BTreeMap<u32, Reference>,
    /// Reference of the next class or object without a byte count.
    next_reference: u32,
    key_len: u32,
    depth: u32,
    values_left: usize,
    empty: Arc<Layout>,
}

impl Reader<'_> {
    /// Reads a collection that is all of a record: without a header, unlike one in an object.
    fn whole_collection(
        &mut self,
        id: ObjectId,
        class: &ClassRef,
        collection: &Collection,
        cursor: &mut Cursor<'_>,
    ) -> Result<()> {
        let start = cursor.clone();
        let done = self.elements(collection, cursor).and_then(|items| match cursor.remaining() {
            0 => {
                let layout = Layout::of_names(class.name.clone(), &[Special::ELEMENTS]);
                self.set(id, 0, &Arc::new(layout), vec![items]);
                Ok(())
            }
            left => Err(cursor.unsupported(format!("{left} bytes more than the elements"))),
        });
        self.or_unread(done, id, start, cursor)
    }

    /// Reads an object in place.
    fn object(&mut self, class: ClassId, cursor: &mut Cursor<'_>) -> Result<Value> {
        let class = ClassRef { name: self.streamers.class(class).name.clone(), id: Some(class) };
        let id = self.reserve(&class)?;
        self.fill(id, &class, cursor)?;
        Ok(Value::Object(id))
    }

    /// Reads an object in place, of a class known by name only.
    pub(super) fn object_named(&mut self, class: &str, cursor: &mut Cursor<'_>) -> Result<Value> {
        let class = self.class_named(class);
        let id = self.reserve(&class)?;
        self.fill(id, &class, cursor)?;
        Ok(Value::Object(id))
    }

    /// An object whose members have been read.
    pub(super) fn made(
        &mut self,
        class: ClassId,
        layout: &Arc<Layout>,
        values: Vec<Value>,
    ) -> Result<Value> {
        let class = ClassRef { name: self.streamers.class(class).name.clone(), id: Some(class) };
        let id = self.reserve(&class)?;
        self.set(id, layout.version, layout, values);
        Ok(Value::Object(id))
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
    fn reserve(&mut self, class: &ClassRef) -> Result<ObjectId> {
        self.charge(1)?;
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
    fn fill(&mut self, id: ObjectId, class: &ClassRef, cursor: &mut Cursor<'_>) -> Result<()> {
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
                special::read(*special, self, 0, cursor)
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
        let start = cursor.clone();
        let header = ObjectHeader::read(cursor)?;
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
    fn or_unread(
        &mut self,
        done: Result<()>,
        id: ObjectId,
        mut start: Cursor<'_>,
        cursor: &Cursor<'_>,
    ) -> Result<()> {
        match done {
            Err(why) if matches!(why.kind, ErrorKind::Unsupported(_) | ErrorKind::Corrupt(_)) => {
                let bytes = start.take(cursor.position() - start.position())?;
                let object = &mut self.objects[id.0 as usize];
                object.values.clear();
                object.layout = self.empty.clone();
                object.unread = Some(Unread { bytes, why });
                Ok(())
            }
            done => done,
        }
    }

    fn set(&mut self, id: ObjectId, version: i32, layout: &Arc<Layout>, values: Vec<Value>) {
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
            let what = format!("class {} without streamer info", class.name);
            return Err(cursor.unsupported(what));
        };
        let version = i32::from(header.version);
        if let Some((special, layout)) = &known.special {
            let values = special::read(*special, self, header.version, cursor)?;
            self.set(id, version, layout, values);
            return Ok(());
        }
        let layout = match version {
            0 if header.len.is_some() => unversioned(known, cursor)?,
            _ => known.layout(version),
        };
        let Some(layout) = layout else {
            let what = format!("no streamer info for version {version} of class {}", class.name);
            return Err(cursor.unsupported(what));
        };
        self.charge(layout.members.len())?;
        let mut values = Vec::with_capacity(layout.members.len());
        for member in &layout.members {
            let value = self.value(&member.kind, &values, layout, cursor);
            values.push(value.map_err(|error| error.within(&member.name))?);
        }
        self.set(id, version, layout, values);
        Ok(())
    }

    pub(super) fn value(
        &mut self,
        kind: &Kind,
        before: &[Value],
        layout: &Layout,
        cursor: &mut Cursor<'_>,
    ) -> Result<Value> {
        match kind {
            Kind::Base(class, _) | Kind::Object(class) => self.object(*class, cursor),
            Kind::Number(basic) => number(*basic, cursor),
            Kind::Double32(None) => Ok(Value::Float(cursor.f32()?.into())),
            Kind::Float16(None) => Ok(Value::Float(float16(cursor)?.into())),
            Kind::Packed(how, None) => match packed(*how, 1, cursor)? {
                Numbers::F32(one) => Ok(Value::Float(one.iter().copied().map(f64::from).sum())),
                Numbers::F64(one) => Ok(Value::Float(one.iter().sum())),
                _ => Err(cursor.unsupported("a packed number of that type")),
            },
            Kind::Numbers(_, count)
            | Kind::Double32(Some(count))
            | Kind::Float16(Some(count))
            | Kind::Packed(_, Some(count)) => {
                let count = self.count(count, before, layout, cursor)?;
                count.map_or(Ok(Value::Null), |n| numbers(kind, n, cursor).map(Value::Numbers))
            }
            Kind::Times(one, times, count) => {
                let Some(count) = self.count(count, before, layout, cursor)? else {
                    return Ok(Value::Null);
                };
                self.many(*times, cursor, |_, at| numbers(one, count, at).map(Value::Numbers))
            }
            Kind::Text => Ok(Value::Text(cursor.text()?)),
            Kind::Texts(n) => {
                ObjectHeader::read(cursor)?;
                self.texts(*n, cursor)
            }
            Kind::CountedTexts(count) => {
                let count = self.count(count, before, layout, cursor)?;
                self.texts(count.unwrap_or(0), cursor)
            }
            Kind::CharStar => {
                let len = cursor.count(1)?;
                Ok(Value::Text(cursor.take(len)?))
            }
            Kind::Objects(class, n) => self.many(*n, cursor, |to, at| to.object(*class, at)),
            Kind::Pointer => self.pointer(cursor),
            Kind::Pointers(n) => self.many(*n, cursor, Self::pointer),
            Kind::Collection(collection) => self.collection(collection, cursor),
            Kind::Collections(collection, n) => {
                self.charge(*n)?;
                self.collections(collection, *n, cursor).map(Value::List)
            }
            Kind::BareCollections(collection, n) => {
                self.many(*n, cursor, |to, at| to.elements(collection, at))
            }
            Kind::Loop { class, pointers, count } => {
                let count = self.member_count(count, before, layout);
                self.counted_objects(*class, *pointers, count, cursor)
            }
            Kind::BasketSeeks(count) => self.basket_seeks(count, before, layout, cursor),
            Kind::Special => Err(Error::unsupported("a member of a special class")),
            Kind::Unsupported(what) => Err(cursor.unsupported(what.as_str())),
        }
    }

    /// How many numbers there are in an array; `None` for a null pointer.
    fn count(
        &self,
        count: &Count,
        before: &[Value],
        layout: &Layout,
        cursor: &mut Cursor<'_>,
    ) -> Result<Option<usize>> {
        match count {
            Count::Fixed(count) => Ok(Some(*count)),
            Count::PrefixedIfThere if cursor.remaining() == 0 => Ok(Some(0)),
            Count::Prefixed | Count::PrefixedIfThere => cursor.count(1).map(Some),
            Count::Product(factors) => {
                let mut numbers = factors.iter().map(|factor| match factor {
                    Count::Fixed(count) => Some(*count),
                    member => self.member_count(member, before, layout),
                });
                let product = numbers.try_fold(1usize, |all, one| all.checked_mul(one?));
                let product = product.filter(|count| *count <= cursor.remaining());
                product.map(Some).ok_or_else(|| cursor.corrupt("an array longer than its object"))
            }
            Count::Member(name, _) => {
                let there = cursor.u8()? != 0;
                match self.member_count(count, before, layout) {
                    // No numbers and no place for them are the same to whoever reads them.
                    Some(count) => Ok((there || count == 0).then_some(count)),
                    None if !there => Ok(None),
                    None => Err(cursor.corrupt(format!("{name} does not count an array"))),
                }
            }
        }
    }

    /// What the member says that counts; `None` where none does.
    fn member_count(&self, count: &Count, before: &[Value], layout: &Layout) -> Option<usize> {
        let Count::Member(name, position) = count else { return None };
        let value = match position {
            Some(position) => before.get(*position).cloned(),
            None => self.in_bases(name, before, layout),
        };
        match value {
            Some(Value::Int(count)) => usize::try_from(count).ok(),
            Some(Value::Uint(count)) => usize::try_from(count).ok(),
            Some(Value::Numbers(numbers)) => Some(numbers.len()),
            _ => None,
        }
    }

    /// An array of objects, or of pointers to objects, that another member counts.
    fn counted_objects(
        &mut self,
        class: ClassId,
        pointers: bool,
        count: Option<usize>,
        cursor: &mut Cursor<'_>,
    ) -> Result<Value> {
        let header = ObjectHeader::read(cursor)?;
        let (Some(count), Some(len)) = (count, header.len) else {
            return Err(cursor.unsupported("an array of objects of unknown length"));
        };
        let mut content = cursor.split(len)?;
        if count > content.remaining() {
            return Err(content.corrupt(format!("{count} objects in {len} bytes")));
        }
        self.many(count, &mut content, |to, at| match pointers {
            true => to.pointer(at),
            false => to.object(class, at),
        })
    }

    fn in_bases(&self, name: &str, before: &[Value], layout: &Layout) -> Option<Value> {
        let members = layout.members.iter().zip(before);
        members.filter(|(member, _)| matches!(member.kind, Kind::Base(..))).find_map(
            |(_, value)| {
                let Value::Object(base) = value else { return None };
                let base = &self.objects[base.0 as usize];
                let own = base.layout.members.iter().position(|member| *member.name == *name);
                match own {
                    Some(position) => base.values.get(position).cloned(),
                    None => self.in_bases(name, &base.values, &base.layout),
                }
            },
        )
    }

    fn basket_seeks(
        &mut self,
        count: &Count,
        before: &[Value],
        layout: &Layout,
        cursor: &mut Cursor<'_>,
    ) -> Result<Value> {
        const EIGHT_BYTES: u8 = 2;
        let long = cursor.clone().u8()? == EIGHT_BYTES;
        let Some(count) = self.count(count, before, layout, cursor)? else {
            return Ok(Value::Null);
        };
        let basic = if long { Number::I64 } else { Number::I32 };
        Ok(Value::Numbers(cursor.numbers(basic, count)?))
    }

    /// Reads `count` values of the same kind.
    pub(super) fn many(
        &mut self,
        count: usize,
        cursor: &mut Cursor<'_>,
        mut one: impl FnMut(&mut Self, &mut Cursor<'_>) -> Result<Value>,
    ) -> Result<Value> {
        self.charge(count)?;
        let values = (0..count).map(|_| one(self, cursor)).collect::<Result<Vec<_>>>()?;
        Ok(Value::List(values))
    }

    /// An array of `TString`, behind the header that it has as an array.
    pub(super) fn texts(&mut self, count: usize, cursor: &mut Cursor<'_>) -> Result<Value> {
        self.many(count, cursor, |_, at| Ok(Value::Text(at.text()?)))
    }

    /// Reads a pointer: nothing, an object with its class, or a reference.
    pub(super) fn pointer(&mut self, cursor: &mut Cursor<'_>) -> Result<Value> {
        let own_reference = self.reference_at(cursor)?;
        let first = cursor.u32()?;
        if first == NEW_CLASS || first & BYTE_COUNT == 0 {
            return self.tagged(first, None, None, cursor);
        }
        let mut content = cursor.split((first & !BYTE_COUNT) as usize)?;
        let tag_reference = self.reference_at(&content)?;
        let tag = content.u32()?;
        let references = Some((own_reference, tag_reference));
        self.tagged(tag, references, Some(cursor), &mut content)
    }

    /// Reads what follows a tag. `end` is where the object ends, if it says.
    fn tagged(
        &mut self,
        tag: u32,
        references: Option<(u32, u32)>,
        end: Option<&Cursor<'_>>,
        cursor: &mut Cursor<'_>,
    ) -> Result<Value> {
        if tag & CLASS_MASK == 0 {
            return self.referred(tag, cursor);
        }
        let class = if tag == NEW_CLASS {
            let class = self.class_named(&cursor.c_string(CLASS_NAME_LEN_MAX)?);
            let reference = references.map_or(self.next_reference, |(_, of_tag)| of_tag);
            self.refer(reference, Reference::Class(class.clone()));
            class
        } else {
            match self.references.get(&(tag & !CLASS_MASK)) {
                Some(Reference::Class(class)) => class.clone(),
                _ => ClassRef { name: "class that was named in unread bytes".into(), id: None },
            }
        };
        let id = self.reserve(&class)?;
        let reference = references.map_or(self.next_reference, |(own, _)| own);
        self.refer(reference, Reference::Object(id));
        let start = cursor.clone();
        match end {
            Some(end) => {
                let done = self.fill(id, &class, cursor);
                self.or_unread(done, id, start, end)?;
            }
            None if *class.name == *"TBasket" => {
                return Err(cursor.unsupported("a basket of unknown length in a tree"));
            }
            None => self.fill(id, &class, cursor)?,
        }
        Ok(Value::Object(id))
    }

    fn referred(&self, reference: u32, cursor: &Cursor<'_>) -> Result<Value> {
        match self.references.get(&reference) {
            _ if reference == 0 => Ok(Value::Null),
            Some(Reference::Object(id)) => Ok(Value::Object(*id)),
            Some(Reference::Class(_)) => {
                Err(cursor.corrupt(format!("reference {reference} to a class as to an object")))
            }
            None => Ok(Value::Lost),
        }
    }

    fn reference_at(&self, cursor: &Cursor<'_>) -> Result<u32> {
        u32::try_from(cursor.position())
            .ok()
            .and_then(|position| position.checked_add(self.key_len)?.checked_add(MAP_OFFSET))
            .ok_or_else(|| cursor.corrupt("a record too long for references"))
    }

    fn refer(&mut self, reference: u32, target: Reference) {
        self.references.insert(reference, target);
        self.next_reference = self.next_reference.saturating_add(1);
    }

    fn class_named(&self, name: &str) -> ClassRef {
        let id = self.streamers.id(name);
        let name = id.map_or_else(|| name.into(), |id| self.streamers.class(id).name.clone());
        ClassRef { name, id }
    }

    /// A collection as a member: it has a header of its own.
    fn collection(&mut self, collection: &Collection, cursor: &mut Cursor<'_>) -> Result<Value> {
        let header = ObjectHeader::read(cursor)?;
        let Some(len) = header.len else { return self.elements(collection, cursor) };
        let mut content = cursor.split(len)?;
        let value = match header.version & MEMBER_WISE {
            0 => self.elements(collection, &mut content)?,
            _ => self.memberwise(collection, header.version, &mut content)?,
        };
        match content.remaining() {
            0 => Ok(value),
            left => Err(content.unsupported(format!("{left} bytes more than the elements"))),
        }
    }

    pub(super) fn elements(
        &mut self,
        collection: &Collection,
        cursor: &mut Cursor<'_>,
    ) -> Result<Value> {
        match collection {
            Collection::Text => Ok(Value::Text(cursor.text()?)),
            Collection::Sequence(item) => {
                match **item {
                    Item::Number(basic) => {
                        let count = cursor.count(basic.size())?;
                        return Ok(Value::Numbers(cursor.numbers(basic, count)?));
                    }
                    Item::Double32 => {
                        let count = cursor.count(4)?;
                        return Ok(Value::Numbers(double32s(count, cursor)?));
                    }
                    _ => {}
                }
                let count = cursor.count(1)?;
                self.many(count, cursor, |to, at| to.item(item, at))
            }
            Collection::Map(key, mapped) | Collection::Multimap(key, mapped) => {
                let count = cursor.count(1)?;
                self.charge(count.saturating_mul(2))?;
                let pairs = (0..count)
                    .map(|_| Ok((self.item(key, cursor)?, self.item(mapped, cursor)?)))
                    .collect::<Result<Vec<_>>>()?;
                Ok(map_of(collection, pairs))
            }
        }
    }

    pub(super) fn item(&mut self, item: &Item, cursor: &mut Cursor<'_>) -> Result<Value> {
        match item {
            Item::Number(basic) => number(*basic, cursor),
            Item::Double32 => Ok(Value::Float(cursor.f32()?.into())),
            Item::Text | Item::StandardText => Ok(Value::Text(cursor.text()?)),
            Item::Object(class) => self.object(*class, cursor),
            Item::Pointer => self.pointer(cursor),
            Item::Collection(collection) => self.elements(collection, cursor),
        }
    }

    pub(super) fn charge(&mut self, values: usize) -> Result<()> {
        self.values_left = self
            .values_left
            .checked_sub(values)
            .ok_or_else(|| Error::limit(format!("a record of more than {VALUES_MAX} values")))?;
        Ok(())
    }
}

/// What a map has, as the type of its keys allows.
pub(super) fn map_of(collection: &Collection, pairs: Vec<(Value, Value)>) -> Value {
    match collection {
        Collection::Map(key, _) => match **key {
            Item::Number(_) | Item::Text | Item::StandardText => Value::Map(pairs),
            _ => Value::Pairs(pairs),
        },
        _ => Value::Pairs(pairs),
    }
}

/// The layout of an object of version 0: its class has none, and a checksum follows, or that is the
/// class's version (`ClassDef(..., 0)`), and none does.
fn unversioned<'c>(known: &'c Class, cursor: &mut Cursor<'_>) -> Result<Option<&'c Arc<Layout>>> {
    let checksum = cursor.peek_u32();
    let exact = checksum.ok().and_then(|checksum| known.layout_of(checksum));
    if exact.is_none() && known.has_version_zero() {
        return Ok(known.layout(0));
    }
    Ok(known.layout_by_checksum(cursor.u32()?))
}

fn number(basic: Number, cursor: &mut Cursor<'_>) -> Result<Value> {
    Ok(match basic {
        Number::Bool => Value::Bool(cursor.u8()? != 0),
        Number::I8 => Value::Int(cursor.i8()?.into()),
        Number::I16 => Value::Int(cursor.i16()?.into()),
        Number::I32 => Value::Int(cursor.i32()?.into()),
        Number::I64 => Value::Int(cursor.i64()?),
        Number::U8 => Value::Uint(cursor.u8()?.into()),
        Number::U16 => Value::Uint(cursor.u16()?.into()),
        Number::U32 => Value::Uint(cursor.u32()?.into()),
        Number::U64 => Value::Uint(cursor.u64()?),
        Number::F32 => Value::Float(cursor.f32()?.into()),
        Number::F64 => Value::Float(cursor.f64()?),
    })
}

/// A `Float16_t` without a range: exponent in one byte, then sign and 12 bits of mantissa in two
/// (ROOT: `TBufferFile::ReadWithNbits`).
fn float16(cursor: &mut Cursor<'_>) -> Result<f32> {
    const BITS: u32 = 12;
    let exponent = u32::from(cursor.u8()?);
    let mantissa = u32::from(cursor.u16()?);
    let low = mantissa & ((1 << (BITS + 1)) - 1);
    let magnitude = f32::from_bits((exponent << 23) | (low << (23 - BITS)));
    Ok(if mantissa & (1 << (BITS + 1)) != 0 { -magnitude } else { magnitude })
}

/// An array of numbers, of any way in which they are written.
fn numbers(kind: &Kind, count: usize, cursor: &mut Cursor<'_>) -> Result<Numbers> {
    match kind {
        Kind::Numbers(basic, _) => cursor.numbers(*basic, count),
        Kind::Double32(_) => double32s(count, cursor),
        Kind::Float16(_) => float16s(count, cursor),
        Kind::Packed(how, _) => packed(*how, count, cursor),
        _ => Err(cursor.unsupported("an array of what is no number")),
    }
}

fn double32s(count: usize, cursor: &mut Cursor<'_>) -> Result<Numbers> {
    Ok(Numbers::F64(cursor.f32s(count)?.into_iter().map(f64::from).collect()))
}

fn packed(how: Reduced, count: usize, cursor: &mut Cursor<'_>) -> Result<Numbers> {
    let bytes = cursor.take(count.saturating_mul(how.size()))?;
    Ok(if how.is_double() {
        let mut all = Vec::with_capacity(count);
        how.extend_f64(&mut all, &bytes);
        Numbers::F64(all)
    } else {
        let mut all = Vec::with_capacity(count);
        how.extend_f32(&mut all, &bytes);
        Numbers::F32(all)
    })
}

fn float16s(count: usize, cursor: &mut Cursor<'_>) -> Result<Numbers> {
    let mut part = cursor.split(count.saturating_mul(3))?;
    let all = (0..count).map(|_| float16(&mut part)).collect::<Result<Vec<f32>>>()?;
    Ok(Numbers::F32(all))
}
