//! The bytes of one file as an interval map of chunks.
//!
//! A chunk is a maximal run of bytes with one state and the same waiters:
//!
//! ```text
//!              attach             take               deliver
//!   absent ------------> queued ----------> in flight -------> ready
//!     ^                    ^ |  <------------- |  give_back      |
//!     |              wake  | | (now)           v (later)         |
//!     |                    +-|------------- resting              |
//!     +----------------------+---------- detach of the last -----+
//! ```
//!
//! Absent bytes have no entry. A chunk that has failed too often fails its wants and is absent
//! again. Wants share chunks: each chunk lists who waits for it, the most urgent first.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::ids::{RequestId, Time, WantId};
use crate::message::Urgency;

/// A want as its chunks know it; orders by importance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Waiter {
    pub urgency: Urgency,
    pub order: u64,
    pub want: WantId,
}

/// A chunk's position in the queue: by importance, then by offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueuePosition {
    pub urgency: Urgency,
    pub order: u64,
    pub start: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// To be sent for as soon as a connection has room.
    Queued,
    /// To be queued again after a pause.
    Resting,
    /// Sent for by these requests, not yet here.
    InFlight(Vec<RequestId>),
    /// Here.
    Ready,
}

#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    pub end: u64,
    pub state: State,
    /// Sorted. Never empty while queued or resting.
    pub waiters: Vec<Waiter>,
    /// Part of an open: kept without waiters.
    pub held: bool,
    /// How many requests for these bytes have failed.
    pub attempts: u32,
}

/// Result of attaching a want.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Attached {
    /// Bytes of the want that are not here yet.
    pub missing: u64,
    /// Bytes that no want covered before.
    pub fresh: u64,
    /// Bytes that were in flight without a want: over-read that turns out useful.
    pub rescued: u64,
}

/// Result of detaching a want.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Detached {
    /// Delivered bytes that no want refers to any more.
    pub forget: Vec<Range<u64>>,
    /// Requests some of whose bytes no want waits for any more.
    pub orphaned: BTreeSet<RequestId>,
    /// Bytes that were here or in flight for this want alone.
    pub wasted: u64,
    /// Bytes that were queued for this want alone.
    pub unsent: u64,
}

/// Result of the delivery of a piece of data.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Delivered {
    /// Bytes each want has been missing until now.
    pub arrivals: Vec<(WantId, u64)>,
    /// Bytes that no want covers.
    pub forget: Vec<Range<u64>>,
}

/// Treatment of bytes that a request did not bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Return {
    /// Queued again, not the bytes' fault.
    Now,
    /// Queued again, counted as an attempt.
    Again,
    /// Rest for a while, at least so long; counted as an attempt.
    Later(Time),
    /// The same, where the server has too many requests.
    Busy(Time),
}

/// The bytes that came back.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Returned {
    pub resting: bool,
    /// Most attempts of any of them.
    pub attempts: u32,
    /// Wants whose bytes have been tried too often.
    pub exhausted: BTreeSet<WantId>,
}

#[derive(Debug, Default)]
pub(crate) struct Chunks {
    map: BTreeMap<u64, Chunk>,
    queue: BTreeSet<QueuePosition>,
    /// Queued bytes by urgency.
    queued: [u64; 2],
    /// How many chunks have been touched: the cost of scheduling.
    #[cfg(test)]
    pub touched: u64,
}

impl Chunks {
    /// The most important queued chunk.
    pub(crate) fn first_queued(&self) -> Option<QueuePosition> {
        self.queue.first().copied()
    }

    /// Queued bytes: demands, hints.
    pub(crate) fn queued(&self) -> [u64; 2] {
        self.queued
    }

    /// The chunk that begins at `start`.
    pub(crate) fn get(&self, start: u64) -> Option<&Chunk> {
        self.map.get(&start)
    }

    /// The first chunk that begins at or after `start`.
    pub(crate) fn next(&self, start: u64) -> Option<(u64, &Chunk)> {
        self.map.range(start..).next().map(|(start, chunk)| (*start, chunk))
    }

