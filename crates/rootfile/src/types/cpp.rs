//! C++ type names as ROOT spells them, and as uproot does.

use super::names::regular;
use crate::array::{ArrayParameter, Number};

/// A type, as far as its name says.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    Number(Number),
    /// `Double32_t` in a collection, where it has no range.
    Double32,
    /// `std::string` or `TString`.
    Text(&'static str),
    /// `std::vector` and types that are streamed as it is: a count, then the items.
    Sequence {
        spelled: String,
        parameter: Option<ArrayParameter>,
        item: Box<Type>,
    },
    /// `std::map` and its kin: a count, then keys and values. In a `multi` map keys come again.
    Map {
        spelled: String,
        multi: bool,
        /// The class of its items.
        pair: String,
        key: Box<Type>,
        value: Box<Type>,
    },
    /// A class by its name in streamer infos.
    Class(String),
    Pointer(Box<Type>),
    /// A type that is not streamed, or of which the stored form is not known.
    Other(String),
}

/// Templates within templates: more than any sane type.
const DEPTH_MAX: usize = 16;

/// Names of arrays in arrays in arrays; longer ones are no arrays.
const ARRAY_NAME_MAX: usize = 2048;

/// Reads a type name.
pub fn parse(name: &str) -> Type {
    parse_nested(name, 0)
}

/// A type name in uproot's spelling: `std::vector<int32_t>`.
pub fn spelled(name: &str) -> String {
    spell(&parse(name))
}

fn spell(kind: &Type) -> String {
    match kind {
        Type::Number(number) => number.typename().into(),
        Type::Double32 => "Double32_t".into(),
        Type::Text(name) => (*name).into(),
        Type::Sequence { spelled, .. } | Type::Map { spelled, .. } => spelled.clone(),
        Type::Class(name) => regular(name),
        Type::Pointer(target) => format!("{}*", spell(target)),
        Type::Other(name) => name.clone(),
    }
}

/// Whether it is the name of a collection of the standard library, or of ROOT's `RVec`.
pub fn is_collection(name: &str) -> bool {
    matches!(parse(name), Type::Sequence { .. } | Type::Map { .. })
}

/// Whether it is the name of a `std::array`, which is a class as others are where it is an item.
pub fn is_array(name: &str) -> bool {
    let bare = name.strip_prefix("std::").unwrap_or(name);
    bare.starts_with("array<") && split_template(bare).is_some()
}

/// Type and number of the items of a `std::array`.
pub fn array(name: &str) -> Option<(Type, usize)> {
    let is_sane = name.len() <= ARRAY_NAME_MAX && is_array(name);
    let (_, arguments) = is_sane.then(|| split_template(name)).flatten()?;
    match &arguments[..] {
        [item, length] => {
            let digits = length.trim_end_matches(['u', 'U', 'l', 'L']);
            Some((parse(item), digits.parse().ok().filter(|length| *length > 0)?))
        }
        _ => None,
    }
}

/// The two types in the name of a `std::pair`.
pub fn pair(name: &str) -> Option<(Type, Type)> {
    let (template, arguments) = split_template(name.strip_prefix("std::").unwrap_or(name))?;
    match &arguments[..] {
        [first, second] if template == "pair" => Some((parse(first), parse(second))),
        _ => None,
    }
}

/// The first type in the name of a template class.
pub fn first_argument(name: &str) -> Option<Type> {
    let (_, arguments) = split_template(name)?;
    arguments.first().map(|first| parse(first))
}

