//! From the bytes of a basket to columns, without work per entry where the type allows it.
//!
//! Decoding appends: many baskets go into one column that has room for all of them, and nothing is
//! copied twice. Numbers of fixed size are converted as one run; lists of numbers as one run and
//! one pass over the offsets; objects, lists of lists and texts in two passes (`bulk`); all others
//! value by value (`value.rs`).

pub(super) mod bulk;
mod bytes;
mod column;
mod container;
mod leaves;
mod object;
mod pointer;
mod shared;
mod value;

use std::ops::Range;

use crate::array::Array;
use crate::error::{Error, Result};
use crate::memory;
use crate::tree::basket::Basket;
use crate::tree::interpret::layout::{Entry, Layout, Part, Record, Text};
use crate::tree::interpret::{Interpretation, Streamed};
use crate::types::framing::{IS_REFERENCED, MEMBERWISE};
use crate::types::scalar::Scalar;
use bytes::Bytes;
use column::{extend, extend_pieces, integer, plain, wrong_column};
use value::Run;

impl Interpretation {
    /// Appends some entries of a basket to a column that [`Interpretation::empty`] began.
    /// `entries` count from the basket's first.
    ///
    /// # Errors
    /// `Corrupt` where the bytes are not of the branch's type, `Unsupported` for objects streamed
    /// in ways that only the bytes show. The column is then of no further use.
    ///
    /// # Panics
    /// Where `column` is of another type.
    pub fn decode(
        &self,
        basket: &Basket<'_>,
        entries: Range<usize>,
        column: &mut Array,
    ) -> Result<()> {
        if entries.start > entries.end || entries.end > basket.entries {
            return Err(Error::corrupt(format!(
                "entries {entries:?} of a basket that holds {}",
                basket.entries
            )));
        }
        if entries.is_empty() {
            return Ok(());
        }
        match self.entry {
            Entry::Fixed => self.decode_fixed(basket, entries, column),
            Entry::Items { header, counted } => {
                let Array::List { offsets, content } = column else { wrong_column() };
                let frame = Frame { header, counted };
                self.decode_jagged(basket, entries, frame, offsets.to_mut(), content)
            }
            Entry::Run => {
                let Array::List { offsets, content } = column else { wrong_column() };
                self.decode_runs(basket, entries, offsets.to_mut(), content)
            }
            Entry::Counts => decode_counts(basket, entries, column),
            Entry::Arrays => {
                let Array::List { offsets, content } = column else { wrong_column() };
                self.decode_arrays(basket, entries, offsets.to_mut(), content)
            }
            Entry::Array => self.decode_array(basket, entries, column),
            Entry::Value => self.decode_values(basket, entries, column),
            Entry::Leaves => self.decode_leaves(basket, entries, column),
        }
    }

    /// Whether the values of [`Interpretation::counter`] are needed to decode this basket: it
    /// leaves out its entry offsets, or how long its arrays are.
    pub fn needs_counts(&self, basket: &Basket<'_>) -> bool {
        basket.entries > 0
            && match self.entry {
                Entry::Items { header: 0, .. } => basket.entry_offsets.is_none(),
                Entry::Run => self.counter().is_some() && basket.data.is_empty(),
                Entry::Arrays | Entry::Array | Entry::Leaves | Entry::Counts => {
                    self.always_needs_counts() && basket.lengths.is_none()
                }
                _ => false,
            }
    }

    /// Completes a basket with the counter's values for exactly its entries: computes the entry
    /// offsets where it leaves them out (`kGenerateOffsetMap`).
    ///
    /// # Errors
    /// `Corrupt` where counts and bytes disagree.
    pub fn take_counts(&self, basket: &mut Basket<'_>, counts: &Array) -> Result<()> {
        let counts = of_leaf(counts, self.counter_leaf);
        if self.entry == Entry::Arrays {
            basket.lengths = Some(lists_of_counts(counts, basket.entries)?);
            return Ok(());
        }
        if matches!(self.entry, Entry::Array | Entry::Leaves | Entry::Counts) {
            let counts = integers(counts)?;
            if counts.len() != basket.entries {
                return Err(no_lengths());
            }
            basket.lengths = Some(counts.into_iter().map(|count| vec![count]).collect());
            return Ok(());
        }
        if self.entry == Entry::Run {
            let there_are_any = integers(counts)?.into_iter().any(|count| count > 0);
            return if there_are_any { Err(self.not_written()) } else { Ok(()) };
        }
        let size = self.layout.fixed_size().ok_or_else(no_offsets)?;
        let counts = integers(counts)?;
        let mut offsets = Vec::with_capacity(counts.len() + 1);
        let mut at = 0usize;
        offsets.push(0);
        for count in counts {
            at = count
                .checked_mul(size)
                .and_then(|bytes| at.checked_add(bytes))
                .filter(|at| *at <= basket.data.len())
                .ok_or_else(|| Error::corrupt("counts ask for more than the basket holds"))?;
            offsets.push(u32::try_from(at).map_err(|_| Error::limit("basket of 4 GiB or more"))?);
        }
        if at != basket.data.len() || offsets.len() != basket.entries + 1 {
            return Err(Error::corrupt(format!(
                "{} counts make {at} bytes; the basket has {} entries in {}",
                offsets.len() - 1,
                basket.entries,
                basket.data.len()
            )));
        }
        basket.entry_offsets = Some(offsets);
        Ok(())
    }

