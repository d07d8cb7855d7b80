//! Every file of the shared collection opens, and its trees are as uproot sees them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use bytes::Bytes;
use farroot_rootfile::streamer::{StreamerElement, StreamerInfo, Streamers};
use farroot_rootfile::tree::BranchKind;
use farroot_rootfile::types::code;
use farroot_rootfile::write::Infos;
use farroot_rootfile::{File, Known};

use crate::support::feed;

/// The files of the collection; none, said aloud, where it is not there.
fn files() -> Vec<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/corpus");
    let folder = std::env::var("FARROOT_CORPUS").unwrap_or_else(|_| default.to_owned());
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("SKIPPED: no files in {folder}; FARROOT_CORPUS names another folder");
        return Vec::new();
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "root")).collect();
    files.sort();
    files
}

#[test]
fn every_tree_is_understood() {
    for path in files() {
        let name = path.display();
        let bytes = Bytes::from(std::fs::read(&path).expect("a readable file"));
        let mut known = Known::new(Some(bytes.len() as u64));
        let file = feed::until_ready(&bytes, &mut known, File::open)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let directories = feed::until_ready(&bytes, &mut known, |known| file.directories(known))
            .unwrap()
            .readable;
        for directory in directories {
            for key in directory.keys.iter().filter(|key| file.is_tree(key)) {
                let path = format!("{}/{};{}", directory.path, key.name, key.cycle);
                let tree = feed::until_ready(&bytes, &mut known, |known| file.tree(known, &path))
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
                for branch in &tree.branches {
                    let readable = !matches!(branch.kind, BranchKind::Unreadable { .. });
                    assert!(readable, "{name}: {branch:?}");
                    let covered = branch.baskets.last().map_or(0, |basket| basket.entries.end);
                    let entries = if branch.leaves.is_empty() { 0 } else { branch.entries };
                    let said = covered.saturating_sub(branch.first_entry);
                    assert!(said >= entries || branch.baskets.is_empty(), "{name}: {branch:?}");
                }
            }
        }
    }
}

#[test]
fn every_object_is_read_or_left_unread() {
    for path in files() {
        let bytes = Bytes::from(std::fs::read(&path).expect("a readable file"));
        let mut known = Known::new(Some(bytes.len() as u64));
        let file = feed::until_ready(&bytes, &mut known, File::open).unwrap();
        let directories = feed::until_ready(&bytes, &mut known, |known| file.directories(known))
            .unwrap()
            .readable;
        for key in directories.iter().flat_map(|directory| &directory.keys) {
            if !key.is_directory() {
                feed::until_ready(&bytes, &mut known, |known| file.object_of(known, key))
                    .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            }
        }
    }
}

/// One type code for all codes that have the same meaning on disk.
fn on_disk(element: &StreamerElement) -> i32 {
    match element.type_code {
        code::TOBJECT | code::TNAMED => code::BASE,
        code::COUNTER => code::INT,
        code::LONG => code::LONG64,
        code::OBJECT | code::OBJECT_HELD | code::ANY_HELD => code::ANY,
        code::BASKET_SEEKS => code::COUNTED + code::INT,
        code::UCHAR if matches!(element.type_name.as_str(), "bool" | "Bool_t") => code::BOOL,
        code => code,
    }
}

#[test]
fn builtin_layouts_are_those_that_files_carry() {
    let builtin = Streamers::default();
    let mut compared = BTreeSet::new();
    for path in files() {
        let bytes = Bytes::from(std::fs::read(&path).expect("a readable file"));
        let mut known = Known::new(Some(bytes.len() as u64));
        let file = feed::until_ready(&bytes, &mut known, File::open).unwrap();
        for info in file.classes.streamers.infos().filter(|info| info.checksum != 0) {
            let Some(ours) = builtin.info(&info.class, Some(info.version)) else { continue };
            let members = |info: &StreamerInfo| {
                let all = info.elements.iter();
                all.map(|element| (element.name.clone(), on_disk(element))).collect::<Vec<_>>()
            };
            assert_eq!(members(ours), members(info), "{} {}", info.class, info.version);
            compared.insert((info.class.clone(), info.version));
        }
    }
    assert!(compared.is_empty() || compared.len() > 40, "{compared:?}");
}

/// Lets a script compare an example's output for all files with that of uproot. Columns are
/// compared in Python, in `python/tests/corpus.py`.
#[test]
fn uproot_sees_the_same_trees() {
    let Ok(python) = std::env::var("FARROOT_PYTHON") else {
        eprintln!("SKIPPED: FARROOT_PYTHON names no Python with uproot");
        return;
    };
    let test = std::env::current_exe().expect("a path");
    let example = test.ancestors().nth(2).expect("a folder").join("examples").join("dump_tree");
    let files = files();
    if files.is_empty() {
        return;
    }
    let compared = Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/compare.py"))
        .arg(example)
        .args(files)
        .output()
        .expect("Python runs");
    let said = String::from_utf8_lossy(&compared.stdout);
    let errors = String::from_utf8_lossy(&compared.stderr);
    assert!(compared.status.success(), "{said}{errors}");
}

/// Infos of ROOT's own classes, from any release and writer, go together with those that are
/// written.
#[test]
fn streamer_infos_of_every_file_can_be_copied() {
    for path in files() {
        let bytes = Bytes::from(std::fs::read(&path).expect("a readable file"));
        let mut known = Known::new(Some(bytes.len() as u64));
        let file = feed::until_ready(&bytes, &mut known, File::open).unwrap();
        let mut infos = Infos::default();
        let copied = infos.copy(file.classes.streamers.infos_of_file(), &path.to_string_lossy());
        copied.unwrap_or_else(|error| panic!("{error}"));
    }
}
