//! RNTuples that lie: clear errors, in memory in proportion to the file.

use farroot_rootfile::{Error, ErrorKind};

use crate::support::forged::{
    COLLECTION, Forged, ForgedCluster, Group, LEAF, RECORD, VARIANT, column, field, flagged_column,
    flagged_field,
};
use crate::support::ntuple::shown;

const CHAR: u16 = 0x02;
const INT32: u16 = 0x07;
const INDEX32: u16 = 0x0e;
const INDEX64: u16 = 0x0f;
const SWITCH: u16 = 0x10;
const REPETITIVE: u16 = 1;
const PROJECTED: u16 = 2;

fn words(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|end| end.to_le_bytes()).collect()
}

/// Two entries of a number.
fn plain() -> Forged {
    let mut forged = Forged::of(2);
    let number = forged.field(None, LEAF, "number", "std::int32_t");
    forged.column(INT32, 32, number, 2, &words(&[7, 8]));
    forged
}

/// The error of opening, of one of these kinds.
fn refused(forged: &Forged) -> String {
    said(forged.open().map(drop).expect_err("is refused"))
}

/// The error of reading a field.
fn unread(forged: &Forged, path: &str) -> String {
    said(forged.open().expect("opens").field(path).expect_err("is refused"))
}

fn said(error: Error) -> String {
    assert!(matches!(error.kind, ErrorKind::Corrupt(_) | ErrorKind::Limit(_)), "{error}");
    error.to_string()
}

#[test]
fn parents_that_come_later_or_are_nowhere() {
    for parents in [[1, 0], [5, 1], [u32::MAX, 1], [0, u32::MAX]] {
        let mut forged = Forged::of(0);
        forged.schemas[0].fields = parents.map(|parent| field(parent, RECORD, "x", "X")).to_vec();
        let error = refused(&forged);
        assert!(error.contains("in field"), "{error}");
    }
}

#[test]
fn columns_and_aliases_of_nothing() {
    let mut forged = plain();
    forged.schemas[0].columns.push(column(INT32, 32, 9));
    assert!(refused(&forged).contains("column 1 of field 9"));
    for (physical, of) in [(9u32, 0u32), (0, 9)] {
        let mut forged = plain();
        forged.schemas[0].aliases.push([physical.to_le_bytes(), of.to_le_bytes()].concat());
        assert!(refused(&forged).contains("shows column"));
    }
}

#[test]
fn fields_in_each_other_without_end() {
    let mut forged = Forged::of(0);
    for depth in 0..100u32 {
        forged.schemas[0].fields.push(field(depth.saturating_sub(1), RECORD, "x", "X"));
    }
    assert!(refused(&forged).contains("more than 64 fields in each other"));
}

/// A long name in the path of each of many fields.
#[test]
fn paths_that_take_more_memory_than_the_file() {
    let mut forged = Forged::of(0);
    let long = "x".repeat(1 << 20);
    forged.field(None, RECORD, &long, "");
    for _ in 0..1000 {
        forged.schemas[0].fields.push(field(0, RECORD, "x", ""));
    }
    assert!(refused(&forged).contains("names of more than"));
}

/// The source that a projected field states is not needed: its alias columns are.
#[test]
fn projections_of_themselves_of_each_other_and_of_nothing() {
    for sources in [[1u32, 2], [2, 1], [9, u32::MAX]] {
        let mut forged = plain();
        for (number, source) in [1u32, 2].into_iter().zip(sources) {
            let more = source.to_le_bytes();
            let shown = flagged_field(number, LEAF, "shown", "std::int32_t", PROJECTED, &more);
            forged.schemas[0].fields.push(shown);
        }
        forged.schemas[0].aliases.push([0u32.to_le_bytes(), 1u32.to_le_bytes()].concat());
        let opened = forged.open().expect("opens");
        assert_eq!(shown(&opened.field("number").expect("is good"), 1), "8");
        let second = opened.names.all()[2].field;
        let how = farroot_rootfile::ntuple::FieldInterpretation::of(
            &opened.ntuple.schema,
            &opened.names,
            &opened.classes,
            second,
        );
        assert!(said(how.expect_err("has no column")).contains("a leaf with both"));
    }
}

