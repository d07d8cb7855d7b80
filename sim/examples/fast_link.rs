//! Writes the record of [`farroot_sim::fast_link`]: `cargo run --release -p farroot-sim --example
//! fast_link > sim/record/fast-link.json`; then `make tables`.

use farroot_sim::fast_link::{FastLink, LINUX_FLOW_BYTES, TUNED_FLOW_BYTES, Transfer, columns};

const BYTES: usize = 4 << 30;
const COLUMNS_BYTES: u64 = 2 << 30;
/// The default, and more where a kernel's buffers limit each flow.
const LIMITS: [(u64, u32); 3] =
    [(LINUX_FLOW_BYTES, 16), (LINUX_FLOW_BYTES, 24), (TUNED_FLOW_BYTES, 16)];

fn main() {
    let asked = std::env::args().nth(1);
    let is_asked = |name: &str| asked.as_ref().is_none_or(|asked| name.starts_with(asked));
    let dataset = columns(if is_asked("columns") { COLUMNS_BYTES } else { 1 });
    let mut lines = Vec::new();
    for transfer in Transfer::ALL {
        for scheme in ["root", "http"] {
            for (flow_bytes_max, connections_max) in LIMITS {
                let name = format!("{} {scheme}", transfer.name());
                // The thread that reads the bytes of a PUT from a disk stops virtual time.
                let is_put = transfer == Transfer::Upload && scheme == "http";
                if is_put || !is_asked(&name) {
                    continue;
                }
                let link = FastLink { scheme, flow_bytes_max, connections_max };
                let used = link.run(transfer, BYTES, &dataset);
                eprintln!("{name} {connections_max} x {} MiB: {used:?}", flow_bytes_max >> 20);
                lines.push(format!(
                    "    {{\"transfer\": \"{}\", \"scheme\": \"{scheme}\", \
                     \"flow_bytes_max\": {flow_bytes_max}, \"connections_max\": {connections_max}, \
                     \"share\": {:.3}, \"allowed\": {:.3}, \"ramp\": {:.1}, \
                     \"seconds\": {:.2}, \"moved\": {:.3}, \"connections\": {}}}",
                    transfer.name(),
                    used.share,
                    used.allowed,
                    used.ramp,
                    used.seconds,
                    used.moved,
                    used.connections,
                ));
            }
        }
    }
    println!("{{\n  \"table\": [\n{}\n  ]\n}}", lines.join(",\n"));
}
