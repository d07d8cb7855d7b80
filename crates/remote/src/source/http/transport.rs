//! Sends requests and waits for answers: one TCP connection at a time, timeouts, reconnecting.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header::{HOST, PROXY_AUTHORIZATION};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::sync::{Mutex, Semaphore, SemaphorePermit, watch};
use tokio::task::JoinHandle;

use super::access::Introduction;
use super::body::RequestBody;
use super::pool::Pool;
use super::server::HttpServer;
use crate::address::Address;
use crate::error::{Error, ErrorKind, Result};
use crate::proxies::Proxy;
use crate::source::network::counted;
use crate::source::tls::{Failure, Handshake, TlsConfig, TlsSession, Trust, config_for};

/// Bytes that hyper reads at once at the most; also the longest head of an answer.
const READ_BYTES_MAX: usize = 512 << 10;
/// Bytes on their way in one HTTP/2 stream, and in all of them: the default of 64 KiB would hold a
/// link of 100 ms to 5 Mbit/s.
const WINDOW_STREAM_BYTES: u32 = 16 << 20;
const WINDOW_CONNECTION_BYTES: u32 = 64 << 20;
const FRAME_BYTES_MAX: u32 = 256 << 10;
const HEADER_LIST_BYTES_MAX: u32 = 64 << 10;
/// Requests at a time on an HTTP/2 connection; servers allow 100 or more.
const STREAMS_MAX: usize = 100;

/// The way to the server that one connection of the driver owns.
pub struct Transport {
    pub(super) server: Arc<HttpServer>,
    /// Whose request it is: one at a time with HTTP/1.1.
    turns: Semaphore,
    live: Mutex<Option<Live>>,
    /// Where the server has sent this connection for a file.
    pub(super) pool: mutex::Mutex<Option<Arc<Pool>>>,
    /// The last request went there.
    pub(super) at_pool: AtomicBool,
    /// TCP connections made so far.
    connections: AtomicU64,
    /// Bytes received so far.
    heard: Arc<AtomicU64>,
    /// Bytes of requests that have been handed on so far.
    pub(super) uploaded: Arc<AtomicU64>,
}

struct Live {
    /// Counts the connections: differs from that of the one before.
    number: u64,
    sender: Sender,
    /// It has answered before, so that its end may be that of an idle connection.
    used: bool,
    driver: JoinHandle<()>,
    shown: Arc<Introduction>,
    /// A proxy that gets every request, with the server's address.
    proxy: Option<Proxy>,
    handshake: Option<watch::Receiver<Handshake>>,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// One sending of a request, and the connection that it was tried on.
struct Attempt {
    number: u64,
    used: bool,
    /// It was there before the request.
    kept: bool,
    answer: hyper::Result<Response<Incoming>>,
    /// Why there is no TLS, where that is why there is no answer.
    failure: Option<Failure>,
}

impl Attempt {
    /// Whether it failed since its connection had ended meanwhile: one that was used, or one that
    /// was made ahead and on which the request was not sent.
    fn is_of_old_connection(&self, error: &hyper::Error) -> bool {
        let is_unsent = error.is_canceled() || error.is_closed();
        (self.used && is_closed(error)) || (self.kept && self.failure.is_none() && is_unsent)
    }
}

enum Sender {
    Http1(http1::SendRequest<RequestBody>),
    Http2(http2::SendRequest<RequestBody>),
}

impl Transport {
    pub fn new(server: Arc<HttpServer>) -> Self {
        let turns = Semaphore::new(if server.http2 { STREAMS_MAX } else { 1 });
        Transport {
            server,
            turns,
            live: Mutex::new(None),
            pool: mutex::Mutex::default(),
            at_pool: AtomicBool::new(false),
            connections: AtomicU64::new(0),
            heard: Arc::default(),
            uploaded: Arc::default(),
        }
    }

    /// Waits for a request's turn; held until its body has ended or has been abandoned.
    pub async fn turn(&self) -> Result<SemaphorePermit<'_>> {
        let closed = |_| Error::new(ErrorKind::Cancelled, "the connection is closed");
        self.turns.acquire().await.map_err(closed)
    }

    /// Connects, unless it is connected.
    ///
    /// # Errors
    /// Why there is no connection.
    pub async fn connect(&self) -> Result<()> {
        let mut live = self.live.lock().await;
        if live.is_none() {
            *live = Some(self.new_connection().await?);
        }
        Ok(())
    }

    /// Whether the last request went to an address that is good for one connection.
    pub fn is_at_pool(&self) -> bool {
        self.at_pool.load(Ordering::Relaxed)
    }

    /// Closes the connection, and returns when its socket is closed.
    pub async fn close(&self) {
        let pool = self.pool.lock().take();
        let there = pool.as_ref().map(|pool| &pool.transport.live);
        for live in [Some(&self.live), there].into_iter().flatten() {
            if let Some(mut live) = live.lock().await.take() {
                live.driver.abort();
                let _ = (&mut live.driver).await;
            }
        }
    }

