//! Errors of the format, with the absolute offset and the object.

/// Result of anything that reads the format.
pub type Result<T> = std::result::Result<T, Error>;

/// An error in the bytes of a file, or a request that the file cannot answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    /// Absolute position in the file (ROOT: `fSeekKey` and kin plus the bytes read since), if
    /// known.
    pub offset: Option<u64>,
    /// Names of the parts being read, outermost first: `Events/Muon_pt/basket 17`.
    pub path: String,
}

/// Kinds of errors that a caller can act on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ErrorKind {
    /// The bytes contradict the format or each other.
    #[error("corrupt: {0}")]
    Corrupt(String),
    /// A checksum stored in the file does not match the bytes.
    #[error("checksum mismatch: {0}")]
    Checksum(String),
    /// The format is known to allow this, and this version cannot read it.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// A count or size beyond those of a sane file; refused before memory is taken.
    #[error("limit exceeded: {0}")]
    Limit(String),
    /// The file has no list of keys, since its writer has not closed it.
    #[error("the file was never closed: it has no list of keys")]
    Unclosed,
    /// No key, branch or directory of that name.
    #[error("not found: {0}")]
    NotFound(String),
}

impl Error {
    pub fn new(kind: ErrorKind) -> Self {
        Error { kind, offset: None, path: String::new() }
    }
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt(message.into()))
    }
    pub fn checksum(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Checksum(message.into()))
    }
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported(message.into()))
    }
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit(message.into()))
    }
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound(message.into()))
    }
    /// Records where; the innermost position wins.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.offset.get_or_insert(offset);
        self
    }
    /// Adds a note to the message.
    #[must_use]
    pub fn noting(mut self, note: &str) -> Self {
        let (ErrorKind::Corrupt(message)
        | ErrorKind::Checksum(message)
        | ErrorKind::Unsupported(message)
        | ErrorKind::Limit(message)
        | ErrorKind::NotFound(message)) = &mut self.kind
        else {
            return self;
        };
        message.push_str("; ");
        message.push_str(note);
        self
    }
    /// Puts `outer` in front of the path.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        self.path =
            if self.path.is_empty() { outer.into() } else { format!("{outer}/{}", self.path) };
        self
    }
}

impl std::error::Error for Error {}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{}", self.kind)?;
        if let Some(offset) = self.offset {
            write!(f, " (at byte {offset})")?;
        }
        Ok(())
    }
}
