//! Requests beside the driver, each on a connection of its own: the names in a directory, a file's
//! checksum, its other locations.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::{self, BoxFuture};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::{Instant, timeout_at};

use super::busy::Pauses;
use super::network::{Network, Stream, counted};
use super::servers::server_for;
use super::{
    Command, ConnectionEvent, ConnectionTag, DriverLink, FileEnd, FileLocation, FileRef,
    ListedName, RequestTag, Role, Server,
};
use crate::address::{Address, FileLocations, FileUse};
use crate::checksum::{Algorithm, Checksum};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::metalink::{self, Metalink, is_metalink};
use crate::report::count;

/// How often a request may be redirected: a redirector's redirector is common, more is a circle.
const REDIRECTIONS_MAX: usize = 16;
/// A server that has to read the whole file for its checksum is silent meanwhile.
const CHECKSUM_TIMEOUT: Duration = Duration::from_secs(600);
/// Connections beyond the first that one conversation makes.
const RESTARTS_MAX: u32 = 2;
const REQUEST: RequestTag = RequestTag(0);
/// No request takes longer, whatever arrives meanwhile.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(600);

/// The entries of a directory, in the server's order. With facts a server looks at each file, where
/// it would else read the directory alone.
///
/// # Errors
/// `Unsupported` where a server lists nothing; `NotFound` where there is no such directory; an
/// error of the request.
pub async fn list(
    directory: &Address,
    with_facts: bool,
    config: &Config,
    network: Arc<dyn Network>,
) -> Result<Vec<ListedName>> {
    let question = |directory| Command::List { request: REQUEST, directory, with_facts };
    if directory.to_xrootd().is_none() {
        let (_, events) = ask(directory, config, network, question).await?;
        return Ok(listed(events));
    }
    let answer = ask_one(directory, config, network.clone(), question).await;
    let elsewhere = match answer {
        Ok(Answer::Events(events)) => return Ok(listed(events)),
        Ok(Answer::Elsewhere(target)) => Ok(target),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(error),
        Err(error) => return Err(error),
    };
    // A redirector has no directories: each of its servers may have a part of this one.
    let servers = locate(directory, config, network.clone()).await.unwrap_or_default().urls;
    let servers: Vec<Address> =
        servers.into_iter().filter(|url| url.server_key() != directory.server_key()).collect();
    match (servers.is_empty(), elsewhere) {
        (true, Ok(target)) => {
            let (_, events) = ask(&target, config, network, question).await?;
            Ok(listed(events))
        }
        (true, Err(error)) => Err(error),
        (false, elsewhere) => {
            let asked = servers.iter().map(|url| ask(url, config, network.clone(), question));
            joined(future::join_all(asked).await, elsewhere.err())
        }
    }
}

fn listed(events: Vec<ConnectionEvent>) -> Vec<ListedName> {
    let entries = events.into_iter().find_map(|event| match event {
        ConnectionEvent::Listed { entries, .. } => Some(entries),
        _ => None,
    });
    entries.unwrap_or_default()
}

