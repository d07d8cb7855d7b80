//! Merges of remote files: their contents are requested side by side, and objects that exceed the
//! memory are read while earlier ones are added up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::writable::{Axis, Histogram};
use engine::{Engine, MergeOptions, MergeReport, Numbers, WriteOptions};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::round_trips;
use farroot_sim::xrootd_host::{self, Behaviour};
use remote::fetch::trace::RequestKind;
use tempfile::TempDir;

const RTT: Duration = Duration::from_millis(100);

/// The result and the cost of a merge.
struct Merged {
    report: MergeReport,
    opens: usize,
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
    farroot_sim::run(async {
        let world = World::default();
        let engine = farroot_sim::engine(&world);
        let content = histograms(&engine, histograms_of_each).await;
        let files: BTreeMap<_, _> =
            (0..inputs).map(|at| (format!("/{at}.root"), content.clone())).collect();
        let host = world.host("server", 1094, Link::delay(RTT));
        xrootd_host::serve(host, Arc::new(files), Behaviour::default());
        let inputs: Vec<_> =
            (0..inputs).map(|at| format!("root://server:1094//{at}.root")).collect();
        let folder = TempDir::new().expect("a folder");
        let output = folder.path().join("out.root");
        let output = output.to_str().expect("text");
        let begun = tokio::time::Instant::now();
        let options = MergeOptions::default();
        let report = engine.merge(output, &inputs, &options, &|_| ()).await.expect("merges");
        let trips = round_trips(begun.elapsed(), RTT);
        let records = engine.trace().records();
        let opens = records.requests.iter().filter(|request| request.kind == RequestKind::Open);
        Merged { report, opens: opens.count(), trips }
    })
}

/// Metadata and objects of all inputs are read side by side.
#[test]
fn five_further_inputs_cost_one_round_trip() {
    let (one, six) = (merge(1, 40), merge(6, 40));
    assert_eq!((one.report.histograms, six.report.histograms), (40, 40));
    assert!(six.trips < one.trips + 1.01, "{} {}", one.trips, six.trips);
}

/// Histograms that take once and nearly three times the memory: those of the second and third part
/// are requested together, from files that are still open.
#[test]
fn objects_that_are_read_later_cost_one_round_trip() {
    let (few, many) = (merge(2, 1_100), merge(2, 3_000));
    assert_eq!((few.report.histograms, many.report.histograms), (1_100, 3_000));
    assert_eq!((few.opens, many.opens), (4, 4));
    assert!(many.trips < few.trips + 1.01, "{} {}", few.trips, many.trips);
}
