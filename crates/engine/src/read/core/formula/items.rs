//! Items that an index takes of each entry.

use rootfile::array::Offsets;
use rootfile::{Array, Numbers};

use super::broadcast::{Lists, listed, taken};
use super::numbers::{Cast, Computed, Side};

/// The part of one dimension that an index selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Axis {
    /// First, last (half open) and how far from one to the next.
    Slice(Option<i64>, Option<i64>, i64),
    Item(i64),
    /// A new dimension of one item.
    New,
}

pub(super) const WHOLE: Axis = Axis::Slice(None, None, 1);

/// Why an index is refused that takes some of the entries.
const TAKES_ENTRIES: &str = "has an index that takes some of the entries: write [:, 0] for the \
                             first item of each, and [:, :2] for two";

/// How many dimensions an array has, the entries included.
pub(super) fn dimensions(array: &Array) -> usize {
    match array {
        Array::Numbers { shape, .. } => 1 + shape.len(),
        Array::List { content, .. } | Array::Regular { content, .. } => 1 + dimensions(content),
        Array::Option { content, .. } | Array::WithParameter { content, .. } => dimensions(content),
        _ => 1,
    }
}

/// The items that an index takes of each entry.
pub(super) fn indexed(array: Array, axes: &[Axis]) -> Computed<Array> {
    match axes.split_first() {
        Some((&WHOLE, rest)) => within(array, rest),
        _ => Err(TAKES_ENTRIES.to_owned()),
    }
}

fn within(array: Array, axes: &[Axis]) -> Computed<Array> {
    let Some((axis, rest)) = axes.split_first() else { return Ok(array) };
    let entries = array.len();
    if *axis == Axis::New {
        let content = Box::new(within(array, rest)?);
        return Ok(Array::Regular { length: 1, entries, content });
    }
    let array = listed(array)?;
    if let Array::Option { index, content } = array {
        let content = Box::new(within(*content, axes)?);
        return Ok(Array::Option { index, content });
    }
    let Some(lists) = Lists::of(&array) else {
        return Err("has an index of more dimensions than what it is of".to_owned());
    };
    if let Axis::Item(item) = *axis {
        let place = |entry: usize| {
            let items = lists.at(entry);
            let at = if item < 0 { item + items.len() as i64 } else { item };
            let is_there = (0..items.len() as i64).contains(&at);
            is_there.then(|| items.start + at as usize).ok_or_else(|| {
                let count = items.len();
                format!(
                    "takes item {item} of a list of {count}: a slice, as in [:, :1], takes it \
                     where it is there"
                )
            })
        };
        let places = (0..entries).map(place).collect::<Computed<Vec<_>>>()?;
        return within(taken(lists.content, places.into_iter()), rest);
    }
    let Axis::Slice(first, last, step) = *axis else { return Ok(array) };
    let mut offsets = vec![0i64];
    let mut places = Vec::new();
    for entry in 0..entries {
        let items = lists.at(entry);
        sliced(items.len() as i64, first, last, step, &mut |at| {
            places.push(items.start + at as usize);
        });
        offsets.push(places.len() as i64);
    }
    let length = lists.fixed.map(|length| {
        let mut count = 0;
        sliced(length as i64, first, last, step, &mut |_| count += 1);
        count
    });
    let content = Box::new(within(taken(lists.content, places.into_iter()), rest)?);
    Ok(match length {
        Some(length) => Array::Regular { length, entries, content },
        None => Array::List { offsets: offsets.into(), content },
    })
}

/// The places that a slice takes, as Python does.
fn sliced(
    length: i64,
    first: Option<i64>,
    last: Option<i64>,
    step: i64,
    take: &mut dyn FnMut(i64),
) {
    let is_up = step > 0;
    let (least, most) = if is_up { (0, length) } else { (-1, length - 1) };
    let clamped = |bound: i64| {
        let bound = if bound < 0 { bound.saturating_add(length) } else { bound };
        bound.clamp(least, most)
    };
    let mut at = first.map_or(if is_up { least } else { most }, clamped);
    let end = last.map_or(if is_up { most } else { least }, clamped);
    while if is_up { at < end } else { at > end } {
        take(at);
        at = at.saturating_add(step);
    }
}

