//! Files served over XRootD: drives the sans-io client over a byte stream.

mod locate;
mod pages;
mod remembered;
mod session;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use xrootd::client::{Answer, Client, ClientConfig, Event, HowToRetry, RequestId};
use xrootd::error::{ErrorCode, RequestError, SessionError};
use xrootd::message::stat::StatInfo;
use xrootd::profile::{Authentication, HandleOrder, Profile, ReadvLimits, Start};
use xrootd::response::Redirect;

use self::pages::Pages;
use self::remembered::Remembered;
use self::session::{Asked, Early, Session};
use super::network::{Network, Stream};
use super::{FileInfo, FileRef, Link, Notice, RequestTag, Server, ServerTraits};
use crate::address::{Address, Way};
use crate::checksum::Checksum;
use crate::clock::sleep_until;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::store::{Notes, Store};

/// What one read of the socket takes at the most: several packets a call, and little enough that
/// a basket seldom lies across two.
const READ_BYTES: usize = 256 << 10;
/// A plain read that is cut no further: large enough to cost little, small enough to share.
const REQUEST_BYTES_MAX: u64 = 4 << 20;
/// What one more request costs an xrootd server, measured as the slope over their number.
const REQUEST_OVERHEAD: Duration = Duration::from_micros(50);

/// One XRootD data server or redirector.
pub struct XrootdServer {
    name: String,
    host: String,
    port: u16,
    config: ClientConfig,
    network: Arc<dyn Network>,
    /// What the server allows, as its connections have learnt it.
    profile: Mutex<Profile>,
    remembered: Remembered,
    pages: Arc<Pages>,
    /// A connection has sent everything at once, which tells what the server thinks of it.
    has_burst: AtomicBool,
    /// It answers opens without saying what the file is.
    opens_say_nothing: Arc<AtomicBool>,
    /// Somebody has asked for the limits of vectored reads.
    asked_limits: AtomicBool,
}

impl XrootdServer {
    pub fn new(url: &Address, config: &Config, network: Arc<dyn Network>) -> Result<Self> {
        let parsed = parts(url)?.clone();
        let user = parsed.user.as_deref().unwrap_or(&config.user);
        let mut client = ClientConfig::new(user, "farroot", std::process::id());
        client.silence_max = config.silence_timeout;
        let name = format!("root://{}", parsed.address());
        let store = Store::of(config);
        let notes = Notes::new(store.as_ref().map(Store::parent), "servers");
        let remembered = Remembered::new(notes, &format!("{user}@{name}"));
        let profile = remembered.profile();
        let pages = Arc::new(Pages::new(config.checksums));
        pages.learn(profile.flags);
        Ok(XrootdServer {
            name,
            host: parsed.host,
            port: parsed.port,
            config: client,
            network,
            profile: Mutex::new(profile),
            remembered,
            pages,
            has_burst: AtomicBool::new(false),
            opens_say_nothing: Arc::default(),
            asked_limits: AtomicBool::new(false),
        })
    }

    /// Of the connections to an unknown server, the first that has something to ask sends
    /// everything at once; those beside it ask politely, so that nothing is lost where the server
    /// wants to know who asks first.
    fn start(&self, has_questions: bool) -> Start {
        let profile = self.profile.lock();
        let known = profile.burst.is_some() || profile.authentication != Authentication::Unknown;
        if known || (has_questions && !self.has_burst.swap(true, Ordering::Relaxed)) {
            profile.start()
        } else {
            Start::Careful
        }
    }

    async fn converse(&self, link: &mut Link) -> Result<()> {
        // How to begin depends on whether there is anything to ask.
        let mut early = Early::default();
        let connecting = self.network.connect(&self.host, self.port);
        tokio::pin!(connecting);
        let mut stream = loop {
            tokio::select! {
                biased;
                command = link.commands.recv() => match command {
                    Some(command) => early.take(command, link),
                    None => return Ok(()),
                },
                stream = &mut connecting => break stream.map_err(|e| self.unreachable(&e))?,
            }
        };
        link.tell(Notice::Reached);
        let start = self.start(!early.commands.is_empty());
        let profile = self.profile.lock().clone();
        let client = Client::new(self.config.clone(), profile, start);
        let mut session = Session::new(client, self.pages.clone(), self.opens_say_nothing.clone());
        early.commands.into_iter().for_each(|command| session.command(command, link));
        self.transfer(&mut *stream, &mut session, link).await
    }

