//! Entries to the bytes of a basket before compression: big-endian numbers, then where each entry
//! begins (ROOT: `TBasket::WriteBuffer`, `TLeaf::FillBasket`; read in [`crate::tree::basket`]).

use std::ops::Range;

use super::plan::{PlannedBranch, PlannedKind};
use super::view::{View, width, within};
use crate::array::Numbers;
use crate::error::{Error, Result};
use crate::write::rows::ColumnRun;

/// The bytes in front of a vector's items: a byte count, the version of its class, its length.
const FRAME_LEN: usize = 10;
/// The version that ROOT 6.36 and later write there.
const FRAME_VERSION: u16 = 10;
/// Bytes that are converted at a time: short vectors have few items more or less.
const BLOCK_LEN: usize = 16;
/// Marks a byte count (`kByteCountMask`), which must be less.
const BYTE_COUNT: u32 = 0x4000_0000;
/// A vector, or another collection, without items.
pub const EMPTY_VECTOR: [u8; FRAME_LEN] =
    [0x40, 0, 0, FRAME_LEN as u8 - 4, 0, FRAME_VERSION as u8, 0, 0, 0, 0];

/// Numbers about a basket's content that the tree's record and the basket's key have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContentFacts {
    pub entries: u64,
    /// Bytes of the entries alone.
    pub data_len: usize,
    /// The greatest count, or the longest text.
    pub longest: u64,
}

/// Appends to `to`, which is empty, the entries and, where they can be of different lengths, their
/// offsets from the beginning of a key of `key_len` bytes.
///
/// # Errors
/// `Limit` where a basket, or an entry, would have more bytes than its format can count.
pub(super) fn write_content(
    branch: &PlannedBranch,
    run: &ColumnRun,
    key_len: usize,
    to: &mut Vec<u8>,
) -> Result<ContentFacts> {
    let mut writer = ContentWriter { to, key_len, starts: Vec::new(), longest: 0 };
    let entries = run.len();
    if branch.kind.has_offsets() {
        writer.starts.reserve(entries);
    }
    for piece in &run.pieces {
        let view = View::of(&piece.array, &branch.path).ok_or_else(|| mismatch(branch))?;
        writer.piece(&branch.kind, &view, piece.entries.clone())?;
    }
    let data_len = writer.to.len();
    let starts = writer.starts;
    let longest = writer.longest;
    if branch.kind.has_offsets() {
        write_offsets(&starts, to);
    }
    if i32::try_from(to.len() + key_len).is_err() {
        return Err(Error::limit(format!("a basket of {} bytes", to.len())));
    }
    Ok(ContentFacts { entries: entries as u64, data_len, longest })
}

/// Bytes that entries take in a basket, offsets included: exact but for texts of more than 254
/// bytes.
pub(super) fn content_len(branch: &PlannedBranch, view: &View<'_>, entries: Range<usize>) -> u64 {
    let count = entries.len() as u64;
    match (&branch.kind, view) {
        (PlannedKind::Counts, _) => 4 * count,
        // The offset has the place of the length, which is elsewhere.
        (PlannedKind::Flat { .. } | PlannedKind::Counted { .. }, view) => view.len_of(entries),
        (PlannedKind::Chars | PlannedKind::StdString, view) => 4 * count + view.len_of(entries),
        (PlannedKind::Vector { .. }, view) => (FRAME_LEN as u64) * count + view.len_of(entries),
    }
}

/// How many offsets there are, each of them, and a last one that readers do not use.
fn write_offsets(starts: &[u32], to: &mut Vec<u8>) {
    to.extend_from_slice(&(starts.len() as u32 + 1).to_be_bytes());
    append_big_endian(starts, to, |start| start.to_be_bytes());
    to.extend_from_slice(&[0; 4]);
}

struct ContentWriter<'a> {
    to: &'a mut Vec<u8>,
    key_len: usize,
    /// Where entries begin, from the key on.
    starts: Vec<u32>,
    longest: u64,
}

