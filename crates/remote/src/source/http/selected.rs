//! A request by which a server selects entries of files, and the answer as it arrives.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, TE};
use hyper::{Method, Response, StatusCode};
use tokio::sync::watch;

use super::answer::judge;
use super::body::{RequestBody, UploadBytes};
use super::exchange::is_of_who_asks;
use super::server::HttpServer;
use super::transport::Transport;
use crate::address::Address;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::source::network::Network;
use crate::source::servers::config_for;

/// The line of an answer with the seconds from the request until it began.
const DELAY: &str = "farroot-delay";
/// Bytes of a refusal that are read for its message.
const REFUSAL_BYTES_MAX: usize = 4096;
/// The error for a server that knows no such requests.
pub const NOT_OFFERED: &str = "the server does not select entries";

/// A connection for such requests, one after the other.
pub struct SelectConnection {
    transport: Transport,
    server: Arc<HttpServer>,
}

/// The answer to a request; dropping it ends the connection, and with it the work of the server.
pub struct SelectAnswer {
    connection: SelectConnection,
    response: Response<Incoming>,
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
        Ok(SelectConnection { transport: Transport::new(server.clone()), server })
    }

    /// Connects, before there is a request.
    ///
    /// # Errors
    /// Why there is no connection.
    pub async fn connect(&self) -> Result<()> {
        self.transport.connect().await
    }
}

/// Sends a request to the address, and waits for the head of the answer.
///
/// # Errors
/// The server's refusal; the end of the connection.
pub async fn ask(connection: SelectConnection, url: &Address, body: Bytes) -> Result<SelectAnswer> {
    let SelectConnection { transport, server } = &connection;
    loop {
        let mut request = server.get(url, None)?;
        *request.method_mut() = Method::POST;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_LENGTH, body.len().into());
        headers.insert(TE, HeaderValue::from_static("trailers"));
        let sent = transport.uploaded.clone();
        let (_, go) = watch::channel(true);
        *request.body_mut() = RequestBody::of(UploadBytes::Memory(body.clone()), sent, go);
        let mut response = transport.send_here(&request, url).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(SelectAnswer { connection, response, url: url.clone() });
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
    /// Time that the server says it has taken until the answer began.
    pub fn delay(&self) -> Option<Duration> {
        let seconds = self.response.headers().get(DELAY)?.to_str().ok()?.parse().ok()?;
        Duration::try_from_secs_f64(seconds).ok()
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
                None => return Ok(None),
                Some(Err(error)) => {
                    return Err(self.connection.transport.broken(&error, &self.url));
                }
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }
}
