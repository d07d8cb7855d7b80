//! HTTP servers that keep to the protocol, with all that it leaves open.

use std::sync::Arc;
use std::time::Duration;

use farroot_remote::Config;
use farroot_remote::address::Address;
use farroot_remote::fetch::{Urgency, Want};
use farroot_remote::source::http::HttpServer;
use farroot_remote::source::network::Tcp;
use farroot_remote::source::{FileEnd, Server};
use futures::StreamExt;

use super::conformance;
use super::http_server::{Good, LinkOptions, PLAIN, Ranges};
use super::over_tcp;
use super::talk::{Talk, file};

pub fn server(origin: &impl ToString, config: &Config) -> Arc<dyn Server> {
    let network = Arc::new(Tcp::new(Duration::from_secs(5)));
    let origin = Address::parse(&origin.to_string()).unwrap();
    Arc::new(HttpServer::new(&origin, config, network).unwrap())
}

fn content(name: &str) -> Vec<u8> {
    conformance::files().into_iter().find(|(known, _)| *known == name).unwrap().1
}

async fn conforms(options: LinkOptions) {
    let good = Good::start(options).await;
    let config = Config { http2: options.http2, ..Config::default() };
    conformance::check(server(&good.origin, &config), |name| good.url(name)).await;
}

macro_rules! conformance_of {
    ($($name:ident: $options:expr;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            conforms($options).await;
        }
    )*};
}

conformance_of! {
    http1_keeps_the_rules: PLAIN;
    http2_keeps_the_rules: LinkOptions { http2: true, ..PLAIN };
    chunked_answers_keep_the_rules: LinkOptions { chunked: true, ..PLAIN };
    closing_servers_keep_the_rules: LinkOptions { close: true, ..PLAIN };
    reversed_parts_keep_the_rules: LinkOptions { ranges: Ranges::Reversed, ..PLAIN };
    merged_parts_keep_the_rules: LinkOptions { ranges: Ranges::Merged, ..PLAIN };
    missing_parts_keep_the_rules: LinkOptions { ranges: Ranges::Half, ..PLAIN };
    first_ranges_only_keep_the_rules: LinkOptions { ranges: Ranges::First, ..PLAIN };
    single_ranges_only_keep_the_rules: LinkOptions { ranges: Ranges::Single, ..PLAIN };
    refused_multi_ranges_over_http2_keep_the_rules:
        LinkOptions { ranges: Ranges::Refused(400), http2: true, ..PLAIN };
    servers_without_suffixes_keep_the_rules: LinkOptions { ranges: Ranges::NoSuffix, ..PLAIN };
    servers_without_ranges_keep_the_rules: LinkOptions { ranges: Ranges::None, ..PLAIN };
    servers_without_ranges_over_http2_keep_the_rules:
        LinkOptions { ranges: Ranges::None, http2: true, ..PLAIN };
    servers_without_ranges_that_close_keep_the_rules:
        LinkOptions { ranges: Ranges::None, close: true, ..PLAIN };
    servers_without_ranges_or_lengths_keep_the_rules:
        LinkOptions { ranges: Ranges::None, chunked: true, ..PLAIN };
}

/// A server that answers several ranges with 416 and the file's size, as aiohttp's static files do,
/// could not be read at all: the size was taken for the news, and the same was asked again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_of_each_kind_of_range_keep_the_rules() {
    for status in [400, 403, 405, 413, 414, 416, 431, 500, 501] {
        conforms(LinkOptions { ranges: Ranges::Refused(status), ..PLAIN }).await;
    }
    for status in [400, 416, 501] {
        conforms(LinkOptions { ranges: Ranges::AllRefused(status), ..PLAIN }).await;
        conforms(LinkOptions { ranges: Ranges::SuffixRefused(status), ..PLAIN }).await;
    }
}

#[tokio::test]
async fn a_refusal_of_several_ranges_is_learnt_once() {
    // An internal error may be one; the second is the server's way.
    for (status, first, second) in [(400, 4, 3), (416, 4, 3), (501, 4, 3), (500, 4, 4)] {
        let good = Good::start(LinkOptions { ranges: Ranges::Refused(status), ..PLAIN }).await;
        let mut talk = Talk::with(server(&good.origin, &Config::default()));
        let large = file(1, &good.url("large.bin"));
        let segments = [0..10, 1000..1010, 2000..2010];
        let mut requests = 0;
        for expected in [first, second, 3] {
            let read = talk.fetch(&large, &segments).await;
            assert_eq!(read.bytes()[10..20], content("large.bin")[1000..1010]);
            assert_eq!(good.requests() - requests, expected, "after {status}");
            requests = good.requests();
        }
    }
}

