//! Names of template classes, of which files have several spellings.

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

/// Words, and what is between them letter by letter.
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
