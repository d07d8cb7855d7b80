//! Columns of a table beside formulas of them, as a caller gets them.

use std::fmt;
use std::sync::Arc;

use super::alike::TableTypes;
use super::columns::{Batch, SkippedColumn};
use super::cut::Cut;
use super::spec::Wanted;
use super::table::Columns;
use remote::Result;
use rootfile::Array;

/// Columns that are read, and those that a caller gets.
pub struct Expressions {
    pub(crate) columns: Box<dyn Columns>,
    pub(crate) cut: Option<Cut>,
    /// `None` where they are those that are read.
    pub(crate) wanted: Option<Arc<[Wanted]>>,
    pub(crate) hidden: Vec<HiddenAlias>,
    /// Of a table that is one of several: see [`Expressions::within`].
    within: Option<(u64, u64)>,
}

/// An alias that a caller may have meant; the column of its name is read, as by ROOT and uproot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenAlias {
    pub name: String,
    pub formula: String,
    /// The file, without secrets.
    pub url: String,
}

impl fmt::Display for HiddenAlias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HiddenAlias { name, formula, url } = self;
        write!(f, "{name:?} is a column and an alias, {formula:?}: the column is read; in {url}")
    }
}

impl Expressions {
    /// Columns that are read, and those of `wanted` that a caller gets. Of several tables each
    /// computes formulas by its own types.
    ///
    /// # Errors
    /// `InvalidArgument` where a formula cannot be computed.
    pub(crate) fn new(
        columns: Box<dyn Columns>,
        cut: Option<Cut>,
        wanted: Option<Arc<[Wanted]>>,
        hidden: Vec<HiddenAlias>,
    ) -> Result<Self> {
        let computing = match &wanted {
            Some(wanted) => columns.computing(wanted)?,
            None => None,
        };
        let (columns, wanted) = match computing {
            Some(computing) => (computing, None),
            None => (columns, wanted),
        };
        Ok(Expressions { columns, cut, wanted, hidden, within: None })
    }

    /// The same of a table that is one of several: its first entry among theirs, and how many these
    /// have. Formulas count entries so.
    #[must_use]
    pub(crate) fn within(mut self, place: Option<(u64, u64)>) -> Self {
        self.within = place.or(self.within);
        place.into_iter().for_each(|place| self.columns.count_within(place));
        self
    }

    /// The columns that are read.
    pub fn columns(&self) -> &dyn Columns {
        &*self.columns
    }

    /// The cut, which reads columns of the table only.
    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    /// Aliases that columns of their names hide.
    pub fn hidden_aliases(&self) -> &[HiddenAlias] {
        &self.hidden
    }

    /// The columns that are read, to keep.
    pub fn into_columns(self) -> Box<dyn Columns> {
        self.columns
    }

    /// Names of the columns that the caller gets.
    pub fn names(&self) -> Vec<&str> {
        let read = self.columns.names();
        let Some(wanted) = &self.wanted else { return read };
        let mut names = Vec::with_capacity(wanted.len());
        for one in wanted.iter() {
            names.push(match one {
                Wanted::Read(at, name) => name.as_deref().unwrap_or(read[*at]),
                Wanted::Computed(text, _) => &**text,
            });
        }
        names
    }

    /// Names and types of the columns that the caller gets, to compare with those of other tables.
    ///
    /// # Errors
    /// `InvalidArgument` where a formula cannot be computed.
    pub fn types(&self) -> Result<TableTypes<'_>> {
        let types = self.columns.types();
        if self.wanted.is_none() {
            return Ok(types);
        }
        let nothing = Batch::empty(0..0, None, types.columns.into_iter());
        Ok(TableTypes { columns: self.batch(nothing)?.columns, ..self.columns.types() })
    }

    /// The columns that the caller gets, from a batch of those that are read.
    ///
    /// # Errors
    /// `InvalidArgument` where a formula cannot be computed.
    pub fn batch(&self, batch: Batch) -> Result<Batch> {
        let Some(wanted) = &self.wanted else { return Ok(batch) };
        let (first, total) = self.within.unwrap_or((0, self.columns.num_entries()));
        let own_entries = batch.entries.clone();
        let own_survivors = batch.survivors.clone();
        let Batch { entries, survivors, columns, left_out: skipped } = batch.shifted(first);
        let is_skipped = |at: usize| skipped.iter().find(|one| one.position == at);
        let count = columns.len() + skipped.len();
        let mut read = columns.into_iter();
        // Formulas know columns by their positions; those that are left out are none of theirs.
        let given = (0..count).filter_map(|at| match is_skipped(at) {
            Some(one) => {
                Some((one.column.clone(), Array::Strings { offsets: vec![0], bytes: vec![] }))
            }
            None => read.next(),
        });
        let columns = given.collect();
        let given = Batch { entries, survivors, columns, left_out: Vec::new() };
        let mut columns = Vec::new();
        let mut left_out = Vec::new();
        for (position, one) in wanted.iter().enumerate() {
            match one {
                Wanted::Computed(text, program) => {
                    let array = program.array(&given, Some(total))?;
                    columns.push((text.clone(), array));
                }
                Wanted::Read(at, name) => match is_skipped(*at) {
                    Some(one) => left_out.push(SkippedColumn { position, ..one.clone() }),
                    None => {
                        let column = given.columns.get(*at).cloned();
                        let named = |(read, array)| (name.clone().unwrap_or(read), array);
                        columns.extend(column.map(named));
                    }
                },
            }
        }
        Ok(Batch { entries: own_entries, survivors: own_survivors, columns, left_out })
    }
}