#[test]
fn groups_and_clusters_that_overlap_leave_gaps_or_have_no_end() {
    let group = |entries: std::ops::Range<u64>, clusters: &[std::ops::Range<u64>]| Group {
        entries,
        clusters: clusters
            .iter()
            .map(|entries| ForgedCluster { entries: entries.clone(), ..ForgedCluster::default() })
            .collect(),
    };
    let mut forged = Forged::default();
    let lies = [
        vec![group(0..4, &[0..2, 3..4])],
        vec![group(0..4, &[0..2, 1..4])],
        vec![group(0..4, &[0..2])],
        vec![group(0..4, &[0..9])],
        vec![group(0..4, &[0..4]), group(3..6, &[3..6])],
        vec![group(1..4, &[1..4])],
        vec![group(0..u64::MAX, &[0..4])],
        vec![group(0..4, &[0..4]), group(4..u64::MAX, &[4..1 << 55])],
    ];
    for groups in lies {
        forged.groups = groups;
        let error = refused(&forged);
        assert!(error.contains("entries"), "{error}");
    }
    forged.groups = vec![group(0..4, &[0..4])];
    forged.open().expect("is good");
}

#[test]
fn elements_that_are_not_there_or_too_many() {
    for (elements, page) in [(3, words(&[1, 2, 3])), (1, words(&[1])), (0, Vec::new())] {
        let mut forged = Forged::of(2);
        let number = forged.field(None, LEAF, "number", "std::int32_t");
        forged.column(INT32, 32, number, elements, &page);
        let error = unread(&forged, "number");
        assert!(error.contains("elements where 2 entries have 1 each"), "{error}");
    }
    // Pages of 8 GB in four bytes.
    let mut forged = Forged::of(i32::MAX as u64);
    let number = forged.field(None, LEAF, "number", "std::int32_t");
    forged.column(INT32, 32, number, i32::MAX, &words(&[1]));
    assert!(unread(&forged, "number").contains("a page of"));
}

#[test]
fn collections_whose_ends_go_backwards_or_beyond() {
    for (ends, expected) in [
        ([3, 2], "run backwards"),
        ([1, 4], "elements 3 to 4 of a column lack"),
        ([1, u32::MAX], "of a column lack"),
    ] {
        let mut forged = Forged::of(2);
        let list = forged.field(None, COLLECTION, "list", "std::vector<std::int32_t>");
        let item = forged.field(Some(list), LEAF, "_0", "std::int32_t");
        let text = forged.field(None, LEAF, "text", "std::string");
        forged.column(INDEX32, 32, list, 2, &words(&ends));
        forged.column(INT32, 32, item, 3, &words(&[1, 2, 3]));
        forged.column(INDEX32, 32, text, 2, &words(&ends));
        forged.column(CHAR, 8, text, 3, b"abc");
        for path in ["list", "text"] {
            let error = unread(&forged, path);
            assert!(error.contains(expected), "{path}: {error}");
        }
        let mut forged = Forged::of(2);
        let size = forged.field(None, LEAF, "size", "ROOT::RNTupleCardinality<std::uint32_t>");
        forged.column(INDEX32, 32, size, 2, &words(&ends));
        let sizes = forged.open().expect("opens").field("size");
        assert_eq!(sizes.is_err(), ends[1] < ends[0] || ends[1] > 1 << 31, "{ends:?}");
    }
    let mut forged = Forged::of(1);
    let list = forged.field(None, COLLECTION, "list", "std::vector<std::int32_t>");
    let item = forged.field(Some(list), LEAF, "_0", "std::int32_t");
    forged.column(INDEX64, 64, list, 1, &u64::MAX.to_le_bytes());
    forged.column(INT32, 32, item, 0, &[]);
    assert!(unread(&forged, "list").contains("run backwards"));
}

