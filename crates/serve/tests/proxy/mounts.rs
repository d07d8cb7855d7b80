//! Directories of this machine as origins: read through the cache, and nothing outside of them.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use farroot_serve::{AccessRule, Config, Content, Forwarding, Protection, Server};
use remote::cache::{CacheConfig, CacheLocal};
use remote::{Algorithm, ErrorKind, Hasher};

use super::bed::{content, forwarding, http};
use super::{read, refusal, remote};

/// A mount with a file, and a proxy with a cache before it.
struct Mounted {
    top: tempfile::TempDir,
    proxy: Server,
}

impl Mounted {
    fn new(protection: Protection) -> Self {
        let top = tempfile::tempdir().unwrap();
        let mount = top.path().join("mount");
        fs::create_dir_all(mount.join("d")).unwrap();
        fs::write(mount.join("d/f g.root"), content()).unwrap();
        fs::write(top.path().join("secret"), "secret").unwrap();
        let proxy = start(top.path(), "file://", protection);
        Mounted { top, proxy: proxy.unwrap() }
    }

    fn mount(&self) -> String {
        self.top.path().join("mount").to_str().unwrap().to_owned()
    }

    fn root(&self, path: &str) -> String {
        format!("{}file://{}{path}", self.proxy.root_url(), self.mount())
    }

    /// Status and body of a request for a path of the mount.
    fn get(&self, path: &str) -> (u16, Vec<u8>) {
        let path = format!("/file://{}{path}", self.mount());
        let (status, _, body) = http(&self.proxy, "GET", &path, "");
        (status, body)
    }

    /// Bytes that the cache has brought, and that the mount has.
    fn hit_and_missed(&self) -> (u64, u64) {
        self.proxy.flush();
        let cache = self.proxy.figures().unwrap().cache;
        (cache.hit_bytes, cache.missed_bytes)
    }
}

