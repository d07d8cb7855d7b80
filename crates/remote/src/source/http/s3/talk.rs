//! Answers of S3 that differ from those of other HTTP servers.

use hyper::body::Incoming;
use hyper::header::LOCATION;
use hyper::{Request, Response, StatusCode};

use super::bucket::BUCKET_REGION;
use super::explain::{Asked, RequestPurpose, Shown, by_status, explain, is_final};
use super::place::Place;
use super::xml::{Page, Refusal};
use super::{ahead, expired};
use crate::address::Address;
use crate::clock::seconds_since_1970;
use crate::error::{Error, ErrorKind};
use crate::source::ConnectionEvent;
use crate::source::http::answer::judge;
use crate::source::http::body::RequestBody;
use crate::source::http::exchange::{Exchange, Next};
use crate::source::http::job::{Ask, Job, Outcome};

/// A refusal of S3 is a screen of text.
pub(super) const REFUSAL_BYTES_MAX: u64 = 64 << 10;
/// A page has at most 1,000 keys of at most 1,024 bytes, each of which may be written as three.
const PAGE_BYTES_MAX: u64 = 16 << 20;
/// Names of one "directory" beyond which it is not listed further.
const NAMES_MAX: usize = 1_000_000;
/// The same of the bytes of names, and of pages, which may be empty.
const NAMES_BYTES_MAX: u64 = 256 << 20;
const PAGES_MAX: u32 = 5000;

