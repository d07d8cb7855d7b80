//! A simulated HTTP/1.1 server with ranges, over simulated links.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT_RANGES, CONTENT_RANGE, CONTENT_TYPE, HeaderName, LAST_MODIFIED, RANGE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use mutex::Mutex;
use tokio::sync::mpsc;

use crate::link::End;
use crate::xrootd_host::TakenFiles;
use crate::{Files, adler32};

const BOUNDARY: &str = "simulated-boundary";

/// An answer that is not the file.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub status: u16,
    /// Headers that go with it.
    pub headers: Vec<(HeaderName, String)>,
}

/// The answer to a request for an address, instead of the file.
type Rule = Box<dyn Fn(&Uri) -> Option<Refusal> + Send>;

/// A server's behaviour besides serving.
#[derive(Default)]
pub struct HttpBehaviour {
    rule: Option<Rule>,
    /// Headers that go with every answer that is the file.
    pub headers: Vec<(HeaderName, String)>,
    /// Headers that do not.
    pub without: Vec<HeaderName>,
    /// Has these files instead from now on.
    pub replaced_by: Option<Files>,
    /// The size that it says of its files, instead of the truth.
    pub size: Option<u64>,
    /// It knows no ranges from the end of a file: leaves them out as XRootD 5.5.
    pub no_suffixes: bool,
    /// Files that clients put, under whichever name; `None`: it takes none.
    pub takes: Option<TakenFiles>,
}

impl HttpBehaviour {
    /// From now on it answers so; `None` is the file.
    pub fn says(&mut self, rule: impl Fn(&Uri) -> Option<Refusal> + Send + 'static) {
        self.rule = Some(Box::new(rule));
    }

    /// It serves again.
    pub fn serves(&mut self) {
        self.rule = None;
    }
}

/// Can be changed while it serves.
pub type Control = Arc<Mutex<HttpBehaviour>>;

/// Serves `files` to every connection that comes, until the world ends.
pub fn serve(mut accepted: mpsc::UnboundedReceiver<End>, files: Files) -> Control {
    let control = Control::default();
    let behaviour = control.clone();
    tokio::spawn(async move {
        while let Some(end) = accepted.recv().await {
            let files = files.clone();
            let behaviour = behaviour.clone();
            let service = service_fn(move |mut request: Request<Incoming>| {
                let takes = behaviour.lock().takes.clone();
                let response = match takes {
                    Some(_) => None,
                    None => Some(respond(&behaviour.lock(), &files, &mut request)),
                };
                async move {
                    Ok::<_, Infallible>(match (takes, response) {
                        (Some(taken), _) => take(&taken, request).await,
                        (None, response) => response.unwrap_or_default(),
                    })
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(end), service));
        }
    });
    control
}

/// The answer of a server that only serves.
fn respond(
    behaviour: &HttpBehaviour,
    files: &Files,
    request: &mut Request<Incoming>,
) -> Response<Full<Bytes>> {
    if let Some(refusal) = behaviour.rule.as_ref().and_then(|rule| rule(request.uri())) {
        return refuse(&refusal);
    }
    let files = behaviour.replaced_by.as_ref().unwrap_or(files);
    if behaviour.no_suffixes {
        leave_out_suffixes(request);
    }
    let mut response = answer(files, request, behaviour.size);
    for name in &behaviour.without {
        response.headers_mut().remove(name);
    }
    for (name, value) in &behaviour.headers {
        set(&mut response, name.clone(), value);
    }
    response
}

/// The answer of a server that takes files.
async fn take(taken: &TakenFiles, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let path = request.uri().path().to_owned();
    let (head, mut body) = request.into_parts();
    match head.method.as_str() {
        "PUT" => {
            let mut file = Vec::new();
            while let Some(Ok(frame)) = body.frame().await {
                file.extend_from_slice(frame.data_ref().unwrap_or(&Bytes::new()));
            }
            taken.lock().insert(path, file);
            with_status(StatusCode::CREATED, Bytes::new())
        }
        "HEAD" | "DELETE" if !taken.lock().contains_key(&path) => {
            with_status(StatusCode::NOT_FOUND, Bytes::new())
        }
        "HEAD" => with_status(StatusCode::OK, Bytes::new()),
        "DELETE" => {
            taken.lock().remove(&path);
            with_status(StatusCode::NO_CONTENT, Bytes::new())
        }
        _ => with_status(StatusCode::METHOD_NOT_ALLOWED, Bytes::new()),
    }
}

/// Leaves the ranges from the end of the file out of a request.
fn leave_out_suffixes(request: &mut Request<Incoming>) {
    let asked = request.headers().get(RANGE).and_then(|value| value.to_str().ok());
    let Some(ranges) = asked.and_then(|value| value.strip_prefix("bytes=")) else { return };
    let known = ranges.split(',').filter(|range| !range.trim().starts_with('-'));
    let known = known.collect::<Vec<&str>>().join(",");
    match format!("bytes={known}").parse() {
        Ok(value) if !known.is_empty() => request.headers_mut().insert(RANGE, value),
        _ => request.headers_mut().remove(RANGE),
    };
}

fn refuse(refusal: &Refusal) -> Response<Full<Bytes>> {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::IM_A_TEAPOT);
    let mut response = with_status(status, Bytes::new());
    refusal.headers.iter().for_each(|(name, value)| set(&mut response, name.clone(), value));
    response
}

