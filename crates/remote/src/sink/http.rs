//! Files on servers of HTTP, which take a file only as a whole.
//!
//! What is written is kept, in memory or beyond that in a temporary file, and put under a name
//! beside its own, which it gets when its checksum has been compared. A part of a file is never
//! put: servers are known that then replace the file by the part.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::task::spawn_blocking;

use super::{Content, CreateOptions, Sink, Written, random_name};
use crate::address::Address;
use crate::checksum::Algorithm;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::source::http::body::UploadBytes;
use crate::source::http::put::HttpChanger;
use crate::source::network::Network;
use crate::source::one_shot;

/// Bytes that are kept in memory; of a longer file all are kept on a disk.
const MEMORY_BYTES_MAX: usize = 16 << 20;
/// Maximum bytes gathered for one write to the disk: a basket may have only a few hundred.
const RUN_BYTES: usize = 1 << 20;

/// A file that is being written.
pub struct HttpFile {
    url: Address,
    options: CreateOptions,
    config: Config,
    network: Arc<dyn Network>,
    notes: Arc<dyn Fn(String) + Send + Sync>,
    /// All bytes or, with `disk`, the last ones; and the offset of the first byte in memory.
    memory: Vec<u8>,
    memory_at: u64,
    disk: Option<Arc<File>>,
}

impl HttpFile {
    /// Begins a file.
    ///
    /// # Errors
    /// `InvalidArgument` where it is there and may not be replaced; why that cannot be asked.
    pub async fn create(
        url: &Address,
        options: CreateOptions,
        config: &Config,
        network: Arc<dyn Network>,
        notes: Arc<dyn Fn(String) + Send + Sync>,
    ) -> Result<Self> {
        let (url, config) = (url.clone(), config.clone());
        let changer = HttpChanger::new(&config, network.clone());
        if !options.overwrite && changer.is_there(&url).await? {
            let error = Error::new(ErrorKind::InvalidArgument, "the target is there already");
            return Err(error.with_advice_for("-f replaces it", "overwrite=True replaces it"));
        }
        let (memory, memory_at, disk) = (Vec::new(), 0, None);
        Ok(HttpFile { url, options, config, network, notes, memory, memory_at, disk })
    }

    async fn keep(&mut self, offset: u64, bytes: Bytes) -> Result<()> {
        let most = if self.disk.is_some() { RUN_BYTES } else { MEMORY_BYTES_MAX };
        // `Content` has checked that the bytes follow earlier ones or replace some of them.
        if let Some(at) = offset.checked_sub(self.memory_at) {
            let (at, end) = (at as usize, at as usize + bytes.len());
            if end <= most.max(self.memory.len()) {
                self.memory.resize(self.memory.len().max(end), 0);
                self.memory[at..end].copy_from_slice(&bytes);
                return Ok(());
            }
        }
        let disk = self.spill().await?;
        self.memory_at = self.memory_at.max(offset + bytes.len() as u64);
        on_disk(disk, offset, bytes).await
    }

    /// Moves the bytes in memory to the file on disk, which it returns.
    async fn spill(&mut self) -> Result<Arc<File>> {
        let disk = match &self.disk {
            Some(disk) => disk.clone(),
            None => Arc::new(tempfile::tempfile().map_err(|error| Error::from_io(&error))?),
        };
        self.disk = Some(disk.clone());
        let memory = Bytes::from(std::mem::take(&mut self.memory));
        let at = self.memory_at;
        self.memory_at += memory.len() as u64;
        on_disk(disk.clone(), at, memory).await?;
        Ok(disk)
    }

    async fn send(mut self, content: Content) -> Result<Written> {
        let spooled = match self.disk {
            Some(_) => UploadBytes::Disk(self.spill().await?, content.len()),
            None => UploadBytes::Memory(std::mem::take(&mut self.memory).into()),
        };
        let changer = HttpChanger::new(&self.config, self.network.clone());
        let part = match self.options.in_place {
            true => self.url.clone(),
            false => self.url.beside(&random_name(&self.url))?,
        };
        let put = async {
            changer.put(&part, &spooled).await?;
            self.compare(&part, &content).await
        };
        let mut outcome = put.await;
        if outcome.is_ok() && !self.options.in_place {
            outcome = match changer.rename(&part, &self.url, self.options.overwrite).await {
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    let text = "renames no files: it was written under its final name at once";
                    (self.notes)(format!("warning: the server of {} {text}", self.url));
                    let _ = changer.remove(&part).await;
                    changer.put(&self.url, &spooled).await?;
                    return self.written(&content, self.compare(&self.url, &content).await);
                }
                outcome => outcome,
            };
        }
        if outcome.is_err() {
            let _ = changer.remove(&part).await;
        }
        self.written(&content, outcome)
    }

    fn written(&self, content: &Content, outcome: Result<()>) -> Result<Written> {
        outcome?;
        let checksum = content.checksum(Algorithm::Adler32);
        Ok(Written { address: self.url.to_string(), size: content.len(), checksum })
    }

    /// Compares what the server has with what was sent.
    async fn compare(&self, url: &Address, content: &Content) -> Result<()> {
        let kind = Algorithm::Adler32;
        let Some(ours) = content.checksum(kind) else { return Ok(()) };
        match one_shot::checksum(url, Some(kind), &self.config, self.network.clone()).await {
            Ok(theirs) if theirs != ours => {
                let text = format!("the server has {theirs}, and {ours} was sent");
                let advice = "write it again; if it happens again, tell the site";
                Err(Error::new(ErrorKind::Corrupt, text).with_advice(advice))
            }
            Ok(_) => Ok(()),
            Err(_) => {
                (self.notes)(format!("{} gives no checksum to compare with", self.url));
                Ok(())
            }
        }
    }
}

/// Writes on a thread that may wait for the disk.
async fn on_disk(disk: Arc<File>, offset: u64, bytes: Bytes) -> Result<()> {
    let write = spawn_blocking(move || disk.write_all_at(&bytes, offset));
    let written = write.await.unwrap_or_else(|error| Err(io::Error::other(error)));
    written.map_err(|error| {
        Error::new(ErrorKind::Io, format!("the file that is kept until it is sent: {error}"))
            .with_advice("make room on the disk that TMPDIR names")
    })
}

impl Sink for HttpFile {
    fn write(&mut self, offset: u64, bytes: Bytes, _: bool) -> BoxFuture<'_, Result<()>> {
        self.keep(offset, bytes).boxed()
    }

    /// Nothing is safe before all is there.
    fn sync(&mut self) -> BoxFuture<'_, Result<()>> {
        futures::future::ready(Ok(())).boxed()
    }

    fn finish(self: Box<Self>, content: Content) -> BoxFuture<'static, Result<Written>> {
        self.send(content).boxed()
    }

    fn abandon(self: Box<Self>) -> BoxFuture<'static, ()> {
        futures::future::ready(()).boxed()
    }
}
