//! Parts of files with another codec.

use std::ops::Range;

use super::*;
use crate::cache::recompressed::decode_part;

/// So many parts of a file, each of 1,000 bytes, which are packed to 1,600.
const PARTS: u64 = 50;

fn with_form(folder: &Path, form: CacheForm) -> Cache {
    Cache::of(&CacheConfig { form, ..config(folder, 1 << 30) }).unwrap().unwrap()
}

fn parts() -> impl Iterator<Item = Range<u64>> {
    (0..PARTS).map(|at| at * 1000..at * 1000 + 1000)
}

fn packed(range: &Range<u64>) -> Bytes {
    content(range.start + 3, 1600)
}

/// A part that arrives from a server, and that a decoder then decompresses.
fn decode(cache: &Cache, entry: &CacheEntry, range: &Range<u64>) {
    let original = content(range.start, (range.end - range.start) as usize);
    cache.record(entry, range.start, original.clone());
    let packed = packed(range).to_vec();
    cache.pack(entry, UnpackedPart::new(range.start, &original, 3000, || Some(packed)));
}

fn read_part(entry: &CacheEntry, range: &Range<u64>) -> Option<Bytes> {
    let part = entry.part(range)?;
    let mut found = vec![0; (part.end - part.start) as usize];
    let mut take = |at: u64, piece: Bytes| {
        found[(at - part.start) as usize..][..piece.len()].copy_from_slice(&piece);
    };
    let buffers = Arc::new(Buffers::default());
    entry.recompressed.read(from_ref(&part), &buffers, &mut take).ok()?;
    decode_part(range, &found.into())
}

fn disk_bytes(cache: &Cache) -> u64 {
    cache.totals().disk_bytes
}

#[test]
fn a_part_takes_the_place_of_its_original_in_another_process_too() {
    let folder = tempfile::tempdir().unwrap();
    let one = cache(folder.path());
    let entry = adopt(&one, PLACE, "a");
    one.record(&entry, 500_000, content(500_000, 300));
    parts().for_each(|range| decode(&one, &entry, &range));
    one.flush();
    let counters = one.counters();
    assert_eq!((counters.recompressed, counters.recompressed_bytes), (PARTS, PARTS * 1000));
    for cache in [&one, &cache(folder.path())] {
        let entry = cache.find(&origin(PLACE)).expect("an entry");
        for range in parts() {
            assert_eq!(read_part(&entry, &range), Some(packed(&range)));
            assert_eq!(read(&entry, range), None, "its original went");
        }
        assert_eq!(read(&entry, 500_000..500_300), Some(content(500_000, 300)));
        // Other bytes than those of a part are none.
        assert_eq!(read_part(&entry, &(0..999)), None);
        assert_eq!(read_part(&entry, &(1..1000)), None);
        assert_eq!(read_part(&entry, &(0..2000)), None);
        let file = cache.file(&url(PLACE)).unwrap();
        assert_eq!((file.held_bytes, file.disk_bytes), (300, disk_bytes(cache)));
        assert_eq!(file.recompressed_disk_bytes, cache.totals().recompressed_disk_bytes);
        assert!(file.recompressed_disk_bytes > PARTS * 1628);
        assert!(disk_bytes(cache) < PARTS * 1800, "{}: not kept twice", disk_bytes(cache));
    }
    assert_eq!(one.verify().damaged_segments, 0);
}

#[test]
fn both_are_kept_where_both_are_wanted_and_none_where_none_is() {
    for (form, parts_held, mode) in [
        (CacheForm::Both, PARTS, CacheMode::Touched),
        (CacheForm::Recompressed, PARTS, CacheMode::Whole),
        (CacheForm::Original, 0, CacheMode::Touched),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let config = CacheConfig { form, mode, ..config(folder.path(), 1 << 30) };
        let cache = Cache::of(&config).unwrap().unwrap();
        let entry = adopt(&cache, PLACE, "a");
        for range in parts() {
            cache.record(&entry, range.start, content(range.start, 1000));
            // A decoder asks before it copies what it has decompressed.
            if cache.packing_room() > 0 {
                decode(&cache, &entry, &range);
            }
        }
        cache.flush();
        let held = parts().filter(|range| read_part(&entry, range).is_some()).count() as u64;
        assert_eq!(held, parts_held, "{form:?}");
        assert_eq!(read(&entry, 0..PARTS * 1000), Some(content(0, PARTS as usize * 1000)));
        // Who reads parts gives up the originals only where one of them is enough.
        cache.read_recompressed(&entry, &(0..1000));
        cache.flush();
        assert!(read(&entry, 0..1000).is_some());
    }
}

