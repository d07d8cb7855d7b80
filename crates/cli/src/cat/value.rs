//! Values as text.

use std::fmt::Write;
use std::ops::Range;

use engine::{Array, Numbers};

/// An entry without a value.
const MISSING: &str = "null";

/// One entry of a column: `1.5`, `[1, 2]`, `text`, `{x: 1, y: 2}`.
pub fn shown(array: &Array, row: usize) -> String {
    let mut out = String::new();
    write_value(&mut out, array, row);
    out
}

fn write_value(out: &mut String, array: &Array, row: usize) {
    match array {
        Array::Numbers { numbers, shape } => {
            let width = shape.iter().product::<usize>();
            write_shaped(out, numbers, shape, row * width..(row + 1) * width);
        }
        Array::List { offsets, content } => {
            bracketed(out, span(offsets, row), |out, at| write_value(out, content, at));
        }
        Array::Strings { offsets, bytes } => {
            out.push_str(&String::from_utf8_lossy(&bytes[span(offsets, row)]));
        }
        Array::Record { fields, .. } => {
            out.push('{');
            for (at, (name, field)) in fields.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                out.push_str(name);
                out.push_str(": ");
                write_value(out, field, row);
            }
            out.push('}');
        }
        Array::Regular { length, content, .. } => {
            let items = row * length..(row + 1) * length;
            bracketed(out, items, |out, at| write_value(out, content, at));
        }
        Array::Option { index, content } => write_at(out, content, index[row]),
        Array::Union { tags, index, contents } => match usize::try_from(tags[row]) {
            Ok(tag) => write_at(out, &contents[tag], index[row]),
            Err(_) => out.push_str(MISSING),
        },
        Array::Marked { content, .. } => write_value(out, content, row),
    }
}

/// The entry at a position, if there is one.
fn write_at(out: &mut String, content: &Array, position: i64) {
    match usize::try_from(position) {
        Ok(row) => write_value(out, content, row),
        Err(_) => out.push_str(MISSING),
    }
}

/// Where an entry of a list lies; offsets ascend from zero.
fn span(offsets: &[i64], row: usize) -> Range<usize> {
    offsets[row] as usize..offsets[row + 1] as usize
}

fn bracketed(out: &mut String, items: Range<usize>, mut write: impl FnMut(&mut String, usize)) {
    out.push('[');
    for at in items.clone() {
        out.push_str(if at == items.start { "" } else { ", " });
        write(out, at);
    }
    out.push(']');
}

/// Numbers of one entry, in as many brackets as it has dimensions.
fn write_shaped(out: &mut String, numbers: &Numbers, shape: &[usize], span: Range<usize>) {
    let Some((outer, inner)) = shape.split_first() else {
        return write_number(out, numbers, span.start);
    };
    let width = inner.iter().product::<usize>();
    bracketed(out, 0..*outer, |out, at| {
        let start = span.start + at * width;
        write_shaped(out, numbers, inner, start..start + width);
    });
}

fn write_number(out: &mut String, numbers: &Numbers, at: usize) {
    // Writing to a string cannot fail.
    let _ = match numbers {
        Numbers::Bool(values) => write!(out, "{}", values[at] != 0),
        Numbers::I8(values) => write!(out, "{}", values[at]),
        Numbers::I16(values) => write!(out, "{}", values[at]),
        Numbers::I32(values) => write!(out, "{}", values[at]),
        Numbers::I64(values) => write!(out, "{}", values[at]),
        Numbers::U8(values) => write!(out, "{}", values[at]),
        Numbers::U16(values) => write!(out, "{}", values[at]),
        Numbers::U32(values) => write!(out, "{}", values[at]),
        Numbers::U64(values) => write!(out, "{}", values[at]),
        Numbers::F32(values) => write!(out, "{}", values[at]),
        Numbers::F64(values) => write!(out, "{}", values[at]),
    };
}

/// A field of CSV (RFC 4180): in quotes where it must be.
pub fn csv_field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
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
        assert_eq!(shown(&numbers(&[1.5, -0.1], &[]), 1), "-0.1");
        assert_eq!(shown(&numbers(&[1., 2., 3., 4., 5., 6.], &[3]), 1), "[4, 5, 6]");
        assert_eq!(shown(&numbers(&[1., 2., 3., 4.], &[2, 2]), 0), "[[1, 2], [3, 4]]");
        let list = Array::List {
            offsets: vec![0, 0, 2].into(),
            content: Box::new(Array::Strings { offsets: vec![0, 1, 3], bytes: b"abc".into() }),
        };
        assert_eq!((shown(&list, 0), shown(&list, 1)), ("[]".into(), "[a, bc]".into()));
        let record = Array::Record {
            class: None,
            entries: 1,
            fields: vec![
                ("x".into(), numbers(&[2.5], &[])),
                ("y".into(), numbers(&[f32::NAN], &[])),
            ],
        };
        assert_eq!(shown(&record, 0), "{x: 2.5, y: NaN}");
        let content = Box::new(numbers(&[1., 2.], &[]));
        let optional = Array::Option { index: vec![1, -1], content: content.clone() };
        assert_eq!((shown(&optional, 0), shown(&optional, 1)), ("2".into(), "null".into()));
        let union = Array::Union {
            tags: vec![1, 0, -1],
            index: vec![0, 1, 0],
            contents: vec![numbers(&[1., 2.], &[]), list],
        };
        assert_eq!([0, 1, 2].map(|row| shown(&union, row)), ["[]", "2", "null"]);
        let regular = Array::Regular { length: 2, entries: 1, content };
        assert_eq!(shown(&regular, 0), "[1, 2]");
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(csv_field("1.5"), "1.5");
        assert_eq!(csv_field("[1, 2]"), "\"[1, 2]\"");
        assert_eq!(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
    }
}
