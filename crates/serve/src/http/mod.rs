//! Files over HTTP/1.1: `GET` and `HEAD` with ranges (one, several, suffix), validators, listings;
//! and changes, where there may be any.

mod answers;
mod asked;
mod body;
mod caching;
mod change;
mod form;
mod incoming;
mod listing;
mod range;
mod requests;
mod select;

use std::convert::Infallible;
use std::ffi::OsStr;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use remote::near::headers::SELECTS;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::io::InspectReader;

use self::answers::{Answer, RETRY_SECONDS, denied, plain, set, status_of, text_answer};
use self::asked::{Asked, asked};
use self::body::{Body, Ranges, Rest, Serving, content_range};
use self::caching::Directives;
use self::incoming::FarRanges;
use self::listing::{Names, percent_decoded};
use self::requests::Requests;
use super::far::known;
use super::files::{Files, Name, Opened};
use super::folder::Stat;
use crate::access::Denial;
use crate::clients::Client;
use crate::cluster::SentElsewhere;
use crate::guard::Guard;
use crate::guest::Guest;
use crate::limits::HTTP_FIELDS;
use crate::neighbours::names_this_machine;
use crate::peer::Peer;
use crate::select::Selector;

/// The format of the figures, which Prometheus requests by this name.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The least that hyper takes.
const BUFFER_BYTES_MIN: usize = 8 << 10;

/// What connections are answered with.
pub struct HttpContent {
    pub files: Files,
    /// `None` where no entries are selected.
    pub selector: Option<Selector>,
    pub guard: Guard,
    pub peer: Peer,
}

/// Serves one connection until it ends.
pub async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    content: HttpContent,
    client: Arc<Client>,
    here: SocketAddr,
) {
    let buffer_bytes = client.limits().request_bytes.max(BUFFER_BYTES_MIN);
    let HttpContent { files, selector, guard, peer } = content;
    let selects = selector.is_some();
    let requests = Requests::default();
    let serving = Arc::new(Serving { files, client, requests, selects, guard, peer });
    let followed = serving.clone();
    let stream = InspectReader::new(stream, move |bytes: &[u8]| followed.requests.follow(bytes));
    let service = service_fn(move |request: Request<_>| {
        let serving = serving.clone();
        let selector = selector.clone().filter(|_| select::is_asked(&request));
        async move {
            // Requests that are sent together are answered one by one, as their answers are taken.
            serving.client.moves().await;
            serving.client.works();
            if let Some(fault) = form::fault(&request) {
                return Ok(plain(&serving, StatusCode::BAD_REQUEST, fault));
            }
            if !names_this_machine(&request, here) {
                let text = "this server is on the loopback of its machine: ask for localhost\n";
                return Ok(plain(&serving, StatusCode::MISDIRECTED_REQUEST, text));
            }
            if let Some(answer) = health(&serving, request.uri().path()) {
                return Ok(answer);
            }
            let guest = guest(&serving, request.headers()).await;
            let mut answer = match (turned_away(&serving, &guest), selector) {
                (Some(answer), _) => answer,
                (None, Some(selector)) => {
                    select::answer(&serving, &guest, &selector, request).await
                }
                (None, None) if may_change(&serving) && change::is_change(request.method()) => {
                    change::answer(&serving, &guest, request).await
                }
                (None, None) => {
                    let answer = answer(&serving, &guest, &request).await;
                    select::about_file(&serving, &request, answer)
                }
            };
            if serving.client.all().is_draining() {
                set(answer.headers_mut(), header::CONNECTION, "close");
            }
            Ok::<_, Infallible>(answer)
        }
    });
    // Nothing is kept for later writes: bytes of an answer in memory are counted until the socket
    // has them.
    let connection = http1::Builder::new()
        .max_buf_size(buffer_bytes)
        .max_headers(HTTP_FIELDS)
        .serve_connection(TokioIo::new(stream), service);
    // A client that goes away in the middle is the client's affair.
    let _ = connection.await;
}

/// Whether the process of a proxy works, and whether it takes clients: for programs that restart it
/// or send clients to it, which have no credential.
fn health(serving: &Arc<Serving>, path: &str) -> Option<Answer> {
    let is_far = serving.files.are_far();
    let (status, text) = match path {
        "/healthz" if is_far => (StatusCode::OK, "it works\n"),
        "/readyz" if is_far && serving.client.all().is_draining() => {
            (StatusCode::SERVICE_UNAVAILABLE, "it ends, and finishes the transfers under way\n")
        }
        "/readyz" if is_far => (StatusCode::OK, "it takes clients\n"),
        _ => return None,
    };
    Some(plain(serving, status, text))
}

/// Whether changes are made here, or their clients sent to where they are made.
fn may_change(serving: &Serving) -> bool {
    serving.files.are_writable() || serving.files.are_far()
}

