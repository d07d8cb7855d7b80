//! The time to write a file to a server: exact, since time is virtual.

use std::time::Duration;

use bytes::Bytes;
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::{Behaviour, TakenFiles, serve};
use farroot_sim::{Files, round_trips};
use remote::CreateOptions;

const RTT: Duration = Duration::from_millis(100);
const ADDRESS: &str = "root://server:1094//new.root";

/// Writes a file of `len` bytes as ROOT's writer does, first to last byte and then the header
/// again; returns the time from before the connection to the end.
fn written(len: usize, link: Link, options: CreateOptions) -> Duration {
    let taken = TakenFiles::default();
    let place = taken.clone();
    let piece = Bytes::from(vec![7; 1 << 20]);
    let took = farroot_sim::run(async move {
        let world = World::default();
        let behaviour = Behaviour { takes: Some(place), ..Behaviour::default() };
        serve(world.host("server", 1094, link), Files::default(), behaviour);
        let engine = farroot_sim::engine(&world);
        let begun = tokio::time::Instant::now();
        let mut upload = engine.remote().create(ADDRESS, options).await.expect("begins");
        upload.write(0, Bytes::from(vec![0; 100]), true).await.expect("takes a header");
        while (upload.len() as usize) < len {
            let bytes = piece.slice(..piece.len().min(len - upload.len() as usize));
            upload.write(upload.len(), bytes, false).await.expect("takes bytes");
        }
        upload.write(0, Bytes::from(vec![9; 100]), false).await.expect("takes the header");
        let written = upload.finish().await.expect("has its name");
        assert_eq!(written.size, len as u64);
        begun.elapsed()
    });
    let files = taken.lock();
    let file = files.get("/new.root").expect("is there");
    assert!(files.len() == 1 && file.len() == len);
    assert!(file[..100] == [9; 100] && file[100..].iter().all(|byte| *byte == 7));
    took
}

const OVER: CreateOptions =
    CreateOptions { overwrite: true, in_place: false, shared: false, size: None };

/// The client sends the open, all bytes and a sync with the login. Close and checksum of a file
/// that is written under its own name wait for their answers. Under another name they leave at
/// once, too, and the rename over an existing file waits for theirs.
#[test]
fn a_short_file_takes_two_round_trips_once_connected() {
    let connecting = 1.0;
    for (options, most) in [(CreateOptions::default(), 2.0), (OVER, 2.0)] {
        let took = round_trips(written(10_000, Link::delay(RTT), options), RTT);
        assert!(took < connecting + most + 0.01, "{took:.3} round trips: {options:?}");
    }
}

/// Regression: where the first connection was lost, the first bytes were sent to a file that was
/// there already, before the error.
#[test]
fn a_file_that_is_there_keeps_its_bytes_also_where_a_connection_is_lost() {
    let taken = TakenFiles::default();
    taken.lock().insert("/new.root".to_owned(), vec![1; 1000]);
    let place = taken.clone();
    farroot_sim::run(async move {
        let world = World::default();
        let behaviour = Behaviour { takes: Some(place), cuts: 1, ..Behaviour::default() };
        serve(world.host("server", 1094, Link::delay(RTT)), Files::default(), behaviour);
        let engine = farroot_sim::engine(&world);
        let created = engine.remote().create(ADDRESS, CreateOptions::default()).await;
        let mut upload = created.expect("begins");
        upload.write(0, Bytes::from(vec![7; 100_000]), false).await.expect("takes bytes");
        let error = upload.finish().await.unwrap_err();
        assert!(error.to_string().contains("is there already"), "{error}");
        tokio::time::sleep(10 * RTT).await;
    });
    assert!(taken.lock()["/new.root"] == [1; 1000]);
}

/// Enough bytes are in flight for the link: a long file takes the time of its bytes. A simulated
/// socket holds 4 MiB, too little for a faster link of this delay.
#[test]
fn a_long_file_fills_the_link() {
    let rate = 62_500_000;
    let link = Link { rate: Some(rate), ..Link::delay(RTT) };
    let [short, long] = [64 << 20, 192 << 20].map(|len| written(len, link, OVER));
    let bytes = (128u64 << 20) as f64 / (long - short).as_secs_f64();
    assert!(bytes > 0.85 * rate as f64, "{:.1} MB/s", bytes / 1e6);
}
