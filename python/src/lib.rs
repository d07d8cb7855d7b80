//! The Python package's extension module: translates, releases the interpreter, moves buffers.
//!
//! No decisions are made here. Filters that are functions, and array libraries, are Python's
//! (`farroot/*.py`); names, fetching and decoding are the engine's.

mod batch;
mod changes;
mod column_info;
mod columns;
mod command;
mod copy;
mod credentials;
mod cut;
mod define;
mod ending;
mod error;
mod file;
mod formula;
mod lazy;
mod listing;
mod log;
mod members;
#[cfg(target_os = "linux")]
mod memory;
mod merge;
mod ntuple;
mod objects;
mod parquet;
mod parts;
mod plan;
mod presumed;
mod process;
mod progress;
mod ranges;
mod report;
mod request;
mod runtime;
mod skim;
mod steps;
mod table;
mod write;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::batch::{Batch, SkippedColumn};
    #[pymodule_export]
    use super::changes::{Upload, make_folder, remove, remove_folder, rename};
    #[pymodule_export]
    use super::column_info::{Basket, ColumnInfo, StoredBytes};
    #[pymodule_export]
    use super::columns::{List, Numbers, Optional, Record, Regular, Strings, Union, WithParameter};
    #[pymodule_export]
    use super::command::main;
    #[pymodule_export]
    use super::copy::{CopyProgress, copy, write_file, write_private};
    #[pymodule_export]
    use super::credentials::{credentials_found, for_others, plain_address, with_access};
    #[pymodule_export]
    use super::ending::begin_ending;
    #[pymodule_export]
    use super::file::{
        Contents, File, Key, is_glob, matching, open_file, open_table, shown, shown_address,
        shown_lines, split_object, without_secrets,
    };
    #[pymodule_export]
    use super::formula::{Formula, Held, Program, formula_functions};
    #[pymodule_export]
    use super::lazy::Lazy;
    #[pymodule_export]
    use super::listing::{listed, servers};
    #[pymodule_export]
    use super::members::{Source, told_apart};
    #[pymodule_export]
    use super::merge::{Merging, merge};
    #[pymodule_export]
    use super::ntuple::ColumnPages;
    #[pymodule_export]
    use super::objects::{slices, strings};
    #[pymodule_export]
    use super::parts::{Opens, Parts, Skipped, TableLocation, chain, open_tables, parts};
    #[pymodule_export]
    use super::plan::{PlannedColumn, ReadPlan};
    #[pymodule_export]
    use super::presumed::{Presumed, open_presumed, remember, remembered};
    #[pymodule_export]
    use super::progress::call_while_waiting;
    #[pymodule_export]
    use super::ranges::{ByteFile, Ranges, open_bytes, watch};
    #[pymodule_export]
    use super::report::{Mark, mark, report, timeline};
    #[pymodule_export]
    use super::request::{ColumnRequest, Decision, Formulas, Request, StepSize};
    #[pymodule_export]
    use super::runtime::{configure, flush_cache};
    #[pymodule_export]
    use super::skim::skim;
    #[pymodule_export]
    use super::steps::Batches;
    #[pymodule_export]
    use super::table::{Table, TreeIndex};
    #[pymodule_export]
    use super::write::{Array, CopiedObject, FileOptions, FileOutput, TableOutput, WritableObject};

    use pyo3::prelude::*;

    /// Bytes that a process has read are cached for the next one, whichever of its modules are
    /// imported.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::ending::only_in_main_interpreter()?;
        let atexit = module.py().import("atexit")?;
        // The one that is registered last is called first.
        for function in ["begin_ending", "flush_cache"] {
            atexit.call_method1("register", (module.getattr(function)?,))?;
        }
        Ok(())
    }

    /// The version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
