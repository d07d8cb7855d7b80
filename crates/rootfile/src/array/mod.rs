//! Decoded columns as plain buffers, ready for NumPy, Awkward and Arrow.
//!
//! An [`Array`] mirrors Awkward's and Arrow's layouts so that no front needs to copy: numbers are
//! in host order, offsets are 64-bit, start at zero and have one element more than there are
//! entries. (Source: Awkward Array's `ListOffsetArray`, Arrow's `LargeList`.)

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::memory;

mod common;
pub(crate) mod indirect;
mod number;
mod numbers;
mod offsets;
mod typed;
mod value;

pub use number::Number;
pub use numbers::Numbers;
pub use offsets::{Offsets, agree};
pub use typed::{Lists, Primitive};
pub use value::{ListRef, RecordRef, ValueRef};

/// One column, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub enum Array {
    /// `numbers.len() == entries * shape.product()`; `shape` is the fixed inner shape, empty for
    /// one number an entry.
    Numbers { numbers: Numbers, shape: Vec<usize> },
    /// Entry `i` is `content[offsets[i]..offsets[i + 1]]`.
    List { offsets: Offsets, content: Box<Array> },
    /// Entry `i` is `bytes[offsets[i]..offsets[i + 1]]`, in whatever encoding was written.
    Strings { offsets: Vec<i64>, bytes: Vec<u8> },
    /// Fields of equal length, of objects of a class or, without one, of a leaf list.
    Record { class: Option<Arc<str>>, entries: usize, fields: Vec<(String, Array)> },
    /// Entry `i` is `content[i * length..(i + 1) * length]`.
    Regular { length: usize, entries: usize, content: Box<Array> },
    /// Entry `i` is `content[index[i]]`, or missing where that is -1.
    Option { index: Vec<i64>, content: Box<Array> },
    /// Entry `i` is `contents[tags[i]][index[i]]`, or missing where the tag is -1.
    Union { tags: Vec<i8>, index: Vec<i64>, contents: Vec<Array> },
    /// The same entries as `content`, which mean something that their type does not say.
    WithParameter { parameter: ArrayParameter, content: Box<Array> },
}

/// Meaning of an array beyond its type (Awkward's parameter `__array__`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrayParameter {
    /// Lists of different items (`std::set`).
    Set,
    /// Lists of bits (`std::bitset`).
    Bitset,
    /// Records of a key and a value, in the order of the keys (`std::map`).
    SortedMap,
    /// A union of objects of those classes that the data name: other parts of the column may have
    /// others. Awkward has no word for it.
    Objects,
}

impl ArrayParameter {
    /// As Awkward spells it.
    pub fn name(self) -> &'static str {
        match self {
            ArrayParameter::Set => "set",
            ArrayParameter::Bitset => "bitset",
            ArrayParameter::SortedMap => "sorted_map",
            ArrayParameter::Objects => "objects",
        }
    }
}

