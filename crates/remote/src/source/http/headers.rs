//! The lines of a head, or behind a body, in which a server of farroot and its clients speak of
//! entries that are selected.

/// In answers of a server that selects: the version of requests.
pub const SELECTS: &str = "farroot-select";
/// Before or behind a stream: seconds from the request until the first entries were ready.
pub const DELAY: &str = "farroot-delay";
/// Behind a stream: entries that were read.
pub const ENTRIES: &str = "farroot-entries";
/// Behind a stream: entries that were sent.
pub const SELECTED: &str = "farroot-selected";
/// Behind a stream: bytes that were read of files.
pub const BYTES: &str = "farroot-bytes";
/// Behind a stream: seconds from the request to its end.
pub const SECONDS: &str = "farroot-seconds";
/// Behind a stream that has no end: the reason.
pub const ERROR: &str = "farroot-error";
/// All that may follow a stream.
pub const TRAILERS: [&str; 6] = [DELAY, ENTRIES, SELECTED, BYTES, SECONDS, ERROR];
/// The content coding of a stream that is compressed as a whole.
pub const CODING: &str = "zstd";
