//! Names of the standard library's collections, as streamer infos spell them.

use super::ClassId;
use crate::array::Number;
use crate::types::cpp::{self, Type};

/// A collection and the type of its items.
#[derive(Debug, Clone, PartialEq)]
pub enum Collection {
    /// `std::string`
    Text,
    /// `vector`, `list`, `deque`, `set`, …: a count and the elements.
    Sequence(Box<Item>),
    /// `map`, `unordered_map`: a count and pairs.
    Map(Box<Item>, Box<Item>),
    /// `multimap`, `unordered_multimap`: the same with keys that come again.
    Multimap(Box<Item>, Box<Item>),
}

/// Types of a collection's items.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    Number(Number),
    Double32,
    /// `TString`.
    Text,
    /// `std::string` without a header of its own.
    StandardText,
    Object(ClassId),
    Pointer,
    Collection(Collection),
    /// A `std::array` in a pair: so many items, without a header.
    Array(Box<Item>, usize),
}

impl Collection {
    /// Understands a type's name; `class` gives the identity of a class in it.
    ///
    /// # Errors
    /// The part of the name that is not known.
    pub fn parse(
        name: &str,
        class: &mut impl FnMut(&str) -> ClassId,
    ) -> Result<Collection, String> {
        match item(&cpp::parse(name), class)? {
            Item::Collection(collection) => Ok(collection),
            Item::Text | Item::StandardText => Ok(Collection::Text),
            _ => Err(format!("{name} as a collection")),
        }
    }
}

fn item(kind: &Type, class: &mut impl FnMut(&str) -> ClassId) -> Result<Item, String> {
    Ok(match kind {
        Type::Number(number) => Item::Number(*number),
        Type::Double32 => Item::Double32,
        Type::Text("TString") => Item::Text,
        Type::Text(_) => Item::StandardText,
        Type::Class(name) => Item::Object(class(name)),
        Type::Pointer(_) => Item::Pointer,
        Type::Sequence { item: of, .. } => {
            Item::Collection(Collection::Sequence(Box::new(item(of, class)?)))
        }
        Type::Map { multi, key, value, .. } => {
            let key = Box::new(in_pair(key, class)?);
            let value = Box::new(in_pair(value, class)?);
            Item::Collection(match multi {
                true => Collection::Multimap(key, value),
                false => Collection::Map(key, value),
            })
        }
        Type::Other(name) => return Err(format!("type {name}")),
    })
}

/// The key or the value of a map.
fn in_pair(kind: &Type, class: &mut impl FnMut(&str) -> ClassId) -> Result<Item, String> {
    let array = match kind {
        Type::Class(name) => cpp::array(name),
        _ => None,
    };
    match array {
        Some((item, length)) => Ok(Item::Array(Box::new(in_pair(&item, class)?), length)),
        None => item(kind, class),
    }
}

/// The two types of a pair such as `pair<double,int>`; `None` for anything but a pair of numbers.
pub(super) fn pair_of_numbers(name: &str) -> Option<[Number; 2]> {
    match cpp::pair(name)? {
        (Type::Number(first), Type::Number(second)) => Some([first, second]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str) -> Result<Collection, String> {
        Collection::parse(name, &mut |_| ClassId(7))
    }

    fn sequence(item: Item) -> Item {
        Item::Collection(Collection::Sequence(Box::new(item)))
    }

    #[test]
    fn names_of_collections() {
        use Item::{Object, StandardText as Text};
        let cases = [
            ("vector<float>", sequence(Item::Number(Number::F32))),
            ("std::vector<unsigned int>", sequence(Item::Number(Number::U32))),
            ("vector<vector<string> >", sequence(sequence(Text))),
            ("set<TLorentzVector, less<TLorentzVector> >", sequence(Object(ClassId(7)))),
            ("vector<TBranch*>", sequence(Item::Pointer)),
            ("vector<A<int,float> >", sequence(Object(ClassId(7)))),
            ("vector<array<int,3> >", sequence(Object(ClassId(7)))),
            ("vector<Double32_t>", sequence(Item::Double32)),
            ("bitset<12>", sequence(Item::Number(Number::Bool))),
            ("vector<pair<int,float> >", sequence(Object(ClassId(7)))),
        ];
        for (name, expected) in cases {
            assert_eq!(parse(name).map(Item::Collection), Ok(expected), "{name}");
        }
        let map = Collection::Map(Box::new(Text), Box::new(sequence(Item::Number(Number::I32))));
        assert_eq!(parse("map<string,vector<int> >"), Ok(map));
        assert_eq!(parse("string"), Ok(Collection::Text));
    }

    #[test]
    fn pairs_of_numbers() {
        let pair = Some([Number::F64, Number::I32]);
        assert_eq!(pair_of_numbers("pair<double,int>"), pair);
        assert_eq!(pair_of_numbers("std::pair<double, int>"), pair);
        for name in ["pair<double,string>", "pair<double>", "tuple<double,int>", "pair", "pair<"] {
            assert_eq!(pair_of_numbers(name), None, "{name}");
        }
    }

    #[test]
    fn names_that_are_none() {
        for name in ["vector<", "vector", "vector<Float16_t>", "map<int>", ""] {
            assert!(parse(name).is_err(), "{name}");
        }
        let deep = format!("{}int{}", "vector<".repeat(500), ">".repeat(500));
        assert!(parse(&deep).is_err());
    }
}