    async fn transfer(
        &self,
        stream: &mut dyn Stream,
        session: &mut Session,
        link: &mut Link,
    ) -> Result<()> {
        let (mut reader, mut writer) = tokio::io::split(stream);
        let (mut incoming, mut outgoing) = (BytesMut::new(), BytesMut::new());
        loop {
            // Commands that are there already leave together.
            while let Ok(command) = link.commands.try_recv() {
                session.command(command, link);
                session.tell_sent(link);
            }
            self.tell(session, link)?;
            while let Some(bytes) = session.client.poll_transmit(session.clock.now()) {
                outgoing.extend_from_slice(&bytes);
            }
            let wake = session.client.poll_timeout().map(|time| session.clock.instant(time));
            incoming.reserve(READ_BYTES);
            tokio::select! {
                biased;
                sent = writer.write(&outgoing), if !outgoing.is_empty() => {
                    outgoing.advance(sent.map_err(|e| self.broken(&e))?);
                }
                read = reader.read_buf(&mut incoming) => {
                    if read.map_err(|e| self.broken(&e))? == 0 {
                        session.client.handle_eof(session.clock.now());
                    } else {
                        let bytes = incoming.split().freeze();
                        // A broken protocol is told once more as the session's last event.
                        let _ = session.client.handle_bytes(session.clock.now(), bytes);
                    }
                }
                command = link.commands.recv() => match command {
                    Some(command) => session.command(command, link),
                    None => return Ok(()),
                },
                () = sleep_until(wake) => session.client.handle_timeout(session.clock.now()),
            }
        }
    }

    /// Passes on what the session tells, until it has nothing more to tell.
    fn tell(&self, session: &mut Session, link: &Link) -> Result<()> {
        session.tell_sent(link);
        while let Some(event) = session.client.poll_event() {
            match event {
                Event::SessionUp { .. } => {
                    self.learn(session);
                    link.tell(Notice::Connected);
                    if !self.asked_limits.swap(true, Ordering::Relaxed) {
                        session.ask_limits();
                    }
                }
                Event::SessionFailed { error, retry } => {
                    self.learn(session);
                    return Err(self.session_error(&error, retry));
                }
                Event::Notice { text } => {
                    link.tell(Notice::Note(format!("{} says: {text}", self.name)));
                }
                Event::Wait { time, why, .. } => {
                    link.tell(Notice::Wait(time));
                    link.tell(Notice::Note(format!(
                        "{} asked to wait {} s: {why}",
                        self.name,
                        time.as_secs()
                    )));
                }
                event => self.answer(session, link, event),
            }
        }
        Ok(())
    }

    /// Passes on what has become of a request.
    fn answer(&self, session: &mut Session, link: &Link, event: Event) {
        match event {
            Event::Opened { request, stat, .. } => {
                let (file, request) = match session.requests.remove(&request) {
                    Some(Asked::Open { request, file }) => (file, Some(request)),
                    Some(Asked::OpenForFetch { file }) => (file, None),
                    _ => return,
                };
                match stat {
                    // It was asked for together with the open.
                    _ if session.asks_stat(file.tag) => {}
                    Some(stat) => self.identify(session, link, &file, request, &stat),
                    None => session.ask_stat(file, request),
                }
            }
            Event::Data { request, offset, bytes, .. } => {
                if let Some(Asked::Read { request, file, .. }) = session.requests.get(&request) {
                    let (request, file) = (*request, file.tag);
                    session.tell(link, file, Notice::Data { request, offset, bytes });
                }
            }
            Event::Damaged { request, range, .. } => {
                if let Some(Asked::Read { request, file, .. }) = session.requests.get(&request) {
                    let (request, file) = (*request, file.tag);
                    self.pages.damaged(file, range.clone());
                    session.tell(link, file, Notice::Damaged { request, range });
                }
            }
            Event::Done { request } => {
                if let Some((request, file)) = session.finish(request) {
                    session.tell(link, file, Notice::Done { request });
                }
            }
            Event::Failed { request, error } => self.failed(session, link, request, &error),
            Event::Redirected { request, target } => {
                let failed = |file: &FileRef| {
                    let text = "the server does not say what the file is that it has opened";
                    Error::new(ErrorKind::Io, text)
                        .retryable(true)
                        .with_url(file.url.to_string())
                        .with_source(&*self.name)
                };
                if session.fail_stat(link, request, failed) {
                    return;
                }
                session.lost_file(request);
                if let Some((request, file)) = session.finish_with_file(request) {
                    link.tell(match redirected(&file.url, &target) {
                        Ok(url) => Notice::Redirected { request, url },
                        Err(error) => Notice::Failed { request, error },
                    });
                }
            }
            Event::Answer { request, answer } => self.plain_answer(session, link, request, answer),
            _ => {}
        }
    }

