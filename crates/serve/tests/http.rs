//! `farroot serve` as an HTTP client sees it, over real sockets.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use farroot_serve::{Config, Content, HTTP_FIELDS, Limits, Server, Shape};

/// A served folder with one file whose bytes depend on their offsets.
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
        let request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
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
        if with_body && answer.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk() {
                answer.body.extend_from_slice(&chunk);
            }
        }
        answer
    }

    /// One chunk of a body whose length was not known; `None` for the last.
    fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        let mut chunk = vec![0; usize::from_str_radix(line.trim_end(), 16).unwrap() + 2];
        self.0.read_exact(&mut chunk).unwrap();
        chunk.truncate(chunk.len() - 2);
        (!chunk.is_empty()).then_some(chunk)
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
        let first = range.start;
        let last = range.end - 1;
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

/// Regression: a request without a host, with two, or with a target that is no path was answered,
/// and a target that was a whole address could name any host.
#[test]
fn a_request_without_a_valid_form_is_refused() {
    let served = served(Shape::default());
    let sent = |text: &str| {
        let mut client = Client::new(&served);
        client.0.get_mut().write_all(text.as_bytes()).unwrap();
        client.receive(false).status
    };
    let host = "Host: localhost\r\n";
    let address = served.server.address();
    for (line, headers, status) in [
        ("GET /empty HTTP/1.1", host.to_owned(), 200),
        (&*format!("GET http://{address}/empty HTTP/1.1"), host.to_owned(), 200),
        ("GET http://evil.example/empty HTTP/1.1", host.to_owned(), 421),
        ("GET /empty HTTP/1.1", "Host: evil.example\r\n".to_owned(), 421),
        ("GET /empty HTTP/1.1", String::new(), 400),
        ("GET /empty HTTP/1.1", host.repeat(2), 400),
        ("GET /empty HTTP/1.0", String::new(), 200),
        ("GET empty HTTP/1.1", host.to_owned(), 400),
        ("GET sub%20dir/a HTTP/1.1", host.to_owned(), 400),
    ] {
        assert_eq!(sent(&format!("{line}\r\n{headers}\r\n")), status, "{line} {headers}");
    }
}

/// The limits are those that the manual names.
#[test]
fn the_head_of_a_request_has_limits() {
    let served = served(Shape::default());
    let fields = |count: usize| {
        let headers: String = (1..count).map(|at| format!("X-{at}: y\r\n")).collect();
        Client::new(&served).get("/empty", &headers).status
    };
    assert_eq!((fields(HTTP_FIELDS), fields(HTTP_FIELDS + 1)), (200, 431));
}

/// Names with a quotation mark ended the link that they were in; `.git` and `.ssh` were listed and
/// readable; a loop of links was an error of the server (500).
#[test]
fn every_name_of_a_page_leads_to_its_file_and_hidden_ones_are_not_there() {
    let served = served(Shape::default());
    let inside = served._folder.path().join("inside");
    let names: [&[u8]; 7] =
        [b"a?b%20#c.root", b"<b>&\"'", b"line\nbreak", b"\x1b[31m", b"\xff\xfe", b"http:", b"+ +"];
    for name in names {
        fs::write(inside.join("sub dir").join(OsStr::from_bytes(name)), name).unwrap();
    }
    fs::create_dir(inside.join(".ssh")).unwrap();
    fs::write(inside.join(".ssh/key"), "secret").unwrap();
    symlink(".ssh/key", inside.join("key")).unwrap();
    symlink("loop", inside.join("loop")).unwrap();
    let mut client = Client::new(&served);
    for folder in ["/sub%20dir/", "/sub%20dir", "//sub%20dir//"] {
        let page = client.get(folder, "");
        let page = String::from_utf8(page.body).unwrap();
        let links: Vec<&str> =
            page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(links.len(), names.len() + 1, "{page}");
        assert!(links.iter().all(|link| link.starts_with("/sub%20dir/")), "{page}");
        assert_eq!(page.lines().count(), links.len() + 2, "a name is one line");
        assert!(!page.contains('\x1b') && !page.contains("<b>"), "{page}");
        let found = |name: &&[u8]| links.iter().any(|link| client.get(link, "").body == **name);
        assert!(names.iter().all(found), "{page}");
    }
    let top = String::from_utf8(client.get("/", "").body).unwrap();
    assert!(!top.contains("ssh") && !top.contains("key") && !top.contains("loop"), "{top}");
    let long = format!("/{}", "x".repeat(300));
    for path in ["/.ssh", "/.ssh/", "/.ssh/key", "/%2essh/key", "/key", "/loop", "/loop/x", &long] {
        assert_eq!(client.get(path, "").status, 404, "{path}");
    }
    let content = Content::Folder { path: inside, hidden: true, writable: false };
    let all = Server::start(Config::of(content)).unwrap();
    let served = Served { server: all, ..served };
    let mut client = Client::new(&served);
    assert_eq!(client.get("/.ssh/key", "").body, b"secret");
    assert!(String::from_utf8(client.get("/", "").body).unwrap().contains("/.ssh/"));
}

#[test]
fn a_large_folder_comes_in_chunks() {
    let served = served(Shape::default());
    let many = served._folder.path().join("inside/many");
    fs::create_dir(&many).unwrap();
    let name = |number| format!("{number:04}-{}", "x".repeat(200));
    for number in 0..1000 {
        fs::write(many.join(name(number)), "").unwrap();
    }
    let limits = Limits { answer_bytes_max: 1 << 16, ..Limits::default() };
    let server = Server::start(Config { limits, ..Config::new(many.parent().unwrap()) }).unwrap();
    let served = Served { server, ..served };
    let mut client = Client::new(&served);
    let page = client.get("/many/", "");
    assert_eq!(page.header("transfer-encoding"), Some("chunked"));
    let text = String::from_utf8(page.body).unwrap();
    for number in 0..1000 {
        assert_eq!(text.matches(&format!("many/{}\"", name(number))).count(), 1);
    }
    assert!(text.ends_with("</pre>\n"));
    assert_eq!(client.get(FILE, "").status, 200, "the connection goes on");
}

/// A request of 5 kB for the whole file a thousand times over was answered with a thousand files.
#[test]
fn ranges_that_overlap_bring_the_file_once() {
    let served = served(Shape::default());
    let mut client = Client::new(&served);
    let ranges = "0-,".repeat(1000);
    let answer = client.get(FILE, &format!("Range: bytes={ranges}\r\n"));
    assert_eq!((answer.status, answer.body.len()), (200, served.content.len()));
    let ranges: Vec<String> = (0..1000).map(|at| format!("{}-{}", at * 1000, at * 1000)).collect();
    let answer = client.get(FILE, &format!("Range: bytes={}\r\n", ranges.join(",")));
    let kind = answer.header("content-type").unwrap();
    assert_eq!((answer.status, kind.starts_with("multipart/byteranges")), (206, true));
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!(text.matches("Content-Range").count(), 1000);
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
