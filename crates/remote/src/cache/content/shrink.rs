//! Records that are not needed any more, and segments of few others.
//!
//! A record never changes, and a segment only grows. So a record is given up in memory and in the
//! index, and a segment of which more than half was given up is replaced: its other records are
//! written to the last segment, and it is removed. Processes that have it open read it on.

use std::io;
use std::ops::Range;

use bytes::Bytes;

use super::{HeldContent, Segments, disk_of, last_on};
use crate::cache::format::{HEADER_BYTES, Record};

impl HeldContent {
    /// Gives up bytes of the file: they are not cached any more.
    pub fn give_up(&self, range: &Range<u64>) {
        let mut segments = self.segments.lock();
        let touched = self.extents.lock().give_up(range);
        for number in touched {
            segments.has_given_up = true;
            segments.open.get_mut(&number).into_iter().for_each(|segment| segment.outdate_index());
        }
    }

    /// Replaces segments of which more than half was given up; returns how many bytes that frees.
    ///
    /// # Errors
    /// An error of reading or writing one, as of a full disk.
    pub fn shrink(&self, now: u64) -> io::Result<u64> {
        let mut segments = self.segments.lock();
        if self.is_over() || !std::mem::take(&mut segments.has_given_up) {
            return Ok(0);
        }
        let mut freed = 0;
        for number in segments.open.keys().copied().collect::<Vec<u32>>() {
            freed += self.replace(&mut segments, number, now)?;
        }
        Ok(freed)
    }

    fn replace(&self, segments: &mut Segments, number: u32, now: u64) -> io::Result<u64> {
        let Some(segment) = segments.open.get(&number) else { return Ok(0) };
        let records = self.extents.lock().of_segment(number);
        let needed: u64 = records.iter().map(Record::bytes).sum();
        let bytes = segment.known() - HEADER_BYTES;
        if bytes == 0 || needed > bytes / 2 {
            return Ok(0);
        }
        // Only the last segment takes records, of other processes too.
        self.find_segments(segments);
        let disk = disk_of(number);
        if last_on(segments, disk) == Some(number) {
            self.begin(segments, number + 1, now)?;
        }
        let Some(segment) = segments.open.get(&number) else { return Ok(0) };
        let mut kept: Vec<(Record, Bytes)> = Vec::with_capacity(records.len());
        for record in records {
            // A damaged one goes, too.
            kept.extend(segment.read(&record)?.map(|data| (record, data)));
        }
        if !segment.remove()? {
            return Ok(0);
        }
        self.extents.lock().forget_segment(number, 0);
        segments.open.remove(&number);
        self.readers.lock().remove(&number);
        let pieces: Vec<(u64, Bytes)> =
            kept.into_iter().map(|(record, data)| (record.offset, data)).collect();
        let grown = self.add_to(segments, &pieces, disk, now)?;
        Ok((bytes + HEADER_BYTES).saturating_sub(grown))
    }
}
