//! Long transfers over a link of ten gigabits a second to a server that is 100 ms away: the part of
//! its rate that they use once they have become no faster.
//!
//! The link holds 117 MB. A flow has at most [`FastLink::flow_bytes_max`] on its way, as the
//! buffers of the hosts' kernels allow. Nothing is lost, and neither disks nor processors take any
//! time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::{Config, Engine, Step};
use remote::{CopyOptions, CreateOptions};
use tokio::time::{Instant, sleep};

use crate::dataset::{Dataset, Shape};
use crate::http_host;
use crate::link::Link;
use crate::network::World;
use crate::xrootd_host::{self, Behaviour, TakenFiles};
use crate::{Files, engine_with};

/// Ten gigabits a second without the overhead of Ethernet, IP and TCP.
pub const LINK: Link =
    Link { rtt: Duration::from_millis(100), rate: Some(1_170_000_000), slow_start: true };
/// The largest receive buffer of a flow that Linux makes by itself, `net.ipv4.tcp_rmem`.
pub const LINUX_FLOW_BYTES: u64 = 6 << 20;
/// The same as ESnet advises for hosts with 10 Gbit/s and paths of 100 ms
/// (<https://fasterdata.es.net/host-tuning/linux/>).
pub const TUNED_FLOW_BYTES: u64 = 32 << 20;
/// How often the bytes are counted.
const SAMPLE: Duration = Duration::from_millis(100);
/// Bytes of one write of an upload.
const PIECE_BYTES: usize = 1 << 20;
/// Entries of a cluster, and the columns of an entry that are read.
const ENTRIES: u64 = 64;
const COLUMNS: usize = 60;

/// A transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// `farroot cp` of a file to a disk.
    Copy,
    /// All batches of some columns.
    Columns,
    /// A file that is written to the server.
    Upload,
}

impl Transfer {
    pub const ALL: [Transfer; 3] = [Transfer::Copy, Transfer::Columns, Transfer::Upload];

    pub fn name(self) -> &'static str {
        match self {
            Transfer::Copy => "cp",
            Transfer::Columns => "columns",
            Transfer::Upload => "upload",
        }
    }
}

/// The hosts of a transfer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FastLink {
    /// `root` or `http`. TLS changes neither windows nor the number of connections.
    pub scheme: &'static str,
    /// Bytes of one flow on their way, at the most.
    pub flow_bytes_max: u64,
    /// Connections to the server, at the most.
    pub connections_max: u32,
}

/// How a transfer has fared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Used {
    /// Part of the link's rate between the middle of the transfer and its last twentieth.
    pub share: f64,
    /// The same of flows that are never idle: bytes that all of them may have on their way, by
    /// those that the link holds.
    pub allowed: f64,
    /// Seconds until nine tenths of that were reached.
    pub ramp: f64,
    /// Seconds in all.
    pub seconds: f64,
    /// Bytes that came by bytes wanted.
    pub moved: f64,
    pub connections: usize,
}

/// A file with columns of so many bytes together, and others between them.
pub fn columns(bytes: u64) -> Dataset {
    let length = 800;
    let of_cluster = COLUMNS as u64 * ENTRIES * length as u64 * 8;
    let all = COLUMNS / 3 * 4;
    let read = (0..all).filter(|column| column % 4 != 3).collect();
    let lengths = vec![length; all];
    Dataset::make(Shape { clusters: bytes.div_ceil(of_cluster), entries: ENTRIES, lengths, read })
}

impl FastLink {
    fn allowed(&self, flows: usize) -> f64 {
        let held = LINK.rate.unwrap_or(u64::MAX) as f64 * LINK.rtt.as_secs_f64();
        (self.flow_bytes_max as f64 * flows as f64 / held).min(1.0)
    }

    /// Runs a transfer of so many bytes; those of columns are the file's.
    ///
    /// # Panics
    /// Where it fails.
    pub fn run(&self, transfer: Transfer, bytes: usize, dataset: &Dataset) -> Used {
        let folder = tempfile::tempdir().expect("a folder");
        let content = match transfer {
            Transfer::Copy => Bytes::from(vec![0; bytes]),
            Transfer::Columns => dataset.content.clone(),
            Transfer::Upload => Bytes::new(),
        };
        crate::run(async {
            let world = self.world(Arc::new(BTreeMap::from([("/f.root".to_owned(), content)])));
            let config = Config { connections_max: self.connections_max, ..Config::default() };
            let engine = engine_with(&world, config);
            let job = async {
                match transfer {
                    Transfer::Copy => self.copy(&engine, folder.path()).await,
                    Transfer::Columns => self.read(&engine, dataset).await,
                    Transfer::Upload => self.upload(&engine, bytes).await,
                }
            };
            let delivered = || {
                let [there, here] = world.delivered("server", self.port());
                if transfer == Transfer::Upload { there } else { here }
            };
            let (wanted, samples) = sampled(job, delivered).await;
            let connections = world.connections("server", self.port());
            let allowed = self.allowed(connections);
            Used { allowed, connections, ..Used::of(&samples, wanted) }
        })
    }

