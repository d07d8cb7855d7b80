//! Entries as lines of JSON.

use engine::{Array, Batch, ValueRef};
use serde_json::{Number, Value, json};

use super::rows::Rows;

/// One object an entry, and no line before the first.
pub(super) const ROWS: Rows = Rows { head: |_, _| {}, batch: write };

fn write(out: &mut Vec<u8>, batch: &Batch) {
    for row in 0..usize::try_from(batch.len()).unwrap_or(usize::MAX) {
        // In the order of the columns, which a map would not keep.
        let member = |(name, array): &(String, Array)| {
            format!("{}:{}", Value::from(name.as_str()), value(array.value(row)))
        };
        let members: Vec<String> = batch.columns.iter().map(member).collect();
        out.extend_from_slice(format!("{{{}}}\n", members.join(",")).as_bytes());
    }
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Missing => Value::Null,
        ValueRef::Bool(value) => Value::Bool(value),
        ValueRef::Int(value) => json!(value),
        ValueRef::Uint(value) => json!(value),
        // As short as it can be written: 0.1 rather than 0.10000000149011612.
        ValueRef::F32(value) => real(value.to_string().parse().unwrap_or(f64::NAN)),
        ValueRef::F64(value) => real(value),
        ValueRef::Text(text) => Value::String(String::from_utf8_lossy(text).into_owned()),
        ValueRef::List(items) => items.map(self::value).collect(),
        ValueRef::Record(record) => {
            let member = |(name, field): (&str, _)| (name.to_owned(), self::value(field));
            Value::Object(record.fields().map(member).collect())
        }
    }
}

/// JSON has neither NaN nor infinities.
fn real(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use engine::Numbers;

    use super::*;

    #[test]
    fn values_of_every_kind() {
        let value = |array: &Array, row| super::value(array.value(row));
        let numbers = |values: &[f32], shape: &[usize]| Array::Numbers {
            numbers: Numbers::F32(values.to_vec()),
            shape: shape.to_vec(),
        };
        assert_eq!(value(&numbers(&[1.5, -0.1], &[]), 1), json!(-0.1));
        assert_eq!(
            value(&numbers(&[1., f32::NAN, f32::INFINITY, 4.], &[2, 2]), 0).to_string(),
            "[[1.0,null],[null,4.0]]"
        );
        let list = Array::List {
            offsets: vec![0, 0, 2].into(),
            content: Box::new(Array::Strings { offsets: vec![0, 1, 3], bytes: b"ab\"".into() }),
        };
        assert_eq!((value(&list, 0), value(&list, 1)), (json!([]), json!(["a", "b\""])));
        let content = Box::new(numbers(&[1., 2.], &[]));
        let optional = Array::Option { index: vec![1, -1], content };
        assert_eq!((value(&optional, 0), value(&optional, 1)), (json!(2.0), Value::Null));
        let whole = Array::Numbers { numbers: Numbers::U64(vec![u64::MAX]), shape: vec![] };
        assert_eq!(value(&whole, 0).to_string(), "18446744073709551615");
    }
}
