//! RNTuples that the format allows and no program writes: later minor versions, rare encodings,
//! lies. Each file is put together here.

use farroot_rootfile::{Error, ErrorKind};

use crate::support::forged::{
    COLLECTION, Description, Forged, ForgedCluster, Group, LEAF, RECORD, VARIANT, column, field,
    flagged_column, flagged_field, locator, string,
};
use crate::support::ntuple::{Opened, shown};

const BYTE: u16 = 0x01;
const CHAR: u16 = 0x02;
const UINT8: u16 = 0x04;
const INT32: u16 = 0x07;
const REAL32: u16 = 0x0c;
const INDEX32: u16 = 0x0e;
const SWITCH: u16 = 0x10;
const SPLIT_REAL16: u16 = 0x17;

fn numbers(all: &[i32]) -> Vec<u8> {
    all.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn ends(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|end| end.to_le_bytes()).collect()
}

/// Three entries of a number.
fn plain() -> Forged {
    let mut forged = Forged::of(3);
    let number = forged.field(None, LEAF, "number", "std::int32_t");
    forged.column(INT32, 32, number, 3, &numbers(&[7, -8, 9]));
    forged
}

fn values(opened: &Opened, path: &str) -> Vec<String> {
    let array = opened.field(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    (0..array.len()).map(|row| shown(&array, row)).collect()
}

fn refused(forged: &Forged) -> Error {
    let error = forged.open().map(drop).expect_err("is refused");
    assert!(!matches!(error.kind, ErrorKind::Checksum(_)), "not forged well: {error}");
    error
}

/// `number` is read, and `path` refused with this error.
fn refused_alone(forged: &Forged, path: &str, said: &str) {
    let opened = forged.open().expect("opens");
    assert_eq!(values(&opened, "number"), ["7", "-8", "9"]);
    let error = opened.field(path).expect_err("is refused");
    assert!(matches!(error.kind, ErrorKind::Unsupported(_)), "{error}");
    assert_eq!(error.to_string(), said);
}

#[test]
fn what_is_behind_the_known_in_records_lists_and_envelopes_is_skipped() {
    for behind in [0, 1, 9, 100] {
        let mut forged = plain();
        forged.behind = vec![0xfe; behind];
        forged.schemas[1] = Description::default();
        assert_eq!(values(&forged.open().expect("opens"), "number"), ["7", "-8", "9"]);
    }
}

/// An attribute set's record: the place of its anchor is a locator.
fn set(version: [u16; 2], place: &[u8], name: &str) -> Vec<u8> {
    let mut record = version.map(u16::to_le_bytes).concat();
    record.extend(78u32.to_le_bytes());
    record.extend(place);
    record.extend(string(name));
    record
}

/// The list came with format 1.0.1. Its content is kept, whether or not a set can be opened.
#[test]
fn attribute_sets_are_listed_and_do_not_hinder_the_rntuple() {
    let sets = |forged: &Forged| {
        let opened = forged.open().expect("opens");
        assert_eq!(values(&opened, "number"), ["7", "-8", "9"]);
        opened.ntuple.attribute_sets
    };
    let mut forged = Forged { sets: None, ..plain() };
    assert_eq!(sets(&forged), []);
    let elsewhere = [&(-(16i32 | 2 << 24)).to_le_bytes()[..], &[9; 12]].concat();
    for behind in [0, 9] {
        forged.behind = vec![0xfe; behind];
        forged.sets = Some(vec![
            set([1, 0], &locator(100..178), "runs"),
            set([2, 7], &elsewhere, "later"),
            set([1, 0], &locator(100..178), ""),
        ]);
        let listed = sets(&forged);
        let said = listed.iter().map(|set| {
            let why = set.is_here().err().map(|error| error.to_string());
            (&*set.name, set.schema_version, why)
        });
        let store = "later: unsupported: an RNTuple locator of type 2, which is no place in a file";
        let nameless = "corrupt: an attribute set without a name";
        assert_eq!(
            said.collect::<Vec<_>>(),
            [
                ("runs", [1, 0], None),
                ("later", [2, 7], Some(store.into())),
                ("", [1, 0], Some(nameless.into())),
            ]
        );
    }
    forged.sets = Some(vec![vec![1, 0, 0, 0, 78, 0]]);
    refused(&forged);
}

#[test]
fn unknown_flags_and_type_information_are_ignored() {
    let mut forged = plain();
    forged.schemas[0].fields[0] = flagged_field(0, LEAF, "number", "std::int32_t", 0xfff0, &[]);
    forged.schemas[0].columns[0] = flagged_column(INT32, 32, 0, 0, 0xfffc, &[]);
    forged.groups[0].clusters[0].flags = 0xfe;
    let information = [&99u32.to_le_bytes()[..], &[0; 4], &string("T"), &string("?")].concat();
    forged.schemas[0].types.push(information.clone());
    forged.schemas[1].types.push(information);
    assert_eq!(values(&forged.open().expect("opens"), "number"), ["7", "-8", "9"]);
}

#[test]
fn feature_flags_of_header_and_footer_are_refused_by_name_in_any_word() {
    const MORE: u64 = 1 << 63;
    for envelope in [0, 1] {
        for words in [vec![MORE, 0], vec![MORE, MORE, MORE, 0]] {
            let mut forged = plain();
            forged.flags[envelope] = words;
            assert_eq!(values(&forged.open().expect("opens"), "number"), ["7", "-8", "9"]);
        }
        let flags = [
            (vec![1], "0 (nested deferred columns)"),
            (vec![1 << 5 | 1 << 62], "5, 62"),
            // The one that ROOT's own tests set.
            (vec![MORE, MORE, 1 << 9], "137"),
        ];
        for (words, named) in flags {
            let mut forged = plain();
            forged.flags[envelope] = words;
            let said = refused(&forged).to_string();
            let place = ["header", "footer"][envelope];
            let start = format!("{place}: unsupported: an RNTuple with feature flag {named} (at ");
            assert!(said.starts_with(&start), "{said}");
        }
    }
}

#[test]
fn sharded_clusters_are_refused() {
    let mut forged = plain();
    forged.groups[0].clusters[0].flags = 1;
    let said = refused(&forged).to_string();
    assert!(said.contains("an RNTuple with sharded clusters"), "{said}");
}

#[test]
fn fields_of_unknown_roles_versions_and_columns_are_refused_alone() {
    let mut forged = plain();
    let role = forged.field(None, 77, "role", "Later");
    forged.column(INT32, 32, role, 3, &[0; 12]);
    refused_alone(
        &forged,
        "role",
        "role: unsupported: a field of structural role 77, of type \"Later\"",
    );

    let mut forged = plain();
    let list = forged.field(None, COLLECTION, "list", "std::vector<Later>");
    let item = forged.field(Some(list), LEAF, "_0", "Later");
    forged.column(INDEX32, 32, list, 3, &ends(&[1, 1, 2]));
    forged.column(0xfe, 13, item, 2, &[0; 4]);
    refused_alone(&forged, "list", "list._0: unsupported: a column of type 0xfe");

    let mut forged = plain();
    let mut versioned = field(1, LEAF, "versioned", "Later");
    versioned[..4].copy_from_slice(&3u32.to_le_bytes());
    forged.schemas[0].fields.push(versioned);
    forged.column(INT32, 32, 1, 3, &[0; 12]);
    refused_alone(
        &forged,
        "versioned",
        "versioned: unsupported: version 3 of a field, of type \"Later\"",
    );
}

/// Object stores have locators of their own, and ROOT's tests write one of type 0x7e.
#[test]
fn pages_that_are_in_no_file_are_refused_with_their_column() {
    for kind in [2i32, 0x7e] {
        let mut forged = plain();
        let other = forged.field(None, LEAF, "other", "std::int32_t");
        forged.schemas[0].columns.push(column(INT32, 32, other));
        let head = -(16 | kind << 24);
        let page = [&3i32.to_le_bytes()[..], &head.to_le_bytes(), &[9; 12]].concat();
        forged.groups[0].clusters[0].columns.push((vec![page], 0));
        let said =
            format!("unsupported: an RNTuple locator of type {kind}, which is no place in a file");
        refused_alone(&forged, "other", &said);
    }
}

#[test]
fn large_locators_are_places() {
    let mut forged = plain();
    let head = -(20i32 | 1 << 24);
    let large = [&head.to_le_bytes()[..], &12u64.to_le_bytes(), &0u64.to_le_bytes()].concat();
    forged.groups[0].clusters[0].columns[0].0 = vec![[&3i32.to_le_bytes()[..], &large].concat()];
    assert_eq!(values(&forged.open().expect("opens"), "number"), ["7", "-8", "9"]);
}

#[test]
fn pages_with_and_without_checksums_in_one_column() {
    let mut forged = plain();
    let pages = vec![
        forged.page(-1, &numbers(&[1])),
        forged.page(1, &numbers(&[2])),
        forged.page(-1, &numbers(&[3])),
    ];
    forged.groups[0].clusters[0].columns[0].0 = pages;
    assert_eq!(values(&forged.open().expect("opens"), "number"), ["1", "2", "3"]);
    let end = forged.pages.len();
    forged.pages[end - 9] ^= 1;
    let error = forged.open().expect("opens").field("number").expect_err("is wrong");
    assert!(matches!(error.kind, ErrorKind::Checksum(_)), "{error}");
}

/// The specification lists it, ROOT does not know it.
#[test]
fn half_precision_with_bytes_split() {
    let mut forged = Forged::of(2);
    let real = forged.field(None, LEAF, "real", "float");
    // 1.5 is 0x3e00, -2 is 0xc000.
    forged.column(SPLIT_REAL16, 16, real, 2, &[0x00, 0x00, 0x3e, 0xc0]);
    assert_eq!(values(&forged.open().expect("opens"), "real"), ["1.5", "-2"]);
}

/// Classes with a collection proxy: with items as a vector, or with pairs as a map has.
#[test]
fn collections_of_classes_that_are_any() {
    let mut forged = Forged::of(3);
    let list = forged.field(None, COLLECTION, "list", "MyList");
    let item = forged.field(Some(list), LEAF, "_0", "float");
    let table = forged.field(None, COLLECTION, "table", "MyTable<char>");
    let pair = forged.field(Some(table), RECORD, "_0", "std::pair<char,std::int32_t>");
    let key = forged.field(Some(pair), LEAF, "_0", "char");
    let value = forged.field(Some(pair), LEAF, "_1", "std::int32_t");
    forged.column(INDEX32, 32, list, 3, &ends(&[2, 2, 3]));
    let reals = [1f32, 2., 3.].map(f32::to_le_bytes).concat();
    forged.column(REAL32, 32, item, 3, &reals);
    forged.column(INDEX32, 32, table, 3, &ends(&[0, 1, 2]));
    forged.column(UINT8, 8, key, 2, b"ab");
    forged.column(INT32, 32, value, 2, &numbers(&[5, 6]));
    let opened = forged.open().expect("opens");
    assert_eq!(values(&opened, "list"), ["[1, 2]", "[]", "[3]"]);
    assert_eq!(values(&opened, "table"), ["[]", "[{0: 97, 1: 5}]", "[{0: 98, 1: 6}]"]);
}

/// In two groups: the first one is older than the column that later clusters have it in.
#[test]
fn representations_that_come_late_are_taken_where_they_are_not_suppressed() {
    let cluster = |entries, columns| ForgedCluster { entries, flags: 0, columns };
    let mut forged = plain();
    let narrow = forged.groups[0].clusters[0].columns[0].clone();
    // Deferred and suppressed: below zero.
    let first = (-3i64).to_le_bytes();
    forged.schemas[1].columns.push(flagged_column(0x13, 32, 0, 1, 1, &first));
    let split = (vec![forged.page(2, &[2, 1, 0, 0, 0, 0, 0, 0])], 3);
    forged.groups.push(Group {
        entries: 3..5,
        clusters: vec![cluster(3..5, vec![(Vec::new(), i64::MIN), split])],
    });
    let again = forged.page(1, &numbers(&[11]));
    forged.groups.push(Group {
        entries: 5..6,
        clusters: vec![cluster(5..6, vec![(vec![again], 5), (Vec::new(), i64::MIN)])],
    });
    forged.groups[0].clusters[0].columns = vec![narrow];
    let opened = forged.open().expect("opens");
    assert_eq!(values(&opened, "number"), ["7", "-8", "9", "1", "-1", "11"]);
}

/// A field of the extension that shows columns of the header and of the extension.
#[test]
fn projections_show_columns_in_whatever_representation() {
    let mut forged = Forged::of(2);
    let list = forged.field(None, COLLECTION, "list", "std::vector<std::int32_t>");
    let item = forged.field(Some(list), LEAF, "_0", "std::int32_t");
    forged.column(INDEX32, 32, list, 2, &ends(&[1, 3]));
    forged.column(INT32, 32, item, 3, &numbers(&[1, 2, 3]));
    let projected = |parent: u32, role, name, typename, of: u32| {
        flagged_field(parent, role, name, typename, 2, &of.to_le_bytes())
    };
    let alias = |column: u32, field: u32| [column.to_le_bytes(), field.to_le_bytes()].concat();
    forged.schemas[1].fields = vec![
        projected(2, COLLECTION, "shown", "ROOT::VecOps::RVec<std::int32_t>", list),
        projected(2, LEAF, "_0", "std::int32_t", item),
        projected(4, LEAF, "size", "ROOT::RNTupleCardinality<std::uint64_t>", list),
    ];
    forged.schemas[1].aliases = vec![alias(0, 2), alias(1, 3), alias(0, 4)];
    let opened = forged.open().expect("opens");
    assert_eq!(values(&opened, "shown"), ["[1]", "[2, 3]"]);
    assert_eq!(values(&opened, "size"), ["1", "2"]);
}

/// Untyped ones in untyped ones; variants without a value.
#[test]
fn records_and_collections_without_types() {
    let mut forged = Forged::of(2);
    let outer = forged.field(None, RECORD, "outer", "");
    let list = forged.field(Some(outer), COLLECTION, "list", "");
    let item = forged.field(Some(list), RECORD, "_0", "");
    let byte = forged.field(Some(item), LEAF, "byte", "std::byte");
    let either = forged.field(Some(item), VARIANT, "either", "std::variant<char>");
    let letter = forged.field(Some(either), LEAF, "_0", "char");
    forged.column(INDEX32, 32, list, 2, &ends(&[2, 2]));
    forged.column(BYTE, 8, byte, 2, &[3, 4]);
    let switches = [[0u8; 12], [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]].concat();
    forged.column(SWITCH, 96, either, 2, &switches);
    forged.column(CHAR, 8, letter, 1, b"x");
    let opened = forged.open().expect("opens");
    let first = "{list: [{byte: 3, either: null}, {byte: 4, either: 120}]}";
    assert_eq!(values(&opened, "outer"), [first, "{list: []}"]);
}
