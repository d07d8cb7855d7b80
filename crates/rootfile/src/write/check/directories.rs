//! Directories, their lists of keys, and the records that these list.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::Check;
use crate::cursor::Cursor;
use crate::directory::{DIRECTORY_LEN, DirectoryRecord};
use crate::error::Result;
use crate::key::Key;
use crate::ntuple;

/// A directory's record: its offset, and the bytes in front of its fields.
struct Place {
    path: String,
    offset: u64,
    name_len: u64,
}

impl Check<'_> {
    /// Checks all directories from the top on, and the objects in them.
    pub(super) fn directories(&mut self) {
        let header = &self.file.header;
        let begin = header.begin;
        let name_len = header.name_len;
        let infos = header.infos_offset;
        let infos_len = header.info_len;
        if infos == 0 {
            self.unusual(37, "no streamer infos: other readers than ROOT do not know the classes");
        } else if let Some(key) = self.uses(infos, infos_len, "TList", 37)
            && key.name != "StreamerInfo"
        {
            self.unusual(infos, format!("streamer infos that are called \"{}\"", key.name));
        }
        self.used.insert(begin);
        let mut places = vec![Place { path: String::new(), offset: begin, name_len }];
        let mut seen = BTreeSet::from([begin]);
        while let Some(place) = places.pop() {
            for key in self.directory(&place) {
                if !key.is_directory() {
                    self.listed_object(&place.path, &key);
                } else if seen.insert(key.offset) {
                    let path = format!("{}{}/", place.path, key.name);
                    places.push(Place { path, offset: key.offset, name_len: key.key_len });
                } else {
                    let message = format!("the directory \"{}\" is in several", key.name);
                    self.unusual(key.offset, message);
                }
            }
        }
    }

    /// Checks a directory and gives the keys of its list.
    fn directory(&mut self, place: &Place) -> Vec<Key> {
        let Place { path, offset, name_len } = place;
        let start = offset.saturating_add(*name_len);
        let content = self.bytes_of(start..start.saturating_add(DIRECTORY_LEN)).unwrap_or_default();
        let record = match DirectoryRecord::read(&mut Cursor::new(&content, start)) {
            Ok(record) => record,
            Err(error) => {
                self.broken(start, error.to_string());
                return Vec::new();
            }
        };
        if let Err(error) = record.check(*offset, *name_len) {
            self.broken(start, error.to_string());
        }
        if (record.keys_offset, record.keys_len) == (0, 0) {
            // A directory that nothing was ever put into.
            return Vec::new();
        }
        let class = if path.is_empty() { "TFile" } else { "TDirectory" };
        let Some(own) = self.uses(record.keys_offset, record.keys_len, class, start) else {
            return Vec::new();
        };
        if own.directory_offset != *offset {
            let claim = format!("the list of the directory at {offset} says that it is that at");
            self.unusual(own.offset, format!("{claim} {}", own.directory_offset));
        }
        let list = self.record_of(&own).unwrap_or_default();
        let (keys, left) = match images(&own, &list) {
            Ok(images) => images,
            Err(error) => {
                self.broken(own.offset, error.to_string());
                return Vec::new();
            }
        };
        if left > 0 {
            let count = keys.len();
            self.wasteful(own.offset, format!("{left} bytes behind a list of {count} keys"));
        }
        self.cycles(own.offset, &keys);
        keys.iter().for_each(|(key, image)| self.image(key, image, *offset, own.offset));
        keys.into_iter().map(|(key, _)| key).collect()
    }

    /// ROOT takes the first key of a name for the newest.
    fn cycles(&mut self, list: u64, keys: &[(Key, Bytes)]) {
        let mut last: BTreeMap<&str, u16> = BTreeMap::new();
        for (key, _) in keys {
            // A negative cycle is that of a key to be kept.
            let cycle = (key.cycle as i16).unsigned_abs();
            let before = last.insert(&key.name, cycle);
            let before = before.filter(|before| cycle == 0 || *before <= cycle);
            if let Some(before) = before {
                let order = format!("cycle {cycle} of \"{}\" behind cycle {before}", key.name);
                self.unusual(list, format!("{order}: ROOT finds the first"));
            } else if cycle == 0 {
                self.unusual(list, format!("\"{}\" without a cycle", key.name));
            }
        }
    }

    /// The key in a list is that of its record, byte by byte.
    fn image(&mut self, key: &Key, image: &Bytes, directory: u64, list: u64) {
        let name = &key.name;
        if matches!(&*key.class, "TBasket" | "RBlob") {
            return self.unusual(list, format!("a {} \"{name}\" is listed", key.class));
        }
        if key.key_len != image.len() as u64 {
            let len = image.len();
            self.unusual(
                list,
                format!("the key of \"{name}\" has {len} bytes, says {}", key.key_len),
            );
        }
        if key.directory_offset != directory {
            let other = key.directory_offset;
            self.unusual(list, format!("\"{name}\" says that it is in the directory at {other}"));
        }
        let record = self.bytes_of(key.offset..key.offset.saturating_add(image.len() as u64));
        if record.as_ref() != Some(image) {
            self.unusual(list, format!("the key of \"{name}\" is not that of its record"));
        }
        let class = if key.is_directory() { "TDirectory" } else { &key.class };
        self.uses(key.offset, key.record_len, class, list);
    }

    fn listed_object(&mut self, path: &str, key: &Key) {
        let path = format!("{path}{};{}", key.name, key.cycle);
        if ntuple::is_class(&key.class) {
            self.ntuple(&path, key);
        } else if self.file.is_tree(key) {
            self.tree(&path, key);
        }
        self.object(&path, key);
    }
}

/// The keys of a list with the bytes of each, and how many bytes are left behind them.
fn images(own: &Key, list: &Bytes) -> Result<(Vec<(Key, Bytes)>, usize)> {
    let mut cursor = Cursor::new(list, own.offset);
    cursor.skip(own.key_len as usize)?;
    let count = cursor.count(crate::key::KEY_LEN_MIN)?;
    let mut keys = Vec::with_capacity(count);
    for _ in 0..count {
        let start = cursor.position();
        let key = Key::read(&mut cursor)?;
        keys.push((key, list.slice(start..cursor.position())));
    }
    Ok((keys, cursor.remaining()))
}
