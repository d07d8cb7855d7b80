//! A web server refuses for a while, or for good.

use std::time::Duration;

use engine::{Engine, ErrorKind};
use farroot_sim::http_host::{self, Control, Refusal};
use farroot_sim::network::World;
use farroot_sim::xrootd_host::{self, Behaviour};
use farroot_sim::{bulk, one_file};
use hyper::header::{DATE, HeaderName, RETRY_AFTER};
use tokio::time::Instant;

use crate::world::{MB, RTT, link};

const SIZE: u64 = 20 * MB;

struct Stage {
    engine: Engine,
    web: Control,
}

fn refusal(status: u16, headers: &[(HeaderName, &str)]) -> Refusal {
    let headers = headers.iter().map(|(name, value)| (name.clone(), (*value).to_owned()));
    Refusal { status, headers: headers.collect() }
}

/// A web server `a`, and the same file over XRootD on `b`.
fn stage() -> Stage {
    let world = World::default();
    let files = one_file("/f", bulk::content(SIZE as usize));
    let web = http_host::serve(world.host("a", 80, link(RTT, 20 * MB)), files.clone());
    let accepted = world.host("b", 1094, link(RTT, 20 * MB));
    xrootd_host::serve(accepted, files, Behaviour::default());
    Stage { engine: farroot_sim::engine(&world), web }
}

/// Reads while the web server refuses from `from` to `to`, in milliseconds; how long it took.
async fn read(
    address: &str,
    refusal: Refusal,
    [from, to]: [u64; 2],
) -> (Result<u64, engine::Error>, f64) {
    let stage = stage();
    let begun = Instant::now();
    let refuse = async {
        tokio::time::sleep(Duration::from_millis(from)).await;
        stage.web.lock().says(move |_| Some(refusal.clone()));
        tokio::time::sleep(Duration::from_millis(to - from)).await;
        stage.web.lock().serves();
    };
    let reading = async {
        let read =
            tokio::time::timeout(Duration::from_secs(600), bulk::read(&stage.engine, address));
        (read.await.expect("it hangs"), begun.elapsed().as_secs_f64())
    };
    futures::join!(reading, refuse).0
}

const WEB: &str = "http://a/f";
const BOTH: &str = "http://a/f|root://b:1094//f";
/// Long enough for any read.
const FOR_GOOD: [u64; 2] = [600, 400_000];

#[test]
fn a_pause_in_seconds_is_kept() {
    for status in [429, 503] {
        let refusal = refusal(status, &[(RETRY_AFTER, "5")]);
        let (read, took) = farroot_sim::run(read(WEB, refusal, [600, 1500]));
        assert_eq!(read.unwrap(), SIZE);
        assert!((5.6..8.0).contains(&took), "{took:.2} s after {status}");
    }
}

#[test]
fn a_pause_until_a_date_is_kept() {
    let headers =
        [(DATE, "Tue, 14 Nov 2023 22:13:20 GMT"), (RETRY_AFTER, "Tue, 14 Nov 2023 22:13:25 GMT")];
    let (read, took) = farroot_sim::run(read(WEB, refusal(503, &headers), [600, 1500]));
    assert_eq!(read.unwrap(), SIZE);
    assert!((5.6..8.0).contains(&took), "{took:.2} s");
}

#[test]
fn without_a_word_it_is_tried_again_soon() {
    for status in [408, 429, 500, 502, 503, 504] {
        let (read, took) = farroot_sim::run(read(WEB, refusal(status, &[]), [600, 1500]));
        assert_eq!(read.unwrap(), SIZE, "after {status}");
        assert!(took < 5.0, "{took:.2} s after {status}");
    }
}

#[test]
fn what_another_source_has_waits_for_nobody() {
    for status in [403, 404, 410, 429, 500, 503] {
        let refusal = refusal(status, &[(RETRY_AFTER, "50")]);
        let (read, took) = farroot_sim::run(read(BOTH, refusal, FOR_GOOD));
        assert_eq!(read.unwrap(), SIZE, "after {status}");
        assert!(took < 4.0, "{took:.2} s after {status}");
    }
}

#[test]
fn a_plain_no_is_an_error_at_once() {
    for (status, kind) in [
        (401, ErrorKind::Unauthenticated),
        (403, ErrorKind::PermissionDenied),
        (404, ErrorKind::NotFound),
        (410, ErrorKind::NotFound),
    ] {
        let (read, took) = farroot_sim::run(async {
            let stage = stage();
            let refusal = refusal(status, &[]);
            stage.web.lock().says(move |_| Some(refusal.clone()));
            let begun = Instant::now();
            (bulk::read(&stage.engine, WEB).await, begun.elapsed().as_secs_f64())
        });
        assert_eq!(read.unwrap_err().kind(), kind);
        assert!(took < 1.0, "{took:.2} s for {status}");
    }
}

#[test]
fn one_that_asks_for_an_hour_is_not_waited_for() {
    let refusal = refusal(503, &[(RETRY_AFTER, "3600")]);
    let (read, took) = farroot_sim::run(read(WEB, refusal, FOR_GOOD));
    let error = read.unwrap_err();
    assert!(error.to_string().contains("asks to wait 3600 s"), "{error}");
    // The read itself; the host goes on refusing.
    assert!(took < 5.0, "{took:.2} s");
}
