//! Wants that are read from the cache, and ranges of the others that are cached.
//!
//! A file with an entry in the cache has a second file in the scheduler, its *shadow*, whose one
//! source is a server like that of local files. A want all of whose bytes are cached goes to the
//! shadow, any other one to the file itself. So the budget, the order and the report of a read are
//! one, and the disk does not enter the measurements of the link.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use scheduler::FileId;
use tokio::sync::mpsc;

use super::{Driver, scheduler_traits};
use crate::address::FileUse;
use crate::cache::CacheEntry;
use crate::fetch::cached::{Cached, Via};
use crate::fetch::command::{KeptEntry, Opened, Urgency, Want};
use crate::fetch::files::{FileState, Group, Member, MemberState, ServerState};
use crate::source::held::{CACHE, HeldServer};
use crate::source::{FileInfo, FileRef, Server};

/// How often a read looks for blocks that other processes have added to an entry.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

impl Driver {
    /// Where a want is to be read: from the shadow where all of it is cached.
    pub(super) fn place_of(
        &mut self,
        file: FileId,
        range: &Range<u64>,
        group: u64,
        index: usize,
    ) -> (FileId, Via) {
        let now = self.clock.now();
        let Some(cached) = self.files.get_mut(&file).and_then(|file| file.cached.as_mut()) else {
            return (file, Via::Uncached);
        };
        let Some(content) = cached.entry.as_ref().map(|entry| entry.content.clone()) else {
            return (file, cached.leave(range, group, index));
        };
        let holds = content.holds(range);
        if !holds && now.saturating_sub(cached.looked) >= LOOK_AGAIN {
            cached.looked = now;
            cached.cache.look(&content);
        }
        match holds {
            true => (self.shadow_of(file), Via::Cache),
            false => (file, cached.leave(range, group, index)),
        }
    }

    /// The file's shadow, which is made where there is none.
    pub(super) fn shadow_of(&mut self, file: FileId) -> FileId {
        let now = self.clock.now();
        let cached = self.files.get(&file).and_then(|file| file.cached.as_ref());
        let Some((cached, entry)) = cached.and_then(|c| Some((c, c.entry.clone()?))) else {
            return file;
        };
        if let Some(shadow) = cached.shadow {
            return shadow;
        }
        let url = Arc::new(cached.asked.clone());
        let (server, held) = match &self.cache_server {
            Some((server, held)) => (*server, held.clone()),
            None => {
                let held = Arc::new(HeldServer::default());
                let traits = scheduler_traits(&held.traits());
                let server = self.scheduler.add_server(now, traits);
                let state =
                    ServerState { server: held.clone(), name: Arc::from(CACHE), is_lent: false };
                self.servers.insert(server, state);
                self.cache_server = Some((server, held.clone()));
                (server, held)
            }
        };
        let shadow = self.scheduler.add_file(now);
        let source = self.scheduler.add_source(now, shadow, server);
        self.scheduler.set_size(now, shadow, entry.info.size);
        held.enter(source.0, entry.content.clone());
        let mut state = FileState::of_shadow(file);
        let there = FileRef { tag: source.0, url, file_use: FileUse::Decoded };
        state.sources.insert(source, (server, there));
        self.sources.insert(source, shadow);
        self.files.insert(shadow, state);
        if let Some(cached) = self.files.get_mut(&file).and_then(|file| file.cached.as_mut()) {
            cached.shadow = Some(shadow);
        }
        shadow
    }

