//! Files on XRootD servers.
//!
//! A new file is opened under its name with the promise of the server to keep nothing of it unless
//! it is closed (kXR_posc); one that replaces another is written beside it and renamed. The open
//! and the first bytes leave with the login, and as many are on their way at a time as [`window`]
//! says. They are kept until the server has them: where the connection is lost, the file is opened
//! again and they are sent again.

mod place;
mod window;

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::time::Instant;
use xrootd::client::Answer;
use xrootd::error::ErrorCode;
use xrootd::message::login::SessionId;
use xrootd::message::open::OpenOptions;
use xrootd::message::stat::{StatFlags, StatInfo};

pub use self::place::UploadPlace;
use self::window::Window;
use super::{Content, CreateOptions, Sink, Written};
use crate::error::{Error, ErrorKind, Result};
use crate::source::xrootd::asking::{
    Answered, Asking, FileRequest, Outlook, Reply, RequestFailure,
};

/// Bytes that leave before the server has opened the file. It may redirect.
const EARLY_BYTES: u64 = 1 << 20;
/// Bytes of a write: they cost the server one request, and are the least that is sent again.
const WRITE_BYTES: usize = 1 << 20;
/// Connections for the bytes of a large file: a network may limit each of them. A session of
/// xrootd has sixteen at the most.
const PATHS_MAX: usize = 15;
/// They are asked for where one connection, at its speed, takes longer than this for the rest; or
/// has taken longer, where the size is not known.
const ALONE_MAX: Duration = Duration::from_secs(3);
/// Bytes a second above which networks do not limit single flows. The buffers of a flow may do so,
/// where the server is far away: then the time is this, of which further connections cost little
/// where they are of no use.
const FAST: f64 = 50e6;
const FAST_ALONE_MAX: Duration = Duration::from_secs(5);
/// The part of the memory budget that bytes on their way may take.
const MEMORY_PART: u64 = 4;
/// For so long an upload waits for these connections, which may come later.
const PATHS_TIMEOUT: Duration = Duration::from_secs(2);
/// Connections that were lost after which the bytes travel on one.
const LOSSES_MAX: u32 = 2;
/// Bytes of each write up to that place in the file.
const SHORT_BYTES: usize = 128 << 10;
const SHORT_UNTIL: u64 = 2 << 20;
/// Between two tries to reach a server that was lost.
const PAUSE: Duration = Duration::from_millis(200);
/// Tries to reach a server that has never answered.
const FIRST_TRIES: u32 = 3;
/// How often a file is asked for that others have open, and the time between.
const LOCKED_TRIES: usize = 5;
const LOCKED_PAUSE: Duration = Duration::from_millis(200);
/// How often an open may be sent elsewhere.
const REDIRECTIONS_MAX: usize = 16;

/// A file that is being written.
pub struct XrootdFile {
    /// `None` once it is finished or abandoned.
    file: Option<Writing>,
}

struct Writing {
    place: UploadPlace,
    asking: Asking,
    /// The session that was up last.
    session: Option<SessionId>,
    /// Connections there have been.
    connections: u32,
    options: OpenOptions,
    opening: Opening,
    /// The size of the earlier file, bytes.
    before: u64,
    /// Of an update: the file that the path led to when it was opened.
    named: Option<Outlook>,
    replaced: bool,
    /// Bytes of the whole file, where that is known.
    size: Option<u64>,
    /// Connections that carry bytes beside the first, once the present one was asked for them.
    paths: Option<usize>,
    /// Bytes that were sent, but not those that were sent again.
    sent_bytes: u64,
    losses: u32,
    /// Writes that the server has not confirmed, in the order in which they were sent.
    sent: VecDeque<SentPiece>,
    in_flight: u64,
    window: Window,
    begun: Instant,
    /// Bytes from the beginning of the file on that the server has confirmed.
    confirmed: u64,
    /// Bytes that are too few for a write, and their offset.
    gathered: BytesMut,
    gathered_at: u64,
}

/// Bytes that were sent and are kept until the server confirms them.
struct SentPiece {
    offset: u64,
    bytes: Bytes,
    /// Since the file was begun.
    at: Duration,
    state: PieceState,
}

enum PieceState {
    /// The server has not answered.
    Pending(Outlook),
    Confirmed,
    Failed(Box<RequestFailure>),
}

/// How far the file is.
enum Opening {
    Asked(Outlook),
    Open,
    /// Not there: refused, or not yet retried.
    No,
}

