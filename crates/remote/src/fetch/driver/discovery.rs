//! Further sources of a file: the driver asks the redirector that has sent a read on again, beside
//! the read, and so it does a web server that has named other locations (`Link`).
//!
//! It does so once a read has lasted for a while, so that a short one costs the redirector nothing,
//! or as soon as a server fails; then rarely. First come the servers that have been named already,
//! then all servers that the redirector knows, then one that has not been tried. Those that it
//! names are replicas: they have to agree before any of their bytes are used.
//!
//! A redirector of the web may send to an address that is good for a while only. Where a server
//! refuses it, the driver requests another from the redirector, be it of the same server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use scheduler::{FileId, ServerId, SourceId, Time};

use super::Driver;
use crate::address::{Address, FileLocations, Scheme};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::files::{Member, MemberState, Search, SourceChecksums};
use crate::source::network::Network;
use crate::source::slotted::shared;
use crate::source::{FileLocation, one_shot};

/// Servers of one file beyond which none is looked for.
const SERVERS_MAX: usize = 4;
/// Locations that servers name unrequested, beyond which none is kept.
const NAMED_MAX: usize = 16;
/// A failing server makes the search begin at once, but not sooner than this after the one before;
/// each time twice as long.
const FAILURE_PAUSE: Duration = Duration::from_secs(2);
const FAILURE_PAUSE_MAX: Duration = Duration::from_secs(60);
/// The driver does not wait for a redirector that is silent for so long; one that has to look for
/// the file itself takes five seconds.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// Why a host is not enough, in the redirectors' words: it has failed, and: more are wanted.
const FAILED: &str = "ioerr";
const MORE_WANTED: &str = "resel";

/// Results of discovery, beside the reads.
pub enum Discovered {
    /// Where else a file is.
    Locations(FileId, Result<FileLocations>),
    /// The checksums that its sources have.
    Checksums(FileId, SourceChecksums),
}

impl Search {
    fn new(origin: Address) -> Self {
        Search {
            origin,
            sends_on: false,
            named: Vec::new(),
            tried: BTreeMap::new(),
            no_replica_left: false,
            next: None,
            begun: None,
            is_running: false,
            failures: 0,
        }
    }

    /// A redirector, Metalink or caller has named another location of the file.
    pub(super) fn name(&mut self, place: FileLocation) {
        if !self.named.contains(&place) && self.named.len() < NAMED_MAX {
            self.named.push(place);
        }
    }

    /// Plans a try at the sooner of `at` and the planned time; false where the planned time is
    /// sooner.
    fn plan(&mut self, at: Time) -> bool {
        let sooner = !self.is_running && self.next.is_none_or(|next| at < next);
        if sooner {
            self.next = Some(at);
        }
        sooner
    }

    /// This server has failed, and another address of it may be better: over HTTP, where the
    /// redirector may have put into it who may read for how long.
    fn is_renewable(&self, url: &Address) -> bool {
        let why = self.tried.get(url.host().unwrap_or_default());
        matches!(url.scheme(), Scheme::Http | Scheme::Https)
            && why.is_some_and(|why| *why == FAILED)
    }

    /// A server has failed: when to look for another one at the soonest.
    fn soonest(&mut self, now: Time) -> Time {
        let pause = FAILURE_PAUSE.saturating_mul(1 << self.failures.min(8)).min(FAILURE_PAUSE_MAX);
        self.failures = self.failures.saturating_add(1);
        self.begun.map_or(now, |begun| begun.saturating_add(pause)).max(now)
    }
}

impl Driver {
    /// A redirector has sent a source of a file on, to this address.
    pub(super) fn sent_on(&mut self, file: FileId, from: &Address, to: &Address) {
        // One that only has another name for it chooses no server.
        let Some(state) =
            self.files.get_mut(&file).filter(|_| from.server_key() != to.server_key())
        else {
            return;
        };
        let search = state.search.get_or_insert_with(|| Search::new(from.clone()));
        search.sends_on = true;
        // At dCache a door knows its pools better than other servers do.
        let is_pool = to.query().is_some_and(|query| query.contains("org.dcache.uuid"));
        let is_door = is_pool && *from != search.origin;
        let host = if is_door { from.host() } else { to.host() };
        search.tried.insert(host.unwrap_or_default().to_owned(), MORE_WANTED);
        self.expect_search(file);
    }

    /// A server has named other locations of a file beside its answer.
    pub(super) fn named(&mut self, file: FileId, source: SourceId, locations: Vec<FileLocation>) {
        let Some(state) = self.files.get_mut(&file) else { return };
        let Some((_, from)) = state.sources.get(&source) else { return };
        let search = state.search.get_or_insert_with(|| Search::new((*from.url).clone()));
        locations.into_iter().for_each(|place| search.name(place));
        self.expect_search(file);
    }