    /// Counts a want, by group and position, that was answered with `bytes`; `joined` of them were
    /// fetched for another want.
    pub(super) fn came(&mut self, key: u64, index: usize, bytes: &Bytes, joined: u64) {
        let Some(group) = self.groups.get(&key) else { return };
        let file = group.file;
        let member = &group.members[index];
        let via = member.via;
        let range = member.asked.range.clone();
        let Some(cached) = self.files.get_mut(&file).and_then(|file| file.cached.as_mut()) else {
            return;
        };
        let counting = cached.cache.counting();
        let length = bytes.len() as u64;
        cached.seen_bytes += if via == Via::Filling { 0 } else { length };
        match via {
            Via::Uncached => {}
            Via::Cache => counting.hit(length),
            Via::Joined | Via::Awaited => counting.joined(length),
            Via::Origin => counting.missed(length),
            Via::Filling => {
                cached.fills -= 1;
                counting.filled(length - joined);
            }
        }
        if matches!(via, Via::Joined | Via::Origin | Via::Filling) {
            cached.arrive(&range, key, index);
        }
        if matches!(via, Via::Filling | Via::Origin) {
            cached.keep(range.start, bytes);
            // Withdraws the notices if the cache does not keep the bytes.
            let _ = cached.notices(self.clock.now());
        }
        self.fill(file);
    }

    /// Fetches more of a file that is to be cached whole, behind all wants of it.
    pub(super) fn fill(&mut self, file: FileId) {
        let now = self.clock.now();
        loop {
            let cached = self.files.get_mut(&file).and_then(|file| file.cached.as_mut());
            let Some(range) = cached.and_then(Cached::next_fill) else { return };
            self.last_fill -= 1;
            if let Some(cached) = self.files.get_mut(&file).and_then(|file| file.cached.as_mut()) {
                cached.leave(&range, self.last_fill, 0);
            }
            let cost = range.end - range.start;
            let order = u64::MAX;
            let asked = Want { range: range.clone(), cost, urgency: Urgency::Hint, order };
            let want = self.scheduler.want(now, file, range, scheduler::Urgency::Hint, order, cost);
            self.wants.insert(want, (self.last_fill, 0));
            let state = MemberState::Waiting;
            let members = vec![Member { want, asked, place: file, via: Via::Filling, state }];
            // No reader takes them: they are released as soon as they have arrived.
            let group = Group { file, sink: mpsc::unbounded_channel().0, members, live: 1 };
            self.groups.insert(self.last_fill, group);
        }
    }

    /// A want of the origin has failed or was given up.
    pub(super) fn came_not(
        &mut self,
        file: FileId,
        member: (u64, usize),
        via: Via,
        range: &Range<u64>,
    ) {
        let Some(cached) = self.files.get_mut(&file).and_then(|file| file.cached.as_mut()) else {
            return;
        };
        if matches!(via, Via::Origin | Via::Joined | Via::Filling) {
            cached.come_not(range, member.0, member.1);
        }
        if via == Via::Filling {
            // A fetch that fails for the cache alone is not retried.
            cached.rest = Some(VecDeque::new());
        }
    }

    /// A want could not be read from the cache: it goes to the origin. False where it was not read
    /// from there.
    pub(super) fn want_of_origin(&mut self, key: u64, index: usize) -> bool {
        let Some(group) = self.groups.get(&key) else { return false };
        let file = group.file;
        let member = &group.members[index];
        let is_of_cache = matches!(member.via, Via::Cache | Via::Awaited);
        if !is_of_cache || member.state != MemberState::Waiting {
            return false;
        }
        let place = member.place;
        let range = member.asked.range.clone();
        let Some(cached) = self.files.get_mut(&file).and_then(|file| file.cached.as_mut()) else {
            return false;
        };
        if cached.shadow == Some(place) {
            cached.cache.counting().damaged();
            cached.failed.extend(cached.shadow.take());
        }
        if let Some(notices) = cached.notices(self.clock.now()) {
            notices.forget(&range);
        }
        let via = cached.leave(&range, key, index);
        self.want_again(key, index, file, via);
        true
    }

    /// Asks the scheduler for a want again, at another place.
    pub(super) fn want_again(&mut self, key: u64, index: usize, place: FileId, via: Via) {
        let now = self.clock.now();
        let Some(group) = self.groups.get_mut(&key) else { return };
        let member = &mut group.members[index];
        let Want { range, cost, urgency, order } = member.asked.clone();
        self.wants.remove(&member.want);
        let want = self.scheduler.want(now, place, range, urgency.into(), order, cost);
        (member.want, member.place, member.via) = (want, place, via);
        self.wants.insert(want, (key, index));
    }

