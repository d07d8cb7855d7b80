//! Files of this machine's file systems.

use std::fs::File;
use std::io::Write;

use super::*;
use crate::source::local::info_in;

/// A mount of Lustre, and a disk.
fn lookup(path: &Path) -> Option<u32> {
    Some(if path.starts_with("/lustre") { 0x0BD0_0BD0 } else { 0xEF53 })
}

fn with(local: CacheLocal, folder: &Path) -> Cache {
    let config = CacheConfig { local, ..config(folder, 1 << 30) };
    Cache::with_file_systems(&config, lookup).unwrap()
}

#[test]
fn the_setting_says_which_files_are_cached() {
    let folder = tempfile::tempdir().unwrap();
    let addresses = |texts: &[&str]| texts.iter().map(|text| url(text)).collect::<Vec<_>>();
    for (texts, wanted) in [
        (&["/lustre/f"][..], [false, true, true]),
        (&["file:///lustre/f"], [false, true, true]),
        (&["/disk/f"], [false, false, true]),
        (&["/lustre/f", "/disk/f"], [false, false, true]),
        (&["root://host//f"], [true, true, true]),
        (&["root://host//f", "/disk/f"], [true, true, true]),
        (&["/lustre/f", "root://host//f"], [false, false, false]),
    ] {
        let kept = [CacheLocal::Off, CacheLocal::Network, CacheLocal::All]
            .map(|local| with(local, folder.path()).keeps(&addresses(texts)));
        assert_eq!(kept, wanted, "{texts:?}");
    }
}

#[test]
fn cached_bytes_of_a_file_end_with_its_version() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let write = |bytes: &[u8]| File::create(&path).unwrap().write_all(bytes).unwrap();
    write(b"0123456789");
    let cache = with(CacheLocal::All, &folder.path().join("cache"));
    let at = url(path.to_str().unwrap());
    let store = credentials::CredentialStore::default();
    let origin = FileOrigin::named(from_ref(&at), &store);
    assert!(origin.is_local() && FileOrigin::of(from_ref(&at), &store).is_none());
    let adopt = || {
        let info = info_in(&std::fs::metadata(&path).unwrap()).unwrap();
        cache.adopt(&origin, &at, &info, &[], None).unwrap()
    };
    cache.record(&adopt(), 0, Bytes::from_static(b"0123456789"));
    cache.flush();
    assert_eq!(read(&adopt(), 0..10).unwrap(), &b"0123456789"[..]);
    // Written over, with the time set back.
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    write(b"9876543210");
    File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert_eq!(adopt().content.bytes(), 0);
    assert!(cache.explain(&at).iter().any(|line| line.contains("looked at")));
    let listed = cache.files();
    assert_eq!(listed[0].address, path.to_str().unwrap());
}
