//! A writable server, written to by farroot's own uploads and by the `xrdcp` of the machine.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use bytes::Bytes;
use farroot_serve::{Config, Content, Server};
use remote::source::network::Tcp;
use remote::{CreateOptions, ErrorKind, Remote, Result, Written};
use xrootd::header::{Handle, StreamId};
use xrootd::message::login::{Ability, VERSION_5_DEFERRED_ANSWERS};
use xrootd::message::open::OpenOptions;
use xrootd::message::{Login, Message, Open, handshake};

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 7 + at / 4096 + at) as u8).collect()
}

fn config(path: &Path, writable: bool) -> Config {
    Config::of(Content::Folder { path: path.to_owned(), hidden: false, writable })
}

fn served(writable: bool) -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let config = config(folder.path(), writable);
    // It has a runtime of its own.
    let server = tokio::task::block_in_place(|| Server::start(config).unwrap());
    (folder, server)
}

fn remote() -> Remote {
    let config = remote::Config::default();
    let network = Arc::new(Tcp::new(config.connect_timeout));
    Remote::start(config, network)
}

async fn upload(remote: &Remote, url: &str, bytes: &[u8], overwrite: bool) -> Result<Written> {
    let options = CreateOptions { overwrite, ..CreateOptions::default() };
    let mut upload = remote.create(url, options).await?;
    upload.write(0, Bytes::copy_from_slice(bytes), false).await?;
    upload.finish().await
}

/// All names below a folder, hidden ones too.
fn names(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        match entry.path().is_dir() {
            true => {
                let below = names(&entry.path());
                found.extend(below.iter().map(|inner| format!("{name}/{inner}")));
                found.push(name + "/");
            }
            false => found.push(name),
        }
    }
    found.sort();
    found
}

