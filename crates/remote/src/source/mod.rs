//! Sources of bytes. The only code of farroot that opens a connection; it knows ranges, not ROOT.
//!
//! A [`Server`] is one place that serves files. It opens connections; each connection is a task
//! that takes [`Command`]s and gives [`ConnectionEvent`]s. Which command goes to which connection,
//! and when, is not decided here (see `fetch`). The rules that every server's connections keep, and
//! that the conformance suite (`tests/sources/conformance.rs`) checks:
//!
//! 1. Commands may arrive before the connection is up. They leave as early as the protocol
//!    allows: in the same flight as the handshake where it can be.
//! 2. Every `Open`, `Fetch`, `List`, `Checksum`, `Locate` and `Clock` is answered by any number
//!    of [`ConnectionEvent::Data`] and then exactly one [`ConnectionEvent::Done`] or
//!    [`ConnectionEvent::Failed`], unless the connection ends before.
//! 3. `Data` lies within the requested ranges, never overlaps earlier `Data` of the same request,
//!    and is handed on as it arrives. Bytes past the end of the file, and those that were `Damaged`
//!    on the way, are left out: `Done` after fewer bytes is a short read.
//! 4. A connection sends its description of a file, each time that it opens it and with each answer
//!    that describes it, as [`ConnectionEvent::Seen`] before the `Data` for which it holds. The
//!    driver decides whether it is still the same file.
//! 5. The last event of a connection is one [`ConnectionEvent::Disconnected`]. A connection ends
//!    when its commands end (the sender is dropped).

pub(crate) mod buffers;
mod busy;
pub mod diagnose;
pub mod held;
pub mod http;
mod identity;
pub mod local;
pub(crate) mod locating;
pub mod network;
pub mod one_shot;
mod pelican;
pub mod servers;
pub(crate) mod slotted;
mod temporary_copy;
pub mod tls;
pub(crate) mod xrootd;

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::address::{Address, FileUse};
use crate::checksum::{Algorithm, Checksum};
use crate::error::{Error, ErrorKind};

pub(crate) use identity::seconds_since_1970;
pub use identity::{FILE_BYTES_MAX, FileInfo, check_size};

/// The driver's name for one request; unique within the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestTag(pub u64);

/// The driver's name for one connection; unique within the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionTag(pub u32);

/// A file as a server knows it. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRef {
    /// The driver's name for the file; unique within the engine.
    pub tag: u32,
    pub url: Arc<Address>,
    /// The purpose of its open.
    pub file_use: FileUse,
}

/// Commands to a connection.
#[derive(Debug, Clone)]
pub enum Command {
    /// Find the file, report its size, and deliver one end of it.
    Open { request: RequestTag, file: FileRef, part: FileEnd },
    /// Deliver these ranges, ascending and disjoint, in one request where the protocol can.
    Fetch { request: RequestTag, file: FileRef, segments: Vec<Range<u64>> },
    /// The driver waits for this request no more: its data need not be delivered. It is still
    /// answered by `Done` or `Failed`.
    Cancel { request: RequestTag },
    /// No more requests for this file will come.
    Close { file: FileRef },
    /// List this directory: names, and the facts of each where `with_facts`.
    List { request: RequestTag, directory: FileRef, with_facts: bool },
    /// Report this checksum of the file; without an algorithm, the one that the server likes best.
    Checksum { request: RequestTag, file: FileRef, algorithm: Option<Algorithm> },
    /// Report other locations of the file.
    Locate { request: RequestTag, file: FileRef },
    /// Read the server's clock; for servers of XRootD.
    Clock { request: RequestTag, file: FileRef },
}

/// One end of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileEnd {
    /// The first bytes.
    Head(u64),
    /// The last bytes; only for servers whose traits have `suffix`. One that turns out not to know
    /// them reports that by its traits, and then answers with the size alone: other connections can
    /// request the end sooner than one that waits for another round trip.
    Tail(u64),
    /// Both in one answer; only for servers whose traits have `both_ends`. One that turns out not
    /// to do so reports that by its traits, and then answers with the head alone.
    Both { head: u64, tail: u64 },
}

