//! Formulas: read by the engine, computed in Python on arrays of any shape.

use std::sync::Arc;

use engine::Operation as Step;
use pyo3::prelude::*;

use crate::error::exception;

/// An expression over columns.
#[pyclass(frozen, module = "farroot._core")]
pub struct Formula {
    pub formula: Arc<engine::Formula>,
    #[pyo3(get)]
    operations: Vec<Py<Operation>>,
}

/// A step in computing a formula on a stack of values.
#[pyclass(frozen, get_all, module = "farroot._core")]
pub struct Operation {
    /// Of an operator or a function its name; `constant`, or `column` and its number as `value`.
    name: &'static str,
    /// How many values it takes from the end of the stack.
    count: usize,
    value: Py<PyAny>,
}

#[pymethods]
impl Formula {
    /// Raises `InvalidArgumentError` for what cannot be read.
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        let formula = engine::Formula::parse(text).map_err(|error| exception(py, &error))?;
        let operations = formula.operations().into_iter().map(|step| operation(py, step));
        let operations = operations.collect::<PyResult<_>>()?;
        Ok(Formula { formula: Arc::new(formula), operations })
    }

    /// Names of its columns, each once.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.formula.columns.clone()
    }

    /// Whether the engine decides by it exactly as NumPy does: it only compares columns of one
    /// number an entry, of which some are true and false.
    fn only_compares(&self, are_bools: Vec<bool>) -> bool {
        self.formula.only_compares(&are_bools)
    }
}

fn operation(py: Python<'_>, step: Step) -> PyResult<Py<Operation>> {
    let (name, count, value) = match step {
        Step::Apply(name, count) => (name, count, py.None()),
        Step::Column(number) => ("column", 0, number.into_pyobject(py)?.into_any().unbind()),
        Step::Int(value) => ("constant", 0, value.into_pyobject(py)?.into_any().unbind()),
        Step::Float(value) => ("constant", 0, value.into_pyobject(py)?.into_any().unbind()),
        Step::Imaginary(value) => {
            let value = pyo3::types::PyComplex::from_doubles(py, 0.0, value);
            ("constant", 0, value.into_any().unbind())
        }
        Step::Bool(value) => {
            ("constant", 0, value.into_pyobject(py)?.to_owned().into_any().unbind())
        }
        Step::Text(text) => ("constant", 0, text.into_pyobject(py)?.into_any().unbind()),
        Step::Nothing => ("constant", 0, py.None()),
        Step::Ellipsis => ("constant", 0, py.Ellipsis()),
    };
    Py::new(py, Operation { name, count, value })
}

/// Names of the functions that formulas may have.
#[pyfunction]
pub fn formula_functions() -> Vec<&'static str> {
    engine::Formula::functions().collect()
}
