//! The figures of a proxy: their sums agree for any mix of reads, with failures and clients that
//! disconnect.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use farroot_serve::{Config, Content, Figures, Forwarding, Server};

const BYTES: u64 = 3_000_000;

fn proxy(settings: remote::Config) -> Server {
    let forwarding = Forwarding { settings, origins: Vec::new(), secret: None, access_log: None };
    Server::start(Config::of(Content::Far(Box::new(forwarding)))).unwrap()
}

fn request(proxy: &Server, path: &str, ranges: &str) -> TcpStream {
    let mut stream = TcpStream::connect(proxy.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let text = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Range: bytes={ranges}\r\n\r\n"
    );
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

/// The number of bytes in an answer's body.
fn body_of(mut stream: TcpStream) -> u64 {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    (answer.len() - head) as u64
}

/// One client: six reads of one range each; some it abandons, and some fail.
fn client(proxy: &Server, origin: &str, seed: u64) -> u64 {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut taken = 0;
    for _ in 0..6 {
        let start = random.u64(..BYTES);
        let end = (start + 1 + random.u64(..400_000)).min(BYTES);
        match random.u64(..5) {
            0 => {
                // Disconnects before the answer.
                let _ = request(proxy, &format!("/{origin}f"), &format!("{start}-{}", end - 1));
            }
            1 => {
                body_of(request(proxy, &format!("/{origin}none"), "0-5"));
            }
            _ => {
                let ranges = format!("{start}-{}", end - 1);
                taken += body_of(request(proxy, &format!("/{origin}f"), &ranges));
            }
        }
    }
    taken
}

/// Checks that each byte received from origins is counted once.
fn check(figures: &Figures) {
    let Figures { ways, used, cache, origin_bytes, origin_metadata, delivered, .. } = figures;
    assert_eq!(*delivered, ways.hit + ways.joined + ways.missed, "{figures:?}");
    let ahead = used.bytes_ahead_used + used.bytes_ahead_dropped + figures.predicted_here();
    assert_eq!(used.bytes_ahead_fetched, ahead, "{figures:?}");
    let of_use = ways.missed + ahead + origin_metadata + cache.filled_bytes;
    // `origin_for_nothing` saturates at zero: the sums are equal only if it did not.
    assert_eq!(*origin_bytes, of_use + figures.origin_for_nothing(), "{figures:?}");
}

#[test]
fn sums_close_over_a_mix_of_reads_that_fail_and_clients_that_leave() {
    let folder = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..BYTES).map(|at| (at / 7 + at) as u8).collect();
    fs::write(folder.path().join("f"), &content).unwrap();
    let origin = Server::start(Config::new(folder.path())).unwrap();
    let cache = tempfile::tempdir().unwrap();
    for (seed, cached) in [(1, false), (2, false), (3, true), (4, true)] {
        let mut settings = remote::Config::default();
        if cached {
            settings.cache.bytes_max = 1 << 30;
            settings.cache.free_bytes_min = 0;
            settings.cache.folder = Some(cache.path().to_owned());
        }
        let proxy = proxy(settings);
        for address in [origin.http_url(), origin.root_url()] {
            let taken: u64 = std::thread::scope(|scope| {
                let clients: Vec<_> = (0..6)
                    .map(|number| {
                        let proxy = &proxy;
                        let address = &address;
                        scope.spawn(move || client(proxy, address, seed * 100 + number))
                    })
                    .collect();
                clients.into_iter().map(|client| client.join().unwrap()).sum()
            });
            let figures = proxy.figures().unwrap();
            check(&figures);
            assert!(figures.delivered >= taken && taken > 0, "{taken} {figures:?}");
            assert!(figures.open_errors.contains_key("NotFound"), "{figures:?}");
        }
    }
}

#[test]
fn what_clients_read_one_after_the_other_is_missed_or_hit_to_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f"), vec![7; BYTES as usize]).unwrap();
    let origin = Server::start(Config::new(folder.path())).unwrap();
    let cache = tempfile::tempdir().unwrap();
    let mut settings = remote::Config::default();
    settings.cache.bytes_max = 1 << 30;
    settings.cache.free_bytes_min = 0;
    settings.cache.folder = Some(cache.path().to_owned());
    let path = format!("/{}f", origin.http_url());
    let first = proxy(settings.clone());
    for range in ["1000000-1099999", "1500000-1599999"] {
        assert_eq!(body_of(request(&first, &path, range)), 100_000);
    }
    let figures = first.figures().unwrap();
    check(&figures);
    assert_eq!((figures.delivered, figures.ways.missed), (200_000, 200_000), "{figures:?}");
    assert_eq!(figures.origin_for_nothing(), 0, "{figures:?}");
    first.flush();
    drop(first);
    // Another proxy reads from the disk cache.
    let second = proxy(settings);
    assert_eq!(body_of(request(&second, &path, "1000000-1099999")), 100_000);
    let figures = second.figures().unwrap();
    check(&figures);
    assert_eq!((figures.ways.hit, figures.ways.missed), (100_000, 0), "{figures:?}");
}
