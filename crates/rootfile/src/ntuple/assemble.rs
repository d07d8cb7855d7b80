//! From the elements of a cluster to the array of some of its entries.

use std::ops::Range;

use super::column::Element;
use super::decode::Elements;
use super::interpret::{Interpretation, Layout, Slot};
use super::page_list::{Cluster, Page};
use super::schema::Schema;
use crate::array::{Array, Numbers};
use crate::error::{Error, Result};

/// Zeros that a cluster may have in place of elements which were never written.
const ZEROS_MAX: u64 = 1 << 27;

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

/// Elements of one column of a cluster, without gaps.
struct Run {
    first: u64,
    elements: Elements,
}

impl Interpretation {
    /// An array without entries.
    pub fn empty(&self) -> Array {
        let mut runs: Vec<Option<Run>> = self.slots.iter().map(|_| None).collect();
        build(&self.layout, &self.slots, &mut runs, 0..0).unwrap_or(Array::Record {
            class: None,
            entries: 0,
            fields: Vec::new(),
        })
    }

    /// The pages with the elements of some entries, which count from the beginning of the cluster.
    ///
    /// Inside of collections these are all pages of the cluster: which elements belong to which
    /// entries is known only when the offsets are here, and waiting for them costs a round trip.
    ///
    /// # Errors
    /// `Corrupt` where there are fewer elements than entries need, or more.
    pub fn pages(&self, cluster: &Cluster, entries: Range<u64>) -> Result<Vec<PageUse>> {
        let mut uses = Vec::new();
        if entries.is_empty() {
            return Ok(uses);
        }
        for (at, slot) in self.slots.iter().enumerate() {
            let (column, pages) = slot.pages(cluster);
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
    /// have pages in common: what is worth being read by itself.
    ///
    /// # Errors
    /// As [`Interpretation::pages`].
    pub fn stretches(&self, cluster: &Cluster, runs: &[Range<u64>]) -> Result<Vec<Range<u64>>> {
        let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return Ok(Vec::new()) };
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

    /// The array of some entries, which count from the beginning of the cluster, from the
    /// decoded pages that [`Interpretation::pages`] named for them, in its order.
    ///
    /// # Errors
    /// `Corrupt` where offsets contradict the elements that are there; `Limit` where a cluster
    /// has too many elements that were never written.
    pub fn assemble(
        &self,
        cluster: &Cluster,
        entries: Range<u64>,
        pages: Vec<(PageUse, Elements)>,
    ) -> Result<Array> {
        let mut runs: Vec<Option<Run>> = self.slots.iter().map(|_| None).collect();
        for (at, slot) in self.slots.iter().enumerate() {
            let zeros = slot.zeros(cluster, slot.pages(cluster).1)?;
            if zeros > ZEROS_MAX {
                let what = format!("a cluster with {zeros} elements that were never written");
                return Err(Error::limit(what));
            }
            if zeros > 0 {
                let elements = Elements::zeros(slot.element, zeros as usize);
                runs[at] = Some(Run { first: 0, elements });
            }
        }
        for (page, elements) in pages {
            if elements.len() != page.page.elements as usize {
                return Err(Error::corrupt("a page of another number of elements"));
            }
            match &mut runs[page.slot] {
                None => runs[page.slot] = Some(Run { first: page.first, elements }),
                // Zeros in front of entries that nobody asked for.
                Some(run) if run.first + run.elements.len() as u64 != page.first => {
                    *run = Run { first: page.first, elements };
                }
                Some(run) => run.elements.append(elements)?,
            }
        }
        build(&self.layout, &self.slots, &mut runs, entries)
    }

    /// What a number of entries of the cluster takes in memory, by the size of its pages.
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

    /// Elements that entries need; `None` where only offsets can tell.
    fn wanted(&self, entries: &Range<u64>) -> Result<Option<Range<u64>>> {
        let Some(per_entry) = self.per_entry else { return Ok(None) };
        let scaled = |entry: u64| {
            entry.checked_mul(per_entry).ok_or_else(|| Error::corrupt("too many elements"))
        };
        let (start, end) = (scaled(entries.start)?, scaled(entries.end)?);
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

/// Builds the array of `range`, in elements of the cluster.
fn build(
    layout: &Layout,
    slots: &[Slot],
    runs: &mut [Option<Run>],
    range: Range<u64>,
) -> Result<Array> {
    match layout {
        Layout::Numbers { slot } => {
            let numbers = numbers(&slots[*slot], &mut runs[*slot], range)?;
            Ok(Array::Numbers { numbers, shape: Vec::new() })
        }
        Layout::Text { ends, bytes } => {
            let (offsets, content) = offsets(&slots[*ends], &mut runs[*ends], range)?;
            match numbers(&slots[*bytes], &mut runs[*bytes], content)? {
                Numbers::U8(bytes) => Ok(Array::Strings { offsets, bytes }),
                _ => Err(Error::corrupt("strings that are not of bytes")),
            }
        }
        Layout::List { ends, item } => {
            let (offsets, content) = offsets(&slots[*ends], &mut runs[*ends], range)?;
            let content = Box::new(build(item, slots, runs, content)?);
            Ok(Array::List { offsets, content })
        }
        Layout::Option { ends, item } => {
            let (offsets, content) = offsets(&slots[*ends], &mut runs[*ends], range)?;
            let index = optional(&offsets)?;
            let content = Box::new(build(item, slots, runs, content)?);
            Ok(Array::Option { index, content })
        }
        Layout::Cardinality { ends, wide } => {
            let (offsets, _) = offsets(&slots[*ends], &mut runs[*ends], range)?;
            let lengths = offsets.windows(2).map(|ends| ends[1] - ends[0]);
            let numbers = if *wide {
                Numbers::I64(lengths.collect())
            } else {
                let narrow = lengths.map(i32::try_from).collect::<std::result::Result<_, _>>();
                Numbers::I32(narrow.map_err(|_| Error::limit("a collection of 2^31 items"))?)
            };
            Ok(Array::Numbers { numbers, shape: Vec::new() })
        }
        Layout::Fixed { length, item } => {
            let entries = range.end - range.start;
            let scaled = |at: u64| {
                at.checked_mul(*length).ok_or_else(|| Error::corrupt("too many elements"))
            };
            let content = scaled(range.start)?..scaled(range.end)?;
            fixed(entries, *length, build(item, slots, runs, content)?)
        }
        Layout::Record { fields } => {
            let built = fields
                .iter()
                .map(|(name, layout)| {
                    Ok((name.clone(), build(layout, slots, runs, range.clone())?))
                })
                .collect::<Result<_>>()?;
            let entries = usize_of(range.end - range.start)?;
            Ok(Array::Record { class: None, entries, fields: built })
        }
        Layout::Variant { switch, alternatives } => {
            let (tags, mut index) = switches(&mut runs[*switch], range, alternatives.len())?;
            let mut contents = Vec::with_capacity(alternatives.len());
            for (alternative, layout) in alternatives.iter().enumerate() {
                let content = alternative_range(&tags, &mut index, alternative as i8)?;
                contents.push(build(layout, slots, runs, content)?);
            }
            Ok(Array::Union { tags, index, contents })
        }
    }
}

/// The elements of a range, which is read only once.
fn take(run: &mut Option<Run>, range: Range<u64>) -> Result<(Elements, Range<usize>)> {
    let lacking = || {
        let what = format!("elements {} to {} of a column lack", range.start, range.end);
        Error::corrupt(what)
    };
    let Run { first, elements } = run.take().ok_or_else(lacking)?;
    let start = range.start.checked_sub(first).ok_or_else(lacking)?;
    let end = range.end.checked_sub(first).ok_or_else(lacking)?;
    if start > end || end > elements.len() as u64 {
        return Err(lacking());
    }
    Ok((elements, start as usize..end as usize))
}

fn numbers(slot: &Slot, run: &mut Option<Run>, range: Range<u64>) -> Result<Numbers> {
    let numbers = if range.is_empty() {
        Elements::zeros(slot.element, 0)
    } else {
        let (elements, part) = take(run, range)?;
        match elements {
            Elements::Numbers(numbers) if part.start > 0 || part.end < numbers.len() => {
                Elements::Numbers(numbers.slice(part))
            }
            whole => whole,
        }
    };
    match (numbers, slot.element) {
        (Elements::Numbers(Numbers::F32(narrow)), Element::Number(super::column::Number::F64)) => {
            Ok(Numbers::F64(narrow.into_iter().map(f64::from).collect()))
        }
        (Elements::Numbers(numbers), _) => Ok(numbers),
        (Elements::Switches { .. }, _) => Err(Error::corrupt("a switch where a number should be")),
    }
}

/// Offsets from zero on, and the elements that the collections of `range` have in the cluster.
fn offsets(
    slot: &Slot,
    run: &mut Option<Run>,
    range: Range<u64>,
) -> Result<(Vec<i64>, Range<u64>)> {
    if range.is_empty() {
        return Ok((vec![0], 0..0));
    }
    let before = range.start.min(1);
    let count = range.end - range.start;
    let ends = match numbers(slot, run, range.start - before..range.end)? {
        Numbers::I64(ends) => ends,
        _ => return Err(Error::corrupt("offsets that are no integers")),
    };
    let (base, ends) = match before {
        0 => (0, &ends[..]),
        _ => (ends[0], &ends[1..]),
    };
    let mut offsets = Vec::with_capacity(usize_of(count)? + 1);
    offsets.push(0);
    offsets.extend(ends.iter().map(|end| end.wrapping_sub(base)));
    let falls = offsets.windows(2).fold(false, |falls, two| falls | (two[1] < two[0]));
    let last = offsets.last().copied().unwrap_or(0);
    match (u64::try_from(base), u64::try_from(last)) {
        (Ok(base), Ok(last)) if !falls && base.checked_add(last).is_some() => {
            Ok((offsets, base..base + last))
        }
        _ => Err(Error::corrupt("offsets of collections that run backwards")),
    }
}

/// Positions of the values that are there, -1 where there is none.
fn optional(offsets: &[i64]) -> Result<Vec<i64>> {
    let several = offsets.windows(2).fold(false, |several, two| several | (two[1] - two[0] > 1));
    if several {
        return Err(Error::corrupt("an optional with more than one value"));
    }
    let position = |two: &[i64]| if two[1] > two[0] { two[0] } else { -1 };
    Ok(offsets.windows(2).map(position).collect())
}

/// Numbers of the alternatives from zero on, -1 for none, and positions in them.
fn switches(
    run: &mut Option<Run>,
    range: Range<u64>,
    alternatives: usize,
) -> Result<(Vec<i8>, Vec<i64>)> {
    if range.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let (elements, part) = take(run, range)?;
    let Elements::Switches { index, tags } = elements else {
        return Err(Error::corrupt("a variant without switches"));
    };
    if alternatives > i8::MAX as usize || tags.iter().any(|tag| *tag as usize > alternatives) {
        let what = format!("a variant with a tag beyond its {alternatives} alternatives");
        return Err(Error::corrupt(what));
    }
    let tags = tags[part.clone()].iter().map(|tag| (i64::from(*tag) - 1) as i8).collect();
    Ok((tags, index[part].to_vec()))
}

/// The elements that the entries of one alternative have in the cluster; their positions are made
/// to count from the first of them.
fn alternative_range(tags: &[i8], index: &mut [i64], alternative: i8) -> Result<Range<u64>> {
    let of = |at: &usize| tags[*at] == alternative;
    let chosen = || (0..tags.len()).filter(of);
    let Some(first) = chosen().map(|at| index[at]).min() else { return Ok(0..0) };
    let last = chosen().map(|at| index[at]).max().unwrap_or(first);
    let (Ok(start), Some(end)) = (u64::try_from(first), last.checked_add(1)) else {
        return Err(Error::corrupt("a variant with a value in front of the first"));
    };
    for at in chosen() {
        index[at] -= first;
    }
    Ok(start..end as u64)
}

fn fixed(entries: u64, length: u64, item: Array) -> Result<Array> {
    let (entries, length) = (usize_of(entries)?, usize_of(length)?);
    Ok(match item {
        Array::Numbers { numbers, mut shape } if length > 0 => {
            shape.insert(0, length);
            Array::Numbers { numbers, shape }
        }
        item => Array::Regular { length, entries, content: Box::new(item) },
    })
}

fn usize_of(count: u64) -> Result<usize> {
    usize::try_from(count).map_err(|_| Error::limit("more than this machine's memory"))
}
