//! `farroot serve` as this project's own protocol client sees it, over real sockets.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use bytes::Bytes;
use farroot_serve::{Config, Content, Forwarding, Limits, Server, Shape};
use xrootd::client::{Answer, Client, ClientConfig, Event, FileId, RequestId};
use xrootd::error::{ErrorCode, RequestError};
use xrootd::message::dirlist::DirlistOptions;
use xrootd::message::open::OpenOptions;
use xrootd::message::stat::StatFlags;
use xrootd::profile::{Profile, Start};

/// A client on a blocking socket, with the bytes that it has received by request.
struct Session {
    client: Client,
    stream: TcpStream,
    start: Instant,
    data: BTreeMap<RequestId, Vec<(u64, Bytes)>>,
    done: BTreeMap<RequestId, Result<Option<Answer>, RequestError>>,
}

impl Session {
    fn new(server: &Server) -> Self {
        let stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Session {
            client: Client::new(
                ClientConfig::new("me", "test", 1),
                Profile::default(),
                Start::Burst,
            ),
            stream,
            start: Instant::now(),
            data: BTreeMap::new(),
            done: BTreeMap::new(),
        }
    }

    /// Makes a request; nothing is sent before [`wait`](Self::wait).
    fn ask<T>(&mut self, ask: impl FnOnce(&mut Client, Duration) -> T) -> T {
        ask(&mut self.client, self.start.elapsed())
    }

    fn open(&mut self, path: &str) -> (FileId, RequestId) {
        self.ask(|client, now| client.open(now, path, OpenOptions::FOR_READING))
    }

    /// Runs until all these are answered.
    fn wait(&mut self, requests: &[RequestId]) {
        while !requests.iter().all(|request| self.done.contains_key(request)) {
            while let Some(bytes) = self.client.poll_transmit(self.start.elapsed()) {
                self.stream.write_all(&bytes).unwrap();
            }
            let mut buffer = vec![0; 1 << 16];
            let count = self.stream.read(&mut buffer).unwrap();
            assert!(count > 0, "the server hung up");
            buffer.truncate(count);
            self.client.handle_bytes(self.start.elapsed(), buffer.into()).unwrap();
            while let Some(event) = self.client.poll_event() {
                match event {
                    Event::Data { request, offset, bytes, .. } => {
                        self.data.entry(request).or_default().push((offset, bytes));
                    }
                    Event::Opened { request, .. } | Event::Done { request } => {
                        self.done.insert(request, Ok(None));
                    }
                    Event::Answer { request, answer } => {
                        self.done.insert(request, Ok(Some(answer)));
                    }
                    Event::Failed { request, error } => {
                        self.done.insert(request, Err(error));
                    }
                    _ => {}
                }
            }
        }
    }

    /// The bytes of an answered read, in the order of the file.
    fn bytes(&mut self, request: RequestId) -> Vec<u8> {
        self.done[&request].as_ref().unwrap();
        let mut parts = self.data.remove(&request).unwrap_or_default();
        parts.sort_by_key(|(offset, _)| *offset);
        parts.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect()
    }

    fn answer(&mut self, ask: impl FnOnce(&mut Client, Duration) -> RequestId) -> Answer {
        let request = self.ask(ask);
        self.wait(&[request]);
        self.done[&request].clone().unwrap().expect("an answer with content")
    }

    fn refusal(&mut self, request: RequestId) -> ErrorCode {
        self.wait(&[request]);
        match &self.done[&request] {
            Err(RequestError::Server(error)) => error.code,
            other => panic!("not a refusal: {other:?}"),
        }
    }
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 7 + at) as u8).collect()
}

fn served(shape: Shape) -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f.root"), content(3_000_000)).unwrap();
    fs::write(folder.path().join("g.root"), content(100)).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let server = Server::start(Config { shape, ..Config::new(folder.path()) }).unwrap();
    (folder, server)
}

#[test]
fn a_burst_is_answered_within_the_handshake_and_one_round_trip() {
    let rtt = Duration::from_millis(100);
    let (_folder, server) = served(Shape { rtt, ..Shape::default() });
    let mut session = Session::new(&server);
    let (f, f_open) = session.open("/f.root");
    let (g, g_open) = session.open("//g.root?tag=1");
    let f_read = session.ask(|client, now| client.read(now, f, 1000..1_500_000));
    let g_read = session.ask(|client, now| client.read(now, g, 90..200));
    session.wait(&[f_open, g_open, f_read, g_read]);
    assert_eq!(session.bytes(f_read), content(3_000_000)[1000..1_500_000]);
    assert_eq!(session.bytes(g_read), content(100)[90..], "a read ends with the file");
    assert!(session.start.elapsed() >= 2 * rtt - Duration::from_millis(2), "no distance was kept");
}

