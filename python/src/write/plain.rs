//! A few entries of plain types: NumPy arrays of just the column's type, lists of Python.
//!
//! Callers add entries one by one. An array of Awkward for each would cost more than all else.

use std::sync::Arc;

use engine::{EntryType, Number, Numbers, Offsets};
use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

/// What is more, in one call, costs little beside what is done with it.
const ENTRIES_MAX: usize = 1000;

/// The columns of a table, by their names.
pub struct Columns(Vec<(Py<PyString>, EntryType)>);

impl Columns {
    pub fn new<'a>(py: Python<'_>, columns: impl Iterator<Item = (&'a str, EntryType)>) -> Self {
        Columns(columns.map(|(name, entry)| (PyString::new(py, name).unbind(), entry)).collect())
    }

    /// The arrays of a dict with just these columns, all plain, and of few entries; `None` of any
    /// other, also of what is no table: then it is said elsewhere what is wrong.
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
            let (numbers, _) = numbers(*number, std::slice::from_ref(value))?;
            Some(engine::Array::Numbers { numbers, shape: Vec::new() })
        }
        EntryType::List(content) => {
            let EntryType::Number(number) = **content else { return None };
            let lists: Vec<_> = value.cast_exact::<PyList>().ok()?.iter().collect();
            let (numbers, offsets) = numbers(number, &lists)?;
            let content = Box::new(engine::Array::Numbers { numbers, shape: Vec::new() });
            Some(engine::Array::List { offsets: Offsets::from(offsets), content })
        }
        EntryType::String => {
            let (mut offsets, mut bytes) = (vec![0], Vec::new());
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

/// All numbers of several runs, and where each of these ends.
fn numbers(number: Number, runs: &[Bound<'_, PyAny>]) -> Option<(Numbers, Vec<i64>)> {
    macro_rules! of {
        ($variant:ident $values:expr) => {{
            let (values, offsets) = $values;
            (Numbers::$variant(values), offsets)
        }};
    }
    Some(match number {
        Number::Bool => {
            let (values, offsets) = joined::<bool>(runs)?;
            (Numbers::Bool(values.into_iter().map(u8::from).collect()), offsets)
        }
        Number::I8 => of!(I8 joined(runs)?),
        Number::I16 => of!(I16 joined(runs)?),
        Number::I32 => of!(I32 joined(runs)?),
        Number::I64 => of!(I64 joined(runs)?),
        Number::U8 => of!(U8 joined(runs)?),
        Number::U16 => of!(U16 joined(runs)?),
        Number::U32 => of!(U32 joined(runs)?),
        Number::U64 => of!(U64 joined(runs)?),
        Number::F32 => of!(F32 joined(runs)?),
        Number::F64 => of!(F64 joined(runs)?),
    })
}

fn joined<T: Plain>(runs: &[Bound<'_, PyAny>]) -> Option<(Vec<T>, Vec<i64>)> {
    let (mut values, mut offsets) = (Vec::new(), Vec::with_capacity(runs.len() + 1));
    offsets.push(0);
    for run in runs {
        if let Ok(list) = run.cast_exact::<PyList>() {
            for item in list.iter() {
                values.push(T::of(&item)?);
            }
        } else {
            let array = run.cast_exact::<PyUntypedArray>().ok()?.cast::<PyArray1<T>>().ok()?;
            // A field of a structured array may lie anywhere.
            let is_plain = array.data().is_aligned() && array.is_c_contiguous();
            let array = is_plain.then(|| array.try_readonly().ok())??;
            values.extend_from_slice(array.as_slice().ok()?);
        }
        offsets.push(values.len() as i64);
    }
    Some((values, offsets))
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
        // Reals may be rounded, integers not.
        $(impl Plain for $real {
            fn of(item: &Bound<'_, PyAny>) -> Option<Self> {
                if let Ok(real) = item.cast::<PyFloat>() {
                    return Some(real.value() as $real);
                }
                let integer: i32 = item.cast_exact::<PyInt>().ok()?.extract().ok()?;
                let real = integer as $real;
                (real as i64 == i64::from(integer)).then_some(real)
            }
        })*
    };
}

plain!(integers: i8, i16, i32, i64, u8, u16, u32, u64; reals: f32, f64);