    /// Passes on that a request has failed.
    fn failed(&self, session: &mut Session, link: &Link, request: RequestId, error: &RequestError) {
        let failed = |file: &FileRef| self.request_error(error).with_url(file.url.to_string());
        if session.fail_stat(link, request, failed) {
            return;
        }
        session.lost_file(request);
        let unknown = pages::is_unknown(error) && session.is_checked(request);
        if unknown && self.pages.do_without() && session.read_unchecked(request) {
            return;
        }
        if let Some((request, file)) = session.finish_with_file(request) {
            let error = match unknown {
                true => pages::not_offered().with_source(&*self.name),
                false => self.request_error(error),
            };
            let error = error.with_url(file.url.to_string());
            session.drop_held(request);
            link.tell(Notice::Failed { request, error });
        }
    }

    /// What a file is has been told.
    fn identify(
        &self,
        session: &mut Session,
        link: &Link,
        file: &FileRef,
        request: Option<RequestTag>,
        stat: &StatInfo,
    ) {
        match file_info(stat) {
            Ok(info) => session.identified(link, file, info, request),
            Err(error) => {
                let error = error.with_url(file.url.to_string()).with_source(&*self.name);
                session.fail_file(link, file, request, &error);
            }
        }
    }

    /// Passes on the answer to a question that reads no file.
    fn plain_answer(&self, session: &mut Session, link: &Link, request: RequestId, answer: Answer) {
        match session.requests.remove(&request) {
            Some(Asked::Limits) => {
                self.learn(session);
                link.tell(Notice::Traits(self.traits()));
            }
            Some(Asked::Stat { request, file }) => {
                if let Answer::Stat(stat) = answer {
                    self.identify(session, link, &file, request, &stat);
                }
            }
            Some(Asked::Check { file, id }) => {
                let now = match answer {
                    Answer::Stat(stat) => file_info(&stat).ok(),
                    _ => None,
                };
                session.checked(&file, id, now);
            }
            Some(Asked::List { request, .. }) => {
                session.tags.remove(&request);
                if let Answer::Entries(entries) = answer {
                    let names = entries.into_iter().map(|entry| entry.name).collect();
                    link.tell(Notice::Listed { request, names });
                }
                link.tell(Notice::Done { request });
            }
            Some(Asked::Locate { request, file }) => {
                session.tags.remove(&request);
                if let Answer::Locations(found) = answer {
                    let places = found.iter().filter_map(|place| locate::place(&file.url, place));
                    link.tell(Notice::Located { request, places: places.collect() });
                }
                link.tell(Notice::Done { request });
            }
            Some(Asked::Checksum { request, file }) => {
                session.tags.remove(&request);
                link.tell(match checksum_of(&answer) {
                    Ok(checksum) => {
                        link.tell(Notice::Checksum { request, checksum });
                        Notice::Done { request }
                    }
                    Err(error) => {
                        let url = file.url.to_string();
                        let error = error.with_url(url).with_source(&*self.name);
                        Notice::Failed { request, error }
                    }
                });
            }
            _ => {}
        }
    }

    /// Adds what a session has learnt; what it does not know it does not erase.
    fn learn(&self, session: &Session) {
        let learnt = session.client.profile();
        let mut profile = self.profile.lock();
        let before = profile.clone();
        if learnt.authentication != Authentication::Unknown {
            profile.authentication = learnt.authentication.clone();
        }
        if learnt.handles != HandleOrder::Unknown {
            profile.handles = learnt.handles;
        }
        if learnt.readv != ReadvLimits::default() {
            profile.readv = learnt.readv;
        }
        profile.burst = learnt.burst.or(profile.burst);
        profile.cuts = match learnt.burst {
            Some(true) => learnt.cuts,
            // A session that began before the cut knows nothing of it.
            _ => learnt.cuts.max(profile.cuts),
        };
        profile.version = learnt.version.or(profile.version);
        profile.flags = learnt.flags.or(profile.flags);
        self.pages.learn(profile.flags);
        self.remembered.learn(&before, &profile);
    }

    fn unreachable(&self, error: &std::io::Error) -> Error {
        Error::from_io(error)
            .with_source(&*self.name)
            .with_advice("check the address, or whether the server is up")
    }

    fn broken(&self, error: &std::io::Error) -> Error {
        Error::from_io(error).retryable(true).with_source(&*self.name)
    }

    fn session_error(&self, error: &SessionError, retry: HowToRetry) -> Error {
        let kind = match error {
            SessionError::Silent(_) => ErrorKind::TimedOut,
            SessionError::Protocol(_) => ErrorKind::Io,
            SessionError::NoAuthentication { .. } | SessionError::AuthenticationFirst { .. } => {
                ErrorKind::Unauthenticated
            }
            SessionError::TlsRequired => ErrorKind::Unsupported,
            SessionError::Refused { .. } => ErrorKind::PermissionDenied,
            _ => ErrorKind::Connection,
        };
        Error::new(kind, self.with_user(kind, error.to_string()))
            .retryable(self.may_recover(error) || !matches!(retry, HowToRetry::No))
            .with_source(&*self.name)
    }

