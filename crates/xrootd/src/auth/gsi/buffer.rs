//! The container of gsi's messages: the protocol's name, a step, and typed pieces ("buckets") up
//! to one of type 0. All integers are signed 32-bit numbers, big-endian.

use crate::codec::DecodeError;

const NAME: &[u8; 4] = b"gsi\0";
const SUBJECT: &str = "a gsi message";
const END: i32 = 0;

/// Messages of servers and clients have at most eight buckets.
const BUCKETS_MAX: usize = 32;

/// Type of a bucket's content. Unknown types are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketType(pub i32);

impl BucketType {
    /// The name of a crypto module.
    pub const CRYPTO_MODULE: BucketType = BucketType(3000);
    /// An inner message, encrypted once there is a key.
    pub const MAIN: BucketType = BucketType(3001);
    /// The sender's public key, PEM.
    pub const PUBLIC_KEY: BucketType = BucketType(3004);
    /// The sender's part of the Diffie-Hellman exchange, signed.
    pub const EXCHANGE_PART: BucketType = BucketType(3005);
    /// A challenge.
    pub const TAG: BucketType = BucketType(3006);
    /// The challenge of the other side, signed.
    pub const SIGNED_TAG: BucketType = BucketType(3007);
    pub const VERSION: BucketType = BucketType(3014);
    pub const OPTIONS: BucketType = BucketType(3019);
    /// Certificates, PEM.
    pub const CERTIFICATES: BucketType = BucketType(3022);
    /// Hashes of the name of the client's authority.
    pub const ISSUER_HASH: BucketType = BucketType(3023);
    pub const CIPHERS: BucketType = BucketType(3025);
    pub const DIGESTS: BucketType = BucketType(3026);
}

/// One message; its buckets lie in the bytes that it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer<'a> {
    pub step: i32,
    pub buckets: Vec<(BucketType, &'a [u8])>,
}

impl<'a> Buffer<'a> {
    /// Reads a message; returns it and the bytes that follow it.
    ///
    /// # Errors
    ///
    /// Bytes that end too early, another name, a negative length, or more than 32 buckets.
    pub fn decode(bytes: &'a [u8]) -> Result<(Buffer<'a>, &'a [u8]), DecodeError> {
        let (name, rest) =
            bytes.split_first_chunk().ok_or(DecodeError::Short { subject: SUBJECT })?;
        if name != NAME {
            return Err(DecodeError::Invalid { subject: SUBJECT, why: "of another protocol" });
        }
        let (step, mut rest) = number(rest)?;
        let mut buckets = Vec::new();
        loop {
            let (kind, after) = number(rest)?;
            if kind == END {
                return Ok((Buffer { step, buckets }, after));
            }
            if buckets.len() == BUCKETS_MAX {
                return Err(DecodeError::Invalid { subject: SUBJECT, why: "too many buckets" });
            }
            let (length, after) = number(after)?;
            let length = usize::try_from(length)
                .map_err(|_| DecodeError::Invalid { subject: SUBJECT, why: "a negative length" })?;
            let (content, after) =
                after.split_at_checked(length).ok_or(DecodeError::Short { subject: SUBJECT })?;
            buckets.push((BucketType(kind), content));
            rest = after;
        }
    }

    /// Writes the message.
    pub fn encode(&self) -> Vec<u8> {
        let content: usize = self.buckets.iter().map(|(_, content)| 8 + content.len()).sum();
        let mut out = Vec::with_capacity(12 + content);
        out.extend_from_slice(NAME);
        out.extend_from_slice(&self.step.to_be_bytes());
        for (kind, content) in &self.buckets {
            out.extend_from_slice(&kind.0.to_be_bytes());
            let length = i32::try_from(content.len()).expect("messages are far below 2 GB");
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(content);
        }
        out.extend_from_slice(&END.to_be_bytes());
        out
    }

    /// The first bucket of a type.
    pub fn get(&self, kind: BucketType) -> Option<&'a [u8]> {
        self.buckets.iter().find(|(each, _)| *each == kind).map(|(_, content)| *content)
    }
}

fn number(bytes: &[u8]) -> Result<(i32, &[u8]), DecodeError> {
    let (number, rest) =
        bytes.split_first_chunk().ok_or(DecodeError::Short { subject: SUBJECT })?;
    Ok((i32::from_be_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages that xrootd 5.5.3 and its client have sent each other.
    const RECORDED: [&[u8]; 2] = [
        include_bytes!("../../../samples/gsi.certreq.bin"),
        include_bytes!("../../../samples/gsi.server.bin"),
    ];

    #[test]
    fn messages_are_read_and_written_as_recorded() {
        for message in RECORDED {
            let (buffer, rest) = Buffer::decode(message).unwrap();
            assert!(rest.is_empty());
            assert_eq!(buffer.encode(), message);
        }
        let (buffer, _) = Buffer::decode(RECORDED[0]).unwrap();
        assert_eq!(buffer.step, 1000);
        assert_eq!(buffer.get(BucketType::ISSUER_HASH), Some(&b"d1bfdaf0.0|a48310c5.0"[..]));
        assert_eq!(buffer.get(BucketType::DIGESTS), None);
    }

    #[test]
    fn a_tail_stays() {
        for message in RECORDED {
            let longer = [message, b"tail"].concat();
            let (buffer, rest) = Buffer::decode(&longer).unwrap();
            assert_eq!(rest, b"tail");
            assert_eq!(buffer.encode(), message);
        }
    }

    #[test]
    fn every_shorter_message_is_too_short() {
        for message in RECORDED {
            for end in 0..message.len() {
                let read = Buffer::decode(&message[..end]);
                assert_eq!(read, Err(DecodeError::Short { subject: SUBJECT }), "{end}");
            }
        }
    }

    #[test]
    fn what_no_message_has_is_refused() {
        let bad = |bytes: &[u8]| match Buffer::decode(bytes) {
            Err(DecodeError::Invalid { why, .. }) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(bad(b"krb5\0\0\0\0"), "of another protocol");
        let negative = [&b"gsi\0\0\0\0\x01\0\0\0\x07"[..], &(-1_i32).to_be_bytes()].concat();
        assert_eq!(bad(&negative), "a negative length");
        let buckets = vec![(BucketType::TAG, &b""[..]); BUCKETS_MAX + 1];
        assert_eq!(bad(&Buffer { step: 1, buckets }.encode()), "too many buckets");
    }
}
