//! Schemas of several inputs as one, and the zeros for fields that an input lacks.

use std::sync::Arc;

use bytes::Bytes;

use super::bridge::{Bridge, FieldPages, zero_pages};
use super::layout::{ColumnPlace, UnionSchema};
use super::part::{ClusterPart, ColumnPart, NTuplePart, entries_max};
use super::{CopiedNTuple, SourceNTuple};
use crate::error::{ErrorKind, Result};
use crate::file::File;
use crate::known::{Known, Progress};
use crate::ntuple::{Column, Field, Role, Schema};
use crate::write::copy::KeptEntries;
use crate::write::copy::Missing;

const F32: u16 = 0x0c;
const SPLIT_F32: u16 = 0x18;
const INDEX: u16 = 0x0f;
const QUANTISED: u16 = 0x1d;

/// A field of a schema: its path, its role and its columns.
type Described<'a> = (&'a str, Role, &'a [u16]);

/// A schema in which each column of a field is one of its representations.
fn schema(fields: &[Described<'_>]) -> Schema {
    let mut schema = Schema::default();
    let mut paths: Vec<&str> = Vec::new();
    for (path, role, columns) in fields {
        let id = schema.fields.len() as u32;
        let (above, name) = path.rsplit_once('.').unwrap_or(("", path));
        let parent = paths.iter().position(|known| *known == above).map(|at| at as u32);
        let typename = if columns.is_empty() { "" } else { "some" };
        schema.fields.push(Field {
            name: name.to_owned(),
            typename: typename.to_owned(),
            type_alias: String::new(),
            description: String::new(),
            field_version: 0,
            type_version: 0,
            parent,
            role: *role,
            array_size: None,
            source: None,
            checksum: None,
            children: Vec::new(),
            columns: Vec::new(),
        });
        for (kind, representation) in columns.iter().zip(0..) {
            let bits = if *kind == INDEX { 64 } else { 32 };
            let range = (*kind == QUANTISED).then_some((1.0, 2.0));
            let column =
                Column { kind: *kind, bits, field: id, representation, deferred: false, range };
            schema.fields[id as usize].columns.push(schema.columns.len() as u32);
            schema.columns.push(column);
        }
        if let Some(parent) = parent {
            schema.fields[parent as usize].children.push(id);
        }
        paths.push(path);
    }
    schema
}

fn number(path: &str) -> Described<'_> {
    (path, Role::Leaf, &[F32])
}

/// A list of records without a type, with these members.
fn muons<'a>(members: &[&'a str]) -> Vec<Described<'a>> {
    let collection = [("Muon", Role::Collection, &[INDEX][..]), ("Muon._0", Role::Record, &[])];
    collection.into_iter().chain(members.iter().map(|member| number(member))).collect()
}

fn layout(schemas: &[Schema], missing: Missing) -> Result<(UnionSchema, Vec<Vec<Option<u32>>>)> {
    let mut layout = UnionSchema::default();
    let fields = schemas.iter().map(|schema| layout.add(schema, missing));
    let fields = fields.collect::<Result<_>>()?;
    Ok((layout, fields))
}

/// A cluster with the number of elements of each column; `None` for a suppressed column.
fn cluster(entries: u64, elements: &[Option<i32>]) -> ClusterPart {
    let column = |count: &Option<i32>| ColumnPart {
        pages: count.iter().map(|count| (*count, 0)).collect(),
        element_len: 4,
        compression: 505,
        suppressed: count.is_none(),
    };
    ClusterPart::made(entries, elements.iter().map(column).collect())
}

#[test]
fn fields_of_one_path_are_one_field() {
    let one = schema(&[number("x"), number("y")]);
    let two = schema(&[number("y"), number("x")]);
    let (layout, fields) = layout(&[one.clone(), two, one], Missing::Strict).unwrap();
    assert_eq!(fields[1], [Some(1), Some(0)]);
    assert_eq!(fields[2], [Some(0), Some(1)]);
    assert!(!layout.is_extended);
    let column = |field| ColumnPlace { field, ..ColumnPlace::default() };
    assert_eq!(layout.columns(), [column(0), column(1)]);
    assert_eq!(layout.path(1), "y");
}

#[test]
fn fields_that_inputs_lack_go_by_what_is_asked() {
    let all = [muons(&["Muon._0.pt"]), muons(&["Muon._0.pt", "Muon._0.hits"])];
    let all = all.map(|fields| schema(&fields));
    let error = layout(&all, Missing::Strict).unwrap_err().to_string();
    assert!(error.contains("Muon._0.hits"), "{error}");
    let (filtered, fields) = layout(&all, Missing::Filter).unwrap();
    assert_eq!(fields[1], [Some(0), Some(1), Some(2), None]);
    assert!(!filtered.is_extended);
    let (union, fields) = layout(&all, Missing::Union).unwrap();
    assert_eq!(fields[1], [Some(0), Some(1), Some(2), Some(3)]);
    assert!(union.is_extended);
    let described = union.schema(&all[0], &union.columns());
    assert_eq!(described.fields[3].parent, Some(1));
    assert_eq!(described.columns.len(), 3);
}

