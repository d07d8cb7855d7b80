//! Requests that change files: `PUT`, and `DELETE` and `MKCOL` as WebDAV has them (RFC 4918).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyper::header::{
    CONTENT_LENGTH, ETAG, EXPECT, HeaderMap, HeaderValue, IF_NONE_MATCH, LAST_MODIFIED,
};
use hyper::{Method, Request, StatusCode};
use tokio::sync::watch;

use super::answer::{Head, judge};
use super::body::{RequestBody, UploadBytes};
use super::exchange::is_of_who_asks;
use super::renaming::KnownRenaming;
use super::server::HttpServer;
use super::transport::Transport;
use crate::address::Address;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::source::busy::Pauses;
use crate::source::network::Network;
use crate::source::servers::config_for;

/// How often a request may be sent elsewhere.
const REDIRECTIONS_MAX: usize = 16;

/// A server's description of the file under a name: it differs for another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStamp([Option<HeaderValue>; 3]);

impl FileStamp {
    fn of(headers: &HeaderMap) -> Self {
        FileStamp([CONTENT_LENGTH, LAST_MODIFIED, ETAG].map(|name| headers.get(name).cloned()))
    }

    /// Bytes of the file, where the server says so.
    pub fn size(&self) -> Option<u64> {
        self.0[0].as_ref()?.to_str().ok()?.parse().ok()
    }
}

/// Changes files on servers of HTTP.
#[derive(Clone)]
pub struct HttpChanger {
    pub(crate) config: Config,
    pub(crate) network: Arc<dyn Network>,
    pub(super) renaming: KnownRenaming,
}

impl HttpChanger {
    pub fn new(config: &Config, network: Arc<dyn Network>, renaming: KnownRenaming) -> Self {
        HttpChanger { config: config.clone(), network, renaming }
    }

    /// Puts bytes under an address. They leave when the server wants them, after redirections.
    /// With `is_new` a server that knows conditions refuses to replace a file.
    ///
    /// # Errors
    /// The server's refusal; the end of the connection.
    pub async fn put(&self, url: &Address, content: &UploadBytes, is_new: bool) -> Result<()> {
        self.ask(url, |request, transport| {
            *request.method_mut() = Method::PUT;
            request.headers_mut().insert(CONTENT_LENGTH, content.len().into());
            if is_new {
                request.headers_mut().insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
            }
            if content.len() == 0 {
                return Ok(());
            }
            request.headers_mut().insert(EXPECT, HeaderValue::from_static("100-continue"));
            let (go, asked) = watch::channel(false);
            let sent = transport.uploaded.clone();
            *request.body_mut() = RequestBody::of(content.clone(), sent, asked);
            hyper::ext::on_informational(request, move |answer| {
                if answer.status() == StatusCode::CONTINUE {
                    go.send_replace(true);
                }
            });
            Ok(())
        })
        .await
        .map(drop)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// As [`HttpChanger::put`].
    pub async fn remove(&self, url: &Address) -> Result<()> {
        self.ask(url, |request, _| {
            *request.method_mut() = Method::DELETE;
            Ok(())
        })
        .await
        .map(drop)
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// `Unsupported` where the server makes none, or has one of that name; `NotFound` where the
    /// one above is not there; as [`HttpChanger::put`].
    pub async fn make_folder(&self, url: &Address) -> Result<()> {
        let folder = url.with_slash();
        let made = self.ask(&folder, |request, _| {
            let wrong = |_| Error::new(ErrorKind::Unsupported, "no such method");
            *request.method_mut() = Method::from_bytes(b"MKCOL").map_err(wrong)?;
            Ok(())
        });
        made.await.map(drop)
    }

    /// Whether there is such a file.
    ///
    /// # Errors
    /// As [`HttpChanger::put`].
    pub async fn is_there(&self, url: &Address) -> Result<bool> {
        Ok(self.state(url).await?.is_some())
    }

    /// The server's description of a file, if there is one.
    ///
    /// # Errors
    /// As [`HttpChanger::put`].
    pub async fn state(&self, url: &Address) -> Result<Option<FileStamp>> {
        let head = |request: &mut Request<RequestBody>, _: &Transport| {
            *request.method_mut() = Method::HEAD;
            Ok(())
        };
        match self.ask(url, head).await {
            Ok(headers) => Ok(Some(FileStamp::of(&headers))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The head of the answer to a request, wherever it is sent on to.
    pub(super) async fn ask(
        &self,
        url: &Address,
        change: impl Fn(&mut Request<RequestBody>, &Transport) -> Result<()>,
    ) -> Result<HeaderMap> {
        let mut at = url.clone();
        let mut kept = None::<Arc<HttpServer>>;
        let mut pauses = Pauses::default();
        for _ in 0..REDIRECTIONS_MAX {
            let config = config_for(&at, &self.config);
            let server = match kept.take() {
                Some(server) => server,
                None => Arc::new(HttpServer::new(&at, &config, self.network.clone())?),
            };
            let transport = Transport::new(server.clone());
            let mut request = server.get(&at, None)?;
            change(&mut request, &transport)?;
            let response = transport.send_here(&request, &at).await?;
            self.renaming.see(url, response.headers());
            let status = response.status();
            if is_of_who_asks(status) && server.access.try_another(request.method(), &at) {
                kept = Some(server);
                continue;
            }
            if status.is_success() {
                return Ok(response.into_parts().0.headers);
            }
            match judge(&response) {
                Ok(Head::Redirected(location)) => at = server.led_to(&at, &location)?,
                Ok(_) => {
                    let text = format!("the server answers {status}, which is no answer to this");
                    return Err(Error::new(ErrorKind::Io, text).with_url(at.to_string()));
                }
                Err(error) => {
                    let headers = response.headers().clone();
                    drop(response);
                    if pauses.after(&error).await {
                        kept = Some(server);
                        continue;
                    }
                    let error = server.access.explain(error, status, &headers, &at);
                    return Err(told(error, status).with_source(&*server.name));
                }
            }
        }
        let text = format!("sent on {REDIRECTIONS_MAX} times, from one server to another");
        Err(Error::new(ErrorKind::Io, text).with_url(url.to_string()))
    }
}

/// Refusals that only requests that change files meet.
fn told(error: Error, status: StatusCode) -> Error {
    match status {
        StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => {
            Error::new(ErrorKind::Unsupported, error.message())
                .with_advice("see that the server lets files be written by HTTP, or use root://")
        }
        StatusCode::PRECONDITION_FAILED => Error::target_is_there(),
        StatusCode::CONFLICT => {
            let said = error.message();
            let text = format!("it is a directory, or the one above it is not there: {said}");
            Error::new(ErrorKind::NotFound, text)
                .with_advice("name a file in the directory, or make the one above it first")
        }
        StatusCode::LOCKED => error.with_advice("another writer has it: wait until it is done"),
        StatusCode::PAYLOAD_TOO_LARGE => {
            let text = format!("the server takes no file of this size: {}", error.message());
            Error::new(ErrorKind::LimitReached, text)
                .with_advice("use root://, or ask the site to let longer files be put by HTTP")
        }
        StatusCode::INSUFFICIENT_STORAGE => Error::new(ErrorKind::LimitReached, error.message())
            .with_advice("remove something there, or write to another server"),
        _ => error,
    }
}

impl Transport {
    /// Bytes of requests that have been handed on so far.
    pub(super) fn uploaded_bytes(&self) -> u64 {
        self.uploaded.load(Ordering::Relaxed)
    }
}
