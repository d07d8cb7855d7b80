//! Short documents by HTTPS: one request each, no redirection, and a limit for everything.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use hyper::body::Body;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONNECTION, HOST, USER_AGENT};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use remote::credentials::Environment;
use remote::source::network::{Network, Tcp};
use remote::source::tls::{self, Trust};
use url::Url;

/// Longer documents are refused.
pub const DOCUMENT_BYTES_MAX: usize = 256 << 10;
/// From the connection to the last byte.
const TIME: Duration = Duration::from_secs(5);
/// Of it, until a connection is there.
const CONNECT_TIME: Duration = Duration::from_secs(3);
/// Bytes of the head of an answer.
const HEAD_BYTES_MAX: usize = 32 << 10;

/// Fetches documents of servers that the authorities of this environment vouch for.
#[derive(Clone)]
pub struct DocumentFetch {
    environment: Environment,
    network: Tcp,
}

impl DocumentFetch {
    pub fn new(environment: Environment) -> Self {
        DocumentFetch { environment, network: Tcp::new(CONNECT_TIME) }
    }

    /// One document.
    ///
    /// # Errors
    /// A text with the reason: no https, no answer in time, another status than 200, too long.
    pub async fn document(&self, place: &Url) -> Result<Vec<u8>, String> {
        let late = |_| format!("{place}: no answer within {} s", TIME.as_secs());
        let fetched = tokio::time::timeout(TIME, self.fetched(place)).await.map_err(late)?;
        fetched.map_err(|why| format!("{place}: {why}"))
    }

    async fn fetched(&self, place: &Url) -> Result<Vec<u8>, String> {
        let host = place.host_str().filter(|_| place.scheme() == "https");
        let host = host.ok_or("it is fetched by https only")?.trim_matches(['[', ']']).to_owned();
        let port = place.port_or_known_default().unwrap_or(443);
        let connecting: BoxFuture<'_, _> = self.network.connect(&host, port);
        let stream = connecting.await.map_err(|error| error.to_string())?;
        let environment = self.environment.clone();
        let server = format!("{host}:{port}");
        let config = tokio::task::spawn_blocking(move || {
            tls::config_for(&server, &Trust::of(&environment), None, false)
        });
        let config = config.await.map_err(|error| error.to_string())?;
        let config: Arc<_> = config.map_err(|error| error.to_string())?;
        let stream = tls::connect(stream, &host, &config).map_err(|error| error.to_string())?;
        let connected = http1::Builder::new()
            .max_buf_size(HEAD_BYTES_MAX)
            .handshake::<_, NoBody>(TokioIo::new(stream))
            .await;
        let (mut sender, connection) = connected.map_err(|error| said(&error))?;
        let path = &place[url::Position::BeforePath..url::Position::AfterQuery];
        let request = Request::get(path)
            .header(HOST, &place[url::Position::BeforeHost..url::Position::AfterPort])
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, concat!("farroot/", env!("CARGO_PKG_VERSION")))
            .header(CONNECTION, "close")
            .body(NoBody)
            .map_err(|error| error.to_string())?;
        let answer = async {
            let response = sender.send_request(request).await.map_err(|error| said(&error))?;
            if response.status() != StatusCode::OK {
                return Err(format!("the answer has status {}", response.status().as_u16()));
            }
            let mut body = pin!(response.into_body());
            let mut bytes = Vec::new();
            while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
                let part = frame.map_err(|error| said(&error))?.into_data().unwrap_or_default();
                if bytes.len() + part.len() > DOCUMENT_BYTES_MAX {
                    return Err("the document is too long".to_owned());
                }
                bytes.extend_from_slice(&part);
            }
            Ok(bytes)
        };
        let mut answer = pin!(answer);
        tokio::select! {
            answer = &mut answer => answer,
            ended = connection => {
                ended.map_err(|error| said(&error))?;
                answer.await
            }
        }
    }
}

/// An error with its cause, which hyper hides.
fn said(error: &hyper::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// The body of a request without one.
struct NoBody;

impl Body for NoBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
        std::task::Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }
}