#[test]
fn vectors_may_span_files_and_stay_inside_them() {
    let (_folder, server) = served(Shape::default());
    let mut session = Session::new(&server);
    let (f, _) = session.open("/f.root");
    let (g, _) = session.open("/g.root");
    let mut segments: Vec<(FileId, Range<u64>)> =
        (0..500).map(|at| (f, at * 5000..at * 5000 + 4000)).collect();
    segments.push((g, 10..20));
    let good = session.ask(|client, now| client.readv(now, &segments));
    session.wait(&[good]);
    let parts = session.data.remove(&good).unwrap();
    let count: usize = parts.iter().map(|(_, bytes)| bytes.len()).sum();
    assert_eq!(count, 500 * 4000 + 10);
    let whole = content(3_000_000);
    for (offset, bytes) in parts {
        let start = offset as usize;
        assert_eq!(bytes, whole[start..start + bytes.len()]);
    }
    // Opened without its size, which the client would clip the segment to.
    let (g, _) = session.ask(|client, now| client.open(now, "/g.root", OpenOptions::READ));
    let beyond = session.ask(|client, now| client.readv(now, &[(g, 90..101)]));
    assert_eq!(session.refusal(beyond), ErrorCode::FS_ERROR);
}

/// The maximum of segments of one kXR_readv, of ten files in turn.
#[test]
fn a_vector_of_1024_segments_may_span_ten_files_near_and_far() {
    const STEP: u64 = 97;
    let byte = |file: u64, at: u64| (at / 7 + 3 * at + 31 * file) as u8;
    let folder = tempfile::tempdir().unwrap();
    for file in 0..10 {
        let content: Vec<u8> = (0..1024 * STEP).map(|at| byte(file, at)).collect();
        fs::write(folder.path().join(file.to_string()), content).unwrap();
    }
    let near = Server::start(Config::new(folder.path())).unwrap();
    let settings = remote::Config::default();
    let forwarding = Forwarding { settings, origins: Vec::new(), secret: None, access_log: None };
    let far = Server::start(Config::of(Content::Far(Box::new(forwarding)))).unwrap();
    for (server, origin) in [(&near, String::new()), (&far, near.root_url())] {
        let mut session = Session::new(server);
        let opened: Vec<_> =
            (0..10).map(|file| session.open(&format!("/{origin}{file}"))).collect();
        session.wait(&opened.iter().map(|(_, open)| *open).collect::<Vec<_>>());
        // The offset of a segment divided by `STEP`, modulo 10, is the number of its file.
        let segment = |at: u64| (opened[at as usize % 10].0, at * STEP..(at + 1) * STEP - 1);
        let segments: Vec<_> = (0..1024).map(segment).collect();
        let asked = session.ask(|client, now| client.readv(now, &segments));
        session.wait(&[asked]);
        assert_eq!(session.done[&asked], Ok(None));
        let parts = session.data.remove(&asked).unwrap();
        assert_eq!(
            parts.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>(),
            1024 * (STEP - 1)
        );
        for (offset, bytes) in parts {
            let file = offset / STEP % 10;
            let right = (offset..).zip(&bytes).all(|(at, have)| *have == byte(file, at));
            assert!(right, "the segment at {offset}");
        }
    }
}

