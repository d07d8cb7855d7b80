//! Many jobs on one server: the part of their time that they work, and the bytes that the server
//! has to bring.
//!
//! The jobs are those of Donvito, "Xrootd/Lustre comparison using CMS analysis jobs": 40 branches
//! in pieces of 4 to 64 KiB, 2.1 MB of them for each second of work. One of them worked for 86 to
//! 90 % of its time, and 120 of them on one server for 40 % at 100 MB/s in all. The server here has
//! disks, which serve one read after another, and a link; its figures are chosen so that replayed
//! ROOT meets both.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use engine::{Config, Engine, Step};
use futures::StreamExt;
use futures::future::join_all;
use remote::fetch::{RemoteFile, Urgency, Want};
use tokio::time::{Instant, sleep};

use crate::dataset::{Dataset, Shape, bytes, shuffled};
use crate::disk::{DiskModel, Disks};
use crate::engine_with;
use crate::link::Link;
use crate::network::World;
use crate::replay::Vector;
use crate::xrootd_host::{self, Behaviour};

/// Bytes that a job reads for a second of its work.
const BYTES_A_SECOND: f64 = 2.1e6;
/// A round trip inside a site, and a gigabit a second less the overhead of Ethernet, IP and TCP.
pub const LINK: Link =
    Link { rtt: Duration::from_micros(300), rate: Some(117_000_000), slow_start: true };
/// Disks whose seeks are short, as many as bring 100 MB/s in such pieces.
pub const DISKS: DiskModel =
    DiskModel { disks: 5, stripe: 256 << 10, seek: Duration::from_micros(1150), rate: 150_000_000 };
/// The least that XCache keeps and fetches.
const BLOCK: u64 = 128 << 10;

/// Who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// A cluster's baskets in a vector, on one connection; then the work.
    Root,
    /// The same, a hundred megabytes or all of the job at a time.
    Uproot,
    /// ROOT through a cache that fetches whole blocks.
    XCache,
    /// This engine: reads ahead on connections of its own.
    Farroot,
}

impl Client {
    pub const ALL: [Client; 4] = [Client::Root, Client::Uproot, Client::XCache, Client::Farroot];

    pub fn name(self) -> &'static str {
        match self {
            Client::Root => "ROOT",
            Client::Uproot => "uproot",
            Client::XCache => "ROOT, XCache",
            Client::Farroot => "farroot",
        }
    }
}

/// How so many jobs have fared together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fared {
    /// Work of all jobs by the time that they took.
    pub efficiency: f64,
    /// Bytes that the link brought by bytes wanted.
    pub moved: f64,
    /// Bytes that the disks read by bytes wanted.
    pub read: f64,
    /// Megabytes a second of the link, until the last job ended.
    pub rate: f64,
    /// The time of the slowest job by that of the middle one.
    pub slowest: f64,
}

impl Fared {
    /// From the seconds of each job, the time that all of them `took`, and the bytes moved and read
    /// for `wanted` bytes.
    pub(crate) fn of(
        walls: &[f64],
        took: Duration,
        dataset: &Dataset,
        moved: u64,
        read: u64,
        wanted: u64,
    ) -> Self {
        let mut sorted = walls.to_vec();
        sorted.sort_by(f64::total_cmp);
        let work: f64 = dataset.clusters.iter().map(|fill| work_of(fill).as_secs_f64()).sum();
        Fared {
            efficiency: work * walls.len() as f64 / walls.iter().sum::<f64>(),
            moved: moved as f64 / wanted as f64,
            read: read as f64 / wanted as f64,
            rate: moved as f64 / took.as_secs_f64() / 1e6,
            slowest: sorted[walls.len() - 1] / sorted[walls.len() / 2],
        }
    }
}

/// The file of each job: 40 of 160 branches, in baskets of 4 to 64 KiB.
pub fn dataset(clusters: u64) -> Dataset {
    let lengths: Vec<usize> = (0..160).map(|branch| 8 + branch * 37 % 121).collect();
    let mut read = shuffled(160, 1);
    read.truncate(40);
    read.sort_unstable();
    Dataset::make(Shape { clusters, entries: 64, lengths, read })
}

/// The bound that the server sets: the efficiency of jobs that never wait for anything but its link
/// and disks, each read by itself.
pub fn allowed(dataset: &Dataset, jobs: usize) -> f64 {
    let pieces: Vector = dataset.clusters.concat();
    let read = |range: &Range<u64>| {
        let pages = range.end.next_multiple_of(4096) - range.start / 4096 * 4096;
        DISKS.seek.as_secs_f64() + pages as f64 / DISKS.rate as f64
    };
    let disks = pieces.iter().map(read).sum::<f64>() / DISKS.disks as f64;
    let link = bytes(&pieces) as f64 / LINK.rate.unwrap_or(u64::MAX) as f64;
    let work = bytes(&pieces) as f64 / BYTES_A_SECOND;
    (work / (jobs as f64 * disks.max(link))).min(1.0)
}

