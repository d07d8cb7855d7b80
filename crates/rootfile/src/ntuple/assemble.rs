//! From the stored pages of a cluster to the array of some of its entries.
//!
//! Arrays are appended to: pages are decoded behind the numbers that are there, one cluster after
//! the other, so that a column of many clusters is made without being copied.

use std::ops::Range;

use bytes::Bytes;

use super::column::Element;
use super::decode::{self, Elements, different_types};
use super::interpret::{FieldInterpretation, FieldLayout, Slot};
use super::page_list::{Cluster, Page};
use super::reader::elsewhere;
use super::schema::Schema;
use crate::array::{Array, Numbers, Offsets, append_offsets};
use crate::codec::Codecs;
use crate::error::{Error, Result};

/// Zeros that a cluster may have in place of elements which were never written.
const ZEROS_MAX: u64 = 1 << 27;
/// Numbers of elements in a page list are believed up to so many times the stored bytes; beyond
/// that, arrays grow as they are filled.
const EXPANSION_TRUSTED: u64 = 32;

/// A page that a read needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageUse {
    /// Which of the interpretation's columns it is of.
    slot: usize,
    /// Column of the schema.
    pub column: u32,
    /// Number of the page among those of its column in its cluster.
    pub number: usize,
    pub page: Page,
    /// Number of its first element in the cluster.
    first: u64,
}

impl PageUse {
    fn place(&self) -> String {
        format!("column {}/page {}", self.column, self.number)
    }
}

impl FieldInterpretation {
    /// An array without entries.
    pub fn empty(&self) -> Array {
        self.layout.empty(&self.slots)
    }

    /// The pages with the elements of some entries, which count from the beginning of the cluster.
    ///
    /// Inside of collections these are all pages of the cluster: which elements belong to which
    /// entries is known only when the offsets are here, and waiting for them costs a round trip.
    ///
    /// # Errors
    /// `Corrupt` where there are fewer elements than entries need, or more; `Unsupported` where
    /// pages are in no file.
    pub fn pages(&self, cluster: &Cluster, entries: Range<u64>) -> Result<Vec<PageUse>> {
        let mut uses = Vec::new();
        if entries.is_empty() {
            return Ok(uses);
        }
        for (at, slot) in self.slots.iter().enumerate() {
            let (column, pages) = slot.pages(cluster);
            if let Some(kind) = cluster.columns.get(column as usize).and_then(|own| own.elsewhere) {
                return Err(elsewhere(kind));
            }
            let wanted = slot.wanted(&entries)?;
            let mut first = slot.zeros(cluster, pages)?;
            for (number, page) in pages.iter().enumerate() {
                let end = first + u64::from(page.elements);
                let needed = wanted.as_ref().is_none_or(|w| first < w.end && end > w.start);
                if needed && page.elements > 0 {
                    uses.push(PageUse { slot: at, column, number, page: page.clone(), first });
                }
                first = end;
            }
        }
        Ok(uses)
    }