    /// The program that wrote the file did not know the type.
    fn not_written(&self) -> Error {
        let name = self.typename().trim_end_matches("[]");
        Error::unsupported(format!("{name}, of which nothing was written"))
    }

    /// The bytes of one entry.
    fn entry_at<'a>(&'a self, basket: &Basket<'a>, bounds: &[u32]) -> Bytes<'a> {
        let bytes = &basket.data[bounds[0] as usize..bounds[1] as usize];
        let start = basket.start.wrapping_add(bounds[0]);
        Bytes::new(bytes, start).naming(self.classes.as_deref())
    }

    fn decode_fixed(
        &self,
        basket: &Basket<'_>,
        entries: Range<usize>,
        column: &mut Array,
    ) -> Result<()> {
        let size = self
            .layout
            .fixed_size()
            .filter(|size| *size > 0)
            .ok_or_else(|| Error::limit("entries of absurd size"))?;
        if let (true, Layout::Scalars { scalar, .. }, Array::Numbers { numbers, .. }) =
            (basket.is_nothing && size <= size_of::<u64>(), &self.layout, &mut *column)
        {
            // As many objects as there were.
            return extend(*scalar, numbers, &memory::filled(0, entries.len() * size)?);
        }
        if basket.data.is_empty() && !basket.is_nothing {
            return Err(self.not_written());
        }
        if entries_fill(basket, size) {
            let bytes = &basket.data[entries.start * size..entries.end * size];
            return match (&self.layout, column) {
                (Layout::Scalars { scalar, .. }, Array::Numbers { numbers, .. }) => {
                    extend(*scalar, numbers, bytes)
                }
                (Layout::Record { record, .. }, Array::Record { entries: count, fields, .. }) => {
                    *count += entries.len();
                    columns_of_record(record, bytes, size, fields)
                }
                _ => wrong_column(),
            };
        }
        // Some writers pad, and the bits of referenced TObjects are followed by a process id.
        let Some(offsets) = &basket.entry_offsets else {
            if is_one_of_bits(&self.layout) {
                return self.decode_values_in_a_row(basket, entries, column);
            }
            return Err(Error::corrupt(format!(
                "{} entries of {size} bytes in a basket of {}",
                basket.entries,
                basket.data.len()
            )));
        };
        for bounds in offsets[entries.start..=entries.end].windows(2) {
            value::append(&self.layout, &mut self.entry_at(basket, bounds), column)?;
        }
        Ok(())
    }

    /// Lists of numbers: one pass for the offsets, one run of conversions.
    fn decode_jagged(
        &self,
        basket: &Basket<'_>,
        entries: Range<usize>,
        frame: Frame,
        offsets: &mut Vec<i64>,
        content: &mut Array,
    ) -> Result<()> {
        let Layout::Scalars { scalar, .. } = &self.layout else { wrong_column() };
        let Array::Numbers { numbers, .. } = content else { wrong_column() };
        let size = self.layout.fixed_size().filter(|size| *size > 0).ok_or_else(no_offsets)?;
        let stored =
            &basket.entry_offsets.as_ref().ok_or_else(no_offsets)?[entries.start..=entries.end];
        let last = offsets[offsets.len() - 1];
        memory::room(offsets, entries.len())?;
        if frame.header == 0 {
            let bytes = &basket.data[stored[0] as usize..stored[entries.len()] as usize];
            if *scalar == Scalar::Bits && has_referenced_objects(bytes) {
                return self.decode_runs(basket, entries, offsets, content);
            }
            push_ends(offsets, stored, size)?;
            return extend(*scalar, numbers, bytes);
        }
        let mut at = last;
        for bounds in stored.windows(2) {
            let bytes = &basket.data[bounds[0] as usize..bounds[1] as usize];
            let items = frame.open(bytes, size)?;
            at += (items.len() / size) as i64;
            offsets.push(at);
        }
        let pieces = stored
            .windows(2)
            .map(|bounds| bounds[0] as usize + frame.skip(bounds)..bounds[1] as usize);
        extend_pieces(*scalar, numbers, basket.data, pieces)
    }

