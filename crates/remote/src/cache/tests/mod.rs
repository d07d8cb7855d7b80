use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::*;

mod disks;
mod forms;
mod local;
mod quotas;

fn config(folder: &Path, bytes_max: u64) -> CacheConfig {
    CacheConfig {
        bytes_max,
        folder: Some(folder.to_owned()),
        free_bytes_min: 0,
        ..CacheConfig::default()
    }
}

fn cache(folder: &Path) -> Cache {
    Cache::of(&config(folder, 1 << 30)).unwrap().unwrap()
}

fn url(text: &str) -> Address {
    Address::parse(text).unwrap()
}

fn info(version: &str) -> FileInfo {
    FileInfo::new(10_000_000, Some(17), Some(version.into())).unwrap()
}

/// A file's bytes at an offset.
fn content(offset: u64, length: usize) -> Bytes {
    (offset..offset + length as u64).map(|at| (at * 7 % 251) as u8).collect()
}

fn origin(text: &str) -> FileOrigin {
    FileOrigin::of(&[url(text)], &credentials::CredentialStore::default()).unwrap()
}

fn adopt(cache: &Cache, place: &str, version: &str) -> CacheEntry {
    cache.adopt(&origin(place), &url(place), &info(version), &[], None).unwrap()
}

fn read(entry: &CacheEntry, range: std::ops::Range<u64>) -> Option<Bytes> {
    let buffers = Arc::new(Buffers::default());
    let mut found = vec![0; (range.end - range.start) as usize];
    let mut take = |at: u64, piece: Bytes| {
        found[(at - range.start) as usize..][..piece.len()].copy_from_slice(&piece);
    };
    let is_held = entry.content.holds(&range);
    let read = is_held.then(|| entry.content.read(from_ref(&range), &buffers, &mut take));
    read?.ok()?;
    Some(found.into())
}

const PLACE: &str = "root://host//data/f.root";

#[test]
fn what_was_recorded_is_there_in_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let one = cache(folder.path());
    let entry = adopt(&one, PLACE, "a");
    for at in [0, 5000, 2000] {
        one.record(&entry, at, content(at, 1000));
    }
    one.record(&entry, 4_000_000, content(4_000_000, 3_000_000));
    one.flush();
    assert_eq!(one.counters().stored_bytes, 3_003_000);
    let two = cache(folder.path());
    let entry = two.find(&origin(PLACE)).expect("an entry");
    assert_eq!(entry.info, info("a"));
    assert_eq!(entry.content.ranges(), [0..1000, 2000..3000, 5000..6000, 4_000_000..7_000_000]);
    assert_eq!(read(&entry, 2100..2900), Some(content(2100, 800)));
    assert_eq!(read(&entry, 4_500_000..6_900_000), Some(content(4_500_000, 2_400_000)));
    assert_eq!(read(&entry, 900..2100), None);
    assert_eq!(two.head(&entry, 1000), Some(content(0, 1000)));
    assert_eq!(two.head(&entry, 1001), None);
}

#[test]
fn a_changed_file_has_nothing_of_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let old = adopt(&cache, PLACE, "a");
    cache.record(&old, 0, content(0, 1000));
    cache.flush();
    let new = adopt(&cache, PLACE, "b");
    assert!(!new.content.holds(&(0..1)));
    assert_eq!(cache.counters().changed, 1);
    // One that still reads the old version has its open segments, and adds nothing.
    assert_eq!(read(&old, 0..1000), Some(content(0, 1000)));
    cache.record(&old, 1000, content(5, 1000));
    cache.record(&new, 1000, content(1000, 1000));
    cache.flush();
    assert!(!old.content.holds(&(1000..2000)));
    assert_eq!(cache.find(&origin(PLACE)).unwrap().content.ranges(), [1000..2000]);
}

const IDENTIFY: Identify = |head| head.first().map(|byte| u128::from(*byte));

