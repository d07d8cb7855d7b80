//! Names and layouts of branches of every supported kind.

use super::*;
use crate::array::{ArrayParameter, Numbers};
use crate::streamer::{StreamerElement, StreamerInfo};
use crate::tree::model::{Leaf, LeafKind};

fn leaf(name: &str, title: &str, kind: LeafKind, len: u32) -> Leaf {
    Leaf {
        name: name.into(),
        title: title.into(),
        kind,
        len,
        len_type: 4,
        unsigned: false,
        count: None,
        maximum: 0,
    }
}

fn branch(name: &str, kind: BranchKind, leaves: Vec<Leaf>) -> Branch {
    Branch { title: name.into(), leaves, ..Branch::without_entries(name.into(), kind) }
}

fn plain(leaves: Vec<Leaf>) -> Branch {
    branch("b", BranchKind::Plain, leaves)
}

/// A member `id` of class `Event`, or a whole object of class `class` where `id` is negative.
fn element(class: &str, id: i32, branch_type: i32, streamer_type: i32, title: &str) -> Branch {
    let len = shape_product(title);
    let kind = BranchKind::Element {
        class_name: class.into(),
        parent_name: String::new(),
        clones_name: String::new(),
        checksum: 0,
        class_version: 1,
        id,
        branch_type,
        streamer_type,
        count: None,
        count2: None,
    };
    branch("b", kind, vec![leaf("b", title, LeafKind::Element { id, streamer_type }, len)])
}

fn shape_product(title: &str) -> u32 {
    fixed_shape(title).iter().product::<usize>() as u32
}

fn tree(branches: Vec<Branch>) -> Tree {
    Tree {
        name: "t".into(),
        title: String::new(),
        entries: 0,
        total_bytes: 0,
        zip_bytes: 0,
        branches,
        cluster_starts: Vec::new(),
        friends: Ok(Vec::new()),
        index: Ok(None),
        weight: 1.0,
        has_user_info: false,
        aliases: Vec::new(),
    }
}

const MEMBERS: [(&str, i32, &str, &str); 9] = [
    ("texts", 300, "vector<string>", ""),
    ("nested", 300, "vector<vector<unsigned short> >", ""),
    ("text", 300, "string", ""),
    ("reduced", 9, "Double32_t", "[0, 8, 8]"),
    ("point", 62, "P", ""),
    ("points", 300, "vector<P>", ""),
    ("map", 300, "map<string,int>", ""),
    ("wide", 9, "Double32_t", "no range"),
    ("odd", 500, "Own", ""),
];

/// `Event`, whose members are those above, the class `P` of its objects, and one without end.
fn classes() -> ClassTable {
    let member = |name: &str, type_code, type_name: &str, title: &str| StreamerElement {
        name: name.into(),
        title: title.into(),
        type_code,
        type_name: type_name.into(),
        ..StreamerElement::default()
    };
    let class = |class: &str, version, elements| StreamerInfo {
        class: class.into(),
        version,
        checksum: 0,
        elements,
    };
    let collection = |class: &str| StreamerElement {
        class: "TStreamerSTL".into(),
        ..member("This", 300, class, "")
    };
    let event =
        MEMBERS.iter().map(|(name, code, kind, title)| member(name, *code, kind, title)).collect();
    let array = StreamerElement { array_len: 2, dimensions: vec![2], ..member("a", 23, "int", "") };
    let point = vec![member("TObject", 66, "BASE", ""), member("x", 5, "float", ""), array];
    let one = StreamerElement { array_len: 1, dimensions: vec![1], ..member("a", 21, "char", "") };
    let pair = vec![member("first", 2, "short", ""), member("second", 62, "array<char,1>", "")];
    ClassTable::from(Streamers::new(vec![
        class("pair<short,array<char,1> >", 1, pair),
        class("array<char,1>", 1, vec![one]),
        class("Event", 1, event),
        class("P", 1, point),
        class("Loop", 1, vec![member("again", 62, "Loop", "")]),
        class("Points<P>", 1, vec![collection("Points<P>")]),
        class("Things", 1, vec![collection("Things")]),
        class("Holder", 1, vec![member("list", 63, "TList*", ""), member("x", 5, "float", "")]),
    ]))
}

fn of(branch: Branch) -> Result<Interpretation> {
    Interpretation::of(&tree(vec![branch]), BranchId(0), &classes())
}

#[track_caller]
fn assert_reads(branch: Branch, typename: &str, entry: Entry) -> Interpretation {
    let interpretation = of(branch).unwrap();
    assert_eq!((interpretation.typename(), interpretation.entry), (typename, entry));
    interpretation
}

