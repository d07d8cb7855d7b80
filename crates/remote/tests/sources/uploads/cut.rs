//! A network that is cut once, behind so many bytes, and that counts.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use farroot_remote::source::network::{Network, Stream, Tcp};
use farroot_remote::{Config, Remote};
use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// TCP that breaks the connection over which that byte goes, in either direction.
pub struct Cut {
    tcp: Tcp,
    left: Arc<AtomicI64>,
    pub connections: AtomicUsize,
}

impl Cut {
    pub fn behind(bytes: i64) -> Arc<Cut> {
        let tcp = Tcp::new(Duration::from_secs(5));
        Arc::new(Cut { tcp, left: Arc::new(bytes.into()), connections: AtomicUsize::new(0) })
    }

    pub fn remote(self: &Arc<Self>) -> Remote {
        Remote::start(Config::default(), self.clone())
    }

    /// Bytes that were left when all was over.
    pub fn left(&self) -> i64 {
        self.left.load(Ordering::Relaxed)
    }
}

impl Network for Cut {
    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        let connecting = self.tcp.connect(host, port);
        let left = self.left.clone();
        Box::pin(async move {
            Ok(Box::new(CutStream { stream: connecting.await?, left, is_cut: false })
                as Box<dyn Stream>)
        })
    }
}

struct CutStream {
    stream: Box<dyn Stream>,
    left: Arc<AtomicI64>,
    is_cut: bool,
}

impl CutStream {
    /// How many bytes may pass; an error once none may.
    fn may(&mut self, wanted: usize) -> io::Result<usize> {
        if self.is_cut {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        match self.left.load(Ordering::Relaxed) {
            0 => {
                self.is_cut = true;
                self.left.store(-1, Ordering::Relaxed);
                Err(io::ErrorKind::ConnectionReset.into())
            }
            left if left > 0 => Ok(wanted.min(left as usize)),
            _ => Ok(wanted),
        }
    }

    fn passed(&self, count: usize) {
        if self.left.load(Ordering::Relaxed) > 0 {
            self.left.fetch_sub(count as i64, Ordering::Relaxed);
        }
    }
}

impl AsyncRead for CutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut piece = vec![0; self.may(buffer.remaining())?];
        let mut part = ReadBuf::new(&mut piece);
        let read = Pin::new(&mut self.stream).poll_read(context, &mut part);
        let count = part.filled().len();
        buffer.put_slice(part.filled());
        self.passed(count);
        read
    }
}

impl AsyncWrite for CutStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let may = self.may(bytes.len())?;
        let written = Pin::new(&mut self.stream).poll_write(context, &bytes[..may]);
        if let Poll::Ready(Ok(count)) = &written {
            self.passed(*count);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