    /// Lists of anything else, one item after the other up to the entry's end.
    fn decode_runs(
        &self,
        basket: &Basket<'_>,
        entries: Range<usize>,
        offsets: &mut Vec<i64>,
        content: &mut Array,
    ) -> Result<()> {
        let stored =
            &basket.entry_offsets.as_ref().ok_or_else(no_offsets)?[entries.start..=entries.end];
        for bounds in stored.windows(2) {
            value::append_run(
                &self.layout,
                Run::ToEnd,
                &mut self.entry_at(basket, bounds),
                content,
            )?;
            offsets.push(content.len() as i64);
        }
        Ok(())
    }

    /// An array for each object of a collection.
    fn decode_arrays(
        &self,
        basket: &Basket<'_>,
        entries: Range<usize>,
        offsets: &mut Vec<i64>,
        content: &mut Array,
    ) -> Result<()> {
        let stored = basket.entry_offsets.as_ref().ok_or_else(no_offsets)?;
        let lengths = basket.lengths.as_ref().ok_or_else(no_lengths)?;
        for entry in entries {
            let mut bytes = self.entry_at(basket, &stored[entry..entry + 2]);
            let lengths = lengths.get(entry).ok_or_else(no_lengths)?;
            if !(lengths.is_empty() && bytes.is_empty()) {
                object::arrays_in(&self.layout, lengths, &mut bytes, content)?;
            }
            if !bytes.is_empty() {
                return Err(trailing(bytes.len()));
            }
            offsets.push(content.len() as i64);
        }
        Ok(())
    }

    /// Arrays of one object an entry.
    fn decode_array(
        &self,
        basket: &Basket<'_>,
        entries: Range<usize>,
        column: &mut Array,
    ) -> Result<()> {
        let stored = basket.entry_offsets.as_ref().ok_or_else(no_offsets)?;
        let lengths = basket.lengths.as_ref().ok_or_else(no_lengths)?;
        for entry in entries {
            let mut bytes = self.entry_at(basket, &stored[entry..entry + 2]);
            let lengths = lengths.get(entry).ok_or_else(no_lengths)?;
            object::arrays_in(&self.layout, lengths, &mut bytes, column)?;
            if !bytes.is_empty() {
                return Err(trailing(bytes.len()));
            }
        }
        Ok(())
    }

    /// One value an entry that knows its own length.
    fn decode_values(
        &self,
        basket: &Basket<'_>,
        entries: Range<usize>,
        column: &mut Array,
    ) -> Result<()> {
        if let (true, Layout::List(_), Array::List { offsets, content }) =
            (basket.is_nothing, &self.layout, plain(column))
        {
            memory::room(offsets.to_mut(), entries.len())?;
            offsets.to_mut().extend(std::iter::repeat_n(content.len() as i64, entries.len()));
            return Ok(());
        }
        let Some(stored) = &basket.entry_offsets else {
            return match self.layout {
                Layout::Text(Text::Whole) => decode_equal(basket, entries, column),
                _ => self.decode_values_in_a_row(basket, entries, column),
            };
        };
        let stored = &stored[entries.start..=entries.end];
        let one = |bounds: &[u32], column: &mut Array| {
            let mut bytes = self.entry_at(basket, bounds);
            if bytes.is_empty() && matches!(self.layout, Layout::List(_)) {
                return Err(self.not_written());
            }
            value::append(&self.layout, &mut bytes, column)?;
            if bytes.is_empty() { Ok(()) } else { Err(trailing(bytes.len())) }
        };
        match &self.bulk {
            Some(bulk) => bulk.decode(basket.data, stored, column, one),
            None => stored.windows(2).try_for_each(|bounds| one(bounds, column)),
        }
    }

