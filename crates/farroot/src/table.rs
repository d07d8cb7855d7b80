//! A tree or an RNTuple, and the reads that return all entries at once.

use std::ops::RangeBounds;
use std::sync::Arc;

use engine::{Batch, ColumnSpec, Engine, NameScope, TableLocation};
use remote::Result;

use crate::scan::{Scan, ScanOptions, half_open, named};
use crate::threads::on_threads_of;

/// A tree or an RNTuple. Cheap to clone.
#[derive(Clone)]
pub struct Table {
    engine: Engine,
    inner: Arc<dyn engine::Table>,
}

/// A column that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    /// Its path: `Muon_pt`, `event/fX`.
    pub name: String,
    /// The type of an entry as Awkward Array spells it: `float32`, `var * 3 * int16`, `string`.
    pub datashape: String,
}

impl Table {
    pub(crate) fn new(engine: Engine, inner: Arc<dyn engine::Table>) -> Self {
        Table { engine, inner }
    }

    /// Where it is in the file, without the cycle.
    pub fn path(&self) -> &str {
        self.inner.path()
    }

    /// The address of its file, without secrets.
    pub fn url(&self) -> &str {
        self.inner.file().url()
    }

    /// How many entries it has.
    pub fn num_entries(&self) -> u64 {
        self.inner.num_entries()
    }

    /// All columns that can be read, in the order of the file.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn columns(&self) -> Result<Vec<Column>> {
        let column = |(name, empty): (String, engine::Array)| Column {
            name,
            datashape: engine::datashape(&empty),
        };
        Ok(self.inner.select(&ColumnSpec::All)?.empty().into_iter().map(column).collect())
    }

    /// Aliases that the file has, as names and formulas in ROOT's grammar. A column of the same
    /// name goes before an alias, as in ROOT: [`Table::hidden_aliases`] has those.
    pub fn aliases(&self) -> Vec<(String, String)> {
        self.inner.aliases()
    }

    /// Aliases that the file has and that columns of their names hide, as names and formulas.
    ///
    /// # Errors
    /// Why friends that the file names cannot be opened.
    pub async fn hidden_aliases(&self) -> Result<Vec<(String, String)>> {
        let hidden = async {
            let mut hidden = self.inner.aliases();
            let mut is_hidden = Vec::with_capacity(hidden.len());
            for (name, _) in &hidden {
                is_hidden.push(self.engine.has_column(self.scope(), name).await?);
            }
            let mut is_hidden = is_hidden.into_iter();
            hidden.retain(|_| is_hidden.next().unwrap_or(false));
            Ok(hidden)
        };
        on_threads_of(&self.engine, hidden).await
    }

    /// Reads columns of a range of entries (cut to those there are), all at once. A column is named
    /// by its path, its last name, or a pattern (`Jet_*`), one of a friend by `friend.column`; an
    /// alias of the file and a formula (`MET_pt / 2`) are columns that are computed.
    ///
    /// # Errors
    /// `NotInFile` for a name that no column has; `Unsupported` for a column that this version
    /// cannot read; `InvalidArgument` for a formula that cannot be computed; those of fetching.
    pub async fn read<C: AsRef<str>>(
        &self,
        columns: impl IntoIterator<Item = C>,
        entries: impl RangeBounds<u64>,
    ) -> Result<Batch> {
        let wanted = named(columns);
        let entries = half_open(&entries);
        let read = async {
            let source = self.engine.select_expressions(self.scope(), &wanted, None).await?;
            source.batch(source.columns().read(entries).await?)
        };
        on_threads_of(&self.engine, read).await
    }

    fn scope(&self) -> NameScope<'_> {
        NameScope { table: &self.inner, friends: &[], below: None }
    }

    /// Reads it in steps: the next ones are fetched while the caller works on this one.
    pub fn scan(&self, options: ScanOptions) -> Scan {
        let place = TableLocation {
            url: self.url().to_owned(),
            path: Some(self.path().to_owned()),
            open: Some(self.inner.clone()),
            ..TableLocation::default()
        };
        Scan::new(&self.engine, vec![place], options)
    }
}
