//! Updates: existing objects stay, whatever happens before the last write.

use std::collections::BTreeMap;

use super::*;
use crate::key::Key;
use crate::object::Value;
use crate::write::check::check;
use crate::write::objects::ObjString;

fn text(text: &str) -> Arc<dyn WritableObject> {
    Arc::new(ObjString(text.to_owned()))
}

/// A file with an object on top and one in a directory.
fn first() -> Bytes {
    let mut file = FileWriter::new(options()).unwrap();
    let below = file.directory("a/b").unwrap();
    file.put(DirectoryId::TOP, "same", text("first"));
    file.put(below, "inner", text(&"inner ".repeat(50)));
    written(file)
}

pub fn reopened(bytes: &Bytes) -> FileWriter {
    let mut known = Known::new(Some(bytes.len() as u64));
    known.supply(0, bytes.clone());
    match Existing::read(&known).unwrap() {
        Progress::Ready(existing) => FileWriter::reopen(existing, 10).unwrap(),
        Progress::NeedsData(needs) => panic!("all is there: {needs:?}"),
    }
}

/// The writes of an update.
fn writes(mut file: FileWriter) -> Vec<Write> {
    file.close();
    std::iter::from_fn(|| file.poll_write().unwrap()).collect()
}

pub fn apply(bytes: &mut Vec<u8>, write: &Write) {
    let start = write.offset as usize;
    let end = write.offset as usize + write.bytes.len();
    assert!(start <= bytes.len(), "forward only");
    bytes.resize(bytes.len().max(end), 0);
    bytes[start..end].copy_from_slice(&write.bytes);
}

fn updated(bytes: &Bytes, file: FileWriter) -> Bytes {
    let mut all = bytes.to_vec();
    writes(file).iter().for_each(|write| apply(&mut all, write));
    all.into()
}

/// Every text of a file, by its path.
fn texts(bytes: &Bytes) -> BTreeMap<String, String> {
    let (file, known) = opened(bytes);
    let Progress::Ready(all) = file.directories(&known).unwrap() else { panic!("all is there") };
    assert!(all.broken.is_empty(), "{:?}", all.broken);
    let mut texts = BTreeMap::new();
    for directory in &all.readable {
        for key in directory.keys.iter().filter(|key| key.class == "TObjString") {
            let Progress::Ready(object) = file.object_of(&known, key).unwrap() else {
                panic!("all is there")
            };
            let Some(Value::Text(text)) = object.root().member("fString") else { panic!() };
            let path = format!("{}/{};{}", directory.path, key.name, key.cycle);
            texts.insert(path, String::from_utf8_lossy(text).into_owned());
        }
    }
    texts
}

#[test]
fn an_update_adds_to_what_is_there() {
    let old = first();
    let mut file = reopened(&old);
    let below = file.directory("a/b").unwrap();
    let new = file.directory("a/c").unwrap();
    file.put(DirectoryId::TOP, "same", text("second"));
    file.put(below, "further", text("further"));
    file.put(new, "newest", text("newest"));
    let bytes = updated(&old, file);
    assert_eq!(check(&bytes), []);
    let texts = texts(&bytes);
    let expected = ["/same;1", "/same;2", "a/b/further;1", "a/b/inner;1", "a/c/newest;1"];
    assert!(texts.keys().eq(expected), "{texts:?}");
    assert_eq!((&*texts["/same;1"], &*texts["/same;2"]), ("first", "second"));
    let before = opened(&old).0;
    let after = opened(&bytes).0;
    let key = |file: &File| -> Key { file.top.key("same", Some(1)).unwrap().clone() };
    assert_eq!(key(&before), key(&after), "its time stays");
    assert_eq!(before.header.uuid, after.header.uuid);
}

#[test]
fn what_is_removed_is_free_afterwards() {
    let mut bytes = first();
    let mut file = reopened(&bytes);
    file.put(DirectoryId::TOP, "same", text("second"));
    assert!(file.remove("", "same", 2).is_err(), "not there before");
    bytes = updated(&bytes, file);
    let mut file = reopened(&bytes);
    for (path, name, cycle) in
        [("", "a", 1), ("a", "same", 1), ("none", "same", 1), ("", "same", 3)]
    {
        assert!(file.remove(path, name, cycle).is_err(), "{path}/{name};{cycle}");
    }
    file.remove("", "same", 1).unwrap();
    file.remove("a/b", "inner", 1).unwrap();
    assert!(file.remove("", "same", 1).is_err(), "twice");
    bytes = updated(&bytes, file);
    assert_eq!(check(&bytes), []);
    assert!(texts(&bytes).keys().eq(["/same;2"]), "{:?}", texts(&bytes));
    let mut file = reopened(&bytes);
    file.put(DirectoryId::TOP, "same", text("third"));
    bytes = updated(&bytes, file);
    assert_eq!(check(&bytes), []);
    assert!(texts(&bytes).keys().eq(["/same;2", "/same;3"]));
    assert!(FileWriter::new(options()).unwrap().remove("", "same", 1).is_err(), "a new file");
}

