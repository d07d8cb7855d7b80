//! Processes that each read chunks of one file, as coffea's executors: a client opens the file,
//! reads the entries of its chunk, and closes it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use farroot_sim::dataset::{Dataset, Shape};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::replay::{Vector, play};
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{dataset, log, one_file, xrootd_host};

const RTT: Duration = Duration::from_millis(100);
const WORK: Duration = Duration::from_millis(300);
const PROCESSES: usize = 4;
const CHUNKS: usize = 32;
const COLUMNS: usize = 5;
const URL: &str = "root://server:1094//f.root";

/// The times and bytes of a job of several processes.
struct Outcome {
    efficiency: f64,
    /// Chunks for which a process waited.
    waits: usize,
    used: engine::Used,
    received: u64,
}

/// A file of 80 clusters, and the baskets of five columns of each of 32 chunks, of which two have
/// `clusters_in_two` clusters. Chunks of 2.5 clusters end within baskets.
fn chunked(clusters_in_two: usize) -> (Bytes, Vec<Vector>) {
    let shape =
        Shape { clusters: 80, entries: 1250, lengths: vec![1; 20], read: vec![2, 3, 7, 11, 19] };
    let made = Dataset::make(shape);
    let of_chunk = |chunk: usize| -> Vector {
        let entries = chunk * clusters_in_two..(chunk + 1) * clusters_in_two;
        made.clusters[entries.start / 2..entries.end.div_ceil(2)].concat()
    };
    let chunks = (0..CHUNKS).map(of_chunk).collect();
    (made.content, chunks)
}

/// Four processes read the chunks, each with its vectors and 300 ms of work. A process that has
/// finished a chunk takes the next one.
fn job(content: &Bytes, chunks: &[Vec<Vector>]) -> Outcome {
    farroot_sim::run(async {
        let world = World::default();
        let link = Link { rtt: RTT, rate: Some(2_000_000), slow_start: true };
        let accepted = world.host("server", 1094, link);
        xrootd_host::serve(accepted, one_file("/f.root", content.clone()), Behaviour::default());
        let engine = farroot_sim::engine(&world);
        let keeper = engine.watch(URL).await.expect("opens").keeper();
        // The processes start after the file's metadata have arrived.
        tokio::time::sleep(10 * RTT).await;
        let begun = tokio::time::Instant::now();
        let next = Arc::new(AtomicUsize::new(0));
        let process = |_| async {
            let mut waits = 0;
            while let Some(vectors) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
                let watched = engine.watch(URL).await.expect("opens");
                let played = play(&watched, content, vectors, WORK / vectors.len() as u32).await;
                waits += usize::from(played.waits > 0);
            }
            waits
        };
        let waits = futures::future::join_all((0..PROCESSES).map(process)).await;
        let wall = begun.elapsed() * PROCESSES as u32;
        let work = WORK * chunks.len() as u32;
        let efficiency = work.as_secs_f64() / wall.as_secs_f64();
        let used = keeper.used();
        let received = engine.report().bytes_received;
        Outcome { efficiency, waits: waits.into_iter().sum(), used, received }
    })
}

/// Bytes of the baskets of all chunks, each basket counted once.
fn wanted(chunks: &[Vector]) -> u64 {
    let mut all: Vec<Range<u64>> = chunks.concat();
    all.sort_by_key(|range| range.start);
    all.dedup();
    dataset::bytes(&all)
}

/// Regression: each chunk had a client of its own, for which the beginning of the file was fetched.
/// All clients waited (efficiency 0.58), and none of the bytes fetched ahead was read.
#[test]
fn chunks_of_many_clients_are_here_after_the_first_of_each_process() {
    let mut golden = String::new();
    for (name, clusters_in_two) in [("two clusters", 4), ("two clusters and a half", 5)] {
        let (content, chunks) = chunked(clusters_in_two);
        let column = |chunk: &Vector, at| chunk.iter().skip(at).step_by(COLUMNS).cloned().collect();
        let in_turns = |chunk: &Vector| (0..COLUMNS).map(|at| column(chunk, at)).collect();
        let together = |chunk: &Vector| vec![chunk.clone()];
        let ways: [(&str, Vec<Vec<Vector>>); 2] = [
            ("one vector", chunks.iter().map(together).collect()),
            ("column by column", chunks.iter().map(in_turns).collect()),
        ];
        for (way, vectors) in ways {
            let Outcome { efficiency, waits, used, received } = job(&content, &vectors);
            let beyond = received as f64 / wanted(&chunks) as f64;
            golden += &format!(
                "chunks of {name}, {way}: efficiency {efficiency:.3}, {waits} of {CHUNKS} chunks \
                 waited, {beyond:.2} times the bytes received, {} of {} bytes ahead unused\n",
                used.bytes_unused, used.bytes_ahead
            );
            let least = if vectors[0].len() == 1 { 0.83 } else { 0.70 };
            assert!(efficiency >= least && waits < CHUNKS, "{golden}");
            assert!(used.bytes_unused * 20 <= used.bytes_ahead, "{golden}");
            assert!(beyond < 1.2, "{golden}");
        }
    }
    log::golden("chunks_of_processes", &golden);
}
