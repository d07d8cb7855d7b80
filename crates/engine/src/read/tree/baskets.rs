//! Baskets of a tree's branches, on their way from a plan to a batch.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use rootfile::tree::{Basket, BasketPlace, Tree};
use rootfile::{Array, Codecs, Error, Known, Result};

use super::counts::Counting;
use crate::located::Located;
use crate::read::core::columns::Column;
use crate::read::core::fill::builder::ColumnBuilder;
use crate::read::core::fill::slots;
use crate::read::core::pipeline::plan::Item;
use crate::read::core::pipeline::slot::Counts;
use crate::read::core::pipeline::{Arrived, Decoded, Decoder, Pipeline, Source};

/// The size that a file states for it is believed up to so many times its stored bytes; beyond
/// that, arrays grow as they are filled.
const EXPANSION_TRUSTED: u64 = 32;

/// Columns of a tree. An item is the basket of a number.
pub struct Baskets {
    /// Bytes that came with the metadata; baskets in them are not fetched again.
    pub known: Known,
    pub tree: Arc<Tree>,
    pub tree_path: Arc<str>,
    pub url: String,
    pub columns: Vec<Arc<Column>>,
    /// For each column the one that counts its items, where there is one.
    pub counters: Vec<Option<Arc<Column>>>,
    pub counting: Counting,
}

impl Source for Baskets {
    type Locator = usize;

    fn name(&self, column: usize) -> &str {
        &self.columns[column].name
    }

    fn empty(&self, column: usize) -> Array {
        self.columns[column].interpretation.empty()
    }

    fn reserve(&self, items: &[&Item<usize>], entries: usize, shared: bool, array: &mut Array) {
        let room =
            |item: &&Item<usize>| item.decoded.min(item.stored().saturating_mul(EXPANSION_TRUSTED));
        let room = items.iter().map(room).fold(0, u64::saturating_add);
        let room = usize::try_from(room).unwrap_or(0);
        let is_list = matches!(array, Array::List { .. });
        let offsets = if is_list { entries.saturating_mul(size_of::<i64>()) } else { 0 };
        let lists = if shared && is_list { 0 } else { entries.min(room) };
        array.reserve(lists, room.saturating_sub(offsets));
    }

    fn may_leave_out(&self, column: usize) -> bool {
        self.columns[column].optional
    }

    fn at_hand(&self, item: &Item<usize>) -> Option<Vec<Bytes>> {
        let branch = &self.tree.branches[self.columns[item.column].branch.0 as usize];
        let bytes = match &branch.baskets[item.locator].place {
            BasketPlace::Embedded(bytes) => Some(bytes.clone()),
            BasketPlace::Stored(range) => self.known.get(range.clone()),
        };
        bytes.map(|bytes| vec![bytes])
    }

    fn decoder(&self, item: &mut Item<usize>) -> Decoder {
        let tree = self.tree.clone();
        let column = self.columns[item.column].clone();
        let path = self.tree_path.clone();
        let url = self.url.clone();
        let basket = item.locator;
        let entries = item.entries.clone();
        let range = item.pieces.first().map(|piece| piece.range.clone());
        Box::new(move |arrived, codecs| {
            let one = OneBasket { tree: &tree, column: &column, basket, entries: &entries };
            one.decode_to(arrived, codecs).map_err(|error| {
                let error = error.within(&path).located(url);
                match range {
                    Some(range) => error.with_range(range),
                    None => error,
                }
            })
        })
    }

    fn prepare(pipeline: &mut Pipeline<Self>) -> remote::Result<()> {
        pipeline.expect_counts()
    }

    fn plan_counts(pipeline: &mut Pipeline<Self>, column: usize) -> remote::Result<()> {
        pipeline.count(column)
    }
}

/// Some entries of a basket, to be decoded.
pub struct OneBasket<'a> {
    pub tree: &'a Tree,
    pub column: &'a Column,
    /// Position in the branch's baskets.
    pub basket: usize,
    pub entries: &'a Range<u64>,
}

impl OneBasket<'_> {
    /// Decodes the entries to an array of their own; `None` where the basket lacks counts.
    pub fn decode(
        &self,
        bytes: &Bytes,
        counts: &[Counts],
        codecs: &mut Codecs,
    ) -> Result<Option<Array>> {
        self.with_basket(bytes, counts, codecs, |basket, held| {
            let mut array = self.room_for(basket);
            let entries = within(self.entries, held);
            self.column.interpretation.decode(basket, entries, &mut array)?;
            Ok(array)
        })
    }

    fn decode_to(&self, arrived: Arrived, codecs: &mut Codecs) -> Result<Decoded> {
        let Arrived { bytes, counts, places } = arrived;
        let Some(basket) = bytes.first() else { return Err(Error::corrupt("without bytes")) };
        let decoded = match places {
            None => {
                let array = self.decode(basket, &counts, codecs)?;
                array.map(|array| Decoded::Array(Arc::new(array)))
            }
            Some(places) => self.with_basket(basket, &counts, codecs, |basket, held| {
                let fill = |column: &mut ColumnBuilder| {
                    let entries = within(self.entries, held);
                    column.decode(&self.column.interpretation, basket, entries)
                };
                slots::put(&places, self.entries, || self.room_for(basket), fill).map(Decoded::Put)
            })?,
        };
        Ok(decoded.unwrap_or(Decoded::LacksCounts(bytes)))
    }

    /// The result of `decode` for the basket and the entries of the tree that it holds; `None`
    /// where it lacks counts.
    fn with_basket<T>(
        &self,
        bytes: &Bytes,
        counts: &[Counts],
        codecs: &mut Codecs,
        decode: impl FnOnce(&Basket<'_>, &Range<u64>) -> Result<T>,
    ) -> Result<Option<T>> {
        let branch = &self.tree.branches[self.column.branch.0 as usize];
        let reference = &branch.baskets[self.basket];
        let read = || {
            self.tree.check_owner(self.column.branch, reference, bytes)?;
            let mut basket = Basket::read(reference, bytes, codecs)?;
            if self.column.interpretation.needs_counts(&basket) {
                if counts.is_empty() {
                    return Ok(None);
                }
                let counts = counts_of(&reference.entries, counts)?;
                self.column.interpretation.take_counts(&mut basket, &counts)?;
            }
            decode(&basket, &reference.entries).map(Some)
        };
        read().map_err(|error| {
            let error = error.within(&format!("{}/basket {}", self.column.name, self.basket));
            match &reference.place {
                BasketPlace::Stored(range) => error.at(range.start),
                BasketPlace::Embedded(_) => error,
            }
        })
    }

    /// An empty column with room for the entries of a basket.
    fn room_for(&self, basket: &Basket<'_>) -> Array {
        let mut array = self.column.interpretation.empty();
        array.reserve(basket.entries, basket.data.len());
        array
    }
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
        let from = entries.start.max(held.start);
        let to = entries.end.min(held.end);
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
