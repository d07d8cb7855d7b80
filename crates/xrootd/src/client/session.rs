//! The beginning of a session: handshake, protocol, login, authentication; and its end.

use std::collections::VecDeque;

use bytes::Bytes;

use super::event::{Answer, Event, HowToRetry, ServerInfo};
use super::streams::{BodyKind, Owner};
use super::{Client, What};
use crate::auth::{Method, Offer, offers};
use crate::error::{ErrorCode, ProtocolError, RequestError, ServerError, SessionError};
use crate::header::{Status, StreamId};
use crate::message::handshake::{self, Greeting};
use crate::message::login::{Ability, VERSION_5_DEFERRED_ANSWERS};
use crate::message::protocol::{ClientFlags, Expect, ServerFlags};
use crate::message::{Auth, Login, Message, Protocol};
use crate::profile::{Authentication, Start};
use crate::response::{Redirect, decode_wait};
use crate::states::{ClientState, ClientStep};

/// The protocol version that the client speaks: 5.2.0.
const CLIENT_VERSION: u32 = 0x520;

impl Client {
    /// Handshake, protocol and login leave together: nothing in them depends on an answer.
    /// TLS is never mentioned: after a server's consent to it, the next byte would have to be
    /// TLS, and the login has left already.
    pub(super) fn greet(&mut self) {
        self.outbox.put(&handshake::REQUEST);
        let protocol = Protocol {
            version: CLIENT_VERSION,
            flags: ClientFlags::SECURITY_REQUIREMENTS,
            expect: Expect::LOGIN,
        };
        self.put(Owner::Protocol, BodyKind::Control, |stream| protocol.frame(stream));
        let login = Login {
            pid: self.config.pid,
            user: Login::user_field(&self.config.user),
            ability_2: 0,
            ability: Ability::FULL_URL
                | Ability::REDIRECT_READ
                | Ability::IPV4_AND_6
                | Ability::REDIRECT_FLAGS,
            version: VERSION_5_DEFERRED_ANSWERS,
            // Servers read the first key from the second byte on.
            about: format!("&xrd.appname={}", self.config.app),
        };
        self.put(Owner::Login, BodyKind::Control, |stream| login.frame(stream));
        self.authenticate_ahead();
    }

    /// Where the server is known to want authentication, the credential leaves behind the login
    /// if one is all it takes; otherwise nothing may leave before the server has asked.
    fn authenticate_ahead(&mut self) {
        let Authentication::Needed(offered) = &self.profile.authentication else { return };
        if self.start == Start::Careful {
            return;
        }
        self.methods = self.known_methods(offered);
        match self.methods.pop_front() {
            Some((method, arguments)) if method.is_one_step() => {
                self.auth_ahead = self.authenticate(&method, &arguments);
            }
            _ => self.start = Start::Careful,
        }
    }

    /// The answer to the handshake.
    pub(super) fn greeted(&mut self, body: &Bytes) -> Result<(), ProtocolError> {
        self.machine.step(ClientStep::HandshakeAnswered)?;
        self.greeting = Some(Greeting::decode(body)?);
        Ok(())
    }

    /// The answer to a step of the session's beginning.
    pub(super) fn session_answer(
        &mut self,
        step: Owner,
        status: Status,
        body: &Bytes,
    ) -> Result<(), ProtocolError> {
        let name = match step {
            Owner::Protocol => Protocol::NAME,
            Owner::Login => Login::NAME,
            _ => Auth::NAME,
        };
        match (step, status) {
            (Owner::Protocol, Status::Ok) => self.negotiated(body),
            (Owner::Login, Status::Ok) => self.logged_in(body),
            (Owner::Auth, Status::Ok) => {
                self.machine.step(ClientStep::AuthAnswered)?;
                self.up();
                Ok(())
            }
            (Owner::Auth, Status::AuthMore) => self.authenticate_further(body),
            (_, Status::Error) => {
                let error = ServerError::decode(body)?;
                self.session_refused(step, name, error);
                Ok(())
            }
            (_, Status::Wait) => {
                let (time, _) = decode_wait(body)?;
                self.end(SessionError::Busy(time), HowToRetry::After(time));
                Ok(())
            }
            (_, Status::Redirect) => {
                let target = Box::new(Redirect::decode(body)?);
                self.end(SessionError::Moved(target), HowToRetry::No);
                Ok(())
            }
            (_, status) => Err(ProtocolError::UnexpectedStatus {
                status: super::answers::status_name(status),
                request: name,
            }),
        }
    }

    fn negotiated(&mut self, body: &Bytes) -> Result<(), ProtocolError> {
        self.machine.step(ClientStep::ProtocolAnswered)?;
        let answer = Protocol::decode_answer(body)?;
        self.flags = answer.flags;
        self.profile.version = Some(answer.version);
        self.profile.flags = Some(answer.flags);
        if answer.flags.contains(ServerFlags::GO_TO_TLS) {
            self.end(SessionError::TlsRequired, HowToRetry::No);
        }
        Ok(())
    }

