//! A file is replaced while it is read: on a disk of this machine, and behind a real xrootd, where
//! this machine has one. Stories of simulated servers are in `sim/tests/stories/replaced_file.rs`.

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use farroot_remote::CopyOptions;
use farroot_remote::fetch::RemoteFile;
use farroot_remote::source::network::Tcp;
use farroot_remote::{Config, Error, ErrorKind, Remote};

use super::peers::{start_xrootd, xrootd};
use super::uploads::http::nginx;

const SIZE: usize = 8 << 20;
const HALF: u64 = SIZE as u64 / 2;

fn content(seed: u64) -> Vec<u8> {
    let byte = |at: u64| ((at + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
    (0..SIZE as u64).map(byte).collect()
}

fn remote() -> Remote {
    let network = Arc::new(Tcp::new(Duration::from_secs(5)));
    Remote::start(Config::default(), network)
}

/// Writes a file that was last changed an hour ago, and so many seconds later.
fn write(path: &Path, content: &[u8], later: u64) {
    fs::write(path, content).unwrap();
    let then = SystemTime::now() - Duration::from_secs(3600 - later);
    File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

async fn half(file: &RemoteFile, from: u64) -> Result<Vec<u8>, Error> {
    let come = file.fetch(&[from..from + HALF]).await?;
    Ok(come.into_iter().flat_map(|(_, bytes)| bytes.to_vec()).collect())
}

fn has_changed(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    assert!(error.to_string().contains("the file has changed while it was read"), "{error}");
}

/// A process that has a file open keeps it.
#[tokio::test]
async fn a_local_file_whose_name_another_one_takes_is_read_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let new = folder.path().join("new");
    write(&path, &content(0), 0);
    write(&new, &content(1), 60);
    let remote = remote();
    let file = remote.open_bytes(path.to_str().unwrap()).await.unwrap();
    assert!(half(&file, 0).await.unwrap() == content(0)[..HALF as usize]);
    fs::rename(&new, &path).unwrap();
    assert!(half(&file, HALF).await.unwrap() == content(0)[HALF as usize..]);
    let again = remote.open_bytes(path.to_str().unwrap()).await.unwrap();
    assert!(half(&again, HALF).await.unwrap() == content(1)[HALF as usize..]);
}

/// A change of an open file.
type Change = fn(&mut File);

/// One that is written to, or cut, while it is open gave old and new bytes, or too few of them.
#[tokio::test]
async fn a_local_file_that_is_written_to_is_an_error() {
    let rewrite = |file: &mut File| {
        file.rewind().unwrap();
        file.write_all(&content(1)).unwrap();
    };
    let cut = |file: &mut File| file.set_len(HALF + 1000).unwrap();
    let grow = |file: &mut File| file.set_len(2 * SIZE as u64).unwrap();
    let changes: [(Change, usize); 3] = [(rewrite, SIZE), (cut, SIZE / 2 + 1000), (grow, 2 * SIZE)];
    for (change, size) in changes {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        write(&path, &content(0), 0);
        let remote = remote();
        let file = remote.open_bytes(path.to_str().unwrap()).await.unwrap();
        assert!(half(&file, 0).await.unwrap() == content(0)[..HALF as usize]);
        change(&mut File::options().write(true).open(&path).unwrap());
        let error = half(&file, HALF).await.unwrap_err();
        has_changed(&error);
        assert!(error.message().contains(&format!("now has {size} bytes")), "{error}");
        // Nor is anything else of it.
        has_changed(&half(&file, 0).await.unwrap_err());
    }
}

/// Sessions of a restarted server were not asked whether they have the same file: the second half
/// came of the new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_a_restarted_xrootd_has_otherwise_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir(root.join("data")).unwrap();
    let [bytes, web] = ["bytes.bin", "web.bin"].map(|name| root.join("data").join(name));
    write(&bytes, &content(0), 0);
    write(&web, &content(0), 0);
    let Some((server, ports)) = xrootd(root, "max 2 adler32") else { return };
    let remote = remote();
    let origin = format!("root://127.0.0.1:{}//", ports[0]);
    let url = format!("{origin}bytes.bin");
    // Over HTTP this server says nothing of a file but its size.
    let web_url = format!("http://127.0.0.1:{}/web.bin", ports[1]);
    let mut opened = Vec::new();
    for url in [&url, &web_url] {
        let file = remote.open_bytes(url).await.unwrap();
        assert!(half(&file, 0).await.unwrap() == content(0)[..HALF as usize], "{url}");
        opened.push(file);
    }
    drop(server);
    write(&bytes, &content(1), 60);
    write(&web, &[&content(1)[..], b"more"].concat(), 60);
    let _server = start_xrootd(root, ports[1]);
    for file in opened {
        let error = half(&file, HALF).await.unwrap_err();
        has_changed(&error);
        assert!(error.message().contains(&format!("it had {SIZE} bytes")), "{error}");
    }
    // An open from now on gets the new file.
    let target = root.join("copy");
    let options = CopyOptions { overwrite: true, verify: true, ..CopyOptions::default() };
    let copied = remote.copy(&[url], &target, options, &|_| {}).await.unwrap();
    copied.into_iter().for_each(|copied| assert_eq!(copied.unwrap().size, SIZE as u64));
    assert!(fs::read(&target).unwrap() == content(1));
}

/// A file that is written over while its sessions are open, as by `cp` on the server's own disk.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_written_over_behind_an_open_xrootd_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir(root.join("data")).unwrap();
    let path = root.join("data/bytes.bin");
    write(&path, &content(0), 0);
    let Some((_server, ports)) = xrootd(root, "max 2 adler32") else { return };
    let remote = remote();
    let url = format!("root://127.0.0.1:{}//bytes.bin", ports[0]);
    let file = remote.open_bytes(&url).await.unwrap();
    assert!(half(&file, 0).await.unwrap() == content(0)[..HALF as usize]);
    write(&path, &content(1), 60);
    // So long a session takes a file for unchanged.
    tokio::time::sleep(Duration::from_millis(150)).await;
    has_changed(&half(&file, HALF).await.unwrap_err());
}

/// Regression: the copy of two different files of the same size was a mixture of both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_files_of_one_size_are_not_mixed() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut servers = Vec::new();
    for (seed, folder) in folders.iter().enumerate() {
        let Some(server) = nginx(folder.path(), "off") else { return };
        fs::write(folder.path().join("data/f"), content(seed as u64)).unwrap();
        servers.push(server);
    }
    let [one, other] = [&servers[0].1, &servers[1].1];
    let target = folders[0].path().join("copy");
    for _ in 0..3 {
        let remote = remote();
        let options = CopyOptions::default().overwrite(true);
        let sources = [format!("{one}f|{other}f")];
        let copied = remote.copy(&sources, &target, options, &|_| {}).await.unwrap();
        copied.into_iter().for_each(|copied| drop(copied.unwrap()));
        let come = fs::read(&target).unwrap();
        assert!(come == content(0) || come == content(1));
        let report = remote.report().to_string();
        assert!(report.contains("another file under this name, which differs"), "{report}");
    }
}
