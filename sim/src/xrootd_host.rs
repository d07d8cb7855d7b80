//! A simulated XRootD data server: the served side of the protocol over simulated links.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use mutex::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use xrootd::error::ErrorCode;
use xrootd::header::Handle;
use xrootd::message::locate::Location;
use xrootd::message::login::SessionId;
use xrootd::message::open::OpenOptions;
use xrootd::message::protocol::ServerFlags;
use xrootd::message::query::QueryKind;
use xrootd::message::readv::Segment;
use xrootd::message::stat::{StatFlags, StatInfo};
use xrootd::message::{Read, Request};
use xrootd::response::Redirect;
use xrootd::server::{Served, Server, ServerConfig, Tag, config_answer};

use crate::bound::{self, Cut, Cutter, Paths};
use crate::disk::Disks;
use crate::guard::{Guard, Host};
use crate::link::End;
use crate::{Files, adler32};

/// Answers to reads that never end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// The right bytes, one a second.
    Drip,
    /// kXR_oksofar without bytes.
    EmptyParts,
    /// Messages for people.
    Notices,
}

/// A simulated server's behaviour besides serving.
#[derive(Debug, Clone, Default)]
pub struct Behaviour {
    /// Answers reads so.
    pub lies: Option<Lie>,
    /// Opens, reads and questions about files that have come so far, shared by those that have it.
    pub seen: Arc<AtomicU64>,
    /// Closes every connection after so many answered reads.
    pub dies_after_reads: Option<u32>,
    /// Answers nothing any more after so many answered reads.
    pub hangs_after_reads: Option<u32>,
    /// Closes this many connections as soon as they have sent anything.
    pub cuts: u32,
    /// Answers opens without the size, as servers of version 3 and proxies may.
    pub opens_without_stat: bool,
    /// Sends every open to the first of these that has not been tried; where there are none left,
    /// nowhere.
    pub redirects_to: Vec<(String, u16)>,
    /// Says of the servers in `redirects_to` that they are redirectors.
    pub locates_redirectors: bool,
    /// Does not answer which servers have a file; a client has to open it to know.
    pub locates_nothing: bool,
    /// Answers nothing, as a stopped process does; the kernel goes on taking connections.
    pub stopped: bool,
    /// Refuses every read with this error.
    pub fails_reads: Option<ErrorCode>,
    /// Answers every read with so many bytes fewer than requested.
    pub shortens_reads: usize,
    /// Answers every read with so many bytes more than requested.
    pub lengthens_reads: usize,
    /// Answers under another request's name.
    pub mixes_up_requests: bool,
    /// Says that it offers reads with checksums.
    pub offers_checksums: bool,
    /// And answers them with this error all the same.
    pub refuses_checksums: Option<ErrorCode>,
    /// One bit in so many bytes that it sends in large pieces is wrong; in its memory, or on the
    /// way.
    pub damages_every: Option<u64>,
    /// Says this of every file's checksum instead of the truth.
    pub checksum: Option<String>,
    /// Makes every open wait first, as long as this and no longer.
    pub waits: Option<Duration>,
    /// Has these files instead, for all that are opened from now on.
    pub replaced_by: Option<Files>,
    /// And for those that are open: their bytes have been written over.
    pub overwritten: bool,
    /// Refuses to describe an open file.
    pub knows_no_handles: bool,
    /// Reports this of files in answers to opens and stats, instead of the truth.
    pub says: Claims,
    /// The credentials that it wants at login.
    pub guard: Guard,
    /// Time to serve one request; requests of one connection are served one after another, as
    /// xrootd does.
    pub service: Duration,
    /// Where its files are; without disks, in memory.
    pub disks: Option<Arc<Disks>>,
    /// Files that clients write, present from their open on; `None`: writes are refused.
    pub takes: Option<TakenFiles>,
}

/// Files that clients have written, by path.
pub type TakenFiles = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// A server's false statements about its files.
#[derive(Debug, Clone, Default)]
pub struct Claims {
    /// Seconds since 1970.
    pub modified: Option<i64>,
    pub id: Option<String>,
    pub size: Option<u64>,
}

/// The behaviour of a server can be changed while it serves.
pub type Control = Arc<Mutex<Behaviour>>;