    fn logged_in(&mut self, body: &Bytes) -> Result<(), ProtocolError> {
        let answer = Login::decode_answer(body)?;
        self.session = answer.session;
        if answer.security.is_empty() {
            self.machine.step(ClientStep::LoginAnswered)?;
            self.profile.authentication = Authentication::NotNeeded;
            if let Some(stream) = self.auth_ahead {
                // It was not wanted after all, which the server says and means no more by.
                self.streams.abandon(stream, Owner::None);
            }
            self.up();
            return Ok(());
        }
        self.machine.step(ClientStep::LoginChallenged)?;
        self.profile.authentication = Authentication::Needed(answer.security.clone());
        self.offered = answer.security;
        if self.auth_ahead.is_some() {
            return Ok(());
        }
        if self.ahead {
            self.burst_refused();
            return Ok(());
        }
        self.methods = self.known_methods(&self.offered);
        self.try_next_method(None);
        Ok(())
    }

    /// The server meets what came before the authentication with an error and closes.
    fn burst_refused(&mut self) {
        let offered = self.offered.clone();
        self.end(SessionError::AuthenticationFirst { offered }, HowToRetry::Careful);
    }

    /// What the server offers and the client may use, in the server's order.
    fn known_methods(&self, offered: &str) -> VecDeque<(Method, String)> {
        let common = |offer: Offer| {
            let mut known = self.config.authentication.iter();
            let method = known.find(|method| method.name() == offer.name)?;
            Some((method.clone(), offer.arguments))
        };
        offers(offered).into_iter().filter_map(common).collect()
    }

    /// Begins with the next protocol that both sides know.
    fn try_next_method(&mut self, refusal: Option<ServerError>) {
        if let Some((method, arguments)) = self.methods.pop_front() {
            self.authenticate(&method, &arguments);
            return;
        }
        let error = match refusal {
            Some(error) => SessionError::Refused { step: Auth::NAME, error },
            None => SessionError::NoAuthentication { offered: self.offered.clone() },
        };
        self.end(error, HowToRetry::No);
    }

    fn authenticate(&mut self, method: &Method, arguments: &str) -> Option<StreamId> {
        let mut exchange = method.exchange();
        let auth = Auth { protocol: method.wire_name(), credential: exchange.begin(arguments) };
        self.exchange = Some((auth.protocol, exchange));
        self.put(Owner::Auth, BodyKind::Control, |stream| auth.frame(stream))
    }

    fn authenticate_further(&mut self, challenge: &Bytes) -> Result<(), ProtocolError> {
        self.machine.step(ClientStep::AuthContinues)?;
        let next = self.exchange.as_mut().and_then(|(protocol, exchange)| {
            let credential = exchange.proceed(challenge)?;
            Some(Auth { protocol: *protocol, credential })
        });
        match next {
            Some(auth) => {
                self.put(Owner::Auth, BodyKind::Control, |stream| auth.frame(stream));
            }
            None => {
                let offered = self.offered.clone();
                self.end(SessionError::NoAuthentication { offered }, HowToRetry::No);
            }
        }
        Ok(())
    }

    fn session_refused(&mut self, step: Owner, name: &'static str, error: ServerError) {
        if step == Owner::Auth {
            if self.auth_ahead.take().is_some() && self.ahead {
                self.profile.burst = Some(false);
                self.burst_refused();
            } else {
                self.try_next_method(Some(error));
            }
        } else if error.code == ErrorCode::TLS_REQUIRED {
            self.end(SessionError::TlsRequired, HowToRetry::No);
        } else {
            let retry = if error.code.is_retryable() { HowToRetry::Again } else { HowToRetry::No };
            self.end(SessionError::Refused { step: name, error }, retry);
        }
    }

    fn up(&mut self) {
        self.exchange = None;
        self.methods.clear();
        self.profile.up(self.ahead);
        if let Some(Greeting { version, kind }) = self.greeting {
            let server = ServerInfo { version, flags: self.flags, kind, session: self.session };
            self.events.push_back(Event::SessionUp { server });
        }
    }

    /// The connection is gone.
    pub(super) fn end_of_connection(&mut self) {
        let begun = matches!(self.machine.state(), ClientState::Up | ClientState::Closed);
        let retry = if self.start == Start::Burst && self.ahead && !begun {
            // It may be the burst that the server did not like.
            self.profile.burst_cut();
            HowToRetry::Careful
        } else {
            HowToRetry::Again
        };
        self.end(SessionError::Closed, retry);
    }

    /// The session is over: every request fails, and nothing more is sent.
    pub(super) fn end(&mut self, error: SessionError, retry: HowToRetry) {
        // Every state may end, so this never fails.
        if self.is_closed() || self.machine.step(ClientStep::Ended).is_err() {
            return;
        }
        self.outbox = Default::default();
        self.ready.clear();
        self.delayed.clear();
        self.fail_all(&error);
        self.ended = Some(error.clone());
        self.events.push_back(Event::SessionFailed { error, retry });
    }

    /// No request of a session that is over will be answered.
    pub(super) fn fail_all(&mut self, error: &SessionError) {
        for (request, task) in std::mem::take(&mut self.tasks) {
            let event = match task.what {
                // The handle is gone with the session, which is all that was wanted.
                What::Close { .. } => Event::Answer { request, answer: Answer::Closed },
                _ => Event::Failed { request, error: RequestError::Session(error.clone()) },
            };
            self.events.push_back(event);
        }
    }
}