/// The client of a request.
async fn guest(serving: &Arc<Serving>, headers: &HeaderMap) -> Guest {
    let Serving { guard, client, peer, .. } = &**serving;
    let visitor = Arc::new(guard.visitor(headers, peer).await);
    Guest::new(client.clone(), visitor, guard.clone())
}

/// The answer to who may read nothing, whatever is requested.
fn turned_away(serving: &Arc<Serving>, guest: &Guest) -> Option<Answer> {
    let guard = &serving.guard;
    let may_come = guard.has_public() || guard.knows(&guest.visitor);
    (!may_come).then(|| denied(serving, &guard.denial_of_unknown(&guest.visitor)))
}

/// Answers a client beyond the limits with 503, whatever it requests.
pub async fn refuse(mut stream: impl AsyncRead + AsyncWrite + Unpin, why: &str) {
    let length = why.len() + 1;
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: {RETRY_SECONDS}\r\nConnection: close\r\n\
         Content-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{why}\n"
    );
    let mut request = [0; 4096];
    if stream.read(&mut request).await.is_ok()
        && stream.write_all(answer.as_bytes()).await.is_ok()
        && stream.flush().await.is_ok()
    {
        // Bytes that the client still sends would reset the connection before it has read the
        // answer.
        while stream.read(&mut request).await.is_ok_and(|count| count > 0) {}
    }
}

async fn answer<B>(serving: &Arc<Serving>, guest: &Guest, request: &Request<B>) -> Answer {
    let plain = |status, text| plain(serving, status, text);
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let methods = match may_change(serving) {
            true => "GET, HEAD, PUT, DELETE, MOVE, MKCOL",
            false => "GET, HEAD",
        };
        let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "no such method here\n");
        set(answer.headers_mut(), header::ALLOW, methods);
        return answer;
    }
    let Some(path) = percent_decoded(request.uri().path()) else {
        return plain(StatusCode::BAD_REQUEST, "the path has a % without two digits\n");
    };
    let files = &serving.files;
    let written = request.uri().path_and_query().map_or("", |written| written.as_str());
    if let Some(text) = files.metrics(guest, written).await {
        return match text {
            Ok(text) => {
                let mut answer = text_answer(serving, StatusCode::OK, text.into());
                set(answer.headers_mut(), header::CONTENT_TYPE, OPENMETRICS);
                answer
            }
            Err(error) => failure(serving, &error),
        };
    }
    let name = Name { path: Path::new(OsStr::from_bytes(&path)), written, is_encoded: true };
    let directives = Directives::of(request.headers());
    let is_of_cache = directives.only_if_cached && files.are_far();
    if is_of_cache && directives.are_contradictory() {
        return not_cached(serving);
    }
    let opened = files.open_with(guest, name, directives.rules()).await;
    if let Some(node) = opened.as_ref().err().and_then(SentElsewhere::of) {
        let text = "another node of the cluster serves this file\n";
        let mut answer = plain(StatusCode::TEMPORARY_REDIRECT, text);
        let there = node.location(serving.peer.is_encrypted, written);
        set(answer.headers_mut(), header::LOCATION, &there);
        return answer;
    }
    match opened {
        Ok(file) => file_answer(serving, file, request, directives),
        Err(error) if is_of_cache && error.kind() == io::ErrorKind::NotFound => not_cached(serving),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            match page(serving, guest, name).await {
                Ok(answer) => answer,
                Err(error) => failure(serving, &error),
            }
        }
        Err(error) => failure(serving, &error),
    }
}

/// The names in a folder: with a length where they come in one piece.
async fn page(serving: &Arc<Serving>, guest: &Guest, name: Name<'_>) -> io::Result<Answer> {
    let listing = serving.files.list(guest, name).await?;
    let path = name.path.as_os_str().as_bytes();
    let names = Names::new(listing, path, guest.clone());
    let rest = match names.next(serving.files.folder()?).await? {
        (all, None) => Rest::Text(all),
        (first, Some(more)) => Rest::Names(first, more),
    };
    let mut answer = Response::new(Body::new(serving.clone(), rest));
    set(answer.headers_mut(), header::CONTENT_TYPE, "text/html; charset=utf-8");
    Ok(answer)
}

fn failure(serving: &Arc<Serving>, error: &io::Error) -> Answer {
    if let Some(known) = known(error) {
        return text_answer(serving, status_of(known), format!("{known}\n").into());
    }
    if let Some(denial) = Denial::of(error) {
        return denied(serving, denial);
    }
    let plain = |status, text| plain(serving, status, text);
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            plain(StatusCode::NOT_FOUND, "no such file\n")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported => {
            plain(StatusCode::FORBIDDEN, "not to be used here\n")
        }
        io::ErrorKind::QuotaExceeded => {
            let text = "too many files are open here: try again later\n";
            let mut answer = plain(StatusCode::SERVICE_UNAVAILABLE, text);
            set(answer.headers_mut(), header::RETRY_AFTER, RETRY_SECONDS);
            answer
        }
        _ => plain(StatusCode::INTERNAL_SERVER_ERROR, "the server cannot read this file\n"),
    }
}

