//! Columns as NumPy arrays on the engine's own memory: each vector is moved, none is copied.
//! Columns that Python makes are to be written.

use std::sync::Arc;

use engine::{Array, Offsets};
use numpy::ndarray::ArrayView1;
use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Numbers; the first dimension is the entry.
#[pyclass(frozen, module = "farroot._core")]
pub struct Numbers {
    #[pyo3(get)]
    pub array: Py<PyAny>,
}

/// Entry `i` is `content[offsets[i]:offsets[i + 1]]`.
#[pyclass(frozen, module = "farroot._core")]
pub struct List {
    #[pyo3(get)]
    pub offsets: Py<PyArray1<i64>>,
    #[pyo3(get)]
    pub content: Py<PyAny>,
}

/// Entry `i` is `bytes[offsets[i]:offsets[i + 1]]`.
#[pyclass(frozen, module = "farroot._core")]
pub struct Strings {
    #[pyo3(get)]
    pub offsets: Py<PyArray1<i64>>,
    #[pyo3(get)]
    pub bytes: Py<PyArray1<u8>>,
}

/// Fields of equal length, of objects of a class or, without one, of a leaf list.
#[pyclass(frozen, module = "farroot._core")]
pub struct Record {
    pub class: Option<Arc<str>>,
    #[pyo3(get)]
    pub length: usize,
    pub fields: Vec<(String, Py<PyAny>)>,
}

/// Entry `i` is `content[i * size:(i + 1) * size]`.
#[pyclass(frozen, module = "farroot._core")]
pub struct Regular {
    #[pyo3(get)]
    pub size: usize,
    #[pyo3(get)]
    pub length: usize,
    #[pyo3(get)]
    pub content: Py<PyAny>,
}

/// Entry `i` is `content[index[i]]`, or missing where that is -1.
#[pyclass(frozen, module = "farroot._core")]
pub struct Optional {
    #[pyo3(get)]
    pub index: Py<PyArray1<i64>>,
    #[pyo3(get)]
    pub content: Py<PyAny>,
}

/// The owner of the memory of which arrays of shared offsets are views.
#[pyclass(frozen, module = "farroot._core")]
struct Shared(#[allow(dead_code)] Arc<Vec<i64>>);

/// The same entries as `content`, with a meaning: Awkward's parameter `__array__`.
#[pyclass(frozen, module = "farroot._core")]
pub struct WithParameter {
    parameter: &'static str,
    #[pyo3(get)]
    pub content: Py<PyAny>,
}

/// Entry `i` is `contents[tags[i]][index[i]]`, or missing where the tag is -1.
#[pyclass(frozen, module = "farroot._core")]
pub struct Union {
    #[pyo3(get)]
    pub tags: Py<PyArray1<i8>>,
    #[pyo3(get)]
    pub index: Py<PyArray1<i64>>,
    pub contents: Vec<Py<PyAny>>,
}

#[pymethods]
impl Numbers {
    #[new]
    fn new(array: Py<PyAny>) -> Self {
        Numbers { array }
    }

    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("array",)
    }
}

#[pymethods]
impl List {
    #[new]
    fn new(offsets: Py<PyArray1<i64>>, content: Py<PyAny>) -> Self {
        List { offsets, content }
    }

    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("offsets", "content")
    }
}

#[pymethods]
impl Strings {
    #[new]
    fn new(offsets: Py<PyArray1<i64>>, encoded: Py<PyArray1<u8>>) -> Self {
        Strings { offsets, bytes: encoded }
    }

    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("offsets", "bytes")
    }
}

#[pymethods]
impl Regular {
    #[new]
    fn new(size: usize, length: usize, content: Py<PyAny>) -> Self {
        Regular { size, length, content }
    }

    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str) {
        ("size", "length", "content")
    }
}

#[pymethods]
impl Optional {
    #[new]
    fn new(index: Py<PyArray1<i64>>, content: Py<PyAny>) -> Self {
        Optional { index, content }
    }

    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("index", "content")
    }
}

#[pymethods]
impl Union {
    #[new]
    fn new(tags: Py<PyArray1<i8>>, index: Py<PyArray1<i64>>, contents: Vec<Py<PyAny>>) -> Self {
        Union { tags, index, contents }
    }

    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str) {
        ("tags", "index", "contents")
    }

    #[getter]
    fn contents(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        self.contents.iter().map(|content| content.clone_ref(py)).collect()
    }
}

#[pymethods]
impl WithParameter {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("parameter", "content")
    }

    #[getter]
    fn parameter(&self) -> &str {
        self.parameter
    }
}

#[pymethods]
impl Record {
    #[new]
    fn new(name: Option<&str>, length: usize, fields: Vec<(String, Py<PyAny>)>) -> Self {
        Record { class: name.map(Arc::from), length, fields }
    }

    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str) {
        ("name", "length", "fields")
    }

    /// The class; `None` for a leaf list.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.class.as_deref()
    }

    #[getter]
    fn fields(&self, py: Python<'_>) -> Vec<(String, Py<PyAny>)> {
        self.fields.iter().map(|(name, field)| (name.clone(), field.clone_ref(py))).collect()
    }
}

