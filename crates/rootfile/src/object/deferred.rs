//! Objects deep in others, which are read when those around them are done.
//!
//! Objects that are shared are written where they are met first, so that how deep they lie grows
//! with the length of any chain of them: a workspace of RooFit has hundreds in each other. Native
//! recursion stops at a depth; a pointer there gets the object's identity, and its bytes, whose
//! length is in front of them, are read later. References to objects or classes in these bytes that
//! are read earlier are resolved by position: a class's name is looked up in the bytes, and an
//! object has its identity from the first that refers to it.

use super::queue::{ClassRef, DeferredObject};
use super::reader::{ObjectReader, Reference};
use super::{ObjectId, Value};
use crate::cursor::Cursor;
use crate::error::Result;
use crate::types::framing::{MAP_OFFSET, NEW_CLASS};

impl ObjectReader<'_> {
    /// Leaves all bytes of a cursor, which are those of an object, for later.
    pub(super) fn defer(
        &mut self,
        id: ObjectId,
        class: ClassRef,
        cursor: &mut Cursor<'_>,
    ) -> Result<()> {
        let at = cursor.position();
        let len = cursor.remaining();
        self.deferred.objects.push(DeferredObject { id, class, at, len });
        self.deferred.any = true;
        cursor.skip(len)
    }

    /// Reads the objects that have been deferred, and those that these defer. `within` is any
    /// cursor of the record.
    ///
    /// # Errors
    /// As reading the objects at once has.
    pub(super) fn read_deferred(&mut self, within: &Cursor<'_>) -> Result<()> {
        while let Some(DeferredObject { id, class, at, len }) = self.deferred.objects.pop() {
            let mut end = within.at(at)?;
            let mut content = end.split(len)?;
            let start = self.start(&content);
            let done = self.fill(id, &class, &mut content);
            self.or_unread(done, id, start, &end)?;
        }
        let lost = std::mem::take(&mut self.deferred.expected);
        if !lost.is_empty() {
            let mut lost: Vec<ObjectId> = lost.into_values().collect();
            lost.sort_unstable();
            self.objects.iter_mut().for_each(|object| object.lose(&lost));
        }
        Ok(())
    }

    /// The identity of an object that comes at a reference: the one by which others before it have
    /// referred to it, if any have.
    pub(super) fn reserve_at(&mut self, reference: u32, class: &ClassRef) -> Result<ObjectId> {
        match self.deferred.expected.remove(&reference) {
            Some(id) => {
                self.objects[id.position()].class = class.name.clone();
                Ok(id)
            }
            None => self.reserve(class),
        }
    }

    /// An object that may be in bytes which are read later; lost where none are.
    pub(super) fn expect(&mut self, reference: u32) -> Result<Value> {
        if !self.deferred.any {
            return Ok(Value::Lost);
        }
        let unknown = ClassRef { name: "".into(), id: None };
        let id = self.reserve(&unknown)?;
        self.deferred.expected.insert(reference, id);
        self.references.insert(reference, Reference::Object(id));
        Ok(Value::Object(id))
    }

    /// A class that was named in bytes which have not been read.
    pub(super) fn class_named_at(&self, reference: u32, within: &Cursor<'_>) -> Option<ClassRef> {
        let behind = self.key_len.checked_add(MAP_OFFSET)?;
        let mut at = within.at(reference.checked_sub(behind)? as usize).ok()?;
        if at.u32().ok()? != NEW_CLASS {
            return None;
        }
        let name = at.c_string(super::pointer::CLASS_NAME_LEN_MAX).ok()?;
        Some(self.class_named(&name))
    }
}
