//! Opening a file in few round trips.
//!
//! ```text
//! head                                                   tail
//! header, top directory   baskets …   tree   key list   streamer infos   free list
//! └──── first step ────┘                 └─────── second step ────────────┘
//! ```
//!
//! The first step tells where the key list and the streamer infos are; the second one fetches both.
//! ROOT writes a tree's own record last before them, when the file is closed, so the second step
//! wishes for what lies in front of the key list too: with it, a tree needs no third step.

use std::ops::Range;

use bytes::Bytes;

use super::{File, bytes_of, content, ready};
use crate::cursor::Cursor;
use crate::directory::{DIRECTORY_LEN, Directory, DirectoryRecord};
use crate::error::{Error, Result};
use crate::header::{HEADER_LEN, Header};
use crate::key::Key;
use crate::known::{Known, Needs, Progress};
use crate::object::read_object;
use crate::streamer::Streamers;

/// Bytes to ask for while nothing is known: the header and the top directory, usually within 300
/// bytes, and the records of directories that were made first, of about 100 bytes each. It is well
/// below what a new TCP connection carries in its first round trip.
pub const HEAD_LEN: u64 = 4096;

/// Bytes to wish for in front of the key list. Records of trees are 4 to 20 kB for a hundred
/// branches, 100 to 400 kB for 1,600; at 1 Gbit/s this much takes 1 ms, a round trip up to 200.
pub const TREE_LEN_GUESS: u64 = 128 * 1024;

/// Wishes behind the key list end here, lest a file with much behind it is read as a whole.
const TAIL_LEN_MAX: u64 = 1024 * 1024;

impl File {
    /// Opens a file from the bytes that are there, or says which ones are needed.
    ///
    /// # Errors
    /// `Corrupt` for what is no ROOT file, is cut or contradicts itself; `Unsupported` for files
    /// from before ROOT 3 and files that were never closed.
    pub fn open(known: &Known) -> Result<Progress<File>> {
        let header = ready!(header(known)?);
        let place = ready!(top_directory(known, &header)?);
        if place.seek_keys == 0 || place.keys_len == 0 {
            return Err(Error::unsupported("the file was never closed: it has no list of keys"));
        }
        let keys = header.range(place.seek_keys, place.keys_len, "key list")?;
        let infos = header.seek_info..header.seek_info + header.info_len;
        let list = bytes_of(known, keys.clone(), "key list")?;
        let infos = match infos.start {
            0 => Progress::Ready(Bytes::new()),
            _ => bytes_of(known, infos, "streamer infos")?,
        };
        match (list, infos) {
            (Progress::Ready(list), Progress::Ready(infos)) => Ok(Progress::Ready(File {
                top: Directory::read("", &list, keys.start)?,
                streamers: streamers(&infos, &header)
                    .map_err(|error| error.within("streamer infos"))?,
                header,
            })),
            (list, infos) => {
                let required = [lacks(list), lacks(infos)].concat();
                let wished = wishes(known, &header, &keys, &required);
                Ok(Progress::NeedsData(Needs { required, wished }))
            }
        }
    }
}

fn header(known: &Known) -> Result<Progress<Header>> {
    let size = known.size().unwrap_or(u64::MAX);
    match known.get(0..HEADER_LEN.min(size)) {
        Some(bytes) => Ok(Progress::Ready(Header::read(&bytes)?)),
        None => {
            let mut needs =
                Needs { required: known.missing(0..HEAD_LEN.min(size)), wished: vec![] };
            if known.size().is_some() && size > HEAD_LEN {
                needs.wished =
                    known.missing(size.saturating_sub(TREE_LEN_GUESS).max(HEAD_LEN)..size);
            }
            Ok(Progress::NeedsData(needs))
        }
    }
}

fn top_directory(known: &Known, header: &Header) -> Result<Progress<DirectoryRecord>> {
    let start = header.begin + header.name_len;
    let stop = (start + DIRECTORY_LEN).min(header.end);
    let range = header.range(start, stop.saturating_sub(start), "top directory")?;
    let bytes = ready!(bytes_of(known, range, "top directory")?);
    let record = DirectoryRecord::read(&mut Cursor::new(&bytes, start));
    Ok(Progress::Ready(record.map_err(|error| error.within("top directory"))?))
}

fn lacks(progress: Progress<Bytes>) -> Vec<Range<u64>> {
    match progress {
        Progress::Ready(_) => Vec::new(),
        Progress::NeedsData(needs) => needs.required,
    }
}

/// What is worth fetching together with the key list: the region of the tree's own record, and
/// everything behind the key list. The streamer infos may lie on either side of it.
fn wishes(
    known: &Known,
    header: &Header,
    keys: &Range<u64>,
    required: &[Range<u64>],
) -> Vec<Range<u64>> {
    let tail = if header.seek_info > 0 && header.seek_info < keys.start {
        header.seek_info.max(keys.start.saturating_sub(TREE_LEN_GUESS))
    } else {
        keys.start
    };
    let start = tail.saturating_sub(TREE_LEN_GUESS).max(header.begin);
    let end = header.end.min(known.size().unwrap_or(u64::MAX));
    let end = end.min(keys.end.saturating_add(TAIL_LEN_MAX)).max(keys.end);
    let mut wished = Vec::new();
    for gap in known.missing(start..end) {
        subtract(gap, required, &mut wished);
    }
    wished
}

/// Adds the parts of `range` outside of all `taken` to `left`.
fn subtract(range: Range<u64>, taken: &[Range<u64>], left: &mut Vec<Range<u64>>) {
    let mut taken: Vec<&Range<u64>> =
        taken.iter().filter(|other| other.start < range.end && other.end > range.start).collect();
    taken.sort_by_key(|other| other.start);
    let mut at = range.start;
    for other in taken {
        if other.start > at {
            left.push(at..other.start);
        }
        at = at.max(other.end);
    }
    if at < range.end {
        left.push(at..range.end);
    }
}

fn streamers(record: &Bytes, header: &Header) -> Result<Streamers> {
    if record.is_empty() {
        return Ok(Streamers::default());
    }
    let key = Key::read(&mut Cursor::new(record, header.seek_info))?;
    let content = content(record, &key)?;
    let offset = header.seek_info + key.key_len;
    let list = read_object(&Streamers::default(), &key.class, &content, key.key_len, offset)?;
    Streamers::of_list(&list)
}
