//! The one error of the engine: its kind, its message, the address, the source, and whether a retry
//! can help.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use crate::display::{shown, without_secrets};

/// Result of anything the engine does.
pub type Result<T> = std::result::Result<T, Error>;

/// Kinds of errors on which a caller can act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No such file.
    NotFound,
    /// No directory, tree or branch of that name in the file.
    NotInFile,
    /// The server knows who asks and refuses.
    PermissionDenied,
    /// The server wants to know who asks.
    Unauthenticated,
    /// Nothing came within the time allowed.
    TimedOut,
    /// The server could not be reached, or the connection broke.
    Connection,
    /// The bytes contradict the format, their checksum or each other.
    Corrupt,
    /// The file is another one than when it was opened.
    Changed,
    /// Known to exist, not readable by this version.
    Unsupported,
    /// A configured or sane limit would be exceeded.
    LimitReached,
    /// The caller's own arguments.
    InvalidArgument,
    /// The server or the disk failed to deliver.
    Io,
    /// The caller gave up.
    Cancelled,
}

/// An error: its message, its place and its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    message: String,
    url: Option<String>,
    range: Option<Range<u64>>,
    source: Option<String>,
    advice: Option<Advice>,
    retryable: bool,
    is_busy: bool,
    is_directory: bool,
    retry_after: Option<Duration>,
}

/// Who reads an error: hints are spelt differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A user of the command: advice names options.
    Shell,
    /// A caller in Python: advice names arguments.
    Python,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Advice {
    shell: String,
    /// Where it is another.
    python: Option<String>,
}

/// An error in the words of one reader.
struct Shown<'a>(&'a Error, Reader);

impl Error {
    /// An error that trying again does not mend, except where the kind says otherwise.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let retryable = matches!(kind, ErrorKind::TimedOut | ErrorKind::Connection);
        Error(Box::new(Inner {
            kind,
            message: hidden(message),
            url: None,
            range: None,
            source: None,
            advice: None,
            retryable,
            is_busy: false,
            is_directory: false,
            retry_after: None,
        }))
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The file concerned.
    pub fn url(&self) -> Option<&str> {
        self.0.url.as_deref()
    }

    /// The bytes concerned, half open, in the file.
    pub fn range(&self) -> Option<Range<u64>> {
        self.0.range.clone()
    }

    /// The server of the request.
    pub fn source_name(&self) -> Option<&str> {
        self.0.source.as_deref()
    }

    /// A hint for the caller, in the words of a shell.
    pub fn advice(&self) -> Option<&str> {
        self.0.advice.as_ref().map(|advice| &*advice.shell)
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Sets the answer of [`Error::is_retryable`].
    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    /// The pause before the next try, if any: the server requested it, or this process remembers
    /// the error of an open for that time and sends no request.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Whether a server has refused a request since it had too many.
    pub fn is_busy(&self) -> bool {
        self.0.is_busy
    }

    /// Whether the server says that there is a directory where a file is asked for.
    pub fn is_directory(&self) -> bool {
        self.0.is_directory
    }

    /// Sets the answer of [`Error::is_directory`].
    #[must_use]
    pub fn directory(mut self, is_directory: bool) -> Self {
        self.0.is_directory = is_directory;
        self
    }

    /// Sets the answer of [`Error::is_busy`].
    #[must_use]
    pub fn busy(mut self, is_busy: bool) -> Self {
        self.0.is_busy = is_busy;
        self
    }

    /// Sets the pause of [`Error::retry_after`].
    #[must_use]
    pub fn with_retry_after(mut self, pause: Duration) -> Self {
        self.0.retry_after = Some(pause);
        self
    }

    /// The error of several sources: each by its name, with its own error.
    pub fn of_sources(errors: Vec<(String, Error)>) -> Self {
        let kind = errors.first().map_or(ErrorKind::Io, |(_, error)| error.kind());
        let same = errors.iter().all(|(_, error)| error.kind() == kind);
        let reason = |(name, error): &(String, Error)| format!("{name}: {}", error.message());
        let reasons: Vec<String> = errors.iter().map(reason).collect();
        let text =
            format!("none of {} sources could deliver: {}", errors.len(), reasons.join("; "));
        let retryable = errors.iter().any(|(_, error)| error.is_retryable());
        Error::new(if same { kind } else { ErrorKind::Io }, text).retryable(retryable)
    }

    /// Puts `subject` and a colon in front of the message.
    #[must_use]
    pub fn about(mut self, subject: &str) -> Self {
        self.0.message = hidden(format!("{subject}: {}", self.0.message));
        self
    }

    /// Of a file that may not be replaced.
    pub(crate) fn target_is_there() -> Self {
        Error::new(ErrorKind::InvalidArgument, "the target is there already")
            .with_advice_for("-f replaces it", "overwrite=True replaces it")
    }

    /// Puts a semicolon and `clause` behind the message.
    #[must_use]
    pub(crate) fn and(mut self, clause: &str) -> Self {
        self.0.message = hidden(format!("{}; {clause}", self.0.message));
        self
    }

    /// Names the file, unless an inner layer has.
    #[must_use]
    pub fn with_url(mut self, url: impl Into<String>) -> Self {
        self.0.url.get_or_insert_with(|| hidden(url));
        self
    }

    /// Names the bytes, unless an inner layer has.
    #[must_use]
    pub fn with_range(mut self, range: Range<u64>) -> Self {
        self.0.range.get_or_insert(range);
        self
    }

    /// Names the server, unless an inner layer has.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<String>) -> Self {
        self.0.source.get_or_insert_with(|| hidden(source));
        self
    }

