//! Formulas: read and computed by the engine.

use std::sync::Arc;

use engine::{Grammar, Operand};
use numpy::IntoPyArray;
use pyo3::prelude::*;

use crate::columns::column;
use crate::error::exception;
use crate::write::whole;

/// An expression over columns.
#[pyclass(frozen, module = "farroot._core")]
pub struct Formula {
    formula: Arc<engine::Formula>,
}

/// A formula, and the values of its names.
#[pyclass(frozen, module = "farroot._core")]
pub struct Program {
    pub program: Arc<engine::Program>,
}

/// The number of a column, or a formula.
#[derive(FromPyObject)]
enum Named {
    Column(usize),
    Formula(Py<Program>),
}

/// Which entries columns hold.
#[derive(Clone)]
#[pyclass(frozen, module = "farroot._core")]
pub struct Held {
    start: u64,
    stop: u64,
    /// First and last entry (half open) of each run that a cut has left.
    survivors: Option<Vec<u64>>,
    /// Of the table, where that is needed.
    total: Option<u64>,
}

#[pymethods]
impl Held {
    #[new]
    #[pyo3(signature = (start, stop, survivors = None, total = None))]
    fn new(start: u64, stop: u64, survivors: Option<Vec<u64>>, total: Option<u64>) -> Self {
        Held { start, stop, survivors, total }
    }
}

#[pymethods]
impl Formula {
    /// Raises `InvalidArgumentError` for a text that cannot be parsed.
    #[new]
    #[pyo3(signature = (text, *, of_root = false))]
    fn new(py: Python<'_>, text: &str, of_root: bool) -> PyResult<Self> {
        let grammar = if of_root { Grammar::Root } else { Grammar::Python };
        let formula = engine::Formula::parse_in(text, grammar);
        let formula = Arc::new(formula.map_err(|error| exception(py, &error))?);
        Ok(Formula { formula })
    }

    /// Names of its columns, each once.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.formula.columns.clone()
    }

    /// Whether it is in ROOT's grammar.
    #[getter]
    fn is_of_root(&self) -> bool {
        self.formula.is_of_root()
    }

    /// The same, where the column of the name at this position has the number of objects whose
    /// members are columns.
    fn counting(&self, py: Python<'_>, name: usize) -> PyResult<Formula> {
        let formula = self.formula.counting(name).map_err(|error| exception(py, &error))?;
        Ok(Formula { formula: Arc::new(formula) })
    }

    /// Whether the numbers of entries are in it.
    #[getter]
    fn counts_entries(&self) -> bool {
        self.formula.counts_entries()
    }
}

#[pymethods]
impl Program {
    /// `total` is how many entries the table has, where the formula counts them.
    #[new]
    #[pyo3(signature = (formula, meanings, total = None))]
    fn new(
        py: Python<'_>,
        formula: &Formula,
        meanings: Vec<Named>,
        total: Option<u64>,
    ) -> PyResult<Self> {
        let meanings = meanings.into_iter().map(|named| match named {
            Named::Column(at) => Operand::Column(at),
            Named::Formula(program) => Operand::Formula(program.get().program.clone()),
        });
        let program = engine::Program::new(formula.formula.clone(), meanings.collect());
        let program = program.map_err(|error| exception(py, &error))?;
        let program = match total {
            Some(total) => program.of_entries(total),
            None => program,
        };
        Ok(Program { program: Arc::new(program) })
    }

    /// The member of the records of the column with this number, as it is written, with the names
    /// of members within each other.
    #[staticmethod]
    fn member(py: Python<'_>, text: &str, column: usize, members: Vec<String>) -> PyResult<Self> {
        let member = Arc::new(engine::Program::member(text, &members));
        let program = member.over(&[Operand::Column(column)]);
        Ok(Program { program: program.map_err(|error| exception(py, &error))? })
    }

    /// One value or one list an entry, as a column.
    fn column(
        &self,
        py: Python<'_>,
        columns: Vec<Bound<'_, PyAny>>,
        entries: &Held,
    ) -> PyResult<Py<PyAny>> {
        let (batch, total) = batch(&columns, entries)?;
        let program = &self.program;
        let array = py.detach(|| program.array(&batch, total));
        column(py, array.map_err(|error| exception(py, &error))?)
    }

    /// Which entries it is true of.
    fn mask(
        &self,
        py: Python<'_>,
        columns: Vec<Bound<'_, PyAny>>,
        entries: u64,
    ) -> PyResult<Py<PyAny>> {
        let held = Held { start: 0, stop: entries, survivors: None, total: None };
        let (batch, _) = batch(&columns, &held)?;
        let program: Arc<dyn engine::Predicate> = self.program.clone();
        let mask = py.detach(|| program.decide(batch)).map_err(|error| exception(py, &error))?;
        Ok(mask.into_pyarray(py).into_any().unbind())
    }
}

fn batch(columns: &[Bound<'_, PyAny>], held: &Held) -> PyResult<(engine::Batch, Option<u64>)> {
    let arrays = columns.iter().map(|column| Ok((String::new(), whole(column)?)));
    let columns = arrays.collect::<PyResult<_>>()?;
    let survivors = held
        .survivors
        .as_ref()
        .map(|bounds| bounds.chunks_exact(2).map(|run| run[0]..run[1]).collect());
    let entries = held.start..held.stop;
    let batch = engine::Batch { entries, survivors, columns, left_out: Vec::new() };
    Ok((batch, held.total))
}

/// Names of the functions that formulas may have.
#[pyfunction]
pub fn formula_functions() -> Vec<&'static str> {
    engine::Formula::functions().collect()
}
