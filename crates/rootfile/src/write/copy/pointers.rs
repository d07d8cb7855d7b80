//! Branches whose entries mean the same in another place of a basket. Pointers count from the
//! basket's key, so that entries with pointers to objects stay where they are.

use std::collections::BTreeSet;

use super::fill::size_of_number;
use crate::streamer::{ClassId, Collection, Item, MemberKind, Streamers};
use crate::tree::{Branch, BranchId, BranchKind, Tree};
use crate::types::special::Special;

/// The streamer type of a branch of whole objects, which is no type of a streamer element.
const WHOLE: i32 = -1;

/// The branches, among some and those within them, of which single entries cannot be taken out of
/// baskets: their numbers.
pub fn unselectable(tree: &Tree, streamers: &Streamers, branches: &[BranchId]) -> Vec<BranchId> {
    let mut found = Vec::new();
    for id in branches {
        let branch = &tree.branches[id.0 as usize];
        let has_none = branch.baskets.is_empty() && !branch.children.is_empty();
        let may = has_none || is_free_of_pointers(branch, streamers) && !branch.generates_offsets;
        found.extend((!may).then_some(*id));
        found.extend(unselectable(tree, streamers, &branch.children));
    }
    let mut seen = BTreeSet::new();
    found.retain(|id| seen.insert(id.0));
    found
}

/// Whether entries mean the same in another place of a basket.
pub(super) fn is_free_of_pointers(branch: &Branch, streamers: &Streamers) -> bool {
    let mut classes = Classes { streamers, seen: BTreeSet::new() };
    match &branch.kind {
        BranchKind::Plain | BranchKind::Element { branch_type: 3 | 4, .. } => true,
        BranchKind::Element { streamer_type, .. } if size_of_number(*streamer_type).is_some() => {
            true
        }
        BranchKind::Element { class_name, streamer_type: WHOLE, .. }
        | BranchKind::Object { class_name } => classes.is_free(class_name),
        BranchKind::Element { class_name, class_version, checksum, id, .. } => {
            let member = usize::try_from(*id).ok().and_then(|id| {
                let by_version = streamers.info(class_name, Some(*class_version));
                let info = streamers.info_by_checksum(class_name, *checksum).or(by_version)?;
                Some((info, &*info.elements.get(id)?.name))
            });
            member
                .is_some_and(|(info, name)| classes.has_free_member(info.version, class_name, name))
        }
        _ => false,
    }
}

/// Classes that are looked at, each once.
struct Classes<'a> {
    streamers: &'a Streamers,
    seen: BTreeSet<ClassId>,
}

impl Classes<'_> {
    /// Whether objects of a class, or a collection of that name, have no pointers.
    fn is_free(&mut self, name: &str) -> bool {
        if let Some(id) = self.streamers.id(name) {
            let class = self.streamers.class(id);
            if class.special.is_some() || class.newest().is_some() {
                return self.is_free_class(id);
            }
        }
        let name = name.strip_prefix("std::").unwrap_or(name);
        match self.streamers.collection(name) {
            // Classes that only the name knows are at no place among the others.
            Some((known, collection)) => {
                let mut inner = Classes { streamers: &known, seen: BTreeSet::new() };
                inner.is_free_collection(&collection)
            }
            None => false,
        }
    }

    fn is_free_class(&mut self, id: ClassId) -> bool {
        // A class within itself is decided where it was met first.
        if !self.seen.insert(id) {
            return true;
        }
        let class = self.streamers.class(id);
        match class.special.as_ref().map(|(special, _)| special) {
            Some(
                Special::Object
                | Special::Ref
                | Special::Datime
                | Special::Text
                | Special::Array(_)
                | Special::SymmetricMatrix(_)
                | Special::Nothing,
            ) => return true,
            Some(_) => return false,
            None => {}
        }
        // Which version an object has is known only once it is read.
        let mut layouts = class.layouts().peekable();
        layouts.peek().is_some()
            && layouts.all(|layout| layout.members.iter().all(|one| self.is_free_kind(&one.kind)))
    }

    fn has_free_member(&mut self, version: i32, class: &str, name: &str) -> bool {
        let Some(id) = self.streamers.id(class) else { return false };
        let Some(layout) = self.streamers.class(id).layout(version) else { return false };
        let member = layout.members.iter().find(|member| &*member.name == name);
        member.is_some_and(|member| self.is_free_kind(&member.kind))
    }

    fn is_free_kind(&mut self, kind: &MemberKind) -> bool {
        match kind {
            MemberKind::Number(_)
            | MemberKind::Numbers(..)
            | MemberKind::Text
            | MemberKind::Texts(_)
            | MemberKind::CountedTexts(_)
            | MemberKind::CharStar
            | MemberKind::Times(..) => true,
            MemberKind::Base(class, _)
            | MemberKind::Object(class)
            | MemberKind::Objects(class, _)
            | MemberKind::Loop { class, pointers: false, .. } => self.is_free_class(*class),
            MemberKind::Collection(collection)
            | MemberKind::Collections(collection, _)
            | MemberKind::BareCollections(collection, _) => self.is_free_collection(collection),
            MemberKind::Pointer
            | MemberKind::Pointers(_)
            | MemberKind::Loop { .. }
            | MemberKind::BasketSeeks(_)
            | MemberKind::Special
            | MemberKind::Unsupported(_) => false,
        }
    }

    fn is_free_collection(&mut self, collection: &Collection) -> bool {
        match collection {
            Collection::Text => true,
            Collection::Sequence(item) => self.is_free_item(item),
            Collection::Map(key, value) | Collection::Multimap(key, value) => {
                self.is_free_item(key) && self.is_free_item(value)
            }
        }
    }

    fn is_free_item(&mut self, item: &Item) -> bool {
        match item {
            Item::Number(_) | Item::Double32 | Item::Text | Item::StandardText => true,
            Item::Object(class) => self.is_free_class(*class),
            Item::Pointer => false,
            Item::Collection(collection) => self.is_free_collection(collection),
            Item::Array(item, _) => self.is_free_item(item),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: with a `std::string` beside them, all columns of a cut were encoded anew.
    #[test]
    fn only_pointers_keep_entries_in_their_place() {
        let streamers = Streamers::default();
        let mut classes = Classes { streamers: &streamers, seen: BTreeSet::new() };
        let free = [
            "string",
            "std::string",
            "TString",
            "vector<float>",
            "vector<vector<string> >",
            "map<string,int>",
            "vector<bool>",
            "TRef",
            "TArrayD",
            "TObjString",
        ];
        for name in free {
            assert!(classes.is_free(name), "{name}");
        }
        for name in ["TList", "TObjArray", "vector<TNamed*>", "TClonesArray", "Unknown"] {
            assert!(!classes.is_free(name), "{name}");
        }
    }
}
