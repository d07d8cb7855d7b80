use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use super::*;

const NOW: Duration = Duration::from_secs(1);
const HOST: (&str, u16) = ("host", 1094);

/// A folder, and the path of farroot's own folder in it, which does not exist yet.
fn private() -> (tempfile::TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("farroot");
    (parent, folder)
}

fn open(folder: &Path, most: u32) -> Arc<Slots> {
    Slots::open(folder, HOST, most).expect("a folder")
}

#[test]
fn no_more_places_are_taken_than_there_are() {
    let (_parent, folder) = private();
    let one = open(&folder, 4);
    let two = open(&folder, 4);
    let other = Slots::open(&folder, ("other", 1094), 4).unwrap();
    let mut ones: Vec<Slot> = (0..3).map(|_| one.take(NOW).unwrap()).collect();
    assert_eq!(ones.iter().map(|slot| slot.number).collect::<Vec<_>>(), [0, 1, 2]);
    let last = two.take(NOW).unwrap();
    assert!(two.take(NOW).is_none() && one.take(NOW).is_none() && other.take(NOW).is_some());
    drop(ones.remove(1));
    assert_eq!(two.take(NOW).map(|slot| slot.number), Some(1));
    let again = two.take(NOW).unwrap();
    assert!(two.take(NOW).is_none());
    drop(one);
    assert!(two.take(NOW).is_none(), "its connections are there");
    drop(ones);
    let places = [two.take(NOW).unwrap(), two.take(NOW).unwrap()];
    assert!(two.take(NOW).is_none());
    drop((last, again, places));
}

/// Regression: the first reader on a machine made a folder that other users could enter, and from
/// then on no two `farroot run` shared a proxy.
#[test]
fn the_folder_can_be_entered_by_its_user_alone() {
    let (_parent, folder) = private();
    let _slots = open(&folder, 4);
    for path in [folder.clone(), folder.join("farroot-connections")] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[test]
fn what_is_not_this_user_s_alone_is_refused_with_the_reason() {
    let refusal = |prepare: &dyn Fn(&Path)| {
        let (_parent, folder) = private();
        runtime::claim(&folder).unwrap();
        prepare(&folder);
        let error = Slots::open(&folder, HOST, 4).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
        error.to_string()
    };
    let own = |parent: &Path| parent.join("farroot-connections");
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let lock = |parent: &Path| {
        drop(open(parent, 4));
        let files = fs::read_dir(own(parent)).unwrap().map(|entry| entry.unwrap().path());
        files.into_iter().find(|path| path.extension().is_none()).unwrap()
    };
    assert!(refusal(&|parent| mode(parent, 0o755)).contains("other users"));
    assert!(refusal(&|parent| mode(parent, 0o1777)).contains("other users"));
    assert!(refusal(&|parent| fs::write(own(parent), "").unwrap()).contains("not farroot's"));
    let foreign = |parent: &Path| {
        fs::create_dir(own(parent)).unwrap();
        fs::write(own(parent).join("thesis.tex"), "").unwrap();
    };
    assert!(refusal(&foreign).contains("not farroot's"));
    let (_parent, elsewhere) = private();
    drop(open(&elsewhere, 4));
    let linked = |parent: &Path| symlink(own(&elsewhere), own(parent)).unwrap();
    assert!(refusal(&linked).contains("not farroot's"));
    let entered = |parent: &Path| {
        drop(open(parent, 4));
        mode(&own(parent), 0o777);
    };
    assert!(refusal(&entered).contains("other users"));
    let linked_file = |parent: &Path| {
        let path = lock(parent);
        fs::remove_file(&path).unwrap();
        fs::write(parent.join("other"), "content").unwrap();
        symlink(parent.join("other"), path).unwrap();
    };
    assert!(refusal(&linked_file).contains("not farroot's"));
    let folder_for_file = |parent: &Path| {
        let path = lock(parent);
        fs::remove_file(&path).unwrap();
        fs::create_dir(path).unwrap();
    };
    assert!(refusal(&folder_for_file).contains("not farroot's"));
}

/// Regression: where 4,096 processes read from a server, the next one exceeded the limit on
/// connections without a warning.
#[test]
fn a_process_beyond_those_that_are_counted_is_refused_with_the_reason() {
    let (_parent, folder) = private();
    let one = open(&folder, 4);
    assert!(locks::lock(&one.file, PROCESSES..PROCESSES + PROCESSES_MAX));
    let error = Slots::open(&folder, HOST, 4).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
    assert!(error.to_string().contains("4096 processes of this user read from host:1094"));
    drop(one);
    assert!(Slots::open(&folder, HOST, 4).is_ok());
}

/// Regression: a full disk was reported as another program's folder.
#[test]
fn errors_of_the_file_system_keep_their_cause() {
    let of = |kind: ErrorKind| of_path(Path::new("/run/x"), kind.into());
    for kind in [ErrorKind::StorageFull, ErrorKind::ReadOnlyFilesystem, ErrorKind::NotFound] {
        let error = of(kind);
        let cause = io::Error::from(kind);
        assert_eq!((error.kind(), error.to_string()), (kind, format!("/run/x: {cause}")));
    }
    for kind in [ErrorKind::AlreadyExists, ErrorKind::NotADirectory, ErrorKind::IsADirectory] {
        let error = of(kind);
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("is not farroot's"), "{error}");
    }
}

