//! Objects that are no tables, from what Python says of them.

use std::sync::Arc;

use engine::writable::{
    self as objects, Axis, Graph, GraphErrors, Histogram, ListKind, ObjString, ObjectList,
};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use super::array::Array;
use super::file::refused;
use crate::error::exception;
use crate::file::File;
use crate::runtime::{engine, invalid, wait};

/// An object that can be put into a file.
#[pyclass(frozen, module = "farroot._core")]
pub struct WritableObject {
    object: Arc<dyn engine::WritableObject>,
}

impl WritableObject {
    pub fn object(&self) -> Arc<dyn engine::WritableObject> {
        self.object.clone()
    }
}

/// An object of another file, as it is there.
#[pyclass(frozen, module = "farroot._core")]
pub struct CopiedObject {
    object: engine::CopiedObject,
}

#[pymethods]
impl CopiedObject {
    /// The object of a class at a position of the record at a path.
    #[staticmethod]
    fn of(
        py: Python<'_>,
        source: &File,
        path: &str,
        position: usize,
        class: &str,
    ) -> PyResult<Self> {
        let source = source.inner(py)?;
        let copied = wait(py, &engine(py)?, engine::copied(source, path))?;
        let object = copied.map_err(|error| exception(py, &error))?;
        let object = match position {
            0 => object,
            _ => object.part(position, class).map_err(|error| refused(py, &error))?,
        };
        Ok(CopiedObject { object })
    }

    /// The same under another name.
    fn named(&self, name: &str) -> WritableObject {
        WritableObject { object: Arc::new(self.object.clone().named(name)) }
    }
}

/// An axis: title, bins, both ends, edges, labels.
type AxisTuple<'py> = (String, u32, f64, f64, Bound<'py, PyArray1<f64>>, Vec<String>);

/// What a profile has beside a histogram: sums of weights, of their squares, how errors are meant,
/// and which values are taken.
type ProfileTuple<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, i32, (f64, f64));

#[pymethods]
impl WritableObject {
    /// A `TObjString`.
    #[staticmethod]
    fn text(text: String) -> Self {
        WritableObject { object: Arc::new(ObjString(text)) }
    }

    /// A `TList`.
    #[staticmethod]
    fn list(name: String, items: Vec<PyRef<'_, WritableObject>>) -> Self {
        let items = items.iter().map(|item| item.object()).collect();
        WritableObject { object: Arc::new(ObjectList { name, kind: ListKind::List, items }) }
    }

    /// A `TH1`, `TH2` or `TH3` of the type of the cells, or a profile; `sums` in ROOT's order, or
    /// none.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "the members of a histogram, by position")]
    fn histogram(
        py: Python<'_>,
        name: &str,
        title: String,
        axes: Vec<AxisTuple<'_>>,
        cells: &Array,
        squares: &Bound<'_, PyArray1<f64>>,
        entries: f64,
        sums: Vec<f64>,
        profile: Option<ProfileTuple<'_>>,
        limits: (f64, f64),
    ) -> PyResult<Self> {
        let engine::Array::Numbers { numbers, .. } = &*cells.array() else {
            return Err(invalid(py, "the cells of a histogram are numbers"));
        };
        let axes = axes.into_iter().map(|(title, bins, low, high, edges, labels)| Axis {
            title,
            bins,
            low,
            high,
            edges: vec(&edges),
            labels,
        });
        let mut histogram = Histogram::new(name, axes.collect(), numbers.clone());
        histogram.title = title;
        histogram.sum_w2 = vec(squares);
        histogram.entries = entries;
        histogram.statistics = sums;
        (histogram.minimum, histogram.maximum) = limits;
        histogram.profile = profile.map(|(entries, sum_w2, error_mode, taken)| objects::Profile {
            entries: vec(&entries),
            sum_w2: vec(&sum_w2),
            error_mode,
            low: taken.0,
            high: taken.1,
        });
        let object = histogram.into_object().map_err(|error| refused(py, &error))?;
        Ok(WritableObject { object })
    }

    /// A `TGraph`; with two or four arrays of errors, one that has these.
    #[staticmethod]
    fn graph(
        py: Python<'_>,
        name: &str,
        title: String,
        points: [Bound<'_, PyArray1<f64>>; 2],
        errors: Vec<Bound<'_, PyArray1<f64>>>,
        limits: (f64, f64),
    ) -> PyResult<Self> {
        let [x, y] = points;
        let mut graph = Graph::new(name, vec(&x), vec(&y));
        graph.title = title;
        (graph.minimum, graph.maximum) = limits;
        graph.errors = match &errors[..] {
            [] => GraphErrors::None,
            [x, y] => GraphErrors::Symmetric { x: vec(x), y: vec(y) },
            [x_low, x_high, y_low, y_high] => GraphErrors::Asymmetric {
                x_low: vec(x_low),
                x_high: vec(x_high),
                y_low: vec(y_low),
                y_high: vec(y_high),
            },
            _ => return Err(invalid(py, "errors of a graph are two arrays, or four")),
        };
        let object = graph.into_object().map_err(|error| refused(py, &error))?;
        Ok(WritableObject { object })
    }
}

fn vec(array: &Bound<'_, PyArray1<f64>>) -> Vec<f64> {
    array.readonly().as_array().to_vec()
}
