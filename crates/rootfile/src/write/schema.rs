//! What a table's columns are, before the format decides how each is stored.

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
}

/// A column of a table that is to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct TableColumn {
    pub name: String,
    /// What a user reads about it: a branch's title, a field's description.
    pub title: String,
    pub entry: EntryType,
}

impl EntryType {
    /// The type of an array's entries.
    ///
    /// # Errors
    /// `Unsupported` for unions, which no format here can hold.
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
            Array::Union { .. } => {
                return Err(Error::unsupported("values of several types in one column"));
            }
        })
    }

    /// Whether the array's entries are of this type.
    ///
    /// # Errors
    /// `Unsupported` with both types where they are not.
    pub fn check(&self, array: &Array) -> Result<()> {
        let of = EntryType::of(array)?;
        match of == *self {
            true => Ok(()),
            false => Err(Error::unsupported(format!("entries of {of}, the column has {self}"))),
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
                    write!(f, "{}{name}: {member}", if at == 0 { "" } else { ", " })?;
                }
                write!(f, "}}")
            }
            EntryType::Option(content) => write!(f, "?{content}"),
        }
    }
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
        assert!(EntryType::of(&list).unwrap().check(&numbers).is_err());
        let union = Array::Union { tags: vec![], index: vec![], contents: vec![] };
        assert!(EntryType::of(&union).is_err());
    }
}
