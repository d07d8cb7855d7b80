//! Replicas of files in the cache: the same trees and objects, names, cycles, titles and entry
//! numbers, with baskets that programs decompress faster. A replica is a merge of one input from
//! which nothing is left out.

use remote::address::{self, CacheUse};
use remote::cache::{Cache, Replica, ReplicaDraft};
use remote::fetch::RemoteFile;
use remote::{Error, ErrorKind, Result};
use rootfile::write::{Compression, CompressionAlgorithm};

use super::copy::MergeOptions;
use super::merge::copy_whole;
use crate::read::file::session::Session;

/// Begins every ROOT file.
const MAGIC: &[u8] = b"root";
/// LZ4 with ROOT's usual level: every ROOT since 6.14 reads it, several times as fast as the
/// others.
const LEVEL: u8 = 4;
/// Baskets are joined up to so many bytes: each costs a reader a request and a call.
const BASKET_BYTES: u64 = 256 << 10;
/// A replica may be larger than its file: room for twice the bytes is made.
const ROOM: u64 = 2;

/// When a replica is made that the cache lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicaUse {
    /// Never.
    IfThere,
    /// If the cache has the whole file.
    IfWhole,
    /// Always: the missing bytes of the file are fetched.
    Make,
}

/// The replica of a file as its server has it now, or as the settings trust the cache. `None` where
/// it is not there and not to be made, and for what is no ROOT file.
pub(crate) async fn replica(
    session: &Session,
    address: &str,
    replica_use: ReplicaUse,
) -> Result<Option<Replica>> {
    let remote = session.remote();
    let cache = remote.cache().ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, "there is no cache to keep a replica in")
            .with_advice("FARROOT_CACHE says how much is kept, as `FARROOT_CACHE=\"20 GB\"`")
    })?;
    if !cache.keeps(&address::parse(address)?) {
        // Its replica would have no name in the cache: nothing could list, read or remove it.
        let text = "of a file of this machine nothing is cached, no replica either";
        let error = Error::new(ErrorKind::Unsupported, text).with_url(address);
        return Err(error.with_advice("FARROOT_CACHE_LOCAL=network or =all caches such files"));
    }
    let file = remote.open_bytes(address).await?;
    if let Some(found) = found(&cache, &file).await {
        return Ok(Some(found));
    }
    let size = file.info().size;
    let may_make = match replica_use {
        ReplicaUse::IfThere => false,
        ReplicaUse::IfWhole => file.is_held(&(0..size)),
        ReplicaUse::Make => true,
    };
    let is_root = async {
        let length = MAGIC.len() as u64;
        let head = if size < length { Vec::new() } else { file.fetch(&[0..length]).await? };
        Ok::<_, Error>(head.first().is_some_and(|(_, bytes)| bytes.starts_with(MAGIC)))
    };
    if !may_make || !is_root.await? {
        return Ok(None);
    }
    let drafting = {
        let cache = cache.clone();
        let origin = file.cached_origin();
        let info = file.info().clone();
        blocking(move || cache.draft_replica(&origin, &info, size.saturating_mul(ROOM))).await?
    };
    let draft = drafting.map_err(|error| error.with_url(file.url()))?;
    // Another process may have made it meanwhile.
    if let Some(found) = found(&cache, &file).await {
        return Ok(Some(found));
    }
    make(session, address, &file, &draft).await?;
    let kept = blocking(move || cache.keep_replica(draft)).await?;
    kept.map(Some).map_err(|error| error.with_url(file.url()))
}

/// The error for a file that a replica cannot stand for.
fn no_replica(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Unsupported => error.with_advice("it has no replica, and is read as it is"),
        _ => error,
    }
}

async fn found(cache: &Cache, file: &RemoteFile) -> Option<Replica> {
    let cache = cache.clone();
    let origin = file.cached_origin();
    let info = file.info().clone();
    blocking(move || cache.replica(&origin, &info)).await.ok().flatten()
}

/// Writes the file of a replica.
async fn make(
    session: &Session,
    address: &str,
    file: &RemoteFile,
    draft: &ReplicaDraft,
) -> Result<()> {
    let remote = session.remote();
    if remote.matching(address).await? != [address] {
        let text = "its name is taken for a pattern of several files, of which no replica is made";
        return Err(Error::new(ErrorKind::Unsupported, text).with_url(file.url()));
    }
    let compression = Compression::new(CompressionAlgorithm::Lz4, LEVEL);
    let options = MergeOptions {
        overwrite: true,
        compression,
        recompress: Some(compression),
        basket_bytes: Some(BASKET_BYTES),
        ..MergeOptions::default()
    };
    let output = draft.path.to_str().ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, "the name of the cache's folder is no text")
    })?;
    copy_whole(session, output, address, options).await.map_err(no_replica)?;
    // All of it was read from the version that it is kept for.
    let locations = remote.locations(address).await?;
    let again = remote.open_bytes_with(locations, CacheUse::Verified).await?;
    match file.info().keeps_bytes(again.info()) {
        true => Ok(()),
        false => {
            let text = "the file has changed while a replica of it was made";
            Err(Error::new(ErrorKind::Changed, text).with_url(file.url()).retryable(true))
        }
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let ends = |_| Error::new(ErrorKind::Cancelled, "the engine has been shut down");
    tokio::task::spawn_blocking(work).await.map_err(ends)
}