impl FileEnd {
    /// Its bytes of a file of this size.
    pub(crate) fn ranges(self, size: u64) -> Vec<Range<u64>> {
        let last = |tail: u64| size.saturating_sub(tail)..size;
        match self {
            FileEnd::Head(head) => vec![0..head.min(size)],
            FileEnd::Tail(tail) => vec![last(tail)],
            FileEnd::Both { head, tail } if head >= last(tail).start => vec![0..size],
            FileEnd::Both { head, tail } => vec![0..head, last(tail)],
        }
    }
}

/// Whether a server sends both ends of a file in one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BothEnds {
    /// It does not.
    Never,
    /// It may: one request is to show it.
    Untried,
    /// It has done so.
    Served,
}

/// An entry of a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedName {
    /// Without the directory.
    pub name: String,
    /// `None` where the server does not report it.
    pub is_directory: Option<bool>,
    /// Bytes of a file, and when it was last changed; `None` where the server does not report it.
    pub size: Option<u64>,
    pub modified: Option<SystemTime>,
}

impl ListedName {
    /// Of a server that reports no more.
    pub(crate) fn of_name(name: String) -> ListedName {
        ListedName { name, ..ListedName::default() }
    }
}

/// Events from a connection to the driver.
#[derive(Debug)]
pub enum ConnectionEvent {
    /// The server has taken the connection; the protocol's handshake follows, if it has one.
    Reached,
    /// Usable: the protocol's handshake and login are through.
    Connected,
    /// A description of a file, by the driver's name for it. One that is known from before need not
    /// be sent again.
    Seen {
        file: u32,
        info: FileInfo,
    },
    /// The file is there; comes before the `Data` and the `Done` of an `Open`.
    Opened {
        request: RequestTag,
        info: FileInfo,
    },
    Data {
        request: RequestTag,
        offset: u64,
        bytes: Bytes,
    },
    /// A request of the protocol has left for this one, which may take several: an open before a
    /// read, one for each range, another try.
    Sent {
        request: RequestTag,
    },
    /// So many bytes of this request have arrived and are not handed on yet: the rest of a part of
    /// several ranges, or of a file that is sent as a whole, is awaited.
    Progress {
        request: RequestTag,
        bytes: u64,
    },
    /// Comes before the `Done` of a `List`.
    Listed {
        request: RequestTag,
        entries: Vec<ListedName>,
    },
    /// Comes before the `Done` of a `Checksum`, and with an `Open` where the server sends it
    /// unrequested.
    Checksum {
        request: RequestTag,
        checksum: Checksum,
    },
    /// Comes before the `Done` of a `Locate`, and with an `Open` where the server sends it
    /// unrequested.
    Located {
        request: RequestTag,
        locations: Vec<FileLocation>,
    },
    /// When the server has answered, by its own clock; comes before the `Done` of a `Clock`.
    Clock {
        request: RequestTag,
        at: SystemTime,
    },
    /// These bytes have come otherwise than they were sent, and are not passed on.
    Damaged {
        request: RequestTag,
        range: Range<u64>,
    },
    Done {
        request: RequestTag,
    },
    Failed {
        request: RequestTag,
        error: Error,
    },
    /// The file is to be read elsewhere; answers the request.
    Redirected {
        request: RequestTag,
        url: Address,
    },
    /// The server's limits have been learnt.
    Traits(ServerTraits),
    /// The server has requested a wait of so long; the connection sees to it.
    Wait(Duration),
    /// Something the user should see in the report.
    Note(String),
    /// The connection has ended; requests without an answer will get none.
    Disconnected {
        error: Option<Error>,
    },
}

/// Where a redirector, or a server, says that a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLocation {
    pub url: Address,
    pub role: Role,
}

/// The role of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The file.
    Server,
    /// One that knows who has the file, and has it not itself.
    Manager,
    /// A Metalink that says where the file is.
    Metalink,
}

