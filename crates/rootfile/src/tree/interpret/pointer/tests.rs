//! Pointers that become members of records, and those that are left out.

use super::super::class::Compiler;
use crate::array::Array;
use crate::error::ErrorKind;
use crate::streamer::{StreamerElement, StreamerInfo, Streamers};

fn member(name: &str, type_code: i32, type_name: &str) -> StreamerElement {
    let class = if type_name.starts_with("vector") { "TStreamerSTL" } else { "" };
    StreamerElement {
        class: class.into(),
        name: name.into(),
        type_code,
        type_name: type_name.into(),
        ..StreamerElement::default()
    }
}

fn class(name: &str, version: i32, elements: Vec<StreamerElement>) -> StreamerInfo {
    StreamerInfo { class: name.into(), version, checksum: 0, elements }
}

fn number(name: &str) -> StreamerElement {
    member(name, 3, "int")
}

/// The type of a record: its fields, those of pointers in brackets.
fn told(column: &Array) -> String {
    match column {
        Array::Record { fields, .. } => {
            let fields: Vec<_> =
                fields.iter().map(|(name, field)| format!("{name}{}", told(field))).collect();
            format!("({})", fields.join(" "))
        }
        Array::Option { content, .. } => format!("[{}]", told(content)),
        Array::List { content, .. } | Array::Regular { content, .. } => told(content),
        Array::WithParameter { .. } => "?".into(),
        _ => String::new(),
    }
}

#[track_caller]
fn assert_members(classes: Vec<StreamerInfo>, of: &str, expected: &str) {
    let classes = Streamers::new(classes);
    let layout = Compiler::new(&classes).object(of).unwrap();
    assert_eq!(told(&layout.empty()), expected);
}

#[test]
fn pointers_of_every_type_are_members() {
    let several = StreamerElement { array_len: 2, ..member("several", 69, "P*") };
    let event = vec![
        number("a"),
        member("base", 69, "P*"),
        member("bare", 70, "P*"),
        member("object", 64, "T*"),
        several,
        member("text", 69, "TString*"),
        member("list", 64, "TList*"),
        member("held", 63, "T*"),
        // Pointers to classes that the file does not describe, and to a type that is no class.
        member("unknown", 69, "Missing*"),
        member("numbers", 69, "int*"),
        number("z"),
    ];
    let classes = vec![
        class("Event", 1, event),
        class("P", 1, vec![number("x")]),
        class("T", 1, vec![member("TObject", 66, "BASE"), number("t")]),
    ];
    let expected = "(a base[(x)] bare[(x)] object[(t)] several[(x)] text? list? held(t) z)";
    assert_members(classes, "Event", expected);
}

#[test]
fn classes_that_lead_back_to_themselves_lack_that_pointer_only() {
    let node = vec![
        number("value"),
        member("next", 69, "Node*"),
        member("kids", 300, "vector<Node*>"),
        member("copies", 300, "vector<Node>"),
        member("mother", 69, "Mother*"),
    ];
    let mother = vec![number("age"), member("node", 69, "Node*"), member("last", 3, "int")];
    let classes = || vec![class("Node", 1, node.clone()), class("Mother", 1, mother.clone())];
    assert_members(classes(), "Node", "(value mother[(age last)])");
    assert_members(classes(), "Mother", "(age node[(value)] last)");
    // A class that contains itself without a pointer or a collection in between has no end.
    let infos = Streamers::new(vec![class("Loop", 1, vec![member("again", 62, "Loop")])]);
    let error = Compiler::new(&infos).object("Loop").unwrap_err();
    assert!(error.to_string().contains("contains itself"), "{error}");
}

#[test]
fn an_heir_may_be_within_itself() {
    let base = StreamerElement {
        class: "TStreamerBase".into(),
        base_version: 1,
        ..member("B", 0, "BASE")
    };
    let classes = vec![
        class("B", 1, vec![number("b")]),
        class("H", 1, vec![base, member("other", 69, "B*"), number("h")]),
    ];
    let infos = Streamers::new(classes);
    let layout = Compiler::new(&infos).object("H").unwrap();
    assert_eq!(told(&layout.empty()), "(b other[(b)] h)");
    let told = format!("{layout:?}");
    assert!(told.contains("(\"H\", Record"), "an H may be behind it: {told}");
}

/// Each class points to all others: as many ways as there are orders of them.
#[test]
fn classes_that_all_lead_to_each_other() {
    const MANY: usize = 12;
    let name = |at: usize| format!("C{at}");
    let of = |at: usize| {
        let others = (0..MANY).filter(|other| *other != at);
        let pointers = others.map(|other| member(&name(other), 69, &format!("{}*", name(other))));
        class(&name(at), 1, [vec![number("x")], pointers.collect()].concat())
    };
    let infos = Streamers::new((0..MANY).map(of).collect());
    let layout = Compiler::new(&infos).object("C0").unwrap();
    assert!(layout.size() <= super::SIZE_MAX, "{}", layout.size());
    assert!(told(&layout.empty()).starts_with("(x"));
}

/// Pointers that would make a class too large are left out, where it is not too large without.
#[test]
fn classes_that_pointers_make_too_large() {
    let wide = (0..3000).map(|at| number(&format!("n{at}"))).collect();
    let pointers = |to: &str| {
        let pointers = (0..30).map(|at| member(&format!("p{at}"), 69, &format!("{to}*")));
        [vec![number("x")], pointers.collect()].concat()
    };
    let values = |of: &str| (0..30).map(|at| member(&format!("v{at}"), 62, of)).collect();
    let classes = vec![
        class("Wide", 1, wide),
        class("Event", 1, pointers("Wide")),
        class("Events", 1, values("Event")),
        class("Deep", 1, pointers("Events")),
    ];
    let infos = Streamers::new(classes);
    let size = |class: &str| Compiler::new(&infos).object(class).unwrap().size();
    // As many of them as fit.
    assert!((60_000..=super::SIZE_MAX).contains(&size("Event")), "{}", size("Event"));
    assert_eq!(size("Events"), 30);
    assert_eq!(size("Deep"), 1);
}

#[test]
fn pointers_that_versions_have_otherwise() {
    let versions = |newer: StreamerElement, older: StreamerElement| {
        let points = ["P", "Q"].map(|name| class(name, 1, vec![number("x")]));
        let mut classes = vec![class("E", 2, vec![number("a"), newer])];
        classes.push(class("E", 1, vec![number("a"), older]));
        let infos = Streamers::new([classes, points.to_vec()].concat());
        let layout = Compiler::new(&infos).object("E").unwrap();
        let crate::tree::interpret::layout::Layout::Record { record, .. } = layout else {
            panic!("no record")
        };
        record.versions.len()
    };
    let to = |class: &str| member("p", 69, &format!("{class}*"));
    assert_eq!(versions(to("P"), to("P")), 2);
    // Another class, and one without a streamer info: null would be wrong.
    assert_eq!(versions(to("P"), to("Q")), 1);
    assert_eq!(versions(to("P"), to("Missing")), 1);
    assert_eq!(versions(to("Missing"), to("P")), 2);
    assert_eq!(versions(to("P"), member("kids", 300, "vector<E*>")), 2);
    assert_eq!(versions(to("P"), member("p", 300, "vector<E*>")), 1);
}

#[test]
fn limits_are_those_of_the_class_itself() {
    let wide = (0..70_000).map(|at| number(&format!("n{at}"))).collect();
    let infos = Streamers::new(vec![class("Wide", 1, wide)]);
    let error = Compiler::new(&infos).object("Wide").unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Limit(_)), "{error}");
}
