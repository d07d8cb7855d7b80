//! A request by which a server selects entries of files, and the answer as it arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, TE,
};
use hyper::{Method, Response, StatusCode};
use percent_encoding::percent_decode_str;
use tokio::sync::watch;
use tokio::time::Instant;

use super::answer::judge;
use super::body::{RequestBody, UploadBytes};
use super::exchange::is_of_who_asks;
use super::headers::{CODING, DELAY, ERROR};
use super::server::HttpServer;
use super::transport::Transport;
use crate::address::Address;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::source::network::Network;
use crate::source::servers::config_for;

/// Most bytes of an answer that a new connection of TCP sends in the first round trip, without its
/// head: ten segments.
pub const WINDOW_BYTES: usize = 13_000;
/// Bytes of a refusal that are read for its message.
const REFUSAL_BYTES_MAX: usize = 4096;
/// The error for a server that knows no such requests.
pub const NOT_OFFERED: &str = "the server does not select entries";

/// A connection for such requests, one after the other.
pub struct SelectConnection {
    transport: Transport,
    server: Arc<HttpServer>,
    /// The longest time that it took to connect, in microseconds.
    connecting: AtomicU64,
}

/// The answer to a request; dropping it ends the connection, and with it the work of the server.
pub struct SelectAnswer {
    connection: SelectConnection,
    response: Response<Incoming>,
    /// The lines behind it, once they have come.
    trailers: HeaderMap,
    url: Address,
}

impl SelectConnection {
    /// A connection to the server of an address; nothing is sent yet.
    ///
    /// # Errors
    /// `InvalidArgument` for an address of another protocol.
    pub fn new(url: &Address, config: &Config, network: Arc<dyn Network>) -> Result<Self> {
        let config = config_for(url, config);
        let server = Arc::new(HttpServer::new(url, &config, network)?);
        let transport = Transport::new(server.clone());
        Ok(SelectConnection { transport, server, connecting: AtomicU64::new(0) })
    }

    /// Connects, before there is a request.
    ///
    /// # Errors
    /// Why there is no connection.
    pub async fn connect(&self) -> Result<()> {
        let begun = Instant::now();
        self.transport.connect().await?;
        let took = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.connecting.fetch_max(took, Ordering::Relaxed);
        Ok(())
    }

    /// The time that it took to connect: at least one round trip.
    pub fn distance(&self) -> Duration {
        Duration::from_micros(self.connecting.load(Ordering::Relaxed))
    }

    /// Has the server send as many bytes of a file as TCP sends at first, and takes them.
    ///
    /// # Errors
    /// Those of the connection.
    pub async fn widen(&self, file: &Address) -> Result<()> {
        let range = format!("bytes=0-{}", WINDOW_BYTES - 1);
        let request = self.server.get(file, Some(&range))?;
        let mut response = self.transport.send_here(&request, file).await?;
        let mut left = WINDOW_BYTES;
        while let Some(frame) =
            self.transport.within_read_timeout(response.body_mut().frame(), file).await?
        {
            let frame = frame.map_err(|error| self.transport.broken(&error, file))?;
            let bytes = frame.into_data().map_or(0, |bytes| bytes.len());
            let Some(rest) = left.checked_sub(bytes) else {
                // It sends more than a part.
                self.transport.abandon(response).await;
                return self.connect().await;
            };
            left = rest;
        }
        Ok(())
    }
}