/// Features and limits of a protocol and a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerTraits {
    /// Most segments of one request; 1 where there are no vectored requests.
    pub segments_max: u32,
    /// Largest segment of a vectored request, bytes.
    pub segment_bytes_max: u64,
    /// Largest sensible request of one range, bytes.
    pub request_bytes_max: u64,
    /// Several requests may be unanswered on one connection.
    pub pipelined: bool,
    /// The last bytes can be requested without knowing the size.
    pub suffix: bool,
    /// Both ends of a file can be requested together without knowing its size.
    pub both_ends: BothEnds,
    /// The cost of one more request for the server.
    pub request_overhead: Duration,
    /// A local disk rather than a link.
    pub local: bool,
    /// Never more connections than this.
    pub connections_max: Option<u32>,
    /// It offers checksums of the bytes that it sends, as far as is known.
    pub checksums: bool,
    /// It has turned out to serve one range a request, where its protocol has more.
    pub one_range: bool,
    /// It has said that it selects entries of its files.
    pub selects: bool,
}

/// Both ends of a connection's conversation with the driver, as the connection holds them.
pub struct DriverLink {
    pub connection: ConnectionTag,
    pub commands: UnboundedReceiver<Command>,
    pub events: UnboundedSender<(ConnectionTag, ConnectionEvent)>,
}

impl DriverLink {
    /// An event for the driver; dropped where the driver has ended.
    pub fn send(&self, event: ConnectionEvent) {
        let _ = self.events.send((self.connection, event));
    }
}

/// The answer to a `List` where directories cannot be listed.
fn cannot_list(request: RequestTag, directory: &FileRef) -> ConnectionEvent {
    let error = Error::new(ErrorKind::Unsupported, "directories cannot be listed here")
        .with_url(directory.url.to_string())
        .with_advice("name the files");
    ConnectionEvent::Failed { request, error }
}

/// The answer to a `Checksum` where none are kept.
fn no_checksum(request: RequestTag, file: &FileRef) -> ConnectionEvent {
    let error = Error::new(ErrorKind::Unsupported, "no checksums are kept here")
        .with_url(file.url.to_string());
    ConnectionEvent::Failed { request, error }
}

/// The answer to a `Locate` by those that know of no others.
fn cannot_locate(request: RequestTag, file: &FileRef) -> ConnectionEvent {
    let error = Error::new(ErrorKind::Unsupported, "nothing is known here of other servers")
        .with_url(file.url.to_string());
    ConnectionEvent::Failed { request, error }
}

/// The answer to a `Clock` by protocols without it.
fn no_clock(request: RequestTag, file: &FileRef) -> ConnectionEvent {
    let error = Error::new(ErrorKind::Unsupported, "the time there is not known")
        .with_url(file.url.to_string());
    ConnectionEvent::Failed { request, error }
}

/// One place that serves files.
pub trait Server: Send + Sync + 'static {
    /// Scheme, host and port, for reports and errors: `root://host:1094`.
    fn name(&self) -> &str;

    /// Host and port of the next connection; `None` where bytes are read without one, and where
    /// only the connection's beginning shows which host it is.
    fn endpoint(&self) -> Option<(String, u16)> {
        None
    }

    /// The traits of the server that are known before the first request.
    fn traits(&self) -> ServerTraits;

    /// How the last connection was encrypted, as whom it was logged in, and which offers of the
    /// server were not used and why, in one line; `None` where nothing of this is known.
    fn introduction(&self) -> Option<String> {
        None
    }

    /// The server's certificate and its version of TLS in the latest connection, where no other
    /// request gives them.
    fn shown(&self) -> Option<Arc<tls::Peer>> {
        None
    }

    /// Drops the server's state of a closed file that none of its connections knows. Connections
    /// that know the file receive [`Command::Close`].
    fn forget(&self, _file: &FileRef) {}

    /// Runs one connection until its commands end or it fails.
    fn run(self: Arc<Self>, link: DriverLink) -> BoxFuture<'static, ()>;
}
