//! Opening a file in few round trips.
//!
//! ```text
//! head                                                   tail
//! header, top directory   baskets …   tree   key list   streamer infos   free list
//! └──── first step ────┘                 └─────── second step ────────────┘
//! ```
//!
//! The first step finds where the key list and the streamer infos are; the second one fetches both.
//! ROOT writes a tree's own record last before them, when the file is closed, so the second step
//! requests the bytes in front of the key list, too: with it, a tree needs no third step. Nor does
//! an RNTuple, with the rest of its header, which begins in the head of the file. Where earlier
//! versions of a tree were deleted, the key list may have moved into a gap that they left, and the
//! tree is at the end of the file.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use super::classes::{KnownClasses, classes};
use super::{File, bytes_of, ready};
use crate::cursor::Cursor;
use crate::directory::{DIRECTORY_LEN, Directory, DirectoryRecord};
use crate::error::{Error, ErrorKind, Result};
use crate::header::{HEADER_LEN, Header};
use crate::key::Key;
use crate::known::{Known, Needs, Progress, subtract};

/// Bytes that hold the key of a record without a name (ROOT: `RBlob`).
const BLOB_KEY_LEN: u64 = 48;

impl File {
    /// Opens a file from the bytes that are there, or says which ones are needed.
    ///
    /// # Errors
    /// `Corrupt` for a file that is no ROOT file, is cut or contradicts itself; `Unsupported` for
    /// files from before ROOT 3; `Unclosed` for files without a list of keys, which [`Recovery`]
    /// reads.
    ///
    /// [`Recovery`]: super::Recovery
    pub fn open(known: &Known) -> Result<Progress<File>> {
        File::open_among(known, &KnownClasses::default())
    }

    /// As [`File::open`], for callers that open many files: equal lists of streamer infos are
    /// decoded once, and kept in `before`.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open_among(known: &Known, before: &KnownClasses) -> Result<Progress<File>> {
        let Opening { header, keys, list, infos } = ready!(Opening::of(known)?);
        Ok(Progress::Ready(File {
            top: Directory::read("", &list, keys.start)?,
            classes: classes(&infos, &header, before)
                .map_err(|error| error.within("streamer infos"))?,
            header,
            is_recovered: false,
            unlisted: BTreeMap::new(),
        }))
    }

    /// Whether all bytes that [`File::open`] looks at are there, or which ones are not: for those
    /// who keep them.
    ///
    /// # Errors
    /// As [`File::open`], as far as the header, the top directory and its list are concerned.
    pub fn can_open(known: &Known) -> Result<Progress<()>> {
        Ok(Opening::of(known)?.map(drop))
    }
}

/// Results of the steps of opening a file.
struct Opening {
    header: Header,
    keys: Range<u64>,
    /// The records of keys and of streamer infos.
    list: Bytes,
    infos: Bytes,
}

impl Opening {
    fn of(known: &Known) -> Result<Progress<Opening>> {
        let header = ready!(header(known)?);
        let place = ready!(top_directory(known, &header)?);
        if place.keys_offset == 0 || place.keys_len == 0 {
            return Err(Error::new(ErrorKind::Unclosed));
        }
        let keys = header.range(place.keys_offset, place.keys_len, "key list")?;
        let infos = header.infos_offset..header.infos_offset + header.info_len;
        let list = bytes_of(known, keys.clone(), "key list")?;
        let infos = match infos.start {
            0 => Progress::Ready(Bytes::new()),
            _ => bytes_of(known, infos, "streamer infos")?,
        };
        match (list, infos) {
            (Progress::Ready(list), Progress::Ready(infos)) => {
                Ok(Progress::Ready(Opening { header, keys, list, infos }))
            }
            (Progress::Ready(list), infos) => {
                let required = lacks(infos);
                let top = Directory::read("", &list, keys.start)?;
                let speculative = trees_of(known, &header, &top, &required);
                Ok(Progress::NeedsData(Needs { required, speculative, ..Needs::default() }))
            }
            (list, infos) => {
                let required = [lacks(list), lacks(infos)].concat();
                let speculative = wishes(known, &header, &keys, &required);
                Ok(Progress::NeedsData(Needs { required, speculative, ..Needs::default() }))
            }
        }
    }
}

pub(super) fn header(known: &Known) -> Result<Progress<Header>> {
    let size = known.size().unwrap_or(u64::MAX);
    match known.get(0..HEADER_LEN.min(size)) {
        Some(bytes) => Ok(Progress::Ready(Header::read(&bytes)?)),
        None => {
            let head = known.sizes().head;
            let record = known.sizes().record();
            let mut needs =
                Needs { required: known.missing(0..head.min(size)), ..Needs::default() };
            if known.size().is_some() && size > head {
                needs.speculative = known.missing(size.saturating_sub(record).max(head)..size);
            }
            Ok(Progress::NeedsData(needs))
        }
    }
}

fn top_directory(known: &Known, header: &Header) -> Result<Progress<DirectoryRecord>> {
    let start = header.begin;
    let stop = header.begin + header.name_len + DIRECTORY_LEN;
    let length = stop.min(header.end).saturating_sub(start);
    let range = header.range(start, length, "top directory")?;
    let bytes = ready!(bytes_of(known, range, "top directory")?);
    let read = || {
        let own = Key::of_record(&bytes, start)?;
        if own.offset != start && own.offset != 0 {
            let message = format!("a record at {start} that says it is at {}", own.offset);
            return Err(Error::corrupt(message).at(start));
        }
        let mut cursor = Cursor::new(&bytes, start);
        cursor.skip(usize::try_from(header.name_len).unwrap_or(usize::MAX))?;
        let place = DirectoryRecord::read(&mut cursor)?;
        place.check(start, header.name_len).map(|()| place)
    };
    Ok(Progress::Ready(read().map_err(|error: Error| error.within("top directory"))?))
}

