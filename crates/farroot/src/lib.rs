//! Reads ROOT data (TTree, RNTuple) that is far away as if it were near: over XRootD, HTTP, or from
//! a disk; and writes it.
//!
//! ```
//! # fn main() -> farroot::Result<()> {
//! let engine = farroot::Engine::new()?;
//! engine.block_on(async {
//!     // A server's file in the same way: root://eos.example//store/nano.root:Events
//!     let table = engine.table("../rootfile/testdata/clustered.root:events").await?;
//!     let batch = table.read(["number", "counted"], ..3).await?;
//!     let counted = batch["counted"].as_list().and_then(|lists| lists.slices::<f64>());
//!     for (number, items) in batch["number"].values().zip(counted.expect("lists of double")) {
//!         println!("{number}: {} values", items.len());
//!     }
//!     # assert_eq!(batch["number"].as_primitive::<i32>(), Some(&[0, 1, 2][..]));
//!     Ok(())
//! })
//! # }
//! ```
//!
//! An [`Engine`] has the connections, the threads and the one memory budget: a program makes one. A
//! [`Table`] is a tree or an RNTuple; [`Table::read`] gives a [`Batch`] of columns at once,
//! [`Table::scan`] and [`Engine::scan`] give one after the other, of one file or of many, and fetch
//! the next while the caller works on this one. A column is an [`Array`], laid out as Awkward Array
//! and Arrow lay out theirs.
//!
//! [`Engine::create`] begins a file: a [`FileOutput`] takes objects and tables, a [`TableOutput`]
//! takes arrays of the same kinds, and threads compress them while the caller brings the next.
//!
//! Futures may be polled by any executor, or waited for with [`Engine::block_on`].
#![warn(missing_docs)]

mod engine;
mod file;
mod output;
mod scan;
mod table;
mod threads;

pub use crate::engine::Engine;
pub use crate::file::File;
pub use crate::output::{FileOutput, TableOutput};
pub use crate::scan::{Scan, ScanOptions};
pub use crate::table::{Column, Table};

#[doc(inline)]
pub use ::engine::{
    Array, ArrayParameter, Batch, ClusterSize, Compression, CompressionAlgorithm, Cut, EntryType,
    Jagged, KeyInfo, ListRef, Lists, Number, Numbers, Offsets, Primitive, RNTupleOptions,
    RealStorage, RecordRef, ScanBatch, Skipped, SkippedColumn, Step, TablePart, TableReport,
    TextBranch, TreeOptions, ValueRef, WritableObject, WriteOptions, WriteProgress, WriteReport,
    writable,
};
#[doc(inline)]
pub use remote::report::Report;
#[doc(inline)]
pub use remote::{Config, Copied, CopyOptions, Error, ErrorKind, Progress, Result};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Pages;
