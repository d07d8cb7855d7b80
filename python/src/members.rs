//! Objects of a file as Python's own: Python chooses the classes, here they are filled.

use std::sync::Arc;

use engine::object::{ObjectId, Objects, Unread, Value};
use mutex::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PyDict, PyList, PyString};

use crate::columns;

/// The record's object. `make(classname, version, source)` gives an instance for each object.
///
/// Its `fill(members, bases)` takes the members that were read, or `lack(why, stored)` why they
/// were not, and the bytes: when its `source` requests them, or at once where the source is None. A
/// file may have many thousand objects of dozens of parts each, of which users look at few; and
/// Python's garbage collector goes over all that exist again and again.
pub fn to_python(py: Python<'_>, objects: Objects, make: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    if objects.are_shared() {
        return all_at_once(py, objects, make);
    }
    let root = objects.root().id;
    if let Some(number) = complex(py, &objects, root)? {
        return Ok(number.unbind());
    }
    Ok(Record::new(objects, make).instance(py, root)?.unbind())
}

/// The objects of one record.
struct Record {
    objects: Mutex<Objects>,
    make: Py<PyAny>,
    /// Where it is, as Python has set it.
    place: Mutex<Option<Py<PyAny>>>,
}

/// Where the members of one object are.
#[pyclass(frozen, module = "farroot._core")]
pub struct Source {
    record: Arc<Record>,
    id: ObjectId,
}

#[pymethods]
impl Source {
    /// Where the record is that the object is in.
    #[getter]
    fn record(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.record.place.lock().as_ref().map(|place| place.clone_ref(py))
    }

    /// The object's position in its record.
    #[getter]
    fn position(&self) -> usize {
        self.id.position()
    }

    /// Takes where the record is.
    fn record_is(&self, place: Py<PyAny>) {
        *self.record.place.lock() = Some(place);
    }

    /// A member by its name, its own or that of a base class, which is kept in `apart`; `default`
    /// where it is not there, or not without filling the object.
    fn find<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        apart: &Bound<'py, PyDict>,
        default: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let objects = self.record.objects.lock();
        let Some((owner, member)) = objects.get(self.id).place(name) else { return Ok(default) };
        let place = place(owner, member);
        let value = objects.get(owner).value_at(member);
        // Numbers are copied only once.
        let value = if apart.contains(place)? { None } else { Some(value.clone()) };
        drop(objects);
        let Some(value) = value else { return Ok(apart.get_item(place)?.unwrap_or(default)) };
        let made = into_python(py, value, &|id| self.record.instance(py, id))?;
        // Another thread may have been faster.
        let made = apart.call_method1("setdefault", (place, made))?;
        self.record.objects.lock().take_value(owner, member);
        Ok(made)
    }

    /// Fills its object, once.
    fn fill(&self, py: Python<'_>, instance: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut objects = self.record.objects.lock();
        let unread = objects.get(self.id).unread().cloned();
        let bases: Vec<ObjectId> = objects.get(self.id).bases().collect();
        let members = objects.take_members(self.id);
        drop(objects);
        let apart = instance.getattr("__dict__")?.cast_into::<PyDict>()?.get_item("_apart")?;
        let apart = apart.map(|apart| apart.cast_into::<PyDict>()).transpose()?;
        let instance_of = |id| {
            let instance = self.record.instance(py, id)?;
            if let (true, Some(apart)) = (bases.contains(&id), &apart) {
                instance.setattr("_apart", apart)?;
            }
            Ok(instance)
        };
        let apart = apart.as_ref().map(|apart| (self.id, apart));
        let filled = fill(instance, unread, &members, &bases, apart, &instance_of);
        if filled.is_err() {
            // For the next attempt.
            self.record.objects.lock().put_members(self.id, members);
        }
        filled
    }
}

impl Record {
    fn new(objects: Objects, make: &Bound<'_, PyAny>) -> Arc<Record> {
        let make = make.clone().unbind();
        Arc::new(Record { objects: Mutex::new(objects), make, place: Mutex::new(None) })
    }

    fn instance<'py>(
        self: &Arc<Self>,
        py: Python<'py>,
        id: ObjectId,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (class, version) = {
            let objects = self.objects.lock();
            if let Some(number) = complex(py, &objects, id)? {
                return Ok(number);
            }
            let object = objects.get(id);
            (PyString::intern(py, object.class()), object.version())
        };
        let source = Source { record: self.clone(), id };
        self.make.bind(py).call1((class, version, source))
    }
}

/// Objects that refer to each other in any way: each is the same one wherever it turns up.
fn all_at_once(
    py: Python<'_>,
    mut objects: Objects,
    make: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let made = objects.iter().map(|one| match complex(py, &objects, one.id)? {
        Some(number) => Ok(number),
        None => make.call1((one.class(), one.version(), py.None())),
    });
    let made = made.collect::<PyResult<Vec<_>>>()?;
    let instance_of = |id: ObjectId| Ok(made[id.position()].clone());
    let mut ids: Vec<ObjectId> = Vec::with_capacity(made.len());
    for object in objects.iter() {
        if complex(py, &objects, object.id)?.is_none() {
            ids.push(object.id);
        }
    }
    for id in &ids {
        let unread = objects.get(*id).unread().cloned();
        let bases: Vec<ObjectId> = objects.get(*id).bases().collect();
        let members = objects.take_members(*id);
        fill(&made[id.position()], unread, &members, &bases, None, &instance_of)?;
    }
    let record = Record::new(objects, make);
    for id in ids {
        made[id.position()].setattr("_filled_by", Source { record: record.clone(), id })?;
    }
    Ok(made[0].clone().unbind())
}