/// A file's identifier, size and first bytes were enough to share a content, and all of them come
/// from the server that sends it: bytes of a hostile one answered for the file of an honest one.
#[test]
fn what_a_file_says_of_itself_makes_it_no_other_origins() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let places = [
        "root://one//g.root",
        "root://one:1095//g.root",
        "roots://one//g.root",
        "http://one/g.root",
        "https://two/g.root",
        "https://two/h.root",
        "https://two:8443/g.root",
    ];
    let of = |place: &str| {
        let head = [7; 1100];
        cache.adopt(&origin(place), &url(place), &info("a"), &head, Some(IDENTIFY)).unwrap()
    };
    let entries: Vec<CacheEntry> = places.iter().map(|place| of(place)).collect();
    for (at, entry) in entries.iter().enumerate() {
        cache.record(entry, 0, content(at as u64, 100));
    }
    cache.flush();
    for (at, place) in places.iter().enumerate() {
        assert_eq!(read(&of(place), 0..100), Some(content(at as u64, 100)), "{place}");
    }
}

/// The caller's own word, or that of the redirector that the caller has named, makes them one.
#[test]
fn places_of_one_origin_share_what_comes_alike_from_all() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let manager = origin("root://manager//f.root");
    let at = |place: &str, version: &str, head: &[u8]| {
        cache.adopt(&manager, &url(place), &info(version), head, Some(IDENTIFY)).unwrap()
    };
    let head = [7; 1100];
    let here = at("root://one//f.root", "a", &head);
    let there = at("root://two//f.root", "b", &head);
    assert_eq!(here.content.id(), there.content.id());
    cache.flush();
    assert_eq!(cache.find(&manager).unwrap().content.id(), here.content.id());
    // With another version at one of them, that one is a file of its own.
    assert_ne!(at("root://one//f.root", "c", &head).content.id(), there.content.id());
    // For who has named one of them alone, it is another.
    for place in ["root://one//f.root", "root://two//f.root"] {
        let alone = cache.adopt(&origin(place), &url(place), &info("b"), &head, Some(IDENTIFY));
        assert_ne!(alone.unwrap().content.id(), there.content.id());
    }
    // Behind the name of a file is the time of its last change.
    let mut later = head;
    later[700] = 8;
    assert_ne!(at("root://three//f.root", "a", &later).content.id(), there.content.id());
}

#[test]
fn what_came_without_tls_never_answers_for_what_is_reached_within_it() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let door = origin("https://door/f.root");
    let pool = url("http://pool/f.root");
    let head = [7; 1100];
    let plain = cache.adopt(&door.exposed(true), &pool, &info("a"), &head, Some(IDENTIFY));
    cache.record(&plain.unwrap(), 0, content(1, 100));
    cache.flush();
    assert!(cache.find(&door).is_none());
    let within = url("https://pool/f.root");
    let within = cache.adopt(&door, &within, &info("a"), &head, Some(IDENTIFY)).unwrap();
    assert!(!within.content.holds(&(0..1)));
    // It does for another read that comes without TLS, too.
    let again = cache.adopt(&door.exposed(true), &pool, &info("a"), &head, Some(IDENTIFY));
    assert_eq!(read(&again.unwrap(), 0..100), Some(content(1, 100)));
}

#[test]
fn another_query_of_one_path_is_not_believed_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let check = CacheCheck::Immutable;
    let cache = Cache::of(&CacheConfig { check, ..config(folder.path(), 1 << 30) });
    let cache = cache.unwrap().unwrap();
    adopt(&cache, "https://host/get?id=1&authz=old", "a");
    cache.flush();
    let believes = |text: &str| cache.believes(&cache.find(&origin(text)).unwrap());
    assert!(believes("https://host/get?authz=new&id=1"));
    assert!(!believes("https://host/get?id=2") && !believes("https://host/get"));
}

/// A server whose times have seconds described both alike.
#[test]
fn another_file_by_its_first_bytes_alone_is_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let place = url(PLACE);
    let of = |head: &[u8]| cache.adopt(&origin(PLACE), &place, &info("a"), head, None).unwrap();
    let old = of(&content(0, 500));
    cache.record(&old, 0, content(0, 500));
    cache.record(&old, 5000, content(5000, 500));
    cache.flush();
    assert_eq!(of(&content(0, 400)).content.id(), old.content.id());
    assert_eq!(of(&[]).content.id(), old.content.id());
    let new = of(&content(1, 400));
    assert_ne!(new.content.id(), old.content.id());
    assert!(!new.content.holds(&(5000..5001)));
    assert_eq!(cache.counters().changed, 1);
}

