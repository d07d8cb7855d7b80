//! Arrays whose entries say where in their contents they are: optional ones and unions.

use std::ops::Range;

use super::Array;
use crate::error::Result;

/// Several runs of an optional array, with only those values that they need.
pub(super) fn gather_option(index: &[i64], content: &Array, runs: &[Range<usize>]) -> Array {
    let (mut gathered, mut values) = (Vec::new(), Vec::new());
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
        let (mut values, mut end, mut row) = (Vec::new(), 0, 0);
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
    (more_tags, more_index, more_contents): (&[i8], &[i64], &[Array]),
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

/// From the lowest to the highest position.
fn used(positions: impl Iterator<Item = i64> + Clone) -> Range<usize> {
    match (positions.clone().min(), positions.max()) {
        (Some(first), Some(last)) => first as usize..last as usize + 1,
        _ => 0..0,
    }
}