/// The answer 504: it would take a request to the origin, which the client's request forbids.
fn not_cached(serving: &Arc<Serving>) -> Answer {
    let text = "not all of it is here, or its server has to be asked whether it is still so\n";
    let mut answer = plain(serving, StatusCode::GATEWAY_TIMEOUT, text);
    caching::describe_none(answer.headers_mut());
    answer
}

fn file_answer<B>(
    serving: &Arc<Serving>,
    file: Opened,
    request: &Request<B>,
    directives: Directives,
) -> Answer {
    let stat = file.stat();
    let etag = stat.etag();
    let is_head = request.method() == Method::HEAD;
    let asked = asked(request, &stat);
    let ranges = match &asked {
        Asked::Whole if !is_head => vec![0..stat.size],
        Asked::Ranges(ranges) => ranges.clone(),
        _ => Vec::new(),
    };
    // Before any of the ranges is requested from the origin.
    let cached = file.cache_status(&ranges);
    if directives.only_if_cached && cached.is_some_and(|cached| cached.missing > 0) {
        return not_cached(serving);
    }
    let (mut answer, has_content) = match asked {
        Asked::Failed => {
            let text = "the file is not what the request takes it for\n";
            (plain(serving, StatusCode::PRECONDITION_FAILED, text), false)
        }
        Asked::NotModified => (not_modified(serving), false),
        Asked::Unsatisfiable => (unsatisfiable(serving, &stat), false),
        // Nothing is read for a `HEAD`.
        Asked::Whole if is_head => {
            let mut answer = Response::new(Body::new(serving.clone(), Rest::Unsent(stat.size)));
            // hyper writes no length of an empty file.
            answer.headers_mut().insert(header::CONTENT_LENGTH, stat.size.into());
            (answer, true)
        }
        Asked::Whole => (Response::new(ranges_body(serving, file, ranges, None)), true),
        Asked::Ranges(ranges) => (partial(serving, file, ranges, &etag), true),
    };
    let headers = answer.headers_mut();
    if let Some(cached) = cached {
        caching::describe(headers, &cached, directives);
    }
    set(headers, header::ETAG, &etag);
    if let Some(date) = last_modified(&stat).filter(|_| has_content) {
        set(headers, header::LAST_MODIFIED, &date);
    }
    if !has_content {
        return answer;
    }
    headers
        .entry(header::CONTENT_TYPE)
        .or_insert(HeaderValue::from_static("application/octet-stream"));
    set(headers, header::ACCEPT_RANGES, "bytes");
    if serving.selects {
        set(headers, HeaderName::from_static(SELECTS), "1");
    }
    answer
}

/// A 304 without `Content-Type`, which caches would take for the file's (RFC 9111, section 4.3.4).
fn not_modified(serving: &Arc<Serving>) -> Answer {
    let mut answer = plain(serving, StatusCode::NOT_MODIFIED, "");
    answer.headers_mut().remove(header::CONTENT_TYPE);
    answer
}

fn unsatisfiable(serving: &Arc<Serving>, stat: &Stat) -> Answer {
    let mut answer = plain(serving, StatusCode::RANGE_NOT_SATISFIABLE, "no such bytes\n");
    set(answer.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{}", stat.size));
    answer
}

/// `None` where the file's server reports no time.
fn last_modified(stat: &Stat) -> Option<String> {
    (!stat.modified.is_zero()).then(|| httpdate::fmt_http_date(stat.modified_at()))
}

/// A body of ranges; those of a far file are requested from its server now.
fn ranges_body(
    serving: &Arc<Serving>,
    file: Opened,
    ranges: Vec<Range<u64>>,
    boundary: Option<String>,
) -> Body {
    let rest = match file {
        Opened::Folder(file) => Rest::Ranges(Ranges::new(file, ranges, boundary)),
        Opened::Far(file) => {
            Rest::FarRanges(Box::new(FarRanges::new(&serving.client, &file, ranges, boundary)))
        }
    };
    Body::new(serving.clone(), rest)
}

/// One range as it is, several as `multipart/byteranges` in the requested order.
fn partial(serving: &Arc<Serving>, file: Opened, ranges: Vec<Range<u64>>, etag: &str) -> Answer {
    let (name, value, boundary) = match &ranges[..] {
        [range] => (header::CONTENT_RANGE, content_range(range, file.stat().size), None),
        _ => {
            // Not in the file by accident: it names the file's own inode, size and time.
            let boundary = format!("farroot-{}", etag.trim_matches('"'));
            let value = format!("multipart/byteranges; boundary={boundary}");
            (header::CONTENT_TYPE, value, Some(boundary))
        }
    };
    let mut answer = Response::new(ranges_body(serving, file, ranges, boundary));
    *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
    set(answer.headers_mut(), name, &value);
    answer
}
