//! Where else a file is: the redirector that has sent a read on is asked again, beside the read.
//!
//! It is asked once a read has lasted for a while, so that a short one costs it nothing, or as soon
//! as a server fails; then rarely. First for all servers that it knows, then for one that has not
//! been tried. What it names are replicas: they have to agree before anything of them is used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use scheduler::{FileId, ServerId, SourceId, Time};
use url::Url;

use super::Driver;
use super::agreement::Said;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::files::{MemberState, server_key};
use crate::source::network::Network;
use crate::source::{display_url, question};

/// Servers of one file beyond which none is looked for.
const SERVERS_MAX: usize = 4;
/// A failing server makes the search begin at once, but not sooner than this after the one before;
/// each time twice as long.
const HURRY_PAUSE: Duration = Duration::from_secs(2);
const HURRY_PAUSE_MAX: Duration = Duration::from_secs(60);
/// A redirector that says nothing for so long is not waited for; one that has to look for the file
/// itself takes five seconds.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// What is known of where else a file may be.
pub struct Search {
    /// The redirector, as it was named.
    origin: Url,
    /// The hosts that it has named, and why they are not enough, in its own words.
    tried: BTreeMap<String, &'static str>,
    /// When it is asked next.
    next: Option<Time>,
    begun: Option<Time>,
    is_running: bool,
    hurries: u32,
}

/// What has been found out beside the reads.
pub enum Finding {
    /// Where else a file is.
    Places(FileId, Result<Vec<Url>>),
    /// What its sources have.
    Checksums(FileId, Said),
}

impl Search {
    fn new(origin: Url) -> Self {
        let tried = BTreeMap::new();
        Search { origin, tried, next: None, begun: None, is_running: false, hurries: 0 }
    }

    /// The sooner of this and what was planned; false where that was sooner.
    fn plan(&mut self, at: Time) -> bool {
        let sooner = !self.is_running && self.next.is_none_or(|next| at < next);
        if sooner {
            self.next = Some(at);
        }
        sooner
    }

    /// A server has failed: when to look for another one at the soonest.
    fn hurry(&mut self, now: Time) -> Time {
        let pause = HURRY_PAUSE.saturating_mul(1 << self.hurries.min(8)).min(HURRY_PAUSE_MAX);
        self.hurries = self.hurries.saturating_add(1);
        self.begun.map_or(now, |begun| begun.saturating_add(pause)).max(now)
    }
}