    /// Ascending runs of entries, which count from the beginning of the cluster, joined where they
    /// have pages in common: each is worth a read of its own.
    ///
    /// # Errors
    /// As [`FieldInterpretation::pages`].
    pub fn stretches(&self, cluster: &Cluster, runs: &[Range<u64>]) -> Result<Vec<Range<u64>>> {
        let Some(first) = runs.first() else { return Ok(Vec::new()) };
        let Some(last) = runs.last() else { return Ok(Vec::new()) };
        let mut pages = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            // Inside of collections all pages are read for any entry.
            let Some(per_entry) = slot.per_entry else {
                return Ok(vec![first.start..last.end]);
            };
            let (_, own) = slot.pages(cluster);
            let mut end = slot.zeros(cluster, own)?;
            let ends = own.iter().map(|page| {
                end += u64::from(page.elements);
                end
            });
            pages.push((per_entry, ends.collect::<Vec<u64>>()));
        }
        let share_a_page = |before: u64, after: u64| {
            pages.iter().any(|(per_entry, ends)| {
                let page = |element: u64| ends.partition_point(|end| *end <= element);
                let last = (before * per_entry).saturating_sub(1);
                page(last) == page(after * per_entry)
            })
        };
        let mut joined: Vec<Range<u64>> = Vec::new();
        for run in runs {
            match joined.last_mut() {
                Some(last) if share_a_page(last.end, run.start) => last.end = run.end,
                _ => joined.push(run.clone()),
            }
        }
        Ok(joined)
    }

    /// Appends some entries, which count from the beginning of the cluster, to an array that
    /// [`FieldInterpretation::empty`] began: from the stored pages that
    /// [`FieldInterpretation::pages`] named for them, in its order.
    ///
    /// # Errors
    /// `Corrupt` where offsets contradict the elements that are there; `Checksum`; `Limit` where a
    /// cluster has too many elements that were never written. The array is then of no further use.
    pub fn append(
        &self,
        schema: &Schema,
        cluster: &Cluster,
        entries: Range<u64>,
        pages: &[(PageUse, Bytes)],
        codecs: &mut Codecs,
        array: &mut Array,
    ) -> Result<()> {
        let mut sources = Vec::with_capacity(self.slots.len());
        for (at, slot) in self.slots.iter().enumerate() {
            let zeros = slot.zeros(cluster, slot.pages(cluster).1)?;
            if zeros > ZEROS_MAX {
                let message = format!("a cluster with {zeros} elements that were never written");
                return Err(Error::limit(message));
            }
            let from = pages.partition_point(|(page, _)| page.slot < at);
            let to = pages.partition_point(|(page, _)| page.slot <= at);
            sources.push(Source { zeros, pages: &pages[from..to] });
        }
        let is_whole = entries == (0..cluster.entries.end - cluster.entries.start);
        let reached = vec![0; sources.len()];
        let mut reader = EnvelopeReader { schema, sources, reached, codecs };
        reader.append(&self.layout, entries, array)?;
        if is_whole { reader.check_reached() } else { Ok(()) }
    }

    /// Reserves memory for the elements of some pages.
    pub fn reserve<'a>(&self, pages: impl Iterator<Item = &'a PageUse>, array: &mut Array) {
        let mut counts = vec![0usize; self.slots.len()];
        for PageUse { slot, page, .. } in pages {
            let trusted =
                page.stored().saturating_mul(EXPANSION_TRUSTED).min(u64::from(page.elements));
            counts[*slot] = counts[*slot].saturating_add(trusted as usize);
        }
        reserve(&self.layout, &counts, array);
    }

    /// Bytes of memory for the entries of the cluster, by the size of its pages.
    pub fn decoded_bytes(&self, schema: &Schema, cluster: &Cluster) -> u64 {
        let of = |slot: &Slot| {
            let (column, pages) = slot.pages(cluster);
            let bits = match slot.element {
                Element::Bool => 8,
                Element::Index { .. } => 64,
                Element::Number(number) => number.size() as u64 * 8,
                Element::Switch => u64::from(schema.columns[column as usize].bits),
            };
            let elements: u64 = pages.iter().map(|page| u64::from(page.elements)).sum();
            elements.saturating_mul(bits) / 8
        };
        self.slots.iter().map(of).fold(0, u64::saturating_add)
    }
}

