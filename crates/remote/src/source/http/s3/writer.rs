//! Requests that change an object (S3 API Reference, "PutObject", "CreateMultipartUpload",
//! "UploadPart", "CompleteMultipartUpload", "AbortMultipartUpload").

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{
    CONTENT_LENGTH, ETAG, EXPECT, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH,
};
use hyper::{Method, Request, Response, StatusCode};
use mutex::Mutex;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::ahead;
use super::bucket::Bucket;
use super::explain::{RequestPurpose, by_status};
use super::place::Place;
use super::sign::{encoded, sha256};
use super::talk::REFUSAL_BYTES_MAX;
use super::xml::{Refusal, Whole, parse_upload_id};
use crate::address::Address;
use crate::checksum::{Algorithm, Checksum, Hasher};
use crate::clock::seconds_since_1970;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::source::http::answer::judge;
use crate::source::http::body::{RequestBody, UploadBytes};
use crate::source::http::server::HttpServer;
use crate::source::http::transport::Transport;
use crate::source::network::Network;

const CHECKSUM_ALGORITHM: HeaderName = HeaderName::from_static("x-amz-checksum-algorithm");
const CHECKSUM_TYPE: HeaderName = HeaderName::from_static("x-amz-checksum-type");
const CHECKSUM_CRC32C: HeaderName = HeaderName::from_static("x-amz-checksum-crc32c");
const ENCRYPTION: HeaderName = HeaderName::from_static("x-amz-server-side-encryption");
const ENCRYPTION_BY_CALLER: HeaderName =
    HeaderName::from_static("x-amz-server-side-encryption-customer-algorithm");

/// How often a request is sent at the most that the server, for the moment, cannot answer.
const ATTEMPTS_MAX: u32 = 4;
/// Before the second attempt; doubled before each further one.
const PAUSE: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// A server that puts an object together of its parts may be silent meanwhile.
const COMPLETE_TIMEOUT: Duration = Duration::from_secs(600);

/// Writes one object.
pub struct ObjectWriter {
    url: Address,
    server: Arc<HttpServer>,
    /// The same, which may be silent for longer.
    slow: Arc<HttpServer>,
    /// Connections that no request has now.
    idle: Mutex<Vec<Transport>>,
}

/// An upload in parts that has begun.
#[derive(Debug, Clone)]
pub struct PartUpload {
    id: String,
    /// Parts have checksums.
    checks_parts: bool,
    /// The whole has one.
    checks_whole: bool,
}

/// A part that the server has.
#[derive(Debug, Clone)]
pub struct SentPart {
    etag: String,
    crc32c: Option<String>,
}

/// A request as it is made anew for each attempt.
struct Asking {
    method: Method,
    query: String,
    headers: HeaderMap,
    body: Bytes,
    /// SHA-256 of the body.
    payload: String,
    /// The body stays here until the server requests it.
    expects: bool,
}

/// An answer that is no refusal.
struct Answer {
    headers: HeaderMap,
    document: Vec<u8>,
}

impl ObjectWriter {
    /// Of an address; nothing is sent yet.
    ///
    /// # Errors
    /// `InvalidArgument` for one that names no object, or one version of it, and for settings that
    /// cannot be used.
    pub fn new(url: &Address, config: &Config, network: Arc<dyn Network>) -> Result<Self> {
        let wrong = |text| Error::new(ErrorKind::InvalidArgument, text);
        match url.to_s3() {
            Some(object) if object.key.is_empty() || object.key.ends_with('/') => {
                return Err(wrong("the address names no object to write")
                    .with_advice("write s3://bucket/key"));
            }
            Some(object) if object.version.is_some() => {
                return Err(wrong("no version of an object can be written, only a new one")
                    .with_advice("leave versionId out"));
            }
            _ => {}
        }
        let read_timeout = config.read_timeout.max(COMPLETE_TIMEOUT);
        let patient = Config { read_timeout, ..config.clone() };
        let server = Arc::new(HttpServer::new(url, config, network.clone())?);
        let slow = Arc::new(HttpServer::new(url, &patient, network)?);
        Ok(ObjectWriter { url: url.clone(), server, slow, idle: Mutex::default() })
    }

