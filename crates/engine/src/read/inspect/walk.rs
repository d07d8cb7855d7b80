//! The layout of a file, from the headers of its records.
//!
//! Each record begins with its key, which has its length, its class, and the compression of its
//! content. Ranges that no list names are walked from key to key, all of them at once: a few round
//! trips, unless very many long records lie beside each other that no list names.

use std::ops::Range;

use bytes::Bytes;
use rootfile::cursor::Cursor;
use rootfile::key::{Key, written};

use super::map::{Record, factor, record, with_gaps};
use crate::read::file::File;
use remote::Result;

/// Bytes of a key up to its length: enough to see the compression.
const HEAD_LEN: u64 = 18;
/// Bytes that are looked at where no list names anything: at first, and at most.
const LOOK: Range<u64> = 512..1 << 20;
/// No key is longer.
const KEY_LEN_MAX: u64 = 64 << 10;

impl File {
    /// As [`File::map`], with facts from the keys of the records: of each basket its own
    /// compression and time, and in addition to the records that the lists name every other one
    /// with a key, such as key lists, free space (`free`) and records that were written over.
    ///
    /// # Errors
    /// As [`File::map`], and those of fetching the keys.
    pub async fn walk(&self) -> Result<Vec<Record>> {
        let mapped = self.map().await?;
        let (gaps, mut records): (Vec<Record>, Vec<Record>) =
            mapped.into_iter().partition(|record| record.class == "gap");
        let of_gap = |gap: &Record| Gap {
            at: gap.offset,
            end: gap.offset.saturating_add(gap.stored_bytes),
            look: LOOK.start,
        };
        let mut gaps: Vec<Gap> = gaps.iter().map(of_gap).collect();
        let baskets: Vec<usize> =
            (0..records.len()).filter(|at| records[*at].class == "TBasket").collect();
        let head = |at: &usize| {
            let Record { offset, stored_bytes, .. } = records[*at];
            offset..offset.saturating_add(stored_bytes.min(HEAD_LEN))
        };
        let mut asked: Vec<Range<u64>> = baskets.iter().map(head).collect();
        asked.extend(gaps.iter().map(Gap::range));
        let mut heads = self.bytes(&asked).await?.into_iter();
        for (at, head) in baskets.into_iter().zip(&mut heads) {
            let offset = records[at].offset;
            let stored = records[at].stored_bytes;
            let Some(found) = BasketHead::read(&head, offset, stored) else { continue };
            records[at].compression = found.compression.or(records[at].compression);
            records[at].written = found.written;
        }
        let mut looked: Vec<Bytes> = heads.collect();
        while !gaps.is_empty() {
            for (gap, bytes) in gaps.iter_mut().zip(looked) {
                gap.walk(&bytes, &mut records);
            }
            gaps.retain(|gap| gap.at < gap.end);
            let asked: Vec<Range<u64>> = gaps.iter().map(Gap::range).collect();
            looked = self.bytes(&asked).await?;
        }
        Ok(with_gaps(records, self.size()))
    }

    /// The bytes of ranges, in their order.
    async fn bytes(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let known = self.known();
        let missing: Vec<Range<u64>> =
            ranges.iter().filter(|range| known.get((*range).clone()).is_none()).cloned().collect();
        let fetched = match missing.is_empty() {
            true => Vec::new(),
            false => self.remote().fetch(&missing).await?,
        };
        let fetched: std::collections::BTreeMap<u64, Bytes> = fetched.into_iter().collect();
        let bytes = |range: &Range<u64>| {
            let here = known.get(range.clone()).or_else(|| fetched.get(&range.start).cloned());
            here.unwrap_or_default()
        };
        Ok(ranges.iter().map(bytes).collect())
    }
}

/// The facts of a basket's key before its names.
struct BasketHead {
    compression: Option<f64>,
    written: Option<String>,
}

impl BasketHead {
    fn read(head: &Bytes, offset: u64, stored: u64) -> Option<BasketHead> {
        let mut cursor = Cursor::new(head, offset);
        cursor.skip(6).ok()?;
        let content = u64::from(cursor.u32().ok()?);
        let written = written(cursor.u32().ok()?);
        let key_len = u64::from(cursor.u16().ok()?);
        let compression = stored.checked_sub(key_len).and_then(|stored| factor(content, stored));
        Some(BasketHead { compression, written })
    }
}

/// A part of the file that no list names, and how far it has been walked.
struct Gap {
    at: u64,
    end: u64,
    /// Bytes to look at next.
    look: u64,
}

impl Gap {
    fn range(&self) -> Range<u64> {
        self.at..self.at.saturating_add(self.look).min(self.end)
    }

