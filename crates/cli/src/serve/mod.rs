//! `farroot serve DIR`: an XRootD and HTTP server over local files, read-only, as far away as
//! wished.
//!
//! Both protocols are spoken on one port: XRootD's handshake begins with a zero byte, which HTTP
//! never does. For tests, demonstrations and small private use: there is no authentication.

mod command;
mod files;
mod http;
pub mod shaped;
mod xrootd;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

pub use self::command::{Arguments, run};
use self::files::Export;
use self::shaped::{Link, Shape, Shaped};

/// A client that says nothing for so long after connecting is let go.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(60);
/// Pause after a refused accept (no file descriptors left): trying at once would only burn time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What is served, where, and how far away it shall seem.
#[derive(Debug, Clone)]
pub struct Config {
    /// Everything below may be read by anyone who can connect.
    pub folder: PathBuf,
    /// The address to listen on.
    pub address: IpAddr,
    /// The port for both protocols; 0 lets the kernel choose.
    pub port: u16,
    /// One more port for both protocols, where a client insists on one.
    pub http_port: Option<u16>,
    pub shape: Shape,
    /// Further connections wait until one ends.
    pub connections_max: usize,
}

impl Config {
    /// Serves `folder` to this machine, on a port that the kernel chooses, at no distance.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Config {
            folder: folder.into(),
            address: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            http_port: None,
            shape: Shape::default(),
            connections_max: 1000,
        }
    }
}

/// A running server; it ends when dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    http_address: SocketAddr,
    runtime: Option<Runtime>,
}

impl Server {
    /// Listens, and serves on threads of its own.
    ///
    /// ```
    /// use cli::serve::{Config, Server};
    /// let server = Server::start(Config::new("."))?;
    /// assert!(server.root_url().starts_with("root://127.0.0.1:"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// The folder cannot be served, or the port is taken.
    pub fn start(config: Config) -> io::Result<Self> {
        let export = Export::new(&config.folder)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_name("serve")
            .enable_all()
            .build()?;
        let listen = |port| runtime.block_on(TcpListener::bind((config.address, port)));
        let listener = listen(config.port)?;
        let address = listener.local_addr()?;
        let extra = config.http_port.map(listen).transpose()?;
        let http_address = extra.as_ref().map_or(Ok(address), TcpListener::local_addr)?;
        let shared = Arc::new(Shared {
            export,
            link: Link::new(config.shape),
            shape: config.shape,
            connections: Arc::new(Semaphore::new(config.connections_max.max(1))),
        });
        for listener in [Some(listener), extra].into_iter().flatten() {
            runtime.spawn(accept(listener, shared.clone()));
        }
        Ok(Server { address, http_address, runtime: Some(runtime) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `root://127.0.0.1:1094//`, to which a path may be added.
    pub fn root_url(&self) -> String {
        format!("root://{}//", reachable(self.address))
    }

    /// `http://127.0.0.1:1094/`, to which a path may be added.
    pub fn http_url(&self) -> String {
        format!("http://{}/", reachable(self.http_address))
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

/// What all connections share.
struct Shared {
    export: Export,
    link: Arc<Link>,
    shape: Shape,
    connections: Arc<Semaphore>,
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok(permit) = shared.connections.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let shared = shared.clone();
        tokio::spawn(async move {
            // Answers are complete when written: they shall leave at once.
            if stream.set_nodelay(true).is_ok() {
                shared.serve(stream).await;
            }
            drop(permit);
        });
    }
}

impl Shared {
    /// Serves one connection in the protocol that its first byte tells.
    async fn serve(&self, stream: TcpStream) {
        // Where this client has found the server, and others will.
        let Ok(here) = stream.local_addr() else { return };
        let mut stream = match self.shape.is_plain() {
            true => Stream::Plain(stream),
            false => Stream::Shaped(self.link.shape(stream)),
        };
        let export = self.export.clone();
        match tokio::time::timeout(FIRST_BYTE_TIMEOUT, stream.peek()).await {
            Ok(Some(0)) => xrootd::serve(stream, export, here).await,
            Ok(Some(_)) => http::serve(stream, export).await,
            Ok(None) | Err(_) => {}
        }
    }
}

/// An accepted connection, with or without emulated distance.
enum Stream {
    Plain(TcpStream),
    Shaped(Shaped),
}

impl Stream {
    /// The first byte, left where it is; `None` when there is none.
    async fn peek(&mut self) -> Option<u8> {
        match self {
            Stream::Plain(stream) => {
                let mut first = [0];
                let count = stream.peek(&mut first).await.ok()?;
                (count > 0).then_some(first[0])
            }
            Stream::Shaped(stream) => stream.peek().await,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Stream::Shaped(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, data),
            Stream::Shaped(stream) => Pin::new(stream).poll_write(cx, data),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Shaped(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Shaped(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
