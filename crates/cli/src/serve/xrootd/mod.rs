//! Files over XRootD: drives one served connection of the protocol crate over a byte stream.
//!
//! Requests are taken up in the order in which they come, so that a read may name the handle of an
//! open that is still under way. Reads are then served side by side, a part at a time, and
//! answered in the order in which they are done.

mod answer;
mod read;

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::JoinSet;
use xrootd::error::ErrorCode;
use xrootd::header::Handle;
use xrootd::message::Request;
use xrootd::message::login::SessionId;
use xrootd::message::protocol::ServerFlags;
use xrootd::server::{Served, Server, ServerConfig, Tag};

use self::answer::Outcome;
use self::read::Job;
use super::files::{Export, Opened};

/// Requests of one connection that are taken before earlier ones are answered.
const REQUESTS_MAX: usize = 256;
/// Files that one connection may hold open.
const FILES_MAX: usize = 1000;
/// Parts of answers that are read at the same time for one connection.
const STEPS_MAX: usize = 2;
/// Bytes of answers that wait to be sent before no further part is read.
const UNSENT_BYTES_MAX: usize = 1 << 20;
const RECEIVE_BYTES: usize = 64 << 10;

/// Serves one connection until it ends. `address` is where clients find this server.
pub async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    export: Export,
    address: SocketAddr,
) {
    // How a connection ended concerns its client only, which knows.
    let _ = Connection::new(export, address).run(stream).await;
}

/// No two of this process are the same.
fn new_session() -> SessionId {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut id = [0; 16];
    id[..8].copy_from_slice(&COUNT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    id[8..12].copy_from_slice(&std::process::id().to_be_bytes());
    SessionId(id)
}

struct Connection {
    server: Server,
    started: Instant,
    export: Export,
    address: SocketAddr,
    /// By handle; the lowest free place is taken first, as clients may guess.
    files: Vec<Option<Opened>>,
    /// Requests behind an open that is under way.
    queue: VecDeque<(Tag, Request)>,
    opening: bool,
    /// Reads that wait for their turn.
    jobs: VecDeque<Job>,
    steps: usize,
    work: JoinSet<Outcome>,
    unsent: VecDeque<Bytes>,
}

impl Connection {
    fn new(export: Export, address: SocketAddr) -> Self {
        let mut config = ServerConfig::data_server(new_session());
        config.flags = config.flags | ServerFlags::CHECKSUMMED_PAGES;
        Connection {
            server: Server::new(config),
            started: Instant::now(),
            export,
            address,
            files: Vec::new(),
            queue: VecDeque::new(),
            opening: false,
            jobs: VecDeque::new(),
            steps: 0,
            work: JoinSet::new(),
            unsent: VecDeque::new(),
        }
    }

    async fn run(mut self, stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
        let (mut source, mut sink) = tokio::io::split(stream);
        let mut received = BytesMut::new();
        loop {
            self.advance();
            received.reserve(RECEIVE_BYTES);
            let may_take = self.queue.len() + self.jobs.len() + self.steps < REQUESTS_MAX;
            let slices = first_slices(&self.unsent);
            let gone = tokio::select! {
                written = sink.write_vectored(&slices), if !self.unsent.is_empty() => {
                    sent(&mut self.unsent, written?)
                }
                count = source.read_buf(&mut received), if may_take => {
                    count? == 0 || {
                        let now = self.started.elapsed();
                        let bytes = received.split().freeze();
                        self.server.handle_bytes(now, bytes).is_err()
                    }
                }
                Some(outcome) = self.work.join_next(), if !self.work.is_empty() => {
                    self.finish(outcome.map_err(io::Error::other)?);
                    false
                }
            };
            if gone {
                return Ok(());
            }
        }
    }

    /// Does all that can be done without waiting.
    fn advance(&mut self) {
        while let Some(served) = self.server.poll_event() {
            if let Served::Request { tag, request } = served {
                self.queue.push_back((tag, request));
            }
        }
        while !self.opening
            && let Some((tag, request)) = self.queue.pop_front()
        {
            self.take_up(tag, request);
        }
        self.collect();
        while self.steps < STEPS_MAX
            && self.unsent.iter().map(Bytes::len).sum::<usize>() < UNSENT_BYTES_MAX
            && let Some(job) = self.jobs.pop_front()
        {
            self.steps += 1;
            self.work.spawn_blocking(|| Outcome::Read(job.step()));
        }
    }

    /// Moves what is to be sent out of the protocol's hands.
    fn collect(&mut self) {
        while let Some(bytes) = self.server.poll_transmit() {
            self.unsent.push_back(bytes);
        }
    }

    fn file(&self, handle: Handle) -> Option<&Opened> {
        self.files.get(slot_of(handle))?.as_ref()
    }

    /// Gives a file the lowest free handle.
    fn hold(&mut self, file: Opened) -> Option<Handle> {
        let slot = match self.files.iter().position(Option::is_none) {
            Some(slot) => slot,
            None if self.files.len() < FILES_MAX => {
                self.files.push(None);
                self.files.len() - 1
            }
            None => return None,
        };
        self.files[slot] = Some(file);
        Some(Handle::from_slot(u32::try_from(slot).ok()?))
    }

    fn release(&mut self, handle: Handle) -> bool {
        self.files.get_mut(slot_of(handle)).is_some_and(|slot| slot.take().is_some())
    }

    fn not_open(&mut self, tag: Tag) {
        self.server.answer_error(tag, ErrorCode::FILE_NOT_OPEN, "no such file is open here");
    }
}

/// The inverse of [`Handle::from_slot`].
fn slot_of(handle: Handle) -> usize {
    u32::from_le_bytes(handle.0) as usize
}

/// The beginning of what is to be sent, for one system call.
fn first_slices(unsent: &VecDeque<Bytes>) -> Vec<IoSlice<'_>> {
    unsent.iter().take(16).map(|bytes| IoSlice::new(bytes)).collect()
}

/// Takes off what has been sent; whether the client takes no more.
fn sent(unsent: &mut VecDeque<Bytes>, mut count: usize) -> bool {
    let gone = count == 0;
    while let Some(front) = unsent.front_mut() {
        let part = count.min(front.len());
        front.advance(part);
        count -= part;
        if !front.is_empty() {
            break;
        }
        unsent.pop_front();
    }
    gone
}