    /// A refusal depends on who asks.
    fn with_user(&self, kind: ErrorKind, text: String) -> String {
        match kind {
            ErrorKind::PermissionDenied | ErrorKind::Unauthenticated => {
                format!("{text}; it was asked as user {:?}", self.config.user)
            }
            _ => text,
        }
    }

    /// A new session may fare better. What a server says once that makes no sense need not be said
    /// again, but one that has never made sense is no such server.
    fn may_recover(&self, error: &SessionError) -> bool {
        let slip = matches!(error, SessionError::Protocol(_));
        error.is_retryable() || (slip && self.profile.lock().version.is_some())
    }

    fn request_error(&self, error: &RequestError) -> Error {
        let RequestError::Server(refused) = error else {
            let kind = match error {
                RequestError::TimedOut | RequestError::WaitedTooLong(_) => ErrorKind::TimedOut,
                RequestError::Session(_) => ErrorKind::Connection,
                _ => ErrorKind::Io,
            };
            let retryable = match error {
                RequestError::Session(error) => self.may_recover(error),
                error => error.is_retryable(),
            };
            return Error::new(kind, error.to_string())
                .retryable(retryable)
                .with_source(&*self.name);
        };
        let kind = match refused.code {
            ErrorCode::NOT_FOUND | ErrorCode::NO_REPLICAS => ErrorKind::NotFound,
            ErrorCode::NOT_AUTHORIZED => ErrorKind::PermissionDenied,
            ErrorCode::AUTH_FAILED => ErrorKind::Unauthenticated,
            ErrorCode::TLS_REQUIRED | ErrorCode::UNSUPPORTED => ErrorKind::Unsupported,
            ErrorCode::IS_DIRECTORY | ErrorCode::NOT_FILE => ErrorKind::InvalidArgument,
            _ => ErrorKind::Io,
        };
        Error::new(kind, self.with_user(kind, refused.to_string()))
            .retryable(refused.code.is_retryable())
            .with_source(&*self.name)
    }
}

impl Server for XrootdServer {
    fn name(&self) -> &str {
        &self.name
    }

    fn traits(&self) -> ServerTraits {
        let limits = self.profile.lock().readv;
        ServerTraits {
            segments_max: if self.pages.are_demanded() { 1 } else { limits.segments_max },
            segment_bytes_max: limits.segment_bytes_max,
            request_bytes_max: REQUEST_BYTES_MAX,
            pipelined: true,
            suffix: false,
            request_overhead: REQUEST_OVERHEAD,
            local: false,
            connections_max: None,
            checksums: self.pages.are_offered(),
            one_range: false,
        }
    }

    fn run(self: Arc<Self>, mut link: Link) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let error = self.converse(&mut link).await.err();
            link.tell(Notice::Disconnected { error });
        })
    }
}

fn file_info(stat: &StatInfo) -> Result<FileInfo> {
    FileInfo::new(stat.size, Some(stat.mtime), Some(stat.id.clone()))
}

fn checksum_of(answer: &Answer) -> Result<Checksum> {
    match answer {
        Answer::Text(text) => text.parse(),
        _ => Err(Error::new(ErrorKind::Corrupt, "the server answers no checksum")),
    }
}

/// The protocol's own parts of an address.
fn parts(url: &Address) -> Result<&xrootd::url::Url> {
    url.to_xrootd().ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, "not an address of an XRootD server")
            .with_url(url.to_string())
    })
}

/// Where a file is after a redirection: the target's host with the file's own path, unless the
/// target is a whole address.
fn redirected(file: &Address, target: &Redirect) -> Result<Address> {
    let next = target.follow(parts(file)?).map_err(|error| {
        Error::new(ErrorKind::Io, format!("sent to an address that cannot be read: {error}"))
            .with_url(file.to_string())
    })?;
    file.led_to(&next.to_string(), Way::Redirect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirection_keeps_the_path_and_takes_the_opaque_part() {
        let target = Redirect::to_host("ds1", 33161, Some("tried=a"));
        let from = Address::parse("root://redirector:1094//store/f.root?x=1").unwrap();
        let url = redirected(&from, &target).unwrap();
        assert_eq!(url.host(), Some("ds1"));
        assert_eq!(url.port(), Some(33161));
        assert!(url.as_str().contains("//store/f.root?x=1&tried=a"), "{url}");
    }
}
