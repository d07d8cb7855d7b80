//! Answers to a read or vector read, checked against the request.

use std::collections::BTreeSet;
use std::ops::Range;

use bytes::Bytes;

use super::checked::PgreadAnswer;
use super::event::{Event, FileId, RequestId};
use crate::error::ProtocolError;
use crate::header::Handle;
use crate::message::readv::Segment;

/// One range of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRange {
    pub file: FileId,
    pub range: Range<u64>,
}

/// A range as it was sent: with the handle that stood for the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentRange {
    pub file: FileId,
    pub segment: Segment,
}

/// How bytes are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadKind {
    Plain,
    Vector,
    /// With checksums; `again` where they have come damaged before.
    Checked {
        again: bool,
    },
}

/// Bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrived {
    Bytes { file: FileId, offset: u64, bytes: Bytes },
    Damaged { file: FileId, range: Range<u64> },
}

impl Arrived {
    /// The event by which a request's caller receives it.
    pub fn into_event(self, request: RequestId) -> Event {
        match self {
            Arrived::Bytes { file, offset, bytes } => Event::Data { request, file, offset, bytes },
            Arrived::Damaged { file, range } => Event::Damaged { request, file, range },
        }
    }
}

/// How a request ended whose handles are still a guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// To be asked again, with the handles that turn out to be right.
    Again,
}

/// The answer to one read or vector read as it arrives.
#[derive(Debug)]
pub struct Receiving {
    shape: Shape,
    /// Files whose handle was guessed and is not yet confirmed.
    pub unconfirmed: BTreeSet<FileId>,
    /// Whether any handle was guessed.
    pub speculative: bool,
    /// Whether any byte has been passed on.
    pub delivered: bool,
    /// Bytes received while handles were unconfirmed. Never more than were requested.
    pub held: Vec<Arrived>,
    pub outcome: Option<Outcome>,
}

#[derive(Debug)]
enum Shape {
    Plain { asked: SentRange, received: u32 },
    Vector(Records),
    Checked(PgreadAnswer),
}

impl Receiving {
    pub fn plain(asked: SentRange, unconfirmed: BTreeSet<FileId>) -> Self {
        Self::new(Shape::Plain { asked, received: 0 }, unconfirmed)
    }

    pub fn vector(asked: Vec<SentRange>, unconfirmed: BTreeSet<FileId>) -> Self {
        Self::new(Shape::Vector(Records::new(asked)), unconfirmed)
    }

    pub fn checked(asked: SentRange, unconfirmed: BTreeSet<FileId>) -> Self {
        Self::new(Shape::Checked(PgreadAnswer::new(asked)), unconfirmed)
    }

    fn new(shape: Shape, unconfirmed: BTreeSet<FileId>) -> Self {
        let speculative = !unconfirmed.is_empty();
        let held = Vec::new();
        Receiving { shape, unconfirmed, speculative, delivered: false, held, outcome: None }
    }

    /// The parts of an answer that comes in parts.
    pub fn parts(&mut self) -> Option<&mut PgreadAnswer> {
        match &mut self.shape {
            Shape::Checked(parts) => Some(parts),
            Shape::Plain { .. } | Shape::Vector(_) => None,
        }
    }

    /// Takes the next bytes of the answer off the front of `bytes`; none when they are used up.
    pub fn next(&mut self, bytes: &mut Bytes) -> Result<Option<Arrived>, ProtocolError> {
        match &mut self.shape {
            Shape::Plain { asked, received } => {
                if bytes.is_empty() {
                    return Ok(None);
                }
                let Segment { length, offset, .. } = asked.segment;
                let bytes = bytes.split_to(bytes.len());
                if bytes.len() as u64 > u64::from(length - *received) {
                    return Err(ProtocolError::LongRead { asked: length.into() });
                }
                let offset = offset + u64::from(*received);
                *received += bytes.len() as u32;
                Ok(Some(Arrived::Bytes { file: asked.file, offset, bytes }))
            }
            Shape::Vector(records) => records.next(bytes),
            Shape::Checked(parts) => parts.next(bytes),
        }
    }