    /// Sends a request and waits for the head of its answer. A connection that the server has
    /// closed since its last answer, or before its first request, is replaced once.
    ///
    /// # Errors
    /// Of the connection: none of its requests will be answered.
    pub async fn send_here(
        &self,
        request: &Request<RequestBody>,
        url: &Address,
    ) -> Result<Response<Incoming>> {
        loop {
            let attempt = self.send_once(request, url).await?;
            match attempt.answer {
                Ok(response) => return Ok(response),
                Err(error) if attempt.is_of_old_connection(&error) => {
                    let mut live = self.live.lock().await;
                    if live.as_ref().is_some_and(|live| live.number == attempt.number) {
                        *live = None;
                    }
                }
                Err(error) => {
                    let failure = attempt.failure.map(|failure| self.untrusted(&failure, url));
                    return Err(failure.unwrap_or_else(|| self.broken(&error, url)));
                }
            }
        }
    }

    async fn send_once(&self, request: &Request<RequestBody>, url: &Address) -> Result<Attempt> {
        let mut guard = self.live.lock().await;
        let kept = guard.is_some();
        let live = match guard.take() {
            Some(live) => live,
            None => self.new_connection().await?,
        };
        let live = guard.insert(live);
        let number = live.number;
        let used = live.used;
        let mut request = request.clone();
        let handshake = live.handshake.clone();
        live.shown.sign(&mut request);
        if let Some(proxy) = &live.proxy {
            self.through(proxy, &mut request);
        }
        let answer = match &mut live.sender {
            Sender::Http1(sender) => {
                let answer = async {
                    // The end of the last answer may not have been seen yet.
                    sender.ready().await?;
                    sender.send_request(request).await
                };
                let answer = self.within_read_timeout(answer, url).await?;
                live.used |= answer.is_ok();
                answer
            }
            Sender::Http2(sender) => {
                let mut sender = sender.clone();
                drop(guard);
                let answer = async move {
                    sender.ready().await?;
                    sender.send_request(request).await
                };
                let answer = self.within_read_timeout(answer, url).await?;
                if let (true, Some(live)) = (answer.is_ok(), &mut *self.live.lock().await) {
                    live.used = true;
                }
                answer
            }
        };
        let failure = handshake.and_then(|handshake| match &*handshake.borrow() {
            Handshake::Failed(failure, _) => Some(failure.clone()),
            Handshake::Running | Handshake::Done(_) => None,
        });
        Ok(Attempt { number, used, kept, answer, failure })
    }

    /// There is no TLS with the server.
    fn untrusted(&self, failure: &Failure, url: &Address) -> Error {
        failure.explain().with_url(url.to_string()).with_source(&self.server.name)
    }

    /// The rest of an answer is not wanted. With HTTP/1.1 that ends the TCP connection; `connect`
    /// makes another.
    pub async fn abandon(&self, response: Response<Incoming>) {
        drop(response);
        if self.at_pool.load(Ordering::Relaxed) {
            *self.pool.lock() = None;
        } else if !self.server.http2 {
            *self.live.lock().await = None;
        }
    }

    /// The server is somewhere else now: the next request takes another connection.
    pub async fn leave(&self) {
        *self.live.lock().await = None;
    }

    /// Waits for something that the server owes: the head of an answer, the next bytes of its body.
    /// Bytes that arrive meanwhile and are neither (interim answers, half a head, extensions of
    /// chunks) prolong nothing. With HTTP/2 it may be another request's turn.
    ///
    /// # Errors
    /// `TimedOut` after the configured time.
    pub async fn within_read_timeout<T>(
        &self,
        owed: impl Future<Output = T>,
        url: &Address,
    ) -> Result<T> {
        let mut owed = pin!(owed);
        let time_limit = self.server.read_timeout;
        loop {
            let heard = self.heard.load(Ordering::Relaxed);
            let uploaded = self.uploaded_bytes();
            if let Ok(result) = tokio::time::timeout(time_limit, &mut owed).await {
                return Ok(result);
            }
            if self.uploaded_bytes() != uploaded {
                // It owes nothing before it has all.
                continue;
            }
            let silent = self.heard.load(Ordering::Relaxed) == heard;
            if silent || !self.server.http2 {
                let fault = if silent { "been silent" } else { "sent nothing of use" };
                let text = format!("the server has {fault} for {} s", time_limit.as_secs_f64());
                return Err(Error::new(ErrorKind::TimedOut, text).with_url(url.to_string()));
            }
        }
    }

    /// The connection's end, as hyper reports it.
    pub fn broken(&self, error: &hyper::Error, url: &Address) -> Error {
        if let Some(failure) = Failure::of(error) {
            return self.untrusted(failure, url);
        }
        let mut text = format!("the connection broke: {error}");
        let mut cause = std::error::Error::source(error);
        while let Some(inner) = cause {
            text = format!("{text}: {inner}");
            cause = inner.source();
        }
        let broken = Error::new(ErrorKind::Connection, text).with_url(url.to_string());
        if self.server.http2 {
            broken.with_advice("the server may not speak HTTP/2 without TLS: set http2 to false")
        } else {
            broken
        }
    }

