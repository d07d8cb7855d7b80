use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::naming::{held_text, name_held, name_over};
use super::*;
use crate::sink::Upload;

const NEW: CreateOptions =
    CreateOptions { overwrite: false, in_place: false, shared: false, size: None };
const OVER: CreateOptions = CreateOptions { overwrite: true, ..NEW };
const SHARED: CreateOptions = CreateOptions { shared: true, ..OVER };

/// Names in a folder, in their order.
fn names(folder: &Path) -> Vec<String> {
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}

fn entry(path: &Path) -> FolderEntry {
    FolderEntry::at(path).unwrap()
}

pub fn upload(sink: LocalFile, before: u64) -> Upload {
    Upload::new(sink.disk.target.path().to_string_lossy().into_owned(), Box::new(sink), before)
}

async fn begin(target: &Path, options: CreateOptions) -> Result<Upload> {
    Ok(upload(create(target.to_owned(), options).await?, 0))
}

/// Writes ten times 1 MB, of which the first 100 bytes are replaced.
async fn fill(upload: &mut Upload) -> Vec<u8> {
    let mut file = vec![0; 100];
    upload.write(0, Bytes::from_static(&[0; 100]), true).await.unwrap();
    for part in 0..10u8 {
        let bytes: Bytes = (0..1_000_000u32).map(|at| (at % 251) as u8 ^ part).collect();
        upload.write(file.len() as u64, bytes.slice(..7), false).await.unwrap();
        upload.write(file.len() as u64 + 7, Bytes::new(), false).await.unwrap();
        upload.write(file.len() as u64 + 7, bytes.slice(7..), false).await.unwrap();
        file.extend_from_slice(&bytes);
    }
    upload.write(20, Bytes::from_static(&[9; 60]), false).await.unwrap();
    file[20..80].fill(9);
    file
}

#[tokio::test]
async fn a_file_has_its_name_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("f.root");
    let mut upload = begin(&target, NEW).await.unwrap();
    let bytes = fill(&mut upload).await;
    upload.sync().await.unwrap();
    let [part] = &names(folder.path())[..] else { panic!("one file") };
    assert!(part.starts_with(".f.root.") && part.ends_with(".part"), "{part}");
    let written = upload.finish().await.unwrap();
    assert_eq!(names(folder.path()), ["f.root"]);
    assert!(fs::read(&target).unwrap() == bytes);
    let file = File::open(&target).unwrap();
    let sum = crate::checksum::of_file(&file, Algorithm::Adler32).unwrap();
    assert_eq!((written.size, written.checksum), (bytes.len() as u64, Some(sum)));
    // As any new file.
    fs::write(folder.path().join("other"), "").unwrap();
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().mode();
    assert_eq!(mode("f.root"), mode("other"));
}

#[tokio::test]
async fn what_is_given_up_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for options in [NEW, CreateOptions { in_place: true, ..NEW }] {
        let target = folder.path().join("f.root");
        let mut first = begin(&target, options).await.unwrap();
        fill(&mut first).await;
        drop(first);
        assert_eq!(names(folder.path()), [""; 0]);
        let mut second = begin(&target, options).await.unwrap();
        fill(&mut second).await;
        second.abandon().await;
        assert_eq!(names(folder.path()), [""; 0]);
    }
}

#[tokio::test]
async fn what_is_there_stays_until_the_new_file_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("f.root");
    fs::write(&target, "old").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    let refused = begin(&target, NEW).await.unwrap_err();
    assert!(refused.to_string().contains("is there already"), "{refused}");
    let mut upload = begin(&target, OVER).await.unwrap();
    let bytes = fill(&mut upload).await;
    assert_eq!(fs::read(&target).unwrap(), b"old");
    upload.finish().await.unwrap();
    assert!(fs::read(&target).unwrap() == bytes);
    assert_eq!(fs::metadata(&target).unwrap().mode() & 0o777, 0o640);
}

#[tokio::test]
async fn a_file_that_appears_meanwhile_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("f.root");
    let upload = begin(&target, NEW).await.unwrap();
    fs::write(&target, "theirs").unwrap();
    let error = upload.finish().await.unwrap_err();
    assert!(error.to_string().contains("is there already"), "{error}");
    assert_eq!(fs::read(&target).unwrap(), b"theirs");
    assert_eq!(names(folder.path()), ["f.root"]);
}

/// Regression: a file that was written under its name at once and given up took the file with it
/// that another writer had renamed over it.
#[tokio::test]
async fn what_is_given_up_leaves_the_file_that_has_its_name_by_now() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("f.root");
    let upload = begin(&target, CreateOptions { in_place: true, ..NEW }).await.unwrap();
    fs::write(folder.path().join("other"), "theirs").unwrap();
    fs::rename(folder.path().join("other"), &target).unwrap();
    upload.abandon().await;
    assert_eq!(fs::read(&target).unwrap(), b"theirs");
}

