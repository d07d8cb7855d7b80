//! kXR_read: one range of an open file. Specification: "kXR_read Request".
//!
//! The answer is the bytes, in any number of kXR_oksofar parts and a last kXR_ok. Fewer bytes than
//! asked for means the end of the file.

use bytes::Bytes;

use super::Message;
use super::readv::{Segment, decode_segments, encode_segments};
use crate::codec::Fields;
use crate::error::DecodeError;
use crate::header::Handle;

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    pub handle: Handle,
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// Arguments that a client may add behind the header.
    pub arguments: Option<ReadArguments>,
}

/// The path to answer on, and ranges that will be read soon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadArguments {
    pub path: u8,
    pub soon: Vec<Segment>,
}

impl Message for Read {
    const CODE: u16 = 3013;
    const NAME: &'static str = "kXR_read";
    type Answer = Bytes;

    fn decode(parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError> {
        let mut fields = Fields::new(Self::NAME, parameters);
        let handle = Handle(fields.array()?);
        let offset = fields.offset()?;
        let length = fields.length()?;
        let arguments = if body.is_empty() {
            None
        } else {
            let mut fields = Fields::new(Self::NAME, body);
            let path = fields.u8()?;
            fields.skip::<7>()?;
            Some(ReadArguments { path, soon: decode_segments(fields)? })
        };
        Ok(Read { handle, offset, length, arguments })
    }

    fn encode(&self, parameters: &mut [u8; 16], body: &mut Vec<u8>) {
        parameters[0..4].copy_from_slice(&self.handle.0);
        parameters[4..12].copy_from_slice(&self.offset.to_be_bytes());
        parameters[12..16].copy_from_slice(&self.length.to_be_bytes());
        if let Some(arguments) = &self.arguments {
            body.extend_from_slice(&[arguments.path, 0, 0, 0, 0, 0, 0, 0]);
            encode_segments(&arguments.soon, body);
        }
    }

    fn decode_answer(body: &Bytes) -> Result<Bytes, DecodeError> {
        Ok(body.clone())
    }

    fn encode_answer(answer: &Bytes) -> Vec<u8> {
        answer.to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_what_comes_next_is_read() {
        let soon = vec![Segment { handle: Handle([1; 4]), length: 5, offset: 1 << 40 }];
        let read = Read {
            handle: Handle([2; 4]),
            offset: 7,
            length: 0,
            arguments: Some(ReadArguments { path: 3, soon }),
        };
        let mut parameters = [0; 16];
        let mut body = Vec::new();
        read.encode(&mut parameters, &mut body);
        assert_eq!(body.len(), 8 + 16);
        assert_eq!(Read::decode(&parameters, &Bytes::from(body)), Ok(read));
    }

    #[test]
    fn a_negative_offset_or_length_is_invalid() {
        let mut parameters = [0; 16];
        parameters[4] = 0x80;
        assert!(Read::decode(&parameters, &Bytes::new()).is_err());
        parameters = [0; 16];
        parameters[12] = 0x80;
        assert!(Read::decode(&parameters, &Bytes::new()).is_err());
        assert!(Read::decode(&[0; 16], &Bytes::from_static(&[1, 2, 3])).is_err());
    }
}