#[test]
fn files_and_folders_are_described() {
    let (_folder, server) = served(Shape::default());
    let mut session = Session::new(&server);
    let Answer::Stat(stat) = session.answer(|client, now| client.stat(now, "/f.root")) else {
        panic!("not a stat");
    };
    assert_eq!(stat.size, 3_000_000);
    let list = |client: &mut Client, now| client.dirlist(now, "/", DirlistOptions::WITH_STAT);
    let Answer::Entries(entries) = session.answer(list) else { panic!("not a list") };
    let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["f.root", "g.root", "sub"]);
    assert_eq!(entries[1].stat.as_ref().unwrap().size, 100);
    let keys = ["readv_iov_max", "nonsense"];
    let config = session.answer(|client, now| client.query_config(now, &keys));
    assert_eq!(
        config,
        Answer::Config(vec![(keys[0].into(), Some("1024".into())), (keys[1].into(), None)])
    );
    let kinds = session.answer(|client, now| client.query_config(now, &["chksum"]));
    let Answer::Config(kinds) = kinds else { panic!("not a configuration") };
    let kinds = kinds[0].1.clone().unwrap();
    assert!(kinds.starts_with("0:adler32,1:crc32c,2:md5,"), "{kinds}");
    let (none, none_open) = session.open("/none.root");
    let read = session.ask(|client, now| client.read(now, none, 0..10));
    assert_eq!(session.refusal(none_open), ErrorCode::NOT_FOUND);
    assert_eq!(session.refusal(read), ErrorCode::NOT_FOUND);
    let outside = session.open("/../secret").1;
    assert_eq!(session.refusal(outside), ErrorCode::NOT_AUTHORIZED);
    let folder = session.open("/sub").1;
    assert_eq!(session.refusal(folder), ErrorCode::IS_DIRECTORY);
}

#[test]
fn nothing_of_a_file_that_is_only_read_waits_to_be_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f.root"), content(100)).unwrap();
    let path = folder.path().to_owned();
    let writable = Config::of(Content::Folder { path, hidden: false, writable: true });
    let server = Server::start(writable).unwrap();
    let mut session = Session::new(&server);
    let (file, open) = session.open("/f.root");
    let synced = session.ask(|client, now| client.sync(now, file));
    session.wait(&[open, synced]);
    assert!(session.done[&synced].is_ok(), "{:?}", session.done[&synced]);
}

#[test]
fn many_reads_at_once_are_all_answered() {
    let (_folder, server) = served(Shape::default());
    let mut session = Session::new(&server);
    let (f, _) = session.open("/f.root");
    let ranges: Vec<Range<u64>> = (0..2000).map(|at| at * 1000..at * 1000 + 1500).collect();
    let reads: Vec<RequestId> = ranges
        .iter()
        .map(|range| session.ask(|client, now| client.read(now, f, range.clone())))
        .collect();
    session.wait(&reads);
    let whole = content(3_000_000);
    for (read, range) in reads.iter().zip(&ranges) {
        assert_eq!(session.bytes(*read), whole[range.start as usize..range.end as usize]);
    }
}

/// Segments longer than a connection's own memory are sent in pieces, and other answers follow
/// behind them.
#[test]
fn long_segments_come_whole_however_little_memory_there_is() {
    let limits = Limits { shared_bytes: 0, answer_bytes: 1000, ..Limits::default() };
    let (folder, _) = served(Shape::default());
    let server = Server::start(Config { limits, ..Config::new(folder.path()) }).unwrap();
    let mut session = Session::new(&server);
    let (f, _) = session.open("/f.root");
    let segments: Vec<(FileId, Range<u64>)> =
        [0..700_000, 5..10, 100_000..100_984, 100_000..100_985, 2_000_000..2_400_000]
            .map(|range| (f, range))
            .to_vec();
    let vector = session.ask(|client, now| client.readv(now, &segments));
    let other = session.ask(|client, now| client.readv(now, &segments));
    let read = session.ask(|client, now| client.read(now, f, 10..50_000));
    let stat = session.ask(|client, now| client.stat(now, "/g.root"));
    session.wait(&[vector, other, read, stat]);
    let whole = content(3_000_000);
    for vector in [vector, other] {
        let mut parts = session.data.remove(&vector).unwrap();
        let count: usize = parts.iter().map(|(_, bytes)| bytes.len()).sum();
        assert_eq!(count, 700_000 + 5 + 984 + 985 + 400_000);
        parts.sort_by_key(|(offset, _)| *offset);
        for (offset, bytes) in parts {
            assert_eq!(bytes, whole[offset as usize..][..bytes.len()]);
        }
    }
    assert_eq!(session.bytes(read), whole[10..50_000]);
    // Beyond the end of the file, which shows only behind the first pieces.
    let (g, _) = session.ask(|client, now| client.open(now, "/f.root", OpenOptions::READ));
    let beyond = session.ask(|client, now| client.readv(now, &[(g, 2_500_000..3_000_001)]));
    assert_eq!(session.refusal(beyond), ErrorCode::FS_ERROR);
    let again = session.ask(|client, now| client.read(now, f, 0..10));
    session.wait(&[again]);
    assert_eq!(session.bytes(again), whole[..10]);
}

