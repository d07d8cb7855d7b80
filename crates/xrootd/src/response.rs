//! The answers that are not a request's own: error, redirect, wait, deferred answers.
//! Specification: "Server Response Format". An answer of a request itself (kXR_ok, kXR_oksofar)
//! is in that request's file under [`crate::message`].

use std::time::Duration;

use bytes::Bytes;

use crate::codec::{Fields, exact_text, put_text, text};
use crate::error::{DecodeError, ErrorCode, ServerError};
use crate::header::ResponseHeader;
use crate::url::{DEFAULT_PORT, Url, UrlError, merge_cgi};

impl ServerError {
    /// Reads the body of a kXR_error.
    pub fn decode(body: &[u8]) -> Result<Self, DecodeError> {
        let mut fields = Fields::new("kXR_error", body);
        Ok(ServerError { code: ErrorCode(fields.u32()?), message: text(fields.rest()) })
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut body = self.code.0.to_be_bytes().to_vec();
        put_text(&mut body, &self.message);
        body
    }
}

/// kXR_redirect: where to ask instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// Name or address; an IPv6 address without its brackets.
    pub host: String,
    pub port: u16,
    /// The whole target, where the server gave a URL.
    pub url: Option<Url>,
    /// To be added to the path, without a leading `?`.
    pub opaque: Option<String>,
    /// To be shown in the login at the target.
    pub login_token: Option<String>,
    /// The target may stand for this redirector in all that follows.
    pub collapse: bool,
}

/// Bit of the complement of a negative port: the target may stand for the redirector.
const COLLAPSE: u32 = 0x2000;

impl Redirect {
    /// Sends to a host.
    pub fn to_host(host: &str, port: u16, opaque: Option<&str>) -> Redirect {
        let opaque = opaque.map(str::to_owned);
        let host = host.to_owned();
        Redirect { host, port, url: None, opaque, login_token: None, collapse: false }
    }

    /// Reads the body of a kXR_redirect.
    pub fn decode(body: &[u8]) -> Result<Self, DecodeError> {
        let invalid = |why| DecodeError::Invalid { subject: "kXR_redirect", why };
        let mut fields = Fields::new("kXR_redirect", body);
        let port = fields.i32()?;
        let target = exact_text("kXR_redirect", fields.rest())?;
        if port < 0 {
            let url = Url::parse(&target).map_err(|_| invalid("a URL that is none"))?;
            // -1 says only that a URL follows; any other value carries flags.
            let collapse = port != -1 && (!port).cast_unsigned() & COLLAPSE != 0;
            return Ok(Redirect {
                host: url.host.clone(),
                port: url.port,
                opaque: url.cgi.clone(),
                login_token: None,
                url: Some(url),
                collapse,
            });
        }
        let (host, opaque) = match target.split_once('?') {
            Some((host, opaque)) => (host, Some(opaque)),
            None => (target.as_str(), None),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(invalid("no host"));
        }
        let port = u16::try_from(port).map_err(|_| invalid("a port that is none"))?;
        // A second `?` separates the token that the login at the target is to carry.
        let (opaque, token) = match opaque.and_then(|text| text.split_once('?')) {
            Some((opaque, token)) => (Some(opaque), Some(token.trim_start_matches('&'))),
            None => (opaque, None),
        };
        let is_said = |text: &&str| !text.is_empty();
        Ok(Redirect {
            host: host.to_owned(),
            port: if port == 0 { DEFAULT_PORT } else { port },
            url: None,
            opaque: opaque.filter(is_said).map(str::to_owned),
            login_token: token.filter(is_said).map(str::to_owned),
            collapse: false,
        })
    }

