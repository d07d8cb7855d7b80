//! Effects of a request on a served session: TLS, login, authentication, and their order.

use bytes::Bytes;

use super::{Served, ServedTls, Server, ServerConfig, Tag, Waiting, refuse};
use crate::auth;
use crate::codec::text;
use crate::error::{ErrorCode, ProtocolError};
use crate::header::{Handle, RequestHeader};
use crate::message::login::LoginAnswer;
use crate::message::protocol::{ClientFlags, ProtocolAnswer, ServerFlags};
use crate::message::{Login, Message, Open, Protocol, Request};
use crate::states::{ServedState, ServedStep};

impl Server {
    /// One request: answered here, or handed up.
    pub(super) fn request(
        &mut self,
        head: &RequestHeader,
        body: &Bytes,
    ) -> Result<(), ProtocolError> {
        let tag = Tag(self.next_tag);
        self.next_tag += 1;
        let waiting = Waiting { stream: head.stream, bytes: body.len() as u32, deferred: false };
        self.waiting_bytes += u64::from(waiting.bytes);
        self.waiting.insert(tag, waiting);
        if let Some(why) = self.config.refusal.clone() {
            self.answer_error(tag, ErrorCode::OVERLOADED, &why);
            return Ok(());
        }
        let writable = self.config.takes_changes(head.code);
        if refuse::is_change(head.code) && !writable && self.machine.state() == ServedState::Up {
            self.skip = refuse::data_behind(head.code, body);
            self.answer_error(tag, ErrorCode::READ_ONLY, refuse::READ_ONLY);
            return Ok(());
        }
        let limit = self.config.limit_of(head.code);
        if !refuse::is_dropped(head.code, writable) && head.length > limit {
            let text = format!("a request of {} bytes, more than the {limit} allowed", head.length);
            self.note_refused(head);
            self.answer_error(tag, ErrorCode::ARG_TOO_LONG, &text);
            return Ok(());
        }
        let request = match Request::decode(head, body) {
            Ok(request) => request,
            Err(error) => {
                self.note_refused(head);
                self.answer_error(tag, ErrorCode::ARG_INVALID, &error.to_string());
                return Ok(());
            }
        };
        let authenticating = self.machine.state() == ServedState::Authenticating;
        if let Err(illegal) = self.machine.step(self.step_of(&request)) {
            self.answer_error(tag, ErrorCode::INVALID_REQUEST, "not at this point");
            // As xrootd does: the requests waiting behind are of a client that is not
            // authenticated.
            return if authenticating { Err(illegal.into()) } else { Ok(()) };
        }
        self.skip = refuse::data_behind(head.code, body);
        if matches!(request, Request::Unknown { .. }) {
            self.note_refused(head);
        }
        self.take_request(tag, request, authenticating);
        Ok(())
    }

    /// A refused request may have been one to change an open file.
    fn note_refused(&mut self, head: &RequestHeader) {
        if self.machine.state() == ServedState::Up
            && self.config.takes_changes(head.code)
            && refuse::changes_open_file(head)
        {
            let [a, b, c, d, ..] = head.parameters;
            let handle = refuse::names_one_file(head.code).then_some(Handle([a, b, c, d]));
            self.events.push_back(Served::WriteRefused { handle });
        }
    }

    /// The step of the session that a request is.
    fn step_of(&self, request: &Request) -> ServedStep {
        match request {
            Request::Protocol(_) => ServedStep::Protocol,
            Request::Ping(_) => ServedStep::Ping,
            Request::Login(_) if self.config.tls == ServedTls::Demanded && !self.encrypted => {
                ServedStep::LoginRefused
            }
            Request::Login(_) if self.offers().is_empty() => ServedStep::Login,
            Request::Login(_) => ServedStep::LoginChallenged,
            Request::Auth(_) if self.machine.state() == ServedState::Authenticating => {
                ServedStep::Auth
            }
            _ => ServedStep::Request,
        }
    }

    /// A request that may come at this point.
    fn take_request(&mut self, tag: Tag, request: Request, authenticating: bool) {
        match request {
            Request::Protocol(protocol) => self.answer_protocol(tag, &protocol),
            Request::Login(login) => self.answer_login(tag, login),
            Request::Auth(auth) if authenticating && !self.has_offered(&auth.protocol) => {
                self.answer_error(tag, ErrorCode::AUTH_FAILED, "it is not offered");
            }
            Request::Auth(_) if authenticating => {
                self.credential = Some(tag);
                self.events.push_back(Served::Request { tag, request });
            }
            request => match refuse::verdict(&request, self.config.takes_changes(Open::CODE)) {
                refuse::Verdict::Serve => self.events.push_back(Served::Request { tag, request }),
                refuse::Verdict::Refuse(code, text) => self.answer_error(tag, code, text),
                refuse::Verdict::Consent => self.answer_done(tag),
                refuse::Verdict::Ignore => {
                    self.forget(tag);
                }
            },
        }
    }

    fn answer_protocol(&mut self, tag: Tag, protocol: &Protocol) {
        let ServerConfig { version, mut flags, tls, .. } = self.config;
        if tls != ServedTls::None {
            flags = flags | ServerFlags::HAS_TLS;
        }
        if tls == ServedTls::Demanded {
            flags = flags | ServerFlags::TLS_LOGIN;
        }
        let early = self.machine.state() == ServedState::LoggingIn && !self.encrypted;
        if protocol.flags.contains(ClientFlags::WANT_TLS) && early && tls != ServedTls::None {
            flags = flags | ServerFlags::GO_TO_TLS;
            self.tls_begins = true;
        }
        let answer = ProtocolAnswer { version, flags, details: Bytes::new() };
        self.answer_ok(tag, Protocol::encode_answer(&answer));
    }

    fn answer_login(&mut self, tag: Tag, login: Login) {
        if self.machine.state() == ServedState::LoggingIn {
            return self.answer_error(tag, ErrorCode::TLS_REQUIRED, "login requires TLS");
        }
        let answer = LoginAnswer { session: self.config.session, security: self.offers() };
        self.answer_ok(tag, Login::encode_answer(&answer));
        self.events.push_back(Served::Login(login));
    }

    fn has_offered(&self, protocol: &[u8; 4]) -> bool {
        let name = text(protocol);
        auth::offers(&self.offers()).iter().any(|offer| offer.name == name)
    }

    /// The authentication protocols offered on this connection.
    fn offers(&self) -> String {
        let may_be = |offer: &&str| self.encrypted || !offer.starts_with("ztn");
        let offers = self.config.security.split("&P=").filter(|offer| !offer.is_empty());
        offers.filter(may_be).map(|offer| format!("&P={offer}")).collect()
    }
}
