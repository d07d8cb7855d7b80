//! `farroot proxy` over an origin of this process: the same bytes by every way, one open for all,
//! and nothing that is not allowed.

mod balanced;
mod bed;
mod caching;
mod cluster;
mod guarded;
mod mounts;
mod origins;

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use bed::{BYTES, bed, content, forwarding, header, http};
use farroot_serve::{Config, Content, Forwarding, Origin, Server};
use remote::fetch::{Urgency, Want};
use remote::source::network::Tcp;
use remote::{Error, ErrorKind, Remote};

fn remote() -> Remote {
    let config = remote::Config::default();
    let network = Arc::new(Tcp::new(config.connect_timeout));
    Remote::start(config, network)
}

async fn read(remote: &Remote, address: &str, ranges: &[std::ops::Range<u64>]) -> Vec<Vec<u8>> {
    let file = remote.open_bytes(address).await.unwrap();
    let fetched = file.fetch(ranges).await.unwrap();
    ranges
        .iter()
        .map(|range| {
            let here = |(offset, bytes): &(u64, bytes::Bytes)| {
                *offset == range.start && bytes.len() as u64 == range.end - range.start
            };
            fetched.iter().find(|one| here(one)).expect("it was fetched").1.to_vec()
        })
        .collect()
}

async fn refusal(remote: &Remote, address: &str) -> Error {
    remote.open_bytes(address).await.expect_err(address)
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_over_xrootd_are_those_of_the_origin() {
    let bed = bed(forwarding());
    let content = content();
    let remote = remote();
    let address = bed.root("/d/f g.root");
    let ranges = [0..100, 5..6, 4090..4100, 100_000..1_900_000, 2_999_999..3_000_000];
    // As a file whose bytes are not decoded, by pages with checksums.
    for (range, bytes) in ranges.iter().zip(read(&remote, &address, &ranges).await) {
        assert_eq!(bytes, content[range.start as usize..range.end as usize], "{range:?}");
    }
    // By vector reads, more than one request takes.
    let file = remote.open_bytes(&address).await.unwrap();
    let many: Vec<_> = (0..2000u64).map(|at| at * 1499..at * 1499 + 40).collect();
    let want = |range: &std::ops::Range<u64>| Want {
        range: range.clone(),
        cost: 40,
        urgency: Urgency::Demand,
        order: range.start,
    };
    let mut wants = file.want(many.iter().map(want).collect());
    let mut count = 0;
    while let Some(delivery) = futures::StreamExt::next(&mut wants).await {
        let delivery = delivery.unwrap();
        let range = &many[delivery.index];
        assert_eq!(delivery.bytes, content[range.start as usize..range.end as usize]);
        count += 1;
    }
    assert_eq!(count, many.len());
    let empty = remote.open_bytes(&bed.root("/empty")).await.unwrap();
    assert_eq!(empty.info().size, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_origin_refuses_is_refused_with_its_reason() {
    let bed = bed(forwarding());
    let remote = remote();
    let missing = refusal(&remote, &bed.root("/none")).await;
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
    let upwards = refusal(&remote, &bed.root("/d/../empty")).await;
    assert!(upwards.to_string().contains("leads upwards"), "{upwards}");
    let itself = format!("{0}{0}/d/f g.root", bed.proxy.root_url());
    let itself = refusal(&remote, &itself).await;
    assert!(itself.to_string().contains("proxy itself"), "{itself}");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gone = format!("{}root://{closed}//f", bed.proxy.root_url());
    let gone = refusal(&remote, &gone).await;
    assert!(!gone.to_string().is_empty(), "{gone}");
    let (status, _, body) = http(&bed.proxy, "GET", &format!("/http://{closed}/f"), "");
    assert_eq!(status, 502, "{}", String::from_utf8_lossy(&body));
    let link = http(&bed.proxy, "GET", "/http://169.254.169.254/latest/meta-data", "");
    assert!(String::from_utf8_lossy(&link.2).contains("one link"), "{link:?}");
    for path in ["/", "/d/f", "/file:///a%2fb", "/http://h/%2e%2e/f", "/http://h/%252e%252e/f"] {
        assert_eq!(http(&bed.proxy, "GET", path, "").0, 400, "{path}");
    }
    assert_eq!(http(&bed.proxy, "GET", "/file:///etc/passwd", "").0, 403);
    // Nothing is written here: the client is sent to where it can be.
    assert_eq!(http(&bed.proxy, "PUT", "/http://h/f", "Content-Length: 0\r\n").0, 307);
    assert_eq!(http(&bed.proxy, "MOVE", "/http://h/f", "Destination: /g\r\n").0, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_over_http_are_those_of_the_origin() {
    let bed = bed(forwarding());
    let content = content();
    for origin in [bed.origin.http_url(), bed.origin.root_url()] {
        let path = format!("/{origin}d/f%20g.root");
        let (status, head, body) = http(&bed.proxy, "GET", &path, "");
        assert_eq!((status, body.len()), (200, BYTES));
        assert!(body == content);
        let etag = header(&head, "etag").unwrap().to_owned();
        assert!(etag.starts_with('"'), "{etag}");
        let asked = format!("Range: bytes=-5\r\nIf-Range: {etag}\r\n");
        let (status, head, body) = http(&bed.proxy, "GET", &path, &asked);
        assert_eq!((status, &body[..]), (206, &content[BYTES - 5..]));
        assert_eq!(header(&head, "content-range"), Some("bytes 2999995-2999999/3000000"));
        let other = "Range: bytes=0-4\r\nIf-Range: \"another\"\r\n";
        assert_eq!(http(&bed.proxy, "GET", &path, other).2.len(), BYTES);
        let (status, head, body) = http(&bed.proxy, "HEAD", &path, "");
        assert_eq!((status, body.len()), (200, 0));
        assert_eq!(header(&head, "content-length"), Some("3000000"));
        let same = format!("If-None-Match: {etag}\r\n");
        let (status, head, _) = http(&bed.proxy, "GET", &path, &same);
        assert_eq!((status, header(&head, "content-type")), (304, None), "{head}");
        let since = "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\r\n";
        assert_eq!(http(&bed.proxy, "GET", &path, since).0, 304);
        assert_eq!(http(&bed.proxy, "GET", &path, "If-Match: \"another\"\r\n").0, 412);
        assert_eq!(http(&bed.proxy, "GET", &path, "Range: bytes=3000000-\r\n").0, 416);
    }
}

/// Regression: for a HEAD, whose answer has no body, the whole file was requested from the origin;
/// with a range the answer was 206.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_read_for_a_head() {
    let bed = bed(forwarding());
    let path = format!("/{}d/f%20g.root", bed.origin.http_url());
    for ranges in ["", "10-19", "0-0,5-5", "9000000-"] {
        let asked = match ranges {
            "" => String::new(),
            _ => format!("Range: bytes={ranges}\r\n"),
        };
        for (server, path) in [(&bed.origin, "/d/f%20g.root"), (&bed.proxy, &path)] {
            let (status, head, body) = http(server, "HEAD", path, &asked);
            assert_eq!((status, body.len()), (200, 0), "{asked}");
            assert_eq!(header(&head, "content-length"), Some("3000000"), "{asked}");
        }
    }
    assert_eq!(bed.proxy.figures().unwrap().used.reads, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_ranges_over_http_come_as_the_origin_itself_sends_them() {
    let bed = bed(forwarding());
    let path = format!("{}d/f%20g.root", bed.origin.http_url());
    let ranges: Vec<String> =
        (0..1000u64).map(|at| format!("{}-{}", at * 2900, at * 2900 + at % 90)).collect();
    let asked = format!("Range: bytes={}\r\n", ranges.join(","));
    let parts = |server: &Server, path: &str| {
        let (status, head, body) = http(server, "GET", path, &asked);
        assert_eq!(status, 206, "{head}");
        let kind = header(&head, "content-type").unwrap();
        let boundary = kind.split("boundary=").nth(1).unwrap().to_owned();
        // Bytes, and so no text.
        let text: String = body.iter().map(|byte| char::from(*byte)).collect();
        text.replace(&boundary, "BOUNDARY")
    };
    let direct = parts(&bed.origin, "/d/f%20g.root");
    assert!(parts(&bed.proxy, &format!("/{path}")) == direct);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_keeps_other_users_out() {
    let secret = Some("s3cr3t".to_owned().into());
    let bed = bed(Forwarding { secret, ..forwarding() });
    let remote = remote();
    let origin = bed.origin.root_url();
    let with = |prefix: &str| format!("{}{prefix}{origin}/d/f g.root", bed.proxy.root_url());
    assert_eq!(read(&remote, &with("k-s3cr3t/"), &[0..3]).await, [content()[..3].to_vec()]);
    for prefix in ["", "k-/", "k-s3cr3/", "k-s3cr3t0/", "s3cr3t/"] {
        let error = refusal(&remote, &with(prefix)).await;
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{prefix}: {error}");
    }
    let http_origin = bed.origin.http_url();
    assert_eq!(http(&bed.proxy, "HEAD", &format!("/k-s3cr3t/{http_origin}empty"), "").0, 200);
    assert_eq!(http(&bed.proxy, "HEAD", &format!("/k-wrong/{http_origin}empty"), "").0, 403);
    let secret = Some("s".to_owned().into());
    let forwarding = Forwarding { secret, ..forwarding() };
    let config = Config::of(Content::Far(Box::new(forwarding)));
    let started = || Server::start(Config { address: Ipv4Addr::UNSPECIFIED.into(), ..config });
    let error = tokio::task::block_in_place(started).unwrap_err();
    assert!(error.to_string().contains("unencrypted"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_listed_origins_are_read_and_public_files_alone() {
    let origins = vec!["root://127.0.0.1:*".parse::<Origin>().unwrap()];
    let bed = bed(Forwarding { origins, ..forwarding() });
    let remote = remote();
    assert!(remote.open_bytes(&bed.root("/empty")).await.is_ok());
    let (status, _, body) =
        http(&bed.proxy, "GET", &format!("/{}empty", bed.origin.http_url()), "");
    assert_eq!(status, 403);
    assert!(String::from_utf8_lossy(&body).contains("does not forward"), "{body:?}");
    let private = refusal(&remote, &bed.root("/empty?authz=MARKER")).await;
    assert!(private.to_string().contains("public files only"), "{private}");
    assert!(!private.to_string().contains("MARKER"), "{private}");
    // Beyond loopback nothing is forwarded unless it is listed.
    let config = Config::of(Content::Far(Box::new(forwarding())));
    let start = || Server::start(Config { address: Ipv4Addr::UNSPECIFIED.into(), ..config });
    let shared = tokio::task::block_in_place(start).unwrap();
    let path = format!("/{}empty", bed.origin.http_url());
    assert_eq!(http(&shared, "GET", &path, "").0, 403);
}

/// Regression: with the password of one client in the address, a proxy fetched a protected file,
/// and its cache then gave it to every other client.
#[tokio::test(flavor = "multi_thread")]
async fn a_shared_proxy_carries_no_user_and_no_password() {
    let bed = bed(forwarding());
    let address = |scheme: &str, user: &str, path: &str| {
        format!("{scheme}://{user}@{}/{path}", bed.origin.address())
    };
    for user in ["u:MARKER", "u", ":MARKER"] {
        let there = address("http", user, "empty");
        let fast = format!("/fast//{there}");
        for (method, path) in [
            ("GET", &*format!("/{there}")),
            ("HEAD", &format!("/{there}")),
            ("GET", &fast),
            ("PUT", &format!("/{there}")),
        ] {
            let (status, head, body) = http(&bed.proxy, method, path, "Content-Length: 0\r\n");
            assert_eq!(status, 403, "{method} {path}");
            let text = head + &String::from_utf8_lossy(&body);
            assert!(!text.contains("MARKER") && !text.contains("marker"), "{text}");
            assert!(method == "HEAD" || text.contains("public files only"), "{text}");
        }
    }
    let root = address("root", "u", "/empty");
    let error = refusal(&remote(), &format!("{}{root}", bed.proxy.root_url())).await;
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.to_string().contains("no user names"), "{error}");
    assert_eq!(bed.proxy.figures().unwrap().origin_requests, 0);
    // That of one user may.
    let secret = Some("s3cr3t".to_owned().into());
    let own = crate::bed::bed(Forwarding { secret, ..forwarding() });
    let there = format!("/k-s3cr3t/http://u:MARKER@{}/empty", own.origin.address());
    assert_eq!(http(&own.proxy, "GET", &there, "").0, 200);
}

/// Regression: XRootD's clients ask for a kind of checksum by a parameter, which a public proxy
/// took for a query to the origin, and refused.
#[tokio::test(flavor = "multi_thread")]
async fn parameters_for_the_server_that_is_asked_are_not_for_the_origin() {
    let bed = bed(forwarding());
    let remote = remote();
    let path = "/d/f g.root";
    let kind = Some(remote::Algorithm::Adler32);
    let direct = remote.checksum(&format!("{}{path}", bed.origin.root_url()), kind).await;
    let through = remote.checksum(&bed.root(path), kind).await;
    assert_eq!(through.unwrap(), direct.unwrap());
    assert!(remote.open_bytes(&bed.root("/empty?oss.asize=7&tpc.key=1")).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_share_one_open_and_bytes_travel_once() {
    let bed = bed(forwarding());
    let content = content();
    let path = format!("/{}d/f%20g.root", bed.origin.http_url());
    let clients = (0..8).map(|_| {
        let address = bed.proxy.address();
        let path = path.clone();
        std::thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            let request =
                format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).unwrap();
            all
        })
    });
    let clients: Vec<_> = clients.collect();
    for client in clients {
        let all = tokio::task::block_in_place(|| client.join().unwrap());
        assert!(all.ends_with(&content));
    }
    let figures = bed.proxy.figures().unwrap();
    assert_eq!((figures.opens, figures.origin_opens), (8, 1));
    assert_eq!((figures.delivered, figures.used.bytes_read), (8 * BYTES as u64, 8 * BYTES as u64));
    let (_, _, text) = http(&bed.proxy, "GET", "/metrics", "");
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("farroot_proxy_opens_total 8"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_is_logged_for_each_close_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    let secret = Some("s3cr3t".to_owned().into());
    let bed = bed(Forwarding { secret, access_log: Some(log.clone()), ..forwarding() });
    let path = format!("/k-s3cr3t/{}d/f%20g.root?authz=MARKER", bed.origin.http_url());
    assert_eq!(http(&bed.proxy, "GET", &path, "Range: bytes=0-9\r\n").2.len(), 10);
    let mut text = String::new();
    for _ in 0..1000 {
        text = fs::read_to_string(&log).unwrap();
        if text.ends_with('\n') {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(text.contains("\"bytes\":10,") && text.contains("f%20g.root\""), "{text}");
    assert!(!text.contains("MARKER") && !text.contains("s3cr3t"), "{text}");
}

/// Programs that watch the proxy have no credential, and names of files begin with a scheme.
#[tokio::test(flavor = "multi_thread")]
async fn health_and_figures_have_names_of_their_own() {
    let bed = bed(forwarding());
    assert_eq!(http(&bed.proxy, "GET", "/healthz", "").0, 200);
    assert_eq!(http(&bed.proxy, "GET", "/readyz", "").0, 200);
    assert_eq!(http(&bed.origin, "GET", "/healthz", "").0, 404, "a folder has files only");
    let path = format!("/{}empty", bed.origin.http_url());
    assert_eq!(http(&bed.proxy, "GET", &path, "").0, 200);
    let text = String::from_utf8(http(&bed.proxy, "GET", "/metrics", "").2).unwrap();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name}: {text}")).parse::<f64>().unwrap()
    };
    assert_eq!(value("farroot_proxy_open_seconds_count{origin=\"http://127.0.0.1\"}"), 1.0);
    assert!(value("farroot_proxy_memory_bytes") > 1e6);
    assert!(value("farroot_proxy_connections") >= 1.0);
    assert_eq!(value("farroot_proxy_draining"), 0.0);
}