#[track_caller]
fn assert_unsupported(branch: Branch, reason: &str) {
    let error = of(branch).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Unsupported(_)), "{error}");
    assert!(error.path.starts_with('b'), "names the branch: {error}");
    assert!(error.to_string().contains(reason), "{error}");
}

const BARE: Entry = Entry::Items { header: 0, counted: false };
const VECTOR: Entry = Entry::Items { header: 10, counted: true };

#[test]
fn leaves_of_every_class() {
    for (kind, signed, unsigned) in [
        (LeafKind::Bool, "bool", "bool"),
        (LeafKind::I8, "int8_t", "uint8_t"),
        (LeafKind::I16, "int16_t", "uint16_t"),
        (LeafKind::I32, "int32_t", "uint32_t"),
        (LeafKind::I64, "int64_t", "uint64_t"),
        (LeafKind::F32, "float", "float"),
        (LeafKind::F64, "double", "double"),
    ] {
        let leaf = leaf("x", "x", kind, 1);
        assert_reads(plain(vec![leaf.clone()]), signed, Entry::Fixed);
        assert_reads(plain(vec![Leaf { unsigned: true, ..leaf }]), unsigned, Entry::Fixed);
    }
    let chars = leaf("x", "x", LeafKind::Chars, 1);
    assert_reads(plain(vec![chars]), "char*", Entry::Value);
}

#[test]
fn shapes_come_from_titles() {
    let array = |title, len| plain(vec![leaf("x", title, LeafKind::F32, len)]);
    assert_reads(array("x[2][3]", 6), "float[2][3]", Entry::Fixed);
    assert_reads(array("x[2][3]", 7), "float[7]", Entry::Fixed);
    assert_reads(array("x[", 2), "float[2]", Entry::Fixed);
    assert!(of(array("x[0]", 0)).is_err());
    assert!(of(array("x[4000000000][4000000000][4000000000]", 1)).is_ok());
}

#[test]
fn counted_leaves_are_lists() {
    let counted = |title, len| {
        let count = Some((BranchId(7), 0));
        plain(vec![Leaf { count, ..leaf("x", title, LeafKind::I16, len) }])
    };
    assert_eq!(assert_reads(counted("x[n]", 1), "int16_t[]", BARE).counter(), Some(BranchId(7)));
    let shaped = assert_reads(counted("x[n][3]", 3), "int16_t[][3]", BARE);
    let Array::List { content, .. } = shaped.empty() else { panic!("not a list") };
    assert_eq!(*content, Array::Numbers { numbers: Numbers::I16(vec![]), shape: vec![3] });
}

#[test]
fn reduced_leaves_have_their_shape_in_the_branch() {
    let mut branch = plain(vec![leaf("x", "d[-2.71,10,30]", LeafKind::Double32, 3)]);
    branch.title = "x[3]/d[-2.71,10,30]".into();
    let interpretation = assert_reads(branch, "Double32_t[3]", Entry::Fixed);
    let expected = Array::Numbers { numbers: Numbers::F64(vec![]), shape: vec![3] };
    assert_eq!(interpretation.empty(), expected);
    assert_unsupported(plain(vec![leaf("x", "x[0,b]", LeafKind::Float16, 1)]), "range");
}

#[test]
fn leaf_lists_are_structures() {
    let leaves = vec![
        leaf("x", "x", LeafKind::F64, 1),
        leaf("y", "y[3]", LeafKind::I32, 3),
        leaf("z", "z", LeafKind::I8, 1),
    ];
    let name = "struct {double x; int32_t[3] y; int8_t z;}";
    let interpretation = assert_reads(plain(leaves.clone()), name, Entry::Fixed);
    assert_eq!(interpretation.layout.fixed_size(), Some(21));
    let mut counted = leaves;
    counted[1].count = Some((BranchId(0), 2));
    let name = "struct {double x; int32_t[][3] y; int8_t z;}";
    assert_eq!(assert_reads(plain(counted.clone()), name, Entry::Leaves).counter(), None);
    counted[1].count = Some((BranchId(7), 2));
    let outside = assert_reads(plain(counted.clone()), name, Entry::Leaves);
    assert_eq!((outside.counter(), outside.always_needs_counts()), (Some(BranchId(7)), true));
    counted[0].count = Some((BranchId(8), 0));
    assert_unsupported(plain(counted), "several other branches");
}

