//! One job of the driver, in as many rounds as the server needs.
//!
//! Each round requests the missing bytes and takes those that the answer has. Facts that a round
//! teaches (the size, a limit of the server) change the next request; a round that would repeat the
//! one before ends the job.

use std::ops::Range;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_LENGTH, HeaderMap};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::mpsc::UnboundedSender;

use super::answer::{Head, file_info, judge, may_be_any_range, may_be_their_number};
use super::body::RequestBody;
use super::director::{asks_who, entrusted, explained};
use super::headers::SELECTS;
use super::job::{Ask, Form, Job, Outcome, Question, Stop};
use super::multipart::{Item, Multipart};
use super::range::{ContentRange, RemainingRanges};
use super::server::HttpServer;
use super::transport::Transport;
use crate::address::{Address, Scheme};
use crate::error::{Error, ErrorKind};
use crate::source::temporary_copy::disk_error;
use crate::source::{
    BothEnds, ConnectionEvent, ConnectionTag, FileEnd, FileInfo, RequestTag, ServerTraits,
};

/// So many bytes are read rather than reconnected for: as many as a cold connection carries in its
/// first round trips.
const DRAIN_BYTES_MAX: u64 = 256 << 10;

/// The step after a round.
pub enum Next {
    /// Another round, or the end.
    Again,
    /// The same once more: the bucket is somewhere else, the director wants to know who asks, or
    /// the size is known now.
    Moved,
    /// The server sends the whole file: here it is.
    TemporaryCopy(Response<Incoming>),
}

/// How the bytes of a body are placed in the file.
enum Reading {
    /// They follow each other.
    Run {
        rest: Range<u64>,
    },
    Parts(Multipart),
}

/// Whether the size that comes with a range may be that of the range itself: XRootD up to 4.8.5
/// says `bytes 0-0/1` of any file, and some servers say `*`.
fn is_doubtful(job: &Job, ask: &Ask, said: &ContentRange) -> bool {
    let Some(size) = said.size else { return true };
    let asked = match (&ask.hull, job.open) {
        (Some(hull), _) => Some(hull.end),
        (None, Some(FileEnd::Tail(bytes) | FileEnd::Both { head: bytes, .. })) => {
            Some(bytes.max(1))
        }
        (None, _) => None,
    };
    size == 0 || Some(size) == asked
}

/// Whether a refusal may be due to the credential.
pub fn is_of_who_asks(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

/// Events of one connection, for the driver.
pub struct EventSender {
    connection: ConnectionTag,
    events: UnboundedSender<(ConnectionTag, ConnectionEvent)>,
}

impl EventSender {
    pub fn new(
        connection: ConnectionTag,
        events: UnboundedSender<(ConnectionTag, ConnectionEvent)>,
    ) -> Self {
        EventSender { connection, events }
    }

    /// Dropped where the driver has ended.
    pub fn send(&self, event: ConnectionEvent) {
        let _ = self.events.send((self.connection, event));
    }
}

/// The parts of a connection that jobs work with.
pub struct Exchange<'a> {
    pub server: &'a HttpServer,
    pub transport: &'a Transport,
    pub driver: &'a EventSender,
}

