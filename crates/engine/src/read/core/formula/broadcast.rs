//! Columns entry by entry beside each other: lists item by item, one value with each item.

use std::borrow::Cow;
use std::ops::Range;

use rootfile::array::ArrayParameter;
use rootfile::{Array, Numbers};

use super::numbers::{Computed, Side};

/// The value of an expression: constants of Python, or one value an entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Int(i128),
    Float(f64),
    Bool(bool),
    Text(String),
    Array(Array),
}

/// Lists beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lengths {
    /// They have the same lengths, as in NumPy.
    Equal,
    /// The items that all of them have, as in ROOT.
    Shortest,
}

/// One side of an operation below all lists.
#[derive(Debug, Clone, Copy)]
pub(super) enum Leaf<'a> {
    Numbers(Side<'a>),
    Text(&'a str),
    /// String `i` is `bytes[offsets[i]..offsets[i + 1]]`.
    Strings(&'a [i64], &'a [u8]),
}

/// The operation below all lists.
pub(super) type Kernel<'a> = &'a dyn Fn(&[Leaf<'_>]) -> Computed<Numbers>;

/// A side on the way down through lists.
enum Part<'a> {
    Constant(Leaf<'a>),
    Array(Cow<'a, Array>),
}

impl Value {
    pub fn is_constant(&self) -> bool {
        !matches!(self, Value::Array(_))
    }

    fn part(&self) -> Part<'_> {
        Part::Constant(match self {
            Value::Array(array) => return Part::Array(Cow::Borrowed(array)),
            Value::Int(one) => Leaf::Numbers(Side::Int(*one)),
            Value::Float(one) => Leaf::Numbers(Side::Float(*one)),
            Value::Bool(one) => Leaf::Numbers(Side::Bool(*one)),
            Value::Text(text) => Leaf::Text(text),
        })
    }

    /// One value an entry; a constant is repeated.
    ///
    /// # Errors
    /// Where it is no number of a column's types.
    pub fn into_array(self, entries: usize) -> Computed<Array> {
        let numbers = match self {
            Value::Array(array) => return Ok(array),
            Value::Int(one) => match (i64::try_from(one), u64::try_from(one)) {
                (Ok(one), _) => Numbers::I64(vec![one; entries]),
                (_, Ok(one)) => Numbers::U64(vec![one; entries]),
                _ => return Err(format!("has the constant {one}, which no column can hold")),
            },
            Value::Float(one) => Numbers::F64(vec![one; entries]),
            Value::Bool(one) => Numbers::Bool(vec![one.into(); entries]),
            Value::Text(_) => return Err("gives a text".to_owned()),
        };
        Ok(plain(numbers))
    }
}

/// One number an entry.
pub(super) fn plain(numbers: Numbers) -> Array {
    Array::Numbers { numbers, shape: Vec::new() }
}

/// Values with the same entries, of which one at least is no constant.
pub(super) fn combine(values: &[Value], lengths: Lengths, kernel: Kernel<'_>) -> Computed<Array> {
    zip(values.iter().map(Value::part).collect(), lengths, kernel)
}

fn zip(mut parts: Vec<Part<'_>>, lengths: Lengths, kernel: Kernel<'_>) -> Computed<Array> {
    for part in &mut parts {
        if let Part::Array(array) = part {
            let closed = std::mem::replace(array, Cow::Owned(plain(Numbers::I8(Vec::new()))));
            *array = opened(closed)?;
        }
    }
    let mut entries = None;
    let mut has_missing = false;
    let mut has_lists = false;
    for array in parts.iter().filter_map(Part::array) {
        if *entries.get_or_insert(array.len()) != array.len() {
            return Err("has columns of different numbers of entries".to_owned());
        }
        has_missing |= matches!(array, Array::Option { .. });
        has_lists |= is_lists(array);
    }
    let entries = entries.ok_or("has no column")?;
    if has_missing {
        return with_missing(parts, entries, lengths, kernel);
    }
    if has_lists {
        return with_lists(&parts, entries, lengths, kernel);
    }
    let leaves = parts.iter().map(Part::leaf).collect::<Computed<Vec<_>>>()?;
    Ok(plain(kernel(&leaves)?))
}

impl Part<'_> {
    fn array(&self) -> Option<&Array> {
        match self {
            Part::Constant(_) => None,
            Part::Array(array) => Some(array),
        }
    }

    fn leaf(&self) -> Computed<Leaf<'_>> {
        match self {
            Part::Constant(leaf) => Ok(*leaf),
            Part::Array(array) => match &**array {
                Array::Numbers { numbers, .. } => Ok(Leaf::Numbers(Side::All(numbers))),
                Array::Strings { offsets, bytes } => Ok(Leaf::Strings(offsets, bytes)),
                _ => Err("computes with what is no number".to_owned()),
            },
        }
    }
}

fn is_lists(array: &Array) -> bool {
    matches!(array, Array::List { .. } | Array::Regular { .. })
}

/// The array with its outermost dimension in sight.
///
/// # Errors
/// Where it has no numbers, texts or lists of them.
fn opened(array: Cow<'_, Array>) -> Computed<Cow<'_, Array>> {
    Ok(match array {
        Cow::Borrowed(Array::WithParameter { parameter, content }) if is_plain(*parameter) => {
            opened(Cow::Borrowed(content))?
        }
        Cow::Owned(Array::WithParameter { parameter, content }) if is_plain(parameter) => {
            opened(Cow::Owned(*content))?
        }
        array => match &*array {
            Array::Numbers { shape, .. } if !shape.is_empty() => {
                let Array::Numbers { numbers, mut shape } = array.into_owned() else {
                    return Err("has no numbers".to_owned());
                };
                let length = shape.remove(0);
                let entries = numbers.len() / (length * shape.iter().product::<usize>()).max(1);
                let content = Box::new(Array::Numbers { numbers, shape });
                Cow::Owned(Array::Regular { length, entries, content })
            }
            Array::Record { .. } => {
                return Err("computes with objects: name one of their members".to_owned());
            }
            Array::Union { .. } | Array::WithParameter { .. } => {
                return Err("computes with objects of several types".to_owned());
            }
            _ => array,
        },
    })
}

fn is_plain(parameter: ArrayParameter) -> bool {
    matches!(parameter, ArrayParameter::Set | ArrayParameter::Bitset)
}

/// The array as lists: those that it has, or the dimension of a fixed length. Other arrays are
/// returned as they are.
pub(super) fn listed(array: Array) -> Computed<Array> {
    opened(Cow::Owned(array)).map(Cow::into_owned)
}

/// Of entries that one of the columns lacks nothing is known.
fn with_missing(
    parts: Vec<Part<'_>>,
    entries: usize,
    lengths: Lengths,
    kernel: Kernel<'_>,
) -> Computed<Array> {
    let mut is_there = vec![true; entries];
    for array in parts.iter().filter_map(Part::array) {
        if let Array::Option { index, .. } = array {
            is_there.iter_mut().zip(index).for_each(|(there, at)| *there &= *at >= 0);
        }
    }
    let mut index = Vec::with_capacity(entries);
    let mut count = 0;
    for there in &is_there {
        index.push(if *there { count } else { -1 });
        count += i64::from(*there);
    }
    let present = parts.into_iter().map(|part| match part {
        Part::Constant(leaf) => Part::Constant(leaf),
        Part::Array(array) => {
            let places = (0..entries).filter(|at| is_there[*at]);
            Part::Array(Cow::Owned(match &*array {
                Array::Option { index, content } => {
                    taken(content, places.map(|at| index[at] as usize))
                }
                _ => taken(&array, places),
            }))
        }
    });
    let content = Box::new(zip(present.collect(), lengths, kernel)?);
    Ok(Array::Option { index, content })
}

/// Lists beside lists, and one value beside all items of a list.
fn with_lists(
    parts: &[Part<'_>],
    entries: usize,
    lengths: Lengths,
    kernel: Kernel<'_>,
) -> Computed<Array> {
    let arrays = || parts.iter().filter_map(Part::array).filter(|array| is_lists(array));
    let fixed = |array: &Array| match array {
        Array::Regular { length, .. } => Some(*length),
        _ => None,
    };
    let lists: Vec<Lists<'_>> = arrays().filter_map(Lists::of).collect();
    let sizes: Option<Vec<usize>> = arrays().map(fixed).collect();
    // A dimension of one item goes with any other, as in NumPy.
    let is_one = |list: &Lists<'_>| lengths == Lengths::Equal && list.fixed == Some(1);
    let all_one = lists.iter().all(is_one);
    let stretched = |list: &Lists<'_>| !all_one && is_one(list);
    let mut offsets = Vec::with_capacity(entries + 1);
    offsets.push(0i64);
    for entry in 0..entries {
        let mut counts =
            lists.iter().filter(|list| !stretched(list)).map(|list| list.at(entry).len());
        let first = counts.next().unwrap_or(0);
        let count = match lengths {
            Lengths::Shortest => counts.fold(first, usize::min),
            Lengths::Equal => match counts.find(|count| *count != first) {
                None => first,
                Some(other) => {
                    return Err(format!("has lists of {first} and of {other} items in one entry"));
                }
            },
        };
        offsets.push(offsets[entry] + count as i64);
    }
    let span = |entry: usize| (offsets[entry + 1] - offsets[entry]) as usize;
    let inner = parts.iter().map(|part| {
        let array = match part {
            Part::Constant(leaf) => return Part::Constant(*leaf),
            Part::Array(array) => array,
        };
        let Some(list) = Lists::of(array) else { return Part::Array(spread(array, span)) };
        if stretched(&list) {
            return Part::Array(spread(list.content, span));
        }
        let runs = (0..entries).map(|at| list.at(at).start..list.at(at).start + span(at));
        Part::Array(Cow::Owned(list.content.gather(&merged(runs))))
    });
    let content = Box::new(zip(inner.collect(), lengths, kernel)?);
    let sizes = sizes.filter(|sizes| {
        let most = sizes.iter().find(|size| **size != 1).unwrap_or(&1);
        sizes.iter().all(|size| size == most || (*size == 1 && lengths == Lengths::Equal))
    });
    Ok(match sizes {
        Some(sizes) => {
            let length = sizes.iter().copied().find(|size| *size != 1).unwrap_or(1);
            Array::Regular { length, entries, content }
        }
        None => Array::List { offsets: offsets.into(), content },
    })
}

/// Lists of either kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lists<'a> {
    offsets: Option<&'a [i64]>,
    /// Items of each, where all have as many.
    pub fixed: Option<usize>,
    pub content: &'a Array,
}

impl<'a> Lists<'a> {
    /// `None` for an array whose outermost dimension is no list.
    pub fn of(array: &'a Array) -> Option<Self> {
        match array {
            Array::List { offsets, content } => {
                Some(Lists { offsets: Some(offsets), fixed: None, content })
            }
            Array::Regular { length, content, .. } => {
                Some(Lists { offsets: None, fixed: Some(*length), content })
            }
            _ => None,
        }
    }

    /// The items of one in the content.
    pub fn at(&self, entry: usize) -> Range<usize> {
        match (self.offsets, self.fixed) {
            (Some(offsets), _) => offsets[entry] as usize..offsets[entry + 1] as usize,
            (None, length) => {
                let length = length.unwrap_or(0);
                entry * length..(entry + 1) * length
            }
        }
    }
}

/// Each value as often as its list has items.
fn spread<'a>(array: &Array, items: impl Fn(usize) -> usize) -> Cow<'a, Array> {
    let places = (0..array.len()).flat_map(|at| std::iter::repeat_n(at, items(at)));
    Cow::Owned(taken(array, places))
}

/// The entries at these places.
pub(super) fn taken(array: &Array, places: impl Iterator<Item = usize>) -> Array {
    match array {
        Array::Numbers { numbers, shape } if shape.is_empty() => plain(picked(numbers, places)),
        _ => array.gather(&merged(places.map(|at| at..at + 1))),
    }
}

fn picked(numbers: &Numbers, places: impl Iterator<Item = usize>) -> Numbers {
    fn of<T: Copy>(all: &[T], places: impl Iterator<Item = usize>) -> Vec<T> {
        places.map(|at| all[at]).collect()
    }
    match numbers {
        Numbers::Bool(all) => Numbers::Bool(of(all, places)),
        Numbers::I8(all) => Numbers::I8(of(all, places)),
        Numbers::I16(all) => Numbers::I16(of(all, places)),
        Numbers::I32(all) => Numbers::I32(of(all, places)),
        Numbers::I64(all) => Numbers::I64(of(all, places)),
        Numbers::U8(all) => Numbers::U8(of(all, places)),
        Numbers::U16(all) => Numbers::U16(of(all, places)),
        Numbers::U32(all) => Numbers::U32(of(all, places)),
        Numbers::U64(all) => Numbers::U64(of(all, places)),
        Numbers::F32(all) => Numbers::F32(of(all, places)),
        Numbers::F64(all) => Numbers::F64(of(all, places)),
    }
}

/// The runs, with those in one that follow each other.
fn merged(runs: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for run in runs.filter(|run| !run.is_empty()) {
        match all.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => all.push(run),
        }
    }
    all
}
