//! Signatures of requests (kXR_sigver), where a server wants them of a session that has a key:
//! that of gsi. Specification: "kXR_sigver Request"; xrootd's `XrdSecProtect.cc` has the requests
//! that are signed at each level.

use sha2::{Digest, Sha256};

use crate::auth::gsi::SessionKey;
use crate::header::RequestHeader;
use crate::message::open::OpenOptions;
use crate::message::{
    Close, Dirlist, Endsess, Locate, Message, Mkdir, Mv, Open, Pgread, Pgwrite, Query, Read, Readv,
    Rm, Rmdir, Stat, Sync, Truncate, Write,
};

const SIGVER: u16 = 3029;
/// The request code that the numbers in a server's exceptions are relative to.
const FIRST_CODE: u16 = 3000;
const SHA256: u8 = 1;
/// The body of the request is not signed.
const NO_DATA: u8 = 1;
/// Of the options of a server: bodies of writes are signed, too.
const SIGNS_DATA: u8 = 1;

/// The requests that a server wants signed, and the key.
#[derive(Debug, Default)]
pub struct Signing {
    level: u8,
    signs_data: bool,
    /// Requests by their distance from the first code, and whether they are signed: 0 never, 1 if
    /// they change something, 2 always.
    exceptions: Vec<(u8, u8)>,
    key: Option<SessionKey>,
    number: u64,
}

impl Signing {
    /// Takes in the bytes behind the flags in the answer to kXR_protocol: `S`, a reserved byte,
    /// version, options, level, and so many exceptions. Servers without these bytes want no
    /// signatures.
    pub fn learn(&mut self, details: &[u8]) {
        let [b'S', _, _, options, level, count, rest @ ..] = details else { return };
        (self.level, self.signs_data) = (*level, options & SIGNS_DATA != 0);
        let pairs = rest.chunks_exact(2).take(usize::from(*count));
        self.exceptions = pairs.map(|pair| (pair[0], pair[1])).collect();
    }

    /// The session has a key from now on.
    pub fn begin(&mut self, key: SessionKey) {
        self.key = Some(key);
    }

    /// Whether some requests are signed.
    pub fn is_on(&self) -> bool {
        self.key.is_some() && self.level > 0
    }

    /// The kXR_sigver request in front of a request, if that is to be signed.
    pub fn sign(&mut self, header: &[u8; RequestHeader::BYTES], body: &[u8]) -> Option<Vec<u8>> {
        let request = RequestHeader::decode(header).ok()?;
        let key = self.key.as_ref().filter(|_| self.level > 0)?;
        if !self.wants(&request) {
            return None;
        }
        self.number += 1;
        let is_write = [Write::CODE, Pgwrite::CODE].contains(&request.code);
        let signs_body = !body.is_empty() && (self.signs_data || !is_write);
        let number = self.number.to_be_bytes();
        let mut digest = Sha256::new_with_prefix(number);
        digest.update(header);
        if signs_body {
            digest.update(body);
        }
        let signature = key.encrypt(&key.vector(self.number), &digest.finalize());
        let mut parameters = [0; 16];
        parameters[..2].copy_from_slice(&request.code.to_be_bytes());
        parameters[3] = if signs_body { 0 } else { NO_DATA };
        parameters[4..12].copy_from_slice(&number);
        parameters[12] = SHA256;
        let length = signature.len() as u32;
        let header = RequestHeader { stream: request.stream, code: SIGVER, parameters, length };
        Some([&header.encode()[..], &signature].concat())
    }

    fn wants(&self, request: &RequestHeader) -> bool {
        let options = u16::from_be_bytes([request.parameters[2], request.parameters[3]]);
        let changes = request.code != Open::CODE || OpenOptions(options).writes();
        let index = request.code.wrapping_sub(FIRST_CODE);
        let exception = self.exceptions.iter().find(|(of, _)| u16::from(*of) == index);
        match exception {
            Some((_, 0)) => false,
            Some((_, 1)) => changes,
            Some(_) => true,
            None => level_of(request.code, changes).is_some_and(|level| level <= self.level),
        }
    }
}

