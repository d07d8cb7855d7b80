//! A whole file that is here: the checker's word on it, and an update of it.

use std::sync::Arc;

use bytes::Bytes;
use rootfile::write::check::check;
use rootfile::write::objects::{ObjString, RawObject};
use rootfile::write::{DirectoryId, Existing, FileWriter};
use rootfile::{File, Known};

use super::all_there;
use crate::Target;

pub const TARGET: Target = Target {
    name: "update",
    run,
    seeds,
    rounds: 1_500,
    // As that of whole files; each finding is a line of text.
    memory: (64 << 20, 256),
};

/// More of them only take longer.
const OBJECTS_MAX: usize = 10;

pub fn run(data: &[u8]) {
    look(data);
}

/// Whether the file could be updated.
fn look(data: &[u8]) -> bool {
    let bytes = Bytes::copy_from_slice(data);
    let findings = check(&bytes);
    let mut known = Known::new(Some(bytes.len() as u64));
    known.supply(0, bytes.clone());
    let Some(existing) = all_there(Existing::read(&known)) else { return false };
    let Some(file) = all_there(File::open(&known)) else { return false };
    let Ok(mut writer) = FileWriter::reopen(existing, 1) else { return false };
    let file = Arc::new(file);
    for key in file.keys().iter().take(OBJECTS_MAX) {
        let Some(record) = all_there(file.record(&known, key)) else { continue };
        let Ok(raw) = RawObject::new(file.clone(), key.clone(), record) else { continue };
        writer.put(DirectoryId::TOP, "a name of its own", Arc::new(raw));
    }
    writer.put(DirectoryId::TOP, "added", Arc::new(ObjString("added".into())));
    writer.close();
    let mut updated = bytes.to_vec();
    // Records that are not understood cannot be renamed.
    while let Ok(Some(write)) = writer.poll_write() {
        let start = write.offset as usize;
        let end = write.offset as usize + write.bytes.len();
        assert!(start <= updated.len(), "a hole in front of byte {start}");
        updated.resize(updated.len().max(end), 0);
        updated[start..end].copy_from_slice(&write.bytes);
    }
    if findings.is_empty() && writer.is_finished() {
        assert_eq!(check(&updated.into()), [], "a right file became a wrong one");
    }
    true
}

fn seeds() -> Vec<Vec<u8>> {
    [
        &include_bytes!("../../../crates/rootfile/testdata/clustered.root")[..],
        include_bytes!("../../../crates/rootfile/testdata/ntuple_columns.root"),
        include_bytes!("../../../crates/rootfile/testdata/by_uproot.root"),
        include_bytes!("../../seeds/file/objects.root"),
        include_bytes!("../../seeds/file/plain.root"),
    ]
    .map(<[u8]>::to_vec)
    .into()
}

#[test]
fn the_seeds_are_good() {
    for seed in seeds() {
        assert!(look(&seed));
    }
}