fn lacks(progress: Progress<Bytes>) -> Vec<Range<u64>> {
    match progress {
        Progress::Ready(_) => Vec::new(),
        Progress::NeedsData(needs) => needs.required,
    }
}

/// Ranges to fetch together with the streamer infos, where the key list came with the head (uproot
/// writes it first): the trees' own records, the nearest first, up to the usual guess.
fn trees_of(
    known: &Known,
    header: &Header,
    top: &Directory,
    required: &[Range<u64>],
) -> Vec<Range<u64>> {
    let mut speculative = Vec::new();
    let mut room = known.sizes().record();
    // Which classes derive from TTree is not known yet; these three are ROOT's own.
    let trees = ["TTree", "TNtuple", "TNtupleD"];
    for key in top.keys.iter().filter(|key| trees.contains(&&*key.class)) {
        let Ok(range) = header.range(key.offset, key.record_len, "tree") else { continue };
        if key.record_len > room {
            continue;
        }
        room -= key.record_len;
        for gap in known.missing(range) {
            subtract(gap, required, &mut speculative);
        }
    }
    speculative
}

/// Ranges to fetch together with the key list: the rest of an RNTuple's header, the bytes in front
/// of the key list and of the streamer infos, which may lie on either side of it, and the end of
/// the file.
fn wishes(
    known: &Known,
    header: &Header,
    keys: &Range<u64>,
    required: &[Range<u64>],
) -> Vec<Range<u64>> {
    let infos_in_front = (keys.start.saturating_sub(known.sizes().record())..keys.start)
        .contains(&header.infos_offset);
    let tail = if infos_in_front { header.infos_offset } else { keys.start };
    let end = header.end.min(known.size().unwrap_or(u64::MAX));
    let room = known.sizes().flight.saturating_sub(length(required));
    let first = header_of_ntuple(known, header).filter(|rest| rest.end - rest.start <= room / 2);
    let room = room - first.as_ref().map_or(0, |rest| rest.end - rest.start);
    let speculative = |range: Range<u64>| {
        let mut speculative = Vec::new();
        known.missing(range).into_iter().for_each(|gap| subtract(gap, required, &mut speculative));
        speculative
    };
    // Where much lies behind the key list, it has moved: the records written last are at the end.
    let has_moved = end.saturating_sub(keys.end) > known.sizes().flight;
    let at_end = if has_moved { room } else { room / 2 };
    let last = speculative(end.saturating_sub(at_end).max(keys.end)..end);
    let in_front = if has_moved { 0 } else { room.saturating_sub(length(&last)) };
    let front = speculative(tail.saturating_sub(in_front).max(header.begin)..keys.start);
    let first = first.map(speculative).unwrap_or_default();
    let first = first.into_iter().filter(|rest| front.first().is_none_or(|f| rest.end <= f.start));
    [first.collect(), front, last].concat()
}

/// The rest of an RNTuple's header that begins in the bytes that are there: it is in front of all
/// pages, and so in the file's first record behind the top directory.
fn header_of_ntuple(known: &Known, header: &Header) -> Option<Range<u64>> {
    let len = known.get(header.begin..header.begin + 4)?;
    let start = header.begin + u64::from(Cursor::new(&len, header.begin).u32().ok()?);
    let begin = known.get(start..start.checked_add(BLOB_KEY_LEN)?)?;
    let key = Key::of_record(&begin, start).ok().filter(|key| key.class == "RBlob")?;
    let range = header.range(start, key.record_len, "header").ok()?;
    known.missing(range).into_iter().next()
}

fn length(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().fold(0, |sum, range| sum.saturating_add(range.end.saturating_sub(range.start)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known::RequestSizes;

    fn speculative(end: u64, keys: Range<u64>, infos: Range<u64>) -> Vec<Range<u64>> {
        let header = Header {
            version: 62806,
            big: false,
            begin: 100,
            end,
            free_offset: 0,
            free_len: 0,
            name_len: 58,
            compress: 101,
            infos_offset: infos.start,
            info_len: infos.end - infos.start,
            uuid: None,
        };
        let sizes = RequestSizes { head: 4 << 10, flight: 180 << 10 };
        let known = Known::new(Some(end)).asking_for(sizes);
        wishes(&known, &header, &keys, &[keys.clone(), infos])
    }

    #[test]
    fn the_tree_is_in_front_of_what_is_written_last() {
        let in_front = [325_680..500_000, 509_000..510_000];
        assert_eq!(speculative(510_000, 500_000..501_000, 501_000..509_000), in_front);
        assert_eq!(speculative(510_000, 508_000..509_000, 500_000..508_000), in_front);
    }

    #[test]
    fn the_tree_is_at_the_end_where_the_key_list_filled_a_gap() {
        let at_end = [817_680..1_000_000];
        assert_eq!(speculative(1_000_000, 200_000..201_000, 201_000..202_000), at_end);
        let either = [108_840..200_000, 288_840..380_000];
        assert_eq!(speculative(380_000, 200_000..201_000, 201_000..202_000), either);
    }

    #[test]
    fn streamer_infos_far_away_are_no_landmark() {
        let expected = [325_480..500_000, 501_000..501_100];
        assert_eq!(speculative(501_100, 500_000..501_000, 300..9_000), expected);
    }
}
