//! A bucket as requests for it need it: its place, which a server may correct once, and the keys.

use std::sync::Arc;
use std::time::Duration;

use credentials::{CredentialStore, S3Keys, S3Settings, Unusable};
use hyper::header::{AUTHORIZATION, DATE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use mutex::Mutex;
use secrecy::ExposeSecret;
use tokio::time::Instant;

use super::explain::{Asked, RequestPurpose, Shown, explain, is_elsewhere};
use super::place::{Configured, Place};
use super::sign::{self, Scope, UNSIGNED_PAYLOAD};
use super::xml::Refusal;
use crate::address::{Address, Object};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::source::http::address::anonymous;
use crate::source::http::body::RequestBody;

const CONTENT_SHA256: HeaderName = HeaderName::from_static("x-amz-content-sha256");
const AMZ_DATE: HeaderName = HeaderName::from_static("x-amz-date");
const CHECKSUM_MODE: HeaderName = HeaderName::from_static("x-amz-checksum-mode");
const SECURITY_TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
pub const BUCKET_REGION: HeaderName = HeaderName::from_static("x-amz-bucket-region");

/// How long keys are used that have been read from a file: tools renew them in place.
const KEYS_LAST: Duration = Duration::from_secs(10);

/// A bucket at a service, for all connections to it.
pub struct Bucket {
    credential_store: CredentialStore,
    state: Mutex<State>,
}

struct State {
    place: Arc<Place>,
    has_moved: bool,
    keys: Option<(Instant, Option<Arc<S3Keys>>)>,
}

impl Bucket {
    /// The bucket of this name at the service that the environment or the files of Amazon's tools
    /// name.
    ///
    /// # Errors
    /// `InvalidArgument` for settings that cannot be used.
    pub fn new(bucket: &str, config: &Config) -> Result<Self> {
        let credential_store = config.credential_store.clone();
        let S3Settings { region, endpoint, path_style } =
            credential_store.s3_settings().map_err(|why| unusable(&why))?;
        let configured =
            Configured { endpoint: endpoint.as_deref(), region: region.as_deref(), path_style };
        let place = Arc::new(Place::of(bucket, configured)?);
        let state = State { place, has_moved: false, keys: None };
        Ok(Bucket { credential_store, state: Mutex::new(state) })
    }

    pub fn place(&self) -> Arc<Place> {
        self.state.lock().place.clone()
    }

    /// The keys, as long as they are fresh.
    fn keys(&self) -> Result<Option<Arc<S3Keys>>> {
        let mut state = self.state.lock();
        if let Some((read, keys)) = &state.keys
            && read.elapsed() < KEYS_LAST
        {
            return Ok(keys.clone());
        }
        let keys = self.credential_store.s3_keys().map_err(|why| unusable(&why))?.map(Arc::new);
        state.keys = Some((Instant::now(), keys.clone()));
        Ok(keys)
    }

    /// The header lines by which a request says who asks, at a time in seconds since 1970; none
    /// where there are no keys, as public buckets have it. Other lines of the request are signed
    /// with it, and the hash of its body.
    ///
    /// # Errors
    /// `Unauthenticated` for keys that are there and cannot be used.
    fn sign(
        &self,
        place: &Place,
        asking: &Asking<'_>,
        now: u64,
    ) -> Result<Vec<(HeaderName, HeaderValue)>> {
        let Asking { method, path, query, headers, payload, .. } = asking;
        let Some(keys) = self.keys()? else { return Ok(Vec::new()) };
        let stamp = sign::stamp(now);
        let token = keys.session_token.as_ref().map(|token| token.expose_secret());
        let authority = place.authority();
        let mut signed = vec![(CONTENT_SHA256, *payload), (AMZ_DATE, &*stamp)];
        signed.extend(token.map(|token| (SECURITY_TOKEN, token)));
        let mut named = vec![("host", &*authority)];
        named.extend(signed.iter().map(|(name, value)| (name.as_str(), *value)));
        let texts =
            |(name, value)| Some((HeaderName::as_str(name), HeaderValue::to_str(value).ok()?));
        named.extend(headers.iter().filter_map(texts));
        let method = method.as_str();
        let asked = sign::Signable { method, path, query, headers: named, payload };
        let scope = Scope { stamp: &stamp, region: &place.region, service: "s3" };
        let value = sign::authorization(&asked, scope, &keys.access_key, &keys.secret_key);
        signed.push((AUTHORIZATION, value.expose_secret()));
        let header = |(name, value): (HeaderName, &str)| {
            let mut value = HeaderValue::from_str(value).map_err(|_| {
                let text = format!("the keys of {} have letters that no header can", keys.place);
                Error::new(ErrorKind::InvalidArgument, text)
            })?;
            value.set_sensitive(name == AUTHORIZATION || name == SECURITY_TOKEN);
            Ok((name, value))
        };
        signed.into_iter().map(header).collect()
    }

    /// Whether a refusal shows where the bucket is, so that the same request there may do. Another
    /// connection may have found out before, with a request that was sent to the same place.
    pub fn moves(&self, asked: &Place, headers: &HeaderMap, refusal: Option<&Refusal>) -> bool {
        let said = headers.get(BUCKET_REGION).and_then(|region| region.to_str().ok());
        let is_elsewhere = refusal.is_none_or(|refusal| is_elsewhere(&refusal.code));
        let region = refusal.and_then(|refusal| refusal.region.as_deref()).or(said);
        let Some(region) = region.filter(|_| is_elsewhere) else { return false };
        let mut state = self.state.lock();
        if *state.place != *asked {
            return true;
        }
        if state.has_moved || region == asked.region {
            return false;
        }
        let Some(moved) = asked.moved_to(region) else { return false };
        state.place = Arc::new(moved);
        state.has_moved = true;
        true
    }

    /// A refusal in words of its cause; `plain` is the error of the status alone, and `ahead` how
    /// many seconds this machine's clock is ahead of the server's.
    pub fn explain(
        &self,
        refusal: &Refusal,
        status: StatusCode,
        plain: Error,
        ahead: Option<i64>,
        purpose: RequestPurpose,
    ) -> Error {
        let state = self.state.lock();
        let keys = state.keys.as_ref().and_then(|(_, keys)| keys.clone());
        let place = keys.map(|keys| keys.place.to_string());
        let shown = place.as_deref().map_or(Shown::Nothing, Shown::Keys);
        let service = state.place.service();
        explain(refusal, status, plain, Asked { shown, service, ahead, purpose })
    }

    /// A request for these ranges of an object, or for all of it, at a time in seconds since 1970.
    ///
    /// # Errors
    /// `InvalidArgument` for an address that names no object; `Unauthenticated` for keys that
    /// cannot be used.
    pub fn get(
        &self,
        url: &Address,
        range: Option<&str>,
        http2: bool,
        now: u64,
    ) -> Result<Request<RequestBody>> {
        let place = self.place();
        let (path, query) = place.path_and_query(object(url)?);
        self.request(place, &Asking::get(path, query, range), http2, now)
    }

    /// A `HEAD` request for the properties of an object, with its checksums.
    ///
    /// # Errors
    /// As [`Bucket::get`].
    pub fn head(&self, url: &Address, http2: bool, now: u64) -> Result<Request<RequestBody>> {
        let place = self.place();
        let (path, query) = place.path_and_query(object(url)?);
        let mut asking = Asking::get(path, query, None);
        asking.method = Method::HEAD;
        asking.headers.insert(CHECKSUM_MODE, HeaderValue::from_static("ENABLED"));
        self.request(place, &asking, http2, now)
    }

    /// A request for a page of the bucket's keys below a prefix.
    ///
    /// # Errors
    /// As [`Bucket::get`].
    pub fn list(
        &self,
        prefix: &str,
        token: Option<&str>,
        http2: bool,
        now: u64,
    ) -> Result<Request<RequestBody>> {
        let place = self.place();
        let (path, query) = place.listing(prefix, token);
        self.request(place, &Asking::get(path, query, None), http2, now)
    }

    /// A request that changes an object, with these header lines and this query, which is encoded;
    /// `payload` is the SHA-256 of the body in hexadecimal.
    ///
    /// # Errors
    /// As [`Bucket::get`].
    pub fn change(
        &self,
        url: &Address,
        method: Method,
        query: &str,
        headers: HeaderMap,
        payload: &str,
        now: u64,
    ) -> Result<Request<RequestBody>> {
        let place = self.place();
        let (path, _) = place.path_and_query(object(url)?);
        let query = query.to_owned();
        let asking = Asking { method, path, query, range: None, headers, payload };
        self.request(place, &asking, false, now)
    }

    /// The request carries the place that it is for: [`Bucket::moves`] wants it.
    fn request(
        &self,
        place: Arc<Place>,
        asking: &Asking<'_>,
        http2: bool,
        now: u64,
    ) -> Result<Request<RequestBody>> {
        let Asking { method, path, query, range, headers, .. } = asking;
        let mark = if query.is_empty() { "" } else { "?" };
        let sent = format!("{path}{mark}{query}");
        let wrong = || Error::new(ErrorKind::InvalidArgument, "no request can name this object");
        let mut request = anonymous(&place.authority(), &sent, *range, http2).ok_or_else(wrong)?;
        *request.method_mut() = method.clone();
        let signed = self.sign(&place, asking, now)?;
        request.headers_mut().extend(headers.clone());
        request.headers_mut().extend(signed);
        request.extensions_mut().insert(place);
        Ok(request)
    }
}

/// A request to a bucket; path and query are encoded as they are signed.
struct Asking<'a> {
    method: Method,
    path: String,
    query: String,
    range: Option<&'a str>,
    /// Beside those that every request has.
    headers: HeaderMap,
    /// The hash of the body, or its substitute.
    payload: &'a str,
}

impl<'a> Asking<'a> {
    fn get(path: String, query: String, range: Option<&'a str>) -> Self {
        let method = Method::GET;
        let headers = HeaderMap::new();
        Asking { method, path, query, range, headers, payload: UNSIGNED_PAYLOAD }
    }
}

fn object(url: &Address) -> Result<&Object> {
    url.to_s3().filter(|object| !object.key.is_empty()).ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, "the address names a bucket, and no object in it")
            .with_advice("write s3://bucket/key")
    })
}

/// Seconds that this machine's clock is ahead of the server's, as an answer has it.
pub fn ahead(headers: &HeaderMap, now: u64) -> Option<i64> {
    let said = httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?).ok()?;
    let said = crate::source::seconds_since_1970(said);
    i64::try_from(now).ok()?.checked_sub(said)
}

fn unusable(why: &Unusable) -> Error {
    Error::new(ErrorKind::Unauthenticated, why.to_string())
}
