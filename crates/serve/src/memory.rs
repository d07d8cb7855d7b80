//! Room in memory for answers: counted from before a file is read until the client has taken the
//! bytes.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::limits::{Limits, PIECE_BYTES};

/// Pause after which a client that waits for room marks the room as short again.
const SAY_AGAIN: Duration = Duration::from_secs(1);

/// The room of one connection: some of its own, and its part of the room that it shares. Cheap to
/// clone.
#[derive(Debug, Clone)]
pub struct Room {
    own: Arc<Semaphore>,
    own_bytes: usize,
    /// Room for own pieces longer than [`PIECE_BYTES`]; `None` where `own_bytes` limits the pieces.
    long: Option<[Common; 2]>,
    of_connection: Arc<Semaphore>,
    /// Of its address, of the server.
    shared: [Common; 2],
}

/// Room that connections share. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Common {
    bytes: usize,
    free: Arc<Semaphore>,
    /// A client has found no room since the last call of [`Common::take_shortage`].
    is_short: Arc<AtomicBool>,
}

impl Common {
    pub fn new(bytes: usize) -> Self {
        Common { bytes, free: Arc::new(Semaphore::new(bytes)), is_short: Arc::default() }
    }

    /// Whether a client has found no room since the last call.
    pub fn take_shortage(&self) -> bool {
        self.is_short.swap(false, Ordering::Relaxed)
    }

    fn try_take(&self, count: u32) -> Option<OwnedSemaphorePermit> {
        let taken = self.free.clone().try_acquire_many_owned(count).ok();
        self.is_short.fetch_or(taken.is_none(), Ordering::Relaxed);
        taken
    }

    /// Waits for room for `wanted` bytes, or for all room where that is less.
    async fn take(&self, wanted: usize) -> Option<OwnedSemaphorePermit> {
        let count = u32::try_from(wanted.min(self.bytes)).unwrap_or(u32::MAX);
        let mut taking = pin!(self.free.clone().acquire_many_owned(count));
        loop {
            tokio::select! {
                biased;
                // Never closed, so never refused.
                taken = &mut taking => return taken.ok(),
                () = tokio::time::sleep(SAY_AGAIN) => self.is_short.store(true, Ordering::Relaxed),
            }
        }
    }
}

/// Room for so many bytes, until dropped.
#[derive(Debug)]
pub struct Reservation {
    bytes: usize,
    _permits: Vec<OwnedSemaphorePermit>,
}

impl Room {
    /// The room for answers; `shared` is the room of the address and of the server.
    pub fn new(limits: &Limits, shared: [Common; 2]) -> Self {
        Room {
            own: Arc::new(Semaphore::new(1)),
            own_bytes: limits.answer_bytes,
            long: None,
            of_connection: Arc::new(Semaphore::new(limits.answer_bytes_max)),
            shared,
        }
    }

    /// The room for bytes of far files: a connection has one piece of its own; if it is longer than
    /// [`PIECE_BYTES`] it takes room of `long`.
    pub fn for_far(limits: &Limits, shared: [Common; 2], long: [Common; 2]) -> Self {
        Room {
            own: Arc::new(Semaphore::new(1)),
            own_bytes: usize::MAX,
            long: Some(long),
            of_connection: Arc::new(Semaphore::new(limits.far_bytes)),
            shared,
        }
    }

    /// Room for all of `wanted` bytes, if there is so much that is shared.
    pub fn try_reserve(&self, wanted: usize) -> Option<Reservation> {
        let count = u32::try_from(wanted).ok()?;
        let own = self.of_connection.clone().try_acquire_many_owned(count).ok()?;
        let shared = self.shared.iter().map(|room| room.try_take(count));
        let permits = std::iter::once(Some(own)).chain(shared).collect::<Option<Vec<_>>>()?;
        Some(Reservation { bytes: wanted, _permits: permits })
    }

