//! Skims of remote files: columns of the cut are fetched once, other columns where entries remain,
//! each input is opened once, and the cut of one input runs while another is copied.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::{
    Batch, ClusterCounts, Cut, Definition, Engine, MergeProgress, SkimOptions, SkimReport,
    TableLocation,
};
use farroot_sim::dataset::{Dataset, Shape};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{round_trips, xrootd_host};
use mutex::Mutex;
use remote::fetch::trace::RequestKind;
use tempfile::TempDir;

const RTT: Duration = Duration::from_millis(100);
const FILE: &[u8] = include_bytes!("../testdata/small_nano.root");
const ENTRIES: u64 = 6_000;
/// Nine clusters of 600 entries.
const NTUPLE: &[u8] = include_bytes!("../testdata/small_ntuple.root");
const CLUSTERS: u64 = 9;
const CLUSTER_ENTRIES: u64 = 600;
const INPUTS: usize = 6;

/// The result and the cost of a skim.
struct Taken {
    report: SkimReport,
    bytes: u64,
    opens: usize,
    trips: f64,
    /// The most bytes that are copied between two reports of progress.
    most_at_once: u64,
}

fn world(file: Bytes, link: Link) -> World {
    let world = World::default();
    let accepted = world.host("server", 1094, link);
    let files = (0..INPUTS).map(|at| (format!("/{at}.root"), file.clone()));
    let files: BTreeMap<_, _> = files.collect();
    xrootd_host::serve(accepted, Arc::new(files), Behaviour::default());
    world
}

/// A cut that reads one column and keeps the entries for which `stays` holds.
fn cut(stays: fn(u64) -> bool) -> Cut {
    let decide = move |batch: Batch| Ok(batch.entries.map(stays).collect());
    Cut::new(["flat_5"], decide)
}

/// Skims some columns of the first `inputs` files, on a link of unlimited bandwidth.
fn skim(inputs: usize, cut: Option<Cut>) -> Taken {
    skim_of(FILE, inputs, cut)
}

/// The same of several files with this content.
fn skim_of(file: &'static [u8], inputs: usize, cut: Option<Cut>) -> Taken {
    let columns = ["Muon_*", "flat_5", "flat_0"].map(String::from).to_vec();
    let options = SkimOptions { columns, cut, ..SkimOptions::default() };
    let place = (Bytes::from_static(file), "Events", Link::delay(RTT));
    farroot_sim::run(skim_over(place, inputs, options))
}

/// Skims a table of the first `inputs` files with this content, over a link.
async fn skim_over(
    (file, table, link): (Bytes, &str, Link),
    inputs: usize,
    options: SkimOptions,
) -> Taken {
    let engine: Engine = farroot_sim::engine(&world(file, link));
    let place = |at| TableLocation {
        url: format!("root://server:1094//{at}.root"),
        path: Some(table.into()),
        ..TableLocation::default()
    };
    let places: Vec<_> = (0..inputs).map(place).collect();
    let folder = TempDir::new().expect("a folder");
    let output = folder.path().join("out.root");
    let output = output.to_str().expect("text");
    let begun = tokio::time::Instant::now();
    let copied = Mutex::new(vec![0]);
    let progress = |now: MergeProgress| copied.lock().push(now.copied_bytes);
    let report = engine.skim(output, &places, &options, &progress).await.expect("skims");
    let steps = copied.lock().windows(2).map(|pair| pair[1] - pair[0]).max();
    let records = engine.trace().records();
    let opens = records.requests.iter().filter(|request| request.kind == RequestKind::Open);
    let files: BTreeSet<_> = opens.map(|request| request.file).collect();
    Taken {
        report,
        bytes: engine.report().bytes_received,
        opens: files.len(),
        trips: round_trips(begun.elapsed(), RTT),
        most_at_once: steps.unwrap_or_default(),
    }
}

/// Regression: a cut that keeps all entries fetched its columns twice, to decide and to copy.
#[test]
fn what_decides_is_not_fetched_again() {
    let all = skim(1, None);
    let cut = skim(1, Some(cut(|_| true)));
    assert_eq!(cut.report.inputs[0].2, ENTRIES);
    // Gaps between copied baskets, which are read with them, are not kept.
    assert!(cut.bytes <= all.bytes, "{} {}", cut.bytes, all.bytes);
}

#[test]
fn clusters_of_an_rntuple_cost_what_is_left_of_them() {
    let some = |stays| skim_of(NTUPLE, 1, Some(cut(stays)));
    let all = skim_of(NTUPLE, 1, None);
    let none = some(|_| false);
    // The columns beside the cut's.
    let others = all.bytes - none.bytes;
    assert!(others > 0, "{} {}", all.bytes, none.bytes);
    let counts = |copied, taken, left_out| Some(ClusterCounts { copied, taken, left_out });
    assert_eq!(none.report.clusters, counts(0, 0, CLUSTERS));
    let one = some(|entry| entry / CLUSTER_ENTRIES == 4);
    assert_eq!(one.report.clusters, counts(1, 0, CLUSTERS - 1));
    let part = some(|entry| entry / CLUSTER_ENTRIES == 4 && entry % 7 == 0);
    assert_eq!(part.report.clusters, counts(0, 1, CLUSTERS - 1));
    for one in [one, part] {
        let more = one.bytes - none.bytes;
        assert!(more * CLUSTERS < others * 5 / 4, "{more} {others}");
    }
    let whole = some(|_| true);
    assert_eq!(whole.report.clusters, counts(CLUSTERS, 0, 0));
    assert!(whole.bytes <= all.bytes, "{} {}", whole.bytes, all.bytes);
}

