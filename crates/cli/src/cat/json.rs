//! Entries as lines of JSON.

use engine::{Array, Batch, Numbers};
use serde_json::{Number, Value, json};

use super::Rows;

/// One object an entry, and no line before the first.
pub(super) const ROWS: Rows = Rows { head: |_, _| {}, batch: write };

fn write(out: &mut Vec<u8>, batch: &Batch) {
    for row in 0..usize::try_from(batch.len()).unwrap_or(usize::MAX) {
        // In the order of the columns, which a map would not keep.
        let member = |(name, array): &(String, Array)| {
            format!("{}:{}", Value::from(name.as_str()), value(array, row))
        };
        let members: Vec<String> = batch.columns.iter().map(member).collect();
        out.extend_from_slice(format!("{{{}}}\n", members.join(",")).as_bytes());
    }
}

fn value(array: &Array, row: usize) -> Value {
    match array {
        Array::Numbers { numbers, shape } => {
            let width = shape.iter().product::<usize>();
            shaped(numbers, shape, row * width)
        }
        Array::List { offsets, content } => {
            let items = offsets[row] as usize..offsets[row + 1] as usize;
            items.map(|at| value(content, at)).collect()
        }
        Array::Strings { offsets, bytes } => {
            let text = &bytes[offsets[row] as usize..offsets[row + 1] as usize];
            Value::String(String::from_utf8_lossy(text).into_owned())
        }
        Array::Record { fields, .. } => {
            let member = |(name, field): &(String, Array)| (name.clone(), value(field, row));
            Value::Object(fields.iter().map(member).collect())
        }
        Array::Regular { length, content, .. } => {
            (row * length..(row + 1) * length).map(|at| value(content, at)).collect()
        }
        Array::Option { index, content } => at(content, index[row]),
        Array::Union { tags, index, contents } => match usize::try_from(tags[row]) {
            Ok(tag) => at(&contents[tag], index[row]),
            Err(_) => Value::Null,
        },
        Array::Marked { content, .. } => value(content, row),
    }
}

/// The entry at a position, if there is one.
fn at(content: &Array, position: i64) -> Value {
    usize::try_from(position).map_or(Value::Null, |row| value(content, row))
}

/// Numbers of one entry, in as many brackets as it has dimensions.
fn shaped(numbers: &Numbers, shape: &[usize], start: usize) -> Value {
    let Some((outer, inner)) = shape.split_first() else { return number(numbers, start) };
    let width = inner.iter().product::<usize>();
    (0..*outer).map(|at| shaped(numbers, inner, start + at * width)).collect()
}

fn number(numbers: &Numbers, at: usize) -> Value {
    match numbers {
        Numbers::Bool(values) => Value::Bool(values[at] != 0),
        Numbers::I8(values) => json!(values[at]),
        Numbers::I16(values) => json!(values[at]),
        Numbers::I32(values) => json!(values[at]),
        Numbers::I64(values) => json!(values[at]),
        Numbers::U8(values) => json!(values[at]),
        Numbers::U16(values) => json!(values[at]),
        Numbers::U32(values) => json!(values[at]),
        Numbers::U64(values) => json!(values[at]),
        // As short as it can be written: 0.1 rather than 0.10000000149011612.
        Numbers::F32(values) => real(values[at].to_string().parse().unwrap_or(f64::NAN)),
        Numbers::F64(values) => real(values[at]),
    }
}

/// JSON has neither NaN nor infinities.
fn real(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_kind() {
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
