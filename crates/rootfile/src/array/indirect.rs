//! Arrays whose entries say where in their contents they are: optional ones and unions.

use std::ops::Range;

use super::{Array, ArrayParameter, different_types};
use crate::error::{Error, Result};

/// Several runs of an optional array, with only those values that they need.
pub(super) fn gather_option(index: &[i64], content: &Array, runs: &[Range<usize>]) -> Array {
    let mut gathered = Vec::new();
    let mut values = Vec::new();
    let mut end = 0;
    for run in runs {
        let chosen = &index[run.clone()];
        let used = used(chosen.iter().copied().filter(|at| *at >= 0));
        let shift = end - used.start as i64;
        gathered.extend(chosen.iter().map(|at| if *at < 0 { -1 } else { at + shift }));
        end += used.len() as i64;
        values.push(used);
    }
    Array::Option { index: gathered, content: Box::new(content.gather(&values)) }
}

/// As [`gather_option`], of a union.
pub(super) fn gather_union(
    tags: &[i8],
    index: &[i64],
    contents: &[Array],
    runs: &[Range<usize>],
) -> Array {
    let chosen = || runs.iter().cloned().flatten();
    let gathered_tags: Vec<i8> = chosen().map(|at| tags[at]).collect();
    let mut gathered: Vec<i64> = chosen().map(|at| index[at]).collect();
    let contents = contents.iter().enumerate().map(|(tag, content)| {
        let mut values = Vec::new();
        let mut end = 0;
        let mut row = 0;
        for run in runs {
            let mine = || run.clone().filter(|at| tags[*at] as usize == tag);
            let used = used(mine().map(|at| index[at]));
            let shift = end - used.start as i64;
            mine().for_each(|at| gathered[row + at - run.start] += shift);
            end += used.len() as i64;
            row += run.len();
            values.push(used);
        }
        content.gather(&values)
    });
    let contents = contents.collect();
    Array::Union { tags: gathered_tags, index: gathered, contents }
}

pub(super) fn append_union(
    tags: &mut Vec<i8>,
    index: &mut Vec<i64>,
    contents: &mut [Array],
    more_tags: &[i8],
    more_index: &[i64],
    more_contents: &[Array],
) -> Result<()> {
    let lengths: Vec<i64> = contents.iter().map(|content| content.len() as i64).collect();
    let shift = |(tag, at): (&i8, &i64)| {
        let length = usize::try_from(*tag).ok().and_then(|tag| lengths.get(tag));
        at + length.copied().unwrap_or(0)
    };
    index.extend(more_tags.iter().zip(more_index).map(shift));
    tags.extend_from_slice(more_tags);
    for (content, more) in contents.iter_mut().zip(more_contents) {
        content.append(more)?;
    }
    Ok(())
}

/// As [`append_union`], of unions whose alternatives are those that were met.
pub(super) fn append_objects(objects: &mut Array, more: &Array) -> Result<()> {
    let (
        Array::Union { tags, index, contents },
        Array::Union { tags: more_tags, index: more_index, contents: more_contents },
    ) = (objects, more)
    else {
        return Err(different_types());
    };
    let mut moved = Vec::with_capacity(more_contents.len());
    for more in more_contents {
        let tag = alternative(contents, more)?;
        let content = &mut contents[tag as usize];
        moved.push((tag, content.len() as i64));
        content.append(more)?;
    }
    for (tag, at) in more_tags.iter().zip(more_index) {
        let known = usize::try_from(*tag).ok().and_then(|tag| moved.get(tag));
        let (tag, at) = known.map_or((-1, -1), |(tag, shift)| (*tag, at + shift));
        tags.push(tag);
        index.push(at);
    }
    Ok(())
}

/// Objects that are all of one class without the union, optional where there are null pointers;
/// others as they are.
pub(super) fn of_one_class(objects: Array) -> Array {
    let Array::Union { tags, index, mut contents } = objects else { return objects };
    if contents.len() != 1 {
        let content = Box::new(Array::Union { tags, index, contents });
        return Array::WithParameter { parameter: ArrayParameter::Objects, content };
    }
    let content = contents.swap_remove(0);
    let in_order = index.len() == content.len() && index.iter().zip(0..).all(|(at, i)| *at == i);
    if in_order { content } else { Array::Option { index, content: Box::new(content) } }
}

/// The alternative for values of the kind of `like`; a new one where there is none.
///
/// # Errors
/// `LimitReached` for more alternatives than tags can number.
pub(crate) fn alternative(contents: &mut Vec<Array>, like: &Array) -> Result<i8> {
    let known = contents.iter().position(|content| same_kind(content, like));
    let at = known.unwrap_or(contents.len());
    let tag = i8::try_from(at).map_err(|_| Error::limit("objects of more than 127 classes"))?;
    if known.is_none() {
        contents.push(like.empty_like());
    }
    Ok(tag)
}

/// Whether two arrays are of one type, whatever objects of any class are in them.
fn same_kind(a: &Array, b: &Array) -> bool {
    match (a, b) {
        (
            Array::Record { class: Some(a), fields, .. },
            Array::Record { class: Some(b), fields: others, .. },
        ) => {
            // Some of a class may come without members.
            a == b && fields.is_empty() == others.is_empty()
        }
        (Array::Strings { .. }, Array::Strings { .. }) => true,
        (Array::List { content: a, .. }, Array::List { content: b, .. }) => same_kind(a, b),
        (
            Array::WithParameter { parameter: a, content },
            Array::WithParameter { parameter: b, content: other },
        ) => a == b && (*a == ArrayParameter::Objects || same_kind(content, other)),
        (Array::Record { fields: a, .. }, Array::Record { fields: b, .. }) => {
            let alike = |((a, left), (b, right)): (&(String, Array), &(String, Array))| {
                a == b && same_kind(left, right)
            };
            a.len() == b.len() && a.iter().zip(b).all(alike)
        }
        _ => a.empty_like() == b.empty_like(),
    }
}

/// From the lowest to the highest position.
fn used(positions: impl Iterator<Item = i64> + Clone) -> Range<usize> {
    match (positions.clone().min(), positions.max()) {
        (Some(first), Some(last)) => first as usize..last as usize + 1,
        _ => 0..0,
    }
}
