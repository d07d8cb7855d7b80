//! Columns that Python has made as arrays of the engine's: each buffer is copied once.

use std::ops::Range;
use std::sync::Arc;

use engine::{EntryType, Error, ErrorKind, Numbers as Values, Offsets};
use numpy::ndarray::{Axis, Slice};
use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::columns::{
    List, Numbers, Optional, Record, Regular, Strings, Union, WithParameter, column,
};
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

    /// Some entries of a column.
    fn of(column: &Bound<'_, PyAny>, entries: Range<usize>) -> PyResult<Self> {
        let array = array(column, entries)?;
        let entry = EntryType::of(&array).map_err(|error| {
            let error = Error::new(ErrorKind::Unsupported, error.to_string());
            exception(column.py(), &error)
        })?;
        Ok(Array { array: Arc::new(array), entry })
    }
}

#[pymethods]
impl Array {
    #[new]
    fn new(column: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::of(column, 0..length(column)?)
    }

    /// The entries from `start` to `stop` of each column.
    #[staticmethod]
    fn parts(columns: Vec<Bound<'_, PyAny>>, start: usize, stop: usize) -> PyResult<Vec<Self>> {
        columns.iter().map(|column| Self::of(column, start..stop)).collect()
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

/// The number of entries of a column.
fn length(column: &Bound<'_, PyAny>) -> PyResult<usize> {
    let py = column.py();
    let lists = |offsets: &Py<PyArray1<i64>>| offsets.bind(py).len().saturating_sub(1);
    if let Ok(numbers) = column.cast::<Numbers>() {
        return numbers.get().array.bind(py).len();
    }
    Ok(if let Ok(list) = column.cast::<List>() {
        lists(&list.get().offsets)
    } else if let Ok(strings) = column.cast::<Strings>() {
        lists(&strings.get().offsets)
    } else if let Ok(record) = column.cast::<Record>() {
        record.get().length
    } else if let Ok(regular) = column.cast::<Regular>() {
        regular.get().length
    } else if let Ok(union) = column.cast::<Union>() {
        union.get().tags.bind(py).len()
    } else if let Ok(with_meaning) = column.cast::<WithParameter>() {
        length(with_meaning.get().content.bind(py))?
    } else if let Ok(optional) = column.cast::<Optional>() {
        optional.get().index.bind(py).len()
    } else {
        let class = column.get_type().name()?;
        return Err(invalid(py, &format!("{class} is no column that can be written")));
    })
}

/// Some entries of a column.
fn array(column: &Bound<'_, PyAny>, entries: Range<usize>) -> PyResult<engine::Array> {
    let py = column.py();
    if let Ok(numbers) = column.cast::<Numbers>() {
        return numbers_of(numbers.get().array.bind(py), entries);
    }
    if let Ok(list) = column.cast::<List>() {
        let content = list.get().content.bind(py);
        let offsets = list.get().offsets.bind(py);
        let (offsets, items) = offsets_of(offsets, length(content)?, entries)?;
        let content = Box::new(array(content, items)?);
        return Ok(engine::Array::List { offsets: Offsets::from(offsets), content });
    }
    if let Ok(strings) = column.cast::<Strings>() {
        let bytes = strings.get().bytes.bind(py);
        let offsets = strings.get().offsets.bind(py);
        let (offsets, letters) = offsets_of(offsets, bytes.len(), entries)?;
        return Ok(engine::Array::Strings { offsets, bytes: copied(bytes, letters)? });
    }
    if let Ok(record) = column.cast::<Record>() {
        return record_of(py, record.get(), &entries);
    }
    if let Ok(regular) = column.cast::<Regular>() {
        let Regular { size, length: count, content } = regular.get();
        let content = content.bind(py);
        let size = *size;
        let there = length(content)?;
        if size.checked_mul(*count) != Some(there) {
            let message = format!("{count} entries of {size} items, of which {there} are there");
            return Err(invalid(py, &message));
        }
        let items = entries.start.saturating_mul(size)..entries.end.saturating_mul(size);
        let content = Box::new(array(content, items)?);
        return Ok(engine::Array::Regular { length: size, entries: entries.len(), content });
    }
    if let Ok(union) = column.cast::<Union>() {
        return union_of(py, union.get(), entries);
    }
    if let Ok(with_meaning) = column.cast::<WithParameter>() {
        return array(with_meaning.get().content.bind(py), entries);
    }
    let Ok(optional) = column.cast::<Optional>() else {
        return Err(invalid(py, "a column of no known class"));
    };
    optional_of(py, optional.get(), entries)
}

/// Some optional entries, and of their content the part that they have.
fn optional_of(
    py: Python<'_>,
    optional: &Optional,
    entries: Range<usize>,
) -> PyResult<engine::Array> {
    let content = optional.content.bind(py);
    let mut index = copied(optional.index.bind(py), entries)?;
    let there = length(content)? as i64;
    if index.iter().any(|at| *at < -1 || *at >= there) {
        return Err(invalid(py, "the index of optional entries leads out of their content"));
    }
    let present = || index.iter().copied().filter(|at| *at >= 0);
    let first = present().min().unwrap_or(0);
    let end = present().max().map_or(0, |last| last + 1);
    index.iter_mut().filter(|at| **at >= 0).for_each(|at| *at -= first);
    let content = Box::new(array(content, first as usize..end as usize)?);
    Ok(engine::Array::Option { index, content })
}

/// All entries of a column.
pub fn whole(column: &Bound<'_, PyAny>) -> PyResult<engine::Array> {
    array(column, 0..length(column)?)
}

fn union_of(py: Python<'_>, union: &Union, entries: Range<usize>) -> PyResult<engine::Array> {
    let tags = copied(union.tags.bind(py), entries.clone())?;
    let index = copied(union.index.bind(py), entries)?;
    let contents = union.contents.iter().map(|content| whole(content.bind(py)));
    let contents = contents.collect::<PyResult<Vec<_>>>()?;
    let is_there = |(tag, at): (&i8, &i64)| {
        let content = usize::try_from(*tag).ok().and_then(|tag| contents.get(tag));
        content.is_some_and(|content| (0..content.len() as i64).contains(at))
    };
    let is_of_one_length = union.tags.bind(py).len() == union.index.bind(py).len();
    if !is_of_one_length || !tags.iter().zip(&index).all(is_there) {
        return Err(invalid(py, "the tags or the index of a union lead out of its contents"));
    }
    Ok(engine::Array::Union { tags, index, contents })
}

fn record_of(py: Python<'_>, record: &Record, entries: &Range<usize>) -> PyResult<engine::Array> {
    let mut fields = Vec::with_capacity(record.fields.len());
    for (name, field) in &record.fields {
        let field = field.bind(py);
        let expected = record.length;
        let there = length(field)?;
        if there != expected {
            let message = format!("field {name:?} has {there} entries, its record {expected}");
            return Err(invalid(py, &message));
        }
        fields.push((name.clone(), array(field, entries.clone())?));
    }
    Ok(engine::Array::Record { class: record.class.clone(), entries: entries.len(), fields })
}

/// The offsets of the given lists, shifted to start at zero, and the range of their items.
///
/// # Errors
/// If the column's offsets do not ascend from 0 to `content`, its number of items.
fn offsets_of(
    offsets: &Bound<'_, PyArray1<i64>>,
    content: usize,
    lists: Range<usize>,
) -> PyResult<(Vec<i64>, Range<usize>)> {
    let wrong = || {
        let message = "offsets of lists start at zero, ascend, and end where their content does";
        invalid(offsets.py(), message)
    };
    let count = offsets.len().checked_sub(1).ok_or_else(wrong)?;
    let mut copy = copied(offsets, lists.start..lists.end.saturating_add(1))?;
    let (Some(first), Some(last)) = (copy.first().copied(), copy.last().copied()) else {
        return Err(wrong());
    };
    let begins = if lists.start == 0 { first == 0 } else { first >= 0 };
    let ends = if lists.end == count { last == content as i64 } else { last <= content as i64 };
    if !(begins && ends && copy.is_sorted()) {
        return Err(wrong());
    }
    if first != 0 {
        copy.iter_mut().for_each(|offset| *offset -= first);
    }
    Ok((copy, first as usize..last as usize))
}

fn copied<T: Element + Copy>(
    array: &Bound<'_, PyArray1<T>>,
    items: Range<usize>,
) -> PyResult<Vec<T>> {
    Ok(values(array.to_dyn(), items)?.0)
}

/// Numbers in this machine's byte order, of any strides.
fn numbers_of(array: &Bound<'_, PyAny>, entries: Range<usize>) -> PyResult<engine::Array> {
    macro_rules! of {
        ($($variant:ident: $type:ty),*) => {
            $(if let Ok(array) = array.cast::<PyArrayDyn<$type>>() {
                let (values, shape) = values(array, entries)?;
                return Ok(engine::Array::Numbers { numbers: Values::$variant(values), shape });
            })*
        };
    }
    of!(F32: f32, F64: f64, I32: i32, I64: i64, U32: u32, U64: u64);
    of!(I8: i8, I16: i16, U8: u8, U16: u16);
    if let Ok(array) = array.cast::<PyArrayDyn<bool>>() {
        let (truths, shape) = values(array, entries)?;
        let bytes = truths.into_iter().map(u8::from).collect();
        return Ok(engine::Array::Numbers { numbers: Values::Bool(bytes), shape });
    }
    Err(invalid(array.py(), "these are no numbers that can be written"))
}

/// The values of some entries in the order of rows, and the shape of one entry.
fn values<T: Element + Copy>(
    array: &Bound<'_, PyArrayDyn<T>>,
    entries: Range<usize>,
) -> PyResult<(Vec<T>, Vec<usize>)> {
    // A field of a structured array may lie anywhere.
    let is_aligned = array.getattr("flags")?.getattr("aligned")?.is_truthy()?;
    let aligned = match is_aligned {
        true => array.clone(),
        false => array.call_method0("copy")?.cast_into()?,
    };
    let readonly = aligned.readonly();
    let view = readonly.as_array();
    let [there, shape @ ..] = view.shape() else {
        return Err(invalid(array.py(), "a column is an array, not one number"));
    };
    if entries.start > entries.end || entries.end > *there {
        let Range { start, end } = entries;
        return Err(invalid(array.py(), &format!("entries {start} to {end} of {there}")));
    }
    let width: usize = shape.iter().product();
    let values = match view.as_slice() {
        Some(all) => all[entries.start * width..entries.end * width].to_vec(),
        None => view.slice_axis(Axis(0), Slice::from(entries)).iter().copied().collect(),
    };
    Ok((values, shape.to_vec()))
}
