//! A few entries of plain types: arrays of NumPy and Awkward of just the column's type, lists of
//! Python.
//!
//! Callers add entries one by one. To make arrays of Awkward of them, and columns of these, would
//! cost more than all else.

use std::ops::Range;
use std::sync::Arc;

use engine::{EntryType, Number, Numbers, Offsets};
use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyType};

/// For more entries in one call, the slow path costs little beside the writing itself.
const ENTRIES_MAX: usize = 1000;

/// The columns of a table, by their names.
pub struct Columns(Vec<(Py<PyString>, EntryType)>);

impl Columns {
    pub fn new<'a>(py: Python<'_>, columns: impl Iterator<Item = (&'a str, EntryType)>) -> Self {
        Columns(columns.map(|(name, entry)| (PyString::new(py, name).unbind(), entry)).collect())
    }

    /// The arrays of a dict with just these columns, all plain, and of few entries; `None` of any
    /// other, also of data that are no table: then the slow path raises the error.
    pub fn arrays(&self, data: &Bound<'_, PyDict>) -> Option<Vec<Arc<engine::Array>>> {
        if data.len() != self.0.len() {
            return None;
        }
        let column = |(name, entry): &(Py<PyString>, EntryType)| {
            let value = data.get_item(name.bind(data.py())).ok()??;
            let is_small = value.len().is_ok_and(|len| len <= ENTRIES_MAX);
            is_small.then(|| array(entry, &value))?.map(Arc::new)
        };
        let arrays: Option<Vec<_>> = self.0.iter().map(column).collect();
        arrays.filter(|arrays| arrays.windows(2).all(|pair| pair[0].len() == pair[1].len()))
    }
}

fn array(entry: &EntryType, value: &Bound<'_, PyAny>) -> Option<engine::Array> {
    match entry {
        EntryType::Number(number) => {
            let (numbers, _) = match layout(value) {
                Some(layout) => numbers(*number, &Source::All(&data(&layout)?))?,
                None => numbers(*number, &Source::All(value))?,
            };
            Some(engine::Array::Numbers { numbers, shape: Vec::new() })
        }
        EntryType::List(content) => {
            let EntryType::Number(number) = **content else { return None };
            let (numbers, offsets) = match layout(value) {
                Some(layout) => lists_of(number, &layout)?,
                None => {
                    let lists: Vec<_> = value.cast_exact::<PyList>().ok()?.iter().collect();
                    numbers(number, &Source::Runs(&lists))?
                }
            };
            let content = Box::new(engine::Array::Numbers { numbers, shape: Vec::new() });
            Some(engine::Array::List { offsets: Offsets::from(offsets), content })
        }
        EntryType::String => {
            let mut offsets = vec![0];
            let mut bytes = Vec::new();
            for text in value.cast_exact::<PyList>().ok()?.iter() {
                let text = text.cast_exact::<PyString>().ok()?;
                bytes.extend_from_slice(text.to_str().ok()?.as_bytes());
                offsets.push(bytes.len() as i64);
            }
            Some(engine::Array::Strings { offsets, bytes })
        }
        EntryType::Regular { .. }
        | EntryType::Record(_)
        | EntryType::Option(_)
        | EntryType::Union(_) => None,
    }
}

/// The layout of an array of Awkward, unless its class has a meaning of its own.
fn layout<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    static ARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = value.py();
    // NumPy's arrays come most often.
    if value.is_exact_instance_of::<PyUntypedArray>() {
        return None;
    }
    let class = ARRAY.import(py, "awkward", "Array").ok()?;
    let layout = value.get_type().is(class).then(|| value.getattr(intern!(py, "layout")))?.ok()?;
    is_bare(&layout).then_some(layout)
}

/// The buffer of a layout or of an index: an array of NumPy, unless it is elsewhere.
fn data<'py>(of: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    of.getattr(intern!(of.py(), "data")).ok()
}

/// Whether a layout is no text, and of no other meaning of Awkward's own.
fn is_bare(layout: &Bound<'_, PyAny>) -> bool {
    let Ok(parameters) = layout.getattr(intern!(layout.py(), "parameters")) else { return false };
    let array = intern!(layout.py(), "__array__");
    parameters.cast_exact::<PyDict>().is_ok_and(|all| all.contains(array).is_ok_and(|has| !has))
}

/// The lists of a `ListOffsetArray` of numbers, and their offsets.
fn lists_of(number: Number, layout: &Bound<'_, PyAny>) -> Option<(Numbers, Vec<i64>)> {
    let py = layout.py();
    let index = data(&layout.getattr(intern!(py, "offsets")).ok()?)?;
    let mut offsets = plain_array::<i64>(&index)?.to_vec().ok()?;
    let first = *offsets.first()?;
    let last = *offsets.last()?;
    if first < 0 || !offsets.is_sorted() {
        return None;
    }
    offsets.iter_mut().for_each(|offset| *offset -= first);
    let content = layout.getattr(intern!(py, "content")).ok().filter(is_bare)?;
    let items = Source::Part(&data(&content)?, first as usize..last as usize);
    Some((numbers(number, &items)?.0, offsets))
}

