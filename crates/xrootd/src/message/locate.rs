//! kXR_locate: where a file is. Specification: "kXR_locate Request".

use bytes::Bytes;

use super::Message;
use crate::codec::{Fields, exact_text, flags, text};
use crate::error::DecodeError;

flags! {
    /// How to look.
    LocateOptions: u16 {
        /// Each host once.
        UNIQUE_HOSTS = 0x1,
        /// Wait for all servers.
        FORCE = 0x4,
        REFRESH = 0x80,
        /// Names, not addresses.
        PREFER_NAMES = 0x100,
        FOR_DIRECTORY = 0x400,
        NO_WAIT = 0x2000,
    }
}

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locate {
    pub options: LocateOptions,
    /// A leading `*` makes it any file under the path.
    pub path: String,
}

/// One place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// To be asked again for the data server, rather than one itself.
    pub manager: bool,
    /// The file is about to be there.
    pub pending: bool,
    pub writable: bool,
    /// `host:port`; addresses of IPv6 in brackets.
    pub address: String,
}

impl Location {
    fn decode(word: &str) -> Result<Location, DecodeError> {
        let invalid = |why| DecodeError::Invalid { subject: "kXR_locate answer", why };
        let mut chars = word.chars();
        let (manager, pending) = match chars.next() {
            Some('S') => (false, false),
            Some('s') => (false, true),
            Some('M') => (true, false),
            Some('m') => (true, true),
            _ => return Err(invalid("a place that is neither server nor manager")),
        };
        let writable = match chars.next() {
            Some('r') => false,
            Some('w') => true,
            _ => return Err(invalid("a place that can be neither read nor written")),
        };
        Ok(Location { manager, pending, writable, address: chars.as_str().to_owned() })
    }
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match (self.manager, self.pending) {
            (false, false) => 'S',
            (false, true) => 's',
            (true, false) => 'M',
            (true, true) => 'm',
        };
        write!(f, "{kind}{}{}", if self.writable { 'w' } else { 'r' }, self.address)
    }
}

impl Message for Locate {
    const CODE: u16 = 3027;
    const NAME: &'static str = "kXR_locate";
    type Answer = Vec<Location>;

    fn decode(parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError> {
        let mut fields = Fields::new(Self::NAME, parameters);
        let options = LocateOptions(fields.u16()?);
        Ok(Locate { options, path: exact_text(Self::NAME, body)? })
    }

    fn encode(&self, parameters: &mut [u8; 16], body: &mut Vec<u8>) {
        parameters[0..2].copy_from_slice(&self.options.0.to_be_bytes());
        body.extend_from_slice(self.path.as_bytes());
    }

    fn decode_answer(body: &Bytes) -> Result<Vec<Location>, DecodeError> {
        text(body).split_ascii_whitespace().map(Location::decode).collect()
    }

    fn encode_answer(answer: &Vec<Location>) -> Vec<u8> {
        let words: Vec<_> = answer.iter().map(Location::to_string).collect();
        let mut body = Vec::new();
        crate::codec::put_text(&mut body, &words.join(" "));
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_apart_by_two_letters() {
        let body = Bytes::from_static(b"Sw[::10.77.0.13]:33161 mrmanager:1094\0");
        let places = Locate::decode_answer(&body).unwrap();
        assert_eq!(places[0].address, "[::10.77.0.13]:33161");
        assert!(!places[0].manager && places[0].writable);
        assert!(places[1].manager && places[1].pending && !places[1].writable);
        assert_eq!(Locate::encode_answer(&places), body);
        assert!(Locate::decode_answer(&Bytes::from_static(b"Xrhost:1")).is_err());
        assert_eq!(Locate::decode_answer(&Bytes::new()), Ok(vec![]));
    }
}