    async fn new_connection(&self) -> Result<Live> {
        let server = &self.server;
        let (host, port, is_encrypted) = server.peer();
        let proxy = server.proxy()?;
        let connecting = async {
            if let Some(proxy) = &proxy {
                let tls = self.tls_of(proxy).await?;
                let stream = proxy.connect(&*server.network, tls.as_ref()).await?;
                return match is_encrypted {
                    true => proxy.tunnel(stream, (&host, port), server.config.read_timeout).await,
                    false => Ok(stream),
                };
            }
            let stream = server.network.connect(&host, port).await;
            stream.map_err(|error| unreachable(&error).with_source(&server.name))
        };
        let place = is_encrypted.then(|| format!("{host}:{port}"));
        let (stream, shown) = tokio::try_join!(connecting, server.access.begin(place))?;
        let mut stream = counted(stream, self.heard.clone());
        let mut handshake = None;
        if let Some(config) = &shown.tls {
            // The first request is written meanwhile, and leaves with the end of the handshake.
            let encrypted = TlsSession::new(&host, config, &["http/1.1"])?.over(stream, &[]);
            handshake = Some(encrypted.watch());
            stream = Box::new(encrypted);
        }
        let io = TokioIo::new(stream);
        let refused = |error: hyper::Error| {
            let text = format!("the connection could not be set up: {error}");
            Error::new(ErrorKind::Connection, text).with_source(&server.name)
        };
        let (sender, driver) = if server.http2 {
            let (sender, connection) = http2::Builder::new(TokioExecutor::new())
                .initial_stream_window_size(WINDOW_STREAM_BYTES)
                .initial_connection_window_size(WINDOW_CONNECTION_BYTES)
                .max_frame_size(FRAME_BYTES_MAX)
                .max_header_list_size(HEADER_LIST_BYTES_MAX)
                .handshake(io)
                .await
                .map_err(refused)?;
            (Sender::Http2(sender), tokio::spawn(async { drop(connection.await) }))
        } else {
            let (sender, connection) = http1::Builder::new()
                .max_buf_size(READ_BYTES_MAX)
                // XRootD 5 knows `Range` only when it is written so.
                .title_case_headers(true)
                .handshake(io)
                .await
                .map_err(refused)?;
            (Sender::Http1(sender), tokio::spawn(async { drop(connection.await) }))
        };
        let number = self.connections.fetch_add(1, Ordering::Relaxed);
        let proxy = proxy.filter(|_| !is_encrypted);
        Ok(Live { number, sender, used: false, driver, shown, proxy, handshake })
    }

    /// For a proxy that wants TLS itself; it is shown nothing of the user.
    async fn tls_of(&self, proxy: &Proxy) -> Result<Option<Arc<TlsConfig>>> {
        if !proxy.is_encrypted {
            return Ok(None);
        }
        let credential_store = self.server.config.credential_store.clone();
        let place = proxy.place();
        let made = tokio::task::spawn_blocking(move || {
            config_for(&place, &Trust::of(credential_store.environment()), None, false)
        });
        let gone = |_| Error::new(ErrorKind::Cancelled, "the program is ending");
        made.await.map_err(gone)?.map(Some)
    }

    /// A request to a proxy has the whole address (RFC 9112, section 3.2.2).
    fn through(&self, proxy: &Proxy, request: &mut Request<RequestBody>) {
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let whole = host.and_then(|host| format!("http://{host}{path}").parse().ok());
        if let Some(whole) = whole {
            *request.uri_mut() = whole;
        }
        if let Some(authorization) = proxy.authorization() {
            request.headers_mut().insert(PROXY_AUTHORIZATION, authorization);
        }
    }
}

/// Whatever the reason, another attempt may find the server there; only a name that no one has
/// stays so.
fn unreachable(reason: &io::Error) -> Error {
    let error = Error::from_io(reason);
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::Connection => error,
        // The operating system's own errors have numbers.
        _ if reason.raw_os_error().is_none() && !error.message().contains("Temporary") => {
            error.retryable(false).with_advice("check the address")
        }
        _ => Error::new(ErrorKind::Connection, format!("not reached: {}", error.message())),
    }
}

/// The connection had ended before the answer began.
fn is_closed(error: &hyper::Error) -> bool {
    let reset = std::error::Error::source(error)
        .and_then(|cause| cause.downcast_ref::<io::Error>())
        .is_some_and(|cause| {
            use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
            matches!(cause.kind(), ConnectionReset | BrokenPipe | UnexpectedEof)
        });
    error.is_canceled() || error.is_closed() || error.is_incomplete_message() || reset
}
