//! Far files that clients read as ranges of bytes, without saying what is in them.
//!
//! Such a client (ROOT, uproot, a copy) asks for a few ranges, waits, computes, and asks again. All
//! clients of one address share one open file here. Of a ROOT file the metadata are read as soon as
//! it is open, the way that this engine opens it: what ROOT asks for one after the other is then
//! here.

pub mod arrivals;
pub mod used;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use remote::Result;
use remote::fetch::{RemoteFile, Urgency, Want};
use remote::source::FileInfo;
use rootfile::Known;
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

use crate::read::file::session::Session;
use crate::read::file::{File, OpenBytes};
use arrivals::{Arrival, Arrivals};
use used::{Tally, Used};

/// Tables of one file whose metadata are read before a client asks for them.
const TABLES_MAX: usize = 32;

/// Where the open of one address goes; later clients wait for it, too.
type Slot = OnceCell<Arc<Shared>>;

/// The files that are watched now, by address.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    files: Mutex<HashMap<String, Weak<Slot>>>,
}

/// A far file as one client reads it. Cheap to clone; the file is closed with the last handle of
/// its last client.
#[derive(Debug, Clone)]
pub struct Watched {
    shared: Arc<Shared>,
    /// As long as it lives, others find the open file.
    _slot: Arc<Slot>,
}

/// What the clients of one address share.
#[derive(Debug)]
pub(crate) struct Shared {
    remote: Arc<RemoteFile>,
    /// Bytes of metadata that are here.
    known: Arc<Mutex<Known>>,
    tally: Tally,
    /// The file is another one now.
    is_stale: AtomicBool,
    /// What goes on beside the reads; it ends with this.
    _tasks: Mutex<JoinSet<()>>,
}

impl Watches {
    pub async fn watch(&self, session: &Session, address: &str) -> Result<Watched> {
        let slot = self.slot(address);
        let shared = slot.get_or_try_init(|| Shared::open(session, address)).await?.clone();
        Ok(Watched { shared, _slot: slot })
    }

    fn slot(&self, address: &str) -> Arc<Slot> {
        let mut files = self.files.lock();
        files.retain(|_, slot| slot.strong_count() > 0);
        let is_fresh = |slot: &Arc<Slot>| slot.get().is_none_or(|shared| !shared.is_stale());
        if let Some(slot) = files.get(address).and_then(Weak::upgrade).filter(is_fresh) {
            return slot;
        }
        let slot = Arc::new(Slot::new());
        files.insert(address.to_owned(), Arc::downgrade(&slot));
        slot
    }
}

impl Watched {
    /// Size, time and version, as the open was answered.
    pub fn info(&self) -> &FileInfo {
        self.shared.remote.info()
    }

    /// The address as given, without secrets.
    pub fn url(&self) -> &str {
        self.shared.remote.url()
    }

    /// Asks for ranges that a client waits for; what another client has asked for and is on its way
    /// is not asked for again. A range that reaches beyond the end is an error.
    pub fn read(&self, ranges: Vec<Range<u64>>) -> Arrivals {
        let Shared { remote, known, tally, .. } = &*self.shared;
        tally.read(ranges.len());
        // A copy shares the bytes.
        let known = known.lock().clone();
        let (mut ready, mut wants, mut owners) = (VecDeque::new(), Vec::new(), Vec::new());
        for (index, range) in ranges.into_iter().enumerate() {
            let bytes = range.end.saturating_sub(range.start);
            if let Some(here) = known.get(range.clone()) {
                tally.metadata(bytes);
                ready.push_back(Arrival::here(index, here));
                continue;
            }
            tally.demanded(bytes);
            wants.push(Want { range, cost: bytes, urgency: Urgency::Demand, order: 0 });
            owners.push(index);
        }
        Arrivals::new(self.shared.clone(), ready, remote.want(wants), owners)
    }

    /// What all clients of this address have read since it was opened.
    pub fn used(&self) -> Used {
        self.shared.tally.used()
    }
}

impl Shared {
    async fn open(session: &Session, address: &str) -> Result<Arc<Shared>> {
        let bytes = session.open_bytes(address).await?;
        let (remote, known) = (bytes.remote.clone(), bytes.known.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(read_metadata(session.clone(), bytes));
        let (tally, is_stale) = (Tally::default(), AtomicBool::new(false));
        Ok(Arc::new(Shared { remote, known, tally, is_stale, _tasks: Mutex::new(tasks) }))
    }

    fn is_stale(&self) -> bool {
        self.is_stale.load(Ordering::Relaxed)
    }

    /// The file is another one now: the next client opens it anew.
    fn set_stale(&self) {
        self.is_stale.store(true, Ordering::Relaxed);
    }
}

/// Reads what a file says of itself and of its tables, as opening them does. A file that cannot be
/// understood is still one with bytes.
async fn read_metadata(session: Session, bytes: OpenBytes) {
    let Ok(file) = File::of_bytes(bytes, session.decoders()).await else { return };
    let Ok(paths) = file.table_paths().await else { return };
    let opens = paths.iter().take(TABLES_MAX).map(|path| file.table(path));
    futures::future::join_all(opens).await;
}
