//! The ROOT file format: bytes to structures, without I/O.
//!
//! # The format in one page
//!
//! A file is a header and then records, one behind the other. Everything is big-endian.
//!
//! ```text
//! file   = header record record …        header   where the first record, the streamer infos and
//!                                                 the end are; the first record is
//!                                                 the top directory
//! record = key content                   key      lengths, class, name, cycle, offset
//! content                                either as it is, or compressed in blocks of at most 16 MB
//! ```
//!
//! * A **directory**'s content leads to its key list, a record of copies of the keys in it. Several
//!   keys of one name have different **cycles**; the highest is the newest. Directories are in the
//!   key list of the one above.
//! * An **object**'s content is its members in the order that the **streamer info** of its class
//!   and version says. A record of streamer infos comes with the file, so that experiments' own
//!   classes can be read. Pointers are written as the object, or as a reference to where it was
//!   written.
//! * A **tree** is an object that says where its data are. It has **branches**, a branch has
//!   **leaves** (the values that an entry is made of) and **baskets**: records of a run of entries
//!   each. For each basket the tree knows its first entry, offset and length, so that reading three
//!   columns of a thousand touches only their baskets. Baskets of all branches are flushed together
//!   at the end of a **cluster**, and lie near each other.
//!
//! # How reading goes
//!
//! No function here fetches bytes. Those that are here are in a [`Known`]; the ranges that are
//! missing are the answer. The caller fetches them, supplies them and calls again:
//!
//! ```
//! # use bytes::Bytes;
//! use farroot_rootfile::{File, Known, Progress, RequestSizes};
//!
//! # fn fetch(file: &Bytes, range: std::ops::Range<u64>) -> Bytes {
//! #     file.slice(range.start as usize..range.end.min(file.len() as u64) as usize)
//! # }
//! # let bytes = Bytes::from_static(include_bytes!("../testdata/clustered.root"));
//! let sizes = RequestSizes { head: 4 << 10, flight: 180 << 10 };
//! let mut known = Known::new(None).asking_for(sizes);
//! let mut round_trips = 0;
//! let file = loop {
//!     match File::open(&known)? {
//!         Progress::Ready(file) => break file,
//!         Progress::NeedsData(needs) => {
//!             round_trips += 1;
//!             for range in needs.required.into_iter().chain(needs.speculative) {
//!                 known.supply(range.start, fetch(&bytes, range));
//!             }
//!         }
//!     }
//! };
//! let Progress::Ready(tree) = file.tree(&known, "events")? else { panic!("was asked for") };
//! assert_eq!((round_trips, tree.entries), (2, 100));
//! # Ok::<(), farroot_rootfile::Error>(())
//! ```
//!
//! Then [`tree::Interpretation`] gives the meaning of a branch's baskets, and decodes them into an
//! [`Array`].
//!
//! # Limits
//!
//! This crate does not fetch, cache, retry, or decide which range to read next; it has no threads
//! and no clock. Bytes are not trusted: counts are checked against the bytes that are there before
//! memory is taken, every error says at which offset, and no input makes it panic.

pub mod array;
pub mod block;
pub mod codec;
pub mod content;
pub mod cursor;
pub mod directory;
pub mod error;
pub mod file;
pub mod header;
mod histogram;
mod hole;
pub mod key;
pub mod known;
pub mod memory;
pub mod ntuple;
pub mod object;
pub mod streamer;
pub mod tree;
pub mod types;
pub mod write;

pub use array::{Array, Numbers};
pub use codec::{Codecs, Unpacked};
pub use error::{Error, ErrorKind, Result};
pub use file::File;
pub use known::{Known, Needs, Progress, RequestSizes};
