//! Ranges that are prefetched: under way, or here until a client asks for them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bytes::Bytes;
use remote::fetch::Delivery;
use tokio::sync::{mpsc, oneshot};

/// Orders to a batch of predicted ranges, for one of them.
#[derive(Debug, Clone, Copy)]
pub enum PieceOrder {
    /// A client waits for it now.
    Promote(usize),
    /// It is not needed any more.
    GiveUp(usize),
}

/// Predicted ranges of one file. They do not overlap.
#[derive(Debug, Default)]
pub struct Pieces {
    by_start: BTreeMap<u64, Piece>,
}

#[derive(Debug)]
struct Piece {
    end: u64,
    /// The batch that it was wanted with, and its position there.
    orders: mpsc::UnboundedSender<PieceOrder>,
    position: usize,
    state: State,
    /// Whether a client has read bytes of it.
    is_used: bool,
    /// Number of clients for which it is predicted and which have not read it.
    claims: u32,
    /// Whether `claims` has counted the second client of a basket that two chunks share.
    is_shared: bool,
}

#[derive(Debug)]
enum State {
    /// Those who wait for it.
    Coming(Vec<oneshot::Sender<Bytes>>),
    Here(Delivery),
}

/// Uses of a predicted range that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Clients waited for it and receive it.
    Now,
    /// No client waits for it: it is kept.
    Later,
    /// It was given up before.
    Never,
}

/// A part of a range that a client reads.
#[derive(Debug)]
pub enum Part {
    /// Predicted and here. The number is the bytes received for the whole prediction if this is the
    /// first read of it, else 0.
    Here(Bytes, u64),
    /// Predicted and on its way: the client wants these bytes of the prediction.
    Coming(oneshot::Receiver<Bytes>, Range<usize>),
    /// Not predicted.
    Absent(Range<u64>),
}

impl Piece {
    /// Bytes received for it from a server, if it is here and no client has read any of it; else 0.
    fn kept_in_vain(&self) -> u64 {
        match &self.state {
            State::Here(delivery) if !self.is_used => delivery.fetched(),
            _ => 0,
        }
    }
}

impl Pieces {
    /// Adds the ranges predicted for a client. Returns the new ones, which receive `orders`.
    pub fn expect(
        &mut self,
        ranges: Vec<Range<u64>>,
        orders: &mpsc::UnboundedSender<PieceOrder>,
    ) -> Vec<Range<u64>> {
        let mut added = Vec::with_capacity(ranges.len());
        for range in ranges {
            if let Some(piece) = self.by_start.get_mut(&range.start)
                && piece.end == range.end
            {
                piece.claims += 1;
                continue;
            }
            if range.is_empty() || self.overlapping(&range).next().is_some() {
                continue;
            }
            let orders = orders.clone();
            let state = State::Coming(Vec::new());
            let position = added.len();
            let end = range.end;
            let is_used = false;
            let is_shared = false;
            let claims = 1;
            let piece = Piece { end, orders, position, state, is_used, claims, is_shared };
            self.by_start.insert(range.start, piece);
            added.push(range);
        }
        added
    }

    /// Sends a predicted range that has arrived to the clients that wait for it, or keeps it, or
    /// both where it is also predicted for other clients.
    pub fn arrive(&mut self, range: &Range<u64>, delivery: Delivery) -> Use {
        let start = range.start;
        // After one that was given up, another one may be predicted that begins where it began.
        let same = self.by_start.get_mut(&start).filter(|piece| piece.end == range.end);
        let Some(piece) = same else { return Use::Never };
        match &mut piece.state {
            State::Coming(waiting) if !waiting.is_empty() => {
                for waiter in waiting.drain(..) {
                    // A client that has gone does not matter.
                    let _ = waiter.send(delivery.bytes.clone());
                }
                match piece.claims {
                    0 => drop(self.by_start.remove(&start)),
                    _ => piece.state = State::Here(delivery),
                }
                Use::Now
            }
            state => {
                *state = State::Here(delivery);
                Use::Later
            }
        }
    }

    /// A predicted range does not come; its clients ask for it themselves.
    pub fn fail(&mut self, range: &Range<u64>) {
        let is_coming =
            |piece: &Piece| piece.end == range.end && matches!(piece.state, State::Coming(_));
        if self.by_start.get(&range.start).is_some_and(is_coming) {
            self.by_start.remove(&range.start);
        }
    }

    /// Drops ranges that were predicted for a client, unless a client waits for it or it is
    /// predicted for another one. Returns the bytes of the ranges that no client has read, and the
    /// bytes received from servers for these.
    pub fn give_up(&mut self, ranges: &[Range<u64>]) -> (u64, u64) {
        let mut dropped = 0;
        let mut fetched = 0;
        for range in ranges {
            let Some(piece) = self.by_start.get_mut(&range.start) else { continue };
            if piece.end != range.end {
                continue;
            }
            piece.claims = piece.claims.saturating_sub(1);
            let is_awaited = matches!(&piece.state, State::Coming(waiting) if !waiting.is_empty());
            if piece.claims > 0 || is_awaited {
                continue;
            }
            if let Some(piece) = self.by_start.remove(&range.start) {
                dropped += if piece.is_used { 0 } else { range.end - range.start };
                fetched += piece.kept_in_vain();
                let _ = piece.orders.send(PieceOrder::GiveUp(piece.position));
            }
        }
        (dropped, fetched)
    }

