//! Columns that Python has made as arrays of the engine's: each buffer is copied once.

use std::sync::Arc;

use engine::{EntryType, Error, ErrorKind, Numbers as Values, Offsets};
use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;

use crate::columns::{List, Numbers, Optional, Record, Regular, Strings, Union, column};
use crate::error::exception;
use crate::runtime::invalid;

/// One column, or a part of one, as it is written. Does not change with the arrays that it was
/// made of.
#[pyclass(frozen, module = "farroot._core")]
pub struct Array {
    array: Arc<engine::Array>,
    entry: EntryType,
}

impl Array {
    pub fn array(&self) -> Arc<engine::Array> {
        self.array.clone()
    }

    pub fn entry(&self) -> &EntryType {
        &self.entry
    }
}

#[pymethods]
impl Array {
    #[new]
    fn new(py: Python<'_>, column: &Bound<'_, PyAny>) -> PyResult<Self> {
        let array = array(column)?;
        let entry = EntryType::of(&array).map_err(|error| {
            let error = Error::new(ErrorKind::Unsupported, error.to_string());
            exception(py, &error)
        })?;
        Ok(Array { array: Arc::new(array), entry })
    }

    fn __len__(&self) -> usize {
        self.array.len()
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.array.nbytes()
    }

    /// As Awkward spells it: `var * float32`.
    #[getter]
    fn r#type(&self) -> String {
        self.entry.to_string()
    }

    /// The same again as a column, in memory of its own.
    fn column(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        column(py, engine::Array::clone(&self.array))
    }
}

fn array(column: &Bound<'_, PyAny>) -> PyResult<engine::Array> {
    let py = column.py();
    if let Ok(numbers) = column.cast::<Numbers>() {
        return numbers_of(numbers.get().array.bind(py));
    }
    if let Ok(list) = column.cast::<List>() {
        let list = list.get();
        let content = array(list.content.bind(py))?;
        let offsets = offsets_of(list.offsets.bind(py), content.len())?;
        return Ok(engine::Array::List {
            offsets: Offsets::from(offsets),
            content: Box::new(content),
        });
    }
    if let Ok(strings) = column.cast::<Strings>() {
        let strings = strings.get();
        let bytes = copied(strings.bytes.bind(py))?;
        let offsets = offsets_of(strings.offsets.bind(py), bytes.len())?;
        return Ok(engine::Array::Strings { offsets, bytes });
    }
    if let Ok(record) = column.cast::<Record>() {
        return record_of(py, record.get());
    }
    if let Ok(regular) = column.cast::<Regular>() {
        let regular = regular.get();
        let content = array(regular.content.bind(py))?;
        let (length, entries) = (regular.size, regular.length);
        if length.checked_mul(entries) != Some(content.len()) {
            let there = content.len();
            let message =
                format!("{entries} entries of {length} items, of which {there} are there");
            return Err(invalid(py, &message));
        }
        return Ok(engine::Array::Regular { length, entries, content: Box::new(content) });
    }
    if let Ok(union) = column.cast::<Union>() {
        return union_of(py, union.get());
    }
    let Ok(optional) = column.cast::<Optional>() else {
        let class = column.get_type().name()?;
        return Err(invalid(py, &format!("{class} is no column that can be written")));
    };
    let content = array(optional.get().content.bind(py))?;
    let index = copied(optional.get().index.bind(py))?;
    if index.iter().any(|at| *at < -1 || *at >= content.len() as i64) {
        return Err(invalid(py, "the index of optional entries leads out of their content"));
    }
    Ok(engine::Array::Option { index, content: Box::new(content) })
}

fn union_of(py: Python<'_>, union: &Union) -> PyResult<engine::Array> {
    let (tags, index) = (copied(union.tags.bind(py))?, copied(union.index.bind(py))?);
    let contents = union.contents.iter().map(|content| array(content.bind(py)));
    let contents = contents.collect::<PyResult<Vec<_>>>()?;
    let is_there = |(tag, at): (&i8, &i64)| {
        let content = usize::try_from(*tag).ok().and_then(|tag| contents.get(tag));
        content.is_some_and(|content| (0..content.len() as i64).contains(at))
    };
    if tags.len() != index.len() || !tags.iter().zip(&index).all(is_there) {
        return Err(invalid(py, "the tags or the index of a union lead out of its contents"));
    }
    Ok(engine::Array::Union { tags, index, contents })
}

fn record_of(py: Python<'_>, record: &Record) -> PyResult<engine::Array> {
    let mut fields = Vec::with_capacity(record.fields.len());
    for (name, field) in &record.fields {
        let field = array(field.bind(py))?;
        if field.len() != record.length {
            let (there, length) = (field.len(), record.length);
            let message = format!("field {name:?} has {there} entries, its record {length}");
            return Err(invalid(py, &message));
        }
        fields.push((name.clone(), field));
    }
    Ok(engine::Array::Record { class: record.class.clone(), entries: record.length, fields })
}

/// Offsets that start at zero, ascend, and end at the content's length.
fn offsets_of(offsets: &Bound<'_, PyArray1<i64>>, content: usize) -> PyResult<Vec<i64>> {
    let copy = copied(offsets)?;
    let ends = (copy.first().copied(), copy.last().copied());
    if ends != (Some(0), Some(content as i64)) || !copy.is_sorted() {
        let message = "offsets of lists start at zero, ascend, and end where their content does";
        return Err(invalid(offsets.py(), message));
    }
    Ok(copy)
}

fn copied<T: Element + Copy>(array: &Bound<'_, PyArray1<T>>) -> PyResult<Vec<T>> {
    Ok(values(array.to_dyn())?.0)
}

/// Numbers in this machine's byte order, of any strides.
fn numbers_of(array: &Bound<'_, PyAny>) -> PyResult<engine::Array> {
    macro_rules! of {
        ($($variant:ident: $type:ty),*) => {
            $(if let Ok(array) = array.cast::<PyArrayDyn<$type>>() {
                let (values, shape) = values(array)?;
                return Ok(engine::Array::Numbers { numbers: Values::$variant(values), shape });
            })*
        };
    }
    of!(F32: f32, F64: f64, I32: i32, I64: i64, U32: u32, U64: u64);
    of!(I8: i8, I16: i16, U8: u8, U16: u16);
    if let Ok(array) = array.cast::<PyArrayDyn<bool>>() {
        let (truths, shape) = values(array)?;
        let bytes = truths.into_iter().map(u8::from).collect();
        return Ok(engine::Array::Numbers { numbers: Values::Bool(bytes), shape });
    }
    Err(invalid(array.py(), "these are no numbers that can be written"))
}

/// The values in the order of rows, and the shape of one entry.
fn values<T: Element + Copy>(array: &Bound<'_, PyArrayDyn<T>>) -> PyResult<(Vec<T>, Vec<usize>)> {
    // A field of a structured array may lie anywhere.
    let is_aligned = array.getattr("flags")?.getattr("aligned")?.is_truthy()?;
    let aligned = match is_aligned {
        true => array.clone(),
        false => array.call_method0("copy")?.cast_into()?,
    };
    let readonly = aligned.readonly();
    let view = readonly.as_array();
    let shape = view.shape().iter().skip(1).copied().collect();
    let values = view.as_slice().map_or_else(|| view.iter().copied().collect(), Vec::from);
    Ok((values, shape))
}