fn urls(server: &Server) -> Vec<String> {
    vec![server.root_url(), server.http_url()]
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_arrive_whole_and_replace_only_when_told() {
    let (folder, server) = served(true);
    let remote = remote();
    for url in urls(&server) {
        let file = format!("{url}sub/f.root");
        let whole = content(3_000_001);
        let written = upload(&remote, &file, &whole, false).await.unwrap();
        assert_eq!(written.size, whole.len() as u64);
        assert!(fs::read(folder.path().join("sub/f.root")).unwrap() == whole);
        let again = upload(&remote, &file, b"again", false).await.unwrap_err();
        assert!(again.to_string().contains("there already"), "{again}");
        assert!(fs::read(folder.path().join("sub/f.root")).unwrap() == whole);
        upload(&remote, &file, b"replaced", true).await.unwrap();
        assert_eq!(fs::read(folder.path().join("sub/f.root")).unwrap(), b"replaced");
        upload(&remote, &format!("{url}empty"), b"", false).await.unwrap();
        assert_eq!(names(folder.path()), ["empty", "sub/", "sub/f.root"]);
        for path in ["sub/f.root", "empty"] {
            fs::remove_file(folder.path().join(path)).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_given_up_leaves_nothing() {
    let (folder, server) = served(true);
    let remote = remote();
    for url in urls(&server) {
        let url = format!("{url}half.root");
        let mut half = remote.create(&url, CreateOptions::default()).await.unwrap();
        half.write(0, content(2 << 20).into(), false).await.unwrap();
        half.sync().await.unwrap();
        half.abandon().await;
        // The server cleans up after the connection's end before the name is free again.
        for _ in 0..1000 {
            if names(folder.path()) == ["sub/"] {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert_eq!(names(folder.path()), ["sub/"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_flag_nothing_is_changed() {
    let (folder, server) = served(false);
    fs::write(folder.path().join("f.root"), "before").unwrap();
    let remote = remote();
    for url in urls(&server) {
        for (name, overwrite) in [("new", false), ("f.root", true)] {
            let tried = upload(&remote, &format!("{url}{name}"), b"x", overwrite).await;
            assert!(tried.is_err(), "{url}{name}");
        }
    }
    assert_eq!(names(folder.path()), ["f.root", "sub/"]);
    assert_eq!(fs::read(folder.path().join("f.root")).unwrap(), b"before");
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_do_not_leave_the_folder() {
    let (folder, server) = served(true);
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("out")).unwrap();
    let remote = remote();
    for url in urls(&server) {
        for path in ["out/new", "sub/../../new", "%2e%2e/new", ".ssh/new", ".secret"] {
            let tried = upload(&remote, &format!("{url}{path}"), b"x", false).await;
            // `%2e` in HTTP is a name like others in XRootD; clients resolve `..`.
            let is_fine = path.contains("..") || path.contains('%');
            assert!(tried.is_err() || is_fine, "{url}{path}");
        }
    }
    assert!(names(outside.path()).is_empty());
    let beside = folder.path().parent().unwrap().join("new");
    assert!(!beside.exists() && !folder.path().join(".ssh").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_has_one_writer() {
    let (folder, server) = served(true);
    let first = remote();
    let second = remote();
    let url = format!("{}f.root", server.root_url());
    let mut writer = first.create(&url, CreateOptions::default()).await.unwrap();
    writer.write(0, content(2 << 20).into(), false).await.unwrap();
    writer.sync().await.unwrap();
    let options = CreateOptions { overwrite: true, in_place: true, ..CreateOptions::default() };
    let mut other = second.create(&url, options).await.unwrap();
    let tried = async {
        other.write(0, Bytes::from_static(b"other"), false).await?;
        other.sync().await
    };
    let refusal = tried.await.unwrap_err();
    assert!(refusal.to_string().contains("another client writes it"), "{refusal}");
    assert_ne!(refusal.kind(), ErrorKind::NotFound);
    writer.finish().await.unwrap();
    assert!(fs::read(folder.path().join("f.root")).unwrap() == content(2 << 20));
}

#[test]
fn beyond_this_machine_a_writable_server_wants_to_know_who_writes() {
    let folder = tempfile::tempdir().unwrap();
    let address = std::net::Ipv4Addr::UNSPECIFIED.into();
    let started = |writable| Server::start(Config { address, ..config(folder.path(), writable) });
    let refusal = started(true).unwrap_err();
    assert!(refusal.to_string().contains("--token or --users"), "{refusal}");
    assert!(started(false).is_ok());
}

/// A write that failed was an error for its client, and the close behind it gave the shorter file
/// its name.
#[test]
fn after_a_failed_write_a_close_publishes_nothing() {
    // Most file systems have no file that is as long.
    let far = 1 << 60;
    if tempfile::tempfile().unwrap().write_at(b"x", far).is_ok() {
        return println!("SKIPPED: files of this file system may have any length");
    }
    publishes_nothing_after(&write(far, Bytes::from_static(b"far away")).frame(StreamId(4)));
}

/// The same of bytes that are refused before anybody looks at the file: too many, a place that no
/// file has, and requests that are not served.
#[test]
fn after_a_refused_write_a_close_publishes_nothing() {
    publishes_nothing_after(&write(5, content(9 << 20).into()).frame(StreamId(4)));
    let mut nowhere = write(5, Bytes::from_static(b"refused")).frame(StreamId(4));
    nowhere[8] = 0xff;
    publishes_nothing_after(&nowhere);
    // kXR_writev of one segment: handle, length, offset; then its bytes.
    let mut vector = [&4u16.to_be_bytes()[..], &3031u16.to_be_bytes(), &[0; 16]].concat();
    vector.extend(16u32.to_be_bytes());
    vector.extend([&[0; 4][..], &7u32.to_be_bytes(), &5u64.to_be_bytes(), b"refused"].concat());
    publishes_nothing_after(&vector);
}

fn write(offset: u64, bytes: Bytes) -> xrootd::message::Write {
    xrootd::message::Write { handle: Handle([0; 4]), offset, path: 0, bytes }
}

/// A file, new or replaced, one of whose writes fails, while those around it do not.
fn publishes_nothing_after(failing: &[u8]) {
    let (folder, server) = served(true);
    fs::write(folder.path().join("old"), "before").unwrap();
    for (name, options) in [
        ("new", OpenOptions::NEW | OpenOptions::UPDATE),
        ("old", OpenOptions::DELETE | OpenOptions::UPDATE),
    ] {
        let open = Open { mode: 0o644, ..Open::reading(&format!("/{name}"), options) };
        let close = xrootd::message::Close { handle: Handle([0; 4]) };
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let requests = [
            &handshake::REQUEST[..],
            &login("failing").frame(StreamId(1)),
            &open.frame(StreamId(2)),
            &write(0, Bytes::from_static(b"first")).frame(StreamId(3)),
            failing,
            &write(5, Bytes::from_static(b"last")).frame(StreamId(5)),
            &close.frame(StreamId(6)),
        ];
        stream.write_all(&requests.concat()).unwrap();
        // The handshake has no name of its own. Others may be answered out of their order.
        let mut answers: Vec<(u16, u16)> = (0..7).map(|_| next_answer(&mut stream)).collect();
        answers[1..].sort_unstable();
        let error = 4003;
        let expected = [(0, 0), (1, 0), (2, 0), (3, 0), (4, error), (5, 0), (6, error)];
        assert_eq!(answers, expected, "{name}");
        assert_eq!(names(folder.path()), ["old", "sub/"]);
        assert_eq!(fs::read(folder.path().join("old")).unwrap(), b"before");
    }
}

/// The stream and the status of the next answer, whose content is skipped.
fn next_answer(stream: &mut TcpStream) -> (u16, u16) {
    let mut head = [0; 8];
    stream.read_exact(&mut head).unwrap();
    let length = u32::from_be_bytes(head[4..].try_into().unwrap());
    stream.read_exact(&mut vec![0; length as usize]).unwrap();
    let [a, b, c, d, ..] = head;
    (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
}

/// Runs a tool of XRootD, where it is installed.
fn run(tool: &str, arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new(tool);
    command.args(arguments).stdin(Stdio::null()).env("XRD_STREAMTIMEOUT", "20");
    match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        output => Some(output.unwrap()),
    }
}

#[test]
fn xrdcp_and_xrdfs_write() {
    let (folder, server) = served(true);
    let local = tempfile::NamedTempFile::new().unwrap();
    // Several of the 8 MiB that xrdcp sends at a time.
    fs::write(local.path(), content(20_000_000)).unwrap();
    let local = local.path().to_str().unwrap();
    let url = server.root_url();
    let target = format!("{url}new/deep/f.root");
    let Some(copied) = run("xrdcp", &["-s", "-p", "--cksum", "adler32", local, &target]) else {
        return println!("skipped: no xrdcp here");
    };
    assert!(copied.status.success(), "{copied:?}");
    let there = folder.path().join("new/deep/f.root");
    assert!(fs::read(&there).unwrap() == content(20_000_000));
    let again = run("xrdcp", &["-s", local, &target]).unwrap();
    assert!(!again.status.success(), "it is there already");
    fs::write(local, content(1_000_000)).unwrap();
    let forced = run("xrdcp", &["-s", "-f", "--posc", local, &target]).unwrap();
    assert!(forced.status.success(), "{forced:?}");
    assert!(fs::read(&there).unwrap() == content(1_000_000));
    let host = url.trim_end_matches('/');
    for (arguments, is_fine) in [
        (&["mv", "/new/deep/f.root", "/sub/g.root"][..], true),
        (&["truncate", "/sub/g.root", "5000"], true),
        (&["mkdir", "/made"], true),
        (&["mkdir", "/made"], false),
        (&["mkdir", "-p", "/made/more"], true),
        (&["rm", "/../../etc/hostname"], false),
        (&["rm", "/sub/none"], false),
        (&["mv", "/sub/g.root", "/../g.root"], false),
    ] {
        let done = run("xrdfs", &[&[host][..], arguments].concat()).unwrap();
        assert_eq!(done.status.success(), is_fine, "{arguments:?}: {done:?}");
    }
    assert!(fs::read(folder.path().join("sub/g.root")).unwrap() == content(1_000_000)[..5000]);
    let removed = run("xrdfs", &[host, "rm", "/sub/g.root"]).unwrap();
    assert!(removed.status.success(), "{removed:?}");
    let left = ["made/", "made/more/", "new/", "new/deep/", "sub/"];
    assert_eq!(names(folder.path()), left);
}

/// Regression: a copy between two servers was taken for a write of the client, and left an empty
/// file when the client had seen that it cannot be; and only `xrdcp -p` made folders.
#[test]
fn xrdcp_leaves_nothing_of_refused_copies_and_makes_folders() {
    let (folder, server) = served(true);
    let (sources, source) = served(false);
    fs::write(sources.path().join("sub/f"), content(3_000)).unwrap();
    fs::write(folder.path().join("sub/precious"), "precious").unwrap();
    let from = format!("{}sub/f", source.root_url());
    let to = |name: &str| format!("{}{name}", server.root_url());
    let Some(only) = run("xrdcp", &["-s", "--tpc", "only", "-f", &from, &to("sub/precious")])
    else {
        return println!("skipped: no xrdcp here");
    };
    assert!(!only.status.success(), "{only:?}");
    assert_eq!(fs::read(folder.path().join("sub/precious")).unwrap(), b"precious");
    let only = run("xrdcp", &["-s", "--tpc", "only", &from, &to("sub/none")]).unwrap();
    assert!(!only.status.success() && !folder.path().join("sub/none").exists(), "{only:?}");
    let made = run("xrdcp", &["-s", &from, &to("made/by/it/f")]).unwrap();
    assert!(made.status.success(), "{made:?}");
    assert!(fs::read(folder.path().join("made/by/it/f")).unwrap() == content(3_000));
}

/// The status of a request that ends its connection; a body with a length breaks off.
fn status(server: &Server, request: &str) -> String {
    answer(server, request).split(' ').nth(1).unwrap_or_default().to_owned()
}

fn answer(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    if request.contains("Content-Length") {
        stream.shutdown(std::net::Shutdown::Write).unwrap();
    }
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[test]
fn http_takes_chunks_makes_folders_and_removes() {
    let (folder, server) = served(true);
    let end = "Host: localhost\r\nConnection: close\r\n";
    let chunked = "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n3\r\nefg\r\n0\r\n\r\n";
    assert_eq!(status(&server, &format!("PUT /sub/c HTTP/1.1\r\n{end}{chunked}")), "201");
    assert_eq!(fs::read(folder.path().join("sub/c")).unwrap(), b"abcdefg");
    let wrong = "Transfer-Encoding: chunked\r\n\r\nnot a length\r\n";
    assert_eq!(status(&server, &format!("PUT /sub/c HTTP/1.1\r\n{end}{wrong}")), "400");
    let content = "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n";
    assert_eq!(status(&server, &format!("MKCOL /new HTTP/1.1\r\n{end}{content}")), "415");
    let half = format!("PUT /sub/c HTTP/1.1\r\n{end}Content-Length: 100\r\n\r\nonly this");
    assert_ne!(status(&server, &half), "201");
    assert_eq!(fs::read(folder.path().join("sub/c")).unwrap(), b"abcdefg");
    let to = "Destination: http://localhost/sub/d\r\n";
    for (request, expected) in [
        ("MKCOL /made", "201"),
        ("MKCOL /made", "405"),
        ("MKCOL /none/deeper", "409"),
        ("MKCOL /sub/c/deeper", "409"),
        ("MOVE /sub/c", "201"),
        ("DELETE /sub/c", "404"),
        ("DELETE /sub", "409"),
        ("DELETE /sub/d", "200"),
        ("DELETE /%2e%2e/x", "403"),
    ] {
        let sent = format!("{request} HTTP/1.1\r\n{end}{to}\r\n");
        assert_eq!(status(&server, &sent), expected, "{request}");
    }
    let (_folder, plain) = served(false);
    for (server, method, allowed) in
        [(&server, "COPY", "GET, HEAD, PUT, DELETE, MOVE, MKCOL"), (&plain, "MKCOL", "GET, HEAD")]
    {
        let answer = answer(server, &format!("{method} /made HTTP/1.1\r\n{end}\r\n"));
        assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
        assert!(answer.contains(&format!("allow: {allowed}\r\n")), "{answer}");
    }
}

fn login(user: &str) -> Login {
    Login {
        pid: 1,
        user: Login::user_field(user),
        ability_2: 0,
        ability: Ability::FULL_URL,
        version: VERSION_5_DEFERRED_ANSWERS,
        about: String::new(),
    }
}

/// Conditions were read for `GET` alone, so that two clients that each wanted to be the first
/// replaced each other's file.
#[test]
fn http_changes_what_the_request_takes_it_for() {
    let (folder, server) = served(true);
    let f = folder.path().join("f");
    let send = |request: &str, headers: &str| {
        let end = "Host: localhost:8080\r\nConnection: close\r\n";
        let body = if request.starts_with("PUT") {
            "Transfer-Encoding: chunked\r\n\r\n3\r\nnew\r\n0\r\n\r\n"
        } else {
            "\r\n"
        };
        status(&server, &format!("{request} HTTP/1.1\r\n{end}{headers}{body}"))
    };
    assert_eq!(send("PUT /f", "If-Match: *\r\n"), "412");
    assert!(!f.exists());
    assert_eq!(send("PUT /f", "If-None-Match: *\r\n"), "201");
    fs::write(&f, "before").unwrap();
    for request in ["PUT /f", "DELETE /f", "MOVE /f", "MKCOL /f"] {
        for condition in ["If-None-Match: *", "If-Match: \"other\""] {
            let headers = format!("{condition}\r\nDestination: /g\r\n");
            assert_eq!(send(request, &headers), "412", "{request} {condition}");
        }
    }
    assert_eq!(send("PUT /f", "Content-Encoding: gzip\r\n"), "415");
    for (to, expected) in [
        ("http://elsewhere:8080/g", "502"),
        ("http://localhost/g", "502"),
        ("/f", "403"),
        ("http://LOCALHOST:8080/f", "403"),
    ] {
        assert_eq!(send("MOVE /f", &format!("Destination: {to}\r\n")), expected, "{to}");
    }
    assert_eq!(send("MOVE /sub", "Destination: /sub/deeper\r\n"), "403");
    assert_eq!(fs::read(&f).unwrap(), b"before");
    assert_eq!(names(folder.path()), ["f", "sub/"]);
    assert_eq!(send("MOVE /f", "If-Match: *\r\nDestination: http://localhost:8080/g\r\n"), "201");
    assert_eq!(send("PUT /g", "Content-Encoding: identity\r\n"), "201");
    assert_eq!(fs::read(folder.path().join("g")).unwrap(), b"new");
}

/// A client that has announced a write of 4 MiB, has sent some of it, and sends a byte now and
/// then.
fn dripping(server: &Server, name: &str) -> std::thread::JoinHandle<()> {
    let options = OpenOptions::NEW | OpenOptions::UPDATE;
    let open = Open { mode: 0o644, ..Open::reading(&format!("/{name}"), options) };
    let write = xrootd::message::Write {
        handle: Handle([0; 4]),
        offset: 0,
        path: 0,
        bytes: vec![7; 4 << 20].into(),
    };
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let opening = [
        &handshake::REQUEST[..],
        &login("dripping").frame(StreamId(1)),
        &open.frame(StreamId(2)),
        &write.frame(StreamId(3))[..200_000],
    ];
    stream.write_all(&opening.concat()).unwrap();
    std::thread::spawn(move || {
        while stream.write_all(&[7]).is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    })
}

/// Four clients that sent their writes drop by drop kept all others from writing, for good.
#[tokio::test(flavor = "multi_thread")]
async fn writes_that_drip_do_not_keep_others_waiting() {
    let (folder, server) = served(true);
    let dripping: Vec<_> = (0..6).map(|n| dripping(&server, &format!("slow{n}"))).collect();
    let remote = remote();
    let whole = content(12 << 20);
    let url = format!("{}f.root", server.root_url());
    let upload = upload(&remote, &url, &whole, false);
    let written = tokio::time::timeout(std::time::Duration::from_secs(60), upload).await;
    assert_eq!(written.expect("it waits for slow ones").unwrap().size, whole.len() as u64);
    assert!(fs::read(folder.path().join("f.root")).unwrap() == whole);
    assert!(dripping.iter().all(|client| !client.is_finished()), "slow ones may go on");
    drop(server);
    dripping.into_iter().for_each(|client| client.join().unwrap());
}
