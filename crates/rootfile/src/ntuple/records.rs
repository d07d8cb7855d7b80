//! Payloads that are longer than the longest record: envelopes and pages in several of them.
//!
//! ```text
//! first record    content   place of each further record:u64
//! further ones    content           each as long as the longest may be, but for the last
//! ```

use std::ops::Range;

use bytes::Bytes;

use super::page_list::{Cluster, Page};
use crate::error::{Error, Result};
use crate::file::{bytes_of, ready};
use crate::known::{Known, Needs, Progress};

/// Bytes of the place of a record.
const PLACE_LEN: u64 = 8;
/// Longer payloads are refused.
const LEN_MAX: u64 = 1 << 40;
/// Pieces that the pages of some page lists may be in: more are no file that ROOT writes.
const PIECES_MAX: u64 = 1 << 20;

/// Where a payload in several records begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Several {
    start: u64,
    length: u64,
    /// Bytes of the longest record.
    record: u64,
    /// How many further ones there are.
    further: u64,
}

impl Several {
    /// The content at `range`, where it is longer than the longest record; with a `record` of zero,
    /// none is.
    ///
    /// # Errors
    /// `Corrupt` where one record cannot hold the places of the others; `Limit`.
    pub fn of(range: &Range<u64>, record: u64) -> Result<Option<Several>> {
        let start = range.start;
        let length = range.end - range.start;
        if record == 0 || length <= record {
            return Ok(None);
        }
        if length > LEN_MAX {
            return Err(Error::limit(format!("{length} bytes in several records")).at(start));
        }
        // As many as hold the payload and, of all but the first, the places.
        let mut records = length.div_ceil(record);
        if length + (records - 1) * PLACE_LEN > records * record {
            records += 1;
        }
        let further = records - 1;
        if further * PLACE_LEN >= record {
            let message = "in so many records that one does not hold their places";
            return Err(Error::corrupt(message).at(start));
        }
        match start.checked_add(record) {
            Some(_) => Ok(Some(Several { start, length, record, further })),
            None => Err(Error::corrupt("records behind the end of all files").at(start)),
        }
    }

    /// The ranges of the content, in order; `NeedsData` for the offsets of the further records.
    pub fn pieces(&self, known: &Known, part_name: &str) -> Result<Progress<Vec<Range<u64>>>> {
        let end = self.start + self.record;
        let first = end - self.further * PLACE_LEN;
        let places = ready!(bytes_of(known, first..end, part_name)?);
        let mut left = self.length - (first - self.start);
        let mut pieces = vec![self.start..first];
        for place in places.chunks_exact(PLACE_LEN as usize) {
            let place = place.try_into().map_or(0, u64::from_le_bytes);
            let share = left.min(self.record);
            left -= share;
            match place.checked_add(share) {
                Some(end) => pieces.push(place..end),
                None => {
                    let why = format!("a {part_name} behind the end of all files");
                    return Err(Error::corrupt(why).at(self.start));
                }
            }
        }
        Ok(Progress::Ready(pieces))
    }

    /// All of it, put together.
    pub fn bytes(&self, known: &Known, part_name: &str) -> Result<Progress<Bytes>> {
        // The content of the first record comes with the places.
        ready!(bytes_of(known, self.start..self.start + self.record, part_name)?);
        let mut whole = Vec::new();
        let mut missing = Needs::default();
        for piece in ready!(self.pieces(known, part_name)?) {
            match bytes_of(known, piece, part_name)? {
                Progress::Ready(part) => whole.extend_from_slice(&part),
                Progress::NeedsData(needs) => missing.required.extend(needs.required),
            }
        }
        match missing.required.is_empty() {
            true => Ok(Progress::Ready(whole.into())),
            false => Ok(Progress::NeedsData(missing)),
        }
    }
}

/// Finds the pieces of those pages that are in several records. Returns the ranges that are lacking
/// for it.
pub(super) fn split_pages(
    known: &Known,
    clusters: &mut [Cluster],
    record: u64,
) -> Result<Vec<Range<u64>>> {
    let mut missing = Vec::new();
    let mut pieces = 0;
    let columns = clusters.iter_mut().flat_map(|cluster| &mut cluster.columns);
    for page in columns.flat_map(|column| &mut column.pages) {
        let Some(several) = Several::of(&page.range, record)? else { continue };
        pieces += several.further;
        if pieces > PIECES_MAX {
            return Err(Error::limit(format!("pages in more than {PIECES_MAX} records")));
        }
        match several.pieces(known, "page")? {
            Progress::Ready(found) => take_apart(page, found),
            Progress::NeedsData(needs) => missing.extend(needs.required),
        }
    }
    Ok(missing)
}