impl Slot {
    /// The column that the cluster has, and its pages.
    fn pages<'a>(&self, cluster: &'a Cluster) -> (u32, &'a [Page]) {
        let stored = |column: &&u32| {
            cluster.columns.get(**column as usize).is_some_and(|pages| !pages.suppressed)
        };
        let column = self.columns.iter().find(stored).or(self.columns.first());
        let column = column.copied().unwrap_or(u32::MAX);
        let pages = cluster.columns.get(column as usize).filter(|pages| !pages.suppressed);
        (column, pages.map_or(&[], |pages| &pages.pages))
    }

    /// Elements that entries need; `None` where only offsets say how many.
    fn wanted(&self, entries: &Range<u64>) -> Result<Option<Range<u64>>> {
        let Some(per_entry) = self.per_entry else { return Ok(None) };
        let scaled = |entry: u64| {
            entry.checked_mul(per_entry).ok_or_else(|| Error::corrupt("too many elements"))
        };
        let start = scaled(entries.start)?;
        let end = scaled(entries.end)?;
        // The first collection begins where the one before ends.
        let before = u64::from(matches!(self.element, Element::Index { .. }));
        Ok(Some(start.saturating_sub(before)..end))
    }

    /// Elements at the beginning of the cluster that were never written.
    fn zeros(&self, cluster: &Cluster, pages: &[Page]) -> Result<u64> {
        let Some(per_entry) = self.per_entry else { return Ok(0) };
        let entries = cluster.entries.end - cluster.entries.start;
        let written: u64 = pages.iter().map(|page| u64::from(page.elements)).sum();
        let zeros = entries.checked_mul(per_entry).and_then(|all| all.checked_sub(written));
        match zeros {
            Some(0) => Ok(0),
            Some(zeros) if self.deferred => Ok(zeros),
            _ => Err(Error::corrupt(format!(
                "{written} elements where {entries} entries have {per_entry} each"
            ))),
        }
    }
}

impl FieldLayout {
    fn empty(&self, slots: &[Slot]) -> Array {
        match self {
            FieldLayout::Numbers { slot } => {
                Array::Numbers { numbers: slots[*slot].element.empty(), shape: Vec::new() }
            }
            FieldLayout::Text { .. } => Array::Strings { offsets: vec![0], bytes: Vec::new() },
            FieldLayout::List { item, .. } => {
                Array::List { offsets: Offsets::none(), content: Box::new(item.empty(slots)) }
            }
            FieldLayout::Option { item, .. } => {
                Array::Option { index: Vec::new(), content: Box::new(item.empty(slots)) }
            }
            FieldLayout::Cardinality { wide, .. } => {
                let numbers =
                    if *wide { Numbers::I64(Vec::new()) } else { Numbers::I32(Vec::new()) };
                Array::Numbers { numbers, shape: Vec::new() }
            }
            FieldLayout::Fixed { length, item } => fixed(*length, item.empty(slots)),
            FieldLayout::Record { fields } => {
                let empty =
                    |(name, field): &(String, FieldLayout)| (name.clone(), field.empty(slots));
                let fields = fields.iter().map(empty).collect();
                Array::Record { class: None, entries: 0, fields }
            }
            FieldLayout::Variant { alternatives, .. } => Array::Union {
                tags: Vec::new(),
                index: Vec::new(),
                contents: alternatives.iter().map(|layout| layout.empty(slots)).collect(),
            },
            FieldLayout::Streamed { object, .. } => object.empty(),
        }
    }
}

/// Makes room for so many elements of each slot.
fn reserve(layout: &FieldLayout, counts: &[usize], array: &mut Array) {
    match (layout, array) {
        (FieldLayout::Numbers { slot }, Array::Numbers { numbers, .. }) => {
            numbers.reserve(counts[*slot]);
        }
        (FieldLayout::Fixed { item, .. }, array @ Array::Numbers { .. }) => {
            reserve(item, counts, array)
        }
        (FieldLayout::Fixed { item, .. }, Array::Regular { content, .. }) => {
            reserve(item, counts, content);
        }
        (FieldLayout::Text { ends, bytes }, Array::Strings { offsets, bytes: text }) => {
            // Only a hint: where there is no room, adding will say so.
            let _ = offsets.try_reserve(counts[*ends]);
            let _ = text.try_reserve(counts[*bytes]);
        }
        (FieldLayout::List { ends, item }, Array::List { offsets, content }) => {
            let _ = offsets.to_mut().try_reserve(counts[*ends]);
            reserve(item, counts, content);
        }
        (FieldLayout::Record { fields }, Array::Record { fields: columns, .. }) => {
            for ((_, layout), (_, column)) in fields.iter().zip(columns) {
                reserve(layout, counts, column);
            }
        }
        // Options and variants have fewer values than entries: they grow.
        _ => {}
    }
}

/// A slot's elements in a cluster.
struct Source<'a> {
    /// Elements at the beginning that were never written.
    zeros: u64,
    pages: &'a [(PageUse, Bytes)],
}

