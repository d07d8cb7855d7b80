//! Classes that ROOT writes by hand, in versions that no ROOT of today writes, and some of today.
//! (Source: the `Streamer` functions of ROOT 2.25 to 6.40.)

use bytes::Bytes;

use super::super::*;
use crate::streamer::{StreamerElement, StreamerInfo, Streamers};
use crate::types::code;

/// A record that grows, number by number.
#[derive(Default, Clone)]
struct Record(Vec<u8>);

impl Record {
    fn int(mut self, value: i32) -> Record {
        self.0.extend(value.to_be_bytes());
        self
    }

    fn long(mut self, value: i64) -> Record {
        self.0.extend(value.to_be_bytes());
        self
    }

    fn short(mut self, value: u16) -> Record {
        self.0.extend(value.to_be_bytes());
        self
    }

    fn byte(mut self, value: u8) -> Record {
        self.0.push(value);
        self
    }

    fn floats(mut self, values: &[f32]) -> Record {
        values.iter().for_each(|value| self.0.extend(value.to_be_bytes()));
        self
    }

    fn doubles(mut self, values: &[f64]) -> Record {
        values.iter().for_each(|value| self.0.extend(value.to_be_bytes()));
        self
    }

    fn text(mut self, text: &str) -> Record {
        self.0.push(text.len() as u8);
        self.0.extend(text.bytes());
        self
    }

    fn then(mut self, other: Record) -> Record {
        self.0.extend(other.0);
        self
    }

    /// An object of that version, with its length in front.
    fn object(version: u16, members: Record) -> Record {
        let len = members.0.len() as i32 + 2;
        Record::default().int(len | 0x4000_0000).short(version).then(members)
    }

    /// An array of doubles as an object: without a header.
    fn array(values: &[f64]) -> Record {
        Record::default().int(values.len() as i32).doubles(values)
    }
}

fn new() -> Record {
    Record::default()
}

fn tobject() -> Record {
    new().short(1).int(0).int(0x0300_0000)
}

fn named(name: &str) -> Record {
    Record::object(1, tobject().text(name).text("title"))
}

/// `TAttLine`, `TAttFill` and `TAttMarker` in their first versions.
fn attributes() -> Record {
    let line = Record::object(1, new().short(1).short(2).short(3));
    let fill = Record::object(1, new().short(4).short(5));
    line.then(fill).then(Record::object(1, new().short(6).short(7).floats(&[8.0])))
}

/// `TAttAxis` with as many members as the version has.
fn axis_attributes(version: u16) -> Record {
    let base = new().int(510).short(1).short(2).short(3).floats(&[0.1, 0.2, 0.3, 0.4]);
    let sized = if version > 1 { base.floats(&[0.5]) } else { base };
    Record::object(version, if version > 2 { sized.short(8).short(9) } else { sized })
}

fn axis(version: u16, bins: i32, high: f64) -> Record {
    let attributes = axis_attributes(version.min(3));
    let members = named("axis").then(attributes).int(bins);
    let ranged = match version {
        ..5 => members.floats(&[0.0, high as f32]).int(0),
        _ => members.doubles(&[0.0, high]).then(Record::array(&[])),
    };
    let zoomed = if version > 2 { ranged.int(0).int(0) } else { ranged };
    let timed = if version > 3 { zoomed.byte(0).text("") } else { zoomed };
    Record::object(version, timed)
}

fn empty_list() -> Record {
    Record::object(4, tobject().text("").int(0))
}

fn histogram(version: u16, axis_version: u16, bins: i32) -> Record {
    let axes = [bins, 1, 1].map(|count| axis(axis_version, count, f64::from(count)));
    let [x, y, z] = axes;
    let members = named("h").then(attributes()).int(bins + 2).then(x).then(y).then(z);
    let sums = members.short(0).short(1000).doubles(&[5.0, 1.0, 2.0, 3.0, 4.0]);
    let limits = match version {
        1 => sums.floats(&[-1111.0, -1111.0, 0.0]).int(2).floats(&[0.5, 1.5]),
        _ => sums.doubles(&[-1111.0, -1111.0, 0.0]).then(Record::array(&[0.5])),
    };
    let weights = limits.then(Record::array(&[])).text("option");
    Record::object(version, weights.then(empty_list()))
}

