//! Objects of a file as Python's own: the front chooses the classes, here they are filled.

use engine::object::{ObjectId, Objects, Unread, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::columns;

/// The record's object. `make(classname, version)` gives an instance for each object, and its
/// `fill(members, bases)` takes what was read, or `lack(why, stored)` why it was not, and its bytes.
pub fn to_python(py: Python<'_>, objects: Objects, make: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let made = objects.iter().map(|object| make.call1((object.class(), object.version())));
    let made = made.collect::<PyResult<Vec<_>>>()?;
    let lacking = objects.iter().map(|object| object.unread().cloned());
    let lacking: Vec<_> = lacking.collect();
    let bases: Vec<Vec<ObjectId>> = objects.iter().map(|object| object.bases().collect()).collect();
    for (position, values) in objects.into_members().enumerate() {
        let instance = &made[position];
        if let Some(Unread { bytes, why }) = &lacking[position] {
            instance.call_method1("lack", (why.to_string(), PyBytes::new(py, bytes)))?;
            continue;
        }
        let members = PyDict::new(py);
        for (name, member) in values {
            // Its own members only.
            if !matches!(&member, Value::Object(id) if bases[position].contains(id)) {
                members.set_item(&*name, value(py, member, &made)?)?;
            }
        }
        let bases = bases[position].iter().map(|base| &made[base.position()]).collect::<Vec<_>>();
        instance.call_method1("fill", (members, bases))?;
    }
    Ok(made[0].clone().unbind())
}

fn value<'py>(
    py: Python<'py>,
    value: Value,
    made: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null | Value::Lost => py.None().into_bound(py),
        Value::Bool(yes) => yes.into_pyobject(py)?.to_owned().into_any(),
        Value::Int(number) => number.into_pyobject(py)?.into_any(),
        Value::Uint(number) => number.into_pyobject(py)?.into_any(),
        Value::Float(number) => number.into_pyobject(py)?.into_any(),
        Value::Text(text) => string(py, &text)?,
        Value::Numbers(numbers) => columns::flat(py, numbers)?,
        Value::List(values) => {
            let items = values.into_iter().map(|item| self::value(py, item, made));
            PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Value::Map(pairs) => {
            let map = PyDict::new(py);
            for (key, mapped) in pairs {
                map.set_item(self::value(py, key, made)?, self::value(py, mapped, made)?)?;
            }
            map.into_any()
        }
        Value::Pairs(pairs) => {
            let pairs = pairs.into_iter().map(|(key, mapped)| {
                Ok((self::value(py, key, made)?, self::value(py, mapped, made)?))
            });
            PyList::new(py, pairs.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Value::Object(id) => made[id.position()].clone(),
    })
}

/// A `str`; bytes that are no UTF-8 become surrogates, as Python has them in file names.
fn string<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(text) = std::str::from_utf8(text) {
        return Ok(PyString::new(py, text).into_any());
    }
    let bytes = PyBytes::new(py, text);
    let text = PyString::from_encoded_object(&bytes, Some(c"utf-8"), Some(c"surrogateescape"))?;
    Ok(text.into_any())
}
