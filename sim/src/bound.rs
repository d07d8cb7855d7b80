//! Further connections of a session, on which the bytes of writes come (kXR_bind).
//!
//! The request of such a write comes on the session's own connection, and its bytes and its answer
//! travel on the other one. [`Cut`] takes these requests out of what a connection brings, as the
//! served side of the protocol does not know them.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use mutex::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use xrootd::header::{Handle, ResponseHeader, Status, StreamId};
use xrootd::message::bind::PathId;
use xrootd::message::{Bind, Message, Write, handshake};

use crate::xrootd_host::TakenFiles;

/// Bytes of a request's header.
const HEADER_BYTES: usize = 24;
/// Bytes that one read takes at the most.
const READ_BYTES: usize = 256 << 10;

/// What a connection brings, in its order.
pub(crate) enum Cut {
    /// For the served side of the protocol.
    Bytes(Bytes),
    /// The connection is to become a path of a session.
    Bind { stream: StreamId, session: u8 },
    /// The bytes of this write come on a path.
    Write { path: PathId, handle: Handle, write: PathWrite },
}

/// A write whose bytes come on a path.
#[derive(Debug)]
pub(crate) struct PathWrite {
    stream: StreamId,
    offset: u64,
    length: usize,
    /// The path of its file.
    pub file: String,
}

/// Finds where requests begin.
#[derive(Debug)]
pub(crate) struct Cutter {
    /// Bytes of the handshake or of a request that pass without being looked at.
    passing: usize,
    /// The beginning of a header.
    header: BytesMut,
}

impl Default for Cutter {
    fn default() -> Self {
        Cutter { passing: handshake::REQUEST.len(), header: BytesMut::new() }
    }
}

impl Cutter {
    pub(crate) fn cut(&mut self, mut bytes: Bytes) -> Vec<Cut> {
        let mut cuts = Vec::new();
        while bytes.has_remaining() {
            if self.passing > 0 {
                let passed = bytes.split_to(self.passing.min(bytes.len()));
                self.passing -= passed.len();
                cuts.push(Cut::Bytes(passed));
                continue;
            }
            let missing = HEADER_BYTES - self.header.len();
            self.header.extend_from_slice(&bytes.split_to(missing.min(bytes.len())));
            if self.header.len() == HEADER_BYTES {
                let header = self.header.split().freeze();
                cuts.push(self.take(header));
            }
        }
        cuts
    }

    fn take(&mut self, header: Bytes) -> Cut {
        let mut fields = header.clone();
        let stream = StreamId(fields.get_u16());
        let code = fields.get_u16();
        let parameters: [u8; 16] = std::array::from_fn(|at| header[4 + at]);
        fields.advance(16);
        let length = fields.get_u32() as usize;
        if code == Bind::CODE {
            return Cut::Bind { stream, session: parameters[0] };
        }
        if let (Write::CODE, Ok(write)) = (code, Write::decode(&parameters, &Bytes::new()))
            && write.path != PathId::OWN.0
        {
            let file = String::new();
            let on_path = PathWrite { stream, offset: write.offset, length, file };
            return Cut::Write { path: PathId(write.path), handle: write.handle, write: on_path };
        }
        self.passing = length;
        Cut::Bytes(header)
    }
}

/// The paths of all sessions of a server, by the session's number.
pub(crate) type Paths = Arc<Mutex<BTreeMap<u8, Vec<UnboundedSender<PathWrite>>>>>;

/// Announces a write to the path that brings its bytes.
pub(crate) fn expect(paths: &Paths, session: u8, path: PathId, write: PathWrite) {
    let paths = paths.lock();
    let at = usize::from(path.0).checked_sub(1);
    let place = at.and_then(|at| paths.get(&session)?.get(at));
    // A path that has ended takes its session with it.
    let _ = place.map(|place| place.send(write));
}

/// A path of a session: its number, and where its writes are announced.
pub(crate) struct NewPath {
    path: PathId,
    writes: UnboundedReceiver<PathWrite>,
}

/// Adds a path to a session.
pub(crate) fn add(paths: &Paths, session: u8) -> NewPath {
    let (sender, writes) = unbounded_channel();
    let mut paths = paths.lock();
    let of_session = paths.entry(session).or_default();
    of_session.push(sender);
    NewPath { path: PathId(of_session.len() as u8), writes }
}

/// Answers the bind, and takes the bytes of announced writes until the connection ends.
pub(crate) async fn carry(
    mut end: impl AsyncRead + AsyncWrite + Unpin,
    stream: StreamId,
    NewPath { path, mut writes }: NewPath,
    taken: TakenFiles,
) -> Option<()> {
    let body = Bind::encode_answer(&path);
    let length = body.len() as u32;
    let mut answer = ResponseHeader { stream, status: Status::Ok, length }.encode().to_vec();
    answer.extend(body);
    end.write_all(&answer).await.ok()?;
    let mut buffer = BytesMut::new();
    while let Some(write) = writes.recv().await {
        let mut at = write.offset as usize;
        let mut missing = write.length;
        while missing > 0 {
            if buffer.is_empty() {
                buffer.reserve(READ_BYTES);
                if end.read_buf(&mut buffer).await.ok()? == 0 {
                    return None;
                }
            }
            let come = buffer.split_to(missing.min(buffer.len()));
            put(&mut taken.lock(), &write.file, at, &come);
            at += come.len();
            missing -= come.len();
        }
        let answer = ResponseHeader { stream: write.stream, status: Status::Ok, length: 0 };
        end.write_all(&answer.encode()).await.ok()?;
    }
    Some(())
}

/// Puts bytes of a file in their place.
pub(crate) fn put(files: &mut BTreeMap<String, Vec<u8>>, path: &str, at: usize, bytes: &[u8]) {
    let file = files.entry(path.to_owned()).or_default();
    let end = at + bytes.len();
    file.resize(file.len().max(end), 0);
    file[at..end].copy_from_slice(bytes);
}
