//! `ztn`: a bearer token, inside TLS only.

use bytes::{BufMut, Bytes, BytesMut};
use secrecy::{ExposeSecret, SecretString};

use super::exchange::{Exchange, Step, no_further_step};
use crate::codec::{Fields, exact_text};
use crate::error::DecodeError;

/// The name, version 0, "this is a token", two bytes that are reserved.
const HEAD: [u8; 8] = *b"ztn\0\0T\0\0";

#[derive(Debug)]
pub struct Ztn {
    token: SecretString,
}

impl Ztn {
    pub fn new(token: SecretString) -> Ztn {
        Ztn { token }
    }
}

impl Exchange for Ztn {
    /// The arguments name the longest token the server takes. It is sent whatever it is: servers
    /// have been seen to take longer ones.
    fn begin(&mut self, _arguments: &str) -> Result<Step, String> {
        let token = self.token.expose_secret().as_bytes();
        let length = u16::try_from(token.len() + 1)
            .map_err(|_| format!("the token has {} bytes, and 65534 can be sent", token.len()))?;
        if token.contains(&0) {
            return Err("the token contains a NUL".to_owned());
        }
        let mut message = BytesMut::with_capacity(HEAD.len() + 2 + token.len() + 1);
        message.put_slice(&HEAD);
        message.put_u16(length);
        message.put_slice(token);
        message.put_u8(0);
        Ok(Step::last(message.freeze()))
    }

    fn proceed(&mut self, _challenge: &[u8]) -> Result<Step, String> {
        no_further_step("ztn")
    }
}

/// The token of a credential, as the served side receives it.
pub fn token_of(credential: &Bytes) -> Result<SecretString, DecodeError> {
    let subject = "ztn credential";
    let mut fields = Fields::new(subject, credential);
    if fields.array::<8>()? != HEAD {
        return Err(DecodeError::Invalid { subject, why: "not a token" });
    }
    let length = usize::from(fields.u16()?);
    let token = fields.rest().get(..length).ok_or(DecodeError::Short { subject })?;
    exact_text(subject, token).map(SecretString::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(token: &str) -> Result<Bytes, String> {
        Ztn::new(token.to_owned().into()).begin("0:4096:").map(|step| step.credential)
    }

    #[test]
    fn the_credential_is_laid_out_as_servers_read_it() {
        assert_eq!(&credential("abc").unwrap()[..], b"ztn\0\0T\0\0\0\x04abc\0");
        assert!(credential(&"x".repeat(65_535)).is_err());
        assert!(credential("a\0b").is_err());
        assert!(credential(&"x".repeat(5_000)).is_ok());
    }

    #[test]
    fn the_served_side_reads_it_and_refuses_every_part_of_it() {
        let whole = credential("abc").unwrap();
        assert_eq!(token_of(&whole).unwrap().expose_secret(), "abc");
        for end in 0..whole.len() {
            assert!(token_of(&whole.slice(..end)).is_err(), "{end} bytes");
        }
        // As XrdCl sends it, with the padding of its structure.
        let tail = Bytes::from([&whole[..], b"\0\0"].concat());
        assert_eq!(token_of(&tail).unwrap().expose_secret(), "abc");
        assert!(token_of(&Bytes::from_static(b"ztn\0\0S\0\0\0\x01\0")).is_err());
    }
}
