//! Objects of other files, as they are.

use std::sync::Arc;

use super::record::{Copier, Edits, SourceRecord};
use crate::error::{Error, Result};
use crate::file::{File, ready};
use crate::key::Key;
use crate::known::{Known, Progress};
use crate::object::ObjectRef;
use crate::write::buffer::Buffer;
use crate::write::table::WritableObject;

/// The object of a key, with what has been changed of it.
#[derive(Debug)]
pub struct CopiedObject {
    pub(super) class: String,
    pub(super) title: String,
    /// Its own record, and those of further objects that have been added to it.
    pub(super) records: Vec<Arc<SourceRecord>>,
    pub(super) edits: Edits,
}

impl CopiedObject {
    /// The object of a key.
    ///
    /// # Errors
    /// As [`File::object`]; `Unsupported` where a part of it cannot be read, so that references in
    /// it would be wrong in another place.
    pub fn read(file: &File, known: &Known, key: &Key) -> Result<Progress<CopiedObject>> {
        let content = ready!(file.content_of(known, key)?);
        let read = || {
            let streamers = &file.classes.streamers;
            let offset = key.offset.saturating_add(key.key_len);
            let record = SourceRecord::read(streamers, &key.class, content, key.key_len, offset)?;
            let unread = record.unreadable()?;
            if let Some(object) = unread.first().map(|id| record.root().of(*id)) {
                let why = object.unread().map(|unread| unread.why.clone());
                return Err(why.unwrap_or_else(|| Error::unsupported("unread")));
            }
            let (class, title) = (key.class.clone(), key.title.clone());
            let records = vec![Arc::new(record)];
            Ok(CopiedObject { class, title, records, edits: Edits::default() })
        };
        Ok(Progress::Ready(read().map_err(|error: Error| error.within(&key.name))?))
    }

    /// Whether both are the same, byte for byte.
    pub fn is_like(&self, other: &CopiedObject) -> bool {
        self.class == other.class && self.records[0].content() == other.records[0].content()
    }

    /// The object itself.
    pub fn root(&self) -> ObjectRef<'_> {
        self.records[0].root()
    }
}

impl WritableObject for CopiedObject {
    fn class(&self) -> &str {
        &self.class
    }

    fn title(&self) -> &str {
        &self.title
    }

    /// None: the streamer infos of its file are copied.
    fn classes(&self) -> Vec<&str> {
        Vec::new()
    }

    fn write(&self, to: &mut Buffer) {
        let records = self.records.iter().map(|record| &**record).collect();
        Copier::new(records, &self.edits).root(to);
    }
}
