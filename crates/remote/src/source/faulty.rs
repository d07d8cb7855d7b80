//! A server that goes wrong as it is told to: for tests of what stands before it.
//!
//! What goes wrong is counted, not drawn, so that every run is the same.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{Command, ConnectionTag, Link, Notice, Part, RequestTag, Server, ServerTraits};
use crate::error::{Error, ErrorKind};

/// What goes wrong. Requests and pieces of data are counted from 1 over all connections; every
/// n-th is struck.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// Each notice comes this much after the one before.
    pub delay: Duration,
    /// Every n-th request fails in a way that trying again may mend.
    pub fail_every: Option<u64>,
    /// Every n-th request is answered by the first half of its bytes, as though the file ended.
    pub truncate_every: Option<u64>,
    /// In every n-th piece of data one bit is wrong.
    pub corrupt_every: Option<u64>,
    /// A connection breaks once it has delivered so many bytes.
    pub cut_after_bytes: Option<u64>,
}

/// A server with faults before another one.
pub struct Faulty {
    inner: Arc<dyn Server>,
    faults: Faults,
    requests: AtomicU64,
    pieces: AtomicU64,
}

impl Faulty {
    pub fn new(inner: Arc<dyn Server>, faults: Faults) -> Self {
        Faulty { inner, faults, requests: AtomicU64::new(0), pieces: AtomicU64::new(0) }
    }
}

impl Server for Faulty {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn traits(&self) -> ServerTraits {
        self.inner.traits()
    }

    fn run(self: Arc<Self>, link: Link) -> BoxFuture<'static, ()> {
        let Link { connection, commands, notices } = link;
        let (inner_commands, receiver) = unbounded_channel();
        let (sender, inner_notices) = unbounded_channel();
        let inner = Link { connection, commands: receiver, notices: sender };
        let inner = self.inner.clone().run(inner);
        let relay = Relay {
            server: self,
            connection,
            notices,
            inner: inner_commands,
            left: BTreeMap::new(),
            delivered: 0,
        };
        Box::pin(async move {
            // A connection that is cut sees its commands end with the relay.
            futures::join!(inner, relay.run(commands, inner_notices));
        })
    }
}

/// Which n-th ones are struck.
fn strikes(every: Option<u64>, count: u64) -> bool {
    every.is_some_and(|every| count.is_multiple_of(every))
}

/// One connection, between the driver and the real one.
struct Relay {
    server: Arc<Faulty>,
    connection: ConnectionTag,
    notices: UnboundedSender<(ConnectionTag, Notice)>,
    inner: UnboundedSender<Command>,
    /// Bytes that requests which are cut short may still deliver.
    left: BTreeMap<RequestTag, u64>,
    delivered: u64,
}

impl Relay {
    async fn run(
        mut self,
        mut commands: UnboundedReceiver<Command>,
        mut inner: UnboundedReceiver<(ConnectionTag, Notice)>,
    ) {
        loop {
            tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => self.pass_command(command),
                    None => break,
                },
                notice = inner.recv() => {
                    let Some((_, notice)) = notice else { break };
                    tokio::time::sleep(self.server.faults.delay).await;
                    let last = matches!(notice, Notice::Disconnected { .. });
                    let cut = !self.pass_notice(notice);
                    if cut {
                        let text = "the connection was cut for the test";
                        let error = Some(Error::new(ErrorKind::Connection, text));
                        self.tell(Notice::Disconnected { error });
                    }
                    if cut || last {
                        return;
                    }
                }
            }
        }
        // The driver has left: the real connection ends, and says the last word.
        let Relay { inner: real, notices, connection, .. } = self;
        drop(real);
        while let Some((_, notice)) = inner.recv().await {
            let _ = notices.send((connection, notice));
        }
    }

    fn tell(&self, notice: Notice) {
        let _ = self.notices.send((self.connection, notice));
    }

    fn pass_command(&mut self, command: Command) {
        let (request, bytes) = match &command {
            Command::Open { request, part: Part::Head(bytes) | Part::Tail(bytes), .. } => {
                (*request, *bytes)
            }
            Command::Fetch { request, segments, .. } => {
                (*request, segments.iter().map(|range| range.end - range.start).sum())
            }
            Command::Cancel { .. }
            | Command::Close { .. }
            | Command::List { .. }
            | Command::Checksum { .. }
            | Command::Locate { .. } => {
                let _ = self.inner.send(command);
                return;
            }
        };
        let count = self.server.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let faults = self.server.faults;
        if strikes(faults.fail_every, count) {
            let error = Error::new(ErrorKind::Io, "failed for the test").retryable(true);
            self.tell(Notice::Failed { request, error });
            return;
        }
        if strikes(faults.truncate_every, count) {
            self.left.insert(request, bytes / 2);
        }
        let _ = self.inner.send(command);
    }

    /// False where the connection breaks instead.
    fn pass_notice(&mut self, notice: Notice) -> bool {
        let Notice::Data { request, offset, mut bytes } = notice else {
            self.tell(notice);
            return true;
        };
        if let Some(left) = self.left.get_mut(&request) {
            bytes.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= bytes.len() as u64;
            if bytes.is_empty() {
                return true;
            }
        }
        let faults = self.server.faults;
        self.delivered += bytes.len() as u64;
        if faults.cut_after_bytes.is_some_and(|limit| self.delivered > limit) {
            return false;
        }
        let count = self.server.pieces.fetch_add(1, Ordering::Relaxed) + 1;
        if strikes(faults.corrupt_every, count) {
            let mut copy = bytes.to_vec();
            copy[0] ^= 1;
            bytes = Bytes::from(copy);
        }
        self.tell(Notice::Data { request, offset, bytes });
        true
    }
}
