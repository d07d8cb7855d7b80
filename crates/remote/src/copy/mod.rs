//! Copies of whole files to a local disk, and to servers ([`up`]): any number of sources and
//! connections, resumed after a break, compared with the server's checksum.
//!
//! A file is read as everything else is, in pieces that come in any order over all connections of
//! all its sources, and written where it belongs in a [`partial`] file beside its final name. Only
//! a file that is complete, and agrees with the server's checksum where that was requested, gets
//! the final name. Bytes that are requested and not yet written count against the engine's memory
//! budget.

mod options;
mod partial;
mod planned;
mod pour;
mod spans;
mod target;
mod tree;
mod up;
mod update;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use futures::{FutureExt, StreamExt, future, stream};

use crate::Remote;
use crate::address::{self, Address, FileLocations};
use crate::checksum::{Algorithm, Checksum};
use crate::disk;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::activity::Activity;
use crate::fetch::ledger::Phase;
use crate::fetch::{RemoteFile, Urgency, Want, Wants};
use crate::metalink::is_metalink;
pub use options::{Copied, CopyOptions};

use options::Claim;
use partial::Partial;
use target::{CopyJob, NamedSource, far};
use update::Copying;

/// Bytes that are requested and written at a time: few enough to be spread over many connections up
/// to the end.
const PIECE_BYTES: u64 = 128 << 10;
/// Bytes requested and not yet written, at the most: as many as the longest and fastest links hold.
const WINDOW_BYTES_MAX: u64 = 256 << 20;
/// Pieces written in one go.
const WRITES_MAX: usize = 256;
/// Files copied side by side.
const FILES_AT_ONCE: usize = 8;
/// The same of short files of a directory, whose time is that of their round trips.
const SHORT_FILES_AT_ONCE: usize = 32;
const SHORT_BYTES: u64 = 1 << 20;

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Which of the files, from 0.
    pub file: usize,
    /// How many there are.
    pub files: usize,
    /// Of this file, bytes in all.
    pub size: u64,
    /// Of them, here.
    pub done: u64,
}

