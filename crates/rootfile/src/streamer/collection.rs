//! Names of the standard library's collections, as streamer infos spell them.

use super::ClassId;
use crate::array::Number;
use crate::types::cpp::basic;

/// A collection and what it holds.
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

/// What a collection holds.
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
}

/// Collections in collections; no type of a real file comes near.
const DEPTH_MAX: usize = 16;

impl Collection {
    /// Understands a type's name; `class` gives the identity of a class in it.
    ///
    /// # Errors
    /// Says what in the name is not known.
    pub fn parse(
        name: &str,
        class: &mut impl FnMut(&str) -> ClassId,
    ) -> Result<Collection, String> {
        match item(name, class, DEPTH_MAX)? {
            Item::Collection(collection) => Ok(collection),
            Item::Text | Item::StandardText => Ok(Collection::Text),
            _ => Err(format!("{name} as a collection")),
        }
    }
}

fn item(name: &str, class: &mut impl FnMut(&str) -> ClassId, depth: usize) -> Result<Item, String> {
    let name = name.trim();
    let name = name.strip_prefix("const ").unwrap_or(name).trim_start();
    let plain = name.strip_prefix("std::").unwrap_or(name);
    if depth == 0 {
        return Err(format!("collection {name} nested too deeply"));
    }
    if let Some(target) = plain.strip_suffix('*') {
        let stl = arguments(target.trim()).is_some_and(|(outer, _)| is_collection(outer));
        return if stl { Err(format!("pointer {name}")) } else { Ok(Item::Pointer) };
    }
    if let Some(basic) = basic(plain) {
        return Ok(Item::Number(basic));
    }
    match plain {
        "string" => return Ok(Item::StandardText),
        "TString" => return Ok(Item::Text),
        _ => {}
    }
    let Some((outer, inner)) = arguments(plain).filter(|(outer, _)| is_collection(outer)) else {
        return match plain {
            "Double32_t" => Ok(Item::Double32),
            "Float16_t" => Err(format!("collection of {plain}")),
            _ => Ok(Item::Object(class(name))),
        };
    };
    let mut of = |position: usize| match inner.get(position) {
        Some(argument) => item(argument, class, depth - 1).map(Box::new),
        None => Err(format!("{name} without what it holds")),
    };
    Ok(Item::Collection(match outer {
        "map" | "unordered_map" => Collection::Map(of(0)?, of(1)?),
        "multimap" | "unordered_multimap" => Collection::Multimap(of(0)?, of(1)?),
        "bitset" => Collection::Sequence(Box::new(Item::Number(Number::Bool))),
        _ => Collection::Sequence(of(0)?),
    }))
}

/// Whether it is a collection's name, whatever it holds.
pub(super) fn is_named(name: &str) -> bool {
    arguments(name.trim()).is_some_and(|(outer, _)| is_collection(outer))
}

fn is_collection(outer: &str) -> bool {
    matches!(
        outer.strip_prefix("std::").unwrap_or(outer),
        "vector"
            | "list"
            | "deque"
            | "forward_list"
            | "set"
            | "multiset"
            | "unordered_set"
            | "unordered_multiset"
            | "map"
            | "multimap"
            | "unordered_map"
            | "unordered_multimap"
            | "bitset"
            | "ROOT::VecOps::RVec"
            | "RVec"
    )
}

/// `a<b,c<d,e> >` as `a` and `[b, c<d,e>]`.
fn arguments(name: &str) -> Option<(&str, Vec<&str>)> {
    let (outer, rest) = name.split_once('<')?;
    let inside = rest.trim_end().strip_suffix('>')?;
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                parts.push(inside[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(inside[start..].trim());
    Some((outer.trim(), parts))
}

/// What `pair<double,int>` is made of; None for anything but a pair of numbers.
pub(super) fn pair_of_numbers(name: &str) -> Option<[Number; 2]> {
    match arguments(name)? {
        ("pair" | "std::pair", inside) => match inside[..] {
            [first, second] => Some([basic(first)?, basic(second)?]),
            _ => None,
        },
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