impl XrootdFile {
    /// Begins a file. Whether the server lets it be made shows with the first writes.
    pub fn create(mut place: UploadPlace, options: CreateOptions) -> Self {
        let update = OpenOptions::UPDATE;
        let make = OpenOptions::MAKE_PATH;
        let whole = OpenOptions::NEW | OpenOptions::PERSIST_ON_CLOSE;
        let open = match (options.overwrite, options.in_place) {
            (true, true) => update | make | OpenOptions::DELETE,
            (false, _) => update | make | whole,
            (true, false) => {
                place.write_beside();
                update | make | whole
            }
        };
        let mut file = Writing::begin(place, open | OpenOptions::RETSTAT);
        file.size = options.size;
        XrootdFile { file: Some(file) }
    }

    /// Opens a file to write behind its end; also says where that is.
    pub async fn append_to(place: UploadPlace) -> Result<(Self, u64)> {
        let mut file = Writing::begin(place, OpenOptions::UPDATE | OpenOptions::RETSTAT);
        let before = file.opened().await?;
        let Some(before) = before else {
            let text = "the server does not say how long the file is";
            return Err(Error::new(ErrorKind::Unsupported, text));
        };
        (file.before, file.confirmed) = (before, before);
        file.named = Some(file.ask_name());
        Ok((XrootdFile { file: Some(file) }, before))
    }

    fn file(&mut self) -> Result<&mut Writing> {
        let over = || Error::new(ErrorKind::Cancelled, "writing was given up");
        self.file.as_mut().ok_or_else(over)
    }
}

impl Sink for XrootdFile {
    fn write(&mut self, offset: u64, bytes: Bytes, _: bool) -> BoxFuture<'_, Result<()>> {
        async move { self.file()?.write(offset, bytes).await }.boxed()
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<()>> {
        async move { self.file()?.sync().await }.boxed()
    }

    fn finish(mut self: Box<Self>, content: Content) -> BoxFuture<'static, Result<Written>> {
        async move {
            let file = self.file()?;
            let finished = file.finish(&content).await;
            if finished.is_err()
                && let Some(file) = self.file.take()
            {
                file.abandon().await;
            }
            // A file that is whole is not given up.
            self.file = None;
            finished
        }
        .boxed()
    }

    fn abandon(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        async move {
            if let Some(file) = self.file.take() {
                file.abandon().await;
            }
        }
        .boxed()
    }
}

impl Drop for XrootdFile {
    fn drop(&mut self) {
        if let (Some(file), Ok(runtime)) = (self.file.take(), tokio::runtime::Handle::try_current())
        {
            runtime.spawn(file.abandon());
        }
    }
}

impl Writing {
    fn begin(place: UploadPlace, options: OpenOptions) -> Self {
        let asking = place.connect();
        let path = place.part_path();
        let opening = Opening::Asked(asking.ask(FileRequest::Open { path, options }));
        let window = Window::new(place.memory_bytes_max() / MEMORY_PART);
        Writing {
            place,
            asking,
            session: None,
            connections: 1,
            options,
            opening,
            before: 0,
            named: None,
            replaced: false,
            size: None,
            paths: None,
            sent_bytes: 0,
            losses: 0,
            sent: VecDeque::new(),
            in_flight: 0,
            window,
            begun: Instant::now(),
            confirmed: 0,
            gathered: BytesMut::new(),
            gathered_at: 0,
        }
    }

    async fn write(&mut self, offset: u64, bytes: Bytes) -> Result<()> {
        self.replaced |= offset < self.before;
        // Each write is answered by a packet of its own, and a server sends ten in the first round
        // trip: in a short file, bytes that are replaced before they have left are no write of
        // their own.
        if let Some(at) = offset.checked_sub(self.gathered_at).map(|at| at as usize)
            && let Some(place) = self.gathered.get_mut(at..at + bytes.len())
        {
            place.copy_from_slice(&bytes);
            return Ok(());
        }
        let follows = self.gathered_at + self.gathered.len() as u64 == offset;
        if !follows || self.gathered.len() + bytes.len() > WRITE_BYTES {
            self.flush().await?;
        }
        if bytes.len() >= WRITE_BYTES / 2 {
            return self.send_all(offset, bytes).await;
        }
        if self.gathered.is_empty() {
            self.gathered_at = offset;
        }
        self.gathered.extend_from_slice(&bytes);
        Ok(())
    }

