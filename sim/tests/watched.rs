//! Clients that request ranges of a far file and do not know who delivers them.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use engine::{Engine, ErrorKind, Watched};
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
fn far(content: &'static [u8]) -> Engine {
    let world = World::default();
    let accepted = world.host("server", 1094, Link::delay(RTT));
    xrootd_host::serve(accepted, one_file("/nano.root", content), Behaviour::default());
    farroot_sim::engine(&world)
}

/// Reads ranges, and compares them with the file; returns the round trips that it took.
async fn read(watched: &Watched, content: &[u8], ranges: Vec<Range<u64>>) -> f64 {
    let started = Instant::now();
    let mut arrivals = watched.read(ranges.clone());
    let mut come = vec![false; ranges.len()];
    while let Some(arrival) = arrivals.next().await {
        let arrival = arrival.expect("arrives");
        let Range { start, end } = ranges[arrival.index];
        assert_eq!(arrival.bytes, content[start as usize..end as usize], "{start}..{end}");
        assert!(!std::mem::replace(&mut come[arrival.index], true), "{start}..{end} came twice");
    }
    assert!(come.iter().all(|come| *come));
    round_trips(started.elapsed(), RTT)
}

/// ROOT requests header, key list, streamers and tree one after the other, 14 round trips in all.
#[test]
fn what_the_file_says_of_itself_is_here_before_it_is_asked_for() {
    let (took, used) = farroot_sim::run(async {
        let engine = far(FILE);
        let watched = engine.watch(URL).await.expect("opens");
        let started = Instant::now();
        let tree = engine.open_tree(URL, Some("Events")).await.expect("opens");
        let metadata = tree.file().metadata_bytes();
        assert!(started.elapsed() >= RTT && metadata > 4096);
        let size = FILE.len() as u64;
        let mut took = 0.0;
        for range in [0..300, 0..400, size - 400..size, size - 3000..size - 400] {
            took += read(&watched, FILE, vec![range]).await;
        }
        (took, watched.used())
    });
    assert!(took < 0.01, "{took:.2} round trips");
    assert_eq!((used.reads, used.bytes_metadata, used.bytes_demanded), (4, 3700, 0));
}

/// Regression: eight clients that opened an absent file sent the server eight requests, one after
/// the other.
#[test]
fn clients_of_one_address_share_an_error_too() {
    farroot_sim::run(async {
        let engine = far(FILE);
        let begun = Instant::now();
        let each = (0..8).map(|_| engine.watch("root://server:1094//absent.root"));
        for opened in futures::future::join_all(each).await {
            assert_eq!(opened.expect_err("it is absent").kind(), ErrorKind::NotFound);
        }
        assert!(begun.elapsed() < 3 * RTT, "{:?}", begun.elapsed());
        let opens = engine.watch_opens();
        assert_eq!((opens.succeeded, opens.failed["NotFound"]), (0, 1));
        engine.watch("root://server:1094//absent.root").await.expect_err("it is absent");
        assert_eq!(engine.watch_opens().failed["NotFound"], 2, "it may be there now");
    });
}

/// Regression: the first client of a file left before the file was open. The second one, which had
/// waited for that open, opened the file again.
#[test]
fn an_open_goes_on_without_the_client_that_began_it() {
    farroot_sim::run(async {
        let engine = far(FILE);
        let begun = Instant::now();
        let first = tokio::time::timeout(RTT + RTT / 2, engine.watch(URL));
        let (gone, opened) = tokio::join!(first, engine.watch(URL));
        assert!(gone.is_err());
        opened.expect("opens");
        assert!(begun.elapsed() < 3 * RTT, "{:?}", begun.elapsed());
        assert_eq!(engine.watch_opens().succeeded, 1);
    });
}

#[test]
fn clients_of_one_address_share_an_open_and_what_is_on_its_way() {
    let (trips, received) = farroot_sim::run(async {
        let engine = far(FILE);
        let clients = (0..8).map(async |_| {
            let watched = engine.watch(URL).await.expect("opens");
            read(&watched, FILE, vec![30_000..60_000, 70_000..70_001]).await
        });
        let trips = futures::future::join_all(clients).await;
        let opens = engine
            .trace()
            .records()
            .requests
            .iter()
            .filter(|r| r.segments.len() == 1 && r.segments[0].start == 0)
            .count();
        assert_eq!(opens, 1);
        (trips, engine.report().bytes_received)
    });
    assert!(trips.iter().all(|took| *took < 1.01), "{trips:?}");
    assert!(received < FILE.len() as u64 + 5_000, "{received} bytes of {}", FILE.len());
}

#[test]
fn a_file_of_another_kind_is_read_all_the_same() {
    static TEXT: [u8; 100_000] = [b'x'; 100_000];
    farroot_sim::run(async {
        let engine = far(&TEXT);
        let watched = engine.watch(URL).await.expect("opens");
        assert_eq!(watched.info().size, 100_000);
        read(&watched, &TEXT, vec![0..100_000, 5..5, 99_999..100_000]).await;
        let beyond = watched.read(vec![99_999..100_001]).next().await;
        assert!(beyond.is_some_and(|arrival| arrival.is_err()));
    });
}

#[test]
fn every_client_is_answered_why_a_file_cannot_be_opened() {
    farroot_sim::run(async {
        let engine = far(FILE);
        for _ in 0..2 {
            let error = engine.watch("root://server:1094//none").await.expect_err("is not there");
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        }
        let content = Bytes::from_static(FILE);
        let watched = engine.watch(URL).await.expect("opens");
        read(&watched, &content, vec![0..10]).await;
    });
}