    /// The last chunk that begins before `start`.
    pub(crate) fn previous(&self, start: u64) -> Option<(u64, &Chunk)> {
        self.map.range(..start).next_back().map(|(start, chunk)| (*start, chunk))
    }

    /// All chunks that begin in `range`, in order.
    pub(crate) fn within(&self, range: &Range<u64>) -> impl Iterator<Item = (u64, &Chunk)> {
        let range = range.start..range.end.max(range.start);
        self.map.range(range).map(|(start, chunk)| (*start, chunk))
    }

    /// Puts a want's bytes on the list.
    pub(crate) fn attach(&mut self, range: &Range<u64>, waiter: Waiter) -> Attached {
        let mut attached = Attached::default();
        for (start, end) in self.cover(range) {
            let bytes = end - start;
            let Some(mut chunk) = self.lift(start) else {
                attached.missing += bytes;
                attached.fresh += bytes;
                let waiters = vec![waiter];
                self.put(
                    start,
                    Chunk { end, state: State::Queued, waiters, held: false, attempts: 0 },
                );
                continue;
            };
            if chunk.state != State::Ready {
                attached.missing += bytes;
            }
            if chunk.waiters.is_empty() && !chunk.held {
                attached.fresh += bytes;
                attached.rescued += bytes;
            }
            if let Err(index) = chunk.waiters.binary_search(&waiter) {
                chunk.waiters.insert(index, waiter);
            }
            self.put(start, chunk);
        }
        attached
    }

    /// Takes a want off the list.
    pub(crate) fn detach(&mut self, range: &Range<u64>, want: WantId) -> Detached {
        let mut detached = Detached::default();
        for start in self.starts(range) {
            let Some(mut chunk) = self.lift(start) else { continue };
            let before = chunk.waiters.len();
            chunk.waiters.retain(|waiter| waiter.want != want);
            let left = chunk.waiters.len() < before && chunk.waiters.is_empty();
            if left && !chunk.held {
                match &chunk.state {
                    State::Queued | State::Resting => {
                        detached.unsent += chunk.end - start;
                        continue;
                    }
                    State::Ready => {
                        detached.wasted += chunk.end - start;
                        detached.forget.push(start..chunk.end);
                        continue;
                    }
                    State::InFlight(requests) => {
                        detached.wasted += chunk.end - start;
                        detached.orphaned.extend(requests);
                    }
                }
            }
            self.put(start, chunk);
        }
        detached.forget = joined(detached.forget);
        detached
    }

    /// The same want with another importance.
    pub(crate) fn replace(&mut self, range: &Range<u64>, old: Waiter, new: Waiter) {
        for start in self.starts(range) {
            let Some(mut chunk) = self.lift(start) else { continue };
            if let Some(waiter) = chunk.waiters.iter_mut().find(|waiter| **waiter == old) {
                *waiter = new;
                chunk.waiters.sort_unstable();
            }
            self.put(start, chunk);
        }
    }

    /// Marks the queued and absent bytes of `range` as sent for by `request`. Bytes in another
    /// state stay as they are. Returns how many bytes no want covers.
    pub(crate) fn take(&mut self, range: &Range<u64>, request: RequestId) -> u64 {
        self.send_for(range, request, false)
    }

    /// As [`Self::take`], for an open: the bytes are kept without waiters.
    pub(crate) fn hold(&mut self, range: &Range<u64>, request: RequestId) {
        self.send_for(range, request, true);
    }

    fn send_for(&mut self, range: &Range<u64>, request: RequestId, held: bool) -> u64 {
        let mut unwanted = 0;
        for (start, end) in self.cover(range) {
            let in_flight = State::InFlight(vec![request]);
            let chunk = match self.lift(start) {
                None => {
                    unwanted += end - start;
                    Chunk { end, state: in_flight, waiters: Vec::new(), held, attempts: 0 }
                }
                Some(chunk) if matches!(chunk.state, State::Queued | State::Resting) => {
                    Chunk { state: in_flight, held, ..chunk }
                }
                Some(chunk) => chunk,
            };
            self.put(start, chunk);
        }
        unwanted
    }

