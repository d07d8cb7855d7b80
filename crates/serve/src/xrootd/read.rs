//! Reads, vector reads and listings, done a part at a time so that none holds up the others or much
//! memory.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use bytes::Bytes;
use xrootd::header::Handle;
use xrootd::message::dirlist::{Entry as ListedEntry, encode_part};
use xrootd::message::readv;
use xrootd::message::stat::{StatFlags, StatInfo};
use xrootd::pages::{self, PAGE_BYTES};
use xrootd::server::Tag;

use super::asking::Asking;
use super::incoming::Incoming;
use crate::clients::Client;
use crate::files::{Files, Name, Opened};
use crate::folder::{Entry, FolderFile, FolderFiles, Fragment, Listing, Stat};
use crate::memory::Reservation;

/// Bytes read in one step where there is room for them.
pub const STEP_BYTES: usize = 512 << 10;
/// Elements of a vector read, as many as the servers of this field allow.
pub const SEGMENTS_MAX: usize = 1024;
/// Bytes of one element, likewise.
pub const SEGMENT_BYTES_MAX: u32 = 2_097_136;
/// Bytes of a line of a listing beside the name: four numbers and their separators.
const LINE_BYTES: usize = 80;

/// The ranges that are still to be read for a request.
#[derive(Debug)]
pub struct Job {
    tag: Tag,
    unread: Unread,
}

#[derive(Debug)]
enum Unread {
    Range {
        file: FolderFile,
        offset: u64,
        left: usize,
    },
    /// With a checksum of every page.
    Pages {
        file: FolderFile,
        offset: u64,
        left: usize,
    },
    Segments(Segments),
    /// Of files far away.
    Incoming(Box<Incoming>),
    Names {
        path: String,
        asking: Asking,
        with_stat: bool,
        /// `None` before the first part.
        listing: Option<Listing>,
    },
}

/// The rest of a vector read.
#[derive(Debug)]
pub struct Segments {
    segments: VecDeque<readv::Segment>,
    files: BTreeMap<Handle, FolderFile>,
    /// Bytes of the first segment's record that have been read: it is sent in pieces.
    begun: usize,
    /// A longer record is sent in pieces.
    record_bytes_max: usize,
}

/// A part of an answer, and the rest of the work.
#[derive(Debug)]
pub struct Step {
    pub tag: Tag,
    pub part: io::Result<Answered>,
    /// `None` with the last part.
    pub rest: Option<Job>,
    /// The frame has begun: where this part fails the connection ends.
    pub is_within_frame: bool,
}

#[derive(Debug)]
pub enum Answered {
    /// The whole of a frame.
    Frame(Bytes),
    Pages {
        offset: u64,
        pages: Bytes,
    },
    /// Segments of a vector read, whole.
    Records(Vec<(Handle, u64, Bytes)>),
    /// The beginning of a frame of so many bytes.
    Begin {
        length: u32,
        bytes: Bytes,
        more: bool,
    },
    /// More bytes of that frame.
    Continue(Bytes),
}

impl Segments {
    /// Segments with the files of all of their handles. A record of more bytes than
    /// `record_bytes_max` is sent in pieces.
    pub fn new(
        segments: Vec<readv::Segment>,
        files: BTreeMap<Handle, FolderFile>,
        record_bytes_max: usize,
    ) -> Self {
        Segments { segments: segments.into(), files, begun: 0, record_bytes_max }
    }

    fn is_long(&self) -> bool {
        self.segments.front().is_some_and(|first| record_bytes(first) > self.record_bytes_max)
    }

    /// Bytes of all records that are left.
    fn bytes(&self) -> usize {
        self.segments.iter().map(record_bytes).sum::<usize>() - self.begun
    }

    fn file(&self, segment: &readv::Segment) -> io::Result<FolderFile> {
        self.files.get(&segment.handle).cloned().ok_or(io::ErrorKind::NotFound.into())
    }

    /// The next records, whole, as many as there is room for.
    fn take(&mut self, room: usize) -> io::Result<Vec<Fragment>> {
        let mut parts = Vec::new();
        let mut taken = 0;
        while let Some(segment) = self.segments.front().copied() {
            taken += record_bytes(&segment);
            if taken > room {
                break;
            }
            let file = self.file(&segment)?;
            parts.push(Fragment::Text(segment.encode().to_vec()));
            let offset = segment.offset;
            let count = segment.length as usize;
            parts.push(Fragment::Bytes { file, offset, count });
            self.segments.pop_front();
        }
        Ok(parts)
    }

