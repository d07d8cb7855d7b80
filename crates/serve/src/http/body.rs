//! An answer's body, made as the connection takes it: a text, ranges of a file, or the names in a
//! folder.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use hyper::header::{HeaderMap, HeaderValue};
use percent_encoding::utf8_percent_encode;
use remote::near::headers::ERROR;

use super::incoming::FarRanges;
use super::listing::Names;
use super::requests::Requests;
use crate::clients::Client;
use crate::files::Files;
use crate::folder::{FolderFile, Fragment};
use crate::guard::Guard;
use crate::peer::Peer;
use crate::select::Answer;

/// Bytes made at a time where there is room for them; one answer holds as many in memory.
const STEP_BYTES: usize = 256 << 10;

/// The rest of a body.
#[derive(Debug)]
pub enum Rest {
    Text(Bytes),
    /// The length of a body that is not sent: the answer to a `HEAD`.
    Unsent(u64),
    Ranges(Ranges),
    /// Ranges of a far file.
    FarRanges(Box<FarRanges>),
    /// The first lines, and the names behind them.
    Names(Bytes, Names),
    MoreNames(Names),
    /// Entries that are selected, as they are ready.
    Selected(Box<SelectedEntries>),
    /// The lines behind a stream.
    Trailers(HeaderMap),
}

/// The answer to a request for entries.
#[derive(Debug)]
pub struct SelectedEntries {
    pub answer: Box<Answer>,
    /// The client reads trailers: the server sends it there the reason for a stream without an end.
    pub takes_trailers: bool,
}

impl SelectedEntries {
    /// The lines behind the stream.
    fn lines(&self, error: Option<&remote::Error>) -> HeaderMap {
        let error = error.map(|error| (ERROR, line_of(error.message())));
        trailers(self.answer.totals().into_iter().chain(error))
    }
}

/// A message in one line of a head: UTF-8 is encoded by percents, as in an address.
fn line_of(message: &str) -> String {
    utf8_percent_encode(message, percent_encoding::CONTROLS).to_string()
}

/// Ranges of a file, behind one another or as parts of `multipart/byteranges`.
#[derive(Debug)]
pub struct Ranges {
    file: FolderFile,
    ranges: VecDeque<Range<u64>>,
    boundary: Option<String>,
    /// The first range's head has been sent.
    is_begun: bool,
    /// Bytes of all of it that have not been sent.
    left: u64,
}

/// Where bodies come from, and for whom.
#[derive(Debug)]
pub struct Serving {
    pub files: Files,
    pub client: Arc<Client>,
    pub requests: Requests,
    /// Whether entries are selected here.
    pub selects: bool,
    pub guard: Guard,
    pub peer: Peer,
}

impl Serving {
    /// The answer has been sent: the client is idle, unless a part of its next request has arrived.
    fn rests(&self) {
        if self.requests.are_unfinished() {
            self.client.goes_on_asking();
        } else {
            self.client.rests();
        }
    }
}

type Step = Pin<Box<dyn Future<Output = io::Result<(Bytes, Option<Rest>)>> + Send>>;

/// A body, and with it the request that is under way.
pub struct Body {
    context: Arc<Serving>,
    rest: Option<Rest>,
    step: Option<Step>,
    /// Bytes to come, where that is known.
    left: Option<u64>,
}

impl Ranges {
    /// One range as it is, several with heads and in the order given.
    pub fn new(file: FolderFile, ranges: Vec<Range<u64>>, boundary: Option<String>) -> Self {
        let mut these = Ranges { file, ranges: ranges.into(), boundary, is_begun: false, left: 0 };
        let each = |range: &Range<u64>| these.head(range).len() as u64 + range.end - range.start;
        these.left = these.ranges.iter().map(each).sum::<u64>() + these.tail().len() as u64;
        these
    }

    fn head(&self, range: &Range<u64>) -> Vec<u8> {
        let head = |boundary: &String| head_of(boundary, range, self.file.stat.size);
        self.boundary.as_ref().map(head).unwrap_or_default()
    }

    fn tail(&self) -> Vec<u8> {
        self.boundary.as_deref().map(tail_of).unwrap_or_default()
    }

    /// The next parts, as many as `room` bytes take, which is more than any head has.
    fn take(&mut self, room: usize) -> Vec<Fragment> {
        let mut parts = Vec::new();
        let mut left = room;
        while let Some(range) = self.ranges.front().cloned() {
            if !self.is_begun {
                let head = self.head(&range);
                if head.len() >= left {
                    return parts;
                }
                left -= head.len();
                parts.push(Fragment::Text(head));
                self.is_begun = true;
            }
            let count = usize::try_from(range.end - range.start).unwrap_or(left).min(left);
            parts.push(Fragment::Bytes { file: self.file.clone(), offset: range.start, count });
            left -= count;
            if range.start + (count as u64) < range.end {
                self.ranges[0].start += count as u64;
                return parts;
            }
            self.ranges.pop_front();
            self.is_begun = false;
        }
        parts.push(Fragment::Text(self.tail()));
        parts
    }
}

