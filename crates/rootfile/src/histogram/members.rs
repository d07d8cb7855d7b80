//! Members of objects: floating-point numbers, and arrays of them.

use crate::array::Numbers;
use crate::object::{ObjectId, ObjectRef, Objects, Value};

/// A floating-point member; `None` for one of another type.
pub fn number(object: ObjectRef<'_>, name: &str) -> Option<f64> {
    match object.member(name)? {
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// A floating-point member; 0 where there is none.
pub fn real(object: ObjectRef<'_>, name: &str) -> f64 {
    number(object, name).unwrap_or_default()
}

/// The numbers of a `TArrayD`; empty where there is none.
pub fn extra(object: ObjectRef<'_>, name: &str) -> Vec<f64> {
    let array = object.member(name).and_then(|_| object.pointed(name).ok().flatten());
    match array.and_then(|array| array.member("fArray")) {
        Some(Value::Numbers(Numbers::F64(numbers))) => numbers.clone(),
        _ => Vec::new(),
    }
}

/// Gives a `TArrayD` other numbers.
pub fn set_extra(objects: &mut Objects, object: ObjectId, name: &str, numbers: Vec<f64>) {
    let array = objects.get(object).pointed(name).ok().flatten().map(|array| array.id);
    if let Some(array) = array {
        objects.set(array, "fArray", Value::Numbers(Numbers::F64(numbers)));
    }
}
