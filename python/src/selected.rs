//! Columns of a table and of its friends, by name.

use std::ops::Range;
use std::sync::Arc;

use engine::{Chosen, Columns, Cut, Friend, Table, Wanted};
use pyo3::prelude::*;

use crate::error::exception;
use crate::runtime::{engine, wait};
use crate::steps::Open;

/// A friend that Python has, by the name that comes before the dot.
pub type NamedFriend = (String, Open);

/// A column of a friend: that one's name, the path in it and, of a field, those in it to keep.
#[derive(FromPyObject)]
pub enum OfFriend {
    Branch((String, String)),
    Field((String, String, Option<Vec<String>>)),
}

/// Address, path, first and last entry, half open.
pub type LinkTuple = (String, String, u64, u64);

/// Name, pieces, stored and decoded bytes, and first and last byte in the file.
pub type PlannedTuple = (String, usize, u64, u64, Option<(u64, u64)>);

/// Address and path of a table, its columns, and the ranges that would be asked for.
pub type OutlineTuple = (String, String, Vec<PlannedTuple>, Vec<(u64, u64)>);

impl OfFriend {
    /// `friend.column`
    pub fn name(&self) -> String {
        match self {
            OfFriend::Branch((friend, path)) | OfFriend::Field((friend, path, _)) => {
                format!("{friend}.{path}")
            }
        }
    }

    pub fn chosen(&self, optional: bool) -> Chosen {
        let keep = match self {
            OfFriend::Branch(_) => None,
            OfFriend::Field((_, _, keep)) => keep.clone(),
        };
        // Whoever wants bytes has told the friend itself.
        Chosen { name: self.name(), optional, as_bytes: false, keep }
    }
}

/// Columns of a table and of friends, by their names.
pub fn select(
    py: Python<'_>,
    table: &Arc<dyn Table>,
    friends: Vec<NamedFriend>,
    chosen: Vec<Chosen>,
    cut: Option<&Cut>,
) -> PyResult<Box<dyn Columns>> {
    let friend = |(name, open): &NamedFriend| Ok(Friend::new(name, open.table(py)?));
    let friends: Vec<Friend> = friends.iter().map(friend).collect::<PyResult<_>>()?;
    let (engine, wanted) = (engine(py)?, Wanted::Chosen(chosen));
    let select = engine.select_for(table, &friends, &wanted, cut);
    wait(py, &engine, select)?.map_err(|error| exception(py, &error))
}

/// The tables of a chain.
pub fn links(chain: &engine::Chain) -> Vec<LinkTuple> {
    let tuple = |(url, path, entries): (&str, &str, Range<u64>)| {
        (url.to_owned(), path.to_owned(), entries.start, entries.end)
    };
    chain.links().map(tuple).collect()
}

/// What reading would fetch, table by table.
pub fn outlines(
    py: Python<'_>,
    selected: &dyn Columns,
    entries: Range<u64>,
) -> PyResult<Vec<OutlineTuple>> {
    let outlines = wait(py, &engine(py)?, selected.outlines(entries))?;
    let pair = |range: &Range<u64>| (range.start, range.end);
    let tuple = |outline: engine::Outline| {
        let planned = outline.columns.iter().map(|column| {
            let (stored, decoded) = (column.stored_bytes, column.decoded_bytes);
            (column.name.clone(), column.pieces, stored, decoded, column.span.as_ref().map(pair))
        });
        let ranges = outline.ranges.iter().map(pair).collect();
        (outline.url.clone(), outline.path.clone(), planned.collect(), ranges)
    };
    let outlines = outlines.map_err(|error| exception(py, &error))?;
    Ok(outlines.into_iter().map(tuple).collect())
}
