//! The index of a tree that is put together of several inputs (ROOT: `TTreeIndex`).

use bytes::Bytes;

use super::plan::Survivors;
use super::record::{Edits, SourceRecord};
use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::object::{ObjectHeader, ObjectRef};
use crate::tree::{Tree, TreeIndex};
use crate::write::buffer::Buffer;

/// The version that is written. Version 1 has both numbers in one.
const VERSION: u16 = 2;
/// A tree's record has its index, and ROOT reads no record of 1 GB.
const PAIRS_MAX: usize = (1 << 29) / 24;

/// The index of the inputs so far.
#[derive(Debug, Default)]
pub(super) enum CopiedIndex {
    /// No input has had entries.
    #[default]
    Nothing,
    Joined(JoinedIndex),
    /// The copy has none, for a reason; `None` where no input had one.
    LeftOut(Option<String>),
}

/// The pairs of numbers of all inputs, in their order.
#[derive(Debug)]
pub(super) struct JoinedIndex {
    index: TreeIndex,
    /// The first entry of each input.
    begins: Vec<u64>,
}

/// The index of the entries that an input adds, with their numbers in this part.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum PartIndex {
    /// No entries: no index is missing.
    #[default]
    Nothing,
    Lacking,
    Unusable(String),
    Has(TreeIndex),
}

impl PartIndex {
    /// Of those entries of a tree that a cut leaves.
    pub fn new(tree: &Tree, survivors: Option<&Survivors>) -> PartIndex {
        let index = match &tree.index {
            _ if tree.entries == 0 => return PartIndex::Nothing,
            Ok(None) => return PartIndex::Lacking,
            Ok(Some(index)) => index,
            Err(error) => {
                return PartIndex::Unusable(format!("that of one cannot be read: {error}"));
            }
        };
        if index.lacking(tree.entries).is_some() {
            return PartIndex::Unusable("that of one names entries that the tree lacks".into());
        }
        let Some(survivors) = survivors else { return PartIndex::Has((**index).clone()) };
        let mut left = index.without_pairs();
        for (at, entry) in index.entries.iter().enumerate() {
            if let Some(place) = survivors.place(*entry as u64) {
                left.major.push(index.major[at]);
                left.minor.push(index.minor[at]);
                left.entries.push(place as i64);
            }
        }
        PartIndex::Has(left)
    }
}

impl CopiedIndex {
    /// Adds that of a part behind so many entries.
    pub fn add(&mut self, part: &PartIndex, before: u64) {
        let why = match (&mut *self, part) {
            (_, PartIndex::Nothing) | (CopiedIndex::LeftOut(Some(_)), _) => return,
            (CopiedIndex::Nothing | CopiedIndex::LeftOut(None), PartIndex::Lacking) => None,
            (CopiedIndex::Joined(_), PartIndex::Lacking)
            | (CopiedIndex::LeftOut(None), PartIndex::Has(_)) => {
                Some("as some inputs have none".to_owned())
            }
            (_, PartIndex::Unusable(why)) => Some(format!("as {why}")),
            (CopiedIndex::Nothing, PartIndex::Has(index)) => {
                *self = CopiedIndex::Joined(JoinedIndex::new(index));
                return;
            }
            (CopiedIndex::Joined(joined), PartIndex::Has(index)) => match joined.add(index, before)
            {
                Ok(()) => return,
                Err(why) => Some(why),
            },
        };
        *self = CopiedIndex::LeftOut(why);
    }

    /// Why the copy lacks the index that an input has; the object of the first input's becomes it.
    pub fn left_out(&self, has_object: bool) -> Option<String> {
        match self {
            CopiedIndex::Nothing | CopiedIndex::LeftOut(None) => None,
            CopiedIndex::Joined(_) if !has_object => Some("as the first input has none".into()),
            CopiedIndex::LeftOut(Some(why)) => Some(why.clone()),
            CopiedIndex::Joined(joined) => joined.sorted().err(),
        }
    }

    /// Gives the object of the first input's index the numbers of all.
    ///
    /// # Errors
    /// `Corrupt` where its record ends within the index.
    pub fn edit(
        &self,
        first: &SourceRecord,
        object: ObjectRef<'_>,
        edits: &mut Edits,
    ) -> Result<()> {
        let sorted = match self {
            CopiedIndex::Joined(joined) => joined.sorted().ok(),
            CopiedIndex::Nothing | CopiedIndex::LeftOut(_) => None,
        };
        match (sorted, first.body(object.id)) {
            (Some(index), Some(body)) => {
                edits.bodies.insert((0, object.id), encoded(&index, &body)?);
            }
            _ => {
                edits.dropped.insert((0, object.id));
            }
        }
        Ok(())
    }
}

impl JoinedIndex {
    fn new(first: &TreeIndex) -> JoinedIndex {
        JoinedIndex { index: first.clone(), begins: vec![0] }
    }

    fn add(&mut self, other: &TreeIndex, before: u64) -> std::result::Result<(), String> {
        if self.index.entries.len() + other.entries.len() > PAIRS_MAX {
            return Err("as it would take more than 0.5 GB of the tree's record".into());
        }
        if !self.index.append(other, before) {
            return Err("as the inputs have indexes of other columns".into());
        }
        self.begins.push(before);
        Ok(())
    }

    /// All pairs, ascending.
    ///
    /// # Errors
    /// Why a search would not find the entry that it finds in an input.
    fn sorted(&self) -> std::result::Result<TreeIndex, String> {
        let sorted = self.index.clone().sorted();
        let TreeIndex { major, minor, entries, .. } = &sorted;
        let input = |at: usize| self.begins.partition_point(|begin| *begin <= entries[at] as u64);
        for other in 1..entries.len() {
            let [a, b] = [other - 1, other].map(|at| (major[at], minor[at]));
            if a == b && input(other - 1) != input(other) {
                return Err(format!("as ({}, {}) is in more than one input", a.0, a.1));
            }
        }
        Ok(sorted)
    }
}

