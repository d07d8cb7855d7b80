//! One connection: the client's bytes go to the socket and back, the driver's commands to the
//! client.

use std::sync::atomic::Ordering;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use xrootd::client::{Client, Event, HowToRetry};
use xrootd::error::SessionError;

use super::XrootdServer;
use super::session::{Early, Session};
use crate::clock::sleep_until;
use crate::error::Result;
use crate::source::network::Stream;
use crate::source::{ConnectionEvent, DriverLink};

/// What one read of the socket takes at the most: several packets a call, and little enough that
/// a basket seldom lies across two.
const READ_BYTES: usize = 256 << 10;

impl XrootdServer {
    pub(super) async fn converse(&self, link: &mut DriverLink) -> Result<()> {
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
        link.send(ConnectionEvent::Reached);
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
        link: &mut DriverLink,
    ) -> Result<()> {
        let (mut reader, mut writer) = tokio::io::split(stream);
        let (mut incoming, mut outgoing) = (BytesMut::new(), BytesMut::new());
        loop {
            // Commands that are there already leave together.
            while let Ok(command) = link.commands.try_recv() {
                session.command(command, link);
                session.send_sent(link);
            }
            self.send_events(session, link)?;
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
                        // A broken protocol comes once more as the session's last event.
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

    /// Passes on the events of the session, until there are no more.
    fn send_events(&self, session: &mut Session, link: &DriverLink) -> Result<()> {
        session.send_sent(link);
        while let Some(event) = session.client.poll_event() {
            match event {
                Event::SessionUp { .. } => {
                    self.learn(session);
                    link.send(ConnectionEvent::Connected);
                    if !self.asked_limits.swap(true, Ordering::Relaxed) {
                        session.ask_limits();
                    }
                }
                Event::SessionFailed { error, retry } => {
                    self.learn(session);
                    return Err(self.session_error(&error, retry));
                }
                Event::StartTls { .. } => {
                    return Err(self.session_error(&SessionError::TlsRequired, HowToRetry::No));
                }
                Event::CredentialWanted { method, .. } => {
                    let why = "there is none".to_owned();
                    session.client.lack(session.clock.now(), &method, why);
                }
                Event::Notice { text } => {
                    link.send(ConnectionEvent::Note(format!("{} says: {text}", self.name)));
                }
                Event::Wait { time, why, .. } => {
                    link.send(ConnectionEvent::Wait(time));
                    link.send(ConnectionEvent::Note(format!(
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
}
