//! Servers that keep a connection busy and bring nothing of use.
//!
//! They were waited for without end, or as long as all tries together took: 94 s over XRootD and
//! 152 s over HTTP, where 30 s were documented.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use engine::{Config, Engine, Error, ErrorKind};
use farroot_sim::link::End;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::{self, Behaviour, Lie};
use farroot_sim::{bulk, http_host, one_file};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

use crate::world::{MB, RTT, link, seconds};

const SIZE: u64 = 4 * MB;

/// An HTTP server's behaviour instead of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Web {
    Silence,
    /// A byte of the head of an answer now and then.
    Head,
    /// `100 Continue`, at the given pause.
    Continue(Duration),
    /// The right bytes, one a second.
    Drip,
    /// One chunk whose size has an extension without end.
    Chunk,
    /// Parts of one byte each, always the same.
    Parts,
    /// Lines before the first part.
    Preamble,
}

const WEB: [Web; 8] = [
    Web::Silence,
    Web::Head,
    Web::Continue(Duration::from_secs(1)),
    Web::Continue(Duration::from_millis(50)),
    Web::Drip,
    Web::Chunk,
    Web::Parts,
    Web::Preamble,
];

/// Serves so many requests, over all connections, and lies to every further one.
fn web_that_lies(world: &World, host: &str, honest: u32, lie: Web) {
    let mut accepted = world.host(host, 80, link(RTT, 10 * MB));
    let count = Arc::new(AtomicU32::new(0));
    let content = bulk::content(SIZE as usize);
    tokio::spawn(async move {
        while let Some(mut end) = accepted.recv().await {
            let count = count.clone();
            let content = content.clone();
            tokio::spawn(async move {
                let mut head = Vec::new();
                while let Ok(byte) = end.read_u8().await {
                    head.push(byte);
                    if !head.ends_with(b"\r\n\r\n") {
                        continue;
                    }
                    let text = String::from_utf8(std::mem::take(&mut head)).unwrap();
                    let (first, last) = first_range(&text);
                    let place = format!("Content-Range: bytes {first}-{last}/{SIZE}\r\n");
                    let answer = format!("HTTP/1.1 206 OK\r\n{place}");
                    let length = format!("Content-Length: {}\r\n\r\n", last - first + 1);
                    let bytes = content.slice(first as usize..=last as usize);
                    if count.fetch_add(1, Ordering::Relaxed) < honest {
                        end.write_all((answer + &length).as_bytes()).await.unwrap();
                        end.write_all(&bytes).await.unwrap();
                        continue;
                    }
                    return lie_on(lie, end, &answer, &place, &length, &bytes).await;
                }
            });
        }
    });
}

/// The first requested range, both ends included.
fn first_range(head: &str) -> (u64, u64) {
    let Some(line) = head.lines().find_map(|line| line.strip_prefix("Range: bytes=")) else {
        return (0, SIZE - 1);
    };
    let (first, last) = line.split(',').next().unwrap().split_once('-').unwrap();
    match (first, last.trim().parse::<u64>()) {
        ("", Ok(count)) => (SIZE - count.min(SIZE), SIZE - 1),
        (first, Ok(last)) => (first.parse().unwrap(), last.min(SIZE - 1)),
        _ => unreachable!("{head}"),
    }
}

async fn lie_on(lie: Web, mut end: End, answer: &str, place: &str, length: &str, bytes: &[u8]) {
    let second = Duration::from_secs(1);
    let chunked = "Transfer-Encoding: chunked\r\n\r\n5";
    let kind = "HTTP/1.1 206 OK\r\nContent-Type: multipart/byteranges; boundary=b\r\n";
    let at = place.trim_start_matches(|c: char| !c.is_ascii_digit());
    let byte = &bytes[..1];
    let at = at.split('-').next().unwrap();
    let part = format!("--b\r\nContent-Range: bytes {at}-{at}/{SIZE}\r\n\r\n");
    let part = [part.as_bytes(), byte, b"\r\n"].concat();
    let (begin, again, pause): (String, Vec<u8>, Duration) = match lie {
        Web::Silence => return std::future::pending().await,
        Web::Head => (answer.into(), b"X".to_vec(), second),
        Web::Continue(pause) => (String::new(), b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(), pause),
        Web::Drip => (format!("{answer}{length}"), Vec::new(), second),
        Web::Chunk => (format!("{answer}{chunked};"), b"x".to_vec(), second),
        Web::Parts => (format!("{kind}\r\n"), part, second),
        Web::Preamble => (format!("{kind}\r\n"), b"line\r\n".to_vec(), second),
    };
    let _ = end.write_all(begin.as_bytes()).await;
    for at in 0.. {
        let drop = bytes.get(at..=at).unwrap_or_default();
        let said = if lie == Web::Drip { drop } else { &again };
        if end.write_all(said).await.is_err() {
            return;
        }
        tokio::time::sleep(pause).await;
    }
}

/// Reads the file; the virtual seconds that it took.
async fn read(engine: &Engine, address: &str) -> (Result<u64, Error>, f64) {
    let begun = Instant::now();
    let read = tokio::time::timeout(Duration::from_secs(3600), bulk::read(engine, address)).await;
    (read.expect("it hangs"), begun.elapsed().as_secs_f64())
}

/// The documented time since something of use last came, which was in the first two seconds.
fn is_left_in_time(lie: &str, (read, took): (Result<u64, Error>, f64)) {
    let error = read.expect_err("nothing came");
    assert!(took < 32.0, "{lie}: {took:.1} s: {error}");
    // Malformed answers are errors at once, the others take the time that is documented.
    assert!(took < 5.0 || error.kind() == ErrorKind::TimedOut, "{lie}: {error}");
    assert!(!error.to_string().contains("SourceId"), "{error}");
}