/// Decodes elements of a cluster as they are asked for.
struct EnvelopeReader<'a> {
    schema: &'a Schema,
    sources: Vec<Source<'a>>,
    /// The element of each slot up to which has been read.
    reached: Vec<u64>,
    codecs: &'a mut Codecs,
}

impl EnvelopeReader<'_> {
    /// Appends `range`, in elements of the cluster.
    fn append(&mut self, layout: &FieldLayout, range: Range<u64>, array: &mut Array) -> Result<()> {
        match (layout, array) {
            (FieldLayout::Streamed { ends, bytes, object }, array) => {
                let (offsets, content) = self.offsets(*ends, range)?;
                let mut stored = Vec::new();
                self.text(*bytes, content, &mut stored)?;
                object.append(&offsets, &stored, array)
            }
            (layout, Array::Numbers { numbers, .. }) => self.plain(layout, range, numbers),
            (FieldLayout::Text { ends, bytes }, Array::Strings { offsets, bytes: text }) => {
                let (more, content) = self.offsets(*ends, range)?;
                append_offsets(offsets, &more)?;
                self.text(*bytes, content, text)
            }
            (FieldLayout::List { ends, item }, Array::List { offsets, content }) => {
                let (more, items) = self.offsets(*ends, range)?;
                append_own(offsets, more)?;
                self.append(item, items, content)
            }
            (FieldLayout::Option { ends, item }, Array::Option { index, content }) => {
                let (offsets, values) = self.offsets(*ends, range)?;
                optional(&offsets, content.len() as i64, index)?;
                self.append(item, values, content)
            }
            (FieldLayout::Fixed { length, item }, Array::Regular { entries, content, .. }) => {
                *entries += usize_of(range.end - range.start)?;
                self.append(item, scaled(&range, *length)?, content)
            }
            (FieldLayout::Record { fields }, Array::Record { entries, fields: columns, .. }) => {
                *entries += usize_of(range.end - range.start)?;
                let mut pairs = fields.iter().zip(columns);
                pairs.try_for_each(|((_, layout), (_, column))| {
                    self.append(layout, range.clone(), column)
                })
            }
            (
                FieldLayout::Variant { switch, alternatives },
                Array::Union { tags, index, contents },
            ) => {
                let (more_tags, mut more) = self.switches(*switch, range, alternatives.len())?;
                for (at, (layout, content)) in alternatives.iter().zip(contents).enumerate() {
                    let begun = content.len() as i64;
                    let values = alternative_range(&more_tags, &mut more, at as i8, begun)?;
                    self.append(layout, values, content)?;
                }
                tags.extend(more_tags);
                index.extend(more);
                Ok(())
            }
            _ => Err(different_types()),
        }
    }

    /// Appends numbers, or arrays of a fixed number of them.
    fn plain(
        &mut self,
        layout: &FieldLayout,
        range: Range<u64>,
        numbers: &mut Numbers,
    ) -> Result<()> {
        match layout {
            FieldLayout::Numbers { slot } => self.numbers(*slot, range, numbers),
            FieldLayout::Fixed { length, item } => {
                self.plain(item, scaled(&range, *length)?, numbers)
            }
            FieldLayout::Cardinality { ends, .. } => {
                let (offsets, _) = self.offsets(*ends, range)?;
                let mut lengths = offsets.windows(2).map(|ends| ends[1] - ends[0]);
                match numbers {
                    Numbers::I64(all) => all.extend(lengths),
                    Numbers::I32(all) => lengths.try_for_each(|length| {
                        let length = i32::try_from(length);
                        all.push(length.map_err(|_| Error::limit("a collection of 2^31 items"))?);
                        Ok(())
                    })?,
                    _ => return Err(different_types()),
                }
                Ok(())
            }
            _ => Err(different_types()),
        }
    }

    fn text(&mut self, slot: usize, range: Range<u64>, text: &mut Vec<u8>) -> Result<()> {
        let mut bytes = Numbers::U8(std::mem::take(text));
        self.numbers(slot, range, &mut bytes)?;
        match bytes {
            Numbers::U8(bytes) => *text = bytes,
            _ => return Err(different_types()),
        }
        Ok(())
    }

    fn numbers(&mut self, slot: usize, range: Range<u64>, numbers: &mut Numbers) -> Result<()> {
        let mut elements = Elements::Numbers(std::mem::replace(numbers, Numbers::U8(Vec::new())));
        self.elements(slot, range, &mut elements)?;
        if let Elements::Numbers(all) = elements {
            *numbers = all;
        }
        Ok(())
    }

    /// Appends elements of a slot: pages that are wanted whole straight to where they go.
    fn elements(&mut self, slot: usize, range: Range<u64>, all: &mut Elements) -> Result<()> {
        let Source { zeros, pages } = self.sources[slot];
        self.reached[slot] = self.reached[slot].max(range.end);
        let mut at = range.start;
        if at < range.end.min(zeros) {
            all.push_zeros(usize_of(range.end.min(zeros) - at)?)?;
            at = range.end.min(zeros);
        }
        for (used, stored) in pages {
            let first = used.first;
            let end = used.first + u64::from(used.page.elements);
            if end <= at {
                continue;
            }
            if first > at || at >= range.end {
                break;
            }
            let part = (at - first) as usize..(end.min(range.end) - first) as usize;
            self.page(used, stored, part, all)
                .map_err(|error| error.at(used.page.range.start).within(&used.place()))?;
            at = end.min(range.end);
        }
        if at == range.end {
            return Ok(());
        }
        let message = format!("elements {at} to {} of a column lack", range.end);
        Err(Error::corrupt(message))
    }

    fn page(
        &mut self,
        used: &PageUse,
        stored: &[u8],
        part: Range<usize>,
        all: &mut Elements,
    ) -> Result<()> {
        let column = self.schema.columns.get(used.column as usize);
        let column =
            column.ok_or_else(|| Error::corrupt("a page of a column that is not there"))?;
        if part == (0..used.page.elements as usize) {
            return decode::page(self.codecs, column, &used.page, stored, all);
        }
        let mut own = all.empty_like();
        decode::page(self.codecs, column, &used.page, stored, &mut own)?;
        all.append_part(&own, part)
    }

    /// Offsets from zero on, and the elements that the collections of `range` have in the cluster.
    fn offsets(&mut self, slot: usize, range: Range<u64>) -> Result<(Vec<i64>, Range<u64>)> {
        if range.is_empty() {
            return Ok((vec![0], 0..0));
        }
        let before = range.start.min(1);
        // The first collection begins at zero, each other one where the one before ends.
        let mut own = vec![0; 1 - before as usize];
        let count = usize_of(range.end - range.start + before)?;
        let _ = own.try_reserve(count.min(self.elements_there(slot)));
        let mut numbers = Numbers::I64(own);
        self.numbers(slot, range.start - before..range.end, &mut numbers)?;
        let Numbers::I64(mut offsets) = numbers else { return Err(different_types()) };
        let base = offsets[0];
        if base != 0 {
            offsets.iter_mut().for_each(|offset| *offset = offset.wrapping_sub(base));
        }
        // All are looked at, without a branch each.
        let falls = offsets.windows(2).fold(false, |falls, two| falls | (two[1] < two[0]));
        let last = offsets[offsets.len() - 1];
        match (u64::try_from(base), u64::try_from(last)) {
            (Ok(base), Ok(last)) if !falls && base.checked_add(last).is_some() => {
                Ok((offsets, base..base + last))
            }
            _ => Err(Error::corrupt("offsets of collections that run backwards")),
        }
    }

    /// That the collections of a whole cluster have all elements that there are: the last offset
    /// and the page list say how many.
    fn check_reached(&self) -> Result<()> {
        for (source, reached) in self.sources.iter().zip(&self.reached) {
            let end =
                source.pages.iter().map(|(page, _)| page.first + u64::from(page.page.elements));
            let end = end.max().unwrap_or(*reached);
            if end > *reached {
                let message = format!("collections of {reached} elements where {end} are stored");
                return Err(Error::corrupt(message));
            }
        }
        Ok(())
    }

    /// How many elements of a slot the pages at hand have, or there are zeros for.
    fn elements_there(&self, slot: usize) -> usize {
        let Source { zeros, pages } = self.sources[slot];
        let stored = pages.iter().map(|(used, stored)| {
            let trusted = (stored.len() as u64).saturating_mul(EXPANSION_TRUSTED);
            u64::from(used.page.elements).min(trusted)
        });
        usize::try_from(stored.fold(zeros, u64::saturating_add)).unwrap_or(0)
    }

    /// Numbers of the alternatives from zero on, -1 for none, and positions in them.
    fn switches(
        &mut self,
        slot: usize,
        range: Range<u64>,
        alternatives: usize,
    ) -> Result<(Vec<i8>, Vec<i64>)> {
        let mut all = Elements::Switches { index: Vec::new(), tags: Vec::new() };
        self.elements(slot, range, &mut all)?;
        let Elements::Switches { index, tags } = all else { return Err(different_types()) };
        if alternatives > i8::MAX as usize || tags.iter().any(|tag| *tag as usize > alternatives) {
            let message = format!("a variant with a tag beyond its {alternatives} alternatives");
            return Err(Error::corrupt(message));
        }
        let tags = tags.into_iter().map(|tag| (i64::from(tag) - 1) as i8).collect();
        Ok((tags, index))
    }
}