impl Driver {
    /// A redirector has sent a source of a file on, to this address.
    pub(super) fn sent_on(&mut self, file: FileId, from: &Url, to: &Url) {
        let Some(state) = self.files.get_mut(&file).filter(|_| is_xrootd(from)) else { return };
        let search = state.search.get_or_insert_with(|| Search::new(from.clone()));
        // At dCache a door knows its pools better than anybody else does.
        let is_pool = to.query().is_some_and(|query| query.contains("org.dcache.uuid"));
        let is_door = is_pool && *from != search.origin;
        let host = if is_door { from.host_str() } else { to.host_str() };
        search.tried.insert(host.unwrap_or_default().to_owned(), "resel");
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

    /// A server of a file has failed.
    pub(super) fn hurry_search(&mut self, file: FileId, server: ServerId) {
        let now = self.clock.now();
        let Some(state) = self.files.get_mut(&file) else { return };
        let urls = state.sources.values().filter(|(of, _)| *of == server);
        let hosts: Vec<String> =
            urls.filter_map(|(_, file)| file.url.host_str().map(str::to_owned)).collect();
        let Some(search) = &mut state.search else { return };
        for host in hosts {
            if let Some(why) = search.tried.get_mut(&host) {
                *why = "ioerr";
            }
        }
        let at = search.hurry(now);
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
        let opens = self.files.get(&file).is_some_and(|state| state.opener.is_some());
        let waits = |member: &super::Member| member.state == MemberState::Waiting;
        opens || self.groups.values().any(|g| g.file == file && g.members.iter().any(waits))
    }

    fn begin_search(&mut self, id: FileId) {
        let now = self.clock.now();
        let Some(file) = self.files.get_mut(&id) else { return };
        let known: BTreeSet<String> =
            file.sources.values().map(|(_, file)| server_key(&file.url)).collect();
        let Some(search) = &mut file.search else { return };
        if search.tried.values().filter(|why| **why == "resel").count() >= SERVERS_MAX {
            return;
        }
        search.is_running = true;
        search.begun = Some(now);
        let origin = search.origin.clone();
        let tried = search.tried.iter().map(|(host, why)| (host.clone(), *why)).collect();
        let (config, network) = (self.config.clone(), self.network.clone());
        let sender = self.finding_sender.clone();
        tokio::spawn(async move {
            let found = find(origin, tried, known, config, network);
            let found = tokio::time::timeout(ANSWER_MAX, found)
                .await
                .unwrap_or_else(|_| Err(Error::new(ErrorKind::TimedOut, "no answer")));
            let _ = sender.send(Finding::Places(id, found));
        });
    }

    pub(super) fn take_finding(&mut self, finding: Finding) {
        match finding {
            Finding::Places(file, found) => self.take_places(file, found),
            Finding::Checksums(file, said) => self.take_checksums(file, said),
        }
    }

    /// The redirector has answered.
    fn take_places(&mut self, id: FileId, found: Result<Vec<Url>>) {
        let Some(file) = self.files.get_mut(&id) else { return };
        let Some(search) = &mut file.search else { return };
        search.is_running = false;
        let origin = display_url(&search.origin);
        let mut added = 0;
        match found {
            Ok(urls) => urls.into_iter().for_each(|url| added += self.add_found(id, url, &origin)),
            // That there is no other is no news.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                let text = format!("{origin} was asked for other servers in vain: {error}");
                self.trace.note(Some(id.0), text);
            }
        }
        let pause = match added {
            0 => self.config.discovery_pause,
            _ => self.config.discovery_again,
        };
        let at = self.clock.now().saturating_add(pause);
        if let Some(search) = self.files.get_mut(&id).and_then(|file| file.search.as_mut())
            && search.plan(at)
        {
            self.searches.insert((at, id));
        }
    }

    /// One more place of a file; how many that makes.
    fn add_found(&mut self, id: FileId, url: Url, origin: &str) -> u32 {
        let Ok(server) = self.server_for(&url) else { return 0 };
        let Some(file) = self.files.get_mut(&id) else { return 0 };
        let is_known = file.sources.values().any(|(other, _)| *other == server);
        let is_room = file.sources.len() < 2 * SERVERS_MAX;
        let Some(search) = file.search.as_mut().filter(|_| !is_known && is_room) else { return 0 };
        search.tried.insert(url.host_str().unwrap_or_default().to_owned(), "resel");
        let text = format!("also at {}, says {origin}", display_url(&url));
        self.trace.note(Some(id.0), text);
        self.add_source(id, server, url, true);
        1
    }

    /// The server of a file's source.
    pub(super) fn server_of_source(&self, file: FileId, source: SourceId) -> Option<ServerId> {
        self.files.get(&file)?.sources.get(&source).map(|(server, _)| *server)
    }
}

/// Others have no words for the question.
fn is_xrootd(url: &Url) -> bool {
    matches!(url.scheme(), "root" | "xroot")
}

/// Servers of a file that are not known yet: all that the redirector knows, else one more.
async fn find(
    origin: Url,
    tried: Vec<(String, &'static str)>,
    known: BTreeSet<String>,
    config: Config,
    network: Arc<dyn Network>,
) -> Result<Vec<Url>> {
    let is_new = |url: &Url| !known.contains(&server_key(url));
    if let Ok(mut urls) = question::locate(&origin, &config, network.clone()).await {
        urls.retain(is_new);
        if !urls.is_empty() {
            urls.truncate(SERVERS_MAX);
            return Ok(urls);
        }
    }
    let another = question::another(&origin, &tried, &config, network).await?;
    Ok(another.into_iter().filter(is_new).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_hurry_a_search_less_and_less() {
        let mut search = Search::new(Url::parse("root://man//f").unwrap());
        let seconds = Time::from_secs;
        assert_eq!(search.hurry(seconds(5)), seconds(5), "at once");
        search.begun = Some(seconds(5));
        let times = [6, 6, 6].map(|now| search.hurry(seconds(now)).as_secs());
        assert_eq!(times, [9, 13, 21]);
        assert!(search.plan(seconds(30)) && !search.plan(seconds(40)) && search.plan(seconds(20)));
    }
}
