//! Authentication: the offer that is answered, the credential, and the requests that may follow
//! behind it.
//!
//! To a server whose offers are known the first message leaves right behind the login, and requests
//! behind the last message. For a credential that needs a secret the client asks the caller, who
//! answers by [`Client::provide`] or [`Client::lack`].

use std::collections::VecDeque;

use bytes::Bytes;

use super::Client;
use super::encryption::Encryption;
use super::event::{Event, HowToRetry};
use super::streams::{BodyKind, Owner};
use crate::Time;
use crate::auth::{Credential, Exchange, Method, Offer, Skipped, Step, offers};
use crate::error::{ProtocolError, ServerError, SessionError};
use crate::header::StreamId;
use crate::message::protocol::ServerFlags;
use crate::message::{Auth, Message};
use crate::profile::{Authentication, Start};
use crate::states::{ClientState, ClientStep};

/// The authentication of a session.
#[derive(Debug, Default)]
pub struct Authenticating {
    /// In the server's words.
    offered: String,
    /// Offers not yet tried that the client may answer.
    left: VecDeque<(Method, String)>,
    current: Option<Current>,
    skipped: Vec<Skipped>,
}

/// The offer that is being answered.
#[derive(Debug)]
struct Current {
    method: Method,
    arguments: String,
    /// None while the caller is asked for the credential.
    exchange: Option<Box<dyn Exchange>>,
    /// Under which its latest message is under way.
    stream: Option<StreamId>,
    /// The latest message should be the last.
    last: bool,
    /// The server has not offered it (yet).
    unasked: bool,
}

impl Current {
    fn awaits(&self, method: &Method) -> bool {
        self.exchange.is_none() && self.method.name() == method.name()
    }
}

impl Client {
    /// Gives the credential that [`Event::CredentialWanted`] has asked for. One that nothing asks
    /// for any more is dropped.
    pub fn provide(&mut self, now: Time, credential: Credential) {
        self.touch(now);
        let method = credential.method();
        let current = self.authenticating.current.as_mut();
        if let Some(current) = current.filter(|current| current.awaits(&method)) {
            current.exchange = Some(credential.exchange());
            self.begin_exchange();
        }
        self.pump();
    }

    /// There is no credential for a method: the next offer is tried. `why` is for people.
    pub fn lack(&mut self, now: Time, method: &Method, why: String) {
        self.touch(now);
        if self.authenticating.current.as_ref().is_some_and(|current| current.awaits(method)) {
            self.skip_current(why);
        }
        self.pump();
    }

