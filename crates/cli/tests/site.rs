//! `farroot proxy` as a service: its file, and the signals of an administrator.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serve::{Config, Server, Shape};

const BYTES: usize = 3_000_000;

/// A proxy that was started as systemd does.
struct Service {
    child: Child,
    words: UnixDatagram,
    address: String,
    folder: tempfile::TempDir,
}

impl Service {
    fn start(file: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("notify");
        let words = UnixDatagram::bind(&socket).unwrap();
        words.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let path = folder.path().join("site.toml");
        fs::write(&path, file.replace("FOLDER", folder.path().to_str().unwrap())).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_farroot"))
            .args(["proxy", "--config", path.to_str().unwrap()])
            .env("NOTIFY_SOCKET", &socket)
            .env("FARROOT_STORE", "0")
            // It chooses events, not their format.
            .env("RUST_LOG", "farroot=info")
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.nth(1).expect("the address for HTTP").unwrap();
        let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let service = Service { child, words, address, folder };
        assert!(service.word().contains("READY=1"));
        service
    }

    fn word(&self) -> String {
        let mut bytes = [0; 512];
        let count = self.words.recv(&mut bytes).expect("a word for systemd");
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// A request, and its response up to the body.
    fn get(&self, path: &str) -> (String, TcpStream) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        (String::from_utf8_lossy(&head).to_ascii_lowercase(), stream)
    }

    fn lines(&self, name: &str) -> usize {
        fs::read_to_string(self.folder.path().join(name)).map_or(0, |text| text.lines().count())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn origin(folder: &Path, flow_rate: Option<u64>) -> Server {
    fs::write(folder.join("f.root"), vec![7; BYTES]).unwrap();
    let shape = Shape { flow_rate, ..Shape::default() };
    Server::start(Config { shape, ..Config::new(folder) }).unwrap()
}

fn until(event: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(30), "{event}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

const SITE: &str = "port = 0\norigin = ['*']\nlog = 'json'\naccess-log = 'FOLDER/access.jsonl'\n";

/// TERM cut transfers, and HUP ended the proxy.
#[test]
fn a_transfer_outlives_a_reload_and_a_termination() {
    let files = tempfile::tempdir().unwrap();
    let origin = origin(files.path(), Some(200_000));
    let mut service = Service::start(SITE);
    let (head, _) = service.get("/readyz");
    assert!(head.starts_with("http/1.1 200"), "{head}");
    let (head, mut transfer) = service.get(&format!("/{}f.root", origin.http_url()));
    assert!(head.starts_with("http/1.1 200"), "{head}");
    service.signal(Signal::HUP);
    assert!(service.word().contains("RELOADING=1\nMONOTONIC_USEC="));
    assert!(service.word().contains("READY=1"));
    service.signal(Signal::TERM);
    assert!(service.word().contains("STOPPING=1"));
    until("no client is taken any more", || TcpStream::connect(&service.address).is_err());
    let mut body = vec![0; BYTES];
    transfer.read_exact(&mut body).unwrap();
    assert!(body.iter().all(|byte| *byte == 7));
    drop(transfer);
    assert!(service.child.wait().unwrap().success());
    let log = service.log();
    assert!(log.lines().all(|line| line.starts_with('{')), "{log}");
    assert!(log.contains("are read again") && log.contains("all transfers have ended"), "{log}");
}

#[test]
fn an_idle_client_does_not_delay_the_end() {
    let mut service = Service::start(SITE);
    let (_, _idle) = service.get("/healthz");
    service.signal(Signal::TERM);
    let begin = Instant::now();
    assert!(service.child.wait().unwrap().success());
    assert!(begin.elapsed() < Duration::from_secs(20), "it waited for an idle client");
}

/// `logrotate` renames the file and sends HUP.
#[test]
fn a_renamed_access_log_begins_anew() {
    let files = tempfile::tempdir().unwrap();
    let origin = origin(files.path(), None);
    let service = Service::start(SITE);
    let name = format!("/{}f.root", origin.http_url());
    let read = || {
        let (_, mut stream) = service.get(&name);
        stream.read_exact(&mut vec![0; BYTES]).unwrap();
    };
    read();
    until("a line is written", || service.lines("access.jsonl") == 1);
    let log = service.folder.path().join("access.jsonl");
    fs::rename(&log, log.with_extension("1")).unwrap();
    service.signal(Signal::HUP);
    until("there is a new file", || log.exists());
    read();
    until("a line is in the new file", || service.lines("access.jsonl") == 1);
    assert_eq!(service.lines("access.1"), 1);
}

/// Rules were read when the proxy started, and never again.
#[test]
fn a_reload_reads_the_rules_of_the_file_again() {
    let files = tempfile::tempdir().unwrap();
    let origin = origin(files.path(), None);
    let with = |read: &str| format!("{SITE}[[rule]]\npath = '*'\nread = [{read}]\n");
    let service = Service::start(&with(""));
    let name = format!("/{}f.root", origin.http_url());
    let status = || service.get(&name).0.split(' ').nth(1).unwrap().to_owned();
    assert_eq!(status(), "403");
    let reload = |text: &str| {
        let here = service.folder.path();
        let text = text.replace("FOLDER", here.to_str().unwrap());
        fs::write(here.join("site.toml"), text).unwrap();
        service.signal(Signal::HUP);
        assert!(service.word().contains("RELOADING=1"));
        assert!(service.word().contains("READY=1"));
    };
    reload(&with("'anyone'"));
    assert_eq!(status(), "200");
    reload(&with("'everyone'"));
    assert_eq!(status(), "200");
    until("the fault is logged", || service.log().contains("everything stays as it was"));
    assert!(service.log().contains("is nobody"), "{}", service.log());
}

const ISSUER: &str = "[[issuer]]\nname = 'a'\nurl = 'https://a'\naudience = ['b']\n\
                      [[rule]]\npath = '*'\nread = ['scope:a']\n";
const CREDENTIAL: &str = "[[origin]]\nserver = 'https://h'\n\
                          credential = { token = '/nowhere/token' }\n\
                          [[rule]]\npath = '*'\nread = ['anyone']\n";

#[test]
fn a_file_is_checked_without_a_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        let path = folder.path().join("site.toml");
        fs::write(&path, text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_farroot"))
            .args(["proxy", "--check", "--config", path.to_str().unwrap()])
            .env("FARROOT_STORE", "0")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), text + &String::from_utf8_lossy(&output.stderr))
    };
    let (is_right, text) = check("port = 0\norigin = ['root://*.cern.ch']\n");
    assert!(is_right && text.contains("port 0: public files"), "{text}");
    // It said that a proxy could start on ports and with a cache that it could not have.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let origin = "address = '127.0.0.1'\norigin = ['root://*.cern.ch']\n";
    let said = format!("port {port} of 127.0.0.1");
    let (is_right, text) = check(&format!("port = {port}\n{origin}"));
    assert!(!is_right && text.contains(&said), "{text}");
    drop(taken);
    let (is_right, text) = check(&format!("port = {port}\nhttp-port = {port}\n{origin}"));
    assert!(!is_right && text.contains(&said), "{text}");
    let settings = "[settings]\ncache = '1 GB'\ncache_folder = '/proc/x'\n";
    let (is_right, text) = check(&format!("port = 0\n{origin}{settings}"));
    assert!(!is_right && text.contains("/proc/x"), "{text}");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/site.toml");
    let example = fs::read_to_string(example).unwrap();
    let here = folder.path().to_str().unwrap();
    let example = example.replace("/var/log/farroot", here).replace("/var/cache/farroot", here);
    let example = example.replace("port = 1094", "port = 0");
    let (is_right, text) = check(&example);
    assert!(is_right && text.contains("root://*.cern.ch, https://*.cern.ch"), "{text}");
    for (file, why) in [
        ("origins = ['*']\n", "line 1"),
        ("origin = ['root//x']\n", "an origin is"),
        ("[settings]\nmemroy = '1 GB'\n", "did you mean memory"),
        ("token = '/nowhere'\n", "within TLS only"),
        ("[tls]\ncertificate = '/nowhere'\nkey = '/nowhere'\n", "/nowhere"),
        ("access-log = '/nowhere/access.jsonl'\n", "nowhere"),
        ("[[rule]]\npath = 'root://h//a'\nread = ['everybody']\n", "\"everybody\" is nobody"),
        ("[[rule]]\npath = 'root://h//a'\nread = ['scope:cms']\n", "no issuer is called so"),
        ("[[rule]]\npath = 'root://h//a'\nread = ['token']\n", "no list \"token\""),
        ("[[rule]]\npath = 'root://h//a'\nreed = []\n", "line 3"),
        ("[[rule]]\npath = 'h/a/../b'\nread = []\n", "a path with . or .."),
        ("[[rule]]\npath = '*'\nread = []\n[[rule]]\npath = 'h/a'\nread = []\n", "never counts"),
        (ISSUER, "within TLS only"),
        ("[[origin]]\nserver = 'http://h'\ncredential = 'passthrough'\n", "write https://"),
        ("[[origin]]\nserver = 'https://h'\ncredential = 'passthrough'\n", "no rule says"),
        (CREDENTIAL, "/nowhere/token"),
    ] {
        let (is_right, text) = check(file);
        assert!(!is_right && text.contains(why), "{file}: {text}");
    }
}

