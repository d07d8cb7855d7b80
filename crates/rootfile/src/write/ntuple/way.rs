//! Where the elements of a column are in arrays.

use std::ops::Range;

use crate::array::{Array, Numbers};
use crate::error::{Error, Result};
use crate::write::schema::EntryType;

/// From an array of entries to the elements of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Way {
    pub steps: Vec<WayStep>,
    pub end: WayEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WayStep {
    /// Into the items of lists.
    Items,
    /// Into the items of what is regular.
    Fixed,
    /// Into a member of records.
    Member(usize),
}

/// Which elements of those that the steps lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WayEnd {
    /// Where lists or strings end.
    Ends,
    /// Numbers, or the bytes of strings.
    Values,
}

/// The elements of a whole array.
#[derive(Debug, Clone, Copy)]
pub(super) enum ElementsOf<'a> {
    Numbers(&'a Numbers),
    /// Element `i` ends at `offsets[i + 1]`.
    Ends(&'a [i64]),
    Bytes(&'a [u8]),
}

impl Way {
    /// The elements of an array, and which of them its entries in `range` have.
    ///
    /// # Errors
    /// `Unsupported` where the array is of another type.
    pub fn elements<'a>(
        &self,
        mut array: &'a Array,
        mut range: Range<usize>,
    ) -> Result<(ElementsOf<'a>, Range<usize>)> {
        let mut steps = self.steps.iter();
        loop {
            match array {
                Array::WithParameter { content, .. } => array = content,
                Array::Numbers { numbers, shape } => {
                    let width: usize = shape.iter().product();
                    let range = range.start * width..range.end * width;
                    return Ok((ElementsOf::Numbers(numbers), range));
                }
                Array::Strings { offsets, bytes } => {
                    return Ok(match self.end {
                        WayEnd::Ends => (ElementsOf::Ends(offsets), range),
                        WayEnd::Values => (ElementsOf::Bytes(bytes), within(offsets, range)),
                    });
                }
                Array::List { offsets, content } => {
                    if steps.next().is_none() {
                        return Ok((ElementsOf::Ends(offsets), range));
                    }
                    (range, array) = (within(offsets, range), content);
                }
                Array::Regular { length, content, .. } => {
                    steps.next();
                    (range, array) = (range.start * length..range.end * length, content);
                }
                Array::Record { fields, .. } => match steps.next() {
                    Some(WayStep::Member(member)) if *member < fields.len() => {
                        array = &fields[*member].1;
                    }
                    _ => return Err(another_type()),
                },
                Array::Option { .. } | Array::Union { .. } => return Err(another_type()),
            }
        }
    }
}

/// What entries in `range` have of the content.
fn within(offsets: &[i64], range: Range<usize>) -> Range<usize> {
    offsets[range.start] as usize..offsets[range.end] as usize
}

fn another_type() -> Error {
    Error::unsupported("an array of another type than its column's")
}

/// The type of entries with a list of at most one in place of what may be missing, as RNTuple
/// stores it.
pub(super) fn listed(entry: &EntryType) -> EntryType {
    match entry {
        EntryType::Number(_) | EntryType::String => entry.clone(),
        EntryType::Regular { length, content } => {
            EntryType::Regular { length: *length, content: Box::new(listed(content)) }
        }
        EntryType::List(content) | EntryType::Option(content) => {
            EntryType::List(Box::new(listed(content)))
        }
        EntryType::Record(members) => {
            let member = |(name, entry): &(String, EntryType)| (name.clone(), listed(entry));
            EntryType::Record(members.iter().map(member).collect())
        }
    }
}

/// The same entries of the type that [`listed`] gives; `None` where that is theirs.
///
/// # Errors
/// `Corrupt` for an index that is not within its content.
pub(super) fn with_lists(array: &Array) -> Result<Option<Array>> {
    let boxed = |content: &Array| -> Result<Box<Array>> {
        Ok(Box::new(with_lists(content)?.unwrap_or_else(|| content.clone())))
    };
    if !has_option(array) {
        return Ok(None);
    }
    Ok(Some(match array {
        Array::Option { index, content } => {
            let present = present(index, content.len())?;
            let runs = runs(index);
            let chosen = match &runs[..] {
                [all] if *all == (0..content.len()) => boxed(content)?,
                _ => boxed(&content.gather(&runs))?,
            };
            Array::List { offsets: present.into(), content: chosen }
        }
        Array::List { offsets, content } => {
            Array::List { offsets: offsets.clone(), content: boxed(content)? }
        }
        Array::Regular { length, entries, content } => {
            Array::Regular { length: *length, entries: *entries, content: boxed(content)? }
        }
        Array::Record { class, entries, fields } => {
            let field = |(name, field): &(String, Array)| Ok((name.clone(), *boxed(field)?));
            let fields = fields.iter().map(field).collect::<Result<_>>()?;
            Array::Record { class: class.clone(), entries: *entries, fields }
        }
        Array::WithParameter { content, .. } => *boxed(content)?,
        Array::Numbers { .. } | Array::Strings { .. } | Array::Union { .. } => array.clone(),
    }))
}

fn has_option(array: &Array) -> bool {
    match array {
        Array::Option { .. } => true,
        Array::List { content, .. }
        | Array::Regular { content, .. }
        | Array::WithParameter { content, .. } => has_option(content),
        Array::Record { fields, .. } => fields.iter().any(|(_, field)| has_option(field)),
        Array::Numbers { .. } | Array::Strings { .. } | Array::Union { .. } => false,
    }
}

/// How many entries are there in front of each, and in all.
fn present(index: &[i64], len: usize) -> Result<Vec<i64>> {
    if index.iter().any(|at| *at >= len as i64) {
        return Err(Error::corrupt("an array whose index is beyond its content"));
    }
    let mut count = 0;
    let ends = index.iter().map(|at| {
        count += i64::from(*at >= 0);
        count
    });
    Ok(std::iter::once(0).chain(ends).collect())
}

/// The runs of content that an index names, in its order.
fn runs(index: &[i64]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in index.iter().filter_map(|at| usize::try_from(*at).ok()) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(all: &[i32]) -> Array {
        Array::Numbers { numbers: Numbers::I32(all.to_vec()), shape: vec![] }
    }

    #[test]
    fn what_is_missing_becomes_empty_lists() {
        let content = Box::new(numbers(&[10, 20, 30]));
        let option = Array::Option { index: vec![2, -1, 0, 1, -1], content };
        let list = with_lists(&option).unwrap().expect("has an option");
        let content = Box::new(numbers(&[30, 10, 20]));
        let offsets = vec![0, 1, 1, 2, 3, 3].into();
        assert_eq!(list, Array::List { offsets, content });
        let (entry, stored) = (EntryType::of(&option).unwrap(), EntryType::of(&list).unwrap());
        assert_eq!(listed(&entry), stored);
        assert_eq!(with_lists(&list).unwrap(), None);
        let beyond = Array::Option { index: vec![1], content: Box::new(numbers(&[1])) };
        assert!(with_lists(&beyond).is_err());
    }

    #[test]
    fn elements_of_some_entries() {
        let content = Box::new(Array::Numbers { numbers: Numbers::U8(vec![7; 8]), shape: vec![2] });
        let list = Array::List { offsets: vec![0, 1, 1, 4].into(), content };
        let fields = vec![("a".to_owned(), numbers(&[1, 2, 3])), ("b".to_owned(), list)];
        let record = Array::Record { class: None, entries: 3, fields };
        let range = |steps: &[WayStep], end, entries| {
            let way = Way { steps: steps.to_vec(), end };
            way.elements(&record, entries).unwrap().1
        };
        let (b, items) = (WayStep::Member(1), WayStep::Items);
        assert_eq!(range(&[WayStep::Member(0)], WayEnd::Values, 1..3), 1..3);
        assert_eq!(range(&[b], WayEnd::Ends, 1..3), 1..3);
        assert_eq!(range(&[b, items, WayStep::Fixed], WayEnd::Values, 1..3), 2..8);
    }
}