/// A process that was killed between the two writes has left both.
#[test]
fn an_original_that_is_left_beside_its_part_goes_when_the_part_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let both = with_form(folder.path(), CacheForm::Both);
    let entry = adopt(&both, PLACE, "a");
    parts().for_each(|range| decode(&both, &entry, &range));
    both.flush();
    drop((entry, both));
    let one = cache(folder.path());
    let entry = one.find(&origin(PLACE)).unwrap();
    let before = disk_bytes(&one);
    parts().for_each(|range| one.read_recompressed(&entry, &range));
    one.flush();
    assert!(disk_bytes(&one) + PARTS * 1000 < before);
    assert!(parts().all(|range| read(&entry, range.clone()).is_none()));
    assert!(parts().all(|range| read_part(&entry, &range) == Some(packed(&range))));
}

#[test]
fn a_changed_file_has_no_part_of_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let old = adopt(&cache, PLACE, "a");
    parts().for_each(|range| decode(&cache, &old, &range));
    cache.flush();
    let new = adopt(&cache, PLACE, "b");
    assert!(parts().all(|range| new.part(&range).is_none()));
    // What a decoder of the old version decompresses afterwards is not kept, for neither.
    decode(&cache, &old, &(70_000..71_000));
    decode(&cache, &new, &(0..1000));
    cache.flush();
    assert!(old.part(&(70_000..71_000)).is_none() && new.part(&(70_000..71_000)).is_none());
    assert_eq!(read_part(&new, &(0..1000)), Some(packed(&(0..1000))));
    cache.forget(&origin(PLACE));
    assert_eq!(disk_bytes(&cache), 0);
}

/// Every bit of a segment with a part, and every length that a killed process may leave.
#[test]
fn what_is_damaged_is_never_handed_on() {
    let folder = tempfile::tempdir().unwrap();
    let range = 3000..3100;
    let small = |cache: &Cache, entry: &CacheEntry| {
        let original = content(range.start, 100);
        let work = || Some(b"packed".to_vec());
        cache.pack(entry, UnpackedPart::new(range.start, &original, 100, work));
        cache.flush();
    };
    let one = cache(folder.path());
    let entry = adopt(&one, PLACE, "a");
    small(&one, &entry);
    let right = Some(Bytes::from_static(b"packed"));
    assert_eq!(read_part(&entry, &range), right);
    drop(one);
    let segments = room::segments(&place::claim(folder.path()).unwrap(), &Quotas::default());
    let [segment] = &segments[..] else { panic!("{segments:?}") };
    let whole = fs::read(&segment.path).unwrap();
    let index = fs::read(segment::index_path(&segment.path)).unwrap();
    let after = |bytes: &[u8], with_index: bool| {
        fs::write(&segment.path, bytes).unwrap();
        let path = segment::index_path(&segment.path);
        let _ = if with_index { fs::write(path, &index) } else { fs::remove_file(path) };
        let cache = cache(folder.path());
        read_part(&cache.find(&origin(PLACE)).unwrap(), &range)
    };
    for with_index in [true, false] {
        assert_eq!(after(&whole, with_index), right);
        for at in 0..whole.len() {
            assert_eq!(after(&whole[..at], with_index), None, "cut at {at}");
            let is_use = (format::USE_AT..format::HEADER_BYTES).contains(&(at as u64));
            for bit in 0..if is_use { 0 } else { 8 } {
                let mut changed = whole.clone();
                changed[at] ^= 1 << bit;
                assert_eq!(after(&changed, with_index), None, "bit {bit} of {at}");
            }
        }
    }
    // It can be cached anew.
    fs::write(&segment.path, &whole[..whole.len() - 1]).unwrap();
    let one = cache(folder.path());
    let entry = one.find(&origin(PLACE)).unwrap();
    small(&one, &entry);
    assert_eq!(read_part(&entry, &range), right);
}

#[test]
fn a_part_that_cannot_be_packed_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let entry = adopt(&cache, PLACE, "a");
    for (at, packed) in [None, Some(vec![0; 4000])].into_iter().enumerate() {
        let at = at as u64 * 1000;
        cache.record(&entry, at, content(at, 1000));
        let part = UnpackedPart::new(at, &content(at, 1000), 1000, || packed);
        cache.pack(&entry, part);
    }
    let panics = || -> Option<Vec<u8>> { panic!("meant: a test of panics") };
    cache.record(&entry, 2000, content(2000, 1000));
    cache.pack(&entry, UnpackedPart::new(2000, &content(2000, 1000), 1000, panics));
    // More than may wait.
    let large = UnpackedPart::new(3000, &content(3000, 1000), 65 << 20, || Some(vec![1]));
    cache.record(&entry, 3000, content(3000, 1000));
    cache.pack(&entry, large);
    cache.flush();
    assert_eq!(cache.counters().not_recompressed_bytes, 4000);
    assert_eq!(read(&entry, 0..4000), Some(content(0, 4000)));
    assert_eq!(cache.counters().recompressed, 0);
}