impl ContentWriter<'_> {
    fn piece(&mut self, kind: &PlannedKind, view: &View<'_>, entries: Range<usize>) -> Result<()> {
        match (kind, view) {
            (PlannedKind::Flat { is_counter, .. }, View::Numbers { numbers, shape }) => {
                let range = times(entries, width(shape));
                if *is_counter {
                    self.longest = self.longest.max(greatest(numbers, range.clone()));
                }
                append_numbers(numbers, range, self.to);
            }
            (PlannedKind::Counts, View::Lists { offsets, .. }) => self.counts(offsets, entries)?,
            (PlannedKind::Counted { .. }, View::Lists { offsets, content }) => {
                let View::Numbers { numbers, shape } = &**content else { return Err(lacking()) };
                let bytes = (width(shape) * numbers.item_len()) as i64;
                self.starts_of(&offsets[entries.start..=entries.end], bytes);
                append_numbers(numbers, times(within(offsets, &entries), width(shape)), self.to);
            }
            (PlannedKind::Chars | PlannedKind::StdString, View::Texts { offsets, bytes }) => {
                for text in offsets[entries.start..=entries.end].windows(2) {
                    let text = &bytes[text[0] as usize..text[1] as usize];
                    self.starts.push((self.key_len + self.to.len()) as u32);
                    self.longest = self.longest.max(text.len() as u64);
                    append_text(text, self.to)?;
                }
            }
            (PlannedKind::Vector { .. }, _) => self.vectors(view, entries)?,
            _ => return Err(lacking()),
        }
        Ok(())
    }

    /// Adds the offsets of lists whose items have so many bytes and follow the bytes so far.
    fn starts_of(&mut self, offsets: &[i64], bytes: i64) {
        let first = offsets[0];
        let there = (self.key_len + self.to.len()) as i64;
        let begun = &offsets[..offsets.len() - 1];
        self.starts.extend(begun.iter().map(|offset| ((offset - first) * bytes + there) as u32));
    }

    fn counts(&mut self, offsets: &[i64], entries: Range<usize>) -> Result<()> {
        let starts = &offsets[entries.clone()];
        let ends = &offsets[entries.start + 1..=entries.end];
        let counts = || starts.iter().zip(ends).map(|(start, end)| end - start);
        let longest = counts().max().unwrap_or(0);
        i32::try_from(longest).map_err(|_| Error::limit(format!("a list of {longest} items")))?;
        self.longest = self.longest.max(longest as u64);
        let counts: Vec<i32> = counts().map(|count| count as i32).collect();
        append_big_endian(&counts, self.to, |count| count.to_be_bytes());
        Ok(())
    }

    fn vectors(&mut self, view: &View<'_>, entries: Range<usize>) -> Result<()> {
        let flat = match view {
            View::Lists { offsets, content } => match &**content {
                View::Numbers { numbers, shape } if shape.is_empty() => Some((*offsets, *numbers)),
                _ => None,
            },
            _ => None,
        };
        if let Some((offsets, numbers)) = flat {
            return self.vectors_of_numbers(&offsets[entries.start..=entries.end], numbers);
        }
        for entry in entries {
            // More than can be counted is refused when the basket is complete.
            self.starts.push((self.key_len + self.to.len()) as u32);
            let frame = self.to.len();
            self.to.extend_from_slice(&[0; FRAME_LEN - 4]);
            append_items(view, entry, self.to)?;
            let counted = self.to.len() - frame - 4;
            let frame_bytes = frame_of(counted, 0)?;
            self.to[frame..frame + FRAME_LEN - 4].copy_from_slice(&frame_bytes[..FRAME_LEN - 4]);
        }
        Ok(())
    }

    fn vectors_of_numbers(&mut self, offsets: &[i64], numbers: &Numbers) -> Result<()> {
        match numbers {
            Numbers::Bool(all) | Numbers::U8(all) => self.vectors_of::<_, 1, 16>(offsets, all),
            Numbers::I8(all) => self.vectors_of::<_, 1, 16>(offsets, all),
            Numbers::I16(all) => self.vectors_of::<_, 2, 8>(offsets, all),
            Numbers::U16(all) => self.vectors_of::<_, 2, 8>(offsets, all),
            Numbers::I32(all) => self.vectors_of::<_, 4, 4>(offsets, all),
            Numbers::U32(all) => self.vectors_of::<_, 4, 4>(offsets, all),
            Numbers::F32(all) => self.vectors_of::<_, 4, 4>(offsets, all),
            Numbers::I64(all) => self.vectors_of::<_, 8, 2>(offsets, all),
            Numbers::U64(all) => self.vectors_of::<_, 8, 2>(offsets, all),
            Numbers::F64(all) => self.vectors_of::<_, 8, 2>(offsets, all),
        }
    }

    /// Vectors of plain numbers, `ITEMS` of which, of `SIZE` bytes each, are a block. Whole blocks
    /// are converted, also for the last items of a vector: the next frame overwrites the excess.
    fn vectors_of<T: BigEndian<SIZE>, const SIZE: usize, const ITEMS: usize>(
        &mut self,
        offsets: &[i64],
        all: &[T],
    ) -> Result<()> {
        let first = offsets[0] as usize;
        let last = offsets[offsets.len() - 1] as usize;
        let mut at = self.to.len();
        let count = offsets.len() - 1;
        self.to.resize(at + (last - first) * SIZE + count * FRAME_LEN + BLOCK_LEN, 0);
        for pair in offsets.windows(2) {
            let start = pair[0] as usize;
            let end = pair[1] as usize;
            let len = (end - start) * SIZE;
            self.starts.push((self.key_len + at) as u32);
            let frame = frame_of(FRAME_LEN - 4 + len, end - start)?;
            self.to[at..at + FRAME_LEN].copy_from_slice(&frame);
            at += FRAME_LEN;
            let padded = start + (end - start).next_multiple_of(ITEMS);
            if let Some(items) = all.get(start..padded) {
                let places = self.to[at..at + items.len() * SIZE].as_chunks_mut::<BLOCK_LEN>().0;
                for (place, items) in places.iter_mut().zip(items.as_chunks::<ITEMS>().0) {
                    for (place, item) in place.as_chunks_mut::<SIZE>().0.iter_mut().zip(items) {
                        *place = item.big_endian();
                    }
                }
            } else {
                let places = self.to[at..at + len].as_chunks_mut::<SIZE>().0;
                for (place, item) in places.iter_mut().zip(&all[start..end]) {
                    *place = item.big_endian();
                }
            }
            at += len;
        }
        self.to.truncate(at);
        Ok(())
    }
}

