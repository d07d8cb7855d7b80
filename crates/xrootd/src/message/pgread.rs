//! kXR_pgread: one range of an open file, with a checksum of every page. Specification:
//! "kXR_pgread Request" and "kXR_status Response".
//!
//! The answer is any number of kXR_status frames: the head of a part ([`PartHead`], which has a
//! checksum of its own), then the part's pages as [`crate::pages`] lays them out. The frame's
//! header counts the head and not the pages. Fewer bytes than asked for mean the end of the file.

use bytes::Bytes;

use super::Message;
use crate::codec::Fields;
use crate::error::DecodeError;
use crate::header::{Handle, StreamId};

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pgread {
    pub handle: Handle,
    pub offset: u64,
    /// Bytes of the file.
    pub length: u32,
    /// Arguments that a client may add behind the header.
    pub arguments: Option<PgreadArguments>,
}

/// On which path to answer, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PgreadArguments {
    pub path: u8,
    /// Where given: [`PgreadArguments::RETRY`] or nothing.
    pub flags: Option<u8>,
}

impl PgreadArguments {
    /// kXR_pgRetry: the bytes have come with a wrong checksum before; a server that keeps
    /// checksums compares its disk with them.
    pub const RETRY: u8 = 1;

    /// Asks once more for pages that arrived damaged, on the path of the request.
    pub const fn retry() -> PgreadArguments {
        PgreadArguments { path: 0, flags: Some(Self::RETRY) }
    }
}

/// One part of an answer: its head, and its pages as they are on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PagePart {
    pub head: PartHead,
    pub pages: Bytes,
}

impl Message for Pgread {
    const CODE: u16 = 3030;
    const NAME: &'static str = "kXR_pgread";
    type Answer = PagePart;

    fn decode(parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError> {
        let mut fields = Fields::new(Self::NAME, parameters);
        let handle = Handle(fields.array()?);
        let offset = fields.offset()?;
        let length = fields.length()?;
        // The parts of an answer say where they begin, in a signed number as well.
        if offset + u64::from(length) > i64::MAX as u64 {
            let why = "a range behind the largest offset";
            return Err(DecodeError::Invalid { subject: Self::NAME, why });
        }
        let arguments = body
            .first()
            .map(|&path| PgreadArguments { path, flags: body.get(1).copied() });
        Ok(Pgread { handle, offset, length, arguments })
    }

    fn encode(&self, parameters: &mut [u8; 16], body: &mut Vec<u8>) {
        parameters[0..4].copy_from_slice(&self.handle.0);
        parameters[4..12].copy_from_slice(&self.offset.to_be_bytes());
        parameters[12..16].copy_from_slice(&self.length.to_be_bytes());
        if let Some(PgreadArguments { path, flags }) = self.arguments {
            body.push(path);
            body.extend(flags);
        }
    }

    fn decode_answer(body: &Bytes) -> Result<PagePart, DecodeError> {
        let mut pages = body.clone();
        let head = pages.split_to(pages.len().min(PartHead::BYTES));
        let head = PartHead::decode(Self::CODE, &head)?;
        if pages.len() != head.length as usize {
            return Err(DecodeError::Short { subject: PartHead::NAME });
        }
        Ok(PagePart { head, pages })
    }

    fn encode_answer(answer: &PagePart) -> Vec<u8> {
        let mut body = answer.head.encode(Self::CODE).to_vec();
        body.extend_from_slice(&answer.pages);
        body
    }
}

/// The head of a part of an answer, also of one to [`Pgwrite`](super::Pgwrite).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartHead {
    pub stream: StreamId,
    /// No part follows this one.
    pub last: bool,
    /// Where in the file the part begins.
    pub offset: u64,
    /// Bytes on the wire behind the head, checksums included.
    pub length: u32,
}

/// Codes of requests are counted from here in the head of a part.
const FIRST_CODE: u16 = 3000;
/// kXR_FinalResult, kXR_PartialResult.
const FINAL: u8 = 0;
const PARTIAL: u8 = 1;
/// The checksum at the beginning of the head covers the rest of it.
const CHECKSUM_BYTES: usize = 4;

impl PartHead {
    pub const BYTES: usize = 24;
    pub(super) const NAME: &'static str = "kXR_status";

