//! Connections to hosts: the seam at which a simulated network takes the place of the real one.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use mutex::Mutex;
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

/// An address that has not answered for so long does not keep the next one from being tried
/// beside it (RFC 8305, section 5).
const NEXT_AFTER: Duration = Duration::from_millis(250);
/// The same of an address that was reached before: longer than a lost first packet takes.
const NEXT_AFTER_KNOWN: Duration = Duration::from_millis(1500);

/// The operating system's TCP.
///
/// A name may stand for several machines, whose copies of a file have times and ids of their own:
/// all connections go to the machine that the first one went to, as long as it can be reached.
/// Addresses are tried one after the other, each without waiting for the end of the one before
/// (RFC 8305, "Happy Eyeballs"): a machine that is off, or half of a network, costs no timeout.
#[derive(Clone)]
pub struct Tcp {
    /// How long to wait for a connection before giving the host up.
    connect_timeout: Duration,
    refusal: Option<Arc<Refusal>>,
    /// The address of each name and port that is tried first.
    preferred: Arc<Mutex<BTreeMap<(String, u16), Preferred>>>,
}

/// Of the addresses that a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Preferred {
    address: SocketAddr,
    /// It has answered before.
    reached: bool,
}

/// The addresses in the order in which they are tried: one of each family in turn, as one of them
/// may lead nowhere (RFC 8305, section 4).
fn in_turn(found: Vec<SocketAddr>, first: Option<SocketAddr>) -> Vec<SocketAddr> {
    let Some(first) = first else { return found };
    let others = found.into_iter().filter(|address| *address != first);
    let (same, other): (Vec<_>, Vec<_>) =
        others.partition(|address| address.is_ipv6() == first.is_ipv6());
    let mut same = same.into_iter();
    let mut other = other.into_iter();
    let mut order = vec![first];
    loop {
        let before = order.len();
        order.extend(other.next());
        order.extend(same.next());
        if order.len() == before {
            return order;
        }
    }
}

/// The first address that answers. After `time_limit` for the first one, and a little for each
/// later one, the next is tried beside those before it; after a refusal at once.
///
/// # Errors
/// Why the last address of all that failed cannot be reached.
async fn race(
    addresses: Vec<SocketAddr>,
    time_limit: Duration,
) -> io::Result<(TcpStream, SocketAddr)> {
    let mut left = addresses.into_iter();
    let mut connecting = FuturesUnordered::new();
    let mut failure = io::ErrorKind::AddrNotAvailable.into();
    let mut wait = time_limit;
    loop {
        if let Some(address) = left.next() {
            connecting.push(async move { (TcpStream::connect(address).await, address) });
        }
        let next_in = tokio::time::sleep(wait);
        wait = NEXT_AFTER;
        tokio::pin!(next_in);
        tokio::select! {
            ended = connecting.next() => match ended {
                Some((Ok(stream), address)) => return Ok((stream, address)),
                Some((Err(error), _)) => failure = error,
                None => return Err(failure),
            },
            () = &mut next_in, if left.len() > 0 => {}
        }
    }
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
        let known = self.preferred.lock().get(&key).copied();
        let known = known.filter(|known| found.contains(&known.address));
        let first = known.map(|known| known.address).or_else(|| found.first().copied());
        if let (None, Some(address)) = (known, first) {
            // Connections that begin at the same time try the same address first.
            self.preferred.lock().insert(key.clone(), Preferred { address, reached: false });
        }
        let time_limit = match known {
            Some(Preferred { reached: true, .. }) => NEXT_AFTER_KNOWN,
            _ => NEXT_AFTER,
        };
        let (stream, address) = race(in_turn(found, first), time_limit).await?;
        self.preferred.lock().insert(key, Preferred { address, reached: true });
        Ok(stream)
    }

    /// A host has not answered: the next connection takes whichever address comes first.
    fn forget(&self, host: &str, port: u16) {
        self.preferred.lock().remove(&(host.to_owned(), port));
    }
}

impl Network for Tcp {
    fn reached(&self, host: &str, port: u16) -> Option<IpAddr> {
        self.preferred.lock().get(&(host.to_owned(), port)).map(|known| known.address.ip())
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
/// by the bytes that are read in a round trip; for connections that were given little at first,
/// three round trips too late.
#[cfg(target_os = "linux")]
const WINDOW_BYTES: libc::c_int = 1 << 20;

/// Lets the far end send as fast as its own window grows. The buffer is not fixed, as setting a
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
    let value = std::ptr::from_ref(&bytes).cast();
    let length = size_of_val(&bytes);
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
            let expected = Preferred { address, reached: true };
            assert_eq!(tcp.preferred.lock().get(&key), Some(&expected), "whichever comes first");
        }
        drop(listener);
        assert!(tcp.connect("localhost", address.port()).await.is_err());
    }

    /// One dead address of several used up the whole timeout, and the others were never tried.
    #[tokio::test]
    async fn an_address_that_does_not_answer_holds_no_other_up() {
        let hole = tokio::net::TcpSocket::new_v4().unwrap();
        hole.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let hole_open = hole.listen(0).unwrap();
        let dead = hole_open.local_addr().unwrap();
        // The kernel drops connections for which the queue has no room.
        let _full: Vec<_> = (0..3).map(|_| tokio::spawn(TcpStream::connect(dead))).collect();
        while tokio::time::timeout(Duration::from_millis(100), TcpStream::connect(dead))
            .await
            .is_ok()
        {}
        let refused: SocketAddr = "127.0.0.1:1".parse().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let alive = listener.local_addr().unwrap();
        for addresses in [vec![dead, alive], vec![dead, refused, alive], vec![refused, dead, alive]]
        {
            let raced = tokio::time::timeout(Duration::from_secs(60), race(addresses, NEXT_AFTER));
            assert_eq!(raced.await.expect("it ends").unwrap().1, alive);
        }
        let none = race(vec![refused], NEXT_AFTER).await.unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn families_take_turns() {
        let all = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let found: Vec<SocketAddr> = all(&["[::1]:1", "[::2]:1", "1.1.1.1:1", "2.2.2.2:1"]);
        let order: Vec<SocketAddr> = all(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "2.2.2.2:1"]);
        assert_eq!(in_turn(found.clone(), Some(found[0])), order);
        let order: Vec<SocketAddr> = all(&["2.2.2.2:1", "[::1]:1", "1.1.1.1:1", "[::2]:1"]);
        assert_eq!(in_turn(found.clone(), Some(found[3])), order);
        assert_eq!(in_turn(Vec::new(), None), []);
    }
}