#[test]
fn fields_at_the_top_are_left_out_with_all_below() {
    let all = schema(&[&[number("x")][..], &muons(&["Muon._0.pt"]), &[number("y")]].concat());
    let mut layout = UnionSchema::default();
    layout.only = Some(["x", "y"].map(String::from).into());
    assert_eq!(layout.add(&all, Missing::Strict).unwrap(), [Some(0), None, None, None, Some(1)]);
    assert!(layout.is_extended, "the first header has more");
    let few = schema(&[number("x"), number("y")]);
    let mut layout = UnionSchema::default();
    layout.only = Some(["x", "y"].map(String::from).into());
    layout.add(&few, Missing::Strict).unwrap();
    assert_eq!(layout.add(&all, Missing::Filter).unwrap()[1], None);
    assert!(!layout.is_extended, "the first header has all");
}

#[test]
fn types_must_be_the_same_and_encodings_need_not() {
    let other = |typename: &str| {
        let mut schema = schema(&[number("x")]);
        schema.fields[0].typename = typename.to_owned();
        schema
    };
    let error = layout(&[other("float"), other("double")], Missing::Union).unwrap_err();
    assert!(error.to_string().contains("\"double\""), "{error}");
    let split = schema(&[("x", Role::Leaf, &[SPLIT_F32])]);
    let plain = schema(&[number("x")]);
    let (layout, _) = layout(&[plain.clone(), split.clone()], Missing::Strict).unwrap();
    assert!(layout.is_extended);
    let column = |representation| ColumnPlace { representation, ..ColumnPlace::default() };
    assert_eq!(layout.columns(), [column(0), column(1)]);
    assert_eq!(layout.representation(0, &plain, &[0]), Some(0));
    assert_eq!(layout.representation(0, &split, &[0]), Some(1));
}

/// Regression: ROOT takes bits and range of the first columns for all, and read other values.
#[test]
fn reals_of_other_bits_or_ranges_are_refused() {
    let quantised = |bits: u16, range: (f64, f64)| {
        let mut schema = schema(&[("x", Role::Leaf, &[QUANTISED])]);
        schema.columns[0] = Column { bits, range: Some(range), ..schema.columns[0].clone() };
        schema
    };
    let first = quantised(8, (0.0, 10.0));
    let plain = schema(&[number("x")]);
    for other in [quantised(8, (0.0, 20.0)), quantised(9, (0.0, 10.0))] {
        for before in [&first, &plain] {
            let error = layout(&[before.clone(), other.clone()], Missing::Strict).unwrap_err();
            assert!(error.to_string().starts_with("x: "), "{error}");
        }
    }
    assert!(layout(&[first.clone(), first.clone(), plain], Missing::Strict).is_ok());
}

#[test]
fn a_representation_for_zeros_is_added_where_none_has_them() {
    let all = [schema(&[number("n"), ("x", Role::Leaf, &[QUANTISED])]), schema(&[number("n")])];
    let (layout, _) = layout(&all, Missing::Union).unwrap();
    assert_eq!(layout.fields[1].zeros(), Some(1));
    assert_eq!(layout.columns().len(), 3);
}

fn bridged(all: &[Schema], input: usize, missing: Missing) -> Result<(UnionSchema, Bridge)> {
    let (layout, fields) = layout(all, missing)?;
    let bridge = Bridge::new(&layout, &all[input], &fields[input], missing)?;
    Ok((layout, bridge))
}

#[test]
fn zeros_are_as_many_as_entries_or_as_other_items() {
    let more = [&muons(&["Muon._0.pt", "Muon._0.hits"])[..], &[number("x")]].concat();
    let all = [schema(&muons(&["Muon._0.pt"])), schema(&more)];
    let (layout, bridge) = bridged(&all, 0, Missing::Union).unwrap();
    let cluster = cluster(10, &[Some(10), Some(-23)]);
    let zeros = |path: &str| {
        let place = (0..layout.fields.len()).find(|place| layout.path(*place) == path).unwrap();
        let FieldPages { zeros, columns, .. } = bridge.stored(place, &cluster).unwrap();
        (zeros, columns.len())
    };
    assert_eq!(zeros("Muon._0.pt"), (0, 1));
    assert_eq!(zeros("Muon._0.hits"), (23, 0));
    assert_eq!(zeros("x"), (10, 0));
    assert!(bridged(&all, 0, Missing::Strict).is_err());
}

#[test]
fn each_cluster_has_one_representation() {
    let both = schema(&[("x", Role::Leaf, &[F32, SPLIT_F32])]);
    let (_, bridge) = bridged(&[both], 0, Missing::Strict).unwrap();
    for (elements, representation) in [([Some(5), None], 0), ([None, Some(5)], 1)] {
        let cluster = cluster(5, &elements);
        let stored = bridge.stored(0, &cluster).unwrap();
        assert_eq!((stored.representation, stored.zeros), (representation, 0));
        assert_eq!(stored.columns, [representation as u32]);
    }
}

