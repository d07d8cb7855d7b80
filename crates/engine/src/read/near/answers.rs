//! The answers to the requests of one read. A new connection of TCP is slow at first, so a long
//! read has several answers at the same time; they are taken in the order of their entries.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rootfile::Array;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

use super::choosing::AnswerSoFar;
use super::incoming::{ExpectedAnswer, Incoming};
use crate::read::core::columns::Batch;
use remote::fetch::RemoteFile;
use remote::near::{CONNECTIONS_MAX, NearPlace};
use remote::{Error, ErrorKind, Result};

/// Stored bytes of the columns for which one more request is worth its cost at the server.
const PART_BYTES: u64 = 4 << 20;
/// Nearer servers have sent an answer before a second connection would help.
const NEAR: Duration = Duration::from_millis(10);
/// Bytes of each answer that wait to be taken, as arrays: while those before it are taken, it goes
/// on to come. They are in at most so many batches.
const AHEAD_BYTES: u32 = 4 << 20;
const AHEAD: usize = 256;

/// The number of requests for columns with so many stored bytes.
pub fn parts_of(stored_bytes: u64, round_trip: Duration) -> u64 {
    match round_trip < NEAR {
        true => 1,
        false => (stored_bytes / PART_BYTES).clamp(1, CONNECTIONS_MAX as u64),
    }
}

/// A request for some of the entries.
#[derive(Clone)]
pub struct PartRequest {
    pub entries: Range<u64>,
    pub text: Bytes,
}

/// A read that a server answers.
pub struct NearRead {
    pub place: NearPlace,
    pub remote: Arc<RemoteFile>,
    /// One at least, in the order of their entries, which follow each other.
    pub parts: Vec<PartRequest>,
    /// The columns without entries.
    pub columns: Vec<(String, Array)>,
    pub has_cut: bool,
    /// Decoded bytes that an answer may have.
    pub decoded_max: u64,
}

/// Entries that are on their way.
pub struct NearAnswers {
    read: NearRead,
    /// Those that have not come to their end. The first is taken.
    parts: VecDeque<AnswerPart>,
    /// Dropping them ends the answers.
    tasks: JoinSet<()>,
    /// The first entry of which nothing is known yet, and the end.
    left: Range<u64>,
    so_far: AnswerSoFar,
}

struct AnswerPart {
    request: PartRequest,
    arrived: mpsc::Receiver<Result<ArrivedPart>>,
    has_begun: bool,
    /// Bytes of the answer.
    bytes: u64,
    /// The server had no place for it at first.
    was_refused: bool,
}

/// A part of an answer.
enum ArrivedPart {
    /// The types fit.
    Types,
    /// Entries, the bytes of the answer so far, and the room that the entries take until then.
    Entries(Batch, u64, Option<OwnedSemaphorePermit>),
    /// The end, and the bytes of the answer.
    End(u64),
}

impl NearAnswers {
    /// Sends the requests, and waits until the first answer has begun.
    ///
    /// # Errors
    /// The server's refusal; an answer of other types; an error of the connection.
    pub async fn begin(read: NearRead) -> Result<Self> {
        let first = read.parts.first().map_or(0, |part| part.entries.start);
        let end = read.parts.last().map_or(0, |part| part.entries.end);
        let so_far = AnswerSoFar { left: end - first, ..AnswerSoFar::default() };
        let parts = VecDeque::new();
        let mut answers =
            NearAnswers { read, parts, tasks: JoinSet::new(), left: first..end, so_far };
        for request in answers.read.parts.clone() {
            let part = answers.asked(request, false);
            answers.parts.push_back(part);
        }
        if let Some(first) = answers.parts.front_mut() {
            first.begin().await?;
        }
        Ok(answers)
    }

    /// Counts of the entries and bytes that have been taken.
    pub fn so_far(&self) -> AnswerSoFar {
        self.so_far
    }

    /// Entries of which nothing is known yet.
    pub fn left(&self) -> Range<u64> {
        self.left.clone()
    }