/// Serves `files` to every connection that comes, until the world ends.
pub fn serve(
    mut accepted: mpsc::UnboundedReceiver<End>,
    files: Files,
    behaviour: Behaviour,
) -> Control {
    let control = Arc::new(Mutex::new(behaviour));
    let behaviour = control.clone();
    tokio::spawn(async move {
        let waited = Arc::new(Mutex::new(BTreeSet::new()));
        let sent = Arc::new(AtomicU64::new(0));
        let paths = Paths::default();
        let mut session = 0u8;
        while let Some(end) = accepted.recv().await {
            session = session.wrapping_add(1);
            if u32::from(session) <= behaviour.lock().cuts {
                tokio::spawn(cut(end));
                continue;
            }
            let cutter = behaviour.lock().takes.is_some().then(Cutter::default);
            let connection = Connection {
                number: session,
                server: Server::new(introduction(session, &behaviour.lock())),
                files: files.clone(),
                behaviour: behaviour.clone(),
                open: BTreeMap::new(),
                writing: BTreeMap::new(),
                reads: 0,
                token: None,
                sent: sent.clone(),
                waited: waited.clone(),
                cutter,
                paths: paths.clone(),
            };
            tokio::spawn(connection.run(end));
        }
    });
    control
}

/// The description of the server in a connection of this number.
fn introduction(number: u8, behaviour: &Behaviour) -> ServerConfig {
    let Behaviour { guard, offers_checksums, takes, .. } = behaviour;
    let mut config = ServerConfig::data_server(SessionId([number; 16]));
    if *offers_checksums {
        config.flags = config.flags | ServerFlags::CHECKSUMMED_PAGES;
    }
    if takes.is_some() {
        config.write_bytes_max = WRITE_BYTES_MAX;
    }
    if guard.is_buffering {
        config.version = 0x500;
    }
    (config.tls, config.security) = (guard.tls, guard.offers.to_owned());
    config
}

/// Longest write that the server accepts: longer than any write of the client.
const WRITE_BYTES_MAX: u32 = 8 << 20;

/// Answers of fewer bytes travel with others, and their heads, in one piece.
const LARGE_BYTES: usize = 4096;

/// How often a stopped server looks whether it may go on.
const STOPPED_LOOKS: Duration = Duration::from_millis(50);

fn is_about_a_file(request: &Request) -> bool {
    matches!(
        request,
        Request::Open(_)
            | Request::Read(_)
            | Request::Readv(_)
            | Request::Pgread(_)
            | Request::Stat(_)
    )
}

/// The first range that a read requests.
fn reads(request: &Request) -> Option<Segment> {
    match request {
        Request::Read(Read { handle, offset, length, .. }) => {
            Some(Segment { handle: *handle, offset: *offset, length: *length })
        }
        Request::Readv(readv) => readv.segments.first().copied(),
        _ => None,
    }
}

/// Ends a connection with its first bytes.
async fn cut(mut end: End) {
    let _ = end.read_u8().await;
}

/// A file as it was when it was opened.
struct Opened {
    path: String,
    content: Bytes,
    stat: StatInfo,
}

/// A connection, within TLS or not.
trait Pipe: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Pipe for T {}

struct Connection {
    /// Counted from one.
    number: u8,
    server: Server,
    files: Files,
    behaviour: Control,
    open: BTreeMap<Handle, Opened>,
    /// Paths of files that the client writes.
    writing: BTreeMap<Handle, String>,
    reads: u32,
    /// The token that was good when the client logged in.
    token: Option<&'static str>,
    /// Bytes sent in large pieces, over all connections.
    sent: Arc<AtomicU64>,
    /// Paths whose opens have been made to wait.
    waited: Arc<Mutex<BTreeSet<String>>>,
    /// Takes writes out whose bytes come on other connections, where it takes any.
    cutter: Option<Cutter>,
    paths: Paths,
}

impl Connection {
    async fn run(mut self, mut end: End) {
        let Some(rest) = self.serve(&mut end).await else { return };
        let Guard { host, resets, is_buffering, .. } = self.behaviour.lock().guard.clone();
        let Some(Host(acceptor)) = host.filter(|_| !resets.contains(&self.number)) else { return };
        let rest = if is_buffering { Bytes::new() } else { rest };
        let (reader, writer) = tokio::io::split(end);
        let reader = AsyncReadExt::chain(std::io::Cursor::new(rest), reader);
        let Ok(mut within) = acceptor.accept(tokio::io::join(reader, writer)).await else { return };
        self.serve(&mut within).await;
    }

