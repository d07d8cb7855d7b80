//! The events of a client, and the names that they use.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;

use crate::auth::Method;
use crate::error::{RequestError, SessionError};
use crate::message::dirlist::Entry;
use crate::message::handshake::ServerKind;
use crate::message::locate::Location;
use crate::message::login::SessionId;
use crate::message::protocol::ServerFlags;
use crate::message::stat::StatInfo;
use crate::response::Redirect;

/// The client's own name for an open file, from the moment the open is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// The client's own name for a request. Never used twice in a client's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// A server's description of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerInfo {
    /// The protocol version, as in `0x511` for 5.1.1.
    pub version: u32,
    pub flags: ServerFlags,
    pub kind: ServerKind,
    pub session: SessionId,
}

/// Events of a session. Every request ends with exactly one of `Opened`, `Done`, `Answer`, `Failed`
/// and `Redirected`, unless it is cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// From here on everything in both directions is inside TLS: the caller begins TLS, whose
    /// contents are the bytes that [`Client::poll_transmit`](super::Client::poll_transmit) gives
    /// from now on.
    StartTls {
        /// Bytes received behind the server's consent, which belong to TLS.
        rest: Bytes,
    },
    /// An offer of the server (or a remembered one) can be answered with a credential of this
    /// method: [`Client::provide`](super::Client::provide) it, or say why there is none by
    /// [`Client::lack`](super::Client::lack).
    CredentialWanted {
        method: Method,
        /// The text behind the method's name in the server's offer.
        arguments: String,
    },
    /// Logged in, and authenticated where that was wanted.
    SessionUp {
        server: ServerInfo,
    },
    /// The file is open.
    Opened {
        request: RequestId,
        file: FileId,
        stat: Option<StatInfo>,
    },
    /// Some bytes of a read or vector read. They lie within the requested ranges, and no byte is
    /// delivered twice.
    Data {
        request: RequestId,
        file: FileId,
        /// Where in the file.
        offset: u64,
        bytes: Bytes,
    },
    /// Some received bytes of a checksummed read do not have their checksums. They are not passed
    /// on, and this request brings no others.
    Damaged {
        request: RequestId,
        file: FileId,
        /// Where in the file.
        range: Range<u64>,
    },
    /// A read or vector read is complete. Fewer bytes than asked for mean the end of the file.
    Done {
        request: RequestId,
    },
    /// The answer to anything else.
    Answer {
        request: RequestId,
        answer: Answer,
    },
    Failed {
        request: RequestId,
        error: RequestError,
    },
    /// The request is to be asked elsewhere; reads of a file whose open was sent elsewhere, too.
    Redirected {
        request: RequestId,
        target: Redirect,
    },
    /// The server sends a wait. The client asks again by itself, or waits for the answer;
    /// nothing needs to be done.
    Wait {
        request: RequestId,
        time: Duration,
        why: String,
    },
    /// The server has something to say to people.
    Notice {
        text: String,
    },
    /// The session has ended, and all its requests have failed. Later requests fail at once.
    SessionFailed {
        error: SessionError,
        retry: HowToRetry,
    },
}

/// The answer to a request that does not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Stat(StatInfo),
    /// Of a query.
    Text(String),
    /// Of a query for configuration values, by key; none where the server does not know the key.
    Config(Vec<(String, Option<String>)>),
    Entries(Vec<Entry>),
    Locations(Vec<Location>),
    Pong,
    /// A file, or a path, is changed as was asked.
    Changed,
    Closed,
    SessionEnded,
}

/// Attempts that may help after a session has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowToRetry {
    /// A new connection, as before.
    Again,
    /// A new connection, begun with [`crate::profile::Start::Careful`].
    Careful,
    /// A new connection, but not before this time has passed.
    After(Duration),
    /// Nothing, here.
    No,
}
