//! Requests of a read, and their answers.

use std::ops::Range;

use bytes::Bytes;
use futures::{FutureExt, StreamExt};

use super::Source;
use super::plan::{DECIDED_AHEAD, Item};
use super::run::Pipeline;
use super::share::Share;
use super::slot::{Asked, State};
use remote::Result;
use remote::fetch::{Delivery, Urgency, Want};

/// Most bytes of pieces that are requested by one want: several decoders have work with few of
/// them.
const JOINED_BYTES: u64 = 128 << 10;
/// Bytes that are taken in before the decoders get them.
const TAKEN_IN: u64 = 1 << 20;

/// Items with the bytes of their pieces.
pub(super) type AtHand = Vec<(usize, Vec<Bytes>)>;

/// One of the pieces of an item.
#[derive(Debug, Clone, Copy)]
pub(super) struct ItemPiece {
    item: usize,
    /// Its position among the pieces.
    piece: usize,
}

/// The pieces of each want, which lie behind each other in the file.
#[derive(Debug, Default)]
pub(super) struct WantedPieces {
    pieces: Vec<ItemPiece>,
    /// Of each want the first of its pieces.
    firsts: Vec<usize>,
}

impl WantedPieces {
    /// Adds a piece to the last want, or to a new one; returns the number of the want.
    fn add(&mut self, piece: ItemPiece, is_new: bool) -> usize {
        if is_new {
            self.firsts.push(self.pieces.len());
        }
        self.pieces.push(piece);
        self.firsts.len() - 1
    }

    fn of(&self, want: usize) -> &[ItemPiece] {
        let end = self.firsts.get(want + 1).copied().unwrap_or(self.pieces.len());
        &self.pieces[self.firsts[want]..end]
    }
}

impl<S: Source> Pipeline<S> {
    /// Asks for items that have not been asked for, and for the counts that they need. `items`
    /// ascend.
    pub fn ask(&mut self, items: Vec<usize>) {
        for (at, bytes) in self.send_for(items) {
            self.complete(at, bytes, Vec::new());
        }
    }

    /// Asks for those items that are not at hand; returns the others, with their bytes.
    pub(super) fn send_for(&mut self, items: Vec<usize>) -> AtHand {
        let mut asked = Vec::new();
        let mut at_hand = AtHand::new();
        for at in items {
            let counts = std::mem::take(&mut self.slots[at].counts);
            let order = self.job.rank.place(self.turn(&self.plan.items[at]));
            for at in counts.iter().copied().chain([at]) {
                if !matches!(self.slots[at].state, State::Idle) {
                    continue;
                }
                let item = &self.plan.items[at];
                if let Some(bytes) = self.source.at_hand(item) {
                    self.slots[at].state = State::Decoding;
                    at_hand.push((at, bytes));
                    continue;
                }
                self.slots[at].state = State::Asked(Asked::of(item.pieces.len()));
                let urgent = item.batches.start < self.awaited;
                asked.extend(item.pieces.iter().enumerate().map(|(piece, place)| {
                    let range = place.range.clone();
                    let cost = (range.end - range.start) + place.decoded;
                    let urgency = if urgent { Urgency::Demand } else { Urgency::Hint };
                    (ItemPiece { item: at, piece }, Want { range, cost, urgency, order })
                }));
            }
            self.slots[at].counts = counts;
        }
        // Pieces of several items may lie in turn.
        asked.sort_by_key(|(_, want)| (want.order, want.range.start));
        let wants = self.join_neighbours(asked);
        self.open += wants.len();
        self.wants.add(wants);
        at_hand
    }

    /// One want for pieces that lie behind each other on a disk, where they are small and the read
    /// gives none of them up alone: a want costs as much as decoding a small basket. The scheduler
    /// shares out the bytes of a link among connections by wants.
    fn join_neighbours(&mut self, asked: Vec<(ItemPiece, Want)>) -> Vec<Want> {
        let may_join = self.job.remote.is_local() && self.undecided.is_none();
        let most = if may_join && !self.wants.are_kept() { JOINED_BYTES } else { 0 };
        let mut wants: Vec<Want> = Vec::new();
        for (piece, want) in asked {
            let joined = wants.last_mut().filter(|last| {
                last.range.end == want.range.start
                    && (last.order, last.urgency) == (want.order, want.urgency)
                    && want.range.end - last.range.start <= most
            });
            let is_new = joined.is_none();
            match joined {
                Some(last) => {
                    last.range.end = want.range.end;
                    last.cost = last.cost.saturating_add(want.cost);
                }
                None => wants.push(want),
            }
            let number = self.wanted.add(piece, is_new);
            if let State::Asked(asked) = &mut self.slots[piece.item].state {
                asked.wants[piece.piece] = number;
            }
        }
        wants
    }

