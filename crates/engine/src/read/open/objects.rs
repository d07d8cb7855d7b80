//! Single objects of a file, one or many at a time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures::StreamExt;
use rootfile::key::Key;
use rootfile::object::{Objects, Opaque};
use rootfile::{Known, Needs, Progress};

use crate::located::Located;
use crate::read::core::table::Table;
use crate::read::file::File;
use crate::read::file::session::Session;
use crate::read::open::table::table_in;
use remote::Result;
use remote::fetch::activity::Activity;
use remote::fetch::ledger::Phase;
use remote::fetch::{MemoryReservation, Urgency, Want, Wants};

/// Bytes of objects that are kept, for those who look at one again.
const KEPT_BYTES_MAX: u64 = 16 << 20;
/// Bytes of objects, as they are stored and decompressed, that are asked for before they are taken.
const AHEAD_BYTES: u64 = 64 << 20;

/// Present bytes of a record are worth joining to the fetched ones if they are at least this part
/// of it: one of so many.
const KNOWN_PART_MIN: u64 = 16;

/// The content at a path of a file.
pub enum Content {
    Table(Arc<dyn Table>),
    Directory,
    Object(Objects),
}

/// The content at many paths of a file, in their order; all of it is requested ahead.
pub struct Contents {
    session: Session,
    file: File,
    opaque: Opaque,
    found: Vec<(String, Result<Key>)>,
    /// Position of the next one to be taken, and of the next one to be asked for.
    next: usize,
    asked: usize,
    /// Bytes of those that have been asked for and not been taken.
    ahead_bytes: u64,
    wants: Wants,
    /// Of each want, whose record it is.
    wanted: Vec<usize>,
    here: BTreeMap<usize, (Bytes, MemoryReservation)>,
}

/// The content at a path of a file. Objects of `opaque` classes are left as bytes.
pub(crate) async fn content_in(
    session: &Session,
    file: &File,
    path: &str,
    opaque: &Opaque,
) -> Result<Content> {
    let key = file.key(path).await?;
    content_of(session, file, path, &key, None, opaque).await
}

async fn content_of(
    session: &Session,
    file: &File,
    path: &str,
    key: &Key,
    record: Option<Bytes>,
    opaque: &Opaque,
) -> Result<Content> {
    if key.is_directory() {
        return Ok(Content::Directory);
    }
    if file.format().is_object(key) {
        let record = match record {
            Some(record) => record,
            None => file.record(key).await?,
        };
        return Ok(Content::Object(file.object_in(key, &record, opaque)?));
    }
    if let Some(record) = record {
        file.supply(key.offset, record);
    }
    Ok(Content::Table(table_in(session, file, path).await?))
}

impl Contents {
    /// The content at each of these paths, as they are taken.
    pub(crate) async fn start(
        session: &Session,
        file: &File,
        paths: Vec<String>,
        opaque: Opaque,
    ) -> Result<Contents> {
        let found = file.keys_at(&paths).await?;
        Ok(Contents {
            session: session.clone(),
            file: file.clone(),
            opaque,
            found: paths.into_iter().zip(found).collect(),
            next: 0,
            asked: 0,
            ahead_bytes: 0,
            wants: file.remote().want_metadata(Vec::new()),
            wanted: Vec::new(),
            here: BTreeMap::new(),
        })
    }

    /// The next one; `None` behind the last. After an error the others go on.
    pub async fn next(&mut self) -> Option<Result<Content>> {
        let at = self.next;
        if at == self.found.len() {
            return None;
        }
        self.ask();
        self.next += 1;
        if at < self.asked {
            self.ahead_bytes -= self.cost(at);
        }
        let record = match self.arrived(at).await {
            Ok(record) => record,
            Err(error) => return Some(Err(error)),
        };
        let (path, key) = &self.found[at];
        let key = match key {
            Ok(key) => key,
            Err(error) => return Some(Err(error.clone())),
        };
        Some(content_of(&self.session, &self.file, path, key, record, &self.opaque).await)
    }

    /// Asks for more, as long as not too much lies ahead.
    fn ask(&mut self) {
        let known = self.file.known();
        let mut wants = Vec::new();
        while self.asked < self.found.len()
            && (self.ahead_bytes < AHEAD_BYTES || self.asked == self.next)
        {
            let at = self.asked;
            self.asked += 1;
            self.ahead_bytes += self.cost(at);
            let (_, Ok(key)) = &self.found[at] else { continue };
            let lacking = match self.file.format().record(&known, key) {
                Ok(Progress::NeedsData(_)) if !key.is_directory() => record_range(key),
                // Here already, or an error that is returned in its turn.
                _ => continue,
            };
            let cost = self.cost(at);
            wants.push(Want { range: lacking, cost, urgency: Urgency::Hint, order: at as u64 });
            self.wanted.push(at);
        }
        if !wants.is_empty() {
            self.wants.add(wants);
        }
    }

    /// Bytes that a record and its content take.
    fn cost(&self, at: usize) -> u64 {
        let (_, Ok(key)) = &self.found[at] else { return 0 };
        key.record_len.saturating_add(key.content_len)
    }