/// Where the numbers of a column are.
enum Source<'a, 'py> {
    /// In one array or list.
    All(&'a Bound<'py, PyAny>),
    /// In several, one after the other.
    Runs(&'a [Bound<'py, PyAny>]),
    /// In a part of an array.
    Part(&'a Bound<'py, PyAny>, Range<usize>),
}

/// All numbers of a source, and where each of several runs ends.
fn numbers(number: Number, source: &Source<'_, '_>) -> Option<(Numbers, Vec<i64>)> {
    macro_rules! of {
        ($variant:ident $values:expr) => {{
            let (values, offsets) = $values;
            (Numbers::$variant(values), offsets)
        }};
    }
    Some(match number {
        Number::Bool => {
            let (values, offsets) = joined::<bool>(source)?;
            (Numbers::Bool(values.into_iter().map(u8::from).collect()), offsets)
        }
        Number::I8 => of!(I8 joined(source)?),
        Number::I16 => of!(I16 joined(source)?),
        Number::I32 => of!(I32 joined(source)?),
        Number::I64 => of!(I64 joined(source)?),
        Number::U8 => of!(U8 joined(source)?),
        Number::U16 => of!(U16 joined(source)?),
        Number::U32 => of!(U32 joined(source)?),
        Number::U64 => of!(U64 joined(source)?),
        Number::F32 => of!(F32 joined(source)?),
        Number::F64 => of!(F64 joined(source)?),
    })
}

fn joined<T: Plain>(source: &Source<'_, '_>) -> Option<(Vec<T>, Vec<i64>)> {
    match source {
        Source::All(run) => {
            let values = match run.cast_exact::<PyList>() {
                Ok(list) => list.iter().map(|item| T::of(&item)).collect::<Option<_>>()?,
                Err(_) => plain_array::<T>(run)?.to_vec().ok()?,
            };
            Some((values, Vec::new()))
        }
        Source::Part(array, items) => {
            let array = plain_array::<T>(array)?.try_readonly().ok()?;
            Some((array.as_slice().ok()?.get(items.clone())?.to_vec(), Vec::new()))
        }
        Source::Runs(runs) => {
            let mut values = Vec::new();
            let mut offsets = Vec::with_capacity(runs.len() + 1);
            offsets.push(0);
            for run in *runs {
                values.extend(joined::<T>(&Source::All(run))?.0);
                offsets.push(values.len() as i64);
            }
            Some((values, offsets))
        }
    }
}

/// An array of just these numbers, one after the other: a field of a structured array may lie
/// anywhere.
fn plain_array<'a, 'py, T: Element>(
    array: &'a Bound<'py, PyAny>,
) -> Option<&'a Bound<'py, PyArray1<T>>> {
    let array = array.cast_exact::<PyUntypedArray>().ok()?.cast::<PyArray1<T>>().ok()?;
    (array.data().is_aligned() && array.is_c_contiguous()).then_some(array)
}

/// A number that Python's can be taken for, where it is the same.
trait Plain: Element + Copy {
    fn of(item: &Bound<'_, PyAny>) -> Option<Self>;
}

impl Plain for bool {
    fn of(item: &Bound<'_, PyAny>) -> Option<Self> {
        Some(item.cast_exact::<PyBool>().ok()?.is_true())
    }
}

macro_rules! plain {
    (integers: $($integer:ty),*; reals: $($real:ty),*) => {
        $(impl Plain for $integer {
            fn of(item: &Bound<'_, PyAny>) -> Option<Self> {
                item.cast_exact::<PyInt>().ok()?.extract().ok()
            }
        })*
        // Reals may be rounded, but not to infinity or zero; integers may not.
        $(impl Plain for $real {
            fn of(item: &Bound<'_, PyAny>) -> Option<Self> {
                if let Ok(real) = item.cast::<PyFloat>() {
                    let real = real.value();
                    let rounded = real as $real;
                    let is_lost = rounded.is_infinite() != real.is_infinite()
                        || (rounded == 0.0) != (real == 0.0);
                    return (!is_lost).then_some(rounded);
                }
                let integer: i32 = item.cast_exact::<PyInt>().ok()?.extract().ok()?;
                let real = integer as $real;
                (real as i64 == i64::from(integer)).then_some(real)
            }
        })*
    };
}

plain!(integers: i8, i16, i32, i64, u8, u16, u32, u64; reals: f32, f64);
