//! Replicas of files in the cache, for clients that ask for them: `/fast//root://...`. The rules,
//! and whether the file at the origin is the one that the replica was made of, are decided as for
//! the file itself.

use std::io;
use std::sync::Arc;

use engine::{ReplicaUse, Watched};
use remote::address::CacheUse;
use remote::cache::Replica;
use remote::{Algorithm, Checksum, Error, ErrorKind};

use super::{AskedAddress, FarFiles, OriginFile, failure};

impl FarFiles {
    /// The open file of a replica, for one client. A proxy of one user makes it where there is
    /// none, and gives the file itself if none can be made; another one makes it of files that
    /// its cache has whole.
    ///
    /// # Errors
    /// `NotFound` where there is none; why it cannot be made or read.
    pub(super) async fn fast(
        &self,
        asked: &AskedAddress,
        opened: (Arc<OriginFile>, Watched),
    ) -> io::Result<(Arc<OriginFile>, Watched)> {
        match self.replica(asked, &opened.1).await? {
            Some(replica) => self.of_replica(replica, &opened.0.shown).await.map_err(failure),
            // Nor can one be made later, as long as the file is the same.
            None if self.0.secret.is_some() => Ok(opened),
            None => Err(failure(no_replica())),
        }
    }

    /// The checksum of a replica, which is its own.
    ///
    /// # Errors
    /// As for [`fast`](Self::fast).
    pub(super) async fn fast_checksum(
        &self,
        asked: &AskedAddress,
        opened: &Watched,
        algorithm: Algorithm,
    ) -> io::Result<Option<Checksum>> {
        let Some(replica) = self.replica(asked, opened).await? else {
            return match self.0.secret.is_some() {
                true => Ok(None),
                false => Err(failure(no_replica())),
            };
        };
        let hashed = tokio::task::spawn_blocking(move || replica.checksum(algorithm)).await;
        hashed.map_err(io::Error::other)?.map(Some).map_err(failure)
    }

    /// The replica of the version of a file that is open.
    async fn replica(
        &self,
        asked: &AskedAddress,
        watched: &Watched,
    ) -> io::Result<Option<Replica>> {
        let remote = self.0.engine.remote();
        let cache = remote.cache().ok_or_else(|| failure(no_replica()))?;
        let origin = watched.remote_file().cached_origin();
        let info = watched.info().clone();
        let there = tokio::task::spawn_blocking(move || cache.replica(&origin, &info)).await;
        if let Some(replica) = there.map_err(io::Error::other)? {
            return Ok(Some(replica));
        }
        let replica_use = match self.0.secret.is_some() {
            true => ReplicaUse::Make,
            false => ReplicaUse::IfWhole,
        };
        // It takes all processors: one at a time.
        let turn = self.0.making.acquire().await.map_err(io::Error::other)?;
        let engine = self.0.engine.charged_to(asked.charges);
        let made = engine.replica(asked.address.as_str(), replica_use).await;
        drop(turn);
        match made {
            // Of such a file none can be made, however often it is asked for.
            Err(error) if self.0.secret.is_some() && error.kind() == ErrorKind::Unsupported => {
                tracing::info!("read without a replica: {error}");
                Ok(None)
            }
            made => made.map_err(failure),
        }
    }

    async fn of_replica(
        &self,
        replica: Replica,
        shown: &str,
    ) -> remote::Result<(Arc<OriginFile>, Watched)> {
        let path = replica.path.to_string_lossy().into_owned();
        // Its bytes are in the cache.
        let watched = self.0.engine.watch_with(&path, CacheUse::Off).await?;
        let file = OriginFile {
            watched: watched.keeper(),
            // Its time is that at which it was made.
            stat: super::stat_of(&watched),
            shown: format!("fast//{shown}"),
            _replica: Some(replica),
        };
        Ok((Arc::new(file), watched))
    }
}

fn no_replica() -> Error {
    Error::new(ErrorKind::NotFound, "this proxy has no replica of the file")
        .with_advice("`farroot cache convert` makes one; without fast// the file itself is read")
}
