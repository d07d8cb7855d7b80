//! Names that mean something in a URL, on every kind of source: the file that is listed, found by a
//! pattern, read and copied is the one of exactly this name.
//!
//! A path of root:// was percent-decoded on its way to the server, and a name from a listing was
//! taken for a URL: `a%20b.root` was read as `a b.root`, `a#b.root` as `a`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use farroot_remote::CopyOptions;
use farroot_remote::address::Address;
use farroot_remote::{Config, ErrorKind, Remote};

use super::over_tcp;
use super::peers::{free_port, start, xrootd};
use super::secrets::Searched;

const NAMES: [&str; 10] = [
    "plain.root",
    "a b.root",
    "a%20b.root",
    "100%.root",
    "a#b.root",
    "a&b=c+d.root",
    "é.root",
    "a|b.root",
    "a:b.root",
    "~a;b,c'd\".root",
];

/// Files whose content is their name.
fn lay_out(folder: &Path, names: &[&str]) {
    for name in names {
        fs::write(folder.join(name), format!("this is {name}")).unwrap();
    }
}

fn remote() -> Searched {
    over_tcp(Config::default())
}

/// The bytes that are read at an address.
async fn content(remote: &Remote, address: &str) -> String {
    let file = remote.open_bytes(address).await.unwrap_or_else(|error| panic!("{error}"));
    let bytes = file.fetch(&[0..file.info().size]).await.unwrap();
    let bytes: Vec<u8> = bytes.into_iter().flat_map(|(_, bytes)| bytes).collect();
    String::from_utf8(bytes).unwrap()
}

/// The names and contents of the files in a folder.
fn found_in(folder: &Path) -> BTreeMap<String, String> {
    let name = |entry: &fs::DirEntry| entry.file_name().into_string().unwrap();
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|e| (name(&e), fs::read_to_string(e.path()).unwrap())).collect()
}

fn expected() -> BTreeMap<String, String> {
    NAMES.map(|name| (name.to_owned(), format!("this is {name}"))).into()
}

/// Reads and copies files by their addresses.
async fn reads_and_copies(remote: &Remote, addresses: &[String]) {
    let target = tempfile::tempdir().unwrap();
    for address in addresses {
        let name = Address::parse(address).unwrap().file_name().into_string().unwrap();
        assert_eq!(content(remote, address).await, format!("this is {name}"), "{address}");
    }
    let options = CopyOptions::default();
    let copies = remote.copy(addresses, target.path(), options, &|_| {}).await.unwrap();
    copies.into_iter().for_each(|copied| drop(copied.unwrap()));
    assert_eq!(found_in(target.path()), expected());
}

/// Finds, reads and copies all files by a pattern.
async fn are_found(remote: &Remote, folder: &str) {
    let pattern = format!("{folder}*.root");
    let mut found = remote.matching(&pattern).await.unwrap();
    found.sort();
    let mut all = NAMES.map(|name| format!("{folder}{name}")).to_vec();
    all.sort();
    assert_eq!(found, all);
    reads_and_copies(remote, &found).await;
    let target = tempfile::tempdir().unwrap();
    let options = CopyOptions::default();
    let copies = remote.copy(&[pattern], target.path(), options, &|_| {}).await.unwrap();
    assert_eq!(copies.into_iter().filter(Result::is_ok).count(), NAMES.len());
    assert_eq!(found_in(target.path()), expected());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_disk() {
    let folder = tempfile::tempdir().unwrap();
    let remote = remote();
    lay_out(folder.path(), &NAMES);
    let path = format!("{}/", folder.path().display());
    are_found(&remote, &path).await;
    // On a disk, ? is a letter as any other.
    lay_out(folder.path(), &["a?b.root", "a?c.txt"]);
    for name in ["a?b.root", "a?c.txt"] {
        let read = content(&remote, &format!("{path}{name}")).await;
        assert_eq!(read, format!("this is {name}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_an_xrootd_server() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    lay_out(&data, &NAMES);
    let Some((_server, ports)) = xrootd(folder.path(), "max 2 adler32 crc32c md5") else { return };
    let remote = remote();
    let origin = format!("root://127.0.0.1:{}//", ports[0]);
    are_found(&remote, &origin).await;
    // The protocol ends a path at ?: "a" would be read, under the name of another file.
    lay_out(&data, &["a?b.root", "a"]);
    let error = remote.matching(&format!("{origin}*.root")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    // The address shows nothing behind the ?, which may be a token.
    assert!(error.message().contains("a?b.root"), "{error}");
    assert!(error.url().is_some_and(|url| url.contains("//a?")), "{error}");
    assert!(remote.matching(&format!("{origin}p*.root")).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_an_http_server() {
    let folder = tempfile::tempdir().unwrap();
    lay_out(folder.path(), &NAMES);
    lay_out(folder.path(), &["a?b.root"]);
    let port = free_port();
    let mut command = Command::new("python3");
    command.args(["-m", "http.server", "--bind", "127.0.0.1", &port.to_string()]);
    let Some(_server) = start(command.current_dir(folder.path()), Some(port)) else { return };
    let remote = remote();
    let origin = format!("http://127.0.0.1:{port}/");
    // As people write them, with characters that would mean something else encoded.
    let address = |name: &str| {
        let name = name.replace('%', "%25").replace('#', "%23").replace('?', "%3F");
        format!("{origin}{name}")
    };
    reads_and_copies(&remote, &NAMES.map(address)).await;
    let read = content(&remote, &address("a?b.root")).await;
    assert_eq!(read, "this is a?b.root");
    let error = remote.open_bytes(&format!("{origin}a#b.root")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
}
