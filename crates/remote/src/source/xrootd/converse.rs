//! One connection: the client's bytes go to the socket and back, for the driver and for uploads.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Buf, Bytes, BytesMut};
use futures::future::{BoxFuture, OptionFuture};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use xrootd::client::{Client, Event};
use xrootd::profile::Authentication;

use super::XrootdServer;
use super::logins::LoginTurn;
use super::opening::{Opening, Ready};
use super::session::{Early, Session};
use super::starts::ConnectionStart;
use crate::clock::{Clock, sleep_until};
use crate::error::Result;
use crate::source::network::Stream;
use crate::source::tls::{self, Handshake, TlsConfig};
use crate::source::{ConnectionEvent, DriverLink};

/// Bytes that one read of the socket takes at the most: several packets a call, and little enough
/// that a basket seldom lies across two.
const READ_BYTES: usize = 256 << 10;
/// Bytes that wait for the socket at the most, but for the last piece: more would only be copied
/// early.
const OUTGOING_BYTES: usize = 1 << 20;

/// The stream of a connection, and the bytes on their way.
struct Wire {
    stream: Box<dyn Stream>,
    incoming: BytesMut,
    outgoing: BytesMut,
    tls: Option<Arc<TlsConfig>>,
    /// TLS whose first message has left already.
    hello: Option<tls::TlsSession>,
    /// How the handshake of TLS goes.
    handshake: Option<watch::Receiver<Handshake>>,
}

/// Who asks over a connection, and hears the answers.
pub(super) trait Caller: Send {
    fn client(&mut self) -> &mut Client;

    fn clock(&self) -> Clock;

    /// Gives the client the requests that are there already.
    fn ask_ready(&mut self);

    /// Waits for the next request and gives it to the client; false where none will come. Nothing
    /// is lost where this is given up.
    fn ask_next(&mut self) -> impl Future<Output = bool> + Send;

    /// Something has happened that the session does not see to by itself.
    fn hear(&mut self, server: &XrootdServer, event: Event);

    /// Something that the user should know.
    fn note(&mut self, text: String);
}

/// The driver, which reads.
struct Driver<'a> {
    session: Session,
    link: &'a mut DriverLink,
}

impl Caller for Driver<'_> {
    fn client(&mut self) -> &mut Client {
        &mut self.session.client
    }

    fn clock(&self) -> Clock {
        self.session.clock
    }

    fn ask_ready(&mut self) {
        // Commands that are there already leave together.
        while let Ok(command) = self.link.commands.try_recv() {
            self.session.command(command, self.link);
            self.session.send_sent(self.link);
        }
        self.session.send_sent(self.link);
    }

    async fn ask_next(&mut self) -> bool {
        let Some(command) = self.link.commands.recv().await else { return false };
        self.session.command(command, self.link);
        true
    }

    fn hear(&mut self, server: &XrootdServer, event: Event) {
        match event {
            Event::SessionUp { .. } => {
                self.link.send(ConnectionEvent::Connected);
                if !server.asked_limits.swap(true, Ordering::Relaxed) {
                    self.session.ask_limits(server.wants_selects);
                }
            }
            Event::Notice { text } => self.note(format!("{} says: {text}", server.name)),
            Event::Wait { time, why, .. } => {
                self.link.send(ConnectionEvent::Wait(time));
                let seconds = time.as_secs();
                self.note(format!("{} asked to wait {seconds} s: {why}", server.name));
            }
            event => server.answer(&mut self.session, self.link, event),
        }
    }

    fn note(&mut self, text: String) {
        self.link.send(ConnectionEvent::Note(text));
    }
}

/// Credentials that are fetched or known.
#[derive(Default)]
struct Credentials {
    ready: Vec<Ready>,
    /// A hash that distinguishes those that were ready from others.
    shown: u64,
    fetching: Option<BoxFuture<'static, Ready>>,
    turn: Option<LoginTurn>,
}

/// Why bytes are no longer passed on as before.
enum Turn {
    /// No more requests will come.
    Over,
    /// TLS begins, with its first received bytes.
    Tls(Bytes),
}

impl XrootdServer {
    /// A new connection, on which nothing has been said.
    pub(super) async fn connect(&self) -> Result<Box<dyn Stream>> {
        let stream = self.network.connect(&self.host, self.port).await;
        stream.map_err(|error| self.unreachable(&error))
    }