    /// The protocol by which the session was authenticated; none where that was not wanted.
    pub fn authenticated_by(&self) -> Option<&'static str> {
        let up = self.machine.state() == ClientState::Up;
        self.authenticating.current.as_ref().filter(|_| up).map(|current| current.method.name())
    }

    /// The offers that were not used, or that the server refused, and why.
    pub fn skipped(&self) -> &[Skipped] {
        &self.authenticating.skipped
    }

    /// Where the server is known to want authentication, it is begun before the server asks.
    pub(super) fn authenticate_ahead(&mut self) {
        let Authentication::Needed(offered) = &self.profile.authentication else { return };
        if self.start == Start::Careful {
            return;
        }
        self.authenticating.left = self.acceptable(offered);
        if !self.try_next_method(true) {
            self.start = Start::Careful;
        }
    }

    /// Whether the method that was chosen ahead cannot be used, as there will be no TLS.
    pub(super) fn drop_what_needs_tls(&mut self) {
        let Some(Current { method, arguments, .. }) = &self.authenticating.current else { return };
        if let Some(why) = method.objection(arguments, false) {
            self.skip_current(why);
        }
    }

    /// The login has just been written: begins the exchange that may follow at once.
    pub(super) fn authenticate_behind_login(&mut self) {
        if self.authenticating.current.is_some() {
            self.begin_exchange();
        } else if self.profile.authentication == Authentication::Unknown
            && let Some(method) = self.config.unasked.clone()
        {
            let insists = self.flags.contains(ServerFlags::TLS_LOGIN);
            let fits = match method {
                Method::Ztn => self.encryption == Encryption::On && insists,
                _ => true,
            };
            if !fits {
                // A server without TLS takes no tokens, and most of those are public.
                if self.encryption == Encryption::On {
                    self.start = Start::Careful;
                }
                return;
            }
            self.authenticating.left.push_back((method, String::new()));
            self.try_next_method(true);
        }
    }

    /// Whether requests may leave before the session is up, as far as authentication goes.
    pub(super) fn may_send_behind_auth(&self) -> bool {
        let state = self.machine.state();
        match &self.authenticating.current {
            None => state != ClientState::Authenticating && self.start == Start::Burst,
            Some(current) => {
                // The server may refuse an unasked credential, and all requests behind it.
                let bold = self.start == Start::Burst || !current.unasked;
                let sent = current.stream.is_some() && current.last;
                sent && bold && self.profile.burst != Some(false)
            }
        }
    }

    /// Whether a message of an authentication has left.
    pub(super) fn has_begun_exchange(&self) -> bool {
        self.authenticating.current.as_ref().is_some_and(|current| current.stream.is_some())
    }

    /// The server wants no authentication. It does not want the exchange that was begun, either: it
    /// refuses that, without further effect.
    pub(super) fn not_challenged(&mut self) {
        if let Some(Current { stream: Some(stream), .. }) = self.authenticating.current.take() {
            self.streams.abandon(stream, Owner::None);
        }
    }

    /// The server has answered the login by its offers.
    pub(super) fn challenged(&mut self, offered: String) {
        self.profile.authentication = Authentication::Needed(offered.clone());
        let mut left = self.acceptable(&offered);
        let refused = |name: &str| self.authenticating.skipped.iter().any(|s| s.name == name);
        left.retain(|(method, _)| !refused(method.name()));
        self.note_unknown(&offered);
        self.authenticating.offered = offered;
        let found = self.authenticating.current.as_ref().and_then(|current| {
            left.iter().position(|(method, arguments)| {
                *method == current.method
                    && (current.arguments == *arguments || current.arguments.is_empty())
            })
        });
        match (found, &mut self.authenticating.current) {
            (Some(at), Some(current)) => {
                current.unasked = false;
                left.remove(at);
                self.authenticating.left = left;
            }
            // It was begun on something that holds no more: requests behind it are lost.
            (None, Some(Current { stream: Some(_), .. })) if !self.ahead => {
                self.authenticating.left = left;
            }
            _ if self.ahead => self.burst_refused(),
            _ => {
                self.authenticating.left = left;
                self.authenticating.current = None;
                self.go_on();
            }
        }
    }

    /// The server asks for another message.
    pub(super) fn authenticate_further(&mut self, challenge: &Bytes) -> Result<(), ProtocolError> {
        self.machine.step(ClientStep::AuthContinues)?;
        let exchange = self.authenticating.current.as_mut().and_then(|c| c.exchange.as_mut());
        let answer = exchange.map(|exchange| (exchange.proceed(challenge), exchange.session_key()));
        let (answer, key) = answer.map_or((None, None), |(answer, key)| (Some(answer), key));
        match answer {
            Some(Ok(step)) => {
                self.send_step(step);
                key.into_iter().for_each(|key| self.signing.begin(key));
            }
            Some(Err(_)) if self.ahead => self.burst_refused(),
            Some(Err(why)) => self.skip_current(why),
            None => self.go_on(),
        }
        Ok(())
    }

    /// The server has refused the credential.
    pub(super) fn credential_refused(&mut self, error: &ServerError) {
        let stale = self.authenticating.current.as_ref().is_some_and(|current| current.unasked);
        if self.ahead {
            let proven = self.profile.burst == Some(true);
            if stale || !proven || !self.authenticating.left.is_empty() {
                self.profile.burst = Some(false);
                return self.burst_refused();
            }
        }
        if let Some(Current { method, .. }) = self.authenticating.current.take() {
            let name = method.name().to_owned();
            let why = error.to_string();
            self.authenticating.skipped.push(Skipped { name, why, by_server: true });
        }
        self.go_on();
    }

    /// The server answers requests before the authentication with an error and closes.
    fn burst_refused(&mut self) {
        let offered = self.authenticating.offered.clone();
        self.end(SessionError::AuthenticationFirst { offered }, HowToRetry::Careful);
    }

    /// The server's offers that the client may use, in the server's order.
    fn acceptable(&self, offered: &str) -> VecDeque<(Method, String)> {
        let common = |offer: Offer| {
            let mut known = self.config.authentication.iter();
            let method = known.find(|method| method.name() == offer.name)?;
            Some((method.clone(), offer.arguments))
        };
        offers(offered).into_iter().filter_map(common).collect()
    }

    /// Notes the offers that the client does not answer.
    fn note_unknown(&mut self, offered: &str) {
        for Offer { name, .. } in offers(offered) {
            let mut known = self.config.authentication.iter();
            if known.all(|method| method.name() != name) {
                let why = match self.config.excluded.contains(&name) {
                    true => "is excluded by what was asked for",
                    false => "is not spoken here",
                };
                let why = why.to_owned();
                self.authenticating.skipped.push(Skipped { name, why, by_server: false });
            }
        }
    }

    /// Goes on with the next offer, or gives up.
    fn go_on(&mut self) {
        if self.is_closed() || self.try_next_method(false) {
            return;
        }
        if self.machine.state() == ClientState::Authenticating {
            let Authenticating { offered, skipped, .. } = &self.authenticating;
            let offered = offered.clone();
            let skipped = skipped.clone();
            self.end(SessionError::NoAuthentication { offered, skipped }, HowToRetry::No);
        } else {
            // None of the remembered offers can be used. The server lists its present ones.
            self.start = Start::Careful;
        }
    }

    /// Begins with the next offer that can be answered; false where there is none.
    fn try_next_method(&mut self, unasked: bool) -> bool {
        let encrypted = match self.encryption {
            Encryption::On => true,
            Encryption::Asked => unasked,
            Encryption::Off => false,
        };
        while let Some((method, arguments)) = self.authenticating.left.pop_front() {
            if let Some(why) = method.objection(&arguments, encrypted)
                && !(unasked && arguments.is_empty())
            {
                self.skip(&method, why);
                continue;
            }
            let exchange = method.exchange();
            if exchange.is_none() {
                let method = method.clone();
                let arguments = arguments.clone();
                self.events.push_back(Event::CredentialWanted { method, arguments });
            }
            let last = false;
            let current = Current { method, arguments, exchange, stream: None, last, unasked };
            self.authenticating.current = Some(current);
            self.begin_exchange();
            return true;
        }
        false
    }

    /// Sends the first message, where there is a credential and the login has left.
    fn begin_exchange(&mut self) {
        let ready = match self.machine.state() {
            ClientState::Authenticating => true,
            ClientState::Up | ClientState::Closed => false,
            _ => self.login_sent,
        };
        let Some(current) = self.authenticating.current.as_mut().filter(|_| ready) else { return };
        if current.stream.is_some() {
            return;
        }
        let Some(exchange) = &mut current.exchange else { return };
        match exchange.begin(&current.arguments) {
            Ok(step) => self.send_step(step),
            Err(why) => self.skip_current(why),
        }
    }

    fn send_step(&mut self, step: Step) {
        let Some(protocol) = self.authenticating.current.as_ref().map(|c| c.method.wire_name())
        else {
            return;
        };
        let auth = Auth { protocol, credential: step.credential };
        let stream = self.put(Owner::Auth, BodyKind::Control, |stream| auth.frame(stream));
        if let Some(current) = &mut self.authenticating.current {
            (current.stream, current.last) = (stream, step.last);
        }
    }

    fn skip_current(&mut self, why: String) {
        if let Some(current) = self.authenticating.current.take() {
            self.skip(&current.method, why);
        }
        self.go_on();
    }

    fn skip(&mut self, method: &Method, why: String) {
        let name = method.name().to_owned();
        let by_server = false;
        self.authenticating.skipped.push(Skipped { name, why, by_server });
    }
}
