//! Properties of one HTTP server, by its configuration and from its answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hyper::{Request, StatusCode};
use mutex::Mutex;
use url::Url;

use super::access::Access;
use super::address;
use super::body::RequestBody;
use super::director;
use super::multipart;
use super::s3::{self, Bucket};
use crate::address::{Address, Scheme, Way};
use crate::clock;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::proxies::{Proxies, Proxy};
use crate::source::network::Network;
use crate::source::temporary_copy::TemporaryCopy;
use crate::source::{BothEnds, ConnectionEvent, FileInfo, FileRef, ServerTraits};

/// Multi-range requests of more would not fit into the header lines that servers take.
const SEGMENTS_MAX: u32 = 256;

/// One HTTP server: a host and a port.
pub struct HttpServer {
    pub(super) name: String,
    host: String,
    port: u16,
    /// Where the server is one of S3.
    pub(super) bucket: Option<Bucket>,
    /// Where it is the director of a federation.
    director: Option<Url>,
    pub(super) http2: bool,
    /// The proxies that are set, or not, for this server.
    proxies: Proxies,
    pub(super) access: Arc<Access>,
    pub(super) config: Config,
    pub(super) read_timeout: Duration,
    pub(super) network: Arc<dyn Network>,
    learnt: Mutex<Learnt>,
}

struct Learnt {
    traits: ServerTraits,
    /// It answers requests for ranges otherwise than by refusing them.
    knows_ranges: bool,
    /// Sizes that come with its ranges are those of the ranges.
    has_wrong_totals: bool,
    /// It has refused requests for their number.
    is_busy: bool,
    /// How often it has failed to serve several ranges at once and then served one of them.
    failures_of_several: u32,
    /// By the driver's tag for the file.
    files: BTreeMap<u32, KnownFile>,
}

#[derive(Default)]
struct KnownFile {
    info: Option<FileInfo>,
    copy: Option<Arc<TemporaryCopy>>,
}

/// The server of an address, and the service there if it is no plain server.
struct HttpOrigin {
    name: String,
    host: String,
    port: u16,
    bucket: Option<Bucket>,
    director: Option<Url>,
}

impl HttpServer {
    /// The server of a file's address; nothing is sent yet.
    ///
    /// # Errors
    /// `InvalidArgument` for an address of another protocol.
    pub fn new(url: &Address, config: &Config, network: Arc<dyn Network>) -> Result<Self> {
        let wrong = || {
            let error = Error::new(ErrorKind::InvalidArgument, "not an http:// address");
            error.with_url(url.to_string())
        };
        let (name, host, port, bucket) = match (url.scheme(), url.to_s3()) {
            (_, Some(object)) => {
                let bucket = Bucket::new(&object.bucket, config)?;
                let place = bucket.place();
                let name = format!("s3://{} at {}", object.bucket, place.service());
                (name, place.host(), place.port(), Some(bucket))
            }
            (scheme @ (Scheme::Http | Scheme::Https), _) => {
                let (host, port) = url.host().zip(url.port()).ok_or_else(wrong)?;
                (format!("{}://{host}:{port}", scheme.name()), host.to_owned(), port, None)
            }
            _ => return Err(wrong()),
        };
        let origin = HttpOrigin { name, host, port, bucket, director: None };
        Ok(Self::at(url, origin, config, network))
    }

    /// The director of the federation that an address names; nothing is sent yet.
    ///
    /// # Errors
    /// `InvalidArgument` for a director without a host.
    pub fn director(
        url: &Address,
        director: Url,
        config: &Config,
        network: Arc<dyn Network>,
    ) -> Result<Self> {
        let place = director.host_str().map(str::to_owned).zip(director.port_or_known_default());
        let (host, port) = place.ok_or_else(|| {
            Error::new(ErrorKind::InvalidArgument, "the federation's director has no host")
        })?;
        let name = format!("director {host}:{port}");
        let origin = HttpOrigin { name, host, port, bucket: None, director: Some(director) };
        Ok(Self::at(url, origin, config, network))
    }

