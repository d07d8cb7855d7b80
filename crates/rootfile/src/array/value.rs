//! Single entries of a column, for those who print or walk them. Loops over numbers are many times
//! faster over the buffers themselves.

use std::fmt;
use std::ops::Range;

use super::{Array, Numbers};

/// One entry of a column. Its text is `1.5`, `[1, 2]`, `text`, `{x: 1, y: 2}` or `null`.
#[derive(Debug, Clone)]
pub enum ValueRef<'a> {
    /// There is none, in a column that may lack some.
    Missing,
    Bool(bool),
    Int(i64),
    Uint(u64),
    F32(f32),
    F64(f64),
    /// A string, in whatever encoding was written.
    Text(&'a [u8]),
    List(ListRef<'a>),
    Record(RecordRef<'a>),
}

/// The items of a list, first to last.
#[derive(Debug, Clone)]
pub struct ListRef<'a> {
    items: Items<'a>,
    /// Positions that are still to come.
    left: Range<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Items<'a> {
    Of(&'a Array),
    /// Numbers of one entry, where items are numbers or, by `inner` shape, lists of them.
    Shaped {
        numbers: &'a Numbers,
        start: usize,
        inner: &'a [usize],
    },
}

/// The fields of a record with their names.
#[derive(Debug, Clone)]
pub struct RecordRef<'a> {
    fields: &'a [(String, Array)],
    row: usize,
}

impl Array {
    /// The entry at a position.
    ///
    /// # Panics
    /// Where there is no such entry, as with slices.
    pub fn value(&self, row: usize) -> ValueRef<'_> {
        match self {
            Array::Numbers { numbers, shape } => shaped(numbers, shape, row * super::width(shape)),
            Array::List { offsets, content } => list(content, span(offsets, row)),
            Array::Strings { offsets, bytes } => ValueRef::Text(&bytes[span(offsets, row)]),
            Array::Record { fields, entries, .. } => {
                assert!(row < *entries, "entry {row} of {entries}");
                ValueRef::Record(RecordRef { fields, row })
            }
            Array::Regular { length, entries, content } => {
                assert!(row < *entries, "entry {row} of {entries}");
                list(content, row * length..(row + 1) * length)
            }
            Array::Option { index, content } => at(content, index[row]),
            Array::Union { tags, index, contents } => match usize::try_from(tags[row]) {
                Ok(tag) => at(&contents[tag], index[row]),
                Err(_) => ValueRef::Missing,
            },
            Array::WithParameter { content, .. } => content.value(row),
        }
    }

    /// All entries, first to last.
    pub fn values(&self) -> ListRef<'_> {
        ListRef { items: Items::Of(self), left: 0..self.len() }
    }
}

fn list(content: &Array, left: Range<usize>) -> ValueRef<'_> {
    ValueRef::List(ListRef { items: Items::Of(content), left })
}

/// The entry at a position, if there is one.
fn at(content: &Array, position: i64) -> ValueRef<'_> {
    usize::try_from(position).map_or(ValueRef::Missing, |row| content.value(row))
}

/// Where an entry of a list lies; offsets ascend from zero.
fn span(offsets: &[i64], row: usize) -> Range<usize> {
    offsets[row] as usize..offsets[row + 1] as usize
}

/// Numbers of one entry, in as many lists as it has dimensions.
fn shaped<'a>(numbers: &'a Numbers, shape: &'a [usize], start: usize) -> ValueRef<'a> {
    match shape.split_first() {
        None => numbers.value(start),
        Some((outer, inner)) => {
            let items = Items::Shaped { numbers, start, inner };
            ValueRef::List(ListRef { items, left: 0..*outer })
        }
    }
}

impl Numbers {
    /// The number at a position.
    fn value(&self, at: usize) -> ValueRef<'_> {
        match self {
            Numbers::Bool(values) => ValueRef::Bool(values[at] != 0),
            Numbers::I8(values) => ValueRef::Int(values[at].into()),
            Numbers::I16(values) => ValueRef::Int(values[at].into()),
            Numbers::I32(values) => ValueRef::Int(values[at].into()),
            Numbers::I64(values) => ValueRef::Int(values[at]),
            Numbers::U8(values) => ValueRef::Uint(values[at].into()),
            Numbers::U16(values) => ValueRef::Uint(values[at].into()),
            Numbers::U32(values) => ValueRef::Uint(values[at].into()),
            Numbers::U64(values) => ValueRef::Uint(values[at]),
            Numbers::F32(values) => ValueRef::F32(values[at]),
            Numbers::F64(values) => ValueRef::F64(values[at]),
        }
    }
}

impl<'a> Iterator for ListRef<'a> {
    type Item = ValueRef<'a>;

    fn next(&mut self) -> Option<ValueRef<'a>> {
        let at = self.left.next()?;
        Some(match self.items {
            Items::Of(array) => array.value(at),
            Items::Shaped { numbers, start, inner } => {
                shaped(numbers, inner, start + at * super::width(inner))
            }
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl ExactSizeIterator for ListRef<'_> {}

impl<'a> RecordRef<'a> {
    /// The fields in their order.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = (&'a str, ValueRef<'a>)> + use<'a> {
        let row = self.row;
        self.fields.iter().map(move |(name, field)| (name.as_str(), field.value(row)))
    }

    /// The field of that name, if there is one.
    pub fn get(&self, name: &str) -> Option<ValueRef<'a>> {
        self.fields().find(|(field, _)| *field == name).map(|(_, value)| value)
    }
}

impl fmt::Display for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueRef::Missing => f.write_str("null"),
            ValueRef::Bool(value) => write!(f, "{value}"),
            ValueRef::Int(value) => write!(f, "{value}"),
            ValueRef::Uint(value) => write!(f, "{value}"),
            ValueRef::F32(value) => write!(f, "{value}"),
            ValueRef::F64(value) => write!(f, "{value}"),
            ValueRef::Text(text) => f.write_str(&String::from_utf8_lossy(text)),
            ValueRef::List(items) => {
                for (at, item) in items.clone().enumerate() {
                    write!(f, "{}{item}", if at == 0 { "[" } else { ", " })?;
                }
                f.write_str(if items.len() == 0 { "[]" } else { "]" })
            }
            ValueRef::Record(record) => {
                f.write_str("{")?;
                for (at, (name, value)) in record.fields().enumerate() {
                    write!(f, "{}{name}: {value}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(values: &[f32], shape: &[usize]) -> Array {
        Array::Numbers { numbers: Numbers::F32(values.to_vec()), shape: shape.to_vec() }
    }

    fn shown(array: &Array, row: usize) -> String {
        array.value(row).to_string()
    }

    #[test]
    fn values_of_every_kind() {
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
        let ValueRef::Record(fields) = record.value(0) else { panic!("a record") };
        assert!(matches!(fields.get("x"), Some(ValueRef::F32(2.5))));
        assert!(fields.get("z").is_none());
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
        let values: Vec<String> = optional.values().map(|value| value.to_string()).collect();
        assert_eq!(values, ["2", "null"]);
    }
}
