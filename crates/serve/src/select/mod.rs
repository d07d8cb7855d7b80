//! Entries that are selected for clients where the files are (`--select`): the engine answers. This
//! module decides who may request how much, and of which files.

mod tally;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use engine::near::{SelectFile, SelectRequest};
use engine::{AnswerForm, Engine, Gate, SelectBounds, Selected, SelectedStream};
use futures::future::{BoxFuture, FutureExt};
use mutex::Mutex;
use remote::address::LentToken;
use remote::near::headers;
use remote::source::network::{Network, Stream};
use remote::{Error, ErrorKind, Result};

use crate::access::Denial;
use crate::far::AskedAddress;
use crate::files::{Files, Name};
use crate::guest::Guest;
use crate::limits::SelectLimits;
use crate::turns::Turns;

pub use self::tally::{SelectFigures, SelectTally};

/// Files of one request that are opened at a time.
const OPENS_MAX: usize = 8;

/// Answers requests. Cheap to clone.
#[derive(Clone)]
pub struct Selector(Arc<SelectorInner>);

impl std::fmt::Debug for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Selector")
    }
}

struct SelectorInner {
    engine: Engine,
    files: Files,
    limits: SelectLimits,
    /// Of the processors: addresses take turns, step by step.
    turns: Arc<Turns>,
    /// Requests that are answered, by address.
    present: Mutex<BTreeMap<IpAddr, usize>>,
    tally: Arc<SelectTally>,
}

/// The right to have one request answered.
struct SelectPlace {
    selector: Selector,
    address: IpAddr,
}

/// An answer on its way to a client. Dropping it ends the work.
pub enum Answering {
    Stream(Box<Answer>),
    Text(Bytes),
    /// The client may not read one of the files.
    Denied(Denial),
}

/// A request that may be answered.
struct PermittedRequest {
    engine: Engine,
    addresses: Vec<String>,
    bounds: SelectBounds,
}

/// A value for a client that may read all files of its request.
type Permitted<T> = Result<std::result::Result<T, Denial>>;

/// A stream of Arrow.
pub struct Answer {
    stream: SelectedStream,
    /// Until the client has the last byte.
    _place: SelectPlace,
    tally: Arc<SelectTally>,
}

