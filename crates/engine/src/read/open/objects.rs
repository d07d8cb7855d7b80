//! Single objects of a file, one or many at a time.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use rootfile::file::FoundKey;
use rootfile::key::Key;
use rootfile::object::{Objects, Opaque};
use rootfile::{Known, Needs, Progress};
use tokio::sync::oneshot;

use crate::located::Located;
use crate::read::core::table::Table;
use crate::read::file::File;
use crate::read::file::session::Session;
use crate::read::open::table::table_in;
use remote::fetch::activity::Activity;
use remote::fetch::ledger::Phase;
use remote::fetch::{Delivery, MemoryReservation, Urgency, Want, Wants};
use remote::{Error, ErrorKind, Result};

/// Bytes of objects that are kept, for those who look at one again.
const KEPT_BYTES_MAX: u64 = 16 << 20;
/// Bytes of objects, as they are stored and decompressed, that are asked for before they are taken.
const AHEAD_BYTES: u64 = 64 << 20;

/// Bytes of neighbouring records that are requested and decoded together.
const TOGETHER_BYTES: u64 = 64 << 10;
/// Such groups that are decoded before they are taken.
const GROUPS_PER_THREAD: usize = 2;

/// Present bytes of a record are worth joining to the fetched ones if they are at least this part
/// of it: one of so many.
const KNOWN_PART_MIN: u64 = 16;

/// The content at a path of a file.
pub enum Content {
    Table(Arc<dyn Table>),
    Directory,
    Object(Objects),
}

/// The content at many paths of a file, in their order; all of it is requested ahead, and decoded
/// ahead where threads decode.
pub struct Contents {
    session: Session,
    file: File,
    opaque: Arc<Opaque>,
    found: Vec<(String, Result<Key>)>,
    /// Position of the next one to be taken, and of the next one to be asked for.
    next: usize,
    asked: usize,
    /// Bytes of those that have been asked for and not been taken.
    ahead_bytes: u64,
    wants: Wants,
    /// Of each want, whose records it has: one behind the other in the file.
    wanted: Vec<Range<usize>>,
    /// The first want whose records have not been given to a decoder.
    undecoded: usize,
    here: BTreeMap<usize, (Bytes, MemoryReservation)>,
    /// Of wants whose records are being decoded, in order.
    decoding: VecDeque<(usize, oneshot::Receiver<DecodedGroup>)>,
    /// What is left of the want that is taken from.
    decoded: Option<DecodedGroup>,
}

/// The records of one want.
struct DecodedGroup {
    records: VecDeque<DecodedRecord>,
    /// Until all of them have been taken.
    _reservation: MemoryReservation,
}

