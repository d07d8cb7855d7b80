//! To a real XRootD server over a network that limits each connection.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use farroot_remote::source::network::{Network, Stream, Tcp};
use farroot_remote::{Config, CreateOptions, Remote};
use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::xrootd::Place;
use super::{check, content, upload};

/// Bytes a second of each connection.
const RATE: f64 = 4e6;
/// Bytes of a write that leave at once.
const BURST: usize = 64 << 10;
/// Ten seconds on one connection: long enough for its rate to show on a busy machine, too.
const SIZE: usize = 40_000_000;

/// TCP on which each connection is slow to send, and breaks behind so many bytes.
struct Slow {
    tcp: Tcp,
    /// Connections that may be made.
    connections_max: usize,
    /// A connection after the first, by its number, and the bytes after which it breaks.
    breaks: Option<(usize, usize)>,
    connections: AtomicUsize,
}

impl Slow {
    fn new(connections_max: usize, breaks: Option<(usize, usize)>) -> Arc<Self> {
        let tcp = Tcp::new(Duration::from_secs(5));
        Arc::new(Slow { tcp, connections_max, breaks, connections: AtomicUsize::new(0) })
    }
}

impl Network for Slow {
    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
        let number = self.connections.fetch_add(1, Ordering::Relaxed);
        let connecting = self.tcp.connect(host, port);
        let is_refused = number >= self.connections_max;
        let left = self.breaks.filter(|(which, _)| *which == number).map(|(_, bytes)| bytes);
        Box::pin(async move {
            if is_refused {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            let pause = Box::pin(sleep_until(Instant::now()));
            Ok(Box::new(SlowStream { stream: connecting.await?, pause, left }) as Box<dyn Stream>)
        })
    }
}

struct SlowStream {
    stream: Box<dyn Stream>,
    pause: Pin<Box<Sleep>>,
    /// Bytes after which it breaks.
    left: Option<usize>,
}

impl AsyncRead for SlowStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for SlowStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.pause.as_mut().poll(context));
        let most = bytes.len().min(BURST).min(self.left.unwrap_or(BURST));
        if most == 0 {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        let count = ready!(Pin::new(&mut self.stream).poll_write(context, &bytes[..most]))?;
        let takes = Duration::from_secs_f64(count as f64 / RATE);
        self.pause.as_mut().reset(Instant::now() + takes);
        self.left = self.left.map(|left| left - count);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Writes a file of a known size, and returns the number of connections.
async fn written(network: Arc<Slow>, config: Config) -> Option<usize> {
    let place = Place::start()?;
    let remote = Remote::start(config, network.clone());
    let content = content(SIZE);
    let options = CreateOptions { size: Some(SIZE as u64), ..CreateOptions::default() };
    let address = format!("{}file", place.origin);
    let written = upload(&remote, &address, &content, 1_000_000, options).await;
    check(&written.unwrap(), &content);
    assert!(place.read("file") == content);
    Some(network.connections.load(Ordering::Relaxed))
}

/// Uploads took one connection, however slow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_travel_on_further_connections_where_one_is_slow() {
    let Some(connections) = written(Slow::new(usize::MAX, None), Config::default()).await else {
        return;
    };
    assert_eq!(connections, 16);
    let one = Config { connections_max: 1, ..Config::default() };
    assert_eq!(written(Slow::new(usize::MAX, None), one).await, Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn further_connections_that_are_refused_cost_nothing() {
    let Some(connections) = written(Slow::new(1, None), Config::default()).await else { return };
    assert_eq!(connections, 16);
}

/// The client does not know which of its bytes the server has, and opens the file again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_further_connection_that_is_lost_costs_no_byte() {
    // While it is bound, with its first bytes, and amid a write.
    for bytes in [10, 100, 300_000] {
        let network = Slow::new(usize::MAX, Some((5, bytes)));
        let Some(connections) = written(network, Config::default()).await else { return };
        assert!(connections >= 13, "behind {bytes} bytes: {connections} connections");
    }
}