    /// Goes from key to key through the bytes that have come of its range.
    fn walk(&mut self, bytes: &Bytes, found: &mut Vec<Record>) {
        let start = self.at;
        let seen_end = start.saturating_add(bytes.len() as u64);
        while self.at < seen_end {
            let rest = bytes.slice((self.at - start) as usize..);
            let Some(next) = step(&rest, self.at, self.end) else {
                let seen = seen_end - self.at;
                if seen_end < self.end && seen < KEY_LEN_MAX {
                    // The key goes on behind the bytes that are here.
                    break;
                }
                self.at = self.end;
                return;
            };
            self.at = next.offset.saturating_add(next.stored_bytes);
            found.push(next);
        }
        self.look = self.look.saturating_mul(2).min(LOOK.end);
        if bytes.is_empty() {
            self.at = self.end;
        }
    }
}

/// The record at an offset, as far as it goes before `end`; `None` where there is no whole key.
fn step(bytes: &Bytes, at: u64, end: u64) -> Option<Record> {
    let mut cursor = Cursor::new(bytes, at);
    let length = cursor.clone().i32().ok()?;
    let room = end.saturating_sub(at);
    if length < 0 {
        let free = u64::from(length.unsigned_abs()).min(room);
        return Some(record(at..at + free, "free", String::new(), None));
    }
    let key = Key::read(&mut cursor).ok()?;
    let is_here = key.offset == at || key.offset == 0;
    if !is_here || key.record_len < key.key_len || key.key_len < rootfile::key::KEY_LEN_MIN as u64 {
        return None;
    }
    // Pages have records of their own behind the key that they share.
    let stored = if key.record_len <= room { key.record_len } else { key.key_len.min(room) };
    let name = match key.cycle {
        0 | 1 => key.name,
        cycle => format!("{};{cycle}", key.name),
    };
    let compression = factor(key.content_len, key.record_len - key.key_len);
    let written = written(key.datime);
    Some(Record { written, ..record(at..at + stored, &key.class, name, compression) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(at: u32, length: i32, name: &str) -> Vec<u8> {
        let mut bytes = length.to_be_bytes().to_vec();
        bytes.extend([0, 4, 0, 0, 1, 0, 0, 0, 0, 0, 0, 34, 0, 1]);
        bytes.extend(at.to_be_bytes());
        bytes.extend([0, 0, 0, 100, 1, b'C', name.len() as u8]);
        bytes.extend(name.bytes());
        bytes.push(0);
        bytes
    }

    /// Looks at `file` from `at` on as far as the gap asks, until it has been walked.
    fn walked(file: &[u8], at: u64, look: u64) -> (Vec<(u64, u64, String)>, usize) {
        let mut gap = Gap { at, end: file.len() as u64, look };
        let mut found = Vec::new();
        let mut rounds = 0;
        while gap.at < gap.end {
            let range = gap.range();
            let bytes = Bytes::copy_from_slice(&file[range.start as usize..range.end as usize]);
            gap.walk(&bytes, &mut found);
            rounds += 1;
            assert!(rounds < 100, "no end");
        }
        let shown = found
            .into_iter()
            .map(|each| (each.offset, each.stored_bytes, format!("{} {}", each.class, each.name)));
        (shown.collect(), rounds)
    }

    #[test]
    fn records_free_space_and_what_is_none() {
        let mut file = vec![0; 200];
        file.splice(100..100, key(100, 60, "a"));
        file.truncate(160);
        file.extend((-40i32).to_be_bytes());
        file.resize(200, 7);
        file.extend(key(200, 50, "b"));
        file.resize(300, 0);
        let expected =
            [(100, 60, "C a".into()), (160, 40, "free ".into()), (200, 50, "C b".into())];
        assert_eq!(walked(&file, 100, 512), (expected.to_vec(), 1));
        let (found, rounds) = walked(&file, 100, 20);
        assert_eq!(found, expected);
        assert!(rounds > 2, "{rounds}");
    }

    #[test]
    fn a_key_whose_record_has_other_names_ends_before_it() {
        let mut file = key(0, 5000, "b");
        file.resize(34, 0);
        assert_eq!(walked(&file, 0, 512).0, [(0, 34, "C b".into())]);
    }

    #[test]
    fn a_key_that_belongs_elsewhere_is_none() {
        let mut file = key(77, 50, "b");
        file.resize(200, 1);
        assert_eq!(walked(&file, 0, 512).0, []);
        for len in 0..file.len() {
            walked(&file[..len], 0, 16);
        }
    }
}
