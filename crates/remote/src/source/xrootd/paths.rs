//! Further connections of one session, which carry the bytes of an upload beside its own.
//!
//! Each is a task: it binds its connection to the session, writes the bytes that it is given, and
//! passes on the answers. A server that takes no further connections costs the upload nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use xrootd::client::{BindStep, Binding, Client};
use xrootd::message::bind::PathId;
use xrootd::message::login::SessionId;

use super::XrootdServer;
use crate::error::{Error, ErrorKind, Result};
use crate::source::network::Stream;
use crate::source::tls;

/// Bytes of answers that one read takes.
const READ_BYTES: usize = 4 << 10;

/// Tells the session of one of its paths.
pub enum PathEvent {
    /// It takes bytes from now on.
    Bound {
        path: PathId,
        outgoing: UnboundedSender<Bytes>,
    },
    /// There will be none.
    Refused,
    Bytes {
        path: PathId,
        bytes: Bytes,
    },
    Ended {
        path: PathId,
    },
}

/// The paths of one session.
pub struct Paths {
    server: Arc<XrootdServer>,
    /// Those that are neither up nor refused yet.
    expected: usize,
    bound: BTreeMap<PathId, UnboundedSender<Bytes>>,
    events: UnboundedReceiver<PathEvent>,
    sender: UnboundedSender<PathEvent>,
}

impl Paths {
    pub fn new(server: Arc<XrootdServer>) -> Self {
        let (sender, events) = unbounded_channel();
        Paths { server, expected: 0, bound: BTreeMap::new(), events, sender }
    }

    /// Makes so many connections for a session.
    pub fn add(&mut self, count: usize, session: SessionId, encrypted: bool) {
        self.expected += count;
        for _ in 0..count {
            tokio::spawn(carry(self.server.clone(), session, encrypted, self.sender.clone()));
        }
    }

    /// Whether each path is up or refused.
    pub fn are_settled(&self) -> bool {
        self.expected == 0
    }

    /// Those that are up.
    pub fn count(&self) -> usize {
        self.bound.len()
    }

    /// Passes on the bytes that the client has for its paths.
    pub fn send_from(&self, client: &mut Client) {
        for (path, outgoing) in &self.bound {
            while let Some(bytes) = client.poll_path(*path) {
                // The end of a path comes as an event of its own.
                let _ = outgoing.send(bytes);
            }
        }
    }

    /// The next event. Nothing is lost where this is given up.
    pub async fn next(&mut self) -> PathEvent {
        match self.events.recv().await {
            Some(event) => event,
            // There is always a sender: this one's own.
            None => std::future::pending().await,
        }
    }

    pub fn take(&mut self, event: PathEvent, client: &mut Client, now: Duration) {
        match event {
            PathEvent::Bound { path, outgoing } => {
                self.expected -= 1;
                self.bound.insert(path, outgoing);
                client.add_path(path);
            }
            PathEvent::Refused => self.expected -= 1,
            PathEvent::Bytes { path, bytes } => {
                // A broken protocol comes once more as the session's last event.
                let _ = client.handle_path_bytes(now, path, bytes);
            }
            PathEvent::Ended { path } => {
                self.bound.remove(&path);
                client.handle_path_eof(now, path);
            }
        }
    }
}

/// One path, from its connection to its end.
async fn carry(
    server: Arc<XrootdServer>,
    session: SessionId,
    encrypted: bool,
    events: UnboundedSender<PathEvent>,
) {
    let Ok(BoundPath { path, stream, rest }) = server.bind(session, encrypted).await else {
        let _ = events.send(PathEvent::Refused);
        return;
    };
    let (outgoing, pieces) = unbounded_channel();
    let _ = events.send(PathEvent::Bound { path, outgoing });
    let _ = events.send(PathEvent::Bytes { path, bytes: rest });
    let (reader, writer) = tokio::io::split(stream);
    tokio::select! {
        () = write_all(writer, pieces) => {}
        () = read_all(reader, path, &events) => {}
    }
    let _ = events.send(PathEvent::Ended { path });
}

/// Writes the pieces, to the end of the session or of the connection.
async fn write_all(mut writer: WriteHalf<Box<dyn Stream>>, mut pieces: UnboundedReceiver<Bytes>) {
    while let Some(piece) = pieces.recv().await {
        if writer.write_all(&piece).await.is_err() {
            return;
        }
    }
}

async fn read_all(
    mut reader: ReadHalf<Box<dyn Stream>>,
    path: PathId,
    events: &UnboundedSender<PathEvent>,
) {
    let mut incoming = BytesMut::new();
    loop {
        incoming.reserve(READ_BYTES);
        match reader.read_buf(&mut incoming).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let bytes = incoming.split().freeze();
                if events.send(PathEvent::Bytes { path, bytes }).is_err() {
                    return;
                }
            }
        }
    }
}

/// A connection that has become a path.
struct BoundPath {
    path: PathId,
    stream: Box<dyn Stream>,
    /// Bytes that came behind the server's consent.
    rest: Bytes,
}

impl XrootdServer {
    /// Connects once more, and binds the connection to a session.
    async fn bind(&self, session: SessionId, encrypted: bool) -> Result<BoundPath> {
        let mut stream = self.connect().await?;
        let mut binding = Binding::new(session, encrypted);
        let mut incoming = BytesMut::new();
        loop {
            while let Some(bytes) = binding.poll_transmit() {
                stream.write_all(&bytes).await.map_err(|error| self.broken(&error))?;
            }
            let read = stream.read_buf(&mut incoming).await;
            if read.map_err(|error| self.broken(&error))? == 0 {
                let text = "the server has closed a further connection";
                return Err(Error::new(ErrorKind::Connection, text));
            }
            let step = binding
                .handle_bytes(incoming.split().freeze())
                .map_err(|error| Error::new(ErrorKind::Connection, error.to_string()))?;
            match step {
                None => {}
                Some(BindStep::Bound { path, rest }) => {
                    return Ok(BoundPath { path, stream, rest });
                }
                Some(BindStep::StartTls { rest }) => {
                    let config = self.tls_config().await?;
                    let begun = tls::TlsSession::new(&self.host, &config, &[])?;
                    stream = Box::new(begun.over(stream, &rest));
                }
            }
        }
    }
}
