//! Columns of a table beside formulas of them, as a caller names them.

use std::sync::Arc;

use super::meaning::{Meaning, NameScope, alias_of, meaning};
use super::resolve::{ResolvedColumn, in_formula};
use crate::read::core::columns::{Batch, SkippedColumn};
use crate::read::core::cut::Cut;
use crate::read::core::formula::{Formula, Grammar, Operand, Program};
use crate::read::core::request::{ColumnRequest, ColumnSpec};
use crate::read::core::select::is_glob;
use crate::read::core::table::Columns;
use crate::read::file::session::Session;
use crate::read::many::opener::Opener;
use remote::{Error, ErrorKind, Result};
use rootfile::Array;

/// Columns that are read, and those that a caller gets.
pub struct Expressions {
    columns: Box<dyn Columns>,
    cut: Option<Cut>,
    /// `None` where they are those that are read.
    wanted: Option<Vec<Wanted>>,
}

/// A column that a caller gets.
enum Wanted {
    /// The one at this position of those that are read.
    Read(usize),
    /// The value of a formula, by its text.
    Computed(String, Arc<Program>),
}

/// What formulas are read for: columns, each once.
#[derive(Default)]
pub(super) struct FormulaReads(Vec<ColumnRequest>);

impl Expressions {
    /// Columns, patterns, formulas and aliases of a table.
    pub(crate) async fn of(
        session: &Session,
        scope: NameScope<'_>,
        texts: &[String],
        cut: Option<&Cut>,
    ) -> Result<Expressions> {
        let (mut reads, mut wanted) = (FormulaReads::default(), Vec::new());
        for text in texts {
            let formula = match meaning(session, scope, text).await? {
                Meaning::Columns(columns) => {
                    for column in columns {
                        wanted.push(Wanted::Read(reads.position(&column, is_glob(text))));
                    }
                    continue;
                }
                Meaning::Formula(formula) => formula,
                Meaning::Alias(formula) => Formula::parse_in(&formula, Grammar::Root)?,
            };
            let program =
                reads.program(session, scope, formula, std::slice::from_ref(text)).await?;
            wanted.push(Wanted::Computed(text.clone(), Arc::new(program)));
        }
        let has_formulas = wanted.iter().any(|one| matches!(one, Wanted::Computed(..)));
        let spec = match has_formulas {
            true => ColumnSpec::Requested(reads.0),
            false if texts.is_empty() => ColumnSpec::All,
            false => ColumnSpec::Named(texts.to_vec()),
        };
        let cut = super::aliases::in_cut(session, scope, &[], cut).await?;
        let columns = session.select(scope.table, scope.friends, &spec, cut.as_ref()).await?;
        Ok(Expressions { columns, cut, wanted: has_formulas.then_some(wanted) })
    }

    /// The columns that are read.
    pub fn columns(&self) -> &dyn Columns {
        &*self.columns
    }

    /// The cut, which reads columns of the table only.
    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    /// The columns that are read, to keep.
    pub fn into_columns(self) -> Box<dyn Columns> {
        self.columns
    }

    /// Whether some columns are computed.
    pub fn has_formulas(&self) -> bool {
        self.wanted.is_some()
    }

    /// What the columns are called that the caller gets.
    pub fn names(&self) -> Vec<&str> {
        let read = self.columns.names();
        let Some(wanted) = &self.wanted else { return read };
        let mut names = Vec::with_capacity(wanted.len());
        for one in wanted {
            names.push(match one {
                Wanted::Read(at) => read[*at],
                Wanted::Computed(text, _) => &**text,
            });
        }
        names
    }

    /// The columns that the caller gets, from a batch of those that are read.
    ///
    /// # Errors
    /// `InvalidArgument` where a formula cannot be computed.
    pub fn batch(&self, batch: Batch) -> Result<Batch> {
        let Some(wanted) = &self.wanted else { return Ok(batch) };
        let Batch { entries, survivors, columns, left_out: skipped } = batch;
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
        let (mut columns, mut left_out) = (Vec::new(), Vec::new());
        for (position, one) in wanted.iter().enumerate() {
            match one {
                Wanted::Computed(text, program) => {
                    let array = program.array(&given, Some(self.columns.num_entries()))?;
                    columns.push((text.clone(), array));
                }
                Wanted::Read(at) => match is_skipped(*at) {
                    Some(one) => left_out.push(SkippedColumn { position, ..one.clone() }),
                    None => columns.extend(given.columns.get(*at).cloned()),
                },
            }
        }
        let Batch { entries, survivors, .. } = given;
        Ok(Batch { entries, survivors, columns, left_out })
    }
}

impl FormulaReads {
    /// The columns.
    pub fn into_requests(self) -> Vec<ColumnRequest> {
        self.0
    }

    /// Where the column is among those that are read, to which it is added.
    fn position(&mut self, column: &ResolvedColumn, optional: bool) -> usize {
        let address = column.table.list().address(column.column);
        let name = match &column.friend {
            Some(friend) => format!("{friend}.{address}"),
            None => address,
        };
        if let Some(known) = self.0.iter().position(|one| one.name == name) {
            self.0[known].optional &= optional;
            return known;
        }
        self.0.push(ColumnRequest { optional, ..ColumnRequest::named(name) });
        self.0.len() - 1
    }

    /// A formula with the meanings of its names. `within` are the aliases that it is part of.
    pub async fn program(
        &mut self,
        session: &Session,
        scope: NameScope<'_>,
        formula: Formula,
        within: &[String],
    ) -> Result<Program> {
        let mut operands = Vec::with_capacity(formula.columns.len());
        for name in &formula.columns {
            let column = match in_formula(session, scope, name).await {
                Ok(column) => column,
                Err(error) => {
                    let Some(alias) = alias_of(&**scope.table, name) else { return Err(error) };
                    if within.contains(name) {
                        let what = format!("the alias {name:?} refers to itself");
                        return Err(Error::new(ErrorKind::InvalidArgument, what));
                    }
                    let formula = Formula::parse_in(&alias, Grammar::Root)?;
                    let within = [within, std::slice::from_ref(name)].concat();
                    let program = Box::pin(self.program(session, scope, formula, &within)).await?;
                    operands.push(Operand::Formula(Arc::new(program)));
                    continue;
                }
            };
            operands.push(Operand::Column(self.position(&column, false)));
        }
        Program::new(Arc::new(formula), operands)
    }
}
