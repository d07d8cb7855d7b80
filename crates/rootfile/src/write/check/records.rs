//! The header, and the chain of records that fill the file.

use super::Check;
use crate::key::Key;
use crate::write::key::BIG;

/// Bytes of the header in both forms.
const HEADER_LEN: u64 = 63;
const HEADER_LEN_LONG: u64 = 75;
/// A gap's length is written into four bytes; longer ones say this.
const GAP_MAX: u64 = 2_000_000_000;
/// No gap is shorter, as its length would not fit into it.
const GAP_MIN: u64 = 4;

impl Check<'_> {
    pub(super) fn header(&mut self) {
        let header = &self.file.header;
        let len = if header.big { HEADER_LEN_LONG } else { HEADER_LEN };
        let (begin, end, big) = (header.begin, header.end, header.big);
        if begin < len {
            self.find(8, format!("the first record is at {begin}, in the header of {len} bytes"));
        }
        if end > self.bytes.len() as u64 {
            let size = self.bytes.len();
            self.find(12, format!("the file ends at {size}, its header says at {end}"));
        }
        if big != (end > BIG) {
            self.find(
                4,
                format!("offsets of {} bytes in a file of {end}", if big { 8 } else { 4 }),
            );
        }
        let units = self.bytes.get(if big { 44 } else { 32 }).copied();
        if units != Some(if big { 8 } else { 4 }) {
            self.find(32, format!("units of {units:?} bytes"));
        }
    }

    /// Follows the records from the first to the end. What does not fit is found; where no record
    /// begins the chain ends.
    pub(super) fn chain(&mut self) {
        let header = &self.file.header;
        let (mut at, end) = (header.begin, header.end.min(self.bytes.len() as u64));
        while at < end {
            let Some(head) = self.bytes_of(at..at.saturating_add(4)) else {
                return self.find(at, "less than a record in front of the end");
            };
            let len = head.first_chunk().map_or(0, |bytes| i32::from_be_bytes(*bytes));
            let stored = u64::from(len.unsigned_abs());
            if stored < GAP_MIN || at + stored > end {
                return self.find(at, format!("a record of {len} bytes in front of {end}"));
            }
            match len {
                ..0 => {
                    let len = if stored == GAP_MAX { self.long_gap(at, end) } else { stored };
                    self.gaps.insert(at, len);
                    at += len;
                }
                _ => {
                    self.record(at, stored);
                    at += stored;
                }
            }
        }
    }

    /// A gap that is too long to say so goes on to the first record that a key is at.
    fn long_gap(&self, at: u64, end: u64) -> u64 {
        let mut next = end;
        for key in self.file.keys() {
            if key.offset > at {
                next = next.min(key.offset);
            }
        }
        (next - at).max(GAP_MAX)
    }

    fn record(&mut self, at: u64, len: u64) {
        let Some(record) = self.bytes_of(at..at + len) else { return };
        let key = match Key::of_record(&record, at) {
            Ok(key) => key,
            Err(error) => return self.find(at, error.to_string()),
        };
        let Key { class, name, .. } = &key;
        if key.offset != at {
            self.find(at, format!("a {class} \"{name}\" that says that it is at {}", key.offset));
        }
        if key.key_len > len {
            self.find(at, format!("a {class} \"{name}\" whose key is longer than it is"));
        } else if key.content_len < len - key.key_len && key.class != "RBlob" {
            let (stored, content) = (len - key.key_len, key.content_len);
            self.find(at, format!("{content} bytes of {class} \"{name}\" stored in {stored}"));
        }
        self.records.insert(at, key);
    }

    /// Records that nothing leads to.
    pub(super) fn unused(&mut self) {
        let records = std::mem::take(&mut self.records);
        for (at, key) in &records {
            if !self.used.contains(at) {
                self.find(*at, format!("nothing leads to this {} \"{}\"", key.class, key.name));
            }
        }
        self.records = records;
    }
}
