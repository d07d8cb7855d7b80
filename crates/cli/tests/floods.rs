//! `farroot serve` as a process under clients that take without giving: many connections that do
//! not read, that send nothing, that request more than they take. The tests assert bytes and counts
//! of the server's process, and that an honest client has its file meanwhile.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpSocket;
use xrootd::header::{Handle, StreamId};
use xrootd::message::dirlist::DirlistOptions;
use xrootd::message::login::{Ability, VERSION_5_DEFERRED_ANSWERS};
use xrootd::message::open::OpenOptions;
use xrootd::message::query::QueryKind;
use xrootd::message::readv::Segment;
use xrootd::message::{
    Dirlist, Login, Message, Open, Pgread, Ping, Query, Read as ReadRequest, Readv, handshake,
};

/// Clients of one flood.
const CLIENTS: usize = 200;
/// Of these, connected at the same time: each waits until its requests are sent, or stuck.
const CLIENTS_AT_ONCE: usize = 25;
/// Memory that the server may use at its height under any of these floods, kB: 200 MB.
const MEMORY_KB_MAX: u64 = 200_000;
const HONEST_BYTES: usize = 3_000_000;

/// One flood at a time: each has hundreds of sockets open.
static ONE: Mutex<()> = Mutex::new(());

struct Served {
    _one: MutexGuard<'static, ()>,
    folder: tempfile::TempDir,
    process: Child,
    /// A server that cannot print its address ends.
    _stdout: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn served(options: &[&str]) -> Served {
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let large = fs::File::create(folder.path().join("large.root")).unwrap();
    // Takes no room on the disk.
    large.set_len(8 << 30).unwrap();
    fs::write(folder.path().join("honest.root"), honest_bytes()).unwrap();
    let mut process = Command::new(env!("CARGO_BIN_EXE_farroot"))
        .args(["serve", "--port", "0"])
        .args(options)
        .arg(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(process.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("root://").unwrap().trim_end_matches('/');
    Served { _one: one, folder, process, _stdout: stdout, address: address.parse().unwrap() }
}

fn honest_bytes() -> Vec<u8> {
    (0..HONEST_BYTES).map(|at| (at / 7 + at) as u8).collect()
}

impl Served {
    /// A folder with a long listing.
    fn add_many_files(&self) {
        let folder = self.folder.path().join("many");
        fs::create_dir(&folder).unwrap();
        for number in 0..1000 {
            fs::File::create(folder.join(format!("run-{number:08}-of-the-flood.root"))).unwrap();
        }
    }

    /// A figure of the server's process, as the kernel counts it: kB, or a count.
    fn figure(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(':').split_whitespace().next().unwrap().parse().unwrap()
    }

    fn connect(&self) -> TcpStream {
        limited(TcpStream::connect(self.address).unwrap())
    }

    /// Connections that send requests, and do not read. Requests are sent as far as the server
    /// takes them.
    fn flood(&self, count: usize, asks: &[u8]) -> Vec<TcpStream> {
        let connect = || {
            let mut stream = self.connect();
            stream.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
            let _ = stream.write_all(asks);
            stream
        };
        let mut flood = Vec::new();
        while flood.len() < count {
            let several = CLIENTS_AT_ONCE.min(count - flood.len());
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..several).map(|_| scope.spawn(connect)).collect();
                flood.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
            });
        }
        flood
    }

    /// Waits until the server takes no more memory for its requests, 20 s at most.
    fn settle(&self) {
        let mut before = 0;
        let mut same = 0;
        for _ in 0..200 {
            std::thread::sleep(Duration::from_millis(100));
            let now = self.figure("VmHWM");
            same = if now == before { same + 1 } else { 0 };
            if same == 5 || now > MEMORY_KB_MAX {
                return;
            }
            before = now;
        }
    }

