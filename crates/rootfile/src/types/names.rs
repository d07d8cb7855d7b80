//! Names of template classes, of which files have several spellings, and of members.

use std::collections::{BTreeMap, BTreeSet};

/// ROOT's names of types, and those that the compiler has. (Source: ROOT, `RtypesCore.h`.)
const ALIASES: &[(&str, &str)] = &[
    ("Bool_t", "bool"),
    ("Char_t", "char"),
    ("UChar_t", "unsigned char"),
    ("Short_t", "short"),
    ("UShort_t", "unsigned short"),
    ("Int_t", "int"),
    ("UInt_t", "unsigned int"),
    ("Long_t", "long"),
    ("ULong_t", "unsigned long"),
    ("Long64_t", "long long"),
    ("ULong64_t", "unsigned long long"),
    ("Float_t", "float"),
    ("Double_t", "double"),
];

/// The one spelling of a class's name: no space beside `<`, `>`, `,` and `::`, and the compiler's
/// names of numbers.
pub fn regular(name: &str) -> String {
    let mut regular = String::with_capacity(name.len());
    let mut after_sign = true;
    for part in parts(name.trim()) {
        let is_sign = matches!(part, "<" | ">" | "," | ":");
        if is_sign {
            regular.truncate(regular.trim_end().len());
        }
        if !(after_sign && part.trim().is_empty()) {
            regular.push_str(of_compiler(part));
            after_sign = is_sign;
        }
    }
    regular
}

/// A name with the compiler's names of numbers, and otherwise as it is.
pub fn of_numbers(name: &str) -> String {
    parts(name).map(of_compiler).collect()
}

fn of_compiler(word: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == word).map_or(word, |(_, plain)| plain)
}

/// Words, and the text between them letter by letter.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let word = rest.find(|letter: char| !is_of_word(letter)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(if word > 0 { word } else { first.len_utf8() });
        rest = after;
        Some(part)
    })
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Names that tell members apart which have one name: by base classes in front, as `Base::x`, no
/// more of them than are needed. A member of the class itself keeps its name. Each member comes
/// with the base classes that it came through, the nearest first; the result is for the members
/// that need another name, by position.
pub fn told_apart(members: &[(&str, &[String])]) -> Vec<(usize, String)> {
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, (name, _)) in members.iter().enumerate() {
        by_name.entry(name).or_default().push(at);
    }
    let mut others = Vec::new();
    for (name, same) in by_name.into_iter().filter(|(_, same)| same.len() > 1) {
        let bases: Vec<&[String]> = same.iter().map(|at| members[*at].1).collect();
        others.extend(same.into_iter().zip(spelled_apart(name, bases)));
    }
    // Names that no base class tells apart are numbered.
    let mut taken: BTreeSet<String> = members.iter().map(|(name, _)| (*name).to_owned()).collect();
    taken.extend(others.iter().map(|(_, name)| name.clone()));
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for (_, name) in &mut others {
        let number = numbers.entry(name.clone()).or_insert(0);
        *number += 1;
        while *number > 1 {
            let numbered = format!("{name}_{number}");
            if taken.insert(numbered.clone()) {
                *name = numbered;
                break;
            }
            *number += 1;
        }
    }
    others
}

/// As [`told_apart`], where programs know one of the members by its name alone: as in ROOT and
/// uproot that is the class's own or, without one, the first. It keeps its name.
pub fn told_apart_from_first(members: &[(&str, &[String])]) -> Vec<(usize, String)> {
    let known = |name: &str| {
        let same = || members.iter().enumerate().filter(move |(_, member)| member.0 == name);
        let own = same().find(|(_, member)| member.1.is_empty());
        own.or_else(|| same().next()).map(|(at, _)| at)
    };
    let mut others = told_apart(members);
    others.retain(|(at, _)| known(members[*at].0) != Some(*at));
    others
}

/// A name for each of several base classes, nearest first, in front.
fn spelled_apart(name: &str, mut bases: Vec<&[String]>) -> Vec<String> {
    // A class that all have in common distinguishes nothing.
    while let Some(first) = bases[0].first() {
        if !bases.iter().all(|each| each.first() == Some(first)) {
            break;
        }
        bases.iter_mut().for_each(|each| *each = &each[1..]);
    }
    let mut used = vec![0; bases.len()];
    loop {
        let spelled = bases.iter().zip(&used).map(|(bases, used)| {
            let types = bases.iter().take(*used).map(String::as_str);
            types.chain([name]).collect::<Vec<_>>().join("::")
        });
        let spelled: Vec<String> = spelled.collect();
        let mut same: BTreeMap<&str, usize> = BTreeMap::new();
        spelled.iter().for_each(|name| *same.entry(name).or_default() += 1);
        let longer: Vec<usize> = (0..bases.len())
            .filter(|at| same[&*spelled[*at]] > 1 && used[*at] < bases[*at].len())
            .collect();
        if longer.is_empty() {
            return spelled;
        }
        longer.into_iter().for_each(|at| used[at] += 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_of_all() {
        for (name, expected) in [
            ("pair<Long64_t, vector<Int_t> >", "pair<long long,vector<int>>"),
            ("a :: Box< unsigned  int , b::C* >", "a::Box<unsigned  int,b::C*>"),
            ("Int_t", "int"),
            ("Box<MyInt_t,Int_t2>", "Box<MyInt_t,Int_t2>"),
            (
                "map<ULong64_t,pair<Float_t,Double32_t> >",
                "map<unsigned long long,pair<float,Double32_t>>",
            ),
            ("> <é", "><é"),
            ("", ""),
        ] {
            assert_eq!(regular(name), expected);
        }
        assert_eq!(of_numbers("map<Int_t, pair<Long64_t> >"), "map<int, pair<long long> >");
    }
}
