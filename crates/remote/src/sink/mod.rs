//! Sinks: files that are written forward, and get their name when they are whole.
//!
//! A [`Sink`] is one file at one place that is being written; [`Upload`] holds one and keeps the
//! rules that are the same for all:
//!
//! 1. Each write begins where the one before it ended, or lies within bytes that were announced as
//!    such that are replaced later. Those come last.
//! 2. Under the file's name there is nothing, or the earlier file, until all is there.
//! 3. Every later call gets the first error; nothing of the file is then kept.

mod begin;
mod content;
mod http;
mod local;
mod s3;
mod xrootd;

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use mutex::Mutex;

use crate::address::Address;
use crate::checksum::{Algorithm, Checksum};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::failed::FailedOpens;
use crate::fetch::trace::Trace;

pub use content::Content;
pub use local::LocalPart;
pub(crate) use xrootd::refused;

/// Bytes of the name that a temporary one repeats: with the rest it is within the 255 that file
/// systems take.
const NAME_LEN_MAX: usize = 200;

/// How a file is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CreateOptions {
    /// Replaces a file that is there already.
    pub overwrite: bool,
    /// Writes under the final name from the beginning, for places that take no other: the earlier
    /// file is lost at once.
    pub in_place: bool,
    /// Other writers may have the file at the same time: the last that finishes keeps the name. For
    /// work that is given out twice, whose results are the same.
    pub shared: bool,
    /// Bytes that the file will have, where that is known: a server may keep room for them.
    pub size: Option<u64>,
}

/// A file that is written, and has its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Without secrets.
    pub address: String,
    /// Bytes.
    pub size: u64,
    /// Of all its bytes; `None` where only a part of them was written.
    pub checksum: Option<Checksum>,
    /// Warnings for who wrote it: that an earlier file was not kept until the end, or what is left
    /// over.
    pub warnings: Vec<String>,
}

impl Written {
    /// A file without warnings.
    pub fn new(address: String, size: u64, checksum: Option<Checksum>) -> Self {
        Written { address, size, checksum, warnings: Vec::new() }
    }
}

/// Takes messages for the user, and keeps the warnings among them.
#[derive(Clone)]
pub(crate) struct UploadNotes {
    trace: Option<Trace>,
    warnings: Arc<Mutex<Vec<String>>>,
}

impl UploadNotes {
    pub fn new(trace: Option<Trace>) -> Self {
        UploadNotes { trace, warnings: Arc::default() }
    }

    pub fn add(&self, text: String) {
        if let Some(warning) = text.strip_prefix("warning: ") {
            self.warnings.lock().push(warning.to_owned());
        }
        self.trace.iter().for_each(|trace| trace.note(None, text.clone()));
    }
}

