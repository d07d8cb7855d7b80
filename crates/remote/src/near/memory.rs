//! Facts about servers that select, and about cuts, from earlier opens and answers.

use std::collections::BTreeMap;
use std::time::Duration;

use mutex::Mutex;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

use crate::clock::Clock;
use crate::config::Config;
use crate::store::{Notes, Store};

/// Facts of one kind that are kept in memory; more are forgotten together.
const KEPT_MAX: usize = 4096;
/// A server may be less busy, or busier, after this time.
const PACE_TIME: Duration = Duration::from_secs(60);
/// Time in which a server that had no place for a request is not asked again.
const BUSY_TIME: Duration = Duration::from_secs(10);

/// The facts. Those about servers' offers and about cuts go from one process to the next.
pub struct NearMemory {
    clock: Clock,
    offers: KeptFacts<bool>,
    shares: KeptFacts<f64>,
    servers: Mutex<BTreeMap<String, ServerPace>>,
}

/// Facts by number, in memory and as notes.
struct KeptFacts<T> {
    known: Mutex<BTreeMap<u64, Option<T>>>,
    notes: Notes,
}

/// One fact, as a note has it.
#[derive(Serialize, Deserialize)]
struct NotedFact<T> {
    fact: T,
}

/// How a server has served this process lately.
#[derive(Debug, Clone, Copy, Default)]
struct ServerPace {
    /// Bytes a second, and when they were measured.
    pace: Option<(u64, Duration)>,
    /// Time until an answer began, and when it was measured.
    delay: Option<(Duration, Duration)>,
    busy_until: Duration,
}

impl<T: Copy + PartialEq + Serialize + for<'a> Deserialize<'a>> KeptFacts<T> {
    fn new(config: &Config, kind: &str) -> Self {
        let store = Store::of(config);
        let notes = Notes::new(store.as_ref().map(Store::parent), kind);
        KeptFacts { known: Mutex::default(), notes }
    }

    fn get(&self, number: u64) -> Option<T> {
        if let Some(known) = self.known.lock().get(&number) {
            return *known;
        }
        let found = self.notes.load(number).map(|NotedFact { fact }: NotedFact<T>| fact);
        self.insert(number, found);
        found
    }

    fn set(&self, number: u64, fact: T) {
        if self.get(number) != Some(fact) {
            self.insert(number, Some(fact));
            self.notes.save(number, &NotedFact { fact });
        }
    }

    fn insert(&self, number: u64, fact: Option<T>) {
        let mut known = self.known.lock();
        if known.len() >= KEPT_MAX {
            known.clear();
        }
        known.insert(number, fact);
    }
}

impl NearMemory {
    pub fn new(config: &Config, clock: Clock) -> Self {
        NearMemory {
            clock,
            offers: KeptFacts::new(config, "selects"),
            shares: KeptFacts::new(config, "shares"),
            servers: Mutex::default(),
        }
    }

    /// Whether a server, by host and port, has said that it selects.
    pub fn offers(&self, endpoint: &str) -> bool {
        self.offers.get(number(endpoint)).unwrap_or_default()
    }

    /// A server says that it selects: its name has host and port behind the scheme.
    pub fn offered(&self, server: &str) {
        let endpoint = server.split_once("://").map_or(server, |(_, endpoint)| endpoint);
        self.offers.set(number(endpoint), true);
    }

    pub fn offers_no_more(&self, endpoint: &str) {
        self.offers.set(number(endpoint), false);
    }

    pub fn share(&self, read: u64) -> Option<f64> {
        self.shares.get(read).filter(|share| (0.0..=1.0).contains(share))
    }

    pub fn learn_share(&self, read: u64, share: f64) {
        self.shares.set(read, share);
    }

    pub fn pace(&self, endpoint: &str) -> Option<u64> {
        let now = self.clock.now();
        let pace = self.servers.lock().get(endpoint)?.pace;
        pace.filter(|(_, at)| now.saturating_sub(*at) < PACE_TIME).map(|(pace, _)| pace)
    }

    pub fn delay(&self, endpoint: &str) -> Option<Duration> {
        let now = self.clock.now();
        let delay = self.servers.lock().get(endpoint)?.delay;
        delay.filter(|(_, at)| now.saturating_sub(*at) < PACE_TIME).map(|(delay, _)| delay)
    }

    pub fn learn_delay(&self, endpoint: &str, delay: Duration) {
        let now = self.clock.now();
        self.change(endpoint, |server| server.delay = Some((delay, now)));
    }

    pub fn learn_pace(&self, endpoint: &str, bytes: u64, time: Duration) {
        let nanoseconds = time.as_nanos().max(1);
        let pace = u128::from(bytes) * 1_000_000_000 / nanoseconds;
        let pace = u64::try_from(pace).unwrap_or(u64::MAX).max(1);
        let now = self.clock.now();
        self.change(endpoint, |server| server.pace = Some((pace, now)));
    }

    pub fn is_busy(&self, endpoint: &str) -> bool {
        let now = self.clock.now();
        self.servers.lock().get(endpoint).is_some_and(|server| now < server.busy_until)
    }

    pub fn is_busy_now(&self, endpoint: &str) {
        let until = self.clock.now() + BUSY_TIME;
        self.change(endpoint, |server| server.busy_until = until);
    }

    fn change(&self, endpoint: &str, change: impl FnOnce(&mut ServerPace)) {
        let mut servers = self.servers.lock();
        if servers.len() >= KEPT_MAX {
            servers.clear();
        }
        change(servers.entry(endpoint.to_owned()).or_default());
    }
}

/// The number of a server's notes.
fn number(endpoint: &str) -> u64 {
    XxHash64::oneshot(0, endpoint.replace(['[', ']'], "").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn facts_go_to_the_next_process_and_paces_age() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config { store_folder: Some(folder.path().into()), ..Config::default() };
        let memory = NearMemory::new(&config, Clock::start());
        assert!(!memory.offers("h:1094"));
        memory.offered("root://h:1094");
        memory.learn_share(7, 0.25);
        memory.learn_pace("h:1094", 300, Duration::from_secs(2));
        memory.is_busy_now("h:1094");
        memory.learn_delay("h:1094", Duration::from_secs(3));
        assert_eq!(memory.pace("h:1094"), Some(150));
        assert_eq!(memory.delay("h:1094"), Some(Duration::from_secs(3)));
        let next = NearMemory::new(&config, Clock::start());
        assert!(next.offers("h:1094") && !next.offers("h:1095"));
        assert_eq!((next.share(7), next.share(8)), (Some(0.25), None));
        assert_eq!(next.pace("h:1094"), None);
        next.offers_no_more("h:1094");
        assert!(!NearMemory::new(&config, Clock::start()).offers("h:1094"));
        assert!(memory.is_busy("h:1094") && !memory.is_busy("h:1095"));
        tokio::time::advance(BUSY_TIME).await;
        assert!(!memory.is_busy("h:1094"));
        tokio::time::advance(PACE_TIME).await;
        assert_eq!((memory.pace("h:1094"), memory.delay("h:1094")), (None, None));
    }
}
