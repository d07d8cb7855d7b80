//! The ranges of one read of a client, as they arrive.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use remote::fetch::{MemoryReservation, Wants};
use remote::{ErrorKind, Result};

use super::Shared;

/// A range that has arrived.
#[derive(Debug)]
pub struct Arrival {
    /// Its position among the ranges that were asked for together.
    pub index: usize,
    pub bytes: Bytes,
    /// As long as the arrival is kept, so much less is read ahead.
    _reservation: Option<MemoryReservation>,
}

impl Arrival {
    pub(super) fn here(index: usize, bytes: Bytes) -> Self {
        Arrival { index, bytes, _reservation: None }
    }
}

/// Ranges on their way to a client, in the order in which they become complete. An error is the
/// last item. Dropping it gives up those that have not come.
#[derive(Debug)]
pub struct Arrivals {
    shared: Arc<Shared>,
    ready: VecDeque<Arrival>,
    wants: Wants,
    /// The range of each want.
    owners: Vec<usize>,
    has_failed: bool,
}

impl Arrivals {
    pub(super) fn new(
        shared: Arc<Shared>,
        ready: VecDeque<Arrival>,
        wants: Wants,
        owners: Vec<usize>,
    ) -> Self {
        Arrivals { shared, ready, wants, owners, has_failed: false }
    }
}

impl Stream for Arrivals {
    type Item = Result<Arrival>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(arrival) = self.ready.pop_front() {
            return Poll::Ready(Some(Ok(arrival)));
        }
        if self.has_failed {
            return Poll::Ready(None);
        }
        self.wants.poll_next_unpin(context).map(|delivery| match delivery? {
            Ok(delivery) => {
                // The client waits for it: what others wait for must not wait for the client.
                delivery.reservation.hand_over();
                let index = self.owners[delivery.index];
                let _reservation = Some(delivery.reservation);
                Some(Ok(Arrival { index, bytes: delivery.bytes, _reservation }))
            }
            Err(error) => {
                self.has_failed = true;
                if error.kind() == ErrorKind::Changed {
                    self.shared.set_stale();
                }
                Some(Err(error))
            }
        })
    }
}
