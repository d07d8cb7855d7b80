//! Many jobs that read the same files, from the server or through proxies near them.
//!
//! Jobs are those of [`jobs`](crate::jobs); each requests a cluster, waits, and works, as with
//! ROOT. A proxy is the production engine, which watches the files and keeps a cache on a disk;
//! between it and the jobs there is a link of ten gigabits a second. Several proxies are a cluster,
//! which sends each job to one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::{Config, Engine, Watched};
use futures::future::{BoxFuture, Shared, join_all};
use futures::{FutureExt, StreamExt};
use mutex::Mutex;
use remote::cache::{Cache, CacheConfig};
use remote::fetch::RemoteFile;
use serve::{Cluster, ClusterSettings, Node, Nodes};
use tokio::time::{Instant, sleep, sleep_until};

use crate::dataset::{Dataset, bytes, shuffled};
use crate::disk::{DiskModel, Disks};
use crate::jobs::{self, Client, DISKS, Fared, LINK};
use crate::link::{Lane, Link};
use crate::network::World;
use crate::replay::Vector;
use crate::xrootd_host::{self, Behaviour};
use crate::{engine_with, numbered};

/// The link between the proxy and the jobs.
const NEAR: Link =
    Link { rtt: Duration::from_micros(300), rate: Some(1_170_000_000), slow_start: false };
/// Between a mount's servers and all clients.
const MOUNT_LINK: Link = NEAR;
/// Object storage of a Lustre-like file system: 5 ms for each read, 190 reads a second of each
/// disk, and stripes of 1 MiB, the default of Lustre, over all of them.
const MOUNT: DiskModel =
    DiskModel { disks: 40, stripe: 1 << 20, seek: Duration::from_millis(5), rate: 150_000_000 };
/// Bytes up to which ROOT reads neighbouring baskets of a local file in one read
/// (`TFile.ReadAhead` of its `system.rootrc`).
const ROOT_READ_BYTES: u64 = 256_000;
/// Offset of the UUID's first byte in a file's header, behind the UUID's version.
const IDENTIFIER: usize = 47;

/// How the jobs reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Direct,
    /// A proxy that fetches whole blocks, each once, into an empty cache.
    XCache,
    /// farroot's proxy with an empty cache.
    Cold,
    /// farroot's proxy, through which a job has read each file before.
    Warm,
    /// Each job reads files of a mount.
    Mount,
    /// farroot's proxy above the mount, with an empty cache.
    MountCold,
    /// The same after a job has read each file.
    MountWarm,
}

impl Way {
    pub const ALL: [Way; 4] = [Way::Direct, Way::XCache, Way::Cold, Way::Warm];
    /// Those whose files are on a mount and not on a server.
    pub const OF_MOUNT: [Way; 3] = [Way::Mount, Way::MountCold, Way::MountWarm];

    pub fn name(self) -> &'static str {
        match self {
            Way::Direct => "ROOT",
            Way::XCache => "ROOT, XCache",
            Way::Cold => "farroot proxy, cold",
            Way::Warm => "farroot proxy, warm",
            Way::Mount => "ROOT, mount",
            Way::MountCold => "farroot proxy, mount, cold",
            Way::MountWarm => "farroot proxy, mount, warm",
        }
    }

    /// Whether there are no nodes between the jobs and the files.
    pub fn is_direct(self) -> bool {
        matches!(self, Way::Direct | Way::Mount)
    }
}

/// Jobs, their files, and the machines that bring these.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Site {
    /// Job `n` reads file `n % files`.
    pub jobs: usize,
    pub files: usize,
    /// Proxies, or caches of blocks.
    pub nodes: usize,
    /// From the server to the site.
    pub link: Link,
    pub disks: DiskModel,
}

impl Site {
    /// One proxy before the server of [`jobs`](crate::jobs).
    pub fn of_one_proxy(jobs: usize, files: usize) -> Self {
        Site { jobs, files, nodes: 1, link: LINK, disks: DISKS }
    }

