//! The part of its inputs that a copy takes.

use std::fmt::Debug;
use std::sync::Arc;

use futures::future::BoxFuture;
use remote::fetch::Wants;
use remote::{Error, ErrorKind, Result};
use rootfile::write::copy::Remake;

use super::objects::ObjectFilter;
use super::options::MergeOptions;
use super::table::SourceTable;
use crate::read::file::File;
use crate::read::file::session::Session;

/// Where some entries are taken, baskets of these are joined up to so many bytes before
/// compression, and whole baskets that are shorter with them.
const CUT_BASKET_BYTES: u64 = 256 << 10;
const CUT_ALONE_BYTES: u64 = 16 << 10;

/// How files are copied into one.
#[derive(Debug, Clone)]
pub struct CopyOptions {
    pub merge: MergeOptions,
    /// The only table that is taken, or the one of which a part is taken; `None` takes all of all.
    pub chosen: Option<ChosenTable>,
    /// The objects and tables that are copied, whatever else is said.
    pub objects: ObjectFilter,
    /// An input that cannot be copied with all that it has, and with its cycles, is an error.
    pub keeps_all: bool,
}

/// A table of which a part is copied.
#[derive(Debug, Clone)]
pub struct ChosenTable {
    /// Its path in the output.
    pub path: String,
    /// The path that leads to it in each input, which may have a cycle.
    pub asked: String,
    /// Names, paths and globs of a tree's branches, names of an RNTuple's fields at the top; all
    /// where there are none.
    pub columns: Vec<String>,
    /// Whether only some of its entries are taken.
    pub is_cut: bool,
    /// Decides about the entries of each input and computes new columns; `None` without either.
    pub decide: Option<Arc<dyn DecideEntries>>,
    /// All other tables and objects as well.
    pub keep_rest: bool,
}

/// Reads columns of an input before it is copied.
pub trait DecideEntries: Debug + Send + Sync {
    /// Gives a table of an input its surviving entries and its new columns.
    ///
    /// # Errors
    /// Those of reading the input, and of formulas.
    fn decide<'a>(
        &'a self,
        session: &'a Session,
        opened: OpenedInput<'a>,
        source: Box<dyn SourceTable>,
    ) -> BoxFuture<'a, Result<DecidedTable>>;
}

/// The chosen table of an input's open file.
pub struct OpenedInput<'a> {
    pub file: &'a File,
    pub path: &'a str,
    /// Whether the connections to the file's server are new.
    pub is_cold: bool,
}

/// A table with its surviving entries and new columns.
pub struct DecidedTable {
    pub table: Box<dyn SourceTable>,
    /// Bytes that were requested before the entries were decided.
    pub ahead: Option<RequestedAhead>,
}

/// Keeps the bytes that have arrived, and returns the requests of the others.
pub type RequestedAhead = Box<dyn FnOnce() -> Wants + Send>;

impl CopyOptions {
    /// All of all inputs.
    ///
    /// # Errors
    /// `InvalidArgument` for a glob that cannot be read.
    pub fn of_merge(merge: MergeOptions) -> Result<CopyOptions> {
        let objects = ObjectFilter::new(&merge.only, &merge.without)?;
        Ok(CopyOptions { merge, chosen: None, objects, keeps_all: false })
    }

    /// The same for an existing output, which keeps all that it has.
    pub fn of_existing_output(mut self) -> CopyOptions {
        self.merge.without_tables = false;
        self.objects = ObjectFilter::default();
        self
    }

    /// Whether all inputs are read before the first is copied: a chosen table is copied input by
    /// input, so that each is opened once.
    pub fn reads_all_first(&self) -> bool {
        self.chosen.is_none()
    }

    /// Whether columns of the inputs are read before these are copied.
    pub fn decides(&self) -> bool {
        self.chosen.as_ref().is_some_and(|chosen| chosen.decide.is_some())
    }

    /// Whether the table or object of a path is copied, where it is the chosen table or not.
    pub fn wants(&self, path: &str, is_chosen: bool) -> bool {
        let keeps_rest = self.chosen.as_ref().is_none_or(|chosen| chosen.keep_rest);
        (is_chosen || keeps_rest) && self.objects.has(path)
    }

    /// The chosen table, if it has this path.
    pub fn chosen_at(&self, path: &str) -> Option<&ChosenTable> {
        self.chosen.as_ref().filter(|chosen| chosen.path == path)
    }

    /// Whether only one table is written, whatever further inputs have.
    pub fn has_one_table(&self) -> bool {
        self.chosen.as_ref().is_some_and(|chosen| !chosen.keep_rest)
    }

    /// How the output's baskets and pages are made anew, if some of them are.
    pub fn remake(&self) -> Option<Remake> {
        self.remake_of(self.chosen.as_ref().is_some_and(|chosen| chosen.is_cut))
    }

    /// The same of one table; `is_cut` where some entries of it are taken.
    pub fn remake_of(&self, is_cut: bool) -> Option<Remake> {
        let compression = self.merge.recompress;
        let bytes = self.merge.basket_bytes.unwrap_or(0);
        match is_cut {
            true => Some(Remake {
                compression,
                joined: Some(self.merge.compression),
                basket_bytes: bytes.max(CUT_BASKET_BYTES),
                alone_bytes: bytes.max(CUT_ALONE_BYTES),
            }),
            false => (compression.is_some() || bytes > 0).then_some(Remake {
                compression,
                joined: None,
                basket_bytes: bytes,
                alone_bytes: bytes,
            }),
        }
    }

    /// Whether an input that gives this error is left out.
    pub fn skips(&self, error: &Error) -> bool {
        let is_ours = matches!(
            error.kind(),
            ErrorKind::Unsupported | ErrorKind::InvalidArgument | ErrorKind::Cancelled
        );
        self.merge.skip_bad && !is_ours
    }
}
