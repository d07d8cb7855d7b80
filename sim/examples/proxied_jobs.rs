//! Writes the record of [`farroot_sim::proxied_jobs`]: `cargo run --release -p farroot-sim
//! --example proxied_jobs > sim/record/proxied-jobs.json`; then `make tables`.

use farroot_sim::jobs::{Fared, allowed, dataset};
use farroot_sim::proxied_jobs::{Site, Way, run};

const JOBS: [usize; 5] = [10, 20, 50, 80, 120];
const FILES: usize = 10;
const CLUSTERS: u64 = 16;
const SEED: u64 = 20;

fn main() {
    let dataset = dataset(CLUSTERS);
    let mut lines = Vec::new();
    for way in Way::ALL {
        for jobs in JOBS {
            let Fared { efficiency, moved, read, rate, slowest } =
                run(&dataset, way, Site::of_one_proxy(jobs, FILES), SEED);
            eprintln!("{} {jobs}: {efficiency:.3} {moved:.3} {rate:.1}", way.name());
            let times = if way == Way::Direct { jobs } else { FILES };
            lines.push(format!(
                "    {{\"client\": \"{}\", \"jobs\": {jobs}, \"files\": {FILES}, \
                 \"efficiency\": {efficiency:.3}, \"allowed\": {:.3}, \"moved\": {moved:.3}, \
                 \"read\": {read:.3}, \"rate\": {rate:.1}, \"slowest\": {slowest:.3}}}",
                way.name(),
                allowed(&dataset, times),
            ));
        }
    }
    println!("{{\n  \"table\": [\n{}\n  ]\n}}", lines.join(",\n"));
}