impl Exchange<'_> {
    /// Does a job and answers it.
    ///
    /// # Errors
    /// The end of the connection; the job is not answered then.
    pub async fn perform(&self, mut job: Job) -> Result<RequestTag, Error> {
        let outcome = self.rounds(&mut job).await;
        self.answer(&mut job, outcome)?;
        // One that was left amid an answer.
        self.transport.connect().await?;
        Ok(job.request)
    }

    pub fn answer(&self, job: &mut Job, outcome: Outcome<()>) -> Result<(), Error> {
        let request = job.request;
        let event = match outcome {
            Ok(()) | Err(Stop::Cancelled) => ConnectionEvent::Done { request },
            Err(Stop::Failed(error)) => {
                ConnectionEvent::Failed { request, error: error.with_url(job.url().to_string()) }
            }
            Err(Stop::Redirected(url)) => ConnectionEvent::Redirected { request, url: *url },
            Err(Stop::Broken(error)) => return Err(error),
        };
        if !std::mem::replace(&mut job.answered, true) {
            self.driver.send(event);
        }
        Ok(())
    }

    async fn rounds(&self, job: &mut Job) -> Outcome<()> {
        match job.question {
            Some(Question::Checksum(algorithm)) => return self.checksum(job, algorithm).await,
            Some(Question::Locations) => return self.locations(job).await,
            Some(Question::Names) => return self.names(job).await,
            None => {}
        }
        let mut last = None;
        if !self.server.knows_ranges() {
            job.form = Form::Whole;
        }
        loop {
            job.stop_if_cancelled()?;
            if let Some(info) = self.server.info(&job.file) {
                self.apply(job, info);
            }
            if job.is_settled() {
                return Ok(());
            }
            if let Some(copy) = self.server.copy(&job.file) {
                return self.through_copy(job, &copy).await;
            }
            if job.form != Form::Several && matches!(job.open, Some(FileEnd::Both { .. })) {
                self.one_end_at_a_time(job);
            }
            let _turn = self.transport.turn().await?;
            job.stop_if_cancelled()?;
            let mut ask = job.ask(self.server.segments_max());
            if last.as_ref() == Some(&ask) && ask.count > 1 {
                job.form = Form::One;
                self.one_end_at_a_time(job);
                ask = job.ask(1);
            }
            if last.as_ref() == Some(&ask) {
                let text = "the server does not deliver the bytes that it was asked for";
                return Err(Error::new(ErrorKind::Io, text).into());
            }
            let next = self.round(job, &ask).await?;
            if let Next::Moved = next {
                continue;
            }
            if let Next::TemporaryCopy(response) = next {
                let (copy, new) = self.server.start_copy(&job.file).map_err(|e| disk_error(&e))?;
                if new {
                    self.note_copy(job, response.body().size_hint().exact());
                }
                match copy.claim() {
                    Some(writer) => return self.as_a_whole(job, &copy, writer, response).await,
                    None => self.transport.abandon(response).await,
                }
            }
            last = Some(ask);
        }
    }

    /// Sends a request for a job, and waits for the head of its answer.
    pub async fn ask(
        &self,
        job: &Job,
        request: &Request<RequestBody>,
    ) -> Outcome<Response<Incoming>> {
        let sent = || self.driver.send(ConnectionEvent::Sent { request: job.request });
        self.transport.send(request, &job.file, sent).await.map_err(Stop::Broken)
    }

    async fn round(&self, job: &mut Job, ask: &Ask) -> Outcome<Next> {
        let request = self.server.get(job.url(), ask.header.as_deref())?;
        let response = self.ask(job, &request).await?;
        let status = response.status();
        if job.open.is_some() {
            self.send_more(job, response.headers());
            if response.headers().contains_key(SELECTS) && !self.transport.is_at_pool() {
                self.send_traits(|traits| traits.selects = true);
            }
        }
        if self.is_refused_by_s3(job, &response) {
            return self.refused_by_s3(job, ask, &request, response).await;
        }
        match judge(&response) {
            Ok(Head::Range(content_range)) => {
                self.one_range(job, ask, response, content_range).await
            }
            Ok(Head::Parts(boundary)) => self.parts(job, ask, response, &boundary).await,
            Ok(Head::Whole) => self.whole(job, ask, response).await,
            Ok(Head::Unsatisfiable(Some(size))) => {
                self.discard(job.url(), response).await?;
                self.learn_size(job, size)?;
                if !job.is_settled() && job.ask(self.server.segments_max()) == *ask {
                    let text = "the server refuses bytes that lie within the file";
                    return self.refused(job, ask, status, Error::new(ErrorKind::Io, text));
                }
                Ok(Next::Again)
            }
            Ok(Head::Redirected(location)) => {
                let to = self.server.led_to(job.url(), &location)?;
                let to = entrusted(job.url(), to, response.headers());
                self.note_plain(job.url(), &to);
                self.discard(job.url(), response).await?;
                Err(Stop::Redirected(Box::new(to)))
            }
            Ok(Head::Unsatisfiable(None)) => {
                self.discard(job.url(), response).await?;
                let text = "the server has not got the bytes and does not say the file's size";
                self.refused(job, ask, status, Error::new(ErrorKind::Io, text))
            }
            // On a connection that reports it.
            Err(_) if asks_who(job.url(), status) && self.server.access.entrust() => {
                self.discard(job.url(), response).await?;
                self.transport.leave().await;
                Ok(Next::Moved)
            }
            Err(_)
                if is_of_who_asks(status)
                    && self.server.access.try_another(&Method::GET, job.url()) =>
            {
                self.discard(job.url(), response).await?;
                Ok(Next::Moved)
            }
            Err(error) => {
                if error.is_busy() && self.server.is_first_refusal() {
                    let name = &self.server.name;
                    self.driver.send(ConnectionEvent::Note(format!(
                        "{name} refuses requests beside others ({status}): it gets fewer at a time"
                    )));
                }
                let error = explained(error, job.url());
                let error =
                    self.server.access.explain(error, status, response.headers(), job.url());
                self.discard(job.url(), response).await?;
                self.refused(job, ask, status, error)
            }
        }
    }

    /// A redirection out of TLS, for the report.
    pub fn note_plain(&self, from: &Address, to: &Address) {
        if (from.scheme(), to.scheme()) == (Scheme::Https, Scheme::Http) {
            let host = to.host().unwrap_or_default();
            let server = &self.server.name;
            let text = format!("{server} sends on to {host} without TLS: bytes travel unencrypted");
            self.driver.send(ConnectionEvent::Note(text));
        }
    }

    /// The server has refused a request of this form: it may know a simpler one.
    ///
    /// # Errors
    /// The refusal, where no simpler form is left.
    pub fn refused(
        &self,
        job: &mut Job,
        ask: &Ask,
        status: StatusCode,
        error: Error,
    ) -> Outcome<Next> {
        if job.asks_both_ends() && may_be_their_number(status) {
            self.one_end_at_a_time(job);
        } else if ask.count > 1 && may_be_their_number(status) {
            job.form = Form::One;
            job.refused = Some(status);
        } else if ask.header.is_none() || !may_be_any_range(status) {
            return Err(error.into());
        } else if ask.hull.is_none() {
            self.no_suffixes(job);
        } else {
            job.form = Form::Whole;
        }
        Ok(Next::Again)
    }

    /// An answer of one range.
    async fn one_range(
        &self,
        job: &mut Job,
        ask: &Ask,
        response: Response<Incoming>,
        content_range: ContentRange,
    ) -> Outcome<Next> {
        let Some(range) = content_range.range.clone() else {
            return Err(Error::new(ErrorKind::Corrupt, "the server sends no range").into());
        };
        let both_ends = job.asks_both_ends();
        let known = self.server.info(&job.file).map(|info| info.size);
        let content_range = match known.is_some() && self.server.has_wrong_totals() {
            true => ContentRange { range: Some(range.clone()), size: None },
            false => content_range,
        };
        if known.is_none() && is_doubtful(job, ask, &content_range) {
            self.leave(job.url(), response).await;
            return self.second_size(job, content_range.size).await;
        }
        if let Some(size) = content_range.size.or(known) {
            self.learn(job, file_info(response.headers(), size)?)?;
        }
        if let Some(size) = content_range.size
            && range.end > size
            && (known.is_none() || ask.hull.as_ref().is_some_and(|hull| hull.end > size))
        {
            // XRootD 5 announces the requested range, whatever the file holds. Now that the size is
            // known, perhaps by another connection, the next round requests the right range.
            self.transport.abandon(response).await;
            return Ok(Next::Again);
        }
        let fits = match (&ask.hull, job.open, content_range.size) {
            (Some(hull), ..) if ask.count == 1 => {
                range.start == hull.start && range.end <= hull.end
            }
            (Some(hull), ..) => hull.start <= range.start && range.end <= hull.end,
            (None, Some(FileEnd::Tail(bytes)), Some(size)) => {
                range == (size.saturating_sub(bytes.max(1))..size)
            }
            (None, Some(FileEnd::Both { .. }), Some(size)) => range.end <= size,
            (None, ..) => false,
        };
        let length = response.body().size_hint().exact();
        if !fits || content_range.size.is_some_and(|size| range.end > size) {
            let asked = ask.header.as_deref().unwrap_or("the whole file");
            let text = format!(
                "the server sends bytes {}-{} when asked for {asked}",
                range.start, range.end
            );
            return Err(Error::new(ErrorKind::Corrupt, text).into());
        }
        if let Some(length) = length
            && length != range.end - range.start
        {
            let text = format!(
                "the server sends {length} bytes and calls them {}-{}",
                range.start, range.end
            );
            return Err(Error::new(ErrorKind::Corrupt, text).into());
        }
        if both_ends && range.end - range.start > job.owed().saturating_mul(2) {
            // The ends, and all between them.
            self.transport.abandon(response).await;
            self.one_end_at_a_time(job);
            return Ok(Next::Again);
        }
        self.deliver(job, response, Reading::Run { rest: range }).await?;
        if both_ends && !job.is_settled() {
            self.one_end_at_a_time(job);
            return Ok(Next::Again);
        }
        match job.refused.take() {
            // One range alone is served: it was their number.
            Some(status) if self.server.learn_refusal(status) => self.one_range_at_a_time(),
            None if ask.count > 1 && !job.is_settled() => self.one_range_at_a_time(),
            _ => {}
        }
        Ok(Next::Again)
    }

    /// Requests the size in another way: an answer to a request without a range has its length.
    async fn second_size(&self, job: &mut Job, said: Option<u64>) -> Outcome<Next> {
        // An empty file has no ranges, and addresses of S3 may be signed for one method.
        if said == Some(0) || self.server.is_s3(job.url()) {
            job.form = Form::Whole;
            job.doubted = said;
            return Ok(Next::Again);
        }
        let mut request = self.server.get(job.url(), None)?;
        *request.method_mut() = Method::HEAD;
        let response = self.ask(job, &request).await?;
        let headers = response.headers().clone();
        let length = headers.get(CONTENT_LENGTH).and_then(|text| text.to_str().ok()?.parse().ok());
        match (response.status(), length) {
            (StatusCode::OK, Some(size)) => {
                if said != Some(size) {
                    self.server.learn_wrong_totals();
                }
                // Answers without a range may have an ETag that others lack.
                self.learn_size(job, size)?;
                Ok(Next::Moved)
            }
            _ => {
                job.form = Form::Whole;
                job.doubted = said;
                Ok(Next::Again)
            }
        }
    }

    async fn parts(
        &self,
        job: &mut Job,
        ask: &Ask,
        response: Response<Incoming>,
        boundary: &str,
    ) -> Outcome<Next> {
        let both_ends = job.asks_both_ends();
        let hull = ask.hull.clone().or(both_ends.then_some(0..u64::MAX));
        let Some(hull) = hull else {
            let text = "the server sends several ranges when asked for the end of the file";
            return Err(Error::new(ErrorKind::Corrupt, text).into());
        };
        let owed = job.owed();
        // The version comes with the answer, the size with each part.
        if let Some(known) = self.server.info(&job.file) {
            let info = file_info(response.headers(), known.size)?;
            if info.says_less_than(&known) && ask.count > 1 {
                // Answers of one range may still have it.
                self.transport.abandon(response).await;
                self.one_range_at_a_time();
                return Ok(Next::Again);
            }
            self.learn(job, info)?;
        }
        let parser = Multipart::new(boundary, hull, ask.count);
        self.deliver(job, response, Reading::Parts(parser)).await?;
        if both_ends {
            match job.is_settled() {
                true => self.send_traits(|traits| traits.both_ends = BothEnds::Served),
                false => self.one_end_at_a_time(job),
            }
            return Ok(Next::Again);
        }
        if ask.count > 1 && job.owed() == owed {
            self.one_range_at_a_time();
        }
        Ok(Next::Again)
    }

    /// An answer that leaves the ranges aside: used where it is not much more than was requested.
    async fn whole(&self, job: &mut Job, ask: &Ask, response: Response<Incoming>) -> Outcome<Next> {
        let size = response.body().size_hint().exact();
        // Of an empty file there is no range.
        let is_as_said = job.doubted.is_some() && job.doubted == size;
        if ask.header.is_none() && size != Some(0) && !is_as_said {
            self.server.learn_no_ranges();
        }
        if let Some(size) = size
            && size / 2 <= job.owed()
        {
            self.learn(job, file_info(response.headers(), size)?)?;
            self.deliver(job, response, Reading::Run { rest: 0..size }).await?;
            return Ok(Next::Again);
        }
        if job.asks_both_ends() {
            if let Some(size) = size {
                self.learn(job, file_info(response.headers(), size)?)?;
            }
            self.transport.abandon(response).await;
            self.one_end_at_a_time(job);
            return Ok(Next::Again);
        }
        if ask.count > 1 {
            self.transport.abandon(response).await;
            self.one_range_at_a_time();
            return Ok(Next::Again);
        }
        if let (Some(size), 0) = (size, job.owed()) {
            self.learn(job, file_info(response.headers(), size)?)?;
            self.transport.abandon(response).await;
            return Ok(Next::Again);
        }
        match (&ask.hull, size) {
            (None, Some(size)) => {
                self.learn(job, file_info(response.headers(), size)?)?;
                self.no_suffixes(job);
                self.transport.abandon(response).await;
                Ok(Next::Again)
            }
            _ => Ok(Next::TemporaryCopy(response)),
        }
    }

    /// Hands a body on as it arrives.
    async fn deliver(
        &self,
        job: &mut Job,
        mut response: Response<Incoming>,
        mut reading: Reading,
    ) -> Outcome<()> {
        let headers = response.headers().clone();
        loop {
            if job.is_cancelled() && !self.is_nearly_over(&response) {
                self.transport.abandon(response).await;
                return Err(Stop::Cancelled);
            }
            match self.next_bytes(job.url(), &mut response).await? {
                Some(bytes) => self.take_in(job, &headers, &mut reading, bytes)?,
                None => break,
            }
        }
        let complete = match &reading {
            Reading::Run { rest } => rest.is_empty(),
            Reading::Parts(parser) => parser.is_complete(),
        };
        if !complete {
            let text = "the server's answer ends before the bytes that it announces";
            return Err(Error::new(ErrorKind::Corrupt, text).into());
        }
        job.stop_if_cancelled()
    }

    fn take_in(
        &self,
        job: &mut Job,
        headers: &HeaderMap,
        reading: &mut Reading,
        mut bytes: Bytes,
    ) -> Outcome<()> {
        match reading {
            Reading::Run { rest } => {
                if bytes.len() as u64 > rest.end - rest.start {
                    let text = "the server's answer is longer than it announces";
                    return Err(Error::new(ErrorKind::Corrupt, text).into());
                }
                let offset = rest.start;
                rest.start += bytes.len() as u64;
                self.hand_on(job, offset, &bytes);
            }
            Reading::Parts(parser) => {
                let wrong = |text: &str| {
                    let text =
                        format!("the server's answer of several ranges is malformed: {text}");
                    Error::new(ErrorKind::Corrupt, text)
                };
                while let Some(item) = parser.next(&mut bytes).map_err(wrong)? {
                    match item {
                        Item::Size(_) if self.server.has_wrong_totals() => {}
                        Item::Size(size) => self.learn(job, file_info(headers, size)?)?,
                        Item::Data { offset, bytes } => self.hand_on(job, offset, &bytes),
                        Item::Held(range) => {
                            let remaining = job.remaining.as_ref();
                            let bytes =
                                remaining.map_or(0, |remaining| remaining.bytes_within(&range));
                            self.send_progress(job, bytes);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    pub fn hand_on(&self, job: &mut Job, offset: u64, bytes: &Bytes) {
        if job.is_cancelled() {
            return;
        }
        let Some(remaining) = &mut job.remaining else { return };
        for (offset, bytes) in remaining.take(offset, bytes) {
            self.driver.send(ConnectionEvent::Data { request: job.request, offset, bytes });
        }
    }

    /// Bytes have come that the job will be answered with.
    pub fn send_progress(&self, job: &Job, bytes: u64) {
        if bytes > 0 {
            self.driver.send(ConnectionEvent::Progress { request: job.request, bytes });
        }
    }

    /// The next bytes of a body; `None` at its end.
    pub async fn next_bytes(
        &self,
        url: &Address,
        response: &mut Response<Incoming>,
    ) -> Outcome<Option<Bytes>> {
        loop {
            let frame = self.transport.within_read_timeout(response.body_mut().frame(), url).await;
            match frame.map_err(Stop::Broken)? {
                None => return Ok(None),
                // Trailers are passed over.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) if !bytes.is_empty() => return Ok(Some(bytes)),
                    _ => {}
                },
                Some(Err(error)) => return Err(self.cut(&error, url)),
            }
        }
    }

    /// HTTP/2 may lose one answer and keep the connection.
    fn cut(&self, error: &hyper::Error, url: &Address) -> Stop {
        let error = self.transport.broken(error, url);
        if self.server.http2 { Stop::Failed(error) } else { Stop::Broken(error) }
    }

    fn is_nearly_over(&self, response: &Response<Incoming>) -> bool {
        let left = response.body().size_hint().exact();
        !self.server.http2 && left.is_some_and(|left| left <= DRAIN_BYTES_MAX)
    }

    /// Reads an answer to its end and drops it.
    pub async fn discard(&self, url: &Address, mut response: Response<Incoming>) -> Outcome<()> {
        if !self.is_nearly_over(&response) {
            self.transport.abandon(response).await;
            return Ok(());
        }
        while self.next_bytes(url, &mut response).await?.is_some() {}
        Ok(())
    }

    /// As [`Exchange::discard`] of a body that may be shorter than announced: XRootD 5 announces
    /// the requested length, whatever the file holds.
    async fn leave(&self, url: &Address, mut response: Response<Incoming>) {
        while self.is_nearly_over(&response) {
            match self.next_bytes(url, &mut response).await {
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(_) => break,
            }
        }
        self.transport.abandon(response).await;
    }

    // ---- facts from answers ------------------------------------------------------------------

    fn learn(&self, job: &mut Job, seen: FileInfo) -> Outcome<()> {
        self.server.learn_info(&job.file, seen.clone(), |event| self.driver.send(event))?;
        self.apply(job, seen);
        Ok(())
    }

    fn learn_size(&self, job: &mut Job, size: u64) -> Outcome<()> {
        let seen = self.server.learn_size(&job.file, size, |event| self.driver.send(event))?;
        self.apply(job, seen);
        Ok(())
    }

    /// The size of the file settles which ranges are missing.
    pub fn apply(&self, job: &mut Job, info: FileInfo) {
        match (&mut job.remaining, job.open) {
            (Some(remaining), _) => remaining.clip(info.size),
            (none, Some(part)) => *none = Some(RemainingRanges::new(part.ranges(info.size))),
            (None, None) => {}
        }
        if job.open.is_some() && !std::mem::replace(&mut job.opened, true) {
            self.driver.send(ConnectionEvent::Opened { request: job.request, info });
        }
    }

    fn send_traits(&self, change: impl FnOnce(&mut ServerTraits)) {
        if let Some(traits) = self.server.learn_traits(change) {
            self.driver.send(ConnectionEvent::Traits(traits));
        }
    }

    /// The server may know other ranges than those from the end. The driver requests them, which
    /// has connections that carry them sooner than this one: here the size is enough.
    fn no_suffixes(&self, job: &mut Job) {
        self.send_traits(|traits| traits.suffix = false);
        job.remaining = Some(RemainingRanges::one(0..0));
    }

    /// The server does not send both ends of a file in one answer: the driver requests the last
    /// bytes, if it needs them.
    fn one_end_at_a_time(&self, job: &mut Job) {
        self.send_traits(|traits| traits.both_ends = BothEnds::Never);
        job.leave_tail();
    }

    fn one_range_at_a_time(&self) {
        self.send_traits(|traits| {
            traits.segments_max = 1;
            traits.one_range = true;
        });
    }
}
