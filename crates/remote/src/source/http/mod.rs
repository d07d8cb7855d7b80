//! Files behind HTTP: ranges by `GET` (RFC 9110, section 14).
//!
//! A connection is one TCP connection, kept alive; with HTTP/1.1 it carries one request at a time,
//! with HTTP/2 many. What servers make of ranges differs, so nothing is believed:
//!
//! * every `Content-Range` is held against what was asked, every body against its announced length,
//!   and every size and version is told to the driver, as of every source;
//! * a server without multi-range requests, whether it ignores them or refuses them by whatever
//!   status, is asked for one range after the other, one without suffix ranges for the end of the
//!   file once its size is known;
//! * from a server without ranges, or that refuses them all, the file is read once as a whole into
//!   a temporary file, which serves all requests (see [`super::spool`]).
//!
//! What has been learnt is shared by all connections of a server and told as [`ConnectionEvent::Traits`].
//! [`connection`] runs the jobs of the driver, [`exchange`] does one job in as many rounds as it
//! needs, [`whole`] those of servers without ranges; [`transport`] sends and receives, [`answer`]
//! judges the head of an answer, [`range`] and [`multipart`] read ranges.
//!
//! [`ConnectionEvent::Traits`]: super::ConnectionEvent::Traits

mod address;
mod answer;
mod connection;
mod digest;
mod exchange;
mod job;
mod link;
#[doc(hidden)]
pub mod multipart;
#[doc(hidden)]
pub mod range;
mod transport;
mod whole;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use hyper::StatusCode;
use parking_lot::Mutex;

use super::network::Network;
use super::spool::Spool;
use super::{ConnectionEvent, FileInfo, FileRef, Link, Server, ServerTraits};
use crate::address::{Address, Scheme};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};

/// Multi-range requests of more would not fit into the header lines that servers take.
const SEGMENTS_MAX: u32 = 256;

/// One HTTP server: a host and a port.
pub struct HttpServer {
    name: String,
    host: String,
    port: u16,
    http2: bool,
    silence_timeout: Duration,
    network: Arc<dyn Network>,
    learnt: Mutex<Learnt>,
}

struct Learnt {
    traits: ServerTraits,
    /// It answers requests for ranges otherwise than by refusing them.
    knows_ranges: bool,
    /// How often it has failed to serve several ranges at once and then served one of them.
    failures_of_several: u32,
    /// By the driver's tag for the file.
    files: BTreeMap<u32, FileState>,
}

#[derive(Default)]
struct FileState {
    info: Option<FileInfo>,
    spool: Option<Arc<Spool>>,
}

impl HttpServer {
    /// The server of a file's address; nothing is sent yet.
    ///
    /// # Errors
    /// `InvalidArgument` for an address of another protocol.
    pub fn new(url: &Address, config: &Config, network: Arc<dyn Network>) -> Result<Self> {
        let (Scheme::Http, Some(host), Some(port)) = (url.scheme(), url.host(), url.port()) else {
            let error = Error::new(ErrorKind::InvalidArgument, "not an http:// address");
            return Err(error.with_url(url.to_string()));
        };
        let traits = ServerTraits {
            segments_max: SEGMENTS_MAX,
            // Parts are held back until their end has been seen.
            segment_bytes_max: 1 << 20,
            request_bytes_max: 64 << 20,
            pipelined: config.http2,
            suffix: true,
            request_overhead: Duration::from_micros(300),
            local: false,
            connections_max: None,
            checksums: false,
            one_range: false,
        };
        Ok(HttpServer {
            name: format!("http://{host}:{port}"),
            host: host.to_owned(),
            port,
            http2: config.http2,
            silence_timeout: config.silence_timeout,
            network,
            learnt: Mutex::new(Learnt {
                traits,
                knows_ranges: true,
                failures_of_several: 0,
                files: BTreeMap::new(),
            }),
        })
    }

    fn segments_max(&self) -> u32 {
        self.learnt.lock().traits.segments_max
    }

    /// Notes a limit of the server; the traits now, if they were others before.
    fn learn_traits(&self, change: impl FnOnce(&mut ServerTraits)) -> Option<ServerTraits> {
        let traits = &mut self.learnt.lock().traits;
        let before = traits.clone();
        change(traits);
        (*traits != before).then(|| traits.clone())
    }

    fn knows_ranges(&self) -> bool {
        self.learnt.lock().knows_ranges
    }

    fn learn_no_ranges(&self) {
        self.learnt.lock().knows_ranges = false;
    }

    /// Several ranges were refused by this status, and one of them alone was served; whether that
    /// is how the server is. An internal error may have passed meanwhile, and counts when repeated.
    fn learn_refusal(&self, status: StatusCode) -> bool {
        let says_so = status.is_client_error() || status == StatusCode::NOT_IMPLEMENTED;
        let failures = &mut self.learnt.lock().failures_of_several;
        *failures += 1;
        says_so || *failures > 1
    }

    fn info(&self, file: &FileRef) -> Option<FileInfo> {
        self.learnt.lock().files.get(&file.tag)?.info.clone()
    }

    /// Notes what an answer says of a file, and tells it before anybody acts on it, unless it is
    /// what was said before.
    ///
    /// # Errors
    /// `Changed` where it is another version of the file: the answer is of no use then.
    fn learn_info(
        &self,
        file: &FileRef,
        seen: FileInfo,
        tell: impl FnOnce(ConnectionEvent),
    ) -> Result<()> {
        let mut learnt = self.learnt.lock();
        let known = &mut learnt.files.entry(file.tag).or_default().info;
        if known.as_ref() == Some(&seen) {
            return Ok(());
        }
        tell(ConnectionEvent::Seen { file: file.tag, info: seen.clone() });
        if let Some(known) = known {
            known.is_still(&seen).map_err(|error| error.with_url(file.url.to_string()))?;
        }
        *known = Some(seen);
        Ok(())
    }

    fn spool(&self, file: &FileRef) -> Option<Arc<Spool>> {
        self.learnt.lock().files.get(&file.tag)?.spool.clone()
    }

    /// The file's spool, made where there is none; true where it is new.
    fn start_spool(&self, file: &FileRef) -> std::io::Result<(Arc<Spool>, bool)> {
        let state = &mut self.learnt.lock().files;
        let spool = &mut state.entry(file.tag).or_default().spool;
        match spool {
            Some(spool) => Ok((spool.clone(), false)),
            None => Ok((spool.insert(Arc::new(Spool::new()?)).clone(), true)),
        }
    }

    fn forget(&self, file: &FileRef) {
        let state = self.learnt.lock().files.remove(&file.tag);
        if let Some(spool) = state.and_then(|state| state.spool) {
            spool.give_up();
        }
    }
}

impl Server for HttpServer {
    fn name(&self) -> &str {
        &self.name
    }

    fn traits(&self) -> ServerTraits {
        self.learnt.lock().traits.clone()
    }

    fn run(self: Arc<Self>, link: Link) -> BoxFuture<'static, ()> {
        Box::pin(connection::run(self, link))
    }
}
