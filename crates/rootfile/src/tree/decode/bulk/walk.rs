//! The first pass: where everything is. `None` stands for whatever is not as planned.
//!
//! It reads the same bytes as `value.rs` and `object.rs`.

use std::ops::Range;

use super::fill::Found;
use super::plan::{Items, Members, Step, Written};
use crate::tree::interpret::layout::{Frame, Version};
use crate::types::framing::{BYTE_COUNT, IS_REFERENCED, MEMBERWISE, SAYS_ITEM_VERSION};

/// The bytes of one entry, and the spans found in them.
pub struct Walk<'a> {
    data: &'a [u8],
    at: usize,
    found: &'a mut Found,
}

/// The header in front of an object or a collection.
#[derive(Clone, Copy)]
struct StreamedHeader {
    version: u16,
    /// The end of the object or collection; `None` without a byte count.
    end: Option<usize>,
}

impl Members {
    /// Whether this is how objects of a version are written.
    pub fn are_of(&self, version: &Version) -> bool {
        self.record.versions.first().is_some_and(|first| std::ptr::eq(first, version))
    }

    fn are_of_number(&self, number: u16, checksum: u32) -> bool {
        let version = self.record.version(i32::from(number), checksum);
        version.is_some_and(|version| self.are_of(version))
    }
}

impl<'a> Walk<'a> {
    pub fn new(data: &'a [u8], entry: Range<usize>, found: &'a mut Found) -> Self {
        Walk { data: &data[..entry.end], at: entry.start, found }
    }

    pub fn is_at_end(&self) -> bool {
        self.at == self.data.len()
    }

    /// One value, or a member of one object.
    #[inline]
    pub fn single(&mut self, step: &Step) -> Option<()> {
        match step {
            Step::Block { slot, size } => self.numbers(*slot, *size, 1),
            Step::TObject { slot } => self.tobject(*slot),
            Step::Text { slot, text: Written::Standard { framed: true } } => {
                let header = self.header()?;
                self.text(*slot, Written::Standard { framed: false })?;
                self.close(header)
            }
            Step::Text { slot, text } => self.text(*slot, *text),
            Step::List { slot, frame: Frame::Own, items } => {
                let header = self.header()?;
                let by_members = self.are_by_members(items, header)?;
                self.list(*slot, items, by_members)?;
                self.close(header)
            }
            Step::List { slot, items, .. } => self.list(*slot, items, false),
            Step::Object { header, members } => self.object(*header, members),
            Step::Base { members, .. } => self.object(true, members),
        }
    }

    /// A member of several objects.
    fn of_all(&mut self, step: &Step, count: usize) -> Option<()> {
        match step {
            Step::Block { slot, size } => self.numbers(*slot, *size, count),
            Step::Text { slot, text: Written::Standard { .. } } => {
                let header = self.header()?;
                for _ in 0..count {
                    self.text(*slot, Written::Standard { framed: false })?;
                }
                self.close(header)
            }
            Step::List { slot, frame: Frame::Own | Frame::Run, items } => {
                let header = self.header()?;
                let by_members = self.are_by_members(items, header)?;
                for _ in 0..count {
                    self.list(*slot, items, by_members)?;
                }
                self.close(header)
            }
            Step::Base { as_one: true, members } => self.members_of_all(members, count),
            // Each says its version, which is the planned one.
            step => (0..count).try_for_each(|_| self.single(step)),
        }
    }

    fn members_of_all(&mut self, members: &Members, count: usize) -> Option<()> {
        // Of no objects not even the headers of their members are there.
        let steps = if count == 0 { &[] } else { &members.steps[..] };
        steps.iter().try_for_each(|step| self.of_all(step, count))
    }

    fn object(&mut self, header: bool, members: &Members) -> Option<()> {
        let header = if header { Some(self.header()?) } else { None };
        if let Some(StreamedHeader { version, end }) = header {
            let checksum = match version {
                0 if end.is_some_and(|end| self.at < end) => self.checksum(members)?,
                _ => 0,
            };
            if version & MEMBERWISE != 0 || !members.are_of_number(version, checksum) {
                return None;
            }
        }
        members.steps.iter().try_for_each(|step| self.single(step))?;
        header.map_or(Some(()), |header| self.close(header))
    }

