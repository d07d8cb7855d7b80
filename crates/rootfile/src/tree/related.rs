//! Relatives of a tree beside its branches: other trees, and an index.

use crate::error::{Error, Result};
use crate::object::ObjectRef;

/// Another tree whose entries belong to those of this one (ROOT: `TFriendElement`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FriendPlace {
    /// Name of the friend in names such as `friend.branch` (`fName`).
    pub name: String,
    /// Path of the tree in its file (`fTreeName`).
    pub tree: String,
    /// The file, as it was named when the friend was added; empty for the tree's own (`fTitle`).
    pub file: String,
}

/// Which entry has which numbers (ROOT: `TTreeIndex`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeIndex {
    /// Expressions of the two numbers (`fMajorName`, `fMinorName`).
    pub major_name: String,
    pub minor_name: String,
    /// The numbers, ascending, and the entry of each pair (`fIndexValues`, `fIndexValuesMinor`,
    /// `fIndex`).
    pub major: Vec<i64>,
    pub minor: Vec<i64>,
    pub entries: Vec<i64>,
}

impl TreeIndex {
    /// The entry of these numbers, the first one where several have them.
    pub fn entry(&self, major: i64, minor: i64) -> Option<u64> {
        let at = first(self.major.len(), |at| (self.major[at], self.minor[at]) < (major, minor));
        let found = *self.major.get(at)? == major && self.minor[at] == minor;
        u64::try_from(self.entries[at]).ok().filter(|_| found)
    }

    /// An index of the same numbers without any pairs.
    #[must_use]
    pub fn without_pairs(&self) -> TreeIndex {
        let TreeIndex { major_name, minor_name, .. } = self;
        let [major, minor, entries] = [const { Vec::new() }; 3];
        TreeIndex {
            major_name: major_name.clone(),
            minor_name: minor_name.clone(),
            major,
            minor,
            entries,
        }
    }

    /// An entry that a tree of so many entries lacks, where the index names one.
    pub fn lacking(&self, entries: u64) -> Option<i64> {
        let is_there = |entry: &i64| u64::try_from(*entry).is_ok_and(|entry| entry < entries);
        self.entries.iter().find(|entry| !is_there(entry)).copied()
    }

    /// Adds the pairs of another tree whose entries begin at `first`; it is then to be sorted.
    /// False, and nothing is added, where that has an index of other numbers.
    #[must_use]
    pub fn append(&mut self, other: &TreeIndex, first: u64) -> bool {
        if (&self.major_name, &self.minor_name) != (&other.major_name, &other.minor_name) {
            return false;
        }
        self.major.extend(&other.major);
        self.minor.extend(&other.minor);
        self.entries.extend(other.entries.iter().map(|entry| entry.saturating_add_unsigned(first)));
        true
    }

    /// The pairs in ascending order; equal ones stay in theirs.
    #[must_use]
    pub fn sorted(self) -> TreeIndex {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by_key(|at| (self.major[*at], self.minor[*at]));
        let taken = |of: &[i64]| order.iter().map(|at| of[*at]).collect();
        TreeIndex {
            major: taken(&self.major),
            minor: taken(&self.minor),
            entries: taken(&self.entries),
            ..self
        }
    }
}

/// The first position of which `before` is not true; it is true of all before that.
fn first(len: usize, before: impl Fn(usize) -> bool) -> usize {
    let mut low = 0;
    let mut high = len;
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// The friends of a tree, in the order in which they were added.
pub(super) fn friends(tree: ObjectRef<'_>) -> Result<Vec<FriendPlace>> {
    if tree.member("fFriends").is_none() {
        return Ok(Vec::new());
    }
    let friend = |element: ObjectRef<'_>| {
        let name = element.string("fName")?;
        let tree = element.string("fTreeName")?;
        Ok(FriendPlace { name, tree, file: element.string("fTitle")? })
    };
    tree.objects("fFriends")?.into_iter().flatten().map(friend).collect()
}

/// The index of a tree, where it has one.
pub(super) fn index(tree: ObjectRef<'_>) -> Result<Option<TreeIndex>> {
    if tree.member("fTreeIndex").is_none() {
        return Ok(None);
    }
    let Some(index) = tree.pointed("fTreeIndex")? else { return Ok(None) };
    if index.class() != "TTreeIndex" {
        return Err(Error::unsupported(format!("a tree index of class {}", index.class())));
    }
    let mut major = index.ints("fIndexValues")?;
    let mut minor = index.ints("fIndexValuesMinor")?;
    if index.version() < 2 {
        // Both numbers in one, as ROOT 4 and 5.0 wrote them.
        minor = major.iter().map(|both| both & 0x7fff_ffff).collect();
        major.iter_mut().for_each(|both| *both >>= 31);
    }
    let pairs = || major.iter().zip(&minor);
    if !pairs().is_sorted() {
        return Err(Error::corrupt("a tree index whose numbers are not in order"));
    }
    Ok(Some(TreeIndex {
        major_name: index.string("fMajorName")?,
        minor_name: index.string("fMinorName")?,
        entries: index.ints("fIndex")?,
        major,
        minor,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_pairs_of_several_trees_the_first_tree_counts() {
        let index = |pairs: &[(i64, i64, i64)]| TreeIndex {
            major_name: "run".into(),
            minor_name: "event".into(),
            major: pairs.iter().map(|pair| pair.0).collect(),
            minor: pairs.iter().map(|pair| pair.1).collect(),
            entries: pairs.iter().map(|pair| pair.2).collect(),
        };
        let mut all = index(&[(2, 1, 1), (2, 5, 0)]);
        assert!(all.append(&index(&[(1, 1, 0), (2, 1, 1)]), 2));
        assert!(!all.append(&TreeIndex { minor_name: "0".into(), ..index(&[(9, 9, 0)]) }, 4));
        let all = all.sorted();
        let found = [(1, 1), (2, 1), (2, 5), (9, 9)].map(|(run, event)| all.entry(run, event));
        assert_eq!(found, [Some(2), Some(1), Some(0), None]);
    }

    #[test]
    fn the_first_entry_of_a_pair_of_numbers() {
        let index = TreeIndex {
            major_name: "run".into(),
            minor_name: "event".into(),
            major: vec![1, 1, 2, 2, 2],
            minor: vec![5, 7, -3, 4, 4],
            entries: vec![3, 0, 1, 4, 2],
        };
        let entries = [(1, 5), (1, 6), (1, 7), (2, -3), (2, 4), (2, 5), (0, 0), (3, 0)]
            .map(|(major, minor)| index.entry(major, minor));
        let none = None;
        assert_eq!(entries, [Some(3), none, Some(0), Some(1), Some(4), none, none, none]);
    }
}