#[test]
fn members_of_split_objects() {
    for (code, typename) in [
        (1, "int8_t"),
        (3, "int32_t"),
        (6, "uint32_t"),
        (15, "uint32_t"),
        (16, "int64_t"),
        (18, "bool"),
    ] {
        assert_reads(element("Event", 0, 0, code, "x"), typename, Entry::Fixed);
    }
    assert_reads(element("Event", 0, 0, 25, "x[2][2]"), "float[2][2]", Entry::Fixed);
    let pointer = Entry::Items { header: 1, counted: false };
    assert_reads(element("Event", 0, 0, 45, "x[n]"), "float[]", pointer);
    assert_reads(element("Event", 0, 0, 65, "x"), "TString", Entry::Value);
    assert_reads(element("Event", 0, 0, 300, "x"), "std::vector<std::string>", Entry::Value);
    let nested = "std::vector<std::vector<uint16_t>>";
    assert_reads(element("Event", 1, 0, 300, "x"), nested, Entry::Value);
    assert_reads(element("Event", 2, 0, 300, "x"), "std::string", Entry::Value);
    assert_reads(element("Event", 3, 0, 9, "x"), "Double32_t", Entry::Fixed);
    assert_reads(element("Event", 7, 0, 9, "x"), "float", Entry::Fixed);
    assert_reads(element("Event", 4, 0, 62, "x"), "P", Entry::Value);
    assert_reads(element("Event", 5, 0, 300, "x"), "std::vector<P>", Entry::Value);
}

#[test]
fn members_of_collections_are_lists() {
    assert_reads(element("Event", 0, 41, 5, "x"), "float[]", BARE);
    assert_reads(element("Event", 0, 31, 25, "x[3]"), "float[][3]", BARE);
    assert_reads(element("Event", 0, 41, 300, "x"), "std::vector<std::string>[]", Entry::Run);
    assert_reads(element("Event", 2, 41, 300, "x"), "std::string[]", Entry::Run);
    assert_reads(element("Event", 4, 41, 62, "x"), "P[]", Entry::Run);
}

#[test]
fn whole_collections_and_objects() {
    assert_reads(element("vector<float>", -1, 0, -1, "x"), "std::vector<float>", VECTOR);
    assert_reads(element("vector<bool>", -1, 0, -1, "x"), "std::vector<bool>", VECTOR);
    assert_reads(element("ROOT::VecOps::RVec<int>", -1, 0, -1, "x"), "RVec<int32_t>", VECTOR);
    assert_reads(element("string", -1, -1, -1, "x"), "std::string", Entry::Value);
    let object = assert_reads(element("P", -1, -1, -1, "x"), "P", Entry::Value);
    let Array::Record { fields, .. } = object.empty() else { panic!("not a record") };
    assert_eq!(fields.iter().map(|(name, _)| &name[..]).collect::<Vec<_>>(), ["x", "a"]);
}

/// Maps of such arrays were corrupt: only their pair says that each has a header.
#[test]
fn arrays_in_maps_are_objects_where_their_pair_says_so() {
    let has_header = |item: &str| {
        let map = of(element(&format!("map<short,array<{item},1> >"), -1, 0, -1, "x")).unwrap();
        let Layout::List(list) = &map.layout else { panic!("a list") };
        let Layout::Record { record, .. } = &*list.item else { panic!("pairs") };
        let layout::Part::Member { layout, .. } = &record.versions[0].parts[1] else {
            panic!("a member")
        };
        matches!(layout, Layout::Record { header: true, .. })
    };
    assert!(has_header("char"));
    assert!(!has_header("int"));
}

/// Class and members of the items of a list of objects.
fn items(column: &Array) -> (Option<&str>, Vec<&str>) {
    let Array::List { content, .. } = column else { panic!("no list") };
    let Array::Record { class, fields, .. } = &**content else { panic!("no objects") };
    (class.as_deref(), fields.iter().map(|(name, _)| &name[..]).collect())
}

#[test]
fn collections_of_their_own_making() {
    let points = assert_reads(element("Points<P>", -1, 0, -1, "x"), "Points<P>", Entry::Value);
    assert_eq!(items(&points.empty()), (Some("P"), vec!["x", "a"]));
    let things = assert_reads(element("Things", -1, 0, -1, "x"), "Things", Entry::Value);
    assert_eq!(items(&things.empty()), (None, vec![]));
}

#[test]
fn collections_of_what_is_not_described() {
    let hits = element("vector<Hit>", -1, 0, -1, "x");
    let hits = assert_reads(hits, "std::vector<Hit>", Entry::Value);
    assert_eq!(items(&hits.empty()), (Some("Hit"), vec![]));
    let pointers = element("vector<Hit*>", -1, 0, -1, "x");
    assert_reads(pointers, "std::vector<Hit*>", Entry::Value);
    // Split, and without a single member: how many they are.
    let mut jets = element("Jets", -1, 4, -1, "x");
    if let BranchKind::Element { clones_name, .. } = &mut jets.kind {
        *clones_name = "Jet".into();
    }
    let jets = assert_reads(jets, "Jets", Entry::Value);
    assert_eq!(items(&jets.empty()), (Some("Jet"), vec![]));
}

