//! Another source has another file under the same name.

use std::time::Duration;

use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::{self, Behaviour};
use farroot_sim::{bulk, one_file};

fn read(sizes: [usize; 2], is_other: bool) -> (u64, String) {
    farroot_sim::run(async {
        let world = World::default();
        for (host, size) in ["a", "b"].into_iter().zip(sizes) {
            let accepted = world.host(host, 1094, Link::delay(Duration::from_millis(50)));
            // Other bytes as well: none of them may be used.
            let mut content = bulk::content(size).to_vec();
            if host == "b" && is_other {
                content.iter_mut().for_each(|byte| *byte ^= 0xFF);
            }
            xrootd_host::serve(accepted, one_file("/f", content), Behaviour::default());
        }
        let engine = farroot_sim::engine(&world);
        let read = bulk::read(&engine, "root://a:1094//f|root://b:1094//f").await.expect("reads");
        (read, engine.report().to_string())
    })
}

#[test]
fn it_is_not_used_and_the_report_warns() {
    let (read, report) = read([3_000_000, 2_999_999], true);
    assert_eq!(read, 3_000_000);
    let warning = "warning: root://b:1094 is not used: it has another file under this name, of \
                   2999999 bytes";
    assert!(report.contains(warning), "{report}");
}

#[test]
fn one_that_agrees_brings_no_warning() {
    let (read, report) = read([3_000_000, 3_000_000], false);
    assert_eq!(read, 3_000_000);
    assert!(!report.contains("warning"), "{report}");
}

/// Regression: a read of two different files of the same size was a mixture of both, as only their
/// sizes were compared.
#[test]
fn another_file_of_the_same_size_is_not_used() {
    let (read, report) = read([3_000_000, 3_000_000], true);
    assert_eq!(read, 3_000_000);
    let warning = "warning: root://b:1094 is not used: it has another file under this name, which \
                   differs at byte 0\n";
    assert!(report.contains(warning), "{report}");
}
