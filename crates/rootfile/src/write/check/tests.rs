//! Right files have no findings; each planted fault is found.

use std::sync::Arc;

use twox_hash::XxHash3_64;

use super::*;
use crate::array::Number;
use crate::write::file::tests::{options, written};
use crate::write::ntuple::{RNTupleOptions, RNTupleWriter};
use crate::write::objects::ObjString;
use crate::write::{
    Compression, DirectoryId, Encoders, EntryType, FileOptions, FileWriter, TableColumn,
};

/// Two objects of one name, and one in a directory.
fn small() -> Vec<u8> {
    let mut file = FileWriter::new(options()).unwrap();
    let below = file.directory("below").unwrap();
    for text in ["older", "newer"] {
        file.put(DirectoryId::TOP, "text", Arc::new(ObjString(text.into())));
    }
    file.put(below, "inner", Arc::new(ObjString("inner ".repeat(100))));
    written(file).to_vec()
}

fn findings(bytes: &[u8]) -> Vec<String> {
    check(&Bytes::copy_from_slice(bytes)).iter().map(ToString::to_string).collect()
}

/// Changes a right file, and expects a finding that says so.
fn planted(good: &[u8], expected: &str, plant: impl FnOnce(&mut Vec<u8>)) {
    assert_eq!(findings(good), Vec::<String>::new());
    let mut bad = good.to_vec();
    plant(&mut bad);
    assert_ne!(bad, good, "nothing was planted for {expected}");
    let found = findings(&bad);
    assert!(found.iter().any(|one| one.contains(expected)), "{expected}: {found:#?}");
}

fn put(bytes: &mut [u8], at: usize, number: u32) {
    bytes[at..at + 4].copy_from_slice(&number.to_be_bytes());
}

fn get(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(*bytes[at..].first_chunk().unwrap())
}

/// Where something is for the n-th time.
fn place(bytes: &[u8], pattern: &[u8], nth: usize) -> usize {
    let mut places = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(pattern));
    places.nth(nth).expect("it is there")
}

/// Offset of the record of the n-th key with these strings.
fn record(bytes: &[u8], strings: &[u8], nth: usize) -> usize {
    place(bytes, strings, nth) - 26
}

const TEXT: &[u8] = b"\x0aTObjString\x04text";
const DIRECTORY: &[u8] = b"\x0aTDirectory\x05below";
/// Bytes of the directory's key: its title is its name.
const DIRECTORY_KEY: usize = 26 + DIRECTORY.len() + 6;

#[test]
fn faults_of_the_header_and_of_what_is_free() {
    let good = small();
    let end = get(&good, 12);
    let free = get(&good, 16) as usize;
    let entry = free + get(&good, 20) as usize - 10;
    planted(&good, "root", |bad| bad[0] = b'R');
    planted(&good, "it is cut", |bad| bad.truncate(bad.len() / 2));
    planted(&good, "its header says at", |bad| put(bad, 12, end + 100));
    planted(&good, "units", |bad| bad[32] = 8);
    planted(&good, "no list of what is free", |bad| put(bad, 16, 0));
    planted(&good, "no TFile of", |bad| put(bad, 20, 7));
    planted(&good, "stretches are free", |bad| put(bad, 24, 3));
    planted(&good, "what is free begins at", |bad| put(bad, entry + 2, end - 8));
    planted(&good, "does not go on", |bad| put(bad, entry + 6, end));
    planted(&good, "no streamer infos", |bad| put(bad, 37, 0));
}

#[test]
fn faults_of_records() {
    let good = small();
    let newer = record(&good, TEXT, 1);
    planted(&good, "no record says what the bytes up to", |bad| put(bad, newer, 0));
    planted(&good, "that says that it is at", |bad| put(bad, newer + 18, 5000));
    planted(&good, "bytes of TObjString \"text\" stored in", |bad| put(bad, newer + 6, 3));
    planted(&good, "free bytes that the list of what is free lacks", |bad| {
        let len = get(bad, newer) as i32;
        put(bad, newer, (-len) as u32);
    });
    planted(&good, "nothing leads to this TObjString \"inner\"", |bad| {
        let content = record(bad, DIRECTORY, 0) + DIRECTORY_KEY;
        put(bad, content + 10, 0);
        put(bad, content + 26, 0);
    });
}