/// New columns of an RNTuple are computed from pages that are then copied, and the other pages
/// come as without new columns.
#[test]
fn new_columns_of_an_rntuple_cost_no_bytes() {
    let skim = |define: &[(&str, &str)], inputs| {
        let define = define.iter().map(|(name, text)| Definition::parse(name, text));
        let columns = ["Muon_*", "flat_5", "flat_0"].map(String::from).to_vec();
        let define = define.collect::<remote::Result<_>>().expect("formulas");
        let options = SkimOptions { columns, define, ..SkimOptions::default() };
        let place = (Bytes::from_static(NTUPLE), "Events", Link::delay(RTT));
        farroot_sim::run(skim_over(place, inputs, options))
    };
    let new = [("twice", "2 * flat_5"), ("more", "twice + flat_0")];
    let mut trips = Vec::new();
    for inputs in [1, INPUTS] {
        let all = skim(&[], inputs);
        let defined = skim(&new, inputs);
        let clusters = defined.report.clusters.map(|counts| counts.copied);
        assert_eq!(clusters, Some(inputs as u64 * CLUSTERS));
        assert_eq!(defined.opens, inputs);
        assert!(defined.bytes <= all.bytes, "{} {}", defined.bytes, all.bytes);
        trips.push(defined.trips);
        assert!(inputs > 1 || defined.trips <= all.trips + 1.5, "{} {}", defined.trips, all.trips);
    }
    // The columns from which new ones of an input are computed are read while another input is
    // copied.
    assert!(trips[1] - trips[0] <= 1.5 * (INPUTS - 1) as f64, "{trips:?}");
}

/// Regression: inputs without any selected entry were opened again for the copy.
#[test]
fn an_input_is_opened_once() {
    let all = skim(INPUTS, Some(cut(|_| false)));
    assert_eq!(all.opens, INPUTS);
    assert_eq!(all.report.inputs.iter().map(|input| input.2).sum::<u64>(), 0);
}

#[test]
fn one_is_decided_about_while_another_is_copied() {
    let one = skim(1, Some(cut(|_| true)));
    let all = skim(INPUTS, Some(cut(|_| true)));
    assert_eq!(all.report.inputs.iter().map(|input| input.2).sum::<u64>(), 6 * ENTRIES);
    // One after another, each further input would take as many round trips as the first.
    let further = all.trips - one.trips;
    assert!(further <= 1.5 * (INPUTS - 1) as f64, "{} {}", one.trips, all.trips);
}

/// Regression: while the small column of the cut was fetched, the connections stayed slow, and the
/// cut cost a round trip. 16 MB at 1 Gbit/s; where no entry passes, at most a sixteenth of the
/// other columns is fetched in vain.
#[test]
fn first_baskets_come_while_the_cut_is_decided() {
    let clusters = 8;
    let entries = 1_024;
    let mut lengths = vec![8; 32];
    lengths[0] = 1;
    let file = Dataset::make(Shape { clusters, entries, lengths, read: Vec::new() }).content;
    let link = Link { rtt: RTT, rate: Some(125_000_000), slow_start: true };
    let skim = |stays: Option<fn(u64) -> bool>| {
        let decide = |stays: fn(u64) -> bool| {
            move |batch: Batch| Ok(batch.entries.map(stays).collect::<Vec<bool>>())
        };
        let cut = stays.map(|stays| Cut::new(["x0"], decide(stays)));
        let options = SkimOptions { cut, ..SkimOptions::default() };
        farroot_sim::run(skim_over((file.clone(), "t", link), 1, options))
    };
    let all = skim(None);
    let cut = skim(Some(|_| true));
    let none = skim(Some(|_| false));
    assert_eq!((cut.report.inputs[0].2, none.report.inputs[0].2), (clusters * entries, 0));
    assert!(cut.trips < all.trips + 0.5, "{} {}", all.trips, cut.trips);
    assert!(cut.bytes <= all.bytes, "{} {}", all.bytes, cut.bytes);
    // The cut's column is a 249th of all.
    let most = file.len() as u64 * (16 + 249) / (16 * 249) + file.len() as u64 / 100;
    assert!(none.bytes <= most, "{} {most}", none.bytes);
}

/// Regression: the threads got 4 MiB of baskets once all of these had arrived, and then had them to
/// do when nothing else was left to read.
#[test]
fn threads_get_baskets_as_they_arrive() {
    let clusters = 8;
    let entries = 1_024;
    let lengths = vec![8; 32];
    let file = Dataset::make(Shape { clusters, entries, lengths, read: Vec::new() }).content;
    let skim = |cut| {
        let options = SkimOptions { cut, ..SkimOptions::default() };
        farroot_sim::run(skim_over((file.clone(), "t", Link::delay(RTT)), 1, options))
    };
    let even = |batch: Batch| Ok(batch.entries.map(|entry| entry % 2 == 0).collect::<Vec<bool>>());
    let all = skim(None);
    let half = skim(Some(Cut::new(["x0"], even)));
    assert_eq!(half.report.inputs[0].2, clusters * entries / 2);
    assert!(all.most_at_once > 1 << 20, "{}", all.most_at_once);
    assert!(half.most_at_once <= 256 << 10, "{}", half.most_at_once);
}