    /// The next entries: of a cut those that are left of them. `None` behind the last.
    ///
    /// # Errors
    /// An answer that does not fit its request; an error of the connection.
    pub async fn next(&mut self) -> Result<Option<Batch>> {
        loop {
            let Some(part) = self.parts.front_mut() else { return Ok(None) };
            match part.next().await {
                Ok(ArrivedPart::Types) => {}
                Ok(ArrivedPart::Entries(batch, bytes, room)) => {
                    drop(room);
                    self.so_far.bytes += bytes - std::mem::replace(&mut part.bytes, bytes);
                    self.so_far.selected += batch.len();
                    self.come_to(batch.entries.end);
                    return Ok(Some(batch));
                }
                Ok(ArrivedPart::End(bytes)) => {
                    self.so_far.bytes += bytes - part.bytes;
                    let end = part.request.entries.end;
                    self.parts.pop_front();
                    if let Some(rest) = self.without_entries(end) {
                        self.come_to(end);
                        return Ok(Some(rest));
                    }
                }
                // Until now, answers before it had the server's places.
                Err(error) if error.is_busy() && !part.has_begun && !part.was_refused => {
                    let request = part.request.clone();
                    let again = self.asked(request, true);
                    self.parts[0] = again;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The entries behind the last that was left, up to the end of an answer with a cut.
    fn without_entries(&self, end: u64) -> Option<Batch> {
        let entries = self.left.start..end;
        let survivors = Some(Vec::new());
        let columns = self.read.columns.clone();
        let rest = Batch { entries, survivors, columns, left_out: Vec::new() };
        (!rest.entries.is_empty()).then_some(rest)
    }

    fn come_to(&mut self, end: u64) {
        self.so_far.entries += end - self.left.start;
        self.left.start = end;
        self.so_far.left = self.left.end - end;
    }

    /// Sends a request; its answer is read while others are taken.
    fn asked(&mut self, request: PartRequest, was_refused: bool) -> AnswerPart {
        let NearRead { place, remote, columns, has_cut, decoded_max, .. } = &self.read;
        let expected = ExpectedAnswer {
            columns: columns.clone(),
            entries: request.entries.clone(),
            has_cut: *has_cut,
            decoded_max: *decoded_max,
        };
        let place = place.clone();
        let remote = remote.clone();
        let text = request.text.clone();
        let (sender, arrived) = mpsc::channel(AHEAD);
        self.tasks.spawn(async move {
            if let Err(error) = read_answer(place, remote, text, expected, &sender).await {
                // A read that has ended does not take the error.
                let _ = sender.send(Err(error)).await;
            }
        });
        AnswerPart { request, arrived, has_begun: false, bytes: 0, was_refused }
    }
}

async fn read_answer(
    place: NearPlace,
    remote: Arc<RemoteFile>,
    text: Bytes,
    expected: ExpectedAnswer,
    sender: &mpsc::Sender<Result<ArrivedPart>>,
) -> Result<()> {
    let answer = remote.fetcher().near().ask(&place, text, &remote).await?;
    let mut incoming = Incoming::new(answer, expected)?;
    incoming.begun().await?;
    let room = Arc::new(Semaphore::new(AHEAD_BYTES as usize));
    let mut goes_on = sender.send(Ok(ArrivedPart::Types)).await.is_ok();
    while goes_on {
        let batch = incoming.next().await?;
        let is_last = batch.is_none();
        let bytes = incoming.bytes();
        let arrived = match batch {
            None => ArrivedPart::End(bytes),
            Some(batch) => {
                let length = batch.columns.iter().map(|(_, array)| array.nbytes()).sum::<usize>();
                let length = u32::try_from(length).unwrap_or(u32::MAX).min(AHEAD_BYTES);
                let taken = room.clone().acquire_many_owned(length).await.ok();
                ArrivedPart::Entries(batch, bytes, taken)
            }
        };
        goes_on = sender.send(Ok(arrived)).await.is_ok() && !is_last;
    }
    Ok(())
}

impl AnswerPart {
    /// Waits for the types.
    async fn begin(&mut self) -> Result<()> {
        while !self.has_begun {
            self.next().await?;
        }
        Ok(())
    }

    async fn next(&mut self) -> Result<ArrivedPart> {
        let gone = || Error::new(ErrorKind::Cancelled, "the read has ended");
        let arrived = self.arrived.recv().await.ok_or_else(gone)??;
        self.has_begun = true;
        Ok(arrived)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_reads_from_afar_have_several_requests() {
        let far = Duration::from_millis(100);
        assert_eq!(parts_of(1 << 40, Duration::from_millis(1)), 1);
        assert_eq!([0, 7 << 20, 8 << 20, 1 << 40].map(|bytes| parts_of(bytes, far)), [1, 1, 2, 4]);
    }
}
