//! The beginning of a session: handshake, protocol, login, authentication; and its end.

use bytes::Bytes;

use super::encryption::Encryption;
use super::event::{Answer, Event, HowToRetry, ServerInfo};
use super::streams::{BodyKind, Owner};
use super::{Client, TaskKind, Tls};
use crate::error::{ErrorCode, ProtocolError, RequestError, ServerError, SessionError};
use crate::header::Status;
use crate::message::handshake::{self, Greeting};
use crate::message::login::{Ability, VERSION_5_DEFERRED_ANSWERS};
use crate::message::protocol::{ClientFlags, Expect, ServerFlags};
use crate::message::{Auth, Login, Message, Protocol};
use crate::profile::Authentication;
use crate::response::{Redirect, decode_wait};
use crate::states::{ClientState, ClientStep};

/// How often kXR_protocol is asked for the sake of the answers' packets, where the beginning of TLS
/// follows at once. Behind TLS's handshake xrootd answers in eleven packets up to a file's first
/// byte. Linux sends ten before it waits for an acknowledgement, and more only after six or more
/// were under way at a time (`tcp_is_cwnd_limited`). Greeting, consent and TLS's own answer are
/// three; without these three more the first byte takes another round trip.
const WARM_UPS: usize = 3;

impl Client {
    /// Handshake, protocol and login leave together: nothing in them depends on an answer. Only
    /// where TLS is asked for the login waits: after a server's consent the next byte has to be
    /// TLS.
    pub(super) fn greet(&mut self) {
        self.outbox.put(&handshake::REQUEST);
        if self.config.tls != Tls::NotOffered {
            self.encryption = Encryption::Asked;
        }
        if self.config.early_hello {
            (0..WARM_UPS).for_each(|_| self.warm_up());
        }
        self.negotiate();
        self.authenticate_ahead();
        if self.encryption == Encryption::Off {
            self.log_in();
        }
    }

    /// That the client could speak TLS is not said, only that it wants to, or nothing: otherwise a
    /// server may begin it later, and the next byte would have to be TLS.
    fn negotiate(&mut self) {
        let mut flags = ClientFlags::SECURITY_REQUIREMENTS;
        if self.encryption == Encryption::Asked {
            flags = flags | ClientFlags::WANT_TLS;
        }
        let protocol = Protocol { version: Protocol::CLIENT_VERSION, flags, expect: Expect::LOGIN };
        self.put(Owner::Protocol, BodyKind::Control, |stream| protocol.frame(stream));
    }

    /// Asks for an answer that is not needed.
    fn warm_up(&mut self) {
        let flags = ClientFlags::SECURITY_REQUIREMENTS;
        let expect = Expect::LOGIN;
        let protocol = Protocol { version: Protocol::CLIENT_VERSION, flags, expect };
        self.put(Owner::None, BodyKind::Control, |stream| protocol.frame(stream));
    }

    fn log_in(&mut self) {
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
            about: match &self.config.login_token {
                Some(token) => format!("&xrd.appname={}&{token}", self.config.app),
                None => format!("&xrd.appname={}", self.config.app),
            },
        };
        self.put(Owner::Login, BodyKind::Control, |stream| login.frame(stream));
        self.login_sent = true;
        self.authenticate_behind_login();
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
            (_, status) => {
                Err(ProtocolError::UnexpectedStatus { status: status.name(), request: name })
            }
        }
    }

    fn negotiated(&mut self, body: &Bytes) -> Result<(), ProtocolError> {
        let answer = Protocol::decode_answer(body)?;
        self.flags = answer.flags;
        self.profile.version = Some(answer.version);
        self.profile.flags = Some(answer.flags);
        self.signing.learn(&answer.details);
        let consents = answer.flags.contains(ServerFlags::GO_TO_TLS);
        if consents && self.encryption == Encryption::Asked {
            self.machine.step(ClientStep::TlsAnswered)?;
            self.tls_begins = true;
            return Ok(());
        }
        self.machine.step(ClientStep::ProtocolAnswered)?;
        if consents {
            self.tls_required();
        } else if self.encryption == Encryption::Asked {
            self.encryption = Encryption::Off;
            self.without_tls();
        }
        Ok(())
    }

    /// The server has consented to TLS, and `rest` has come behind that.
    pub(super) fn start_tls(&mut self, rest: Bytes) {
        self.encryption = Encryption::On;
        self.events.push_back(Event::StartTls { rest });
        self.log_in();
    }

    /// The server has not consented to TLS, which was asked for.
    fn without_tls(&mut self) {
        self.profile.insists_on_tls = false;
        if self.config.tls == Tls::Required || self.refused_in_clear {
            self.end(SessionError::NoTls, HowToRetry::No);
        } else if self.config.early_hello {
            // The bytes written behind kXR_protocol have spoilt the connection.
            self.end(SessionError::TlsGone, HowToRetry::Again);
        } else {
            self.drop_what_needs_tls();
            self.log_in();
        }
    }

    fn logged_in(&mut self, body: &Bytes) -> Result<(), ProtocolError> {
        let answer = Login::decode_answer(body)?;
        self.session = answer.session;
        if answer.security.is_empty() {
            self.machine.step(ClientStep::LoginAnswered)?;
            self.profile.authentication = Authentication::NotNeeded;
            self.not_challenged();
            self.up();
        } else {
            self.machine.step(ClientStep::LoginChallenged)?;
            self.challenged(answer.security);
        }
        Ok(())
    }

    fn session_refused(&mut self, step: Owner, name: &'static str, error: ServerError) {
        if step == Owner::Auth {
            self.credential_refused(&error);
        } else if error.code == ErrorCode::TLS_REQUIRED && self.encryption == Encryption::Off {
            self.login_refused_in_clear();
        } else {
            let retry = if error.code.is_retryable() { HowToRetry::Again } else { HowToRetry::No };
            self.end(SessionError::Refused { step: name, error }, retry);
        }
    }

    /// The server takes no login outside TLS. It waits for another kXR_protocol, unless something
    /// has followed the login: then it closes.
    fn login_refused_in_clear(&mut self) {
        let alone = !self.ahead && !self.has_begun_exchange();
        if !alone || self.machine.step(ClientStep::LoginRefusedInClear).is_err() {
            return self.tls_required();
        }
        self.profile.insists_on_tls = true;
        self.refused_in_clear = true;
        self.encryption = Encryption::Asked;
        self.login_sent = false;
        self.negotiate();
    }

    /// The server wants TLS, and it is too late for it on this connection.
    pub(super) fn tls_required(&mut self) {
        self.profile.insists_on_tls = true;
        self.end(SessionError::TlsRequired, HowToRetry::Careful);
    }

    fn up(&mut self) {
        self.profile.up(self.ahead);
        if let Some(Greeting { version, kind }) = self.greeting {
            let server = ServerInfo { version, flags: self.flags, kind, session: self.session };
            self.events.push_back(Event::SessionUp { server });
        }
    }

    /// The connection is gone.
    pub(super) fn end_of_connection(&mut self) {
        let begun = matches!(self.machine.state(), ClientState::Up | ClientState::Closed);
        let retry = if self.ahead && !begun {
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
            let event = match task.kind {
                // The handle is gone with the session, which is all that was wanted.
                TaskKind::Close { file } if !self.files.writes(file) => {
                    Event::Answer { request, answer: Answer::Closed }
                }
                _ => Event::Failed { request, error: RequestError::Session(error.clone()) },
            };
            self.events.push_back(event);
        }
    }
}