impl Selector {
    /// Answers requests about these files, on the present tokio runtime.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(files: &Files, limits: &SelectLimits) -> io::Result<Self> {
        let (engine, tally) = match files {
            Files::Far(far) => (far.engine().clone(), far.select_tally()),
            Files::Folder(_) => {
                let config = remote::Config {
                    memory_bytes_max: limits.memory_bytes,
                    opens_max: OPENS_MAX,
                    ..remote::Config::default()
                };
                let engine = Engine::within(&config, Arc::new(NoNetwork));
                (engine.map_err(io::Error::other)?, Arc::default())
            }
        };
        let processors = std::thread::available_parallelism()?.get();
        // Steps wait for bytes, too, those of far files most of their time.
        let turns = if files.are_far() { limits.requests } else { 2 * processors };
        let files = files.clone();
        let limits = limits.clone();
        Ok(Selector(Arc::new(SelectorInner {
            engine,
            files,
            limits,
            turns: Turns::new(turns),
            present: Mutex::default(),
            tally,
        })))
    }

    /// Bytes of a request.
    pub fn request_bytes(&self) -> usize {
        self.0.limits.request_bytes
    }

    /// Answers a request of a client, in JSON.
    ///
    /// # Errors
    /// As [`SelectRequest::parse`] and [`Selector::answer_to`].
    pub async fn answer(&self, guest: &Guest, text: &[u8], form: AnswerForm) -> Result<Answering> {
        match SelectRequest::parse(text) {
            Ok(request) => self.answer_to(guest, &request, form).await,
            Err(error) => {
                self.0.tally.refused();
                Err(error)
            }
        }
    }

    /// Answers a request of a client.
    ///
    /// # Errors
    /// `LimitReached` where it, or all clients, have as many as may be; of files that the client
    /// may not read; as [`Engine::selected`].
    pub async fn answer_to(
        &self,
        guest: &Guest,
        request: &SelectRequest,
        form: AnswerForm,
    ) -> Result<Answering> {
        let answered = self.answered(guest, request, form).await;
        if matches!(answered, Err(_) | Ok(Answering::Denied(_))) {
            self.0.tally.refused();
        }
        answered
    }

    /// The types of the columns of a request, as the first message of its answer.
    ///
    /// # Errors
    /// As [`Selector::answer_to`].
    #[cfg(feature = "flight")]
    pub async fn types(&self, guest: &Guest, request: &SelectRequest) -> Permitted<Vec<u8>> {
        let _place = self.place(guest.client.address())?;
        match self.permitted(guest, request).await? {
            Err(denial) => {
                self.0.tally.refused();
                Ok(Err(denial))
            }
            Ok(PermittedRequest { engine, addresses, bounds }) => {
                engine.selected_types(request, addresses, bounds).await.map(Ok)
            }
        }
    }

    /// A part of the metadata of a file, for a client that is about to open it and to ask about it.
    ///
    /// # Errors
    /// `LimitReached` where the client, or all clients, have as many requests as may be; those of
    /// opening the file.
    pub async fn metadata(&self, guest: &Guest, file: &str, part: usize) -> Permitted<Vec<u8>> {
        let _place = self.place(guest.client.address())?;
        let request = SelectRequest::arrays(vec![SelectFile::Name(file.to_owned())]);
        match self.permitted(guest, &request).await? {
            Err(denial) => Ok(Err(denial)),
            Ok(PermittedRequest { engine, addresses, bounds }) => {
                let address = addresses.first().map_or("", String::as_str);
                let found = tokio::time::timeout(bounds.time, engine.metadata_to_send(address));
                let slow = |_| Error::new(ErrorKind::TimedOut, "the file takes too long to open");
                Ok(Ok(found.await.map_err(slow)??.part(part)))
            }
        }
    }

    async fn answered(
        &self,
        guest: &Guest,
        request: &SelectRequest,
        form: AnswerForm,
    ) -> Result<Answering> {
        let place = self.place(guest.client.address())?;
        let permitted = match self.permitted(guest, request).await? {
            Err(denial) => return Ok(Answering::Denied(denial)),
            Ok(permitted) => permitted,
        };
        let PermittedRequest { engine, addresses, bounds } = permitted;
        let tally = &self.0.tally;
        match engine.selected(request, addresses, bounds, form).await? {
            Selected::Text(text, totals) => {
                tally.answered(totals);
                Ok(Answering::Text(text.into()))
            }
            Selected::Stream(stream) => {
                let tally = tally.clone();
                Ok(Answering::Stream(Box::new(Answer { stream: *stream, _place: place, tally })))
            }
        }
    }

    /// The files of a request, where the client may read them.
    async fn permitted(
        &self,
        guest: &Guest,
        request: &SelectRequest,
    ) -> Permitted<PermittedRequest> {
        let SelectorInner { engine, files, limits, .. } = &*self.0;
        let mut addresses = Vec::with_capacity(request.files.len());
        let mut lent = Vec::new();
        for file in &request.files {
            match address(files, guest, &file.known().file).await? {
                Ok(asked) => {
                    addresses.push(asked.address.as_str().to_owned());
                    lent.extend(asked.lent);
                }
                Err(denial) => return Ok(Err(denial)),
            }
        }
        let gate = SelectGate {
            files: files.clone(),
            turns: self.0.turns.clone(),
            guest: guest.clone(),
            _lent: lent,
        };
        let SelectLimits { answer_bytes: bytes, time, step_time, step_bytes, .. } = *limits;
        let bounds = SelectBounds { bytes, time, step_time, step_bytes };
        let engine = engine.guarded(Arc::new(gate)).charged_to(guest.charges());
        Ok(Ok(PermittedRequest { engine, addresses, bounds }))
    }

    /// A place for one request more.
    fn place(&self, address: IpAddr) -> Result<SelectPlace> {
        let SelectLimits { requests, requests_per_address, .. } = self.0.limits;
        let mut present = self.0.present.lock();
        let all: usize = present.values().sum();
        let own = present.get(&address).copied().unwrap_or_default();
        if all >= requests || own >= requests_per_address {
            let message = "the server answers as many requests as it can: try again later";
            return Err(Error::new(ErrorKind::LimitReached, message).busy(true));
        }
        present.insert(address, own + 1);
        Ok(SelectPlace { selector: self.clone(), address })
    }
}

impl Drop for SelectPlace {
    fn drop(&mut self) {
        let mut present = self.selector.0.present.lock();
        if let Some(own) = present.get_mut(&self.address) {
            *own -= 1;
            if *own == 0 {
                present.remove(&self.address);
            }
        }
    }
}

