//! Origins whose files are replaced while clients read them, and an origin that ignores ranges.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use farroot_serve::Forwarding;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::bed::{BYTES, bed, content, forwarding, header, http};
use super::{read, remote};

const HALF: usize = BYTES / 2;

/// Writes a file whose time of change is `later` seconds after the time one hour ago.
fn write(path: &Path, content: &[u8], later: u64) {
    fs::write(path, content).unwrap();
    let then = SystemTime::now() - Duration::from_secs(3600 - later);
    File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

/// Replaces the content of a file at the origin.
type Change = fn(&Path, &[u8]);

/// Clients have read the first half of a file over XRootD and HTTP when its content changes. Three
/// of each protocol then read the second half. Returns the bytes that a new client receives.
async fn replaced(is_http: bool, change: Change) -> Vec<u8> {
    let bed = bed(forwarding());
    let origin = if is_http { bed.origin.http_url() } else { bed.origin.root_url() };
    let old = content();
    let new: Vec<u8> = content().iter().map(|byte| !byte).collect();
    let file = bed.folder().join("r");
    write(&file, &old, 0);
    let address = format!("{}{origin}r", bed.proxy.root_url());
    let mut opened = Vec::new();
    for _ in 0..3 {
        let client = remote().open_bytes(&address).await.unwrap();
        let (_, bytes) = client.fetch(&[0..HALF as u64]).await.unwrap().remove(0);
        assert!(bytes == old[..HALF]);
        opened.push(client);
    }
    let path = format!("/{origin}r");
    let range = format!("Range: bytes=0-{}\r\n", HALF - 1);
    let (status, head, body) = http(&bed.proxy, "GET", &path, &range);
    assert!(status == 206 && body == old[..HALF]);
    let etag = header(&head, "etag").unwrap();
    change(&file, &new);
    // Longer than the 100 ms for which a session takes an open file as unchanged.
    tokio::time::sleep(Duration::from_millis(150)).await;
    let second = [HALF as u64..BYTES as u64];
    let fetched = opened.iter().map(|client| client.fetch(&second));
    for fetched in futures::future::join_all(fetched).await {
        match fetched {
            Ok(fetched) => assert!(fetched[0].1 == old[HALF..]),
            Err(error) => {
                assert!(error.to_string().contains("changed") && !error.is_retryable(), "{error}");
            }
        }
    }
    let rest = format!("Range: bytes={HALF}-\r\nIf-Match: {etag}\r\n");
    for _ in 0..3 {
        let (status, _, body) = http(&bed.proxy, "GET", &path, &rest);
        match status {
            // A body that breaks off ends with its connection.
            206 => assert!(old[HALF..].starts_with(&body)),
            412 => {}
            _ => assert!(String::from_utf8_lossy(&body).contains("changed"), "{status}"),
        }
    }
    let whole = read(&remote(), &address, &[0..BYTES as u64]).await.remove(0);
    assert!(whole == old || whole == new);
    whole
}

/// Regression: clients repeated requests to the proxy for the lost version for 1.5 s, and reported
/// an error that may be tried again.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_file_that_is_replaced_no_client_gets_bytes_of_both_versions() {
    let renamed: Change = |path, content| {
        write(&path.with_extension("new"), content, 60);
        fs::rename(path.with_extension("new"), path).unwrap();
    };
    let written_over: Change = |path, content| write(path, content, 60);
    for is_http in [false, true] {
        replaced(is_http, renamed).await;
        assert!(replaced(is_http, written_over).await[0] == !content()[0], "{is_http}");
    }
}

/// An origin that answers all requests with the whole file; also the number of its answers.
async fn without_ranges() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}/", listener.local_addr().unwrap());
    let answers = Arc::new(AtomicUsize::new(0));
    let counted = answers.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let counted = counted.clone();
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await?);
                }
                counted.fetch_add(1, Ordering::Relaxed);
                let lines = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nConnection: close\r\n";
                let answer = format!("{lines}Content-Length: {BYTES}\r\n\r\n");
                stream.write_all(answer.as_bytes()).await?;
                stream.write_all(&content()).await
            });
        }
    });
    (origin, answers)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_origin_that_answers_ranges_with_whole_files_is_not_read_anew_for_each() {
    let bed = bed(forwarding());
    let content = content();
    let (origin, answers) = without_ranges().await;
    let path = format!("/{origin}f");
    let get = |at: usize| {
        let range = format!("Range: bytes={at}-{},{}-{}\r\n", at + 99, at + 500, at + 599);
        let (status, _, body) = http(&bed.proxy, "GET", &path, &range);
        assert_eq!(status, 206);
        for part in [at..at + 100, at + 500..at + 600] {
            assert!(body.windows(100).any(|bytes| *bytes == content[part.clone()]), "{part:?}");
        }
    };
    std::thread::scope(|scope| {
        for client in 0..8 {
            scope.spawn(move || (0..3).for_each(|at| get(client * 300_000 + at * 70_000)));
        }
    });
    let address = format!("{}{origin}f", bed.proxy.root_url());
    let ends = [5..105, 2_999_900..3_000_000];
    for (range, bytes) in ends.iter().zip(read(&remote(), &address, &ends).await) {
        assert_eq!(bytes, content[range.start as usize..range.end as usize]);
    }
    // The file's head and its tail are requested at once.
    assert!(answers.load(Ordering::Relaxed) <= 2);
}

/// A server of HTTP that sends each client on to an address.
async fn sending_on(to: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = format!(
                "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\
                 Connection: close\r\n\r\n"
            );
            // A client may open connections before it has a request for them.
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
                // Closed with bytes unread, it would be reset, and the answer lost.
                while stream.read(&mut request).await.is_ok_and(|count| count > 0) {}
            });
        }
    });
    origin
}

/// Regression: a proxy on loopback with a list of origins followed redirections to any server.
#[tokio::test(flavor = "multi_thread")]
async fn redirections_lead_to_listed_servers_only() {
    let all = bed(forwarding());
    let target = all.origin.http_url();
    let origin = sending_on(format!("{target}d/f%20g.root")).await;
    let path = format!("/{origin}/f");
    let listed = |origins: &[&str]| {
        let origins = origins.iter().map(|text| text.parse().unwrap()).collect();
        bed(Forwarding { origins, ..forwarding() })
    };
    let target = target.trim_end_matches('/');
    // The first has the target, as long as the others need it.
    let beds = [(&all, true), (&listed(&[&origin]), false), (&listed(&[&origin, target]), true)];
    for (proxies, is_let) in beds {
        let (status, _, body) = http(&proxies.proxy, "GET", &path, "");
        assert_eq!(status == 200 && body == content(), is_let, "{status}");
        assert!(is_let || String::from_utf8_lossy(&body).contains("does not forward"), "{status}");
    }
}

/// Regression: a HEAD of an empty file had no length.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_file_has_a_length() {
    let bed = bed(forwarding());
    let there = format!("/{}empty", bed.origin.http_url());
    for (server, path) in [(&bed.origin, "/empty"), (&bed.proxy, &there)] {
        for method in ["GET", "HEAD"] {
            let (status, head, _) = http(server, method, path, "");
            assert_eq!((status, header(&head, "content-length")), (200, Some("0")));
        }
    }
}
