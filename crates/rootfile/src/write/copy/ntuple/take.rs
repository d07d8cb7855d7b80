//! Some entries of a cluster, taken out as elements of its columns.
//!
//! The types of the fields do not matter, only the number of elements of an entry in each column.
//! Reals of fewer bits keep their bits. The only elements that change are ends of collections and
//! positions of variants, as they count from the beginning of their cluster.
//! (Source: ROOT, `BinaryFormatSpecification.md`, "Mapping of C++ Types to Fields and Columns".)

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::part::{ClusterPart, NTuplePart};
use crate::array::{Array, Numbers};
use crate::codec::Codecs;
use crate::error::{Error, Result};
use crate::ntuple::column::{Element, Encoding};
use crate::ntuple::{Elements, Field, Page, Role, Schema, page_as};
use crate::write::copy::Survivors;

/// Maximum number of alternatives of a variant, as in ROOT.
const ALTERNATIVES_MAX: usize = 125;

/// Some entries of a field at the top, out of one cluster.
#[derive(Debug)]
pub struct TakenField {
    field: u32,
    /// By column of the input. Ends of collections are lists without content; a variant has such a
    /// list for each alternative, as [`way`](crate::write::ntuple::way) expects them.
    pub(super) columns: BTreeMap<u32, Arc<Array>>,
}

impl TakenField {
    /// The number of the field in the input's schema.
    pub fn field(&self) -> u32 {
        self.field
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.columns.values().map(|array| array.nbytes()).sum()
    }
}

impl NTuplePart {
    /// Takes the kept entries of a field at the top out of a cluster; `pages` are the stored bytes
    /// of its pages, by their places.
    ///
    /// # Errors
    /// `Corrupt` and `Checksum` for pages that cannot be decoded, or contradict each other;
    /// `Unsupported` for fields of a later version of the format; `Limit`.
    pub fn take(
        &self,
        cluster: usize,
        field: u32,
        pages: &BTreeMap<usize, Bytes>,
        codecs: &mut Codecs,
    ) -> Result<TakenField> {
        let schema = &self.schema.1;
        let is_new = self.is_new(cluster, field);
        let cluster = &self.clusters[cluster];
        let fields = &self.fields;
        let mut taker = Taker { schema, fields, cluster, pages, codecs, columns: BTreeMap::new() };
        let stored = match is_new {
            true => cluster.entries.end - cluster.entries.start,
            false => cluster.stored_entries,
        };
        let whole = [0..stored];
        let runs = cluster.kept.as_deref().filter(|_| !is_new).unwrap_or(&whole);
        let name = &schema.fields[field as usize].name;
        taker
            .field(field, Level::new(runs.to_vec(), stored))
            .map_err(|error| error.within(name).within(&schema.name))?;
        Ok(TakenField { field, columns: taker.columns })
    }
}

/// Runs of values that are taken, out of `total` values.
struct Level {
    runs: Vec<Range<u64>>,
    total: u64,
}

struct Taker<'a> {
    schema: &'a Schema,
    fields: &'a [Option<u32>],
    cluster: &'a ClusterPart,
    pages: &'a BTreeMap<usize, Bytes>,
    codecs: &'a mut Codecs,
    columns: BTreeMap<u32, Arc<Array>>,
}

impl Level {
    fn new(runs: Vec<Range<u64>>, total: u64) -> Level {
        Level { runs, total }
    }

    /// The same of the items, where each value is an array of `size` items.
    fn times(&self, size: u64) -> Result<Level> {
        let too_many = || Error::corrupt("arrays of too many items");
        let total = self.total.checked_mul(size).ok_or_else(too_many)?;
        let runs = self.runs.iter().map(|run| run.start * size..run.end * size);
        Ok(Level::new(runs.collect(), total))
    }

    /// The same without the first `count` values.
    fn behind(&self, count: u64) -> Level {
        let behind =
            |run: &Range<u64>| run.start.saturating_sub(count)..run.end.saturating_sub(count);
        let runs = self.runs.iter().map(behind).filter(|run| !run.is_empty());
        Level::new(runs.collect(), self.total - count)
    }

    /// Adds a run behind the others.
    fn push(&mut self, run: Range<u64>) {
        match self.runs.last_mut() {
            _ if run.is_empty() => {}
            Some(last) if last.end == run.start => last.end = run.end,
            _ => self.runs.push(run),
        }
    }
}