    pub(super) async fn converse(&self, link: &mut DriverLink) -> Result<()> {
        // How to begin depends on whether there is anything to ask.
        let mut early = Early::default();
        let beginning = async { tokio::try_join!(self.connect(), self.prepare()) };
        tokio::pin!(beginning);
        let (stream, opening) = loop {
            tokio::select! {
                biased;
                command = link.commands.recv() => match command {
                    Some(command) => early.take(command, link),
                    None => return Ok(()),
                },
                begun = &mut beginning => break begun?,
            }
        };
        link.send(ConnectionEvent::Reached);
        let mut opening = opening;
        let mut turn = None;
        let newcomer = opening.newcomer(!early.commands.is_empty());
        let mut start = self.starts.lock().start(newcomer);
        if start == ConnectionStart::BareBurst {
            opening.leave_credential_out();
        } else if start == ConnectionStart::InTurn {
            turn = match self.wait(&mut early, link).await {
                Some(turn) => turn,
                None => return Ok(()),
            };
            opening.profile = self.starts.lock().profile().clone();
            opening.careful &= opening.profile.authentication == Authentication::Unknown;
            if opening.profile.insists_on_tls && opening.tls.is_none() {
                // Others have found out meanwhile how to begin.
                opening = self.prepare().await?;
            }
            let newcomer = opening.newcomer(!early.commands.is_empty());
            start = self.starts.lock().after_others(newcomer);
        }
        let Opening { config, profile, tls, ready, shown, .. } = opening;
        let early_hello = config.early_hello;
        let client = Client::new(config, profile, start.of_client());
        let session = Session::new(client, self.pages.clone(), self.opens_say_nothing.clone());
        let mut driver = Driver { session, link };
        let mut wire = Wire::new(stream, tls);
        if early_hello {
            wire.take_from(&mut driver);
            self.say_hello(&mut wire)?;
        }
        let commands = early.commands.into_iter();
        commands.for_each(|command| driver.session.command(command, driver.link));
        let mut credentials = Credentials { ready, shown, fetching: None, turn };
        let outcome = self.carry_on(&mut wire, &mut driver, &mut credentials).await;
        self.judge(outcome, early_hello, &wire)
    }

    /// Connects for one caller, who asks over this connection alone.
    pub(super) async fn converse_with<C: Caller>(
        &self,
        begin: impl FnOnce(Client) -> C,
    ) -> Result<()> {
        let (stream, opening) = tokio::try_join!(self.connect(), self.prepare())?;
        let start = self.starts.lock().after_others(opening.newcomer(true));
        let Opening { config, profile, tls, ready, shown, .. } = opening;
        let early_hello = config.early_hello;
        let mut caller = begin(Client::new(config, profile, start.of_client()));
        let mut wire = Wire::new(stream, tls);
        if early_hello {
            wire.take_from(&mut caller);
            self.say_hello(&mut wire)?;
        }
        let mut credentials = Credentials { ready, shown, ..Credentials::default() };
        let outcome = self.carry_on(&mut wire, &mut caller, &mut credentials).await;
        self.judge(outcome, early_hello, &wire)
    }

    /// Whether the end of a connection may have to do with how it began.
    fn judge(&self, outcome: Result<()>, early_hello: bool, wire: &Wire) -> Result<()> {
        outcome.map_err(|error| {
            if !early_hello || wire.is_encrypted() {
                return error;
            }
            // It may have been too early for this server: once more without.
            self.starts.lock().hello_lost();
            error.retryable(true)
        })
    }

    /// Waits for a turn to log in, or for something to ask. `None` if no request will come.
    async fn wait(&self, early: &mut Early, link: &mut DriverLink) -> Option<Option<LoginTurn>> {
        tokio::select! {
            biased;
            command = link.commands.recv() => {
                early.take(command?, link);
                Some(None)
            }
            turn = self.logins.turn() => Some(turn),
        }
    }

    /// Passes bytes on to the end, first in clear and then within TLS if it comes to that.
    async fn carry_on(
        &self,
        wire: &mut Wire,
        caller: &mut impl Caller,
        credentials: &mut Credentials,
    ) -> Result<()> {
        while let Turn::Tls(rest) = self.transfer(wire, caller, credentials).await? {
            self.encrypt(wire, &rest).await?;
        }
        Ok(())
    }

    /// Writes the beginning of TLS behind the bytes that have been written.
    fn say_hello(&self, wire: &mut Wire) -> Result<()> {
        if let Some(config) = &wire.tls {
            let mut hello = tls::TlsSession::new(&self.host, config, &[])?;
            wire.outgoing.extend_from_slice(&hello.hello());
            wire.hello = Some(hello);
        }
        Ok(())
    }

    /// Puts TLS between the client and the socket.
    async fn encrypt(&self, wire: &mut Wire, rest: &[u8]) -> Result<()> {
        let outgoing = wire.outgoing.split();
        wire.stream.write_all(&outgoing).await.map_err(|error| self.broken(&error))?;
        let begun = match wire.hello.take() {
            Some(begun) => begun,
            None => {
                let config = match wire.tls.take() {
                    Some(config) => config,
                    None => self.tls_config().await?,
                };
                tls::TlsSession::new(&self.host, &config, &[])?
            }
        };
        let clear = std::mem::replace(&mut wire.stream, Box::new(tokio::io::empty()));
        let encrypted = begun.over(clear, rest);
        wire.handshake = Some(encrypted.watch());
        wire.stream = Box::new(encrypted);
        Ok(())
    }