fn parse_nested(name: &str, depth: usize) -> Type {
    let name = name.trim();
    if depth > DEPTH_MAX {
        return Type::Other(name.into());
    }
    let name = name.strip_prefix("const ").unwrap_or(name).trim_start();
    let bare = name.strip_prefix("std::").unwrap_or(name);
    if let Some(number) = basic(bare) {
        return Type::Number(number);
    }
    match bare {
        "Double32_t" => return Type::Double32,
        "string" => return Type::Text("std::string"),
        "TString" => return Type::Text("TString"),
        // Which ROOT writes as a member only.
        "Float16_t" => return Type::Other(name.into()),
        _ => {}
    }
    if let Some(target) = name.strip_suffix('*') {
        return match parse_nested(target, depth + 1) {
            target @ (Type::Class(_) | Type::Text("TString")) => Type::Pointer(Box::new(target)),
            _ => Type::Other(name.into()),
        };
    }
    let Some((template, arguments)) = split_template(bare) else {
        return if name.ends_with('&') {
            Type::Other(name.into())
        } else {
            Type::Class(name.into())
        };
    };
    collection(name, template, &arguments, depth + 1)
}

fn collection(name: &str, template: &str, arguments: &[&str], depth: usize) -> Type {
    let used = |count: usize| -> Option<Vec<Type>> {
        // How items are compared and where they live makes no difference in a file.
        Some(arguments.get(..count)?.iter().map(|name| parse_nested(name, depth)).collect())
    };
    let sequence = |called: &str, parameter| match used(1).map(|mut types| types.remove(0)) {
        Some(item) => {
            let spelled = format!("{called}<{}>", spell(&item));
            Type::Sequence { spelled, parameter, item: Box::new(item) }
        }
        None => Type::Other(name.into()),
    };
    match template {
        "vector" | "list" | "deque" | "forward_list" | "multiset" | "unordered_set"
        | "unordered_multiset" => sequence(&format!("std::{template}"), None),
        "set" => sequence("std::set", Some(ArrayParameter::Set)),
        "ROOT::VecOps::RVec" | "ROOT::RVec" | "RVec" => sequence("RVec", None),
        "map" | "multimap" | "unordered_map" | "unordered_multimap" => match used(2).as_deref() {
            Some([key, value]) => {
                let spelled = format!("std::{template}<{}, {}>", spell(key), spell(value));
                let key = Box::new(key.clone());
                let value = Box::new(value.clone());
                let pair = format!("pair<{},{}>", arguments[0], arguments[1]);
                Type::Map { spelled, multi: template.contains("multi"), pair, key, value }
            }
            _ => Type::Other(name.into()),
        },
        "bitset" => match arguments {
            [bits] if bits.bytes().all(|digit| digit.is_ascii_digit()) => Type::Sequence {
                spelled: format!("std::bitset<{bits}>"),
                parameter: Some(ArrayParameter::Bitset),
                item: Box::new(Type::Number(Number::Bool)),
            },
            _ => Type::Other(name.into()),
        },
        _ => Type::Class(name.into()),
    }
}