/// `.ssh` was listed and readable, a loop of links was an error of the server, and a name with a
/// line's end made two entries of one.
#[test]
fn hidden_names_and_loops_are_not_found_and_a_listing_s_lines_are_its_names() {
    let (folder, server) = served(Shape::default());
    let path = folder.path();
    fs::create_dir(path.join(".ssh")).unwrap();
    fs::write(path.join(".ssh/key"), "secret").unwrap();
    symlink("loop", path.join("loop")).unwrap();
    fs::write(path.join("a\nb"), "").unwrap();
    fs::write(path.join("sub/%20 ?#ü"), "").unwrap();
    let mut session = Session::new(&server);
    for hidden in ["/.ssh/key", "//.ssh//key", "/loop", "/loop/deeper"] {
        let open = session.open(hidden).1;
        assert_eq!(session.refusal(open), ErrorCode::NOT_FOUND, "{hidden}");
        let stat = session.ask(|client, now| client.stat(now, hidden));
        assert_eq!(session.refusal(stat), ErrorCode::NOT_FOUND, "{hidden}");
    }
    for (options, folder, names) in [
        (DirlistOptions::default(), "/", vec!["f.root", "g.root", "sub"]),
        (DirlistOptions::WITH_STAT, "/", vec!["f.root", "g.root", "sub"]),
        (DirlistOptions::WITH_STAT, "/sub", vec!["%20 ?#ü"]),
    ] {
        let list = |client: &mut Client, now| client.dirlist(now, folder, options);
        let Answer::Entries(entries) = session.answer(list) else { panic!("not a list") };
        let found: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(found, names);
    }
    let path = path.to_owned();
    let hidden = Config::of(Content::Folder { path, hidden: true, writable: false });
    let server = Server::start(hidden).unwrap();
    let mut session = Session::new(&server);
    let open = session.open("/.ssh/key").1;
    session.wait(&[open]);
    assert!(session.done[&open].is_ok());
}

/// Regression: through a proxy the stat of a directory was an error.
#[test]
fn a_proxy_describes_a_directory_as_its_origin_does() {
    let (_folder, origin) = served(Shape::default());
    let settings = remote::Config::default();
    let forwarding = Forwarding { settings, origins: vec![], secret: None, access_log: None };
    let proxy = Server::start(Config::of(Content::Far(Box::new(forwarding)))).unwrap();
    let there = |path: &str| format!("/{}{path}", origin.root_url());
    for (server, path) in [(&origin, "/sub".to_owned()), (&proxy, there("/sub"))] {
        let mut session = Session::new(server);
        let Answer::Stat(stat) = session.answer(|client, now| client.stat(now, &path)) else {
            panic!("not a stat: {path}");
        };
        assert!(stat.flags.intersects(StatFlags::DIRECTORY), "{path}");
        let open = session.open(&path).1;
        assert_eq!(session.refusal(open), ErrorCode::IS_DIRECTORY, "{path}");
    }
    let mut session = Session::new(&proxy);
    let none = there("/none");
    let stat = session.ask(|client, now| client.stat(now, &none));
    assert_eq!(session.refusal(stat), ErrorCode::NOT_FOUND);
}

#[test]
fn a_large_folder_comes_in_parts() {
    let limits = Limits { shared_bytes: 0, answer_bytes: 2000, ..Limits::default() };
    let folder = tempfile::tempdir().unwrap();
    for number in 0..300 {
        fs::write(folder.path().join(format!("{number:03}")), "").unwrap();
    }
    let server = Server::start(Config { limits, ..Config::new(folder.path()) }).unwrap();
    let mut session = Session::new(&server);
    for options in [DirlistOptions::default(), DirlistOptions::WITH_STAT] {
        let list = |client: &mut Client, now| client.dirlist(now, "/", options);
        let Answer::Entries(entries) = session.answer(list) else { panic!("not a list") };
        let mut names: Vec<_> = entries.into_iter().map(|entry| entry.name).collect();
        names.sort();
        assert_eq!(names, (0..300).map(|number| format!("{number:03}")).collect::<Vec<_>>());
    }
}
