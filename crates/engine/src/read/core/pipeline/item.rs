//! One basket on its way from a plan to a batch.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use rootfile::tree::{Basket, Tree};
use rootfile::{Array, Codecs, Error, Result};

use crate::fetch::Permit;
use crate::read::core::columns::Column;
use crate::read::core::fill::filling::Filling;
use crate::read::core::fill::slots::Place;
use crate::read::tree::plan::Item;

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
    /// Decoded to where it goes.
    Put(Option<Permit>),
    /// Not readable by this version, and of a column that nobody has named.
    Refused(crate::error::Error),
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
    let array = with_basket(tree, column, item, bytes, counts, codecs, |basket, held| {
        let mut array = room_for(column, basket);
        column.interpretation.decode(basket, within(&item.entries, held), &mut array)?;
        Ok(array)
    })?;
    Ok(match array {
        Some(array) => Outcome::Array(Arc::new(array)),
        None => Outcome::LacksCounts(bytes.clone()),
    })
}

/// As [`decode_item`], to the places where the entries go. Returns the bytes that they take there;
/// `None` where the basket lacks counts.
pub fn put_item(
    tree: &Tree,
    column: &Column,
    item: &Item,
    bytes: &Bytes,
    counts: &[Counts],
    places: &[Place],
    codecs: &mut Codecs,
) -> Result<Option<usize>> {
    with_basket(tree, column, item, bytes, counts, codecs, |basket, held| {
        let own = || room_for(column, basket);
        let interpretation = &column.interpretation;
        if let [Place { shelf, entries }] = places {
            let put =
                |column: &mut Filling| column.decode(interpretation, basket, within(entries, held));
            return shelf.put(entries.clone(), own, put);
        }
        let mut whole = own();
        interpretation.decode(basket, within(&item.entries, held), &mut whole)?;
        let mut nbytes = 0;
        for Place { shelf, entries } in places {
            let part = whole.slice(within(entries, &item.entries));
            let own = || whole.empty_like();
            nbytes += shelf.put(entries.clone(), own, |column| column.append(&part))?;
        }
        Ok(nbytes)
    })
}

/// What `decode` makes of a basket and the entries of the tree that it holds; `None` where it
/// lacks counts.
fn with_basket<T>(
    tree: &Tree,
    column: &Column,
    item: &Item,
    bytes: &Bytes,
    counts: &[Counts],
    codecs: &mut Codecs,
    decode: impl FnOnce(&Basket<'_>, &Range<u64>) -> Result<T>,
) -> Result<Option<T>> {
    let reference = &tree.branches[column.branch.0 as usize].baskets[item.basket];
    let read = || {
        let mut basket = Basket::read(reference, bytes, codecs)?;
        if column.interpretation.needs_counts(&basket) {
            if counts.is_empty() {
                return Ok(None);
            }
            let counts = counts_of(&reference.entries, counts)?;
            column.interpretation.take_counts(&mut basket, &counts)?;
        }
        decode(&basket, &reference.entries).map(Some)
    };
    read().map_err(|error: Error| {
        let error = error.within(&format!("{}/basket {}", column.name, item.basket));
        match &item.range {
            Some(range) => error.at(range.start),
            None => error,
        }
    })
}

/// An empty column with room for what a basket holds.
fn room_for(column: &Column, basket: &Basket<'_>) -> Array {
    let mut array = column.interpretation.empty();
    array.reserve(basket.entries, basket.data.len());
    array
}

/// Some entries, counted from the first of those that they are among.
fn within(entries: &Range<u64>, all: &Range<u64>) -> Range<usize> {
    (entries.start - all.start) as usize..(entries.end - all.start) as usize
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
