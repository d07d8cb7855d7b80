//! Inputs and outputs besides plain calls: urgency and failures in, actions and events out.

use std::ops::Range;

use crate::ids::{ConnectionId, FileId, RequestId, ServerId, SourceId, Time, WantId};
use crate::sources::SourceState;

/// How much a want matters. Every demand goes before every hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Urgency {
    /// A reader waits.
    Demand,
    /// A reader will wait.
    Hint,
}

/// One end of a file, as an open asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileEnd {
    /// The first bytes, this many.
    Head(u64),
    /// The last bytes, this many, without knowing the size.
    Tail(u64),
    /// Both, in one answer.
    Both { head: u64, tail: u64 },
}

impl FileEnd {
    /// Its bytes of a file of this size: ascending, disjoint.
    #[must_use]
    pub fn ranges(self, size: u64) -> Vec<Range<u64>> {
        let last = |tail: u64| size.saturating_sub(tail)..size;
        match self {
            FileEnd::Head(head) => vec![0..head.min(size)],
            FileEnd::Tail(tail) => vec![last(tail)],
            FileEnd::Both { head, tail } if head >= last(tail).start => vec![0..size],
            FileEnd::Both { head, tail } => vec![0..head, last(tail)],
        }
    }

    /// Bytes, as far as the file is long enough.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            FileEnd::Head(bytes) | FileEnd::Tail(bytes) => bytes,
            FileEnd::Both { head, tail } => head.saturating_add(tail),
        }
    }
}

/// The bytes of a file that an open asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenEnds {
    /// The first ones, this many.
    pub head: u64,
    /// The last ones.
    pub tail: u64,
    /// The last ones are not worth a request: they come in one answer with the first, or not.
    pub in_one: bool,
}

/// How a request or a connection went wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failure {
    /// Trying the same again later can help (a time-out, a reset, an overloaded server), other
    /// than where the answer was a plain no (not found, not allowed).
    pub retryable: bool,
    /// The pause that the server has asked for.
    pub after: Option<Time>,
    /// The server has too many requests already: with fewer at a time it may serve them all.
    pub busy: bool,
}

impl Failure {
    /// Trying again can help.
    pub const LATER: Failure = Failure { retryable: true, after: None, busy: false };
    /// It cannot.
    pub const NEVER: Failure = Failure { retryable: false, after: None, busy: false };
}

/// Something the caller must do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Start a connection. Actions for it may follow at once: they are meant to leave with the
    /// handshake where the protocol allows.
    Connect { connection: ConnectionId, server: ServerId },
    /// Find the file, report its size by [`handle_opened`](crate::Scheduler::handle_opened), and
    /// deliver one end of it.
    Open {
        request: RequestId,
        connection: ConnectionId,
        source: SourceId,
        file: FileId,
        part: FileEnd,
        /// Only to see whether the source has the same file: its bytes are dropped.
        joins: bool,
    },
    /// Deliver these ranges: ascending, disjoint, not empty. One is a plain read, several are one
    /// vectored read.
    Fetch {
        request: RequestId,
        connection: ConnectionId,
        source: SourceId,
        file: FileId,
        segments: Vec<Range<u64>>,
        /// The same bytes are under way elsewhere, too, and late there.
        hedge: bool,
    },
    /// No want covers this request any more. It still ends by `handle_done` or `handle_failed`
    /// (or with its connection); data that arrives until then is answered by
    /// [`Event::Forget`] unless a new want covers it.
    Cancel { request: RequestId, connection: ConnectionId },
    /// Close this connection. No `handle_disconnected` is needed for it; one does no harm.
    Disconnect { connection: ConnectionId },
}

/// Something the caller may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The size is known and every part of the open has been delivered or given up.
    Opened { file: FileId, size: u64 },
    /// The file cannot be opened at any source.
    OpenFailed { file: FileId, why: WantFailure },
    /// The last byte of a want has arrived.
    Ready { want: WantId },
    /// A want will not become ready. It is gone: its memory is given back, no release is due.
    Failed { want: WantId, why: WantFailure },
    /// One of several sources has changed its state.
    SourceState { file: FileId, source: SourceId, state: SourceState },
    /// No want refers to these delivered bytes any more: drop them.
    Forget { file: FileId, range: Range<u64> },
}

/// Why a want or an open came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantFailure {
    /// The range does not lie within the file.
    BeyondEnd { size: u64 },
    /// This source, the last one left, refused, or failed too often.
    Source { source: SourceId },
    /// Too little of the file has come within one `silence_max`: so many bytes.
    TooSlow { waited: Time, bytes: u64 },
    /// There is no such file, or none of its sources is left.
    NoSource,
}