/// The index as an object; names, titles and bits are those of another one.
fn encoded(index: &TreeIndex, old: &Bytes) -> Result<Vec<u8>> {
    let mut cursor = Cursor::new(old, 0);
    ObjectHeader::read(&mut cursor)?;
    let begin = cursor.position();
    let base = ObjectHeader::read(&mut cursor)?;
    let len = base.len.ok_or_else(|| Error::corrupt("a tree index without a base class"))?;
    cursor.skip(len)?;
    let base = &old[begin..cursor.position()];
    let mut to = Buffer::default();
    let count = to.begin(VERSION);
    to.bytes(base);
    to.string(&index.major_name);
    to.string(&index.minor_name);
    to.u64(index.entries.len() as u64);
    for numbers in [&index.major, &index.minor, &index.entries] {
        numbers.iter().for_each(|number| to.i64(*number));
    }
    to.end(count);
    Ok(to.into_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(pairs: &[(i64, i64, i64)]) -> TreeIndex {
        TreeIndex {
            major_name: "run".into(),
            minor_name: "event".into(),
            major: pairs.iter().map(|pair| pair.0).collect(),
            minor: pairs.iter().map(|pair| pair.1).collect(),
            entries: pairs.iter().map(|pair| pair.2).collect(),
        }
    }

    fn joined(parts: &[(PartIndex, u64)]) -> CopiedIndex {
        let mut all = CopiedIndex::default();
        parts.iter().for_each(|(part, before)| all.add(part, *before));
        all
    }

    fn has(pairs: &[(i64, i64, i64)]) -> PartIndex {
        PartIndex::Has(index(pairs))
    }

    #[test]
    fn entries_of_further_inputs_are_behind_those_of_the_first() {
        // Of equal pairs of one input the first stays the first.
        let first = has(&[(1, 5, 3), (1, 7, 0), (4, 0, 2), (4, 0, 1)]);
        let all = joined(&[(first, 0), (PartIndex::Nothing, 4), (has(&[(1, 6, 1), (2, 0, 0)]), 4)]);
        assert_eq!(all.left_out(true), None);
        let CopiedIndex::Joined(all) = all else { panic!("{all:?}") };
        let expected = [(1, 5, 3), (1, 6, 5), (1, 7, 0), (2, 0, 4), (4, 0, 2), (4, 0, 1)];
        assert_eq!(all.sorted(), Ok(index(&expected)));
    }

    #[test]
    fn an_index_that_would_find_other_entries_is_left_out() {
        let one = || has(&[(1, 5, 0)]);
        let other = PartIndex::Has(TreeIndex { minor_name: "lumi".into(), ..index(&[(2, 5, 0)]) });
        let unread = PartIndex::Unusable("that of one cannot be read".into());
        let cases = [
            (vec![(one(), 0), (one(), 1)], Some("as (1, 5) is in more than one input")),
            (vec![(one(), 0), (PartIndex::Lacking, 1)], Some("as some inputs have none")),
            (vec![(PartIndex::Lacking, 0), (one(), 1)], Some("as some inputs have none")),
            (vec![(one(), 0), (other, 1)], Some("as the inputs have indexes of other columns")),
            (vec![(unread, 0), (one(), 1)], Some("as that of one cannot be read")),
            (vec![(PartIndex::Lacking, 0), (PartIndex::Lacking, 1)], None),
            (vec![(PartIndex::Nothing, 0)], None),
        ];
        for (parts, why) in cases {
            assert_eq!(joined(&parts).left_out(true).as_deref(), why);
        }
        assert!(joined(&[(PartIndex::Nothing, 0), (one(), 0)]).left_out(false).is_some());
    }

    #[test]
    fn an_object_keeps_its_base_class() {
        let mut old = Buffer::default();
        let count = old.begin(1);
        let base = old.begin(1);
        old.tnamed(0, "a name", "a title");
        old.end(base);
        old.string("in one number");
        old.end(count);
        let old = Bytes::from(old.into_vec());
        let new = Bytes::from(encoded(&index(&[(1, -5, 3), (2, 0, 1)]), &old).unwrap());
        let mut cursor = Cursor::new(&new, 0);
        let header = ObjectHeader::read(&mut cursor).unwrap();
        assert_eq!((header.version, header.len), (VERSION, Some(cursor.remaining())));
        let begin = cursor.position();
        let base = ObjectHeader::read(&mut cursor).unwrap().len.unwrap();
        cursor.skip(base).unwrap();
        assert_eq!(new[begin..cursor.position()], old[begin..cursor.position()]);
        assert_eq!(
            (cursor.string().unwrap(), cursor.string().unwrap()),
            ("run".into(), "event".into())
        );
        assert_eq!(cursor.u64().unwrap(), 2);
        assert_eq!(cursor.i64s(6).unwrap(), [1, 2, -5, 0, 3, 1]);
        for len in 0..begin + 4 {
            assert!(encoded(&index(&[]), &old.slice(..len)).is_err());
        }
    }

    #[test]
    fn a_cut_leaves_the_pairs_of_its_entries() {
        let survivors = Survivors::new(vec![1..3, 5..6]);
        let places: Vec<Option<u64>> = (0..7).map(|entry| survivors.place(entry)).collect();
        assert_eq!(places, [None, Some(0), Some(1), None, None, Some(2), None]);
    }
}
