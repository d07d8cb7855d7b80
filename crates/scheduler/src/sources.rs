//! The places one file can be read at, and which of them to use.
//!
//! ```text
//!   add ----------------------------------------> active <----> inactive
//!   add_replica -> joining -- same file ------------^              |
//!                   ^  |                            | fails        |
//!                   |  +-- another file -> refused  v              |
//!                   +--- its pause is over ---- disabled <---------+
//! ```
//!
//! Active sources share the work; inactive ones are as good, but more of them would bring nothing;
//! disabled ones are left alone for a while, each time twice as long as the time before.

use std::collections::BTreeMap;

use crate::ids::{RequestId, ServerId, SourceId, Time};

/// Uses of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceState {
    /// It has not been asked yet whether it has the same file.
    Joining,
    /// Requests go there.
    Active,
    /// It is not needed now; a few requests go there to see how good it is.
    Inactive,
    /// It has failed. After this time it is asked again.
    Disabled { until: Time },
    /// It says no, or has another file under this name.
    Refused,
}

/// Speed of requests to a source, averaged with weight on the latest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quality {
    /// From sending to the first byte.
    pub first_byte: Option<Time>,
    /// Bytes per second of one request, from sending to its end.
    pub rate: Option<u64>,
}

/// The latest request counts an eighth.
const WEIGHT: u32 = 8;

impl Quality {
    pub(crate) fn record_first_byte(&mut self, sample: Time) {
        self.first_byte = Some(match self.first_byte {
            None => sample,
            Some(mean) => mean / WEIGHT * (WEIGHT - 1) + sample / WEIGHT,
        });
    }

    pub(crate) fn record_request(&mut self, bytes: u64, took: Time) {
        let rate = u128::from(bytes) * 1_000_000_000 / took.as_nanos().max(1);
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        self.rate = Some(match self.rate {
            None => rate,
            Some(mean) => {
                mean / u64::from(WEIGHT) * u64::from(WEIGHT - 1) + rate / u64::from(WEIGHT)
            }
        });
    }
}

/// How far a joining source has been asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    Todo,
    Sent(RequestId),
    /// It has answered, maybe before the file's size was known.
    Answered,
}

/// So many requests with damaged bytes beyond the sound ones say that it is no chance.
const DAMAGE_MAX: u32 = 3;

#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub server: ServerId,
    pub state: SourceState,
    pub quality: Quality,
    pub join: Join,
    /// How often the connection of its answer has ended.
    pub joins_lost: u32,
    /// How often it has been disabled.
    pub strikes: u32,
    /// Requests whose bytes came damaged, less those since that were sound.
    pub damage: u32,
    /// Bytes that may be asked of it while it is inactive, to see how good it is.
    pub allowance: u64,
}

impl Source {
    fn new(server: ServerId, state: SourceState) -> Self {
        let quality = Quality::default();
        Source {
            server,
            state,
            quality,
            join: Join::Todo,
            joins_lost: 0,
            strikes: 0,
            damage: 0,
            allowance: 0,
        }
    }

    pub(crate) fn record_damage(&mut self, is_damaged: bool) {
        self.damage = match is_damaged {
            true => self.damage.saturating_add(1),
            false => self.damage.saturating_sub(1),
        };
    }

    /// It is no chance any more.
    pub(crate) fn damages(&self) -> bool {
        self.damage >= DAMAGE_MAX
    }

    pub(crate) fn is_active(&self) -> bool {
        self.state == SourceState::Active
    }

