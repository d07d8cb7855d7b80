//! Wants that another process fetches into the cache that both share.
//!
//! A process announces ranges at the moment when it sends the request for them, and leaves out of
//! the request the ranges that another process announced before. No process announces a range
//! without requesting it at once, so two processes cannot wait for each other. The driver looks for
//! the ranges that were left out in the cache. If the other process withdraws them, ends or stalls,
//! the driver requests them from the origin.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use scheduler::{ConnectionId, FileId, RequestId, Time};

use super::Driver;
use crate::cache::CacheEntry;
use crate::fetch::cached::{Awaited, Via, WantPlace};
use crate::fetch::command::WantedForm;
use crate::fetch::files::MemberState;

/// Pause between two looks into the cache for awaited ranges.
const LOOK_AFTER: Duration = Duration::from_millis(10);
/// The same for more than `MANY` awaited wants, for which a look takes longer.
const LOOK_AFTER_MANY: Duration = Duration::from_millis(20);
const MANY: usize = 256;

impl Driver {
    /// The segments of a request without the ranges that other processes fetch. Announces the rest.
    /// Empty: there is nothing to request.
    pub(super) fn unfetched(
        &mut self,
        request: RequestId,
        connection: ConnectionId,
        file: FileId,
        segments: Vec<Range<u64>>,
    ) -> Vec<Range<u64>> {
        let now = self.clock.now();
        let server = self.server_of(connection).and_then(|server| self.servers.get(&server));
        let segments_max = server.map_or(1, |state| state.server.traits().segments_max) as usize;
        let Some(cached) = self.files.get_mut(&file).and_then(|file| file.cached.as_mut()) else {
            return segments;
        };
        let Some(notices) = cached.notices(now) else { return segments };
        let all = cached.ranges_in(&segments);
        let mut ranges = all.clone();
        ranges.retain(|range| !cached.on_way[&(range.start, range.end)].is_announced);
        let holders = notices.announce(&ranges, now);
        let mut others: Vec<(Range<u64>, u64)> = Vec::new();
        for (range, holder) in ranges.into_iter().zip(holders) {
            match holder {
                Some(process) => others.push((range, process)),
                None => cached.announced(&range),
            }
        }
        if others.is_empty() {
            return segments;
        }
        let is_others = |range: &Range<u64>| others.iter().any(|(other, _)| other == range);
        let parts = own_parts(&segments, &all, is_others);
        if parts.len() > segments.len().max(segments_max) {
            // Too many segments for one request: fetch the other processes' ranges, too.
            return segments;
        }
        self.scheduler.send_only(now, request, parts.clone());
        for (range, process) in others {
            self.await_of(file, &range, process);
        }
        parts
    }

    /// Makes the wants of a range wait for another process.
    fn await_of(&mut self, file: FileId, range: &Range<u64>, process: u64) {
        let now = self.clock.now();
        let Some(cached) = self.files.get_mut(&file).and_then(|file| file.cached.as_mut()) else {
            return;
        };
        let Some(on_way) = cached.on_way.remove(&(range.start, range.end)) else { return };
        for (key, index) in on_way.members {
            let Some(group) = self.groups.get_mut(&key) else { continue };
            let member = &mut group.members[index];
            self.scheduler.cancel(now, member.want);
            self.wants.remove(&member.want);
            if member.place.via != Via::Filling {
                member.place.via = Via::Awaited;
            }
            cached.awaited.push(Awaited { group: key, index, process: Some(process) });
        }
        self.awaiting.insert(file);
        self.look_at.get_or_insert(now + LOOK_AFTER);
    }

    /// Looks into the cache for awaited ranges, if the pause is over.
    pub(super) fn look_for_awaited(&mut self) {
        let now = self.clock.now();
        if self.look_at.is_none_or(|at| at > now) {
            return;
        }
        let mut left = 0;
        for file in std::mem::take(&mut self.awaiting) {
            let awaited = self.look_for(file, now);
            left += awaited;
            if awaited > 0 {
                self.awaiting.insert(file);
            }
        }
        let pause = if left > MANY { LOOK_AFTER_MANY } else { LOOK_AFTER };
        self.look_at = (left > 0).then(|| now + pause);
    }

