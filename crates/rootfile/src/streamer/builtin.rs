//! Layouts that a file need not carry: those of streamer infos themselves, of trees, and of other
//! classes that are common in files that were never closed.
//!
//! ROOT writes the streamer infos of all classes of a file, but other writers do not, and the list
//! of streamer infos has to be read before there are any. The table spells members as C++ does:
//! `T name`, `T name[5]` for a fixed array, `T *name[count]` for a counted one, `T name[]` for one
//! with its length in front and `T name[?]` for one that may be missing at the end, `T
//! name[3*count]` for one with nothing in front, `T *name` for a pointer to an object, and a base
//! class by its name alone. (Source: streamer infos as written by ROOT 4.00 to 6.40,
//! `io/doc/TFile/ttree.md` for 3.02; `TBranch::Streamer` and `TTree::Streamer` for versions from
//! before there were streamer infos.)

use std::sync::{Arc, LazyLock};

use super::{StreamerElement, StreamerInfo};
use crate::array::Number;
use crate::types::code;
use crate::types::cpp::basic;

/// `class version-version: members`, one class a paragraph. A `!` behind the class: ROOT reads
/// these versions by hand, whatever the file says.
const TABLE: &str = include_str!("builtin.txt");

/// The streamer infos of the table, and whether each goes before the file's. Their checksums are 0.
/// Understood once, however many files are opened.
pub(super) fn infos() -> &'static [(bool, Arc<StreamerInfo>)] {
    static INFOS: LazyLock<Vec<(bool, Arc<StreamerInfo>)>> = LazyLock::new(table);
    &INFOS
}

fn table() -> Vec<(bool, Arc<StreamerInfo>)> {
    TABLE
        .split("\n\n")
        .map(|paragraph| paragraph.lines().filter(|line| !line.starts_with('#')))
        .map(|lines| lines.collect::<Vec<_>>().join(" "))
        .flat_map(|paragraph| paragraph_infos(&paragraph))
        .map(|(before_file, info)| (before_file, Arc::new(info)))
        .collect()
}

/// One streamer info for each version of a paragraph; none where it is not understood.
fn paragraph_infos(paragraph: &str) -> Vec<(bool, StreamerInfo)> {
    // A class may have no members.
    let nothing = || paragraph.trim_end().strip_suffix(':').map(|head| (head, ""));
    let Some((head, members)) = paragraph.split_once(": ").or_else(nothing) else {
        return Vec::new();
    };
    let Some((class, versions)) = head.trim().rsplit_once(' ') else { return Vec::new() };
    let (class, before_file) =
        class.strip_suffix('!').map_or((class, false), |class| (class, true));
    let (first, last) = versions.split_once('-').unwrap_or((versions, versions));
    let Ok(first) = first.parse() else { return Vec::new() };
    let Ok(last) = last.parse() else { return Vec::new() };
    let elements: Vec<StreamerElement> =
        members.split(';').map(str::trim).filter(|text| !text.is_empty()).map(element).collect();
    let info = |version: i32| StreamerInfo {
        class: class.to_owned(),
        version,
        checksum: 0,
        elements: elements.clone(),
    };
    (first..=last).map(|version| (before_file, info(version))).collect()
}