    /// Sends the gathered bytes.
    async fn flush(&mut self) -> Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let bytes = self.gathered.split().freeze();
        self.send_all(self.gathered_at, bytes).await
    }

    /// Bytes of the next write. The first ones are short, so that their answers soon show how fast
    /// the connection is.
    fn piece_bytes(&self) -> usize {
        match self.sent_bytes {
            ..SHORT_UNTIL => SHORT_BYTES,
            _ => WRITE_BYTES,
        }
    }

    /// Sends bytes in pieces.
    async fn send_all(&mut self, mut offset: u64, mut bytes: Bytes) -> Result<()> {
        while !bytes.is_empty() {
            let piece = bytes.split_to(bytes.len().min(self.piece_bytes()));
            let next = offset + piece.len() as u64;
            self.send(offset, piece).await?;
            offset = next;
        }
        Ok(())
    }

    /// Sends bytes once there is room for them among those that are on their way.
    async fn send(&mut self, offset: u64, bytes: Bytes) -> Result<()> {
        let count = bytes.len() as u64;
        if self.is_asked() && self.in_flight + count > EARLY_BYTES {
            self.opened().await?;
        }
        self.sent_bytes += count;
        if self.is_slow() {
            self.add_paths().await;
        }
        self.note_confirmed();
        while self.in_flight > 0 && self.in_flight + count > self.window() {
            self.confirm_first().await?;
        }
        let question = FileRequest::Write { offset, bytes: bytes.clone() };
        let at = self.begun.elapsed();
        let state = PieceState::Pending(self.asking.ask(question));
        self.sent.push_back(SentPiece { offset, bytes, at, state });
        self.in_flight += count;
        Ok(())
    }

    /// Bytes that may be on their way: of each further connection one write more, which waits for
    /// the one before it.
    fn window(&self) -> u64 {
        self.window.bytes() + (self.paths.unwrap_or(0) * WRITE_BYTES) as u64
    }

    /// Whether the connection has become no faster for a while, and is slow for what is left.
    fn is_slow(&self) -> bool {
        let Some(rate) = self.window.steady_rate() else { return false };
        let alone_max = match rate < FAST {
            true => ALONE_MAX,
            false if self.window.is_far() => FAST_ALONE_MAX,
            false => return false,
        };
        match self.size {
            Some(size) => {
                size.saturating_sub(self.sent_bytes) as f64 > rate * alone_max.as_secs_f64()
            }
            None => self.begun.elapsed() > alone_max,
        }
    }

    /// Asks for further connections, once on each that is made.
    async fn add_paths(&mut self) {
        let most = PATHS_MAX.min(self.place.connections_max());
        if self.paths.is_some() || self.losses >= LOSSES_MAX || most < 2 {
            return;
        }
        let outlook = self.asking.ask(FileRequest::AddPaths(most));
        let settled = tokio::time::timeout(PATHS_TIMEOUT, self.asking.reply(outlook)).await;
        self.paths = match settled {
            Ok(Ok(Reply::Paths(count))) => Some(count),
            _ => Some(0),
        };
    }

    fn is_asked(&self) -> bool {
        matches!(self.opening, Opening::Asked(_))
    }

    /// Takes the answers that are there. On several connections they come in any order.
    fn note_confirmed(&mut self) {
        for at in 0..self.sent.len() {
            let PieceState::Pending(outlook) = &mut self.sent[at].state else { continue };
            // A connection that was lost is an answer, too, which counts where it is waited for.
            if let Some(answer) = self.asking.reply_now(outlook) {
                self.note_answer(at, answer.map(drop));
            }
        }
        self.drop_confirmed();
    }

    /// The server's answer to a write that was sent.
    fn note_answer(&mut self, at: usize, answer: Answered<()>) {
        let piece = &mut self.sent[at];
        piece.state = match answer {
            Ok(()) => {
                let bytes = piece.bytes.len() as u64;
                self.in_flight -= bytes;
                self.window.confirmed(piece.at, self.begun.elapsed(), bytes);
                PieceState::Confirmed
            }
            Err(failure) => PieceState::Failed(Box::new(failure)),
        };
    }

    /// Forgets the first writes, as far as the server has them all.
    fn drop_confirmed(&mut self) {
        let is_confirmed = |piece: &mut SentPiece| matches!(piece.state, PieceState::Confirmed);
        while let Some(piece) = self.sent.pop_front_if(is_confirmed) {
            let end = piece.offset + piece.bytes.len() as u64;
            if piece.offset <= self.confirmed {
                self.confirmed = self.confirmed.max(end);
            }
        }
    }

    /// Waits until the server has confirmed the oldest write.
    async fn confirm_first(&mut self) -> Result<()> {
        self.opened().await?;
        self.note_confirmed();
        let Some(first) = self.sent.front_mut() else { return Ok(()) };
        // Where the connection is lost, that write is sent again with the rest.
        let unanswered = PieceState::Pending(tokio::sync::oneshot::channel().1);
        let answer = match std::mem::replace(&mut first.state, unanswered) {
            PieceState::Pending(outlook) => self.asking.reply(outlook).await.map(drop),
            PieceState::Failed(failure) => Err(*failure),
            PieceState::Confirmed => {
                first.state = PieceState::Confirmed;
                return Ok(());
            }
        };
        match answer {
            Ok(()) => {
                self.note_answer(0, Ok(()));
                self.drop_confirmed();
                Ok(())
            }
            Err(RequestFailure::Lost(error)) => self.recover(error).await,
            Err(refusal) => Err(refused(refusal)),
        }
    }

    /// Waits until the file is open; bytes that it has, where that is first heard here.
    async fn opened(&mut self) -> Result<Option<u64>> {
        let mut locked = 0;
        for _ in 0..REDIRECTIONS_MAX + LOCKED_TRIES {
            let outlook = match std::mem::replace(&mut self.opening, Opening::No) {
                Opening::Asked(outlook) => outlook,
                Opening::Open => {
                    self.opening = Opening::Open;
                    return Ok(None);
                }
                Opening::No => return Err(Error::new(ErrorKind::Io, "the file is not open")),
            };
            match self.asking.reply(outlook).await {
                Ok(Reply::Opened(stat)) => {
                    self.opening = Opening::Open;
                    return Ok(stat.map(|stat| stat.size));
                }
                Ok(Reply::Done(_) | Reply::Paths(_)) => {}
                Err(RequestFailure::Elsewhere(url)) => {
                    self.place.go_to(url)?;
                    self.connect();
                    self.session = None;
                    self.ask_again(self.options);
                }
                Err(RequestFailure::Lost(error)) => self.recover(error).await?,
                // A reader that has closed the file may not have been heard yet.
                Err(RequestFailure::Server(said, _))
                    if said.code == ErrorCode::FILE_LOCKED && locked < LOCKED_TRIES =>
                {
                    locked += 1;
                    tokio::time::sleep(LOCKED_PAUSE).await;
                    self.ask_again(self.options);
                }
                Err(refusal) => return Err(refused(refusal)),
            }
        }
        Err(Error::new(ErrorKind::Io, format!("sent on {REDIRECTIONS_MAX} times")))
    }

    fn connect(&mut self) {
        self.session = self.asking.session().or(self.session);
        self.asking = self.place.connect();
        self.connections += 1;
        self.paths = None;
    }

    /// Asks the present connection for the file, and for all that is not confirmed.
    fn ask_again(&mut self, options: OpenOptions) {
        self.ask_open(options);
        self.send_again();
    }

    fn ask_open(&mut self, options: OpenOptions) {
        let path = self.place.part_path();
        self.opening = Opening::Asked(self.asking.ask(FileRequest::Open { path, options }));
    }

    /// Sends all bytes that are not confirmed.
    fn send_again(&mut self) {
        for piece in &mut self.sent {
            if matches!(piece.state, PieceState::Confirmed) {
                continue;
            }
            let question = FileRequest::Write { offset: piece.offset, bytes: piece.bytes.clone() };
            piece.at = self.begun.elapsed();
            piece.state = PieceState::Pending(self.asking.ask(question));
        }
    }

    /// The connection is lost: connects again, and goes on where it was.
    async fn recover(&mut self, mut why: Error) -> Result<()> {
        let until = Instant::now() + self.place.retry_timeout();
        self.losses += 1;
        let mut tries = 0;
        while why.is_retryable() && Instant::now() < until {
            self.connect();
            tries += 1;
            if self.session.is_none() && tries > FIRST_TRIES {
                break;
            }
            if let Some(session) = self.session {
                // It frees the file, which the server may think to be written to still.
                self.asking.ask(FileRequest::EndSession(session));
            }
            match self.open_again().await {
                Ok(()) => return Ok(()),
                Err(RequestFailure::Lost(error)) => why = error,
                Err(RequestFailure::Server(said, error)) if said.code == ErrorCode::FILE_LOCKED => {
                    why = error.retryable(true);
                }
                Err(refusal) => return Err(refused(refusal)),
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(why)
    }

    /// Opens the file once more: the one that is there, where it has been made.
    async fn open_again(&mut self) -> Answered<()> {
        let first = OpenOptions::NEW | OpenOptions::DELETE | OpenOptions::MAKE_PATH;
        let again = self.options.without(first);
        let has_made = self.confirmed > self.before || matches!(self.opening, Opening::Open);
        self.ask_again(if has_made { again } else { self.options });
        let stat = match self.asked().await {
            // It may be the one that was made before the answer was lost. No bytes are sent before
            // the server has answered so.
            Err(RequestFailure::Server(said, error)) if said.code == ErrorCode::ITEM_EXISTS => {
                self.ask_open(again);
                let stat = self.asked().await?;
                let pending = stat
                    .as_ref()
                    .is_some_and(|stat| stat.flags.contains(StatFlags::PERSIST_PENDING));
                if !pending && !self.place.is_beside() {
                    let close = self.asking.ask(FileRequest::Close);
                    let _ = self.asking.reply(close).await;
                    return Err(RequestFailure::Server(said, error));
                }
                self.send_again();
                stat
            }
            other => other?,
        };
        if stat.is_some_and(|stat| stat.size < self.confirmed) {
            let text = "the server has lost bytes that it had confirmed";
            return Err(RequestFailure::Lost(Error::new(ErrorKind::Io, text)));
        }
        self.opening = Opening::Open;
        Ok(())
    }

    /// The answer to the latest open.
    async fn asked(&mut self) -> Answered<Option<StatInfo>> {
        let Opening::Asked(outlook) = std::mem::replace(&mut self.opening, Opening::No) else {
            return Ok(None);
        };
        match self.asking.reply(outlook).await? {
            Reply::Opened(stat) => Ok(stat),
            Reply::Done(_) | Reply::Paths(_) => Ok(None),
        }
    }

    async fn sync(&mut self) -> Result<()> {
        self.flush().await?;
        loop {
            let sync = self.asking.ask(FileRequest::Sync);
            if self.synced(sync).await? {
                return Ok(());
            }
        }
    }

    /// Waits until the server has all bytes and has answered a sync; `false` where the connection
    /// of that sync is over.
    async fn synced(&mut self, sync: Outlook) -> Result<bool> {
        let connections = self.connections;
        while !self.sent.is_empty() {
            self.confirm_first().await?;
        }
        self.opened().await?;
        match self.asking.reply(sync).await {
            Ok(_) => return Ok(true),
            Err(RequestFailure::Lost(_) | RequestFailure::Elsewhere(_))
                if connections != self.connections => {}
            Err(RequestFailure::Lost(error)) => self.recover(error).await?,
            Err(refusal) => return Err(refused(refusal)),
        }
        Ok(false)
    }

    /// Makes all safe, closes, compares and names.
    async fn finish(&mut self, content: &Content) -> Result<Written> {
        self.flush().await?;
        let path = self.place.part_path();
        let ask_end = |asking: &Asking| {
            [FileRequest::Close, FileRequest::Checksum(path.clone())]
                .map(|request| asking.ask(request))
        };
        // A short file leaves whole with its open, the close behind it: not under its own name, as
        // the server keeps a closed file even where it has refused some of the bytes.
        let mut early = None;
        if self.is_asked() && self.place.is_beside() {
            let sync = self.asking.ask(FileRequest::Sync);
            let end = ask_end(&self.asking);
            early = self.synced(sync).await?.then_some(end);
        }
        let [close, mut checksum] = match early {
            Some(end) => end,
            None => {
                self.sync().await?;
                ask_end(&self.asking)
            }
        };
        if let Err(refusal) = self.asking.reply(close).await {
            self.make_sure(refusal, content.len()).await?;
            checksum = self.asking.ask(FileRequest::Checksum(path));
        }
        self.check_name().await?;
        let answer = self.asking.reply(checksum).await;
        let checksum = self.place.compare(&self.asking, answer, content).await?;
        self.place.give_name(&self.asking).await?;
        Ok(Written::new(self.place.address(), content.len(), checksum))
    }

    /// Looks whether the path still leads to the file that was updated: a server renames another
    /// file over one that is open.
    async fn check_name(&mut self) -> Result<()> {
        let Some(named) = self.named.take() else { return Ok(()) };
        let now = self.ask_name();
        // Servers differ in the identity that they show for a path: each is compared with itself.
        let Ok(Reply::Done(Answer::Stat(before))) = self.asking.reply(named).await else {
            return Ok(());
        };
        match self.asking.reply(now).await {
            Ok(Reply::Done(Answer::Stat(stat))) if stat.id == before.id => Ok(()),
            Err(RequestFailure::Server(said, _)) if said.code != ErrorCode::NOT_FOUND => Ok(()),
            Err(RequestFailure::Lost(error)) => Err(error),
            _ => Err(Error::new(
                ErrorKind::InvalidArgument,
                "another writer has replaced, moved or removed the file meanwhile: the update is \
                 not in the file that has this name now",
            )
            .with_advice("see that nobody else writes this file, and update it again")),
        }
    }

    fn ask_name(&self) -> Outlook {
        self.asking.ask(FileRequest::Stat(self.place.part_path()))
    }

    /// The close was not answered: it is requested once more, on another connection.
    async fn make_sure(&mut self, refusal: RequestFailure, size: u64) -> Result<()> {
        let RequestFailure::Lost(error) = refusal else { return Err(refused(refusal)) };
        self.recover(error).await?;
        // Opened again, it is held once more until it is closed.
        let truncate = self.asking.ask(FileRequest::Truncate(size));
        let close = self.asking.ask(FileRequest::Close);
        self.asking.reply(truncate).await.map_err(refused)?;
        self.asking.reply(close).await.map_err(refused)?;
        Ok(())
    }

    /// Leaves nothing behind; of an earlier file, its bytes.
    async fn abandon(mut self) {
        let is_open = match std::mem::replace(&mut self.opening, Opening::No) {
            Opening::Open => true,
            Opening::Asked(outlook) => self.asking.reply(outlook).await.is_ok(),
            Opening::No => false,
        };
        if !is_open {
            return;
        }
        let is_update = !self.options.intersects(OpenOptions::NEW | OpenOptions::DELETE);
        let undo = match is_update {
            true if self.replaced => return,
            true => vec![FileRequest::Truncate(self.before), FileRequest::Close],
            // Removed while it is open, as a close would keep it; then closed, so that the server
            // unlocks its name.
            false => vec![FileRequest::Remove(self.place.part_path()), FileRequest::Close],
        };
        let asked: Vec<Outlook> =
            undo.into_iter().map(|request| self.asking.ask(request)).collect();
        for outlook in asked {
            let _ = self.asking.reply(outlook).await;
        }
    }
}

/// Why a file cannot be written, with a hint.
pub fn refused(refusal: RequestFailure) -> Error {
    let RequestFailure::Server(said, error) = refusal else { return refusal.into_error() };
    let like = |kind, text: &str| Error::new(kind, format!("{text}: {}", said.message));
    let explained = match said.code {
        ErrorCode::ITEM_EXISTS => Error::target_is_there(),
        ErrorCode::FILE_LOCKED | ErrorCode::IN_PROGRESS => {
            like(ErrorKind::InvalidArgument, "another writer, or a reader, has this file")
                .with_advice("wait until it is done, or write to another name")
        }
        ErrorCode::NO_SPACE => like(ErrorKind::LimitReached, "the server has no space left")
            .with_advice("remove something there, or write to another server"),
        ErrorCode::OVER_QUOTA => like(ErrorKind::LimitReached, "the quota there is used up")
            .with_advice("remove something there, or ask the site for more"),
        ErrorCode::READ_ONLY => like(ErrorKind::PermissionDenied, "the server is read-only")
            .with_advice("write to another server"),
        ErrorCode::NOT_AUTHORIZED => {
            return error.with_advice(
                "see that the path may be written to with this credential: `farroot auth` shows it",
            );
        }
        // Another server may give the file to a reader; a writer has no other.
        ErrorCode::FS_ERROR => return error.retryable(false),
        _ => return error,
    };
    match error.source_name() {
        Some(source) => explained.with_source(source),
        None => explained,
    }
}

#[cfg(test)]
mod tests {
    use xrootd::error::ServerError;

    use super::*;

    /// A directory in the place of the file was "trying again may help".
    #[test]
    fn what_a_file_system_refuses_is_not_asked_again() {
        let of = |code| {
            let error = Error::new(ErrorKind::Io, "it is no directory").retryable(true);
            let said = ServerError { code, message: "it is no directory".to_owned() };
            refused(RequestFailure::Server(said, error)).is_retryable()
        };
        assert!(!of(ErrorCode::FS_ERROR));
        assert!(of(ErrorCode::IO_ERROR));
    }
}
