//! Types that hold the entries of two arrays exactly, and arrays as such a type.

use super::{Array, ArrayParameter, Number, Numbers, Offsets};
use crate::error::{Error, Result};

/// How many bits of a whole number each floating-point type holds exactly.
const BITS_OF_F32: u32 = 24;
const BITS_OF_F64: u32 = 53;

impl Number {
    /// The smallest type that holds all numbers of both exactly, as NumPy's `promote_types`; `None`
    /// where that one would round.
    pub fn common(self, other: Number) -> Option<Number> {
        match (self.whole(), other.whole()) {
            _ if self == other => Some(self),
            // Truth values are 0 and 1 in all other types.
            _ if self == Number::Bool => Some(other),
            _ if other == Number::Bool => Some(self),
            (None, None) => Some(Number::F64),
            (Some((_, bits)), None) => other.holding(bits),
            (None, Some((_, bits))) => self.holding(bits),
            (Some(mine), Some(their)) => Number::of_both(mine, their),
        }
    }

    /// Whether a whole number has a sign, and its bits; `None` of others.
    fn whole(self) -> Option<(bool, u32)> {
        let has_sign = match self {
            Number::F32 | Number::F64 => return None,
            Number::I8 | Number::I16 | Number::I32 | Number::I64 => true,
            Number::Bool | Number::U8 | Number::U16 | Number::U32 | Number::U64 => false,
        };
        Some((has_sign, 8 * self.size() as u32))
    }

    /// The floating-point type from this one on that holds whole numbers of so many bits.
    fn holding(self, bits: u32) -> Option<Number> {
        match self {
            Number::F32 if bits <= BITS_OF_F32 => Some(Number::F32),
            _ if bits <= BITS_OF_F64 => Some(Number::F64),
            _ => None,
        }
    }

    fn of_both(mine: (bool, u32), their: (bool, u32)) -> Option<Number> {
        let bits = match (mine, their) {
            ((true, signed), (false, plain)) | ((false, plain), (true, signed)) => {
                signed.max(2 * plain)
            }
            ((_, mine), (_, their)) => mine.max(their),
        };
        Some(match (mine.0 || their.0, bits) {
            (true, 8) => Number::I8,
            (true, 16) => Number::I16,
            (true, 32) => Number::I32,
            (true, 64) => Number::I64,
            (false, 8) => Number::U8,
            (false, 16) => Number::U16,
            (false, 32) => Number::U32,
            (false, 64) => Number::U64,
            _ => return None,
        })
    }
}

impl Array {
    /// The smallest type that holds the entries of both exactly, as an array without entries:
    /// wider numbers, lists for arrays of a fixed length. `None` where there is none.
    pub fn common_type(&self, other: &Array) -> Option<Array> {
        use Array::{List, Numbers, Option as Optional, Record, Regular, Strings};
        match (self, other) {
            // Items of a class that a file does not describe.
            (one, nothing) if nothing.is_nothing() => Some(one.empty_like()),
            (nothing, one) if nothing.is_nothing() => Some(one.empty_like()),
            (Optional { content: mine, .. }, Optional { content: their, .. }) => {
                mine.common_type(their).map(optional)
            }
            (Optional { content, .. }, one) => content.common_type(one).map(optional),
            (one, Optional { content, .. }) => one.common_type(content).map(optional),
            (Numbers { numbers: mine, shape }, Numbers { numbers: their, shape: theirs })
                if shape == theirs =>
            {
                let numbers = Number::of(mine).common(Number::of(their))?.empty();
                Some(Numbers { numbers, shape: shape.clone() })
            }
            (List { content: mine, .. }, List { content: their, .. }) => {
                mine.common_type(their).map(list)
            }
            (Strings { .. }, Strings { .. }) => Some(self.empty_like()),
            (
                Regular { length, content: mine, .. },
                Regular { length: theirs, content: their, .. },
            ) if length == theirs => mine.common_type(their).map(|content| Regular {
                length: *length,
                entries: 0,
                content: Box::new(content),
            }),
            (Record { class, fields, .. }, Record { class: their_class, fields: theirs, .. }) => {
                let fields = common_fields(fields, theirs).filter(|_| class == their_class)?;
                Some(Record { class: class.clone(), entries: 0, fields })
            }
            (
                Array::WithParameter { parameter, content },
                Array::WithParameter { parameter: theirs, content: their },
            ) if parameter == theirs => match parameter {
                ArrayParameter::Objects => Some(self.empty_like()),
                _ => Some(content.common_type(their)?.with_parameter(*parameter)),
            },
            (Array::Union { .. }, Array::Union { .. }) => {
                let mine = self.empty_like();
                let their = other.empty_like();
                (mine == their).then_some(mine)
            }
            (one, other) => common_of_lists(one, other),
        }
    }

