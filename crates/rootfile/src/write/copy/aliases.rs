//! Aliases of a tree that is put together of several: those of the first input, as with ROOT.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::CopiedTree;
use crate::tree::Tree;

/// The names of aliases that are not the same in all inputs so far.
#[derive(Debug, Default)]
pub(super) struct CopiedAliases {
    /// Of the first input's, those that some input has with another formula, or lacks.
    differing: BTreeSet<String>,
    /// Those that the first input lacks.
    left_out: BTreeSet<String>,
}

impl CopiedAliases {
    /// Compares the aliases of an input with those of the first.
    pub fn compare(&mut self, first: &Tree, other: &Tree) {
        let first = by_name(first);
        let other = by_name(other);
        let differ = first.iter().filter(|(name, formula)| other.get(*name) != Some(*formula));
        self.differing.extend(differ.map(|(name, _)| (*name).to_owned()));
        let further = other.keys().filter(|name| !first.contains_key(*name));
        self.left_out.extend(further.map(|name| (*name).to_owned()));
    }
}

impl CopiedTree {
    /// The notes on aliases that are not the same in all inputs.
    pub(super) fn notes_on_aliases(&self) -> impl Iterator<Item = String> {
        let CopiedAliases { differing, left_out } = &self.aliases;
        let differ = (!differing.is_empty()).then(|| {
            let names = names_of(differing);
            format!("aliases are the first input's, and some inputs have others or none: {names}")
        });
        let left = (!left_out.is_empty()).then(|| {
            format!("aliases that the first input lacks are left out: {}", names_of(left_out))
        });
        differ.into_iter().chain(left)
    }
}

/// Of two of one name the last counts.
fn by_name(tree: &Tree) -> BTreeMap<&str, &str> {
    tree.aliases.iter().map(|(name, formula)| (&**name, &**formula)).collect()
}

fn names_of(all: &BTreeSet<String>) -> String {
    let names: Vec<&str> = all.iter().map(String::as_str).collect();
    names.join(", ")
}