/// Adds offsets; where there are none yet, nothing is copied.
fn append_own(offsets: &mut Offsets, mut more: Vec<i64>) -> Result<()> {
    let begun = offsets[offsets.len() - 1];
    if offsets.len() > 1 || offsets.to_mut().capacity() >= more.len() {
        return append_offsets(offsets.to_mut(), &more);
    }
    if begun != 0 {
        more.iter_mut().for_each(|offset| *offset += begun);
    }
    *offsets = more.into();
    Ok(())
}

/// Adds positions of the values that are there, -1 where there is none. The values come behind
/// `begun` others.
fn optional(offsets: &[i64], begun: i64, index: &mut Vec<i64>) -> Result<()> {
    let several = offsets.windows(2).fold(false, |several, two| several | (two[1] - two[0] > 1));
    if several {
        return Err(Error::corrupt("an optional with more than one value"));
    }
    let position = |two: &[i64]| if two[1] > two[0] { begun + two[0] } else { -1 };
    index.extend(offsets.windows(2).map(position));
    Ok(())
}

/// The elements that the entries of one alternative have in the cluster; their positions are made
/// to count from the first of them, behind `begun` others.
fn alternative_range(
    tags: &[i8],
    index: &mut [i64],
    alternative: i8,
    begun: i64,
) -> Result<Range<u64>> {
    let of = |at: &usize| tags[*at] == alternative;
    let chosen = || (0..tags.len()).filter(of);
    let Some(first) = chosen().map(|at| index[at]).min() else { return Ok(0..0) };
    let last = chosen().map(|at| index[at]).max().unwrap_or(first);
    let (Ok(start), Some(end)) = (u64::try_from(first), last.checked_add(1)) else {
        return Err(Error::corrupt("a variant with a value in front of the first"));
    };
    for at in chosen() {
        index[at] = index[at] - first + begun;
    }
    Ok(start..end as u64)
}

/// No entries of `length` items each.
fn fixed(length: u64, item: Array) -> Array {
    // No array is that long: appending will say so.
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    match item {
        Array::Numbers { numbers, mut shape } if length > 0 => {
            shape.insert(0, length);
            Array::Numbers { numbers, shape }
        }
        item => Array::Regular { length, entries: 0, content: Box::new(item) },
    }
}

/// The items of a range of entries of `length` items each.
fn scaled(range: &Range<u64>, length: u64) -> Result<Range<u64>> {
    let times = |at: u64| at.checked_mul(length);
    match (times(range.start), times(range.end)) {
        (Some(start), Some(end)) => Ok(start..end),
        _ => Err(Error::corrupt("too many elements")),
    }
}

fn usize_of(count: u64) -> Result<usize> {
    usize::try_from(count).map_err(|_| Error::limit("more than this machine's memory"))
}
