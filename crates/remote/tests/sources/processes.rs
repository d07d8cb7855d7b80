//! Several processes that read one file at the same time: through a shared cache, also while one of
//! them is killed or stopped, and with a shared limit of connections. The bounds hold on a loaded
//! machine, too, where a process may be late by a second; how few bytes are fetched twice without
//! such delays is measured elsewhere.

use std::convert::Infallible;
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use farroot_remote::cache::CacheConfig;
use farroot_remote::{Config, Remote};
use futures::StreamExt;
use hyper::body::Body as _;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use url::Url;

use super::conformance;
use super::http_server::{PLAIN, serve};
use farroot_remote::source::network::Tcp;

const PROCESSES: usize = 8;
/// Baskets: 600 of 2.5 kB, scattered over 3 MB.
const BASKETS: u64 = 600;
const BASKET: u64 = 2_500;

/// A server that answers after 40 ms and counts the bytes it sends.
struct Far {
    url: Url,
    sent: Arc<AtomicU64>,
    /// Most connections at the same time so far.
    connections_most: Arc<AtomicU64>,
}

impl Far {
    /// With `counts_connections` each accept reads the kernel's list of connections. This takes
    /// milliseconds: on a busy machine clients waited for more than 30 s for all these reads.
    async fn start(counts_connections: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = Url::parse(&format!("http://{address}/large.bin")).unwrap();
        let sent = Arc::new(AtomicU64::new(0));
        let counter = sent.clone();
        let connections_most = Arc::new(AtomicU64::new(0));
        let most = connections_most.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if counts_connections {
                    most.fetch_max(established(address.port()), Ordering::Relaxed);
                }
                let counter = counter.clone();
                let service = service_fn(move |request| {
                    let counter = counter.clone();
                    async move {
                        tokio::time::sleep(Duration::from_millis(40)).await;
                        let answer = serve(PLAIN, &request);
                        counter.fetch_add(answer.body().size_hint().lower(), Ordering::Relaxed);
                        Ok::<_, Infallible>(answer)
                    }
                });
                tokio::spawn(async move {
                    let stream = TokioIo::new(stream);
                    let _ = http1::Builder::new().serve_connection(stream, service).await;
                });
            }
        });
        Far { url, sent, connections_most }
    }

    fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    async fn has_sent(&self, bytes: u64) {
        while self.sent() < bytes {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// The number of connections to a server's port that no side has closed, by the kernel's list, with
/// those that the server has not accepted. The list is no snapshot, and may have a closed
/// connection beside its successor: the least of four counts.
fn established(port: u16) -> u64 {
    let here = format!(":{port:04X}");
    let count = || {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
        let is_one = |line: &&str| {
            let mut fields = line.split_whitespace().skip(1);
            fields.next().is_some_and(|local| local.ends_with(&here)) && fields.nth(1) == Some("01")
        };
        table.lines().filter(is_one).count() as u64
    };
    (0..4).map(|_| count()).min().unwrap_or_default()
}

/// The resource that processes share.
#[derive(Clone, Copy, PartialEq)]
enum Share {
    Cache,
    /// A limit of this many connections.
    Connections(u32),
}

/// A process that reads the file; dropped, it is killed.
struct Reader(Child);

impl Reader {
    /// Starts a process, and waits until it is ready to read.
    fn start(url: &Url, folder: &Path, share: Share) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["processes::a_reader", "--exact", "--ignored", "--nocapture"]);
        command.env("READER_URL", url.as_str()).env("READER_FOLDER", folder);
        if let Share::Connections(limit) = share {
            command.env("READER_CONNECTIONS", limit.to_string());
        }
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut reader = Reader(child);
        let mut lines = BufReader::new(reader.0.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "ready"), "it ended too soon");
        reader
    }

    fn begin(&mut self) {
        self.0.stdin.take().unwrap().write_all(b"begin\n").unwrap();
    }

    fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Waits for the process's end; returns whether it has read the right bytes.
    fn has_read(mut self) -> bool {
        self.0.wait().unwrap().success()
    }

    /// The same, and the number of connections that the process made beyond the limit because no
    /// slot was free in time.
    fn has_read_beyond(mut self) -> (bool, u64) {
        let mut text = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        let beyond = text.lines().find_map(|line| line.strip_prefix("beyond "));
        (self.has_read(), beyond.map_or(0, |count| count.parse().unwrap()))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The process that the tests below start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other tests start it as a process"]
async fn a_reader() {
    let url = std::env::var("READER_URL");
    let folder = std::env::var("READER_FOLDER");
    let url = url.expect("an address");
    let folder = folder.expect("a folder");
    let config = match std::env::var("READER_CONNECTIONS") {
        Ok(connections) => {
            let runtime_folder = Some(Path::new(&folder).join("farroot"));
            let connections_shared = connections.parse().unwrap();
            Config { runtime_folder, connections_shared, ..Config::default() }
        }
        Err(_) => {
            let bytes_max = 1 << 30;
            let folder = Some(folder.into());
            let cache =
                CacheConfig { bytes_max, free_bytes_min: 0, folder, ..CacheConfig::default() };
            Config { cache, ..Config::default() }
        }
    };
    let remote = Remote::start(config.clone(), Arc::new(Tcp::new(config.connect_timeout)));
    println!("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let file = remote.open_bytes(&url).await.unwrap();
    let content = &conformance::files()[0].1;
    for ranges in baskets().chunks(200) {
        let mut wants = file.read(ranges);
        while let Some(delivery) = wants.next().await {
            let delivery = delivery.unwrap();
            let range = &ranges[delivery.index];
            assert!(delivery.bytes == content[range.start as usize..range.end as usize]);
        }
    }
    let beyond = |note: &&String| note.contains("connections_shared");
    println!("beyond {}", remote.report().notes.iter().filter(beyond).count());
}

fn baskets() -> Vec<Range<u64>> {
    (0..BASKETS).map(|at| at * 2 * BASKET..(at * 2 + 1) * BASKET).collect()
}

/// Starts processes that begin to read at the same moment.
fn begin(far: &Far, folder: &Path, share: Share, count: usize) -> Vec<Reader> {
    let mut readers: Vec<Reader> =
        (0..count).map(|_| Reader::start(&far.url, folder, share)).collect();
    readers.iter_mut().for_each(Reader::begin);
    readers
}

/// As [`Reader::has_read`], without blocking the runtime.
async fn has_read(reader: Reader) -> bool {
    tokio::task::spawn_blocking(move || reader.has_read()).await.unwrap()
}

/// Bytes that 8 simultaneous processes fetch, as a multiple of the bytes that one process fetches.
/// After a third of the latter the first process gets the signal `meanwhile`.
async fn fetched(meanwhile: Option<&'static str>) -> f64 {
    let far = Far::start(false).await;
    let folder = tempfile::tempdir().unwrap();
    let alone = begin(&far, folder.path(), Share::Cache, 1).remove(0);
    assert!(has_read(alone).await);
    let unique = far.sent();
    assert!(unique > BASKETS * BASKET);

    let folder = tempfile::tempdir().unwrap();
    let mut readers = begin(&far, folder.path(), Share::Cache, PROCESSES);
    let _first = match meanwhile {
        None => None,
        Some(signal) => {
            far.has_sent(unique + unique / 3).await;
            let first = readers.remove(0);
            first.signal(signal);
            Some(first)
        }
    };
    for reader in readers {
        assert!(has_read(reader).await, "a process has not read all");
    }
    let times = (far.sent() - unique) as f64 / unique as f64;
    println!("{PROCESSES} processes, signal {meanwhile:?}: {times:.3} times what one fetches");
    times
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_process_fetches_the_others_read() {
    assert!(fetched(None).await < 2.5, "each for itself would be 8");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_process_has_not_brought_another_fetches() {
    assert!(fetched(Some("-KILL")).await < 3.5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_stands_still_holds_up_no_other() {
    assert!(fetched(Some("-STOP")).await < 3.5);
}

/// Reads with `count` processes that share `limit` connections, of which `killed` are killed while
/// they read; checks that there were never more connections.
#[cfg(target_os = "linux")]
async fn share_connections(count: usize, limit: u32, killed: usize) {
    let far = Far::start(true).await;
    let folder = tempfile::tempdir().unwrap();
    let mut readers = begin(&far, folder.path(), Share::Connections(limit), count);
    far.has_sent(BASKETS * BASKET).await;
    let dead = readers.split_off(count - killed);
    dead.iter().for_each(|reader| reader.signal("-KILL"));
    let mut beyond = 0;
    for reader in readers {
        let ended = tokio::task::spawn_blocking(move || reader.has_read_beyond()).await;
        let (has_read, more) = ended.unwrap();
        assert!(has_read, "a process has not read all");
        beyond += more;
    }
    let most = far.connections_most.load(Ordering::Relaxed);
    println!("{count} processes, limit {limit}: {most} connections, {beyond} beyond the limit");
    // A killed process cannot report its connections beyond the limit.
    assert!(most <= u64::from(limit) + beyond + killed as u64, "{most}");
}

/// Without the limit each would have 16.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_share_connections_and_each_has_one() {
    share_connections(PROCESSES, PROCESSES as u32, 0).await;
}

/// Without a limit 64 processes would have 1,024 connections. Regression: a process without a
/// connection made one after a second, slot or not. More processes than slots take turns, and the
/// slots of killed processes are free at once.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_processes_take_turns_on_sixteen_connections() {
    share_connections(64, 16, 2).await;
}
