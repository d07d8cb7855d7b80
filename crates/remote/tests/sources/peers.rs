//! Servers that others have written, where this machine has them.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use farroot_remote::Checksums;
use farroot_remote::address::Address;
use farroot_remote::fetch::{Urgency, Want};
use farroot_remote::source::FileEnd;
use farroot_remote::source::network::{Network, Tcp};
use farroot_remote::source::one_shot::checksum;
use farroot_remote::{Algorithm, Hasher};
use farroot_remote::{Config, ErrorKind};
use futures::StreamExt;

use super::conformance;
use super::http::server;
use super::lay_out;
use super::over_tcp;
use super::talk::{Talk, file};

/// A server's process, ended with the test.
pub struct Process(Child);

impl Process {
    /// Waits until its port answers; how it ended if it never does.
    fn ended_before_it_listens(&mut self, port: u16) -> Option<ExitStatus> {
        for _ in 0..1200 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return None;
            }
            if let Ok(Some(status)) = self.0.try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("nothing listens on port {port} after 60 s");
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(Some(_)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that is free, and that no other test of this process gets: a server that a test starts
/// again finds its port free. It lies below those that the system gives to the near ends of
/// connections: one of these could be taken before the server listens.
pub fn free_port() -> u16 {
    const PORTS: u16 = 400;
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + (std::process::id() % 30) as u16 * PORTS;
    std::iter::repeat_with(|| TAKEN.fetch_add(1, Ordering::Relaxed))
        .take_while(|taken| *taken < PORTS)
        .map(|taken| first + taken)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a port that no test has had")
}

/// Starts a command and waits until its port answers, if it has one; `None`, loudly, where the
/// command does not exist. xrootd now and then crashes while it starts, and is started again.
pub fn start(command: &mut Command, port: Option<u16>) -> Option<Process> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for _ in 0..5 {
        let mut process = match command.spawn() {
            Ok(child) => Process(child),
            Err(error) => {
                eprintln!("SKIPPED: {name} cannot be started: {error}");
                return None;
            }
        };
        let Some(port) = port else { return Some(process) };
        match process.ended_before_it_listens(port) {
            None => return Some(process),
            Some(status) if status.signal().is_some() => eprintln!("{name} ended: {status}"),
            Some(status) => panic!("{name} ended ({status}) before it listened on port {port}"),
        }
    }
    panic!("{name} crashes whenever it is started");
}

async fn conforms(port: u16) {
    let origin: Address = format!("http://127.0.0.1:{port}/").parse().unwrap();
    let url_of = |name: &str| Address::parse(&format!("{origin}{name}")).unwrap();
    conformance::check(server(&origin, &Config::default()), url_of).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pythons_own_server_keeps_the_rules() {
    let directory = tempfile::tempdir().unwrap();
    lay_out(directory.path());
    let port = free_port();
    let mut command = Command::new("python3");
    command.args(["-m", "http.server", "--bind", "127.0.0.1", &port.to_string()]);
    let Some(_server) = start(command.current_dir(directory.path()), Some(port)) else { return };
    conforms(port).await;
}

/// Static files as aiohttp serves them, of the current directory, at the port that is given.
const AIOHTTP: &str = "import sys, aiohttp.web as web\n\
    app = web.Application()\n\
    app.router.add_static('/', '.')\n\
    web.run_app(app, host='127.0.0.1', port=int(sys.argv[1]), print=None)";

/// It answers several ranges with 416.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aiohttps_static_files_keep_the_rules() {
    let directory = tempfile::tempdir().unwrap();
    lay_out(directory.path());
    let environment = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
    let python = if environment.exists() { environment } else { "python3".into() };
    let has_it = Command::new(&python).args(["-c", "import aiohttp"]).output();
    if !has_it.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: {} has no aiohttp", python.display());
        return;
    }
    let port = free_port();
    let mut command = Command::new(&python);
    command.args(["-c", AIOHTTP, &port.to_string()]);
    let Some(_server) = start(command.current_dir(directory.path()), Some(port)) else { return };
    conforms(port).await;
}

