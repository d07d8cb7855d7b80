//! The Python package's extension module: translates, releases the interpreter, moves buffers.
//!
//! No decisions are made here. Names, filters and array libraries are Python's (`farroot/*.py`);
//! fetching and decoding are the engine's.

mod columns;
mod command;
mod copy;
mod cut;
mod error;
mod file;
mod lazy;
mod log;
mod members;
#[cfg(target_os = "linux")]
mod memory;
mod ntuple;
mod objects;
mod parquet;
mod progress;
mod report;
mod runtime;
mod selected;
mod steps;
mod tree;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::columns::{List, Marked, Numbers, Optional, Record, Regular, Strings, Union};
    #[pymodule_export]
    use super::command::main;
    #[pymodule_export]
    use super::copy::{CopyProgress, copy};
    #[pymodule_export]
    use super::file::{
        Contents, File, Opens, chain, matching, open_file, open_table, open_tables, split_tree,
    };
    #[pymodule_export]
    use super::lazy::Lazy;
    #[pymodule_export]
    use super::members::Source;
    #[pymodule_export]
    use super::ntuple::Ntuple;
    #[pymodule_export]
    use super::objects::{slices, strings};
    #[pymodule_export]
    use super::progress::call_while_waiting;
    #[pymodule_export]
    use super::report::{Mark, mark, report, timeline};
    #[pymodule_export]
    use super::runtime::{configure, parse_bytes};
    #[pymodule_export]
    use super::steps::{Batches, LeftOut, Parts, parts};
    #[pymodule_export]
    use super::tree::Tree;

    /// The version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
