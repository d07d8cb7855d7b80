//! ROOT files that are written: compressed on the decoding threads, carried away by a task.
//!
//! ```text
//! extend -> FileWriter -> work -> threads -> FileWriter -> writes -> uploader -> remote::sink
//! ```
//!
//! [`rootfile::write::FileWriter`] decides all that shows in the file. Here it is kept going
//! (`flow.rs`): a caller with entries, a thread with a result or the uploader with room takes the
//! lock, advances the file as far as it can, and wakes the others. Callers wait where more would
//! be held than [`WriteOptions::memory_bytes`].

pub(crate) mod copy;
mod encoders;
mod flow;
mod grown;
mod infos;
pub(crate) mod merge;
mod options;
mod output;
mod parts;
pub(crate) mod replica;
mod report;
pub(crate) mod skim;
mod stamp;
#[cfg(test)]
mod tests;
mod uploader;

pub use copy::{ClusterCounts, InputEntries, MergeOptions, MergeProgress, MergeReport, Missing};
pub use grown::GrownTable;
pub use options::{WriteOptions, WriteProgress};
pub use output::{FileOutput, TableOutput, copied};
pub use parts::TablePart;
pub use replica::ReplicaUse;
pub use report::{TableReport, WriteReport};
pub use skim::parquet::{ParquetFile, ParquetLibrary, ParquetWriter};
pub use skim::{SkimOptions, SkimReport, TableFormat};