#[test]
fn a_name_is_held_where_nothing_else_keeps_others_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("f.root");
    let part = |text: &str| {
        let path = folder.path().join("part");
        fs::write(&path, text).unwrap();
        Temporary::new(entry(&path))
    };
    name_held(part("ours"), &entry(&target)).unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"ours");
    let error = name_held(part("later"), &entry(&target)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&target).unwrap(), b"ours");
    let gone = part("gone");
    gone.entry().remove().unwrap();
    name_held(gone, &entry(&folder.path().join("g.root"))).unwrap_err();
    assert_eq!(names(folder.path()), ["f.root"]);
}

/// Regression: a file that another writer wrote under a held name was replaced.
#[test]
fn a_held_name_that_another_writer_took_stays_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("f.root");
    let path = folder.path().join("part");
    let writes = |target: &Path| fs::write(target, "theirs").unwrap();
    let renames = |target: &Path| {
        fs::write(folder.path().join("other"), "theirs").unwrap();
        fs::rename(folder.path().join("other"), target).unwrap();
    };
    for take in [&writes as &dyn Fn(&Path), &renames] {
        fs::write(&target, held_text(&entry(&path))).unwrap();
        take(&target);
        fs::write(&path, "ours").unwrap();
        let error = name_over(Temporary::new(entry(&path)), &entry(&target)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&target).unwrap(), b"theirs");
        assert_eq!(names(folder.path()), ["f.root"]);
        fs::remove_file(&target).unwrap();
    }
}

/// Regression: a crash between holding a name and the rename left a file, which every later writer
/// refused to replace.
#[tokio::test]
async fn what_a_crash_left_to_hold_a_name_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("f.root");
    let part = folder.path().join(".f.root.0a1b2c3d4e5f6789.part");
    fs::write(&target, held_text(&entry(&part))).unwrap();
    let refused = begin(&target, NEW).await.unwrap_err();
    assert!(refused.to_string().contains("is there already"), "no writer left it: {refused}");
    fs::write(&part, "whole").unwrap();
    let lock = File::open(&part).unwrap();
    lock.lock().unwrap();
    let refused = begin(&target, NEW).await.unwrap_err();
    assert!(refused.to_string().contains("is there already"), "its writer is alive: {refused}");
    drop(lock);
    begin(&target, NEW).await.unwrap().finish().await.unwrap();
    assert_eq!(names(folder.path()), ["f.root"]);
}

/// Regression: a user's empty file was removed as if a crash had left it, beside the part of any
/// writer that had been killed.
#[tokio::test]
async fn a_file_of_the_user_beside_what_a_crash_left_stays() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("f.root");
    fs::write(folder.path().join(".f.root.0a1b2c3d4e5f6789.part"), "whole").unwrap();
    let of_another = held_text(&entry(Path::new(".f.root.0123456789abcdef.part")));
    for theirs in [&b""[..], b"something", &of_another] {
        fs::write(&target, theirs).unwrap();
        let before = fs::metadata(&target).unwrap();
        let refused = begin(&target, NEW).await.unwrap_err();
        assert!(refused.to_string().contains("is there already"), "{refused}");
        let after = fs::metadata(&target).unwrap();
        assert_eq!((after.ino(), after.ctime_nsec()), (before.ino(), before.ctime_nsec()));
    }
}

#[tokio::test]
async fn a_file_of_another_library_has_its_name_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("f.parquet");
    let part = LocalPart::create(&target, false).await.unwrap();
    fs::write(part.path(), "ours").unwrap();
    let second = LocalPart::create(&target, false).await.err().unwrap();
    assert!(second.to_string().contains("another writer"), "{second}");
    assert!(!target.exists());
    let written = part.finish().await.unwrap();
    assert_eq!((written.size, written.checksum), (4, None));
    assert_eq!(names(folder.path()), ["f.parquet"]);
    let refused = LocalPart::create(&target, false).await.err().unwrap();
    assert!(refused.to_string().contains("is there already"), "{refused}");
    drop(LocalPart::create(&target, true).await.unwrap());
    assert_eq!(names(folder.path()), ["f.parquet"]);
    fs::remove_file(&target).unwrap();
    let part = LocalPart::create(&target, false).await.unwrap();
    fs::write(&target, "theirs").unwrap();
    let error = part.finish().await.unwrap_err();
    assert!(error.to_string().contains("is there already"), "{error}");
    assert_eq!(fs::read(&target).unwrap(), b"theirs");
    assert_eq!(names(folder.path()), ["f.parquet"]);
}

