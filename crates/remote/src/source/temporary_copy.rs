//! A file that can only be had as a whole, kept on disk while it is read.
//!
//! One connection writes the file into an anonymous temporary file; every connection serves
//! requests from the bytes that it already has, and waits for the others. A writer that stops
//! before the end leaves its place to a waiting one.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::watch;

use super::buffers::read_piece;
use crate::error::{Error, ErrorKind};

/// See the module's description.
#[derive(Debug)]
pub struct TemporaryCopy {
    file: Arc<File>,
    progress: watch::Sender<CopyProgress>,
}

/// How far the file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyProgress {
    /// Bytes from the start that can be read.
    pub written: u64,
    /// All of the file is there.
    pub complete: bool,
    /// A task writes.
    pub writing: bool,
    /// No reader is left.
    given_up: bool,
}

impl TemporaryCopy {
    /// # Errors
    /// Where the temporary file cannot be made.
    pub fn new() -> io::Result<Self> {
        let file = Arc::new(tempfile::tempfile()?);
        let nothing = CopyProgress { written: 0, complete: false, writing: false, given_up: false };
        Ok(TemporaryCopy { file, progress: watch::Sender::new(nothing) })
    }

    /// The right to write the file from its start, unless another task has it or it is complete.
    pub fn claim(self: &Arc<Self>) -> Option<Writer> {
        let free = self.progress.send_if_modified(|progress| {
            let free = !progress.writing && !progress.complete;
            if free {
                *progress = CopyProgress { written: 0, writing: true, ..*progress };
            }
            free
        });
        free.then(|| Writer { copy: self.clone() })
    }

    /// Makes the writer stop.
    pub fn give_up(&self) {
        self.progress.send_modify(|progress| progress.given_up = true);
    }

    /// How far the file is there now.
    pub fn progress(&self) -> CopyProgress {
        *self.progress.borrow()
    }

    /// Waits until the bytes up to `end` are there, all are there, or the writer is gone.
    pub async fn reached(&self, end: u64) -> CopyProgress {
        let mut progress = self.progress.subscribe();
        let reached =
            progress.wait_for(|now| now.written >= end || now.complete || !now.writing).await;
        match reached {
            Ok(now) => *now,
            // Not possible while `self` holds the sender.
            Err(_) => *self.progress.borrow(),
        }
    }

    /// Bytes that have been written.
    ///
    /// # Errors
    /// Those of the disk.
    pub async fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let file = self.file.clone();
        tokio::task::spawn_blocking(move || read_piece(&file, range)).await?
    }
}

/// The one that writes; dropped before `finish`, it leaves its place to another.
#[derive(Debug)]
pub struct Writer {
    copy: Arc<TemporaryCopy>,
}

impl Writer {
    /// Appends and lets readers see it.
    ///
    /// # Errors
    /// Those of the disk; `Interrupted` where no reader is left.
    pub async fn append(&mut self, pieces: Vec<Bytes>) -> io::Result<()> {
        let CopyProgress { written: start, given_up, .. } = *self.copy.progress.borrow();
        if given_up {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let file = self.copy.file.clone();
        let end = tokio::task::spawn_blocking(move || {
            pieces.iter().try_fold(start, |at, piece| {
                file.write_all_at(piece, at)?;
                Ok::<u64, io::Error>(at + piece.len() as u64)
            })
        })
        .await??;
        self.copy.progress.send_modify(|progress| progress.written = end);
        Ok(())
    }

    /// The file is whole; returns its size.
    pub fn finish(self) -> u64 {
        self.copy.progress.send_modify(|progress| progress.complete = true);
        self.copy.progress.borrow().written
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.copy.progress.send_modify(|progress| progress.writing = false);
    }
}

/// An error of the temporary file's disk.
pub fn disk_error(error: &io::Error) -> Error {
    let text = format!("the file cannot be kept in a temporary file: {error}");
    Error::new(ErrorKind::Io, text).with_advice("TMPDIR names the directory used")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn readers_follow_the_writer() {
        let copy = Arc::new(TemporaryCopy::new().unwrap());
        let mut writer = copy.claim().unwrap();
        assert!(copy.claim().is_none());
        let reader = tokio::spawn({
            let copy = copy.clone();
            async move {
                copy.reached(8).await;
                copy.read(6..8).await.unwrap()
            }
        });
        writer.append(vec![Bytes::from_static(b"0123"), Bytes::from_static(b"45")]).await.unwrap();
        writer.append(vec![Bytes::from_static(b"6789")]).await.unwrap();
        assert_eq!(reader.await.unwrap(), &b"67"[..]);
        assert_eq!(writer.finish(), 10);
        assert!(copy.reached(100).await.complete);
        assert!(copy.claim().is_none(), "a complete file is not written again");
    }

    #[tokio::test]
    async fn a_writer_that_stops_leaves_its_place() {
        let copy = Arc::new(TemporaryCopy::new().unwrap());
        let mut writer = copy.claim().unwrap();
        writer.append(vec![Bytes::from_static(b"01")]).await.unwrap();
        drop(writer);
        let seen = copy.reached(5).await;
        assert!(!seen.writing && !seen.complete);
        let mut second = copy.claim().unwrap();
        assert_eq!(copy.reached(0).await.written, 0, "written again from its start");
        copy.give_up();
        assert!(second.append(vec![Bytes::from_static(b"0")]).await.is_err());
    }
}
