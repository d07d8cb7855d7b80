//! Alignment of a friend's entries with those of a table.

use std::sync::Arc;

use rootfile::tree::TreeIndex;

use crate::read::core::formula::Expression;
use crate::read::core::friends::{EntryLookup, Friend};
use crate::read::core::table::Table;
use remote::{Error, ErrorKind, Result};

/// Which entry of a friend belongs to which of the tree.
#[derive(Clone)]
pub(crate) enum Alignment {
    /// The one of the same number.
    Entry,
    /// The one that the friend's index has for two numbers of the tree's entry.
    Index(Arc<TreeIndex>, Box<[Expression; 2]>),
}

impl Alignment {
    /// How the entries of a friend belong to those of a table: by the friend's index where it has
    /// one, of numbers that the table has too.
    ///
    /// # Errors
    /// Why the index cannot be read, or its expressions; `Unsupported` where the other tables of a
    /// chain are found in another way.
    pub(crate) fn of(table: &dyn Table, friend: &Friend) -> Result<Alignment> {
        let Some(index) = friend.table.index()? else { return Ok(Alignment::Entry) };
        let expression = |text: &str| match table.has(text) {
            true => Ok(Expression::column(text)),
            false => {
                Expression::parse(text).map_err(|error| error.with_url(friend.table.file().url()))
            }
        };
        let both = [expression(&index.major_name)?, expression(&index.minor_name)?];
        let has_numbers = both.iter().flat_map(|one| &one.columns).all(|name| table.has(name));
        match (has_numbers, friend.lookup) {
            (true, EntryLookup::Number) => Err(differs(
                friend,
                "an index, which the first of its \
                 chain has not",
                &index,
            )),
            (false, EntryLookup::Index) => {
                let lacks = "an index of numbers that this table lacks";
                Err(differs(friend, lacks, &index).with_url(table.file().url()))
            }
            (true, EntryLookup::Own | EntryLookup::Index) => {
                Ok(Alignment::Index(index, Box::new(both)))
            }
            (false, EntryLookup::Own | EntryLookup::Number) => Ok(Alignment::Entry),
        }
    }

    /// Names of the table's columns that say which entries of the friend are meant.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &String> {
        let both: &[Expression] = match self {
            Alignment::Entry => &[],
            Alignment::Index(_, both) => &both[..],
        };
        both.iter().flat_map(|one| &one.columns)
    }
}

fn differs(friend: &Friend, has: &str, index: &TreeIndex) -> Error {
    let TreeIndex { major_name, minor_name, .. } = index;
    let message = format!("the friend {:?} has {has}: {major_name}, {minor_name}", friend.name);
    Error::new(ErrorKind::Unsupported, message)
        .with_url(friend.table.file().url())
        .with_advice("give all files of the chain an index of the same numbers, or none")
}