/// The answer to a request for one of the files; `said` is a size in place of the true one.
pub(crate) fn answer<B>(
    files: &Files,
    request: &Request<B>,
    said: Option<u64>,
) -> Response<Full<Bytes>> {
    let Some(content) = files.get(request.uri().path()) else {
        return with_status(StatusCode::NOT_FOUND, Bytes::new());
    };
    if request.method() == Method::HEAD {
        let mut response = with_status(StatusCode::OK, Bytes::new());
        if request.headers().contains_key("want-digest") {
            let said = adler32(content).to_string().replace(' ', "=");
            set(&mut response, HeaderName::from_static("digest"), &said);
        }
        return response;
    }
    let asked = request.headers().get(RANGE).and_then(|value| value.to_str().ok());
    let size = content.len() as u64;
    let ranges: Option<Vec<Range<u64>>> = asked
        .and_then(|value| value.strip_prefix("bytes="))
        .map(|value| value.split(',').filter_map(|range| parse(range.trim(), size)).collect());
    let part = |range: &Range<u64>| content.slice(range.start as usize..range.end as usize);
    let total = said.unwrap_or(size);
    let said = |range: &Range<u64>| format!("bytes {}-{}/{total}", range.start, range.end - 1);
    let mut response = match ranges.as_deref() {
        None => with_status(StatusCode::OK, content.clone()),
        Some([]) => with_status(StatusCode::RANGE_NOT_SATISFIABLE, Bytes::new()),
        Some([one]) => {
            let mut response = with_status(StatusCode::PARTIAL_CONTENT, part(one));
            set(&mut response, CONTENT_RANGE, &said(one));
            response
        }
        Some(several) => {
            let mut body = Vec::new();
            for range in several {
                let head = format!("\r\n--{BOUNDARY}\r\nContent-Range: {}\r\n\r\n", said(range));
                body.extend_from_slice(head.as_bytes());
                body.extend_from_slice(&part(range));
            }
            body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
            let mut response = with_status(StatusCode::PARTIAL_CONTENT, body.into());
            let kind = format!("multipart/byteranges; boundary={BOUNDARY}");
            set(&mut response, CONTENT_TYPE, &kind);
            response
        }
    };
    set(&mut response, ACCEPT_RANGES, "bytes");
    set(&mut response, LAST_MODIFIED, "Tue, 14 Nov 2023 22:13:20 GMT");
    response
}

/// `first-last`, `first-` or `-length`, as half-open bytes within the file.
fn parse(text: &str, size: u64) -> Option<Range<u64>> {
    let (first, last) = text.split_once('-')?;
    let range = match (first, last) {
        ("", length) => size.saturating_sub(length.parse().ok()?)..size,
        (first, "") => first.parse().ok()?..size,
        (first, last) => first.parse().ok()?..size.min(last.parse::<u64>().ok()?.checked_add(1)?),
    };
    (range.start < range.end).then_some(range)
}

fn with_status(status: StatusCode, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response
}

fn set(response: &mut Response<Full<Bytes>>, name: HeaderName, value: &str) {
    if let Ok(value) = value.parse() {
        response.headers_mut().insert(name, value);
    }
}
