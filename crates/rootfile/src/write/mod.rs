//! Structures to bytes: ROOT files that are written forward, in parallel, in a defined order.
//!
//! # How writing goes
//!
//! No function here writes to anywhere. A [`FileWriter`] takes objects and tables' entries; it
//! gives out [`Work`] (to turn a run of entries into compressed bytes), which the caller does on
//! as many threads as it likes and returns in any order, and [`Write`]s, which the caller puts at
//! their offsets in the order in which they come:
//!
//! ```text
//! extend -> cutter -> work -> encode on any thread -> complete -> sequencer -> writes
//! ```
//!
//! * The **cutter** of a table ([`TableWriter`]) decides from the entries alone where clusters and
//!   baskets or pages end: never from times, threads, or how entries were divided among calls.
//! * The **sequencer** ([`FileWriter`]) gives work's results their offsets in the order in which
//!   the work was given out. So the same entries give the same bytes with any number of threads.
//! * Everything is written forward. Metadata come last, next to each other, where a reader's first
//!   request for a file's end finds them; then a few bytes at the front, and in directories, are
//!   replaced. Until then a file that is being written does not look like a whole one.
//! * [`FileWriter::set_checkpoint`] does the same on the way, for files that outlive a crash.
//!
//! After every command and every `complete`, call `poll_work` and `poll_write` until both return
//! nothing.

pub mod basket_key;
pub mod buffer;
pub mod check;
pub mod compression;
pub mod copy;
pub mod file;
pub mod grow;
pub mod infos;
pub mod key;
pub mod ntuple;
pub mod objects;
mod pack;
pub mod rows;
pub mod schema;
pub mod table;
pub mod tree;

pub use crate::codec::Effort;
pub use buffer::Buffer;
pub use compression::{Coding, Compression, CompressionAlgorithm, Encoders};
pub use file::{DirectoryId, Existing, FileOptions, FileWriter, TableDestination, TableId, Write};
pub use infos::Infos;
pub use key::KeyHead;
pub use ntuple::{RNTupleOptions, RNTupleWriter, RealStorage};
pub use schema::{EntryType, TableColumn};
pub use table::{
    Described, Encode, Encoded, Finished, RecordPlace, Stored, TableWriter, Work, WritableObject,
};