fn read(class: &str, record: &Record) -> Objects {
    read_with(&Streamers::default(), class, record)
}

fn read_with(streamers: &Streamers, class: &str, record: &Record) -> Objects {
    let content = Bytes::from(record.0.clone());
    let objects = read_object(streamers, class, &content, 40, 1000).expect(class);
    if let Some(unread) = objects.unread_objects().next() {
        panic!("{class}: {} {}", unread.class(), unread.unread().unwrap().why);
    }
    // Every beginning of it is an error, or another object.
    for len in 0..content.len() {
        let part = read_object(streamers, class, &content.slice(..len), 40, 1000);
        assert!(part.is_err() || part.is_ok_and(|part| part != objects), "{len} bytes of {class}");
    }
    objects
}

fn float(objects: &Objects, name: &str) -> f64 {
    match objects.root().member(name) {
        Some(Value::Float(value)) => *value,
        other => panic!("{name} is {other:?}"),
    }
}

fn numbers(objects: &Objects, name: &str) -> Vec<f64> {
    match objects.root().member(name) {
        Some(Value::Numbers(Numbers::F32(all))) => all.iter().copied().map(f64::from).collect(),
        Some(Value::Numbers(Numbers::F64(all))) => all.clone(),
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn histograms_from_before_streamer_infos() {
    for (version, axis_version) in [(1, 1), (1, 2), (2, 3), (2, 4), (2, 5)] {
        let contents = new().int(5).floats(&[0.0, 1.0, 2.0, 3.0, 0.5]);
        let record = Record::object(version, histogram(version, axis_version, 3).then(contents));
        let objects = read("TH1F", &record);
        assert_eq!(objects.root().string("fName").unwrap(), "h");
        assert_eq!(objects.root().string("fOption").unwrap(), "option");
        assert_eq!(float(&objects, "fEntries"), 5.0);
        assert_eq!(numbers(&objects, "fArray"), [0.0, 1.0, 2.0, 3.0, 0.5]);
        let x = objects.root().pointed("fXaxis").unwrap().unwrap();
        assert_eq!((x.int("fNbins").unwrap(), x.int("fXmax").unwrap()), (3, 3));
        assert_eq!(x.int("fNdivisions").unwrap(), 510);
    }
}

#[test]
fn histograms_of_two_dimensions_and_profiles_from_before_streamer_infos() {
    // `TH2` was without a length.
    let base = new().short(2).then(histogram(2, 5, 1)).doubles(&[1.0, 2.0, 3.0, 4.0]);
    let contents = Record::array(&[0.0, 1.0, 2.0]);
    let objects = read("TH2D", &Record::object(2, base.then(contents)));
    assert_eq!(float(&objects, "fTsumwxy"), 4.0);
    assert_eq!(numbers(&objects, "fArray"), [0.0, 1.0, 2.0]);
    for version in [1, 2] {
        let sums = histogram(2, 5, 1).then(Record::array(&[0.0, 6.0, 0.0]));
        let members = Record::object(2, sums).then(Record::array(&[0.0, 2.0, 0.0])).int(1);
        let limits = match version {
            1 => members.floats(&[-1.0, 1.5]),
            _ => members.doubles(&[-1.0, 1.5]),
        };
        let objects = read("TProfile", &Record::object(version, limits));
        assert_eq!((float(&objects, "fYmin"), float(&objects, "fYmax")), (-1.0, 1.5));
        assert_eq!(objects.root().int("fErrorMode").unwrap(), 1);
    }
}

#[test]
fn graphs_from_before_streamer_infos() {
    let graph = |version: u16| {
        let members = named("g").then(attributes()).int(2);
        let points = match version {
            1 => members.floats(&[1.0, 2.0]).floats(&[3.0, 4.0]).int(0).int(0).floats(&[5.0, 6.0]),
            _ => members.doubles(&[1.0, 2.0, 3.0, 4.0]).int(0).int(0).doubles(&[5.0, 6.0]),
        };
        Record::object(version, points)
    };
    let errors = |version: u16, count: usize| {
        let all: Vec<f64> = (0..2 * count).map(|n| n as f64 / 4.0).collect();
        let narrow: Vec<f32> = all.iter().map(|value| *value as f32).collect();
        if version == 1 { new().floats(&narrow) } else { new().doubles(&all) }
    };
    for version in [1, 2] {
        let objects = read("TGraph", &graph(version));
        assert_eq!(numbers(&objects, "fX"), [1.0, 2.0]);
        assert_eq!(numbers(&objects, "fY"), [3.0, 4.0]);
        assert_eq!(float(&objects, "fMaximum"), 6.0);
        let record = Record::object(version, graph(version).then(errors(version, 2)));
        let objects = read("TGraphErrors", &record);
        assert_eq!(numbers(&objects, "fX"), [1.0, 2.0]);
        assert_eq!(numbers(&objects, "fEY"), [0.5, 0.75]);
        // All that is low came first.
        let record = Record::object(version, graph(version).then(errors(version, 4)));
        let objects = read("TGraphAsymmErrors", &record);
        let both = [numbers(&objects, "fEYlow"), numbers(&objects, "fEXhigh")];
        assert_eq!(both, [[0.5, 0.75], [1.0, 1.25]]);
    }
}

/// `TFormula` of a version up to 3: `[0]*x`.
fn formula(version: u16) -> Record {
    let members = named("f").int(1).int(0);
    let values = if version > 1 { members.int(0) } else { members };
    let strings = if version > 2 { values.int(0) } else { values };
    let parameters = strings.then(Record::array(&[1.5])).int(2).int(7).int(8);
    let texts = parameters.then(Record::array(&[])).text("[0]").text("x").text("p0");
    Record::object(version, texts)
}

#[test]
fn functions_from_before_streamer_infos() {
    for version in 1..=4 {
        let members = formula(version.min(3)).then(attributes());
        let range = match version {
            ..4 => members.floats(&[-1.0, 2.0]),
            _ => members.doubles(&[-1.0, 2.0]),
        };
        let errors = range.int(100).int(0).doubles(&[0.25]).then(Record::array(&[0.125]));
        let fitted = match version {
            1 => errors.int(9).int(0),
            2 | 3 => errors.then(Record::array(&[0.0])).int(0).int(9).floats(&[3.0, 4.0]),
            _ => errors.then(Record::array(&[0.0])).int(0).int(9).doubles(&[3.0, 4.0]),
        };
        for saved in [0, 3] {
            let whole = match (version, saved) {
                (..3, _) => fitted.clone(),
                (_, 0) => fitted.clone().int(0),
                _ => fitted.clone().int(3).then(Record::array(&[1.0, 2.0, 3.0])),
            };
            let objects = read("TF1", &Record::object(version, whole));
            let root = objects.root();
            assert_eq!((float(&objects, "fXmin"), float(&objects, "fXmax")), (-1.0, 2.0));
            assert_eq!(root.int("fNpfits").unwrap(), 9);
            assert_eq!(numbers(&objects, "fParams"), [1.5]);
            let text = |text: &'static str| Value::Text(Bytes::from_static(text.as_bytes()));
            assert_eq!(root.member("fExpr"), Some(&Value::List(vec![text("[0]"), text("x")])));
            assert_eq!(root.member("fNames"), Some(&Value::List(vec![text("p0")])));
            if version > 2 {
                let kept: &[f64] = if saved == 0 { &[] } else { &[1.0, 2.0, 3.0] };
                assert_eq!(numbers(&objects, "fSave"), kept);
            }
        }
    }
}

#[test]
fn points_in_three_dimensions() {
    let line = Record::object(1, new().short(1).short(2).short(3));
    let points = new().int(2).floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).text("option");
    let objects =
        read("TPolyLine3D", &Record::object(1, tobject().then(line).then(points.clone())));
    assert_eq!(numbers(&objects, "fP"), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(objects.root().string("fOption").unwrap(), "option");
    for version in 1..=3 {
        let marker = Record::object(1, new().short(6).short(7).floats(&[8.0]));
        let unnamed = tobject().then(marker).then(points.clone());
        let members = if version > 1 { unnamed.text("name") } else { unnamed };
        let objects = read("TPolyMarker3D", &Record::object(version, members));
        assert_eq!(objects.root().int("fMarkerSize").unwrap(), 8);
        assert_eq!(objects.root().member("fName").is_some(), version > 1);
    }
}

#[test]
fn more_points_than_there_are_bytes_for() {
    let line = Record::object(1, new().short(1).short(2).short(3));
    for count in [3, i32::MAX, -1] {
        let points = new().int(count).floats(&[1.0; 6]).text("");
        let record = Record::object(1, tobject().then(line.clone()).then(points));
        let objects =
            read_object(&Streamers::default(), "TPolyLine3D", &record.0.into(), 40, 0).unwrap();
        assert!(objects.root().unread().is_some(), "{count}");
    }
}

#[test]
fn maps_of_numbers() {
    let pair = |slot: Option<i32>, key: i64, value: i64| {
        slot.map_or_else(new, |slot| new().int(slot)).long(key | 1).long(key).long(value)
    };
    for version in 1..=3 {
        let slotted = version > 1;
        let sized = if slotted { tobject().int(5) } else { tobject() };
        let pairs = pair(slotted.then_some(1), 3, 4).then(pair(slotted.then_some(4), 100, -7));
        let objects = read("TExMap", &Record::object(version, sized.int(2).then(pairs)));
        let of = |key, value| (Value::Int(key), Value::Int(value));
        let expected = Value::Map(vec![of(3, 4), of(100, -7)]);
        assert_eq!(objects.root().member("items"), Some(&expected));
    }
}

/// In version 3 a name follows, which version 4 does not have.
#[test]
fn lists_of_roofit() {
    for (version, name) in [(1, None), (2, Some("l")), (3, Some("l")), (4, None)] {
        let members = new().short(version).then(tobject()).int(2).int(0).int(0);
        let record = name.map_or(members.clone(), |name| members.text(name));
        let objects = read("RooLinkedList", &record);
        let items = Some(&Value::List(vec![Value::Null, Value::Null]));
        assert_eq!(objects.root().member("items"), items);
        assert_eq!(objects.root().string("_name").unwrap(), name.unwrap_or_default());
    }
}

/// STAR's tables: a description of their columns, then rows.
#[test]
fn tables() {
    let dataset = |name: &str| Record::object(1, named(name).int(0).int(0));
    let mut column = b"x".to_vec();
    column.resize(32, 0);
    let numbers = [0, 0, 0, 0, 8, 8, 0, 5].iter().fold(Record(column), |all, one| all.int(*one));
    let members = dataset("d").int(1).long(1).long(8).then(numbers);
    let descriptor = new().int(-1).then(Record(b"TTableDescriptor\0".to_vec()));
    let descriptor = descriptor.then(Record::object(4, members));
    let rows = dataset("t").int(2).long(2).long(8).doubles(&[1.5, 2.5]);
    let pointer = new().int(descriptor.0.len() as i32 | 0x4000_0000).then(descriptor);
    let objects = read("TTable", &Record::object(4, pointer.then(rows)));
    let table = objects.root();
    assert_eq!(table.string("fName").unwrap(), "t");
    let bytes = new().doubles(&[1.5, 2.5]).0;
    assert_eq!(table.member("rows"), Some(&Value::Numbers(Numbers::U8(bytes))));
    let descriptor = table.pointed("descriptor").unwrap().unwrap();
    assert_eq!(descriptor.int("fSize").unwrap(), 8);
    assert!(matches!(descriptor.member("columns"), Some(Value::Numbers(all)) if all.len() == 64));
}

/// Members `vector<double> x[2]` that were taken for objects of a class: ROOT writes each without
/// the header that collections have as members, and reading them was refused.
#[test]
fn collections_that_were_written_as_objects() {
    let array = StreamerElement {
        class: "TStreamerObjectAny".into(),
        name: "two".into(),
        type_code: code::ARRAY + code::ANY,
        array_len: 2,
        type_name: "vector<double>".into(),
        ..StreamerElement::default()
    };
    let info =
        StreamerInfo { class: "Holder".into(), version: 1, checksum: 1, elements: vec![array] };
    let record = Record::object(1, Record::array(&[1.0, 2.0]).then(Record::array(&[3.0])));
    let objects = read_with(&Streamers::new(vec![info]), "Holder", &record);
    let list = |all: &[f64]| Value::Numbers(Numbers::F64(all.to_vec()));
    let expected = Value::List(vec![list(&[1.0, 2.0]), list(&[3.0])]);
    assert_eq!(objects.root().member("two"), Some(&expected));
}

/// As ROOT 6.40 wrote them: an enumeration of one byte takes four in a collection, a range may
/// stand behind words, and brackets may hold words only. The first were read as bytes, the range
/// was not seen.
#[test]
fn enumerations_and_ranges_as_root_writes_them() {
    let member = |name: &str, class: &str, type_code, type_name: &str| StreamerElement {
        class: class.into(),
        name: name.into(),
        type_code,
        type_name: type_name.into(),
        ..StreamerElement::default()
    };
    let small = member("small", "TStreamerSTL", code::STL, "vector<Small>");
    let number = member("", "TStreamerBasicType", code::DOUBLE32, "Double32_t");
    let elements = vec![
        StreamerElement { item_code: code::UCHAR, ..small },
        StreamerElement {
            name: "ranged".into(),
            title: "in cm [0,100,16]".into(),
            ..number.clone()
        },
        StreamerElement { name: "remark".into(), title: "position [cm, see doc]".into(), ..number },
        member("numbers", "TStreamerSTL", code::STL, "ROOT::RVec<int>"),
    ];
    let info = StreamerInfo { class: "Holder".into(), version: 1, checksum: 1, elements };
    let vector = |items: &[i32]| {
        let items = items.iter().fold(new().int(items.len() as i32), |all, one| all.int(*one));
        Record::object(10, items)
    };
    let members = vector(&[1, 2, 2]).int(0x8000).int(0x4020_0000).then(vector(&[4, 5]));
    let objects = read_with(&Streamers::new(vec![info]), "Holder", &Record::object(1, members));
    let holder = objects.root();
    let values = ["small", "ranged", "remark", "numbers"].map(|name| holder.member(name).cloned());
    let list = |items: &[i32]| Some(Value::Numbers(Numbers::I32(items.to_vec())));
    let number = |number| Some(Value::Float(number));
    assert_eq!(values, [list(&[1, 2, 2]), number(50.0), number(2.5), list(&[4, 5])]);
}

/// Bits of an object that others refer to have a process's number behind them (ROOT: `kBits`),
/// which was taken for the next member.
#[test]
fn bits_of_referenced_objects() {
    let member = |name: &str, type_code| StreamerElement {
        class: "TStreamerBasicType".into(),
        name: name.into(),
        type_code,
        ..StreamerElement::default()
    };
    let elements = vec![member("bits", code::BITS), member("next", code::INT)];
    let info = StreamerInfo { class: "Flags".into(), version: 1, checksum: 1, elements };
    let streamers = Streamers::new(vec![info]);
    for (bits, behind) in [(0, new()), (1 << 4, new().short(9))] {
        let members = new().int(bits).then(behind).int(7);
        let objects = read_with(&streamers, "Flags", &Record::object(1, members));
        let values = ["bits", "next"].map(|name| objects.root().int(name).unwrap());
        assert_eq!(values, [i64::from(bits), 7]);
    }
}
