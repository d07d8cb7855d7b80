//! The header, and the chain of records that fill the file.

use super::Check;
use crate::key::Key;
use crate::write::key::{BIG, GAP_MIN};

/// Bytes of the header in both forms.
const HEADER_LEN: u64 = 63;
const HEADER_LEN_LONG: u64 = 75;
/// A gap's length is written into four bytes; longer ones say this.
const GAP_MAX: u64 = 2_000_000_000;

impl Check<'_> {
    pub(super) fn header(&mut self) {
        let header = &self.file.header;
        let len = if header.big { HEADER_LEN_LONG } else { HEADER_LEN };
        let begin = header.begin;
        let end = header.end;
        let big = header.big;
        if begin < len {
            self.broken(8, format!("the first record is at {begin}, in the header of {len} bytes"));
        }
        if end > self.bytes.len() as u64 {
            let size = self.bytes.len();
            self.broken(12, format!("the file ends at {size}, its header says at {end}"));
        }
        if big != (end > BIG) {
            self.unusual(
                4,
                format!("offsets of {} bytes in a file of {end}", if big { 8 } else { 4 }),
            );
        }
        let units = self.bytes.get(if big { 44 } else { 32 }).copied();
        if units != Some(if big { 8 } else { 4 }) {
            let units = units.unwrap_or_default();
            self.unusual(32, format!("units of {units} bytes"));
        }
    }

    /// Follows the records from the first to the end. A record that does not fit is a finding, and
    /// the chain goes on with the next record that the header or a key of the top directory leads
    /// to.
    pub(super) fn chain(&mut self) {
        let header = &self.file.header;
        let mut at = header.begin;
        let end = header.end.min(self.bytes.len() as u64);
        while at < end {
            let Some(len) = self.link(at, end) else {
                let next = self.next_known(at).min(end);
                self.unusual(at, format!("no record says what the bytes up to {next} are"));
                at = next;
                continue;
            };
            let stored = u64::from(len.unsigned_abs());
            if len < 0 {
                let len = if stored == GAP_MAX { self.long_gap(at, end) } else { stored };
                self.gaps.insert(at, len);
                at += len;
            } else {
                self.record(at, stored);
                at += stored;
            }
        }
    }

    /// The length that a record or a gap begins with, if it can be one.
    fn link(&self, at: u64, end: u64) -> Option<i32> {
        let head = self.bytes_of(at..at.checked_add(4)?)?;
        let len = i32::from_be_bytes(*head.first_chunk()?);
        let stored = u64::from(len.unsigned_abs());
        (stored >= GAP_MIN && at + stored <= end).then_some(len)
    }

    /// The next record that something leads to; else the end.
    fn next_known(&self, at: u64) -> u64 {
        let header = &self.file.header;
        let known = self.file.keys().iter().map(|key| key.offset);
        let known = known.chain([header.infos_offset, header.free_offset, header.end]);
        known.filter(|offset| *offset > at).min().unwrap_or(u64::MAX)
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
            Err(error) => return self.unusual(at, error.to_string()),
        };
        let Key { class, name, .. } = &key;
        if key.offset != at {
            self.unusual(
                at,
                format!("a {class} \"{name}\" that says that it is at {}", key.offset),
            );
        }
        if key.key_len > len {
            self.broken(at, format!("a {class} \"{name}\" whose key is longer than it is"));
        } else if key.content_len < len - key.key_len && key.class != "RBlob" {
            let stored = len - key.key_len;
            let content = key.content_len;
            self.unusual(at, format!("{content} bytes of {class} \"{name}\" stored in {stored}"));
        }
        self.records.insert(at, key);
    }

    /// Records that nothing leads to.
    pub(super) fn unused(&mut self) {
        let records = std::mem::take(&mut self.records);
        for (at, key) in &records {
            if !self.used.contains(at) {
                self.wasteful(*at, format!("nothing leads to this {} \"{}\"", key.class, key.name));
            }
        }
        self.records = records;
    }
}
