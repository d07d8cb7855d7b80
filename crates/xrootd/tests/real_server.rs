//! The client against Debian's xrootd on a loopback port. Says so and passes where it is not
//! installed.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test of the real world")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use farroot_xrootd::Time;
use farroot_xrootd::auth::Method;
use farroot_xrootd::client::{Answer, Client, ClientConfig, Event, FileId, HowToRetry, RequestId};
use farroot_xrootd::error::{ErrorCode, RequestError, SessionError};
use farroot_xrootd::message::dirlist::DirlistOptions;
use farroot_xrootd::message::locate::LocateOptions;
use farroot_xrootd::message::login::SessionId;
use farroot_xrootd::message::open::OpenOptions;
use farroot_xrootd::message::protocol::ServerFlags;
use farroot_xrootd::profile::{Authentication, HandleOrder, Profile, ReadvLimits, Start};
use farroot_xrootd::url::Url;

const FILE_BYTES: u64 = 10_000_000;

fn byte(i: u64) -> u8 {
    (i % 251) as u8
}

/// A running xrootd, ended when dropped.
struct Xrootd {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Drop for Xrootd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Xrootd {
    /// Starts a server of one file; `more` are further lines of its configuration.
    fn start(name: &str, more: &str) -> Option<Xrootd> {
        let program = ["/usr/bin/xrootd", "/usr/local/bin/xrootd"];
        let Some(program) = program.into_iter().find(|path| std::path::Path::new(path).exists())
        else {
            eprintln!("SKIPPED: xrootd is not installed; nothing was tested against it");
            return None;
        };
        let folder = std::env::temp_dir().join(format!("farroot-{name}-{}", std::process::id()));
        let store = folder.join("data/store/dir");
        std::fs::create_dir_all(&store).unwrap();
        std::fs::write(store.join("a.txt"), "a\n").unwrap();
        let contents: Vec<u8> = (0..FILE_BYTES).map(byte).collect();
        std::fs::write(folder.join("data/store/numbers.bin"), contents).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let at = folder.display();
        let config = format!(
            "xrd.port {port}\nxrd.allow host localhost\nxrd.allow host 127.0.0.1\n\
             all.export /store\noss.localroot {at}/data\nall.adminpath {at}\nall.pidpath {at}\n\
             xrootd.chksum max 2 adler32 md5\n{more}\n"
        );
        std::fs::write(folder.join("xrootd.cfg"), config).unwrap();
        let mut command = Command::new(program);
        if is_root() {
            // xrootd does not run as root: `-R` names the user that it becomes.
            let owned = Command::new("chown").arg("-R").arg("xrootd").arg(&folder).status();
            assert!(owned.unwrap().success());
            command.args(["-R", "xrootd"]);
        }
        let log = folder.join("log");
        command.args(["-n", "test", "-c"]).arg(folder.join("xrootd.cfg")).arg("-l").arg(log);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Xrootd { child, folder, port };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20), "xrootd does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }

    fn connect(&self, config: ClientConfig, profile: Profile, start: Start) -> Wire {
        let socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_nodelay(true).unwrap();
        let client = Client::new(config, profile, start);
        Wire { client, socket, begun: Instant::now(), log: Vec::new(), flights: 0 }
    }

    fn burst(&self) -> Wire {
        self.connect(anonymous(), Profile::default(), Start::Burst)
    }
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.starts_with(b"0\n")
}

fn anonymous() -> ClientConfig {
    let mut config = ClientConfig::new("tester", "real_server", std::process::id());
    config.authentication = Vec::new();
    config
}

/// A client on a real socket.
struct Wire {
    client: Client,
    socket: TcpStream,
    begun: Instant,
    log: Vec<Event>,
    /// How often the client had something to send after it had heard something.
    flights: u32,
}

impl Wire {
    fn now(&self) -> Time {
        self.begun.elapsed()
    }

