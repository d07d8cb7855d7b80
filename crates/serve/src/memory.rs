//! Room in memory for answers: counted from before a file is read until the client has taken the
//! bytes.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::limits::Limits;

/// The room of one connection: some of its own, and what it may take of the room that it shares.
/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct Room {
    own: Arc<Semaphore>,
    own_bytes: usize,
    /// Of this connection, of its address, of the server.
    shared: [Arc<Semaphore>; 3],
}

/// Room for so many bytes, until dropped.
#[derive(Debug)]
pub struct Reservation {
    bytes: usize,
    _permits: Vec<OwnedSemaphorePermit>,
}

impl Room {
    pub fn new(limits: &Limits, of_address: Arc<Semaphore>, of_server: Arc<Semaphore>) -> Self {
        let of_connection = Arc::new(Semaphore::new(limits.answer_bytes_max));
        Room {
            own: Arc::new(Semaphore::new(1)),
            own_bytes: limits.answer_bytes,
            shared: [of_connection, of_address, of_server],
        }
    }

    /// The room for bytes of far files: of its own a connection has one piece, however long.
    pub fn for_far(limits: &Limits, of_address: Arc<Semaphore>, of_server: Arc<Semaphore>) -> Self {
        let of_connection = Arc::new(Semaphore::new(limits.far_bytes));
        Room {
            own: Arc::new(Semaphore::new(1)),
            own_bytes: usize::MAX,
            shared: [of_connection, of_address, of_server],
        }
    }

    /// Room for all of `wanted` bytes, if there is so much that is shared.
    pub fn try_reserve(&self, wanted: usize) -> Option<Reservation> {
        let count = u32::try_from(wanted).ok()?;
        let take = |room: &Arc<Semaphore>| room.clone().try_acquire_many_owned(count).ok();
        let permits = self.shared.iter().map(take).collect::<Option<Vec<_>>>()?;
        Some(Reservation { bytes: wanted, _permits: permits })
    }

    /// Room for `wanted` bytes where there is so much, otherwise for as many as a connection always
    /// has; waits while the client has not taken those.
    pub async fn reserve(&self, wanted: usize) -> Reservation {
        if let Some(shared) = self.try_reserve(wanted) {
            return shared;
        }
        // Never closed, so never refused.
        let own = self.own.clone().acquire_owned().await;
        Reservation { bytes: wanted.min(self.own_bytes), _permits: own.into_iter().collect() }
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
        let (address, server) = (Arc::new(Semaphore::new(300)), Arc::new(Semaphore::new(300)));
        let greedy: Vec<Room> =
            (0..3).map(|_| Room::new(&limits(), address.clone(), server.clone())).collect();
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
        let modest = Room::new(&limits(), address, server);
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

    async fn now<F: Future>(future: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            done = future => Some(done),
            () = std::future::ready(()) => None,
        }
    }
}