/// Runs so many jobs, each on a file of its own; `seed` says when each begins.
///
/// # Panics
/// Where a read fails.
pub fn run(dataset: &Dataset, client: Client, jobs: usize, seed: u64) -> Fared {
    crate::run(async {
        let world = World::default();
        let accepted = world.host("server", 1094, LINK);
        let path = |job: usize| format!("/{job}.root");
        let files: BTreeMap<_, _> =
            (0..jobs).map(|job| (path(job), dataset.content.clone())).collect();
        let disks = Disks::new(DISKS);
        let behaviour = Behaviour { disks: Some(disks.clone()), ..Behaviour::default() };
        xrootd_host::serve(accepted, Arc::new(files), behaviour);
        let wanted: u64 = dataset.clusters.iter().map(bytes).sum();
        let work = Duration::from_secs_f64(wanted as f64 / BYTES_A_SECOND);
        let apart = work / dataset.clusters.len() as u32;
        let begun = Instant::now();
        // They begin within the work after one cluster, in any order.
        let turns = shuffled(jobs, seed);
        let runs = (0..jobs).map(|job| {
            let delay = apart.mul_f64(turns[job] as f64 / jobs as f64);
            let world = world.clone();
            let address = format!("root://server:1094/{}", path(job));
            async move {
                sleep(delay).await;
                let begun = Instant::now();
                let received = one(&world, dataset, client, &address).await;
                (begun.elapsed().as_secs_f64(), received)
            }
        });
        let (walls, received): (Vec<f64>, Vec<u64>) = join_all(runs).await.into_iter().unzip();
        let moved = received.iter().sum();
        let all = wanted * jobs as u64;
        Fared::of(&walls, begun.elapsed(), dataset, moved, disks.bytes_read(), all)
    })
}

/// One job from its open to the end of its work; returns the bytes that it received.
pub(crate) async fn one(world: &World, dataset: &Dataset, client: Client, address: &str) -> u64 {
    let config = if client == Client::Farroot { Config::default() } else { replayed() };
    let engine = engine_with(world, config);
    match client {
        Client::Farroot => farroot(&engine, dataset, address).await,
        Client::Root => replay(&engine, &dataset.fills(1), address).await,
        Client::Uproot => replay(&engine, &dataset.fills(dataset.clusters.len()), address).await,
        Client::XCache => replay_blocks(&engine, dataset, address).await,
    }
    engine.report().bytes_received
}

/// Settings of an engine that only replays a log: one connection, each range by itself.
pub(crate) fn replayed() -> Config {
    Config { connections_max: 1, connections_initial: 1, coalescing: false, ..Config::default() }
}

pub(crate) fn work_of(vector: &Vector) -> Duration {
    Duration::from_secs_f64(bytes(vector) as f64 / BYTES_A_SECOND)
}

async fn farroot(engine: &Engine, dataset: &Dataset, address: &str) {
    let tree = engine.open_tree(address, Some("t")).await.expect("opens");
    let columns = tree.columns(&dataset.names()).expect("are there");
    let step = Step::Entries(dataset.shape.entries);
    let mut batches = tree.batches(columns, 0..u64::MAX, step).expect("plans");
    for vector in &dataset.clusters {
        batches.next().await.expect("a batch").expect("reads");
        sleep(work_of(vector)).await;
    }
}

async fn replay(engine: &Engine, fills: &[Vector], address: &str) {
    let file = engine.remote().open_bytes(address).await.expect("opens");
    for fill in fills {
        read(&file, fill).await;
        sleep(work_of(fill)).await;
    }
}

/// Each block once: cached blocks are not fetched again.
async fn replay_blocks(engine: &Engine, dataset: &Dataset, address: &str) {
    let file = engine.remote().open_bytes(address).await.expect("opens");
    let mut fetched = 0;
    for vector in &dataset.clusters {
        let mut blocks = blocks_of(vector);
        blocks.retain(|block| *block >= fetched);
        fetched = blocks.last().map_or(fetched, |last| last + 1);
        let size = file.info().size;
        read(&file, &blocks.into_iter().map(|block| block_range(block, size)).collect()).await;
        sleep(work_of(vector)).await;
    }
}

/// The numbers of the blocks that hold a vector, each once.
pub(crate) fn blocks_of(vector: &Vector) -> Vec<u64> {
    let of = |range: &Range<u64>| range.start / BLOCK..range.end.div_ceil(BLOCK);
    let mut blocks: Vec<u64> = vector.iter().flat_map(of).collect();
    blocks.dedup();
    blocks
}

/// The bytes of a block in a file of `size` bytes.
pub(crate) fn block_range(block: u64, size: u64) -> Range<u64> {
    block * BLOCK..((block + 1) * BLOCK).min(size)
}

/// Requests all of a vector, and waits for it.
pub(crate) async fn read(file: &RemoteFile, vector: &Vector) {
    let want = |range: &Range<u64>| Want {
        range: range.clone(),
        cost: range.end - range.start,
        urgency: Urgency::Demand,
        order: 0,
    };
    let mut wants = file.want(vector.iter().map(want).collect());
    while let Some(delivery) = wants.next().await {
        delivery.expect("arrives").reservation.hand_over();
    }
}