/// The names that any of several servers has in a directory.
///
/// # Errors
/// Of a server that cannot say, as names would be missing; `NotFound` where none has it.
fn joined(
    answers: Vec<Result<(Address, Vec<ConnectionEvent>)>>,
    failure: Option<Error>,
) -> Result<Vec<ListedName>> {
    let mut names = BTreeMap::new();
    let mut failure = failure;
    let mut is_there = false;
    for answer in answers {
        match answer {
            Ok((_, events)) => {
                is_there = true;
                for entry in listed(events) {
                    names.entry(entry.name.clone()).or_insert(entry);
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => failure = failure.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match failure {
        Some(error) if !is_there => Err(error),
        _ => Ok(names.into_values().collect()),
    }
}

/// The checksum that a server keeps, or makes, of a file; without an algorithm, of the kind that
/// the server likes best.
///
/// # Errors
/// `Unsupported` where a server has none of this kind; `NotFound`; an error of the request.
pub async fn checksum(
    file: &Address,
    algorithm: Option<Algorithm>,
    config: &Config,
    network: Arc<dyn Network>,
) -> Result<Checksum> {
    let read_timeout = config.read_timeout.max(CHECKSUM_TIMEOUT);
    let config = Config { read_timeout, ..config.clone() };
    let question = |file| Command::Checksum { request: REQUEST, file, algorithm };
    let (_, events) = ask(file, &config, network, question).await?;
    let checksum = events.into_iter().find_map(|event| match event {
        ConnectionEvent::Checksum { checksum, .. } => Some(checksum),
        _ => None,
    });
    let fits = |checksum: &Checksum| algorithm.is_none_or(|wanted| wanted == checksum.algorithm());
    checksum.filter(fits).ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "the server gives no checksum of this kind")
            .with_url(file.to_string())
    })
}

/// Redirectors and Metalinks in the search for one file, those included that the first one names.
const ASKED_MAX: usize = 4;

/// Where a file is, as a redirector knows it; over HTTP, as any server reports it.
///
/// # Errors
/// `Unsupported` where the protocol has no such request; `NotFound`; an error of the request.
pub async fn locate(
    file: &Address,
    config: &Config,
    network: Arc<dyn Network>,
) -> Result<FileLocations> {
    let place = FileLocation { url: file.clone(), role: Role::Manager };
    follow(vec![place], config, network).await
}

/// The servers that locations lead to: those that redirectors among them name, and Metalinks.
///
/// # Errors
/// Why the request to the first one failed, where nothing was found.
pub async fn follow(
    locations: Vec<FileLocation>,
    config: &Config,
    network: Arc<dyn Network>,
) -> Result<FileLocations> {
    let mut found = FileLocations::default();
    let mut failure = None;
    let mut locations = VecDeque::from(locations);
    let mut asked = Vec::new();
    while let Some(FileLocation { url, role }) = locations.pop_front() {
        if role == Role::Server {
            if !is_metalink(&url) && !found.urls.contains(&url) {
                found.urls.push(url);
            }
            continue;
        }
        if asked.len() >= ASKED_MAX || asked.contains(&url) {
            continue;
        }
        asked.push(url.clone());
        let answer = match role {
            Role::Metalink => described(&url, config, network.clone()).await,
            _ => named(&url, config, network.clone()).await.map(|named| {
                locations.extend(named);
                FileLocations::default()
            }),
        };
        match answer {
            Ok(more) => found.add(more),
            // Another one may know.
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match failure {
        Some(error) if found.urls.is_empty() => Err(error),
        _ => Ok(found),
    }
}

/// The locations that a redirector names.
async fn named(
    manager: &Address,
    config: &Config,
    network: Arc<dyn Network>,
) -> Result<Vec<FileLocation>> {
    let question = |file| Command::Locate { request: REQUEST, file };
    let (_, events) = ask(manager, config, network, question).await?;
    let locations = events.into_iter().filter_map(|event| match event {
        ConnectionEvent::Located { locations, .. } => Some(locations),
        _ => None,
    });
    Ok(locations.flatten().collect())
}

/// The locations and claims of a Metalink.
async fn described(
    url: &Address,
    config: &Config,
    network: Arc<dyn Network>,
) -> Result<FileLocations> {
    let document = document(url, metalink::BYTES_MAX, config, network).await?;
    let metalink =
        Metalink::parse(&document, url).map_err(|error| error.with_url(url.to_string()))?;
    Ok(metalink.into())
}

/// A short document, up to so many bytes of it.
///
/// # Errors
/// Whatever keeps it from being read.
pub async fn document(
    url: &Address,
    bytes_max: u64,
    config: &Config,
    network: Arc<dyn Network>,
) -> Result<Vec<u8>> {
    let part = FileEnd::Head(bytes_max);
    let question = |file| Command::Open { request: REQUEST, file, part };
    let (_, events) = ask(url, config, network, question).await?;
    let mut document = Vec::new();
    for event in events {
        // From the beginning on, in order; with a gap it is no document.
        if let ConnectionEvent::Data { offset, bytes, .. } = event
            && offset == document.len() as u64
        {
            document.extend_from_slice(&bytes);
        }
    }
    Ok(document)
}

/// Another server that has a file, by opening it at a redirector, with the hosts that have been
/// tried and why that was not enough (`enoent`, `ioerr`, `resel`: more are wanted; ...). If the
/// redirector serves the file itself, as a node of a cluster of caches may, its address keeps this
/// list: without it, the redirector would send the next open away.
///
/// # Errors
/// `NotFound` where there is no other; an error of the request.
pub async fn another(
    file: &Address,
    tried: &[(String, &str)],
    config: &Config,
    network: Arc<dyn Network>,
) -> Result<Address> {
    let hosts: Vec<&str> = tried.iter().map(|(host, _)| &**host).collect();
    let reasons: Vec<&str> = tried.iter().map(|(_, why)| *why).collect();
    let tried = format!("tried={}&triedrc={}", hosts.join(","), reasons.join(","));
    let query = file.query().map_or(tried.clone(), |query| format!("{query}&{tried}"));
    let url = file.with_query(Some(&query));
    // One byte shows more than an open: that it can be read.
    let question = |file| Command::Open { request: REQUEST, file, part: FileEnd::Head(1) };
    let (at, _) = ask(&url, config, network, question).await?;
    Ok(if at == url { url } else { forget_tried(&at) })
}

/// Removes the list of servers that have been tried: it concerns the redirector, and only once.
fn forget_tried(url: &Address) -> Address {
    let is_lasting = |part: &&str| !part.starts_with("tried=") && !part.starts_with("triedrc=");
    let lasting: Vec<&str> =
        url.query().unwrap_or_default().split('&').filter(is_lasting).collect();
    let query = lasting.join("&");
    url.with_query(Some(&*query).filter(|query| !query.is_empty()))
}

/// Asks, and goes where the answer is; where that was, and the events before it was done.
async fn ask(
    url: &Address,
    config: &Config,
    network: Arc<dyn Network>,
    question: impl Fn(FileRef) -> Command,
) -> Result<(Address, Vec<ConnectionEvent>)> {
    let mut at = url.clone();
    let mut pauses = Pauses::default();
    for _ in 0..REDIRECTIONS_MAX {
        match ask_one(&at, config, network.clone(), &question).await {
            Ok(Answer::Events(events)) => return Ok((at, events)),
            Ok(Answer::Elsewhere(target)) => at = target,
            Err(error) if pauses.after(&error).await => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(
        ErrorKind::Io,
        format!("sent on {REDIRECTIONS_MAX} times, from one server to another"),
    )
    .with_url(url.to_string()))
}

enum Answer {
    Events(Vec<ConnectionEvent>),
    Elsewhere(Address),
}

async fn ask_one(
    url: &Address,
    config: &Config,
    network: Arc<dyn Network>,
    question: impl Fn(FileRef) -> Command,
) -> Result<Answer> {
    let file = FileRef { tag: 0, url: Arc::new(url.clone()), file_use: FileUse::Decoded };
    let mut conversation = Conversation::begin(url, [question(file)], config, network)?;
    let mut events = Vec::new();
    loop {
        match conversation.next().await? {
            event @ (ConnectionEvent::Listed { .. }
            | ConnectionEvent::Checksum { .. }
            | ConnectionEvent::Located { .. }
            | ConnectionEvent::Data { .. }) => events.push(event),
            ConnectionEvent::Done { .. } => return Ok(Answer::Events(events)),
            ConnectionEvent::Redirected { url, .. } => return Ok(Answer::Elsewhere(url)),
            ConnectionEvent::Failed { error, .. } => return Err(error),
            _ => {}
        }
    }
}

/// A connection for requests about files, none of which is opened. It ends when this is dropped.
pub(super) struct Conversation {
    commands: UnboundedSender<Command>,
    events: UnboundedReceiver<(ConnectionTag, ConnectionEvent)>,
    deadline: Deadline,
    /// The address of a file of the server, for errors.
    url: String,
    server: Arc<dyn Server>,
    /// Requests to be repeated on another connection; empty once an answer has arrived.
    unanswered: Vec<Command>,
    restarts: u32,
    /// The present connection has been made.
    is_reached: bool,
}

impl Conversation {
    /// Connects to the server of an address, in a task. The first requests are sent with the login
    /// where the server allows it.
    ///
    /// # Errors
    /// As [`server_for`].
    pub fn begin(
        url: &Address,
        first: impl IntoIterator<Item = Command>,
        config: &Config,
        network: Arc<dyn Network>,
    ) -> Result<Self> {
        let come = Arc::new(AtomicU64::new(0));
        let network = Arc::new(Counting { network, come: come.clone() });
        let deadline = Deadline::new(config, come);
        let server = server_for(url, config, network)?;
        let first: Vec<Command> = first.into_iter().collect();
        let (commands, events) = connection(&server, first.clone());
        let url = url.to_string();
        let unanswered = first;
        let restarts = 0;
        let is_reached = false;
        Ok(Conversation {
            commands,
            events,
            deadline,
            url,
            server,
            unanswered,
            restarts,
            is_reached,
        })
    }

    /// Sends a request; earlier ones may still be unanswered.
    pub fn ask(&mut self, question: Command) {
        if !self.unanswered.is_empty() {
            self.unanswered.push(question.clone());
        }
        let _ = self.commands.send(question);
    }

    /// A server that wants a login, or TLS, before anything else ends the connection: now that this
    /// is known, the requests follow behind it. A connection that breaks says nothing about the
    /// server, and these requests change nothing there. Returns whether they are sent again.
    fn begin_anew(&mut self, error: &Error) -> bool {
        let may_help = match error.kind() {
            ErrorKind::Unauthenticated | ErrorKind::Unsupported => error.is_retryable(),
            ErrorKind::Connection => error.is_retryable() && self.is_reached,
            _ => false,
        };
        if !may_help || self.restarts >= RESTARTS_MAX || self.unanswered.is_empty() {
            return false;
        }
        self.restarts += 1;
        self.is_reached = false;
        (self.commands, self.events) = connection(&self.server, self.unanswered.clone());
        true
    }

    /// Restarts the read timeout, for the next answer.
    pub fn renew_deadline(&mut self) {
        self.deadline.renew();
    }

    /// The next event other than `Wait`, which lengthens the timeout.
    ///
    /// # Errors
    /// `TimedOut` where too few bytes arrive in time; the error that ended the connection.
    pub async fn next(&mut self) -> Result<ConnectionEvent> {
        let lost = || Error::new(ErrorKind::Connection, "the connection ended before the answer");
        loop {
            let event = match timeout_at(self.deadline.ends, self.events.recv()).await {
                Ok(Some((_, event))) => event,
                Ok(None) => return Err(lost().with_url(&*self.url)),
                Err(_) => {
                    self.deadline.is_rewarded().map_err(|error| error.with_url(&*self.url))?;
                    continue;
                }
            };
            match event {
                ConnectionEvent::Wait(time) => self.deadline.lengthen(time),
                ConnectionEvent::Disconnected { error: Some(error) } if self.begin_anew(&error) => {
                }
                ConnectionEvent::Failed { error, .. }
                    if error.kind() == ErrorKind::Connection && self.begin_anew(&error) => {}
                ConnectionEvent::Disconnected { error } => {
                    return Err(error.unwrap_or_else(lost).with_url(&*self.url));
                }
                event => {
                    if is_answer(&event) {
                        self.unanswered.clear();
                    }
                    self.is_reached |=
                        matches!(event, ConnectionEvent::Reached | ConnectionEvent::Connected);
                    return Ok(event);
                }
            }
        }
    }
}

/// A connection to a server, with its first command.
fn connection(
    server: &Arc<dyn Server>,
    first: Vec<Command>,
) -> (UnboundedSender<Command>, UnboundedReceiver<(ConnectionTag, ConnectionEvent)>) {
    let (commands, taken) = mpsc::unbounded_channel();
    let (sender, events) = mpsc::unbounded_channel();
    for question in first {
        let _ = commands.send(question);
    }
    let link = DriverLink { connection: ConnectionTag(0), commands: taken, events: sender };
    tokio::spawn(server.clone().run(link));
    (commands, events)
}

fn is_answer(event: &ConnectionEvent) -> bool {
    !matches!(
        event,
        ConnectionEvent::Reached
            | ConnectionEvent::Connected
            | ConnectionEvent::Sent { .. }
            | ConnectionEvent::Note(_)
            | ConnectionEvent::Traits(_)
    )
}

/// A network that counts the bytes received over it.
struct Counting {
    network: Arc<dyn Network>,
    come: Arc<AtomicU64>,
}

impl Network for Counting {
    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
        let connecting = self.network.connect(host, port);
        let come = self.come.clone();
        Box::pin(async move { Ok(counted(connecting.await?, come)) })
    }
}

/// How long an answer is waited for: as long as bytes come at the least rate, and not for ever.
struct Deadline {
    ends: Instant,
    gives_up: Instant,
    read_timeout: Duration,
    least: u64,
    come: Arc<AtomicU64>,
    seen: u64,
}

impl Deadline {
    fn new(config: &Config, come: Arc<AtomicU64>) -> Self {
        let now = Instant::now();
        let read_timeout = config.read_timeout;
        let least = config.least_rate as f64 * read_timeout.as_secs_f64();
        Deadline {
            ends: now + read_timeout,
            gives_up: now + read_timeout.max(QUESTION_TIMEOUT),
            read_timeout,
            least: (least as u64).max(1),
            come,
            seen: 0,
        }
    }

    /// An answer has arrived, and further ones are expected: the read timeout starts anew.
    fn renew(&mut self) {
        self.ends = (Instant::now() + self.read_timeout).max(self.ends).min(self.gives_up);
    }

    /// The server has requested it.
    fn lengthen(&mut self, time: Duration) {
        self.ends = (Instant::now() + time + self.read_timeout).min(self.gives_up);
    }

    /// It has ended: it begins anew where enough has come.
    ///
    /// # Errors
    /// `TimedOut` where too little has.
    fn is_rewarded(&mut self) -> Result<()> {
        let come = self.come.load(Ordering::Relaxed);
        if come - self.seen >= self.least && self.ends < self.gives_up {
            self.seen = come;
            self.ends = (self.ends + self.read_timeout).min(self.gives_up);
            return Ok(());
        }
        let text = format!(
            "no answer; {} came within the last {} s",
            count(come - self.seen, "byte"),
            self.read_timeout.as_secs_f64()
        );
        Err(Error::new(ErrorKind::TimedOut, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_been_tried_is_said_once() {
        for (found, kept) in [
            ("root://ds2:1094//f?tried=a,b&triedrc=resel,ioerr", "root://ds2:1094//f"),
            ("root://ds2:1094//f?x=1&tried=a&triedrc=resel&y=2", "root://ds2:1094//f?x=1&y=2"),
            ("root://ds2:1094//f", "root://ds2:1094//f"),
        ] {
            let url = forget_tried(&Address::parse(found).unwrap());
            assert_eq!(url, Address::parse(kept).unwrap());
        }
    }
}
