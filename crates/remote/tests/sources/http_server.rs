//! Servers for the tests: one that serves well within its limits, and one that says anything.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use farroot_remote::address::Address;
use farroot_remote::source::network::Stream;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use url::Url;

use super::conformance;

/// A server's treatment of `Range`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranges {
    All,
    /// Several ranges are answered by the parts in reverse order.
    Reversed,
    /// Several ranges are answered by one part that holds them all.
    Merged,
    /// Of several ranges the first is answered, alone.
    First,
    /// Of several ranges every second one is answered.
    Half,
    /// Several ranges are answered by the whole file.
    Single,
    /// Several ranges are refused by this status.
    Refused(u16),
    /// Any ranges are.
    AllRefused(u16),
    /// The end of the file cannot be asked for: the whole file.
    NoSuffix,
    /// The same, refused by this status.
    SuffixRefused(u16),
    /// The whole file, whatever is asked.
    None,
}

#[derive(Debug, Clone, Copy)]
pub struct LinkOptions {
    pub ranges: Ranges,
    pub http2: bool,
    /// The connection ends with each answer.
    pub close: bool,
    /// The length of the whole file is not announced.
    pub chunked: bool,
}

pub const PLAIN: LinkOptions =
    LinkOptions { ranges: Ranges::All, http2: false, close: false, chunked: false };

/// A server of the conformance suite's files.
pub struct Good {
    pub origin: Url,
    requests: Arc<AtomicUsize>,
}

impl Good {
    pub async fn start(options: LinkOptions) -> Self {
        Self::start_within(None, options).await
    }

    /// Within TLS, if there is one who takes it.
    pub async fn start_within(tls: Option<TlsAcceptor>, options: LinkOptions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = origin_of(&listener, tls.is_some());
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = requests.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let counter = counter.clone();
                let service = service_fn(move |request| {
                    counter.fetch_add(1, Ordering::Relaxed);
                    async move { Ok::<_, Infallible>(serve(options, &request)) }
                });
                let tls = tls.clone();
                tokio::spawn(async move {
                    let Some(stream) = within(tls, stream).await else { return };
                    let io = TokioIo::new(stream);
                    // Clients leave amid answers: that is their right.
                    if options.http2 {
                        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                        let _ = server.serve_connection(io, service).await;
                    } else {
                        let server = hyper::server::conn::http1::Builder::new();
                        let _ = server.serve_connection(io, service).await;
                    }
                });
            }
        });
        Good { origin, requests }
    }

    pub fn url(&self, name: &str) -> Address {
        Address::parse(self.origin.join(name).unwrap().as_str()).unwrap()
    }

    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

pub fn origin_of(listener: &TcpListener, is_encrypted: bool) -> Url {
    let scheme = if is_encrypted { "https" } else { "http" };
    Url::parse(&format!("{scheme}://{}/", listener.local_addr().unwrap())).unwrap()
}

/// The stream within TLS; `None` where the client does not like it.
async fn within(tls: Option<TlsAcceptor>, stream: TcpStream) -> Option<Box<dyn Stream>> {
    match tls {
        None => Some(Box::new(stream)),
        Some(tls) => Some(Box::new(tls.accept(stream).await.ok()?)),
    }
}

pub type Body = BoxBody<Bytes, Infallible>;

pub fn serve(options: LinkOptions, request: &Request<Incoming>) -> Response<Body> {
    let name = request.uri().path().trim_start_matches('/');
    static FILES: LazyLock<[(&str, Vec<u8>); 4]> = LazyLock::new(conformance::files);
    let Some((_, content)) = FILES.iter().find(|(known, _)| *known == name) else {
        return answer(options, StatusCode::NOT_FOUND, &[], b"no such file".to_vec());
    };
    let header = request.headers().get("range").and_then(|value| value.to_str().ok());
    let Some(ranges) = header.and_then(|header| asked(options.ranges, header, content.len()))
    else {
        if let Some(status) = header.and_then(|header| refusal(options.ranges, header)) {
            let status = StatusCode::from_u16(status).unwrap();
            // As aiohttp does.
            let size = ("content-range", format!("bytes */{}", content.len()));
            let says_size = status == StatusCode::RANGE_NOT_SATISFIABLE;
            return answer(options, status, &[size][..usize::from(says_size)], b"no".to_vec());
        }
        return answer(options, StatusCode::OK, &[("etag", "\"1\"".into())], content.clone());
    };
    let size = content.len();
    let place = |range: &Range<usize>| format!("bytes {}-{}/{size}", range.start, range.end - 1);
    match ranges.as_slice() {
        [] => {
            let header = ("content-range", format!("bytes */{size}"));
            answer(options, StatusCode::RANGE_NOT_SATISFIABLE, &[header], Vec::new())
        }
        [range] => {
            let headers = [("content-range", place(range)), ("etag", "\"1\"".into())];
            answer(options, StatusCode::PARTIAL_CONTENT, &headers, content[range.clone()].to_vec())
        }
        ranges => {
            let mut body = Vec::new();
            for range in ranges {
                let head = format!("\r\n--sep\r\nContent-Range: {}\r\n\r\n", place(range));
                body.extend_from_slice(head.as_bytes());
                body.extend_from_slice(&content[range.clone()]);
            }
            body.extend_from_slice(b"\r\n--sep--\r\n");
            let kind = ("content-type", "multipart/byteranges; boundary=sep".into());
            let headers = [kind, ("etag", "\"1\"".into())];
            answer(options, StatusCode::PARTIAL_CONTENT, &headers, body)
        }
    }
}