    /// The node that each job is sent to by the one that it asks.
    fn placed(&self) -> Vec<usize> {
        let all: Vec<Node> =
            (0..self.nodes).map(|n| Node { host: format!("node{n}"), port: 1094 }).collect();
        let cluster = |own: &Node| {
            let nodes = Nodes::Listed(all.clone());
            Cluster::new(&ClusterSettings { nodes, own: Some(own.clone()) })
        };
        let clusters: Vec<Cluster> = all.iter().map(cluster).collect();
        let place = |job: usize| {
            let asked = job / self.files % self.nodes;
            let client = IpAddr::V4(Ipv4Addr::from_bits(10 << 24 | job as u32));
            let sent = clusters[asked].elsewhere(&numbered(job % self.files), client, &[]);
            sent.and_then(|node| all.iter().position(|one| *one == node)).unwrap_or(asked)
        };
        (0..self.jobs).map(place).collect()
    }
}

/// A cache or proxy between the jobs and the server.
enum Near {
    Nothing,
    Mount(Arc<Disks>),
    Blocks(Engine, BTreeMap<usize, Blocks>),
    Watching(Engine),
}

/// Runs the jobs of a site; `seed` gives their starts. Bytes moved and read are relative to those
/// wanted: by each job, or through proxies of each file.
///
/// # Panics
/// Where a read fails, and where there is no place for a cache.
pub fn run(dataset: &Dataset, way: Way, site: Site, seed: u64) -> Fared {
    let cache = tempfile::tempdir().expect("a folder");
    let site = match Way::OF_MOUNT.contains(&way) {
        true => Site { link: MOUNT_LINK, disks: MOUNT, ..site },
        false => site,
    };
    let Site { jobs, files, .. } = site;
    crate::run(async {
        let world = World::default();
        let disks = Disks::new(site.disks);
        let behaviour = Behaviour { disks: Some(disks.clone()), ..Behaviour::default() };
        let content: BTreeMap<_, _> =
            (0..files).map(|file| (format!("/{file}"), of_file(dataset, file))).collect();
        xrootd_host::serve(world.host("server", 1094, site.link), Arc::new(content), behaviour);
        let placed = site.placed();
        let mut nodes = Vec::new();
        for number in 0..site.nodes {
            let read = placed.iter().enumerate().filter(|(_, node)| **node == number);
            let read: BTreeSet<usize> = read.map(|(job, _)| job % files).collect();
            let folder = cache.path().join(number.to_string());
            let near = match way {
                Way::Mount => Near::Mount(disks.clone()),
                _ => near(&world, dataset, way, &read, &folder).await,
            };
            nodes.push((near, Lane::default()));
        }
        let received = || nodes.iter().map(|(near, _)| near.received()).sum::<u64>();
        let moved_before = received();
        let read_before = disks.bytes_read();
        let fills = dataset.fills(1);
        let turns = shuffled(jobs, seed);
        let begun = Instant::now();
        let runs = turns.iter().enumerate().map(async |(job, turn)| {
            sleep(jobs::work_of(&fills[0]).mul_f64(*turn as f64 / jobs as f64)).await;
            let begun = Instant::now();
            let (near, lane) = &nodes[placed[job]];
            let received = near.job(&world, dataset, &fills, job % files, lane).await;
            (begun.elapsed().as_secs_f64(), received)
        });
        let (walls, direct): (Vec<f64>, Vec<u64>) = join_all(runs).await.into_iter().unzip();
        let moved = received() - moved_before + direct.iter().sum::<u64>();
        let times = if way.is_direct() { jobs } else { files };
        let all = fills.iter().map(bytes).sum::<u64>() * times as u64;
        let read = disks.bytes_read() - read_before;
        Fared::of(&walls, begun.elapsed(), dataset, moved, read, all)
    })
}

/// The content of one file, with its own UUID: a cache keeps one file for each UUID.
fn of_file(dataset: &Dataset, file: usize) -> Bytes {
    let mut content = dataset.content.to_vec();
    content[IDENTIFIER] = file as u8;
    content.into()
}

/// A node that jobs ask for these files.
async fn near(
    world: &World,
    dataset: &Dataset,
    way: Way,
    files: &BTreeSet<usize>,
    folder: &Path,
) -> Near {
    match way {
        Way::Direct | Way::Mount => Near::Nothing,
        Way::XCache => {
            let engine = engine_with(world, jobs::replayed());
            let open = files.iter().map(async |file| {
                (*file, engine.remote().open_bytes(&numbered(*file)).await.expect("opens"))
            });
            let opened = join_all(open).await.into_iter();
            let blocks = opened.map(|(number, file)| (number, Blocks::of(file))).collect();
            Near::Blocks(engine, blocks)
        }
        Way::Cold | Way::Warm | Way::MountCold | Way::MountWarm => {
            let cache = CacheConfig {
                bytes_max: 1 << 40,
                folder: Some(folder.to_owned()),
                free_bytes_min: 0,
                ..CacheConfig::default()
            };
            let engine = engine_with(world, Config { cache, ..Config::default() });
            if matches!(way, Way::Warm | Way::MountWarm) {
                for file in files {
                    let watched = engine.watch(&numbered(*file)).await.expect("opens");
                    for fill in dataset.fills(1) {
                        arrive(&engine, &watched, fill, &Lane::default()).await;
                    }
                }
            }
            Near::Watching(engine)
        }
    }
}

