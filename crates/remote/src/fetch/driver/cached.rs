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
use crate::cache::UnpackedPart;
use crate::cache::recompressed::recompressed_size;
use crate::fetch::cached::{Cached, Seeker, Via, WantPlace};
use crate::fetch::command::{KeptEntry, Opened, Urgency, Want, WantedForm};
use crate::fetch::files::{FileState, Group, Member, MemberState, ServerState};
use crate::source::held::{CACHE, HeldServer};
use crate::source::{FileInfo, FileRef, Server};

/// How often a read looks for blocks that other processes have added to an entry.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

impl Driver {
    /// Where a want is to be read: from the cache where all of it is there.
    pub(super) fn place_of(&mut self, file: FileId, seeker: Seeker<'_>) -> WantPlace {
        let Seeker { range, form, group, index } = seeker;
        if let Some(place) = self.cached_place(file, range, form) {
            return place;
        }
        let now = self.clock.now();
        let Some(cached) = self.files.get_mut(&file).and_then(|file| file.cached.as_mut()) else {
            return WantPlace::at(file, range, Via::Uncached);
        };
        if let Some(entry) = &cached.entry
            && now.saturating_sub(cached.looked) >= LOOK_AGAIN
        {
            cached.looked = now;
            cached.cache.look(&entry.content);
            cached.cache.look(&entry.recompressed);
        }
        WantPlace::at(file, range, cached.leave(range, group, index))
    }

    /// The place in the cache of a range, if all of it is there.
    pub(super) fn cached_place(
        &mut self,
        file: FileId,
        range: &Range<u64>,
        form: WantedForm,
    ) -> Option<WantPlace> {
        let cached = self.files.get(&file)?.cached.as_ref()?;
        let entry = cached.entry.as_ref()?;
        let part = if form == WantedForm::AnyCodec { entry.part(range) } else { None };
        let via = Via::Cache;
        if let Some(part) = part {
            cached.cache.read_recompressed(entry, range);
            let shadow = self.shadow_of(file, WantedForm::AnyCodec);
            return Some(WantPlace { file: shadow, range: part, via, is_part: true });
        }
        let is_held = entry.content.holds(range);
        is_held.then(|| WantPlace::at(self.shadow_of(file, WantedForm::AsInFile), range, via))
    }