#[tokio::test]
async fn a_server_that_refuses_all_ranges_is_asked_for_them_once() {
    for status in [400, 416, 501] {
        let good = Good::start(LinkOptions { ranges: Ranges::AllRefused(status), ..PLAIN }).await;
        let mut talk = Talk::with(server(&good.origin, &Config::default()));
        for (tag, requests) in [(1, 2), (2, 3)] {
            let large = file(tag, &good.url("large.bin"));
            assert_eq!(talk.open(&large, FileEnd::Head(10)).await.bytes().len(), 10);
            let end = talk.fetch(&large, &[2_999_017..3_000_017]).await;
            assert_eq!(end.bytes(), content("large.bin")[2_999_017..]);
            assert_eq!(good.requests(), requests, "after {status}");
        }
    }
}

#[tokio::test]
async fn a_refused_suffix_leaves_the_size_and_is_not_asked_for_again() {
    for status in [400, 416, 501] {
        let good =
            Good::start(LinkOptions { ranges: Ranges::SuffixRefused(status), ..PLAIN }).await;
        let mut talk = Talk::with(server(&good.origin, &Config::default()));
        let tail = talk.open(&file(1, &good.url("large.bin")), FileEnd::Tail(1000)).await;
        assert_eq!(tail.info.as_ref().unwrap().size, 3_000_017, "after {status}");
        // One that says the size and refuses bytes within it may serve them when named.
        assert!(status == 416 || !tail.traits.as_ref().unwrap().suffix);
    }
}

/// The report said 12 requests where a server that takes one range a request saw 365: those that
/// the scheduler had made, not those that were sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_told_are_requests_seen() {
    let kinds = [
        (Ranges::All, false),
        (Ranges::Reversed, false),
        (Ranges::Merged, false),
        (Ranges::Half, false),
        (Ranges::First, true),
        (Ranges::Single, true),
        (Ranges::Refused(416), true),
        (Ranges::Refused(400), true),
        (Ranges::AllRefused(501), false),
        (Ranges::NoSuffix, false),
        (Ranges::SuffixRefused(501), false),
        (Ranges::None, false),
    ];
    let content = content("large.bin");
    for (ranges, one_range) in kinds {
        let good = Good::start(LinkOptions { ranges, ..PLAIN }).await;
        let remote = over_tcp(Config::default());
        let file = remote.open_bytes(good.url("large.bin").as_str()).await.unwrap();
        let parts: Vec<_> = (0..100).map(|at| at * 29_000..at * 29_000 + 700).collect();
        let want = |range: &std::ops::Range<u64>| Want {
            range: range.clone(),
            cost: 700,
            urgency: Urgency::Demand,
            order: 0,
        };
        let mut wants = file.want(parts.iter().map(want).collect());
        while let Some(delivery) = wants.next().await {
            let delivery = delivery.unwrap();
            let range = parts[delivery.index].clone();
            assert!(delivery.bytes[..] == content[range.start as usize..range.end as usize]);
        }
        let report = remote.report();
        assert_eq!(report.requests, good.requests() as u64, "{ranges:?}: {report}");
        if ranges == Ranges::Half {
            // Of two ranges that is one, too.
            continue;
        }
        assert_eq!(report.sources[0].one_range, one_range, "{ranges:?}: {report}");
        let line = "it serves one range a request: ";
        assert_eq!(report.to_string().contains(line), one_range, "{ranges:?}: {report}");
    }
}