#[test]
fn what_cannot_be_zeros_is_refused_when_there_is_an_entry() {
    let all = [schema(&[number("n")]), schema(&[number("n"), ("s", Role::Streamer, &[INDEX])])];
    let (layout, bridge) = bridged(&all, 0, Missing::Union).unwrap();
    let part = |clusters: Vec<ClusterPart>| NTuplePart {
        entries: clusters.iter().map(|one| one.stored_entries).sum(),
        entries_max: u64::MAX,
        schema: (0, all[0].clone().into()),
        fields: vec![Some(0)].into(),
        clusters_before: 0,
        groups: Vec::new(),
        clusters,
    };
    bridge.check(&layout, &part(vec![])).unwrap();
    let error = bridge.check(&layout, &part(vec![cluster(1, &[Some(1)])])).unwrap_err();
    assert!(error.to_string().contains("no zeros"), "{error}");
}

/// Regression: an RNTuple of a few bytes that claims any number of entries got 4,194,304 pages of
/// zeros, each of them listed.
#[test]
fn more_entries_than_an_input_can_hold_are_not_zeros() {
    let all = [schema(&[("r", Role::Record, &[])]), schema(&[number("x")])];
    let (layout, bridge) = bridged(&all, 0, Missing::Union).unwrap();
    let part = |entries, entries_max| NTuplePart {
        entries,
        entries_max,
        schema: (0, all[0].clone().into()),
        fields: vec![Some(0)].into(),
        clusters: vec![cluster(entries, &[])],
        clusters_before: 0,
        groups: Vec::new(),
    };
    let check = |entries, most| bridge.check(&layout, &part(entries, most));
    check(1 << 27, entries_max(&[])).unwrap();
    let error = check(1 << 37, entries_max(&[])).unwrap_err();
    assert!(error.to_string().contains("no field has the bytes"), "{error}");
    assert!(matches!(check(1 << 62, u64::MAX).unwrap_err().kind, ErrorKind::Limit(_)));
}

/// Regression: the entries of several inputs did not fit into their number.
#[test]
fn numbers_of_entries_are_added_up_with_care() {
    let input = Bytes::from_static(include_bytes!("../../../../testdata/ntuple_plain.root"));
    let mut known = Known::new(Some(input.len() as u64));
    known.supply(0, input);
    let ready = |progress| match progress {
        Ok(Progress::Ready(source)) => source,
        other => panic!("all is there: {other:?}"),
    };
    let Progress::Ready(file) = File::open(&known).unwrap() else { panic!("all is there") };
    let key = file.top.key("events", None).unwrap();
    let claims = |entries| {
        let mut source: SourceNTuple = ready(SourceNTuple::read(&file, &known, key));
        source.ntuple.entries = entries;
        source
    };
    let taken = KeptEntries::default;
    let (mut copied, _) = CopiedNTuple::new(claims(1 << 62), None, taken()).unwrap();
    let error = copied.plan(&claims(1 << 62), Missing::Strict, taken()).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Limit(_)), "{error:?}");
}

/// A column of a late field has at most as many elements as the cluster has entries.
#[test]
fn more_elements_than_entries_are_corrupt() {
    let mut late = schema(&[number("x")]);
    late.columns[0].deferred = true;
    let (_, bridge) = bridged(&[late], 0, Missing::Strict).unwrap();
    assert_eq!(bridge.stored(0, &cluster(5, &[Some(3)])).unwrap().zeros, 2);
    assert!(bridge.stored(0, &cluster(5, &[Some(6)])).is_err());
}

#[test]
fn pages_of_zeros_have_a_megabyte_at_most() {
    assert_eq!(zero_pages(0, 32).count(), 0);
    assert_eq!(zero_pages(3, 32).collect::<Vec<_>>(), [(3, 12)]);
    assert_eq!(zero_pages(3, 1).collect::<Vec<_>>(), [(3, 1)]);
    let pages: Vec<_> = zero_pages(600_000, 32).collect();
    assert_eq!(pages.iter().map(|(_, len)| *len).max(), Some(1 << 20));
    assert_eq!(pages.iter().map(|(count, _)| *count).sum::<i32>(), 600_000);
}

/// Regression: a field that has such a page was never complete, and lost the cluster's entries.
#[test]
fn pages_without_elements_are_not_waited_for() {
    let part = NTuplePart {
        entries: 10,
        entries_max: u64::MAX,
        schema: (0, Arc::new(schema(&[number("x"), number("y"), number("z")]))),
        fields: [Some(0), Some(1), Some(2)].into(),
        clusters: vec![cluster(10, &[Some(10), Some(0), Some(-10)])],
        clusters_before: 0,
        groups: Vec::new(),
    };
    assert_eq!(part.fields(0), [(0, vec![0]), (1, vec![]), (2, vec![0])]);
}