#[tokio::test]
async fn one_writer_has_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("f.root");
    let first = begin(&target, NEW).await.unwrap();
    let second = begin(&target, OVER).await.unwrap_err();
    assert!(second.to_string().contains("another writer"), "{second}");
    // Another name that only looks like it.
    begin(&folder.path().join("f"), NEW).await.unwrap().abandon().await;
    first.finish().await.unwrap();
    let update = append_to(target.clone()).await.unwrap();
    for error in [begin(&target, OVER).await.err(), append_to(target.clone()).await.err()] {
        assert!(error.unwrap().to_string().contains("another writer"));
    }
    drop(update);
    // The part of a writer that was killed.
    fs::write(folder.path().join(".f.root.0a1b2c3d4e5f6789.part"), "left").unwrap();
    fs::write(folder.path().join(".f.root.notes.part"), "mine").unwrap();
    begin(&target, OVER).await.unwrap().finish().await.unwrap();
    assert_eq!(names(folder.path()), [".f.root.notes.part", "f.root"]);
}

/// Regression: work that was given out twice failed with "another writer has this file" where both
/// workers wrote at the same time.
#[tokio::test]
async fn writers_share_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("f.root");
    let mut first = begin(&target, SHARED).await.unwrap();
    let mut second = begin(&target, SHARED).await.unwrap();
    first.write(0, Bytes::from_static(b"first"), false).await.unwrap();
    second.write(0, Bytes::from_static(b"second"), false).await.unwrap();
    assert_eq!(names(folder.path()).len(), 2, "each has a temporary file");
    let third = begin(&target, OVER).await.unwrap_err();
    assert!(
        third.to_string().contains("another writer"),
        "the third writer shares no name: {third}"
    );
    second.finish().await.unwrap();
    first.finish().await.unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"first", "of the last that finished");
    assert_eq!(names(folder.path()), ["f.root"]);
    // While a writer that has given its file the name has it open for a moment longer.
    let open = File::open(&target).unwrap();
    open.lock().unwrap();
    begin(&target, SHARED).await.unwrap().finish().await.unwrap();
}

#[tokio::test]
async fn links_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("d/f.root");
    let link = folder.path().join("link");
    fs::create_dir(folder.path().join("d")).unwrap();
    symlink(&target, &link).unwrap();
    let error = begin(&link, OVER).await.unwrap_err();
    assert!(error.to_string().contains("leads nowhere"), "{error}");
    fs::write(&target, "old").unwrap();
    begin(&link, OVER).await.unwrap().finish().await.unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&target).unwrap(), b"");
}

#[tokio::test]
async fn what_cannot_be_a_target_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (target, why) in [
        (folder.path().to_owned(), "is a directory"),
        (folder.path().join("new/"), "is a directory"),
        (folder.path().join("none/f"), "directory is not there; in"),
        (folder.path().join("file/f"), "directory is a file"),
        ("/dev/null".into(), "a device or a pipe"),
    ] {
        for options in [OVER, CreateOptions { in_place: true, ..OVER }] {
            let error = begin(&target, options).await.unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
    }
    let missing = append_to(folder.path().join("none")).await.err().unwrap();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    let long = folder.path().join("é".repeat(127));
    begin(&long, NEW).await.unwrap().finish().await.unwrap();
    assert!(long.exists());
}

#[tokio::test]
async fn an_update_that_replaced_nothing_is_undone() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("f.root");
    let open = async || {
        let (sink, before) = append_to(target.clone()).await.unwrap();
        assert_eq!(before, 10);
        upload(sink, before)
    };
    fs::write(&target, [1; 10]).unwrap();
    let mut update = open().await;
    update.write(10, Bytes::from_static(&[2; 5]), false).await.unwrap();
    update.sync().await.unwrap();
    assert_eq!(fs::read(&target).unwrap().len(), 15);
    drop(update);
    assert_eq!(fs::read(&target).unwrap(), [1; 10]);
    let mut update = open().await;
    update.write(10, Bytes::from_static(&[2; 5]), false).await.unwrap();
    update.write(2, Bytes::from_static(&[3; 2]), false).await.unwrap();
    update.sync().await.unwrap();
    drop(update);
    assert_eq!(
        fs::read(&target).unwrap(),
        b"\x01\x01\x03\x03\x01\x01\x01\x01\x01\x01\x02\x02\x02\x02\x02"
    );
}

/// A disk that fails, as one that is full does: nothing can be written to a file that is open for
/// reading.
#[tokio::test]
async fn an_error_of_the_disk_comes_with_a_later_write_and_removes_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".f.root.part");
    fs::write(&path, "").unwrap();
    let place = Place::Beside { part: Temporary::new(entry(&path)), options: OVER };
    let file = File::open(&path).unwrap();
    let mut upload = upload(LocalFile::of(file, entry(&folder.path().join("f.root")), place), 0);
    let piece = Bytes::from(vec![0; RUN_BYTES / 2]);
    let mut error = None;
    for at in 0..6 {
        let written = upload.write(at * piece.len() as u64, piece.clone(), false).await;
        error = error.or(written.err());
    }
    assert!(error.clone().unwrap().to_string().starts_with("cannot be written: "), "{error:?}");
    assert_eq!(names(folder.path()), [""; 0], "at once");
    assert_eq!(upload.finish().await.err(), error);
}