    async fn transfer(
        &self,
        wire: &mut Wire,
        caller: &mut impl Caller,
        credentials: &mut Credentials,
    ) -> Result<Turn> {
        let clock = caller.clock();
        loop {
            caller.ask_ready();
            if let Some(rest) = self.send_events(caller, credentials)? {
                return Ok(Turn::Tls(rest));
            }
            wire.take_from(caller);
            let wake = caller.client().poll_timeout().map(|time| clock.instant(time));
            wire.incoming.reserve(READ_BYTES);
            let (mut reader, mut writer) = tokio::io::split(&mut *wire.stream);
            tokio::select! {
                biased;
                sent = writer.write(&wire.outgoing), if !wire.outgoing.is_empty() => {
                    wire.outgoing.advance(sent.map_err(|e| self.broken(&e))?);
                }
                read = reader.read_buf(&mut wire.incoming) => {
                    if wire.handshake.is_some() && read.is_ok() {
                        self.note_tls(&mut wire.handshake, caller);
                    }
                    let client = caller.client();
                    match read {
                        Ok(0) => client.handle_eof(clock.now()),
                        Err(error) if wire.is_cut(&error) => client.handle_eof(clock.now()),
                        Err(error) => return Err(self.broken(&error)),
                        Ok(_) => {
                            let bytes = wire.incoming.split().freeze();
                            // A broken protocol comes once more as the session's last event.
                            let _ = client.handle_bytes(clock.now(), bytes);
                        }
                    }
                }
                Some(ready) = OptionFuture::from(credentials.fetching.as_mut()) => {
                    credentials.fetching = None;
                    self.provide(caller, ready);
                }
                more = caller.ask_next() => {
                    if !more {
                        return Ok(Turn::Over);
                    }
                }
                () = sleep_until(wake) => caller.client().handle_timeout(clock.now()),
            }
        }
    }

    /// Reports once whether the server is trusted without proof.
    fn note_tls(
        &self,
        handshake: &mut Option<watch::Receiver<Handshake>>,
        caller: &mut impl Caller,
    ) {
        let done = handshake.as_ref().and_then(|handshake| match &*handshake.borrow() {
            Handshake::Done(peer) => Some(peer.clone()),
            _ => None,
        });
        if let Some(peer) = done {
            *self.encryption.lock() = Some(peer);
            if self.insecure && !self.has_warned.swap(true, Ordering::Relaxed) {
                let text =
                    format!("{} was believed without proof: insecure was asked for", self.name);
                caller.note(text);
            }
        }
    }

    /// Answers the client's request for a credential.
    fn provide(&self, caller: &mut impl Caller, ready: Ready) {
        let now = caller.clock().now();
        match ready.outcome {
            Ok(credential) => caller.client().provide(now, credential),
            Err(why) => caller.client().lack(now, &ready.method, why),
        }
    }

    /// Passes on the events of the session, until there are no more or TLS begins.
    fn send_events(
        &self,
        caller: &mut impl Caller,
        credentials: &mut Credentials,
    ) -> Result<Option<Bytes>> {
        while let Some(event) = caller.client().poll_event() {
            match event {
                Event::StartTls { rest } => return Ok(Some(rest)),
                Event::CredentialWanted { method, arguments } => {
                    let known =
                        |ready: &Ready| ready.method == method && ready.arguments == arguments;
                    match credentials.ready.iter().position(known) {
                        Some(at) => self.provide(caller, credentials.ready.swap_remove(at)),
                        None => credentials.fetching = Some(self.fetch(method, arguments)),
                    }
                }
                Event::SessionUp { .. } => {
                    self.logins.succeeded();
                    credentials.turn = None;
                    self.learn(caller.client());
                    self.note_login(caller.client());
                    caller.hear(self, event);
                }
                Event::SessionFailed { error, retry } => {
                    self.learn(caller.client());
                    let ended = self.session_error(&error, retry);
                    self.note_refusal(&error, caller.client(), credentials.shown);
                    return Err(ended);
                }
                event => caller.hear(self, event),
            }
        }
        Ok(None)
    }
}

impl Wire {
    fn new(stream: Box<dyn Stream>, tls: Option<Arc<TlsConfig>>) -> Self {
        let incoming = BytesMut::new();
        let outgoing = BytesMut::new();
        Wire { stream, incoming, outgoing, tls, hello: None, handshake: None }
    }

    /// Takes the bytes that the client has to send.
    fn take_from(&mut self, caller: &mut impl Caller) {
        let now = caller.clock().now();
        while self.outgoing.len() < OUTGOING_BYTES
            && let Some(bytes) = caller.client().poll_transmit(now)
        {
            self.outgoing.extend_from_slice(&bytes);
        }
    }

    /// Whether the handshake of TLS has come to its end.
    fn is_encrypted(&self) -> bool {
        let is_done = |handshake: &watch::Receiver<Handshake>| {
            matches!(&*handshake.borrow(), Handshake::Done(_))
        };
        self.handshake.as_ref().is_some_and(is_done)
    }

    /// Whether an error means that the server has closed, once TLS was up: to servers of XRootD an
    /// end without TLS's own is usual, and every answer says how long it is.
    fn is_cut(&self, error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::UnexpectedEof && self.is_encrypted()
    }
}