fn take_apart(page: &mut Page, pieces: Vec<Range<u64>>) {
    let mut pieces = pieces.into_iter();
    if let Some(first) = pieces.next() {
        page.range = first;
        page.further = Some(pieces.collect());
    }
}

#[cfg(test)]
mod tests {
    use super::super::page_list::ColumnPages;
    use super::*;

    const RECORD: u64 = 20;

    /// A payload of 45 bytes at 100: two places fit behind the first four of them.
    fn file() -> (Known, Vec<u8>) {
        let payload: Vec<u8> = (1..=45).collect();
        let mut file = vec![0; 400];
        for (at, part) in [(100, &payload[..4]), (200, &payload[4..24]), (300, &payload[24..44])] {
            file[at..at + part.len()].copy_from_slice(part);
        }
        for (at, place) in [(104, 200u64), (112, 300)] {
            file[at..at + 8].copy_from_slice(&place.to_le_bytes());
        }
        let mut known = Known::new(Some(400));
        known.supply(0, file.into());
        (known, payload)
    }

    fn cluster(range: Range<u64>) -> Vec<Cluster> {
        let page = Page { elements: 44, range, further: None, checksum: false };
        let columns = vec![ColumnPages { pages: vec![page], ..ColumnPages::default() }];
        vec![Cluster { entries: 0..44, columns }]
    }

    #[test]
    fn a_payload_is_put_together() {
        let (known, payload) = file();
        let several = Several::of(&(100..144), RECORD).unwrap().expect("is longer");
        match several.bytes(&known, "page list").unwrap() {
            Progress::Ready(bytes) => assert_eq!(bytes, payload[..44]),
            Progress::NeedsData(_) => panic!("all is here"),
        }
        for (range, record) in [(100..120, 20), (100..144, 44), (100..144, 0)] {
            assert_eq!(Several::of(&range, record).unwrap(), None);
        }
    }

    #[test]
    fn pages_are_found_by_the_places_at_the_end_of_their_first_record() {
        let (known, _) = file();
        let mut clusters = cluster(100..144);
        let unknown = Known::new(Some(400));
        assert_eq!(split_pages(&unknown, &mut clusters, RECORD).unwrap(), [104..120]);
        assert_eq!(split_pages(&known, &mut clusters, RECORD).unwrap(), []);
        let page = &clusters[0].columns[0].pages[0];
        assert_eq!(page.pieces().cloned().collect::<Vec<_>>(), [100..104, 200..220, 300..320]);
        assert_eq!(page.stored(), 44);
        let mut short = cluster(100..120);
        assert_eq!(split_pages(&unknown, &mut short, RECORD).unwrap(), []);
        assert_eq!(short, cluster(100..120));
    }

    #[test]
    fn lies_are_refused() {
        assert!(Several::of(&(0..1000), 20).is_err(), "too many places for one record");
        assert!(Several::of(&(0..1 << 50), 1 << 30).is_err(), "too long");
        assert!(Several::of(&(u64::MAX - 44..u64::MAX), 20).is_ok());
        assert!(Several::of(&(u64::MAX - 44..u64::MAX), 44).is_ok_and(|none| none.is_none()));
        let mut wrong = vec![0xff; 400];
        wrong[..100].fill(0);
        let mut known = Known::new(Some(400));
        known.supply(0, wrong.into());
        assert!(split_pages(&known, &mut cluster(100..144), RECORD).is_err(), "behind all files");
        // So many pages at one place that their pieces would take more than the file.
        let mut many = cluster(100..110);
        let page = cluster(100..2100);
        many[0].columns[0].pages = vec![page[0].columns[0].pages[0].clone(); 600_000];
        let known = Known::new(Some(4000));
        let error = split_pages(&known, &mut many, 1000).unwrap_err();
        assert!(error.to_string().contains("records"), "{error}");
    }
}
