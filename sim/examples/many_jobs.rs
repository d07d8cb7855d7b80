//! Writes the record of [`farroot_sim::jobs`]: `cargo run --release -p farroot-sim --example
//! many_jobs > bench/record/jobs.json`; then `make tables`.

use farroot_sim::jobs::{Client, Fared, allowed, dataset, run};

const JOBS: [usize; 7] = [1, 2, 5, 10, 20, 50, 120];
const CLUSTERS: u64 = 16;
const SEED: u64 = 20;

fn main() {
    let dataset = dataset(CLUSTERS);
    let mut lines = Vec::new();
    for client in Client::ALL {
        for jobs in JOBS {
            let Fared { efficiency, moved, read, rate, slowest } =
                run(&dataset, client, jobs, SEED);
            eprintln!("{} {jobs}: {efficiency:.3} {moved:.3} {rate:.1}", client.name());
            lines.push(format!(
                "    {{\"client\": \"{}\", \"jobs\": {jobs}, \"efficiency\": {efficiency:.3}, \
                 \"allowed\": {:.3}, \"moved\": {moved:.3}, \"read\": {read:.3}, \
                 \"rate\": {rate:.1}, \"slowest\": {slowest:.3}}}",
                client.name(),
                allowed(&dataset, jobs),
            ));
        }
    }
    println!("{{\n  \"table\": [\n{}\n  ]\n}}", lines.join(",\n"));
}