impl Taker<'_> {
    /// Takes the values of a field and of its subfields.
    fn field(&mut self, id: u32, level: Level) -> Result<()> {
        let Field { source, role, array_size, children, .. } = &self.schema.fields[id as usize];
        if source.is_some() || self.fields[id as usize].is_none() {
            return Ok(());
        }
        if let Role::Unknown(role) = role {
            let message = format!("taking entries of a field of structural role {role}");
            return Err(Error::unsupported(message));
        }
        let level = match array_size {
            Some(size) => level.times(*size)?,
            None => level,
        };
        let all = self.schema.representations(id);
        let here = all.iter().find(|columns| self.cluster.has(columns)).or(all.first());
        let Some((first, others)) = here.and_then(|columns| columns.split_first()) else {
            return self.fields_in(children, &level);
        };
        match self.encoding(*first)?.element() {
            Element::Index { .. } => {
                let items = self.ends(*first, &level)?;
                others.iter().try_for_each(|column| self.elements(*column, &items))?;
                self.fields_in(children, &items)
            }
            Element::Switch => {
                let alternatives = self.switches(*first, &level, children.len())?;
                let mut fields = children.iter().zip(alternatives);
                fields.try_for_each(|(child, level)| self.field(*child, level))
            }
            Element::Bool | Element::Number(_) => {
                self.elements(*first, &level)?;
                others.iter().try_for_each(|column| self.elements(*column, &level))?;
                self.fields_in(children, &level)
            }
        }
    }

    fn fields_in(&mut self, children: &[u32], level: &Level) -> Result<()> {
        let same = || Level::new(level.runs.clone(), level.total);
        children.iter().try_for_each(|child| self.field(*child, same()))
    }

    fn encoding(&self, column: u32) -> Result<Encoding> {
        Ok(Encoding::of(&self.schema.columns[column as usize])?.undecoded())
    }

    /// The part of a level that a column stores: columns that were added while the input was
    /// written lack the first elements, which are zeros.
    fn stored(&self, column: u32, level: &Level) -> Result<Level> {
        let total = level.total;
        let stored = self.cluster.elements(&[column]);
        let is_late = self.schema.columns[column as usize].deferred;
        match total.checked_sub(stored) {
            Some(missing) if missing == 0 || is_late => Ok(level.behind(missing)),
            _ => Err(Error::corrupt(format!("{stored} elements of a column in place of {total}"))),
        }
    }

    /// Takes elements that do not depend on their position in the cluster.
    fn elements(&mut self, column: u32, level: &Level) -> Result<()> {
        let runs = self.stored(column, level)?.runs;
        let Elements::Numbers(numbers) = self.decoded(column, &runs)? else {
            return Err(Error::corrupt("a variant where numbers are expected"));
        };
        let array = Array::Numbers { numbers, shape: Vec::new() };
        self.columns.insert(column, Arc::new(array));
        Ok(())
    }

    /// Takes ends of collections; returns which of all items are taken with them.
    fn ends(&mut self, column: u32, level: &Level) -> Result<Level> {
        let Level { runs, total } = self.stored(column, level)?;
        let Elements::Numbers(Numbers::I64(ends)) = self.decoded(column, &[0..total])? else {
            return Err(Error::corrupt("a collection without its ends"));
        };
        let mut before = 0;
        let ascend = ends.iter().all(|end| std::mem::replace(&mut before, *end) <= *end);
        if !ascend || ends.first().is_some_and(|first| *first < 0) {
            return Err(Error::corrupt("collections whose ends do not ascend"));
        }
        let mut items = Level::new(Vec::new(), before as u64);
        let mut offsets = vec![0];
        for run in runs {
            let start = run.start as usize;
            let end = run.end as usize;
            let first = start.checked_sub(1).map_or(0, |last| ends[last]);
            let shift = offsets.last().copied().unwrap_or(0) - first;
            offsets.extend(ends[start..end].iter().map(|end| end + shift));
            items.push(first as u64..ends[end - 1] as u64);
        }
        self.columns.insert(column, Arc::new(lists(offsets)));
        Ok(items)
    }

    /// Takes the switches of variants; returns for each alternative which of its values are taken.
    fn switches(&mut self, column: u32, level: &Level, count: usize) -> Result<Vec<Level>> {
        let Level { runs, total } = self.stored(column, level)?;
        let Elements::Switches { index, tags } = self.decoded(column, &[0..total])? else {
            return Err(Error::corrupt("a variant without its column"));
        };
        if count > ALTERNATIVES_MAX {
            return Err(Error::unsupported(format!("a variant of {count} alternatives")));
        }
        let mut alternatives: Vec<Level> = (0..count).map(|_| Level::new(Vec::new(), 0)).collect();
        let mut taken = Vec::new();
        let mut offsets = vec![vec![0]; count];
        let mut runs = runs.into_iter().peekable();
        for (entry, (index, tag)) in (0..).zip(index.into_iter().zip(tags)) {
            runs.next_if(|run| run.end <= entry);
            let is_taken = runs.peek().is_some_and(|run| run.start <= entry);
            let chosen = (tag as usize).checked_sub(1);
            if let Some(chosen) = chosen {
                let level = alternatives.get_mut(chosen);
                let level = level.filter(|level| level.total as i64 == index);
                let level = level.ok_or_else(|| Error::corrupt("variants out of order"))?;
                if is_taken {
                    level.push(level.total..level.total + 1);
                }
                level.total += 1;
            }
            if is_taken {
                taken.push(chosen.map_or(-1, |chosen| chosen as i8));
                for (at, offsets) in offsets.iter_mut().enumerate() {
                    let before = offsets.last().copied().unwrap_or(0);
                    offsets.push(before + i64::from(chosen == Some(at)));
                }
            }
        }
        let entries = taken.len();
        let tags = Array::Numbers { numbers: Numbers::I8(taken), shape: Vec::new() };
        let offsets = offsets.into_iter().map(|offsets| (String::new(), lists(offsets)));
        let fields = std::iter::once((String::new(), tags)).chain(offsets).collect();
        let array = Array::Record { class: None, entries, fields };
        self.columns.insert(column, Arc::new(array));
        Ok(alternatives)
    }

    /// The elements of a column in ascending runs; pages without any of these are not decoded.
    fn decoded(&mut self, column: u32, runs: &[Range<u64>]) -> Result<Elements> {
        let encoding = self.encoding(column)?;
        let survivors = Survivors::new(runs.to_vec());
        let mut all = match encoding.element() {
            Element::Switch => Elements::Switches { index: Vec::new(), tags: Vec::new() },
            element => Elements::Numbers(element.empty()),
        };
        let bits = self.schema.columns[column as usize].bits;
        let pages = self.cluster.column(column).map_or(&[][..], |part| &part.pages);
        let mut end = 0;
        let mut skipped = 0;
        let mut chosen = Vec::new();
        for (count, place) in pages {
            let elements = count.unsigned_abs();
            let range = end..end + u64::from(elements);
            end = range.end;
            let before = chosen.len();
            let within = survivors.within(&range);
            chosen.extend(
                within.map(|run| (run.start - skipped) as usize..(run.end - skipped) as usize),
            );
            if chosen.len() == before {
                skipped += u64::from(elements);
                continue;
            }
            let place = *place as usize;
            let stored = self.pages.get(&place);
            let stored = stored.ok_or_else(|| Error::corrupt("a page that is not there"))?;
            // Pages of new columns are in memory.
            let range = self.cluster.places.get(place).cloned().unwrap_or_default();
            let page = Page { elements, range, further: None, checksum: *count < 0 };
            page_as(encoding, self.codecs, bits, &page, stored, &mut all)?;
        }
        let Elements::Numbers(numbers) = all else { return Ok(all) };
        let is_all = chosen.iter().map(ExactSizeIterator::len).sum::<usize>() == numbers.len();
        let numbers = Array::Numbers { numbers, shape: Vec::new() };
        match if is_all { numbers } else { numbers.gather(&chosen) } {
            Array::Numbers { numbers, .. } => Ok(Elements::Numbers(numbers)),
            _ => Err(Error::corrupt("elements that are no numbers")),
        }
    }
}

/// Lists with these offsets, without content.
fn lists(offsets: Vec<i64>) -> Array {
    let content = Array::Numbers { numbers: Numbers::U8(Vec::new()), shape: Vec::new() };
    Array::List { offsets: offsets.into(), content: Box::new(content) }
}