    /// The checksum behind a version of 0, and 0 where none is there.
    fn checksum(&mut self, members: &Members) -> Option<u32> {
        let before = self.at;
        let next = self.u32()?;
        if members.record.has_checksum(next) {
            return Some(next);
        }
        self.at = before;
        Some(0)
    }

    /// Whether a collection is written member by member.
    fn are_by_members(&mut self, items: &Items, header: StreamedHeader) -> Option<bool> {
        if header.version & MEMBERWISE == 0 {
            return Some(false);
        }
        let Items::Objects { members, .. } = items else { return None };
        if header.version & !MEMBERWISE >= SAYS_ITEM_VERSION {
            let version = self.header()?.version;
            let checksum = if version == 0 { self.checksum(members)? } else { 0 };
            return members.are_of_number(version, checksum).then_some(true);
        }
        Some(true)
    }

    /// A count and that many items.
    #[inline]
    fn list(&mut self, slot: usize, items: &Items, by_members: bool) -> Option<()> {
        let count = self.u32()? as usize;
        if count > self.data.len() - self.at {
            return None;
        }
        self.find(slot, self.at, count)?;
        match items {
            Items::Fixed { size } => self.skip(size.checked_mul(count)?).map(drop),
            Items::Each(step) => (0..count).try_for_each(|_| self.single(step)),
            Items::Objects { members, .. } if by_members => self.members_of_all(members, count),
            Items::Objects { header, members } => {
                (0..count).try_for_each(|_| self.object(*header, members))
            }
        }
    }

    fn numbers(&mut self, slot: usize, size: usize, count: usize) -> Option<()> {
        let at = self.skip(size.checked_mul(count)?)?;
        self.find(slot, at, count)
    }

    fn tobject(&mut self, slot: usize) -> Option<()> {
        let version = self.u16()?;
        let at = self.skip(4)?;
        let bits = self.u32()?;
        // A byte count in front, or a process's number behind: seldom, and not planned.
        if version & MEMBERWISE != 0 || bits & IS_REFERENCED != 0 {
            return None;
        }
        self.find(slot, at, 1)
    }

    fn text(&mut self, slot: usize, text: Written) -> Option<()> {
        let len = match text {
            Written::Pointed => self.u32()? as usize,
            Written::Root | Written::Standard { .. } => match *self.data.get(self.skip(1)?)? {
                u8::MAX => self.u32()? as usize,
                short => usize::from(short),
            },
        };
        let at = self.skip(len)?;
        self.find(slot, at, len)
    }

    #[inline]
    fn find(&mut self, slot: usize, at: usize, count: usize) -> Option<()> {
        self.found.get_mut(slot)?.push((at as u32, count as u32));
        Some(())
    }

    #[inline]
    fn header(&mut self) -> Option<StreamedHeader> {
        let first = self.u16()?;
        if first & MEMBERWISE == 0 {
            // Only a version.
            return Some(StreamedHeader { version: first, end: None });
        }
        let low = self.u16()?;
        let len = (u32::from(first) << 16 | u32::from(low)) & !BYTE_COUNT;
        let end = self.at.checked_add(len as usize).filter(|end| *end <= self.data.len())?;
        Some(StreamedHeader { version: self.u16()?, end: Some(end) })
    }

    fn close(&self, header: StreamedHeader) -> Option<()> {
        header.end.is_none_or(|end| end == self.at).then_some(())
    }

    /// Where bytes begin that are gone over.
    #[inline]
    fn skip(&mut self, len: usize) -> Option<usize> {
        let at = self.at;
        self.at = at.checked_add(len).filter(|end| *end <= self.data.len())?;
        Some(at)
    }

    #[inline]
    fn u16(&mut self) -> Option<u16> {
        let bytes = self.data.get(self.at..)?.first_chunk()?;
        self.at += 2;
        Some(u16::from_be_bytes(*bytes))
    }

    #[inline]
    fn u32(&mut self) -> Option<u32> {
        let bytes = self.data.get(self.at..)?.first_chunk()?;
        self.at += 4;
        Some(u32::from_be_bytes(*bytes))
    }
}
