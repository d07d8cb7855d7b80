//! Proxies behind nginx, which chooses one by the name of the file.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use farroot_serve::Server;

use super::bed::{forwarding, header};
use super::guarded::clients::HttpClient;

const FILES: usize = 24;

/// nginx, ended with the test.
struct Nginx {
    child: Child,
    port: u16,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The part of nginx's configuration that the documents show.
fn configuration(folder: &Path, port: u16, nodes: &[Server]) -> String {
    let servers: String =
        nodes.iter().map(|node| format!("server {};\n", node.address())).collect();
    let places = ["proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary = places.map(|name| format!("{name}_temp_path {name};")).join(" ");
    format!(
        "daemon off; master_process off; pid nginx.pid; error_log {}/nginx.log;\nevents {{}}\n\
         http {{ access_log off; {temporary} client_body_temp_path body;\n\
         upstream caches {{ hash $request_uri consistent;\n{servers}keepalive 16; }}\n\
         server {{ listen 127.0.0.1:{port};\n\
         location / {{\n\
         proxy_pass http://caches;\n\
         proxy_http_version 1.1;\n\
         proxy_set_header Connection \"\";\n\
         proxy_set_header Host localhost;\n\
         proxy_buffering off;\n\
         proxy_connect_timeout 2s;\n\
         proxy_next_upstream error timeout;\n\
         }} }} }}\n",
        folder.display()
    )
}

fn start(folder: &Path, nodes: &[Server]) -> Option<Nginx> {
    // Free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = folder.join("nginx.conf");
    fs::write(&config, configuration(folder, port, nodes)).unwrap();
    let mut command = Command::new("nginx");
    command.arg("-p").arg(folder).arg("-c").arg(&config);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(child) = command.spawn() else {
        eprintln!("SKIPPED: nginx is not installed; no proxy behind it was tested");
        return None;
    };
    let mut nginx = Nginx { child, port };
    for _ in 0..600 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Some(nginx);
        }
        assert!(nginx.child.try_wait().unwrap().is_none(), "nginx has ended");
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("nginx does not listen");
}

/// Each file is cached by one proxy, also over the connections of several clients; one that dies
/// costs its clients no error, and the others keep their files.
#[tokio::test(flavor = "multi_thread")]
async fn nginx_sends_each_file_to_one_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let served = folder.path().join("files");
    fs::create_dir(&served).unwrap();
    let content = |number: usize| format!("{number} ").repeat(10_000);
    for number in 0..FILES {
        fs::write(served.join(format!("f {number}.root")), content(number)).unwrap();
    }
    tokio::task::block_in_place(|| {
        let origin = Server::start(farroot_serve::Config::new(&served)).unwrap();
        let node = |_| {
            let far = farroot_serve::Content::Far(Box::new(forwarding()));
            Server::start(farroot_serve::Config::of(far)).unwrap()
        };
        let mut nodes: Vec<Server> = (0..3).map(node).collect();
        let Some(nginx) = start(folder.path(), &nodes) else { return };
        let read_all = |nodes: &[Server]| {
            let mut client = HttpClient::of(TcpStream::connect(("127.0.0.1", nginx.port)).unwrap());
            for number in 0..FILES {
                let path = format!("/{}f%20{number}.root", origin.http_url());
                let answer = client.ask("GET", &path, "", "");
                assert_eq!(answer.status, 200, "{path}: {}", answer.head);
                assert!(answer.body == content(number).into_bytes(), "{path}");
                let part = client.ask("GET", &path, "Range: bytes=5-9\r\n", "");
                assert_eq!(
                    (part.status, &part.body[..]),
                    (206, &content(number).as_bytes()[5..10])
                );
                assert!(header(&part.head, "etag").is_some());
            }
            let opens = nodes.iter().map(|node| node.figures().unwrap().origin_opens);
            opens.collect::<Vec<u64>>()
        };
        let first = read_all(&nodes);
        assert_eq!(first.iter().sum::<u64>(), FILES as u64, "{first:?}");
        assert!(first.iter().all(|count| *count > 0), "{first:?}");
        assert_eq!(read_all(&nodes), first, "each node has its files already");
        drop(nodes.remove(0));
        let after = read_all(&nodes);
        assert_eq!(after.iter().sum::<u64>(), FILES as u64, "{after:?}: its share only");
    });
}
