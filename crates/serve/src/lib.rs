//! An XRootD and HTTP server over local files, as far away as wished (`farroot serve`), or over
//! files far away, as near as can be (`farroot proxy`). Nothing can be changed unless
//! [`Content::Folder`] allows it.
//!
//! Both protocols are spoken on one port: XRootD's handshake begins with a zero byte, which HTTP
//! never does; TLS begins with a 22. Who may read is a list of tokens or of users, or rules for
//! tokens of issuers and for certificates (see [`Protection`]).

mod access;
mod clients;
mod cluster;
mod config;
mod connections;
mod far;
mod files;
#[cfg(feature = "flight")]
mod flight;
mod folder;
mod gsi;
mod guard;
mod guest;
mod http;
mod limits;
mod memory;
mod neighbours;
mod origin;
mod origin_credential;
mod peer;
mod select;
mod service;
mod shaped;
mod sock_diag;
mod stream;
mod turns;
mod xrootd;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use mutex::Mutex;
use remote::report::Report;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;

use self::clients::Clients;
use self::connections::{Door, Shared, accept};
use self::far::FarFiles;
use self::files::Files;
use self::folder::FolderFiles;
use self::select::Selector;
use self::shaped::Link;

pub use self::access::{
    AccessRule, IssuerSettings, KeySet, TokenFault, UncheckedToken, X509Settings, quota_of_files,
    quota_of_reader,
};
pub use self::cluster::{Cluster, ClusterFigures, ClusterSettings, Node, Nodes};
pub use self::config::{Config, Content};
pub use self::far::{Figures, Forwarding};
pub use self::guard::Protection;
pub use self::limits::{HTTP_FIELDS, Limits, SelectLimits};
pub use self::neighbours::user_of_port;
pub use self::origin::Origin;
pub use self::origin_credential::OriginCredential;
pub use self::select::SelectFigures;
pub use self::shaped::Shape;

/// A running server; it ends when dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    http_address: SocketAddr,
    flight_address: Option<SocketAddr>,
    has_tls: bool,
    files: Files,
    shared: Arc<Shared>,
    listeners: Mutex<Vec<AbortHandle>>,
    runtime: Option<Runtime>,
}

impl Server {
    /// Listens, and serves on threads of its own.
    ///
    /// ```
    /// use farroot_serve::{Config, Server};
    /// let server = Server::start(Config::new("."))?;
    /// assert!(server.root_url().starts_with("root://127.0.0.1:"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// The folder cannot be served, or the port is taken; `InvalidInput` where anyone on the
    /// network could change files or read a secret.
    pub fn start(config: Config) -> io::Result<Self> {
        config.check_settings()?;
        let limits = config.limits_here();
        let guard = config.guard()?;
        let has_tls = guard.has_tls();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_name("serve")
            .max_blocking_threads(limits.threads)
            .enable_all()
            .build()?;
        let listen = |port| runtime.block_on(TcpListener::bind((config.address, port)));
        let listener = listen(config.port)?;
        let address = listener.local_addr()?;
        let extra = config.http_port.map(listen).transpose()?;
        let http_address = extra.as_ref().map_or(Ok(address), TcpListener::local_addr)?;
        let files = match &config.content {
            Content::Folder { path, hidden, writable } => {
                Files::Folder(FolderFiles::new(path, *hidden, *writable, limits.threads)?)
            }
            Content::Far(far) => {
                let _inside = runtime.enter();
                Files::Far(FarFiles::start(far, vec![address, http_address], limits.threads)?)
            }
        };
        let selector = {
            let _inside = runtime.enter();
            config.select.then(|| Selector::start(&files, &limits.select)).transpose()?
        };
        let shared = Arc::new(Shared {
            files: files.clone(),
            selector,
            guard,
            link: Link::new(config.shape),
            shape: config.shape,
            is_of_one_user: matches!(&config.content, Content::Far(far) if far.secret.is_some()),
            clients: Clients::new(limits),
            refusals: connections::refusals(),
        });
        runtime.spawn(shared.clients.clone().watch());
        let mut doors = vec![(listener, Door::Files)];
        doors.extend(extra.map(|listener| (listener, Door::Files)));
        let mut flight_address = None;
        if let Some(door) = config.flight_door()? {
            let listener = listen(config.flight_port.unwrap_or_default())?;
            flight_address = Some(listener.local_addr()?);
            doors.push((listener, door));
        }
        let accept =
            |(listener, door)| runtime.spawn(accept(listener, door, shared.clone())).abort_handle();
        let listeners = Mutex::new(doors.into_iter().map(accept).collect());
        let runtime = Some(runtime);
        Ok(Server {
            address,
            http_address,
            flight_address,
            has_tls,
            files,
            shared,
            listeners,
            runtime,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `root://127.0.0.1:1094//`, or with TLS `roots://`, to which a path may be added.
    pub fn root_url(&self) -> String {
        let scheme = if self.has_tls { "roots" } else { "root" };
        format!("{scheme}://{}//", reachable(self.address))
    }

    /// Requests of a proxy's clients, and the bytes fetched for them; `None` for a folder.
    pub fn figures(&self) -> Option<Figures> {
        match &self.files {
            Files::Folder(_) => None,
            Files::Far(far) => Some(far.figures()),
        }
    }

    /// Where the time and the bytes of reading far files went; `None` for a folder.
    pub fn report(&self) -> Option<Report> {
        match &self.files {
            Files::Folder(_) => None,
            Files::Far(far) => Some(far.report()),
        }
    }

    /// `http://127.0.0.1:1094/`, or with TLS `https://`, to which a path may be added.
    pub fn http_url(&self) -> String {
        let scheme = if self.has_tls { "https" } else { "http" };
        format!("{scheme}://{}/", reachable(self.http_address))
    }

    /// The location for clients of Arrow Flight: `grpc://127.0.0.1:1095`, or with TLS
    /// `grpc+tls://`; `None` where there is no port for them.
    pub fn flight_url(&self) -> Option<String> {
        let scheme = if self.has_tls { "grpc+tls" } else { "grpc" };
        Some(format!("{scheme}://{}", reachable(self.flight_address?)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // In the background: the owner may itself be a task.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// An address that a client on this machine can use.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => {
            (Ipv4Addr::LOCALHOST, address.port()).into()
        }
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => {
            (std::net::Ipv6Addr::LOCALHOST, address.port()).into()
        }
        _ => address,
    }
}