    /// The same entries as a type that [`Array::common_type`] gives for this and another one.
    ///
    /// # Errors
    /// `Unsupported` for any other type; `Limit` for more memory than there is.
    pub fn into_type(self, to: &Array) -> Result<Array> {
        use Array::{List, Numbers, Option as Optional, Record, Regular, WithParameter};
        match (self, to) {
            (one, nothing) if nothing.is_nothing() => Ok(one),
            (nothing, to) if nothing.is_nothing() => Ok(to.empty_like()),
            (Optional { index, content }, Optional { content: to, .. }) => {
                Ok(Optional { index, content: Box::new(content.into_type(to)?) })
            }
            (one, Optional { content: to, .. }) => {
                let index = (0..one.len() as i64).collect();
                Ok(Optional { index, content: Box::new(one.into_type(to)?) })
            }
            (Numbers { numbers, shape }, Numbers { numbers: to, shape: to_shape })
                if shape == *to_shape =>
            {
                Ok(Numbers { numbers: converted(numbers, Number::of(to))?, shape })
            }
            (List { offsets, content }, List { content: to, .. }) => {
                Ok(List { offsets, content: Box::new(content.into_type(to)?) })
            }
            (
                Regular { length, entries, content },
                Regular { length: to_length, content: to, .. },
            ) if length == *to_length => {
                Ok(Regular { length, entries, content: Box::new(content.into_type(to)?) })
            }
            (Record { class, entries, fields }, Record { fields: to, .. }) => {
                Ok(Record { class, entries, fields: fields_into(fields, to)? })
            }
            (WithParameter { parameter, content }, WithParameter { content: to, .. }) => {
                let content = match parameter {
                    ArrayParameter::Objects => content,
                    _ => Box::new(content.into_type(to)?),
                };
                Ok(WithParameter { parameter, content })
            }
            (one, List { content: to, .. }) => {
                let (length, content) = parts_of_regular(one).ok_or_else(no_such_type)?;
                let entries = content.len().checked_div(length).unwrap_or(0) as i64;
                let offsets: Vec<i64> = (0..=entries).map(|at| at * length as i64).collect();
                let content = Box::new(content.into_type(to)?);
                Ok(List { offsets: Offsets::from(offsets), content })
            }
            (one, Regular { length, content: to, .. }) => {
                let entries = one.len();
                let (own, content) = parts_of_regular(one).ok_or_else(no_such_type)?;
                match own == *length {
                    true => Ok(Regular {
                        length: *length,
                        entries,
                        content: Box::new(content.into_type(to)?),
                    }),
                    false => Err(no_such_type()),
                }
            }
            (one, to) if one.empty_like() == to.empty_like() => Ok(one),
            _ => Err(no_such_type()),
        }
    }
}

/// Numbers of a fixed shape beside arrays of a fixed length, and either beside lists.
fn common_of_lists(one: &Array, other: &Array) -> Option<Array> {
    let mine = parts_of_regular(one.empty_like());
    let their = parts_of_regular(other.empty_like());
    match (mine, their, one, other) {
        (Some((length, mine)), Some((theirs, their)), ..) => {
            let content = mine.common_type(&their)?;
            let regular = |content| Array::Regular { length, entries: 0, content };
            Some(if length == theirs { regular(Box::new(content)) } else { list(content) })
        }
        (Some((_, mine)), None, _, Array::List { content, .. }) => {
            mine.common_type(content).map(list)
        }
        (None, Some((_, their)), Array::List { content, .. }, _) => {
            content.common_type(&their).map(list)
        }
        _ => None,
    }
}

/// The outermost length of arrays of a fixed length, and their items; an array without items has no
/// entries that could be counted again.
fn parts_of_regular(array: Array) -> Option<(usize, Array)> {
    match array {
        Array::Numbers { numbers, shape } => {
            let (length, shape) = shape.split_first()?;
            let shape = shape.to_vec();
            (*length > 0).then_some((*length, Array::Numbers { numbers, shape }))
        }
        Array::Regular { length, content, .. } if length > 0 => Some((length, *content)),
        _ => None,
    }
}

/// Fields of the same names, in the order of the first.
fn common_fields(
    mine: &[(String, Array)],
    theirs: &[(String, Array)],
) -> Option<Vec<(String, Array)>> {
    let common = |(name, field): &(String, Array)| {
        let (_, their) = theirs.iter().find(|(their, _)| their == name)?;
        Some((name.clone(), field.common_type(their)?))
    };
    if mine.len() != theirs.len() {
        return None;
    }
    mine.iter().map(common).collect()
}