/// The rules of a served folder were in the library, and had no option.
#[test]
fn a_served_folder_has_rules() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for name in ["open", "closed"] {
        fs::create_dir_all(data.join(name)).unwrap();
        fs::write(data.join(name).join("f"), name).unwrap();
    }
    let rules = folder.path().join("access.toml");
    fs::write(&rules, "[[rule]]\npath = '/open'\nread = ['anyone']\n").unwrap();
    let start = |options: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_farroot"))
            .arg("serve")
            .arg(&data)
            .args(["--port", "0", "--access", rules.to_str().unwrap()])
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let child = start(&[]);
    let (words, _) = UnixDatagram::pair().unwrap();
    let mut service = Service { child, words, address: String::new(), folder };
    let mut lines = BufReader::new(service.child.stdout.take().unwrap()).lines();
    let url = lines.nth(1).expect("the address for HTTP").unwrap();
    service.address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    for (path, status) in [("/open/f", "200"), ("/closed/f", "403"), ("/none/f", "403")] {
        let (head, _) = service.get(path);
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{path}: {head}");
    }
    let refused = start(&["--writable"]).wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("cannot be used with"));
    for (path, who, why) in [("open", "anyone", "with a slash"), ("/open", "someone", "someone")] {
        fs::write(&rules, format!("[[rule]]\npath = '{path}'\nread = ['{who}']\n")).unwrap();
        let refused = start(&[]).wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && error.contains(why), "{error}");
    }
}