    /// Bytes received from servers for predictions that are here and that no client has read.
    pub fn kept_in_vain(&self) -> u64 {
        self.by_start.values().map(Piece::kept_in_vain).sum()
    }

    /// A client reads a range. Returns its parts in their order. A prediction that is read to its
    /// end is kept only for other clients: those for which it is predicted and, where it begins at
    /// one of the offsets `shared`, a second one.
    pub fn read(&mut self, range: &Range<u64>, shared: &BTreeSet<u64>) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut at = range.start;
        let starts: Vec<u64> = self.overlapping(range).collect();
        for start in starts {
            let Some(piece) = self.by_start.get_mut(&start) else { continue };
            if at < start {
                parts.push(Part::Absent(at..start));
            }
            let end = piece.end.min(range.end);
            let within = (at.max(start) - start) as usize..(end - start) as usize;
            let is_whole = piece.end <= range.end;
            if !piece.is_shared && shared.contains(&start) {
                piece.is_shared = true;
                piece.claims += 1;
            }
            piece.claims = piece.claims.saturating_sub(u32::from(is_whole));
            at = end;
            match &mut piece.state {
                State::Here(delivery) => {
                    let is_first = !std::mem::replace(&mut piece.is_used, true);
                    let first_used = if is_first { delivery.fetched() } else { 0 };
                    parts.push(Part::Here(delivery.bytes.slice(within), first_used));
                    if is_whole && piece.claims == 0 {
                        self.by_start.remove(&start);
                    }
                }
                State::Coming(waiting) => {
                    let (sender, receiver) = oneshot::channel();
                    waiting.push(sender);
                    piece.is_used = true;
                    parts.push(Part::Coming(receiver, within));
                    let _ = piece.orders.send(PieceOrder::Promote(piece.position));
                }
            }
        }
        if at < range.end || parts.is_empty() {
            parts.push(Part::Absent(at..range.end.max(at)));
        }
        parts
    }

    /// Whether a range is predicted, or is a part of one that is.
    pub fn has(&self, range: &Range<u64>) -> bool {
        let before = self.by_start.range(..=range.start).next_back();
        before.is_some_and(|(_, piece)| piece.end >= range.end)
    }

    /// The parts of a range that are not fetched ahead, or have not arrived yet.
    pub fn not_here(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let mut parts = Vec::new();
        let mut at = range.start;
        for start in self.overlapping(range) {
            let Some(piece) = self.by_start.get(&start) else { continue };
            let end = piece.end.min(range.end);
            if at < start {
                parts.push(at..start);
            }
            if matches!(piece.state, State::Coming(_)) {
                parts.push(at.max(start)..end);
            }
            at = end;
        }
        if at < range.end {
            parts.push(at..range.end);
        }
        parts
    }

    /// Number of clients for which the range that begins here is predicted and unread.
    #[cfg(test)]
    pub fn claims(&self, start: u64) -> u32 {
        self.by_start.get(&start).map_or(0, |piece| piece.claims)
    }

    /// The beginnings of the pieces of which some bytes are in a range.
    fn overlapping(&self, range: &Range<u64>) -> impl Iterator<Item = u64> + '_ {
        let before = self.by_start.range(..range.start).next_back();
        let reaches = before.filter(|(_, piece)| piece.end > range.start).map(|(start, _)| *start);
        let within = match range.is_empty() {
            true => None,
            false => Some(self.by_start.range(range.clone()).map(|(start, _)| *start)),
        };
        reaches.filter(|_| !range.is_empty()).into_iter().chain(within.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::StreamExt;
    use remote::fetch::{Urgency, Want};
    use remote::source::network::Tcp;
    use remote::{Config, Remote};

    use super::*;

    /// Regression: of two baskets that a damaged file has at one offset, the bytes of the first
    /// one, given up on its way, were kept as those of the second one, which was longer: a client
    /// that read that ended the proxy's task.
    #[tokio::test]
    async fn bytes_of_a_shorter_range_at_the_same_offset_are_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [7; 100]).unwrap();
        let config = Config::default();
        let network = Arc::new(Tcp::new(config.connect_timeout));
        let remote = Remote::start(config, network);
        let file = remote.open_bytes(path.to_str().unwrap()).await.unwrap();
        let want = Want { range: 10..20, cost: 10, urgency: Urgency::Demand, order: 0 };
        let delivery = file.want(vec![want]).next().await.unwrap().unwrap();

        let short = 10..20;
        let long = 10..50;
        let (orders, _receiver) = mpsc::unbounded_channel();
        let mut pieces = Pieces::default();
        assert_eq!(pieces.expect(vec![short.clone()], &orders), std::slice::from_ref(&short));
        pieces.give_up(std::slice::from_ref(&short));
        assert_eq!(pieces.expect(vec![long.clone()], &orders), std::slice::from_ref(&long));
        assert_eq!(pieces.arrive(&short, delivery), Use::Never);
        pieces.fail(&short);
        let parts = pieces.read(&long, &BTreeSet::new());
        assert!(matches!(&parts[..], [Part::Coming(_, within)] if *within == (0..40)), "{parts:?}");
    }
}
