//! Files that are opened before a client asks for them: the next one of a series.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mutex::Mutex;
use remote::address::CacheUse;
use remote::cache::Charges;
use tokio::runtime::Handle;

use super::opens::OpenTally;
use super::shared::OpenNext;
use super::{WatchKey, Watched, Watches};
use crate::read::file::session::Session;
use crate::read::predict::series::Series;

/// Maximum of files that are open ahead.
const FILES_MAX: usize = 4;
/// How long a file that no client opens is kept open.
const KEPT_OPEN: Duration = Duration::from_secs(10);

/// The files of an engine that were opened ahead.
#[derive(Debug, Default)]
pub struct FilesAhead {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    series: Series,
    files: Vec<FileAhead>,
}

#[derive(Debug)]
struct FileAhead {
    key: WatchKey,
    /// A client that has not asked for anything; `None` until the file is open.
    watched: Option<Watched>,
}

/// Opens the file that follows a watched one in its series.
pub struct NextFile {
    watches: Weak<Watches>,
    session: Session,
    address: String,
}

impl FilesAhead {
    /// Records that a client opens a file. Returns its handle if it is open ahead, with the first
    /// fill under way.
    pub fn opened(&self, key: &WatchKey, opens: &OpenTally) -> Option<Watched> {
        let mut state = self.state.lock();
        state.series.opened(&key.0);
        let at = state.files.iter().position(|file| file.key == *key)?;
        state.series.guessed(true);
        state.files.swap_remove(at).watched.inspect(|watched| watched.end_ahead(opens, true))
    }

    /// The file to open ahead after the one at an address, if any. It counts as one of
    /// [`FILES_MAX`] until a client opens it or [`FilesAhead::give_up`].
    fn begin(&self, after: &str, charges: Charges) -> Option<WatchKey> {
        let mut state = self.state.lock();
        let next = state.series.next(after).filter(|_| state.files.len() < FILES_MAX)?;
        let key = (next, charges);
        if state.files.iter().any(|file| file.key == key) {
            return None;
        }
        state.files.push(FileAhead { key: key.clone(), watched: None });
        Some(key)
    }

    /// Keeps the handle of an open file, unless a client has opened that file meanwhile.
    fn keep(&self, key: &WatchKey, watched: Watched, opens: &OpenTally) {
        let mut state = self.state.lock();
        match state.files.iter_mut().find(|file| file.key == *key) {
            Some(file) => file.watched = Some(watched),
            None => {
                drop(state);
                watched.end_ahead(opens, true);
            }
        }
    }

    /// Drops a wrong guess: a file that cannot be opened, or that no client has opened in time.
    fn give_up(&self, key: &WatchKey, opens: &OpenTally) {
        let mut state = self.state.lock();
        if let Some(at) = state.files.iter().position(|file| file.key == *key) {
            state.series.guessed(false);
            let file = state.files.swap_remove(at);
            drop(state);
            file.watched.iter().for_each(|watched| watched.end_ahead(opens, false));
        }
    }
}

impl Watched {
    /// Counts a file that was opened ahead: whether a client has asked for it in time. A file that
    /// was open for clients already does not count.
    fn end_ahead(&self, opens: &OpenTally, is_used: bool) {
        if self.client.shared().is_ahead.swap(false, Ordering::Relaxed) {
            opens.ahead_ended(is_used);
        }
    }
}

impl NextFile {
    pub fn new(watches: &Arc<Watches>, session: &Session, address: &str) -> Self {
        let watches = Arc::downgrade(watches);
        NextFile { watches, session: session.clone(), address: address.to_owned() }
    }
}

/// Opens the next file of the series, if there is one ([`Series::next`]), and fetches the first
/// fill of its clients.
impl OpenNext for NextFile {
    fn open(&self, runtime: &Handle) {
        let Some(watches) = self.watches.upgrade() else { return };
        let charges = self.session.charges();
        let Some(next) = watches.ahead.begin(&self.address, charges) else { return };
        let opening = watches.opening(&self.session, &next.0, CacheUse::Usual, true);
        let watches = self.watches.clone();
        runtime.spawn(async move {
            let opened = opening.clone().await;
            if let (Some(watches), Ok(shared)) = (watches.upgrade(), &opened) {
                let client = Watched {
                    client: shared.client(false),
                    has_asked: false,
                    was_open: false,
                    opening,
                };
                watches.ahead.keep(&next, client, &watches.engine.opens);
            }
            if opened.is_ok() {
                drop(opened);
                tokio::time::sleep(KEPT_OPEN).await;
            }
            if let Some(watches) = watches.upgrade() {
                watches.ahead.give_up(&next, &watches.engine.opens);
            }
        });
    }
}

impl std::fmt::Debug for NextFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NextFile")
    }
}
