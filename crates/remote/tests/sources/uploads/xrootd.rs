//! To a real XRootD server, where this machine has it.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use farroot_remote::{Config, CopyOptions, CreateOptions, ErrorKind};
use tempfile::TempDir;

use super::cut::Cut;
use super::{OVER, check, content, files, upload};
use crate::over_tcp;
use crate::peers::{Process, xrootd};

/// A server to which may be written.
pub struct Place {
    _directory: TempDir,
    server: Process,
    data: PathBuf,
    pub origin: String,
}

impl Place {
    pub fn start() -> Option<Place> {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let data = root.join("data");
        fs::create_dir(&data).unwrap();
        let (server, ports) = xrootd(root, "max 2 adler32 crc32c md5")?;
        let origin = format!("root://127.0.0.1:{}//", ports[0]);
        Some(Place { _directory: directory, server, data, origin })
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.data.join(name)).unwrap_or_default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_any_size_are_written_to_xrootd() {
    let Some(place) = Place::start() else { return };
    let remote = over_tcp(Config::default());
    for (name, size, piece) in [
        ("tiny", 101, 1),
        ("head", 60, 1),
        ("small", 70_000, 7_000),
        ("new/folder/large", 50_000_000, 700_001),
        ("huge pieces", 70_000_000, 40_000_000),
    ] {
        let content = content(size);
        let address = format!("{}{}", place.origin, name.replace(' ', "_"));
        let written = upload(&remote, &address, &content, piece, CreateOptions::default());
        check(&written.await.unwrap(), &content);
        assert!(place.read(&name.replace(' ', "_")) == content, "{name}");
    }
    assert_eq!(files(&place.data).len(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_there_is_replaced_only_where_that_is_asked_for() {
    let Some(place) = Place::start() else { return };
    let remote = over_tcp(Config::default());
    let address = format!("{}file", place.origin);
    let first = content(300_000);
    let second = content(200_001);
    upload(&remote, &address, &first, 9_000, CreateOptions::default()).await.unwrap();
    let refused = upload(&remote, &address, &second, 9_000, CreateOptions::default()).await;
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("there already"), "{error}");
    assert!(place.read("file") == first);

    let mut given_up = remote.create(&address, OVER).await.unwrap();
    given_up.write(0, second.clone().into(), false).await.unwrap();
    given_up.sync().await.unwrap();
    assert_eq!(files(&place.data).len(), 2, "it is written beside the other");
    given_up.abandon().await;
    assert!(place.read("file") == first);
    check(&upload(&remote, &address, &second, 9_000, OVER).await.unwrap(), &second);
    assert!(place.read("file") == second);
    let in_place = CreateOptions { in_place: true, ..OVER };
    upload(&remote, &address, &first, 9_000, in_place).await.unwrap();
    assert!(place.read("file") == first);
    assert_eq!(files(&place.data).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_dropped_or_given_up_leaves_nothing() {
    let Some(place) = Place::start() else { return };
    let remote = over_tcp(Config::default());
    for size in [10, 3_000_000] {
        // Names of their own: a server has a file locked for a while after it is removed.
        let address = format!("{}dropped-{size}", place.origin);
        let mut upload = remote.create(&address, CreateOptions::default()).await.unwrap();
        upload.write(0, content(size).into(), false).await.unwrap();
        upload.sync().await.unwrap();
        drop(upload);
        for _ in 0..200 {
            if !files(&place.data).is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        assert_eq!(files(&place.data).len(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_appended_to_and_patched() {
    let Some(place) = Place::start() else { return };
    let remote = over_tcp(Config::default());
    let missing = remote.append_to(&format!("{}missing", place.origin)).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
    let address = format!("{}file", place.origin);
    let before = content(5_000);
    upload(&remote, &address, &before, 999, CreateOptions::default()).await.unwrap();
    let mut update = remote.append_to(&address).await.unwrap();
    assert_eq!(update.len(), 5_000);
    update.write(5_000, Bytes::from_static(b"behind"), false).await.unwrap();
    update.abandon().await;
    assert!(place.read("file") == before);
    let mut update = remote.append_to(&address).await.unwrap();
    update.write(5_000, Bytes::from_static(b"behind"), false).await.unwrap();
    update.sync().await.unwrap();
    update.write(10, Bytes::from_static(b"patch"), false).await.unwrap();
    assert_eq!(update.finish().await.unwrap().size, 5_006);
    let mut expected = [&before[..], b"behind"].concat();
    expected[10..15].copy_from_slice(b"patch");
    assert!(place.read("file") == expected);
}

/// Regression: another writer replaced the file while it was updated, and the update ended without
/// an error, in a file without a name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_of_a_file_that_is_replaced_is_an_error() {
    let Some(place) = Place::start() else { return };
    let remote = over_tcp(Config::default());
    let address = format!("{}file", place.origin);
    upload(&remote, &address, &content(5_000), 999, CreateOptions::default()).await.unwrap();
    let mut update = remote.append_to(&address).await.unwrap();
    update.write(5_000, Bytes::from_static(b"behind"), false).await.unwrap();
    let other = content(7_000);
    upload(&over_tcp(Config::default()), &address, &other, 999, OVER).await.unwrap();
    let error = update.finish().await.unwrap_err();
    assert!(error.to_string().contains("another writer has replaced"), "{error}");
    assert!(place.read("file") == other);
}

/// At every moment the connection may be lost: the file is whole under its name in the end, or
/// there is an error and nothing, or the earlier file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_lost_anywhere_costs_nothing() {
    let Some(mut place) = Place::start() else { return };
    let before = content(5_000);
    let content = content(120_000);
    let mut crashes = 0;
    for options in [CreateOptions::default(), OVER] {
        let mut at = 0;
        loop {
            let _ = fs::remove_file(place.data.join("file"));
            if options.overwrite {
                fs::write(place.data.join("file"), &before).unwrap();
            }
            let cut = Cut::behind(at);
            let remote = cut.remote();
            let address = format!("{}file", place.origin);
            let written = upload(&remote, &address, &content, 30_000, options).await;
            let found = files(&place.data);
            match &written {
                Ok(written) => {
                    check(written, &content);
                    assert!(place.read("file") == content, "cut behind {at} bytes");
                }
                // A fault of xrootd 5.5: of some hundred connections that are lost one ends it.
                Err(_) if place.server.has_ended() && crashes < 3 => {
                    eprintln!("xrootd has crashed: cut behind {at} bytes once more");
                    crashes += 1;
                    place = Place::start().expect("a server, as before");
                    continue;
                }
                Err(error) => panic!("cut behind {at} bytes: {error}"),
            }
            assert_eq!(found.len(), 1, "cut behind {at} bytes: {found:?}");
            if cut.left() > 0 {
                break;
            }
            assert!(cut.connections.load(std::sync::atomic::Ordering::Relaxed) > 1);
            // Closely where messages are short, widely within the bytes of the file.
            at += if (600..120_300).contains(&at) { 9_973 } else { 23 };
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_copied_to_a_server_and_from_there_to_another_place() {
    let Some(place) = Place::start() else { return };
    let here = tempfile::tempdir().unwrap();
    let names = ["a.root", "b.root", "empty"];
    let contents = [content(12_000_001), content(70_000), Vec::new()];
    for (name, content) in names.iter().zip(&contents) {
        fs::write(here.path().join(name), content).unwrap();
    }
    let remote = over_tcp(Config::default());
    let options = CopyOptions { verify: true, ..CopyOptions::default() };
    let copy = async |sources: Vec<String>, target: &str, options: CopyOptions| {
        let target = PathBuf::from(target);
        let copied = remote.copy(&sources, &target, options, &|_| {}).await;
        copied.unwrap().into_iter().collect::<Result<Vec<_>, _>>()
    };
    let path = |name: &str| here.path().join(name).to_string_lossy().into_owned();
    let local: Vec<String> = names.iter().map(|name| path(name)).collect();
    let up = copy(local.clone(), &format!("{}up/", place.origin), options.clone()).await.unwrap();
    for (copied, content) in up.iter().zip(&contents) {
        assert_eq!((copied.size, copied.resumed), (content.len() as u64, 0));
        assert!(copied.checksum.is_some());
    }
    let far: Vec<String> = names.iter().map(|n| format!("{}up/{n}", place.origin)).collect();
    assert_eq!(up[0].target.to_str(), Some(&*far[0]));
    copy(far, &format!("{}across/", place.origin), options.clone()).await.unwrap();
    for folder in ["up", "across"] {
        for (name, content) in names.iter().zip(&contents) {
            assert!(place.read(&format!("{folder}/{name}")) == *content, "{folder}/{name}");
        }
    }
    let target = format!("{}up/b.root", place.origin);
    let error = copy(vec![local[0].clone()], &target, options.clone()).await.unwrap_err();
    assert!(error.to_string().contains("there already"), "{error}");
    let over = CopyOptions { overwrite: true, ..options };
    copy(vec![local[0].clone()], &target, over).await.unwrap();
    assert!(place.read("up/b.root") == contents[0]);
    assert_eq!(files(&place.data).len(), 6);
}