    /// The same where entry offsets are not stored: each value says where the next one starts.
    fn decode_values_in_a_row(
        &self,
        basket: &Basket<'_>,
        entries: Range<usize>,
        column: &mut Array,
    ) -> Result<()> {
        let mut bytes = Bytes::new(basket.data, basket.start).naming(self.classes.as_deref());
        let mut skipped = column.empty_like();
        for entry in 0..entries.end {
            if bytes.is_empty() {
                return Err(Error::corrupt(format!(
                    "{entry} entries fill a basket of {}",
                    basket.entries
                )));
            }
            let target = if entry < entries.start { &mut skipped } else { &mut *column };
            bytes.forget();
            value::append(&self.layout, &mut bytes, target)?;
        }
        match bytes.is_empty() || entries.end < basket.entries {
            true => Ok(()),
            false => Err(trailing(bytes.len())),
        }
    }
}

impl Streamed {
    /// Appends objects to an array that [`Streamed::empty`] began: object `i` is
    /// `bytes[offsets[i]..offsets[i + 1]]`, and offsets ascend from zero to the end of the bytes.
    ///
    /// # Errors
    /// As [`Interpretation::decode`].
    ///
    /// # Panics
    /// Where `array` is of another type.
    pub fn append(&self, offsets: &[i64], bytes: &[u8], array: &mut Array) -> Result<()> {
        for bounds in offsets.windows(2) {
            let own = Bytes::new(&bytes[bounds[0] as usize..bounds[1] as usize], 0);
            let mut own = own.naming(self.classes.as_deref());
            value::append(&self.layout, &mut own, array)?;
            if !own.is_empty() {
                return Err(trailing(own.len()));
            }
        }
        Ok(())
    }
}

/// Objects without members, of which there is nothing in the file.
fn decode_counts(basket: &Basket<'_>, entries: Range<usize>, column: &mut Array) -> Result<()> {
    let Array::List { offsets, content } = column else { wrong_column() };
    let Array::Record { entries: objects, .. } = plain(content) else { wrong_column() };
    let lengths = basket.lengths.as_ref().and_then(|lengths| lengths.get(entries));
    for counts in lengths.ok_or_else(no_lengths)? {
        *objects = objects.saturating_add(counts.iter().sum());
        offsets.to_mut().push(*objects as i64);
    }
    Ok(())
}

/// The bytes of entries of one length, as they are.
fn decode_equal(basket: &Basket<'_>, entries: Range<usize>, column: &mut Array) -> Result<()> {
    let data = basket.data;
    let all = basket.entries;
    let Some(size) = data.len().checked_div(all).filter(|size| size * all == data.len()) else {
        return Err(no_offsets());
    };
    let Array::Strings { offsets, bytes } = column else { wrong_column() };
    memory::room(offsets, entries.len())?;
    memory::room(bytes, entries.len() * size)?;
    for entry in entries {
        bytes.extend_from_slice(&data[entry * size..(entry + 1) * size]);
        offsets.push(bytes.len() as i64);
    }
    Ok(())
}

/// The bytes in front of an entry's items.
#[derive(Debug, Clone, Copy)]
struct Frame {
    header: usize,
    counted: bool,
}

impl Frame {
    /// The items of one entry, once its header has been checked. An entry without a single byte
    /// holds no items. `size` is that of an item.
    fn open<'a>(&self, entry: &'a [u8], size: usize) -> Result<&'a [u8]> {
        if entry.is_empty() {
            return Ok(entry);
        }
        let (header, items) = entry.split_at_checked(self.header).ok_or_else(|| {
            Error::corrupt(format!(
                "entry of {} bytes, its header has {}",
                entry.len(),
                self.header
            ))
        })?;
        if let [_, _, _, _, high, low, count @ ..] = header {
            if u16::from_be_bytes([*high, *low]) & MEMBERWISE != 0 {
                return Err(Error::corrupt("numbers streamed member by member"));
            }
            if let Ok(count) = <[u8; 4]>::try_from(count) {
                let count = u32::from_be_bytes(count) as usize;
                if self.counted && count.checked_mul(size) != Some(items.len()) {
                    return Err(Error::corrupt(format!(
                        "{count} items of {size} bytes in {} bytes",
                        items.len()
                    )));
                }
            }
        }
        if items.len() % size == 0 { Ok(items) } else { Err(partial_item(size)) }
    }

    /// Bytes of header of an entry that has been opened.
    fn skip(&self, bounds: &[u32]) -> usize {
        if bounds[0] == bounds[1] { 0 } else { self.header }
    }
}

