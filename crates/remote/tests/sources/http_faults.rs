//! HTTP servers that lie, fall silent or break off: a clear error, and never wrong data.

use std::time::Duration;

use farroot_remote::source::FileEnd;
use farroot_remote::{Config, ErrorKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::http::server;
use super::http_server::{Good, LinkOptions, PLAIN, Say, origin_of, scripted};
use super::talk::{Answer, End, Talk, file};

/// The head and the body of an answer.
fn say(status: &str, headers: &[&str], body: &str) -> String {
    let mut text = format!("HTTP/1.1 {status}\r\n");
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    if !headers.iter().any(|header| header.starts_with("Content-Length")) {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text + "\r\n" + body
}

fn patient(silence: Duration) -> Config {
    Config { read_timeout: silence, ..Config::default() }
}

/// Opens a file of a server that gives this answer to everything: its first ten bytes.
async fn opened(answer: String) -> Answer {
    let origin = scripted(move |_, _| Say::Stay(answer.clone())).await;
    let config = patient(Duration::from_millis(300));
    let mut talk = Talk::with(server(&origin, &config));
    talk.open(&file(1, &origin.join("f").unwrap()), FileEnd::Head(10)).await
}

/// Fetches bytes 0-10 and 20-30 of 100 from such a server.
async fn fetched(answer: String) -> Answer {
    let origin = scripted(move |_, _| Say::Stay(answer.clone())).await;
    let config = patient(Duration::from_millis(300));
    let mut talk = Talk::with(server(&origin, &config));
    talk.fetch(&file(1, &origin.join("f").unwrap()), &[0..10, 20..30]).await
}

#[tokio::test]
async fn wrong_places_are_errors() {
    for place in [
        "Content-Range: bytes 5-14/100",
        "Content-Range: bytes 0-19/100",
        "Content-Range: bytes 90-99/100",
        "Content-Range: items 0-9/100",
        "Content-Range: bytes 0-9/*",
        "X-Content-Range: bytes 0-9/100",
    ] {
        let answer = opened(say("206 Partial Content", &[place], "0123456789")).await;
        assert!(answer.data.is_empty(), "{place}");
        let error = answer.error();
        assert!(!error.is_retryable() && error.url().is_some(), "{place}: {error}");
    }
}

#[tokio::test]
async fn bodies_of_the_wrong_length_are_errors() {
    let place = "Content-Range: bytes 0-9/100";
    for body in ["01234", "01234567890123456789"] {
        let answer = opened(say("206 Partial Content", &[place], body)).await;
        assert!(
            answer
                .data
                .iter()
                .all(|(at, bytes)| { "0123456789".as_bytes()[*at as usize..].starts_with(bytes) })
        );
        assert_eq!(answer.error().kind(), ErrorKind::Corrupt, "{body}");
    }
    let origin = scripted(move |_, _| {
        Say::Close(say("206 Partial Content", &[place, "Content-Length: 10"], "01234"))
    })
    .await;
    let mut talk = Talk::with(server(&origin, &Config::default()));
    let error = talk.open(&file(1, &origin.join("f").unwrap()), FileEnd::Head(10)).await.error();
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.is_retryable());
}

#[tokio::test]
async fn wrong_parts_are_errors() {
    let kind = "Content-Type: multipart/byteranges; boundary=b";
    let part = |place: &str, body: &str| format!("--b\r\nContent-Range: {place}\r\n\r\n{body}\r\n");
    let bodies = [
        part("bytes 40-49/100", "0123456789") + "--b--",
        part("bytes 0-9/5", "0123456789") + "--b--",
        part("bytes 0-9/100", "0123456789") + &part("bytes 20-29/101", "0123456789") + "--b--",
        part("bytes 0-9/100", "0123456789"),
        part("bytes 0-9/100", "01234") + "--b--",
        "HTTP/1.1 500 Read vector is too long\r\n\r\n".to_owned(),
    ];
    for body in bodies {
        let answer = fetched(say("206 Partial Content", &[kind], &body)).await;
        let right = |(at, bytes): &(u64, Vec<u8>)| {
            *at < 30 && "0123456789".as_bytes()[*at as usize % 20..].starts_with(bytes)
        };
        assert!(answer.data.iter().all(right), "{body}");
        let kind = answer.error().kind();
        // One says another size than the part before it.
        let expected = if body.contains("/101") { ErrorKind::Changed } else { ErrorKind::Corrupt };
        assert_eq!(kind, expected, "{body}");
    }
}

#[tokio::test]
async fn an_answer_without_any_part_is_asked_for_singly() {
    let origin = scripted(|_, head| {
        if head.contains(',') {
            let kind = "Content-Type: multipart/byteranges; boundary=b";
            Say::Stay(say("206 Partial Content", &[kind], "--b--"))
        } else if head.contains("bytes=0-9\r") {
            Say::Stay(say("206 OK", &["Content-Range: bytes 0-9/100"], "0123456789"))
        } else {
            Say::Stay(say("206 OK", &["Content-Range: bytes 20-29/100"], "abcdefghij"))
        }
    })
    .await;
    let mut talk = Talk::with(server(&origin, &Config::default()));
    let answer = talk.fetch(&file(1, &origin.join("f").unwrap()), &[0..10, 20..30]).await;
    assert_eq!(answer.bytes(), b"0123456789abcdefghij");
}

#[tokio::test]
async fn a_server_that_never_delivers_is_given_up() {
    // As XRootD 5 does past the end of a file; but this one does it within the file, too.
    let answer = opened(say("206 OK", &["Content-Range: bytes 0-9/4"], "0123456789")).await;
    assert_eq!(answer.info.as_ref().unwrap().size, 4);
    assert!(answer.data.is_empty());
    assert_eq!(answer.error().kind(), ErrorKind::Corrupt);
    let answer = opened(say("416 Range Not Satisfiable", &["Content-Range: bytes */50"], "")).await;
    assert_eq!(answer.error().kind(), ErrorKind::Io);
}

/// A file of ten bytes was copied as an empty one, without an error.
#[tokio::test]
async fn an_announcement_of_no_bytes_is_compared_with_the_whole_file() {
    for (body, size) in [("", 0), ("0123456789", 10)] {
        let origin = scripted(move |_, head| {
            if head.contains("bytes=") {
                Say::Stay(say("206 OK", &["Content-Range: bytes 0-9/0"], body))
            } else {
                Say::Stay(say("200 OK", &[], body))
            }
        })
        .await;
        let mut talk = Talk::with(server(&origin, &Config::default()));
        let answer = talk.open(&file(1, &origin.join("f").unwrap()), FileEnd::Head(10)).await;
        assert_eq!(answer.info.as_ref().unwrap().size, size);
        assert_eq!(answer.bytes(), body.as_bytes());
    }
}

#[tokio::test]
async fn announcements_past_the_end_are_asked_for_again() {
    let origin = scripted(|_, head| {
        if head.contains("bytes=0-9\r") {
            Say::Hang(say("206 OK", &["Content-Range: bytes 0-9/4", "Content-Length: 10"], ""))
        } else {
            assert!(head.contains("bytes=0-3\r"), "{head}");
            Say::Stay(say("206 OK", &["Content-Range: bytes 0-3/4"], "0123"))
        }
    })
    .await;
    let mut talk = Talk::with(server(&origin, &Config::default()));
    let answer = talk.open(&file(1, &origin.join("f").unwrap()), FileEnd::Head(10)).await;
    assert_eq!(answer.info.as_ref().unwrap().size, 4);
    assert_eq!(answer.bytes(), b"0123");
}

/// Such a server has to be asked for one range after the other: those answers say it.
#[tokio::test]
async fn parts_that_do_not_say_the_version_are_asked_for_singly() {
    let origin = scripted(|_, head| {
        let part = |place: &str, body: &str| {
            let place = format!("Content-Range: bytes {place}/100");
            Say::Stay(say("206 Partial Content", &[&place, "ETag: \"a\""], body))
        };
        if head.contains(',') {
            let kind = "Content-Type: multipart/byteranges; boundary=b";
            let parts = ["0-9", "20-29"].map(|place| {
                format!("--b\r\nContent-Range: bytes {place}/100\r\n\r\n??????????\r\n")
            });
            Say::Stay(say("206 Partial Content", &[kind], &(parts.concat() + "--b--")))
        } else if head.contains("bytes=20-29\r") {
            part("20-29", "abcdefghij")
        } else {
            part("0-9", "0123456789")
        }
    })
    .await;
    let mut talk = Talk::with(server(&origin, &Config::default()));
    let file = file(1, &origin.join("f").unwrap());
    assert_eq!(talk.open(&file, FileEnd::Head(10)).await.bytes(), b"0123456789");
    assert_eq!(talk.fetch(&file, &[0..10, 20..30]).await.bytes(), b"0123456789abcdefghij");
}

/// Sizes that no file has: in whichever header they come.
#[tokio::test]
async fn a_size_beyond_all_files_is_an_error() {
    for size in [(1 << 50) + 1, 1 << 55, i64::MAX as u64, u64::MAX] {
        let place = format!("Content-Range: bytes 0-9/{size}");
        let none = format!("Content-Range: bytes */{size}");
        let length = format!("Content-Length: {size}");
        for answer in [
            say("206 Partial Content", &[&place], "0123456789"),
            say("416 Range Not Satisfiable", &[&none], ""),
            say("200 OK", &[&length], "0123456789"),
        ] {
            let answered = opened(answer.clone()).await;
            assert!(answered.data.is_empty() && answered.info.is_none(), "{answer}");
            // Of lengths near the end of all numbers the HTTP library makes an error of its own.
            let error = answered.error();
            let is_named = error.kind() == ErrorKind::LimitReached;
            assert!(is_named || size > i64::MAX as u64, "{answer}: {error}");
        }
    }
}

#[tokio::test]
async fn another_version_is_an_error() {
    for second in [
        ["Content-Range: bytes 10-19/99", "ETag: \"a\""],
        ["Content-Range: bytes 10-19/100", "ETag: \"b\""],
    ] {
        let origin = scripted(move |request, _| {
            let first = ["Content-Range: bytes 0-9/100", "ETag: \"a\""];
            let headers = if request == 0 { first } else { second };
            Say::Stay(say("206 Partial Content", &headers, "0123456789"))
        })
        .await;
        let mut talk = Talk::with(server(&origin, &Config::default()));
        let file = file(1, &origin.join("f").unwrap());
        assert_eq!(talk.open(&file, FileEnd::Head(10)).await.bytes(), b"0123456789");
        let answer = talk.fetch(&file, &[10..20]).await;
        assert!(answer.data.is_empty());
        let error = answer.error();
        assert_eq!(error.kind(), ErrorKind::Changed);
        assert!(error.message().contains("has changed while it was read"), "{error}");
    }
}

#[tokio::test]
async fn refusals_have_their_kinds_and_leave_the_connection_usable() {
    let origin = scripted(|request, _| match request {
        0 => Say::Stay(say("404 Not Found", &[], "no")),
        1 => Say::Stay(say("401 Unauthorized", &[], "")),
        2 => Say::Stay(say("403 Forbidden", &[], "never")),
        3 => Say::Stay(say("503 Service Unavailable", &["Retry-After: 9"], "later")),
        4 => Say::Stay(say("200 OK", &["Content-Encoding: gzip"], "packed")),
        _ => Say::Stay(say("206 OK", &["Content-Range: bytes 0-9/100"], "0123456789")),
    })
    .await;
    let mut talk = Talk::with(server(&origin, &Config::default()));
    let file = file(1, &origin.join("f").unwrap());
    for (kind, retryable) in [
        (ErrorKind::NotFound, false),
        (ErrorKind::Unauthenticated, false),
        (ErrorKind::PermissionDenied, false),
        (ErrorKind::Io, true),
        (ErrorKind::Unsupported, false),
    ] {
        let answer = talk.open(&file, FileEnd::Head(10)).await;
        assert!(matches!(answer.end, End::Failed(_)), "{kind:?}");
        let error = answer.error();
        assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{error}");
    }
    assert_eq!(talk.open(&file, FileEnd::Head(10)).await.bytes(), b"0123456789");
}

#[tokio::test]
async fn the_password_is_sent_and_not_shown() {
    let origin = scripted(|_, head| {
        // "me:secret", RFC 4648.
        if head.contains("Authorization: Basic bWU6c2VjcmV0\r\n") && !head.contains("/missing") {
            Say::Stay(say("206 OK", &["Content-Range: bytes 0-9/100"], "0123456789"))
        } else {
            Say::Stay(say("403 Forbidden", &[], ""))
        }
    })
    .await;
    let mut url = origin.join("f").unwrap();
    url.set_username("me").unwrap();
    url.set_password(Some("secret")).unwrap();
    let server = server(&url, &Config::default());
    assert!(!server.name().contains("secret"));
    let mut talk = Talk::with(server);
    assert_eq!(talk.open(&file(1, &url), FileEnd::Head(10)).await.bytes(), b"0123456789");
    let missing = url.join("/missing").unwrap();
    assert_eq!(missing.password(), Some("secret"));
    let error = talk.open(&file(2, &missing), FileEnd::Head(10)).await.error();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn redirections_are_passed_on() {
    let answer =
        opened(say("307 Temporary Redirect", &["Location: http://other:81/x?y"], "")).await;
    let End::Redirected(url) = answer.end else { panic!("{:?}", answer.end) };
    assert_eq!(url.to_http().unwrap().as_str(), "http://other:81/x?y");
    let answer = opened(say("302 Found", &["Location: /deeper/f"], "see there")).await;
    let End::Redirected(url) = answer.end else { panic!("{:?}", answer.end) };
    assert_eq!(url.path(), "/deeper/f");
    let answer = opened(say("302 Found", &["Location: http://[/"], "")).await;
    assert_eq!(answer.error().kind(), ErrorKind::Io);
}

/// A redirection to a file of the reader's disk was followed: a server's owner could have it
/// read and, with `farroot cp`, handed on.
#[tokio::test]
async fn no_redirection_leads_to_the_readers_disk() {
    for location in ["file:///etc/passwd", "FILE:///etc/passwd", "root://b//f", "", "ftp://b/f"] {
        let header = format!("Location: {location}");
        let error = opened(say("302 Found", &[&header], "")).await.error();
        assert_eq!(error.kind(), ErrorKind::Io, "{location}");
        assert!(!error.is_retryable() && error.message().contains("sends to"), "{error}");
    }
}

#[tokio::test]
async fn silence_is_an_error_that_names_the_address() {
    let heads = [
        String::new(),
        say("206 OK", &["Content-Range: bytes 0-9/100", "Content-Length: 10"], "012"),
    ];
    for head in heads {
        let origin = scripted(move |_, _| Say::Hang(head.clone())).await;
        let mut talk = Talk::with(server(&origin, &patient(Duration::from_millis(100))));
        let url = origin.join("f?token=secret").unwrap();
        let error = talk.open(&file(1, &url), FileEnd::Head(10)).await.error();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.is_retryable());
        assert!(error.url().unwrap().ends_with("/f?token=..."), "{error}");
    }
}

#[tokio::test]
async fn an_idle_connection_that_was_closed_is_replaced() {
    // It promises to keep the connection, and closes it after each answer.
    let origin =
        scripted(|_, _| Say::Close(say("206 OK", &["Content-Range: bytes 0-9/100"], "0123456789")))
            .await;
    let mut talk = Talk::with(server(&origin, &Config::default()));
    let file = file(1, &origin.join("f").unwrap());
    for pause in [0, 20, 0, 0] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        assert_eq!(talk.fetch(&file, &[0..10]).await.bytes(), b"0123456789");
    }
}

