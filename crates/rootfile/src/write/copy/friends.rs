//! Friends of a tree that is put together of several: those whose entries still go with its own.
//!
//! A friend without an index goes with a tree by the number of the entry, and whether one has an
//! index only its own file says. So a friend in another file stays where the entries of one input
//! keep their numbers. One in the tree's own file is copied in the same order, unless entries are
//! left out.

use super::tree::CopiedTree;
use crate::object::{ObjectId, ObjectRef};
use crate::tree::{FriendPlace, Tree};

/// Friends of the inputs so far.
#[derive(Debug, Default)]
pub(super) struct CopiedFriends {
    /// Whether those of an input differ from those of the first.
    pub differ: bool,
    /// Whether all further entries are new ones of the first input's own file: friends stay.
    pub are_of_one_file: bool,
}

impl CopiedTree {
    /// Whether an input's tree with entries has other friends than that of the first.
    pub(super) fn has_other_friends(&self, tree: &Tree) -> bool {
        let first = &self.sources[0].tree.friends;
        tree.entries > 0 && first.as_ref().ok() != tree.friends.as_ref().ok()
    }

    fn keeps_friend(&self, friend: &FriendPlace) -> bool {
        let is_beside = friend.file.is_empty() && !self.friends.differ && !self.is_cut();
        is_beside || !self.moves_entries() || self.friends.are_of_one_file
    }

    /// The note on friends that the copy lacks.
    pub(super) fn friends_left_out(&self) -> Option<String> {
        let why = "as their entries go with those of one input, by their numbers";
        let left = match &self.sources[0].tree.friends {
            Ok(all) => all.iter().filter(|friend| !self.keeps_friend(friend)),
            Err(_) if self.moves_entries() && !self.friends.are_of_one_file => {
                return Some(format!("its friends are left out, {why}"));
            }
            Err(_) => return None,
        };
        let names: Vec<&str> = left.map(|friend| &*friend.name).collect();
        match (names.is_empty(), self.friends.differ && !self.friends.are_of_one_file) {
            (false, _) => Some(format!("friends are left out ({}), {why}", names.join(", "))),
            (true, true) => Some(format!("friends of some inputs are left out, {why}")),
            (true, false) => None,
        }
    }

    /// The objects of the first input's record for friends that are left out: the list, where none
    /// stays.
    pub(super) fn dropped_friends(&self, tree: ObjectRef<'_>) -> Vec<ObjectId> {
        if tree.member("fFriends").is_none() {
            return Vec::new();
        }
        let kept: Vec<bool> = match &self.sources[0].tree.friends {
            Ok(all) => all.iter().map(|friend| self.keeps_friend(friend)).collect(),
            Err(_) if self.friends.are_of_one_file => return Vec::new(),
            Err(_) => vec![!self.moves_entries()],
        };
        match kept.iter().any(|kept| *kept) {
            true => {
                let items = tree.objects("fFriends").unwrap_or_default();
                let items = items.into_iter().flatten().zip(kept);
                items.filter(|(_, kept)| !kept).map(|(item, _)| item.id).collect()
            }
            false => {
                let list = tree.pointed("fFriends").ok().flatten();
                list.map(|list| list.id).into_iter().collect()
            }
        }
    }
}
