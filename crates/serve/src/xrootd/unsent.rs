//! Answers on their way to a client.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Buffers that are written at once at the most.
const SLICES_MAX: usize = 16;

/// Answers that the client has not been sent yet.
#[derive(Debug, Default)]
pub struct Unsent {
    answers: VecDeque<Bytes>,
    /// TLS may still have the end of an answer that the socket had no room for.
    is_unflushed: bool,
}

impl Unsent {
    pub fn push(&mut self, answer: Bytes) {
        self.answers.push_back(answer);
    }

    /// Whether the stream has sent all.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty() && !self.is_unflushed
    }

    pub fn bytes(&self) -> usize {
        self.answers.iter().map(Bytes::len).sum()
    }

    /// Sends more of them; returns whether the client takes nothing any more. Nothing is lost where
    /// this is cancelled.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn send(&mut self, sink: &mut (impl AsyncWrite + Unpin)) -> io::Result<bool> {
        if self.answers.is_empty() {
            sink.flush().await?;
            self.is_unflushed = false;
            return Ok(false);
        }
        let slices: Vec<IoSlice<'_>> =
            self.answers.iter().take(SLICES_MAX).map(|bytes| IoSlice::new(bytes)).collect();
        let count = sink.write_vectored(&slices).await?;
        self.is_unflushed = true;
        self.remove(count);
        Ok(count == 0)
    }

    /// Sends all of them.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn send_all(&mut self, sink: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        while !self.is_empty() {
            if self.send(sink).await? {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }

    fn remove(&mut self, mut count: usize) {
        while let Some(front) = self.answers.front_mut() {
            let part = count.min(front.len());
            front.advance(part);
            count -= part;
            if !front.is_empty() {
                break;
            }
            self.answers.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, BufWriter};

    /// Regression: TLS kept the last kilobytes of an answer for which the socket had no room, and
    /// nothing asked it to send them. Clients waited for their timeout of a minute.
    #[tokio::test]
    async fn a_stream_that_keeps_bytes_is_flushed() {
        let (near, mut far) = tokio::io::duplex(1000);
        // As TLS, it takes more than it has sent.
        let mut sink = BufWriter::with_capacity(1 << 16, near);
        let answers: Vec<Bytes> = (0..40u8).map(|n| vec![n; 7 * usize::from(n)].into()).collect();
        let whole = answers.concat();
        let mut unsent = Unsent::default();
        answers.into_iter().for_each(|answer| unsent.push(answer));
        assert_eq!((unsent.bytes(), unsent.is_empty()), (whole.len(), false));
        let mut received = vec![0; whole.len()];
        let (sent, read) = tokio::join!(unsent.send_all(&mut sink), far.read_exact(&mut received));
        sent.unwrap();
        read.unwrap();
        assert_eq!(received, whole);
        assert!(unsent.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_not_flushed_is_not_sent() {
        let (near, mut far) = tokio::io::duplex(10);
        let mut sink = BufWriter::with_capacity(100, near);
        let mut unsent = Unsent::default();
        unsent.push(vec![1; 50].into());
        assert!(!unsent.send(&mut sink).await.unwrap());
        assert_eq!((unsent.bytes(), unsent.is_empty()), (0, false));
        let second = std::time::Duration::from_secs(1);
        assert!(tokio::time::timeout(second, unsent.send(&mut sink)).await.is_err(), "no room");
        assert!(!unsent.is_empty());
        let mut received = [0; 50];
        let (sent, read) = tokio::join!(unsent.send_all(&mut sink), far.read_exact(&mut received));
        sent.unwrap();
        read.unwrap();
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_gone() {
        let mut unsent = Unsent::default();
        unsent.push(Bytes::from_static(b"answer"));
        let none: &mut [u8] = &mut [];
        let mut sink = std::io::Cursor::new(none);
        assert!(unsent.send(&mut sink).await.unwrap());
        let error = unsent.send_all(&mut sink).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WriteZero);
    }
}