    /// The next piece of the first record.
    async fn piece(&mut self, files: &FolderFiles, client: &Client) -> io::Result<Answered> {
        let Some(segment) = self.segments.front().copied() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let file = self.file(&segment)?;
        let length = record_bytes(&segment);
        let begins = self.begun == 0;
        if begins && files.size(client, &file).await? < segment.offset + u64::from(segment.length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let reserved = client.reserve((length - self.begun).min(STEP_BYTES)).await;
        let stop = self.begun + reserved.bytes();
        let head = if begins { segment.encode().to_vec() } else { Vec::new() };
        let start = self.begun.max(readv::Segment::BYTES);
        let offset = segment.offset + (start - readv::Segment::BYTES) as u64;
        let parts =
            vec![Fragment::Text(head), Fragment::Bytes { file, offset, count: stop - start }];
        let bytes = reserved.hold(files.gather(client, parts).await?);
        let more = self.segments.len() > 1;
        self.begun = stop;
        if stop == length {
            self.begun = 0;
            self.segments.pop_front();
        }
        Ok(match begins {
            true => Answered::Begin { length: length as u32, bytes, more },
            false => Answered::Continue(bytes),
        })
    }
}

/// Bytes of a segment's record on the wire.
fn record_bytes(segment: &readv::Segment) -> usize {
    readv::Segment::BYTES + segment.length as usize
}

impl Job {
    pub fn range(tag: Tag, client: &Client, file: Opened, offset: u64, length: usize) -> Self {
        let unread = match file {
            Opened::Folder(file) => Unread::Range { file, offset, left: length },
            Opened::Far(file) => Unread::incoming(Incoming::range(client, &file, offset, length)),
        };
        Job { tag, unread }
    }

    pub fn pages(tag: Tag, client: &Client, file: Opened, offset: u64, length: usize) -> Self {
        let unread = match file {
            Opened::Folder(file) => Unread::Pages { file, offset, left: length },
            Opened::Far(file) => Unread::incoming(Incoming::pages(client, &file, offset, length)),
        };
        Job { tag, unread }
    }

    /// Segments of files with these handles.
    ///
    /// # Errors
    /// `UnexpectedEof` where one lies beyond the end of a far file.
    pub fn segments(
        tag: Tag,
        client: &Client,
        segments: Vec<readv::Segment>,
        files: BTreeMap<Handle, Opened>,
    ) -> io::Result<Self> {
        let mut near = BTreeMap::new();
        let mut far = BTreeMap::new();
        for (handle, file) in files {
            match file {
                Opened::Folder(file) => drop(near.insert(handle, file)),
                Opened::Far(file) => drop(far.insert(handle, file)),
            }
        }
        let is_beyond = |one: &readv::Segment| {
            let size = far.get(&one.handle).map_or(u64::MAX, |file| file.stat().size);
            one.offset.checked_add(one.length.into()).is_none_or(|end| end > size)
        };
        if segments.iter().any(is_beyond) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let record_bytes_max = client.limits().answer_bytes;
        let unread = match far.is_empty() {
            true => Unread::Segments(Segments::new(segments, near, record_bytes_max)),
            false => Unread::incoming(Incoming::segments(client, segments, &far)),
        };
        Ok(Job { tag, unread })
    }

    pub fn names(tag: Tag, path: String, with_stat: bool, asking: Asking) -> Self {
        Job { tag, unread: Unread::Names { path, asking, with_stat, listing: None } }
    }

    /// Whether the next step is a piece of a frame, beside which no other may be read.
    pub fn is_alone(&self) -> bool {
        matches!(&self.unread, Unread::Segments(segments) if segments.is_long())
    }

    /// Whether a frame has begun and is not complete.
    pub fn is_within_frame(&self) -> bool {
        matches!(&self.unread, Unread::Segments(segments) if segments.begun > 0)
    }

    /// Bytes of the next part, at most.
    pub fn bytes_max(&self) -> usize {
        let bytes = match &self.unread {
            Unread::Range { left, .. } | Unread::Pages { left, .. } => *left,
            Unread::Segments(segments) => segments.bytes(),
            Unread::Names { .. } => STEP_BYTES,
            // Counted where they are requested.
            Unread::Incoming(_) => 0,
        };
        bytes.min(STEP_BYTES)
    }

    /// Reads the next part, when there is room for it.
    pub async fn step(mut self, files: &Files, client: &Client) -> Step {
        let tag = self.tag;
        let is_within_frame = self.is_within_frame();
        let wanted = self.bytes_max();
        let (part, done) = match (&mut self.unread, files.folder()) {
            (Unread::Incoming(incoming), _) => incoming.step().await,
            (Unread::Names { path, asking, with_stat, listing }, _) => {
                let part = names(path, asking, *with_stat, listing, files).await;
                (part, listing.is_none())
            }
            (_, Err(error)) => (Err(error), true),
            (unread, Ok(folder)) => unread.step(wanted, folder, client).await,
        };
        Step { tag, part, rest: (!done).then_some(self), is_within_frame }
    }
}

impl Unread {
    fn incoming(incoming: Incoming) -> Self {
        Unread::Incoming(Box::new(incoming))
    }