    /// A read begins, or goes on: if it lasts, another server may help.
    pub(super) fn expect_search(&mut self, file: FileId) {
        let at = self.clock.now().saturating_add(self.config.discovery_after);
        let Some(search) = self.files.get_mut(&file).and_then(|file| file.search.as_mut()) else {
            return;
        };
        if self.config.discovery && search.next.is_none() && search.plan(at) {
            self.searches.insert((at, file));
        }
    }

    /// A server refuses a file that a redirector has located there: whether that is worth another
    /// request to the redirector.
    pub(super) fn is_worth_asking(
        &mut self,
        file: FileId,
        source: SourceId,
        error: &Error,
    ) -> bool {
        let may_pass = match error.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::Unauthenticated => true,
            kind => kind == ErrorKind::Io,
        };
        let Some(server) = self.server_of_source(file, source).filter(|_| may_pass) else {
            return false;
        };
        let search = self.files.get(&file).and_then(|state| state.search.as_ref());
        let is_hopeful = search.is_some_and(|search| search.sends_on && !search.no_replica_left);
        if is_hopeful && self.config.discovery {
            self.search_soon(file, server);
        }
        is_hopeful && self.config.discovery
    }

    /// A server of a file has failed.
    pub(super) fn search_soon(&mut self, file: FileId, server: ServerId) {
        let now = self.clock.now();
        let Some(state) = self.files.get_mut(&file) else { return };
        let urls = state.sources.values().filter(|(of, _)| *of == server);
        let hosts: Vec<String> =
            urls.filter_map(|(_, file)| file.url.host().map(str::to_owned)).collect();
        let Some(search) = &mut state.search else { return };
        for host in hosts {
            if let Some(why) = search.tried.get_mut(&host) {
                *why = FAILED;
            }
        }
        let at = search.soonest(now);
        if self.config.discovery && search.plan(at) {
            self.searches.insert((at, file));
        }
    }

    pub(super) fn next_search(&self) -> Option<Time> {
        self.searches.first().map(|(at, _)| *at)
    }

    /// Begins the searches whose time has come.
    pub(super) fn begin_searches(&mut self) {
        let now = self.clock.now();
        while let Some((at, file)) = self.searches.first().copied().filter(|(at, _)| *at <= now) {
            self.searches.remove(&(at, file));
            let is_due = |search: &Search| search.next == Some(at);
            let state = self.files.get_mut(&file);
            if let Some(search) = state.and_then(|state| state.search.as_mut())
                && is_due(search)
            {
                search.next = None;
                if self.somebody_waits(file) {
                    self.begin_search(file);
                }
            }
        }
    }

    pub(super) fn somebody_waits(&self, file: FileId) -> bool {
        let opens = self.files.get(&file).is_some_and(|state| state.opening.is_some());
        let waits = |member: &Member| member.state == MemberState::Waiting;
        opens || self.groups.values().any(|g| g.file == file && g.members.iter().any(waits))
    }

    fn begin_search(&mut self, id: FileId) {
        let now = self.clock.now();
        let Some(file) = self.files.get_mut(&id) else { return };
        let known: Vec<Address> =
            file.sources.values().map(|(_, file)| (*file.url).clone()).collect();
        let Some(search) = &mut file.search else { return };
        if search.tried.values().filter(|why| **why == MORE_WANTED).count() >= SERVERS_MAX {
            return;
        }
        search.is_running = true;
        search.begun = Some(now);
        let question = Question {
            origin: search.origin.clone(),
            named: search.named.clone(),
            tried: search
                .sends_on
                .then(|| search.tried.iter().map(|(host, why)| (host.clone(), *why)).collect()),
            renewable: known
                .iter()
                .filter(|url| search.is_renewable(url))
                .map(|url| url.server_key())
                .collect(),
            known,
        };
        let config = self.config.clone();
        let network = shared(self.network.clone(), &self.config);
        let sender = self.finding_sender.clone();
        tokio::spawn(async move {
            let found = question.ask(config, network);
            let found = tokio::time::timeout(ANSWER_MAX, found)
                .await
                .unwrap_or_else(|_| Err(Error::new(ErrorKind::TimedOut, "no answer")));
            let _ = sender.send(Discovered::Locations(id, found));
        });
    }

    pub(super) fn take_finding(&mut self, finding: Discovered) {
        match finding {
            Discovered::Locations(file, found) => self.take_locations(file, found),
            Discovered::Checksums(file, found) => self.take_checksums(file, found),
        }
    }

    /// The redirector has answered.
    fn take_locations(&mut self, id: FileId, found: Result<FileLocations>) {
        let Some(file) = self.files.get_mut(&id) else { return };
        let Some(search) = &mut file.search else { return };
        search.is_running = false;
        let origin = search.origin.to_string();
        let mut added = 0;
        match found {
            Ok(FileLocations { urls, claims, .. }) => {
                file.claimed_size = file.claimed_size.or(claims.size);
                let checksum = &mut file.replica_check.checksum;
                *checksum = checksum.take().or(claims.checksums.into_iter().next());
                urls.into_iter().for_each(|url| added += self.add_found(id, url, &origin));
            }
            // That there is no other is no news.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                let text = format!("{origin} was asked for other servers and named none: {error}");
                self.trace.note(Some(id.0), text);
            }
        }
        if added > 0 {
            self.expect_comparison(id);
        }
        let pause = match added {
            0 => self.config.discovery_pause,
            _ => self.config.discovery_again,
        };
        let at = self.clock.now().saturating_add(pause);
        if let Some(search) = self.files.get_mut(&id).and_then(|file| file.search.as_mut()) {
            search.no_replica_left = added == 0;
            if search.plan(at) {
                self.searches.insert((at, id));
            }
        }
    }

    /// One more place of a file; how many that makes.
    fn add_found(&mut self, id: FileId, url: Address, origin: &str) -> u32 {
        let Ok(server) = self.server_for(&url) else { return 0 };
        let Some(file) = self.files.get_mut(&id) else { return 0 };
        let there = |(_, (other, _)): &(&SourceId, &(ServerId, _))| *other == server;
        let before = file.sources.iter().find(there).map(|(source, _)| *source);
        let is_room = file.sources.len() < 2 * SERVERS_MAX;
        let Some(search) = file.search.as_mut() else { return 0 };
        let is_wanted = match before {
            Some(_) => search.is_renewable(&url),
            None => is_room,
        };
        if !is_wanted {
            return 0;
        }
        search.tried.insert(url.host().unwrap_or_default().to_owned(), MORE_WANTED);
        let also = if before.is_some() { "now" } else { "also" };
        let text = format!("{also} at {url}, says {origin}");
        self.trace.note(Some(id.0), text);
        self.add_source(id, server, url, true);
        if let Some(before) = before {
            self.remove_source(id, before);
        }
        1
    }

    pub(super) fn remove_source(&mut self, file: FileId, source: SourceId) {
        self.scheduler.remove_source(self.clock.now(), source);
        self.sources.remove(&source);
        if let Some(file) = self.files.get_mut(&file) {
            file.sources.remove(&source);
            file.replicas.remove(&source);
            file.led.remove(&source);
        }
    }

    /// The server of a file's source.
    pub(super) fn server_of_source(&self, file: FileId, source: SourceId) -> Option<ServerId> {
        self.files.get(&file)?.sources.get(&source).map(|(server, _)| *server)
    }
}

