//! kXR_mkdir: a new directory. Specification: "kXR_mkdir Request".

use bytes::Bytes;

use super::{Message, no_answer};
use crate::codec::{Fields, exact_text, flags};
use crate::error::DecodeError;

flags! {
    /// How to make it.
    MkdirOptions: u8 {
        /// With the directories above it; one that is there already is no error.
        MAKE_PATH = 1,
    }
}

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mkdir {
    pub options: MkdirOptions,
    /// Permissions.
    pub mode: u16,
    pub path: String,
}

impl Message for Mkdir {
    const CODE: u16 = 3008;
    const NAME: &'static str = "kXR_mkdir";
    type Answer = ();

    fn decode(parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError> {
        let mut fields = Fields::new(Self::NAME, parameters);
        let options = MkdirOptions(fields.u8()?);
        fields.skip::<13>()?;
        Ok(Mkdir { options, mode: fields.u16()?, path: exact_text(Self::NAME, body)? })
    }

    fn encode(&self, parameters: &mut [u8; 16], body: &mut Vec<u8>) {
        parameters[0] = self.options.0;
        parameters[14..16].copy_from_slice(&self.mode.to_be_bytes());
        body.extend_from_slice(self.path.as_bytes());
    }

    fn decode_answer(body: &Bytes) -> Result<(), DecodeError> {
        no_answer("kXR_mkdir answer", body)
    }

    fn encode_answer(_answer: &()) -> Vec<u8> {
        Vec::new()
    }
}