    /// Bytes have arrived, asked for or not.
    pub(crate) fn deliver(&mut self, range: &Range<u64>) -> Delivered {
        let mut delivered = Delivered::default();
        for (start, end) in self.cover(range) {
            let Some(mut chunk) = self.lift(start) else {
                delivered.forget.push(start..end);
                continue;
            };
            if chunk.state != State::Ready {
                if chunk.waiters.is_empty() && !chunk.held {
                    delivered.forget.push(start..end);
                    continue;
                }
                let arrivals = chunk.waiters.iter().map(|waiter| (waiter.want, end - start));
                delivered.arrivals.extend(arrivals);
                chunk.state = State::Ready;
            }
            self.put(start, chunk);
            self.join_left(start);
        }
        delivered.forget = joined(delivered.forget);
        delivered
    }

    /// `request` has ended without these bytes (those of them that it still owed).
    pub(crate) fn give_back(
        &mut self,
        range: &Range<u64>,
        request: RequestId,
        how: Return,
        attempts_max: u32,
    ) -> Returned {
        let mut returned = Returned::default();
        for start in self.starts(range) {
            let Some(mut chunk) = self.lift(start) else { continue };
            let State::InFlight(requests) = &mut chunk.state else {
                self.put(start, chunk);
                continue;
            };
            requests.retain(|other| *other != request);
            if requests.is_empty() {
                chunk.held = false;
                if chunk.waiters.is_empty() {
                    continue;
                }
                chunk.attempts += u32::from(how != Return::Now);
                returned.attempts = returned.attempts.max(chunk.attempts);
                if chunk.attempts >= attempts_max.max(1) {
                    returned.exhausted.extend(chunk.waiters.iter().map(|waiter| waiter.want));
                }
                chunk.state = if matches!(how, Return::Later(_) | Return::Busy(_)) {
                    returned.resting = true;
                    State::Resting
                } else {
                    State::Queued
                };
            }
            self.put(start, chunk);
        }
        returned
    }

    /// The parts of `range` that `request` still owes to a want.
    pub(crate) fn owed(&self, range: &Range<u64>, request: RequestId) -> Vec<Range<u64>> {
        let first = self.previous(range.start + 1).map_or(range.start, |(start, _)| start);
        let chunks = self.map.range(first..range.end).map(|(start, chunk)| (*start, chunk));
        let owed = chunks.filter(|(_, chunk)| {
            let awaited = chunk.held || !chunk.waiters.is_empty();
            let theirs = matches!(&chunk.state, State::InFlight(ids) if ids.contains(&request));
            awaited && theirs && chunk.end > range.start
        });
        let within =
            |(start, chunk): (u64, &Chunk)| start.max(range.start)..chunk.end.min(range.end);
        joined(owed.map(within).collect())
    }

    /// The bytes of `range` that are in flight are requested by `request` as well.
    pub(crate) fn ask_again(&mut self, range: &Range<u64>, request: RequestId) {
        for start in self.starts(range) {
            let Some(mut chunk) = self.lift(start) else { continue };
            if let State::InFlight(requests) = &mut chunk.state {
                requests.push(request);
            }
            self.put(start, chunk);
        }
    }

    /// The bytes of `range` that rested are queued again.
    pub(crate) fn wake(&mut self, range: &Range<u64>) {
        for start in self.starts(range) {
            let Some(mut chunk) = self.lift(start) else { continue };
            if chunk.state == State::Resting {
                chunk.state = State::Queued;
            }
            self.put(start, chunk);
        }
    }

    /// The file ends at `size`: nothing beyond is in flight for an open.
    pub(crate) fn truncate(&mut self, size: u64) {
        self.cut(size);
        for start in self.starts(&(size..u64::MAX)) {
            if self.map.get(&start).is_some_and(|chunk| chunk.waiters.is_empty()) {
                self.lift(start);
            }
        }
    }

