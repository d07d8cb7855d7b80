//! kXR_readv: many ranges of one or several open files. Specification: "kXR_readv Request".
//!
//! The answer is one record per segment, each a copy of the segment followed by its bytes, spread
//! over any number of kXR_oksofar parts and a last kXR_ok. A segment that reaches beyond the end
//! of its file fails the whole request.

use bytes::Bytes;

use super::Message;
use crate::codec::Fields;
use crate::error::DecodeError;
use crate::header::Handle;

/// One element of a vectored read, and the head of the record that answers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub handle: Handle,
    /// Bytes.
    pub length: u32,
    pub offset: u64,
}

impl Segment {
    pub const BYTES: usize = 16;

    pub fn decode(bytes: &[u8; Self::BYTES]) -> Result<Segment, DecodeError> {
        Self::take(&mut Fields::new("segment of kXR_readv", bytes))
    }

    fn take(fields: &mut Fields<'_>) -> Result<Segment, DecodeError> {
        Ok(Segment {
            handle: Handle(fields.array()?),
            length: fields.length()?,
            offset: fields.offset()?,
        })
    }

    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[0..4].copy_from_slice(&self.handle.0);
        out[4..8].copy_from_slice(&self.length.to_be_bytes());
        out[8..16].copy_from_slice(&self.offset.to_be_bytes());
        out
    }
}

/// Reads segments to the end of the body.
pub(super) fn decode_segments(mut fields: Fields<'_>) -> Result<Vec<Segment>, DecodeError> {
    let mut segments = Vec::new();
    while !fields.is_empty() {
        segments.push(Segment::take(&mut fields)?);
    }
    Ok(segments)
}

/// Writes segments one behind the other.
pub(super) fn encode_segments(segments: &[Segment], body: &mut Vec<u8>) {
    for segment in segments {
        body.extend_from_slice(&segment.encode());
    }
}

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readv {
    /// On which path to answer; servers ignore it.
    pub path: u8,
    pub segments: Vec<Segment>,
}

/// One part of the answer: a segment and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub handle: Handle,
    pub offset: u64,
    pub bytes: Bytes,
}

impl Message for Readv {
    const CODE: u16 = 3025;
    const NAME: &'static str = "kXR_readv";
    type Answer = Vec<Record>;

    fn decode(parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError> {
        let fields = Fields::new(Self::NAME, body);
        Ok(Readv { path: parameters[15], segments: decode_segments(fields)? })
    }

    fn encode(&self, parameters: &mut [u8; 16], body: &mut Vec<u8>) {
        parameters[15] = self.path;
        encode_segments(&self.segments, body);
    }

    fn decode_answer(body: &Bytes) -> Result<Vec<Record>, DecodeError> {
        let mut rest = body.clone();
        let mut records = Vec::new();
        while !rest.is_empty() {
            let Segment { handle, length, offset } =
                Segment::take(&mut Fields::new("record of kXR_readv", &rest))?;
            let end = Segment::BYTES.saturating_add(length as usize);
            if rest.len() < end {
                return Err(DecodeError::Short { subject: "record of kXR_readv" });
            }
            let record = rest.split_to(end);
            records.push(Record { handle, offset, bytes: record.slice(Segment::BYTES..) });
        }
        Ok(records)
    }

    fn encode_answer(answer: &Vec<Record>) -> Vec<u8> {
        let mut body = Vec::new();
        for Record { handle, offset, bytes } in answer {
            let head =
                Segment { handle: *handle, length: bytes.len() as u32, offset: *offset };
            body.extend_from_slice(&head.encode());
            body.extend_from_slice(bytes);
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segment_is_read_field_by_field() {
        #[rustfmt::skip]
        let bytes = [
            2, 0, 0, 0,                 // handle
            0, 0, 1, 0,                 // 256 bytes
            0, 0, 0, 1, 0, 0, 0, 0,     // at 4 GiB
        ];
        let segment = Segment::decode(&bytes).unwrap();
        assert_eq!(segment, Segment { handle: Handle([2, 0, 0, 0]), length: 256, offset: 1 << 32 });
        assert_eq!(segment.encode(), bytes);
    }

    #[test]
    fn a_list_that_ends_inside_a_segment_is_short() {
        assert!(Readv::decode(&[0; 16], &Bytes::from_static(&[0; 17])).is_err());
    }

    #[test]
    fn a_record_longer_than_the_answer_is_short() {
        let head = Segment { handle: Handle::default(), length: i32::MAX as u32, offset: 0 };
        let body = Bytes::from(head.encode().to_vec());
        assert_eq!(
            Readv::decode_answer(&body),
            Err(DecodeError::Short { subject: "record of kXR_readv" })
        );
    }
}