    /// Adds a hint for the user.
    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.0.advice.get_or_insert_with(|| Advice { shell: hidden(advice), python: None });
        self
    }

    /// Adds a hint for the user, where it is spelt otherwise in a shell than in Python.
    #[must_use]
    pub fn with_advice_for(mut self, shell: &str, python: &str) -> Self {
        let advice = || Advice { shell: hidden(shell), python: Some(hidden(python)) };
        self.0.advice.get_or_insert_with(advice);
        self
    }

    /// The error as one line for this reader.
    pub fn said_to(&self, reader: Reader) -> String {
        Shown(self, reader).to_string()
    }

    /// The same error for a later open: it came `ago` before now, and opens get it without a
    /// request for `left` more.
    pub(crate) fn remembered(mut self, ago: Duration, left: Duration) -> Self {
        let ago = ago.as_secs_f64();
        let more = left.as_secs_f64();
        let text = format!(
            "; this answer came {ago:.1} s ago and is remembered for {more:.1} s more, in this process"
        );
        self.0.message.push_str(&text);
        self.with_retry_after(left)
    }

    /// That so many bytes are more than there is memory for.
    pub(crate) fn no_memory(bytes: u64) -> Self {
        let text = format!("there is no memory for {bytes} bytes more");
        Error::new(ErrorKind::LimitReached, text)
    }

    /// An input or output error of the operating system.
    pub fn from_io(error: &std::io::Error) -> Self {
        use std::io::ErrorKind as K;
        let kind = match error.kind() {
            K::NotFound => ErrorKind::NotFound,
            K::PermissionDenied => ErrorKind::PermissionDenied,
            K::TimedOut => ErrorKind::TimedOut,
            K::ConnectionRefused
            | K::ConnectionReset
            | K::ConnectionAborted
            | K::NotConnected
            | K::BrokenPipe
            | K::UnexpectedEof
            | K::HostUnreachable
            | K::NetworkUnreachable => ErrorKind::Connection,
            K::OutOfMemory => ErrorKind::LimitReached,
            _ => ErrorKind::Io,
        };
        Error::new(kind, error.to_string())
    }
}

/// The program that catches an error may print any part of it: none has a secret.
fn hidden(text: impl Into<String>) -> String {
    let text = text.into();
    match without_secrets(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(hidden) => hidden,
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown(self, Reader::Shell).fmt(f)
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0.0;
        let reader = self.1;
        write!(f, "{}", shown(&inner.message))?;
        if let Some(range) = &inner.range {
            write!(f, "; bytes {}-{}", range.start, range.end)?;
        }
        if let Some(url) = &inner.url {
            write!(f, "; in {}", shown(url))?;
        }
        if let Some(source) = &inner.source {
            write!(f, "; from {}", shown(source))?;
        }
        if inner.retryable {
            write!(f, "; trying again may help")?;
        }
        if let Some(advice) = &inner.advice {
            let other = advice.python.as_ref().filter(|_| reader == Reader::Python);
            write!(f, "; {}", shown(other.unwrap_or(&advice.shell)))?;
        }
        Ok(())
    }
}