    /// Gives up the wants of an item, but for those that bring pieces of other items, too.
    pub(super) fn give_up(&mut self, at: usize) {
        let State::Asked(asked) = &self.slots[at].state else { return };
        for want in asked.wants.iter().filter(|want| self.wanted.of(**want).len() == 1) {
            self.wants.give_up(*want..*want + 1);
        }
    }

    /// When an item's turn comes: a number of an entry, so that reads of one table side by side are
    /// served side by side. Items of the same turn are fetched in the order of the file.
    fn turn(&self, item: &Item<S::Locator>) -> u64 {
        match &self.undecided {
            None => self.plan.batches[item.batches.start].entries.start,
            Some(undecided) => {
                let ahead = if undecided.decides(item.column) { DECIDED_AHEAD } else { 0 };
                let window = self.plan.window_of(item).saturating_sub(ahead);
                self.plan.windows.get(window).map_or(0, |window| window.entries.start)
            }
        }
    }

    /// A want is here: takes in those that are here with it, for the decoders to get them together.
    pub(super) fn come_together(&mut self, first: Option<Result<Delivery>>) -> Result<()> {
        let mut next = Some(first);
        let mut taken_in = 0;
        while let Some(delivery) = next {
            let Some(delivery) = delivery else {
                self.open = 0;
                return Ok(());
            };
            let delivery = delivery.map_err(|error| error.with_url(self.job.remote.url()))?;
            self.open -= 1;
            taken_in += delivery.bytes.len() as u64;
            self.come(delivery);
            let is_enough = self.open == 0 || taken_in >= TAKEN_IN;
            next = if is_enough { None } else { self.wants.next().now_or_never() };
        }
        Ok(())
    }

    /// The pieces of a want are here.
    fn come(&mut self, delivery: Delivery) {
        let Delivery { index, bytes, reservation, .. } = delivery;
        let place = |at: &ItemPiece| &self.plan.items[at.item].pieces[at.piece];
        let pieces = self.wanted.of(index).iter().map(|at| (*at, place(at).range.clone()));
        let pieces: Vec<(ItemPiece, Range<u64>)> = pieces.collect();
        let cost = |(at, range): &(ItemPiece, Range<u64>)| {
            (range.end - range.start).saturating_add(place(at).decoded)
        };
        let shares = Share::of(reservation, pieces.iter().map(cost));
        let start = pieces.first().map_or(0, |(_, range)| range.start);
        // One alone may have come with another codec, and is longer or shorter then.
        let is_alone = pieces.len() == 1;
        for ((at, range), share) in pieces.into_iter().zip(shares) {
            let part = (range.start - start) as usize..(range.end - start) as usize;
            let part = if is_alone { bytes.clone() } else { bytes.slice(part) };
            self.come_of(at, part, share);
        }
    }

    /// A piece of an item is here.
    fn come_of(&mut self, at: ItemPiece, bytes: Bytes, share: Share) {
        let awaited = self.is_awaited(at.item);
        let state = &mut self.slots[at.item].state;
        // Not where the item has been given up.
        let State::Asked(asked) = state else { return };
        asked.bytes[at.piece] = bytes;
        asked.absent -= 1;
        if asked.absent == 0 {
            asked.shares.push(share);
            if let State::Asked(Asked { bytes, shares, .. }) = std::mem::take(state) {
                self.complete(at.item, bytes, shares);
            }
            return;
        }
        // Or an item larger than the budget could never be complete.
        if awaited {
            share.hand_over();
        }
        asked.shares.push(share);
    }

    /// All bytes of an item are here.
    pub(super) fn complete(&mut self, at: usize, bytes: Vec<Bytes>, shares: Vec<Share>) {
        for batch in &self.slots[at].needed_by {
            self.absent[*batch] -= 1;
        }
        self.arrive(at, bytes, shares);
    }
}