/// The items of each entry that a list of true and false, or of places, takes.
pub(super) fn chosen(array: Array, by: Array) -> Computed<Array> {
    if dimensions(&by) < 2 {
        return Err(TAKES_ENTRIES.to_owned());
    }
    picked(listed(array)?, listed(by)?)
}

fn picked(array: Array, by: Array) -> Computed<Array> {
    match (array, by) {
        (Array::Option { index, content }, Array::Option { index: other, content: by }) => {
            let same = index.iter().zip(&other).all(|(a, b)| (*a < 0) == (*b < 0));
            if !same {
                return Err("has an index that is missing where what it is of is not".to_owned());
            }
            let there = |index: &[i64]| {
                index.iter().filter(|at| **at >= 0).map(|at| *at as usize).collect::<Vec<_>>()
            };
            let content = taken(&content, there(&index).into_iter());
            let by = taken(&by, there(&other).into_iter());
            let mut count = -1;
            let index = index.iter().map(|at| {
                if *at < 0 {
                    -1
                } else {
                    count += 1;
                    count
                }
            });
            let index = index.collect();
            Ok(Array::Option { index, content: Box::new(picked(listed(content)?, listed(by)?)?) })
        }
        (array, by) => {
            let (Some(lists), Some(others)) = (Lists::of(&array), Lists::of(&by)) else {
                return Err("has an index that is no list for each entry".to_owned());
            };
            let inner = listed(others.content.clone())?;
            match &inner {
                Array::Numbers { numbers: Numbers::Bool(mask), .. } => {
                    masked(&array, lists, others, mask)
                }
                Array::Numbers { numbers, .. } => placed(&array, lists, others, numbers),
                Array::List { .. } | Array::Regular { .. } => deeper(&array, lists, others),
                _ => Err("has an index that is neither of true and false nor of places".to_owned()),
            }
        }
    }
}

fn masked(array: &Array, lists: Lists<'_>, by: Lists<'_>, mask: &[u8]) -> Computed<Array> {
    let mut offsets = vec![0i64];
    let mut places = Vec::new();
    for entry in 0..array.len() {
        let items = lists.at(entry);
        let bits = by.at(entry);
        if items.len() != bits.len() {
            return Err(different(items.len(), bits.len()));
        }
        places.extend(items.zip(bits).filter(|(_, bit)| mask[*bit] != 0).map(|(item, _)| item));
        offsets.push(places.len() as i64);
    }
    Ok(list(offsets.into(), taken(lists.content, places.into_iter())))
}

fn placed(array: &Array, lists: Lists<'_>, by: Lists<'_>, numbers: &Numbers) -> Computed<Array> {
    if matches!(numbers, Numbers::F32(_) | Numbers::F64(_)) {
        return Err("has an index of floats".to_owned());
    }
    let numbers = i64::cast(Side::All(numbers));
    let mut offsets = vec![0i64];
    let mut places = Vec::new();
    for entry in 0..array.len() {
        let items = lists.at(entry);
        for at in by.at(entry) {
            let item = numbers.at(at);
            let place = if item < 0 { item + items.len() as i64 } else { item };
            if !(0..items.len() as i64).contains(&place) {
                return Err(format!("takes item {item} of a list of {}", items.len()));
            }
            places.push(items.start + place as usize);
        }
        offsets.push(places.len() as i64);
    }
    Ok(list(offsets.into(), taken(lists.content, places.into_iter())))
}

/// The same in the lists that lists have.
fn deeper(array: &Array, lists: Lists<'_>, by: Lists<'_>) -> Computed<Array> {
    let mut offsets = vec![0i64];
    for entry in 0..array.len() {
        let items = lists.at(entry).len();
        let others = by.at(entry).len();
        if items != others {
            return Err(different(items, others));
        }
        offsets.push(offsets[entry] + items as i64);
    }
    let content = picked(listed(lists.content.clone())?, listed(by.content.clone())?)?;
    Ok(list(offsets.into(), content))
}

fn different(items: usize, others: usize) -> String {
    format!("has an index with {others} values for a list of {items} items")
}

fn list(offsets: Offsets, content: Array) -> Array {
    Array::List { offsets, content: Box::new(content) }
}
