//! The way through arrays to the elements of a column.

use std::borrow::Cow;
use std::ops::Range;

use crate::array::{Array, Number, Numbers};
use crate::error::{Error, Result};
use crate::write::schema::EntryType;

/// From an array of entries to the elements of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::write) struct Way {
    pub steps: Vec<WayStep>,
    pub end: WayEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::write) enum WayStep {
    /// Into the items of lists.
    Items,
    /// Into the items of arrays of a fixed length.
    Fixed,
    /// Into a member of records.
    Member(usize),
}

/// Which elements of those that the steps lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::write) enum WayEnd {
    /// Where lists or strings end.
    Ends,
    /// Numbers, or the bytes of strings.
    Values,
    /// Which alternative of a union each entry is, and where among those.
    Switches,
}

/// The elements of a whole array.
#[derive(Debug, Clone, Copy)]
pub(super) enum ElementsOf<'a> {
    Numbers(&'a Numbers),
    /// Element `i` ends at `offsets[i + 1]`.
    Ends(&'a [i64]),
    Bytes(&'a [u8]),
    /// The fields of a union that [`with_lists`] has made a record.
    Switches(&'a [(String, Array)]),
}

impl<'a> ElementsOf<'a> {
    /// The offsets of lists, of a union those of each alternative.
    pub fn offsets(self) -> Vec<&'a [i64]> {
        match self {
            ElementsOf::Ends(offsets) => vec![offsets],
            ElementsOf::Switches(fields) => {
                let offsets = |(_, field): &'a (String, Array)| match field {
                    Array::List { offsets, .. } => Some(&offsets[..]),
                    _ => None,
                };
                fields.iter().filter_map(offsets).collect()
            }
            ElementsOf::Numbers(_) | ElementsOf::Bytes(_) => Vec::new(),
        }
    }
}

impl Way {
    /// The elements of an array, and which of them its entries in `range` have.
    ///
    /// # Errors
    /// `Unsupported` where the array is of another type.
    pub(super) fn elements<'a>(
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
                        WayEnd::Switches => return Err(another_type()),
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
                    None if self.end == WayEnd::Switches => {
                        return Ok((ElementsOf::Switches(fields), range));
                    }
                    _ => return Err(another_type()),
                },
                Array::Option { .. } | Array::Union { .. } => return Err(another_type()),
            }
        }
    }
}

/// The range of the content that entries in `range` have.
fn within(offsets: &[i64], range: Range<usize>) -> Range<usize> {
    offsets[range.start] as usize..offsets[range.end] as usize
}

fn another_type() -> Error {
    Error::unsupported("an array of another type than its column's")
}

/// Whether C++ has a type for entries: records have none, but for tuples.
pub(super) fn is_typed(entry: &EntryType) -> bool {
    match entry {
        EntryType::Number(_) | EntryType::String => true,
        EntryType::Regular { content, .. }
        | EntryType::List(content)
        | EntryType::Option(content) => is_typed(content),
        EntryType::Record(members) => is_tuple(members) && members.iter().all(|m| is_typed(&m.1)),
        EntryType::Union(types) => types.iter().all(is_typed),
    }
}

/// Whether the members of a record are called by their numbers.
pub(super) fn is_tuple(members: &[(String, EntryType)]) -> bool {
    !members.is_empty() && members.iter().zip(0..).all(|((name, _), at)| *name == at.to_string())
}

/// The type of entries as RNTuple stores them: with a list of at most one in place of a value that
/// may be missing, lists in place of arrays of records, and in place of a union a record of the
/// number of its alternative and, for each alternative, a list of at most one.
pub(super) fn listed(entry: &EntryType) -> EntryType {
    let list = |content: &EntryType| EntryType::List(Box::new(listed(content)));
    match entry {
        EntryType::Number(_) | EntryType::String => entry.clone(),
        EntryType::Regular { length, content } if is_typed(content) => {
            EntryType::Regular { length: *length, content: Box::new(listed(content)) }
        }
        EntryType::Regular { content, .. }
        | EntryType::List(content)
        | EntryType::Option(content) => list(content),
        EntryType::Record(members) => {
            let member = |(name, entry): &(String, EntryType)| (name.clone(), listed(entry));
            EntryType::Record(members.iter().map(member).collect())
        }
        EntryType::Union(types) => {
            let tag = (String::new(), EntryType::Number(Number::I8));
            let alternatives = types.iter().zip(0..).map(|(entry, at)| (name_of(at), list(entry)));
            EntryType::Record(std::iter::once(tag).chain(alternatives).collect())
        }
    }
}

/// The same entries, which are of that type, of the type that [`listed`] gives.
///
/// # Errors
/// `Corrupt` for an index that is not within its content.
pub(super) fn with_lists(entry: &EntryType, array: &Array) -> Result<Array> {
    let boxed = |entry, content| with_lists(entry, content).map(Box::new);
    Ok(match (entry, array) {
        (entry, Array::WithParameter { content, .. }) => with_lists(entry, content)?,
        (EntryType::Option(entry), Array::Option { index, content }) => {
            let (offsets, content) = present(index, content)?;
            Array::List { offsets: offsets.into(), content: boxed(entry, &content)? }
        }
        (EntryType::List(entry), Array::List { offsets, content }) => {
            Array::List { offsets: offsets.clone(), content: boxed(entry, content)? }
        }
        (
            EntryType::Regular { content: entry, .. },
            Array::Regular { length, entries, content },
        ) => {
            let length = *length;
            let entries = *entries;
            let content = boxed(entry, content)?;
            if is_typed(entry) {
                return Ok(Array::Regular { length, entries, content });
            }
            let offsets: Vec<i64> = (0..=entries).map(|entry| (entry * length) as i64).collect();
            Array::List { offsets: offsets.into(), content }
        }
        (EntryType::Record(members), Array::Record { class, entries, fields }) => {
            let field = |((name, field), (_, entry)): (&(String, Array), &(String, EntryType))| {
                Ok((name.clone(), with_lists(entry, field)?))
            };
            let fields = fields.iter().zip(members).map(field).collect::<Result<_>>()?;
            Array::Record { class: class.clone(), entries: *entries, fields }
        }
        (EntryType::Union(types), Array::Union { tags, index, contents }) => {
            apart(types, tags, index, contents)?
        }
        (_, array) => array.clone(),
    })
}