#[tokio::test]
async fn many_segments_are_one_request() {
    let good = Good::start(PLAIN).await;
    let mut talk = Talk::with(server(&good.origin, &Config::default()));
    let large = file(1, &good.url("large.bin"));
    let info = talk.open(&large, FileEnd::Head(100)).await.info.unwrap();
    assert_eq!((info.size, info.version.as_deref()), (3_000_017, Some("\"1\"")));
    let segments: Vec<_> = (0..200).map(|i| i * 1000..i * 1000 + 10).collect();
    assert_eq!(talk.fetch(&large, &segments).await.bytes().len(), 2000);
    assert_eq!(good.requests(), 2);
    // Nothing is owed past the end, so nothing is asked.
    assert_eq!(talk.fetch(&large, &[4_000_000..4_000_001]).await.bytes(), b"");
    assert_eq!(good.requests(), 2);
}

#[tokio::test]
async fn single_ranges_are_learnt_once() {
    let good = Good::start(LinkOptions { ranges: Ranges::First, ..PLAIN }).await;
    let mut talk = Talk::with(server(&good.origin, &Config::default()));
    let large = file(1, &good.url("large.bin"));
    let segments = [0..10, 1000..1010, 2000..2010];
    let first = talk.fetch(&large, &segments).await;
    assert_eq!(first.traits.as_ref().unwrap().segments_max, 1);
    assert_eq!(first.bytes().len(), 30);
    assert_eq!(good.requests(), 3);
    let second = talk.fetch(&large, &segments).await;
    assert!(second.traits.is_none());
    assert_eq!(good.requests(), 6);
}

#[tokio::test]
async fn a_server_without_ranges_is_read_once() {
    let good = Good::start(LinkOptions { ranges: Ranges::None, ..PLAIN }).await;
    let server = server(&good.origin, &Config::default());
    let large = file(1, &good.url("large.bin"));
    let mut talk = Talk::with(server.clone());
    let opened = talk.open(&large, FileEnd::Head(1000)).await;
    assert_eq!(opened.notes.len(), 1, "{:?}", opened.notes);
    assert!(opened.notes[0].contains("3000017 bytes"), "{:?}", opened.notes);
    assert_eq!(opened.info.as_ref().unwrap().size, 3_000_017);
    assert_eq!(opened.bytes(), content("large.bin")[..1000]);
    let mut other = Talk::with(server);
    let far = other.fetch(&large, &[10..20, 2_999_000..2_999_010]).await;
    assert!(far.notes.is_empty());
    assert_eq!(far.bytes()[10..], content("large.bin")[2_999_000..2_999_010]);
    assert_eq!(talk.fetch(&large, &[5..7]).await.bytes(), content("large.bin")[5..7]);
    assert_eq!(good.requests(), 1);
}

#[tokio::test]
async fn a_small_file_without_ranges_needs_no_temporary_file() {
    let good = Good::start(LinkOptions { ranges: Ranges::None, ..PLAIN }).await;
    let mut talk = Talk::with(server(&good.origin, &Config::default()));
    let opened = talk.open(&file(1, &good.url("small.bin")), FileEnd::Head(65_536)).await;
    assert!(opened.notes.is_empty(), "{:?}", opened.notes);
    assert_eq!(opened.bytes(), content("small.bin"));
}

#[tokio::test]
async fn the_size_alone_costs_one_request() {
    for ranges in [Ranges::All, Ranges::None] {
        let good = Good::start(LinkOptions { ranges, ..PLAIN }).await;
        let mut talk = Talk::with(server(&good.origin, &Config::default()));
        let opened = talk.open(&file(1, &good.url("large.bin")), FileEnd::Head(0)).await;
        assert_eq!(opened.info.as_ref().unwrap().size, 3_000_017);
        assert!(opened.bytes().is_empty() && opened.notes.is_empty());
        assert_eq!(good.requests(), 1, "{ranges:?}");
    }
}

#[tokio::test]
async fn a_server_without_suffixes_tells_the_size() {
    let good = Good::start(LinkOptions { ranges: Ranges::NoSuffix, ..PLAIN }).await;
    let mut talk = Talk::with(server(&good.origin, &Config::default()));
    let large = file(1, &good.url("large.bin"));
    let tail = talk.open(&large, FileEnd::Tail(1000)).await;
    assert!(!tail.traits.as_ref().unwrap().suffix);
    assert_eq!(tail.info.as_ref().unwrap().size, 3_000_017);
    assert_eq!(tail.bytes(), b"");
    let end = talk.fetch(&large, &[2_999_017..3_000_017]).await;
    assert_eq!(end.bytes(), content("large.bin")[2_999_017..]);
}
