//! Files over HTTP/1.1: `GET` and `HEAD` with ranges (one, several, suffix), validators, listings.

mod body;
mod range;

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::spawn_blocking;

use self::body::{Body, Piece};
use self::range::Wanted;
use super::files::{Export, Opened, Stat};

/// How long a connection may think before its next request is complete.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(300);

type Answer = Response<Body>;

/// Serves one connection until it ends.
pub async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send, export: Export) {
    let service = service_fn(move |request| {
        let export = export.clone();
        async move { Ok::<_, Infallible>(answer(&export, &request).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .pipeline_flush(true)
        .serve_connection(TokioIo::new(stream), service);
    // A client that goes away in the middle is the client's affair.
    let _ = connection.await;
}

async fn answer<B>(export: &Export, request: &Request<B>) -> Answer {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return answer;
    }
    let Some(path) = percent_decoded(request.uri().path()) else {
        return plain(StatusCode::BAD_REQUEST, "the path is not UTF-8\n");
    };
    let found = {
        let export = export.clone();
        spawn_blocking(move || find(&export, &path)).await
    };
    match found.unwrap_or_else(|fault| Err(io::Error::other(fault))) {
        Ok(Found::File(file)) => file_answer(file, request.headers()),
        Ok(Found::Listing(html)) => {
            let mut answer = Response::new(Body::text(html));
            set(answer.headers_mut(), header::CONTENT_TYPE, "text/html; charset=utf-8");
            answer
        }
        Err(error) => failure(&error),
    }
}

enum Found {
    File(Opened),
    Listing(String),
}

fn find(export: &Export, path: &str) -> io::Result<Found> {
    match export.open(path) {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            listing(export, path).map(Found::Listing)
        }
        opened => opened.map(Found::File),
    }
}

fn failure(error: &io::Error) -> Answer {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            plain(StatusCode::NOT_FOUND, "no such file\n")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported => {
            plain(StatusCode::FORBIDDEN, "not to be read here\n")
        }
        _ => plain(StatusCode::INTERNAL_SERVER_ERROR, "the server cannot read this file\n"),
    }
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = Response::new(Body::text(text));
    *answer.status_mut() = status;
    set(answer.headers_mut(), header::CONTENT_TYPE, "text/plain");
    answer
}

fn set(headers: &mut HeaderMap, name: header::HeaderName, value: &str) {
    // All values are made here of visible ASCII.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn file_answer(file: Opened, request: &HeaderMap) -> Answer {
    let stat = file.stat;
    let etag = stat.etag();
    let text = |name| request.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let same = |value: &str| value.split(',').any(|tag| tag.trim() == etag || tag.trim() == "*");
    if text(header::IF_NONE_MATCH).is_some_and(same) {
        let mut answer = plain(StatusCode::NOT_MODIFIED, "");
        set(answer.headers_mut(), header::ETAG, &etag);
        return answer;
    }
    let fresh =
        text(header::IF_RANGE).is_none_or(|value| value == etag || value == last_modified(&stat));
    let wanted = match text(header::RANGE).filter(|_| fresh) {
        Some(value) => range::parse(value, stat.size),
        None => Wanted::Whole,
    };
    let mut answer = match wanted {
        Wanted::Whole => Response::new(Body::of_file(vec![Piece::Range(0..stat.size)], file)),
        Wanted::Nothing => {
            let mut answer = plain(StatusCode::RANGE_NOT_SATISFIABLE, "no such bytes\n");
            set(answer.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{}", stat.size));
            return answer;
        }
        Wanted::Ranges(ranges) => partial(file, ranges, &etag),
    };
    let headers = answer.headers_mut();
    headers
        .entry(header::CONTENT_TYPE)
        .or_insert(HeaderValue::from_static("application/octet-stream"));
    set(headers, header::ACCEPT_RANGES, "bytes");
    set(headers, header::ETAG, &etag);
    set(headers, header::LAST_MODIFIED, &last_modified(&stat));
    answer
}

fn last_modified(stat: &Stat) -> String {
    httpdate::fmt_http_date(stat.modified_at())
}

/// One range as it is, several as `multipart/byteranges` in the order asked.
fn partial(file: Opened, ranges: Vec<Range<u64>>, etag: &str) -> Answer {
    let size = file.stat.size;
    let content_range =
        |range: &Range<u64>| format!("bytes {}-{}/{size}", range.start, range.end - 1);
    let (name, value, pieces) = match &ranges[..] {
        [range] => (header::CONTENT_RANGE, content_range(range), vec![Piece::Range(range.clone())]),
        _ => {
            // Not in the file by accident: it names the file's own inode, size and time.
            let boundary = format!("farroot-{}", etag.trim_matches('"'));
            let mut pieces = Vec::with_capacity(2 * ranges.len() + 1);
            for range in &ranges {
                let head =
                    format!("\r\n--{boundary}\r\nContent-Range: {}\r\n\r\n", content_range(range));
                pieces.push(Piece::Text(head.into()));
                pieces.push(Piece::Range(range.clone()));
            }
            pieces.push(Piece::Text(Bytes::from(format!("\r\n--{boundary}--\r\n"))));
            (header::CONTENT_TYPE, format!("multipart/byteranges; boundary={boundary}"), pieces)
        }
    };
    let mut answer = Response::new(Body::of_file(pieces, file));
    *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
    set(answer.headers_mut(), name, &value);
    answer
}

/// A page of links, as small as can be.
fn listing(export: &Export, path: &str) -> io::Result<String> {
    let mut html = String::from("<!doctype html><meta charset=\"utf-8\"><pre>\n");
    for entry in export.list(path)? {
        let slash = if entry.stat.is_folder { "/" } else { "" };
        let base = path.trim_end_matches('/');
        let link = percent_encoded(&format!("{base}/{}{slash}", entry.name));
        let name = entry.name.replace('&', "&amp;").replace('<', "&lt;");
        let _ = writeln!(html, "{:>15}  <a href=\"{link}\">{name}{slash}</a>", entry.stat.size);
    }
    html.push_str("</pre>\n");
    Ok(html)
}

fn percent_decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
                (digit()? * 16 + digit()?) as u8
            }
            _ => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn percent_encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                text.push(byte.into());
            }
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_into_links_and_back() {
        let name = "/a b/ü%?#\"<.root";
        assert_eq!(percent_decoded(&percent_encoded(name)).as_deref(), Some(name));
        for wrong in ["%", "%1", "%zz", "%ff"] {
            assert_eq!(percent_decoded(wrong), None, "{wrong}");
        }
    }
}