impl Array {
    /// Number of entries.
    pub fn len(&self) -> usize {
        match self {
            Array::Numbers { numbers, shape } => match width(shape) {
                0 => 0,
                width => numbers.len() / width,
            },
            Array::List { offsets, .. } => offsets.len() - 1,
            Array::Strings { offsets, .. } => offsets.len() - 1,
            Array::Record { entries, .. } | Array::Regular { entries, .. } => *entries,
            Array::Option { index, .. } | Array::Union { index, .. } => index.len(),
            Array::WithParameter { content, .. } => content.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all buffers as filled, offsets included.
    pub fn nbytes(&self) -> usize {
        match self {
            Array::Numbers { numbers, .. } => numbers.nbytes(),
            Array::List { offsets, content } => size_of_val(&offsets[..]) + content.nbytes(),
            Array::Strings { offsets, bytes } => size_of_val(&offsets[..]) + bytes.len(),
            Array::Record { fields, .. } => fields.iter().map(|(_, field)| field.nbytes()).sum(),
            Array::Regular { content, .. } | Array::WithParameter { content, .. } => {
                content.nbytes()
            }
            Array::Option { index, content } => size_of_val(&index[..]) + content.nbytes(),
            Array::Union { tags, index, contents } => {
                let inner: usize = contents.iter().map(Array::nbytes).sum();
                tags.len() + size_of_val(&index[..]) + inner
            }
        }
    }

    /// An array of the same type without entries.
    #[must_use]
    pub fn empty_like(&self) -> Array {
        match self {
            Array::Numbers { numbers, shape } => {
                Array::Numbers { numbers: numbers.empty_like(), shape: shape.clone() }
            }
            Array::List { content, .. } => {
                Array::List { offsets: Offsets::none(), content: Box::new(content.empty_like()) }
            }
            Array::Strings { .. } => Array::Strings { offsets: vec![0], bytes: Vec::new() },
            Array::Record { class, fields, .. } => Array::Record {
                class: class.clone(),
                entries: 0,
                fields: fields.iter().map(|(name, f)| (name.clone(), f.empty_like())).collect(),
            },
            Array::Regular { length, content, .. } => Array::Regular {
                length: *length,
                entries: 0,
                content: Box::new(content.empty_like()),
            },
            Array::Option { content, .. } => {
                Array::Option { index: Vec::new(), content: Box::new(content.empty_like()) }
            }
            Array::Union { contents, .. } => Array::Union {
                tags: Vec::new(),
                index: Vec::new(),
                contents: contents.iter().map(Array::empty_like).collect(),
            },
            Array::WithParameter { parameter, content } => {
                content.empty_like().with_parameter(*parameter)
            }
        }
    }

    /// A copy of some entries.
    ///
    /// # Panics
    /// Where `entries` are not entries of this array, as with slices.
    #[must_use]
    pub fn slice(&self, entries: Range<usize>) -> Array {
        assert!(entries.start <= entries.end && entries.end <= self.len(), "entries out of range");
        match self {
            Array::Numbers { numbers, shape } => {
                let width = width(shape);
                let range = entries.start * width..entries.end * width;
                Array::Numbers { numbers: numbers.slice(range), shape: shape.clone() }
            }
            Array::List { offsets, content } => {
                let (offsets, inner) = slice_offsets(offsets, entries);
                Array::List { offsets: offsets.into(), content: Box::new(content.slice(inner)) }
            }
            Array::Strings { offsets, bytes } => {
                let (offsets, inner) = slice_offsets(offsets, entries);
                Array::Strings { offsets, bytes: bytes[inner].to_vec() }
            }
            Array::Record { class, fields, .. } => Array::Record {
                class: class.clone(),
                entries: entries.len(),
                fields: fields
                    .iter()
                    .map(|(name, field)| (name.clone(), field.slice(entries.clone())))
                    .collect(),
            },
            Array::Regular { length, content, .. } => Array::Regular {
                length: *length,
                entries: entries.len(),
                content: Box::new(content.slice(entries.start * length..entries.end * length)),
            },
            Array::Option { .. } | Array::Union { .. } => self.gather(&[entries]),
            Array::WithParameter { parameter, content } => {
                content.slice(entries).with_parameter(*parameter)
            }
        }
    }

    /// A copy of several runs of entries, one after the other.
    ///
    /// # Panics
    /// Where a run is not of entries of this array, as with slices.
    #[must_use]
    pub fn gather(&self, runs: &[Range<usize>]) -> Array {
        match self {
            Array::Numbers { numbers, shape } => {
                let width = width(shape);
                let runs: Vec<_> =
                    runs.iter().map(|run| run.start * width..run.end * width).collect();
                Array::Numbers { numbers: numbers.gather(&runs), shape: shape.clone() }
            }
            Array::List { offsets, content } => {
                let (offsets, inner) = gather_offsets(offsets, runs);
                Array::List { offsets: offsets.into(), content: Box::new(content.gather(&inner)) }
            }
            Array::Strings { offsets, bytes } => {
                let (offsets, inner) = gather_offsets(offsets, runs);
                Array::Strings { offsets, bytes: numbers::gather(bytes, &inner) }
            }
            Array::Record { class, fields, .. } => Array::Record {
                class: class.clone(),
                entries: runs.iter().map(ExactSizeIterator::len).sum(),
                fields: fields
                    .iter()
                    .map(|(name, field)| (name.clone(), field.gather(runs)))
                    .collect(),
            },
            Array::Regular { length, content, .. } => {
                let inner: Vec<_> =
                    runs.iter().map(|run| run.start * length..run.end * length).collect();
                let entries = runs.iter().map(ExactSizeIterator::len).sum();
                let content = Box::new(content.gather(&inner));
                Array::Regular { length: *length, entries, content }
            }
            Array::Option { index, content } => indirect::gather_option(index, content, runs),
            Array::Union { tags, index, contents } => {
                indirect::gather_union(tags, index, contents, runs)
            }
            Array::WithParameter { parameter, content } => {
                content.gather(runs).with_parameter(*parameter)
            }
        }
    }

    /// No objects, of a class without members.
    fn is_nothing(&self) -> bool {
        matches!(self, Array::Record { entries: 0, fields, .. } if fields.is_empty())
    }

    /// The same entries with a meaning.
    #[must_use]
    pub fn with_parameter(self, parameter: ArrayParameter) -> Array {
        Array::WithParameter { parameter, content: Box::new(self) }
    }

    /// Adds the entries of `other`, which must have the same type, at the end.
    ///
    /// # Errors
    /// `Corrupt` where the types differ; `self` is then of no further use.
    pub fn append(&mut self, other: &Array) -> Result<()> {
        // Items of a class that the file does not describe have the type of the first that are
        // there.
        match (&*self, other) {
            (Array::Numbers { .. }, nothing) if nothing.is_nothing() => Ok(()),
            (nothing, Array::Numbers { .. }) if nothing.is_nothing() => {
                *self = other.clone();
                Ok(())
            }
            _ => self.append_alike(other),
        }
    }

    fn append_alike(&mut self, other: &Array) -> Result<()> {
        match (self, other) {
            (
                Array::Numbers { numbers, shape },
                Array::Numbers { numbers: more, shape: other_shape },
            ) if is_same_shape(shape, other_shape) => numbers.append(more),
            (
                Array::List { offsets, content },
                Array::List { offsets: more, content: more_content },
            ) => {
                append_offsets(offsets.to_mut(), more)?;
                content.append(more_content)
            }
            (
                Array::Strings { offsets, bytes },
                Array::Strings { offsets: more, bytes: more_bytes },
            ) => {
                append_offsets(offsets, more)?;
                memory::room(bytes, more_bytes.len())?;
                bytes.extend_from_slice(more_bytes);
                Ok(())
            }
            (
                Array::Record { class, entries, fields },
                Array::Record { class: more_class, entries: more, fields: more_fields },
            ) if class == more_class && fields.len() == more_fields.len() => {
                *entries += more;
                for ((name, field), (more_name, more_field)) in fields.iter_mut().zip(more_fields) {
                    if name != more_name {
                        return Err(different_types());
                    }
                    field.append(more_field)?;
                }
                Ok(())
            }
            (
                Array::Regular { length, entries, content },
                Array::Regular { length: more_length, entries: more, content: more_content },
            ) if length == more_length => {
                *entries += more;
                content.append(more_content)
            }
            (
                Array::Option { index, content },
                Array::Option { index: more, content: more_content },
            ) => {
                let shift = content.len() as i64;
                memory::room(index, more.len())?;
                index.extend(more.iter().map(|at| if *at < 0 { -1 } else { at + shift }));
                content.append(more_content)
            }
            (
                Array::Union { tags, index, contents },
                Array::Union { tags: more_tags, index: more, contents: more_contents },
            ) if contents.len() == more_contents.len() => {
                indirect::append_union(tags, index, contents, more_tags, more, more_contents)
            }
            (
                Array::WithParameter { parameter, content },
                Array::WithParameter { parameter: more_parameter, content: more_content },
            ) if parameter == more_parameter => match parameter {
                ArrayParameter::Objects => indirect::append_objects(content, more_content),
                _ => content.append(more_content),
            },
            _ => Err(different_types()),
        }
    }

    /// Objects of whichever classes the data name, without the union where they are of one class.
    pub fn simplified(self) -> Array {
        match self {
            Array::WithParameter { parameter: ArrayParameter::Objects, content } => {
                indirect::of_one_class(*content)
            }
            other => other,
        }
    }

    /// Adds entries of zeros, empty lists and nothing. `false`, and nothing is added, where an
    /// entry would take more than `width_max` numbers.
    pub(crate) fn push_defaults(&mut self, entries: usize, width_max: usize) -> bool {
        match self {
            Array::Numbers { numbers, shape } => {
                let fits = width(shape) <= width_max;
                if fits {
                    return numbers.push_zeros(entries * width(shape)).is_ok();
                }
                return false;
            }
            Array::List { offsets, .. } => push_empty(offsets.to_mut(), entries),
            Array::Strings { offsets, .. } => push_empty(offsets, entries),
            Array::Record { entries: all, fields, .. } => {
                *all += entries;
                let lacking = |field: &Array| all.saturating_sub(field.len());
                let mut fields = fields.iter_mut().map(|(_, field)| field);
                return fields.all(|field| field.push_defaults(lacking(field), width_max));
            }
            Array::Regular { length, entries: all, content } => {
                *all += entries;
                return *length <= width_max
                    && content.push_defaults(entries * *length, width_max / (*length).max(1));
            }
            Array::Option { index, .. } => index.resize(index.len() + entries, -1),
            Array::Union { tags, index, .. } => {
                tags.resize(tags.len() + entries, -1);
                index.resize(index.len() + entries, -1);
            }
            Array::WithParameter { content, .. } => {
                return content.push_defaults(entries, width_max);
            }
        }
        true
    }

    /// All entries of all parts in one array; `None` where there are no parts. A single part is
    /// not copied.
    ///
    /// # Errors
    /// `Corrupt` where the types differ.
    pub fn concat(parts: Vec<Array>) -> Result<Option<Array>> {
        let mut rest = parts.into_iter();
        let Some(mut joined) = rest.next() else { return Ok(None) };
        let mut entries = 0;
        let mut bytes = 0;
        for part in rest.as_slice() {
            entries += part.len();
            bytes += part.nbytes();
        }
        if entries > 0 {
            joined.reserve(entries, bytes);
        }
        for part in rest {
            joined.append(&part)?;
        }
        Ok(Some(joined))
    }

    /// The addresses of the memory that is there for further numbers of a column of numbers or of
    /// lists of them: for a caller that prefaults it before it is written to.
    pub fn spare(&self) -> Range<usize> {
        match self {
            Array::Numbers { numbers, .. } => numbers.spare(),
            Array::List { content, .. } => content.spare(),
            _ => 0..0,
        }
    }

    /// Makes room for `entries` more entries that take about `bytes` in the file. Only a hint: the
    /// size that a file states may be a lie, and too much is not reserved.
    pub fn reserve(&mut self, entries: usize, bytes: usize) {
        match self {
            Array::Numbers { numbers, shape } => {
                numbers.reserve(entries.saturating_mul(width(shape)));
            }
            Array::List { offsets, content } => {
                reserve(offsets.to_mut(), entries);
                // How the bytes divide is known only where the items are of fixed size.
                if let Array::Numbers { numbers, .. } = &mut **content {
                    numbers.reserve(bytes / numbers.item_len());
                }
            }
            Array::Strings { offsets, bytes: text } => {
                reserve(offsets, entries);
                reserve(text, bytes.saturating_sub(entries));
            }
            Array::Record { fields, .. } => {
                for (_, field) in fields {
                    field.reserve(entries, 0);
                }
            }
            Array::Regular { length, content, .. } => {
                content.reserve(entries.saturating_mul(*length), 0);
            }
            Array::Option { index, .. } => reserve(index, entries),
            Array::Union { tags, index, .. } => {
                reserve(tags, entries);
                reserve(index, entries);
            }
            Array::WithParameter { content, .. } => content.reserve(entries, bytes),
        }
    }
}

/// Makes room where there is any; where there is none, adding will say so.
fn reserve<T>(vec: &mut Vec<T>, additional: usize) {
    let _ = vec.try_reserve(additional);
}

/// Without a call of `memcmp` for plain numbers: entries may come one by one, and on some
/// processors a comparison of no bytes at an address that is not mapped takes 200 ns.
fn is_same_shape(one: &[usize], other: &[usize]) -> bool {
    one.len() == other.len() && (one.is_empty() || one == other)
}

fn width(shape: &[usize]) -> usize {
    shape.iter().product()
}

fn slice_offsets(offsets: &[i64], entries: Range<usize>) -> (Vec<i64>, Range<usize>) {
    let chosen = &offsets[entries.start..=entries.end];
    let first = chosen[0];
    let last = chosen[chosen.len() - 1];
    (chosen.iter().map(|offset| offset - first).collect(), first as usize..last as usize)
}

/// Offsets of the chosen entries, and the runs of content that they have.
fn gather_offsets(offsets: &[i64], runs: &[Range<usize>]) -> (Vec<i64>, Vec<Range<usize>>) {
    let entries: usize = runs.iter().map(ExactSizeIterator::len).sum();
    let mut gathered = Vec::with_capacity(entries + 1);
    gathered.push(0);
    let mut inner = Vec::with_capacity(runs.len());
    let mut end = 0;
    for run in runs {
        let chosen = &offsets[run.start..=run.end];
        let first = chosen[0];
        let last = chosen[chosen.len() - 1];
        gathered.extend(chosen[1..].iter().map(|offset| offset - first + end));
        inner.push(first as usize..last as usize);
        end += last - first;
    }
    (gathered, inner)
}

fn push_empty(offsets: &mut Vec<i64>, entries: usize) {
    offsets.resize(offsets.len() + entries, offsets[offsets.len() - 1]);
}

pub(crate) fn append_offsets(offsets: &mut Vec<i64>, more: &[i64]) -> Result<()> {
    let shift = offsets[offsets.len() - 1];
    memory::room(offsets, more.len())?;
    offsets.extend(more[1..].iter().map(|offset| offset + shift));
    Ok(())
}

fn different_types() -> Error {
    Error::corrupt("parts of one column are of different types")
}

#[cfg(test)]
mod tests;