    /// Serves until TLS begins, and returns its first bytes; none at the end.
    async fn serve(&mut self, end: &mut impl Pipe) -> Option<Bytes> {
        let mut buffer = BytesMut::new();
        loop {
            buffer.reserve(64 << 10);
            if end.read_buf(&mut buffer).await.ok()? == 0 {
                return None;
            }
            let come = buffer.split().freeze();
            let cuts = match &mut self.cutter {
                Some(cutter) => cutter.cut(come),
                None => vec![Cut::Bytes(come)],
            };
            for cut in cuts {
                match cut {
                    Cut::Bytes(bytes) => {
                        if let Some(rest) = self.take_bytes(bytes, end).await? {
                            return Some(rest);
                        }
                    }
                    Cut::Bind { stream, session } => {
                        let taken = self.behaviour.lock().takes.clone()?;
                        let path = bound::add(&self.paths, session);
                        bound::carry(end, stream, path, taken).await;
                        return None;
                    }
                    Cut::Write { path, handle, mut write } => {
                        write.file = self.writing.get(&handle)?.clone();
                        bound::expect(&self.paths, self.number, path, write);
                    }
                }
            }
        }
    }

    /// Serves what these bytes request; the first bytes of TLS, where that begins. None at the end.
    async fn take_bytes(&mut self, bytes: Bytes, end: &mut impl Pipe) -> Option<Option<Bytes>> {
        let taken = self.server.handle_bytes(Duration::ZERO, bytes);
        // A client hears why, too, where that ends the session.
        self.send(end).await;
        taken.ok()?;
        while let Some(served) = self.server.poll_event() {
            match served {
                Served::StartTls { rest } => return Some(Some(rest)),
                Served::Login(_) | Served::WriteRefused { .. } => {}
                Served::Request { tag, request } => self.take(tag, request, end).await?,
            }
            self.send(end).await;
        }
        Some(None)
    }

    /// Serves a request; none where the connection is to end.
    async fn take(&mut self, tag: Tag, request: Request, end: &mut impl Pipe) -> Option<()> {
        if let Request::Auth(auth) = &request {
            let accepts = self.behaviour.lock().guard.accepts(self.number, auth);
            match accepts {
                true => {
                    self.token = Some(self.behaviour.lock().guard.token);
                    self.server.answer_done(tag);
                }
                false => self.refuse(tag, ErrorCode::AUTH_FAILED, "token expired"),
            }
            // A request that waited behind it may end the session, which has to hear of this
            // before.
            let waited = self.server.handle_room(Duration::ZERO);
            self.send(end).await;
            return waited.ok();
        }
        if is_about_a_file(&request) {
            self.behaviour.lock().seen.fetch_add(1, Ordering::Relaxed);
        }
        let Behaviour { service, dies_after_reads, hangs_after_reads, .. } =
            self.behaviour.lock().clone();
        if !service.is_zero() {
            tokio::time::sleep(service).await;
        }
        while self.behaviour.lock().stopped {
            tokio::time::sleep(STOPPED_LOOKS).await;
        }
        if dies_after_reads.is_some_and(|reads| self.reads >= reads) || self.has_expired() {
            return None;
        }
        if hangs_after_reads.is_some_and(|reads| self.reads >= reads) {
            std::future::pending::<()>().await;
        }
        self.read_disks(&request).await;
        let lies = self.behaviour.lock().lies;
        match (lies, reads(&request)) {
            (Some(lie), Some(read)) => self.lie(lie, tag, read, end).await,
            _ => {
                if let Some(request) = self.take_written(tag, request) {
                    self.answer(tag, request);
                }
            }
        }
        Some(())
    }

    /// Waits until the disks have read the requested ranges, one after the other.
    async fn read_disks(&self, request: &Request) {
        let Some(disks) = self.behaviour.lock().disks.clone() else { return };
        let segments = match request {
            Request::Readv(readv) => readv.segments.clone(),
            _ => reads(request).into_iter().collect(),
        };
        let Some(file) = segments.first().and_then(|first| self.open.get(&first.handle)) else {
            return;
        };
        // The position among all files distinguishes them.
        let number = self.files.range(..file.path.clone()).count() as u64;
        let range = |segment: &Segment| segment.offset..segment.offset + u64::from(segment.length);
        disks.read(number, segments.iter().map(range)).await;
    }

