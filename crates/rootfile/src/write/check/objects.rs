//! Objects, and the streamer infos of their classes.

use std::collections::BTreeSet;

use super::Check;
use crate::content::Alone;
use crate::key::Key;
use crate::object::Opaque;
use crate::types::special::Special;

impl Check<'_> {
    /// An object is read whole, and all its classes are described.
    pub(super) fn object(&mut self, path: &str, key: &Key) {
        let Some(record) = self.record_of(key) else { return };
        let objects = match self.file.object_in(key, &record, &Alone, &Opaque::new()) {
            Ok(objects) => objects,
            Err(error) => return self.find(key.offset, format!("{path}: {error}")),
        };
        for unread in objects.unread_objects() {
            let why = unread.unread().map(|unread| unread.why.to_string()).unwrap_or_default();
            self.find(key.offset, format!("{path}: a {} is not read: {why}", unread.class()));
        }
        let classes: BTreeSet<&str> = objects.iter().map(|object| object.class()).collect();
        for class in classes {
            if !self.is_described(class) {
                self.find(key.offset, format!("{path}: no streamer info of {class}"));
            }
        }
    }

    /// Classes that ROOT reads by hand need no description.
    fn is_described(&self, class: &str) -> bool {
        let mut infos = self.file.classes.streamers.versions(class);
        Special::of(class).is_some() || infos.any(|info| info.checksum != 0)
    }
}