#[test]
fn faults_of_directories() {
    let good = small();
    let list = record(&good, b"\x05TFile\x06f.root", 1);
    let listed = |nth: usize| record(&good, TEXT, 2 + nth);
    planted(&good, "cycle 2 of \"text\" behind", |bad| {
        // The two keys, one of which has cycle 2, in the other order.
        let len = listed(1) - listed(0);
        bad[listed(0)..listed(1) + len].rotate_left(len);
    });
    planted(&good, "is not that of its record", |bad| bad[listed(0) + 13] ^= 1);
    planted(&good, "is in the directory at", |bad| put(bad, listed(0) + 22, 77));
    planted(&good, "a TBasket \"texttex\" is listed", |bad| {
        let at = listed(0) + 26;
        bad[at..at + TEXT.len()].copy_from_slice(b"\x07TBasket\x07texttex");
    });
    planted(&good, "that says", |bad| {
        let content = record(bad, DIRECTORY, 0) + DIRECTORY_KEY;
        put(bad, content + 18, 5)
    });
    planted(&good, "the list of the directory", |bad| put(bad, list + 22, 5));
}

#[test]
fn faults_of_objects() {
    let good = small();
    let newer = record(&good, TEXT, 1);
    let key_len = 26 + TEXT.len() + 1 + "Collectable string class".len();
    planted(&good, "text;2", |bad| bad[newer + key_len + 3] += 1);
    // In a file that is not compressed the streamer infos can be changed.
    let mut file =
        FileWriter::new(FileOptions { compression: Compression::NONE, ..options() }).unwrap();
    file.put(DirectoryId::TOP, "text", Arc::new(ObjString("a".into())));
    let plain = written(file).to_vec();
    planted(&plain, "no streamer info of TObjString", |bad| {
        let info = (0..bad.len()).rev().find(|at| bad[*at..].starts_with(b"\x0aTObjString\0"));
        bad[info.unwrap() + 1] = b'U';
    });
}

fn testdata(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/");
    #[allow(clippy::disallowed_methods, reason = "tests read files")]
    std::fs::read(format!("{folder}{name}")).unwrap()
}

#[test]
fn files_of_root_have_no_findings() {
    for name in ["clustered.root", "plain.root", "ntuple_plain.root", "ntuple_columns.root"] {
        assert_eq!(findings(&testdata(name)), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn faults_of_trees() {
    let good = testdata("clustered.root");
    let basket = |nth| record(&good, b"\x07TBasket", nth) - 8;
    let [first, second] = [0, 1].map(basket);
    planted(&good, "no TBasket of", |bad| {
        let name = first + 34;
        bad[name + 1] = b'U';
    });
    planted(&good, "says it holds", |bad| {
        // How many entries the key says.
        let key_len = usize::from(u16::from_be_bytes([bad[second + 14], bad[second + 15]]));
        bad[second + key_len - 6] ^= 3;
    });
}

#[test]
fn faults_of_ntuples() {
    let good = testdata("ntuple_columns.root");
    let blob = record(&good, b"\x05RBlob\0\0", 1) - 8;
    planted(&good, "are in no RBlob", |bad| bad[blob + 35] = b'S');
    planted(&good, "checksum", |bad| bad[blob + 60] ^= 1);
    let anchor = record(&good, b"\x0dROOT::RNTuple\x06events", 0);
    planted(&good, "checksum mismatch", |bad| bad[anchor + 60] ^= 1);
}

/// A file with an RNTuple without entries, of format 1.0.0.
fn ntuple() -> Vec<u8> {
    let entry = EntryType::Number(Number::I32);
    let columns = vec![TableColumn { name: "x".into(), title: String::new(), entry }];
    let writer = Box::new(RNTupleWriter::new(columns, RNTupleOptions::default()).unwrap());
    let mut file = FileWriter::new(options()).unwrap();
    file.add_table(DirectoryId::TOP, "events", writer);
    file.close();
    while let Some((number, work)) = file.poll_work() {
        file.complete(number, work.encode.encode(&mut Encoders::default()).unwrap());
    }
    written(file).to_vec()
}

/// Regression: merges took the version of the first input, and wrote no list of attribute sets, so
/// that uproot could read none of their fields.
#[test]
fn ntuples_whose_version_promises_more_than_they_have() {
    let good = ntuple();
    let anchor = record(&good, b"\x0dROOT::RNTuple\x06events", 0);
    planted(&good, "no list of attribute sets", |bad| {
        let key_len = usize::from(u16::from_be_bytes([bad[anchor + 14], bad[anchor + 15]]));
        let fields = anchor + key_len + 6..anchor + key_len + 70;
        bad[fields.start + 5] = 1;
        let checksum = XxHash3_64::oneshot(&bad[fields.clone()]).to_be_bytes();
        bad[fields.end..fields.end + 8].copy_from_slice(&checksum);
    });
}