/// Other names for members of one name, by position; each with the base classes that it came
/// through, the nearest first.
#[pyfunction]
pub fn told_apart(members: Vec<(String, Vec<String>)>) -> Vec<(usize, String)> {
    let members: Vec<(&str, &[String])> =
        members.iter().map(|(name, bases)| (&**name, &bases[..])).collect();
    engine::told_apart_from_first(&members)
}

/// An object of `std::complex` as the number that it is.
fn complex<'py>(
    py: Python<'py>,
    objects: &Objects,
    id: ObjectId,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let object = objects.get(id);
    let Some(dtype) = columns::complex_dtype(object.class()) else { return Ok(None) };
    let mut parts = object.members().map(|(_, value)| value);
    match (parts.next(), parts.next(), parts.next()) {
        (Some(Value::Float(real)), Some(Value::Float(imaginary)), None) => {
            let number = PyComplex::from_doubles(py, *real, *imaginary);
            Ok(Some(py.import("numpy")?.getattr(dtype)?.call1((number,))?))
        }
        _ => Ok(None),
    }
}

/// The key of a member that was given out before its object was filled.
fn place(owner: ObjectId, member: usize) -> u64 {
    (owner.position() as u64) << 32 | member as u64
}

type InstanceOf<'f, 'py> = &'f dyn Fn(ObjectId) -> PyResult<Bound<'py, PyAny>>;

fn fill<'py>(
    instance: &Bound<'py, PyAny>,
    unread: Option<Unread>,
    members: &[(Arc<str>, Value)],
    bases: &[ObjectId],
    apart: Option<(ObjectId, &Bound<'py, PyDict>)>,
    instance_of: InstanceOf<'_, 'py>,
) -> PyResult<()> {
    let py = instance.py();
    if let Some(Unread { bytes, why }) = unread {
        instance.call_method1("lack", (why.to_string(), PyBytes::new(py, &bytes)))?;
        return Ok(());
    }
    let own = PyDict::new(py);
    for (at, (name, member)) in members.iter().enumerate() {
        // Its own members only.
        if matches!(member, Value::Object(id) if bases.contains(id)) {
            continue;
        }
        let given = match apart {
            Some((owner, apart)) => apart.get_item(place(owner, at))?,
            None => None,
        };
        let member = given.map_or_else(|| value(py, member, instance_of), Ok)?;
        own.set_item(PyString::intern(py, name), member)?;
    }
    let bases = bases.iter().map(|base| instance_of(*base)).collect::<PyResult<Vec<_>>>()?;
    instance.call_method1("fill", (own, bases))?;
    Ok(())
}

/// As [`value`], of a value that is not needed any more.
fn into_python<'py>(
    py: Python<'py>,
    value: Value,
    instance_of: InstanceOf<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Numbers(numbers) => columns::flat(py, numbers),
        other => self::value(py, &other, instance_of),
    }
}

fn value<'py>(
    py: Python<'py>,
    value: &Value,
    instance_of: InstanceOf<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null | Value::Lost => py.None().into_bound(py),
        Value::Bool(yes) => yes.into_pyobject(py)?.to_owned().into_any(),
        Value::Int(number) => number.into_pyobject(py)?.into_any(),
        Value::Uint(number) => number.into_pyobject(py)?.into_any(),
        Value::Float(number) => number.into_pyobject(py)?.into_any(),
        Value::Text(text) => string(py, text)?,
        Value::Numbers(numbers) => columns::flat(py, numbers.clone())?,
        Value::List(values) => {
            let items = values.iter().map(|item| self::value(py, item, instance_of));
            let items = items.collect::<PyResult<Vec<_>>>()?;
            let are_complex = !items.is_empty() && items.iter().all(is_complex);
            let list = PyList::new(py, items)?.into_any();
            if are_complex { py.import("numpy")?.call_method1("array", (list,))? } else { list }
        }
        Value::Map(pairs) => {
            let map = PyDict::new(py);
            for (key, mapped) in pairs {
                map.set_item(
                    self::value(py, key, instance_of)?,
                    self::value(py, mapped, instance_of)?,
                )?;
            }
            map.into_any()
        }
        Value::Pairs(pairs) => {
            let pairs = pairs.iter().map(|(key, mapped)| {
                Ok((self::value(py, key, instance_of)?, self::value(py, mapped, instance_of)?))
            });
            PyList::new(py, pairs.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Value::Object(id) => instance_of(*id)?,
    })
}

/// Whether a value is one that [`complex`] has made.
fn is_complex(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyComplex>()
        || value.get_type().name().is_ok_and(|name| name == "complex64")
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