#[test]
fn a_full_cache_counts_parts_and_keeps_originals_where_they_find_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::of(&config(folder.path(), 200_000)).unwrap().unwrap();
    let entry = adopt(&cache, PLACE, "a");
    cache.note_use(&entry);
    for at in (0..400).map(|at| at * 1000) {
        decode(&cache, &entry, &(at..at + 1000));
        cache.flush();
    }
    assert!(disk_bytes(&cache) <= 220_000, "{}", disk_bytes(&cache));
    let counters = cache.counters();
    assert!(counters.not_recompressed_bytes > 0 && counters.recompressed > 50, "{counters:?}");
    for at in (0..400).map(|at| at * 1000) {
        let part = read_part(&entry, &(at..at + 1000));
        assert!(part.is_none_or(|part| part == packed(&(at..at + 1000))));
    }
    // Neither is open any more.
    drop(entry);
    assert!(cache.evict_to(0) > 0);
    assert_eq!(disk_bytes(&cache), 0);
}

#[test]
fn pins_and_evictions_of_a_file_are_of_its_parts_too() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let entry = adopt(&cache, PLACE, "a");
    parts().for_each(|range| decode(&cache, &entry, &range));
    cache.flush();
    drop(entry);
    cache.pin(&url(PLACE), true).unwrap();
    assert_eq!(cache.evict_to(0), 0);
    cache.pin(&url(PLACE), false).unwrap();
    let taken = disk_bytes(&cache);
    assert_eq!(cache.evict(&url(PLACE)).unwrap(), taken);
    assert_eq!(disk_bytes(&cache), 0);
}

/// Regression: the replica of a pinned file that was made behind the pin was evicted.
#[test]
fn pins_of_a_file_are_of_its_replica_too() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let replica = |version: &str| {
        let draft = cache.draft_replica(&origin(PLACE), &info(version), 1000).unwrap();
        fs::write(&draft.path, vec![7; 1000]).unwrap();
        drop(cache.keep_replica(draft).unwrap());
    };
    let has_replica = |version: &str| cache.replica(&origin(PLACE), &info(version)).is_some();
    drop(adopt(&cache, PLACE, "a"));
    cache.flush();
    replica("a");
    assert!(cache.evict_to(0) >= 1000 && !has_replica("a"), "it is not pinned");
    cache.pin(&url(PLACE), true).unwrap();
    replica("a");
    assert_eq!((cache.evict_to(0), cache.evict_unused(0)), (0, 0));
    assert!(has_replica("a"));
    cache.pin(&url(PLACE), false).unwrap();
    assert!(cache.evict_to(0) >= 1000 && !has_replica("a"));
}

/// Several processes decode one file, and replace segments that the others have open.
#[test]
fn processes_that_share_a_folder_agree() {
    let folder = tempfile::tempdir().unwrap();
    let caches: Vec<Cache> = (0..8).map(|_| cache(folder.path())).collect();
    let entries: Vec<CacheEntry> = caches.iter().map(|cache| adopt(cache, PLACE, "a")).collect();
    std::thread::scope(|scope| {
        for (number, (cache, entry)) in caches.iter().zip(&entries).enumerate() {
            scope.spawn(move || {
                for at in 0..PARTS {
                    let at = (at + number as u64 * 7) % PARTS * 1000;
                    decode(cache, entry, &(at..at + 1000));
                    if at.is_multiple_of(10_000) {
                        cache.flush();
                    }
                }
                cache.flush();
            });
        }
    });
    for (number, (cache, entry)) in caches.iter().zip(&entries).enumerate() {
        entry.content.refresh();
        entry.recompressed.refresh();
        assert!(parts().all(|range| read_part(entry, &range) == Some(packed(&range))));
        // The next one is cached, too: no process takes the file for evicted.
        let at = 90_000 + 1000 * number as u64;
        cache.record(entry, at, content(at, 100));
        cache.flush();
        assert_eq!(read(entry, at..at + 100), Some(content(at, 100)));
    }
}
