//! Strings and single numbers (ROOT: `TObjString`, `TParameter`).

use crate::write::buffer::{BITS, Buffer};
use crate::write::table::WritableObject;

/// A string as an object of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjString(pub String);

impl WritableObject for ObjString {
    fn class(&self) -> &'static str {
        "TObjString"
    }

    fn title(&self) -> &'static str {
        "Collectable string class"
    }

    fn classes(&self) -> Vec<&str> {
        vec!["TObjString"]
    }

    fn write(&self, to: &mut Buffer) {
        let count = to.begin(1);
        to.tobject(BITS);
        to.string(&self.0);
        to.end(count);
    }
}

/// A number that has a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    pub name: String,
    pub value: ParameterValue,
}

/// The number, in one of the types that ROOT has parameters of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParameterValue {
    Bool(bool),
    I32(i32),
    I64(i64),
    F32(f32),
    F64(f64),
}

impl WritableObject for Parameter {
    fn class(&self) -> &'static str {
        match self.value {
            ParameterValue::Bool(_) => "TParameter<bool>",
            ParameterValue::I32(_) => "TParameter<int>",
            ParameterValue::I64(_) => "TParameter<Long64_t>",
            ParameterValue::F32(_) => "TParameter<float>",
            ParameterValue::F64(_) => "TParameter<double>",
        }
    }

    fn title(&self) -> &'static str {
        ""
    }

    fn classes(&self) -> Vec<&str> {
        vec![self.class()]
    }

    fn write(&self, to: &mut Buffer) {
        let count = to.begin(2);
        to.tobject(BITS);
        to.string(&self.name);
        match self.value {
            ParameterValue::Bool(value) => to.bool(value),
            ParameterValue::I32(value) => to.i32(value),
            ParameterValue::I64(value) => to.i64(value),
            ParameterValue::F32(value) => to.f32(value),
            ParameterValue::F64(value) => to.f64(value),
        }
        to.end(count);
    }
}
