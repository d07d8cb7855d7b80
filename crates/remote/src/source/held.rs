//! Files elsewhere of which this machine holds parts, read as from any other server.
//!
//! Each request is read on a blocking thread of the runtime, so that virtual time stands still
//! meanwhile.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use mutex::Mutex;

use super::buffers::Buffers;
use super::{
    BothEnds, Command, ConnectionEvent, DriverLink, FileRef, RequestTag, Server, ServerTraits,
    cannot_list, cannot_locate, no_checksum, no_clock,
};
use crate::error::{Error, ErrorKind};

/// The name of this server in reports.
pub const CACHE: &str = "cache";

/// Bytes of a request at the most: a thread is busy with it for some milliseconds.
const REQUEST_BYTES_MAX: u64 = 8 << 20;

/// Cached bytes of one file.
pub trait HeldBytes: Send + Sync + std::fmt::Debug {
    /// Hands on the cached bytes of `ranges`, in any order, in pieces.
    ///
    /// # Errors
    /// An error of the disk, or a record that differs from the written one.
    fn read(
        &self,
        ranges: &[Range<u64>],
        buffers: &Arc<Buffers>,
        take: &mut dyn FnMut(u64, Bytes),
    ) -> io::Result<()>;
}

/// The server of all cached bytes.
#[derive(Debug, Default)]
pub struct HeldServer {
    /// By the driver's tag for the file.
    files: Mutex<BTreeMap<u32, Arc<dyn HeldBytes>>>,
    buffers: Arc<Buffers>,
}

impl HeldServer {
    /// The cached bytes of a file can be read under this tag.
    pub(crate) fn enter(&self, tag: u32, held: Arc<dyn HeldBytes>) {
        self.files.lock().insert(tag, held);
    }

    /// It is not read any more.
    pub(crate) fn leave(&self, tag: u32) {
        self.files.lock().remove(&tag);
    }

    async fn converse(self: Arc<Self>, mut link: DriverLink) {
        link.send(ConnectionEvent::Connected);
        while let Some(command) = link.commands.recv().await {
            match command {
                Command::Fetch { request, file, segments } => {
                    link.send(ConnectionEvent::Sent { request });
                    link.send(self.fetch(&link, request, &file, segments).await);
                }
                Command::Open { request, file, .. } => {
                    link.send(ConnectionEvent::Failed { request, error: not_held(&file) });
                }
                Command::Close { file } => self.leave(file.tag),
                Command::List { request, directory, .. } => {
                    link.send(cannot_list(request, &directory))
                }
                Command::Checksum { request, file, .. } => link.send(no_checksum(request, &file)),
                Command::Locate { request, file } => link.send(cannot_locate(request, &file)),
                Command::Clock { request, file } => link.send(no_clock(request, &file)),
                // A request is read before the next command is taken.
                Command::Cancel { .. } => {}
            }
        }
        link.send(ConnectionEvent::Disconnected { error: None });
    }

    /// Reads the requested ranges, and returns the event that ends the request. A record that
    /// differs from the written one fails the request, and the driver asks the file's own servers.
    async fn fetch(
        &self,
        link: &DriverLink,
        request: RequestTag,
        file: &FileRef,
        segments: Vec<Range<u64>>,
    ) -> ConnectionEvent {
        let Some(held) = self.files.lock().get(&file.tag).cloned() else {
            return ConnectionEvent::Failed { request, error: not_held(file) };
        };
        let buffers = self.buffers.clone();
        let events = link.events.clone();
        let connection = link.connection;
        let read = tokio::task::spawn_blocking(move || {
            held.read(&segments, &buffers, &mut |offset, bytes| {
                let _ = events.send((connection, ConnectionEvent::Data { request, offset, bytes }));
            })
        });
        match read.await {
            Ok(Ok(())) => ConnectionEvent::Done { request },
            Ok(Err(error)) => {
                let error = Error::new(ErrorKind::Corrupt, format!("the cache: {error}"));
                ConnectionEvent::Failed { request, error }
            }
            Err(_) => ConnectionEvent::Failed { request, error: not_held(file) },
        }
    }
}

fn not_held(file: &FileRef) -> Error {
    Error::new(ErrorKind::NotFound, "nothing of it is held").with_url(file.url.to_string())
}

impl Server for HeldServer {
    fn name(&self) -> &str {
        CACHE
    }

    fn traits(&self) -> ServerTraits {
        ServerTraits {
            segments_max: 4096,
            segment_bytes_max: REQUEST_BYTES_MAX,
            request_bytes_max: REQUEST_BYTES_MAX,
            pipelined: true,
            suffix: false,
            both_ends: BothEnds::Never,
            // Gaps between cached ranges may be empty: none is to be read along.
            request_overhead: Duration::ZERO,
            local: true,
            connections_max: Some(4),
            checksums: false,
            one_range: false,
            selects: false,
        }
    }

    fn run(self: Arc<Self>, link: DriverLink) -> BoxFuture<'static, ()> {
        Box::pin(self.converse(link))
    }
}
