//! A connection for one caller with requests about one file: requests leave in their order, and
//! each answer arrives by itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use mutex::Mutex;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};
use xrootd::client::{Answer, Client, Event, FileId, RequestId};
use xrootd::error::{RequestError, ServerError};
use xrootd::message::login::SessionId;
use xrootd::message::open::OpenOptions;
use xrootd::message::protocol::ServerFlags;
use xrootd::message::stat::StatInfo;

use super::XrootdServer;
use super::converse::Caller;
use super::paths::Paths;
use super::redirect::redirected;
use crate::address::Address;
use crate::clock::Clock;
use crate::config::Checksums;
use crate::error::{Error, ErrorKind};

/// Permissions of a new file, as the server's own mask leaves them.
const MODE: u16 = 0o644;
/// The same of a new directory.
const FOLDER_MODE: u16 = 0o755;

/// Requests. All but those with paths are about the file that was opened last.
#[derive(Debug)]
pub enum FileRequest {
    Open {
        path: String,
        options: OpenOptions,
    },
    Write {
        offset: u64,
        bytes: Bytes,
    },
    Sync,
    Truncate(u64),
    Close,
    Checksum(String),
    Stat(String),
    Move {
        from: String,
        to: String,
    },
    Remove(String),
    MakeFolder(String),
    RemoveFolder(String),
    EndSession(SessionId),
    /// Further connections for the bytes of writes, so many at the most. Answered once each is up
    /// or refused.
    AddPaths(usize),
}

/// The answer to a request.
#[derive(Debug)]
pub enum Reply {
    Opened(Option<StatInfo>),
    Done(Answer),
    /// So many further connections carry bytes.
    Paths(usize),
}

/// Why a request has no good answer.
#[derive(Debug)]
pub enum RequestFailure {
    /// The server's refusal; the same as an error of this crate.
    Server(ServerError, Error),
    /// The request is to go there.
    Elsewhere(Address),
    /// The connection was lost, or another error that is not the server's.
    Lost(Error),
}

impl RequestFailure {
    pub fn into_error(self) -> Error {
        match self {
            RequestFailure::Server(_, error) | RequestFailure::Lost(error) => error,
            RequestFailure::Elsewhere(_) => {
                Error::new(ErrorKind::Io, "the server sends elsewhere for an open file")
            }
        }
    }
}

/// An answer, or why there is no good one.
pub type Answered<T> = Result<T, RequestFailure>;

/// Takes messages for the user.
pub type Notes = Arc<dyn Fn(String) + Send + Sync>;

/// The pending answer to a request.
pub type Outlook = oneshot::Receiver<Answered<Reply>>;

/// A connection. It ends when this is dropped, with the requests that were not answered.
pub struct Asking {
    questions: mpsc::UnboundedSender<(FileRequest, oneshot::Sender<Answered<Reply>>)>,
    shared: Arc<Mutex<Shared>>,
}

/// Facts that the connection's task has learnt.
#[derive(Default)]
struct Shared {
    session: Option<SessionId>,
    ended: Option<Error>,
}

impl Asking {
    /// Connects to the server of an address, in a task.
    pub fn start(
        server: Arc<XrootdServer>,
        url: Address,
        checksums: Checksums,
        notes: Notes,
    ) -> Self {
        let (questions, inbox) = mpsc::unbounded_channel();
        let shared = Arc::<Mutex<Shared>>::default();
        let known = shared.clone();
        tokio::spawn(async move {
            let paths = Paths::new(server.clone());
            let begin = |client| OneFile {
                client,
                clock: Clock::start(),
                url,
                checksums,
                inbox,
                file: None,
                waiting: BTreeMap::new(),
                shared: known.clone(),
                paths,
                paths_wanted: None,
                notes,
            };
            let ended = server.converse_with(begin).await;
            known.lock().ended = ended.err();
        });
        Asking { questions, shared }
    }

    /// Asks. Requests leave in their order, also those made before the connection is up.
    pub fn ask(&self, question: FileRequest) -> Outlook {
        let (sender, receiver) = oneshot::channel();
        let _ = self.questions.send((question, sender));
        receiver
    }

    /// The session's name, once it is up.
    pub fn session(&self) -> Option<SessionId> {
        self.shared.lock().session
    }

    /// The outcome of a request; also where the connection ended without an answer.
    pub async fn reply(&self, outlook: Outlook) -> Answered<Reply> {
        match outlook.await {
            Ok(reply) => reply,
            Err(_) => Err(RequestFailure::Lost(self.lost())),
        }
    }

    /// The outcome of a request, where it is there already: it must not be waited for then.
    pub fn reply_now(&self, outlook: &mut Outlook) -> Option<Answered<Reply>> {
        match outlook.try_recv() {
            Ok(reply) => Some(reply),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Closed) => Some(Err(RequestFailure::Lost(self.lost()))),
        }
    }

    /// Why the connection has ended.
    pub fn lost(&self) -> Error {
        let ended = self.shared.lock().ended.clone();
        ended.unwrap_or_else(|| {
            Error::new(ErrorKind::Connection, "the connection ended before the answer")
        })
    }
}

