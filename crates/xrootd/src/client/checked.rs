//! Answers to a checksummed read: parts of pages, checked against the request.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::Bytes;

use super::fetch::{Arrived, SentRange};
use crate::error::ProtocolError;
use crate::message::pgread::PartHead;
use crate::pages::{Checked, PageReader, data_bytes};

/// The parts of one answer, wherever they are cut. Servers that read ahead by themselves may send
/// them in any order.
#[derive(Debug)]
pub struct PgreadAnswer {
    asked: SentRange,
    /// Ranges of the file in the parts so far: sorted, apart from each other.
    covered: Vec<Range<u64>>,
    /// The part whose pages are coming.
    current: Option<PageReader>,
    /// The last part has begun.
    last: bool,
    ready: VecDeque<Checked>,
}

impl PgreadAnswer {
    pub fn new(asked: SentRange) -> Self {
        PgreadAnswer {
            asked,
            covered: Vec::new(),
            current: None,
            last: false,
            ready: VecDeque::new(),
        }
    }

    /// The head of a part has come: its bytes must have been asked for, and not have come before.
    pub fn begin(&mut self, head: &PartHead) -> Result<(), ProtocolError> {
        let strange = ProtocolError::StrangePart { offset: head.offset };
        let asked = self.asked.segment;
        let asked = asked.offset..asked.offset + u64::from(asked.length);
        let bytes = data_bytes(head.offset, head.length).ok_or(strange.clone())?;
        let range = head.offset..head.offset.saturating_add(bytes.into());
        self.last |= head.last;
        if range.is_empty() {
            // The end of the file, wherever the server thinks that it is.
            self.current = None;
            return Ok(());
        }
        let at = self.covered.partition_point(|before| before.end <= range.start);
        let overlaps = self.covered.get(at).is_some_and(|after| after.start < range.end);
        if overlaps || range.start < asked.start || range.end > asked.end {
            return Err(strange);
        }
        self.current = Some(PageReader::new(range.start, head.length));
        // Servers send the parts in order, so there is nearly always one run.
        match at.checked_sub(1).and_then(|before| self.covered.get_mut(before)) {
            Some(before) if before.end == range.start => before.end = range.end,
            _ => self.covered.insert(at, range),
        }
        Ok(())
    }

    pub fn next(&mut self, bytes: &mut Bytes) -> Result<Option<Arrived>, ProtocolError> {
        if self.ready.is_empty() && !bytes.is_empty() {
            let current = self.current.as_mut().ok_or(ProtocolError::Unchecked)?;
            let mut checked = Vec::new();
            current.read(bytes, &mut checked);
            self.ready.extend(checked);
        }
        let file = self.asked.file;
        Ok(self.ready.pop_front().map(|checked| match checked {
            Checked::Right { offset, bytes } => {
                Arrived::Bytes { file, offset, bytes: bytes.freeze() }
            }
            Checked::Damaged(range) => Arrived::Damaged { file, range },
        }))
    }

    /// Checks that an answer that has ended had checksums. Fewer bytes than asked for mean the end
    /// of the file.
    pub fn finish(&self) -> Result<(), ProtocolError> {
        if self.last { Ok(()) } else { Err(ProtocolError::Unchecked) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::FileId;
    use crate::client::fetch::segment;
    use crate::header::{Handle, StreamId};
    use crate::pages;

    fn parts(range: Range<u64>) -> PgreadAnswer {
        let segment = segment(Handle::default(), &range);
        PgreadAnswer::new(SentRange { file: FileId(1), segment })
    }

    fn part(offset: u64, bytes: &[u8], last: bool) -> (PartHead, Bytes) {
        let wire = Bytes::from(pages::encode(offset, bytes));
        let length = wire.len() as u32;
        (PartHead { stream: StreamId(1), last, offset, length }, wire)
    }

    fn take(
        parts: &mut PgreadAnswer,
        (head, mut wire): (PartHead, Bytes),
    ) -> Result<u64, ProtocolError> {
        parts.begin(&head)?;
        let mut got = 0;
        while let Some(arrived) = parts.next(&mut wire)? {
            if let Arrived::Bytes { bytes, .. } = arrived {
                got += bytes.len() as u64;
            }
        }
        assert!(wire.is_empty());
        Ok(got)
    }

    #[test]
    fn parts_may_come_in_any_order_but_no_byte_twice() {
        let mut answer = parts(10..9000);
        assert_eq!(take(&mut answer, part(8192, &[1; 808], false)), Ok(808));
        assert_eq!(take(&mut answer, part(10, &[2; 100], false)), Ok(100));
        assert_eq!(take(&mut answer, part(110, &[2; 82], false)), Ok(82));
        assert_eq!(answer.covered, [10..192, 8192..9000]);
        assert!(answer.finish().is_err(), "the last part has not come");
        for range in [100..101, 0..11, 191..193, 8000..8193, 8999..9001, 9000..9001, 10..9000] {
            let bytes = vec![0; (range.end - range.start) as usize];
            let strange = take(&mut answer, part(range.start, &bytes, false));
            let offset = range.start;
            assert_eq!(strange, Err(ProtocolError::StrangePart { offset }), "{range:?}");
        }
        assert_eq!(take(&mut answer, part(192, &[3; 8000], true)), Ok(8000));
        assert_eq!(answer.finish(), Ok(()));
    }

    #[test]
    fn an_answer_without_checksums_is_no_answer() {
        let mut answer = parts(0..10);
        let bare = answer.next(&mut Bytes::from_static(b"0123456789"));
        assert_eq!(bare, Err(ProtocolError::Unchecked));
        assert_eq!(answer.finish(), Err(ProtocolError::Unchecked));
        let mut answer = parts(0..10);
        assert_eq!(take(&mut answer, part(0, b"", true)), Ok(0), "beyond the end of the file");
        assert_eq!(answer.finish(), Ok(()));
    }

    #[test]
    fn a_part_that_ends_within_a_checksum_is_refused() {
        let head = PartHead { stream: StreamId(1), last: true, offset: 0, length: 3 };
        assert_eq!(parts(0..10).begin(&head), Err(ProtocolError::StrangePart { offset: 0 }));
    }
}
