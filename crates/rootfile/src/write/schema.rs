//! Types of a table's columns, before the format decides how each is stored.

use crate::array::{Array, Number};
use crate::error::{Error, Result};

/// The type of a column's entries.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryType {
    Number(Number),
    /// Text, in whatever encoding.
    String,
    /// Always so many.
    Regular {
        length: usize,
        content: Box<EntryType>,
    },
    /// As many as each entry has.
    List(Box<EntryType>),
    /// Members by name.
    Record(Vec<(String, EntryType)>),
    /// One, or none.
    Option(Box<EntryType>),
    /// One of several types.
    Union(Vec<EntryType>),
}

/// A column of a table that is to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct TableColumn {
    pub name: String,
    /// Description for users: a branch's title, a field's description.
    pub title: String,
    pub entry: EntryType,
}

impl TableColumn {
    /// A column without a title.
    pub fn new(name: impl Into<String>, entry: EntryType) -> Self {
        TableColumn { name: name.into(), title: String::new(), entry }
    }
}

impl EntryType {
    /// The type of an array's entries.
    ///
    /// # Errors
    /// `Unsupported` for unions of no types.
    pub fn of(array: &Array) -> Result<EntryType> {
        Ok(match array {
            Array::Numbers { numbers, shape } => {
                let number = EntryType::Number(Number::of(numbers));
                shape.iter().rev().fold(number, |content, length| EntryType::Regular {
                    length: *length,
                    content: Box::new(content),
                })
            }
            Array::List { content, .. } => EntryType::List(Box::new(EntryType::of(content)?)),
            Array::Strings { .. } => EntryType::String,
            Array::Record { fields, .. } => {
                let member = |(name, array): &(String, Array)| {
                    let within = |error: Error| error.within(name);
                    Ok((name.clone(), EntryType::of(array).map_err(within)?))
                };
                EntryType::Record(fields.iter().map(member).collect::<Result<_>>()?)
            }
            Array::Regular { length, content, .. } => {
                EntryType::Regular { length: *length, content: Box::new(EntryType::of(content)?) }
            }
            Array::Option { content, .. } => EntryType::Option(Box::new(EntryType::of(content)?)),
            Array::WithParameter { content, .. } => EntryType::of(content)?,
            Array::Union { contents, .. } if contents.is_empty() => {
                return Err(Error::unsupported("values of no type"));
            }
            Array::Union { contents, .. } => {
                EntryType::Union(contents.iter().map(EntryType::of).collect::<Result<_>>()?)
            }
        })
    }

    /// Whether the array's entries are of this type.
    ///
    /// # Errors
    /// `Unsupported` with both types where they are not.
    pub fn check(&self, array: &Array) -> Result<()> {
        if self.is_of(array) {
            return Ok(());
        }
        let of = EntryType::of(array)?;
        Err(Error::unsupported(format!("entries of {of}, the column has {self}")))
    }

    /// Whether it is the type that [`EntryType::of`] gives, without making that: entries may come
    /// one by one.
    fn is_of(&self, array: &Array) -> bool {
        match (self, array) {
            (entry, Array::WithParameter { content, .. }) => entry.is_of(content),
            (entry, Array::Numbers { numbers, shape }) => {
                let mut inner = entry;
                for wanted in shape {
                    match inner {
                        EntryType::Regular { length, content } if length == wanted => {
                            inner = content;
                        }
                        _ => return false,
                    }
                }
                *inner == EntryType::Number(Number::of(numbers))
            }
            (EntryType::List(entry), Array::List { content, .. })
            | (EntryType::Option(entry), Array::Option { content, .. }) => entry.is_of(content),
            (
                EntryType::Regular { length, content: entry },
                Array::Regular { length: len, content, .. },
            ) => length == len && entry.is_of(content),
            (EntryType::String, Array::Strings { .. }) => true,
            (EntryType::Union(types), Array::Union { contents, .. }) => {
                let are_of = || types.iter().zip(contents).all(|(entry, array)| entry.is_of(array));
                types.len() == contents.len() && are_of()
            }
            (EntryType::Record(members), Array::Record { fields, .. }) => {
                let same =
                    |((name, entry), (field, array)): (&(String, EntryType), &(String, Array))| {
                        name == field && entry.is_of(array)
                    };
                members.len() == fields.len() && members.iter().zip(fields).all(same)
            }
            _ => false,
        }
    }
}

/// As Awkward spells it: `var * float32`.
impl std::fmt::Display for EntryType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EntryType::Number(number) => write!(f, "{}", number.empty().dtype()),
            EntryType::String => write!(f, "string"),
            EntryType::Regular { length, content } => write!(f, "{length} * {content}"),
            EntryType::List(content) => write!(f, "var * {content}"),
            EntryType::Record(members) => {
                write!(f, "{{")?;
                for (at, (name, member)) in members.iter().enumerate() {
                    write!(f, "{}", if at == 0 { "" } else { ", " })?;
                    match is_identifier(name) {
                        true => write!(f, "{name}: {member}")?,
                        false => write!(f, "{name:?}: {member}")?,
                    }
                }
                write!(f, "}}")
            }
            EntryType::Option(content) => write!(f, "?{content}"),
            EntryType::Union(types) => {
                let types: Vec<String> = types.iter().map(ToString::to_string).collect();
                write!(f, "union[{}]", types.join(", "))
            }
        }
    }
}

/// Whether the name of a member is written without quotes.
fn is_identifier(name: &str) -> bool {
    let is_usual = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.chars().all(is_usual) && name.starts_with(|first: char| !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Numbers;

    #[test]
    fn types_of_arrays() {
        let numbers = Array::Numbers { numbers: Numbers::F32(vec![0.0; 12]), shape: vec![2, 3] };
        assert_eq!(EntryType::of(&numbers).unwrap().to_string(), "2 * 3 * float32");
        let list = Array::List { offsets: vec![0, 2].into(), content: Box::new(numbers.clone()) };
        assert_eq!(EntryType::of(&list).unwrap().to_string(), "var * 2 * 3 * float32");
        let fields = vec![("a".to_owned(), list.clone())];
        let record = Array::Record { class: None, entries: 1, fields };
        assert_eq!(EntryType::of(&record).unwrap().to_string(), "{a: var * 2 * 3 * float32}");
        let contents = vec![numbers.clone(), record.clone()];
        let union = Array::Union { tags: vec![], index: vec![], contents };
        let said = EntryType::of(&union).unwrap().to_string();
        assert_eq!(said, "union[2 * 3 * float32, {a: var * 2 * 3 * float32}]");
        let arrays = [numbers, list, record, union];
        for (at, array) in arrays.iter().enumerate() {
            let entry = EntryType::of(array).unwrap();
            for (other_at, other) in arrays.iter().enumerate() {
                assert_eq!(entry.check(other).is_ok(), at == other_at);
            }
        }
        let union = Array::Union { tags: vec![], index: vec![], contents: vec![] };
        assert!(EntryType::of(&union).is_err());
    }
}
