//! Copies of whole files from a real XRootD server, over both its protocols, where this machine has
//! it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use farroot_remote::source::network::Tcp;
use farroot_remote::{Algorithm, Hasher};
use farroot_remote::{Config, Error, ErrorKind, Remote};
use farroot_remote::{Copied, CopyOptions, Progress};

use super::peers::xrootd;

const SIZE: usize = 24 << 20;
const VERIFIED: CopyOptions = CopyOptions {
    overwrite: false,
    verify: true,
    in_place: false,
    recursive: false,
    update: false,
    checksum: None,
};

fn content() -> Vec<u8> {
    (0..SIZE as u64).map(|at| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

fn remote() -> Remote {
    // Little is under way at a time, so that a copy can be broken off in the middle.
    let config = Config { memory_bytes_max: 4 << 20, ..Config::default() };
    let network = Arc::new(Tcp::new(Duration::from_secs(5)));
    Remote::start(config, network)
}

async fn copy(
    source: &str,
    target: &Path,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Copied, Error> {
    let copied = remote().copy(&[source.to_owned()], target, VERIFIED, progress).await?;
    copied.into_iter().next().unwrap()
}

/// Copies until a third is here, and is dropped then, as Ctrl-C does.
async fn break_off(source: &str, target: &Path) {
    let is_enough = AtomicBool::new(false);
    let progress = |progress: Progress| {
        is_enough.fetch_or(progress.done > progress.size / 3, Ordering::Relaxed);
    };
    let enough = async {
        while !is_enough.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = enough => {}
        copied = copy(source, target, &progress) => panic!("it was not broken off: {copied:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn xrootd_s_files_are_copied_resumed_and_verified() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let content = content();
    fs::create_dir(root.join("data")).unwrap();
    fs::write(root.join("data/file.bin"), &content).unwrap();
    fs::write(root.join("data/empty.bin"), b"").unwrap();
    let Some((_server, ports)) = xrootd(root, "max 2 adler32 crc32c md5") else { return };
    let mut adler32 = Hasher::new(Algorithm::Adler32);
    adler32.update(&content);
    let adler32 = adler32.finish();
    let target = tempfile::tempdir().unwrap();
    for origin in
        [format!("root://127.0.0.1:{}//", ports[0]), format!("http://127.0.0.1:{}/", ports[1])]
    {
        let source = format!("{origin}file.bin");
        let path = target.path().join("whole");
        let copied = copy(&source, &path, &|_| {}).await.unwrap();
        assert_eq!((copied.size, copied.resumed), (SIZE as u64, 0));
        assert_eq!(copied.checksum.as_ref(), Some(&adler32), "{source}");
        assert!(fs::read(&path).unwrap() == content, "{source}");
        let error = copy(&source, &path, &|_| {}).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "it is there: {error}");
        fs::remove_file(&path).unwrap();

        let path = target.path().join("resumed");
        break_off(&source, &path).await;
        assert!(!path.exists(), "half a file under the final name");
        let copied = copy(&source, &path, &|_| {}).await.unwrap();
        assert!(copied.resumed > 0 && copied.resumed < SIZE as u64, "{copied:?}");
        assert!(fs::read(&path).unwrap() == content, "{source}");
        fs::remove_file(&path).unwrap();

        let empty = target.path().join("empty");
        assert_eq!(copy(&format!("{origin}empty.bin"), &empty, &|_| {}).await.unwrap().size, 0);
        fs::remove_file(&empty).unwrap();
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0, "something is left beside");
    }
}

/// A server whose disk has rotted since it took its checksum: here one that always says the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_xrootd_has_another_checksum_of_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir(root.join("data")).unwrap();
    fs::write(root.join("data/file.bin"), content()).unwrap();
    let program = root.join("checksum");
    fs::write(&program, "#!/bin/sh\necho 00000001\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let words = format!("adler32 {}", program.display());
    let Some((_server, ports)) = xrootd(root, &words) else { return };
    let target = tempfile::tempdir().unwrap();
    let path = target.path().join("copy");
    for origin in
        [format!("root://127.0.0.1:{}//", ports[0]), format!("http://127.0.0.1:{}/", ports[1])]
    {
        let error = copy(&format!("{origin}file.bin"), &path, &|_| {}).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("adler32 00000001"), "{error}");
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0, "something is left");
    }
}
