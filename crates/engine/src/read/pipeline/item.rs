//! One basket on its way from a plan to a batch.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use rootfile::tree::{Basket, Tree};
use rootfile::{Array, Codecs, Error, Result};

use super::super::columns::Column;
use super::super::plan::Item;
use crate::fetch::Permit;

/// What has become of an item, and who needs it.
#[derive(Default)]
pub struct Slot {
    pub state: State,
    /// Batches that it goes into.
    pub needed_by: Vec<usize>,
    /// Windows with some of its entries about which nothing is decided.
    pub undecided: usize,
    /// Items with the counts that decoding it takes.
    pub counts: Vec<usize>,
    /// Items that this one holds the counts of, as long as these are not decoded.
    pub dependents: Vec<usize>,
}

#[derive(Default)]
pub enum State {
    /// Nothing has been asked for.
    #[default]
    Idle,
    /// On its way, as the want of this number.
    Asked(usize),
    /// Here, and waiting for its counts.
    Parked(Bytes, Option<Permit>),
    Decoding,
    Held(Arc<Array>, Option<Permit>),
    /// Handed out, or not needed after all.
    Gone,
}

/// What came of decoding.
pub enum Outcome {
    Array(Arc<Array>),
    /// The basket leaves its entry offsets to be computed from counts.
    LacksCounts(Bytes),
}

/// Counts of some entries of the tree.
pub type Counts = (Range<u64>, Arc<Array>);

/// Decodes the wanted entries of one basket.
pub fn decode_item(
    tree: &Tree,
    column: &Column,
    item: &Item,
    bytes: &Bytes,
    counts: &[Counts],
    codecs: &mut Codecs,
) -> Result<Outcome> {
    let branch = &tree.branches[column.branch.0 as usize];
    let reference = &branch.baskets[item.basket];
    let local = (item.entries.start - reference.entries.start) as usize
        ..(item.entries.end - reference.entries.start) as usize;
    let read = || {
        let mut basket = Basket::read(reference, bytes, codecs)?;
        if column.interpretation.needs_counts(&basket) {
            if counts.is_empty() {
                return Ok(Outcome::LacksCounts(bytes.clone()));
            }
            let counts = counts_of(&reference.entries, counts)?;
            column.interpretation.offsets_from_counts(&mut basket, &counts)?;
        }
        let mut array = column.interpretation.empty();
        array.reserve(local.len(), basket.data.len());
        column.interpretation.decode(&basket, local, &mut array)?;
        Ok(Outcome::Array(Arc::new(array)))
    };
    read().map_err(|error: Error| {
        let error = error.within(&format!("{}/basket {}", column.name, item.basket));
        match &item.range {
            Some(range) => error.at(range.start),
            None => error,
        }
    })
}

/// The counts of exactly these entries.
fn counts_of(entries: &Range<u64>, counts: &[Counts]) -> Result<Array> {
    let mut parts = Vec::with_capacity(counts.len());
    let mut covered = entries.start;
    for (held, array) in counts {
        let (from, to) = (entries.start.max(held.start), entries.end.min(held.end));
        if from == covered && from < to {
            parts.push(array.slice((from - held.start) as usize..(to - held.start) as usize));
            covered = to;
        }
    }
    match Array::concat(parts)? {
        Some(counts) if covered == entries.end => Ok(counts),
        _ => Err(Error::corrupt("its counter has fewer entries")),
    }
}
