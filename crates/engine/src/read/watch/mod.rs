//! Far files that clients read as ranges of bytes, without saying what is in them.
//!
//! Such a client (ROOT, uproot, a copy) asks for a few ranges, waits, computes, and asks again. All
//! clients of one address share one open file here. Of a ROOT file the metadata are read as soon as
//! it is open, the way that this engine opens it: what ROOT asks for one after the other is then
//! here. They also say of which column each basket is (`places`), so that what a client reads shows
//! what it will ask for next (`predict`), and what clients of the next file of its shape begin with
//! (`habit`).

pub mod arrivals;
mod client;
mod habit;
mod pieces;
mod places;
mod predict;
mod shared;
pub mod used;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use remote::Result;
use remote::source::FileInfo;
use tokio::sync::OnceCell;

use crate::read::file::session::Session;
use arrivals::Arrivals;
use client::Client;
use shared::Shared;
use used::{Tally, Used};

/// Where the open of one address goes; later clients wait for it, too.
type Slot = OnceCell<Arc<Shared>>;

/// The files that are watched now, by address.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    files: Mutex<HashMap<String, Weak<Slot>>>,
    tally: Tally,
}

/// A far file as one client reads it. Cheap to clone; the file is closed with the last handle of
/// its last client.
#[derive(Debug, Clone)]
pub struct Watched {
    client: Arc<Client>,
    /// As long as it lives, others find the open file.
    _slot: Arc<Slot>,
}

impl Watches {
    pub async fn watch(&self, session: &Session, address: &str) -> Result<Watched> {
        let slot = self.slot(address);
        let opened = || Shared::open(session, address, self.tally.of_file());
        let shared = slot.get_or_try_init(opened).await?;
        Ok(Watched { client: shared.client(), _slot: slot })
    }

    /// Bytes and ranges read by all clients of all files.
    pub fn used(&self) -> Used {
        self.tally.used_of_all()
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
        self.client.shared().remote.info()
    }

    /// The address as given, without secrets.
    pub fn url(&self) -> &str {
        self.client.shared().remote.url()
    }

    /// Asks for ranges that a client waits for; what another client has asked for and is on its way
    /// is not asked for again. A range that reaches beyond the end is an error.
    pub fn read(&self, ranges: Vec<Range<u64>>) -> Arrivals {
        let shared = self.client.shared();
        shared.tally.read(ranges.len());
        let (answering, advice) = self.client.read(&ranges);
        let mut arrivals = Arrivals::new(shared.remote.want(Vec::new()), answering);
        let mut absent = Vec::new();
        for (index, range) in ranges.iter().enumerate() {
            if let Some(bytes) = shared.metadata(range) {
                shared.tally.metadata(bytes.len() as u64);
                arrivals.add_here(index, bytes);
            } else {
                absent.extend(arrivals.add_parts(index, range.start, shared.parts(range)));
            }
        }
        arrivals.ask(absent);
        shared.follow(advice);
        arrivals
    }

    /// What all clients of this address have read since it was opened.
    pub fn used(&self) -> Used {
        self.client.shared().tally.used()
    }
}
