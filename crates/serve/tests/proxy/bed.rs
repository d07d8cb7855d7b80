//! An origin and a proxy before it, both in this process, and HTTP requests.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use farroot_serve::{Config, Content, Forwarding, Server};

pub const BYTES: usize = 3_000_000;

pub fn content() -> Vec<u8> {
    (0..BYTES).map(|at| (at / 7 + at / 4096 + at) as u8).collect()
}

/// An origin with a file, and a proxy before it.
pub struct Bed {
    folder: tempfile::TempDir,
    pub origin: Server,
    pub proxy: Server,
}

pub fn forwarding() -> Forwarding {
    let settings = remote::Config::default();
    Forwarding { settings, origins: Vec::new(), secret: None, access_log: None }
}

pub fn bed(forwarding: Forwarding) -> Bed {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("d")).unwrap();
    fs::write(folder.path().join("d/f g.root"), content()).unwrap();
    fs::write(folder.path().join("empty"), "").unwrap();
    // Each server has a runtime of its own.
    tokio::task::block_in_place(|| {
        let origin = Server::start(Config::new(folder.path())).unwrap();
        let proxy = Server::start(Config::of(Content::Far(Box::new(forwarding)))).unwrap();
        Bed { folder, origin, proxy }
    })
}

impl Bed {
    /// The folder that the origin serves.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// `root://proxy//root://origin//path`
    pub fn root(&self, path: &str) -> String {
        format!("{}{}{path}", self.proxy.root_url(), self.origin.root_url())
    }
}

/// One HTTP exchange on a connection of its own: status, headers and body.
pub fn http(server: &Server, method: &str, path: &str, headers: &str) -> (u16, String, Vec<u8>) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut body = Vec::new();
    reader.read_to_end(&mut body).unwrap();
    (status, head.to_ascii_lowercase(), body)
}

pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}