#[test]
fn web_servers_that_lie_are_left_after_the_documented_time() {
    for lie in WEB {
        for (honest, hosts) in [(0, 1), (2, 1), (2, 2)] {
            let outcome = farroot_sim::run(async move {
                let world = World::default();
                let names = ["a", "b"];
                names[..hosts].iter().for_each(|host| web_that_lies(&world, host, honest, lie));
                let address = ["http://a/f", "http://a/f|http://b/f"][hosts - 1];
                read(&farroot_sim::engine(&world), address).await
            });
            is_left_in_time(&format!("{lie:?}, honest {honest}, hosts {hosts}"), outcome);
        }
    }
}

#[test]
fn what_another_server_has_does_not_wait_for_one_that_lies() {
    for lie in WEB {
        let (read, took) = farroot_sim::run(async move {
            let world = World::default();
            web_that_lies(&world, "a", 2, lie);
            let files = one_file("/f", bulk::content(SIZE as usize));
            http_host::serve(world.host("b", 80, link(RTT, 10 * MB)), files);
            read(&farroot_sim::engine(&world), "http://a/f|http://b/f").await
        });
        assert_eq!(read.unwrap(), SIZE, "{lie:?}");
        assert!(took < 15.0, "{lie:?}: {took:.1} s");
    }
}

/// Data servers that do so from their first read on.
fn xrootd_that(world: &World, hosts: usize, behaviour: &Behaviour) -> String {
    let hosts = &["a", "b"][..hosts];
    for host in hosts {
        let files = one_file("/f", bulk::content(SIZE as usize));
        let accepted = world.host(host, 1094, link(RTT, 10 * MB));
        xrootd_host::serve(accepted, files, behaviour.clone());
    }
    let addresses: Vec<String> = hosts.iter().map(|host| format!("root://{host}//f")).collect();
    addresses.join("|")
}

#[test]
fn data_servers_that_lie_are_left_after_the_documented_time() {
    let lies = [Lie::Drip, Lie::EmptyParts, Lie::Notices]
        .map(|lie| Behaviour { lies: Some(lie), ..Behaviour::default() });
    let silent = Behaviour { hangs_after_reads: Some(0), ..Behaviour::default() };
    let stopped = Behaviour { stopped: true, ..Behaviour::default() };
    for behaviour in lies.into_iter().chain([silent, stopped]) {
        for hosts in [1, 2] {
            let shared = behaviour.clone();
            let outcome = farroot_sim::run(async move {
                let world = World::default();
                let address = xrootd_that(&world, hosts, &shared);
                read(&farroot_sim::engine(&world), &address).await
            });
            is_left_in_time(&format!("{behaviour:?}, hosts {hosts}"), outcome);
        }
    }
}

/// A stopped process: the kernel takes connections and bytes, and no greeting is answered.
#[test]
fn a_server_that_only_takes_connections_is_left_after_the_documented_time() {
    for port in [1094, 80] {
        let outcome = farroot_sim::run(async move {
            let world = World::default();
            let mut accepted = world.host("a", port, link(RTT, 10 * MB));
            tokio::spawn(async move {
                let mut taken = Vec::new();
                while let Some(end) = accepted.recv().await {
                    taken.push(end);
                }
            });
            let address = if port == 80 { "http://a/f" } else { "root://a//f" };
            read(&farroot_sim::engine(&world), address).await
        });
        is_left_in_time(&format!("port {port}"), outcome);
    }
}

#[test]
fn a_slow_link_is_waited_for() {
    for rate in [56_000, 7_000] {
        for scheme in ["http", "root"] {
            let (read, took) = farroot_sim::run(async move {
                let world = World::default();
                let files = one_file("/f", bulk::content(300_000));
                let line = link(seconds(0.6), rate);
                match scheme {
                    "http" => drop(http_host::serve(world.host("a", 80, line), files)),
                    _ => {
                        let accepted = world.host("a", 1094, line);
                        xrootd_host::serve(accepted, files, Behaviour::default());
                    }
                }
                let address = if scheme == "http" { "http://a/f" } else { "root://a//f" };
                read(&farroot_sim::engine(&world), address).await
            });
            assert_eq!(read.unwrap(), 300_000, "{scheme} at {rate} B/s");
            assert!(took > 300_000.0 / rate as f64, "{took}");
        }
    }
}

#[test]
fn a_server_that_brings_the_file_from_tape_and_says_so_is_waited_for() {
    let (read, took) = farroot_sim::run(async {
        let world = World::default();
        let wait = Behaviour { waits: Some(seconds(200.0)), ..Behaviour::default() };
        let address = xrootd_that(&world, 1, &wait);
        read(&farroot_sim::engine(&world), &address).await
    });
    assert_eq!(read.unwrap(), SIZE);
    assert!(took > 200.0, "{took}");
}

#[test]
fn the_least_rate_and_the_time_are_settings() {
    let (read, took) = farroot_sim::run(async {
        let world = World::default();
        let shared = Behaviour { lies: Some(Lie::Drip), ..Behaviour::default() };
        let address = xrootd_that(&world, 1, &shared);
        let read_timeout = Duration::from_secs(5);
        let config = Config { read_timeout, least_rate: 1, ..Config::default() };
        let engine = farroot_sim::engine_with(&world, config.clone());
        let slow = tokio::time::timeout(Duration::from_secs(600), bulk::read(&engine, &address));
        assert!(slow.await.is_err(), "a byte a second is what was asked for");
        let config = Config { least_rate: 100, ..config };
        read(&farroot_sim::engine_with(&world, config), &address).await
    });
    assert_eq!(read.unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(took < 7.0, "{took}");
}