#[test]
fn a_file_whose_server_says_only_its_size_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let plain = FileInfo::new(1000, None, None).unwrap();
    let place = url(PLACE);
    assert!(cache.adopt(&origin(PLACE), &place, &plain, &[], None).is_none());
    let local = Address::local(&folder.path().join("f.root")).unwrap();
    assert!(cache.adopt(&origin(PLACE), &local, &info("a"), &[], None).is_none());
}

/// All bytes that were flipped on the disk are found, and can be cached anew.
#[test]
fn a_flipped_byte_is_never_handed_on() {
    let folder = tempfile::tempdir().unwrap();
    let one = cache(folder.path());
    let entry = adopt(&one, PLACE, "a");
    (0..20).for_each(|at| one.record(&entry, at * 100, content(at * 100, 100)));
    one.flush();
    let segments = one.segments();
    let file = fs::File::options().read(true).write(true).open(&segments[0].path).unwrap();
    let length = file.metadata().unwrap().len();
    let flip = |at: u64| {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 0x08], at).unwrap();
    };
    // Once in each record, each time elsewhere in it.
    for number in 0..20 {
        let at = format::HEADER_BYTES + number * 120 + number * 6;
        flip(at);
        let wrong: Vec<u64> =
            (0..20).filter(|at| read(&entry, at * 100..at * 100 + 100).is_none()).collect();
        assert_eq!(wrong.len(), 1, "flipped at {at}");
        for at in (0..20).filter(|at| !wrong.contains(at)) {
            assert_eq!(read(&entry, at * 100..at * 100 + 100), Some(content(at * 100, 100)));
        }
        let at = wrong[0] * 100;
        one.record(&entry, at, content(at, 100));
        one.flush();
        assert_eq!(read(&entry, at..at + 100), Some(content(at, 100)));
    }
    assert_eq!(file.metadata().unwrap().len(), 2 * length - format::HEADER_BYTES);
    assert_eq!(fs::metadata(&segments[0].path).unwrap().len(), 2 * length - format::HEADER_BYTES);
}

#[test]
fn what_is_full_makes_room_and_keeps_what_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::of(&config(folder.path(), 1_000_000)).unwrap().unwrap();
    let place = |number: u32| format!("root://host//data/{number}.root");
    let fill = |number: u32| {
        let entry = adopt(&cache, &place(number), "a");
        cache.note_use(&entry);
        (0..10).for_each(|at| cache.record(&entry, at * 50_000, content(at * 50_000, 30_000)));
        cache.flush();
        entry
    };
    let kept = fill(0);
    for number in 1..10 {
        drop(fill(number));
    }
    let taken: u64 = cache.segments().iter().map(|found| found.held.bytes).sum();
    assert!(taken <= 1_100_000, "{taken}");
    assert!(cache.counters().refused_bytes > 0, "what was used today does not go for what is new");
    // A file that is missed again and again comes in.
    (0..10).for_each(|_| drop(fill(9)));
    assert!(cache.counters().evicted > 0);
    assert!(cache.find(&origin(&place(9))).unwrap().content.bytes() > 0);
    assert_eq!(read(&kept, 0..30_000), Some(content(0, 30_000)));
    assert!(cache.segments().iter().any(|found| found.held.stays));
    let taken: u64 = cache.segments().iter().map(|found| found.held.bytes).sum();
    assert!(taken <= 1_100_000, "{taken}");
}

#[test]
fn processes_that_share_a_folder_add_to_one_entry() {
    let folder = tempfile::tempdir().unwrap();
    let caches: Vec<Cache> = (0..16).map(|_| cache(folder.path())).collect();
    let entries: Vec<CacheEntry> = caches.iter().map(|cache| adopt(cache, PLACE, "a")).collect();
    std::thread::scope(|scope| {
        for (number, (cache, entry)) in caches.iter().zip(&entries).enumerate() {
            scope.spawn(move || {
                for at in (0..50).map(|at| (at * 16 + number as u64) * 1000) {
                    cache.record(entry, at, content(at, 1000));
                }
                cache.flush();
            });
        }
    });
    for entry in &entries {
        entry.content.refresh();
        assert_eq!(entry.content.bytes(), 800_000);
        assert_eq!(read(entry, 0..800_000), Some(content(0, 800_000)));
    }
    let segments = caches[0].segments();
    let held: u64 = segments.iter().map(|found| fs::metadata(&found.path).unwrap().len()).sum();
    assert!(held < 850_000, "each byte is there once: {held}");
}

