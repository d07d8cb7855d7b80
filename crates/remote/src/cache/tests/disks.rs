//! A cache on several disks, of which one fails.

use super::*;

const MIB: u64 = 1 << 20;

fn on_disks(folders: &[&Path]) -> Cache {
    let more_folders = folders[1..].iter().map(|folder| folder.to_path_buf()).collect();
    let config = CacheConfig { more_folders, ..config(folders[0], 1 << 30) };
    Cache::of(&config).unwrap().unwrap()
}

/// Caches so many mebibytes of a file, from its beginning on.
fn fill(cache: &Cache, entry: &CacheEntry, mebibytes: std::ops::Range<u64>) {
    for at in mebibytes {
        cache.record(entry, at * MIB, content(at * MIB, MIB as usize));
        if at % 16 == 15 {
            cache.flush();
        }
    }
    cache.flush();
}

/// Bytes of the segments in a folder.
fn taken(folder: &Path) -> u64 {
    let data = folder.join("farroot-cache/v2");
    room::segments(&data, &Quotas::default()).iter().map(|found| found.held.bytes).sum()
}

fn large(cache: &Cache, place: &str) -> CacheEntry {
    let info = FileInfo::new(1 << 30, Some(17), Some("1".into())).unwrap();
    cache.adopt(&origin(place), &url(place), &info, &[], None).unwrap()
}

#[test]
fn segments_are_spread_and_a_disk_that_fails_leaves_misses() {
    let top = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| top.path().join(name));
    let cache = on_disks(&[&one, &two]);
    let entry = large(&cache, PLACE);
    fill(&cache, &entry, 0..144);
    assert!(taken(&one) > 60 * MIB && taken(&two) > 60 * MIB, "{} {}", taken(&one), taken(&two));
    assert_eq!(entry.content.ranges(), [0..144 * MIB]);
    assert_eq!(read(&entry, 0..144 * MIB).unwrap(), content(0, 144 << 20));
    let totals = cache.totals();
    assert_eq!((totals.disks, totals.disks_left_out, totals.bytes_max), (2, 0, 2 << 30));
    drop((entry, cache));
    // Another process finds all of it.
    let cache = on_disks(&[&one, &two]);
    let entry = large(&cache, PLACE);
    assert_eq!(entry.content.bytes(), 144 * MIB);
    // The first disk is taken away, with the names on it.
    std::fs::rename(&one, top.path().join("gone")).unwrap();
    fill(&cache, &large(&cache, "root://host//other"), 0..80);
    let totals = cache.totals();
    assert_eq!((totals.disks, totals.disks_left_out, totals.bytes_max), (2, 1, 1 << 30));
    assert!(!one.exists(), "nothing is written to the place of a disk");
    let left = entry.content.bytes();
    assert!(left > 60 * MIB && left < 144 * MIB, "{left}");
    for range in entry.content.ranges() {
        let length = (range.end - range.start) as usize;
        assert_eq!(read(&entry, range.clone()).unwrap(), content(range.start, length));
    }
    // Its bytes are cached again, on the other one.
    fill(&cache, &entry, 0..144);
    assert_eq!(read(&entry, 0..144 * MIB).unwrap(), content(0, 144 << 20));
    assert!(cache.find(&origin(PLACE)).is_some(), "names are on each disk");
    // It comes back in the next process, with records that are still right.
    drop((entry, cache));
    std::fs::rename(top.path().join("gone"), &one).unwrap();
    let cache = on_disks(&[&one, &two]);
    let entry = large(&cache, PLACE);
    assert_eq!(read(&entry, 0..144 * MIB).unwrap(), content(0, 144 << 20));
}

#[test]
fn a_version_that_was_left_on_an_absent_disk_is_not_taken_for_the_new_one() {
    let top = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| top.path().join(name));
    let first = on_disks(&[&one, &two]);
    let entry = adopt(&first, PLACE, "1");
    first.record(&entry, 0, content(0, 1000));
    first.flush();
    drop((entry, first));
    std::fs::rename(&one, top.path().join("gone")).unwrap();
    std::fs::write(&one, "").unwrap();
    let second = on_disks(&[&one, &two]);
    assert_eq!(second.totals().disks_left_out, 1);
    let entry = adopt(&second, PLACE, "2");
    assert_eq!(entry.content.bytes(), 0);
    second.record(&entry, 0, content(7, 1000));
    second.flush();
    drop((entry, second));
    std::fs::remove_file(&one).unwrap();
    std::fs::rename(top.path().join("gone"), &one).unwrap();
    let third = on_disks(&[&one, &two]);
    let entry = adopt(&third, PLACE, "2");
    assert_eq!(read(&entry, 0..1000).unwrap(), content(7, 1000));
}

#[test]
fn pins_and_eviction_hold_on_every_disk() {
    let top = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| top.path().join(name));
    let cache = on_disks(&[&one, &two]);
    fill(&cache, &large(&cache, PLACE), 0..80);
    cache.pin(&url(PLACE), true).unwrap();
    assert!(cache.file(&url(PLACE)).unwrap().is_pinned);
    assert_eq!(cache.evict_to(0), 0);
    cache.pin(&url(PLACE), false).unwrap();
    assert!(cache.evict_to(0) >= 80 * MIB);
    assert_eq!(taken(&one) + taken(&two), 0);
}