/// One file at one place.
pub trait Sink: Send {
    /// The kinds of checksums to compute of the bytes written: for files on servers the kinds that
    /// the server, or the source of a copy, may have to compare with.
    fn checksums(&self) -> &'static [Algorithm] {
        &[Algorithm::Adler32, Algorithm::Crc32c]
    }

    /// Takes bytes for that place: behind all earlier ones or, at the end, over bytes that came
    /// with `is_replaced`. Returns when more can be taken, not when the bytes are safe.
    fn write(&mut self, offset: u64, bytes: Bytes, is_replaced: bool) -> BoxFuture<'_, Result<()>>;

    /// Waits until all bytes so far are safe: no crash of a machine can lose them, nor put later
    /// ones before them.
    fn sync(&mut self) -> BoxFuture<'_, Result<()>>;

    /// Makes all bytes safe, compares them where the place has checksums, and gives the file its
    /// name.
    fn finish(self: Box<Self>, content: Content) -> BoxFuture<'static, Result<Written>>;

    /// Leaves nothing of the file behind; of one that was there before, the state before.
    fn abandon(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// A file that is being written. Dropped without `finish` it is abandoned, with a note.
pub struct Upload {
    address: String,
    content: Content,
    /// Absent while a call is under way, after an error, and after a call that was given up.
    sink: Option<Box<dyn Sink>>,
    failed: Option<Error>,
    notes: UploadNotes,
    /// Cleared when the file has its name: an earlier open of it may have failed.
    failed_opens: Option<FailedOpens>,
}

impl Upload {
    /// Of an address without secrets, of whose file so many bytes are there already.
    pub fn new(address: String, sink: Box<dyn Sink>, before: u64) -> Self {
        let content = Content::behind(before, sink.checksums());
        let notes = UploadNotes::new(None);
        Upload { address, content, sink: Some(sink), failed: None, notes, failed_opens: None }
    }

    /// The file's address, without secrets.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Bytes of the file so far.
    pub fn len(&self) -> u64 {
        self.content.len()
    }

    /// Whether the file has no bytes so far.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The checksum of all bytes so far; `None` for an algorithm that is not computed during
    /// writes, and for a file that existed before.
    pub fn checksum(&self, algorithm: Algorithm) -> Option<Checksum> {
        self.content.checksum(algorithm)
    }

    /// Takes bytes for a place: behind all earlier ones or, at the end, over bytes that came with
    /// `is_replaced` or were there before. Returns when more can be taken, not when the bytes are
    /// safe.
    ///
    /// # Errors
    /// Why the file cannot be written: the first error, once there was one. `InvalidArgument` for
    /// another place.
    pub async fn write(&mut self, offset: u64, bytes: Bytes, is_replaced: bool) -> Result<()> {
        let mut sink = self.take()?;
        let taken = match self.content.add(offset, &bytes, is_replaced) {
            Ok(()) => sink.write(offset, bytes, is_replaced).await,
            Err(error) => Err(error),
        };
        self.go_on(sink, taken).await
    }

    /// Waits until all bytes so far are safe.
    ///
    /// # Errors
    /// As [`Upload::write`].
    pub async fn sync(&mut self) -> Result<()> {
        let mut sink = self.take()?;
        let synced = sink.sync().await;
        self.go_on(sink, synced).await
    }

    /// Makes all bytes safe and gives the file its name.
    ///
    /// # Errors
    /// As [`Upload::write`]; nothing of the file is then there.
    pub async fn finish(mut self) -> Result<Written> {
        let sink = self.take()?;
        let content = std::mem::take(&mut self.content);
        let written = sink.finish(content).await.map_err(|error| error.with_url(&*self.address));
        let mut written = written?;
        written.warnings.append(&mut self.notes.warnings.lock());
        self.failed_opens.iter().for_each(FailedOpens::forget);
        Ok(written)
    }

    /// Leaves nothing of the file behind.
    pub async fn abandon(mut self) {
        if let Some(sink) = self.sink.take() {
            sink.abandon().await;
        }
    }

    fn take(&mut self) -> Result<Box<dyn Sink>> {
        self.sink.take().ok_or_else(|| self.failed.clone().unwrap_or_else(|| self.given_up()))
    }

    /// Puts the sink back after a call that went well; a call that is given up never comes here.
    async fn go_on(&mut self, sink: Box<dyn Sink>, done: Result<()>) -> Result<()> {
        let Err(error) = done else {
            self.sink = Some(sink);
            return Ok(());
        };
        let error = error.with_url(&*self.address);
        self.failed = Some(error.clone());
        sink.abandon().await;
        Err(error)
    }

    fn given_up(&self) -> Error {
        Error::new(ErrorKind::Cancelled, "writing was given up").with_url(&*self.address)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if self.sink.is_some() {
            let address = &self.address;
            self.notes.add(format!("warning: {address} was not finished: nothing is kept of it"));
        }
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upload").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A name beside that of a file, under which it is written: `.NAME.CHANCE.part`.
fn random_name(url: &Address) -> String {
    let name = url.file_name().to_string_lossy().into_owned();
    let cut = name.char_indices().map(|(at, _)| at).find(|at| *at >= NAME_LEN_MAX);
    // A forked child has the keys of its parent.
    let chance = RandomState::new().hash_one((std::process::id(), &name));
    format!(".{}.{chance:016x}.part", &name[..cut.unwrap_or(name.len())])
}

#[cfg(test)]
mod tests;