#[test]
fn a_folder_that_cannot_be_used_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("farroot-cache")).unwrap();
    fs::write(folder.path().join("farroot-cache/thesis.tex"), "three years").unwrap();
    let error = Cache::of(&config(folder.path(), 1000)).unwrap_err().to_string();
    assert!(error.contains("nothing is cached in") && error.contains("FARROOT_CACHE_FOLDER"));
    let off = CacheConfig { mode: CacheMode::Off, ..config(folder.path(), 1000) };
    assert!(Cache::of(&off).unwrap().is_none());
}

/// The folder in which a process of the test fills a cache.
const FOLDER: &str = "CACHE_OF_THE_TEST";

/// This program again, which does nothing but one of the tests below, and the folder for it.
fn process(test: &str, folder: &Path) -> std::process::Command {
    let mut command = std::process::Command::new("sh");
    // A file that would be longer than so many kilobytes is an error there, as a full disk is.
    let limited = "trap '' XFSZ; ulimit -f ${LIMIT:-unlimited}; exec \"$0\" \"$@\"";
    command.arg("-c").arg(limited).arg(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]).env(FOLDER, folder);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    command
}

#[test]
#[ignore = "what another test runs in a process of its own, until that is killed"]
fn fills_without_end() {
    let folder = std::env::var_os(FOLDER).expect("a folder");
    let cache = cache(Path::new(&folder));
    let entry = adopt(&cache, PLACE, "a");
    for at in (0..).map(|number| number * 777 % 9_000_000) {
        cache.record(&entry, at, content(at, 700));
        if at % 32 == 0 {
            cache.flush();
        }
    }
}

#[test]
fn what_a_killed_process_has_left_is_right_and_takes_more() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let held = || cache(folder.path()).find(&origin(PLACE)).map_or(0, |e| e.content.bytes());
        let before = held();
        let mut child = process("cache::tests::fills_without_end", folder.path()).spawn().unwrap();
        while held() < before + 20_000 + 1000 * round && before < 6_000_000 {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let cache = cache(folder.path());
        let entry = cache.find(&origin(PLACE)).expect("an entry");
        for range in entry.content.ranges() {
            let length = (range.end - range.start) as usize;
            assert_eq!(read(&entry, range.clone()), Some(content(range.start, length)));
        }
        let missing = 9_100_000 + round * 100;
        cache.record(&entry, missing, content(missing, 100));
        cache.flush();
        assert_eq!(read(&entry, missing..missing + 100), Some(content(missing, 100)));
    }
}

#[test]
#[ignore = "what another test runs in a process whose files may not become long"]
fn fills_a_full_disk() {
    let folder = std::env::var_os(FOLDER).expect("a folder");
    let cache = cache(Path::new(&folder));
    let entry = adopt(&cache, PLACE, "a");
    for at in (0..100).map(|number| number * 10_000) {
        cache.record(&entry, at, content(at, 10_000));
        cache.flush();
    }
    assert!(cache.counters().refused_bytes > 0, "{:?}", cache.counters());
    let held = entry.content.ranges();
    assert_eq!(held.len(), 1);
    assert_eq!(read(&entry, held[0].clone()), Some(content(0, held[0].end as usize)));
}

#[test]
fn a_full_disk_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = process("cache::tests::fills_a_full_disk", folder.path());
    assert!(process.env("LIMIT", "200").status().unwrap().success());
    let entry = cache(folder.path()).find(&origin(PLACE)).expect("an entry");
    let held = entry.content.ranges();
    assert!(held.len() == 1 && held[0].end >= 50_000, "{held:?}");
    assert_eq!(read(&entry, held[0].clone()), Some(content(0, held[0].end as usize)));
}