/// From which level on a request is signed: compatible, standard, intense, pedantic. Requests that
/// this client never sends, or that are never signed, have none.
fn level_of(code: u16, changes: bool) -> Option<u8> {
    match code {
        Open::CODE if changes => Some(1),
        Mv::CODE | Rm::CODE | Rmdir::CODE | Truncate::CODE => Some(1),
        Open::CODE | Mkdir::CODE => Some(2),
        Close::CODE | Endsess::CODE | Pgread::CODE | Pgwrite::CODE | Write::CODE => Some(3),
        Dirlist::CODE | Locate::CODE | Query::CODE | Read::CODE => Some(4),
        Readv::CODE | Stat::CODE | Sync::CODE => Some(4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::StreamId;

    fn header(code: u16, options: OpenOptions, length: u32) -> [u8; RequestHeader::BYTES] {
        let mut parameters = [0; 16];
        parameters[2..4].copy_from_slice(&options.0.to_be_bytes());
        RequestHeader { stream: StreamId(7), code, parameters, length }.encode()
    }

    fn signing(details: &[u8]) -> Signing {
        let mut signing = Signing::default();
        signing.learn(details);
        signing.begin(SessionKey::new(&[3; 16]).unwrap());
        signing
    }

    #[test]
    fn requests_are_signed_from_their_level_on() {
        let reading = header(Open::CODE, OpenOptions::FOR_READING, 2);
        let update = header(Open::CODE, OpenOptions::UPDATE, 2);
        let read = header(Read::CODE, OpenOptions(0), 0);
        for (level, expected) in [
            (0, [false, false, false]),
            (1, [false, true, false]),
            (2, [true, true, false]),
            (3, [true, true, false]),
            (4, [true, true, true]),
        ] {
            let mut signing = signing(&[b'S', 0, 0, 0, level, 0]);
            let signed =
                [reading, update, read].map(|header| signing.sign(&header, b"/a").is_some());
            assert_eq!(signed, expected, "{level}");
        }
        // An exception for reads, one that is cut, and a session without a key.
        let mut excepted = signing(&[b'S', 0, 0, 0, 1, 2, 13, 2, 10]);
        assert!(excepted.sign(&read, b"").is_some() && excepted.sign(&update, b"/a").is_some());
        let mut excepted = signing(&[b'S', 0, 0, 0, 4, 1, 13, 0]);
        assert!(excepted.sign(&read, b"").is_none());
        let mut none = Signing::default();
        none.learn(b"S\0\0\0\x04\0");
        assert!(none.sign(&read, b"").is_none());
        assert!(signing(b"").sign(&read, b"").is_none());
    }

    #[test]
    fn a_signature_goes_over_number_header_and_body() {
        let mut signing = signing(b"S\0\0\0\x02\0");
        let open = header(Open::CODE, OpenOptions::FOR_READING, 2);
        let key = SessionKey::new(&[3; 16]).unwrap();
        for number in [1_u64, 2] {
            let frame = signing.sign(&open, b"/a").unwrap();
            let (head, signature) = frame.split_first_chunk().unwrap();
            let head = RequestHeader::decode(head).unwrap();
            assert_eq!((head.stream, head.code), (StreamId(7), SIGVER));
            assert_eq!(head.parameters[..4], [0x0b, 0xc2, 0, 0]);
            assert_eq!(head.parameters[4..12], number.to_be_bytes());
            let expected = Sha256::digest([&number.to_be_bytes()[..], &open, b"/a"].concat());
            assert_eq!(key.decrypt(signature).unwrap(), expected.to_vec());
        }
        let mut writes = self::signing(b"S\0\0\0\x03\0");
        let frame = writes.sign(&header(Write::CODE, OpenOptions(0), 3), b"abc").unwrap();
        assert_eq!(frame[7], NO_DATA, "the body of a write is left out");
    }
}