    /// Whether there is such an object. This requests its first byte, as refusals of `HEAD` do not
    /// say why.
    ///
    /// # Errors
    /// Why that cannot be known.
    pub async fn is_there(&self) -> Result<bool> {
        let http2 = self.server.http2;
        for _ in 0..ATTEMPTS_MAX {
            let bucket = self.bucket(&self.server)?;
            let request = bucket.get(&self.url, Some("bytes=0-0"), http2, seconds_since_1970())?;
            let transport = self.transport(&self.server);
            let response = transport.send_here(&request, &self.url).await?;
            let status = response.status();
            if status.is_success() || status == StatusCode::RANGE_NOT_SATISFIABLE {
                return Ok(true);
            }
            let purpose = RequestPurpose::Read;
            match self.refusal(&self.server, &transport, &request, purpose, response).await? {
                None => {}
                Some((_, code)) if code == "NoSuchKey" => return Ok(false),
                // It is in an archive.
                Some((_, code)) if code == "InvalidObjectState" => return Ok(true),
                Some((error, _)) => return Err(error.with_source(&*self.server.name)),
            }
        }
        Err(Error::new(ErrorKind::Io, "the bucket is somewhere else each time"))
    }

    /// Writes an object that is short enough for one request.
    ///
    /// # Errors
    /// `InvalidArgument` where it is there and may not be replaced; `Corrupt` where the server has
    /// got other bytes; its refusal; the end of the connection.
    pub async fn put(&self, body: Bytes, overwrite: bool) -> Result<()> {
        let mut asking = Asking::new(Method::PUT, String::new(), body.clone()).await;
        asking.expects = true;
        asking.line(CHECKSUM_CRC32C, &base64_of(crc32c::crc32c(&body)));
        let answer = self.keeping(&mut asking, overwrite, &self.server).await?;
        compare(&answer.headers, body).await
    }

    /// Removes the object; one that is not there is no error.
    ///
    /// # Errors
    /// The server's refusal; the end of the connection.
    pub async fn remove(&self) -> Result<()> {
        let asking = Asking::new(Method::DELETE, String::new(), Bytes::new()).await;
        self.ask(&asking, &self.server).await.map(drop)
    }

