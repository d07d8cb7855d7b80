//! A cache of decoded streamer infos: files of one data set have the same list of them, byte by
//! byte, and decoding it takes longer than the rest of opening a small file.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::{decompressed, payload};
use crate::error::{Error, Result};
use crate::header::Header;
use crate::key::Key;
use crate::object::read_object;
use crate::streamer::Streamers;
use crate::tree::ClassTable;
use crate::types::framing::BYTE_COUNT;

/// Maximum number of lists in the cache.
const LISTS_MAX: usize = 4;
/// Maximum stored bytes of a list in the cache. The longest among the test files has 31 kB.
const BYTES_MAX: usize = 1 << 20;

/// The last lists of streamer infos that were decoded, and their classes, for all callers of
/// [`File::open_among`](super::File::open_among) to share.
#[derive(Debug, Default)]
pub struct KnownClasses {
    last: Mutex<VecDeque<(List, Arc<ClassTable>)>>,
}

/// A list as it is stored: all that its classes depend on.
#[derive(Debug, PartialEq)]
struct List {
    class: String,
    key_len: u64,
    content_len: usize,
    payload: Bytes,
}

impl KnownClasses {
    /// The classes of a list: from the cache or, if it is not there, decoded by `read`.
    fn of(
        &self,
        list: List,
        read: impl FnOnce(&List) -> Result<Streamers>,
    ) -> Result<Arc<ClassTable>> {
        let known = |last: &VecDeque<(List, Arc<ClassTable>)>| {
            let found = last.iter().find(|(known, _)| *known == list);
            found.map(|(_, classes)| classes.clone())
        };
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(classes) = known(&last()) {
            return Ok(classes);
        }
        let classes = Arc::new(ClassTable::from(read(&list)?));
        let mut last = last();
        if list.payload.len() <= BYTES_MAX && known(&last).is_none() {
            // A copy: a slice would keep the whole buffer, with other bytes, in memory.
            let payload = Bytes::copy_from_slice(&list.payload);
            last.truncate(LISTS_MAX - 1);
            last.push_front((List { payload, ..list }, classes.clone()));
        }
        Ok(classes)
    }
}

/// The classes of a file, from the record of its list of streamer infos.
///
/// # Errors
/// `Corrupt` where it is no such record; as [`read_object`] and [`Streamers::of_list`].
pub(super) fn classes(
    record: &Bytes,
    header: &Header,
    before: &KnownClasses,
) -> Result<Arc<ClassTable>> {
    if record.is_empty() {
        return Ok(Arc::new(Streamers::default().into()));
    }
    let key = Key::of_record(record, header.infos_offset)?;
    if key.offset != header.infos_offset || key.record_len != header.info_len {
        let message = format!(
            "a record of {} bytes at {}, the header says {} at {}",
            key.record_len, key.offset, header.info_len, header.infos_offset
        );
        return Err(Error::corrupt(message).at(header.infos_offset));
    }
    let (payload, content_len) = payload(record, &key)?;
    let list = List { class: key.class.clone(), key_len: key.key_len, content_len, payload };
    before.of(list, |list| {
        let offset = header.infos_offset + key.key_len;
        let content = decompressed(list.payload.clone(), content_len);
        let content = without_room(content.map_err(|error| error.at(offset))?);
        let list = read_object(Streamers::builtin(), &key.class, &content, key.key_len, offset)?;
        Streamers::of_list(&list)
    })
}

/// The list of streamer infos without the zeros behind it, which uproot reserves for more infos.
fn without_room(content: Bytes) -> Bytes {
    let Some(&[a, b, c, d]) = content.first_chunk() else { return content };
    let end = 4 + (u32::from_be_bytes([a, b, c, d]) & !BYTE_COUNT) as usize;
    match content.get(end..) {
        Some(behind) if behind.iter().all(|byte| *byte == 0) => content.slice(..end),
        _ => content,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files with RNTuples written by uproot were refused as corrupt: zeros follow their list of
    /// streamer infos.
    #[test]
    fn room_behind_the_list_of_streamer_infos_is_not_read() {
        let list = [0x40, 0, 0, 3, 0, 5, 7];
        let roomy = [&list[..], &[0; 20]].concat();
        assert_eq!(without_room(roomy.into()), list[..]);
        let other = Bytes::from([&list[..], &[0, 1]].concat());
        assert_eq!(without_room(other.clone()), other);
        let cut = Bytes::from_static(&[0x40, 0, 0, 9, 0]);
        assert_eq!(without_room(cut.clone()), cut);
        assert_eq!(without_room(Bytes::new()), Bytes::new());
    }

    fn list(payload: Bytes, key_len: u64) -> List {
        List { class: "TList".into(), key_len, content_len: 3, payload }
    }

    #[test]
    fn equal_lists_are_understood_once() {
        let before = KnownClasses::default();
        let of = |payload: &'static [u8], key_len, is_new: bool| {
            let mut is_read = false;
            let classes = before.of(list(payload.into(), key_len), |_| {
                is_read = true;
                Ok(Streamers::default())
            });
            assert_eq!(is_read, is_new, "{payload:?} {key_len}");
            classes.unwrap()
        };
        let first = of(b"abc", 60, true);
        assert!(Arc::ptr_eq(&first, &of(b"abc", 60, false)));
        assert!(!Arc::ptr_eq(&first, &of(b"abc", 61, true)), "references count from the key");
        for other in [b"abd", b"abe", b"abf", b"abg"] {
            of(other, 60, true);
        }
        of(b"abg", 60, false);
        of(b"abc", 60, true);
        assert_eq!(before.last.lock().unwrap().len(), LISTS_MAX);
    }

    #[test]
    fn a_list_that_cannot_be_read_is_tried_anew() {
        let before = KnownClasses::default();
        for _ in 0..2 {
            let failed = before.of(list(Bytes::new(), 1), |_| Err(Error::corrupt("no list")));
            assert_eq!(failed, Err(Error::corrupt("no list")));
        }
    }
}
