//! Pointers: an object with its class in front of it, or a reference to one that came before.

use super::Value;
use super::marks::Marked;
use super::queue::ClassRef;
use super::reader::{ObjectReader, Reference};
use crate::cursor::Cursor;
use crate::error::Result;
use crate::memory;
use crate::types::framing::{BYTE_COUNT, CLASS_MASK, MAP_OFFSET, NEW_CLASS};

/// Names of template classes are long; this is beyond any.
pub(super) const CLASS_NAME_LEN_MAX: usize = 16 * 1024;

impl ObjectReader<'_> {
    /// Reads a pointer: nothing, an object with its class, or a reference.
    pub(super) fn pointer(&mut self, cursor: &mut Cursor<'_>) -> Result<Value> {
        let own_reference = self.reference_at(cursor)?;
        let mark = self.begin(Marked::Null, cursor);
        let first = cursor.u32()?;
        let value = if first == NEW_CLASS || first & BYTE_COUNT == 0 {
            self.link(first, own_reference)?;
            self.tagged(first, mark, None, None, cursor)?
        } else {
            let mut content = cursor.split((first & !BYTE_COUNT) as usize)?;
            let tag_reference = self.reference_at(&content)?;
            let tag = content.u32()?;
            self.link(tag, tag_reference)?;
            let references = Some((own_reference, tag_reference));
            self.tagged(tag, mark, references, Some(cursor), &mut content)?
        };
        self.end(mark, cursor);
        Ok(value)
    }

    /// Reads the object or reference of a tag. `end` is where the object ends, if it says.
    fn tagged(
        &mut self,
        tag: u32,
        mark: usize,
        references: Option<(u32, u32)>,
        end: Option<&Cursor<'_>>,
        cursor: &mut Cursor<'_>,
    ) -> Result<Value> {
        if tag & CLASS_MASK == 0 {
            let value = self.referred(tag, cursor)?;
            match value {
                Value::Object(id) => self.is(mark, Marked::Reference(id)),
                Value::Lost => self.is(mark, Marked::Lost),
                _ => {}
            }
            return Ok(value);
        }
        let class = if tag == NEW_CLASS {
            let class = self.class_named(&cursor.c_string(CLASS_NAME_LEN_MAX)?);
            let reference = references.map_or(self.next_reference, |(_, of_tag)| of_tag);
            self.refer(reference, Reference::Class(class.clone()));
            class
        } else {
            match self.references.get(&(tag & !CLASS_MASK)) {
                Some(Reference::Class(class)) => class.clone(),
                _ => self.class_named_at(tag & !CLASS_MASK, cursor).unwrap_or_else(|| ClassRef {
                    name: "class that was named in unread bytes".into(),
                    id: None,
                }),
            }
        };
        let reference = references.map_or(self.next_reference, |(own, _)| own);
        let id = self.reserve_at(reference, &class)?;
        self.refer(reference, Reference::Object(id));
        self.is(mark, Marked::Object { id, body: cursor.position() });
        let start = self.start(cursor);
        match end {
            Some(_) if self.is_opaque(&class) => self.leave(id, cursor.remaining(), cursor)?,
            Some(_) if self.is_deep() => self.defer(id, class, cursor)?,
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

    fn referred(&mut self, reference: u32, cursor: &Cursor<'_>) -> Result<Value> {
        match self.references.get(&reference) {
            _ if reference == 0 => Ok(Value::Null),
            Some(Reference::Object(id)) => Ok(Value::Object(*id)),
            Some(Reference::Class(_)) => {
                Err(cursor.corrupt(format!("reference {reference} to a class as to an object")))
            }
            None => self.expect(reference),
        }
    }

    fn reference_at(&self, cursor: &Cursor<'_>) -> Result<u32> {
        u32::try_from(cursor.position())
            .ok()
            .and_then(|position| position.checked_add(self.key_len)?.checked_add(MAP_OFFSET))
            .ok_or_else(|| cursor.corrupt("a record too long for references"))
    }

    /// Keeps the place of a tag that refers to another one.
    fn link(&mut self, tag: u32, reference: u32) -> Result<()> {
        let target = tag & !CLASS_MASK;
        if tag != NEW_CLASS && target > self.key_len.saturating_add(1) {
            memory::room(&mut self.links, 1)?;
            self.links.push(reference.saturating_sub(self.key_len.saturating_add(MAP_OFFSET)));
        }
        Ok(())
    }

    pub(super) fn refer(&mut self, reference: u32, target: Reference) {
        self.references.insert(reference, target);
        self.next_reference = self.next_reference.saturating_add(1);
    }

    pub(super) fn class_named(&self, name: &str) -> ClassRef {
        let id = self.streamers.id(name);
        let name = id.map_or_else(|| name.into(), |id| self.streamers.class(id).name.clone());
        ClassRef { name, id }
    }
}
