//! A connection's bytes, and the client's activity that they show.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::clients::Client;

/// Bytes that a socket takes beyond those that are on their way.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
const NOT_SENT_BYTES_MAX: u32 = 256 << 10;

/// A connection's bytes, near or as if far away.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Answers are complete when written, so they shall leave at once; and bytes that a client does not
/// take shall wait here, where they are counted, not in megabytes of the kernel's memory.
pub fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    socket2::SockRef::from(stream).set_tcp_notsent_lowat(NOT_SENT_BYTES_MAX)?;
    Ok(())
}

/// A stream that reports to its [`Client`] when bytes arrive, and whether written ones are taken.
pub struct Watched {
    stream: Box<dyn Stream>,
    client: Arc<Client>,
    /// Whether bytes that arrive are those of a request.
    counts_requests: bool,
}

impl Watched {
    pub fn new(stream: Box<dyn Stream>, client: Arc<Client>) -> Self {
        Watched { stream, client, counts_requests: true }
    }

    /// A stream in which bytes arrive between requests, too. Its reader reports requests by itself.
    #[cfg(feature = "flight")]
    pub fn of_answers(stream: Box<dyn Stream>, client: Arc<Client>) -> Self {
        Watched { stream, client, counts_requests: false }
    }

    fn note(&self, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Pending => self.client.stalls(),
            Poll::Ready(Ok(count)) => self.client.takes(*count),
            Poll::Ready(Err(_)) => {}
        }
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if this.counts_requests && buffer.filled().len() > before {
            this.client.asks();
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, data);
        this.note(&written);
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        this.note(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

/// A stream some bytes of which have been read already.
pub struct Preceded<S> {
    pub rest: Bytes,
    pub stream: S,
}

impl<S: Stream> AsyncRead for Preceded<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            return Pin::new(&mut this.stream).poll_read(cx, buffer);
        }
        let count = this.rest.len().min(buffer.remaining());
        buffer.put_slice(&this.rest.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl<S: Stream> AsyncWrite for Preceded<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, data)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