    /// farroot itself, from this machine, over both protocols.
    fn assert_an_honest_client_is_served(&self) {
        for scheme in ["root", "http"] {
            let slashes = if scheme == "root" { "//" } else { "/" };
            let copy = self.folder.path().join(format!("copy-{scheme}"));
            let done = Command::new(env!("CARGO_BIN_EXE_farroot"))
                .arg("cp")
                .arg(format!("{scheme}://{}{slashes}honest.root", self.address))
                .arg(&copy)
                .output()
                .unwrap();
            assert!(done.status.success(), "{scheme}: {}", String::from_utf8_lossy(&done.stderr));
            assert_eq!(fs::read(&copy).unwrap(), honest_bytes(), "{scheme}");
            fs::remove_file(copy).unwrap();
        }
    }

    fn assert_modest(&self, case: &str) {
        let memory = self.figure("VmHWM");
        let threads = self.figure("Threads");
        println!("{case}: {} MB at its height, {threads} threads", memory / 1000);
        assert!(memory < MEMORY_KB_MAX, "{case}: {memory} kB");
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        // Those that wait for the file system, and those that drive connections.
        assert!(threads <= 16 + processors + 4, "{case}: {threads} threads");
    }
}

fn limited(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// The messages of a client until its files are open: handle 0 is the large one.
fn logged_in() -> Vec<u8> {
    let login = Login {
        pid: 1,
        user: Login::user_field("flood"),
        ability_2: 0,
        ability: Ability::FULL_URL,
        version: VERSION_5_DEFERRED_ANSWERS,
        about: String::new(),
    };
    let open = Open::reading("/large.root", OpenOptions::FOR_READING);
    [&handshake::REQUEST[..], &login.frame(StreamId(1)), &open.frame(StreamId(2))].concat()
}

fn many(count: u16, ask: impl Fn(StreamId) -> Vec<u8>) -> Vec<u8> {
    let mut asks = logged_in();
    (3..3 + count).for_each(|stream| asks.extend(ask(StreamId(stream))));
    asks
}

const HANDLE: Handle = Handle::from_slot(0);
const GIB: u32 = 1 << 30;

/// One client of a large file that did not read made the server hold 3 GB: the answer was read into
/// memory as fast as the disk gave it.
#[test]
fn http_clients_that_do_not_read_a_large_file() {
    let served = served(&[]);
    let asks = "GET /large.root HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(3);
    let _flood = served.flood(CLIENTS, asks.as_bytes());
    served.assert_an_honest_client_is_served();
    served.settle();
    served.assert_an_honest_client_is_served();
    served.assert_modest("200 HTTP clients of a large file");
}

#[test]
fn http_clients_that_do_not_read_a_thousand_ranges() {
    let served = served(&[]);
    let ranges: Vec<String> = (0..1000u64)
        .map(|at| format!("{}-{}", at * 3_000_000, at * 3_000_000 + 2_000_000))
        .collect();
    let asks = format!(
        "GET /large.root HTTP/1.1\r\nHost: localhost\r\nRange: bytes={}\r\n\r\n",
        ranges.join(",")
    );
    let _flood = served.flood(CLIENTS, asks.repeat(3).as_bytes());
    served.assert_an_honest_client_is_served();
    served.settle();
    served.assert_modest("200 HTTP clients of a thousand ranges");
}

/// Pipelined listings that were not read made it 4 GB.
#[test]
fn http_clients_that_do_not_read_listings() {
    let served = served(&[]);
    served.add_many_files();
    let asks = "GET /many/ HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(1000);
    let _flood = served.flood(CLIENTS, asks.as_bytes());
    served.assert_an_honest_client_is_served();
    served.settle();
    served.assert_modest("200 HTTP clients of listings");
}

/// Answers without a body, of which each is small, and requests for them without end.
#[test]
fn http_clients_that_do_not_read_small_answers() {
    let served = served(&[]);
    let asks =
        "GET /honest.root HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: *\r\n\r\n".repeat(20_000);
    let _none = served.flood(20, asks.as_bytes());
    let asks = "HEAD /absent HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(20_000);
    let _absent = served.flood(20, asks.as_bytes());
    served.assert_an_honest_client_is_served();
    served.settle();
    served.assert_modest("40 HTTP clients of 20,000 small answers");
}

#[test]
fn xrootd_clients_that_do_not_read_a_large_file() {
    let served = served(&[]);
    let read = |stream| {
        ReadRequest { handle: HANDLE, offset: 0, length: GIB, arguments: None }.frame(stream)
    };
    let pages =
        |stream| Pgread { handle: HANDLE, offset: 5, length: GIB, arguments: None }.frame(stream);
    let _reads = served.flood(CLIENTS / 2, &many(200, read));
    let _pages = served.flood(CLIENTS / 2, &many(200, pages));
    served.assert_an_honest_client_is_served();
    served.settle();
    served.assert_an_honest_client_is_served();
    served.assert_modest("200 XRootD clients of a large file");
}

#[test]
fn xrootd_clients_that_do_not_read_vectors() {
    let served = served(&[]);
    let vector = |length: u32| {
        move |stream| {
            let segment = |at: u64| Segment { handle: HANDLE, length, offset: at * 3_000_000 };
            Readv { path: 0, segments: (0..1024).map(segment).collect() }.frame(stream)
        }
    };
    let _long = served.flood(CLIENTS / 2, &many(50, vector(2_000_000)));
    let _short = served.flood(CLIENTS / 2, &many(50, vector(1)));
    served.assert_an_honest_client_is_served();
    served.settle();
    served.assert_modest("200 XRootD clients of vectors");
}

/// 56 kB of requests for listings made 515 threads.
#[test]
fn xrootd_clients_that_do_not_read_listings_and_checksums() {
    let served = served(&[]);
    served.add_many_files();
    let list = |stream| {
        Dirlist { options: DirlistOptions::WITH_STAT, path: "/many".to_owned() }.frame(stream)
    };
    let checksum = |stream| {
        let kind = QueryKind::CHECKSUM;
        let argument = "/large.root".to_owned();
        Query { kind, handle: Handle::default(), argument }.frame(stream)
    };
    let _lists = served.flood(CLIENTS / 2, &many(2000, list));
    let _checksums = served.flood(CLIENTS / 2, &many(500, checksum));
    served.assert_an_honest_client_is_served();
    served.settle();
    served.assert_modest("200 XRootD clients of listings and checksums");
}

/// Requests that are answered at once, without a file: the answers of a client that does not read
/// were kept without end.
#[test]
fn xrootd_clients_that_do_not_read_small_answers() {
    let served = served(&[]);
    let ping = |stream| Ping.frame(stream);
    let config = |stream| {
        let argument = "version\n".repeat(500);
        Query { kind: QueryKind::CONFIG, handle: Handle::default(), argument }.frame(stream)
    };
    let refused =
        |stream| Open::reading("/new", OpenOptions::READ | OpenOptions::UPDATE).frame(stream);
    let _pings = served.flood(10, &many(60_000, ping));
    let _configs = served.flood(10, &many(5000, config));
    let _refused = served.flood(10, &many(60_000, refused));
    served.assert_an_honest_client_is_served();
    served.settle();
    served.assert_modest("30 XRootD clients of small answers");
}

/// As if far away, bytes under way to the clients are in the server's memory, too.
#[test]
fn distant_clients_that_do_not_read() {
    let served = served(&["--rtt", "10ms"]);
    let asks = "GET /large.root HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let _http = served.flood(CLIENTS / 2, asks.as_bytes());
    let read = |stream| {
        ReadRequest { handle: HANDLE, offset: 0, length: GIB, arguments: None }.frame(stream)
    };
    let _xrootd = served.flood(CLIENTS / 2, &many(200, read));
    served.assert_an_honest_client_is_served();
    served.settle();
    served.assert_modest("200 distant clients of a large file");
}

/// Sessions with a handshake only took all places, for ever.
#[test]
fn more_handshakes_than_there_are_places() {
    let served = served(&["--connections", "300", "--connections-per-address", "300"]);
    let mut flood = Vec::new();
    for number in 0..301 {
        let mut stream = served.connect();
        // Some send half of it, some do not log in, some send half a request in HTTP, some nothing
        // at all.
        let sent: &[u8] = match number % 4 {
            0 => &handshake::REQUEST,
            1 => &handshake::REQUEST[..10],
            2 => b"GET /honest.root HTTP/1.1\r\nHost",
            _ => b"",
        };
        let _ = stream.write_all(sent);
        flood.push(stream);
    }
    served.assert_an_honest_client_is_served();
    // Sessions that have logged in and then send nothing.
    drop(flood);
    let _idle = served.flood(301, &logged_in());
    served.assert_an_honest_client_is_served();
    served.assert_modest("301 sessions that say nothing");
}

/// All places of an address are taken by clients at work: other addresses are served, and one more
/// client of this one learns in words why it is not.
#[test]
fn an_address_that_takes_all_its_places_is_refused_in_words_and_others_are_served() {
    let served = served(&["--connections", "40", "--connections-per-address", "20"]);
    let asks = "GET /large.root HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let from_elsewhere = || {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        let stream = runtime.block_on(socket.connect(served.address)).unwrap().into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        limited(stream)
    };
    let mut flood = Vec::new();
    for _ in 0..20 {
        let mut stream = from_elsewhere();
        stream.write_all(asks.as_bytes()).unwrap();
        // At work: the first bytes of the answer are here.
        stream.read_exact(&mut [0; 15]).unwrap();
        flood.push(stream);
    }
    let mut http = from_elsewhere();
    http.write_all(asks.as_bytes()).unwrap();
    let mut answer = String::new();
    http.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("no place"), "{answer}");
    let mut xrootd = from_elsewhere();
    xrootd.write_all(&logged_in()).unwrap();
    let mut answer = [0; 16 + 8 + 4 + 20];
    xrootd.read_exact(&mut answer).unwrap();
    assert!(String::from_utf8_lossy(&answer).contains("this server has no"), "{answer:?}");
    served.assert_an_honest_client_is_served();
}