/// The alternatives of a union, each by itself.
fn apart(types: &[EntryType], tags: &[i8], index: &[i64], contents: &[Array]) -> Result<Array> {
    if tags.len() != index.len() || tags.iter().any(|tag| i64::from(*tag) >= types.len() as i64) {
        return Err(Error::corrupt("a union whose tags are beyond its alternatives"));
    }
    let numbers = Array::Numbers { numbers: Numbers::I8(tags.to_vec()), shape: Vec::new() };
    let mut fields = vec![(String::new(), numbers)];
    for ((entry, content), at) in types.iter().zip(contents).zip(0..) {
        let own = |(tag, index): (&i8, &i64)| if *tag == at { *index } else { -1 };
        let index: Vec<i64> = tags.iter().zip(index).map(own).collect();
        let (offsets, content) = present(&index, content)?;
        let content = Box::new(with_lists(entry, &content)?);
        fields.push((name_of(at), Array::List { offsets: offsets.into(), content }));
    }
    Ok(Array::Record { class: None, entries: tags.len(), fields })
}

/// An alternative of a union by its number.
fn name_of(alternative: i8) -> String {
    alternative.to_string()
}

/// How many entries are there in front of each, and in all; and those, in their order.
fn present<'a>(index: &[i64], content: &'a Array) -> Result<(Vec<i64>, Cow<'a, Array>)> {
    if index.iter().any(|at| *at >= content.len() as i64) {
        return Err(Error::corrupt("an array whose index is beyond its content"));
    }
    let mut count = 0;
    let ends = index.iter().map(|at| {
        count += i64::from(*at >= 0);
        count
    });
    let offsets = std::iter::once(0).chain(ends).collect();
    let runs = runs(index);
    Ok((
        offsets,
        match &runs[..] {
            [all] if *all == (0..content.len()) => Cow::Borrowed(content),
            _ => Cow::Owned(content.gather(&runs)),
        },
    ))
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
        let entry = EntryType::of(&option).unwrap();
        let list = with_lists(&entry, &option).unwrap();
        let content = Box::new(numbers(&[30, 10, 20]));
        let offsets = vec![0, 1, 1, 2, 3, 3].into();
        assert_eq!(list, Array::List { offsets, content });
        let stored = EntryType::of(&list).unwrap();
        assert_eq!(listed(&entry), stored);
        assert_eq!(listed(&stored), stored);
        let beyond = Array::Option { index: vec![1], content: Box::new(numbers(&[1])) };
        assert!(with_lists(&entry, &beyond).is_err());
    }

    #[test]
    fn alternatives_of_unions_and_records_of_arrays_become_lists() {
        let union = |tags: &[i8], index: &[i64]| Array::Union {
            tags: tags.to_vec(),
            index: index.to_vec(),
            contents: vec![numbers(&[1, 2, 3]), numbers(&[10, 20])],
        };
        let whole = union(&[1, 0, -1, 0, 1], &[0, 2, 0, 0, 1]);
        let entry = EntryType::of(&whole).unwrap();
        let record = with_lists(&entry, &whole).unwrap();
        assert_eq!(listed(&entry), EntryType::of(&record).unwrap());
        let Array::Record { fields, .. } = &record else { panic!("a record") };
        let list = |offsets: &[i64], items: &[i32]| Array::List {
            offsets: offsets.to_vec().into(),
            content: Box::new(numbers(items)),
        };
        assert_eq!(fields[1].1, list(&[0, 0, 1, 1, 2, 2], &[3, 1]));
        assert_eq!(fields[2].1, list(&[0, 1, 1, 1, 1, 2], &[10, 20]));
        for (tags, index) in [(&[2][..], &[0][..]), (&[1], &[2]), (&[0, 0], &[0])] {
            assert!(with_lists(&entry, &union(tags, index)).is_err(), "{tags:?} {index:?}");
        }
        let fields = vec![("x".to_owned(), numbers(&[1, 2, 3, 4]))];
        let record = Array::Record { class: None, entries: 4, fields };
        let content = Box::new(record.clone());
        let regular = Array::Regular { length: 2, entries: 2, content };
        let entry = EntryType::of(&regular).unwrap();
        let stored = with_lists(&entry, &regular).unwrap();
        assert_eq!(listed(&entry), EntryType::of(&stored).unwrap());
        let content = Box::new(record);
        assert_eq!(stored, Array::List { offsets: vec![0, 2, 4].into(), content });
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
        let b = WayStep::Member(1);
        let items = WayStep::Items;
        assert_eq!(range(&[WayStep::Member(0)], WayEnd::Values, 1..3), 1..3);
        assert_eq!(range(&[b], WayEnd::Ends, 1..3), 1..3);
        assert_eq!(range(&[b, items, WayStep::Fixed], WayEnd::Values, 1..3), 2..8);
    }
}
