//! Leaf lists with counted arrays or strings: the leaves of an entry one after the other, without
//! anything between them.

use std::ops::Range;

use super::bytes::Bytes;
use super::column::{extend, integer, record_of, wrong_column};
use super::{no_lengths, no_offsets};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::tree::basket::Basket;
use crate::tree::interpret::Interpretation;
use crate::tree::interpret::layout::{Counter, Layout, Part};

/// Strings of one entry of which any may have taken no byte.
const TEXTS_MAX: usize = 8;

impl Interpretation {
    /// Structures of varying size.
    pub(super) fn decode_leaves(
        &self,
        basket: &Basket<'_>,
        entries: Range<usize>,
        column: &mut Array,
    ) -> Result<()> {
        let Layout::Record { record, .. } = &self.layout else { wrong_column() };
        let [version] = &record.versions[..] else { wrong_column() };
        let leaves: Vec<&Layout> = version.parts.iter().map(layout_of).collect();
        let stored = basket.entry_offsets.as_ref().ok_or_else(no_offsets)?;
        let (count, fields) = record_of(column);
        for entry in entries.clone() {
            let bytes = &basket.data[stored[entry] as usize..stored[entry + 1] as usize];
            let outside = match (&basket.lengths, self.always_needs_counts()) {
                (Some(lengths), true) => lengths.get(entry).and_then(|of| of.first().copied()),
                (None, true) => return Err(no_lengths()),
                (_, false) => None,
            };
            let sizes = sizes_that_fit(&leaves, outside, bytes)?;
            let mut rest = bytes;
            for ((leaf, size), (_, field)) in leaves.iter().zip(sizes).zip(&mut *fields) {
                let (own, after) = rest.split_at_checked(size).ok_or_else(misfit)?;
                append(leaf, own, field)?;
                rest = after;
            }
        }
        *count += entries.len();
        Ok(())
    }
}

fn layout_of(part: &Part) -> &Layout {
    match part {
        Part::Member { layout, .. } => layout,
        _ => wrong_column(),
    }
}

/// How many bytes each leaf of an entry has. ROOT may write no byte at all for a string without
/// letters, which shows only in how long the entry is.
fn sizes_that_fit(leaves: &[&Layout], outside: Option<usize>, bytes: &[u8]) -> Result<Vec<usize>> {
    let texts = leaves.iter().filter(|leaf| matches!(leaf, Layout::Text(_))).count();
    if texts > TEXTS_MAX {
        return Err(Error::unsupported(format!("{texts} strings among the leaves of one branch")));
    }
    let mut fitting =
        (0..1u32 << texts).filter_map(|left_out| sizes(leaves, outside, left_out, bytes));
    match (fitting.next(), fitting.next()) {
        (Some(sizes), None) => Ok(sizes),
        (Some(_), Some(_)) => {
            Err(Error::unsupported("strings without letters, which leave no trace in the file"))
        }
        (None, _) => Err(misfit()),
    }
}

/// The same where the strings in `left_out` have no bytes; `None` where the entry has another
/// length.
fn sizes(
    leaves: &[&Layout],
    outside: Option<usize>,
    mut left_out: u32,
    bytes: &[u8],
) -> Option<Vec<usize>> {
    let mut starts = vec![0usize];
    for leaf in leaves {
        let start = *starts.last()?;
        let rest = bytes.get(start..)?;
        let size = match leaf {
            Layout::Text(_) => {
                let is_left_out = left_out & 1 != 0;
                left_out >>= 1;
                if is_left_out { 0 } else { text_size(rest)? }
            }
            Layout::Counted(counted) => {
                let count = match counted.by {
                    Counter::Branch => outside?,
                    Counter::Field(at) => {
                        count_at(leaves.get(at)?, bytes.get(*starts.get(at)?..)?)?
                    }
                };
                counted.item.fixed_size()?.checked_mul(count)?
            }
            leaf => leaf.fixed_size()?,
        };
        starts.push(start.checked_add(size).filter(|end| *end <= bytes.len())?);
    }
    let fits = starts.last() == Some(&bytes.len());
    fits.then(|| starts.windows(2).map(|bounds| bounds[1] - bounds[0]).collect())
}

/// Bytes of a string, its length included.
fn text_size(bytes: &[u8]) -> Option<usize> {
    let mut rest = Bytes::new(bytes, 0);
    rest.text().ok()?;
    Some(bytes.len() - rest.len())
}

/// The count in a leaf: 0 where it is negative.
fn count_at(leaf: &Layout, bytes: &[u8]) -> Option<usize> {
    let Layout::Scalars { scalar, .. } = leaf else { return None };
    let Array::Numbers { mut numbers, .. } = leaf.empty() else { return None };
    extend(*scalar, &mut numbers, bytes.get(..scalar.size())?).ok()?;
    integer(&numbers, 0).map(|count| usize::try_from(count).unwrap_or(0))
}

/// Appends a leaf of one entry, which has exactly these bytes.
fn append(leaf: &Layout, bytes: &[u8], field: &mut Array) -> Result<()> {
    match (leaf, field) {
        (Layout::Scalars { scalar, .. }, Array::Numbers { numbers, .. }) => {
            extend(*scalar, numbers, bytes)?;
        }
        (Layout::Text(_), Array::Strings { offsets, bytes: letters }) => {
            letters.extend_from_slice(Bytes::new(bytes, 0).text().unwrap_or_default());
            offsets.push(letters.len() as i64);
        }
        (Layout::Counted(counted), Array::List { offsets, content }) => {
            let (Layout::Scalars { scalar, .. }, Array::Numbers { numbers, .. }) =
                (&*counted.item, &mut **content)
            else {
                wrong_column()
            };
            extend(*scalar, numbers, bytes)?;
            offsets.to_mut().push(content.len() as i64);
        }
        _ => wrong_column(),
    }
    Ok(())
}

fn misfit() -> Error {
    Error::corrupt("leaves of one branch that do not fill its entry")
}