/// A number of that many bytes.
trait BigEndian<const SIZE: usize>: Copy {
    fn big_endian(self) -> [u8; SIZE];
}

macro_rules! big_endian {
    ($($number:ty: $size:literal),*) => {
        $(impl BigEndian<$size> for $number {
            #[inline]
            fn big_endian(self) -> [u8; $size] {
                self.to_be_bytes()
            }
        })*
    };
}

big_endian!(u8: 1, i8: 1, u16: 2, i16: 2, u32: 4, i32: 4, u64: 8, i64: 8, f32: 4, f64: 8);

/// A byte count, a version and a length.
fn frame_of(counted: usize, items: usize) -> Result<[u8; FRAME_LEN]> {
    let fits = u32::try_from(counted).ok().filter(|counted| *counted < BYTE_COUNT);
    let counted = fits.ok_or_else(|| Error::limit(format!("a vector of {counted} bytes")))?;
    let mut frame = [0; FRAME_LEN];
    frame[..4].copy_from_slice(&(counted | BYTE_COUNT).to_be_bytes());
    frame[4..6].copy_from_slice(&FRAME_VERSION.to_be_bytes());
    frame[6..].copy_from_slice(&(items as u32).to_be_bytes());
    Ok(frame)
}

/// The length of a list and its items, which have no frame of their own.
fn append_items(view: &View<'_>, entry: usize, to: &mut Vec<u8>) -> Result<()> {
    let (content, items) = match view {
        View::Lists { offsets, content } => (content, within(offsets, &(entry..entry + 1))),
        View::Regular { length, content } => (content, times(entry..entry + 1, *length)),
        View::Numbers { numbers, shape } => {
            append_fixed(numbers, shape, entry, to);
            return Ok(());
        }
        View::Texts { .. } => return Err(lacking()),
    };
    let count = i32::try_from(items.len());
    let count = count.map_err(|_| Error::limit(format!("a list of {} items", items.len())))?;
    to.extend_from_slice(&count.to_be_bytes());
    match &**content {
        View::Numbers { numbers, shape } if shape.is_empty() => append_numbers(numbers, items, to),
        View::Texts { offsets, bytes } => {
            for text in items {
                append_text(&bytes[within(offsets, &(text..text + 1))], to)?;
            }
        }
        content => items.into_iter().try_for_each(|item| append_items(content, item, to))?,
    }
    Ok(())
}

