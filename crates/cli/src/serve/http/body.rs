//! An answer's body: pieces of text and of a file, read as the connection takes them.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::serve::files::Opened;

/// Bytes read at a time, which is all that one answer holds in memory.
const READ_BYTES: u64 = 256 << 10;

/// One piece of a body.
#[derive(Debug)]
pub enum Piece {
    Text(Bytes),
    /// Bytes of the file.
    Range(Range<u64>),
}

/// A body of known length.
#[derive(Debug)]
pub struct Body {
    pieces: VecDeque<Piece>,
    file: Option<Opened>,
    reading: Option<(u64, JoinHandle<io::Result<Bytes>>)>,
    left: u64,
}

impl Body {
    pub fn text(text: impl Into<Bytes>) -> Self {
        Body::new(vec![Piece::Text(text.into())], None)
    }

    pub fn of_file(pieces: Vec<Piece>, file: Opened) -> Self {
        Body::new(pieces, Some(file))
    }

    fn new(pieces: Vec<Piece>, file: Option<Opened>) -> Self {
        let length = |piece: &Piece| match piece {
            Piece::Text(text) => text.len() as u64,
            Piece::Range(range) => range.end - range.start,
        };
        let left = pieces.iter().map(length).sum();
        Body { pieces: pieces.into(), file, reading: None, left }
    }

    /// Starts reading the next part of the range that is in turn, if it is one.
    fn read_on(&mut self) -> Option<Bytes> {
        match self.pieces.front_mut()? {
            Piece::Text(text) => {
                let text = std::mem::take(text);
                self.pieces.pop_front();
                Some(text)
            }
            Piece::Range(range) => {
                let count = READ_BYTES.min(range.end - range.start);
                let (file, offset) = (self.file.clone()?, range.start);
                range.start += count;
                if range.is_empty() {
                    self.pieces.pop_front();
                }
                let read = spawn_blocking(move || file.read_at(offset, count as usize));
                self.reading = Some((count, read));
                None
            }
        }
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        loop {
            if let Some((count, reading)) = &mut this.reading {
                let data = ready!(Pin::new(reading).poll(cx)).map_err(io::Error::other)??;
                // A file that shrank meanwhile: end the connection, never a shorter body.
                if data.len() as u64 != *count {
                    return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
                }
                this.reading = None;
                this.left -= data.len() as u64;
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            if this.pieces.is_empty() {
                return Poll::Ready(None);
            }
            if let Some(text) = this.read_on() {
                this.left -= text.len() as u64;
                return Poll::Ready(Some(Ok(Frame::data(text))));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
