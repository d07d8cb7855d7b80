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
            Err(error) => return self.failed(key.offset, &error, format!("{path}: {error}")),
        };
        for unread in objects.unread_objects() {
            let Some(unread_for) = unread.unread() else { continue };
            let why = &unread_for.why;
            let message = format!("{path}: a {} is not read: {why}", unread.class());
            self.failed(key.offset, why, message);
        }
        let classes: BTreeSet<&str> = objects.iter().map(|object| object.class()).collect();
        for class in classes {
            if !self.is_described(class) {
                self.unusual(key.offset, format!("{path}: no streamer info of {class}"));
            }
        }
    }

    /// Classes that ROOT reads by hand need no description.
    fn is_described(&self, class: &str) -> bool {
        let mut infos = self.file.classes.streamers.versions(class);
        Special::of(class).is_some() || infos.any(|info| info.checksum != 0)
    }
}
