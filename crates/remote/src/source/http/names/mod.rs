//! Names in a directory of an HTTP server: by PROPFIND of WebDAV (RFC 4918) where the server
//! knows it, else by its page of links.

mod dav;
mod index;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use percent_encoding::percent_decode_str;
use tokio::sync::watch;
use url::Url;

use super::answer::{Head, judge};
use super::body::{RequestBody, UploadBytes};
use super::director::{asks_who, entrusted};
use super::exchange::{Exchange, is_of_who_asks};
use super::job::{Job, Outcome, Stop};
use crate::error::{Error, ErrorKind, Result};
use crate::source::{ConnectionEvent, ListedName};

/// A listing is not longer.
const BYTES_MAX: u64 = 256 << 20;
const DEPTH: HeaderName = HeaderName::from_static("depth");
/// Requests no more than listings have: some servers make checksums for `allprop`.
const PROPFIND: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\
    <D:propfind xmlns:D=\"DAV:\"><D:prop><D:resourcetype/><D:getcontentlength/>\
    <D:getlastmodified/></D:prop></D:propfind>";

/// The method of a listing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asking {
    Propfind,
    /// The same without a slash, for servers that fail where the name is that of a file (XRootD 5).
    PropfindOfFile,
    Page,
}

/// The answer of a server.
enum Answered {
    Names(Vec<ListedName>),
    /// It does not know the method.
    Unknown,
    /// It failed.
    Failed,
}

