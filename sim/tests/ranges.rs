//! Ranges of bytes of a far file, whatever its format.

use std::ops::Range;
use std::time::Duration;

use engine::{Engine, ErrorKind};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{one_file, round_trips, xrootd_host};
use futures::StreamExt;
use tokio::time::Instant;

const RTT: Duration = Duration::from_millis(100);
const FILE: &[u8] = include_bytes!("../testdata/small_nano.root");
const URL: &str = "root://server:1094//nano.root";

/// An engine, and a round trip from it a server with a file.
fn far() -> Engine {
    let world = World::default();
    let accepted = world.host("server", 1094, Link::delay(RTT));
    xrootd_host::serve(accepted, one_file("/nano.root", FILE), Behaviour::default());
    farroot_sim::engine(&world)
}

#[test]
fn what_is_known_to_be_wanted_leaves_with_the_open() {
    let (first, then) = farroot_sim::run(async {
        let engine = far();
        // Requests are careful as long as the server is not known, and until all connections are
        // up.
        let _other = engine.remote().open_bytes(URL).await.expect("opens");
        tokio::time::sleep(5 * RTT).await;
        let started = Instant::now();
        let ranges: [Range<u64>; 3] = [30_000..31_000, 5..10, 40_000..40_001];
        let (file, mut wants) = engine.remote().open_ranges(URL, &ranges).await.expect("opens");
        assert_eq!(file.info().size, FILE.len() as u64);
        for _ in &ranges {
            let come = wants.next().await.expect("all come").expect("arrives");
            let Range { start, end } = ranges[come.index];
            assert_eq!(come.bytes, FILE[start as usize..end as usize]);
        }
        assert!(wants.next().await.is_none());
        let first = round_trips(started.elapsed(), RTT);
        let started = Instant::now();
        let come = file.read(&[60_000..60_100]).next().await.expect("comes").expect("arrives");
        assert_eq!(come.bytes, FILE[60_000..60_100]);
        (first, round_trips(started.elapsed(), RTT))
    });
    assert!(first < 1.1, "the open with all ranges: {first:.2} round trips");
    assert!(then < 1.1, "{then:.2} round trips");
}

#[test]
fn a_range_beyond_the_end_is_an_error_of_its_own() {
    farroot_sim::run(async {
        let engine = far();
        let size = FILE.len() as u64;
        let ranges = [size - 1..size + 1, 0..4];
        let (file, mut wants) = engine.remote().open_ranges(URL, &ranges).await.expect("opens");
        let mut errors = 0;
        while let Some(come) = wants.next().await {
            errors += usize::from(come.is_err());
        }
        assert_eq!(errors, 1);
        assert_eq!(file.info().size, size);
        let missing = engine.remote().open_ranges("root://server:1094//no", &ranges).await;
        assert_eq!(missing.err().map(|error| error.kind()), Some(ErrorKind::NotFound));
    });
}