/// With several ranges in one answer, with one, with none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_keeps_the_rules() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir(root.join("data")).unwrap();
    lay_out(&root.join("data"));
    let ports = [free_port(), free_port(), free_port()];
    let config = root.join("nginx.conf");
    fs::write(&config, nginx_configuration(root, ports)).unwrap();
    let mut command = Command::new("nginx");
    command.arg("-p").arg(root).arg("-c").arg(&config);
    let Some(_server) = start(&mut command, Some(ports[2])) else { return };
    for port in ports {
        conforms(port).await;
    }
    serves_ranges(ports[0]).await;
}

fn nginx_configuration(root: &Path, ports: [u16; 3]) -> String {
    let places = ["body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary = places.map(|name| format!("{name}_temp_path {name};")).join(" ");
    let temporary = temporary.replace("body_temp", "client_body_temp");
    let limits = ["", "max_ranges 1;", "max_ranges 0;"];
    let servers = ports.iter().zip(limits).map(|(port, limit)| {
        format!("server {{ listen 127.0.0.1:{port}; root {}/data; {limit} }}\n", root.display())
    });
    let servers: String = servers.collect();
    let user = if running_as_root() { "user root;" } else { "" };
    format!(
        "{user} daemon off; master_process off; pid nginx.pid; error_log nginx.log;\n\
         events {{}}\nhttp {{ access_log off; {temporary}\n{servers} }}\n"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn xrootd_keeps_the_rules_over_both_its_protocols() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir(root.join("data")).unwrap();
    lay_out(&root.join("data"));
    let Some((_server, ports)) = xrootd(root, "max 2 adler32 crc32c md5") else { return };
    conforms(ports[1]).await;
    serves_ranges(ports[1]).await;
    let origin: Address = format!("root://127.0.0.1:{}//", ports[0]).parse().unwrap();
    for checksums in [Checksums::Never, Checksums::Auto, Checksums::Always] {
        let network = Arc::new(Tcp::new(Duration::from_secs(5)));
        let config = Config { checksums, ..Config::default() };
        let server =
            farroot_remote::source::servers::server_for(&origin, &config, network).unwrap();
        conformance::check(server, |name| Address::parse(&format!("{origin}{name}")).unwrap())
            .await;
    }
    reads_with_checksums(&origin).await;
    gives_checksums(ports).await;
}

/// A server of the files in `root/data`, over both its protocols, and their ports; None, loudly,
/// where this machine has none. `checksums` are those that it gives, in the words of its
/// configuration.
pub fn xrootd(root: &Path, checksums: &str) -> Option<(Process, [u16; 2])> {
    let Some(library) = xrd_http() else {
        eprintln!("SKIPPED: XRootD's HTTP library (libXrdHttp) is not installed");
        return None;
    };
    fs::create_dir(root.join("run")).unwrap();
    let ports = [free_port(), free_port()];
    fs::write(root.join("server.cfg"), configuration(root, ports, &library, checksums)).unwrap();
    Some((start_xrootd(root, ports[1])?, ports))
}

/// Starts the server whose configuration is there, again if need be.
pub fn start_xrootd(root: &Path, http: u16) -> Option<Process> {
    let mut command = Command::new("xrootd");
    command.arg("-c").arg(root.join("server.cfg")).arg("-l").arg(root.join("server.log"));
    if running_as_root() {
        // The server refuses to run as root; it takes over the files' owner.
        own_by_daemon(root);
        command.args(["-R", "daemon"]);
    }
    start(&mut command, Some(http))
}

/// Ranges with a checksum of every page: across pages, frames and the end of the file, many at
/// once.
async fn reads_with_checksums(origin: &Address) {
    let files = conformance::files();
    let (name, content) = files.iter().find(|(name, _)| *name == "large.bin").unwrap();
    let config = Config { checksums: Checksums::Always, ..Config::default() };
    let remote = over_tcp(config);
    let large = remote.open_bytes(&format!("{origin}{name}")).await.unwrap();
    let size = content.len() as u64;
    let ends = [0, 1, 4095, 4096, 4097, 8192, 100_000, 2_093_056, 2_097_152, size - 1, size];
    let ranges = ends.iter().flat_map(|start| ends.map(|end| *start..end));
    let small = (0..2000).map(|at| at * 1499..at * 1499 + 700);
    let ranges: Vec<_> = ranges.filter(|range| !range.is_empty()).chain(small).collect();
    let want = |range: &std::ops::Range<u64>| Want {
        range: range.clone(),
        cost: range.end - range.start,
        urgency: Urgency::Demand,
        order: 0,
    };
    let mut wants = large.want(ranges.iter().map(want).collect());
    let mut come = 0;
    while let Some(delivery) = wants.next().await {
        let delivery = delivery.unwrap();
        let range = ranges[delivery.index].clone();
        assert!(
            delivery.bytes[..] == content[range.start as usize..range.end as usize],
            "{range:?}"
        );
        come += 1;
    }
    assert_eq!(come, ranges.len());
    let report = remote.report();
    // Each range by itself, and an open on each connection.
    assert!(report.requests >= report.segments, "{report}");
    assert_eq!(report.sources[0].damaged_pages, 0);
}

/// The server's checksum of a file is that of its bytes, over both protocols and of every kind.
async fn gives_checksums(ports: [u16; 2]) {
    let files = conformance::files();
    let (name, content) = files.iter().find(|(name, _)| *name == "large.bin").unwrap();
    let network: Arc<dyn Network> = Arc::new(Tcp::new(Duration::from_secs(5)));
    let config = Config::default();
    let origins =
        [format!("root://127.0.0.1:{}//", ports[0]), format!("http://127.0.0.1:{}/", ports[1])];
    for origin in origins {
        let url: Address = format!("{origin}{name}").parse().unwrap();
        // Those that the server is configured for.
        for algorithm in [Algorithm::Adler32, Algorithm::Crc32c, Algorithm::Md5] {
            let mut hasher = Hasher::new(algorithm);
            hasher.update(content);
            let said = checksum(&url, Some(algorithm), &config, network.clone()).await.unwrap();
            assert_eq!(said, hasher.finish(), "{url}");
        }
        let favourite = checksum(&url, None, &config, network.clone()).await.unwrap();
        assert_eq!(favourite.algorithm(), Algorithm::Adler32);
        let nowhere: Address = format!("{origin}no such file").parse().unwrap();
        let error = checksum(&nowhere, None, &config, network.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
}

/// The file is not read as a whole, and many ranges come in one answer.
async fn serves_ranges(port: u16) {
    let origin: Address = format!("http://127.0.0.1:{port}/").parse().unwrap();
    let mut talk = Talk::with(server(&origin, &Config::default()));
    let large = file(1, &format!("{origin}large.bin"));
    let opened = talk.open(&large, FileEnd::Head(1000)).await;
    assert!(opened.notes.is_empty() && opened.traits.is_none(), "{opened:?}");
    let segments: Vec<_> = (0..250).map(|i| i * 10_000..i * 10_000 + 2000).collect();
    let fetched = talk.fetch(&large, &segments).await;
    assert!(fetched.notes.is_empty() && fetched.traits.is_none(), "{:?}", fetched.traits);
    assert_eq!(fetched.bytes().len(), 500_000);
}

fn configuration(root: &Path, ports: [u16; 2], library: &Path, checksums: &str) -> String {
    let root = root.display();
    let library = library.display();
    let [xrootd, http] = ports;
    format!(
        "xrd.port {xrootd}\nxrd.allow host localhost\nxrd.allow host 127.0.0.1\nall.export /\n\
         oss.localroot {root}/data\nall.adminpath {root}/run\nall.pidpath {root}/run\n\
         xrd.protocol http:{http} {library}\nxrootd.chksum {checksums}\n"
    )
}

/// XRootD's HTTP protocol, whichever its version.
pub fn xrd_http() -> Option<PathBuf> {
    let folders =
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
    folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten().find_map(
        |entry| {
            let name = entry.file_name();
            let name = name.to_str()?;
            (name.starts_with("libXrdHttp-") && name.ends_with(".so")).then(|| entry.path())
        },
    )
}

pub fn running_as_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

pub fn own_by_daemon(root: &Path) {
    let status = Command::new("chown").args(["-R", "daemon"]).arg(root).status();
    assert!(status.is_ok_and(|status| status.success()), "chown of the server's files");
}