    /// Checks that an answer that has ended is complete.
    pub fn finish(&self) -> Result<(), ProtocolError> {
        match &self.shape {
            // Fewer bytes mean the end of the file.
            Shape::Plain { .. } => Ok(()),
            Shape::Vector(records) => records.finish(),
            Shape::Checked(parts) => parts.finish(),
        }
    }
}

/// Reads the records of a vector read wherever the pieces are cut.
#[derive(Debug)]
struct Records {
    asked: Vec<SentRange>,
    answered: Vec<bool>,
    /// All before this one are answered.
    first_open: usize,
    head: [u8; Segment::BYTES],
    filled: usize,
    /// File, offset and length of the rest of the present record.
    current: Option<(FileId, u64, u32)>,
}

impl Records {
    fn new(asked: Vec<SentRange>) -> Self {
        Records {
            answered: vec![false; asked.len()],
            asked,
            first_open: 0,
            head: [0; Segment::BYTES],
            filled: 0,
            current: None,
        }
    }

    fn next(&mut self, bytes: &mut Bytes) -> Result<Option<Arrived>, ProtocolError> {
        loop {
            if let Some((file, offset, left)) = self.current {
                if left == 0 {
                    self.current = None;
                    continue;
                }
                if bytes.is_empty() {
                    return Ok(None);
                }
                let part = bytes.split_to(bytes.len().min(left as usize));
                let taken = part.len() as u32;
                self.current = Some((file, offset + u64::from(taken), left - taken));
                return Ok(Some(Arrived::Bytes { file, offset, bytes: part }));
            }
            if bytes.is_empty() {
                return Ok(None);
            }
            let part = bytes.split_to(bytes.len().min(Segment::BYTES - self.filled));
            self.head[self.filled..self.filled + part.len()].copy_from_slice(&part);
            self.filled += part.len();
            if self.filled == Segment::BYTES {
                self.filled = 0;
                let head = Segment::decode(&self.head)?;
                let asked = self.claim(head)?;
                self.current = Some((asked.file, head.offset, head.length));
            }
        }
    }

    /// The unanswered segment that a record answers. Servers answer in order, so this is almost
    /// always the first one open.
    fn claim(&mut self, head: Segment) -> Result<SentRange, ProtocolError> {
        let open = self.first_open..self.asked.len();
        let index = open
            .into_iter()
            .find(|&index| !self.answered[index] && self.asked[index].segment == head)
            .ok_or(ProtocolError::StrangeRecord { offset: head.offset })?;
        self.answered[index] = true;
        while self.answered.get(self.first_open) == Some(&true) {
            self.first_open += 1;
        }
        Ok(self.asked[index])
    }

    fn finish(&self) -> Result<(), ProtocolError> {
        let cut = usize::from(self.filled > 0 || self.current.is_some_and(|(.., left)| left > 0));
        match self.answered.iter().filter(|&&answered| !answered).count() + cut {
            0 => Ok(()),
            missing => Err(ProtocolError::MissingRecords { missing }),
        }
    }
}

