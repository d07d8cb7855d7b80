//! Writes the record of [`farroot_sim::near_clients`]: `cargo run --release -p farroot-sim
//! --example near_clients > sim/record/near.json`; then `make tables`.

use std::time::Duration;

use farroot_sim::link::Link;
use farroot_sim::near_clients::{NearBed, NearRead, engine};
use remote::Near;

const FILE: &[u8] = include_bytes!("../testdata/small_nano.root");
const MS: Duration = Duration::from_millis(1);
const READ: NearRead<'_> =
    NearRead { tree: "Events", columns: &["Muon_*", "flat_*"], cut: "flat_5 < 0.01" };
const DISTANCES: [u32; 7] = [1, 10, 25, 50, 100, 150, 200];
const RATES: [u64; 2] = [1_250_000, 12_500_000];
const CLIENTS: [usize; 9] = [1, 10, 20, 30, 50, 100, 200, 500, 1000];
/// Reads of each client.
const TIMES: u32 = 3;

fn bed(rtt: Duration, rate: u64, work: Duration) -> NearBed {
    let link = Link { rtt, rate: Some(rate), slow_start: true };
    NearBed { file: FILE.into(), link, cores: 16, work }
}

/// Seconds and bytes of a read by an engine that has read the file before.
fn second_read(bed: &NearBed, near: &Near) -> (f64, u64) {
    farroot_sim::run(async {
        let engine = engine(&bed.world(), near);
        READ.run(&engine).await;
        let before = engine.report().bytes_received;
        let (took, _) = READ.run(&engine).await;
        (took.as_secs_f64(), engine.report().bytes_received - before)
    })
}

fn main() {
    let ways = [("here", Near::Never), ("at the server", Near::AtServer), ("auto", Near::Auto)];
    let mut distances = Vec::new();
    let mut clients = Vec::new();
    for (name, near) in &ways {
        for rate in RATES {
            for rtt in DISTANCES {
                let (seconds, bytes) = second_read(&bed(MS * rtt, rate, Duration::ZERO), near);
                distances.push(format!(
                    "    {{\"client\": \"{name}\", \"rate\": {rate}, \"rtt_ms\": {rtt}, \
                     \"seconds\": {seconds:.3}, \"bytes\": {bytes}}}"
                ));
            }
        }
        for count in CLIENTS {
            let bed = bed(MS * 100, 80_000_000, MS * 100);
            let seconds = bed.mean_time(READ, near, count, TIMES).as_secs_f64();
            eprintln!("{name} {count}: {seconds:.2}");
            clients.push(format!(
                "    {{\"client\": \"{name}\", \"clients\": {count}, \"seconds\": {seconds:.3}}}"
            ));
        }
    }
    let distances = distances.join(",\n");
    let clients = clients.join(",\n");
    println!("{{\n  \"distances\": [\n{distances}\n  ],\n  \"clients\": [\n{clients}\n  ]\n}}");
}