    fn at(url: &Address, origin: HttpOrigin, config: &Config, network: Arc<dyn Network>) -> Self {
        let HttpOrigin { name, host, port, bucket, director } = origin;
        // Servers within TLS are not offered HTTP/2: hardly one of the field does.
        let http2 = config.http2 && url.scheme() == Scheme::Http;
        let is_s3 = bucket.is_some();
        let traits = ServerTraits {
            segments_max: SEGMENTS_MAX,
            // Longer parts are not held back until their end has been seen.
            segment_bytes_max: multipart::HELD_BYTES_MAX,
            request_bytes_max: 64 << 20,
            pipelined: http2,
            suffix: true,
            // Services of S3 send one range.
            both_ends: if is_s3 { BothEnds::Never } else { BothEnds::Untried },
            request_overhead: Duration::from_micros(300),
            local: false,
            connections_max: None,
            checksums: false,
            one_range: false,
            selects: false,
        };
        HttpServer {
            name,
            host,
            port,
            bucket,
            director,
            http2,
            proxies: config.proxies.clone(),
            access: Arc::new(Access::new(url, config)),
            config: config.clone(),
            read_timeout: config.read_timeout,
            network,
            learnt: Mutex::new(Learnt {
                traits,
                knows_ranges: true,
                has_wrong_totals: false,
                is_busy: false,
                failures_of_several: 0,
                files: BTreeMap::new(),
            }),
        }
    }

    /// Where an answer sends to.
    ///
    /// # Errors
    /// As [`Address::led_to`]; `Io` also for one without encryption, where the settings want it.
    pub(super) fn led_to(&self, from: &Address, location: &str) -> Result<Address> {
        let to = from.led_to(location, Way::Redirect)?;
        if from.scheme() == Scheme::Https
            && to.scheme() == Scheme::Http
            && !self.config.plain_redirects
        {
            let text = format!("the server sends to {to}, without the encryption of https://");
            return Err(Error::new(ErrorKind::Io, text)
                .with_url(from.to_string())
                .with_advice("plain_redirects is off: switched on, such servers are followed"));
        }
        Ok(to)
    }

    /// A request for these ranges of a file, or for all of it.
    ///
    /// # Errors
    /// `InvalidArgument` where the address cannot be put into a request.
    pub(super) fn get(&self, url: &Address, range: Option<&str>) -> Result<Request<RequestBody>> {
        match (&self.bucket, &self.director) {
            (Some(bucket), _) => bucket.get(url, range, self.http2, clock::seconds_since_1970()),
            (None, Some(director)) => director::get(director, url, range, self.http2),
            (None, None) => address::get(url, range, self.http2),
        }
    }

    /// Host and port that the next connection goes to, and whether within TLS.
    pub(super) fn peer(&self) -> (String, u16, bool) {
        match self.bucket.as_ref().map(Bucket::place) {
            Some(place) => (place.host(), place.port(), place.is_encrypted()),
            None => (self.host.clone(), self.port, self.access.is_encrypted()),
        }
    }

    /// The proxy through which the next connection goes.
    ///
    /// # Errors
    /// As [`Proxies::for_server`].
    pub fn proxy(&self) -> Result<Option<Proxy>> {
        let (host, port, is_encrypted) = self.peer();
        self.proxies.for_server(is_encrypted, &host, port)
    }

    /// The warning, once, that the server was not verified.
    pub(super) fn warning(&self) -> Option<String> {
        self.access.warning().filter(|_| self.peer().2)
    }

    /// Whether an address is one of S3, or signed as one, so that refusals are written as S3 does.
    pub(super) fn is_s3(&self, url: &Address) -> bool {
        self.bucket.is_some() || url.to_http().is_some_and(s3::is_presigned)
    }

    pub(super) fn traits_now(&self) -> ServerTraits {
        self.learnt.lock().traits.clone()
    }

    pub(super) fn segments_max(&self) -> u32 {
        self.learnt.lock().traits.segments_max
    }

    /// Notes a limit of the server; the traits now, if they were others before.
    pub(super) fn learn_traits(
        &self,
        change: impl FnOnce(&mut ServerTraits),
    ) -> Option<ServerTraits> {
        let traits = &mut self.learnt.lock().traits;
        let before = traits.clone();
        change(traits);
        (*traits != before).then(|| traits.clone())
    }

