//! Names of things. Small integers, so that they order and print well.

/// A point in time: how long after an epoch of the caller's choosing. It never goes back.
pub type Time = std::time::Duration;

/// One file's bytes, wherever they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// One place that serves files: a host and port, a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(pub u32);

/// One file at one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// One connection to one server, from its [`Connect`](crate::Action::Connect) to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// One [`Open`](crate::Action::Open) or [`Fetch`](crate::Action::Fetch). Never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// One range that the consumer waits for or will wait for. Never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WantId(pub u64);