/// The head before one of several ranges (RFC 9110, section 14.6).
pub fn head_of(boundary: &str, range: &Range<u64>, size: u64) -> Vec<u8> {
    let range = content_range(range, size);
    format!("\r\n--{boundary}\r\nContent-Range: {range}\r\n\r\n").into_bytes()
}

/// The boundary behind the last of them.
pub fn tail_of(boundary: &str) -> Vec<u8> {
    format!("\r\n--{boundary}--\r\n").into_bytes()
}

/// `bytes 0-9/100`.
pub fn content_range(range: &Range<u64>, size: u64) -> String {
    format!("bytes {}-{}/{size}", range.start, range.end - 1)
}

/// The lines behind a stream.
fn trailers(lines: impl IntoIterator<Item = (&'static str, String)>) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    for (name, value) in lines {
        if let Ok(value) = HeaderValue::from_str(&value) {
            trailers.insert(name, value);
        }
    }
    trailers
}

impl Rest {
    /// Makes the next bytes; with them the rest of the body.
    async fn next(self, context: Arc<Serving>) -> io::Result<(Bytes, Option<Rest>)> {
        let Serving { files, client, .. } = &*context;
        match self {
            Rest::Text(text) => Ok((text, None)),
            Rest::Unsent(_) => Ok((Bytes::new(), None)),
            Rest::Ranges(mut ranges) => {
                let wanted = usize::try_from(ranges.left).unwrap_or(usize::MAX);
                let reserved = client.reserve(wanted.min(STEP_BYTES)).await;
                let parts = ranges.take(reserved.bytes());
                ranges.left -= parts.iter().map(Fragment::len).sum::<usize>() as u64;
                // A file that shrank meanwhile: ends the connection, never a shorter body.
                let bytes = files.folder()?.gather(client, parts).await?;
                let rest = (!ranges.ranges.is_empty()).then_some(Rest::Ranges(ranges));
                Ok((reserved.hold(bytes), rest))
            }
            Rest::FarRanges(mut incoming) => {
                let bytes = incoming.next().await?;
                Ok((bytes, (incoming.left() > 0).then_some(Rest::FarRanges(incoming))))
            }
            Rest::Selected(mut entries) => match entries.answer.next().await {
                Ok(Some(bytes)) => {
                    let room = client.far_room().reserve(bytes.len()).await;
                    Ok((room.hold(bytes), Some(Rest::Selected(entries))))
                }
                Ok(None) => Ok((Bytes::new(), Some(Rest::Trailers(entries.lines(None))))),
                Err(error) if entries.takes_trailers => {
                    Ok((Bytes::new(), Some(Rest::Trailers(entries.lines(Some(&error))))))
                }
                Err(error) => Err(io::Error::other(error)),
            },
            Rest::Trailers(_) => Ok((Bytes::new(), None)),
            Rest::Names(text, names) => Ok((text, Some(Rest::MoreNames(names)))),
            Rest::MoreNames(names) => {
                let (text, rest) = names.next(files.folder()?).await?;
                Ok((text, rest.map(Rest::MoreNames)))
            }
        }
    }
}

impl Body {
    pub fn new(context: Arc<Serving>, rest: Rest) -> Self {
        let left = match &rest {
            Rest::Text(text) => Some(text.len() as u64),
            Rest::Unsent(bytes) => Some(*bytes),
            Rest::Ranges(ranges) => Some(ranges.left),
            Rest::FarRanges(incoming) => Some(incoming.left()),
            Rest::Names(..) | Rest::MoreNames(_) => None,
            Rest::Selected(_) | Rest::Trailers(_) => None,
        };
        Body { context, rest: Some(rest), step: None, left }
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        loop {
            if let Some(step) = &mut this.step {
                let (bytes, rest) = ready!(step.as_mut().poll(cx))?;
                this.step = None;
                this.rest = rest;
                this.left = this.left.map(|left| left.saturating_sub(bytes.len() as u64));
                if !bytes.is_empty() {
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
            }
            let Some(rest) = this.rest.take() else { return Poll::Ready(None) };
            if let Rest::Trailers(lines) = rest {
                return Poll::Ready(Some(Ok(Frame::trailers(lines))));
            }
            this.step = Some(Box::pin(rest.next(this.context.clone())));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0) || (self.rest.is_none() && self.step.is_none())
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.context.rests();
    }
}