    /// The bytes of an open are kept no longer for its sake.
    pub(crate) fn release_held(&mut self) -> Vec<Range<u64>> {
        let mut forget = Vec::new();
        for start in self.starts(&(0..u64::MAX)) {
            let Some(mut chunk) = self.lift(start) else { continue };
            chunk.held = false;
            if chunk.state == State::Ready && chunk.waiters.is_empty() {
                forget.push(start..chunk.end);
                continue;
            }
            self.put(start, chunk);
        }
        joined(forget)
    }

    /// A want waits for bytes of `range` that are in flight.
    pub(crate) fn is_awaited(&self, range: &Range<u64>) -> bool {
        self.within(range).any(|(_, chunk)| {
            matches!(chunk.state, State::InFlight(_)) && (chunk.held || !chunk.waiters.is_empty())
        })
    }

    /// The pieces of `range`, each either one whole chunk or one gap between chunks, after
    /// cutting chunks at its ends.
    fn cover(&mut self, range: &Range<u64>) -> Vec<(u64, u64)> {
        if range.is_empty() {
            return Vec::new();
        }
        self.cut(range.start);
        self.cut(range.end);
        let mut pieces = Vec::new();
        let mut cursor = range.start;
        for (start, chunk) in self.within(range) {
            if cursor < start {
                pieces.push((cursor, start));
            }
            pieces.push((start, chunk.end));
            cursor = chunk.end;
        }
        if cursor < range.end {
            pieces.push((cursor, range.end));
        }
        pieces
    }

    /// The chunks of `range`, after cutting at its ends.
    fn starts(&mut self, range: &Range<u64>) -> Vec<u64> {
        if range.is_empty() {
            return Vec::new();
        }
        self.cut(range.start);
        self.cut(range.end);
        self.within(range).map(|(start, _)| start).collect()
    }

    /// Makes a chunk boundary at `at` if a chunk lies across it.
    fn cut(&mut self, at: u64) {
        let Some((start, end)) = self.previous(at).map(|(start, chunk)| (start, chunk.end)) else {
            return;
        };
        if end <= at {
            return;
        }
        if let Some(left) = self.lift(start) {
            let right = left.clone();
            self.put(start, Chunk { end: at, ..left });
            self.put(at, right);
        }
    }

    /// Joins a ready chunk with its ready left neighbour of the same waiters, so that data in
    /// small pieces does not make many chunks.
    fn join_left(&mut self, start: u64) {
        let Some((left_start, left)) = self.previous(start) else { return };
        let Some(right) = self.get(start) else { return };
        let alike = left.end == start
            && left.state == State::Ready
            && right.state == State::Ready
            && left.held == right.held
            && left.waiters == right.waiters;
        if alike {
            let end = right.end;
            self.map.remove(&start);
            if let Some(left) = self.map.get_mut(&left_start) {
                left.end = end;
            }
        }
    }

    /// Takes a chunk out of map and queue.
    fn lift(&mut self, start: u64) -> Option<Chunk> {
        let chunk = self.map.remove(&start)?;
        #[cfg(test)]
        {
            self.touched += 1;
        }
        if let Some(position) = position(start, &chunk) {
            self.queue.remove(&position);
            self.queued[position.urgency as usize] -= chunk.end - start;
        }
        Some(chunk)
    }

    /// Puts a chunk into map and queue.
    fn put(&mut self, start: u64, chunk: Chunk) {
        debug_assert!(start < chunk.end, "an empty chunk");
        if let Some(position) = position(start, &chunk) {
            self.queue.insert(position);
            self.queued[position.urgency as usize] += chunk.end - start;
        }
        self.map.insert(start, chunk);
    }
}

/// Where a chunk stands in the queue, if it is queued.
fn position(start: u64, chunk: &Chunk) -> Option<QueuePosition> {
    let first = chunk.waiters.first()?;
    (chunk.state == State::Queued).then_some(QueuePosition {
        urgency: first.urgency,
        order: first.order,
        start,
    })
}

/// Ascending ranges with those that touch made one.
pub(crate) fn joined(ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests;