    /// Begins an upload in parts. Nothing is under the key before [`ObjectWriter::complete`].
    ///
    /// # Errors
    /// The server's refusal; the end of the connection.
    pub async fn begin(&self) -> Result<PartUpload> {
        let mut asking = Asking::new(Method::POST, "uploads=".into(), Bytes::new()).await;
        asking.line(CHECKSUM_ALGORITHM, "CRC32C");
        asking.line(CHECKSUM_TYPE, "FULL_OBJECT");
        let Answer { headers, document } = self.ask(&asking, &self.server).await?;
        let says = |name, value: &str| {
            headers.get(name).is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(value.as_bytes()))
        };
        let checks_parts = says(CHECKSUM_ALGORITHM, "CRC32C");
        let checks_whole = checks_parts && says(CHECKSUM_TYPE, "FULL_OBJECT");
        Ok(PartUpload { id: parse_upload_id(&document)?, checks_parts, checks_whole })
    }

    /// Sends a part; parts are counted from 1.
    ///
    /// # Errors
    /// As [`ObjectWriter::put`].
    pub async fn send(&self, upload: &PartUpload, number: u32, body: Bytes) -> Result<SentPart> {
        let query = format!("partNumber={number}&uploadId={}", encoded(&upload.id));
        let mut asking = Asking::new(Method::PUT, query, body.clone()).await;
        let crc32c = upload.checks_parts.then(|| base64_of(crc32c::crc32c(&body)));
        if let Some(crc32c) = &crc32c {
            asking.line(CHECKSUM_CRC32C, crc32c);
        }
        let answer = self.ask(&asking, &self.server).await?;
        let etag = answer.headers.get(ETAG).and_then(|etag| etag.to_str().ok());
        let etag = etag.map(str::to_owned).ok_or_else(|| {
            let text = format!("the server gives part {number} no ETag to name it by");
            Error::new(ErrorKind::Corrupt, text)
        })?;
        compare(&answer.headers, body).await?;
        Ok(SentPart { etag, crc32c })
    }

    /// Puts the object together of its parts, all of them in their order, and gives it its key.
    ///
    /// # Errors
    /// As [`ObjectWriter::put`].
    pub async fn complete(
        &self,
        upload: &PartUpload,
        parts: &[SentPart],
        checksum: Option<&Checksum>,
        overwrite: bool,
    ) -> Result<()> {
        let query = format!("uploadId={}", encoded(&upload.id));
        let document = list_of(parts);
        let mut asking = Asking::new(Method::POST, query, document.into()).await;
        let ours = checksum.filter(|it| it.algorithm() == Algorithm::Crc32c && upload.checks_whole);
        let ours = ours.map(|checksum| STANDARD.encode(checksum.value()));
        if let Some(ours) = &ours {
            asking.line(CHECKSUM_TYPE, "FULL_OBJECT");
            asking.line(CHECKSUM_CRC32C, ours);
        }
        let answer = self.keeping(&mut asking, overwrite, &self.slow).await?;
        let whole = Whole::parse(&answer.document)?;
        match (ours, whole.crc32c) {
            (Some(ours), Some(theirs)) if ours != theirs => Err(differs("CRC-32C", &theirs, &ours)),
            _ => Ok(()),
        }
    }

    /// Removes the parts of an upload that is given up.
    ///
    /// # Errors
    /// The server's refusal; the end of the connection.
    pub async fn abort(&self, upload: &PartUpload) -> Result<()> {
        let query = format!("uploadId={}", encoded(&upload.id));
        let asking = Asking::new(Method::DELETE, query, Bytes::new()).await;
        self.ask(&asking, &self.server).await.map(drop)
    }

    /// Asks so that an object that has come meanwhile stays, where the server knows how.
    async fn keeping(
        &self,
        asking: &mut Asking,
        overwrite: bool,
        server: &Arc<HttpServer>,
    ) -> Result<Answer> {
        if overwrite {
            return self.ask(asking, server).await;
        }
        asking.line(IF_NONE_MATCH, "*");
        match self.ask(asking, server).await {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                asking.headers.remove(IF_NONE_MATCH);
                if self.is_there().await? {
                    return Err(Error::target_is_there());
                }
                self.ask(asking, server).await
            }
            outcome => outcome,
        }
    }

    async fn ask(&self, asking: &Asking, server: &Arc<HttpServer>) -> Result<Answer> {
        let mut attempt = 1;
        let mut pause = PAUSE;
        loop {
            match self.ask_once(asking, server).await {
                Ok(Some(answer)) => return Ok(answer),
                // The bucket is somewhere else, as is known now.
                Ok(None) if attempt < ATTEMPTS_MAX => {}
                Ok(None) => {
                    let text = "the bucket is somewhere else each time";
                    return Err(Error::new(ErrorKind::Io, text));
                }
                Err(error) if error.is_retryable() && attempt < ATTEMPTS_MAX => {
                    let pause_now = error.retry_after().unwrap_or(pause).min(PAUSE_MAX);
                    tokio::time::sleep(pause_now).await;
                    pause *= 2;
                }
                Err(error) => return Err(error.with_source(&*server.name)),
            }
            attempt += 1;
        }
    }

    async fn ask_once(&self, asking: &Asking, server: &Arc<HttpServer>) -> Result<Option<Answer>> {
        let transport = self.transport(server);
        let request = self.request(asking, server, &transport)?;
        let response = transport.send_here(&request, &self.url).await?;
        let headers = response.headers().clone();
        if !response.status().is_success() {
            let purpose = RequestPurpose::Write;
            return match self.refusal(server, &transport, &request, purpose, response).await? {
                None => Ok(None),
                Some((error, _)) => Err(error),
            };
        }
        let document = self.document(&transport, response).await?;
        // Complete may be refused after an answer has begun that says that all is well.
        if let Some(refusal) = Refusal::parse(&document) {
            let bucket = self.bucket(server)?;
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            let plain = Error::new(ErrorKind::Io, "the server refuses the object").retryable(true);
            return Err(bucket.explain(&refusal, status, plain, None, RequestPurpose::Write));
        }
        if Arc::ptr_eq(server, &self.server) {
            self.idle.lock().push(transport);
        }
        Ok(Some(Answer { headers, document }))
    }

    fn request(
        &self,
        asking: &Asking,
        server: &HttpServer,
        transport: &Transport,
    ) -> Result<Request<RequestBody>> {
        let Asking { method, query, headers, body, payload, expects } = asking;
        let bucket = self.bucket(server)?;
        let method = method.clone();
        let headers = headers.clone();
        let now = seconds_since_1970();
        let mut request = bucket.change(&self.url, method, query, headers, payload, now)?;
        if *request.method() != Method::DELETE {
            request.headers_mut().insert(CONTENT_LENGTH, body.len().into());
        }
        if body.is_empty() {
            return Ok(request);
        }
        let (go, asked) = watch::channel(!expects);
        if *expects {
            request.headers_mut().insert(EXPECT, HeaderValue::from_static("100-continue"));
            hyper::ext::on_informational(&mut request, move |answer| {
                if answer.status() == StatusCode::CONTINUE {
                    go.send_replace(true);
                }
            });
        }
        let bytes = UploadBytes::Memory(body.clone());
        let sent = transport.uploaded.clone();
        *request.body_mut() = RequestBody::of(bytes, sent, asked);
        Ok(request)
    }

    /// A refusal in words of its cause, and S3's word for it; `None` where the bucket is somewhere
    /// else, and the same request is to go there.
    async fn refusal(
        &self,
        server: &HttpServer,
        transport: &Transport,
        request: &Request<RequestBody>,
        purpose: RequestPurpose,
        response: Response<Incoming>,
    ) -> Result<Option<(Error, String)>> {
        let status = response.status();
        let headers = response.headers().clone();
        let plain = judge(&response).err().unwrap_or_else(|| {
            Error::new(ErrorKind::Io, format!("the server answers {status}, which S3 does not"))
        });
        let document = self.document(transport, response).await.unwrap_or_default();
        let refusal = Refusal::parse(&document);
        let bucket = self.bucket(server)?;
        let asked = request.extensions().get::<Arc<Place>>();
        if asked.is_some_and(|asked| bucket.moves(asked, &headers, refusal.as_ref())) {
            return Ok(None);
        }
        let refusal = match refusal.or_else(|| by_status(status)) {
            Some(refusal) => refusal,
            None if status == StatusCode::PRECONDITION_FAILED => {
                return Ok(Some((Error::target_is_there(), String::new())));
            }
            None => return Ok(Some((plain, String::new()))),
        };
        let ahead = ahead(&headers, seconds_since_1970());
        let error = bucket.explain(&refusal, status, plain, ahead, purpose);
        Ok(Some((error, refusal.code)))
    }

    /// The body of an answer, whole.
    async fn document(
        &self,
        transport: &Transport,
        mut response: Response<Incoming>,
    ) -> Result<Vec<u8>> {
        let mut document = Vec::new();
        loop {
            let frame =
                transport.within_read_timeout(response.body_mut().frame(), &self.url).await?;
            let Some(frame) = frame else { return Ok(document) };
            let frame = frame.map_err(|error| transport.broken(&error, &self.url))?;
            document.extend_from_slice(&frame.into_data().unwrap_or_default());
            if document.len() as u64 > REFUSAL_BYTES_MAX {
                let text = "the server's answer to a request that writes is too long";
                return Err(Error::new(ErrorKind::LimitReached, text));
            }
        }
    }

    fn bucket<'a>(&self, server: &'a HttpServer) -> Result<&'a Bucket> {
        let wrong = || Error::new(ErrorKind::InvalidArgument, "not an s3:// address");
        server.bucket.as_ref().ok_or_else(wrong)
    }

    /// A connection that has no other request.
    fn transport(&self, server: &Arc<HttpServer>) -> Transport {
        let idle = || Arc::ptr_eq(server, &self.server).then(|| self.idle.lock().pop()).flatten();
        idle().unwrap_or_else(|| Transport::new(server.clone()))
    }
}

