//! Objects of other files, as they are.

use std::sync::Arc;

use super::record::{Copier, Edits, SourceRecord};
use crate::error::{Error, Result};
use crate::file::{File, ready};
use crate::key::Key;
use crate::known::{Known, Progress};
use crate::object::{ObjectId, ObjectRef};
use crate::write::buffer::Buffer;
use crate::write::table::{Described, WritableObject};

/// Lists of ROOT's objects; other classes may inherit from `TCollection`.
const LISTS: [&str; 7] =
    ["TList", "THashList", "TSortedList", "TObjArray", "TClonesArray", "TMap", "THStack"];

/// The object of a key, with its changes.
#[derive(Debug, Clone)]
pub struct CopiedObject {
    pub(super) class: String,
    pub(super) title: String,
    /// The object within its record that is copied; `None` for the record's own.
    pub(super) part: Option<ObjectId>,
    /// Descriptions of its classes, from its file.
    pub(super) described: Option<Arc<Described>>,
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
            let class = key.class.clone();
            let title = key.title.clone();
            let records = vec![Arc::new(record)];
            let edits = Edits::default();
            Ok(CopiedObject { class, title, part: None, described: None, records, edits })
        };
        Ok(Progress::Ready(read().map_err(|error: Error| error.within(&key.name))?))
    }

    /// The same with its file's descriptions of its classes.
    #[must_use]
    pub fn with(self, described: Described) -> CopiedObject {
        CopiedObject { described: Some(Arc::new(described)), ..self }
    }

    /// The object of a class at a position of the record, counted as [`Objects::iter`] has them.
    ///
    /// # Errors
    /// `Unsupported` where there is none, or no pointer leads to it: it is a part of another one.
    ///
    /// [`Objects::iter`]: crate::object::Objects::iter
    pub fn part(self, position: usize, class: &str) -> Result<CopiedObject> {
        let record = Arc::clone(&self.records[0]);
        let found = record.objects.iter().nth(position);
        let Some(object) = found.filter(|one| one.class() == class && record.is_part(one.id))
        else {
            let message = "an object that is a part of another one, which alone cannot be copied";
            return Err(Error::unsupported(message).within(&self.class));
        };
        let title = object.string("fTitle").unwrap_or_default();
        Ok(CopiedObject { class: object.class().into(), title, part: Some(object.id), ..self })
    }

    /// The same under another name, where the object knows its own.
    #[must_use]
    pub fn named(mut self, name: &str) -> CopiedObject {
        let record = Arc::clone(&self.records[0]);
        let object = self.part.map_or(record.root(), |part| record.root().of(part));
        if object.string("fName").is_ok_and(|known| known != name) {
            let mut to = Buffer::default();
            to.string(name);
            self.edits.set_bytes(0, object, "fName", to);
        }
        self
    }

    /// Whether both are the same, byte for byte.
    pub fn is_like(&self, other: &CopiedObject) -> bool {
        self.class == other.class && self.records[0].content() == other.records[0].content()
    }

    /// Whether it is a list with histograms, which `hadd` adds up one by one, and farroot not at
    /// all.
    pub fn lists_histograms(&self) -> bool {
        let is_list = LISTS.contains(&&*self.class) || self.root().base("TCollection").is_some();
        is_list && self.records[0].objects.iter().any(|object| object.base("TH1").is_some())
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

    fn described(&self) -> Vec<&Described> {
        self.described.as_deref().into_iter().collect()
    }

    fn write(&self, to: &mut Buffer) {
        let records = self.records.iter().map(|record| &**record).collect();
        let mut copier = Copier::new(records, &self.edits);
        match self.part {
            Some(part) => copier.only(part, to),
            None => copier.root(to),
        }
    }
}
