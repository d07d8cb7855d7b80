//! Merges of remote files: their contents are requested side by side, and objects that exceed the
//! memory are read while earlier ones are added up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::writable::{Axis, Histogram};
use engine::{Config, Engine, MergeOptions, MergeReport, Numbers, WriteOptions};
use farroot_sim::dataset::{Dataset, Shape};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::round_trips;
use farroot_sim::xrootd_host::{self, Behaviour};
use remote::fetch::trace::RequestKind;
use tempfile::TempDir;

const RTT: Duration = Duration::from_millis(100);
/// Files of a quarter of a megabyte.
const NTUPLE: &[u8] = include_bytes!("../testdata/small_ntuple.root");
const TREE: &[u8] = include_bytes!("../testdata/small_nano.root");

/// The result and the cost of a merge.
struct Merged {
    report: MergeReport,
    opens: usize,
    /// Bytes received.
    bytes: u64,
    trips: f64,
}

/// A file of histograms in directories of twenty each.
async fn histograms(engine: &Engine, count: usize) -> Bytes {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("in.root");
    let path = path.to_str().expect("text");
    let file = engine.create(path, WriteOptions::default()).await.expect("begins");
    for at in 0..count {
        let axes = vec![Axis::regular(10, 0.0, 1.0)];
        let histogram = Histogram::new("", axes, Numbers::F64(vec![1.0; 12]));
        let path = format!("region{}/h{}", at / 20, at % 20);
        file.put(&path, histogram.into_object().expect("is one")).await.expect("takes it");
    }
    file.finish().await.expect("has its name");
    std::fs::read(path).expect("is there").into()
}

/// Merges `inputs` files, each of that many histograms, on a link of unlimited bandwidth.
fn merge(inputs: usize, histograms_of_each: usize) -> Merged {
    farroot_sim::run(async move {
        let engine = farroot_sim::engine(&World::default());
        let content = histograms(&engine, histograms_of_each).await;
        merge_far(content, inputs, Link::delay(RTT), Config::default()).await
    })
}

/// Merges `inputs` files with this content from one server.
async fn merge_far(content: Bytes, inputs: usize, link: Link, config: Config) -> Merged {
    let world = World::default();
    let engine = farroot_sim::engine_with(&world, config);
    let files: BTreeMap<_, _> =
        (0..inputs).map(|at| (format!("/{at}.root"), content.clone())).collect();
    xrootd_host::serve(world.host("server", 1094, link), Arc::new(files), Behaviour::default());
    let inputs: Vec<_> = (0..inputs).map(|at| format!("root://server:1094//{at}.root")).collect();
    let folder = TempDir::new().expect("a folder");
    let output = folder.path().join("out.root");
    let output = output.to_str().expect("text");
    let begun = tokio::time::Instant::now();
    let options = MergeOptions::default();
    let report = engine.merge(output, &inputs, &options, &|_| ()).await.expect("merges");
    let trips = round_trips(begun.elapsed(), RTT);
    let records = engine.trace().records();
    let opens = records.requests.iter().filter(|request| request.kind == RequestKind::Open);
    let files: BTreeSet<_> = opens.map(|request| request.file).collect();
    Merged { report, opens: files.len(), bytes: engine.report().bytes_received, trips }
}

/// A file of a tree of 16 branches, in clusters of half a megabyte.
fn tree(clusters: u64) -> Bytes {
    let entries = 4_096;
    let lengths = vec![1; 16];
    Dataset::make(Shape { clusters, entries, lengths, read: Vec::new() }).content
}

/// Metadata and objects of all inputs are read side by side.
#[test]
fn five_further_inputs_cost_one_round_trip() {
    let one = merge(1, 40);
    let six = merge(6, 40);
    assert_eq!((one.report.histograms, six.report.histograms), (40, 40));
    assert!(six.trips < one.trips + 1.01, "{} {}", one.trips, six.trips);
}

/// The header of an RNTuple is in front of its pages, its page lists are behind them: both come
/// with the list of keys, as does the description of a tree.
#[test]
fn an_rntuple_costs_no_more_round_trips_than_a_tree() {
    let merged = |content: &'static [u8], inputs| {
        let link = Link::delay(RTT);
        farroot_sim::run(merge_far(content.into(), inputs, link, Config::default()))
    };
    for (inputs, most) in [(1, 4.01), (6, 6.01), (64, 8.01)] {
        for file in [NTUPLE, TREE] {
            let trips = merged(file, inputs).trips;
            assert!(trips < most, "{trips} for {inputs} inputs of {} bytes", file.len());
        }
    }
}

/// Histograms that take once and nearly three times the memory: those of the second and third part
/// are requested together, from files that are still open. They take two, as the first request
/// of a new connection is for no more bytes than one round trip can transfer.
#[test]
fn objects_that_are_read_later_cost_two_round_trips() {
    let few = merge(2, 1_100);
    let many = merge(2, 3_000);
    assert_eq!((few.report.histograms, many.report.histograms), (1_100, 3_000));
    assert_eq!((few.opens, many.opens), (2, 2));
    assert!(few.trips < 6.01 && many.trips < 8.01, "{} {}", few.trips, many.trips);
}

/// Eight files on links that transfer them in 70 round trips (with memory for a part of them) and
/// in three (1 Gbit/s). The link is idle while the client connects, opens the first file and waits
/// for its metadata and, at 1 Gbit/s, during TCP's slow start.
#[test]
fn a_long_merge_fills_the_link() {
    let content = tree(8);
    let bytes = 8 * content.len() as u64;
    let far = (bytes / 7, 16 << 20);
    for ((rate, memory_bytes_max), slow_start, most) in
        [(far, false, 3.8), (far, true, 3.8), ((125_000_000, 256 << 20), true, 8.5)]
    {
        let link = Link { rtt: RTT, rate: Some(rate), slow_start };
        let config = Config { memory_bytes_max, ..Config::default() };
        let content = content.clone();
        let merged = farroot_sim::run(merge_far(content, 8, link, config));
        let idle = merged.trips - merged.bytes as f64 / rate as f64 / RTT.as_secs_f64();
        assert!(idle < most, "{idle:.2} round trips: {rate} B/s, slow start: {slow_start}");
        assert_eq!((merged.opens, merged.report.tables[0].1), (8, 8 * 8 * 4_096));
    }
}

/// Small inputs: opens and metadata of many of them are requested at a time, and none is opened
/// twice.
#[test]
fn many_small_inputs_are_opened_side_by_side() {
    let merged = farroot_sim::run(merge_far(tree(1), 256, Link::delay(RTT), Config::default()));
    assert_eq!((merged.report.inputs, merged.opens), (256, 256));
    assert!(merged.trips < 14.01, "{}", merged.trips);
}
