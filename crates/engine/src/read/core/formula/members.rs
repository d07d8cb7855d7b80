//! Members of records in formulas.

use rootfile::Array;

use super::numbers::Computed;

/// The operator of a member: a column, and the names of members within each other.
pub(super) const MEMBER: &str = "member";

/// The names of the members of an array's records, whatever lists they are in; `None` where it has
/// no records.
pub(crate) fn members_of(array: &Array) -> Option<Vec<&str>> {
    match array {
        Array::Record { fields, .. } => Some(fields.iter().map(|(name, _)| &**name).collect()),
        Array::List { content, .. }
        | Array::Regular { content, .. }
        | Array::Option { content, .. }
        | Array::WithParameter { content, .. } => members_of(content),
        _ => None,
    }
}

/// A member of an array's records, in the lists that these are in.
pub(crate) fn member(array: Array, name: &str) -> Computed<Array> {
    Ok(match array {
        Array::Record { fields, .. } => {
            let found = fields.into_iter().find(|(field, _)| field == name);
            found.ok_or_else(|| format!("lacks a member {name:?}"))?.1
        }
        Array::List { offsets, content } => {
            Array::List { offsets, content: Box::new(member(*content, name)?) }
        }
        Array::Regular { length, entries, content } => {
            Array::Regular { length, entries, content: Box::new(member(*content, name)?) }
        }
        Array::Option { index, content } => {
            Array::Option { index, content: Box::new(member(*content, name)?) }
        }
        Array::WithParameter { content, .. } => member(*content, name)?,
        _ => return Err(format!("has the member {name:?} of a column that has no records")),
    })
}

#[cfg(test)]
mod tests {
    use rootfile::Numbers;

    use super::*;

    fn numbers(all: &[i32]) -> Array {
        Array::Numbers { numbers: Numbers::I32(all.to_vec()), shape: Vec::new() }
    }

    fn points() -> Array {
        let fields =
            vec![("x".to_owned(), numbers(&[1, 2, 3])), ("y".to_owned(), numbers(&[4, 5, 6]))];
        let content = Array::Record { class: None, entries: 3, fields };
        Array::List { offsets: vec![0, 2, 3].into(), content: Box::new(content) }
    }

    #[test]
    fn members_stay_in_their_lists() {
        assert_eq!(members_of(&points()), Some(vec!["x", "y"]));
        let expected =
            Array::List { offsets: vec![0, 2, 3].into(), content: Box::new(numbers(&[4, 5, 6])) };
        assert_eq!(member(points(), "y"), Ok(expected));
        assert!(member(points(), "z").is_err());
        assert!(member(numbers(&[1]), "x").is_err());
    }
}
