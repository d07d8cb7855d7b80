//! Debian's clients against the served side, on a loopback port. Says so and passes where they
//! are not installed.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test of the real world")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use farroot_xrootd::error::ErrorCode;
use farroot_xrootd::header::Handle;
use farroot_xrootd::message::Request;
use farroot_xrootd::message::dirlist::{DirlistOptions, Entry};
use farroot_xrootd::message::locate::Location;
use farroot_xrootd::message::login::SessionId;
use farroot_xrootd::message::query::QueryKind;
use farroot_xrootd::message::stat::{StatFlags, StatInfo};
use farroot_xrootd::server::{Served, Server, ServerConfig, Tag, config_answer};

const FILE_BYTES: usize = 20_000_000;

fn contents() -> Bytes {
    (0..FILE_BYTES).map(|i| (i % 251) as u8).collect()
}

fn info(size: usize, flags: StatFlags) -> StatInfo {
    let mtime = 1_700_000_000;
    StatInfo { id: "1".to_owned(), size: size as u64, flags, mtime, more: None }
}

/// One connection's server: a folder `/store` with `numbers.bin`.
struct Session {
    server: Server,
    port: u16,
    file: Bytes,
    open: BTreeMap<Handle, Bytes>,
}

impl Session {
    fn answer(&mut self, tag: Tag, request: &Request) {
        let server = &mut self.server;
        match request {
            Request::Open(open) if open.path.starts_with("/store/numbers.bin") => {
                let slot = (0..).find(|slot| !self.open.contains_key(&Handle::from_slot(*slot)));
                let handle = Handle::from_slot(slot.unwrap());
                self.open.insert(handle, self.file.clone());
                server.answer_open(tag, handle, Some(&info(FILE_BYTES, StatFlags::READABLE)));
            }
            Request::Stat(stat) => match stat.path.as_str() {
                "/store" | "/store/" => server.answer_stat(tag, &info(0, StatFlags::DIRECTORY)),
                "" | "/store/numbers.bin" => {
                    server.answer_stat(tag, &info(FILE_BYTES, StatFlags::READABLE));
                }
                _ => server.answer_error(tag, ErrorCode::NOT_FOUND, "no such file"),
            },
            Request::Read(read) => match self.open.get(&read.handle) {
                Some(file) => {
                    let start = file.len().min(read.offset as usize);
                    let end = file.len().min(start + read.length as usize);
                    let bytes = file.slice(start..end);
                    // In two parts, as servers do that read in pieces.
                    let half = bytes.len() / 2;
                    server.answer_data(tag, bytes.slice(..half), true);
                    server.answer_data(tag, bytes.slice(half..), false);
                }
                None => server.answer_error(tag, ErrorCode::FILE_NOT_OPEN, "not open"),
            },
            Request::Readv(readv) => {
                let record = |segment: &farroot_xrootd::message::readv::Segment| {
                    let start = segment.offset as usize;
                    let bytes = self.open.get(&segment.handle)?;
                    let bytes = bytes.slice(start..start + segment.length as usize);
                    Some((segment.handle, segment.offset, bytes))
                };
                match readv.segments.iter().map(record).collect::<Option<Vec<_>>>() {
                    Some(records) => server.answer_readv(tag, &records, false),
                    None => server.answer_error(tag, ErrorCode::FILE_NOT_OPEN, "not open"),
                }
            }
            Request::Close(close) => {
                self.open.remove(&close.handle);
                server.answer_done(tag);
            }
            Request::Dirlist(list) => {
                let stat = info(FILE_BYTES, StatFlags::READABLE);
                let stat = list.options.contains(DirlistOptions::WITH_STAT).then_some(stat);
                server.answer_entries(tag, &[Entry { name: "numbers.bin".to_owned(), stat }]);
            }
            Request::Locate(_) => {
                let address = format!("127.0.0.1:{}", self.port);
                let place = Location { manager: false, pending: false, writable: false, address };
                server.answer_locations(tag, &[place]);
            }
            Request::Query(query) if query.kind == QueryKind::CONFIG => {
                let known = |key: &str| match key {
                    "readv_iov_max" => Some("1024".to_owned()),
                    "readv_ior_max" => Some("2097136".to_owned()),
                    _ => None,
                };
                server.answer_text(tag, &config_answer(&query.argument, &known));
            }
            Request::Query(query) if query.kind == QueryKind::CHECKSUM => {
                // It takes a while: put off, and answered later.
                server.answer_waitresp(tag, Duration::from_secs(60), "computing");
                server.answer_text(tag, "adler32 5bdad19a");
            }
            Request::Ping(_) | Request::Endsess(_) => server.answer_done(tag),
            _ => server.answer_error(tag, ErrorCode::NOT_FOUND, "no such file"),
        }
    }

