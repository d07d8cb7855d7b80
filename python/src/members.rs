//! Objects of a file as Python's own: the front chooses the classes, here they are filled.

use engine::object::{ObjectRef, Objects, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::columns;

/// The record's object. `make(classname, version)` gives an instance for each object, and its
/// `fill(members, bases)` takes what was read, or `lack(why)` why it was not.
pub fn to_python(
    py: Python<'_>,
    objects: &Objects,
    make: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let made = objects.iter().map(|object| make.call1((object.class(), object.version())));
    let made = made.collect::<PyResult<Vec<_>>>()?;
    for (object, instance) in objects.iter().zip(&made) {
        match object.unread() {
            Some(unread) => instance.call_method1("lack", (unread.why.to_string(),))?,
            None => instance
                .call_method1("fill", (members(py, object, &made)?, bases(object, &made)))?,
        };
    }
    Ok(made[0].clone().unbind())
}

fn bases<'py>(object: ObjectRef<'_>, made: &[Bound<'py, PyAny>]) -> Vec<Bound<'py, PyAny>> {
    object.bases().map(|base| made[base.position()].clone()).collect()
}

/// Its own members, without base classes.
fn members<'py>(
    py: Python<'py>,
    object: ObjectRef<'_>,
    made: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyDict>> {
    let members = PyDict::new(py);
    let bases: Vec<_> = object.bases().collect();
    for (name, member) in object.members() {
        if !matches!(member, Value::Object(id) if bases.contains(id)) {
            members.set_item(name, value(py, member, made)?)?;
        }
    }
    Ok(members)
}

fn value<'py>(
    py: Python<'py>,
    value: &Value,
    made: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    let items = |values: &[Value]| {
        values.iter().map(|item| self::value(py, item, made)).collect::<PyResult<Vec<_>>>()
    };
    Ok(match value {
        Value::Null | Value::Lost => py.None().into_bound(py),
        Value::Bool(yes) => yes.into_pyobject(py)?.to_owned().into_any(),
        Value::Int(number) => number.into_pyobject(py)?.into_any(),
        Value::Uint(number) => number.into_pyobject(py)?.into_any(),
        Value::Float(number) => number.into_pyobject(py)?.into_any(),
        Value::Text(text) => PyString::from_encoded_object(
            &PyBytes::new(py, text),
            Some(c"utf-8"),
            Some(c"surrogateescape"),
        )?
        .into_any(),
        Value::Numbers(numbers) => columns::flat(py, numbers.clone())?,
        Value::List(values) => PyList::new(py, items(values)?)?.into_any(),
        Value::Map(pairs) => {
            let map = PyDict::new(py);
            for (key, mapped) in pairs {
                map.set_item(self::value(py, key, made)?, self::value(py, mapped, made)?)?;
            }
            map.into_any()
        }
        Value::Pairs(pairs) => {
            let pairs = pairs.iter().map(|(key, mapped)| {
                Ok((self::value(py, key, made)?, self::value(py, mapped, made)?))
            });
            PyList::new(py, pairs.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Value::Object(id) => made[id.position()].clone(),
    })
}
