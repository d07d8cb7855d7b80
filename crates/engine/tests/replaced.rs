//! A file is replaced while a tree in it is read; stories of servers are in
//! `crates/remote/tests/sources/replaced.rs`.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use farroot_engine::{Config, Engine, ErrorKind};

const TREE: &[u8] = include_bytes!("../../../sim/testdata/small_nano.root");

/// Writes a file that was last changed an hour ago, and so many seconds later.
fn write(path: &Path, content: &[u8], later: u64) {
    fs::write(path, content).unwrap();
    let then = SystemTime::now() - Duration::from_secs(3600 - later);
    File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

#[test]
fn a_tree_in_a_file_that_is_written_over_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.root");
    write(&path, TREE, 0);
    let engine = Engine::start(Config::default()).unwrap();
    let opened = engine.block_on(engine.open_tree(path.to_str().unwrap(), Some("Events")));
    let events = opened.unwrap();
    let mut other = TREE.to_vec();
    other[TREE.len() / 3..].reverse();
    write(&path, &other, 60);
    let columns = events.columns(&["*".to_owned()]).unwrap();
    let error = engine.block_on(events.read(columns, 0..u64::MAX)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
}