    /// Waits for the record that was asked for; `None` where it was not.
    async fn arrived(&mut self, at: usize) -> Result<Option<Bytes>> {
        let Ok(want) = self.wanted.binary_search(&at) else { return Ok(None) };
        let remote = self.file.remote();
        let activity = Activity::within(remote.trace(), Phase::Metadata, Some(remote.tag()));
        let _waiting = activity.waiting();
        if !self.here.contains_key(&at) {
            self.wants.promote(want..want + 1);
        }
        loop {
            if let Some((bytes, _permit)) = self.here.remove(&at) {
                return Ok(Some(bytes));
            }
            match self.wants.next().await.transpose()? {
                Some(delivery) => {
                    self.here.insert(
                        self.wanted[delivery.index],
                        (delivery.bytes, delivery.reservation),
                    );
                }
                // Its error has been returned.
                None => return Ok(None),
            }
        }
    }
}

fn record_range(key: &Key) -> Range<u64> {
    key.offset..key.offset.saturating_add(key.record_len)
}

impl File {
    /// The class of the object at `path`.
    ///
    /// # Errors
    /// As [`File::tree`].
    pub async fn class_at(&self, path: &str) -> Result<String> {
        Ok(self.key(path).await?.class)
    }

    /// The object at `path` that is neither a table nor a directory, as plain data, with all
    /// objects that it holds; those of `opaque` classes are left as bytes.
    ///
    /// # Errors
    /// As [`File::tree`], and `Unsupported` where nothing says how the object is read.
    pub async fn object(&self, path: &str, opaque: &Opaque) -> Result<Objects> {
        let key = self.key(path).await?;
        let record = self.record(&key).await?;
        self.object_in(&key, &record, opaque)
    }

    fn object_in(&self, key: &Key, record: &Bytes, opaque: &Opaque) -> Result<Objects> {
        let objects = self.format().object_in(key, record, self.decoders(), opaque);
        let objects = objects.located(self.url())?;
        match objects.root().unread() {
            Some(unread) if !opaque.contains(objects.root().class()) => {
                Err(unread.why.clone().located(self.url()))
            }
            _ => Ok(objects),
        }
    }

    /// The key of a path, from its directory's list; of the highest cycle where none is given.
    ///
    /// # Errors
    /// As [`File::class_at`].
    pub async fn key(&self, path: &str) -> Result<Key> {
        // A copy of the known bytes that is still there has them copied as soon as more arrive.
        let here = self.find(&self.known(), path);
        match here {
            Ok(Progress::Ready(key)) => Ok(key),
            // In the file, this time with an address to the error.
            _ => self.reading(|_, known| self.find(known, path)).await,
        }
    }

    /// The keys of many paths, in their order: directories of one depth come together.
    async fn keys_at(&self, paths: &[String]) -> Result<Vec<Result<Key>>> {
        self.reading(|_, known| {
            let mut missing = Needs::default();
            let mut keys = Vec::with_capacity(paths.len());
            for path in paths {
                match self.find(known, path) {
                    Ok(Progress::Ready(key)) => keys.push(Ok(key)),
                    Ok(Progress::NeedsData(needs)) => missing.add(needs),
                    Err(error) => keys.push(Err(error.located(self.url()))),
                }
            }
            Ok(match missing.required.is_empty() {
                true => Progress::Ready(keys),
                false => Progress::NeedsData(missing),
            })
        })
        .await
    }

    /// As [`rootfile::File::find`], with directories that are parsed once: to do it for each of
    /// many keys would cost more than the keys.
    fn find(&self, known: &Known, path: &str) -> rootfile::Result<Progress<Key>> {
        let directories = &self.inner.directories;
        self.format().find_through(path, |key, path| {
            if let Some(directory) = directories.lock().get(&key.offset) {
                return Ok(Progress::Ready(directory.clone()));
            }
            let progress = self.format().subdirectory(known, key, path)?.map(Arc::new);
            if let Progress::Ready(directory) = &progress {
                directories.lock().insert(key.offset, directory.clone());
            }
            Ok(progress)
        })
    }

    /// The record of a key, from where it is kept or from afar.
    async fn record(&self, key: &Key) -> Result<Bytes> {
        let located = |error: rootfile::Error| error.located(self.url());
        let known = self.known();
        if let Progress::Ready(record) = self.format().record(&known, key).map_err(located)? {
            return Ok(record);
        }
        let remote = self.remote();
        let activity = Activity::within(remote.trace(), Phase::Metadata, Some(remote.tag()));
        let _waiting = activity.waiting();
        let mut own = known.within(record_range(key));
        if own.held_bytes() < key.record_len / KNOWN_PART_MIN {
            // All of it in one piece need not be joined.
            own = known.without_bytes();
        }
        let lacking = own.missing(record_range(key));
        // Shared bytes would be copied as soon as more arrive.
        drop(known);
        for (offset, bytes) in remote.fetch(&lacking).await? {
            own.supply(offset, bytes);
        }
        let record = own.get(record_range(key)).ok_or_else(|| {
            located(rootfile::Error::corrupt("a record that ends behind the file").at(key.offset))
        })?;
        let kept = &self.inner.kept_bytes;
        let kept_before = kept.fetch_add(key.record_len, Ordering::Relaxed);
        if kept_before.saturating_add(key.record_len) <= KEPT_BYTES_MAX {
            self.supply(key.offset, record.clone());
        } else {
            kept.fetch_sub(key.record_len, Ordering::Relaxed);
        }
        Ok(record)
    }

    /// Keeps bytes of the file.
    fn supply(&self, offset: u64, bytes: Bytes) {
        self.inner.known.lock().supply(offset, bytes);
    }
}