    /// Reads the next part from a disk; with it, whether it is the last.
    async fn step(
        &mut self,
        wanted: usize,
        files: &FolderFiles,
        client: &Client,
    ) -> (io::Result<Answered>, bool) {
        match self {
            Unread::Range { file, offset, left } => {
                let reserved = client.reserve(wanted).await;
                let count = reserved.bytes();
                let read = files.read(client, file, *offset, count).await;
                let done = advance(&read, offset, left, count);
                (read.map(|bytes| Answered::Frame(reserved.hold(bytes))), done)
            }
            Unread::Pages { file, offset, left } => {
                let reserved = client.reserve(wanted).await;
                let at = *offset;
                let count = whole_pages(at, reserved.bytes(), *left);
                let read = files.read(client, file, at, count).await;
                let done = advance(&read, offset, left, count);
                let paged = |bytes: Vec<u8>| reserved.hold(pages::encode(at, &bytes));
                (read.map(|bytes| Answered::Pages { offset: at, pages: paged(bytes) }), done)
            }
            Unread::Segments(segments) if segments.is_long() => {
                let part = segments.piece(files, client).await;
                let done = segments.segments.is_empty() || part.is_err();
                (part, done)
            }
            Unread::Segments(segments) => {
                let reserved = client.reserve(wanted).await;
                let part = gather(segments, reserved, files, client).await;
                let done = segments.segments.is_empty() || part.is_err();
                (part, done)
            }
            // These are read otherwise.
            Unread::Names { .. } => (Err(io::ErrorKind::Unsupported.into()), true),
            Unread::Incoming(incoming) => incoming.step().await,
        }
    }
}

/// Counts the bytes read of a range; returns whether they were its last.
fn advance(read: &io::Result<Vec<u8>>, offset: &mut u64, left: &mut usize, count: usize) -> bool {
    *offset = offset.saturating_add(count as u64);
    *left -= count;
    // Fewer bytes than wanted: the end of the file.
    *left == 0 || !read.as_ref().is_ok_and(|bytes| bytes.len() == count)
}

/// Bytes of a part with room for so many: parts end where pages do, but the last.
fn whole_pages(offset: u64, room: usize, left: usize) -> usize {
    if room >= left {
        return left;
    }
    room - (offset.wrapping_add(room as u64) % PAGE_BYTES) as usize
}

async fn gather(
    segments: &mut Segments,
    reserved: Reservation,
    files: &FolderFiles,
    client: &Client,
) -> io::Result<Answered> {
    let parts = segments.take(reserved.bytes())?;
    Ok(Answered::Frame(reserved.hold(files.gather(client, parts).await?)))
}

/// The next names of a folder; leaves no listing behind the last, or an error.
async fn names(
    path: &str,
    asking: &Asking,
    with_stat: bool,
    listing: &mut Option<Listing>,
    files: &Files,
) -> io::Result<Answered> {
    let guest = asking.guest(path).await;
    let (listed, is_first) = match listing.take() {
        Some(listed) => (listed, false),
        None => (files.list(&guest, Name::of_xrootd(path)).await?, true),
    };
    let reserved = guest.client.reserve(STEP_BYTES).await;
    let text_bytes = |name: usize| LINE_BYTES + name;
    let folder = files.folder()?;
    let (entries, left) = folder.names(&guest, listed, reserved.bytes(), text_bytes).await?;
    let entries = entries.into_iter();
    let entries: Vec<_> = entries.filter_map(|entry| line_of(entry, with_stat)).collect();
    *listing = left;
    let text = encode_part(&entries, with_stat, is_first, listing.is_some());
    Ok(Answered::Frame(reserved.hold(text)))
}

/// `None` for a name that a listing's lines cannot hold: one with a line's end, or one that is no
/// text.
fn line_of(Entry { name, stat }: Entry, with_stat: bool) -> Option<ListedEntry> {
    let name = String::from_utf8(name).ok().filter(|name| !name.contains('\n'))?;
    Some(ListedEntry { name, stat: with_stat.then(|| stat_info(&stat)) })
}

pub fn stat_info(stat: &Stat) -> StatInfo {
    let kind = match stat.is_folder {
        true => StatFlags::DIRECTORY | StatFlags::EXECUTABLE,
        false => StatFlags(0),
    };
    StatInfo {
        id: stat.inode.to_string(),
        size: stat.size,
        flags: StatFlags::READABLE | kind,
        mtime: i64::try_from(stat.modified.as_secs()).unwrap_or(i64::MAX),
        more: None,
    }
}