/// `vector<pair<int,float> >` as `vector` and its arguments.
fn split_template(name: &str) -> Option<(&str, Vec<&str>)> {
    let (template, rest) = name.split_once('<')?;
    let inner = rest.trim_end().strip_suffix('>')?;
    let mut arguments = Vec::new();
    let mut depth = 0usize;
    let mut start = 0;
    for (at, letter) in inner.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                arguments.push(inner[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    arguments.push(inner[start..].trim());
    (depth == 0).then_some((template.trim(), arguments))
}

/// The basic type of that name in C++ or ROOT.
pub fn basic(name: &str) -> Option<Number> {
    Some(match name {
        "bool" | "Bool_t" => Number::Bool,
        "char" | "signed char" | "Char_t" | "int8_t" => Number::I8,
        "unsigned char" | "UChar_t" | "uint8_t" | "Byte_t" => Number::U8,
        "short" | "Short_t" | "int16_t" => Number::I16,
        "unsigned short" | "UShort_t" | "uint16_t" => Number::U16,
        "int" | "Int_t" | "int32_t" => Number::I32,
        "unsigned int" | "unsigned" | "UInt_t" | "uint32_t" => Number::U32,
        "long" | "Long_t" | "long long" | "Long64_t" | "int64_t" => Number::I64,
        "unsigned long" | "ULong_t" | "unsigned long long" | "ULong64_t" | "uint64_t"
        | "size_t" => Number::U64,
        "float" | "Float_t" => Number::F32,
        "double" | "Double_t" => Number::F64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelled_as_uproot_does() {
        for (root, uproot) in [
            ("vector<float>", "std::vector<float>"),
            ("vector<unsigned int>", "std::vector<uint32_t>"),
            ("vector<vector<unsigned short> >", "std::vector<std::vector<uint16_t>>"),
            (
                "vector<vector<vector<string> > >",
                "std::vector<std::vector<std::vector<std::string>>>",
            ),
            ("ROOT::VecOps::RVec<int>", "RVec<int32_t>"),
            ("vector<float,ROOT::Detail::VecOps::RAdoptAllocator<float> >", "std::vector<float>"),
            (
                "vector<ElementLink<DataVector<xAOD::Jet_v1> > >",
                "std::vector<ElementLink<DataVector<xAOD::Jet_v1>>>",
            ),
            ("string", "std::string"),
            ("TVector3", "TVector3"),
            ("vector<TH1D*>", "std::vector<TH1D*>"),
            ("vector<set<unsigned int> >", "std::vector<std::set<uint32_t>>"),
            (
                "map<string,vector<double>,less<string> >",
                "std::map<std::string, std::vector<double>>",
            ),
            ("vector<bitset<9> >", "std::vector<std::bitset<9>>"),
        ] {
            assert_eq!(spelled(root), uproot);
        }
    }

    /// Objects and branches once had a parser each: of these names one of the two knew less.
    #[test]
    fn names_in_every_spelling() {
        let ints = parse("vector<int>");
        for name in ["std::vector<int>", "vector <int> ", "const vector<int>", "vector< Int_t >"] {
            assert_eq!(parse(name), ints, "{name}");
        }
        assert_eq!(parse("ROOT::RVec<int>"), parse("ROOT::VecOps::RVec<int>"));
        assert_eq!(parse("size_t"), Type::Number(Number::U64));
        assert_eq!(parse("bitset<N>"), Type::Other("bitset<N>".into()));
        for name in ["vector<int*>", "vector<string*>", "vector<Float16_t>"] {
            let Type::Sequence { item, .. } = parse(name) else { panic!("{name}") };
            assert!(matches!(*item, Type::Other(_)), "{name}");
        }
        assert!(is_collection("std::multimap<int,float>") && is_collection("RVec<bool>"));
        assert!(!is_collection("pair<int,float>") && !is_collection("string"));
    }

    #[test]
    fn odd_names_are_classes_or_others() {
        assert_eq!(parse("Hit*"), Type::Pointer(Box::new(Type::Class("Hit".into()))));
        assert_eq!(parse("vector<int>*"), Type::Other("vector<int>*".into()));
        assert_eq!(parse("vector<int"), Type::Class("vector<int".into()));
        assert_eq!(parse("map<int>"), Type::Other("map<int>".into()));
        assert_eq!(parse("Float16_t"), Type::Other("Float16_t".into()));
    }

    #[test]
    fn arrays() {
        assert_eq!(array("array<float,2>"), Some((Type::Number(Number::F32), 2)));
        assert_eq!(array("std::array<int, 3ul>"), Some((Type::Number(Number::I32), 3)));
        for name in ["array<float>", "array<float,0>", "vector<float>", "array<float,n>", "array<"]
        {
            assert_eq!(array(name), None, "{name}");
        }
    }

    #[test]
    fn pairs() {
        let text = Type::Text("std::string");
        assert_eq!(pair("pair<const string,int>"), Some((text, Type::Number(Number::I32))));
        assert_eq!(pair("pair<int>"), None);
        assert_eq!(pair("vector<int,int>"), None);
    }
}