    /// It may still bring the file.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.state, SourceState::Active | SourceState::Inactive | SourceState::Joining)
    }

    /// Requests may go there.
    fn serves(&self) -> bool {
        self.is_active() || (self.state == SourceState::Inactive && self.allowance > 0)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Sources {
    table: BTreeMap<SourceId, Source>,
}

impl Sources {
    /// One that is believed to have the file.
    pub(crate) fn add(&mut self, id: SourceId, server: ServerId) {
        self.table.insert(id, Source::new(server, SourceState::Active));
    }

    /// One that has to show that it has the same file first, unless there are no others.
    pub(crate) fn add_replica(&mut self, id: SourceId, server: ServerId) {
        let alone = !self.table.values().any(Source::is_live);
        let state = if alone { SourceState::Active } else { SourceState::Joining };
        self.table.insert(id, Source::new(server, state));
    }

    pub(crate) fn remove(&mut self, id: SourceId) {
        self.table.remove(&id);
    }

    pub(crate) fn get(&self, id: SourceId) -> Option<&Source> {
        self.table.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: SourceId) -> Option<&mut Source> {
        self.table.get_mut(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.table.iter().map(|(id, source)| (*id, source))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (SourceId, &mut Source)> {
        self.table.iter_mut().map(|(id, source)| (*id, source))
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn active(&self) -> usize {
        self.table.values().filter(|source| source.is_active()).count()
    }

    /// The source to use: of the active ones the fastest known, else the first.
    pub(crate) fn best(&self) -> Option<(SourceId, ServerId)> {
        self.iter()
            .filter(|(_, source)| source.is_active())
            .max_by_key(|(id, source)| (source.quality.rate, std::cmp::Reverse(*id)))
            .map(|(id, source)| (id, source.server))
    }

    /// Those to which requests may go, one a server.
    pub(crate) fn serving(&self) -> Vec<(SourceId, ServerId)> {
        let mut serving: Vec<(SourceId, ServerId)> = Vec::new();
        for (id, source) in self.iter().filter(|(_, source)| source.serves()) {
            if !serving.iter().any(|(_, server)| *server == source.server) {
                serving.push((id, source.server));
            }
        }
        serving
    }

    /// There is a live source besides this one.
    pub(crate) fn has_other(&self, than: SourceId) -> bool {
        self.iter().any(|(id, source)| id != than && source.is_live())
    }

    /// There were sources, and all of them have failed.
    pub(crate) fn all_failed(&self) -> bool {
        !self.table.is_empty() && !self.table.values().any(Source::is_live)
    }

    /// One source has to be active as long as any can be. One that has not joined can where no
    /// size is known that it could contradict.
    pub(crate) fn fill_up(&mut self, has_size: bool) -> Option<SourceId> {
        if self.active() > 0 {
            return None;
        }
        let spare = self.iter().find(|(_, source)| source.state == SourceState::Inactive);
        let joining = || {
            let mut joining = self.iter().filter(|(_, s)| s.state == SourceState::Joining);
            joining.next().filter(|_| !has_size)
        };
        let (id, _) = spare.or_else(joining)?;
        self.get_mut(id)?.state = SourceState::Active;
        Some(id)
    }

    /// The first end of a pause, if anyone else is there meanwhile.
    pub(crate) fn next_revival(&self) -> Option<Time> {
        let pauses = self.table.values().filter_map(|source| match source.state {
            SourceState::Disabled { until } => Some(until),
            _ => None,
        });
        pauses.min().filter(|_| !self.all_failed())
    }

    /// Those whose pauses are over are asked again; which ones.
    pub(crate) fn revive(&mut self, now: Time) -> Vec<(SourceId, ServerId)> {
        let mut revived = Vec::new();
        for (id, source) in self.iter_mut() {
            if matches!(source.state, SourceState::Disabled { until } if until <= now) {
                source.state = SourceState::Joining;
                source.join = Join::Todo;
                source.joins_lost = 0;
                revived.push((id, source.server));
            }
        }
        revived
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_active_source_is_used() {
        let mut sources = Sources::default();
        assert_eq!(sources.best(), None);
        assert!(!sources.all_failed());
        sources.add(SourceId(1), ServerId(10));
        sources.add(SourceId(2), ServerId(20));
        assert_eq!(sources.best(), Some((SourceId(1), ServerId(10))), "nothing known: the first");
        let second = sources.get_mut(SourceId(2)).unwrap();
        second.quality.record_request(1000, Time::from_secs(1));
        assert_eq!(sources.best(), Some((SourceId(2), ServerId(20))));
        sources.get_mut(SourceId(2)).unwrap().state = SourceState::Refused;
        assert_eq!(sources.best(), Some((SourceId(1), ServerId(10))));
        sources.get_mut(SourceId(1)).unwrap().state = SourceState::Refused;
        assert!(sources.all_failed());
    }

    #[test]
    fn one_that_has_not_joined_stands_in_only_before_the_size_is_known() {
        let mut sources = Sources::default();
        sources.add_replica(SourceId(1), ServerId(10));
        sources.add_replica(SourceId(2), ServerId(20));
        assert_eq!(sources.best(), Some((SourceId(1), ServerId(10))), "the first is believed");
        sources.get_mut(SourceId(1)).unwrap().state = SourceState::Refused;
        assert_eq!((sources.fill_up(true), sources.all_failed()), (None, false));
        assert_eq!(sources.fill_up(false), Some(SourceId(2)));
    }

    #[test]
    fn a_disabled_source_comes_back_after_its_pause() {
        let mut sources = Sources::default();
        sources.add(SourceId(1), ServerId(10));
        sources.add(SourceId(2), ServerId(20));
        let until = Time::from_secs(9);
        sources.get_mut(SourceId(2)).unwrap().state = SourceState::Disabled { until };
        assert_eq!(sources.next_revival(), Some(until));
        assert!(sources.revive(Time::from_secs(8)).is_empty());
        assert_eq!(sources.revive(until), [(SourceId(2), ServerId(20))]);
        assert_eq!(sources.serving(), [(SourceId(1), ServerId(10))], "it has to join first");
    }

    #[test]
    fn now_and_then_a_damaged_request_is_chance_and_one_after_the_other_is_not() {
        let mut source = Source::new(ServerId(1), SourceState::Active);
        for is_damaged in [true, false, true, false, false, true, true] {
            source.record_damage(is_damaged);
            assert!(!source.damages());
        }
        source.record_damage(true);
        assert!(source.damages());
    }

    #[test]
    fn quality_leans_to_the_latest_without_jumping() {
        let mut quality = Quality::default();
        quality.record_first_byte(Time::from_millis(80));
        quality.record_first_byte(Time::from_millis(160));
        assert_eq!(quality.first_byte, Some(Time::from_millis(90)));
        quality.record_request(8_000, Time::from_secs(1));
        quality.record_request(16_000, Time::from_secs(1));
        assert_eq!(quality.rate, Some(9_000));
    }
}
