//! A server of S3 with answers that real ones give rarely: another region, another time, no
//! document.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use credentials::{Choice, CredentialStore, Environment};
use farroot_remote::source::FileEnd;
use farroot_remote::{Config, CopyOptions, Error, ErrorKind};
use mutex::Mutex;
use url::Url;

use crate::http::server;
use crate::http_server::{Say, scripted};
use crate::over_tcp;
use crate::talk::{Talk, file};

const KEY: &str = "AKIDMARKER";
const SECRET: &str = "marker-of-a-secret";
const TOKEN: &str = "marker-of-a-secret.session";

/// The environment of a user of a server.
fn config(endpoint: &Url) -> Config {
    let variables = [
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_ACCESS_KEY_ID", KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_SESSION_TOKEN", TOKEN),
    ];
    let credential_store =
        CredentialStore::new(Environment::new(0, None, variables), Choice::default());
    Config { credential_store, ..Config::default() }
}

fn answer(status: &str, lines: &[&str], body: &str) -> Say {
    let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    let length = body.len();
    Say::Stay(format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{lines}\r\n{body}"))
}

fn refusal(status: &str, lines: &[&str], code: &str, more: &str) -> Say {
    answer(status, lines, &format!("<Error><Code>{code}</Code>{more}</Error>"))
}

/// The requested range of an object of ten bytes.
fn ten_bytes(head: &str) -> Say {
    served(head, "0123456789")
}

/// The bytes of one range.
fn served(head: &str, content: &str) -> Say {
    let (_, range) = head.split_once("Range: bytes=").expect("a range");
    let (first, last) = range.split("\r\n").next().unwrap().split_once('-').unwrap();
    let last = last.parse::<usize>().unwrap().min(content.len() - 1);
    let place = format!("Content-Range: bytes {first}-{last}/{}", content.len());
    let part = &content[first.parse().unwrap()..=last];
    answer("206 Partial Content", &[&place, "ETag: \"1\""], part)
}

/// Opens an object that is refused like this.
async fn refused(say: impl Fn() -> Say + Send + Sync + 'static) -> Error {
    let endpoint = scripted(move |_, _| say()).await;
    let remote = over_tcp(config(&endpoint));
    let error = remote.open_bytes("s3://bucket/f.bin").await.unwrap_err();
    for marker in ["marker", "AKID", "deadbeef"] {
        assert!(!error.to_string().contains(marker), "{error}");
        assert!(!format!("{error:?}").contains(marker), "{error:?}");
        assert!(!remote.report().to_string().contains(marker), "{}", remote.report());
    }
    error
}

#[tokio::test]
async fn a_wrong_clock_is_told_by_the_servers_date() {
    let error = refused(|| {
        let date = "Date: Mon, 01 Jan 2024 00:00:00 GMT";
        refusal("403 Forbidden", &[date], "RequestTimeTooSkewed", "<Message>marker</Message>")
    })
    .await;
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    assert!(error.to_string().contains(" d ") && error.to_string().contains("ahead of"), "{error}");
    assert!(error.to_string().contains("timedatectl"), "{error}");
}

/// A document of a refusal repeats the signed text, and its words are the server's.
#[tokio::test]
async fn what_a_refusal_repeats_is_not_shown() {
    let repeated = format!(
        "<Message>{SECRET} Signature=deadbeef</Message><StringToSign>deadbeef</StringToSign>\
         <AWSAccessKeyId>{KEY}</AWSAccessKeyId><SignatureProvided>deadbeef</SignatureProvided>"
    );
    for (status, code, kind) in [
        ("403 Forbidden", "SignatureDoesNotMatch", ErrorKind::Unauthenticated),
        ("403 Forbidden", "AccessDenied", ErrorKind::PermissionDenied),
        ("400 Bad Request", "ExpiredToken", ErrorKind::Unauthenticated),
        ("400 Bad Request", KEY, ErrorKind::Io),
        ("418 I'm a teapot", "NewCode", ErrorKind::Io),
    ] {
        let repeated = repeated.clone();
        let code = if code == KEY { "AKID MARKER=" } else { code };
        let error = refused(move || refusal(status, &[], code, &repeated)).await;
        assert_eq!(error.kind(), kind, "{error}");
    }
}

/// As Ceph and proxies before it answer.
#[tokio::test]
async fn a_status_without_a_document_says_enough() {
    for (status, body, kind, part) in [
        ("403 Forbidden", "", ErrorKind::PermissionDenied, "the variable AWS_ACCESS_KEY_ID"),
        ("403 Forbidden", "<html>no", ErrorKind::PermissionDenied, "may not read this"),
        ("404 Not Found", "", ErrorKind::NotFound, "no such object"),
        ("301 Moved Permanently", "", ErrorKind::InvalidArgument, "set AWS_REGION"),
        ("500 Internal Server Error", "", ErrorKind::Io, "500"),
    ] {
        let error = refused(move || answer(status, &[], body)).await;
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
    let long = "<Error><Code>NoSuchBucket</Code>".to_owned() + &" ".repeat(1 << 17) + "</Error>";
    let error = refused(move || answer("404 Not Found", &[], &long)).await;
    assert!(error.to_string().contains("no such object"), "{error}");
    let error = refused(|| refusal("503 Slow Down", &["Retry-After: 1"], "SlowDown", "")).await;
    assert!(error.is_retryable(), "{error}");
}

/// Which region each request of a read was signed for, of a server that is in another one.
async fn regions(said: &'static str, in_document: bool) -> (Vec<String>, Result<(), Error>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let inner = seen.clone();
    let endpoint = scripted(move |_, head| {
        let (_, scope) = head.split_once(&format!("Credential={KEY}/")).expect("a signature");
        let region = scope.split('/').nth(1).unwrap().to_owned();
        let is_here = region == "eu-here-1";
        inner.lock().push(region);
        match (is_here, in_document) {
            (true, _) => ten_bytes(head),
            (false, true) => refusal(
                "400 Bad Request",
                &[],
                "AuthorizationHeaderMalformed",
                &format!("<Region>{said}</Region>"),
            ),
            // With no document at all, and a place that is not gone to.
            (false, false) => {
                let region = format!("x-amz-bucket-region: {said}");
                answer("307 Temporary Redirect", &[&region, "Location: http://other.example/"], "")
            }
        }
    })
    .await;
    let opened = over_tcp(config(&endpoint)).open_bytes("s3://bucket/f.bin").await;
    let seen = seen.lock().clone();
    (seen, opened.map(|opened| assert_eq!(opened.info().size, 10)))
}

#[tokio::test]
async fn the_region_that_a_server_names_is_tried_once() {
    for in_document in [true, false] {
        let (seen, opened) = regions("eu-here-1", in_document).await;
        opened.unwrap();
        assert_eq!(seen, ["us-east-1", "eu-here-1"]);
    }
    let (seen, opened) = regions("eu-there-1", true).await;
    let error = opened.unwrap_err();
    assert_eq!(seen, ["us-east-1", "eu-there-1"]);
    assert!(error.to_string().contains("set AWS_REGION=eu-there-1"), "{error}");
    // A name that would lead to another host.
    let (seen, opened) = regions("evil.example/x", true).await;
    assert!(opened.is_err());
    assert_eq!(seen, ["us-east-1"]);
}

#[tokio::test]
async fn a_session_is_signed_and_ranges_are_not() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let inner = heads.clone();
    let endpoint = scripted(move |_, head| {
        inner.lock().push(head.to_owned());
        ten_bytes(head)
    })
    .await;
    over_tcp(config(&endpoint)).open_bytes("s3://bucket/d/a b.bin?versionId=7").await.unwrap();
    let head = heads.lock()[0].clone();
    assert!(head.starts_with("GET /bucket/d/a%20b.bin?versionId=7 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("X-Amz-Security-Token: {TOKEN}\r\n")), "{head}");
    assert!(head.contains("X-Amz-Content-Sha256: UNSIGNED-PAYLOAD\r\n"), "{head}");
    let signed = "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,";
    assert!(head.contains(signed), "{head}");
    assert!(head.contains("Range: bytes="), "{head}");
}

/// A HEAD is another request than the one that was signed; an Authorization is one word too many.
#[tokio::test]
async fn a_presigned_address_goes_out_as_it_is() {
    let query = "response-content-type=a%2Fb&X-Amz-Credential=K%2F20130524%2Fr&x=%7e&X-Amz-Signatur\
                 e=deadbeef";
    let heads = Arc::new(Mutex::new(Vec::new()));
    let inner = heads.clone();
    let endpoint = scripted(move |_, head| {
        inner.lock().push(head.to_owned());
        ten_bytes(head)
    })
    .await;
    let address = endpoint.as_str().replace("http://", "http://me:pw@") + "b/f%20g.bin?" + query;
    let remote = over_tcp(config(&endpoint));
    let folder = tempfile::tempdir().unwrap();
    let copied = remote
        .copy(std::slice::from_ref(&address), folder.path(), CopyOptions::default(), &|_| {})
        .await
        .unwrap();
    copied.into_iter().next().unwrap().unwrap();
    let verified = CopyOptions::default().verify(true).overwrite(true);
    let copied = remote.copy(&[address], folder.path(), verified, &|_| {}).await.unwrap();
    let said = format!("{copied:?}{}", remote.report());
    assert!(!said.contains("deadbeef") && !said.contains("20130524"), "{said}");
    for head in &*heads.lock() {
        assert!(head.starts_with(&format!("GET /b/f%20g.bin?{query} HTTP/1.1\r\n")), "{head}");
        assert!(!head.to_ascii_lowercase().contains("authorization:"), "{head}");
    }
    assert!(heads.lock().len() >= 2);
}

#[tokio::test]
async fn a_server_without_multi_ranges_is_asked_one_by_one() {
    let several = Arc::new(AtomicUsize::new(0));
    let inner = several.clone();
    let content = "0123456789".repeat(100);
    let endpoint = scripted(move |_, head| {
        if head.contains("Range: bytes=3-4,") {
            inner.fetch_add(1, Ordering::Relaxed);
            return answer("200 OK", &["ETag: \"1\""], &content);
        }
        served(head, &content)
    })
    .await;
    let address = "s3://bucket/f.bin".to_owned();
    let mut talk = Talk::with(server(&address, &config(&endpoint)));
    for round in 0..3 {
        let bytes = talk.fetch(&file(round, &address), &[3..5, 900..903]).await.bytes();
        assert_eq!(bytes, b"34012");
    }
    assert_eq!(several.load(Ordering::Relaxed), 1, "asked for several ranges after it was known");
}

/// Amazon's answer for an empty object has neither a size nor a range.
#[tokio::test]
async fn an_empty_object_is_opened() {
    let endpoint = scripted(|_, head| match head.contains("Range: ") {
        true => refusal(
            "416 Requested Range Not Satisfiable",
            &[],
            "InvalidRange",
            "<ActualObjectSize>0</ActualObjectSize>",
        ),
        false => answer("200 OK", &["ETag: \"d41d8cd98f00b204e9800998ecf8427e\""], ""),
    })
    .await;
    let address = "s3://bucket/f.bin".to_owned();
    let mut talk = Talk::with(server(&address, &config(&endpoint)));
    let opened = talk.open(&file(1, &address), FileEnd::Head(10)).await;
    assert_eq!((opened.info.as_ref().unwrap().size, opened.bytes()), (0, Vec::new()));
}

#[tokio::test]
async fn a_listing_that_does_not_end_is_an_error() {
    const PAGE: &str = "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x\
        </NextContinuationToken><Contents><Key>d/f</Key></Contents></ListBucketResult>";
    for (body, kind) in [
        (PAGE, ErrorKind::Corrupt),
        (&PAGE[..90], ErrorKind::Corrupt),
        ("<html></html>", ErrorKind::Corrupt),
        ("", ErrorKind::Corrupt),
    ] {
        let endpoint = scripted(move |_, _| answer("200 OK", &[], body)).await;
        let error = over_tcp(config(&endpoint)).list("s3://bucket/d/").await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
    // With another token each time, and nothing in it.
    let endpoint = scripted(|number, _| {
        let page = format!(
            "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>{number}\
             </NextContinuationToken></ListBucketResult>"
        );
        answer("200 OK", &[], &page)
    })
    .await;
    let error = over_tcp(config(&endpoint)).list("s3://bucket/d/").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitReached, "{error}");
    // Names that lead elsewhere are none.
    let page = "<ListBucketResult><Contents><Key>../f</Key></Contents><Contents><Key>d/g/h</Key>\
                </Contents><Contents><Key>d/f</Key></Contents></ListBucketResult>";
    let endpoint = scripted(move |_, _| answer("200 OK", &[], page)).await;
    let remote = over_tcp(config(&endpoint));
    assert_eq!(remote.matching("s3://bucket/d/*").await.unwrap(), ["s3://bucket/d/f"]);
}
