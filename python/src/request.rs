//! A request to a table: columns, entries, steps.

use std::sync::Arc;

use engine::{ColumnSpec, Cut, FormulaSpec, Operand, Step, Wanted};
use pyo3::prelude::*;

use crate::cut::{Raised, cut};
use crate::error::exception;
use crate::formula::Program;
use crate::runtime::invalid;

/// A branch or a field, and the form in which it is requested.
#[pyclass(frozen, get_all, module = "farroot._core")]
pub struct ColumnRequest {
    address: String,
    optional: bool,
    as_bytes: bool,
    counts: bool,
    keep: Option<Vec<String>>,
}

#[pymethods]
impl ColumnRequest {
    #[new]
    #[pyo3(signature = (
        address, *, optional = false, as_bytes = false, counts = false, keep = None
    ))]
    fn new(
        address: String,
        optional: bool,
        as_bytes: bool,
        counts: bool,
        keep: Option<Vec<String>>,
    ) -> Self {
        ColumnRequest { address, optional, as_bytes, counts, keep }
    }
}

/// The cut of entries: columns, and a function of them or a formula that the engine computes.
#[pyclass(frozen, module = "farroot._core")]
pub struct Decision {
    columns: Vec<Py<ColumnRequest>>,
    function: Py<PyAny>,
}

#[pymethods]
impl Decision {
    #[new]
    fn new(columns: Vec<Py<ColumnRequest>>, function: Py<PyAny>) -> Self {
        Decision { columns, function }
    }
}

/// The columns that a caller gets: some of those that are read, and formulas over them.
#[pyclass(frozen, module = "farroot._core")]
pub struct Formulas {
    /// Positions among the columns that are read.
    given: Vec<usize>,
    computed: Vec<Wanted>,
    /// Formulas that go before aliases of the files.
    aliases: Vec<(String, String)>,
}

#[pymethods]
impl Formulas {
    /// `computed` has formulas, each with the positions of its columns.
    #[new]
    fn new(
        py: Python<'_>,
        given: Vec<usize>,
        computed: Vec<(Py<Program>, Vec<usize>)>,
        aliases: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let computed = computed.into_iter().map(|(program, columns)| {
            let columns: Vec<Operand> = columns.into_iter().map(Operand::Column).collect();
            let program = program.get().program.over(&columns);
            let program = program.map_err(|error| exception(py, &error))?;
            Ok(Wanted::Computed(program.text().to_owned(), program))
        });
        Ok(Formulas { given, computed: computed.collect::<PyResult<_>>()?, aliases })
    }
}

/// The columns that are read, the cut of entries, and the columns that the caller gets where these
/// are others.
#[pyclass(frozen, module = "farroot._core")]
pub struct Request {
    columns: Vec<Py<ColumnRequest>>,
    decision: Option<Py<Decision>>,
    formulas: Option<Py<Formulas>>,
}

#[pymethods]
impl Request {
    #[new]
    #[pyo3(signature = (columns, decision = None, formulas = None))]
    fn new(
        columns: Vec<Py<ColumnRequest>>,
        decision: Option<Py<Decision>>,
        formulas: Option<Py<Formulas>>,
    ) -> Self {
        Request { columns, decision, formulas }
    }
}

impl Request {
    /// The columns as the engine has them.
    pub fn wanted(&self) -> ColumnSpec {
        let reads = self.columns.iter().map(chosen).collect();
        let Some(formulas) = &self.formulas else { return ColumnSpec::Requested(reads) };
        let Formulas { given, computed, aliases } = formulas.get();
        let given = given.iter().map(|at| Wanted::Read(*at, None));
        let wanted: Arc<[Wanted]> = given.chain(computed.iter().cloned()).collect();
        ColumnSpec::Formulas(FormulaSpec { reads, wanted, aliases: aliases.clone() })
    }

    /// The decision as the engine has it, and the exception that it raises.
    pub fn cut(&self, py: Python<'_>) -> (Option<Cut>, Raised) {
        let Some(decision) = &self.decision else { return (None, Raised::default()) };
        let Decision { columns, function } = decision.get();
        let columns = columns.iter().map(chosen).collect();
        if let Ok(program) = function.bind(py).cast::<Program>() {
            let predicate = program.get().program.clone();
            return (Some(Cut { columns, predicate }), Raised::default());
        }
        let (cut, raised) = cut(py, columns, function);
        (Some(cut), raised)
    }
}

fn chosen(request: &Py<ColumnRequest>) -> engine::ColumnRequest {
    let ColumnRequest { address, optional, as_bytes, counts, keep } = request.get();
    let name = address.clone();
    let keep = keep.clone();
    engine::ColumnRequest { name, optional: *optional, as_bytes: *as_bytes, counts: *counts, keep }
}

/// How much comes at a time: entries, or the bytes that they take decoded as in `"100 MB"`; without
/// either all at once.
#[pyclass(frozen, get_all, module = "farroot._core")]
pub struct StepSize {
    entries: Option<u64>,
    bytes: Option<u64>,
}

#[pymethods]
impl StepSize {
    #[new]
    fn new(py: Python<'_>, size: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = size.extract::<&str>() {
            let bytes = remote::parse_bytes(text).map_err(|error| exception(py, &error))?;
            return Ok(StepSize { entries: None, bytes: Some(bytes) });
        }
        match size.extract::<u64>() {
            Ok(entries) if entries > 0 => Ok(StepSize { entries: Some(entries), bytes: None }),
            _ => {
                let message = "a step is a number of entries or a size as \"100 MB\", not";
                Err(invalid(py, &format!("{message} {}", size.repr()?)))
            }
        }
    }

    /// All at once.
    #[staticmethod]
    fn whole() -> Self {
        StepSize { entries: None, bytes: None }
    }
}

impl StepSize {
    pub fn step(&self) -> Step {
        match (self.entries, self.bytes) {
            (Some(entries), _) => Step::Entries(entries),
            (None, Some(bytes)) => Step::Bytes(bytes),
            (None, None) => Step::Whole,
        }
    }
}
