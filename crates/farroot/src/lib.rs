//! Reads ROOT data (TTree, RNTuple) that is far away as if it were near: over XRootD, HTTP, or from
//! a disk; and writes it.
//!
//! ```
//! # fn main() -> farroot::Result<()> {
//! let engine = farroot::Engine::new()?;
//! engine.block_on(async {
//!     // A server's file in the same way: root://eos.example//store/nano.root:Events
//!     let table = engine.table("../rootfile/testdata/clustered.root:events").await?;
//!     let batch = engine.read(&table, ["number", "counted"], ..3).await?;
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
//! [`Table`] is a tree or an RNTuple; [`Engine::read`] gives a [`Batch`] of columns at once,
//! [`Engine::scan`] gives one after the other, of one table or of many, and fetches the next while
//! the caller works on this one. A column is an [`Array`], laid out as Awkward Array and Arrow lay
//! out theirs.
//!
//! [`Engine::create`] begins a file: a [`FileOutput`] takes objects and tables, a [`TableOutput`]
//! takes arrays of the same kinds, and threads compress them while the caller brings the next.
//!
//! [`Engine::block_on`] waits for a future. Another executor than tokio's polls it within
//! [`Engine::compat`].
//!
//! The names here are the engine's own. Its crate has more, for the other crates of farroot, which
//! may change in each version.

#[cfg(feature = "arrow")]
#[doc(inline)]
pub use engine::ArrowReader;
#[doc(inline)]
pub use engine::{
    Array, ArrayParameter, Batch, Chain, ClusterSize, ColumnSpec, Columns, Compression,
    CompressionAlgorithm, Config, Content, Contents, Cut, Definition, Engine, EntryType, Error,
    ErrorKind, Expressions, File, FileOutput, Formula, Friend, FriendLocation, Jagged, KeyInfo,
    ListRef, Lists, MergeOptions, MergeProgress, MergeReport, Missing, NameScope, Number, Numbers,
    Offsets, OnError, Primitive, RNTuple, RNTupleOptions, Reader, RealStorage, RecordRef, Remote,
    Result, ScanBatch, ScanBatches, ScanRequest, SkimOptions, SkimReport, Skipped, SkippedColumn,
    Step, Table, TableColumn, TableLocation, TableOutput, TablePart, TableReport, TextBranch, Tree,
    TreeOptions, ValueRef, WritableObject, WriteOptions, WriteProgress, WriteReport, datashape,
    object, writable,
};
#[doc(inline)]
pub use remote::report::Report;
#[doc(inline)]
pub use remote::{Copied, CopyOptions, Progress};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Pages;
