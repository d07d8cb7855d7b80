//! The places one file can be read at, and which of them to use.
//!
//! Each source is active or failed. One active source is used at a time, the best by what its
//! requests did; a failed one is left for the next.

use std::collections::BTreeMap;

use crate::ids::{ServerId, SourceId, Time};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Active,
    Failed,
}

/// What requests to a source did, averaged with weight on the latest.
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

#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub server: ServerId,
    pub standing: Standing,
    pub quality: Quality,
}

impl Source {
    pub(crate) fn is_active(&self) -> bool {
        self.standing == Standing::Active
    }
}

#[derive(Debug, Default)]
pub(crate) struct Sources {
    table: BTreeMap<SourceId, Source>,
}

impl Sources {
    pub(crate) fn add(&mut self, id: SourceId, server: ServerId) {
        let standing = Standing::Active;
        self.table.insert(id, Source { server, standing, quality: Quality::default() });
    }

    pub(crate) fn remove(&mut self, id: SourceId) {
        self.table.remove(&id);
    }

    pub(crate) fn fail(&mut self, id: SourceId) {
        if let Some(source) = self.table.get_mut(&id) {
            source.standing = Standing::Failed;
        }
    }

    pub(crate) fn get_mut(&mut self, id: SourceId) -> Option<&mut Source> {
        self.table.get_mut(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.table.iter().map(|(id, source)| (*id, source))
    }

    /// The source to use: of the active ones the fastest known, else the first.
    pub(crate) fn best(&self) -> Option<(SourceId, ServerId)> {
        self.iter()
            .filter(|(_, source)| source.is_active())
            .max_by_key(|(id, source)| (source.quality.rate, std::cmp::Reverse(*id)))
            .map(|(id, source)| (id, source.server))
    }

    /// There is an active source besides this one.
    pub(crate) fn has_other(&self, than: SourceId) -> bool {
        self.iter().any(|(id, source)| id != than && source.is_active())
    }

    /// There were sources, and all of them have failed.
    pub(crate) fn all_failed(&self) -> bool {
        !self.table.is_empty() && self.best().is_none()
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
        sources.fail(SourceId(2));
        assert_eq!(sources.best(), Some((SourceId(1), ServerId(10))));
        sources.fail(SourceId(1));
        assert!(sources.all_failed());
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
