//! Formulas whose names stand for columns and for other formulas.

use std::collections::HashMap;
use std::sync::Arc;

use rootfile::array::Number;
use rootfile::{Array, Numbers};

use super::broadcast::Value;
use super::evaluate::{Entries, Known};
use super::node::{Node, wrong};
use super::numbers::{Cast, Side, is_float};
use super::rows::ItemRows;
use super::{Formula, Grammar};
use crate::read::core::columns::{Batch, datashape};
use remote::Result;

/// Formulas within each other; more than files have, less than a stack holds.
const DEPTH_MAX: usize = 50;

/// A name in a formula.
#[derive(Debug, Clone)]
pub enum Operand {
    /// The column with this number among those that are given.
    Column(usize),
    Formula(Arc<Program>),
}

/// A formula, and the meanings of its names.
#[derive(Debug)]
pub struct Program {
    pub(super) formula: Arc<Formula>,
    pub(super) meanings: Vec<Operand>,
    depth: usize,
    /// Entries of the table, where they are known beforehand.
    pub(super) total: Option<u64>,
}

/// Columns that programs are computed from, and the values of programs computed so far.
struct Run<'a> {
    columns: &'a Batch,
    count: usize,
    total: Option<u64>,
    keeps_integers: bool,
    decides: bool,
    done: HashMap<*const Program, Known>,
}

impl<'a> Run<'a> {
    fn of(columns: &'a Batch, total: Option<u64>) -> Self {
        let count = columns.len() as usize;
        let done = HashMap::new();
        Run { columns, count, total, keeps_integers: false, decides: false, done }
    }
}

impl Program {
    /// A formula with a column for each name, in their order.
    pub fn of(formula: Arc<Formula>) -> Program {
        let meanings = (0..formula.columns.len()).map(Operand::Column).collect();
        Program { formula, meanings, depth: 0, total: None }
    }

    /// A formula with a meaning for each name, in their order.
    ///
    /// # Errors
    /// `InvalidArgument` where formulas are within each other too deeply.
    pub fn new(formula: Arc<Formula>, meanings: Vec<Operand>) -> Result<Program> {
        let depth = meanings.iter().map(|meaning| match meaning {
            Operand::Column(_) => 0,
            Operand::Formula(program) => program.depth + 1,
        });
        let depth = depth.max().unwrap_or(0);
        if depth > DEPTH_MAX {
            return Err(wrong(&formula.text, "refers to others that refer to others too deeply"));
        }
        Ok(Program { formula, meanings, depth, total: None })
    }

    /// The same in a table of so many entries, which a caller need not name again.
    #[must_use]
    pub fn of_entries(self, total: u64) -> Program {
        Program { total: Some(total), ..self }
    }

    /// The same with other meanings in place of its columns, by their numbers.
    ///
    /// # Errors
    /// As [`Program::new`]; `InvalidArgument` where the number of a column is not among them.
    pub fn over(self: &Arc<Self>, meanings: &[Operand]) -> Result<Arc<Program>> {
        // A formula that several others have in it stays one, which is computed once.
        self.over_each(meanings, &mut HashMap::new())
    }

    fn over_each(
        self: &Arc<Self>,
        meanings: &[Operand],
        done: &mut HashMap<*const Program, Arc<Program>>,
    ) -> Result<Arc<Program>> {
        if let Some(program) = done.get(&Arc::as_ptr(self)) {
            return Ok(program.clone());
        }
        let mut own = Vec::with_capacity(self.meanings.len());
        for meaning in &self.meanings {
            own.push(match meaning {
                Operand::Column(at) => match meanings.get(*at) {
                    Some(operand) => operand.clone(),
                    None => return Err(wrong(self.text(), "lacks a column")),
                },
                Operand::Formula(program) => Operand::Formula(program.over_each(meanings, done)?),
            });
        }
        let program = Program { total: self.total, ..Program::new(self.formula.clone(), own)? };
        let program = Arc::new(program);
        done.insert(Arc::as_ptr(self), program.clone());
        Ok(program)
    }

    /// Whether the numbers of entries are in it, or in one of those in it.
    pub fn counts_entries(&self) -> bool {
        let counts = |meaning: &Operand| match meaning {
            Operand::Column(_) => false,
            Operand::Formula(program) => program.counts_entries(),
        };
        self.formula.counts_entries() || self.meanings.iter().any(counts)
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.formula.text
    }

    /// The names in it.
    pub fn columns(&self) -> &[String] {
        &self.formula.columns
    }

