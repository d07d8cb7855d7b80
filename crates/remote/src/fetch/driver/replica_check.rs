//! Whether all bytes of a file are of one file: nothing else decides which bytes of which source
//! are used.
//!
//! A server's description of a file (size, time, version) has to stay the same as long as it is
//! read, at every connection that opens it and in every answer ([`FileInfo::is_still`]). Between
//! servers sizes, first bytes and the statements of a Metalink have to agree: copies of a file have
//! times of their own. A further source brings its first bytes with the answer to its open.
//!
//! The driver requests their checksums, where they keep one, beside the read, once it has lasted
//! for a while: a server may have to read the whole file for its answer. The checksum that a
//! Metalink gives counts, else that of the first source.
//!
//! [`FileInfo::is_still`]: crate::source::FileInfo::is_still

use std::sync::Arc;
use std::time::Duration;

use scheduler::{COMPARED_BYTES, FileId, RequestId, ServerId, SourceId, Time};

use super::Driver;
use super::discovery::Discovered;
use crate::address::Address;
use crate::checksum::Checksum;
use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::fetch::files::{ComparedHead, ReplicaCheck, SourceChecksums};
use crate::report::size;
use crate::source::network::Network;
use crate::source::slotted::shared;
use crate::source::{FileInfo, FileRef, one_shot};

// The scheduler's offsets reach as far as the largest file that sources let pass.
const _: () = assert!(crate::source::FILE_BYTES_MAX == scheduler::FILE_BYTES_MAX);

/// A server that has to make its checksum is not waited for longer.
const ANSWER_MAX: Duration = Duration::from_secs(120);

impl Driver {
    /// Whether the file that a source has described is the one that is read. Where it is not, none
    /// of its bytes are used any more.
    pub(super) fn recognise(&mut self, id: FileId, source: SourceId, info: FileInfo) -> bool {
        let Some(file) = self.files.get_mut(&id) else { return false };
        if file.rejected.contains(&source) {
            return false;
        }
        let Some((server, _)) = file.sources.get(&source) else { return false };
        let size = file.info().map(|info| info.size).or(file.claimed_size);
        let changed = file.infos.get(server).and_then(|was| was.is_still(&info).err());
        // The first source of a file that was opened from the cache.
        let believed = file.believed.take();
        let changed = changed.or_else(|| believed.and_then(|was| was.is_still(&info).err()));
        let error = changed.or_else(|| other_size(size, info.size));
        match error {
            Some(error) => {
                let is_opening = file.opening.is_some();
                self.reject_source(id, source, error.retryable(is_opening));
            }
            None => drop(file.infos.insert(*server, info)),
        }
        !self.files.get(&id).is_some_and(|file| file.rejected.contains(&source))
    }

    /// A source that is read from has answered: the answer of the first one identifies the file,
    /// and sources whose earlier answers differ are not used.
    pub(super) fn settle(&mut self, id: FileId, source: SourceId) {
        let Some(file) = self.files.get_mut(&id).filter(|file| file.first.is_none()) else {
            return;
        };
        file.first = file.sources.get(&source).map(|(server, _)| *server);
        let size = file.info().map(|info| info.size);
        let disagreement = |(source, (server, _)): (&SourceId, &(ServerId, FileRef))| {
            let info = file.infos.get(server)?;
            Some((*source, other_size(size, info.size)?))
        };
        let others: Vec<(SourceId, Error)> = file.sources.iter().filter_map(disagreement).collect();
        others.into_iter().for_each(|(source, error)| self.reject_source(id, source, error));
    }

    /// A further source has answered with the size of the file: it is used when its first bytes
    /// have come, too.
    pub(super) fn begin_join(&mut self, request: RequestId, size: u64) {
        let Some(state) = self.requests.get(&request) else { return };
        let source = state.source;
        let Some(file) = self.files.get_mut(&state.file) else { return };
        file.replica_check.sizes.insert(source, size);
        file.replica_check.heads.insert(source, ComparedHead::default());
        if size == 0 {
            self.end_join(request);
        }
    }

    /// First bytes of a further source.
    pub(super) fn take_head(&mut self, request: RequestId, offset: u64, bytes: &[u8]) {
        let Some(state) = self.requests.get(&request) else { return };
        let source = state.source;
        let Some(file) = self.files.get_mut(&state.file) else { return };
        let check = &mut file.replica_check;
        let Some(head) = check.heads.get_mut(&source) else { return };
        head.add(offset, bytes);
        let size = check.sizes.get(&source);
        if size.is_some_and(|size| head.is_whole(*size)) {
            self.end_join(request);
        }
    }

    /// A further source has answered: it is used, unless its first bytes are others. Of a file
    /// whose own are not here yet, they are compared when they come.
    pub(super) fn end_join(&mut self, request: RequestId) {
        let Some(state) = self.requests.get(&request).filter(|state| state.joins) else { return };
        let id = state.file;
        let source = state.source;
        let Some(file) = self.files.get_mut(&id) else { return };
        let Some(size) = file.replica_check.sizes.remove(&source) else { return };
        self.compare_heads(id);
        if self.files.get(&id).is_some_and(|file| !file.rejected.contains(&source)) {
            self.scheduler.handle_opened(self.clock.now(), request, size);
        }
    }

    /// Bytes of the file that is read have come.
    pub(super) fn take_own_head(&mut self, id: FileId, offset: u64, bytes: &[u8]) {
        let Some(file) = self.files.get_mut(&id) else { return };
        if file.replica_check.head.add(offset, bytes) && !file.replica_check.heads.is_empty() {
            self.compare_heads(id);
        }
    }