impl Exchange<'_> {
    /// Lists a directory.
    pub async fn names(&self, job: &Job) -> Outcome<()> {
        if self.server.bucket.is_some() {
            return self.names_of_bucket(job).await;
        }
        let _turn = self.transport.turn().await?;
        job.stop_if_cancelled()?;
        let answered = match self.listed(job, Asking::Propfind).await? {
            Answered::Unknown => self.listed(job, Asking::Page).await?,
            Answered::Failed => self.listed(job, Asking::PropfindOfFile).await?,
            names => names,
        };
        let Answered::Names(entries) = answered else { return Err(no_listing().into()) };
        self.driver.send(ConnectionEvent::Listed { request: job.request, entries });
        Ok(())
    }

    /// The names that a server lists by one method.
    async fn listed(&self, job: &Job, how: Asking) -> Outcome<Answered> {
        let mut is_entrusted = false;
        let response = loop {
            let request = self.request_for_names(job, how)?;
            let response = self.ask(job, &request).await?;
            let access = &self.server.access;
            if is_of_who_asks(response.status()) && access.try_another(request.method(), job.url())
            {
                self.discard(job.url(), response).await?;
                continue;
            }
            // A director wants to know who asks on a connection of its own.
            if is_entrusted
                || !asks_who(job.url(), response.status())
                || !self.server.access.entrust()
            {
                break response;
            }
            is_entrusted = true;
            self.discard(job.url(), response).await?;
            self.transport.leave().await;
        };
        let status = response.status();
        match (how, status) {
            (Asking::Propfind | Asking::PropfindOfFile, StatusCode::MULTI_STATUS) => {
                let document = self.listing(job, response).await?;
                let entries = dav::entries(&document, &decoded(&job.url().path()))?;
                Ok(Answered::Names(entries))
            }
            // Who asks, and whether it is there, a server says to any request alike.
            (
                Asking::Propfind,
                StatusCode::OK
                | StatusCode::BAD_REQUEST
                | StatusCode::FORBIDDEN
                | StatusCode::METHOD_NOT_ALLOWED
                | StatusCode::NOT_ACCEPTABLE
                | StatusCode::UNSUPPORTED_MEDIA_TYPE
                | StatusCode::NOT_IMPLEMENTED,
            ) => {
                self.transport.abandon(response).await;
                Ok(Answered::Unknown)
            }
            (Asking::Propfind, StatusCode::INTERNAL_SERVER_ERROR) => {
                self.transport.abandon(response).await;
                Ok(Answered::Failed)
            }
            (Asking::Page, StatusCode::OK) => {
                let names = self.page(job, response).await?;
                Ok(names.map_or(Answered::Unknown, Answered::Names))
            }
            _ => self.no_names(job, response).await,
        }
    }

    /// Why an answer has no names.
    async fn no_names(&self, job: &Job, response: Response<Incoming>) -> Outcome<Answered> {
        let status = response.status();
        match judge(&response) {
            Ok(Head::Redirected(location)) => {
                let to = self.server.led_to(job.url(), &location)?;
                let to = entrusted(job.url(), to, response.headers());
                self.note_plain(job.url(), &to);
                self.discard(job.url(), response).await?;
                Err(Stop::Redirected(Box::new(to)))
            }
            Ok(_) => {
                self.transport.abandon(response).await;
                let text = format!("the server answers {status}, which is no answer to this");
                Err(Error::new(ErrorKind::Io, text).into())
            }
            Err(error) => {
                let headers = response.headers().clone();
                let error = self.server.access.explain(error, status, &headers, job.url());
                self.transport.abandon(response).await;
                Err(error.into())
            }
        }
    }

    fn request_for_names(&self, job: &Job, how: Asking) -> Result<Request<RequestBody>> {
        let directory = match how {
            Asking::PropfindOfFile => job.url().without_slash(),
            Asking::Propfind | Asking::Page => job.url().with_slash(),
        };
        let mut request = self.server.get(&directory, None)?;
        match how {
            Asking::Page => {
                let accepted = HeaderValue::from_static("application/json, text/html, */*;q=0.1");
                request.headers_mut().insert(ACCEPT, accepted);
            }
            Asking::Propfind | Asking::PropfindOfFile => {
                *request.method_mut() = Method::from_bytes(b"PROPFIND")
                    .map_err(|_| Error::new(ErrorKind::Unsupported, "no such method"))?;
                let headers = request.headers_mut();
                headers.insert(DEPTH, HeaderValue::from_static("1"));
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
                let (_, asked) = watch::channel(true);
                let sent = self.transport.uploaded.clone();
                let body = UploadBytes::Memory(Bytes::from_static(PROPFIND.as_bytes()));
                *request.body_mut() = RequestBody::of(body, sent, asked);
            }
        }
        Ok(request)
    }

    /// A page of links, or a list as nginx writes it for programs.
    async fn page(
        &self,
        job: &Job,
        response: Response<Incoming>,
    ) -> Outcome<Option<Vec<ListedName>>> {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        let is_json = kind.eq_ignore_ascii_case("application/json");
        let is_html = ["text/html", "application/xhtml+xml"]
            .iter()
            .any(|html| kind.eq_ignore_ascii_case(html));
        if !is_json && !is_html {
            self.transport.abandon(response).await;
            return Ok(None);
        }
        let document = self.listing(job, response).await?;
        if is_json {
            return Ok(index::entries_of_json(&document));
        }
        let path = job.url().with_slash().path().into_owned();
        // Only the path of a link counts, in whichever server it is.
        let mut base = Url::parse("http://server/").map_err(|_| no_listing())?;
        base.set_path(&path);
        Ok(index::entries(&String::from_utf8_lossy(&document), &base))
    }

    async fn listing(&self, job: &Job, response: Response<Incoming>) -> Outcome<Vec<u8>> {
        let document = self.document(job.url(), response, BYTES_MAX).await?;
        let too_long = || {
            let text = format!("a listing of more than {BYTES_MAX} bytes");
            let error = Error::new(ErrorKind::LimitReached, text);
            error.with_advice("name a directory with fewer files, or the files")
        };
        Ok(document.ok_or_else(too_long)?)
    }
}

fn no_listing() -> Error {
    let text = "the server lists no directories here: neither by PROPFIND nor as a page of links";
    Error::new(ErrorKind::Unsupported, text).with_advice("name the files")
}

/// A path without escapes.
fn decoded(path: &str) -> String {
    percent_decode_str(path).decode_utf8_lossy().into_owned()
}
