//! The list of free ranges, which the next writer writes by.

use super::{Check, Severity};
use crate::cursor::Cursor;
use crate::error::Result;
use crate::header::{has_long_offsets, read_offset};

/// Bytes of an entry, at least.
const ENTRY_LEN_MIN: usize = 10;

impl Check<'_> {
    pub(super) fn free(&mut self) {
        let header = &self.file.header;
        let at = header.free_offset;
        let len = header.free_len;
        let end = header.end;
        if at == 0 {
            return self.broken(16, "no list of what is free: the file was not closed");
        }
        let Some(key) = self.uses(at, len, "TFile", 16) else { return };
        let entries = match self.entries(at + key.key_len, at + len) {
            Ok(entries) => entries,
            Err(error) => return self.broken(at, error.to_string()),
        };
        let said = self.bytes.get(if self.file.header.big { 36..40 } else { 24..28 });
        let said =
            said.and_then(|bytes| bytes.first_chunk()).map(|bytes| u32::from_be_bytes(*bytes));
        if said != Some(entries.len() as u32) {
            let there = entries.len();
            let said = said.unwrap_or_default();
            self.unusual(24, format!("{said} stretches are free, the list has {there}"));
        }
        let beyond = |entries: &&[(u64, u64)]| entries.last().is_some_and(|(_, to)| *to > end);
        let Some(((last, _), inner)) = Some(&*entries).filter(beyond).and_then(<[_]>::split_last)
        else {
            return self.broken(at, format!("what is free does not go on behind the end {end}"));
        };
        if *last != end {
            let message = format!("the file ends at {end}, what is free begins at {last}");
            let severity = if *last < end { Severity::Broken } else { Severity::Wasteful };
            self.find(severity, at, message);
        }
        let mut gaps = std::mem::take(&mut self.gaps);
        let mut before = None;
        for (first, stop) in inner {
            if before.is_some_and(|before| *first <= before) {
                self.unusual(at, format!("the free stretch at {first} is out of order"));
            }
            before = Some(*stop);
            let len = stop.saturating_add(1).saturating_sub(*first);
            if let Some(used) = self.used_within(*first, *stop) {
                let message = format!("{len} bytes are listed as free, and hold what is at {used}");
                self.broken(*first, message);
            } else if gaps.remove(first) != Some(len) {
                self.unusual(*first, format!("{len} bytes are listed as free, but do not say so"));
            }
        }
        for (first, len) in gaps {
            self.wasteful(first, format!("{len} free bytes that the list of what is free lacks"));
        }
    }

    /// A record in use that has some of these bytes.
    fn used_within(&self, first: u64, last: u64) -> Option<u64> {
        let at = *self.used.range(..=last).next_back()?;
        let len = self.records.get(&at).map_or(1, |key| key.record_len);
        (at.saturating_add(len) > first).then_some(at)
    }

    /// First and last byte of each stretch, up to that which goes on behind the end: ROOT reads no
    /// further, and may leave zeros there.
    fn entries(&self, start: u64, end: u64) -> Result<Vec<(u64, u64)>> {
        let content = self.bytes_of(start..end).unwrap_or_default();
        let mut cursor = Cursor::new(&content, start);
        let mut entries = Vec::new();
        while cursor.remaining() >= ENTRY_LEN_MIN {
            let big = has_long_offsets(cursor.u16()?);
            let entry = (read_offset(&mut cursor, big)?, read_offset(&mut cursor, big)?);
            entries.push(entry);
            if entry.1 > self.file.header.end {
                break;
            }
        }
        Ok(entries)
    }
}
