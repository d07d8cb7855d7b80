//! The part of a column's arrays that a branch takes: one member of the records on the way, and
//! only numbers, texts and lists of them.

use std::ops::Range;

use crate::array::{Array, Numbers};

/// The values of one branch, as slices of the caller's arrays.
#[derive(Debug)]
pub(super) enum View<'a> {
    /// Numbers of a fixed shape.
    Numbers { numbers: &'a Numbers, shape: Vec<usize> },
    /// Entry `i` is `content[offsets[i]..offsets[i + 1]]`.
    Lists { offsets: &'a [i64], content: Box<View<'a>> },
    /// Entry `i` is `content[i * length..(i + 1) * length]`.
    Regular { length: usize, content: Box<View<'a>> },
    /// Entry `i` is `bytes[offsets[i]..offsets[i + 1]]`.
    Texts { offsets: &'a [i64], bytes: &'a [u8] },
}

impl<'a> View<'a> {
    /// The view of an array's part under a path, which has the number of the member in each record
    /// on the way. `None` where the array has another type there.
    pub fn of(array: &'a Array, path: &[usize]) -> Option<View<'a>> {
        Some(match array {
            Array::Numbers { numbers, shape } => View::Numbers { numbers, shape: shape.clone() },
            Array::Strings { offsets, bytes } => View::Texts { offsets, bytes },
            Array::List { offsets, content } => {
                View::Lists { offsets, content: Box::new(View::of(content, path)?) }
            }
            Array::Record { fields, .. } => {
                let (member, path) = path.split_first()?;
                View::of(&fields.get(*member)?.1, path)?
            }
            Array::Regular { length, content, .. } => match View::of(content, path)? {
                View::Numbers { numbers, mut shape } => {
                    shape.insert(0, *length);
                    View::Numbers { numbers, shape }
                }
                content => View::Regular { length: *length, content: Box::new(content) },
            },
            Array::WithParameter { content, .. } => View::of(content, path)?,
            Array::Option { .. } | Array::Union { .. } => return None,
        })
    }

    /// Bytes of entries where lists have their length in front, and texts a byte of theirs: of
    /// texts beyond 254 bytes a little less than they take.
    pub fn len_of(&self, entries: Range<usize>) -> u64 {
        let count = entries.len() as u64;
        match self {
            View::Numbers { numbers, shape } => count * (width(shape) * numbers.item_len()) as u64,
            View::Lists { offsets, content } => {
                4 * count + content.len_of(within(offsets, &entries))
            }
            View::Regular { length, content } => {
                4 * count + content.len_of(entries.start * length..entries.end * length)
            }
            View::Texts { offsets, .. } => count + within(offsets, &entries).len() as u64,
        }
    }
}

/// Numbers of a fixed shape.
pub(super) fn width(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// The range between the first and the last offset of entries.
pub(super) fn within(offsets: &[i64], entries: &Range<usize>) -> Range<usize> {
    offsets[entries.start] as usize..offsets[entries.end] as usize
}