/// A disk that takes bytes and fails to sync them, as `/dev/null` does. The system reports that
/// once, and not necessarily at the end of the file.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_error_of_waiting_for_the_disk_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".f.root.part");
    fs::write(&path, "").unwrap();
    let place = Place::Beside { part: Temporary::new(entry(&path)), options: OVER };
    let file = File::options().write(true).open("/dev/null").unwrap();
    let mut upload = upload(LocalFile::of(file, entry(&folder.path().join("f.root")), place), 0);
    let piece = Bytes::from(vec![0; RUN_BYTES]);
    let mut error = None;
    while error.is_none() && upload.len() < 2 * CACHED_BYTES_MAX {
        error = upload.write(upload.len(), piece.clone(), false).await.err();
    }
    assert!(error.clone().unwrap().to_string().starts_with("cannot be written: "), "{error:?}");
    assert_eq!(names(folder.path()), [".f.root.part"], "the device has another name");
    assert_eq!(upload.finish().await.err(), error);
}

#[test]
fn errors_of_disks_say_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let behind = Behind { before: 0, replaced: false, end: 0, mark: None };
    let place = Place::Behind(behind);
    let disk = Disk {
        file: File::create(folder.path().join("f")).unwrap(),
        target: entry(&folder.path().join("f")),
        place: Mutex::new(place),
        room: Mutex::default(),
    };
    let path = folder.path().join("f").display().to_string();
    for (code, why) in [
        (libc::ENOSPC, "the disk is full: 17 bytes were written; in /d/f; free some room"),
        (libc::EDQUOT, "the quota is used up: 17 bytes were written; in /d/f; remove some files"),
        (libc::EFBIG, "a file may not become as large: 17 bytes were written; in /d/f; see ulimit"),
        (libc::EIO, "cannot be written: Input/output error (os error 5); in /d/f"),
    ] {
        let error = disk.failed(&io::Error::from_raw_os_error(code), 17);
        assert!(error.to_string().replace(&path, "/d/f").starts_with(why), "{error}");
    }
}

/// An update of a file that another program had replaced, removed, cut or written to reported
/// success.
#[tokio::test]
async fn an_update_of_what_another_program_has_changed_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("f.root");
    let others: [(&str, &dyn Fn()); 4] = [
        ("replaced", &|| {
            fs::write(folder.path().join("other"), "somebody's").unwrap();
            fs::rename(folder.path().join("other"), &target).unwrap();
        }),
        ("removed", &|| fs::remove_file(&target).unwrap()),
        ("cut", &|| File::options().write(true).open(&target).unwrap().set_len(20).unwrap()),
        ("written to", &|| {
            use std::os::unix::fs::FileExt;
            let file = File::options().write(true).open(&target).unwrap();
            file.write_all_at(b"another", 3).unwrap();
        }),
    ];
    for (how, other) in others {
        fs::write(&target, [1; 1000]).unwrap();
        let (sink, before) = append_to(target.clone()).await.unwrap();
        let mut update = upload(sink, before);
        update.write(before, Bytes::from_static(&[2; 100]), false).await.unwrap();
        update.sync().await.unwrap();
        other();
        let there = fs::read(&target).ok();
        let replaced = update.write(0, Bytes::from_static(&[3; 10]), true).await;
        let finished = update.finish().await;
        let error = replaced.err().or(finished.err()).expect(how).to_string();
        assert!(error.contains("another program has removed, replaced"), "{how}: {error}");
        assert_eq!(fs::read(&target).ok(), there, "{how}: what the other has made stays");
    }
}

#[tokio::test]
async fn a_part_that_another_program_has_taken_gets_no_name() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("f.root");
    for is_replaced in [false, true] {
        let mut upload = begin(&target, NEW).await.unwrap();
        fill(&mut upload).await;
        upload.sync().await.unwrap();
        let part = folder.path().join(&names(folder.path())[0]);
        assert_eq!(fs::metadata(&part).unwrap().mode() & 0o777, 0o600, "private until it is whole");
        fs::remove_file(&part).unwrap();
        if is_replaced {
            fs::write(&part, "evil").unwrap();
        }
        let error = upload.finish().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
        assert!(!target.exists());
        assert_eq!(names(folder.path()).len(), usize::from(is_replaced), "it is another's");
    }
}