fn fields_into(
    mut fields: Vec<(String, Array)>,
    to: &[(String, Array)],
) -> Result<Vec<(String, Array)>> {
    let into = |(name, to): &(String, Array)| {
        let at = fields.iter().position(|(own, _)| own == name).ok_or_else(no_such_type)?;
        let (name, field) = fields.swap_remove(at);
        Ok((name, field.into_type(to)?))
    };
    to.iter().map(into).collect()
}

fn converted(numbers: Numbers, to: Number) -> Result<Numbers> {
    let from = Number::of(&numbers);
    match from.common(to) {
        _ if from == to => Ok(numbers),
        Some(common) if common == to => {
            let mut wider = to.empty();
            wider.extend_converted(&numbers)?;
            Ok(wider)
        }
        _ => Err(no_such_type()),
    }
}

fn optional(content: Array) -> Array {
    Array::Option { index: Vec::new(), content: Box::new(content) }
}

fn list(content: Array) -> Array {
    Array::List { offsets: Offsets::none(), content: Box::new(content) }
}

fn no_such_type() -> Error {
    Error::unsupported("entries of a type that the column's does not hold")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(numbers: Numbers) -> Array {
        Array::Numbers { numbers, shape: Vec::new() }
    }

    #[test]
    fn numbers_are_not_rounded() {
        use Number::{Bool, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let pairs = [
            (I32, I64, Some(I64)),
            (U32, I32, Some(I64)),
            (U8, I8, Some(I16)),
            (U16, U32, Some(U32)),
            (U64, I64, None),
            (U64, I8, None),
            (I16, F32, Some(F32)),
            (I32, F32, Some(F64)),
            (U32, F64, Some(F64)),
            (I64, F64, None),
            (U64, F32, None),
            (F32, F64, Some(F64)),
            (Bool, U8, Some(U8)),
            (Bool, F32, Some(F32)),
        ];
        for (one, other, common) in pairs {
            assert_eq!(one.common(other), common, "{one:?} {other:?}");
            assert_eq!(other.common(one), common, "{other:?} {one:?}");
        }
        for number in Number::ALL {
            assert_eq!(number.common(number), Some(number));
        }
    }

    #[test]
    fn entries_stay_the_same_in_a_wider_type() {
        let narrow = numbers(Numbers::I32(vec![-1, i32::MAX]));
        let wide = numbers(Numbers::I64(vec![]));
        assert_eq!(narrow.common_type(&wide), Some(wide.clone()));
        let same = narrow.clone().into_type(&wide).unwrap();
        assert_eq!(same, numbers(Numbers::I64(vec![-1, i64::from(i32::MAX)])));
        assert!(same.into_type(&narrow).is_err());
        let lists =
            |content| Array::List { offsets: vec![0, 2].into(), content: Box::new(content) };
        let inner = lists(narrow.clone());
        let to = inner.common_type(&lists(wide.clone())).unwrap();
        let expected = lists(numbers(Numbers::I64(vec![-1, i64::from(i32::MAX)])));
        assert_eq!(inner.into_type(&to).unwrap(), expected);
        assert_eq!(narrow.common_type(&lists(wide)), None);
    }

    #[test]
    fn arrays_of_a_fixed_length_become_lists_beside_others() {
        let fixed = |length: usize| Array::Numbers {
            numbers: Numbers::I32(vec![7; 2 * length]),
            shape: vec![length],
        };
        let regular = Array::Regular {
            length: 3,
            entries: 2,
            content: Box::new(numbers(Numbers::I64(vec![1; 6]))),
        };
        let to = fixed(3).common_type(&regular).unwrap();
        assert!(matches!(to, Array::Regular { length: 3, .. }));
        assert_eq!(fixed(3).into_type(&to).unwrap().len(), 2);
        let to = fixed(3).common_type(&fixed(2)).unwrap();
        let lists = fixed(2).into_type(&to).unwrap();
        assert!(matches!(&lists, Array::List { offsets, .. } if offsets[..] == [0, 2, 4]));
    }

    #[test]
    fn records_have_fields_of_the_same_names_in_any_order() {
        let record = |names: [&str; 2], class: Option<&str>| Array::Record {
            class: class.map(Into::into),
            entries: 1,
            fields: names
                .into_iter()
                .zip([Numbers::I32(vec![1]), Numbers::I32(vec![2])])
                .map(|(name, field)| (name.to_owned(), numbers(field)))
                .collect(),
        };
        let one = record(["x", "y"], None);
        let to = one.common_type(&record(["y", "x"], None)).unwrap();
        let Array::Record { fields, .. } = record(["y", "x"], None).into_type(&to).unwrap() else {
            panic!("a record");
        };
        assert_eq!(fields[0], ("x".to_owned(), numbers(Numbers::I32(vec![2]))));
        assert_eq!(one.common_type(&record(["x", "z"], None)), None);
        assert_eq!(one.common_type(&record(["x", "y"], Some("A"))), None);
    }
}
