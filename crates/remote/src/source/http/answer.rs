//! The meaning of an answer's head.

use std::time::Duration;

use hyper::header::{
    CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, DATE, ETAG, HeaderMap, HeaderName,
    LAST_MODIFIED, LOCATION, RETRY_AFTER,
};
use hyper::{Response, StatusCode};

use super::multipart::boundary;
use super::range::{ContentRange, parse_content_range};
use crate::error::{Error, ErrorKind, Result};
use crate::source::{FileInfo, seconds_since_1970};

/// An answer, before its body.
#[derive(Debug, PartialEq, Eq)]
pub enum Head {
    /// The body is one range.
    Range(ContentRange),
    /// The body is several ranges, with this boundary between them.
    Parts(String),
    /// The body is the whole file.
    Whole,
    /// None of the ranges lies within the file, whose size may be given.
    Unsatisfiable(Option<u64>),
    /// The file is elsewhere.
    Redirected(String),
}

/// Judges an answer to a request for ranges.
///
/// # Errors
/// The server's refusal, as a kind that callers can act on.
pub fn judge<B>(response: &Response<B>) -> Result<Head> {
    let headers = response.headers();
    match response.status() {
        StatusCode::OK => plain(headers).map(|()| Head::Whole),
        StatusCode::PARTIAL_CONTENT => {
            plain(headers)?;
            if let Some(boundary) = text(headers, CONTENT_TYPE).and_then(boundary) {
                return Ok(Head::Parts(boundary));
            }
            let content_range = text(headers, CONTENT_RANGE).and_then(parse_content_range);
            let content_range = content_range.filter(|content_range| content_range.range.is_some());
            content_range.map(Head::Range).ok_or_else(|| {
                let content_range = text(headers, CONTENT_RANGE).unwrap_or("nothing");
                wrong(format!(
                    "the server does not say which bytes it sends, but {content_range:?}"
                ))
            })
        }
        StatusCode::RANGE_NOT_SATISFIABLE => {
            let content_range = text(headers, CONTENT_RANGE).and_then(parse_content_range);
            Ok(Head::Unsatisfiable(content_range.and_then(|content_range| content_range.size)))
        }
        StatusCode::MOVED_PERMANENTLY
        | StatusCode::FOUND
        | StatusCode::SEE_OTHER
        | StatusCode::TEMPORARY_REDIRECT
        | StatusCode::PERMANENT_REDIRECT => match text(headers, LOCATION) {
            Some(location) => Ok(Head::Redirected(location.to_owned())),
            None => Err(wrong("the server redirects, but does not say where to".into())),
        },
        status => Err(refusal(status, headers)),
    }
}

/// Whether a refusal may be due to the number of ranges: unless it says that it is due to the file,
/// to who asks, or to the moment.
pub fn may_be_their_number(status: StatusCode) -> bool {
    let is_error = status.is_client_error() || status.is_server_error();
    is_error
        && !matches!(
            status,
            StatusCode::UNAUTHORIZED
                | StatusCode::NOT_FOUND
                | StatusCode::REQUEST_TIMEOUT
                | StatusCode::GONE
                | StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        )
}

/// Whether a server that refuses one range so may know no ranges at all, or none from the end.
pub fn may_be_any_range(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::BAD_REQUEST | StatusCode::RANGE_NOT_SATISFIABLE | StatusCode::NOT_IMPLEMENTED
    )
}

