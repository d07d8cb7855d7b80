//! Chunks that have been requested, and their parts that have arrived.

use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::StreamExt;
use remote::fetch::{Delivery, KeptBytes, MemoryReservation, RemoteFile, Urgency, Want, Wants};
use remote::{Error, ErrorKind, Result};

use super::blocks::CopiedPiece;
use super::chunks::Chunk;

/// Maximum bytes of neighbours that arrive together where threads take baskets in any order: the
/// threads begin with the first ones while the others are on their way.
const PART_BYTES: u64 = 256 << 10;

/// A chunk that has been asked for.
pub struct RequestedChunk {
    wants: Wants,
    /// The pieces that each of `wants` fetches; none once they have been handed out.
    parts: Vec<Vec<CopiedPiece>>,
    /// Pieces that are in memory.
    kept: Vec<(CopiedPiece, KeptBytes)>,
    arrived: Vec<Delivery>,
    /// The number of parts that have not arrived.
    open: usize,
    is_taken: bool,
    /// The input's file, which stays open until the chunk has arrived.
    file: Arc<RemoteFile>,
}

/// Neighbours that have arrived: a chunk, or a part of one whose pieces are taken in any order.
pub struct ArrivedPieces {
    pub pieces: Vec<CopiedPiece>,
    /// From the first byte of the first piece to the last byte of the last one.
    pub bytes: Bytes,
    pub reservations: Vec<MemoryReservation>,
    /// Bytes that were asked for: without those between parts.
    pub asked_bytes: u64,
    pub file: Arc<RemoteFile>,
    /// They are behind a cut that still waits for other chunks.
    pub is_ahead: bool,
    /// Counts bytes in memory that were kept.
    _kept: Vec<KeptBytes>,
}

impl RequestedChunk {
    /// Requests a chunk of an input from its file, but for kept pieces; `order` as in [`Want`].
    pub fn new(chunk: Chunk, order: u64, file: &Arc<RemoteFile>) -> RequestedChunk {
        let Chunk { pieces, is_taken } = chunk;
        let most = if is_taken { PART_BYTES } else { u64::MAX };
        let (mut parts, mut kept): (Vec<Vec<CopiedPiece>>, Vec<_>) = Default::default();
        let mut goes_on = false;
        for piece in pieces {
            if let Some(bytes) = file.take_kept(&piece.range) {
                kept.push((piece, bytes));
                goes_on = false;
                continue;
            }
            match parts.last_mut() {
                Some(part) if goes_on && piece.range.end - part[0].range.start <= most => {
                    part.push(piece);
                }
                _ => parts.push(vec![piece]),
            }
            goes_on = true;
        }
        let want = |part: &Vec<CopiedPiece>| {
            let range = range_of(part);
            Want { cost: range.end - range.start, range, urgency: Urgency::Demand, order }
        };
        let wants = file.want(parts.iter().map(want).collect());
        let open = parts.len();
        let arrived = Vec::new();
        let file = file.clone();
        RequestedChunk { wants, parts, kept, arrived, open, is_taken, file }
    }

    /// Whether its parts are handed out as they arrive, also before earlier chunks.
    pub fn is_taken(&self) -> bool {
        self.is_taken
    }

    /// Bytes that are not handed out.
    pub fn bytes(&self) -> u64 {
        let kept = self.kept.iter().map(|(piece, _)| piece.len());
        let parts = self.parts.iter().filter(|part| !part.is_empty()).map(|part| range_of(part));
        kept.sum::<u64>() + parts.map(|range| range.end - range.start).sum::<u64>()
    }

    /// Whether all of it has been handed out.
    pub fn is_over(&self) -> bool {
        self.open == 0 && self.kept.is_empty() && self.arrived.is_empty()
    }