#[test]
fn one_server_has_one_file_however_its_name_is_spelt() {
    let (_parent, folder) = private();
    let of = |host: &str| Slots::open(&folder, (host, 443), 1).unwrap();
    for (host, same) in [("Host.org", "host.ORG"), ("[::1]", "::1")] {
        let one = of(host);
        let two = of(same);
        let _slot = one.take(NOW).unwrap();
        assert!(two.take(NOW).is_none(), "{host}");
    }
}

/// Regression: the count missed processes after one had ended and another had taken its number.
#[test]
fn the_share_follows_from_how_many_there_are() {
    let (_parent, folder) = private();
    let one = open(&folder, 16);
    assert_eq!(one.share(), 16);
    let mut others: Vec<Arc<Slots>> = (0..4).map(|_| open(&folder, 16)).collect();
    assert_eq!((one.share(), others[0].share()), (3, 3));
    drop(others.remove(0));
    others.push(open(&folder, 16));
    assert_eq!((one.share(), others[0].share(), others[3].share()), (3, 3, 3));
    assert!(!one.is_crowded());
    let many: Vec<Arc<Slots>> = (0..20).map(|_| open(&folder, 16)).collect();
    assert!(one.share() == 1 && one.is_crowded());
    drop((others, many));
    assert_eq!(one.share(), 16);
}

#[test]
fn the_others_see_who_waits() {
    let (_parent, folder) = private();
    let one = open(&folder, 4);
    let two = open(&folder, 4);
    for waits in [Waits::ForMore, Waits::ForFirst] {
        one.set_waiting(waits);
        assert!(two.is_another_waiting() && !one.is_another_waiting());
        one.set_waiting(Waits::No);
        assert!(!two.is_another_waiting());
    }
    one.set_waiting(Waits::ForMore);
    drop(one);
    assert!(!two.is_another_waiting(), "it has ended");
}

#[test]
fn processes_without_a_slot_have_one_in_the_order_in_which_they_came() {
    let (_parent, folder) = private();
    let [holder, first, second, third, late] = [(); 5].map(|()| open(&folder, 1));
    let slot = holder.take(NOW).unwrap();
    for process in [&first, &second, &third] {
        assert!(process.take(NOW).is_none());
        process.set_waiting(Waits::ForFirst);
    }
    drop(slot);
    for process in [&holder, &late, &third, &second] {
        assert!(process.take(NOW).is_none());
    }
    let slot = first.take(NOW).unwrap();
    first.set_waiting(Waits::No);
    // The next process in the queue is killed.
    drop(second);
    drop(slot);
    assert!(late.take(NOW).is_none());
    let slot = third.take(NOW).unwrap();
    third.set_waiting(Waits::No);
    drop(slot);
    assert!(late.take(NOW).is_some());
}

/// Regression: a process stopped at the head of the queue kept a free slot from those behind it.
#[test]
fn a_process_that_does_not_take_its_slot_is_passed() {
    let (_parent, folder) = private();
    let [holder, stopped, second] = [(); 3].map(|()| open(&folder, 1));
    let slot = holder.take(NOW).unwrap();
    stopped.set_waiting(Waits::ForFirst);
    second.set_waiting(Waits::ForFirst);
    assert!(second.take(NOW + 10 * PASS_AFTER).is_none(), "none is free");
    drop(slot);
    let later = NOW + 20 * PASS_AFTER;
    assert!(second.take(later).is_none());
    assert!(second.take(later + PASS_AFTER / 2).is_none());
    assert!(second.take(later + PASS_AFTER).is_some());
}

#[test]
fn questions_and_uploads_have_half_of_the_slots_and_a_queue_of_their_own() {
    let (_parent, folder) = private();
    let reader = open(&folder, 4);
    let brief = || Slots::open_brief(&folder, HOST, 4).unwrap();
    let [upload, question, waiting] = [(); 3].map(|()| brief());
    let slots = [upload.take(NOW).unwrap(), question.take(NOW).unwrap()];
    assert!(waiting.take(NOW).is_none(), "the other half is for reads");
    waiting.set_waiting(Waits::ForFirst);
    assert!(reader.is_another_waiting());
    let reads = [reader.take(NOW).unwrap(), reader.take(NOW).unwrap()];
    assert!(reader.take(NOW).is_none());
    drop((slots, reads));
}

/// Regression: readers took the slots first of which uploads may have half, and each upload waited
/// 15 s beside free slots. Each upload also counted as a process that reads.
#[test]
fn uploads_find_slots_where_readers_have_half_of_them() {
    let (_parent, folder) = private();
    let reader = open(&folder, 4);
    let reads = [reader.take(NOW).unwrap(), reader.take(NOW).unwrap()];
    let uploads: Vec<_> = (0..2).map(|_| Slots::open_brief(&folder, HOST, 4).unwrap()).collect();
    let slots: Vec<_> = uploads.iter().map(|upload| upload.take(NOW).unwrap()).collect();
    assert_eq!((reader.share(), reader.is_crowded()), (4, false));
    drop((slots, reads));
    for most in [1, 2, 3] {
        assert!(Slots::open_brief(&folder, ("few", 1094), most).unwrap().take(NOW).is_some());
    }
}
