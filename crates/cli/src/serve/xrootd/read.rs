//! Reads and vector reads, done a part at a time so that none holds up the others or much memory.

use std::collections::VecDeque;
use std::io;

use bytes::Bytes;
use xrootd::header::Handle;
use xrootd::pages::PAGE_BYTES;
use xrootd::server::Tag;

use crate::serve::files::Opened;

/// Bytes read in one step, except where a single segment is longer.
const STEP_BYTES: usize = 512 << 10;
/// Elements of a vector read: what the servers of this field allow.
pub const SEGMENTS_MAX: usize = 1024;
/// Bytes of one element, likewise.
pub const SEGMENT_BYTES_MAX: u32 = 2_097_136;

/// What is still to be read for a request.
#[derive(Debug)]
pub struct Job {
    tag: Tag,
    wanted: Wanted,
}

#[derive(Debug)]
enum Wanted {
    Range {
        file: Opened,
        offset: u64,
        left: usize,
    },
    /// With a checksum of every page.
    Pages {
        file: Opened,
        offset: u64,
        left: usize,
    },
    Segments(VecDeque<Segment>),
}

/// One element of a vector read.
#[derive(Debug)]
pub struct Segment {
    pub handle: Handle,
    pub file: Opened,
    pub offset: u64,
    pub length: usize,
}

/// A part of an answer, and what is left to do.
#[derive(Debug)]
pub struct Step {
    pub tag: Tag,
    pub part: io::Result<Part>,
    /// `None` with the last part.
    pub rest: Option<Job>,
}

#[derive(Debug)]
pub enum Part {
    Data(Bytes),
    Pages { offset: u64, bytes: Bytes },
    Records(Vec<(Handle, u64, Bytes)>),
}

impl Job {
    pub fn range(tag: Tag, file: Opened, offset: u64, length: usize) -> Self {
        Job { tag, wanted: Wanted::Range { file, offset, left: length } }
    }

    pub fn pages(tag: Tag, file: Opened, offset: u64, length: usize) -> Self {
        Job { tag, wanted: Wanted::Pages { file, offset, left: length } }
    }

    pub fn segments(tag: Tag, segments: VecDeque<Segment>) -> Self {
        Job { tag, wanted: Wanted::Segments(segments) }
    }

    /// Reads the next part. Blocks.
    pub fn step(mut self) -> Step {
        let tag = self.tag;
        let (part, done) = match &mut self.wanted {
            Wanted::Range { file, offset, left } => {
                let (read, done) = read_on(file, offset, left, STEP_BYTES);
                (read.map(Part::Data), done)
            }
            Wanted::Pages { file, offset, left } => {
                let at = *offset;
                // Parts end where pages do.
                let most = STEP_BYTES - (at % PAGE_BYTES) as usize;
                let (read, done) = read_on(file, offset, left, most);
                (read.map(|bytes| Part::Pages { offset: at, bytes }), done)
            }
            Wanted::Segments(segments) => {
                let read = read_some(segments);
                let done = segments.is_empty() || read.is_err();
                (read.map(Part::Records), done)
            }
        };
        Step { tag, part, rest: (!done).then_some(self) }
    }
}

/// Reads the next bytes of a range, and says whether they are its last.
fn read_on(
    file: &Opened,
    offset: &mut u64,
    left: &mut usize,
    most: usize,
) -> (io::Result<Bytes>, bool) {
    let count = most.min(*left);
    let read = file.read_at(*offset, count);
    *offset += count as u64;
    *left -= count;
    // Fewer bytes than wanted: the end of the file.
    let done = *left == 0 || !read.as_ref().is_ok_and(|bytes| bytes.len() == count);
    (read, done)
}

fn read_some(segments: &mut VecDeque<Segment>) -> io::Result<Vec<(Handle, u64, Bytes)>> {
    let (mut records, mut total) = (Vec::new(), 0);
    while let Some(next) = segments.front() {
        if !records.is_empty() && total + next.length > STEP_BYTES {
            break;
        }
        let bytes = next.file.read_at(next.offset, next.length)?;
        if bytes.len() != next.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        total += bytes.len();
        records.push((next.handle, next.offset, bytes));
        segments.pop_front();
    }
    Ok(records)
}
