//! Servers without ranges: the file is read once as a whole, and serves from a temporary file.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use hyper::Response;
use hyper::body::{Body, Incoming};
use hyper::header::HeaderMap;

use super::answer::{Head, file_info, judge};
use super::exchange::Exchange;
use super::job::{Job, Outcome, Stop};
use super::range::RemainingRanges;
use crate::error::{Error, ErrorKind};
use crate::source::temporary_copy::{CopyProgress, TemporaryCopy, Writer, disk_error};
use crate::source::{ConnectionEvent, FileRef};

/// Bytes written to or read from a temporary file at once.
const COPY_BATCH_BYTES: u64 = 1 << 20;
/// How often events report that a temporary file grows.
const FOLLOW_EVERY: Duration = Duration::from_millis(500);

impl Exchange<'_> {
    pub fn note_copy(&self, job: &Job, size: Option<u64>) {
        let size = size.map_or_else(|| "unknown size".into(), |size| format!("{size} bytes"));
        self.driver.send(ConnectionEvent::Note(format!(
            "{} sends files only as a whole: {} ({size}) is read once into a temporary file",
            self.server.name,
            job.url(),
        )));
    }

    /// Serves a job from the file as it is written by whichever connection does.
    pub async fn through_copy(&self, job: &mut Job, copy: &Arc<TemporaryCopy>) -> Outcome<()> {
        while !self.serve(job, copy).await? {
            let _turn = self.transport.turn().await?;
            let Some(writer) = copy.claim() else { continue };
            let request = self.server.get(job.url(), None)?;
            let response = self.ask(job, &request).await?;
            match judge(&response)? {
                Head::Whole => return self.as_a_whole(job, copy, writer, response).await,
                _ => {
                    let text = "the server, asked for the whole file, answers with something else";
                    return Err(Error::new(ErrorKind::Corrupt, text).into());
                }
            }
        }
        Ok(())
    }

    /// Writes the whole file and serves a job from it meanwhile.
    pub async fn as_a_whole(
        &self,
        job: &mut Job,
        copy: &Arc<TemporaryCopy>,
        writer: Writer,
        response: Response<Incoming>,
    ) -> Outcome<()> {
        let file = job.file.clone();
        let serving = async {
            match self.serve(job, copy).await {
                // The writer's own error says more.
                Ok(false) => {}
                Ok(true) => drop(self.answer(job, Ok(()))),
                Err(stop) => drop(self.answer(job, Err(stop))),
            }
        };
        let (written, ()) = futures::join!(self.write(&file, writer, response), serving);
        written
    }

    async fn write(
        &self,
        file: &FileRef,
        mut writer: Writer,
        mut response: Response<Incoming>,
    ) -> Outcome<()> {
        let headers = response.headers().clone();
        if let Some(size) = response.body().size_hint().exact() {
            self.learn_of(file, &headers, size)?;
        }
        let mut size: u64 = 0;
        while let Some(first) = self.next_bytes(&file.url, &mut response).await? {
            let mut batch = first.len() as u64;
            let mut pieces = Vec::from([first]);
            // Bytes that have arrived meanwhile.
            while batch < COPY_BATCH_BYTES
                && let Some(next) = self.next_bytes(&file.url, &mut response).now_or_never()
            {
                let Some(next) = next? else { break };
                batch += next.len() as u64;
                pieces.push(next);
            }
            size += batch;
            writer.append(pieces).await.map_err(|error| disk_error(&error))?;
        }
        self.learn_of(file, &headers, size)?;
        writer.finish();
        Ok(())
    }

    fn learn_of(&self, file: &FileRef, headers: &HeaderMap, size: u64) -> Outcome<()> {
        let info = file_info(headers, size)?;
        Ok(self.server.learn_info(file, info, |event| self.driver.send(event))?)
    }

    /// Waits until a temporary file has the bytes up to `end`, and reports its growth meanwhile.
    async fn follow(&self, job: &Job, copy: &TemporaryCopy, end: u64) -> CopyProgress {
        let mut seen = None;
        loop {
            let reached = tokio::time::timeout(FOLLOW_EVERY, copy.reached(end)).await;
            let written = copy.progress().written;
            self.send_progress(job, written.saturating_sub(seen.unwrap_or(written)));
            seen = Some(written);
            if let Ok(progress) = reached {
                return progress;
            }
        }
    }

    /// Delivers from the temporary file; false where no writer is left for the missing bytes.
    async fn serve(&self, job: &mut Job, copy: &TemporaryCopy) -> Outcome<bool> {
        loop {
            job.stop_if_cancelled()?;
            let Some(info) = self.server.info(&job.file) else {
                // The server gave no size: it is known at the end.
                let progress = self.follow(job, copy, u64::MAX).await;
                match self.server.info(&job.file) {
                    Some(_) => continue,
                    None if progress.complete => return Err(Stop::Cancelled),
                    None => return Ok(false),
                }
            };
            self.apply(job, info);
            let Some(first) = job.remaining.as_ref().and_then(RemainingRanges::first) else {
                return Ok(true);
            };
            let end = first.end.min(first.start.saturating_add(COPY_BATCH_BYTES));
            let piece = first.start..end;
            if self.follow(job, copy, piece.end).await.written < piece.end {
                return Ok(false);
            }
            let bytes = copy.read(piece.clone()).await.map_err(|error| disk_error(&error))?;
            if bytes.len() as u64 != piece.end - piece.start {
                let text = "the temporary file has lost bytes";
                return Err(Error::new(ErrorKind::Io, text).into());
            }
            self.hand_on(job, piece.start, &bytes);
        }
    }
}
