//! The two tables of a session's states, seen from the client and from the served side. This file
//! contains nothing else, and no other file decides it.

use thiserror::Error;

/// A session as the client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientState {
    /// The handshake is under way.
    Greeting,
    /// The handshake is answered, kXR_protocol is not.
    Negotiating,
    /// kXR_protocol is answered, kXR_login is not.
    LoggingIn,
    /// kXR_login is answered with a list of authentication protocols.
    Authenticating,
    /// Everything may be asked.
    Up,
    /// Nothing more will come.
    Closed,
}

/// Steps of a session, as the client sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientStep {
    HandshakeAnswered,
    ProtocolAnswered,
    /// kXR_protocol is answered by consent to TLS, which the login is inside.
    TlsAnswered,
    /// The login is refused because it was not inside TLS; kXR_protocol is sent again.
    LoginRefusedInClear,
    /// Logged in, and that is all the server wants.
    LoginAnswered,
    /// Logged in, but the server wants authentication.
    LoginChallenged,
    /// The authentication wants another step.
    AuthContinues,
    AuthAnswered,
    /// A request that left behind a credential is refused before that is answered.
    RequestTooEarly,
    /// An answer to anything else.
    RequestAnswered,
    /// Closed by either side, or broken.
    Ended,
}

use ClientState as C;
use ClientStep as S;

/// Every legal step of the client's side. Whatever is not here is a protocol error.
pub const CLIENT: &[(ClientState, ClientStep, ClientState)] = &[
    (C::Greeting, S::HandshakeAnswered, C::Negotiating),
    (C::Greeting, S::Ended, C::Closed),
    (C::Negotiating, S::ProtocolAnswered, C::LoggingIn),
    (C::Negotiating, S::TlsAnswered, C::LoggingIn),
    (C::Negotiating, S::Ended, C::Closed),
    (C::LoggingIn, S::LoginRefusedInClear, C::Negotiating),
    (C::LoggingIn, S::LoginAnswered, C::Up),
    (C::LoggingIn, S::LoginChallenged, C::Authenticating),
    (C::LoggingIn, S::Ended, C::Closed),
    (C::Authenticating, S::AuthContinues, C::Authenticating),
    (C::Authenticating, S::RequestTooEarly, C::Authenticating),
    (C::Authenticating, S::AuthAnswered, C::Up),
    (C::Authenticating, S::Ended, C::Closed),
    (C::Up, S::RequestAnswered, C::Up),
    (C::Up, S::Ended, C::Closed),
    (C::Closed, S::Ended, C::Closed),
];

/// A session as the served side sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServedState {
    /// The first 20 bytes have not come.
    Greeting,
    /// Greeted; only kXR_protocol, kXR_ping and kXR_login are served.
    LoggingIn,
    /// Logged in; only kXR_protocol, kXR_ping and kXR_auth are served.
    Authenticating,
    /// Everything is served.
    Up,
    /// Nothing more will be taken.
    Closed,
}

/// Steps of a session, as the served side sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServedStep {
    Handshake,
    Protocol,
    Ping,
    /// A login that is answered by consent.
    Login,
    /// A login that is answered by offers.
    LoginChallenged,
    /// A login that is refused because it is not inside TLS.
    LoginRefused,
    Auth,
    /// The credential is accepted.
    Authenticated,
    /// Any other request.
    Request,
    Ended,
}

use ServedState as D;
use ServedStep as T;

/// Every legal step of the served side. A request that is not here is answered with an error.
pub const SERVED: &[(ServedState, ServedStep, ServedState)] = &[
    (D::Greeting, T::Handshake, D::LoggingIn),
    (D::Greeting, T::Ended, D::Closed),
    (D::LoggingIn, T::Protocol, D::LoggingIn),
    (D::LoggingIn, T::Ping, D::LoggingIn),
    (D::LoggingIn, T::Login, D::Up),
    (D::LoggingIn, T::LoginChallenged, D::Authenticating),
    (D::LoggingIn, T::LoginRefused, D::LoggingIn),
    (D::LoggingIn, T::Ended, D::Closed),
    (D::Authenticating, T::Protocol, D::Authenticating),
    (D::Authenticating, T::Ping, D::Authenticating),
    (D::Authenticating, T::Auth, D::Authenticating),
    (D::Authenticating, T::Authenticated, D::Up),
    (D::Authenticating, T::Ended, D::Closed),
    (D::Up, T::Protocol, D::Up),
    (D::Up, T::Ping, D::Up),
    (D::Up, T::Request, D::Up),
    (D::Up, T::Ended, D::Closed),
    (D::Closed, T::Ended, D::Closed),
];

