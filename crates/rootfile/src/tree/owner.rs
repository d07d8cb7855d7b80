//! The owner of a basket: the names in its key are compared with the branch that refers to it.
//!
//! A basket's key has the names that branch and tree had when the basket was begun. They need not
//! be those of today: `SetName` on a tree or a branch, `hadd`, `CloneTree` into a tree of another
//! name and copies by other writers keep the baskets as they are, and two branches may even have
//! exchanged their names. So another name alone is no fault, neither of the tree nor of the branch.
//! One record in the lists of two branches is: no writer shares baskets, and the key says whose it
//! is.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::model::{BasketPlace, BasketRef, Branch, BranchId, Tree};
use crate::error::{Error, Result};
use crate::key::Key;

impl Tree {
    /// That the record of a basket which a branch names is not that of another branch.
    ///
    /// # Errors
    /// `Corrupt`, with both branches.
    pub fn check_owner(&self, branch: BranchId, basket: &BasketRef, record: &Bytes) -> Result<()> {
        let Some(range) = basket.place.stored() else { return Ok(()) };
        let Some(own) = self.branch(branch) else { return Ok(()) };
        // The reader of the basket reports a record that is no key.
        let Ok(key) = Key::of_record(record, range.start) else { return Ok(()) };
        if key.name == own.name {
            return Ok(());
        }
        let is_named = |other: &&Branch| other.name == key.name && names(other, range.start);
        match self.branches.iter().find(is_named) {
            None => Ok(()),
            Some(_) => Err(Error::corrupt(format!(
                "the basket there is one of branch \"{}\" of tree \"{}\", as its key says; \
                 branch \"{}\" names it as its own",
                key.name, key.title, own.name
            ))
            .at(range.start)),
        }
    }

    /// Offsets of records that are in the lists of several branches.
    pub(crate) fn contested(&self) -> BTreeSet<u64> {
        let baskets = self.branches.iter().flat_map(|branch| &branch.baskets);
        let mut starts: Vec<u64> =
            baskets.filter_map(|basket| Some(basket.place.stored()?.start)).collect();
        starts.sort_unstable();
        starts.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect()
    }

    fn branch(&self, branch: BranchId) -> Option<&Branch> {
        self.branches.get(branch.0 as usize)
    }
}

/// Whether a branch has a basket there.
fn names(branch: &Branch, offset: u64) -> bool {
    branch.baskets.iter().any(|basket| match &basket.place {
        BasketPlace::Stored(range) => range.start == offset,
        BasketPlace::Embedded(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::model::BranchKind;

    /// A key of a basket of branch `x` of the tree `old`, at byte 300.
    fn record() -> Bytes {
        let mut key = Vec::new();
        key.extend(90u32.to_be_bytes());
        key.extend(4u16.to_be_bytes());
        key.extend(20u32.to_be_bytes());
        key.extend(0u32.to_be_bytes());
        key.extend(70u16.to_be_bytes());
        key.extend(0u16.to_be_bytes());
        key.extend(300u32.to_be_bytes());
        key.extend(100u32.to_be_bytes());
        for text in ["TBasket", "x", "old"] {
            key.push(text.len() as u8);
            key.extend(text.as_bytes());
        }
        key.resize(90, 0);
        key.into()
    }

    fn tree(branches: &[(&str, u64)]) -> Tree {
        let branch = |(name, offset): &(&str, u64)| {
            let mut branch = Branch::without_entries((*name).to_owned(), BranchKind::Plain);
            let place = BasketPlace::Stored(*offset..offset + 90);
            branch.baskets.push(BasketRef { entries: 0..5, place });
            branch
        };
        Tree {
            name: "new".into(),
            title: String::new(),
            entries: 5,
            total_bytes: 0,
            zip_bytes: 0,
            branches: branches.iter().map(branch).collect(),
            cluster_starts: vec![0],
            weight: 1.0,
            has_user_info: false,
            aliases: Vec::new(),
            friends: Ok(Vec::new()),
            index: Ok(None),
        }
    }

    fn check(tree: &Tree, branch: u32) -> Result<()> {
        tree.check_owner(BranchId(branch), &tree.branches[branch as usize].baskets[0], &record())
    }

    /// Values of `x` once came as those of `y`, whose list named the baskets of `x`.
    #[test]
    fn a_basket_of_another_branch_is_told() {
        let tree = tree(&[("x", 300), ("y", 300), ("z", 500)]);
        assert_eq!(check(&tree, 0), Ok(()));
        let error = check(&tree, 1).unwrap_err().to_string();
        assert!(error.contains("branch \"x\" of tree \"old\"") && error.contains("\"y\""));
        assert_eq!(tree.contested().into_iter().collect::<Vec<_>>(), [300]);
    }

    #[test]
    fn other_names_alone_are_no_fault() {
        // Renamed, and two branches that have exchanged their names.
        assert_eq!(check(&tree(&[("renamed", 300)]), 0), Ok(()));
        assert_eq!(check(&tree(&[("y", 300), ("x", 700)]), 0), Ok(()));
        assert!(tree(&[("y", 300), ("x", 700)]).contested().is_empty());
    }
}