    /// Whether this connection's login holds no more. From the first such on another token is good.
    fn has_expired(&mut self) -> bool {
        let guard = &mut self.behaviour.lock().guard;
        let Some((reads, token)) = guard.expires else { return false };
        let expired = self.reads >= reads && self.token != Some(token);
        if expired {
            guard.token = token;
        }
        expired
    }

    /// Answers a read without ever answering it.
    async fn lie(&mut self, lie: Lie, tag: Tag, read: Segment, end: &mut impl Pipe) {
        for at in 0.. {
            match lie {
                Lie::Drip if at == read.length => return self.server.answer_done(tag),
                Lie::Drip => {
                    let byte = self.range(read.handle, read.offset + u64::from(at), 1);
                    self.server.answer_data(tag, byte.unwrap_or_default(), true);
                }
                Lie::EmptyParts => self.server.answer_data(tag, Bytes::new(), true),
                Lie::Notices => self.server.notify("one moment, please"),
            }
            self.send(end).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    async fn send(&mut self, end: &mut impl Pipe) {
        while let Some(mut bytes) = self.server.poll_transmit() {
            if self.reads > 0 && self.behaviour.lock().mixes_up_requests && bytes.len() >= 8 {
                let mut other = BytesMut::from(&bytes[..]);
                other[0] ^= 0x55;
                bytes = other.freeze();
            }
            let damages = self.behaviour.lock().damages_every;
            if let Some(every) = damages.filter(|_| bytes.len() >= LARGE_BYTES) {
                bytes = self.damaged(bytes, every);
            }
            while bytes.has_remaining() {
                let Ok(sent) = end.write(&bytes).await else { return };
                bytes.advance(sent);
            }
        }
        // TLS keeps bytes that have not been flushed; an end shows with the next read.
        let _ = end.flush().await;
    }

    /// The bytes as they arrive, one bit in so many of which is wrong.
    fn damaged(&self, bytes: Bytes, every: u64) -> Bytes {
        let before = self.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let mut copy = BytesMut::from(&bytes[..]);
        let mut at = every - before % every;
        while at <= copy.len() as u64 {
            copy[at as usize - 1] ^= 0x10;
            at += every;
        }
        copy.freeze()
    }

    fn answer(&mut self, tag: Tag, request: Request) {
        match request {
            Request::Open(open) => self.answer_open(tag, &open.path),
            Request::Read(read) => {
                self.reads += 1;
                let (fails_reads, shortens_reads, lengthens_reads) = {
                    let behaviour = self.behaviour.lock();
                    (behaviour.fails_reads, behaviour.shortens_reads, behaviour.lengthens_reads)
                };
                if let Some(code) = fails_reads {
                    return self.refuse(tag, code, "as scripted");
                }
                let length =
                    (read.length as usize).saturating_sub(shortens_reads) + lengthens_reads;
                match self.range(read.handle, read.offset, length as u32) {
                    Some(bytes) => self.server.answer_data(tag, bytes, false),
                    None => self.refuse(tag, ErrorCode::FILE_NOT_OPEN, "file not open"),
                }
            }
            Request::Pgread(read) => {
                self.reads += 1;
                let behaviour = self.behaviour.lock().clone();
                let code = behaviour.refuses_checksums.or(behaviour.fails_reads);
                if let Some(code) = code {
                    return self.refuse(tag, code, "as scripted");
                }
                match self.range(read.handle, read.offset, read.length) {
                    Some(bytes) => self.server.answer_pages(tag, read.offset, &bytes, false),
                    None => self.refuse(tag, ErrorCode::FILE_NOT_OPEN, "file not open"),
                }
            }
            Request::Readv(readv) => {
                self.reads += 1;
                let fails_reads = self.behaviour.lock().fails_reads;
                if let Some(code) = fails_reads {
                    return self.refuse(tag, code, "as scripted");
                }
                let record = |segment: &Segment| {
                    let bytes = self.range(segment.handle, segment.offset, segment.length)?;
                    // A vector read beyond the end fails as a whole, as on a real server.
                    let whole = bytes.len() == segment.length as usize;
                    whole.then_some((segment.handle, segment.offset, bytes))
                };
                let records: Option<Vec<_>> = readv.segments.iter().map(record).collect();
                match records {
                    Some(records) => self.server.answer_readv(tag, &records, false),
                    None => self.refuse(tag, ErrorCode::FS_ERROR, "read beyond the end"),
                }
            }
            Request::Close(close) => {
                self.open.remove(&close.handle);
                self.server.answer_done(tag);
            }
            Request::Query(query) if query.kind == QueryKind::CHECKSUM => {
                self.answer_checksum(tag, &query.argument);
            }
            Request::Query(query) => {
                let text = config_answer(&query.argument, &|key| match key {
                    "readv_iov_max" => Some("1024".into()),
                    "readv_ior_max" => Some("2097136".into()),
                    _ => None,
                });
                self.server.answer_text(tag, &text);
            }
            Request::Locate(_) => self.answer_locate(tag),
            Request::Stat(stat) if stat.path.is_empty() => self.answer_fstat(tag, stat.handle),
            Request::Stat(stat) => self.answer_stat(tag, &stat.path),
            Request::Ping(_) | Request::Endsess(_) => self.server.answer_done(tag),
            _ => self.refuse(tag, ErrorCode::UNSUPPORTED, "not simulated"),
        }
    }

    /// Answers requests on files that the client writes; returns any other request.
    fn take_written(&mut self, tag: Tag, request: Request) -> Option<Request> {
        let Some(taken) = self.behaviour.lock().takes.clone() else { return Some(request) };
        let mut files = taken.lock();
        match &request {
            Request::Open(open) if open.options.contains(OpenOptions::UPDATE) => {
                let path = open.path.split('?').next().unwrap_or_default().to_owned();
                if open.options.contains(OpenOptions::NEW) && files.contains_key(&path) {
                    self.refuse(tag, ErrorCode::ITEM_EXISTS, "it is there");
                    return None;
                }
                let file = files.entry(path.clone()).or_default();
                let stat = self.stat_of(&Bytes::copy_from_slice(file));
                let is_free = |handle: &Handle| !self.writing.contains_key(handle);
                let handle = (0..).map(Handle::from_slot).find(is_free).unwrap_or_default();
                self.writing.insert(handle, path);
                self.server.answer_open(tag, handle, Some(&stat));
            }
            Request::Write(write) => {
                let Some(path) = self.writing.get(&write.handle) else { return Some(request) };
                bound::put(&mut files, path, write.offset as usize, &write.bytes);
                self.server.answer_done(tag);
            }
            Request::Sync(sync) if self.writing.contains_key(&sync.handle) => {
                self.server.answer_done(tag);
            }
            Request::Close(close) if self.writing.remove(&close.handle).is_some() => {
                self.server.answer_done(tag);
            }
            Request::Query(query) if query.kind == QueryKind::CHECKSUM => {
                let Some(file) = files.get(&*query.argument) else { return Some(request) };
                self.server.answer_text(tag, &adler32(file).to_string());
            }
            Request::Mv(mv) => match files.remove(&mv.from) {
                Some(file) => {
                    files.insert(mv.to.clone(), file);
                    self.server.answer_done(tag);
                }
                None => self.refuse(tag, ErrorCode::NOT_FOUND, "no such file"),
            },
            _ => return Some(request),
        }
        None
    }

    fn answer_checksum(&mut self, tag: Tag, path: &str) {
        let said = self.behaviour.lock().checksum.clone();
        match said {
            Some(said) => self.server.answer_text(tag, &said),
            None => match self.file(path) {
                Some(content) => self.server.answer_text(tag, &adler32(&content).to_string()),
                None => self.refuse(tag, ErrorCode::NOT_FOUND, "no such file"),
            },
        }
    }

    fn answer_stat(&mut self, tag: Tag, path: &str) {
        match self.file(path) {
            Some(content) => {
                let stat = self.stat_of(&content);
                self.server.answer_stat(tag, &stat);
            }
            None => self.refuse(tag, ErrorCode::NOT_FOUND, "no such file"),
        }
    }

    fn answer_fstat(&mut self, tag: Tag, handle: Handle) {
        let Behaviour { overwritten, knows_no_handles, .. } = self.behaviour.lock().clone();
        let stat = self.open.get(&handle).filter(|_| !knows_no_handles).map(|opened| {
            let now = self.file(&opened.path).filter(|_| overwritten);
            now.map_or_else(|| opened.stat.clone(), |now| self.stat_of(&now))
        });
        match stat {
            Some(stat) => self.server.answer_stat(tag, &stat),
            None => self.refuse(tag, ErrorCode::UNSUPPORTED, "not of handles"),
        }
    }

    fn answer_open(&mut self, tag: Tag, path: &str) {
        let Behaviour { redirects_to, opens_without_stat, waits, .. } =
            self.behaviour.lock().clone();
        if !redirects_to.is_empty() {
            return self.redirect(tag, path, &redirects_to);
        }
        if let Some(time) = waits.filter(|_| self.waited.lock().insert(path.to_owned())) {
            return self.server.answer_wait(tag, time, "as scripted");
        }
        let Some(content) = self.file(path) else {
            return self.refuse(tag, ErrorCode::NOT_FOUND, "no such file");
        };
        let free = (0..).map(Handle::from_slot).find(|handle| !self.open.contains_key(handle));
        let handle = free.unwrap_or(Handle::from_slot(0));
        let stat = self.stat_of(&content);
        let said = Some(&stat).filter(|_| !opens_without_stat);
        self.server.answer_open(tag, handle, said);
        self.open.insert(handle, Opened { path: path.to_owned(), content, stat });
    }

    fn redirect(&mut self, tag: Tag, path: &str, servers: &[(String, u16)]) {
        let cgi = path.split_once('?').map_or("", |(_, cgi)| cgi);
        let tried = cgi.split('&').find_map(|part| part.strip_prefix("tried="));
        let tried: Vec<&str> = tried.unwrap_or_default().split(',').collect();
        match servers.iter().find(|(host, _)| !tried.contains(&host.as_str())) {
            Some((host, port)) => {
                self.server.answer_redirect(tag, &Redirect::to_host(host, *port, None));
            }
            None => self.refuse(tag, ErrorCode::NO_REPLICAS, "no others have the file"),
        }
    }

    fn answer_locate(&mut self, tag: Tag) {
        let behaviour = self.behaviour.lock().clone();
        let Behaviour { redirects_to, locates_nothing, locates_redirectors, .. } = behaviour;
        if locates_nothing || redirects_to.is_empty() {
            return self.refuse(tag, ErrorCode::UNSUPPORTED, "not here");
        }
        let place = |(host, port): &(String, u16)| Location {
            manager: locates_redirectors,
            pending: false,
            writable: false,
            address: format!("{host}:{port}"),
        };
        let places: Vec<Location> = redirects_to.iter().map(place).collect();
        self.server.answer_locations(tag, &places);
    }

    fn range(&self, handle: Handle, offset: u64, length: u32) -> Option<Bytes> {
        let opened = self.open.get(&handle)?;
        let overwritten = self.behaviour.lock().overwritten;
        let content = match overwritten {
            true => self.file(&opened.path)?,
            false => opened.content.clone(),
        };
        let from = (offset as usize).min(content.len());
        let to = from.saturating_add(length as usize).min(content.len());
        Some(content.slice(from..to))
    }

    /// The file's bytes now.
    fn file(&self, path: &str) -> Option<Bytes> {
        let path = path.split('?').next().unwrap_or(path);
        let behaviour = self.behaviour.lock();
        behaviour.replaced_by.as_ref().unwrap_or(&self.files).get(path).cloned()
    }

    fn stat_of(&self, content: &Bytes) -> StatInfo {
        let said = self.behaviour.lock().says.clone();
        StatInfo {
            id: said.id.unwrap_or_else(|| "1".into()),
            size: said.size.unwrap_or(content.len() as u64),
            flags: StatFlags::READABLE,
            mtime: said.modified.unwrap_or(1_700_000_000),
            more: None,
        }
    }

    fn refuse(&mut self, tag: Tag, code: ErrorCode, text: &str) {
        self.server.answer_error(tag, code, text);
    }
}