#[test]
fn containers_in_objects_are_lists_of_whatever_they_name() {
    let holder = assert_reads(element("Holder", -1, 0, -1, "x"), "Holder", Entry::Value);
    let Array::Record { fields, .. } = holder.empty() else { panic!("not a record") };
    assert_eq!(fields.iter().map(|(name, _)| &name[..]).collect::<Vec<_>>(), ["list", "x"]);
    let Array::List { content, .. } = &fields[0].1 else { panic!("not a list") };
    assert!(matches!(&**content, Array::WithParameter { parameter: ArrayParameter::Objects, .. }));
    let named = holder.classes.expect("those that the data may name");
    assert!(named.0.contains_key("TNamed") && named.0.contains_key("TObjString"));
    assert!(!named.0.contains_key("Loop"));
    assert_reads(element("TClonesArray", -1, 0, -1, "x"), "TClonesArray", Entry::Value);
}

#[test]
fn what_cannot_be_read_says_why() {
    assert_unsupported(element("Event", 8, 0, 500, "x"), "class Own, which has no streamer info");
    assert_unsupported(element("Loop", -1, 0, -1, "x"), "class Loop, which contains itself");
    assert_unsupported(element("Missing", 0, 0, 300, "x"), "without streamer info");
    assert_unsupported(element("Missing", -1, 0, -1, "x"), "Missing");
    assert_unsupported(element("Event", -1, 5, -1, "x"), "branch of type 5");
    assert_unsupported(
        branch("b", BranchKind::Other { class: "TBranchRef".into() }, vec![]),
        "TBranchRef",
    );
    assert_unsupported(
        plain(vec![leaf("x", "x", LeafKind::Other("TLeafObject".into()), 1)]),
        "TLeafObject",
    );
    assert!(matches!(of(plain(vec![])).unwrap_err().kind, ErrorKind::NotFound(_)));
}

#[test]
fn objects_in_branches_of_old() {
    let object = |named| {
        let kind = BranchKind::Object { class_name: "P".into() };
        branch("b", kind, vec![leaf("b", "b", LeafKind::Object { named }, 1)])
    };
    assert_reads(object(true), "P", Entry::Value);
    assert_reads(object(false), "P", Entry::Value);
    let unknown = BranchKind::Object { class_name: "Missing".into() };
    assert_unsupported(branch("b", unknown, vec![]), "Missing");
}

#[test]
fn groups_have_a_name_but_no_column() {
    let mut group = element("vector<P>", 0, 4, 300, "x");
    group.children = vec![BranchId(1)];
    assert!(is_group(&group));
    assert_unsupported(group.clone(), "group of 1");
    // A TClonesArray at the top is read as its counts.
    let mut clones = element("TClonesArray", -1, 3, -1, "x");
    clones.children = vec![BranchId(1)];
    assert_reads(clones, "int32_t", Entry::Fixed);
}

#[test]
fn typenames_of_what_cannot_be_read() {
    let name = |branch| typename(&tree(vec![branch]), BranchId(0), &classes());
    assert_eq!(name(element("Event", 6, 0, 300, "x")), "std::map<std::string, int32_t>");
    assert_eq!(name(element("Event", 5, 41, 300, "x")), "std::vector<P>[]");
    assert_eq!(name(plain(vec![])), "unknown");
}

/// `TQObject` writes nothing, and was read as an object of its streamer info; `TExMap` writes pairs
/// that no streamer info describes, and was read by it.
#[test]
fn classes_that_write_by_hand() {
    let element = |class: &str, name: &str, type_code, type_name: &str| StreamerElement {
        class: class.into(),
        name: name.into(),
        type_code,
        type_name: type_name.into(),
        ..StreamerElement::default()
    };
    let info = |class: &str, elements| StreamerInfo {
        class: class.into(),
        version: 1,
        checksum: 1,
        elements,
    };
    let x = element("TStreamerBasicType", "x", 5, "float");
    let classes = ClassTable::from(Streamers::new(vec![
        info("TQObject", vec![]),
        info("TExMap", vec![x.clone()]),
        info("Window", vec![element("TStreamerBase", "TQObject", 0, "BASE"), x]),
        info("Table", vec![element("TStreamerObjectAny", "map", 62, "TExMap")]),
    ]));
    let Ok(Streamed { layout: Layout::Record { record, .. }, .. }) =
        Streamed::of("Window", &classes)
    else {
        panic!("an object with one member")
    };
    assert_eq!(
        (record.names.iter().collect::<Vec<_>>(), record.versions[0].parts.len()),
        (vec!["x"], 1)
    );
    let error = Streamed::of("Table", &classes).unwrap_err();
    assert!(error.to_string().contains("TExMap in a branch"), "{error}");
}
