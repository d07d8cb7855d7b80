//! The table, and lists as the reader of this crate understands them.

use super::*;
use crate::object::read_object;
use crate::streamer::Streamers;

/// The infos of a list that is written and read again.
fn read(infos: &Infos) -> Streamers {
    let mut list = Buffer::behind_key(60);
    infos.write(&mut list);
    let list = read_object(Streamers::builtin(), "TList", &list.into_vec().into(), 60, 0).unwrap();
    Streamers::of_list(&list).unwrap()
}

#[test]
fn every_class_of_the_table_is_read_as_it_is() {
    let mut infos = Infos::default();
    let all: Vec<StreamerInfo> = table::all().map(Option::unwrap).collect();
    assert!(all.len() > 100);
    all.iter().for_each(|info| infos.need(&info.class));
    let streamers = read(&infos);
    for mut info in all {
        let mut read = streamers.info_by_checksum(&info.class, info.checksum).unwrap().clone();
        for element in info.elements.iter_mut().chain(&mut read.elements) {
            element.rest.bits = 0;
        }
        assert_eq!(read, info);
    }
}

#[test]
fn a_class_brings_its_bases_and_members() {
    let mut infos = Infos::default();
    infos.need("TH1D");
    infos.need("Unknown");
    let expected = [
        "TArray",
        "TArrayD",
        "TAttAxis",
        "TAttFill",
        "TAttLine",
        "TAttMarker",
        "TAxis",
        "TCollection",
        "TH1",
        "TH1D",
        "THashList",
        "TList",
        "TNamed",
        "TObject",
        "TSeqCollection",
        "TString",
    ];
    let classes: Vec<&str> = infos.infos.keys().map(|(class, _)| &**class).collect();
    assert_eq!(classes, expected);
    assert!(infos.has("TH1D") && !infos.has("TH1F") && !infos.has("TH"));
    infos.need("TEfficiency");
    assert!(infos.has("pair<double,double>"));
}

fn info(class: &str, checksum: u32, members: &[(&str, i32)]) -> StreamerInfo {
    let element = |(name, type_code): &(&str, i32)| StreamerElement {
        class: "TStreamerBasicType".into(),
        name: (*name).into(),
        type_code: *type_code,
        type_name: "int".into(),
        ..StreamerElement::default()
    };
    let elements = members.iter().map(element).collect();
    StreamerInfo { class: class.into(), version: 3, checksum, elements }
}

#[test]
fn infos_of_several_files_become_one_list() {
    let mut infos = Infos::default();
    let first = info("Hit", 1, &[("x", code::INT)]);
    let newer = StreamerInfo { version: 4, ..info("Hit", 2, &[("y", code::INT)]) };
    infos.copy([&first], "a.root").unwrap();
    infos.copy([&first, &newer], "b.root").unwrap();
    assert_eq!(read(&infos).infos_of_file().count(), 2);
    // Another checksum of the same members, as another release of ROOT has it.
    infos.copy([&info("Hit", 7, &[("x", code::INT)])], "c.root").unwrap();
    let error = infos.copy([&info("Hit", 8, &[("x", code::FLOAT)])], "d.root").unwrap_err();
    for part in ["Hit", "version 3", "d.root", "a.root", "00000008", "00000001"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn classes_of_root_have_its_own_infos() {
    let mut infos = Infos::default();
    // RNTuples of format 1.0.0.0 say `unsigned long long` where those of 1.0.2 say `unsigned
    // long`: such files could not be updated or merged.
    let anchor = (**table::info("ROOT::RNTuple").unwrap()).clone();
    let mut earlier = StreamerInfo { checksum: 0x4ba2_1bf5, ..anchor };
    earlier
        .elements
        .iter_mut()
        .filter(|element| element.type_code == code::ULONG)
        .for_each(|element| element.type_code = code::ULONG64);
    infos.copy([&earlier], "a.root").unwrap();
    let other = StreamerInfo { version: 1, ..info("TNamed", 9, &[("fName", code::STRING)]) };
    let error = infos.copy([&other], "a.root").unwrap_err();
    assert!(error.to_string().contains("ROOT 6.40"), "{error}");
    let same = StreamerInfo { checksum: 9, ..(**table::info("TNamed").unwrap()).clone() };
    infos.copy([&same], "a.root").unwrap();
    infos.need("TNamed");
    assert!(infos.has("TObject"));
    assert!(read(&infos).info_by_checksum("TNamed", 0xdfb7_4a3c).is_some());
}