enum DecodedRecord {
    Object(Result<Objects>),
    /// Of something else than an object.
    Bytes(Bytes),
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
            opaque: Arc::new(opaque),
            found: paths.into_iter().zip(found).collect(),
            next: 0,
            asked: 0,
            ahead_bytes: 0,
            wants: file.remote().want_metadata(Vec::new()),
            wanted: Vec::new(),
            undecoded: 0,
            here: BTreeMap::new(),
            decoding: VecDeque::new(),
            decoded: None,
        })
    }

    /// The next one; `None` behind the last. After an error the others go on.
    pub async fn next(&mut self) -> Option<Result<Content>> {
        let at = self.next;
        if at == self.found.len() {
            return None;
        }
        self.ask();
        let record = self.arrived(at).await;
        self.take(at);
        let record = match record {
            Ok(record) => record,
            Err(error) => return Some(Err(error)),
        };
        let (path, key) = &self.found[at];
        let key = match key {
            Ok(key) => key,
            Err(error) => return Some(Err(error.clone())),
        };
        let record = match record {
            Some(DecodedRecord::Object(objects)) => return Some(objects.map(Content::Object)),
            Some(DecodedRecord::Bytes(bytes)) => Some(bytes),
            None => None,
        };
        Some(content_of(&self.session, &self.file, path, key, record, &self.opaque).await)
    }

    /// The next one, if it is an object that has been decoded already.
    pub fn next_decoded(&mut self) -> Option<Result<Content>> {
        let records = &mut self.decoded.as_mut()?.records;
        records.front().filter(|next| matches!(next, DecodedRecord::Object(_)))?;
        let Some(DecodedRecord::Object(objects)) = records.pop_front() else { return None };
        self.take(self.next);
        self.ask();
        Some(objects.map(Content::Object))
    }

    fn take(&mut self, at: usize) {
        self.next += 1;
        if at < self.asked {
            self.ahead_bytes -= self.cost(at);
        }
    }

    /// Asks for more, as long as not too much lies ahead.
    fn ask(&mut self) {
        let is_due = |all: &Self| all.ahead_bytes < AHEAD_BYTES / 2 || all.asked == all.next;
        if self.asked == self.found.len() || !is_due(self) {
            return;
        }
        let known = self.file.known();
        let mut wants: Vec<Want> = Vec::new();
        while self.asked < self.found.len()
            && (self.ahead_bytes < AHEAD_BYTES || self.asked == self.next)
        {
            let at = self.asked;
            self.asked += 1;
            let cost = self.cost(at);
            self.ahead_bytes += cost;
            let (_, Ok(key)) = &self.found[at] else { continue };
            let range = match self.file.format().record(&known, key) {
                Ok(Progress::NeedsData(_)) if !key.is_directory() => record_range(key),
                // Here already, or an error that is returned in its turn.
                _ => continue,
            };
            if let (Some(last), Some(positions)) = (wants.last_mut(), self.wanted.last_mut())
                && positions.end == at
                && last.range.end == range.start
                && range.end - last.range.start <= TOGETHER_BYTES
            {
                last.range.end = range.end;
                last.cost += cost;
                positions.end = at + 1;
                continue;
            }
            wants.push(Want { range, cost, urgency: Urgency::Hint, order: at as u64 });
            self.wanted.push(at..at + 1);
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

    /// The want that brings a record.
    fn want_of(&self, at: usize) -> Option<usize> {
        let want = self.wanted.partition_point(|positions| positions.end <= at);
        self.wanted.get(want).filter(|positions| positions.contains(&at)).map(|_| want)
    }

    /// Waits for the record that was asked for; `None` where it was not.
    async fn arrived(&mut self, at: usize) -> Result<Option<DecodedRecord>> {
        let Some(want) = self.want_of(at) else { return Ok(None) };
        if self.wanted[want].start < at {
            let group = self.decoded.as_mut();
            // Without one, the error of the want has been returned.
            return Ok(group.and_then(|group| group.records.pop_front()));
        }
        self.decoded = None;
        let remote = self.file.remote().clone();
        let activity = Activity::within(remote.trace(), Phase::Metadata, Some(remote.tag()));
        let _waiting = activity.waiting();
        if self.undecoded <= want && !self.here.contains_key(&want) {
            self.wants.promote(want..want + 1);
        }
        while self.undecoded <= want {
            if self.here.contains_key(&want) {
                self.decode(want);
                break;
            }
            match self.wants.next().await.transpose()? {
                Some(delivery) => self.note(delivery),
                // Its error has been returned.
                None => return Ok(None),
            }
        }
        self.decode_ahead();
        while let Some((first, receiver)) = self.decoding.front_mut() {
            // A caller that stops waiting can wait again.
            let is_it = *first == want;
            let group = if is_it { receiver.await.ok() } else { None };
            self.decoding.pop_front();
            if is_it {
                self.decoded = group;
                break;
            }
        }
        let failed = || Error::new(ErrorKind::Io, "a thread that decodes has failed");
        let group = self.decoded.as_mut().ok_or_else(failed)?;
        Ok(group.records.pop_front())
    }

    fn note(&mut self, delivery: Delivery) {
        if delivery.index >= self.undecoded {
            self.here.insert(delivery.index, (delivery.bytes, delivery.reservation));
        }
    }

    /// Gives what has arrived to threads that decode, as far as it is taken soon.
    fn decode_ahead(&mut self) {
        let groups = self.file.decoders().threads() * GROUPS_PER_THREAD;
        while self.decoding.len() < groups.max(1) {
            if self.here.contains_key(&self.undecoded) {
                self.decode(self.undecoded);
                continue;
            }
            match self.wants.next().now_or_never() {
                Some(Some(Ok(delivery))) => self.note(delivery),
                // An error is returned in its turn.
                _ => break,
            }
        }
    }

    /// Decodes the records of a want on another thread, if there is one.
    fn decode(&mut self, want: usize) {
        let Some((bytes, reservation)) = self.here.remove(&want) else { return };
        self.undecoded = want + 1;
        self.here = self.here.split_off(&self.undecoded);
        let positions = self.wanted[want].clone();
        let keys = self.found[positions].iter().filter_map(|(_, key)| key.as_ref().ok());
        let keys: Vec<Key> = keys.cloned().collect();
        let file = self.file.clone();
        let opaque = self.opaque.clone();
        let (sender, receiver) = oneshot::channel();
        self.decoding.push_back((want, receiver));
        self.file.decoders().spawn(move || {
            let begin = keys.first().map_or(0, |key| key.offset);
            let records = keys.iter().map(|key| {
                let start = (key.offset - begin) as usize;
                let record = bytes.slice(start..start + key.record_len as usize);
                match file.format().is_object(key) {
                    true => DecodedRecord::Object(file.object_in(key, &record, &opaque)),
                    false => DecodedRecord::Bytes(record),
                }
            });
            let records = records.collect();
            let _ = sender.send(DecodedGroup { records, _reservation: reservation });
        });
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
        Ok(self.found(path).await?.key)
    }

    /// As [`File::key`], with the path of names: the one place where a path with or without a cycle
    /// gets its meaning.
    ///
    /// # Errors
    /// As [`File::class_at`].
    pub(crate) async fn found(&self, path: &str) -> Result<FoundKey> {
        // A copy of the known bytes that is still there has them copied as soon as more arrive.
        let here = self.find(&self.known(), path);
        match here {
            Ok(Progress::Ready(found)) => Ok(found),
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
                    Ok(Progress::Ready(found)) => keys.push(Ok(found.key)),
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
    fn find(&self, known: &Known, path: &str) -> rootfile::Result<Progress<FoundKey>> {
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
        let (follows, behind) = self.behind(key);
        if let Some(record) = behind {
            self.keep(key, &record);
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
        let mut lacking = own.missing(record_range(key));
        let end = record_range(key).end;
        if let (true, Some(last)) = (follows, lacking.last_mut().filter(|last| last.end == end)) {
            let more = key.offset.saturating_add(TOGETHER_BYTES).min(self.size());
            last.end = last.end.max(more);
        }
        // Shared bytes would be copied as soon as more arrive.
        drop(known);
        for (offset, bytes) in remote.fetch(&lacking).await? {
            own.supply(offset, bytes);
        }
        let record = own.get(record_range(key)).ok_or_else(|| {
            located(rootfile::Error::corrupt("a record that ends behind the file").at(key.offset))
        })?;
        let all = lacking.last().filter(|_| follows).map_or(end, |last| last.end.max(end));
        *self.inner.behind.lock() = (end, own.get(end..all).unwrap_or_default());
        self.keep(key, &record);
        Ok(record)
    }

    /// Whether the record of a key lies behind the one that was fetched last, as when a program
    /// takes the objects of a listing one by one; and the record, where it came with that one.
    fn behind(&self, key: &Key) -> (bool, Option<Bytes>) {
        let mut behind = self.inner.behind.lock();
        let (at, bytes) = &mut *behind;
        let follows = *at == key.offset && key.record_len <= TOGETHER_BYTES / 2;
        let len = usize::try_from(key.record_len).unwrap_or(usize::MAX);
        if !follows || len > bytes.len() || len == 0 {
            return (follows, None);
        }
        *at += key.record_len;
        (follows, Some(bytes.split_to(len)))
    }

    /// Keeps the record of an object, for those who look at it again.
    fn keep(&self, key: &Key, record: &Bytes) {
        let kept = &self.inner.kept_bytes;
        let kept_before = kept.fetch_add(key.record_len, Ordering::Relaxed);
        if kept_before.saturating_add(key.record_len) <= KEPT_BYTES_MAX {
            self.supply(key.offset, record.clone());
        } else {
            kept.fetch_sub(key.record_len, Ordering::Relaxed);
        }
    }

    /// Keeps bytes of the file.
    fn supply(&self, offset: u64, bytes: Bytes) {
        self.inner.known.lock().supply(offset, bytes);
    }
}
