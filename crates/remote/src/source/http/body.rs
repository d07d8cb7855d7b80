//! The body of a request: nothing, or a file's bytes.

use std::fs::File;
use std::future::Future;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::{mpsc, watch};
use tokio::time::Sleep;

/// Read at a time of a file on a disk.
const PIECE_BYTES: usize = 256 << 10;
/// Pieces that are read in advance.
const PIECES_AHEAD: usize = 4;
/// How long the server may think before bytes are sent unasked (RFC 9110, section 10.1.1).
const TIMEOUT: Duration = Duration::from_secs(1);

/// Where bytes are kept until they are sent.
#[derive(Debug, Clone)]
pub enum UploadBytes {
    Memory(Bytes),
    Disk(Arc<File>, u64),
}

impl UploadBytes {
    pub fn len(&self) -> u64 {
        match self {
            UploadBytes::Memory(bytes) => bytes.len() as u64,
            UploadBytes::Disk(_, len) => *len,
        }
    }
}

/// The body of a request. A clone begins anew.
#[derive(Debug, Default)]
pub struct RequestBody {
    upload: Option<Upload>,
}

#[derive(Debug)]
struct Upload {
    content: UploadBytes,
    /// Counts the bytes that have been handed on.
    sent: Arc<AtomicU64>,
    /// The server has requested the bytes.
    go: watch::Receiver<bool>,
    waits: Option<Pin<Box<Sleep>>>,
    at: u64,
    pieces: Option<mpsc::Receiver<io::Result<Bytes>>>,
}

impl RequestBody {
    /// Bytes that are sent when the server has requested them, or after a while.
    pub fn of(content: UploadBytes, sent: Arc<AtomicU64>, go: watch::Receiver<bool>) -> Self {
        let waits = Some(Box::pin(tokio::time::sleep(TIMEOUT)));
        RequestBody { upload: Some(Upload { content, sent, go, waits, at: 0, pieces: None }) }
    }
}

impl Clone for RequestBody {
    fn clone(&self) -> Self {
        match &self.upload {
            Some(upload) => {
                let Upload { content, sent, go, .. } = upload;
                RequestBody::of(content.clone(), sent.clone(), go.clone())
            }
            None => RequestBody::default(),
        }
    }
}

impl Upload {
    fn may_begin(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(waits) = &mut self.waits else { return Poll::Ready(()) };
        if !*self.go.borrow() {
            let asked = std::pin::pin!(self.go.wait_for(|go| *go)).poll(context).is_ready();
            if !asked {
                ready!(waits.as_mut().poll(context));
            }
        }
        self.waits = None;
        Poll::Ready(())
    }

    fn next(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.at >= self.content.len() {
            return Poll::Ready(None);
        }
        match &self.content {
            UploadBytes::Memory(bytes) => {
                let start = self.at as usize;
                let piece = bytes.slice(start..bytes.len().min(start + PIECE_BYTES));
                Poll::Ready(Some(Ok(piece)))
            }
            UploadBytes::Disk(file, len) => {
                let pieces = self.pieces.get_or_insert_with(|| read(file.clone(), *len));
                pieces.poll_recv(context)
            }
        }
    }
}

/// Reads a file on a thread that may wait for the disk.
fn read(file: Arc<File>, len: u64) -> mpsc::Receiver<io::Result<Bytes>> {
    let (sender, pieces) = mpsc::channel(PIECES_AHEAD);
    tokio::task::spawn_blocking(move || {
        let mut at = 0;
        while at < len {
            let mut piece = vec![0; PIECE_BYTES.min((len - at) as usize)];
            let read = file.read_exact_at(&mut piece, at).map(|()| Bytes::from(piece));
            at += PIECE_BYTES as u64;
            let failed = read.is_err();
            if sender.blocking_send(read).is_err() || failed {
                return;
            }
        }
    });
    pieces
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let Some(upload) = &mut self.upload else { return Poll::Ready(None) };
        ready!(upload.may_begin(context));
        let piece = ready!(upload.next(context));
        if let Some(Ok(piece)) = &piece {
            upload.at += piece.len() as u64;
            upload.sent.fetch_add(piece.len() as u64, Ordering::Relaxed);
        }
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.upload.as_ref().is_none_or(|upload| upload.at >= upload.content.len())
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.upload.as_ref().map_or(0, |it| it.content.len() - it.at))
    }
}
