//! The second pass: each column from the spans found for it.

use super::super::column::{extend_pieces, plain, record_of, wrong_column};
use crate::array::Array;
use crate::error::Result;
use crate::memory;
use crate::types::scalar::Scalar;

/// Where something is, and how much of it: objects, items or, of texts, bytes.
pub type Span = (u32, u32);

/// The spans that the first pass has found, by slots.
pub type Found = Vec<Vec<Span>>;

/// The spans that a column is filled from.
#[derive(Debug, Clone, PartialEq)]
pub enum Fill {
    /// Numbers of `size` bytes an object, behind `before` bytes an object of the members before
    /// them.
    Numbers {
        slot: usize,
        before: usize,
        size: usize,
        scalar: Scalar,
    },
    Texts {
        slot: usize,
    },
    Lists {
        slot: usize,
        content: Box<Fill>,
    },
    /// By the position of the field.
    Objects {
        fields: Vec<(usize, Fill)>,
    },
}

impl Fill {
    /// Appends so many values.
    ///
    /// # Errors
    /// `Limit` where there is no memory for them.
    pub fn append(
        &self,
        data: &[u8],
        found: &Found,
        count: usize,
        column: &mut Array,
    ) -> Result<()> {
        match (self, plain(column)) {
            (Fill::Numbers { slot, before, size, scalar }, Array::Numbers { numbers, .. }) => {
                let piece = |(at, count): &Span| {
                    let at = *at as usize;
                    let count = *count as usize;
                    at + before * count..at + (before + size) * count
                };
                extend_pieces(*scalar, numbers, data, found[*slot].iter().map(piece))?;
            }
            (Fill::Texts { slot }, Array::Strings { offsets, bytes }) => {
                let texts = &found[*slot];
                memory::room(bytes, texts.iter().map(|(_, len)| *len as usize).sum())?;
                memory::room(offsets, texts.len())?;
                for (at, len) in texts {
                    bytes.extend_from_slice(&data[*at as usize..][..*len as usize]);
                    offsets.push(bytes.len() as i64);
                }
            }
            (Fill::Lists { slot, content }, Array::List { offsets, content: items }) => {
                let offsets = offsets.to_mut();
                let first = offsets[offsets.len() - 1];
                let mut end = first;
                memory::room(offsets, found[*slot].len())?;
                offsets.extend(found[*slot].iter().map(|(_, count)| {
                    end += i64::from(*count);
                    end
                }));
                content.append(data, found, (end - first) as usize, items)?;
            }
            (Fill::Objects { fields }, objects) => {
                let (entries, columns) = record_of(objects);
                *entries += count;
                for (at, fill) in fields {
                    match columns.get_mut(*at) {
                        Some((_, column)) => fill.append(data, found, count, column)?,
                        None => wrong_column(),
                    }
                }
            }
            _ => wrong_column(),
        }
        Ok(())
    }
}
