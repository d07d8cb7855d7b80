//! kXR_login: who is there. Specification: "kXR_login Request".

use bytes::Bytes;

use super::Message;
use crate::codec::{Fields, flags, text};
use crate::error::DecodeError;

flags! {
    /// Forms of answers that a client understands. A server sends no form that is not announced
    /// here.
    Ability: u8 {
        /// Redirections given as a whole URL.
        FULL_URL = 1,
        /// Several protocols in one redirection.
        MULTI_PROTOCOL = 3,
        /// Redirection of reads.
        REDIRECT_READ = 4,
        IPV4_AND_6 = 8,
        ONLY_PRIVATE_4 = 16,
        ONLY_PRIVATE_6 = 32,
        LOCAL_FILE = 64,
        /// Flags in the port of a redirection.
        REDIRECT_FLAGS = 128,
    }
}

/// The client's version of the login (5), with the bit that allows deferred answers.
pub const VERSION_5_DEFERRED_ANSWERS: u8 = 0x80 | 5;

/// A session's name, needed to end it from another connection or to add a path to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SessionId(pub [u8; 16]);

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The client's process.
    pub pid: u32,
    /// Filled up with NUL.
    pub user: [u8; 8],
    pub ability_2: u8,
    pub ability: Ability,
    pub version: u8,
    /// `&key=value...`: the client's description of itself.
    pub about: String,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginAnswer {
    pub session: SessionId,
    /// The authentication protocols offered; empty where none is wanted.
    pub security: String,
}

impl Login {
    /// A login's user field: the first eight bytes of the name.
    pub fn user_field(name: &str) -> [u8; 8] {
        let mut field = [0; 8];
        for (to, from) in field.iter_mut().zip(name.bytes()) {
            *to = from;
        }
        field
    }

    /// The user as a text.
    pub fn user_name(&self) -> String {
        text(&self.user)
    }
}

impl Message for Login {
    const CODE: u16 = 3007;
    const NAME: &'static str = "kXR_login";
    type Answer = LoginAnswer;

    fn decode(parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError> {
        let mut fields = Fields::new(Self::NAME, parameters);
        Ok(Login {
            pid: fields.u32()?,
            user: fields.array()?,
            ability_2: fields.u8()?,
            ability: Ability(fields.u8()?),
            version: fields.u8()?,
            about: text(body),
        })
    }

    fn encode(&self, parameters: &mut [u8; 16], body: &mut Vec<u8>) {
        parameters[0..4].copy_from_slice(&self.pid.to_be_bytes());
        parameters[4..12].copy_from_slice(&self.user);
        parameters[12] = self.ability_2;
        parameters[13] = self.ability.0;
        parameters[14] = self.version;
        body.extend_from_slice(self.about.as_bytes());
    }

    fn decode_answer(body: &Bytes) -> Result<LoginAnswer, DecodeError> {
        // Servers of the first versions gave no session id; a body that short has no text either.
        if body.is_empty() {
            return Ok(LoginAnswer { session: SessionId::default(), security: String::new() });
        }
        let mut fields = Fields::new("kXR_login answer", body);
        Ok(LoginAnswer { session: SessionId(fields.array()?), security: text(fields.rest()) })
    }

    fn encode_answer(answer: &LoginAnswer) -> Vec<u8> {
        let mut body = answer.session.0.to_vec();
        if !answer.security.is_empty() {
            crate::codec::put_text(&mut body, &answer.security);
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_user_name_is_cut_and_a_short_one_filled_up() {
        assert_eq!(&Login::user_field("abcdefghij"), b"abcdefgh");
        assert_eq!(&Login::user_field("ab"), b"ab\0\0\0\0\0\0");
    }

    #[test]
    fn an_answer_that_wants_authentication_says_which() {
        let answer = LoginAnswer { session: SessionId([7; 16]), security: "&P=unix".to_owned() };
        let body = Bytes::from(Login::encode_answer(&answer));
        assert_eq!(body.len(), 16 + 8);
        assert_eq!(Login::decode_answer(&body), Ok(answer));
        assert!(Login::decode_answer(&body.slice(..9)).is_err());
    }
}