    /// Runs until the client has this event.
    fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Event {
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut buffer = vec![0; 1 << 16];
        self.socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        loop {
            let mut out = Vec::new();
            while let Some(bytes) = self.client.poll_transmit(self.begun.elapsed()) {
                out.extend_from_slice(&bytes);
            }
            if !out.is_empty() {
                self.flights += 1;
                let _ = self.socket.write_all(&out);
            }
            while let Some(event) = self.client.poll_event() {
                self.log.push(event);
            }
            if let Some(event) = self.log.iter().find(|event| wanted(event)) {
                return event.clone();
            }
            assert!(Instant::now() < deadline, "nothing came but {:?}", self.log);
            let now = self.now();
            match self.socket.read(&mut buffer) {
                Ok(0) => self.client.handle_eof(now),
                Ok(count) => {
                    let bytes = bytes::Bytes::copy_from_slice(&buffer[..count]);
                    self.client.handle_bytes(now, bytes).unwrap();
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => self.client.handle_eof(now),
            }
            if self.client.poll_timeout().is_some_and(|time| time <= self.now()) {
                self.client.handle_timeout(self.now());
            }
        }
    }

    fn answer(&mut self, wanted: RequestId) -> Answer {
        let event = self.until(|event| match event {
            Event::Answer { request, .. } | Event::Failed { request, .. } => *request == wanted,
            _ => false,
        });
        match event {
            Event::Answer { answer, .. } => answer,
            other => panic!("{other:?}"),
        }
    }

    fn error(&mut self, wanted: RequestId) -> RequestError {
        let event = self.until(|event| match event {
            Event::Done { request } | Event::Failed { request, .. } => *request == wanted,
            _ => false,
        });
        match event {
            Event::Failed { error, .. } => error,
            other => panic!("{other:?}"),
        }
    }

    fn server_error(&mut self, wanted: RequestId) -> ErrorCode {
        match self.error(wanted) {
            RequestError::Server(error) => error.code,
            other => panic!("{other:?}"),
        }
    }

    /// The bytes of a read, once it is done; checked against the content of the file.
    fn count_data(&mut self, wanted: RequestId, shift: u64) -> usize {
        self.until(|event| *event == Event::Done { request: wanted });
        let mut count = 0;
        for event in &self.log {
            if let Event::Data { request, offset, bytes, .. } = event
                && *request == wanted
            {
                let right = bytes.iter().zip(*offset..).all(|(got, at)| *got == byte(at + shift));
                assert!(right, "wrong bytes at {offset}");
                count += bytes.len();
            }
        }
        count
    }

    fn open(&mut self, path: &str) -> (FileId, RequestId) {
        let now = self.now();
        self.client.open(now, path, OpenOptions::FOR_READING)
    }
}

const NUMBERS: &str = "/store/numbers.bin";

#[test]
fn reading() {
    let Some(server) = Xrootd::start("reading", "") else { return };
    a_burst_is_answered_in_one_flight(&server);
    files_of_one_burst_get_the_handles_that_were_guessed(&server);
    reads_end_where_the_file_ends(&server);
    checksummed_reads_give_the_same_bytes(&server);
    a_wrong_guess_is_put_right(&server);
    a_vector_over_the_limits_is_refused_by_the_server_as_by_the_client(&server);
}

fn a_burst_is_answered_in_one_flight(server: &Xrootd) {
    let mut wire = server.burst();
    let now = wire.now();
    let (file, open) = wire.open(NUMBERS);
    let head = wire.client.read(now, file, 0..65_536);
    let whole = wire.client.read(now, file, 0..FILE_BYTES);
    let segments: Vec<_> = (0..1000).map(|i| (file, i * 9_000..i * 9_000 + 300)).collect();
    let vector = wire.client.readv(now, &segments);
    assert_eq!(wire.count_data(head, 0), 65_536);
    assert_eq!(wire.count_data(whole, 0) as u64, FILE_BYTES);
    assert_eq!(wire.count_data(vector, 0), 300_000);
    assert_eq!(wire.flights, 1, "everything left at once");
    let now = wire.now();
    let close = wire.client.close(now, file);
    assert_eq!(wire.answer(close), Answer::Closed);
    let opened = wire.until(|event| matches!(event, Event::Opened { .. }));
    let Event::Opened { request, stat: Some(stat), .. } = opened else { panic!("{opened:?}") };
    assert_eq!((request, stat.size), (open, FILE_BYTES));
    let up = wire.until(|event| matches!(event, Event::SessionUp { .. }));
    let Event::SessionUp { server } = up else { panic!("{up:?}") };
    assert!(server.flags.contains(ServerFlags::IS_SERVER));
    let profile = wire.client.profile();
    assert_eq!(profile.burst, Some(true));
    assert_eq!(profile.authentication, Authentication::NotNeeded);
    assert_eq!(profile.handles, HandleOrder::LittleEndian);
}

fn files_of_one_burst_get_the_handles_that_were_guessed(server: &Xrootd) {
    let mut wire = server.burst();
    let now = wire.now();
    let files: Vec<_> = (0..5).map(|_| wire.open(NUMBERS).0).collect();
    let mut vector = Vec::new();
    let mut reads = Vec::new();
    for (i, file) in (0..).zip(&files) {
        reads.push(wire.client.read(now, *file, i * 100..i * 100 + 50));
        vector.push((*file, i..i + 3));
    }
    let vector = wire.client.readv(now, &vector);
    for read in reads {
        assert_eq!(wire.count_data(read, 0), 50);
    }
    assert_eq!(wire.count_data(vector, 0), 15);
    assert_eq!(wire.flights, 1);

    // The next slot is guessed, too, but not one that has been another file's.
    let now = wire.now();
    let (next, _) = wire.open(NUMBERS);
    let read = wire.client.read(now, next, 5..10);
    assert_eq!(wire.count_data(read, 0), 5);
    assert_eq!(wire.flights, 2);
    let now = wire.now();
    let closed = wire.client.close(now, files[1]);
    let (again, _) = wire.open(NUMBERS);
    let read = wire.client.read(now, again, 5..10);
    assert_eq!(wire.count_data(read, 0), 5);
    assert_eq!(wire.answer(closed), Answer::Closed);
    assert_eq!(wire.flights, 4);
}

fn reads_end_where_the_file_ends(server: &Xrootd) {
    let mut wire = server.burst();
    let now = wire.now();
    let (file, _) = wire.open(NUMBERS);
    let across = wire.client.read(now, file, FILE_BYTES - 10..FILE_BYTES + 10);
    let beyond = wire.client.read(now, file, FILE_BYTES + 10..FILE_BYTES + 20);
    // Its size is not known when this leaves: the server refuses, the client asks again.
    let vector = wire.client.readv(now, &[(file, 0..10), (file, FILE_BYTES - 5..FILE_BYTES + 5)]);
    assert_eq!(wire.count_data(across, 0), 10);
    assert_eq!(wire.count_data(beyond, 0), 0);
    assert_eq!(wire.count_data(vector, 0), 15);
}

fn checksummed_reads_give_the_same_bytes(server: &Xrootd) {
    let mut wire = server.burst();
    let now = wire.now();
    let (file, _) = wire.open(NUMBERS);
    let end = FILE_BYTES;
    let ranges = [
        0..1,
        0..4096,
        1..4096,
        4095..4097,
        100..8292,
        // The server cuts its answers to such.
        0..end,
        5..end - 3,
        1_000_001..6_000_002,
        // Across the end of the file, and beyond it.
        end - 10..end + 10,
        end - 5000..end + 5000,
        end..end + 1,
        end + 10_000..end + 20_000,
    ];
    let mut reads = Vec::new();
    for range in ranges {
        let bytes = range.end.min(end) - range.start.min(end);
        for again in [false, true] {
            let read = wire.client.pgread(now, file, range.clone(), again);
            reads.push((read, bytes as usize, range.clone()));
        }
    }
    for (read, bytes, range) in reads {
        assert_eq!(wire.count_data(read, 0), bytes, "{range:?}");
    }
    assert_eq!(wire.flights, 1);
    assert!(!wire.log.iter().any(|event| matches!(event, Event::Damaged { .. })));
    let flags = wire.client.profile().flags.unwrap();
    assert!(flags.contains(ServerFlags::CHECKSUMMED_PAGES));
}

fn a_wrong_guess_is_put_right(server: &Xrootd) {
    let mut wire = server.burst();
    let now = wire.now();
    let (none, open) = wire.open("/store/none");
    let (file, _) = wire.open(NUMBERS);
    let lost = wire.client.read(now, none, 0..10);
    let found = wire.client.read(now, file, 0..10);
    assert_eq!(wire.server_error(open), ErrorCode::NOT_FOUND);
    assert_eq!(wire.server_error(lost), ErrorCode::NOT_FOUND, "the open's error, not its own");
    assert_eq!(wire.count_data(found, 0), 10);
    assert_eq!(wire.flights, 2);

    // A profile that is wrong about the order of handles.
    let profile = Profile { handles: HandleOrder::BigEndian, ..Profile::default() };
    let mut wire = server.connect(anonymous(), profile, Start::Burst);
    let now = wire.now();
    wire.open(NUMBERS);
    let (second, _) = wire.open(NUMBERS);
    let read = wire.client.read(now, second, 0..10);
    assert_eq!(wire.count_data(read, 0), 10);
    assert_eq!(wire.client.profile().handles, HandleOrder::LittleEndian);
}

fn a_vector_over_the_limits_is_refused_by_the_server_as_by_the_client(server: &Xrootd) {
    let mut wire = server.burst();
    let (file, _) = wire.open(NUMBERS);
    let now = wire.now();
    let asked = wire.client.query_config(now, &["readv_iov_max", "readv_ior_max", "nonsense"]);
    let Answer::Config(values) = wire.answer(asked) else { panic!("no values") };
    assert_eq!(values[2], ("nonsense".to_owned(), None));
    assert_eq!(wire.client.limits(), ReadvLimits::default(), "the default is what xrootd says");
    let now = wire.now();
    let many: Vec<_> = (0..1025).map(|i| (file, i * 10..i * 10 + 5)).collect();
    let refused = wire.client.readv(now, &many);
    assert!(matches!(wire.error(refused), RequestError::Misuse(_)));

    // The largest that is allowed is served.
    let bytes = wire.client.limits().segment_bytes_max;
    let largest = wire.client.readv(now, &[(file, 0..bytes), (file, 1..bytes)]);
    assert_eq!(wire.count_data(largest, 0) as u64, 2 * bytes - 1);
}

#[test]
fn asking() {
    let Some(server) = Xrootd::start("asking", "") else { return };
    let mut wire = server.burst();
    let now = wire.now();
    let stat = wire.client.stat(now, NUMBERS);
    let none = wire.client.stat(now, "/store/none");
    let list = wire.client.dirlist(now, "/store/dir", DirlistOptions::WITH_STAT);
    let plain = wire.client.dirlist(now, "/store", DirlistOptions::default());
    let locate = wire.client.locate(now, NUMBERS, LocateOptions::default());
    let checksum = wire.client.query_checksum(now, "/store/dir/a.txt?cks.type=md5");
    let ping = wire.client.ping(now);

    let Answer::Stat(info) = wire.answer(stat) else { panic!("no stat") };
    assert_eq!(info.size, FILE_BYTES);
    assert_eq!(wire.server_error(none), ErrorCode::NOT_FOUND);
    let Answer::Entries(entries) = wire.answer(list) else { panic!("no entries") };
    assert_eq!((entries.len(), entries[0].name.as_str()), (1, "a.txt"));
    assert_eq!(entries[0].stat.as_ref().map(|stat| stat.size), Some(2));
    let Answer::Entries(entries) = wire.answer(plain) else { panic!("no entries") };
    let mut names: Vec<_> = entries.into_iter().map(|entry| entry.name).collect();
    names.sort();
    assert_eq!(names, ["dir", "numbers.bin"]);
    let Answer::Locations(places) = wire.answer(locate) else { panic!("no places") };
    assert!(places[0].address.ends_with(&format!(":{}", server.port)));
    assert!(!places[0].manager);
    // xrootd computes it in the background: the answer is put off and comes as attention.
    assert_eq!(wire.answer(checksum), Answer::Text("md5 60b725f10c9c85c70d97880dfe8191b3".into()));
    let put_off =
        |event: &Event| matches!(event, Event::Wait { request, .. } if *request == checksum);
    assert!(wire.log.iter().any(put_off));
    assert_eq!(wire.answer(ping), Answer::Pong);

    // A session left behind is ended from another connection, known or not.
    let Event::SessionUp { server: left } =
        wire.until(|event| matches!(event, Event::SessionUp { .. }))
    else {
        panic!("no session")
    };
    drop(wire);
    std::thread::sleep(Duration::from_millis(200));
    let mut wire = server.burst();
    for _ in 0..2 {
        let now = wire.now();
        let end = wire.client.endsess(now, left.session);
        assert_eq!(wire.answer(end), Answer::SessionEnded);
    }
}

#[test]
fn redirection() {
    let more = "xrootd.redirect localhost:1999 /store";
    let Some(server) = Xrootd::start("redirection", more) else { return };
    let mut wire = server.burst();
    let (file, open) = wire.open(NUMBERS);
    let now = wire.now();
    let read = wire.client.read(now, file, 0..10);
    for wanted in [open, read] {
        let sent = wire.until(
            |event| matches!(event, Event::Redirected { request, .. } if *request == wanted),
        );
        let Event::Redirected { target, .. } = sent else { unreachable!() };
        assert_eq!(target.port, 1999);
        let there = target.follow(&Url::parse(&format!("root://here/{NUMBERS}")).unwrap()).unwrap();
        assert_eq!((there.port, there.path.as_str()), (1999, NUMBERS));
    }
    assert!(!wire.client.is_closed());
}

#[test]
fn authentication() {
    let more = "xrootd.seclib libXrdSec.so\nsec.protocol unix\nsec.protbind * only unix";
    let Some(server) = Xrootd::start("authentication", more) else { return };
    let config = ClientConfig {
        authentication: vec![Method::Unix { user: "tester".into(), group: "users".into() }],
        ..anonymous()
    };
    let ended = |event: &Event| matches!(event, Event::SessionFailed { .. });

    // Such a server closes the connection on a burst; the client reports how to retry.
    let mut wire = server.connect(config.clone(), Profile::default(), Start::Burst);
    wire.open(NUMBERS);
    let Event::SessionFailed { error, retry } = wire.until(ended) else { unreachable!() };
    assert!(matches!(error, SessionError::AuthenticationFirst { .. }), "{error}");
    assert_eq!(retry, HowToRetry::Careful);

    // With care: login, then authentication with everything behind it. With the profile learnt by
    // then: all at once.
    let profile = wire.client.profile().clone();
    for (start, flights) in [(Start::Careful, 2), (profile.start(), 1)] {
        let mut wire = server.connect(config.clone(), profile.clone(), start);
        let (file, _) = wire.open(NUMBERS);
        let now = wire.now();
        let read = wire.client.read(now, file, 10..20);
        assert_eq!(wire.count_data(read, 0), 10);
        assert_eq!(wire.flights, flights);
    }

    for start in [Start::Careful, Start::Burst] {
        let mut wire = server.connect(anonymous(), profile.clone(), start);
        wire.open(NUMBERS);
        let Event::SessionFailed { error, retry } = wire.until(ended) else { unreachable!() };
        assert!(matches!(error, SessionError::NoAuthentication { .. }), "{error}");
        assert_eq!(retry, HowToRetry::No);
    }
}

#[test]
fn a_credential_that_is_not_wanted_does_no_harm() {
    let Some(server) = Xrootd::start("unwanted", "") else { return };
    let authentication = Authentication::Needed("&P=unix".to_owned());
    let profile = Profile { authentication, ..Profile::default() };
    let config = ClientConfig::new("tester", "real_server", 1);
    let mut wire = server.connect(config, profile, Start::Burst);
    let (file, _) = wire.open(NUMBERS);
    let now = wire.now();
    let read = wire.client.read(now, file, 10..20);
    assert_eq!(wire.count_data(read, 0), 10);
    assert_eq!(wire.flights, 1);
    assert_eq!(wire.client.profile().authentication, Authentication::NotNeeded);
}

#[test]
fn writing() {
    let Some(server) = Xrootd::start("writing", "") else { return };
    a_small_file_is_written_in_one_flight(&server);
    a_file_that_is_there_is_not_written_over(&server);
    what_left_in_any_order_makes_the_file(&server);
    a_second_writer_is_refused(&server);
    an_upload_that_is_cut_leaves_a_file_that_is_held(&server);
}

const NEW: OpenOptions = OpenOptions(
    OpenOptions::NEW.0
        | OpenOptions::UPDATE.0
        | OpenOptions::MAKE_PATH.0
        | OpenOptions::PERSIST_ON_CLOSE.0,
);

impl Wire {
    /// The outcome of a change or a close.
    fn end(&mut self, wanted: RequestId) -> Result<Answer, ErrorCode> {
        let event = self.until(|event| match event {
            Event::Answer { request, .. } | Event::Failed { request, .. } => *request == wanted,
            _ => false,
        });
        match event {
            Event::Answer { answer, .. } => Ok(answer),
            Event::Failed { error: RequestError::Server(error), .. } => Err(error.code),
            other => panic!("{other:?}"),
        }
    }