/// The status by which a request for ranges is refused.
fn refusal(ranges: Ranges, header: &str) -> Option<u16> {
    match ranges {
        Ranges::Refused(status) if header.contains(',') => Some(status),
        Ranges::SuffixRefused(status) if header.contains("=-") => Some(status),
        Ranges::AllRefused(status) => Some(status),
        _ => None,
    }
}

/// The ranges that are answered; `None` for the whole file.
fn asked(ranges: Ranges, header: &str, size: usize) -> Option<Vec<Range<usize>>> {
    if refusal(ranges, header).is_some() {
        return None;
    }
    let header = header.strip_prefix("bytes=").unwrap();
    let mut asked = Vec::new();
    for range in header.split(',') {
        let (first, last) = range.split_once('-').unwrap();
        let range = match (first, last) {
            ("", _) if ranges == Ranges::NoSuffix => return None,
            ("", count) => size.saturating_sub(count.parse().unwrap())..size,
            (first, last) => {
                first.parse().unwrap()..last.parse::<usize>().unwrap().saturating_add(1).min(size)
            }
        };
        if !range.is_empty() {
            asked.push(range);
        }
    }
    if asked.len() > 1 {
        match ranges {
            Ranges::Reversed => asked.reverse(),
            Ranges::Merged => asked = Vec::from_iter([asked[0].start..asked[asked.len() - 1].end]),
            Ranges::First => asked.truncate(1),
            Ranges::Half => asked = asked.into_iter().step_by(2).collect(),
            Ranges::Single => return None,
            _ => {}
        }
    }
    (ranges != Ranges::None).then_some(asked)
}

fn answer(
    options: LinkOptions,
    status: StatusCode,
    headers: &[(&str, String)],
    body: Vec<u8>,
) -> Response<Body> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, value);
    }
    if options.close {
        response = response.header("connection", "close");
    }
    let body = Bytes::from(body);
    let body = if options.chunked {
        let pieces: Vec<Bytes> = body.chunks(10_000).map(|piece| body.slice_ref(piece)).collect();
        let frames = pieces.into_iter().map(|piece| Ok(Frame::data(piece)));
        StreamBody::new(futures::stream::iter(frames)).boxed()
    } else {
        Full::new(body).boxed()
    };
    response.body(body).unwrap()
}

/// A scripted server's answer to a request.
pub enum Say {
    /// These bytes, and then it waits for the next request.
    Stay(String),
    /// These bytes, and then it closes the connection.
    Close(String),
    /// These bytes, and then nothing for ever.
    Hang(String),
}

/// A server that answers the n-th request (from 0, over all connections) as its script says.
pub async fn scripted(script: impl Fn(usize, &str) -> Say + Send + Sync + 'static) -> Url {
    scripted_within(None, move |_, number, head| script(number, head)).await
}

/// The same within TLS, if there is one who takes it; the script has the connection's number, too.
pub async fn scripted_within(
    tls: Option<TlsAcceptor>,
    script: impl Fn(usize, usize, &str) -> Say + Send + Sync + 'static,
) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = origin_of(&listener, tls.is_some());
    let script = Arc::new(script);
    let count = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        let mut connection = 0;
        while let Ok((stream, _)) = listener.accept().await {
            let script = script.clone();
            let count = count.clone();
            let tls = tls.clone();
            connection += 1;
            tokio::spawn(async move {
                let Some(mut stream) = within(tls, stream).await else { return };
                let mut head = Vec::new();
                while let Ok(byte) = stream.read_u8().await {
                    head.push(byte);
                    if !head.ends_with(b"\r\n\r\n") {
                        continue;
                    }
                    let text = String::from_utf8(std::mem::take(&mut head)).unwrap();
                    let number = count.fetch_add(1, Ordering::Relaxed);
                    let (bytes, stays) = match script(connection, number, &text) {
                        Say::Stay(bytes) => (bytes, true),
                        Say::Close(bytes) => (bytes, false),
                        Say::Hang(bytes) => {
                            let _ = stream.write_all(bytes.as_bytes()).await;
                            return std::future::pending().await;
                        }
                    };
                    let sent = stream.write_all(bytes.as_bytes()).await;
                    if sent.is_err() || stream.flush().await.is_err() || !stays {
                        let _ = stream.shutdown().await;
                        return;
                    }
                }
            });
        }
    });
    origin
}