/// It was made ahead, and the read ended with "channel closed".
#[tokio::test]
async fn a_connection_closed_before_its_first_request_is_replaced() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = origin_of(&listener, false);
    tokio::spawn(async move {
        drop(listener.accept().await.unwrap());
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let answer = say("206 OK", &["Content-Range: bytes 0-9/100"], "0123456789");
        stream.write_all(answer.as_bytes()).await.unwrap();
        std::future::pending::<()>().await;
    });
    let mut talk = Talk::with(server(&origin, &Config::default()));
    tokio::time::sleep(Duration::from_millis(200)).await;
    let file = file(1, &origin.join("f").unwrap());
    assert_eq!(talk.fetch(&file, &[0..10]).await.bytes(), b"0123456789");
}

#[tokio::test]
async fn a_connection_closed_without_an_answer_ends() {
    let origin = scripted(|_, _| Say::Close(String::new())).await;
    let mut talk = Talk::with(server(&origin, &Config::default()));
    let answer = talk.fetch(&file(1, &origin.join("f").unwrap()), &[0..10]).await;
    let End::Disconnected(Some(error)) = answer.end else { panic!("{:?}", answer.end) };
    assert_eq!(error.kind(), ErrorKind::Connection);
}

#[tokio::test]
async fn a_refused_connection_ends() {
    let origin: url::Url = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap()
    };
    let mut talk = Talk::with(server(&origin, &Config::default()));
    let answer = talk.open(&file(1, &origin.join("f").unwrap()), FileEnd::Head(10)).await;
    let End::Disconnected(Some(error)) = answer.end else { panic!("{:?}", answer.end) };
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.is_retryable());
}