/// The description of a file of this size in the headers of an answer.
///
/// # Errors
/// `LimitReached` for a size that no file can have.
pub fn file_info(headers: &HeaderMap, size: u64) -> Result<FileInfo> {
    let modified =
        text(headers, LAST_MODIFIED).and_then(|date| httpdate::parse_http_date(date).ok());
    let version = text(headers, ETAG).map(str::to_owned);
    FileInfo::new(size, modified.map(seconds_since_1970), version)
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

fn wrong(text: String) -> Error {
    Error::new(ErrorKind::Corrupt, text)
}

/// Ranges of compressed content are not ranges of the file.
fn plain(headers: &HeaderMap) -> Result<()> {
    match text(headers, CONTENT_ENCODING) {
        None => Ok(()),
        Some(encoding) if encoding.trim().eq_ignore_ascii_case("identity") => Ok(()),
        Some(encoding) => {
            let text = format!("the server sends the file {encoding:?}-encoded though it may not");
            Err(Error::new(ErrorKind::Unsupported, text))
        }
    }
}

/// How long a server asks to be left alone: in seconds, or until a time by its own clock.
fn pause(headers: &HeaderMap) -> Option<Duration> {
    let value = text(headers, RETRY_AFTER)?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let now = httpdate::parse_http_date(text(headers, DATE)?).ok()?;
    Some(until.duration_since(now).unwrap_or_default())
}

fn refusal(status: StatusCode, headers: &HeaderMap) -> Error {
    let (kind, retryable) = match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => (ErrorKind::NotFound, false),
        StatusCode::UNAUTHORIZED | StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            (ErrorKind::Unauthenticated, false)
        }
        StatusCode::FORBIDDEN => (ErrorKind::PermissionDenied, false),
        StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => (ErrorKind::TimedOut, true),
        StatusCode::TOO_MANY_REQUESTS => (ErrorKind::Io, true),
        StatusCode::NOT_IMPLEMENTED | StatusCode::HTTP_VERSION_NOT_SUPPORTED => {
            (ErrorKind::Unsupported, false)
        }
        status if status.is_server_error() => (ErrorKind::Io, true),
        _ => (ErrorKind::Io, false),
    };
    let is_proxy = status == StatusCode::PROXY_AUTHENTICATION_REQUIRED;
    let who = if is_proxy { "the proxy" } else { "the server" };
    let mut text = format!("{who} answers {status}");
    let pause = pause(headers);
    if let Some(pause) = pause {
        text.push_str(&format!(" and asks to wait {} s", pause.as_secs()));
    }
    // Both are how servers limit connections and requests.
    let is_busy = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    let mut error = Error::new(kind, text).retryable(retryable).busy(is_busy);
    if is_busy {
        error = error.with_advice_for(
            "--connections (FARROOT_CONNECTIONS) says how many there are at the most",
            "farroot.config(connections=...) says how many there are at the most",
        );
    }
    if let Some(pause) = pause {
        error = error.with_retry_after(pause);
    }
    match kind {
        ErrorKind::Unauthenticated if is_proxy => error.with_advice(
            "write user and password into the proxy's address: http://USER:PASSWORD@HOST:PORT",
        ),
        ErrorKind::Unauthenticated => {
            error.with_advice("write http://user:password@host/... if you have a password there")
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)]) -> Result<Head> {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        judge(&response.body(()).unwrap())
    }

    fn refused(status: u16) -> (ErrorKind, bool) {
        let error = answer(status, &[]).unwrap_err();
        (error.kind(), error.is_retryable())
    }

    #[test]
    fn bodies_are_told_apart() {
        let content_range = ContentRange { range: Some(0..10), size: Some(20) };
        assert_eq!(
            answer(206, &[("Content-Range", "bytes 0-9/20")]),
            Ok(Head::Range(content_range))
        );
        let parts = [("Content-Type", "multipart/byteranges; boundary=x")];
        assert_eq!(answer(206, &parts), Ok(Head::Parts("x".into())));
        assert_eq!(answer(200, &[]), Ok(Head::Whole));
        assert_eq!(answer(200, &[("Content-Encoding", "identity")]), Ok(Head::Whole));
        let unsatisfiable = [("Content-Range", "bytes */20")];
        assert_eq!(answer(416, &unsatisfiable), Ok(Head::Unsatisfiable(Some(20))));
        assert_eq!(answer(416, &[]), Ok(Head::Unsatisfiable(None)));
        let elsewhere = [("Location", "http://b/")];
        for status in [301, 302, 303, 307, 308] {
            assert_eq!(answer(status, &elsewhere), Ok(Head::Redirected("http://b/".into())));
            assert_eq!(refused(status), (ErrorKind::Corrupt, false));
        }
    }

    #[test]
    fn bodies_that_cannot_be_trusted_are_refused() {
        assert_eq!(refused(206), (ErrorKind::Corrupt, false));
        assert!(answer(206, &[("Content-Range", "bytes */20")]).is_err());
        let packed = [("Content-Encoding", "gzip"), ("Content-Range", "bytes 0-9/20")];
        assert_eq!(answer(206, &packed).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(answer(200, &packed).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn refusals_say_what_to_do() {
        assert_eq!(refused(404), (ErrorKind::NotFound, false));
        assert_eq!(refused(410), (ErrorKind::NotFound, false));
        assert_eq!(refused(401), (ErrorKind::Unauthenticated, false));
        assert_eq!(refused(403), (ErrorKind::PermissionDenied, false));
        assert_eq!(refused(408), (ErrorKind::TimedOut, true));
        assert_eq!(refused(429), (ErrorKind::Io, true));
        assert_eq!(refused(503), (ErrorKind::Io, true));
        assert_eq!(refused(400), (ErrorKind::Io, false));
        let busy = answer(503, &[("Retry-After", "7")]).unwrap_err();
        assert!(busy.message().contains("wait 7 s"), "{busy}");
        assert_eq!(busy.retry_after(), Some(Duration::from_secs(7)));
    }

    #[test]
    fn a_date_is_as_far_away_as_the_server_s_clock_says() {
        let asks = |date: &str, now: &str| {
            let headers = [("Retry-After", date), ("Date", now)];
            answer(503, &headers).unwrap_err().retry_after()
        };
        let now = "Tue, 14 Nov 2023 22:13:20 GMT";
        assert_eq!(asks("Tue, 14 Nov 2023 22:13:50 GMT", now), Some(Duration::from_secs(30)));
        assert_eq!(asks("Tue, 14 Nov 2023 22:13:00 GMT", now), Some(Duration::ZERO));
        for (date, now) in [("Tue, 14 Nov 2023 22:13:50 GMT", "today"), ("soon", now), ("-1", now)]
        {
            assert_eq!(asks(date, now), None, "{date}");
        }
    }

    #[test]
    fn versions_are_read() {
        let mut headers = HeaderMap::new();
        headers.insert(LAST_MODIFIED, "Sun, 06 Nov 1994 08:49:37 GMT".parse().unwrap());
        headers.insert(ETAG, "\"v1\"".parse().unwrap());
        let info = file_info(&headers, 5).unwrap();
        assert_eq!((info.size, info.modified), (5, Some(784_111_777)));
        assert_eq!(info.version.as_deref(), Some("\"v1\""));
    }
}