impl Asking {
    async fn new(method: Method, query: String, body: Bytes) -> Self {
        let hashed = body.clone();
        // A part takes a while. The task fails only where the program ends.
        let payload = spawn_blocking(move || sha256(&hashed)).await.unwrap_or_default();
        Asking { method, query, headers: HeaderMap::new(), body, payload, expects: false }
    }

    /// The value has letters, digits and marks only.
    fn line(&mut self, name: HeaderName, value: &str) {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
    }
}

fn base64_of(crc32c: u32) -> String {
    STANDARD.encode(crc32c.to_be_bytes())
}

/// The body of CompleteMultipartUpload.
fn list_of(parts: &[SentPart]) -> String {
    let part = |(at, SentPart { etag, crc32c }): (usize, &SentPart)| {
        let etag = quick_xml::escape::escape(&**etag);
        let checksum = crc32c.as_ref().map(|it| format!("<ChecksumCRC32C>{it}</ChecksumCRC32C>"));
        let number = at + 1;
        let checksum = checksum.unwrap_or_default();
        format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag>{checksum}</Part>")
    };
    let parts: String = parts.iter().enumerate().map(part).collect();
    format!(
        "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{parts}\
         </CompleteMultipartUpload>"
    )
}

/// Compares the server's checksum of the received bytes with that of the sent ones: their CRC-32C
/// or, where it gives none, their MD5, which the ETag is unless the object is encrypted.
async fn compare(headers: &HeaderMap, body: Bytes) -> Result<()> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if let Some(theirs) = text(CHECKSUM_CRC32C) {
        let ours = base64_of(crc32c::crc32c(&body));
        return if theirs == ours { Ok(()) } else { Err(differs("CRC-32C", theirs, &ours)) };
    }
    let is_encrypted = text(ENCRYPTION).is_some_and(|how| how != "AES256")
        || headers.contains_key(ENCRYPTION_BY_CALLER);
    let etag = text(ETAG).map(|etag| etag.trim_matches('"')).unwrap_or_default();
    let is_md5 = etag.len() == 32 && etag.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_encrypted || !is_md5 {
        return Ok(());
    }
    let md5 = move || {
        let mut hasher = Hasher::new(Algorithm::Md5);
        hasher.update(&body);
        hasher.finish()
    };
    let theirs = Checksum::from_hex(Algorithm::Md5, etag)?;
    match spawn_blocking(md5).await {
        Ok(ours) if ours != theirs => Err(differs("", &theirs.to_string(), &ours.to_string())),
        _ => Ok(()),
    }
}

fn differs(kind: &str, theirs: &str, ours: &str) -> Error {
    let text = format!("the server has {kind} {theirs}, and {ours} was sent");
    let advice = "write it again; if it happens again, tell the site";
    Error::new(ErrorKind::Corrupt, text.replace("  ", " ")).with_advice(advice)
}
