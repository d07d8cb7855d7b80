//! Ranges of one far file on their way to one client.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use engine::{Arrival, Arrivals, Ways};
use futures::stream::SelectAll;
use futures::{FutureExt, Stream, StreamExt};
use tokio::time::Instant;

use super::FarFile;
use super::failure::failure;
use super::pieces::first_piece;
use crate::memory::{Reservation, Room};

/// Ranges that are requested side by side, and handed out in the order of their requests.
pub struct Reading {
    file: FarFile,
    room: Room,
    arrivals: SelectAll<Batch>,
    /// Not wanted before there is room for them.
    waiting: VecDeque<Range<u64>>,
    /// Requested pieces, in order; those that have arrived have their bytes.
    pieces: VecDeque<Piece>,
    /// Wants before the first of `pieces`.
    handed_out: usize,
    /// Whether ranges are kept whole.
    is_whole: bool,
}

/// Pieces that were requested together.
struct Batch {
    /// The number of the first of them.
    first: usize,
    arrivals: Arrivals,
}

impl Stream for Batch {
    /// The number of a piece, and the piece.
    type Item = remote::Result<(usize, Arrival)>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let first = self.first;
        let arrival = self.arrivals.poll_next_unpin(context);
        arrival.map(|arrival| Some(arrival?.map(|arrival| (first + arrival.index, arrival))))
    }
}

struct Piece {
    room: Option<Reservation>,
    bytes: Option<Bytes>,
    requested: Instant,
    /// Where the bytes were when they were requested.
    ways: Ways,
}

/// Bytes that count against the budget of all reads, and against the client's room, until the
/// client has them.
struct HeldBytes {
    arrival: Arrival,
    _room: Option<Reservation>,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.arrival.bytes
    }
}

impl Reading {
    /// Wants ranges of the file, cut to its size, as far as there is room in `room`. Empty ones
    /// have no pieces.
    pub fn new(file: FarFile, room: Room, ranges: Vec<Range<u64>>, is_whole: bool) -> Self {
        let size = file.stat().size;
        let cut = |range: Range<u64>| range.start.min(size)..range.end.min(size);
        let waiting = ranges.into_iter().map(cut).filter(|range| range.start < range.end);
        let waiting = waiting.collect();
        let arrivals = SelectAll::new();
        let pieces = VecDeque::new();
        let handed_out = 0;
        let mut reading = Reading { file, room, arrivals, waiting, pieces, handed_out, is_whole };
        reading.want_on();
        reading
    }

    /// Whether all pieces have been handed out.
    pub fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.pieces.is_empty()
    }

    /// The next piece; `None` behind the last.
    ///
    /// # Errors
    /// Why the origin cannot deliver it.
    pub async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            self.want_on();
            if let Some(first) = self.pieces.pop_front_if(|first| first.bytes.is_some()) {
                self.handed_out += 1;
                let bytes = first.bytes.unwrap_or_default();
                self.file.count(bytes.len() as u64, first.ways);
                return Ok(Some(bytes));
            }
            if self.pieces.is_empty() {
                let Some(next) = self.first_waiting() else { return Ok(None) };
                let room = self.room.reserve((next.end - next.start) as usize).await;
                self.take(&next, room);
                self.want(vec![next]);
            }
            self.receive().await?;
        }
    }

    /// The next piece if it has come.
    ///
    /// # Errors
    /// As for [`next`](Self::next).
    pub fn ready(&mut self) -> io::Result<Option<Bytes>> {
        self.next().now_or_never().unwrap_or(Ok(None))
    }

    /// Wants the ranges for which there is room, all of them together.
    fn want_on(&mut self) {
        let mut ranges = Vec::new();
        while let Some(next) = self.first_waiting()
            && let Some(room) = self.room.try_reserve((next.end - next.start) as usize)
        {
            self.take(&next, room);
            ranges.push(next);
        }
        if !ranges.is_empty() {
            self.want(ranges);
        }
    }

    /// The piece to request next.
    fn first_waiting(&self) -> Option<Range<u64>> {
        let first = self.waiting.front()?;
        Some(if self.is_whole { first.clone() } else { first_piece(first) })
    }

    /// Moves the next piece to the requested ones.
    fn take(&mut self, range: &Range<u64>, room: Reservation) {
        if let Some(first) = self.waiting.front_mut() {
            first.start = range.end;
            if first.start == first.end {
                self.waiting.pop_front();
            }
        }
        self.pieces.push_back(Piece {
            room: Some(room),
            bytes: None,
            requested: Instant::now(),
            ways: Ways::default(),
        });
    }

    /// Wants the last of the pieces, which have these ranges.
    fn want(&mut self, ranges: Vec<Range<u64>>) {
        let first = self.handed_out + self.pieces.len() - ranges.len();
        self.arrivals.push(Batch { first, arrivals: self.file.want(ranges) });
    }

    /// Waits for any piece.
    async fn receive(&mut self) -> io::Result<()> {
        let Some(arrival) = self.arrivals.next().await else {
            return Err(io::Error::other("the proxy is being shut down"));
        };
        let (number, arrival) = arrival.map_err(|error| self.file.fail(error)).map_err(failure)?;
        let piece = number.checked_sub(self.handed_out).and_then(|at| self.pieces.get_mut(at));
        let Some(piece) = piece else { return Ok(()) };
        piece.ways = arrival.ways;
        self.file.arrived(piece.requested.elapsed());
        let held = HeldBytes { arrival, _room: piece.room.take() };
        piece.bytes = Some(Bytes::from_owner(held));
        Ok(())
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pieces = self.pieces.len();
        let waiting = self.waiting.len();
        write!(f, "Reading(pieces: {pieces}, waiting: {waiting}, file: {:?})", self.file)
    }
}
