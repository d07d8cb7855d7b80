//! A job of the driver for a connection, and its progress.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::StatusCode;

use super::range::RemainingRanges;
use crate::address::Address;
use crate::checksum::Algorithm;
use crate::error::Error;
use crate::source::{FileEnd, FileRef, RequestTag};

/// A request for something else than bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Its checksum, of this kind or of any.
    Checksum(Option<Algorithm>),
    /// Where else it is.
    Locations,
    /// The names in a directory.
    Names,
}

/// An `Open`, a `Fetch`, or another request.
pub struct Job {
    pub request: RequestTag,
    pub cancelled: Arc<AtomicBool>,
    pub file: FileRef,
    pub open: Option<FileEnd>,
    pub question: Option<Question>,
    /// `None`: the end, or both, of a file whose size is not known yet.
    pub remaining: Option<RemainingRanges>,
    /// `Opened` has been sent.
    pub opened: bool,
    /// `Done`, `Failed` or `Redirected` has been sent.
    pub answered: bool,
    /// The form of requests, as refusals have left it.
    pub form: Form,
    /// A size that may be the answer's own, until another answer confirms it.
    pub doubted: Option<u64>,
    /// The status by which several ranges were refused, until one alone shows whether that was why.
    pub refused: Option<StatusCode>,
}

/// How a request names its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// As many ranges as the server takes.
    #[default]
    Several,
    One,
    /// None: the answer is the whole file.
    Whole,
}

impl Job {
    pub fn open(request: RequestTag, file: FileRef, part: FileEnd) -> Self {
        let remaining = match part {
            FileEnd::Head(bytes) => Some(RemainingRanges::one(0..bytes)),
            FileEnd::Tail(_) | FileEnd::Both { .. } => None,
        };
        Job { open: Some(part), remaining, ..Job::fetch(request, file, Vec::new()) }
    }

    pub fn fetch(request: RequestTag, file: FileRef, segments: Vec<Range<u64>>) -> Self {
        Job {
            request,
            cancelled: Arc::default(),
            file,
            open: None,
            question: None,
            remaining: Some(RemainingRanges::new(segments)),
            opened: false,
            answered: false,
            form: Form::default(),
            doubted: None,
            refused: None,
        }
    }

    pub fn question(request: RequestTag, file: FileRef, question: Question) -> Self {
        Job { question: Some(question), ..Job::fetch(request, file, Vec::new()) }
    }

    /// Nothing is owed any more.
    pub fn is_settled(&self) -> bool {
        (self.open.is_none() || self.opened)
            && self.remaining.as_ref().is_some_and(RemainingRanges::is_empty)
    }

    /// Bytes owed, as far as the size is known.
    pub fn owed(&self) -> u64 {
        match (&self.remaining, self.open) {
            (Some(remaining), _) => remaining.bytes(),
            (None, Some(FileEnd::Tail(bytes))) => bytes,
            (None, Some(FileEnd::Both { head, tail })) => head.saturating_add(tail),
            (None, _) => 0,
        }
    }

    /// Whether its next request is for both ends of a file whose size is not known.
    pub fn asks_both_ends(&self) -> bool {
        self.remaining.is_none() && matches!(self.open, Some(FileEnd::Both { .. }))
    }

    /// Leaves the end of the file, of both ends that were requested, to the driver.
    pub fn leave_tail(&mut self) {
        let Some(FileEnd::Both { head, .. }) = self.open else { return };
        self.open = Some(FileEnd::Head(head));
        match &mut self.remaining {
            Some(remaining) => remaining.clip(head),
            None => self.remaining = Some(RemainingRanges::one(0..head)),
        }
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub fn stop_if_cancelled(&self) -> Result<(), Stop> {
        if self.is_cancelled() { Err(Stop::Cancelled) } else { Ok(()) }
    }

    pub fn url(&self) -> &Address {
        &self.file.url
    }

    /// The request for the missing ranges.
    pub fn ask(&self, segments_max: u32) -> Ask {
        let segments_max = if self.form == Form::Several { segments_max } else { 1 };
        let ask = self.ask_ranges(segments_max);
        if self.form == Form::Whole { Ask { header: None, ..ask } } else { ask }
    }

    fn ask_ranges(&self, segments_max: u32) -> Ask {
        match (&self.remaining, self.open) {
            (Some(remaining), _) if !remaining.is_empty() => {
                let (header, count) = remaining.header(segments_max as usize);
                let hull =
                    remaining.hull().filter(|_| count > 1).or_else(|| remaining.first().cloned());
                Ask { header: Some(header), count, hull }
            }
            (None, Some(FileEnd::Tail(bytes))) => {
                let header = Some(format!("bytes=-{}", bytes.max(1)));
                Ask { header, count: 1, hull: None }
            }
            (None, Some(FileEnd::Both { head, tail })) => {
                let header = Some(format!("bytes=0-{},-{}", head.max(1) - 1, tail.max(1)));
                Ask { header, count: 2, hull: None }
            }
            // Only the size was requested.
            _ => Ask { header: Some("bytes=0-0".into()), count: 1, hull: Some(0..1) },
        }
    }
}

/// The request of a round.
#[derive(Debug, PartialEq, Eq)]
pub struct Ask {
    /// The value of `Range`; `None` for the whole file.
    pub header: Option<String>,
    /// How many ranges it names.
    pub count: usize,
    /// From the first requested byte to the last; `None` for the end of the file.
    pub hull: Option<Range<u64>>,
}

/// Why a job ends early.
pub enum Stop {
    Failed(Error),
    Redirected(Box<Address>),
    Cancelled,
    /// The connection cannot be used any more.
    Broken(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Failed(error)
    }
}

pub type Outcome<T> = Result<T, Stop>;
