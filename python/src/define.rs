//! Python functions that compute new columns.

use std::sync::Arc;

use engine::{Batch, ColumnRequest, Compute, Definition};
use pyo3::prelude::*;

use crate::batch::columns;
use crate::cut::{Raised, shut_down};
use crate::ending::attached;
use crate::formula::Program;
use crate::write::Array;

/// Called with the columns and the number of entries; returns an [`Array`].
struct Function {
    function: Py<PyAny>,
    raised: Raised,
}

impl Function {
    fn call(&self, py: Python<'_>, batch: Batch) -> PyResult<engine::Array> {
        let entries = batch.len();
        let array = self.function.bind(py).call1((columns(py, batch)?, entries))?;
        let array = array.cast::<Array>()?;
        Ok(engine::Array::clone(&array.get().array()))
    }
}

impl Compute for Function {
    fn compute(&self, batch: Batch) -> engine::Result<engine::Array> {
        // `None` while the interpreter shuts down.
        match attached(|py| self.call(py, batch)) {
            Some(Ok(array)) => Ok(array),
            Some(Err(error)) => Err(self.raised.keep("its function", error)),
            None => Err(shut_down()),
        }
    }
}

/// A new column by a formula or by a Python function of other columns, whose exception `raised`
/// keeps.
pub fn definition(
    py: Python<'_>,
    defined: &(String, Vec<String>, Py<PyAny>),
    raised: &Raised,
) -> Definition {
    let (name, columns, function) = defined;
    let columns = columns.iter().map(ColumnRequest::named).collect();
    if let Ok(program) = function.bind(py).cast::<Program>() {
        let compute = program.get().program.clone();
        return Definition { name: name.clone(), columns, compute };
    }
    let function = function.clone_ref(py);
    let raised = raised.clone();
    let compute = Arc::new(Function { function, raised });
    Definition { name: name.clone(), columns, compute }
}
