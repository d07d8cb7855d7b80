//! Fetch, decode, assemble: the part of a read that runs.
//!
//! One task a read. It holds no thread while it waits, starts decoding an item (a basket of a
//! branch, the pages of a field in a cluster) when its last byte is here, and hands batches out in
//! order. It is held back by the memory budget (reservations live until a batch is handed out) and
//! the consumer (a batch waits until the one before has been taken).
//!
//! Most reads ask for everything at once. Two kinds of items come later: those that a cut decides
//! about (`deciding.rs`), and counts for baskets that turn out to lack their entry offsets, which
//! [trees](crate::read::tree) plan. `assemble.rs` makes batches of decoded items.

mod assemble;
mod assembly;
mod deciding;
mod jobs;
pub mod plan;
mod refused;
mod request;
mod run;
mod share;
pub mod slot;
mod undecided;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use rootfile::{Array, Codecs};

use crate::located::Located;
use crate::read::core::cut::{Predicate, SurvivorFeed};
use crate::read::core::fill::slots::Destination;
use crate::read::core::steps::ReadPriority;
use crate::read::threads::decoders::Decoders;
use plan::Item;
use remote::Result;
use remote::fetch::RemoteFile;
pub use run::{Pipeline, start};
use slot::Counts;

/// Priority of a read among others, and the file and threads that it reads with.
#[derive(Clone)]
pub struct Job {
    pub remote: Arc<RemoteFile>,
    pub decoders: Decoders,
    pub rank: ReadPriority,
    /// How many columns are handed out: the first ones.
    pub shown: usize,
}

/// Columns of a table as something to be decoded, item by item.
pub trait Source: Sized + Send + 'static {
    /// Identity of an item in the file.
    type Locator: Send + 'static;

    /// Whether a cut leaves items to be [planned](Source::plan_survivors), instead of some of those
    /// in the plan.
    const PLANS_SURVIVORS: bool = false;

    /// As the user gets it.
    fn name(&self, column: usize) -> &str;

    /// A column without entries.
    fn empty(&self, column: usize) -> Array;

    /// Makes room in an empty column for `items` of it, `entries` in all. Where offsets are
    /// `shared` with other columns, they take no room in it.
    fn reserve(
        &self,
        items: &[&Item<Self::Locator>],
        entries: usize,
        shared: bool,
        array: &mut Array,
    );

    /// Whether a column that this version cannot read is left out of the batches.
    fn may_leave_out(&self, _column: usize) -> bool {
        false
    }

    /// The bytes of an item, piece by piece, where none are to be fetched.
    fn at_hand(&self, item: &Item<Self::Locator>) -> Option<Vec<Bytes>>;

    /// The decoder of an item.
    fn decoder(&self, item: &mut Item<Self::Locator>) -> Decoder;

    /// Plans the items for the entries up to `until`, of which a cut has left `runs` since the last
    /// time.
    ///
    /// # Errors
    /// `Corrupt` and `Unsupported`.
    fn plan_survivors(
        &mut self,
        _until: u64,
        _runs: &[Range<u64>],
    ) -> Result<Vec<Item<Self::Locator>>> {
        Ok(Vec::new())
    }

    /// Adds items to the plan that decoding is known to need, before any range is requested.
    ///
    /// # Errors
    /// `Corrupt` and `Unsupported`.
    fn prepare(_pipeline: &mut Pipeline<Self>) -> Result<()> {
        Ok(())
    }

    /// An item of this column turns out to need counts.
    ///
    /// # Errors
    /// `Unsupported` where no column has them.
    fn plan_counts(pipeline: &mut Pipeline<Self>, column: usize) -> Result<()> {
        let error = rootfile::Error::unsupported("data without their entry offsets");
        Err(error.within(pipeline.source.name(column)).located(pipeline.job.remote.url()))
    }
}

/// Decodes one item on a decoding thread.
pub type Decoder = Box<dyn FnOnce(Arrived, &mut Codecs) -> Result<Decoded> + Send>;

/// Bytes and counts that an item is decoded from, and its destinations.
pub struct Arrived {
    /// By piece.
    pub bytes: Vec<Bytes>,
    pub counts: Vec<Counts>,
    /// `None`: to an array of its own.
    pub places: Option<Vec<Destination>>,
}

/// Result of decoding.
pub enum Decoded {
    /// It is where it goes, and takes so many bytes there.
    Put(usize),
    Array(Arc<Array>),
    /// It leaves its entry offsets to be computed from counts.
    LacksCounts(Vec<Bytes>),
}

/// Who decides which entries are read.
pub enum Decision {
    /// A predicate over columns of the same table, at these positions in its order.
    Predicate { columns: Vec<usize>, predicate: Arc<dyn Predicate> },
    /// The reader of other tables.
    SurvivorFeed(SurvivorFeed),
}