    /// Hands out arrived bytes: the whole chunk, or the next part of one that is taken.
    ///
    /// # Errors
    /// Those of reading the file.
    pub fn poll_arrived(&mut self, context: &mut Context<'_>) -> Poll<Result<ArrivedPieces>> {
        if self.is_taken {
            return self.poll_part(context);
        }
        while self.open > 0 {
            let delivery = ready!(self.poll_delivery(context))?;
            self.arrived.push(delivery);
        }
        Poll::Ready(Ok(self.whole()))
    }

    fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Result<ArrivedPieces>> {
        if let Some((piece, kept)) = self.kept.pop() {
            let bytes = kept.bytes.clone();
            let pieces = vec![piece];
            return Poll::Ready(Ok(self.hand_out(pieces, bytes, Vec::new(), vec![kept])));
        }
        let Delivery { index, bytes, reservation, .. } = ready!(self.poll_delivery(context))?;
        let pieces = std::mem::take(&mut self.parts[index]);
        Poll::Ready(Ok(self.hand_out(pieces, bytes, vec![reservation], Vec::new())))
    }

    fn poll_delivery(&mut self, context: &mut Context<'_>) -> Poll<Result<Delivery>> {
        let given_up = || Error::new(ErrorKind::Cancelled, "the engine has been shut down");
        let delivery = ready!(self.wants.poll_next_unpin(context)).ok_or_else(given_up)??;
        self.open -= 1;
        Poll::Ready(Ok(delivery))
    }

    /// The whole chunk, once all of it has arrived.
    fn whole(&mut self) -> ArrivedPieces {
        let asked_bytes = self.bytes();
        let starts: Vec<u64> = self.parts.iter().map(|part| part[0].range.start).collect();
        let mut pieces: Vec<CopiedPiece> = self.parts.drain(..).flatten().collect();
        let mut arrived = Vec::new();
        let mut reservations = Vec::new();
        for Delivery { index, bytes, reservation, .. } in self.arrived.drain(..) {
            arrived.push((starts[index], bytes));
            reservations.push(reservation);
        }
        let mut counted = Vec::new();
        for (piece, kept) in self.kept.drain(..) {
            arrived.push((piece.range.start, kept.bytes.clone()));
            pieces.push(piece);
            counted.push(kept);
        }
        pieces.sort_by_key(|piece| piece.range.start);
        let bytes = joined(range_of(&pieces), arrived);
        ArrivedPieces { asked_bytes, ..self.hand_out(pieces, bytes, reservations, counted) }
    }

    fn hand_out(
        &self,
        pieces: Vec<CopiedPiece>,
        bytes: Bytes,
        reservations: Vec<MemoryReservation>,
        _kept: Vec<KeptBytes>,
    ) -> ArrivedPieces {
        let file = self.file.clone();
        let asked_bytes = bytes.len() as u64;
        let is_ahead = false;
        ArrivedPieces { pieces, bytes, reservations, asked_bytes, file, is_ahead, _kept }
    }
}

impl ArrivedPieces {
    /// The bytes of neighbours among the pieces.
    pub fn stored(&self, run: &[CopiedPiece]) -> Bytes {
        let Range { start, end } = range_of(run);
        let before = range_of(&self.pieces).start;
        self.bytes.slice((start - before) as usize..(end - before) as usize)
    }
}

/// From the first byte of the first piece to the end of the last one.
fn range_of(pieces: &[CopiedPiece]) -> Range<u64> {
    let first = pieces.first();
    let last = pieces.last();
    first.map_or(0, |piece| piece.range.start)..last.map_or(0, |piece| piece.range.end)
}

/// Bytes of a range, from parts with their offsets; zeros between the parts.
fn joined(range: Range<u64>, mut parts: Vec<(u64, Bytes)>) -> Bytes {
    if let [(_, only)] = &mut parts[..] {
        return std::mem::take(only);
    }
    let mut all = vec![0; (range.end - range.start) as usize];
    for (at, bytes) in parts {
        let at = (at - range.start) as usize;
        all[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    all.into()
}