impl Near {
    /// Bytes received from the server.
    fn received(&self) -> u64 {
        match self {
            Near::Nothing | Near::Mount(_) => 0,
            Near::Blocks(engine, _) | Near::Watching(engine) => engine.report().bytes_received,
        }
    }

    /// One job from its open to the end of its work; returns the bytes it received without a proxy.
    async fn job(
        &self,
        world: &World,
        dataset: &Dataset,
        fills: &[Vector],
        file: usize,
        lane: &Lane,
    ) -> u64 {
        let address = numbered(file);
        match self {
            Near::Nothing => return jobs::one(world, dataset, Client::Root, &address).await,
            Near::Mount(disks) => {
                let mut moved = 0;
                for fill in fills {
                    for range in root_reads(fill) {
                        let bytes = range.end - range.start;
                        disks.read(file as u64, [range]).await;
                        sleep_until(lane.pass(Instant::now(), bytes, MOUNT_LINK.rate)).await;
                        moved += bytes;
                    }
                    sleep(jobs::work_of(fill)).await;
                }
                return moved;
            }
            Near::Blocks(_, blocks) => {
                for fill in fills {
                    blocks[&file].read(fill, lane).await;
                    sleep(jobs::work_of(fill)).await;
                }
            }
            Near::Watching(engine) => {
                let watched = engine.watch(&address).await.expect("opens");
                for fill in fills {
                    arrive(engine, &watched, fill.clone(), lane).await;
                    sleep(jobs::work_of(fill)).await;
                }
            }
        }
        0
    }
}

/// The reads of ROOT for a vector of a local file, one after the other: each from the beginning of
/// a basket to the end of the last one that is near enough.
fn root_reads(fill: &Vector) -> Vector {
    let mut reads = Vector::new();
    for range in fill {
        match reads.last_mut() {
            Some(last) if range.end - last.start <= ROOT_READ_BYTES => last.end = range.end,
            _ => reads.push(range.clone()),
        }
    }
    reads
}

/// Waits until a job has all of a vector. The disk of the proxy's cache takes no virtual time.
async fn arrive(engine: &Engine, watched: &Watched, fill: Vector, lane: &Lane) {
    let mut arrivals = watched.read(fill);
    let mut here = Instant::now();
    while let Some(arrival) = arrivals.next().await {
        let bytes = arrival.expect("arrives").bytes.len() as u64;
        here = lane.pass(Instant::now(), bytes, NEAR.rate);
    }
    engine.remote().cache().iter().for_each(Cache::flush);
    sleep_until(here + NEAR.rtt).await;
}

/// A file of which whole blocks are fetched, each once for all jobs that read bytes in it.
struct Blocks {
    file: Arc<RemoteFile>,
    fetched: Mutex<BTreeMap<u64, Shared<BoxFuture<'static, ()>>>>,
}

impl Blocks {
    fn of(file: RemoteFile) -> Self {
        Blocks { file: Arc::new(file), fetched: Mutex::default() }
    }

    /// Waits until a job has all of a vector.
    async fn read(&self, fill: &Vector, lane: &Lane) {
        let coming: Vec<_> = {
            let mut fetched = self.fetched.lock();
            let fetch = |block| {
                let coming = fetched.entry(block).or_insert_with(|| self.fetch(block));
                coming.clone()
            };
            jobs::blocks_of(fill).into_iter().map(fetch).collect()
        };
        join_all(coming).await;
        sleep_until(lane.pass(Instant::now(), bytes(fill), NEAR.rate) + NEAR.rtt).await;
    }

    fn fetch(&self, block: u64) -> Shared<BoxFuture<'static, ()>> {
        let file = self.file.clone();
        let vector = vec![jobs::block_range(block, file.info().size)];
        async move { jobs::read(&file, &vector).await }.boxed().shared()
    }
}