/// Each member of records of `size` bytes into its own column.
fn columns_of_record(
    record: &Record,
    bytes: &[u8],
    size: usize,
    fields: &mut [(String, Array)],
) -> Result<()> {
    let mut at = 0;
    let parts = record.versions.first().map_or(&[][..], |version| &version.parts);
    for (part, (_, field)) in parts.iter().zip(fields) {
        let Part::Member { layout: layout @ Layout::Scalars { scalar, .. }, .. } = part else {
            wrong_column()
        };
        let Array::Numbers { numbers, .. } = field else { wrong_column() };
        let width = layout.fixed_size().unwrap_or_default();
        let piece = |record: usize| record * size + at..record * size + at + width;
        extend_pieces(*scalar, numbers, bytes, (0..bytes.len() / size).map(piece))?;
        at += width;
    }
    Ok(())
}

/// Adds where the entries at `stored` bytes end, counted in items of `size` bytes.
fn push_ends(offsets: &mut Vec<i64>, stored: &[u32], size: usize) -> Result<()> {
    let first = stored[0];
    let last = offsets[offsets.len() - 1];
    memory::room(offsets, stored.len())?;
    let whole = if size.is_power_of_two() {
        // A shift of vectors; a division takes as long as all else of an entry.
        let shift = size.ilog2();
        let mask = (size - 1) as u32;
        let mut remainders = 0;
        offsets.extend(stored[1..].iter().map(|end| {
            let reach = end - first;
            remainders |= reach & mask;
            last + i64::from(reach >> shift)
        }));
        remainders == 0
    } else {
        let size = u32::try_from(size).map_err(|_| partial_item(size))?;
        let mut remainders = 0;
        offsets.extend(stored[1..].iter().map(|end| {
            let reach = end - first;
            remainders |= reach % size;
            last + i64::from(reach / size)
        }));
        remainders == 0
    };
    if whole { Ok(()) } else { Err(partial_item(size)) }
}

/// The bits of referenced objects have no fixed size. Up to the first such object they do, so it
/// is found where it is.
fn has_referenced_objects(bytes: &[u8]) -> bool {
    let (bits, _) = bytes.as_chunks::<4>();
    bits.iter().any(|bits| u32::from_be_bytes(*bits) & IS_REFERENCED != 0)
}

/// Whether an entry is the bits of one object, which say themselves how many bytes they take.
fn is_one_of_bits(layout: &Layout) -> bool {
    matches!(layout, Layout::Scalars { scalar: Scalar::Bits, shape } if shape.is_empty())
}

fn entries_fill(basket: &Basket<'_>, size: usize) -> bool {
    basket.entries.checked_mul(size) == Some(basket.data.len())
}

/// The leaf that counts, where its branch has several.
fn of_leaf(counts: &Array, leaf: usize) -> &Array {
    match counts {
        Array::Record { fields, .. } => fields.get(leaf).map_or(counts, |(_, column)| column),
        counts => counts,
    }
}

/// Counts as a counter's branch holds them.
fn integers(counts: &Array) -> Result<Vec<usize>> {
    let Array::Numbers { numbers, .. } = counts else {
        return Err(Error::corrupt("a counter that is no number"));
    };
    let count = |at| integer(numbers, at).and_then(|count| usize::try_from(count).ok());
    (0..numbers.len())
        .map(count)
        .collect::<Option<_>>()
        .ok_or_else(|| Error::corrupt("a counter that does not count"))
}

/// How long the arrays of each entry are.
fn lists_of_counts(counts: &Array, entries: usize) -> Result<Vec<Vec<usize>>> {
    let Array::List { offsets, content } = counts else {
        return Err(Error::corrupt("a counter of arrays that has one number an entry"));
    };
    let counts = integers(content)?;
    let lists = offsets.windows(2).map(|ends| counts.get(ends[0] as usize..ends[1] as usize));
    let lists: Option<Vec<_>> = lists.map(|list| list.map(<[usize]>::to_vec)).collect();
    lists.filter(|lists| lists.len() == entries).ok_or_else(no_lengths)
}

fn no_offsets() -> Error {
    Error::corrupt("basket of entries of variable size without entry offsets")
}

fn no_lengths() -> Error {
    Error::corrupt("arrays whose lengths are not known")
}

fn partial_item(size: usize) -> Error {
    Error::corrupt(format!("an entry is no whole number of items of {size} bytes"))
}

fn trailing(bytes: usize) -> Error {
    Error::corrupt(format!("{bytes} bytes left after the value of an entry"))
}

#[cfg(test)]
mod tests;
