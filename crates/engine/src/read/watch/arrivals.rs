//! The ranges of one read of a client, as they arrive.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream::FuturesUnordered;
use futures::{Stream, StreamExt};
use remote::fetch::{Delivery, MemoryReservation, Urgency, Want, Wants};
use remote::{ErrorKind, Result};
use tokio::sync::oneshot;

use super::client::Answering;
use super::pieces::Part;
use super::used::Ways;

/// A range that has arrived.
#[derive(Debug)]
pub struct Arrival {
    /// Its position among the ranges that were asked for together.
    pub index: usize,
    pub bytes: Bytes,
    /// Where the bytes were when the client asked for them.
    pub ways: Ways,
    /// As long as the arrival is kept, so much less is read ahead.
    _reservations: Vec<MemoryReservation>,
}

/// Ranges on their way to a client, in the order in which they become complete. An error is the
/// last item. Dropping it gives up those that have not come.
#[derive(Debug)]
pub struct Arrivals {
    ready: VecDeque<Arrival>,
    incomplete: BTreeMap<usize, Incomplete>,
    wants: Wants,
    /// The part that each want is.
    owners: Vec<Owner>,
    predicted: FuturesUnordered<Predicted>,
    /// `None` when the client has its answer.
    answering: Option<Answering>,
}

/// A range of which something is not here.
#[derive(Debug)]
struct Incomplete {
    parts: Vec<Option<Bytes>>,
    lacking: usize,
    ways: Ways,
    reservations: Vec<MemoryReservation>,
}

/// A part of a range.
#[derive(Debug, Clone)]
struct Owner {
    index: usize,
    part: usize,
    range: Range<u64>,
}

/// A part that was predicted and is on its way.
#[derive(Debug)]
struct Predicted {
    owner: Owner,
    within: Range<usize>,
    receiver: oneshot::Receiver<Bytes>,
}

impl Arrivals {
    pub(super) fn new(wants: Wants, answering: Answering) -> Self {
        Arrivals {
            ready: VecDeque::new(),
            incomplete: BTreeMap::new(),
            wants,
            owners: Vec::new(),
            predicted: FuturesUnordered::new(),
            answering: Some(answering),
        }
    }

    /// A range that is here.
    pub(super) fn add_here(&mut self, index: usize, bytes: Bytes) {
        let ways = Ways { hit: bytes.len() as u64, ..Ways::default() };
        self.ready.push_back(Arrival { index, bytes, ways, _reservations: Vec::new() });
    }

    /// A range in parts, from its first byte on; absent parts are requested with [`Arrivals::ask`].
    pub(super) fn add_parts(&mut self, index: usize, start: u64, parts: Vec<Part>) -> Vec<Want> {
        let parts_here = Vec::new();
        let reservations = Vec::new();
        let mut incomplete =
            Incomplete { parts: parts_here, lacking: 0, ways: Ways::default(), reservations };
        let mut wants = Vec::new();
        let mut at = start;
        for (part, found) in parts.into_iter().enumerate() {
            let owner = |bytes: usize| Owner { index, part, range: at..at + bytes as u64 };
            let (held, bytes) = match found {
                Part::Here(bytes, _) => {
                    let length = bytes.len();
                    incomplete.ways.hit += length as u64;
                    (Some(bytes), length)
                }
                Part::Coming(receiver, within) => {
                    let owner = owner(within.len());
                    let bytes = within.len();
                    self.predicted.push(Predicted { owner, within, receiver });
                    (None, bytes)
                }
                Part::Absent(range) => {
                    let bytes = (range.end - range.start) as usize;
                    self.owners.push(owner(bytes));
                    wants.push(demand(range));
                    (None, bytes)
                }
            };
            at += bytes as u64;
            incomplete.lacking += usize::from(held.is_none());
            incomplete.parts.push(held);
        }
        if incomplete.lacking == 0 {
            self.ready.push_back(incomplete.whole(index));
        } else {
            self.incomplete.insert(index, incomplete);
        }
        wants
    }