    /// Reads the head, which must be no longer, carry the right checksum, and answer requests of
    /// this code.
    pub fn decode(request: u16, bytes: &[u8]) -> Result<PartHead, DecodeError> {
        let invalid = |why| DecodeError::Invalid { subject: Self::NAME, why };
        let mut fields = Fields::new(Self::NAME, bytes);
        let checksum = fields.u32()?;
        let stream = StreamId(fields.u16()?);
        let code = fields.u8()?;
        let kind = fields.u8()?;
        fields.skip::<4>()?;
        let length = fields.length()?;
        let offset = fields.offset()?;
        if !fields.is_empty() {
            return Err(invalid("longer than the head of a part"));
        }
        if checksum != crc32c::crc32c(&bytes[CHECKSUM_BYTES..]) {
            return Err(invalid("its checksum is wrong"));
        }
        if u16::from(code) + FIRST_CODE != request {
            return Err(invalid("it answers another request"));
        }
        let last = match kind {
            FINAL => true,
            PARTIAL => false,
            _ => return Err(invalid("neither a part nor the end of an answer")),
        };
        Ok(PartHead { stream, last, offset, length })
    }

    /// The head of an answer to requests of this code.
    pub fn encode(&self, request: u16) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[4..6].copy_from_slice(&self.stream.0.to_be_bytes());
        out[6] = (request - FIRST_CODE) as u8;
        out[7] = if self.last { FINAL } else { PARTIAL };
        out[12..16].copy_from_slice(&self.length.to_be_bytes());
        out[16..24].copy_from_slice(&self.offset.to_be_bytes());
        let checksum = crc32c::crc32c(&out[CHECKSUM_BYTES..]);
        out[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_be_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_of_a_retry_goes_behind_the_header() {
        let arguments = Some(PgreadArguments::retry());
        let pgread = Pgread { handle: Handle([2; 4]), offset: 1 << 40, length: 7, arguments };
        let mut parameters = [0; 16];
        let mut body = Vec::new();
        pgread.encode(&mut parameters, &mut body);
        assert_eq!(body, [0, 1]);
        assert_eq!(Pgread::decode(&parameters, &Bytes::from(body)), Ok(pgread));
        parameters[4] = 0x80;
        assert!(Pgread::decode(&parameters, &Bytes::new()).is_err(), "a negative offset");
        // Found by chance: its second part would have begun at a negative offset.
        parameters[4..12].copy_from_slice(&(i64::MAX - 6).to_be_bytes());
        assert!(Pgread::decode(&parameters, &Bytes::new()).is_err(), "an end behind all offsets");
    }

    #[test]
    fn the_head_of_a_part_is_read_field_by_field() {
        let head = PartHead { stream: StreamId(0x102), last: false, offset: 1 << 32, length: 4100 };
        let bytes = head.encode(Pgread::CODE);
        #[rustfmt::skip]
        assert_eq!(bytes[4..], [
            0x01, 0x02,                 // stream id
            30,                         // kXR_pgread, counted from 3000
            1,                          // a part; more follows
            0, 0, 0, 0,                 // reserved
            0, 0, 0x10, 0x04,           // 4,100 bytes of pages
            0, 0, 0, 1, 0, 0, 0, 0,     // at 4 GiB
        ]);
        assert_eq!(PartHead::decode(Pgread::CODE, &bytes), Ok(head));
        for cut in 0..bytes.len() {
            assert!(PartHead::decode(Pgread::CODE, &bytes[..cut]).is_err(), "{cut}");
        }
        assert!(PartHead::decode(Pgread::CODE, &[&bytes[..], &[0]].concat()).is_err(), "a longer one");
    }

    #[test]
    fn no_wrong_bit_of_a_head_goes_unnoticed() {
        let head = PartHead { stream: StreamId(7), last: true, offset: 4096, length: 9 };
        for bit in 0..PartHead::BYTES * 8 {
            let mut bytes = head.encode(Pgread::CODE);
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(PartHead::decode(Pgread::CODE, &bytes).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_part_that_is_no_answer_to_this_request_is_invalid() {
        for (at, value) in [(6, 26), (7, 2)] {
            let mut bytes = PartHead { stream: StreamId(7), last: true, offset: 0, length: 0 }.encode(Pgread::CODE);
            bytes[at] = value;
            let checksum = crc32c::crc32c(&bytes[CHECKSUM_BYTES..]);
            bytes[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_be_bytes());
            assert!(PartHead::decode(Pgread::CODE, &bytes).is_err(), "byte {at}");
        }
    }
}