impl Remote {
    /// Copies files to a local path: one file to `target`, or any number into it where it is a
    /// directory. A source is an address, several addresses of the same file with `|` between
    /// them, or a pattern. The target may be an address, too: of one file, or with a slash at its
    /// end, below which any number go; the bytes then come through this process.
    ///
    /// The bytes of a file from before a break are used again where its source still has the same
    /// size and the same version or time of modification; where it has neither, if the copy is
    /// verified; copies to servers begin anew. Under the final name there is nothing, or the file
    /// that was there before, until all is there.
    ///
    /// # Errors
    /// Errors about all files: patterns that cannot be listed, or match nothing, and targets that
    /// are none. Each file has its own result, in their order; entries of a directory that cannot
    /// be copied come last.
    pub async fn copy(
        &self,
        sources: &[String],
        target: &Path,
        options: CopyOptions,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Vec<Result<Copied>>> {
        let mut named = Vec::new();
        for source in sources {
            match address::parse(source)?.len() {
                1 => named.extend(self.files_named(source).await?),
                _ => named.push(source.clone()),
            }
        }
        let named = future::try_join_all(named.into_iter().map(|one| self.named(one))).await?;
        let (jobs, failed) = match options.recursive {
            true => self.jobs_of_trees(named, target).await?,
            false => match far(target) {
                Some(address) => (up::jobs(named, address)?, Vec::new()),
                None => (target::jobs(named, target)?, Vec::new()),
            },
        };
        let files = jobs.len();
        if options.checksum.is_some() && (files != 1 || !failed.is_empty()) {
            let text = "one checksum is that of one file, and more are to be copied";
            return Err(Error::new(ErrorKind::InvalidArgument, text));
        }
        let at_once = match jobs.iter().all(|job| job.facts.size.is_some_and(is_short)) {
            true => SHORT_FILES_AT_ONCE,
            false => FILES_AT_ONCE,
        };
        let copying = Copying::new(options);
        let mut copies = Vec::with_capacity(files);
        for (file, job) in jobs.into_iter().enumerate() {
            copies.push(self.copy_file(file, files, job, &copying, progress).boxed());
        }
        let mut copied: Vec<_> = stream::iter(copies).buffered(at_once).collect().await;
        copied.extend(failed.into_iter().map(Err));
        Ok(copied)
    }

    /// Copies one of so many files.
    async fn copy_file(
        &self,
        file: usize,
        files: usize,
        job: CopyJob,
        copying: &Copying,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Copied> {
        let of_file = move |size, done| progress(Progress { file, files, size, done });
        let mut options = copying.options.clone();
        if options.update {
            if let Some(same) = self.same(&job, copying).await? {
                of_file(same.size, same.size);
                return Ok(same);
            }
            options.overwrite = true;
        }
        match far(&job.target) {
            Some(_) => self.copy_up(&job, &options, &of_file).await,
            None => self.copy_one(&job, &options, &of_file).await,
        }
    }

    /// Where a file is, and the checksum to compare it with: by whom, and its value.
    async fn locations_of(
        &self,
        job: &CopyJob,
        options: &CopyOptions,
    ) -> Result<(FileLocations, Vec<Claim>)> {
        let locations = match job.is_below {
            // A Metalink in a directory is a file of it.
            true => address::parse(&job.source)?.into(),
            false => self.locations(&job.source).await?,
        };
        let own = options.checksum.iter().map(|said| Claim { said: said.clone(), by: "you" });
        let metalinks = locations.claims.checksums.iter();
        let metalinks = metalinks.map(|said| Claim { said: said.clone(), by: "the Metalink" });
        let claims = metalinks.chain(own).collect();
        Ok((locations, claims))
    }

    async fn files_named(&self, pattern: &str) -> Result<Vec<String>> {
        let found = self.matching(pattern).await?;
        match found.is_empty() {
            true => Err(Error::new(ErrorKind::NotFound, "no file matches").with_url(pattern)),
            false => Ok(found),
        }
    }

    /// A source with the name that its copy has in a folder: that of a Metalink is in it.
    async fn named(&self, source: String) -> Result<NamedSource> {
        let first = address::parse(&source)?.swap_remove(0);
        let name = match is_metalink(&first) {
            true => self.locations(&source).await?.claims.name,
            false => None,
        };
        Ok(NamedSource { source, name })
    }

    async fn copy_one(
        &self,
        job: &CopyJob,
        options: &CopyOptions,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Copied> {
        let target = disk::followed(&job.target)?;
        let job = &CopyJob { target: target.path().to_owned(), ..job.clone() };
        if let Some(special) = disk::open_special(&target)
            .map_err(|error| error.with_url(job.target.to_string_lossy()))?
        {
            return self.copy_into(job, special, options, progress).await;
        }
        job.check(options.overwrite)?;
        let (locations, claims) = self.locations_of(job, options).await?;
        job.check_sources(&locations.urls)?;
        let urls = locations.urls.clone();
        let content = async {
            let file = self.open_bytes_at(locations).await?;
            let mut partial = Partial::open(&target, file.info(), options.verify)?;
            let resumed = partial.done();
            let window = WINDOW_BYTES_MAX.min(self.config().memory_bytes_max / 2);
            fill(&file, &mut partial, window, progress).await?;
            Ok((file, partial, resumed))
        };
        let said = async {
            match options.verify {
                true => self.any_checksum(&urls).await.map(Some),
                false => Ok(None),
            }
        };
        let ((file, partial, resumed), said) = future::try_join(content, said).await?;
        let source = file.url().to_owned();
        let size = file.info().size;
        if let Some(said) = &said {
            let compared = partial.compare(said.clone(), "the server").await;
            compared.map_err(|error| error.with_url(&*source))?;
        }
        for Claim { said, by } in claims {
            let compared = partial.compare(said, by).await;
            compared.map_err(|error| error.with_url(&*source))?;
        }
        job.check(options.overwrite)?;
        partial.finish(&target).await?;
        let target = job.target.clone();
        Ok(Copied {
            source,
            target,
            size,
            resumed,
            checksum: said,
            is_same: false,
            warnings: Vec::new(),
        })
    }

    /// The checksum that the server likes best, or any that is known here.
    pub(super) async fn any_checksum(&self, urls: &[Address]) -> Result<Checksum> {
        let mut last = match self.checksum_at(urls, None).await {
            Err(error) if error.kind() == ErrorKind::Unsupported => error,
            answer => return answer,
        };
        for algorithm in Algorithm::ALL {
            match self.checksum_at(urls, Some(algorithm)).await {
                Err(error) if error.kind() == ErrorKind::Unsupported => last = error,
                answer => return answer,
            }
        }
        Err(last.with_advice("without a checksum of the server's a copy cannot be verified"))
    }
}

fn is_short(bytes: u64) -> bool {
    bytes <= SHORT_BYTES
}

/// Fetches and writes the missing ranges.
async fn fill(
    file: &RemoteFile,
    partial: &mut Partial,
    window: u64,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<()> {
    let size = file.info().size;
    let gaps = partial.gaps();
    let mut missing = gaps.into_iter().flat_map(pieces);
    let mut pending = PendingPieces::new(file.want(Vec::new()), window);
    pending.add(&mut missing);
    progress(size, partial.done());
    let activity = Activity::begin(file.trace(), Phase::Bytes, Some(file.tag()));
    while let Some(first) = {
        let _waiting = activity.waiting();
        pending.wants.next().await
    } {
        let mut deliveries = vec![first?];
        while deliveries.len() < WRITES_MAX
            && let Some(Some(delivery)) = pending.wants.next().now_or_never()
        {
            deliveries.push(delivery?);
        }
        let come: Vec<Range<u64>> =
            deliveries.iter().map(|delivery| pending.take(delivery.index)).collect();
        partial.write(come.into_iter().zip(deliveries).collect()).await?;
        pending.add(&mut missing);
        progress(size, partial.done());
    }
    Ok(())
}

/// A range in pieces that begin at multiples of their size.
fn pieces(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let piece = at..range.end.min((at / PIECE_BYTES + 1).saturating_mul(PIECE_BYTES));
        at = piece.end;
        (piece.start < range.end).then_some(piece)
    })
}

/// Pieces on their way.
struct PendingPieces {
    wants: Wants,
    window: u64,
    ranges: BTreeMap<usize, Range<u64>>,
    bytes: u64,
}

impl PendingPieces {
    fn new(wants: Wants, window: u64) -> Self {
        PendingPieces { wants, window, ranges: BTreeMap::new(), bytes: 0 }
    }

    /// Requests more, once there is room for a good part of the window.
    fn add(&mut self, missing: &mut impl Iterator<Item = Range<u64>>) {
        if self.bytes > self.window / 4 * 3 {
            return;
        }
        let mut ranges = Vec::new();
        while (self.bytes < self.window || self.ranges.is_empty() && ranges.is_empty())
            && let Some(range) = missing.next()
        {
            self.bytes += range.end - range.start;
            ranges.push(range);
        }
        let want = |range: &Range<u64>| Want {
            range: range.clone(),
            cost: range.end - range.start,
            urgency: Urgency::Demand,
            order: range.start / PIECE_BYTES,
        };
        let positions = self.wants.add(ranges.iter().map(want).collect());
        self.ranges.extend(positions.zip(ranges));
    }

    /// A piece has come: its place in the file.
    fn take(&mut self, index: usize) -> Range<u64> {
        let range = self.ranges.remove(&index).unwrap_or_default();
        self.bytes -= range.end - range.start;
        range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_a_range_and_begin_at_multiples() {
        let cut: Vec<_> = pieces(100..3 * PIECE_BYTES + 7).collect();
        assert_eq!(cut[0], 100..PIECE_BYTES);
        assert_eq!(cut[3], 3 * PIECE_BYTES..3 * PIECE_BYTES + 7);
        assert!(cut.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(pieces(5..5).count(), 0);
        assert_eq!(pieces(u64::MAX - 1..u64::MAX).count(), 1);
    }
}