fn start(top: &Path, scheme: &str, protection: Protection) -> std::io::Result<Server> {
    let cache = CacheConfig {
        bytes_max: 1 << 30,
        free_bytes_min: 0,
        folder: Some(top.join("cache")),
        ..CacheConfig::default()
    };
    assert_eq!(cache.local, CacheLocal::Off);
    let settings = remote::Config { cache, ..remote::Config::default() };
    let origins = vec![format!("{scheme}{}/mount", top.display()).parse().unwrap()];
    let far = Forwarding { settings, origins, ..forwarding() };
    let config = Config { protection, ..Config::of(Content::Far(Box::new(far))) };
    tokio::task::block_in_place(|| Server::start(config))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_a_mount_is_read_once_and_then_from_the_cache() {
    let mounted = Mounted::new(Protection::default());
    let content = content();
    let wanted = [0..100, 100_000..1_900_000, 2_999_999..3_000_000];
    for pass in 0..2 {
        let got = read(&remote(), &mounted.root("/d/f g.root"), &wanted).await;
        for (range, bytes) in wanted.iter().zip(got) {
            assert!(bytes == content[range.start as usize..range.end as usize], "{range:?}");
        }
        let (_, missed) = mounted.hit_and_missed();
        assert!((1_800_000..2_500_000).contains(&missed), "pass {pass}: {missed}");
    }
    assert!(mounted.hit_and_missed().0 >= 1_800_000);
    let (status, body) = mounted.get("/d/f%20g.root");
    assert!(status == 200 && body == content);
    let address = mounted.root("/d/f g.root");
    let checksum = remote().checksum(&address, Some(Algorithm::Adler32)).await.unwrap();
    let mut hasher = Hasher::new(Algorithm::Adler32);
    hasher.update(&content);
    assert_eq!(checksum, hasher.finish());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_file_is_never_served_from_old_bytes() {
    let mounted = Mounted::new(Protection::default());
    let file = mounted.top.path().join("mount/d/f g.root");
    let then = SystemTime::now() - Duration::from_secs(3600);
    File::options().write(true).open(&file).unwrap().set_modified(then).unwrap();
    assert!(mounted.get("/d/f%20g.root").1 == content());
    mounted.proxy.flush();
    let other: Vec<u8> = content().iter().map(|byte| !byte).collect();
    // By another file of the same size and time.
    let new = file.with_extension("new");
    fs::write(&new, &other).unwrap();
    File::options().write(true).open(&new).unwrap().set_modified(then).unwrap();
    fs::rename(&new, &file).unwrap();
    assert!(mounted.get("/d/f%20g.root").1 == other);
    mounted.proxy.flush();
    // In place, with the time set back. Only its end differs.
    let mut third = other.clone();
    *third.last_mut().unwrap() ^= 1;
    fs::write(&file, &third).unwrap();
    File::options().write(true).open(&file).unwrap().set_modified(then).unwrap();
    assert!(mounted.get("/d/f%20g.root").1 == third);
    assert!(read(&remote(), &mounted.root("/d/f g.root"), &[0..3_000_000]).await[0] == third);
    fs::remove_file(&file).unwrap();
    assert_eq!(mounted.get("/d/f%20g.root").0, 404);
    fs::write(&file, &other).unwrap();
    assert!(mounted.get("/d/f%20g.root").1 == other, "an absence is not remembered");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outside_of_a_mount_is_read() {
    let mounted = Mounted::new(Protection::default());
    let mount = mounted.top.path().join("mount");
    symlink("../secret", mount.join("leak")).unwrap();
    symlink("..", mount.join("up")).unwrap();
    symlink("d/f g.root", mount.join("alias")).unwrap();
    fs::write(mount.join(".hidden"), "hidden").unwrap();
    for path in [
        "/leak",
        "/up/secret",
        "/../secret",
        "/d/../../secret",
        "/%2e%2e/secret",
        "/d%2ff%20g.root",
        "/.hidden",
        "/d",
        "/none",
        "2/f",
        "/d/f%20g.root%00",
    ] {
        let (status, body) = mounted.get(path);
        assert!((400..500).contains(&status), "{path}: {status}");
        assert!(!body.starts_with(b"secret"), "{path}");
        let error = refusal(&remote(), &mounted.root(path)).await;
        assert!(!error.is_retryable(), "{path}: {error}");
    }
    let outside =
        format!("{}file://{}/secret", mounted.proxy.root_url(), mounted.top.path().display());
    assert_eq!(refusal(&remote(), &outside).await.kind(), ErrorKind::PermissionDenied);
    assert!(mounted.get("/alias").1 == content());
    // A proxy for all servers serves none of its own files.
    let all = super::bed::bed(forwarding());
    let (status, _, _) = http(&all.proxy, "GET", "/file:///etc/hostname", "");
    assert_eq!(status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_decide_about_the_file_that_a_link_leads_to() {
    let top = tempfile::tempdir().unwrap();
    let mount = top.path().join("mount");
    for folder in ["public", "private"] {
        fs::create_dir_all(mount.join(folder)).unwrap();
        fs::write(mount.join(folder).join("f"), folder).unwrap();
    }
    symlink("../private/f", mount.join("public/link")).unwrap();
    symlink("f", mount.join("public/same")).unwrap();
    let path = format!("file://{}/public", mount.display());
    let rules = vec![AccessRule { path, read: vec!["anyone".to_owned()] }];
    let proxy =
        start(top.path(), "file://", Protection { rules, ..Protection::default() }).unwrap();
    let mounted = Mounted { top, proxy };
    assert_eq!(mounted.get("/public/f"), (200, b"public".to_vec()));
    assert_eq!(mounted.get("/public/same"), (200, b"public".to_vec()));
    for path in ["/private/f", "/private/none", "/public/link"] {
        assert!([401, 403].contains(&mounted.get(path).0), "{path}");
    }
    let error = refusal(&remote(), &mounted.root("/public/link")).await;
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_directory_is_no_mount() {
    let top = tempfile::tempdir().unwrap();
    let error = start(top.path(), "file://", Protection::default()).unwrap_err();
    assert!(error.to_string().contains("/mount: "), "{error}");
    let far = Forwarding { origins: vec!["file:///".parse().unwrap()], ..forwarding() };
    let config = Config::of(Content::Far(Box::new(far)));
    let error = tokio::task::block_in_place(|| Server::start(config)).unwrap_err();
    assert!(error.to_string().contains("name a directory"), "{error}");
}
