//! A whole file as a stream, from its first byte to its last.

use std::collections::BTreeMap;
use std::io;

use bytes::Bytes;
use futures::StreamExt;

use super::{PendingPieces, WINDOW_BYTES_MAX, pieces};
use crate::Remote;
use crate::error::{Error, Result};
use crate::fetch::activity::Activity;
use crate::fetch::ledger::Phase;
use crate::fetch::{Delivery, MemoryReservation};

impl Remote {
    /// Gives a file's bytes in their order to `write`, as soon as they have come: over as many
    /// connections as any copy. Returns the size in bytes.
    ///
    /// # Errors
    /// Those of reading; what `write` says ends it as an error of kind `Io`.
    pub async fn pour(
        &self,
        source: &str,
        write: &mut (dyn FnMut(&[u8]) -> io::Result<()> + Send),
    ) -> Result<u64> {
        let file = self.open_bytes(source).await?;
        let size = file.info().size;
        let mut missing = pieces(0..size);
        let window = WINDOW_BYTES_MAX.min(self.config().memory_bytes_max / 2);
        let mut pending = PendingPieces::new(file.want(Vec::new()), window);
        pending.add(&mut missing);
        // What came before its turn; it holds its part of the memory budget.
        let mut early: BTreeMap<u64, (Bytes, MemoryReservation)> = BTreeMap::new();
        let (mut written, activity) =
            (0, Activity::begin(file.trace(), Phase::Bytes, Some(file.tag())));
        while let Some(delivery) = {
            let _waiting = activity.waiting();
            pending.wants.next().await
        } {
            let Delivery { index, bytes, reservation } = delivery?;
            early.insert(
                pending.ranges.get(&index).map_or(0, |range| range.start),
                (bytes, reservation),
            );
            pending.take(index);
            while let Some((bytes, _permit)) = early.remove(&written) {
                write(&bytes).map_err(|error| Error::from_io(&error).retryable(false))?;
                written += bytes.len() as u64;
            }
            // The window counts what has not been written: what is early stays asked for.
            let held: u64 = early.values().map(|(bytes, _)| bytes.len() as u64).sum();
            if held < window / 2 {
                pending.add(&mut missing);
            }
        }
        Ok(size)
    }
}
