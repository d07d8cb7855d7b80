//! Collections whose objects are written member by member: the first member of all objects, then
//! the next one. A member that is a collection or a `std::string` has one header for all.

use std::sync::Arc;

use super::Value;
use super::collection::map_of;
use super::reader::{ObjectHeader, ObjectReader};
use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::streamer::{ClassId, ClassLayout, Collection, Item, MemberKind};
use crate::types::framing::{MEMBERWISE, SAYS_ITEM_VERSION};

impl ObjectReader<'_> {
    /// Reads the items behind the header of a collection whose version says that they are written
    /// member by member.
    pub(super) fn memberwise(
        &mut self,
        collection: &Collection,
        version: u16,
        cursor: &mut Cursor<'_>,
    ) -> Result<Value> {
        let mut item = 0;
        let mut checksum = None;
        if version & !MEMBERWISE >= SAYS_ITEM_VERSION {
            item = ObjectHeader::read(cursor)?.version;
            checksum = if item == 0 { Some(cursor.u32()?) } else { None };
        }
        self.memberwise_items(collection, item, checksum, cursor)
    }

    fn memberwise_items(
        &mut self,
        collection: &Collection,
        version: u16,
        checksum: Option<u32>,
        cursor: &mut Cursor<'_>,
    ) -> Result<Value> {
        let count = cursor.count(1)?;
        match collection {
            Collection::Sequence(item) => match **item {
                Item::Object(class) => {
                    let known = self.streamers.class(class);
                    let layout = match checksum {
                        Some(checksum) => known.layout_by_checksum(checksum),
                        None => known.layout(i32::from(version)),
                    };
                    let layout = layout.or_else(|| known.newest()).cloned();
                    let layout = layout.ok_or_else(|| no_info(&known.name))?;
                    let objects = self.objects_by_member(class, &layout, count, cursor)?;
                    Ok(Value::List(objects))
                }
                _ => Err(cursor.corrupt("a collection of no objects, written member by member")),
            },
            Collection::Map(key, mapped) | Collection::Multimap(key, mapped) => {
                let keys = self.run(key, count, cursor)?;
                let values = self.run(mapped, count, cursor)?;
                Ok(map_of(collection, keys.into_iter().zip(values).collect()))
            }
            Collection::Text => Err(cursor.corrupt("a string written member by member")),
        }
    }

    /// The keys or the values of a map.
    fn run(&mut self, item: &Item, count: usize, cursor: &mut Cursor<'_>) -> Result<Vec<Value>> {
        self.charge(count)?;
        match item {
            Item::Collection(collection) => self.collections(collection, count, cursor),
            Item::StandardText => self.collections(&Collection::Text, count, cursor),
            item => (0..count).map(|_| self.item(item, cursor)).collect(),
        }
    }

    /// Several collections behind one header.
    pub(super) fn collections(
        &mut self,
        collection: &Collection,
        count: usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<Vec<Value>> {
        self.nested(|reader| reader.collections_nested(collection, count, cursor))
    }

    fn collections_nested(
        &mut self,
        collection: &Collection,
        count: usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<Vec<Value>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let version = ObjectHeader::read(cursor)?.version;
        if version & MEMBERWISE == 0 {
            return (0..count).map(|_| self.elements(collection, cursor)).collect();
        }
        let item = ObjectHeader::read(cursor)?.version;
        let checksum = if item == 0 { Some(cursor.u32()?) } else { None };
        (0..count).map(|_| self.memberwise_items(collection, item, checksum, cursor)).collect()
    }

    /// The objects of a `TClonesArray` that bypasses their streamer.
    pub(super) fn clones_by_member(
        &mut self,
        class: &str,
        version: Option<i32>,
        count: usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<Vec<Value>> {
        let streamers = self.streamers;
        let id = streamers.id(class).ok_or_else(|| no_info(class))?;
        let known = streamers.class(id);
        let layout = match version {
            Some(version) => known.layout(version),
            None => known.newest(),
        };
        let layout = layout.filter(|_| known.special.is_none()).ok_or_else(|| no_info(class))?;
        let there = cursor.clone().remaining();
        if count > there {
            return Err(cursor.corrupt(format!("{count} objects in {there} bytes")));
        }
        self.nested(|reader| reader.objects_by_member(id, layout, count, cursor))
    }

    /// `count` objects of a class.
    fn objects_by_member(
        &mut self,
        class: ClassId,
        layout: &Arc<ClassLayout>,
        count: usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<Vec<Value>> {
        self.charge(count.saturating_mul(layout.members.len()))?;
        let mut all = vec![Vec::with_capacity(layout.members.len()); count];
        for member in &layout.members {
            let column = self.member_of_all(&member.kind, layout, &all, cursor);
            let column = column.map_err(|error| error.within(&member.name))?;
            all.iter_mut().zip(column).for_each(|(values, value)| values.push(value));
        }
        all.into_iter().map(|values| self.made(class, layout, values)).collect()
    }

    /// Whether a base class is written member by member too; its own streamer writes `TNamed`.
    fn is_by_member(&self, base: ClassId) -> bool {
        let known = self.streamers.class(base);
        known.special.is_none() && *known.name != *"TNamed"
    }

    fn member_of_all(
        &mut self,
        kind: &MemberKind,
        layout: &ClassLayout,
        before: &[Vec<Value>],
        cursor: &mut Cursor<'_>,
    ) -> Result<Vec<Value>> {
        match kind {
            MemberKind::Collection(collection) => {
                self.collections(collection, before.len(), cursor)
            }
            MemberKind::Texts(n) => {
                ObjectHeader::read(cursor)?;
                before.iter().map(|_| self.texts(*n, cursor)).collect()
            }
            MemberKind::Base(class, version) if self.is_by_member(*class) => {
                let known = self.streamers.class(*class);
                let base = known.layout(*version).or_else(|| known.newest());
                let base = base.cloned().ok_or_else(|| no_info(&known.name))?;
                self.nested(|reader| reader.objects_by_member(*class, &base, before.len(), cursor))
            }
            kind => before.iter().map(|values| self.value(kind, values, layout, cursor)).collect(),
        }
    }
}

fn no_info(class: &str) -> Error {
    Error::unsupported(format!("class {class}, which has no streamer info"))
}