fn element(text: &str) -> StreamerElement {
    let Some((type_name, declared)) = text.rsplit_once(' ') else {
        return StreamerElement {
            class: "TStreamerBase".into(),
            name: text.into(),
            type_code: code::BASE,
            type_name: "BASE".into(),
            // The table does not say which: the newest.
            base_version: -1,
            ..StreamerElement::default()
        };
    };
    let (declared, size) = match declared.strip_suffix(']').and_then(|text| text.split_once('[')) {
        Some((name, size)) => (name, Some(size)),
        None => (declared, None),
    };
    let name = declared.trim_start_matches('*');
    let pointer = name.len() < declared.len();
    let array_len = size.and_then(|size| size.parse().ok()).unwrap_or(0);
    let (class, type_code) = match basic_code(type_name) {
        Some(basic) => match (size, pointer) {
            (None, _) => ("TStreamerBasicType", basic),
            (Some("" | "?"), _) => ("TStreamerBasicType", basic + code::PREFIXED),
            (Some(size), false) if size.contains('*') => ("TStreamerBasicType", basic + code::BARE),
            (Some(_), false) => ("TStreamerBasicType", basic + code::ARRAY),
            (Some(_), true) => ("TStreamerBasicPointer", basic + code::COUNTED),
        },
        None => match type_name {
            "TString" if size.is_some() => ("TStreamerString", code::BARE_STRINGS),
            "TString" => ("TStreamerString", code::STRING),
            "Seek_t" => ("TStreamerBasicPointer", code::BASKET_SEEKS),
            _ if pointer => ("TStreamerObjectPointer", code::OBJECT_POINTER),
            _ => ("TStreamerObjectAny", code::ANY),
        },
    };
    let counted = array_len == 0;
    StreamerElement {
        class: class.into(),
        name: name.into(),
        type_code,
        array_len,
        dimensions: if array_len > 0 { vec![array_len] } else { Vec::new() },
        type_name: type_name.into(),
        count_name: size.filter(|_| counted).unwrap_or_default().into(),
        ..StreamerElement::default()
    }
}

fn basic_code(type_name: &str) -> Option<i32> {
    Some(match type_name {
        "Float16_t" => code::FLOAT16,
        "Double32_t" => code::DOUBLE32,
        _ => match basic(type_name)? {
            Number::Bool => code::BOOL,
            Number::I8 => code::CHAR,
            Number::I16 => code::SHORT,
            Number::I32 => code::INT,
            Number::I64 => code::LONG64,
            Number::U8 => code::UCHAR,
            Number::U16 => code::USHORT,
            Number::U32 => code::UINT,
            Number::U64 => code::ULONG64,
            Number::F32 => code::FLOAT,
            Number::F64 => code::DOUBLE,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streamer::{MemberKind, Streamers};

    #[test]
    fn every_paragraph_is_understood() {
        let infos = infos();
        for paragraph in TABLE.split("\n\n") {
            let lines = paragraph.lines().filter(|line| !line.starts_with('#'));
            let text = lines.collect::<Vec<_>>().join(" ");
            assert!(text.trim().is_empty() || !paragraph_infos(&text).is_empty(), "{text}");
        }
        let streamers = Streamers::new(Vec::new());
        for (_, info) in infos {
            let class = streamers.class(streamers.id(&info.class).unwrap());
            let layout = class.layout(info.version).unwrap();
            for member in &layout.members {
                let known =
                    !matches!(member.kind, MemberKind::Unsupported(_) | MemberKind::Special);
                assert!(known, "{} {}: {}", info.class, info.version, member.name);
            }
        }
    }

    /// A histogram of ROOT 3 in a branch had members of ROOT 6, with zeros that no file has.
    #[test]
    fn the_newest_version_is_of_the_file() {
        let class = "TH1".to_owned();
        let old = StreamerInfo { class, version: 4, checksum: 7, elements: Vec::new() };
        let streamers = Streamers::new(vec![old]);
        assert_eq!(streamers.info("TH1", None).unwrap().version, 4);
        let class = streamers.class(streamers.id("TH1").unwrap());
        assert!(class.newest().unwrap().members.is_empty());
        assert_eq!(Streamers::builtin().info("TH1", None).unwrap().version, 8);
    }

    #[test]
    fn declarations() {
        let cases = [
            ("TNamed", "TNamed", code::BASE, 0, ""),
            ("Long64_t fEntries", "fEntries", code::LONG64, 0, ""),
            ("Int_t fMaxIndex[5]", "fMaxIndex", code::INT + code::ARRAY, 5, ""),
            ("Int_t *fSizes[fCount]", "fSizes", code::INT + code::COUNTED, 0, "fCount"),
            ("Int_t fSizes[]", "fSizes", code::INT + code::PREFIXED, 0, ""),
            ("TList *fAliases", "fAliases", code::OBJECT_POINTER, 0, ""),
            ("TObjArray fLeaves", "fLeaves", code::ANY, 0, ""),
        ];
        for (text, name, type_code, array_len, count) in cases {
            let element = element(text);
            assert_eq!(element.name, name);
            assert_eq!(element.type_code, type_code, "{text}");
            assert_eq!((element.array_len, element.count_name.as_str()), (array_len, count));
        }
    }
}