/// A request beside a read.
struct Question {
    origin: Address,
    named: Vec<FileLocation>,
    /// The hosts that have been tried, and why they are not enough, where that says anything to it.
    tried: Option<Vec<(String, &'static str)>>,
    /// Where the file is read.
    known: Vec<Address>,
    /// Servers that another address of may help.
    renewable: BTreeSet<String>,
}

impl Question {
    /// Places of a file that are not known yet: those named before, else all that the redirector
    /// knows, else one more.
    async fn ask(self, config: Config, network: Arc<dyn Network>) -> Result<FileLocations> {
        for locations in [
            one_shot::follow(self.named.clone(), &config, network.clone()).await,
            one_shot::locate(&self.origin, &config, network.clone()).await,
        ] {
            if let Ok(locations) = locations.map(|locations| self.new_of(locations))
                && !locations.urls.is_empty()
            {
                return Ok(locations);
            }
        }
        let Some(tried) = &self.tried else { return Ok(FileLocations::default()) };
        let another = one_shot::another(&self.origin, tried, &config, network).await?;
        Ok(self.new_of(FileLocations::from(vec![another])))
    }

    fn new_of(&self, mut locations: FileLocations) -> FileLocations {
        let is_known = |url: &Address| {
            let key = url.server_key();
            let renews = self.renewable.contains(&key);
            self.known.iter().any(|known| match renews {
                true => known == url,
                false => known.server_key() == key,
            })
        };
        locations.urls.retain(|url| !is_known(url));
        locations.urls.truncate(SERVERS_MAX);
        locations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_hurry_a_search_less_and_less() {
        let mut search = Search::new(Address::parse("root://man//f").unwrap());
        let seconds = Time::from_secs;
        assert_eq!(search.soonest(seconds(5)), seconds(5), "at once");
        search.begun = Some(seconds(5));
        let times = [6, 6, 6].map(|now| search.soonest(seconds(now)).as_secs());
        assert_eq!(times, [9, 13, 21]);
        assert!(search.plan(seconds(30)) && !search.plan(seconds(40)) && search.plan(seconds(20)));
    }
}
