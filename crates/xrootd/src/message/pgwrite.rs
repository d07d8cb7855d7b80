//! kXR_pgwrite: bytes for an open file, with a checksum of every page. Specification:
//! "kXR_pgwrite Request" and "kXR_status Response".
//!
//! The body holds pages as [`crate::pages`] lays them out. The answer is one kXR_status frame: the
//! head of a part ([`PartHead`]) and behind it, which the frame's header does not count, nothing or
//! the pages whose checksums were wrong ([`BadPages`]). Such pages have been written all the same;
//! each is to be sent again by a request of its own, or the close fails.

use bytes::Bytes;

use super::Message;
use super::pgread::PartHead;
use crate::codec::Fields;
use crate::error::DecodeError;
use crate::header::Handle;

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pgwrite {
    pub handle: Handle,
    /// Where in the file.
    pub offset: u64,
    /// On which path the bytes come: 0 for that of the request.
    pub path: u8,
    /// [`Pgwrite::RETRY`] or nothing.
    pub flags: u8,
    /// Pages, each behind its checksum.
    pub pages: Bytes,
}

impl Pgwrite {
    /// kXR_pgRetry: one page that came damaged before.
    pub const RETRY: u8 = 1;
}

/// The answer: its head, and the server's list of pages that arrived damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PgwriteAnswer {
    pub head: PartHead,
    pub bad: BadPages,
}

impl Message for Pgwrite {
    const CODE: u16 = 3026;
    const NAME: &'static str = "kXR_pgwrite";
    type Answer = PgwriteAnswer;

    fn decode(parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError> {
        let mut fields = Fields::new(Self::NAME, parameters);
        let handle = Handle(fields.array()?);
        let offset = fields.offset()?;
        let path = fields.u8()?;
        let flags = fields.u8()?;
        if offset.saturating_add(body.len() as u64) > i64::MAX as u64 {
            let why = "a range behind the largest offset";
            return Err(DecodeError::Invalid { subject: Self::NAME, why });
        }
        Ok(Pgwrite { handle, offset, path, flags, pages: body.clone() })
    }

    fn encode(&self, parameters: &mut [u8; 16], body: &mut Vec<u8>) {
        parameters[0..4].copy_from_slice(&self.handle.0);
        parameters[4..12].copy_from_slice(&self.offset.to_be_bytes());
        (parameters[12], parameters[13]) = (self.path, self.flags);
        body.extend_from_slice(&self.pages);
    }

    fn decode_answer(body: &Bytes) -> Result<PgwriteAnswer, DecodeError> {
        let mut rest = body.clone();
        let head = rest.split_to(rest.len().min(PartHead::BYTES));
        let head = PartHead::decode(Self::CODE, &head)?;
        if rest.len() != head.length as usize {
            return Err(DecodeError::Short { subject: PartHead::NAME });
        }
        Ok(PgwriteAnswer { head, bad: BadPages::decode(&rest)? })
    }

    fn encode_answer(answer: &PgwriteAnswer) -> Vec<u8> {
        let mut body = answer.head.encode(Self::CODE).to_vec();
        body.extend_from_slice(&answer.bad.encode());
        body
    }
}

/// Pages that did not come as their checksums say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BadPages {
    /// Bytes of the first one and of the last one; those between are whole pages.
    pub first: u16,
    pub last: u16,
    /// Where in the file each begins.
    pub offsets: Vec<u64>,
}

/// The list's own checksum covers the bytes behind it.
const CHECKSUM_BYTES: usize = 4;

impl BadPages {
    const NAME: &'static str = "the bad pages of kXR_pgwrite";

    /// Reads the bytes behind the head of an answer: none where no page is bad.
    pub fn decode(bytes: &[u8]) -> Result<BadPages, DecodeError> {
        if bytes.is_empty() {
            return Ok(BadPages::default());
        }
        let mut fields = Fields::new(Self::NAME, bytes);
        let checksum = fields.u32()?;
        if checksum != crc32c::crc32c(&bytes[CHECKSUM_BYTES..]) {
            let why = "its checksum is wrong";
            return Err(DecodeError::Invalid { subject: Self::NAME, why });
        }
        let first = fields.u16()?;
        let last = fields.u16()?;
        let mut offsets = vec![fields.offset()?];
        while !fields.is_empty() {
            offsets.push(fields.offset()?);
        }
        Ok(BadPages { first, last, offsets })
    }

    pub fn encode(&self) -> Vec<u8> {
        if self.offsets.is_empty() {
            return Vec::new();
        }
        let mut out = vec![0; CHECKSUM_BYTES];
        out.extend_from_slice(&self.first.to_be_bytes());
        out.extend_from_slice(&self.last.to_be_bytes());
        for offset in &self.offsets {
            out.extend_from_slice(&offset.to_be_bytes());
        }
        let checksum = crc32c::crc32c(&out[CHECKSUM_BYTES..]);
        out[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_be_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_wrong_bit_of_the_list_of_bad_pages_goes_unnoticed() {
        let bad = BadPages { first: 6, last: 8, offsets: vec![4090, 4096] };
        let bytes = bad.encode();
        assert_eq!(BadPages::decode(&bytes), Ok(bad));
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(BadPages::decode(&bytes).is_err(), "bit {bit}");
        }
        for cut in 1..bytes.len() {
            assert!(BadPages::decode(&bytes[..cut]).is_err(), "{cut}");
        }
        assert_eq!(BadPages::decode(&[]), Ok(BadPages::default()));
    }
}
