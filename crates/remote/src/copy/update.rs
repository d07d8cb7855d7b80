//! Files of a copy that are there already, and the same.
//!
//! Of files of one length the checksums are compared where both places have one, or this machine
//! can make it. Where one has none, a copy that is older than its source, or as old within the
//! second that servers report, does not count as the same.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;

use mutex::Mutex;
use tokio::task::spawn_blocking;

use super::options::{Copied, CopyOptions};
use super::target::{CopyJob, far};
use super::tree::Facts;
use crate::Remote;
use crate::address::{self, Address};
use crate::checksum::{Algorithm, Checksum, of_file};
use crate::error::{Error, ErrorKind, Result};
use crate::source::{FileInfo, seconds_since_1970};

/// Options and state that all files of a copy share.
pub struct Copying {
    pub options: CopyOptions,
    /// Servers that have no checksums: they are requested once.
    without: Mutex<BTreeSet<String>>,
}

impl Copying {
    pub fn new(options: CopyOptions) -> Self {
        Copying { options, without: Mutex::default() }
    }
}

impl Remote {
    /// The copy of a file, where it is there already and the same.
    ///
    /// # Errors
    /// An error of finding out.
    pub(super) async fn same(&self, job: &CopyJob, copying: &Copying) -> Result<Option<Copied>> {
        let Some(there) = self.target_facts(&job.target).await? else { return Ok(None) };
        let (locations, claims) = self.locations_of(job, &copying.options).await?;
        let source = locations.urls.clone();
        let mut here = job.facts;
        if here.size.is_none() || here.modified.is_none() {
            here = of_info(self.open_bytes_at(locations).await?.info());
        }
        let Some(size) = here.size.filter(|_| here.size == there.size) else { return Ok(None) };
        let target = self.target_urls(&job.target)?;
        for claim in &claims {
            // The caller's word counts more than that of the source.
            let own = self.checksum_of(&target, Some(claim.said.algorithm()), copying).await?;
            if own.is_some_and(|own| own != claim.said) {
                return Ok(None);
            }
        }
        let is_same = match self.checksums(&source, &target, copying).await? {
            Some((ours, theirs)) => ours == theirs,
            None => match (here.modified, there.modified) {
                (Some(source), Some(target)) => source < target,
                _ => false,
            },
        };
        let shown = source.first().map(Address::to_string).unwrap_or_default();
        let target = match far(&job.target) {
            Some(_) => target[0].to_string().into(),
            None => job.target.clone(),
        };
        Ok(is_same.then_some(Copied {
            warnings: Vec::new(),
            source: shown,
            target,
            size,
            resumed: 0,
            checksum: None,
            is_same,
        }))
    }

    fn target_urls(&self, target: &Path) -> Result<Vec<Address>> {
        match far(target) {
            Some(address) => address::parse(address),
            None => Ok(vec![Address::local(target)?]),
        }
    }

    /// The facts of a target; `None` where it is not there.
    async fn target_facts(&self, target: &Path) -> Result<Option<Facts>> {
        let Some(address) = far(target) else {
            return Ok(fs::metadata(target).ok().filter(fs::Metadata::is_file).map(|there| {
                let modified = there.modified().ok().map(seconds_since_1970);
                Facts { size: Some(there.len()), modified }
            }));
        };
        match self.open_bytes_at(address::parse(address)?.into()).await {
            Ok(file) => Ok(Some(of_info(file.info()))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Checksums of one kind of source and target; `None` where one of them has none.
    async fn checksums(
        &self,
        source: &[Address],
        target: &[Address],
        copying: &Copying,
    ) -> Result<Option<(Checksum, Checksum)>> {
        // This machine makes any kind.
        let (first, second) = match source.iter().any(Address::is_local) {
            true => (target, source),
            false => (source, target),
        };
        let Some(one) = self.checksum_of(first, None, copying).await? else { return Ok(None) };
        let other = self.checksum_of(second, Some(one.algorithm()), copying).await?;
        Ok(other.map(|other| (one, other)))
    }

    /// The checksum of a file, of this kind or of any.
    async fn checksum_of(
        &self,
        urls: &[Address],
        algorithm: Option<Algorithm>,
        copying: &Copying,
    ) -> Result<Option<Checksum>> {
        if let Some(path) = urls.iter().find_map(Address::to_local) {
            let path = path.to_owned();
            let algorithm = algorithm.unwrap_or(Algorithm::Sha256);
            let made = spawn_blocking(move || of_file(&File::open(path)?, algorithm)).await;
            let made = made.map_err(std::io::Error::other).flatten();
            return made.map(Some).map_err(|error| Error::from_io(&error).retryable(false));
        }
        let server = urls.first().map(Address::server_key).unwrap_or_default();
        let server = format!("{server} {}", algorithm.map_or("", Algorithm::name));
        if copying.without.lock().contains(&server) {
            return Ok(None);
        }
        let said = match algorithm {
            Some(_) => self.checksum_at(urls, algorithm).await,
            None => self.any_checksum(urls).await,
        };
        match said {
            Ok(checksum) => Ok(Some(checksum)),
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                copying.without.lock().insert(server);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

fn of_info(info: &FileInfo) -> Facts {
    Facts { size: Some(info.size), modified: info.modified }
}