    fn port(&self) -> u16 {
        if self.scheme == "root" { 1094 } else { 80 }
    }

    fn world(&self, files: Files) -> World {
        let world = World::default();
        let accepted = world.host("server", self.port(), LINK);
        world.change("server", self.port(), |line| line.flow_bytes_max = Some(self.flow_bytes_max));
        let writes = files.get("/f.root").is_some_and(Bytes::is_empty);
        let takes = writes.then(TakenFiles::default);
        if self.scheme == "root" {
            xrootd_host::serve(accepted, files, Behaviour { takes, ..Behaviour::default() });
        } else {
            let control = http_host::serve(accepted, files);
            control.lock().takes = takes;
        }
        world
    }

    fn address(&self, name: &str) -> String {
        let slash = if self.scheme == "root" { "/" } else { "" };
        format!("{}://server:{}/{slash}{name}", self.scheme, self.port())
    }

    async fn copy(&self, engine: &Engine, folder: &Path) -> u64 {
        let sources = [self.address("f.root")];
        let target = folder.join("f.root");
        let copying = engine.remote().copy(&sources, &target, CopyOptions::default(), &|_| {});
        let copied = copying.await.expect("begins").pop().expect("one");
        copied.expect("copies").size
    }

    async fn read(&self, engine: &Engine, dataset: &Dataset) -> u64 {
        let tree = engine.open_tree(&self.address("f.root"), Some("t")).await.expect("opens");
        let columns = tree.columns(&dataset.names()).expect("are there");
        let step = Step::Entries(dataset.shape.entries);
        let mut batches = tree.batches(columns, 0..u64::MAX, step).expect("plans");
        while let Some(batch) = batches.next().await {
            batch.expect("reads");
        }
        dataset.clusters.iter().map(crate::dataset::bytes).sum()
    }

    async fn upload(&self, engine: &Engine, bytes: usize) -> u64 {
        let options = CreateOptions { size: Some(bytes as u64), ..CreateOptions::default() };
        let created = engine.remote().create(&self.address("new.root"), options).await;
        let mut upload = created.expect("begins");
        let piece = Bytes::from(vec![7; PIECE_BYTES]);
        while upload.len() < bytes as u64 {
            upload.write(upload.len(), piece.clone(), false).await.expect("takes bytes");
        }
        upload.finish().await.expect("has its name").size
    }
}

/// Time and bytes.
type Sample = (f64, u64);

/// The outcome of a job, and the bytes that had come by the end of each tenth of a second.
async fn sampled<T>(job: impl Future<Output = T>, count: impl Fn() -> u64) -> (T, Vec<Sample>) {
    let begun = Instant::now();
    let mut samples = vec![(0.0, 0)];
    let mut job = std::pin::pin!(job);
    loop {
        let done = tokio::select! {
            done = &mut job => Some(done),
            () = sleep(SAMPLE) => None,
        };
        samples.push((begun.elapsed().as_secs_f64(), count()));
        if let Some(done) = done {
            return (done, samples);
        }
    }
}

impl Used {
    fn of(samples: &[Sample], wanted: u64) -> Used {
        let rate = LINK.rate.unwrap_or(u64::MAX) as f64;
        let (seconds, all) = *samples.last().expect("one at least");
        let when = |part: f64| {
            let at = samples.partition_point(|(_, bytes)| (*bytes as f64) < part * all as f64);
            samples[at.min(samples.len() - 1)]
        };
        let per_second = |from: Sample, to: Sample| (to.1 - from.1) as f64 / (to.0 - from.0);
        let steady = per_second(when(0.5), when(0.95));
        let reached = samples.windows(2).find(|pair| per_second(pair[0], pair[1]) >= 0.9 * steady);
        let ramp = reached.map_or(seconds, |pair| pair[0].0);
        let moved = all as f64 / wanted as f64;
        Used { share: steady / rate, allowed: 1.0, ramp, seconds, moved, connections: 0 }
    }
}