#[tokio::test]
async fn a_server_of_http1_asked_for_http2_is_an_error_with_advice() {
    let good = Good::start(PLAIN).await;
    let config = Config { http2: true, ..patient(Duration::from_secs(1)) };
    let mut talk = Talk::with(server(&good.origin, &config));
    let error = talk.open(&file(1, &good.url("small.bin")), FileEnd::Head(10)).await.error();
    assert!(error.to_string().contains("http2"), "{error}");
}

#[tokio::test]
async fn heads_without_end_are_errors() {
    let origin =
        scripted(|_, _| Say::Hang(format!("HTTP/1.1 200 OK\r\nX: {}\r\n", "x".repeat(3_000_000))))
            .await;
    let mut talk = Talk::with(server(&origin, &Config::default()));
    let answer = talk.open(&file(1, &origin.join("f").unwrap()), FileEnd::Head(10)).await;
    assert_eq!(answer.error().kind(), ErrorKind::Connection);
}

#[tokio::test]
async fn a_whole_file_that_breaks_off_is_begun_again_by_who_waits() {
    let body = "0123456789".repeat(1000);
    let cut = say("200 OK", &["Content-Length: 10000"], &body[..5000]);
    let whole = say("200 OK", &[], &body);
    let origin = scripted(move |request, _| match request {
        0 => Say::Close(cut.clone()),
        _ => Say::Stay(whole.clone()),
    })
    .await;
    let server = server(&origin, &Config::default());
    let file = file(1, &origin.join("f").unwrap());
    let mut first = Talk::with(server.clone());
    let broken = first.fetch(&file, &[9990..10_000]).await;
    assert!(matches!(broken.end, End::Disconnected(Some(_))), "{:?}", broken.end);
    let mut second = Talk::with(server);
    assert_eq!(second.fetch(&file, &[9990..10_000]).await.bytes(), b"0123456789");
}

#[tokio::test]
async fn a_server_that_closes_needs_no_word_of_it() {
    let good = Good::start(LinkOptions { close: true, ..PLAIN }).await;
    let mut talk = Talk::with(server(&good.origin, &Config::default()));
    let large = file(1, &good.url("large.bin"));
    for _ in 0..3 {
        assert_eq!(talk.fetch(&large, &[0..10]).await.bytes().len(), 10);
    }
    assert_eq!(good.requests(), 3);
}