    /// One value or one list an entry. `total` is how many entries the table has; without it the
    /// numbers of entries are not known either.
    ///
    /// # Errors
    /// `InvalidArgument` where it cannot be computed.
    pub fn array(&self, columns: &Batch, total: Option<u64>) -> Result<Array> {
        self.array_of(Run::of(columns, total))
    }

    /// As [`Program::array`], for a cut: comparisons with missing values are false.
    ///
    /// # Errors
    /// As [`Program::array`].
    pub(super) fn truths(&self, columns: &Batch) -> Result<Array> {
        self.array_of(Run { decides: true, ..Run::of(columns, None) })
    }

    fn array_of(&self, mut run: Run<'_>) -> Result<Array> {
        let count = run.count;
        let value = self.value(&mut run)?.rows.joined().into_array(count);
        let array = value.map_err(|why| wrong(self.text(), &why))?;
        match array.len() == count {
            true => Ok(array),
            false => {
                let why = format!("gives {} values for {count} entries", array.len());
                Err(wrong(self.text(), &why))
            }
        }
    }

    /// Whole numbers, one an entry; floats are truncated.
    ///
    /// # Errors
    /// As [`Program::array`].
    pub fn integers(&self, columns: &Batch) -> Result<Vec<i64>> {
        let count = columns.len() as usize;
        let mut run = Run { keeps_integers: true, ..Run::of(columns, None) };
        let value = self.value(&mut run)?.rows.joined().into_array(count);
        let array = value.map_err(|why| wrong(self.text(), &why))?;
        match &array {
            Array::Numbers { numbers, shape } if shape.is_empty() && numbers.len() == count => {
                let is_large = matches!(numbers, Numbers::U64(all)
                    if all.iter().any(|one| i64::try_from(*one).is_err()));
                if is_large {
                    return Err(wrong(self.text(), "overflows an integer of 64 bits"));
                }
                Ok(match is_float(Number::of(numbers)) {
                    true => f64::cast(Side::All(numbers)).map(|one| one as i64),
                    false => i64::cast(Side::All(numbers)).map(|one| one),
                })
            }
            other => {
                let why = format!("gives {}, and one number an entry is needed", datashape(other));
                Err(wrong(self.text(), &why))
            }
        }
    }

    fn value(&self, run: &mut Run<'_>) -> Result<Known> {
        let mut columns = Vec::with_capacity(self.meanings.len());
        for meaning in &self.meanings {
            columns.push(match meaning {
                Operand::Column(at) => match run.columns.columns.get(*at) {
                    Some((_, array)) => Known::of_column(array),
                    None => return Err(wrong(self.text(), "lacks a column")),
                },
                Operand::Formula(program) => match run.done.get(&Arc::as_ptr(program)) {
                    Some(value) => value.clone(),
                    None => {
                        let value = program.value(run)?;
                        run.done.insert(Arc::as_ptr(program), value.clone());
                        value
                    }
                },
            });
        }
        let batch = run.columns;
        let total = run.total.or(self.total);
        let numbers = || match &batch.survivors {
            Some(runs) => runs.iter().cloned().flatten().collect(),
            None => batch.entries.clone().collect(),
        };
        let entries = Entries {
            columns: &columns,
            count: run.count,
            numbers: total.is_some().then_some(&numbers),
            total,
            keeps_integers: run.keeps_integers,
            decides: run.decides,
            parts: None,
        };
        let value = match self.formula.grammar {
            Grammar::Python => entries.value(&self.formula.root).map(ItemRows::plain),
            Grammar::Root => entries.by_rows(&self.formula.root),
        };
        let value = value.and_then(|ItemRows { value, named }| match value {
            // Values of ROOT's grammar have a type, constants, too.
            value if self.formula.grammar == Grammar::Root && !run.keeps_integers => {
                let value = value.into_array(run.count).map(Value::Array)?;
                Ok(ItemRows { value, named })
            }
            value => Ok(ItemRows { value, named }),
        });
        let rows = value.map_err(|why| wrong(self.text(), &why))?;
        let lacking = entries.lacking(&self.formula.root);
        let of_items = |operator: &str| matches!(operator, "@double" | "@[]");
        let has_items = match &self.formula.root {
            _ if self.formula.grammar == Grammar::Python => true,
            Node::Column(name) => columns.get(*name).is_some_and(|known| known.has_items),
            Node::Apply(operator, _) => of_items(operator),
            _ => false,
        };
        Ok(Known { rows, lacking, has_items })
    }
}
