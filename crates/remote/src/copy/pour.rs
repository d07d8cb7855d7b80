//! A whole file as a stream, from its first byte to its last.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use tokio::task::spawn_blocking;

use super::options::{Claim, Copied, CopyOptions};
use super::target::CopyJob;
use super::{PendingPieces, WINDOW_BYTES_MAX, pieces};
use crate::Remote;
use crate::checksum::{Checksum, Hasher};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::activity::Activity;
use crate::fetch::ledger::Phase;
use crate::fetch::{Delivery, MemoryReservation, RemoteFile};

/// The bytes of a file in their order, as soon as they have come.
pub struct InOrder {
    missing: Box<dyn Iterator<Item = Range<u64>> + Send>,
    pending: PendingPieces,
    window: u64,
    /// Bytes that came before their turn; they hold their part of the memory budget.
    early: BTreeMap<u64, (Bytes, MemoryReservation)>,
    early_bytes: u64,
    next: u64,
    activity: Activity,
}

impl InOrder {
    /// Requests all of a file.
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
                // The window counts bytes that have not been handed out: early ones stay requested.
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

/// Expected checksums of a file, and those of the bytes so far.
pub struct Claimed(Vec<(Hasher, Claim)>);

impl Claimed {
    pub fn new(claims: Vec<Claim>) -> Self {
        let begun = |claim: Claim| (Hasher::new(claim.said.algorithm()), claim);
        Claimed(claims.into_iter().map(begun).collect())
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.0.iter_mut().for_each(|(hasher, _)| hasher.update(bytes));
    }

    /// # Errors
    /// `Corrupt` where one differs.
    pub fn compare(self) -> Result<()> {
        for (hasher, Claim { said, by }) in self.0 {
            let found = hasher.finish();
            if found != said {
                let verb = if by == "you" { "say" } else { "says" };
                let text = format!("the file has {found}, but {by} {verb} {said}");
                let advice = "read it from another source, or ask who has made the checksum";
                return Err(Error::new(ErrorKind::Corrupt, text).with_advice(advice));
            }
        }
        Ok(())
    }
}

impl Remote {
    /// Writes a file into a device or a pipe, which is never replaced.
    pub(super) async fn copy_into(
        &self,
        job: &CopyJob,
        special: File,
        options: &CopyOptions,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Copied> {
        let (locations, claims) = self.locations_of(job, options).await?;
        let said = match options.verify {
            true => Some(self.any_checksum(&locations.urls).await?),
            false => None,
        };
        let mut hasher = said.as_ref().map(|said| Hasher::new(said.algorithm()));
        let special = Arc::new(special);
        let mut done = 0;
        let mut claimed = Claimed::new(claims);
        let file = self.open_bytes_at(locations).await?;
        let source = file.url().to_owned();
        let size = file.info().size;
        let mut bytes = InOrder::of(&file, self.config().memory_bytes_max);
        while let Some((bytes, _reservation)) = bytes.next().await? {
            done += bytes.len() as u64;
            claimed.update(&bytes);
            hasher.iter_mut().for_each(|hasher| hasher.update(&bytes));
            let special = special.clone();
            let written = spawn_blocking(move || (&*special).write_all(&bytes)).await;
            let written = written.map_err(io::Error::other).flatten();
            let failed = |error| {
                Error::from_io(&error).retryable(false).with_url(job.target.to_string_lossy())
            };
            written.map_err(failed)?;
            progress(size, done);
        }
        claimed.compare().map_err(|error| error.with_url(&*source))?;
        if let (Some(said), Some(hasher)) = (&said, hasher) {
            let found = hasher.finish();
            if found != *said {
                let text = format!("the copy has {found}, but the server says {said}");
                return Err(Error::new(ErrorKind::Corrupt, text).with_url(source));
            }
        }
        let target = job.target.clone();
        Ok(Copied {
            source,
            target,
            size,
            resumed: 0,
            checksum: said,
            is_same: false,
            warnings: Vec::new(),
        })
    }

    /// Gives a file's bytes in their order to `write`, as soon as they have come: over as many
    /// connections as any copy. Returns the size in bytes.
    ///
    /// # Errors
    /// Those of reading; an error of `write` ends it as one of kind `Io`; `Corrupt` where all bytes
    /// have other checksums than the Metalink that names the file, or the caller, gives.
    pub async fn pour(
        &self,
        source: &str,
        checksum: Option<Checksum>,
        write: &mut (dyn FnMut(&[u8]) -> io::Result<()> + Send),
    ) -> Result<u64> {
        let options = CopyOptions::default().checksum(checksum);
        let job = CopyJob::new(source.to_owned(), PathBuf::new());
        let (locations, claims) = self.locations_of(&job, &options).await?;
        let mut claimed = Claimed::new(claims);
        let file = self.open_bytes_at(locations).await?;
        let mut bytes = InOrder::of(&file, self.config().memory_bytes_max);
        while let Some((bytes, _reservation)) = bytes.next().await? {
            claimed.update(&bytes);
            write(&bytes).map_err(|error| Error::from_io(&error).retryable(false))?;
        }
        claimed.compare().map_err(|error| error.with_url(file.url()))?;
        Ok(file.info().size)
    }
}