    /// Requests the absent parts of all ranges.
    pub(super) fn ask(&mut self, wants: Vec<Want>) {
        self.wants.add(wants);
    }

    fn arrive(
        &mut self,
        owner: &Owner,
        bytes: Bytes,
        ways: Ways,
        reservation: Option<MemoryReservation>,
    ) {
        let Some(range) = self.incomplete.get_mut(&owner.index) else { return };
        range.parts[owner.part] = Some(bytes);
        range.lacking -= 1;
        range.ways.add(ways);
        range.reservations.extend(reservation);
        if range.lacking == 0
            && let Some(range) = self.incomplete.remove(&owner.index)
        {
            self.ready.push_back(range.whole(owner.index));
        }
    }

    /// Takes in the bytes that have arrived; an error ends the read.
    fn take_in(&mut self, context: &mut Context<'_>) -> Result<()> {
        while let Poll::Ready(Some((predicted, bytes))) = self.predicted.poll_next_unpin(context) {
            match bytes {
                Some(bytes) => {
                    let ways = Ways { joined: bytes.len() as u64, ..Ways::default() };
                    self.arrive(&predicted, bytes, ways, None);
                }
                // The prediction has failed, or was given up a moment ago.
                None => {
                    self.wants.add(vec![demand(predicted.range.clone())]);
                    self.owners.push(predicted);
                }
            }
        }
        while let Poll::Ready(Some(delivery)) = self.wants.poll_next_unpin(context) {
            let delivery = delivery?;
            // The client waits for it: bytes for others must not wait for this client.
            delivery.reservation.hand_over();
            let owner = self.owners[delivery.index].clone();
            let ways = ways_of(&delivery);
            self.arrive(&owner, delivery.bytes, ways, Some(delivery.reservation));
        }
        Ok(())
    }
}

fn ways_of(delivery: &Delivery) -> Ways {
    let (hit, missed) = match delivery.from.is_cached {
        true => (delivery.bytes.len() as u64, 0),
        false => (0, delivery.fetched()),
    };
    Ways { hit, joined: delivery.from.joined, missed }
}

fn demand(range: Range<u64>) -> Want {
    let cost = range.end.saturating_sub(range.start);
    Want { range, cost, urgency: Urgency::Demand, order: 0 }
}

impl Incomplete {
    fn whole(self, index: usize) -> Arrival {
        let mut parts: Vec<Bytes> = self.parts.into_iter().flatten().collect();
        let bytes = match parts.len() {
            0 | 1 => parts.pop().unwrap_or_default(),
            _ => parts.concat().into(),
        };
        Arrival { index, bytes, ways: self.ways, _reservations: self.reservations }
    }
}

impl Future for Predicted {
    /// The part, and its bytes if they have come.
    type Output = (Owner, Option<Bytes>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.receiver).poll(context).map(|bytes| {
            let bytes = bytes.ok().map(|bytes| bytes.slice(self.within.clone()));
            (self.owner.clone(), bytes)
        })
    }
}

impl Stream for Arrivals {
    type Item = Result<Arrival>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.answering.is_none() && self.ready.is_empty() {
            return Poll::Ready(None);
        }
        if self.ready.is_empty()
            && let Err(error) = self.take_in(context)
        {
            if let Some(answering) = self.answering.take()
                && error.kind() == ErrorKind::Changed
            {
                answering.set_stale();
            }
            return Poll::Ready(Some(Err(error)));
        }
        let come = self.ready.pop_front();
        if let (Some(arrival), Some(answering)) = (&come, &self.answering) {
            answering.has_come(arrival.index, &arrival.bytes);
        }
        if self.incomplete.is_empty() && self.ready.is_empty() {
            // With the last range the client has its answer.
            self.answering = None;
        }
        match come {
            Some(arrival) => Poll::Ready(Some(Ok(arrival))),
            None if self.incomplete.is_empty() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}