    /// The file's shadow for one form, which is made where there is none.
    fn shadow_of(&mut self, file: FileId, form: WantedForm) -> FileId {
        let now = self.clock.now();
        let cached = self.files.get(&file).and_then(|file| file.cached.as_ref());
        let Some((cached, entry)) = cached.and_then(|c| Some((c, c.entry.clone()?))) else {
            return file;
        };
        let size = entry.info.size;
        let (shadow, content, size) = match form {
            WantedForm::AsInFile => (cached.shadows.as_in_file, entry.content, size),
            WantedForm::AnyCodec => {
                (cached.shadows.parts, entry.recompressed, recompressed_size(size))
            }
        };
        if let Some(shadow) = shadow {
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
        self.scheduler.set_size(now, shadow, size);
        held.enter(source.0, content);
        let mut state = FileState::of_shadow(file);
        let there = FileRef { tag: source.0, url, file_use: FileUse::Decoded };
        state.sources.insert(source, (server, there));
        self.sources.insert(source, shadow);
        self.files.insert(shadow, state);
        if let Some(cached) = self.files.get_mut(&file).and_then(|file| file.cached.as_mut()) {
            match form {
                WantedForm::AsInFile => cached.shadows.as_in_file = Some(shadow),
                WantedForm::AnyCodec => cached.shadows.parts = Some(shadow),
            }
        }
        shadow
    }

    /// A decoder has decompressed a part of a file: it may be cached with another codec.
    pub(super) fn pack(&mut self, file: FileId, part: UnpackedPart) {
        let cached = self.files.get(&file).and_then(|file| file.cached.as_ref());
        let Some(cached) = cached.filter(|cached| cached.is_confirmed && !cached.is_exposed) else {
            return;
        };
        if let Some(entry) = &cached.entry {
            cached.cache.pack(entry, part);
        }
    }

    /// Caches bytes of a file that were remembered elsewhere: no read fetches them again.
    pub(super) fn keep_remembered(&mut self, file: FileId, pieces: &[(u64, Bytes)]) {
        let cached = self.files.get_mut(&file).and_then(|file| file.cached.as_mut());
        let Some(cached) = cached else { return };
        for (offset, bytes) in pieces {
            let range = *offset..offset.saturating_add(bytes.len() as u64);
            let is_held = cached.entry.as_ref().is_some_and(|entry| entry.content.holds(&range));
            if !is_held {
                cached.keep(*offset, bytes);
            }
        }
    }

    /// The part with another codec that a want was to be read from is damaged: it goes to the
    /// origin.
    pub(super) fn forget_part(&mut self, key: u64, index: usize) {
        let Some(group) = self.groups.get(&key) else { return };
        let cached = self.files.get(&group.file).and_then(|file| file.cached.as_ref());
        let entry = cached.and_then(|cached| cached.entry.as_ref());
        if let Some(entry) = entry {
            entry.recompressed.give_up(&group.members[index].place.range);
        }
        self.want_of_origin(key, index);
    }

    /// Counts a want, by group and position, that was answered with `bytes`; `joined` of them were
    /// fetched for another want.
    pub(super) fn came(&mut self, key: u64, index: usize, bytes: &Bytes, joined: u64) {
        let Some(group) = self.groups.get(&key) else { return };
        let file = group.file;
        let member = &group.members[index];
        let WantPlace { via, is_part, .. } = member.place;
        let range = member.asked.range.clone();
        let Some(cached) = self.files.get_mut(&file).and_then(|file| file.cached.as_mut()) else {
            return;
        };
        let counting = cached.cache.counting();
        let length = range.end - range.start;
        if is_part {
            counting.hit_recompressed(length);
        }
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
        loop {
            let cached = self.files.get_mut(&file).and_then(|file| file.cached.as_mut());
            let Some(range) = cached.and_then(Cached::next_fill) else { return };
            self.last_fill -= 1;
            if let Some(cached) = self.files.get_mut(&file).and_then(|file| file.cached.as_mut()) {
                cached.leave(&range, self.last_fill, 0);
            }
            let cost = range.end - range.start;
            let place = WantPlace::at(file, &range, Via::Filling);
            let asked = Want { range, cost, urgency: Urgency::Hint, order: u64::MAX };
            let want = self.schedule(&asked, &place);
            self.wants.insert(want, (self.last_fill, 0));
            let members = vec![Member { want, asked, place, state: MemberState::Waiting }];
            // No reader takes them: they are released as soon as they have arrived.
            let sink = mpsc::unbounded_channel().0;
            let group = Group { file, form: WantedForm::AsInFile, sink, members, live: 1 };
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
        let is_of_cache = matches!(member.place.via, Via::Cache | Via::Awaited);
        if !is_of_cache || member.state != MemberState::Waiting {
            return false;
        }
        let place = member.place.file;
        let range = member.asked.range.clone();
        let Some(cached) = self.files.get_mut(&file).and_then(|file| file.cached.as_mut()) else {
            return false;
        };
        if let Some(shadow) = cached.shadows.take_out(place) {
            cached.cache.counting().damaged();
            cached.failed.push(shadow);
        }
        if let Some(notices) = cached.notices(self.clock.now()) {
            notices.forget(&range);
        }
        let via = cached.leave(&range, key, index);
        self.want_again(key, index, WantPlace::at(file, &range, via));
        true
    }

    /// Asks the scheduler for a want again, at another place.
    pub(super) fn want_again(&mut self, key: u64, index: usize, place: WantPlace) {
        let Some(group) = self.groups.get(&key) else { return };
        let asked = group.members[index].asked.clone();
        let want = self.schedule(&asked, &place);
        self.wants.insert(want, (key, index));
        let Some(group) = self.groups.get_mut(&key) else { return };
        let member = &mut group.members[index];
        self.wants.remove(&member.want);
        member.want = want;
        member.place = place;
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
        let entry = entry.map(|entry| entry.charged_to(cached.charges));
        let is_same = |entry: &CacheEntry| {
            cached.entry.as_ref().is_some_and(|e| e.content.id() == entry.content.id())
        };
        if !entry.as_ref().is_some_and(is_same) {
            // The reader compares the answer, too, and drops the data that it read early.
            cached.failed.extend(cached.shadows.take_all());
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
        cached.failed.extend(cached.shadows.take_all());
    }

    /// The shadows of a file that is closed are closed with it.
    pub(super) fn close_shadows(&mut self, cached: Option<Cached>) {
        let Some(mut cached) = cached else { return };
        for shadow in
            std::mem::take(&mut cached.failed).into_iter().chain(cached.shadows.take_all())
        {
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