#[test]
fn an_update_of_nothing_writes_nothing() {
    assert!(writes(reopened(&first())).is_empty());
}

#[test]
fn every_prefix_of_the_writes_has_the_old_or_the_new_content() {
    let old = first();
    let mut file = reopened(&old);
    file.put(DirectoryId::TOP, "same", text("second"));
    // A class that the file has not described yet.
    let number = crate::write::objects::ParameterValue::I32(7);
    let parameter = crate::write::objects::Parameter { name: "n".into(), value: number };
    file.put(DirectoryId::TOP, "n", Arc::new(parameter));
    let writes = writes(file);
    let mut bytes = old.to_vec();
    let whole = {
        let mut all = old.to_vec();
        writes.iter().for_each(|write| apply(&mut all, write));
        texts(&all.into())
    };
    let mut news = 0;
    for write in &writes {
        apply(&mut bytes, write);
        let now = texts(&bytes.clone().into());
        assert!(now == texts(&old) || now == whole, "{now:?}");
        news += usize::from(now == whole);
        // All writes but replacements lie behind the old end, and come first.
        assert!(news > 0 || write.offset >= old.len() as u64 || write.offset < 1000);
    }
    assert!(news > 0 && whole.len() == texts(&old).len() + 1);
    assert_eq!(check(&bytes.into()), []);
}

/// A merge that appends puts its sums in place of the histograms of the file.
#[test]
fn what_is_put_in_place_of_an_object_has_its_cycle() {
    let mut file = reopened(&first());
    file.put(DirectoryId::TOP, "same", text("second"));
    let old = updated(&first(), file);
    let mut file = reopened(&old);
    file.put_in_place(DirectoryId::TOP, "same", 1, text("first and third"));
    let writes = writes(file);
    let mut bytes = old.to_vec();
    for write in &writes {
        apply(&mut bytes, write);
        let now = texts(&bytes.clone().into());
        assert!(now["/same;1"] == "first" || now["/same;1"] == "first and third", "{now:?}");
        assert_eq!((&*now["/same;2"], now.len()), ("second", 3));
    }
    let bytes = Bytes::from(bytes);
    assert_eq!((check(&bytes), &*texts(&bytes)["/same;1"]), (vec![], "first and third"));
    let keys =
        |bytes: &Bytes| opened(bytes).0.top.keys.iter().map(|key| key.cycle).collect::<Vec<_>>();
    assert_eq!(keys(&bytes), keys(&old), "in the same order");
    let mut file = reopened(&old);
    file.put_in_place(DirectoryId::TOP, "same", 3, text("third"));
    file.close();
    assert!(std::iter::from_fn(|| file.poll_write().transpose()).any(|write| write.is_err()));
}

#[test]
fn many_updates_leave_a_right_file() {
    let mut bytes = first();
    for round in 0..20 {
        let mut file = reopened(&bytes);
        let place = match round % 3 {
            0 => DirectoryId::TOP,
            _ => file.directory("a/b").unwrap(),
        };
        file.put(place, "again", text(&"again ".repeat(round)));
        bytes = updated(&bytes, file);
        assert_eq!(check(&bytes), [], "round {round}");
    }
    assert_eq!(texts(&bytes).len(), 22);
}

#[test]
fn files_of_other_writers_are_updated() {
    for name in ["plain", "clustered", "split", "ntuple_plain", "ntuple_columns", "by_uproot"] {
        let path = format!("{}/testdata/{name}.root", env!("CARGO_MANIFEST_DIR"));
        #[allow(clippy::disallowed_methods, reason = "tests read files")]
        let old = Bytes::from(std::fs::read(path).unwrap());
        let mut file = reopened(&old);
        file.put(DirectoryId::TOP, "added", text("added"));
        let bytes = updated(&old, file);
        assert!(check(&bytes).len() <= check(&old).len(), "{name}: {:?}", check(&bytes));
        assert_eq!(texts(&bytes)["/added;1"], "added");
        let before = opened(&old).0;
        let after = opened(&bytes).0;
        assert_eq!(before.top.keys.len() + 1, after.top.keys.len());
        assert_eq!(before.header.version, after.header.version);
    }
}

#[test]
fn files_that_cannot_be_updated() {
    for name in ["unclosed", "saved"] {
        let path = format!("{}/testdata/{name}.root", env!("CARGO_MANIFEST_DIR"));
        #[allow(clippy::disallowed_methods, reason = "tests read files")]
        let bytes = Bytes::from(std::fs::read(path).unwrap());
        let mut known = Known::new(Some(bytes.len() as u64));
        known.supply(0, bytes);
        assert!(Existing::read(&known).is_err(), "{name}");
    }
}