/// A step that the table does not allow.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{step} while {state}")]
pub struct Illegal {
    state: String,
    step: String,
}

/// A state together with the table it moves by.
#[derive(Debug, Clone)]
pub struct Machine<State: 'static, Step: 'static> {
    state: State,
    table: &'static [(State, Step, State)],
}

impl Machine<ClientState, ClientStep> {
    pub fn client() -> Self {
        Machine { state: ClientState::Greeting, table: CLIENT }
    }
}

impl Machine<ServedState, ServedStep> {
    pub fn served() -> Self {
        Machine { state: ServedState::Greeting, table: SERVED }
    }
}

impl<State, Step> Machine<State, Step>
where
    State: Copy + PartialEq + std::fmt::Debug,
    Step: Copy + PartialEq + std::fmt::Debug,
{
    pub fn state(&self) -> State {
        self.state
    }

    /// Takes a step. An illegal one changes nothing.
    pub fn step(&mut self, step: Step) -> Result<State, Illegal> {
        let row = self.table.iter().find(|(from, by, _)| *from == self.state && *by == step);
        let Some(&(_, _, to)) = row else {
            return Err(Illegal { state: words(&self.state), step: words(&step) });
        };
        self.state = to;
        Ok(to)
    }
}

/// The name of a state or a step, `LoginAnswered`, as people write it.
fn words(name: &impl std::fmt::Debug) -> String {
    let mut words = String::new();
    for letter in format!("{name:?}").chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT_STATES: [ClientState; 6] =
        [C::Greeting, C::Negotiating, C::LoggingIn, C::Authenticating, C::Up, C::Closed];
    const CLIENT_STEPS: [ClientStep; 11] = [
        S::HandshakeAnswered,
        S::ProtocolAnswered,
        S::TlsAnswered,
        S::LoginRefusedInClear,
        S::LoginAnswered,
        S::LoginChallenged,
        S::AuthContinues,
        S::AuthAnswered,
        S::RequestTooEarly,
        S::RequestAnswered,
        S::Ended,
    ];

    #[test]
    fn an_illegal_step_errors_and_changes_nothing() {
        for state in CLIENT_STATES {
            for step in CLIENT_STEPS {
                let rows = CLIENT.iter().filter(|row| row.0 == state && row.1 == step);
                let allowed: Vec<_> = rows.map(|row| row.2).collect();
                assert!(allowed.len() <= 1, "{state:?} {step:?} is ambiguous");
                let mut machine = Machine { state, table: CLIENT };
                match machine.step(step) {
                    Ok(to) => assert_eq!(vec![to], allowed),
                    Err(_) => {
                        assert!(allowed.is_empty());
                        assert_eq!(machine.state(), state);
                    }
                }
            }
        }
    }

    #[test]
    fn every_state_can_end_and_nothing_leaves_the_end() {
        for state in CLIENT_STATES {
            assert!(CLIENT.contains(&(state, S::Ended, C::Closed)), "{state:?}");
        }
        assert!(CLIENT.iter().all(|row| row.0 != C::Closed || row.2 == C::Closed));
        for state in [D::Greeting, D::LoggingIn, D::Authenticating, D::Up, D::Closed] {
            assert!(SERVED.contains(&(state, T::Ended, D::Closed)), "{state:?}");
        }
        assert!(SERVED.iter().all(|row| row.0 != D::Closed || row.2 == D::Closed));
    }

    #[test]
    fn nothing_is_served_before_login() {
        let mut machine = Machine::served();
        assert!(machine.step(T::Request).is_err());
        machine.step(T::Handshake).unwrap();
        assert!(machine.step(T::Request).is_err());
        machine.step(T::Login).unwrap();
        assert_eq!(machine.step(T::Request), Ok(D::Up));
        assert!(machine.step(T::Login).is_err(), "a second login");
    }

    #[test]
    fn nothing_is_served_before_the_credential_is_accepted() {
        let mut machine = Machine::served();
        machine.step(T::Handshake).unwrap();
        machine.step(T::LoginChallenged).unwrap();
        for step in [T::Request, T::Login] {
            assert!(machine.step(step).is_err(), "{step:?}");
        }
        machine.step(T::Auth).unwrap();
        assert!(machine.step(T::Request).is_err());
        machine.step(T::Authenticated).unwrap();
        assert_eq!(machine.step(T::Request), Ok(D::Up));
    }
}