    pub(super) fn knows_ranges(&self) -> bool {
        self.learnt.lock().knows_ranges
    }

    pub(super) fn learn_no_ranges(&self) {
        self.learnt.lock().knows_ranges = false;
    }

    pub(super) fn has_wrong_totals(&self) -> bool {
        self.learnt.lock().has_wrong_totals
    }

    pub(super) fn learn_wrong_totals(&self) {
        self.learnt.lock().has_wrong_totals = true;
    }

    /// Notes that it has too many requests; whether that is new.
    pub(super) fn is_first_refusal(&self) -> bool {
        !std::mem::replace(&mut self.learnt.lock().is_busy, true)
    }

    /// Several ranges were refused by this status, and one of them alone was served; whether that
    /// is how the server is. An internal error may have passed meanwhile, and counts when repeated.
    pub(super) fn learn_refusal(&self, status: StatusCode) -> bool {
        let says_so = status.is_client_error() || status == StatusCode::NOT_IMPLEMENTED;
        let failures = &mut self.learnt.lock().failures_of_several;
        *failures += 1;
        says_so || *failures > 1
    }

    pub(super) fn info(&self, file: &FileRef) -> Option<FileInfo> {
        self.learnt.lock().files.get(&file.tag)?.info.clone()
    }

    /// Notes the description of a file in an answer, and sends it before anything acts on it,
    /// unless it is the same as before.
    ///
    /// # Errors
    /// `Changed` where it is another version of the file: the answer is of no use then.
    pub(super) fn learn_info(
        &self,
        file: &FileRef,
        seen: FileInfo,
        send: impl FnOnce(ConnectionEvent),
    ) -> Result<()> {
        let mut learnt = self.learnt.lock();
        let known = &mut learnt.files.entry(file.tag).or_default().info;
        replace_info(file, known, seen, send)
    }

    /// As [`HttpServer::learn_info`], of an answer that tells the size alone: the version is the
    /// one that another answer has told, perhaps a moment ago. Returns the description.
    ///
    /// # Errors
    /// The same.
    pub(super) fn learn_size(
        &self,
        file: &FileRef,
        size: u64,
        send: impl FnOnce(ConnectionEvent),
    ) -> Result<FileInfo> {
        let mut learnt = self.learnt.lock();
        let known = &mut learnt.files.entry(file.tag).or_default().info;
        let FileInfo { modified, version, .. } = known.clone().unwrap_or_default();
        let seen = FileInfo::new(size, modified, version)?;
        replace_info(file, known, seen.clone(), send)?;
        Ok(seen)
    }

    pub(super) fn copy(&self, file: &FileRef) -> Option<Arc<TemporaryCopy>> {
        self.learnt.lock().files.get(&file.tag)?.copy.clone()
    }

    /// The file's temporary copy, made where there is none; true where it is new.
    pub(super) fn start_copy(&self, file: &FileRef) -> std::io::Result<(Arc<TemporaryCopy>, bool)> {
        let state = &mut self.learnt.lock().files;
        let copy = &mut state.entry(file.tag).or_default().copy;
        match copy {
            Some(copy) => Ok((copy.clone(), false)),
            None => Ok((copy.insert(Arc::new(TemporaryCopy::new()?)).clone(), true)),
        }
    }

    pub(super) fn forget_file(&self, file: &FileRef) {
        let state = self.learnt.lock().files.remove(&file.tag);
        if let Some(copy) = state.and_then(|state| state.copy) {
            copy.give_up();
        }
    }
}

/// Puts the description of an answer in place of the earlier one.
fn replace_info(
    file: &FileRef,
    known: &mut Option<FileInfo>,
    seen: FileInfo,
    send: impl FnOnce(ConnectionEvent),
) -> Result<()> {
    if known.as_ref() == Some(&seen) {
        return Ok(());
    }
    send(ConnectionEvent::Seen { file: file.tag, info: seen.clone() });
    if let Some(known) = known {
        known.is_still(&seen).map_err(|error| error.with_url(file.url.to_string()))?;
    }
    *known = Some(seen);
    Ok(())
}
