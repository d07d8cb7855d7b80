//! The engine that reads ROOT data from far away as if it were near, and writes it.
//!
//! ```no_run
//! # async fn example() -> farroot_engine::Result<()> {
//! let engine = farroot_engine::Engine::start(farroot_engine::Config::from_env()?)?;
//! let tree = engine.open_tree("root://eos.example//data/f.root", Some("Events")).await?;
//! let columns = tree.columns(&["Muon_pt".into(), "Jet_*".into()])?;
//! let batch = tree.read(columns, 0..u64::MAX).await?;
//! # Ok(()) }
//! ```
//!
//! The way of one read: an address and column names -> open ([`remote::source`]) -> metadata
//! ([`read::file`]) -> plan ([`read::tree::plan`]) -> schedule (the `scheduler` crate) -> fetch
//! ([`remote::fetch`]) -> decode and assemble (`read::core::pipeline`) -> [`read::core::columns`].

mod engine;
mod located;
pub mod read;
pub mod write;

pub use engine::Engine;
pub use read::core::alike::{ColumnTypes, TypeRule};
pub use read::core::batches::Batches;
pub use read::core::columns::{Batch, Column, SkippedColumn, datashape};
pub use read::core::cut::{Cut, Predicate};
pub use read::core::define::{Compute, Definition};
pub use read::core::expressions::{Expressions, HiddenAlias};
pub use read::core::footprint::{FootprintColumn, ReadFootprint};
pub use read::core::formula::{Formula, Grammar, Operand, Program};
pub use read::core::lazy::{LazyBatches, Learning};
pub use read::core::pipeline::plan::Plan;
pub use read::core::request::ColumnRequest;
pub use read::core::skip::{OnError, Skipped};
pub use read::core::spec::{ColumnSpec, FormulaSpec, Wanted};
pub use read::core::{friends::Friend, table::Columns, table::Table};
pub use read::core::{select::is_glob, steps::Step};
#[cfg(feature = "arrow")]
pub use read::export::arrow::ArrowReader;
pub use read::file::session::Gate;
pub use read::file::{File, KeyInfo};
pub use read::inspect::describe::{Described, DescribedColumn, DescribedFile, DescribedSet};
pub use read::inspect::exercise::{Exercise, Form, Outcome};
pub use read::inspect::map::Record;
pub use read::joined::{Joined, JoinedColumn};
pub use read::many::chain::{Chain, ChainColumns};
pub use read::many::scan::{
    FriendLocation, OpenAhead, ScanBatch, ScanBatches, ScanRequest, TableLocation,
};
#[cfg(feature = "select")]
pub use read::near::frames::{Frame, Frames};
/// For the fuzz target of the answers of servers that select.
#[cfg(feature = "select")]
#[doc(hidden)]
pub use read::near::messages::rows as rows_of_answer;
#[cfg(feature = "select")]
pub use read::near::request as near;
pub use read::ntuple::{AttributeSet, FieldColumn, RNTuple, columns::RNTupleColumns};

pub use read::open::meaning::{Meaning, NameScope};
pub use read::open::objects::{Content, Contents};
pub use read::open::presumed::PresumedTable;
pub use read::open::resolve::{ResolvedColumn, first_table};
#[cfg(feature = "select")]
pub use read::select::{AnswerForm, SelectBounds, SelectTotals, Selected, SelectedStream};
#[cfg(feature = "select")]
pub use read::select::{Histogram, HistogramRequest};
pub use read::tree::events::{EntryValue, Event, Events};
pub use read::tree::{Tree, columns::TreeColumns};
pub use read::watch::Watched;
pub use read::watch::arrivals::{Arrival, Arrivals};
pub use read::watch::opens::{Opens, OpensAhead};
pub use read::watch::used::{Used, Ways};
pub use remote::{Config, Error, ErrorKind, FileMemory, Reader, Remote, Result};
pub use rootfile::array::{
    Array, ArrayParameter, ListRef, Lists, Number, Numbers, Offsets, Primitive,
};
pub use rootfile::array::{RecordRef, ValueRef};
pub use rootfile::types::told_apart_from_first;
pub use rootfile::write::check::{Finding, Severity};
pub use rootfile::write::copy::CopiedObject;
pub use rootfile::write::ntuple::{RNTupleOptions, RealStorage};
pub use rootfile::write::tree::{ClusterSize, Jagged, TextBranch, TreeOptions};
pub use rootfile::write::{Compression, CompressionAlgorithm, EntryType, TableColumn};
pub use rootfile::write::{WritableObject, objects as writable};
pub use rootfile::{object, tree::BranchId, tree::FriendPlace, tree::TreeIndex};
pub use write::ReplicaUse;
pub use write::{ClusterCounts, InputEntries, MergeOptions, MergeProgress, MergeReport, Missing};
pub use write::{FileOutput, GrownTable, TableOutput, TablePart, TableReport, copied};
pub use write::{ParquetFile, ParquetLibrary, ParquetWriter};
pub use write::{SkimOptions, SkimReport, TableFormat};
pub use write::{WriteOptions, WriteProgress, WriteReport};
