//! Ranges of one far file on their way to one client.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::ops::Range;

use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use remote::fetch::{MemoryReservation, Urgency, Want, Wants};

use super::FarFile;
use super::failure::failure;
use crate::memory::{Reservation, Room};

/// Longer ranges are wanted in pieces that end at multiples of this, which are whole pages: the
/// client has the first while later ones are on their way.
pub const PIECE_BYTES: u64 = 256 << 10;

/// Ranges that are wanted side by side, and handed out in the order in which they were asked for.
pub struct Reading {
    file: FarFile,
    room: Room,
    wants: Wants,
    /// Not wanted before there is room for them.
    waiting: VecDeque<Range<u64>>,
    /// Pieces that are wanted, in order; those that have come have their bytes.
    pieces: VecDeque<Piece>,
    /// Wants before the first of `pieces`.
    handed_out: usize,
    /// Whether ranges are kept whole.
    is_whole: bool,
}

struct Piece {
    room: Option<Reservation>,
    bytes: Option<Bytes>,
}

/// Bytes that count against the budget of all reads, and against the client's room, until the
/// client has them.
struct HeldBytes {
    bytes: Bytes,
    _reservation: MemoryReservation,
    _room: Option<Reservation>,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Reading {
    /// Wants ranges of the file, cut to its size, as far as there is room in `room`. Empty ones
    /// have no pieces.
    pub fn new(file: FarFile, room: Room, ranges: Vec<Range<u64>>, is_whole: bool) -> Self {
        let size = file.stat().size;
        let cut = |range: Range<u64>| range.start.min(size)..range.end.min(size);
        let waiting = ranges.into_iter().map(cut).filter(|range| range.start < range.end);
        let (waiting, wants) = (waiting.collect(), file.want(Vec::new()));
        let (pieces, handed_out) = (VecDeque::new(), 0);
        let mut reading = Reading { file, room, wants, waiting, pieces, handed_out, is_whole };
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
            if let Some(bytes) = self.pieces.front_mut().and_then(|first| first.bytes.take()) {
                self.pieces.pop_front();
                self.handed_out += 1;
                return Ok(Some(bytes));
            }
            if self.pieces.is_empty() {
                let Some(next) = self.first_waiting() else { return Ok(None) };
                let room = self.room.reserve((next.end - next.start) as usize).await;
                self.want(Some(room), next);
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

    /// Wants what there is room for.
    fn want_on(&mut self) {
        while let Some(next) = self.first_waiting() {
            let Some(room) = self.room.try_reserve((next.end - next.start) as usize) else {
                return;
            };
            self.want(Some(room), next);
        }
    }

    /// The piece that is wanted next.
    fn first_waiting(&self) -> Option<Range<u64>> {
        let first = self.waiting.front()?;
        let border = (first.start / PIECE_BYTES + 1) * PIECE_BYTES;
        let end = if self.is_whole { first.end } else { first.end.min(border) };
        Some(first.start..end)
    }

    fn want(&mut self, room: Option<Reservation>, range: Range<u64>) {
        if let Some(first) = self.waiting.front_mut() {
            first.start = range.end;
            if first.start == first.end {
                self.waiting.pop_front();
            }
        }
        let cost = range.end - range.start;
        let (urgency, order) = (Urgency::Demand, self.file.next_order());
        self.wants.add(vec![Want { range, cost, urgency, order }]);
        self.pieces.push_back(Piece { room, bytes: None });
    }

    /// Waits for any piece.
    async fn receive(&mut self) -> io::Result<()> {
        let Some(delivery) = self.wants.next().await else {
            return Err(io::Error::other("the proxy is being shut down"));
        };
        let delivery = delivery.map_err(|error| self.file.fail(error)).map_err(failure)?;
        let piece = delivery.index.checked_sub(self.handed_out);
        let piece = piece.and_then(|at| self.pieces.get_mut(at));
        let Some(piece) = piece else { return Ok(()) };
        self.file.count(delivery.bytes.len() as u64);
        let held = HeldBytes {
            bytes: delivery.bytes,
            _reservation: delivery.reservation,
            _room: piece.room.take(),
        };
        piece.bytes = Some(Bytes::from_owner(held));
        Ok(())
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pieces, waiting) = (self.pieces.len(), self.waiting.len());
        write!(f, "Reading(pieces: {pieces}, waiting: {waiting}, file: {:?})", self.file)
    }
}