    fn run(mut self, mut socket: TcpStream) {
        let begun = Instant::now();
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = socket.read(&mut buffer) {
            let bytes = Bytes::copy_from_slice(&buffer[..count]);
            if self.server.handle_bytes(begun.elapsed(), bytes).is_err() {
                return;
            }
            while let Some(event) = self.server.poll_event() {
                if let Served::Request { tag, request } = event {
                    self.answer(tag, &request);
                }
            }
            while let Some(bytes) = self.server.poll_transmit() {
                if socket.write_all(&bytes).is_err() {
                    return;
                }
            }
        }
    }
}

/// Listens until the test's process ends.
fn listen() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let file = Arc::new(contents());
    std::thread::spawn(move || {
        for (number, socket) in (1..).zip(listener.incoming()) {
            let mut config = ServerConfig::data_server(SessionId([0; 16]));
            config.session.0[..4].copy_from_slice(&u32::to_be_bytes(number));
            let server = Server::new(config);
            let file = Bytes::clone(&file);
            let session = Session { server, port, file, open: BTreeMap::new() };
            std::thread::spawn(move || session.run(socket.unwrap()));
        }
    });
    port
}

/// Runs a client, for at most half a minute.
fn run(program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    // Without these a failure would take minutes to show.
    command.env("XRD_CONNECTIONWINDOW", "5").env("XRD_CONNECTIONRETRY", "1");
    command.env("XRD_REQUESTTIMEOUT", "20").env("XRD_STREAMTIMEOUT", "20");
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(30) {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

fn succeeds(program: &str, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn is_installed(program: &str) -> bool {
    let found = Path::new(program).exists();
    if !found {
        eprintln!("SKIPPED: {program} is not installed; nothing was tested with it");
    }
    found
}

#[test]
fn xrdcp_copies_what_is_served_and_cannot_write() {
    let xrdcp = "/usr/bin/xrdcp";
    if !is_installed(xrdcp) {
        return;
    }
    let port = listen();
    let from = format!("root://127.0.0.1:{port}//store/numbers.bin");
    let to = std::env::temp_dir().join(format!("farroot-copy-{}", std::process::id()));
    let path = to.to_str().unwrap();
    // Once as it is, once wanting more paths than one session has.
    for more in [&[][..], &["-S", "4"][..]] {
        let arguments = [&["-f", "-s"], more, &[&from, path]].concat();
        succeeds(xrdcp, &arguments);
        assert!(std::fs::read(&to).unwrap() == contents());
    }
    let written = run(xrdcp, &["-f", "-s", path, &format!("root://127.0.0.1:{port}//store/new")]);
    let why = String::from_utf8_lossy(&written.stderr).into_owned();
    assert!(!written.status.success() && why.contains("read-only"), "{why}");
    std::fs::remove_file(to).unwrap();
}

#[test]
fn xrdfs_gets_its_answers() {
    let xrdfs = "/usr/bin/xrdfs";
    if !is_installed(xrdfs) {
        return;
    }
    let port = listen();
    let host = format!("root://127.0.0.1:{port}");
    let ask = |arguments: &[&str]| succeeds(xrdfs, &[&[host.as_str()], arguments].concat());
    let stat = ask(&["stat", "/store/numbers.bin"]);
    assert!(stat.contains(&format!("Size:   {FILE_BYTES}")), "{stat}");
    assert_eq!(ask(&["ls", "/store"]), "/store/numbers.bin\n");
    let long = ask(&["ls", "-l", "/store"]);
    assert!(long.contains(&FILE_BYTES.to_string()), "{long}");
    let located = ask(&["locate", "/store/numbers.bin"]);
    assert!(located.contains(&port.to_string()) && located.contains("Read"), "{located}");
    assert_eq!(ask(&["query", "config", "readv_iov_max"]).trim(), "1024");
    assert_eq!(ask(&["query", "checksum", "/store/numbers.bin"]).trim(), "adler32 5bdad19a");
    let none = run(xrdfs, &[&host, "stat", "/store/none"]);
    assert!(String::from_utf8_lossy(&none.stderr).contains("no such file"));
    let refused = run(xrdfs, &[&host, "mkdir", "/store/new"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("read-only"));
}