    fn open_to_write(&mut self, path: &str, options: OpenOptions) -> (FileId, RequestId) {
        let now = self.now();
        self.client.open_to_write(now, path, options, 0o644)
    }
}

impl Xrootd {
    /// Ends the session of the lost connection, opens the file again and writes behind the first 6
    /// bytes.
    ///
    /// `endsess` is answered before the server has let go of the session's files: on a loaded
    /// machine the open that followed was refused with `kXR_FileLocked`.
    fn open_again(&self, path: &str, session: SessionId) -> (Wire, FileId, RequestId) {
        let deadline = Instant::now() + Duration::from_secs(20);
        let again = OpenOptions::UPDATE | OpenOptions::PERSIST_ON_CLOSE | OpenOptions::RETSTAT;
        loop {
            let mut wire = self.burst();
            let now = wire.now();
            wire.client.endsess(now, session);
            let (file, open) = wire.open_to_write(path, again);
            let now = wire.now();
            let write = wire.client.write(now, file, 6, bytes::Bytes::from_static(b"second"));
            match wire.end(write) {
                Err(ErrorCode::FILE_LOCKED) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                end => {
                    assert_eq!(end, Ok(Answer::Changed));
                    return (wire, file, open);
                }
            }
        }
    }

    fn bytes(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.folder.join("data").join(&path[1..])).unwrap()
    }
}

fn a_small_file_is_written_in_one_flight(server: &Xrootd) {
    let path = "/store/new/folder/small.bin";
    let bytes: bytes::Bytes = (0..100_000).map(byte).collect();
    let mut wire = server.burst();
    let (file, _) = wire.open_to_write(path, NEW);
    let now = wire.now();
    let checked = wire.client.pgwrite(now, file, 0, bytes.slice(..60_001));
    let plain = wire.client.write(now, file, 60_001, bytes.slice(60_001..));
    let sync = wire.client.sync(now, file);
    for request in [checked, plain, sync] {
        assert_eq!(wire.end(request), Ok(Answer::Changed));
    }
    assert_eq!(wire.flights, 1, "everything left at once");
    let now = wire.now();
    let close = wire.client.close(now, file);
    let checksum = wire.client.query_checksum(now, path);
    assert_eq!(wire.end(close), Ok(Answer::Closed));
    let Ok(Answer::Text(text)) = wire.end(checksum) else { panic!("no checksum") };
    assert!(text.starts_with("adler32 "), "{text}");
    assert_eq!(wire.flights, 2);
    assert_eq!(server.bytes(path), bytes);
    let now = wire.now();
    let moved = "/store/new/folder/moved.bin";
    let other = "/store/numbers.bin";
    let mv = wire.client.mv(now, path, moved);
    let rm = wire.client.rm(now, moved);
    let mkdir = wire.client.mkdir(now, "/store/a/b", 0o755);
    let missing = wire.client.mv(now, "/store/missing", other);
    assert_eq!(wire.end(mv), Ok(Answer::Changed));
    assert_eq!(wire.end(rm), Ok(Answer::Changed));
    assert_eq!(wire.end(mkdir), Ok(Answer::Changed));
    assert_eq!(wire.end(missing), Err(ErrorCode::NOT_FOUND));
}

fn a_file_that_is_there_is_not_written_over(server: &Xrootd) {
    let mut wire = server.burst();
    let (file, open) = wire.open_to_write(NUMBERS, NEW);
    let now = wire.now();
    let write = wire.client.write(now, file, 0, bytes::Bytes::from_static(b"over"));
    assert_eq!(wire.end(open), Err(ErrorCode::ITEM_EXISTS));
    assert_eq!(wire.end(write), Err(ErrorCode::ITEM_EXISTS));
    assert_eq!(server.bytes(NUMBERS)[..4], [0, 1, 2, 3]);
}

fn what_left_in_any_order_makes_the_file(server: &Xrootd) {
    let path = "/store/order.bin";
    let bytes: bytes::Bytes = (0..5_000_000).map(byte).collect();
    let mut wire = server.burst();
    let (file, _) = wire.open_to_write(path, NEW);
    let now = wire.now();
    let parts = [3_000_001..5_000_000, 0..3, 1_000_000..3_000_001, 3..1_000_000];
    let sent = parts.map(|part: std::ops::Range<usize>| {
        wire.client.pgwrite(now, file, part.start as u64, bytes.slice(part))
    });
    let longer = wire.client.write(now, file, 5_000_000, bytes::Bytes::from_static(b"tail"));
    let truncate = wire.client.truncate(now, file, 5_000_000);
    for request in sent.into_iter().chain([longer, truncate]) {
        assert_eq!(wire.end(request), Ok(Answer::Changed));
    }
    let now = wire.now();
    let close = wire.client.close(now, file);
    assert_eq!(wire.end(close), Ok(Answer::Closed));
    assert_eq!(server.bytes(path), bytes);
}

fn a_second_writer_is_refused(server: &Xrootd) {
    let mut first = server.burst();
    let mut second = server.burst();
    let update = OpenOptions::UPDATE;
    let (file, _) = first.open_to_write(NUMBERS, update);
    let now = first.now();
    let sync = first.client.sync(now, file);
    assert_eq!(first.end(sync), Ok(Answer::Changed));
    let (_, open) = second.open_to_write(NUMBERS, update);
    assert_eq!(second.end(open), Err(ErrorCode::FILE_LOCKED));
}

/// The connection is lost amid an upload: the file is held for its writer, who opens it again and
/// goes on.
fn an_upload_that_is_cut_leaves_a_file_that_is_held(server: &Xrootd) {
    let path = "/store/cut.bin";
    let mut wire = server.burst();
    let (file, _) = wire.open_to_write(path, NEW);
    let now = wire.now();
    let write = wire.client.write(now, file, 0, bytes::Bytes::from_static(b"first "));
    assert_eq!(wire.end(write), Ok(Answer::Changed));
    let session = wire.client.session_id().expect("a session");
    drop(wire);
    let (mut wire, file, open) = server.open_again(path, session);
    let opened = wire.until(|event| matches!(event, Event::Opened { .. }));
    let Event::Opened { request, stat: Some(stat), .. } = opened else { panic!("{opened:?}") };
    assert_eq!((request, stat.size), (open, 6));
    let now = wire.now();
    let close = wire.client.close(now, file);
    assert_eq!(wire.end(close), Ok(Answer::Closed));
    assert_eq!(server.bytes(path), b"first second");
}