/// The segment that asks for a range; the range must fit (see [`crate::error::READ_BYTES_MAX`]).
pub fn segment(handle: Handle, range: &Range<u64>) -> Segment {
    let length = range.end.saturating_sub(range.start);
    Segment { handle, length: length as u32, offset: range.start }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(1);

    fn asked(handle: u8, range: Range<u64>) -> SentRange {
        SentRange { file: FileId(handle.into()), segment: segment(Handle([handle; 4]), &range) }
    }

    fn record(handle: u8, offset: u64, bytes: &[u8]) -> Vec<u8> {
        let length = bytes.len() as u32;
        let head = Segment { handle: Handle([handle; 4]), length, offset };
        [&head.encode()[..], bytes].concat()
    }

    fn all(receiving: &mut Receiving, mut bytes: Bytes) -> Result<Vec<Arrived>, ProtocolError> {
        let mut out = Vec::new();
        while let Some(arrived) = receiving.next(&mut bytes)? {
            out.push(arrived);
        }
        Ok(out)
    }

    #[test]
    fn records_of_several_files_are_read_wherever_they_are_cut() {
        let plan = vec![asked(1, 10..14), asked(2, 0..2), asked(1, 20..21)];
        let answer = [record(1, 10, b"abcd"), record(2, 0, b"ef"), record(1, 20, b"g")].concat();
        for size in 1..=answer.len() {
            let mut receiving = Receiving::vector(plan.clone(), BTreeSet::new());
            let mut got = std::collections::BTreeMap::new();
            for chunk in answer.chunks(size) {
                for part in all(&mut receiving, Bytes::copy_from_slice(chunk)).unwrap() {
                    let Arrived::Bytes { file, offset, bytes } = part else { panic!("{part:?}") };
                    for (at, byte) in bytes.iter().enumerate() {
                        let before = got.insert((file, offset + at as u64), *byte);
                        assert_eq!(before, None);
                    }
                }
            }
            receiving.finish().unwrap();
            let text: Vec<u8> = got.into_values().collect();
            assert_eq!(text, b"abcdgef", "in chunks of {size}");
        }
    }

    #[test]
    fn records_may_come_in_another_order() {
        let plan = vec![asked(1, 0..1), asked(1, 5..6), asked(1, 5..6)];
        let mut receiving = Receiving::vector(plan, BTreeSet::new());
        let answer = [record(1, 5, b"x"), record(1, 0, b"y"), record(1, 5, b"z")].concat();
        assert_eq!(all(&mut receiving, Bytes::from(answer)).unwrap().len(), 3);
        receiving.finish().unwrap();
    }

    #[test]
    fn a_record_that_was_not_asked_for_is_refused() {
        for strange in [record(2, 0, b"ab"), record(1, 1, b"ab"), record(1, 0, b"a")] {
            let mut receiving = Receiving::vector(vec![asked(1, 0..2)], BTreeSet::new());
            let error = all(&mut receiving, Bytes::from(strange)).unwrap_err();
            assert!(matches!(error, ProtocolError::StrangeRecord { .. }));
        }
        let mut receiving = Receiving::vector(vec![asked(1, 0..2)], BTreeSet::new());
        let twice = [record(1, 0, b"ab"), record(1, 0, b"ab")].concat();
        assert!(all(&mut receiving, Bytes::from(twice)).is_err());
    }

    #[test]
    fn an_answer_that_ends_early_is_incomplete() {
        let plan = vec![asked(1, 0..2), asked(1, 2..4)];
        let answer = Bytes::from([record(1, 0, b"ab"), record(1, 2, b"cd")].concat());
        for end in 0..answer.len() {
            let mut receiving = Receiving::vector(plan.clone(), BTreeSet::new());
            all(&mut receiving, answer.slice(..end)).unwrap();
            assert!(receiving.finish().is_err(), "{end}");
        }
    }

    #[test]
    fn a_plain_read_takes_what_was_asked_and_no_more() {
        let mut receiving = Receiving::plain(asked(1, 100..104), BTreeSet::new());
        let first = all(&mut receiving, Bytes::from_static(b"abc")).unwrap();
        let piece =
            |offset, bytes| Arrived::Bytes { file: FILE, offset, bytes: Bytes::from_static(bytes) };
        assert_eq!(first, [piece(100, b"abc")]);
        let second = all(&mut receiving, Bytes::from_static(b"d")).unwrap();
        assert_eq!(second, [piece(103, b"d")]);
        let error = all(&mut receiving, Bytes::from_static(b"e")).unwrap_err();
        assert_eq!(error, ProtocolError::LongRead { asked: 4 });
    }
}
