//! Objects of other files, as their records have them.

use std::sync::Arc;

use bytes::Bytes;

use crate::content::Alone;
use crate::error::{Error, Result};
use crate::file::File;
use crate::key::Key;
use crate::object::Opaque;
use crate::types::framing::MAP_OFFSET;
use crate::write::buffer::Buffer;
use crate::write::table::{Stored, WritableObject};

/// The record of any object, also of classes that only its own file describes.
///
/// The caller copies the streamer infos ([`Infos::copy`](crate::write::Infos::copy)).
#[derive(Debug, Clone)]
pub struct RawObject {
    file: Arc<File>,
    key: Key,
    record: Bytes,
}

impl RawObject {
    /// Of a key and its whole record.
    ///
    /// # Errors
    /// `Unsupported` for directories and tables, whose data are elsewhere; `Corrupt` where the
    /// record is not that of the key.
    pub fn new(file: Arc<File>, key: Key, record: Bytes) -> Result<Self> {
        if !file.is_object(&key) {
            let message = format!("a {} is more than its record", key.class);
            return Err(Error::unsupported(message).within(&key.name));
        }
        key.check_record(&record).map_err(|error| error.within(&key.name))?;
        let fits = key.key_len <= key.record_len && key.record_len == record.len() as u64;
        match fits {
            true => Ok(RawObject { file, key, record }),
            false => {
                let message = "a record of another length than its key's";
                Err(Error::corrupt(message).within(&key.name).at(key.offset))
            }
        }
    }

    fn payload(&self) -> Bytes {
        self.record.slice(self.key.key_len as usize..)
    }

    /// The content where its first byte is at `start` of the record.
    fn content_at(&self, start: usize) -> Result<Vec<u8>> {
        let refused = |message: &str| Err(Error::unsupported(message).within(&self.key.name));
        let objects = self.file.object_in(&self.key, &self.record, &Alone, &Opaque::new())?;
        if objects.unread_objects().next().is_some() {
            return refused("an object that is not understood wholly can only keep its name");
        }
        let mut content = self.file.content_in(&self.key, &self.record)?.to_vec();
        let moved = start as i64 - self.key.key_len as i64;
        for link in objects.links() {
            let place = *link as usize;
            let Some(number) = content.get_mut(place..).and_then(|rest| rest.first_chunk_mut())
            else {
                return refused("a reference beyond the object");
            };
            let target = i64::from(u32::from_be_bytes(*number)) + moved;
            *number = (target as u32).to_be_bytes();
        }
        Ok(content)
    }
}

impl WritableObject for RawObject {
    fn class(&self) -> &str {
        &self.key.class
    }

    fn title(&self) -> &str {
        &self.key.title
    }

    fn classes(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Within another object. One that is not understood leaves its place empty.
    fn write(&self, to: &mut Buffer) {
        let start = (to.reference() - MAP_OFFSET) as usize;
        to.bytes(&self.content_at(start).unwrap_or_default());
    }

    fn stored(&self, key_len: usize) -> Result<Option<Stored>> {
        let content_len = self.key.content_len as usize;
        if key_len as u64 == self.key.key_len {
            return Ok(Some(Stored { payload: self.payload(), content_len }));
        }
        let content = self.content_at(key_len)?;
        Ok(Some(Stored { payload: content.into(), content_len }))
    }
}