    /// Room for `wanted` bytes where there is so much, otherwise for as many as a connection always
    /// has; waits while the client has not taken those.
    pub async fn reserve(&self, wanted: usize) -> Reservation {
        if let Some(shared) = self.try_reserve(wanted) {
            return shared;
        }
        // Never closed, so never refused.
        let mut permits: Vec<_> = self.own.clone().acquire_owned().await.into_iter().collect();
        for room in self.long.iter().flatten().filter(|_| wanted > PIECE_BYTES) {
            permits.extend(room.take(wanted).await);
        }
        Reservation { bytes: wanted.min(self.own_bytes), _permits: permits }
    }
}

impl Reservation {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bytes for which the room was; it is free again when all their slices are dropped.
    pub fn hold(self, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(ReservedBytes { bytes, _reservation: self })
    }
}

struct ReservedBytes {
    bytes: Vec<u8>,
    _reservation: Reservation,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits { answer_bytes: 10, answer_bytes_max: 200, shared_bytes: 300, ..Limits::default() }
    }

    #[tokio::test]
    async fn a_connection_has_its_own_room_when_others_have_taken_all_that_is_shared() {
        let shared = [Common::new(300), Common::new(300)];
        let greedy: Vec<Room> = (0..3).map(|_| Room::new(&limits(), shared.clone())).collect();
        let mut taken = Vec::new();
        for room in &greedy {
            for _ in 0..10 {
                if let Some(reserve) = now(room.reserve(50)).await {
                    taken.push(reserve);
                }
            }
        }
        let bytes: usize = taken.iter().map(Reservation::bytes).sum();
        assert_eq!(bytes, 300 + 3 * 10, "all that is shared, and each its own");
        let modest = Room::new(&limits(), shared);
        let own = now(modest.reserve(50)).await.expect("room of its own");
        assert_eq!(own.bytes(), 10);
        assert!(now(modest.reserve(50)).await.is_none(), "waits until that is taken");
        let slice = own.hold(vec![7; 10]).slice(2..3);
        assert!(now(modest.reserve(50)).await.is_none(), "a slice is not taken yet");
        drop(slice);
        assert_eq!(now(modest.reserve(50)).await.unwrap().bytes(), 10);
        drop(taken);
        assert_eq!(now(modest.reserve(50)).await.unwrap().bytes(), 50);
    }

    /// Regression: 1,000 connections that took nothing held an own piece of 2 MB each.
    #[tokio::test(start_paused = true)]
    async fn long_pieces_are_bounded_together_and_others_wait_for_none() {
        const LONG: usize = PIECE_BYTES + 1;
        let limits = Limits { far_bytes: 2 * LONG, ..Limits::default() };
        let shared = [Common::new(2 * LONG), Common::new(9 * LONG)];
        let long = [Common::new(2 * LONG + 5), Common::new(9 * LONG)];
        let room = || Room::for_far(&limits, shared.clone(), long.clone());
        let all = room();
        let first = room();
        let second = room();
        let third = room();
        let _held = all.reserve(2 * LONG).await;
        assert!(!shared[0].take_shortage());
        let pieces = [first.reserve(LONG).await, second.reserve(LONG).await];
        assert!(
            shared[0].take_shortage() && !shared[1].take_shortage() && !long[0].take_shortage()
        );
        assert!(now(first.reserve(1)).await.is_none(), "one piece a connection");
        let waiting = tokio::time::timeout(2 * SAY_AGAIN, third.reserve(LONG));
        assert!(waiting.await.is_err() && long[0].take_shortage() && !long[1].take_shortage());
        assert!(now(third.reserve(PIECE_BYTES)).await.is_some());
        drop(pieces);
        let whole = third.reserve(5 * LONG).await;
        assert_eq!(whole.bytes(), 5 * LONG, "one beyond all that there is has all of it");
    }

    async fn now<F: Future>(future: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            done = future => Some(done),
            () = std::future::ready(()) => None,
        }
    }
}