#[test]
fn optionals_with_several_values_and_variants_with_alternatives_they_do_not_have() {
    let mut forged = Forged::of(2);
    let maybe = forged.field(None, COLLECTION, "maybe", "std::optional<std::int32_t>");
    let value = forged.field(Some(maybe), LEAF, "_0", "std::int32_t");
    forged.column(INDEX32, 32, maybe, 2, &words(&[2, 3]));
    forged.column(INT32, 32, value, 3, &words(&[1, 2, 3]));
    assert!(unread(&forged, "maybe").contains("more than one value"));
    for (index, tag, expected) in [
        (0u64, 2u32, "beyond its 1 alternatives"),
        (0, u32::MAX, "beyond its 1 alternatives"),
        (1 << 63, 1, "in front of the first"),
        (i64::MAX as u64, 1, "in front of the first"),
        (1 << 40, 1, "of a column lack"),
    ] {
        let mut forged = Forged::of(1);
        let either = forged.field(None, VARIANT, "either", "std::variant<char>");
        let letter = forged.field(Some(either), LEAF, "_0", "char");
        let switch = [&index.to_le_bytes()[..], &tag.to_le_bytes()].concat();
        forged.column(SWITCH, 96, either, 1, &switch);
        forged.column(CHAR, 8, letter, 1, b"a");
        let error = unread(&forged, "either");
        assert!(error.contains(expected), "{error}");
    }
}

/// `std::array<std::array<int, 2^40>, 2^40>`, and columns that were added after 2^40 entries.
#[test]
fn arrays_of_more_items_than_there_are_bytes() {
    for length in [1u64 << 40, 1 << 63, u64::MAX] {
        let mut forged = plain();
        let array = |parent: u32, name: &str| {
            flagged_field(parent, LEAF, name, "A", REPETITIVE, &length.to_le_bytes())
        };
        forged.schemas[0].fields.push(array(1, "outer"));
        forged.schemas[0].fields.push(array(1, "_0"));
        forged.schemas[0].fields.push(field(2, LEAF, "_0", "std::int32_t"));
        forged.column(INT32, 32, 3, 2, &words(&[1, 2]));
        let error = unread(&forged, "outer");
        assert!(error.contains("elements"), "{error}");
        let deferred = flagged_column(INT32, 32, 3, 0, 1, &1i64.to_le_bytes());
        forged.schemas[0].columns[1] = deferred;
        let error = unread(&forged, "outer");
        assert!(error.contains("elements"), "{error}");
    }
    let mut forged = Forged::of(1 << 40);
    let number = forged.field(None, LEAF, "number", "std::int32_t");
    let deferred = flagged_column(INT32, 32, number, 0, 1, &(1i64 << 40).to_le_bytes());
    forged.schemas[1].columns.push(deferred);
    assert!(unread(&forged, "number").contains("never written"));
}

#[test]
fn places_behind_the_end_of_all_files() {
    for (size, offset) in [(16u32, u64::MAX - 4), (i32::MAX as u32, u64::MAX - 4)] {
        let mut forged = plain();
        let page = [&2i32.to_le_bytes()[..], &size.to_le_bytes(), &offset.to_le_bytes()].concat();
        forged.groups[0].clusters[0].columns[0].0 = vec![page];
        let error = refused(&forged);
        assert!(error.contains(&format!("{size} bytes at {offset}")), "{error}");
    }
}

/// The same bytes may be several pages: equal pages are written once.
#[test]
fn pages_at_one_place_are_read() {
    let mut forged = Forged::of(6);
    let number = forged.field(None, LEAF, "number", "std::int32_t");
    forged.column(INT32, 32, number, 2, &words(&[7, 8]));
    let page = forged.groups[0].clusters[0].columns[0].0[0].clone();
    forged.groups[0].clusters[0].columns[0].0 = vec![page; 3];
    let array = forged.open().expect("opens").field("number").expect("is good");
    let shown: Vec<String> = (0..6).map(|row| shown(&array, row)).collect();
    assert_eq!(shown, ["7", "8", "7", "8", "7", "8"]);
}