impl Answer {
    /// The next bytes; `None` behind the last, and where the work has failed is no end.
    ///
    /// # Errors
    /// Why the work has failed.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        self.stream.next().await
    }

    /// Whether the bytes are compressed as a whole, by zstd.
    pub fn is_coded(&self) -> bool {
        self.stream.is_coded()
    }

    /// Seconds from the request until the first entries were ready, or until now.
    pub fn delay(&self) -> f64 {
        let totals = self.stream.totals();
        totals.delay.unwrap_or(totals.seconds)
    }

    /// The cost so far, as the lines of a head.
    pub fn totals(&self) -> [(&'static str, String); 5] {
        let totals = self.stream.totals();
        [
            (headers::DELAY, format!("{:.6}", self.delay())),
            (headers::ENTRIES, totals.entries.to_string()),
            (headers::SELECTED, totals.selected.to_string()),
            (headers::BYTES, totals.bytes.to_string()),
            (headers::SECONDS, format!("{:.6}", totals.seconds)),
        ]
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.tally.answered(self.stream.totals());
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({:?})", self.stream.totals())
    }
}

/// The address of a file that a client may read, by the name that a `GET` has.
async fn address(files: &Files, guest: &Guest, written: &str) -> Permitted<AskedAddress> {
    let wrong =
        |fault: &str| Error::new(ErrorKind::InvalidArgument, format!("{fault}: {written:?}"));
    let bare = written.split('?').next().unwrap_or_default();
    let path = percent_encoding::percent_decode_str(bare).decode_utf8();
    let path = path.map_err(|_| wrong("the name of a file is no text"))?;
    let name = Name { path: Path::new(&*path), written, is_encoded: true };
    match files.address(guest, name).await {
        Ok(address) => Ok(Ok(address)),
        Err(error) => match (Denial::of(&error), crate::far::known(&error)) {
            (Some(denial), _) => Ok(Err(denial.clone())),
            (None, Some(known)) => Err(known.clone()),
            _ => Err(Error::new(kind_of(&error), words(&error)).with_url(written)),
        },
    }
}

fn kind_of(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
        io::ErrorKind::Unsupported | io::ErrorKind::IsADirectory => ErrorKind::PermissionDenied,
        _ => ErrorKind::Io,
    }
}

/// As a `GET` of the file is answered.
fn words(error: &io::Error) -> &'static str {
    match kind_of(error) {
        ErrorKind::NotFound => "no such file",
        ErrorKind::PermissionDenied => "not to be used here",
        _ => "the server cannot read this file",
    }
}

/// The files that a request of one client may read, and the time at which it computes.
struct SelectGate {
    files: Files,
    turns: Arc<Turns>,
    guest: Guest,
    /// Tokens of the addresses, for as long as files are opened.
    _lent: Vec<Arc<LentToken>>,
}

impl Gate for SelectGate {
    fn check<'a>(&'a self, address: &'a remote::address::Address) -> BoxFuture<'a, Result<()>> {
        async move {
            match &self.files {
                // Files below the served folder, that the client could read as bytes.
                Files::Folder(folder) => {
                    let path = address.to_local().ok_or_else(|| outside("another server"))?;
                    let inside = folder.inside(&self.guest, path).await;
                    inside.map(drop).map_err(|error| match Denial::of(&error) {
                        Some(_) => outside("a file that you may not read"),
                        None => outside("a file that is not served here"),
                    })
                }
                // Files of origins whose files this proxy forwards, and that the client may read.
                Files::Far(far) => {
                    let may = far.allows(&self.guest, address).await;
                    may.then_some(()).ok_or_else(|| outside("a file that you may not read here"))
                }
            }
        }
        .boxed()
    }

    fn turn(&self) -> BoxFuture<'_, Result<Box<dyn Send>>> {
        async {
            let ends = |_| Error::new(ErrorKind::Cancelled, "the server ends");
            let turn = self.turns.take(self.guest.client.address()).await.map_err(ends)?;
            Ok(Box::new(turn) as Box<dyn Send>)
        }
        .boxed()
    }
}

/// The error for a file that another file names. It says nothing of the file.
fn outside(target: &str) -> Error {
    Error::new(ErrorKind::PermissionDenied, format!("the file names {target}"))
}

/// No connection goes from a server of a folder to anywhere.
struct NoNetwork;

impl Network for NoNetwork {
    fn connect(&self, _: &str, _: u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
        let refused = io::Error::new(io::ErrorKind::PermissionDenied, "a server of a folder");
        async move { Err(refused) }.boxed()
    }
}
