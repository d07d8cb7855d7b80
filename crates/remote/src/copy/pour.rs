//! A whole file as a stream, from its first byte to its last.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use bytes::Bytes;
use futures::StreamExt;

use super::{PendingPieces, WINDOW_BYTES_MAX, pieces};
use crate::Remote;
use crate::error::{Error, Result};
use crate::fetch::activity::Activity;
use crate::fetch::ledger::Phase;
use crate::fetch::{Delivery, MemoryReservation, RemoteFile};

/// The bytes of a file in their order, as soon as they have come.
pub struct InOrder {
    missing: Box<dyn Iterator<Item = Range<u64>> + Send>,
    pending: PendingPieces,
    window: u64,
    /// What came before its turn; it holds its part of the memory budget.
    early: BTreeMap<u64, (Bytes, MemoryReservation)>,
    early_bytes: u64,
    next: u64,
    activity: Activity,
}

impl InOrder {
    /// Asks for all of a file.
    pub fn of(file: &RemoteFile, memory_bytes_max: u64) -> Self {
        let missing = Box::new(pieces(0..file.info().size));
        let window = WINDOW_BYTES_MAX.min(memory_bytes_max / 2);
        let mut in_order = InOrder {
            missing,
            pending: PendingPieces::new(file.want(Vec::new()), window),
            window,
            early: BTreeMap::new(),
            early_bytes: 0,
            next: 0,
            activity: Activity::begin(file.trace(), Phase::Bytes, Some(file.tag())),
        };
        in_order.pending.add(&mut in_order.missing);
        in_order
    }

    /// The next bytes, which count against the memory budget while they are held; `None` behind the
    /// last ones.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn next(&mut self) -> Result<Option<(Bytes, MemoryReservation)>> {
        loop {
            if let Some((bytes, reservation)) = self.early.remove(&self.next) {
                self.next += bytes.len() as u64;
                self.early_bytes -= bytes.len() as u64;
                // The window counts what has not been handed out: what is early stays asked for.
                if self.early_bytes < self.window / 2 {
                    self.pending.add(&mut self.missing);
                }
                return Ok(Some((bytes, reservation)));
            }
            let delivery = {
                let _waiting = self.activity.waiting();
                self.pending.wants.next().await
            };
            let Some(delivery) = delivery else { return Ok(None) };
            let Delivery { index, bytes, reservation, .. } = delivery?;
            let range = self.pending.take(index);
            self.early_bytes += bytes.len() as u64;
            self.early.insert(range.start, (bytes, reservation));
            if self.early_bytes < self.window / 2 {
                self.pending.add(&mut self.missing);
            }
        }
    }
}

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
        let mut bytes = InOrder::of(&file, self.config().memory_bytes_max);
        while let Some((bytes, _reservation)) = bytes.next().await? {
            write(&bytes).map_err(|error| Error::from_io(&error).retryable(false))?;
        }
        Ok(file.info().size)
    }
}