/// One column as one of the classes above.
pub fn column(py: Python<'_>, array: Array) -> PyResult<Py<PyAny>> {
    Ok(match array.simplified() {
        Array::Numbers { numbers, shape } => {
            Py::new(py, Numbers { array: shaped(flat(py, numbers)?, &shape)?.unbind() })?.into_any()
        }
        Array::List { offsets, content } => {
            let offsets = offsets_array(py, offsets)?;
            Py::new(py, List { offsets, content: column(py, *content)? })?.into_any()
        }
        Array::Strings { offsets, bytes } => {
            let offsets = offsets.into_pyarray(py).unbind();
            Py::new(py, Strings { offsets, bytes: bytes.into_pyarray(py).unbind() })?.into_any()
        }
        Array::Record { class: Some(class), fields, .. } if is_complex(&class, &fields) => {
            Py::new(py, Numbers { array: complex(py, &fields)?.unbind() })?.into_any()
        }
        Array::Record { class, entries, fields } => {
            let fields = fields
                .into_iter()
                .map(|(name, field)| Ok((name, column(py, field)?)))
                .collect::<PyResult<_>>()?;
            Py::new(py, Record { class, length: entries, fields })?.into_any()
        }
        Array::Regular { length, entries, content } => {
            let content = column(py, *content)?;
            Py::new(py, Regular { size: length, length: entries, content })?.into_any()
        }
        Array::Option { index, content } => {
            let index = index.into_pyarray(py).unbind();
            Py::new(py, Optional { index, content: column(py, *content)? })?.into_any()
        }
        Array::Union { tags, index, contents } => {
            let contents = contents.into_iter().map(|content| column(py, content));
            let contents = contents.collect::<PyResult<_>>()?;
            let tags = tags.into_pyarray(py).unbind();
            let index = index.into_pyarray(py).unbind();
            Py::new(py, Union { tags, index, contents })?.into_any()
        }
        Array::WithParameter { parameter, content } => {
            let content = column(py, *content)?;
            Py::new(py, WithParameter { parameter: parameter.name(), content })?.into_any()
        }
    })
}

/// Whether a class is `std::complex`, with both parts of it here.
fn is_complex(class: &str, fields: &[(String, Array)]) -> bool {
    let parts = |at: usize| match fields.get(at) {
        Some((_, Array::Numbers { numbers, shape })) if shape.is_empty() => Some(numbers),
        _ => None,
    };
    complex_dtype(class).is_some()
        && matches!(
            (fields.len(), parts(0), parts(1)),
            (2, Some(engine::Numbers::F32(_)), Some(engine::Numbers::F32(_)))
                | (2, Some(engine::Numbers::F64(_)), Some(engine::Numbers::F64(_)))
        )
}

/// NumPy's type for the complex numbers of C++.
pub fn complex_dtype(class: &str) -> Option<&'static str> {
    match class.strip_prefix("std::").unwrap_or(class) {
        "complex<float>" => Some("complex64"),
        "complex<double>" => Some("complex128"),
        _ => None,
    }
}

/// The real and the imaginary parts as complex numbers, which have them in turn.
fn complex<'py>(py: Python<'py>, fields: &[(String, Array)]) -> PyResult<Bound<'py, PyAny>> {
    fn in_turn<T: Copy>(real: &[T], imaginary: &[T]) -> Vec<T> {
        real.iter().zip(imaginary).flat_map(|(real, imaginary)| [*real, *imaginary]).collect()
    }
    let numbers = |at: usize| match fields.get(at) {
        Some((_, Array::Numbers { numbers, .. })) => Some(numbers),
        _ => None,
    };
    let (parts, dtype) = match (numbers(0), numbers(1)) {
        (Some(engine::Numbers::F32(real)), Some(engine::Numbers::F32(imaginary))) => {
            (engine::Numbers::F32(in_turn(real, imaginary)), "complex64")
        }
        (Some(engine::Numbers::F64(real)), Some(engine::Numbers::F64(imaginary))) => {
            (engine::Numbers::F64(in_turn(real, imaginary)), "complex128")
        }
        _ => return Err(PyValueError::new_err("complex numbers without their parts")),
    };
    flat(py, parts)?.call_method1("view", (dtype,))
}

/// Offsets that columns share as an array over their common memory, which none of them may change.
fn offsets_array(py: Python<'_>, offsets: Offsets) -> PyResult<Py<PyArray1<i64>>> {
    let Some(shared) = offsets.shared().cloned() else {
        return Ok(offsets.into_vec().into_pyarray(py).unbind());
    };
    let view = ArrayView1::from(&shared[..]);
    let owner = Bound::new(py, Shared(shared.clone()))?.into_any();
    // SAFETY: the owner keeps the vector, which is not changed as long as it is shared.
    #[allow(unsafe_code)]
    let array = unsafe { PyArray1::borrow_from_array(&view, owner) };
    drop(array.readwrite().make_nonwriteable());
    Ok(array.unbind())
}

pub fn flat<'py>(py: Python<'py>, numbers: engine::Numbers) -> PyResult<Bound<'py, PyAny>> {
    use engine::Numbers as N;
    Ok(match numbers {
        // One byte each, zero or one, as NumPy's bool.
        N::Bool(vec) => vec.into_pyarray(py).call_method1("view", ("bool",))?,
        N::I8(vec) => vec.into_pyarray(py).into_any(),
        N::I16(vec) => vec.into_pyarray(py).into_any(),
        N::I32(vec) => vec.into_pyarray(py).into_any(),
        N::I64(vec) => vec.into_pyarray(py).into_any(),
        N::U8(vec) => vec.into_pyarray(py).into_any(),
        N::U16(vec) => vec.into_pyarray(py).into_any(),
        N::U32(vec) => vec.into_pyarray(py).into_any(),
        N::U64(vec) => vec.into_pyarray(py).into_any(),
        N::F32(vec) => vec.into_pyarray(py).into_any(),
        N::F64(vec) => vec.into_pyarray(py).into_any(),
    })
}

/// A view with the inner dimensions that every entry has.
fn shaped<'py>(flat: Bound<'py, PyAny>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    if shape.is_empty() {
        return Ok(flat);
    }
    let width: usize = shape.iter().product();
    let entries = flat.len()?.checked_div(width).unwrap_or(0);
    let mut full = vec![entries];
    full.extend(shape);
    flat.call_method1("reshape", (full,))
}
