//! Columns that NumPy has no array for, as arrays of objects: one Python object an entry.

use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySlice, PyString};

type Objects<'py> = Bound<'py, PyArray1<Py<PyAny>>>;

/// Entry `i` is `content[offsets[i]:offsets[i + 1]]`: a view, where content is an array.
#[pyfunction]
pub fn slices<'py>(
    py: Python<'py>,
    offsets: &Bound<'py, PyArray1<i64>>,
    content: &Bound<'py, PyAny>,
) -> PyResult<Objects<'py>> {
    let bounds = bounds(offsets, content.len()?)?;
    let entry = |pair: &[i64]| {
        let slice = PySlice::new(py, pair[0] as isize, pair[1] as isize, 1);
        Ok(content.get_item(slice)?.unbind())
    };
    let entries: Vec<_> = bounds.windows(2).map(entry).collect::<PyResult<_>>()?;
    Ok(entries.into_pyarray(py))
}

/// Entry `i` is `encoded[offsets[i]:offsets[i + 1]]` as a `str`; bytes that are no UTF-8 become
/// surrogates, as Python has them in file names.
#[pyfunction]
pub fn strings<'py>(
    py: Python<'py>,
    offsets: &Bound<'py, PyArray1<i64>>,
    encoded: &Bound<'py, PyArray1<u8>>,
) -> PyResult<Objects<'py>> {
    let encoded = encoded.try_readonly()?;
    let encoded = encoded.as_slice()?;
    let bounds = bounds(offsets, encoded.len())?;
    let entry = |pair: &[i64]| {
        let bytes = &encoded[pair[0] as usize..pair[1] as usize];
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => PyString::new(py, text),
            Err(_) => PyString::from_encoded_object(
                &PyBytes::new(py, bytes),
                Some(c"utf-8"),
                Some(c"surrogateescape"),
            )?,
        };
        Ok(text.into_any().unbind())
    };
    let entries: Vec<_> = bounds.windows(2).map(entry).collect::<PyResult<_>>()?;
    Ok(entries.into_pyarray(py))
}

/// The offsets, none of which leads out of `length` items.
fn bounds(offsets: &Bound<'_, PyArray1<i64>>, length: usize) -> PyResult<Vec<i64>> {
    let bounds = offsets.to_vec()?;
    let inside =
        usize::try_from(bounds.last().copied().unwrap_or(0)).is_ok_and(|end| end <= length);
    if !bounds.is_sorted() || bounds.first().is_some_and(|first| *first < 0) || !inside {
        return Err(PyValueError::new_err("offsets do not ascend within their content"));
    }
    Ok(bounds)
}