/// An array of a fixed shape, as lists in lists.
fn append_fixed(numbers: &Numbers, shape: &[usize], item: usize, to: &mut Vec<u8>) {
    let [length, inner @ ..] = shape else { return };
    to.extend_from_slice(&(*length as u32).to_be_bytes());
    let items = times(item..item + 1, *length);
    match inner {
        [] => append_numbers(numbers, items, to),
        inner => items.into_iter().for_each(|item| append_fixed(numbers, inner, item, to)),
    }
}

/// The items of entries that have so many each.
fn times(entries: Range<usize>, each: usize) -> Range<usize> {
    entries.start * each..entries.end * each
}

/// A length of one byte, or 255 and one of four, and the text. (ROOT leaves out the length of an
/// empty `TLeafC`, which uproot does not expect; both read it where it is there.)
fn append_text(text: &[u8], to: &mut Vec<u8>) -> Result<()> {
    match text.len() {
        len @ 0..255 => to.push(len as u8),
        len => {
            let fits = i32::try_from(len);
            let len = fits.map_err(|_| Error::limit(format!("a text of {len} bytes")))?;
            to.push(255);
            to.extend_from_slice(&len.to_be_bytes());
        }
    }
    to.extend_from_slice(text);
    Ok(())
}

/// Appends numbers, big-endian.
fn append_numbers(numbers: &Numbers, range: Range<usize>, to: &mut Vec<u8>) {
    match numbers {
        Numbers::Bool(numbers) | Numbers::U8(numbers) => to.extend_from_slice(&numbers[range]),
        Numbers::I8(numbers) => append_big_endian(&numbers[range], to, |n| n.to_be_bytes()),
        Numbers::I16(numbers) => append_big_endian(&numbers[range], to, |n| n.to_be_bytes()),
        Numbers::I32(numbers) => append_big_endian(&numbers[range], to, |n| n.to_be_bytes()),
        Numbers::I64(numbers) => append_big_endian(&numbers[range], to, |n| n.to_be_bytes()),
        Numbers::U16(numbers) => append_big_endian(&numbers[range], to, |n| n.to_be_bytes()),
        Numbers::U32(numbers) => append_big_endian(&numbers[range], to, |n| n.to_be_bytes()),
        Numbers::U64(numbers) => append_big_endian(&numbers[range], to, |n| n.to_be_bytes()),
        Numbers::F32(numbers) => append_big_endian(&numbers[range], to, |n| n.to_be_bytes()),
        Numbers::F64(numbers) => append_big_endian(&numbers[range], to, |n| n.to_be_bytes()),
    }
}

/// Many numbers at a time, as the compiler sees no bound within the loop.
#[inline]
fn append_big_endian<T: Copy, const SIZE: usize>(
    numbers: &[T],
    to: &mut Vec<u8>,
    bytes: impl Fn(T) -> [u8; SIZE],
) {
    let start = to.len();
    to.resize(start + numbers.len() * SIZE, 0);
    for (place, number) in to[start..].as_chunks_mut::<SIZE>().0.iter_mut().zip(numbers) {
        *place = bytes(*number);
    }
}

/// The greatest of counts.
fn greatest(numbers: &Numbers, range: Range<usize>) -> u64 {
    match numbers {
        Numbers::I32(counts) => counts[range].iter().max().map_or(0, |most| (*most).max(0) as u64),
        Numbers::U32(counts) => counts[range].iter().max().map_or(0, |most| (*most).into()),
        _ => 0,
    }
}

#[cold]
fn lacking() -> Error {
    Error::unsupported("an array that is not of its column's type")
}

fn mismatch(branch: &PlannedBranch) -> Error {
    lacking().within(&branch.name)
}