    /// Compares the first bytes of further sources with those of the file that is read.
    fn compare_heads(&mut self, id: FileId) {
        let Some(file) = self.files.get_mut(&id) else { return };
        let ReplicaCheck { head, heads, sizes, .. } = &mut file.replica_check;
        let others: Vec<(SourceId, usize)> = heads
            .iter()
            .filter_map(|(source, other)| Some((*source, head.difference(other)?)))
            .collect();
        let is_open = |source: &SourceId, other: &ComparedHead| {
            sizes.contains_key(source) || !other.is_within(head)
        };
        heads.retain(|source, other| is_open(source, other));
        for (source, at) in others {
            let Some(file) = self.files.get_mut(&id) else { return };
            file.replica_check.heads.remove(&source);
            let text = format!("it has another file under this name, which differs at byte {at}");
            self.reject_source(id, source, Error::new(ErrorKind::Corrupt, text));
        }
    }

    /// A read begins, or goes on: if it lasts, its sources are compared.
    pub(super) fn expect_comparison(&mut self, id: FileId) {
        let Some(file) = self.files.get_mut(&id) else { return };
        let is_new = file.sources.keys().any(|source| !file.replica_check.asked.contains(source));
        let counts = file.sources.len() > 1 || file.replica_check.checksum.is_some();
        if file.replica_check.is_planned || !is_new || !counts {
            return;
        }
        file.replica_check.is_planned = true;
        let at = self.clock.now().saturating_add(self.config.discovery_after);
        self.comparisons.insert((at, id));
    }

    pub(super) fn next_comparison(&self) -> Option<Time> {
        self.comparisons.first().map(|(at, _)| *at)
    }

    /// Begins the comparisons whose time has come.
    pub(super) fn begin_comparisons(&mut self) {
        let now = self.clock.now();
        while self.next_comparison().is_some_and(|at| at <= now) {
            let due = self.comparisons.pop_first();
            due.into_iter().for_each(|(_, file)| self.compare(file));
        }
    }

    /// Requests the checksums of sources that have no request yet.
    fn compare(&mut self, id: FileId) {
        let waits = self.somebody_waits(id);
        let Some(file) = self.files.get_mut(&id) else { return };
        file.replica_check.is_planned = waits;
        if !waits {
            return;
        }
        let asked = &mut file.replica_check.asked;
        let new = file.sources.iter().filter(|(source, _)| asked.insert(**source));
        let new: Vec<(SourceId, Arc<Address>)> =
            new.map(|(source, (_, file))| (*source, file.url.clone())).collect();
        let known = file.replica_check.checksum.clone();
        let config = self.config.clone();
        let network = shared(self.network.clone(), &self.config);
        let sender = self.finding_sender.clone();
        tokio::spawn(async move {
            let checksums = ask(new, known, config, network).await;
            let _ = sender.send(Discovered::Checksums(id, checksums));
        });
    }

    /// Sources have answered with their checksums.
    pub(super) fn take_checksums(&mut self, id: FileId, checksums: SourceChecksums) {
        let Some(file) = self.files.get_mut(&id) else { return };
        file.replica_check.is_planned = false;
        for (source, checksum) in checksums {
            self.take_checksum(id, source, checksum);
        }
    }

    /// A source has answered with its checksum; the first one counts.
    pub(super) fn take_checksum(&mut self, id: FileId, source: SourceId, checksum: Checksum) {
        let Some(file) = self.files.get_mut(&id) else { return };
        let right = file.replica_check.checksum.get_or_insert_with(|| checksum.clone());
        if right.algorithm() == checksum.algorithm() && *right != checksum {
            let text = format!("it has another file under this name, {checksum}, not {right}");
            self.reject_source(id, source, Error::new(ErrorKind::Corrupt, text));
        }
    }

    /// A source has another file: nothing of it is used any more.
    fn reject_source(&mut self, id: FileId, source: SourceId, why: Error) {
        let Some(file) = self.files.get_mut(&id) else { return };
        let Some((server, _)) = file.sources.get(&source) else { return };
        let name = self.servers[server].name.to_string();
        file.rejected.insert(source);
        // Its first bytes are only compared.
        let is_changed = why.kind() == ErrorKind::Changed;
        let used = self.trace.received_from(id.0, &name).saturating_sub(COMPARED_BYTES);
        let used = match file.opening.is_some() || used == 0 {
            true => String::new(),
            false => format!("; {} of it have been used", size(used)),
        };
        let text = format!("warning: {name} is not used: {}{used}", why.message());
        file.remember(&name, why);
        self.trace.note(Some(id.0), text);
        self.scheduler.handle_source_failed(self.clock.now(), source);
        if is_changed {
            self.drop_entry(id);
        }
    }
}

fn other_size(right: Option<u64>, size: u64) -> Option<Error> {
    let text = format!("it has another file under this name, of {size} bytes");
    right.is_some_and(|right| right != size).then(|| Error::new(ErrorKind::Corrupt, text))
}

/// The checksums of sources that keep one of the kind that is known, or that the first one keeps.
async fn ask(
    sources: Vec<(SourceId, Arc<Address>)>,
    known: Option<Checksum>,
    config: Config,
    network: Arc<dyn Network>,
) -> SourceChecksums {
    let mut algorithm = known.map(|known| known.algorithm());
    let mut checksums = Vec::new();
    for (source, url) in sources {
        let asked = one_shot::checksum(&url, algorithm, &config, network.clone());
        let answer = tokio::time::timeout(ANSWER_MAX, asked).await;
        // One that keeps none has to be trusted.
        if let Ok(Ok(checksum)) = answer {
            algorithm = algorithm.or(Some(checksum.algorithm()));
            checksums.push((source, checksum));
        }
    }
    checksums
}