    pub fn encode(&self) -> Vec<u8> {
        let port = if self.url.is_some() { -1 } else { i32::from(self.port) };
        let mut body = port.to_be_bytes().to_vec();
        let bracket = self.host.contains(':');
        let target = match (&self.url, &self.opaque) {
            (Some(url), _) => url.to_string(),
            (None, None) if bracket => format!("[{}]", self.host),
            (None, None) => self.host.clone(),
            (None, Some(opaque)) if bracket => format!("[{}]?{opaque}", self.host),
            (None, Some(opaque)) => format!("{}?{opaque}", self.host),
        };
        // A redirection's text is not terminated.
        body.extend_from_slice(target.as_bytes());
        if let (None, Some(token)) = (&self.url, &self.login_token) {
            let separator = if self.opaque.is_some() { "?" } else { "??" };
            body.extend_from_slice(format!("{separator}{token}").as_bytes());
        }
        body
    }

    /// Where a request for `original` goes now: the path stays unless the redirection names one,
    /// the opaque parts are merged, and encryption is never given up.
    pub fn follow(&self, original: &Url) -> Result<Url, UrlError> {
        let mut target = original.clone();
        target.host.clone_from(&self.host);
        target.port = self.port;
        if let Some(url) = &self.url {
            if !original.is_encrypted() {
                target.scheme.clone_from(&url.scheme);
            }
            if url.user.is_some() {
                target.user.clone_from(&url.user);
            }
            if url.path != "/" {
                target.path.clone_from(&url.path);
            }
        }
        target.login_token.clone_from(&self.login_token);
        target.cgi = merge_cgi(original.cgi.as_deref(), self.opaque.as_deref());
        // The parts are a server's: together they must still be a URL.
        Url::parse(&target.to_string())
    }
}

/// Reads the body of kXR_wait or kXR_waitresp: how long, and why.
pub fn decode_wait(body: &[u8]) -> Result<(Duration, String), DecodeError> {
    let mut fields = Fields::new("kXR_wait", body);
    Ok((Duration::from_secs(fields.length()?.into()), text(fields.rest())))
}

/// Writes the body of kXR_wait or kXR_waitresp. Fractions of a second count as a whole one.
pub fn encode_wait(time: Duration, why: &str) -> Vec<u8> {
    let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    let seconds = i32::try_from(seconds).unwrap_or(i32::MAX);
    let mut body = seconds.to_be_bytes().to_vec();
    body.extend_from_slice(why.as_bytes());
    body
}

/// kXR_attn: an unsolicited message of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attention {
    /// kXR_asynresp: the answer to a request whose answer was put off.
    Answer { header: ResponseHeader, body: Bytes },
    /// kXR_asyncms: a message for people.
    Message(String),
    /// Other actions are obsolete.
    Other(u32),
}

const ASYNC_MESSAGE: u32 = 5002;
const ASYNC_RESPONSE: u32 = 5008;

impl Attention {
    /// Reads the body of a kXR_attn.
    pub fn decode(body: &Bytes) -> Result<Self, DecodeError> {
        let mut fields = Fields::new("kXR_attn", body);
        match fields.u32()? {
            ASYNC_RESPONSE => {
                fields.skip::<4>()?;
                let header = ResponseHeader::decode(&fields.array()?)?;
                let body = body.slice_ref(fields.rest());
                if body.len() != header.length as usize {
                    let why = "a deferred answer of another length than it says";
                    return Err(DecodeError::Invalid { subject: "kXR_attn", why });
                }
                Ok(Attention::Answer { header, body })
            }
            ASYNC_MESSAGE => Ok(Attention::Message(text(fields.rest()))),
            other => Ok(Attention::Other(other)),
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Attention::Answer { header, body } => {
                out.extend_from_slice(&deferred_answer_lead(header));
                out.extend_from_slice(body);
            }
            Attention::Message(message) => {
                out.extend_from_slice(&ASYNC_MESSAGE.to_be_bytes());
                put_text(&mut out, message);
            }
            Attention::Other(action) => out.extend_from_slice(&action.to_be_bytes()),
        }
        out
    }
}

