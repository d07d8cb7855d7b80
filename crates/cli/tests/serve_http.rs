//! `farroot serve` as an HTTP client sees it, over real sockets.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use cli::serve::shaped::Shape;
use cli::serve::{Config, Server};

/// A served folder with one file whose bytes tell their offsets.
struct Served {
    _folder: tempfile::TempDir,
    server: Server,
    content: Vec<u8>,
}

fn served(shape: Shape) -> Served {
    let folder = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..1_000_000u32).map(|at| (at / 7 + at) as u8).collect();
    let inside = folder.path().join("inside");
    fs::create_dir_all(inside.join("sub dir")).unwrap();
    fs::write(inside.join("sub dir/a b.root"), &content).unwrap();
    fs::write(inside.join("empty"), "").unwrap();
    fs::write(folder.path().join("secret"), "secret").unwrap();
    symlink(folder.path().join("secret"), inside.join("leak")).unwrap();
    let server = Server::start(Config { shape, ..Config::new(&inside) }).unwrap();
    Served { _folder: folder, server, content }
}

struct Client(BufReader<TcpStream>);

struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl Client {
    fn new(served: &Served) -> Self {
        let stream = TcpStream::connect(served.server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Client(BufReader::new(stream))
    }

    fn send(&mut self, method: &str, path: &str, headers: &str) {
        let request = format!("{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
    }

    fn receive(&mut self, with_body: bool) -> Answer {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the server hung up");
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
        let split = |line: &String| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_ascii_lowercase(), value.to_owned())
        };
        let mut answer =
            Answer { status, headers: lines[1..].iter().map(split).collect(), body: Vec::new() };
        if with_body && let Some(length) = answer.header("content-length") {
            answer.body = vec![0; length.parse().unwrap()];
            self.0.read_exact(&mut answer.body).unwrap();
        }
        answer
    }

    fn get(&mut self, path: &str, headers: &str) -> Answer {
        self.send("GET", path, headers);
        self.receive(true)
    }
}

const FILE: &str = "/sub%20dir/a%20b.root";

#[test]
fn whole_files_ranges_and_their_limits() {
    let served = served(Shape::default());
    let mut client = Client::new(&served);
    let whole = client.get(FILE, "");
    assert_eq!((whole.status, &whole.body), (200, &served.content));
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    let part = client.get(FILE, "Range: bytes=300000-700000\r\n");
    assert_eq!((part.status, &part.body[..]), (206, &served.content[300_000..=700_000]));
    assert_eq!(part.header("content-range"), Some("bytes 300000-700000/1000000"));
    let tail = client.get(FILE, "Range: bytes=-10\r\n");
    assert_eq!((tail.status, &tail.body[..]), (206, &served.content[999_990..]));
    let beyond = client.get(FILE, "Range: bytes=1000000-\r\n");
    assert_eq!((beyond.status, beyond.header("content-range")), (416, Some("bytes */1000000")));
    assert_eq!(client.get("/empty", "").body, b"");
    assert_eq!(client.get("/empty", "Range: bytes=-5\r\n").status, 416);
}

#[test]
fn several_ranges_come_in_the_order_asked() {
    let served = served(Shape::default());
    let answer = Client::new(&served).get(FILE, "Range: bytes=500-999,0-9,-5\r\n");
    assert_eq!(answer.status, 206);
    let kind = answer.header("content-type").unwrap();
    let boundary = kind.strip_prefix("multipart/byteranges; boundary=").unwrap();
    let mut expected = Vec::new();
    for range in [500..1000, 0..10, 999_995..1_000_000] {
        let (first, last) = (range.start, range.end - 1);
        write!(expected, "\r\n--{boundary}\r\nContent-Range: bytes {first}-{last}/1000000\r\n\r\n")
            .unwrap();
        expected.extend_from_slice(&served.content[range]);
    }
    write!(expected, "\r\n--{boundary}--\r\n").unwrap();
    assert_eq!(answer.body, expected);
}

#[test]
fn validators_are_honoured() {
    let served = served(Shape::default());
    let mut client = Client::new(&served);
    client.send("HEAD", FILE, "");
    let head = client.receive(false);
    assert_eq!((head.status, head.header("content-length")), (200, Some("1000000")));
    let etag = head.header("etag").unwrap().to_owned();
    assert_eq!(client.get(FILE, &format!("If-None-Match: {etag}\r\n")).status, 304);
    let same = client.get(FILE, &format!("If-Range: {etag}\r\nRange: bytes=0-0\r\n"));
    assert_eq!(same.status, 206);
    let changed = client.get(FILE, "If-Range: \"other\"\r\nRange: bytes=0-0\r\n");
    assert_eq!((changed.status, changed.body.len()), (200, 1_000_000));
}

#[test]
fn folders_are_listed_and_nothing_outside_is_reached() {
    let served = served(Shape::default());
    let mut client = Client::new(&served);
    let top = String::from_utf8(client.get("/", "").body).unwrap();
    assert!(top.contains("href=\"/sub%20dir/\"") && !top.contains("leak"), "{top}");
    let below = String::from_utf8(client.get("/sub%20dir/", "").body).unwrap();
    assert!(below.contains(&format!("href=\"{FILE}\"")), "{below}");
    for (path, status) in
        [("/leak", 403), ("/../secret", 403), ("/%2e%2e/secret", 403), ("/no", 404)]
    {
        let answer = client.get(path, "");
        assert_eq!(answer.status, status, "{path}");
        assert!(!String::from_utf8_lossy(&answer.body).contains("secret"));
    }
    client.send("PUT", "/new", "Content-Length: 0\r\n");
    assert_eq!(client.receive(true).status, 405);
}

#[test]
fn distance_is_kept_over_real_sockets() {
    let rtt = Duration::from_millis(50);
    let served = served(Shape { rtt, ..Shape::default() });
    let start = Instant::now();
    let mut client = Client::new(&served);
    for at in 0..20 {
        client.send("GET", FILE, &format!("Range: bytes={at}-{at}\r\n"));
    }
    for at in 0..20 {
        assert_eq!(client.receive(true).body, served.content[at..=at]);
    }
    // A delay line can be late on a busy machine, but never early: the handshake and one answer.
    assert!(start.elapsed() >= 2 * rtt - Duration::from_millis(2), "{:?}", start.elapsed());
}