    /// Looks into the cache for a file's awaited wants; returns how many still wait.
    fn look_for(&mut self, file: FileId, now: Time) -> usize {
        let Some(cached) = self.files.get_mut(&file).and_then(|file| file.cached.as_mut()) else {
            return 0;
        };
        let groups = &self.groups;
        cached.awaited.retain(|one| {
            let member = groups.get(&one.group).and_then(|group| group.members.get(one.index));
            member.is_some_and(|member| member.state == MemberState::Waiting)
        });
        let entry = cached.entry.clone();
        let notices = cached.notices(now);
        if let Some(notices) = &notices {
            let processes = cached.awaited.iter().filter_map(|one| one.process);
            notices.refresh(&processes.collect::<BTreeSet<u64>>(), now);
        }
        let is_looked_for = entry.as_ref().is_some_and(|entry| entry.content.is_looked_for());
        let mut held = Vec::new();
        let mut left_alone = Vec::new();
        cached.awaited.retain_mut(|one| {
            let group = &groups[&one.group];
            let range = &group.members[one.index].asked.range;
            let is_part_held = |entry: &CacheEntry| {
                group.form == WantedForm::AnyCodec && entry.part(range).is_some()
            };
            if entry.as_ref().is_some_and(|e| e.content.holds(range) || is_part_held(e)) {
                if let Some(notices) = &notices {
                    notices.arrived(one.process, range, now);
                }
                held.push((one.group, one.index));
                return false;
            }
            let holder = notices.as_ref().and_then(|notices| notices.holder(range, now));
            let is_left_alone = holder.is_none() && one.process.is_none() && !is_looked_for;
            if is_left_alone {
                left_alone.push((one.group, one.index));
            }
            one.process = holder;
            !is_left_alone
        });
        let left = cached.awaited.len();
        if let Some(entry) = entry.filter(|_| left > 0) {
            cached.cache.look(&entry.content);
            cached.cache.look(&entry.recompressed);
        }
        held.into_iter().for_each(|(key, index)| self.awaited_came(file, key, index));
        left_alone.into_iter().for_each(|(key, index)| self.awaited_came_not(file, key, index));
        left
    }

    /// An awaited want is in the cache: reads it from there.
    fn awaited_came(&mut self, file: FileId, key: u64, index: usize) {
        let Some(group) = self.groups.get(&key) else { return };
        let member = &group.members[index];
        if member.place.via != Via::Filling {
            let range = member.asked.range.clone();
            return match self.cached_place(file, &range, group.form) {
                Some(place) => {
                    self.want_again(key, index, WantPlace { via: Via::Awaited, ..place });
                }
                // Evicted since.
                None => self.awaited_came_not(file, key, index),
            };
        }
        self.end_member(key, index);
        if let Some(cached) = self.files.get_mut(&file).and_then(|file| file.cached.as_mut()) {
            cached.fills -= 1;
        }
        self.fill(file);
    }

    /// No other process fetches an awaited want any more: requests it from the origin.
    fn awaited_came_not(&mut self, file: FileId, key: u64, index: usize) {
        let Some(group) = self.groups.get(&key) else { return };
        let member = &group.members[index];
        let range = member.asked.range.clone();
        let is_fill = member.place.via == Via::Filling;
        let Some(cached) = self.files.get_mut(&file).and_then(|file| file.cached.as_mut()) else {
            return;
        };
        let via = cached.leave(&range, key, index);
        let via = if is_fill { Via::Filling } else { via };
        self.want_again(key, index, WantPlace::at(file, &range, via));
    }
}

/// The parts of `segments` with this process's own of the ascending `ranges`. A part includes the
/// gap between two own ranges, unless a range of another process lies there.
fn own_parts(
    segments: &[Range<u64>],
    ranges: &[Range<u64>],
    is_others: impl Fn(&Range<u64>) -> bool,
) -> Vec<Range<u64>> {
    let mut parts = Vec::new();
    for segment in segments {
        let mut part: Option<Range<u64>> = None;
        let within = |range: &&Range<u64>| range.start < segment.end && range.end > segment.start;
        for range in ranges.iter().filter(within) {
            if is_others(range) {
                parts.extend(part.take());
                continue;
            }
            let end = range.end.min(segment.end);
            match &mut part {
                Some(part) => part.end = part.end.max(end),
                None => part = Some(range.start.max(segment.start)..end),
            }
        }
        parts.extend(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_left_with_what_others_do_not_bring() {
        let ranges = [0..100, 150..200, 200..300, 500..600, 650..700];
        let parts = |segments: &[Range<u64>], others: &[Range<u64>]| {
            own_parts(segments, &ranges, |range| others.contains(range))
        };
        assert_eq!(parts(&[0..300, 500..700], &[150..200]), [0..100, 200..300, 500..700]);
        assert_eq!(parts(&[0..300, 500..700], &[0..100, 500..600]), [150..300, 650..700]);
        assert_eq!(parts(&[50..250], &[150..200]), [50..100, 200..250], "wants in two requests");
        assert_eq!(parts(&[500..700], &[500..600, 650..700]), []);
    }
}
