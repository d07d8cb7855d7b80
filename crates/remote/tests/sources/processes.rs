//! Several processes that share a cache and read one file at the same time, one of which is killed
//! or stopped. What is asserted holds on a loaded machine, too, where a process may be late by a
//! second: how few bytes are fetched twice where none is late, is measured elsewhere.

use std::convert::Infallible;
use std::io::{BufRead, BufReader, Write};
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

/// A server some way off, which counts what it sends.
struct Far {
    url: Url,
    sent: Arc<AtomicU64>,
}

impl Far {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = Url::parse(&format!("http://{address}/large.bin")).unwrap();
        let sent = Arc::new(AtomicU64::new(0));
        let counter = sent.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
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
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Far { url, sent }
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

/// A process that reads the file; dropped, it is killed.
struct Reader(Child);

impl Reader {
    /// Starts one, and waits until it is ready to begin.
    fn start(url: &Url, folder: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["processes::a_reader", "--exact", "--ignored", "--nocapture"]);
        command.env("READER_URL", url.as_str()).env("READER_FOLDER", folder);
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

    /// Waits for its end: whether it has read the right bytes.
    fn has_read(mut self) -> bool {
        self.0.wait().unwrap().success()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a process of the tests below does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other tests start it as a process"]
async fn a_reader() {
    let (url, folder) = (std::env::var("READER_URL"), std::env::var("READER_FOLDER"));
    let (url, folder) = (url.expect("an address"), folder.expect("a folder"));
    let cache = CacheConfig {
        bytes_max: 1 << 30,
        free_bytes_min: 0,
        folder: Some(folder.into()),
        ..CacheConfig::default()
    };
    let config = Config { cache, ..Config::default() };
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
}

fn baskets() -> Vec<Range<u64>> {
    (0..BASKETS).map(|at| at * 2 * BASKET..(at * 2 + 1) * BASKET).collect()
}

/// What processes fetch that begin at one moment, as multiples of what one fetches alone; `meanwhile`
/// has something happen to the first of them when some of it has come.
async fn fetched(meanwhile: Option<&'static str>) -> f64 {
    let far = Far::start().await;
    let begin = |folder: &Path, count: usize| -> Vec<Reader> {
        let mut readers: Vec<Reader> =
            (0..count).map(|_| Reader::start(&far.url, folder)).collect();
        readers.iter_mut().for_each(Reader::begin);
        readers
    };
    let has_read = |reader: Reader| tokio::task::spawn_blocking(move || reader.has_read());
    let folder = tempfile::tempdir().unwrap();
    let alone = begin(folder.path(), 1).remove(0);
    assert!(has_read(alone).await.unwrap());
    let unique = far.sent();
    assert!(unique > BASKETS * BASKET);

    let folder = tempfile::tempdir().unwrap();
    let mut readers = begin(folder.path(), PROCESSES);
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
        assert!(has_read(reader).await.unwrap(), "a process has not read all");
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