/// The bytes in front of the body of a deferred answer.
pub fn deferred_answer_lead(header: &ResponseHeader) -> Bytes {
    let mut lead = ASYNC_RESPONSE.to_be_bytes().to_vec();
    lead.extend_from_slice(&[0; 4]);
    lead.extend_from_slice(&header.encode());
    lead.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{Status, StreamId};

    #[test]
    fn error_is_read_field_by_field() {
        #[rustfmt::skip]
        let body = [
            0, 0, 0x0b, 0xc3,           // 3011
            b'n', b'o', b'n', b'e', 0,  // the text
        ];
        let error = ServerError::decode(&body).unwrap();
        assert_eq!((error.code, error.message.as_str()), (ErrorCode::NOT_FOUND, "none"));
        assert_eq!(error.encode(), body);
        assert!(ServerError::decode(&body[..3]).is_err());
    }

    fn redirect(port: i32, text: &str) -> Result<Redirect, DecodeError> {
        let mut body = port.to_be_bytes().to_vec();
        body.extend_from_slice(text.as_bytes());
        Redirect::decode(&body)
    }

    #[test]
    fn a_redirection_to_a_host_keeps_the_path_and_merges_what_is_opaque() {
        let there = redirect(1095, "[fe80::1]?tried=a?tok=1").unwrap();
        assert_eq!((there.host.as_str(), there.port), ("fe80::1", 1095));
        let from = Url::parse("root://me@manager:1094//store/f.root?xrd.k=v&tried=b").unwrap();
        assert_eq!(
            there.follow(&from).unwrap().to_string(),
            "root://me@[fe80::1]:1095//store/f.root?xrd.k=v&tried=a&farroot.logintoken=tok=1"
        );
        assert_eq!(Redirect::decode(&there.encode()), Ok(there));
        let only_login = redirect(1095, "host??&TOKEN").unwrap();
        assert_eq!(
            (only_login.opaque.as_deref(), only_login.login_token.as_deref()),
            (None, Some("TOKEN"))
        );
        assert_eq!(Redirect::decode(&only_login.encode()), Ok(only_login));
    }

    #[test]
    fn a_redirection_to_a_url_may_change_the_path_but_not_drop_encryption() {
        let there = redirect(-1, "root://host//other/path?a=b").unwrap();
        assert_eq!((there.host.as_str(), there.port), ("host", DEFAULT_PORT));
        let from = Url::parse("roots://manager//store/f.root").unwrap();
        assert_eq!(there.follow(&from).unwrap().to_string(), "roots://host:1094//other/path?a=b");
        assert!(!there.collapse);
        assert!(redirect(!0x2000, "root://host:1").unwrap().collapse);
    }

    #[test]
    fn a_redirection_to_nowhere_is_invalid() {
        for (port, text) in [(1094, ""), (1094, "[]"), (70_000, "host"), (-1, "nonsense")] {
            assert!(redirect(port, text).is_err(), "{port} {text:?}");
        }
        assert_eq!(redirect(0, "host").unwrap().port, DEFAULT_PORT);
    }

    #[test]
    fn wait_counts_whole_seconds_and_is_never_negative() {
        assert_eq!(encode_wait(Duration::from_millis(1500), ""), [0, 0, 0, 2]);
        let (time, why) = decode_wait(&[0, 0, 0, 5, b'x']).unwrap();
        assert_eq!((time, why.as_str()), (Duration::from_secs(5), "x"));
        assert!(decode_wait(&[0xff, 0xff, 0xff, 0xff]).is_err());
    }

    #[test]
    fn a_deferred_answer_carries_a_whole_response() {
        // As recorded from a checksum that took its time.
        #[rustfmt::skip]
        let body = Bytes::from_static(&[
            0, 0, 0x13, 0x90,           // 5008, kXR_asynresp
            0, 0, 0, 0,                 // reserved
            0, 14, 0, 0, 0, 0, 0, 5,    // header: stream 14, ok, 5 bytes
            b'm', b'd', b'5', b' ', 0,
        ]);
        let header = ResponseHeader { stream: StreamId(14), status: Status::Ok, length: 5 };
        let attention = Attention::decode(&body).unwrap();
        assert_eq!(attention, Attention::Answer { header, body: body.slice(16..) });
        assert_eq!(attention.encode(), body);
        for cut in 0..body.len() {
            assert!(Attention::decode(&body.slice(..cut)).is_err(), "{cut}");
        }
    }
}
