//! Writes the record of a site with several proxies: `cargo run --release -p farroot-sim --example
//! site_jobs > sim/record/site-jobs.json`; then `make tables`.

use std::time::Duration;

use farroot_sim::disk::DiskModel;
use farroot_sim::jobs::{DISKS, Fared, dataset};
use farroot_sim::link::Link;
use farroot_sim::proxied_jobs::{Site, Way, run};

const JOBS: [usize; 4] = [120, 250, 500, 1000];
const NODES: [usize; 3] = [4, 8, 16];
const FILES: usize = 40;
const CLUSTERS: u64 = 4;
const SEED: u64 = 20;
/// Ten gigabits a second from a server that is 10 ms away.
const LINK: Link =
    Link { rtt: Duration::from_millis(10), rate: Some(1_170_000_000), slow_start: true };
/// Four times as many disks as the server of one site has.
const FAR_DISKS: DiskModel = DiskModel { disks: 4 * DISKS.disks, ..DISKS };

fn main() {
    let dataset = dataset(CLUSTERS);
    let mut lines = Vec::new();
    for way in Way::ALL.into_iter().chain(Way::OF_MOUNT) {
        for nodes in if way.is_direct() { &[1][..] } else { &NODES } {
            for jobs in JOBS {
                let site = Site { jobs, files: FILES, nodes: *nodes, link: LINK, disks: FAR_DISKS };
                let Fared { efficiency, moved, read, rate, slowest } =
                    run(&dataset, way, site, SEED);
                eprintln!("{} {nodes} {jobs}: {efficiency:.3} {moved:.3}", way.name());
                lines.push(format!(
                    "    {{\"client\": \"{}\", \"nodes\": {nodes}, \"jobs\": {jobs}, \
                     \"files\": {FILES}, \"efficiency\": {efficiency:.3}, \"moved\": {moved:.3}, \
                     \"read\": {read:.3}, \"rate\": {rate:.1}, \"slowest\": {slowest:.3}}}",
                    way.name(),
                ));
            }
        }
    }
    println!("{{\n  \"table\": [\n{}\n  ]\n}}", lines.join(",\n"));
}
