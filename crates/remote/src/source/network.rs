//! How a connection comes about: the seam at which a simulated network takes the place of the
//! real one.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio_util::io::InspectReader;

/// A connected byte stream.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Makes byte streams to hosts.
pub trait Network: Send + Sync + 'static {
    /// Connects, trying every address the name has.
    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>>;

    /// The address that a name was last reached at, where that is known.
    fn reached(&self, _host: &str, _port: u16) -> Option<IpAddr> {
        None
    }
}

/// The stream, with a function that adds the number of received bytes to `bytes`.
pub fn counted(stream: Box<dyn Stream>, bytes: Arc<AtomicU64>) -> Box<dyn Stream> {
    let count = move |come: &[u8]| {
        bytes.fetch_add(come.len() as u64, Ordering::Relaxed);
    };
    Box::new(InspectReader::new(stream, count))
}

/// Why no connection is made to an address that a name stands for; `None` where one may be.
pub type Refusal = dyn Fn(SocketAddr) -> Option<&'static str> + Send + Sync;

/// The operating system's TCP.
///
/// A name may stand for several machines, whose copies of a file have times and ids of their own:
/// all connections go to the machine that the first one went to, as long as it can be reached.
#[derive(Clone)]
pub struct Tcp {
    /// How long to wait for a connection before giving the host up.
    connect_timeout: Duration,
    refusal: Option<Arc<Refusal>>,
    /// The address of each name and port that is tried first.
    preferred: Arc<Mutex<BTreeMap<(String, u16), SocketAddr>>>,
}

impl Tcp {
    /// Gives a host up that has not answered after so long.
    pub fn new(connect_timeout: Duration) -> Self {
        Tcp { connect_timeout, refusal: None, preferred: Arc::default() }
    }

    /// Asks before each connection, with the address that the name has turned out to stand for.
    #[must_use]
    pub fn refusing(mut self, refusal: Arc<Refusal>) -> Self {
        self.refusal = Some(refusal);
        self
    }

    /// The addresses of a host to which a connection may be made.
    async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let mut found: Vec<SocketAddr> = lookup_host((host, port)).await?.collect();
        let Some(refusal) = &self.refusal else { return Ok(found) };
        let why = found.iter().find_map(|address| refusal(*address));
        found.retain(|address| refusal(*address).is_none());
        match why {
            Some(why) if found.is_empty() => {
                Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
            }
            _ => Ok(found),
        }
    }

    async fn reach(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let found = self.addresses(host, port).await?;
        let key = (host.to_owned(), port);
        let first = found.first().copied();
        let preferred =
            first.map(|first| *self.preferred.lock().entry(key.clone()).or_insert(first));
        let again = found.iter().filter(|address| Some(**address) == preferred);
        let others = found.iter().filter(|address| Some(**address) != preferred);
        let mut failure = io::ErrorKind::AddrNotAvailable.into();
        for address in again.chain(others) {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    self.preferred.lock().insert(key, *address);
                    return Ok(stream);
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// A host has not answered: the next connection takes whichever address comes first.
    fn forget(&self, host: &str, port: u16) {
        self.preferred.lock().remove(&(host.to_owned(), port));
    }
}

impl Network for Tcp {
    fn reached(&self, host: &str, port: u16) -> Option<IpAddr> {
        self.preferred.lock().get(&(host.to_owned(), port)).map(SocketAddr::ip)
    }

    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let tcp = self.clone();
        Box::pin(async move {
            let limit = tcp.connect_timeout;
            let connecting = tcp.reach(&host, port);
            let stream = tokio::time::timeout(limit, connecting).await.map_err(|_| {
                tcp.forget(&host, port);
                io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("no answer from {host}:{port} within {} s", limit.as_secs_f64()),
                )
            })??;
            // Requests are small and must leave at once.
            stream.set_nodelay(true)?;
            open_window(&stream);
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }
}

/// Bytes that may be under way to us on a new connection. Linux begins with 64 kB and widens that
/// by what it sees being read in a round trip; for connections that were given little at first,
/// three round trips too late.
#[cfg(target_os = "linux")]
const WINDOW_BYTES: libc::c_int = 1 << 20;

/// Lets the far end send as fast as its own window grows. The buffer is not fixed, as asking for a
/// size would do: a "low watermark" makes the kernel see to it that so much fits (tcp(7),
/// socket(7)), and goes on widening by itself. It is taken back at once, since no read should wait
/// for so much.
#[cfg(target_os = "linux")]
fn open_window(stream: &TcpStream) {
    for bytes in [WINDOW_BYTES, 1] {
        // Without it reads are slower, and nothing else is wrong.
        let _ = set_low_watermark(stream, bytes);
    }
}

#[cfg(not(target_os = "linux"))]
fn open_window(_: &TcpStream) {}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "rustix and socket2 do not know this option")]
fn set_low_watermark(stream: &TcpStream, bytes: libc::c_int) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let (value, length) = (std::ptr::from_ref(&bytes).cast(), size_of_val(&bytes));
    // SAFETY: the descriptor is open as long as the stream is borrowed, and `value` points at
    // `length` bytes of an integer that outlives the call.
    let failed = unsafe {
        let length = length as libc::socklen_t;
        libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, value, length)
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_refused_is_not_connected_to() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let refusal = |address: SocketAddr| address.ip().is_loopback().then_some("not there");
        let tcp = Tcp::new(Duration::from_secs(5)).refusing(Arc::new(refusal));
        let error = tcp.connect("127.0.0.1", port).await.err().expect("it is refused");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(error.to_string(), "not there");
    }

    #[tokio::test]
    async fn a_name_stays_with_the_address_that_it_was_reached_at() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let tcp = Tcp::new(Duration::from_secs(5));
        let key = ("localhost".to_owned(), address.port());
        for _ in 0..2 {
            drop(tcp.connect("localhost", address.port()).await.expect("it listens"));
            assert_eq!(tcp.preferred.lock().get(&key), Some(&address), "whichever comes first");
        }
        drop(listener);
        assert!(tcp.connect("localhost", address.port()).await.is_err());
    }
}
