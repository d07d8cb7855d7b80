//! How a connection comes about: the seam at which a simulated network takes the place of the
//! real one.

use std::io;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// A connected byte stream.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Makes byte streams to hosts.
pub trait Network: Send + Sync + 'static {
    /// Connects, trying every address the name has.
    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>>;
}

/// The operating system's TCP.
#[derive(Debug, Clone)]
pub struct Tcp {
    /// How long to wait for a connection before giving the host up.
    pub connect_timeout: Duration,
}

impl Network for Tcp {
    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let limit = self.connect_timeout;
        Box::pin(async move {
            let connecting = TcpStream::connect((host.as_str(), port));
            let stream = tokio::time::timeout(limit, connecting).await.map_err(|_| {
                io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("no answer from {host}:{port} within {} s", limit.as_secs_f64()),
                )
            })??;
            // Requests are small and must leave at once.
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }
}
