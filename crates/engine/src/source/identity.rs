//! What a source says of a file.

/// What an open tells about a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileInfo {
    /// Bytes.
    pub size: u64,
    /// Modification time, seconds since 1970, where the server says it.
    pub modified: Option<u64>,
    /// An opaque version (HTTP: ETag), where the server says it.
    pub version: Option<String>,
}
