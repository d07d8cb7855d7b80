//! Stretches of a file that nothing uses any more (ROOT: `TFree`).

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use super::{FileWriter, Span, Write};
use crate::error::Result;
use crate::write::buffer::Buffer;
use crate::write::key::{BIG, GAP_MIN, KeyHead, write_offset};

/// Bytes of an entry of the list, with offsets of four and of eight bytes.
const ENTRY_LEN: u64 = 10;
const ENTRY_LEN_LONG: u64 = 18;
/// The free range behind the end reaches to the next multiple of this.
const STEP: u64 = 1_000_000_000;
/// The length that stands in a longer stretch, too.
const MARK_MAX: u64 = 2_000_000_000;

/// Free stretches in front of the end: the end of each by its start, and none next to another.
#[derive(Debug, Default)]
pub(super) struct Free(BTreeMap<u64, u64>);

impl Free {
    pub fn new(stretches: impl IntoIterator<Item = Range<u64>>) -> Self {
        let mut free = Free::default();
        free.add(stretches);
        free
    }

    /// Adds stretches, and joins each with those that it touches.
    pub fn add(&mut self, stretches: impl IntoIterator<Item = Range<u64>>) {
        for Range { mut start, mut end } in stretches.into_iter().filter(|all| !all.is_empty()) {
            while let Some((first, last)) = self.touching(start, end) {
                self.0.remove(&first);
                (start, end) = (start.min(first), end.max(last));
            }
            self.0.insert(start, end);
        }
    }

    /// The last stretch that touches this one, if there is any. None is next to another, so only
    /// the last that begins at its end or in front of that can.
    fn touching(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let last = self.0.range(..=end).next_back().map(|(first, last)| (*first, *last));
        last.filter(|(_, last)| *last >= start)
    }

    /// In order.
    fn stretches(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().map(|(start, end)| *start..*end)
    }

    /// The first bytes of each stretch from an offset on. A stretch of fewer bytes has none, which
    /// would be in the next record: uproot leaves some.
    fn marks(&self, from: u64) -> impl Iterator<Item = (u64, [u8; GAP_MIN as usize])> {
        let lens = self.stretches().map(|stretch| (stretch.start, stretch.end - stretch.start));
        let marked = lens.filter(move |(start, len)| *start >= from && *len >= GAP_MIN);
        marked.map(|(start, len)| (start, (-(len.min(MARK_MAX) as i32)).to_be_bytes()))
    }
}

impl FileWriter {
    /// The list of free ranges: those no longer used, and the one behind the end, which the list's
    /// own record moves.
    pub(super) fn place_free(&mut self) -> Result<Span> {
        let top = &self.directories[0];
        let head = KeyHead {
            class: "TFile".into(),
            name: top.name.clone(),
            title: top.title.clone(),
            datime: self.options.datime,
            cycle: 1,
            directory: top.offset,
            extra: 0,
        };
        let offset = self.end;
        let inner: u64 = self.free.stretches().map(|stretch| entry_len(stretch.end - 1)).sum();
        let end_if = |last: u64| offset + head.len(offset) as u64 + inner + last;
        let long = end_if(ENTRY_LEN) > BIG;
        let end = end_if(if long { ENTRY_LEN_LONG } else { ENTRY_LEN });
        let last = if long { (end / STEP + 1) * STEP } else { BIG };
        let mut list = Buffer::default();
        for stretch in self.free.stretches() {
            write_entry(&mut list, stretch.start, stretch.end - 1);
        }
        write_entry(&mut list, end, last);
        let len = list.len();
        self.place_record(super::DirectoryId::TOP, head, list.into_vec().into(), len, false)?;
        Ok(Span { offset, len: self.end - offset })
    }

    /// Entries of the list, that of the range behind the end included.
    pub(super) fn free_count(&self) -> u32 {
        self.free.0.len() as u32 + 1
    }

    /// Writes the length of each free stretch from an offset on into it, negative, for those who
    /// follow the records.
    pub(super) fn mark_free(&mut self, from: u64) {
        for (offset, mark) in self.free.marks(from) {
            let bytes = Bytes::copy_from_slice(&mark);
            self.writes.push_back(Write { offset, bytes, is_replaced: false });
        }
    }
}

/// An entry is long where its last byte is far.
fn entry_len(last: u64) -> u64 {
    if last > BIG { ENTRY_LEN_LONG } else { ENTRY_LEN }
}

fn write_entry(to: &mut Buffer, first: u64, last: u64) {
    let long = last > BIG;
    to.u16(if long { 1001 } else { 1 });
    write_offset(to, long, first);
    write_offset(to, long, last);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(free: &Free) -> Vec<Range<u64>> {
        free.stretches().collect()
    }

    #[test]
    fn neighbours_become_one() {
        let mut free = Free::new([50..60, 10..20, 20..30, 5..5]);
        assert_eq!(all(&free), [10..30, 50..60]);
        free.add([30..50, 70..80]);
        assert_eq!(all(&free), [10..60, 70..80]);
    }

    proptest! {
        /// Stretches of a broken file may overlap.
        #[test]
        fn what_is_free_is_the_union(added in prop::collection::vec((0..200_u64, 0..20_u64), 0..40)) {
            let mut free = Free::default();
            let mut bytes = vec![false; 220];
            for (start, len) in added {
                free.add([start..start + len]);
                (start..start + len).for_each(|at| bytes[at as usize] = true);
                let own = all(&free);
                prop_assert!(own.iter().all(|stretch| !stretch.is_empty()));
                prop_assert!(own.windows(2).all(|pair| pair[0].end < pair[1].start));
                let covered = |at| own.iter().any(|stretch| stretch.contains(&at));
                prop_assert!((0..220).all(|at| covered(at) == bytes[at as usize]));
            }
        }
    }

    /// uproot's list of free ranges may have one of two bytes in front of the top directory's list
    /// of keys. Its length of four bytes destroyed that list.
    #[test]
    fn a_mark_stays_within_its_stretch() {
        let free = Free::new([10..12, 20..23, 30..34, 40..50, 60..1 << 40]);
        let marks: Vec<_> =
            free.marks(15).map(|(at, mark)| (at, i32::from_be_bytes(mark))).collect();
        assert_eq!(marks, [(30, -4), (40, -10), (60, -2_000_000_000)]);
    }
}
