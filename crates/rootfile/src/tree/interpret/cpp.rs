//! C++ type names as ROOT spells them, and as uproot does.

use super::Number;

/// A type, as far as it can be read.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    Number(Number),
    /// `std::string` or `TString`.
    Text(&'static str),
    /// `std::vector`, or ROOT's `RVec`, which is streamed the same.
    Vector {
        spelled: String,
        item: Box<Type>,
    },
    /// A class by its name in streamer infos.
    Class(String),
    /// Pointers, other templates of the standard library.
    Other(String),
}

/// Templates within templates: more than any sane type.
const DEPTH_MAX: usize = 16;

/// Templates that are streamed in their own ways, not by streamer info.
const COLLECTIONS: [&str; 15] = [
    "array",
    "bitset",
    "deque",
    "forward_list",
    "list",
    "map",
    "multimap",
    "multiset",
    "pair",
    "set",
    "tuple",
    "unordered_map",
    "unordered_multimap",
    "unordered_multiset",
    "unordered_set",
];

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
        Type::Text(name) => (*name).into(),
        Type::Vector { spelled, .. } => spelled.clone(),
        Type::Class(name) => name.replace("> >", ">>").replace("> >", ">>"),
        Type::Other(name) => name.clone(),
    }
}

fn parse_nested(name: &str, depth: usize) -> Type {
    let name = name.trim();
    if depth > DEPTH_MAX {
        return Type::Other(name.into());
    }
    let bare = name.strip_prefix("std::").unwrap_or(name);
    if let Some(number) = number(bare) {
        return Type::Number(number);
    }
    match bare {
        "string" => return Type::Text("std::string"),
        "TString" => return Type::Text("TString"),
        _ => {}
    }
    let Some((template, arguments)) = split_template(bare) else {
        return if name.ends_with(['*', '&']) {
            Type::Other(name.into())
        } else {
            Type::Class(name.into())
        };
    };
    let parsed: Vec<Type> = arguments
        .iter()
        .filter(|argument| !is_allocator(argument))
        .map(|argument| parse_nested(argument, depth + 1))
        .collect();
    let listed = parsed.iter().map(spell).collect::<Vec<_>>().join(", ");
    match (template, &parsed[..]) {
        ("vector", [item]) => {
            let spelled = format!("std::vector<{}>", spell(item));
            Type::Vector { spelled, item: Box::new(item.clone()) }
        }
        ("ROOT::VecOps::RVec" | "ROOT::RVec", [item]) => {
            let spelled = format!("RVec<{}>", spell(item));
            Type::Vector { spelled, item: Box::new(item.clone()) }
        }
        (template, _) if COLLECTIONS.contains(&template) => {
            Type::Other(format!("std::{template}<{listed}>"))
        }
        _ => Type::Class(name.into()),
    }
}

fn number(name: &str) -> Option<Number> {
    Some(match name {
        "bool" | "Bool_t" => Number::Bool,
        "char" | "Char_t" | "signed char" | "int8_t" => Number::I8,
        "unsigned char" | "UChar_t" | "uint8_t" => Number::U8,
        "short" | "Short_t" | "int16_t" => Number::I16,
        "unsigned short" | "UShort_t" | "uint16_t" => Number::U16,
        "int" | "Int_t" | "int32_t" => Number::I32,
        "unsigned int" | "unsigned" | "UInt_t" | "uint32_t" => Number::U32,
        "long" | "long long" | "Long_t" | "Long64_t" | "int64_t" => Number::I64,
        "unsigned long" | "unsigned long long" | "ULong_t" | "ULong64_t" | "uint64_t"
        | "size_t" => Number::U64,
        "float" | "Float_t" => Number::F32,
        "double" | "Double_t" => Number::F64,
        _ => return None,
    })
}

/// Whether a template's argument says where its items live, which makes no difference in a file.
fn is_allocator(argument: &str) -> bool {
    let name = argument.split('<').next().unwrap_or(argument).trim();
    name.ends_with("llocator") && argument.contains('<')
}

/// `vector<pair<int,float> >` as `vector` and its arguments.
fn split_template(name: &str) -> Option<(&str, Vec<&str>)> {
    let (template, rest) = name.split_once('<')?;
    let inner = rest.strip_suffix('>')?;
    let mut arguments = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (at, letter) in inner.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                arguments.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    arguments.push(&inner[start..]);
    (depth == 0).then_some((template, arguments))
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
        ] {
            assert_eq!(spelled(root), uproot);
        }
    }

    #[test]
    fn odd_names_are_classes_or_others() {
        assert_eq!(parse("Hit*"), Type::Other("Hit*".into()));
        assert_eq!(parse("vector<int"), Type::Class("vector<int".into()));
        assert_eq!(parse("vector<int>>"), Type::Class("vector<int>>".into()));
        assert_eq!(parse(""), Type::Class(String::new()));
        let deep = format!("{}int{}", "vector<".repeat(1000), ">".repeat(1000));
        assert!(matches!(parse(&deep), Type::Vector { .. }));
    }
}