    /// The file's server has answered: the file gets the cache's entry for it, old or new. Returns
    /// the entry; `None` where the cache does not store the file.
    pub(super) fn confirm_entry(
        &mut self,
        id: FileId,
        info: &FileInfo,
        brought: &[(u64, Bytes)],
    ) -> Option<KeptEntry> {
        let file = self.files.get_mut(&id)?;
        let at = file.sources.values().find(|(server, _)| Some(*server) == file.first);
        let at = at.map(|(_, file)| file.url.clone());
        let cached = file.cached.as_mut()?;
        let at = at?;
        let head = brought.iter().find(|(offset, _)| *offset == 0);
        let head = head.map(|(_, bytes)| &bytes[..]).unwrap_or_default();
        cached.origin = cached.origin.exposed(file.exposure.is_exposed());
        let entry = cached.cache.adopt(&cached.origin, &at, info, head, cached.identify);
        let is_same = |entry: &CacheEntry| {
            cached.entry.as_ref().is_some_and(|e| e.content.id() == entry.content.id())
        };
        if !entry.as_ref().is_some_and(is_same) {
            // The reader compares the answer, too, and drops the data that it read early.
            cached.failed.extend(cached.shadow.take());
        }
        cached.is_confirmed = true;
        let had_bytes = entry.as_ref().is_some_and(|entry| entry.content.bytes() > 0);
        if let Some(entry) = &entry {
            cached.cache.note_use(entry);
            for (offset, bytes) in brought.iter().cloned().chain(cached.early.drain(..)) {
                cached.cache.record(entry, offset, bytes);
            }
        }
        cached.early = Vec::new();
        cached.loaded = None;
        cached.entry = entry.clone();
        entry.map(|entry| KeptEntry { entry, had_bytes })
    }

    /// Answers an open from the cache, without a request to a server.
    pub(super) fn open_believed(&mut self, id: FileId, head: Bytes) {
        let now = self.clock.now();
        let Some(file) = self.files.get_mut(&id) else { return };
        let Some(cached) = &mut file.cached else { return };
        let Some(entry) = cached.entry.clone() else { return };
        cached.is_confirmed = true;
        cached.cache.note_use(&entry);
        file.believed = Some(entry.info.clone());
        file.claimed_size = Some(entry.info.size);
        self.scheduler.set_size(now, id, entry.info.size);
        let Some(opening) = file.opening.take() else { return };
        opening.activity.enter(crate::fetch::ledger::Phase::Metadata);
        let delivered = if head.is_empty() { Vec::new() } else { vec![(0, head)] };
        let info = entry.info.clone();
        let source = CACHE.to_owned();
        let kept = Some(KeptEntry { entry, had_bytes: true });
        let exposure = file.exposure.clone();
        let opened = Opened { file: id, info, delivered, source, kept, exposure };
        if opening.reply.send(Ok(opened)).is_err() {
            return self.close(id);
        }
        self.fill(id);
    }

    /// The file has changed: nothing more of it is read from the cache, or cached.
    pub(super) fn drop_entry(&mut self, id: FileId) {
        let Some(cached) = self.files.get_mut(&id).and_then(|file| file.cached.as_mut()) else {
            return;
        };
        if let Some(entry) = cached.entry.take() {
            entry.content.end();
            cached.cache.forget(&cached.origin);
        }
        cached.is_confirmed = true;
        cached.failed.extend(cached.shadow.take());
    }

    /// The shadows of a file that is closed are closed with it.
    pub(super) fn close_shadows(&mut self, cached: Option<Cached>) {
        let Some(mut cached) = cached else { return };
        for shadow in std::mem::take(&mut cached.failed).into_iter().chain(cached.shadow) {
            let sources: Vec<u32> = self
                .files
                .get(&shadow)
                .iter()
                .flat_map(|f| f.sources.keys())
                .map(|s| s.0)
                .collect();
            self.close(shadow);
            if let Some((_, held)) = &self.cache_server {
                sources.into_iter().for_each(|tag| held.leave(tag));
            }
        }
    }
}