/// Two sessions with a thousand open files each left none for any other from their address.
#[test]
fn sessions_that_open_thousands_of_files() {
    let served = served(&["--files", "400"]);
    let open = |stream| Open::reading("/honest.root", OpenOptions::FOR_READING).frame(stream);
    let _flood = served.flood(20, &many(1000, open));
    served.assert_an_honest_client_is_served();
    let open = fs::read_dir(format!("/proc/{}/fd", served.process.id())).unwrap().count();
    assert!(open < 400 + 20 + 50, "{open} descriptors");
    served.assert_modest("20 sessions that open 1,000 files each");
}

/// Writes, uploads and requests of no known kind were read as long as they came, and bodies that
/// nothing looks at kept whole.
#[test]
fn clients_that_send_what_is_not_wanted() {
    let served = served(&[]);
    let body = |code: u16, length: u32| {
        let mut asks = logged_in();
        let header = xrootd::header::RequestHeader {
            stream: StreamId(9),
            code,
            parameters: [0; 16],
            length,
        };
        asks.extend(header.encode());
        asks.resize(asks.len() + (length as usize).min(2_000_000), b'a');
        asks
    };
    let mut flood = Vec::new();
    for (code, length) in [
        (3019, 0x7fff_ffff),
        (3099, 0x7fff_ffff),
        (3021, 1_000_000),
        (3018, 1_000_000),
        (3010, 1_000_000),
        (3025, 1_000_000),
        (3000, 1_000_000),
    ] {
        flood.extend(served.flood(30, &body(code, length)));
    }
    let upload =
        format!("PUT /new HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", 1u64 << 40);
    let mut upload = upload.into_bytes();
    upload.resize(1_000_000, b'a');
    flood.extend(served.flood(30, &upload));
    let mut header = b"GET /honest.root HTTP/1.1\r\nX: ".to_vec();
    header.resize(1_000_000, b'a');
    flood.extend(served.flood(30, &header));
    served.assert_an_honest_client_is_served();
    served.settle();
    served.assert_modest("270 clients that send what is not wanted");
}