/// The connection's side of it.
struct OneFile {
    client: Client,
    clock: Clock,
    url: Address,
    checksums: Checksums,
    inbox: mpsc::UnboundedReceiver<(FileRequest, oneshot::Sender<Answered<Reply>>)>,
    file: Option<FileId>,
    waiting: BTreeMap<RequestId, oneshot::Sender<Answered<Reply>>>,
    shared: Arc<Mutex<Shared>>,
    paths: Paths,
    /// Who waits for the paths.
    paths_wanted: Option<oneshot::Sender<Answered<Reply>>>,
    notes: Notes,
}

impl OneFile {
    fn ask(&mut self, question: FileRequest, sender: oneshot::Sender<Answered<Reply>>) {
        let now = self.clock.now();
        let client = &mut self.client;
        let file = self.file;
        let id = match (question, file) {
            (FileRequest::Open { path, options }, _) => {
                let (file, id) = client.open_to_write(now, &path, options, MODE);
                self.file = Some(file);
                id
            }
            (FileRequest::Write { offset, bytes }, Some(file)) => {
                let flags = client.profile().flags.unwrap_or_default();
                let checked = flags.contains(ServerFlags::CHECKSUMMED_PAGES);
                match checked && self.checksums != Checksums::Never {
                    true => client.pgwrite(now, file, offset, bytes),
                    false => client.write(now, file, offset, bytes),
                }
            }
            (FileRequest::Sync, Some(file)) => client.sync(now, file),
            (FileRequest::Truncate(size), Some(file)) => client.truncate(now, file, size),
            (FileRequest::Close, Some(file)) => client.close(now, file),
            (FileRequest::Checksum(path), _) => client.query_checksum(now, &path),
            (FileRequest::Stat(path), _) => client.stat(now, &path),
            (FileRequest::Move { from, to }, _) => client.mv(now, &from, &to),
            (FileRequest::Remove(path), _) => client.rm(now, &path),
            (FileRequest::MakeFolder(path), _) => client.mkdir(now, &path, FOLDER_MODE),
            (FileRequest::RemoveFolder(path), _) => client.rmdir(now, &path),
            (FileRequest::EndSession(session), _) => client.endsess(now, session),
            (FileRequest::AddPaths(count), _) => {
                if let Some(session) = client.session_id() {
                    self.paths.add(count, session, client.is_encrypted());
                }
                self.paths_wanted = Some(sender);
                return;
            }
            // The caller receives the error that there was no answer.
            (_, None) => return,
        };
        self.waiting.insert(id, sender);
    }

    /// Passes on the bytes for the paths, and tells who waits for those.
    fn serve_paths(&mut self) {
        self.paths.send_from(&mut self.client);
        if self.paths.are_settled()
            && let Some(sender) = self.paths_wanted.take()
        {
            let _ = sender.send(Ok(Reply::Paths(self.paths.count())));
        }
    }

    fn end(&mut self, request: RequestId, reply: Answered<Reply>) {
        if let Some(sender) = self.waiting.remove(&request) {
            let _ = sender.send(reply);
        }
    }
}

impl Caller for OneFile {
    fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    fn clock(&self) -> Clock {
        self.clock
    }

    fn ask_ready(&mut self) {
        while let Ok((question, sender)) = self.inbox.try_recv() {
            self.ask(question, sender);
        }
        while self.client.poll_sent().is_some() {}
        self.serve_paths();
    }

    async fn ask_next(&mut self) -> bool {
        tokio::select! {
            question = self.inbox.recv() => {
                let Some((question, sender)) = question else { return false };
                self.ask(question, sender);
            }
            event = self.paths.next() => {
                let now = self.clock.now();
                self.paths.take(event, &mut self.client, now);
            }
        }
        true
    }

    fn hear(&mut self, server: &XrootdServer, event: Event) {
        match event {
            Event::SessionUp { server } => self.shared.lock().session = Some(server.session),
            Event::Opened { request, stat, .. } => self.end(request, Ok(Reply::Opened(stat))),
            Event::Answer { request, answer } => self.end(request, Ok(Reply::Done(answer))),
            Event::Failed { request, error } => {
                let said = server.request_error(&error, &self.url);
                self.end(
                    request,
                    Err(match error {
                        RequestError::Server(error) => RequestFailure::Server(error, said),
                        _ => RequestFailure::Lost(said),
                    }),
                );
            }
            Event::Redirected { request, target } => {
                let refusal = match redirected(&self.url, &server.by_name(target)) {
                    Ok(url) => RequestFailure::Elsewhere(url),
                    Err(error) => RequestFailure::Lost(error),
                };
                self.end(request, Err(refusal));
            }
            Event::Notice { text } => self.note(format!("{} says: {text}", server.name)),
            Event::Wait { time, why, .. } => {
                let seconds = time.as_secs();
                self.note(format!("{} asked to wait {seconds} s: {why}", server.name));
            }
            _ => {}
        }
    }

    fn note(&mut self, text: String) {
        (self.notes)(text);
    }
}
