//! Files that hold objects, as the reader of this crate sees them.

mod big;
mod checkpoint;
mod tables;
mod update;

use super::*;
use crate::write::compression::CompressionAlgorithm;
use crate::write::objects::ObjString;
use crate::{File, Known, Progress};

pub fn options() -> FileOptions {
    let compression = Compression::new(CompressionAlgorithm::Zstd, 5);
    FileOptions { name: "f.root".into(), title: String::new(), compression, uuid: 7, datime: 9 }
}

/// All writes of a file, at their places.
pub fn written(mut file: FileWriter) -> Bytes {
    let mut bytes = Vec::new();
    file.close();
    while let Some(write) = file.poll_write().unwrap() {
        let start = write.offset as usize;
        let end = write.offset as usize + write.bytes.len();
        assert!(start <= bytes.len(), "forward only");
        bytes.resize(bytes.len().max(end), 0);
        bytes[start..end].copy_from_slice(&write.bytes);
    }
    assert!(file.is_finished());
    bytes.into()
}

pub fn opened(bytes: &Bytes) -> (File, Known) {
    let mut known = Known::new(Some(bytes.len() as u64));
    known.supply(0, bytes.clone());
    match File::open(&known).unwrap() {
        Progress::Ready(file) => (file, known),
        Progress::NeedsData(needs) => panic!("all is there: {needs:?}"),
    }
}

#[test]
fn a_file_without_anything() {
    let bytes = written(FileWriter::new(options()).unwrap());
    let (file, _) = opened(&bytes);
    assert_eq!(file.header.end, bytes.len() as u64);
    assert!(file.top.keys.is_empty());
}

#[test]
fn directories_have_titles() {
    let mut file = FileWriter::new(options()).unwrap();
    let title = |path: &str| (path == "a/b").then_some("cut: MET > 50");
    let below = file.directory_with("a/b", title).unwrap();
    assert_eq!(file.directory_with("a//b", |_| Some("another")).unwrap(), below);
    let bytes = written(file);
    let (file, known) = opened(&bytes);
    assert_eq!(file.top.key("a", None).unwrap().title, "a");
    let Progress::Ready(above) = file.directory(&known, "a").unwrap() else {
        panic!("all is there")
    };
    assert_eq!(above.key("b", None).unwrap().title, "cut: MET > 50");
}

/// Of two objects of one name ROOT read the older: it takes the first key of a name in the list,
/// where the newer had been put behind.
#[test]
fn objects_in_directories() {
    let mut file = FileWriter::new(options()).unwrap();
    let below = file.directory("a/b").unwrap();
    assert_eq!(file.directory("a/b").unwrap(), below);
    file.put(below, "inner", Arc::new(ObjString("x".repeat(1000))));
    file.put(DirectoryId::TOP, "same", Arc::new(ObjString("first".into())));
    file.put(DirectoryId::TOP, "same", Arc::new(ObjString("second".into())));
    let bytes = written(file);
    let (file, known) = opened(&bytes);
    let keys: Vec<_> = file.top.keys.iter().map(|key| (&*key.name, key.cycle)).collect();
    assert_eq!(keys, [("a", 1), ("same", 2), ("same", 1)]);
    let Progress::Ready(directory) = file.directory(&known, "a/b").unwrap() else {
        panic!("all is there")
    };
    assert_eq!(directory.keys.len(), 1);
    assert!(directory.keys[0].record_len < 200 && directory.keys[0].content_len > 1000);
}