/// Sends a request to the address, and waits for the head of the answer.
///
/// # Errors
/// The server's refusal; the end of the connection.
pub async fn ask(connection: SelectConnection, url: &Address, body: Bytes) -> Result<SelectAnswer> {
    let SelectConnection { transport, server, .. } = &connection;
    loop {
        let mut request = server.get(url, None)?;
        *request.method_mut() = Method::POST;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_LENGTH, body.len().into());
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(CODING));
        let sent = transport.uploaded.clone();
        let (_, go) = watch::channel(true);
        *request.body_mut() = RequestBody::of(UploadBytes::Memory(body.clone()), sent, go);
        let mut response = transport.send_here(&request, url).await?;
        let status = response.status();
        if status.is_success() {
            let trailers = HeaderMap::new();
            return Ok(SelectAnswer { connection, response, trailers, url: url.clone() });
        }
        if is_of_who_asks(status) && server.access.try_another(request.method(), url) {
            transport.abandon(response).await;
            continue;
        }
        if status == StatusCode::METHOD_NOT_ALLOWED {
            let error = Error::new(ErrorKind::Unsupported, NOT_OFFERED).with_url(url.to_string());
            return Err(error.with_advice("it is offered by `farroot serve --select`"));
        }
        let said = message(transport, &mut response, url).await;
        let error = match judge(&response) {
            Ok(_) => Error::new(ErrorKind::Unsupported, "the server answers otherwise than asked"),
            Err(error) => server.access.explain(error, status, response.headers(), url),
        };
        let error = match said.is_empty() {
            true => error,
            false => Error::new(error.kind(), said).busy(error.is_busy()),
        };
        return Err(error.with_url(url.to_string()).with_source(&*server.name));
    }
}

/// The whole answer to a `GET`, of at most so many bytes.
///
/// # Errors
/// The server's refusal; a longer answer; the end of the connection.
pub async fn part(
    connection: SelectConnection,
    url: &Address,
    bytes_max: usize,
) -> Result<(Vec<u8>, SelectConnection)> {
    let SelectConnection { transport, server, .. } = &connection;
    let request = server.get(url, None)?;
    let mut response = transport.send_here(&request, url).await?;
    judge(&response)?;
    let mut part = Vec::new();
    while let Some(frame) = transport.within_read_timeout(response.body_mut().frame(), url).await? {
        let frame = frame.map_err(|error| transport.broken(&error, url))?;
        part.extend_from_slice(&frame.into_data().unwrap_or_default());
        if part.len() > bytes_max {
            let message = "the server sends more than was asked for";
            return Err(Error::new(ErrorKind::Corrupt, message).with_url(url.to_string()));
        }
    }
    Ok((part, connection))
}

/// The first line of a refusal.
async fn message(
    transport: &Transport,
    response: &mut Response<Incoming>,
    url: &Address,
) -> String {
    let mut text = Vec::new();
    while text.len() < REFUSAL_BYTES_MAX
        && let Ok(Some(Ok(frame))) =
            transport.within_read_timeout(response.body_mut().frame(), url).await
    {
        text.extend(frame.into_data().unwrap_or_default());
    }
    text.truncate(REFUSAL_BYTES_MAX);
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().next().unwrap_or_default().trim();
    line.chars().filter(|letter| !letter.is_control()).collect()
}

impl SelectAnswer {
    /// Time that the server says it has taken until there were entries: before the answer, or
    /// behind it.
    pub fn delay(&self) -> Option<Duration> {
        let line = self.response.headers().get(DELAY).or_else(|| self.trailers.get(DELAY))?;
        Duration::try_from_secs_f64(line.to_str().ok()?.parse().ok()?).ok()
    }

    /// Whether it is compressed as a whole, by zstd.
    pub fn is_coded(&self) -> bool {
        self.response.headers().get(CONTENT_ENCODING).is_some_and(|coding| coding == CODING)
    }

    /// Why the answer has no end, as the server says behind it.
    fn failure(&self) -> Option<Error> {
        let line = self.trailers.get(ERROR)?.to_str().unwrap_or_default();
        let text = percent_decode_str(line).decode_utf8_lossy();
        let said: String = text.chars().filter(|letter| !letter.is_control()).collect();
        Some(Error::new(ErrorKind::Unsupported, said).with_url(self.url.to_string()))
    }

    /// The connection, once the answer has come to its end.
    pub fn into_connection(self) -> SelectConnection {
        self.connection
    }

    /// The next bytes; `None` behind the last.
    ///
    /// # Errors
    /// `TimedOut` where none arrive; the end of the connection.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            let frame = self.response.body_mut().frame();
            match self.connection.transport.within_read_timeout(frame, &self.url).await? {
                None => return self.failure().map_or(Ok(None), Err),
                Some(Err(error)) => {
                    return Err(self.connection.transport.broken(&error, &self.url));
                }
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => return Ok(Some(bytes)),
                    Err(frame) => self.trailers = frame.into_trailers().unwrap_or_default(),
                },
            }
        }
    }
}