impl Exchange<'_> {
    /// Whether an answer is a refusal with a document of S3.
    pub fn is_refused_by_s3(&self, job: &Job, response: &Response<Incoming>) -> bool {
        let status = response.status();
        let headers = response.headers();
        let is_refusal = match status {
            // It names the region, which is all that counts of it.
            _ if status.is_redirection() => {
                let says_where =
                    !headers.contains_key(LOCATION) || headers.contains_key(BUCKET_REGION);
                self.server.bucket.is_some() && says_where
            }
            StatusCode::RANGE_NOT_SATISFIABLE => false,
            _ => status.is_client_error() || status.is_server_error(),
        };
        is_refusal && self.server.is_s3(job.url())
    }

    /// Takes a refusal in: the bucket may be somewhere else, and the server may know a simpler form
    /// of the request.
    ///
    /// # Errors
    /// The refusal, with its cause.
    pub async fn refused_by_s3(
        &self,
        job: &mut Job,
        ask: &Ask,
        request: &Request<RequestBody>,
        response: Response<Incoming>,
    ) -> Outcome<Next> {
        let status = response.status();
        match self.refusal(job.url(), request, response).await? {
            None => Ok(Next::Moved),
            Some((error, is_final)) if is_final => Err(error.into()),
            Some((error, _)) => self.refused(job, ask, status, error),
        }
    }

    /// A refusal in words of its cause, and whether no other form of the request would do; `None`
    /// where the bucket is somewhere else, and the same request is to go there.
    pub(super) async fn refusal(
        &self,
        url: &Address,
        request: &Request<RequestBody>,
        response: Response<Incoming>,
    ) -> Outcome<Option<(Error, bool)>> {
        let status = response.status();
        let headers = response.headers().clone();
        let plain = judge(&response).err().unwrap_or_else(|| {
            Error::new(ErrorKind::Io, format!("the server answers {status}, which S3 does not"))
        });
        let document = self.document(url, response, REFUSAL_BYTES_MAX).await?;
        let refusal = document.as_deref().and_then(Refusal::parse);
        let asked = request.extensions().get::<std::sync::Arc<Place>>();
        if let (Some(bucket), Some(asked)) = (&self.server.bucket, asked)
            && bucket.moves(asked, &headers, refusal.as_ref())
        {
            self.transport.leave().await;
            return Ok(None);
        }
        let Some(refusal) = refusal.or_else(|| by_status(status)) else {
            return Ok(Some((plain, false)));
        };
        let now = seconds_since_1970();
        let ahead = ahead(&headers, now);
        let error = match &self.server.bucket {
            Some(bucket) => bucket.explain(&refusal, status, plain, ahead, RequestPurpose::Read),
            None => {
                let shown = Shown::Address(url.to_http().and_then(|url| expired(url, now)));
                let service = "the server";
                let purpose = RequestPurpose::Read;
                explain(&refusal, status, plain, Asked { shown, service, ahead, purpose })
            }
        };
        Ok(Some((error, is_final(&refusal.code))))
    }

    /// The body of an answer, whole; `None` where it is longer than that.
    pub(in crate::source::http) async fn document(
        &self,
        url: &Address,
        mut response: Response<Incoming>,
        bytes_max: u64,
    ) -> Outcome<Option<Vec<u8>>> {
        let mut document = Vec::new();
        while let Some(bytes) = self.next_bytes(url, &mut response).await? {
            if (document.len() + bytes.len()) as u64 > bytes_max {
                self.transport.abandon(response).await;
                return Ok(None);
            }
            document.extend_from_slice(&bytes);
        }
        Ok(Some(document))
    }

    /// Lists the keys that stand for a directory in S3: keys up to the next slash, page by page.
    pub async fn names_of_bucket(&self, job: &Job) -> Outcome<()> {
        let (Some(bucket), Some(object)) = (&self.server.bucket, job.url().to_s3()) else {
            let text = "directories cannot be listed here";
            return Err(Error::new(ErrorKind::Unsupported, text).into());
        };
        let prefix = match &*object.key {
            key if key.is_empty() || key.ends_with('/') => key.to_owned(),
            key => format!("{key}/"),
        };
        let _turn = self.transport.turn().await?;
        let mut entries = Vec::new();
        let mut token = None::<String>;
        let mut pages = 0u32;
        let mut bytes = 0u64;
        loop {
            job.stop_if_cancelled()?;
            let request =
                bucket.list(&prefix, token.as_deref(), self.server.http2, seconds_since_1970())?;
            let response = self.ask(job, &request).await?;
            if response.status() != StatusCode::OK {
                match self.refusal(job.url(), &request, response).await? {
                    None => continue,
                    Some((error, _)) => return Err(error.into()),
                }
            }
            let document = self.document(job.url(), response, PAGE_BYTES_MAX).await?;
            let too_long =
                || Error::new(ErrorKind::LimitReached, "a page of a listing is too long");
            let page = Page::parse(&document.ok_or_else(too_long)?)?;
            let keys = page.objects.iter().map(|object| &object.key);
            let come: usize = keys.chain(&page.prefixes).map(|name| name.len() + 64).sum();
            self.driver
                .send(ConnectionEvent::Progress { request: job.request, bytes: come as u64 });
            entries.extend(page.entries_below(&prefix));
            (pages, bytes) = (pages + 1, bytes + come as u64);
            if entries.len() > NAMES_MAX || bytes > NAMES_BYTES_MAX || pages > PAGES_MAX {
                let text = format!("more than {} names are listed here", entries.len());
                let error = Error::new(ErrorKind::LimitReached, text);
                return Err(error.with_advice("name a directory with fewer, or the files").into());
            }
            match page.next {
                // The same page for ever.
                Some(next) if token.as_ref() == Some(&next) => {
                    let text = "the server names the page after this one as this one";
                    return Err(Error::new(ErrorKind::Corrupt, text).into());
                }
                Some(next) => token = Some(next),
                None => break,
            }
        }
        // Of an object and a directory of one name the object comes first, and stays.
        entries.sort_unstable();
        entries.dedup_by(|next, first| next.name == first.name);
        if entries.is_empty() && !prefix.is_empty() {
            let text = "the bucket has no object below this";
            return Err(Error::new(ErrorKind::NotFound, text).into());
        }
        self.driver.send(ConnectionEvent::Listed { request: job.request, entries });
        Ok(())
    }
}