/// Makes the record of a directory one of version 1, which ends behind its offsets: bytes of
/// another record follow, here `0xee`. `keys` are the places of its keys: that of the record, and
/// that in the list of the directory above.
fn shorten(bytes: &mut [u8], keys: &[usize], name_len: usize) -> Range<usize> {
    const SPARE: usize = 30;
    for key in keys {
        for place in [*key..key + 4, key + 6..key + 10] {
            let len = u32::from_be_bytes(bytes[place.clone()].try_into().unwrap());
            bytes[place].copy_from_slice(&(len - SPARE as u32).to_be_bytes());
        }
    }
    let start = keys[0] + name_len;
    bytes[start..start + 2].copy_from_slice(&[0, 1]);
    let behind = start + 60 - SPARE..start + 60;
    bytes[behind.clone()].fill(0xee);
    behind
}

/// Geant4 writes directories without a number of their own and without spare bytes. An update took
/// the bytes of the next record, a basket, for these, and put its own there.
#[test]
fn records_of_directories_stay_as_long_as_they_were() {
    let mut old = first().to_vec();
    let (file, known) = opened(&old.clone().into());
    let below = file.top.key("a", None).unwrap().clone();
    let listed = file.top.range.clone();
    assert!(matches!(file.directories(&known).unwrap(), Progress::Ready(_)));
    // In the list, its key stands behind the list's own key and the count.
    let list_key = Key::of_record(&Bytes::from(old.clone()).slice(listed.start as usize..), 0);
    let in_list = listed.start as usize + list_key.unwrap().key_len as usize + 4;
    let own = [below.offset as usize, in_list];
    let behind_below = shorten(&mut old, &own, below.key_len as usize);
    let top = file.header.begin as usize;
    let behind_top = shorten(&mut old, &[top], file.header.name_len as usize);
    let old = Bytes::from(old);
    let before = texts(&old);
    let mut file = reopened(&old);
    let below = file.directory("a").unwrap();
    file.put(DirectoryId::TOP, "same", text("second"));
    file.put(below, "further", text("further"));
    let new = updated(&old, file);
    for behind in [behind_top, behind_below] {
        assert_eq!(new[behind.clone()], old[behind]);
    }
    let after = texts(&new);
    assert!(before.iter().all(|(path, text)| after.get(path) == Some(text)), "{after:?}");
    assert_eq!((&*after["/same;2"], &*after["a/further;1"]), ("second", "further"));
}

/// Of a file that passes 2 GB such a record has no room for longer offsets: nothing in front of the
/// file's end changes.
#[test]
fn a_record_without_room_for_longer_offsets_is_refused() {
    let mut old = first().to_vec();
    let file = opened(&old.clone().into()).0;
    shorten(&mut old, &[file.header.begin as usize], file.header.name_len as usize);
    let mut file = reopened(&old.into());
    file.free = Free::default();
    file.end = 1_999_999_980;
    file.put(DirectoryId::TOP, "same", text(&"far away ".repeat(100)));
    file.close();
    let error = loop {
        match file.poll_write() {
            Ok(write) => assert!(write.unwrap().offset >= 1_999_999_980),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("2 GB"), "{error}");
}

/// An update that passes 2 GB: its bytes lie far behind those of the old file.
#[test]
fn an_update_beyond_two_gigabytes() {
    let old = first();
    let mut file = reopened(&old);
    let far = 1_999_999_980;
    file.free = Free::default();
    file.end = far;
    file.put(DirectoryId::TOP, "same", text("far away"));
    file.put(DirectoryId::TOP, "farther", text("farther"));
    let mut head = old.to_vec();
    let mut tail = Vec::new();
    for mut write in writes(file) {
        if write.offset < far {
            apply(&mut head, &write);
        } else {
            write.offset -= far;
            apply(&mut tail, &write);
        }
    }
    let mut known = Known::new(Some(far + tail.len() as u64));
    known.supply(0, head.into());
    known.supply(far, tail.into());
    let Progress::Ready(file) = File::open(&known).unwrap() else { panic!("all is there") };
    assert!(file.header.big && file.header.version == 64_000);
    let offsets: Vec<u64> = file.top.keys.iter().map(|key| key.offset).collect();
    assert!(offsets.iter().any(|offset| *offset > 2_000_000_000), "{offsets:?}");
    for path in ["same;1", "same;2", "farther", "a/b/inner"] {
        let Progress::Ready(object) = file.object(&known, path).unwrap() else { panic!() };
        assert_eq!(object.root().class(), "TObjString");
    }
}
