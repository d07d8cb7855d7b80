//! The frames of a stream of Arrow: its messages as they arrive, whose content is not looked at.
//! No memory is taken by a number that the stream has, before it is compared with a limit.

use arrow_ipc::root_as_message;
use bytes::{Bytes, BytesMut};

use remote::{Error, ErrorKind, Result};

/// Bytes of the metadata of one message.
const METADATA_BYTES_MAX: usize = 16 << 20;
/// Bytes of a batch, sent and decompressed. Servers of farroot send less, but for long entries.
pub(super) const BATCH_BYTES_MAX: usize = 1 << 30;
/// Begins every message.
const CONTINUES: [u8; 4] = [0xff; 4];

/// A stream of which a part has arrived.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: BytesMut,
    is_ended: bool,
}

/// One message: its metadata, a flatbuffer, and the bytes that these describe.
#[derive(Debug, Clone)]
pub struct Frame {
    pub metadata: Bytes,
    pub body: Bytes,
}

impl Frames {
    /// Bytes that have arrived. Those that no one else holds are not copied.
    pub fn supply(&mut self, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        match self.bytes.is_empty() {
            true => self.bytes = BytesMut::from(bytes),
            false => self.bytes.extend_from_slice(&bytes),
        }
    }

    /// Whether the mark of the end has arrived, and nothing behind it.
    pub fn are_complete(&self) -> bool {
        self.is_ended && self.bytes.is_empty()
    }

    /// The next message; `None` where not all of it has arrived, and behind the last.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are no stream of Arrow; `LimitReached` for a message that is too
    /// long.
    pub fn next_frame(&mut self) -> Result<Option<Frame>> {
        let Some((mark, behind)) = self.bytes.split_first_chunk::<4>() else { return Ok(None) };
        let Some((length, behind)) = behind.split_first_chunk::<4>() else { return Ok(None) };
        if *mark != CONTINUES || self.is_ended {
            return Err(wrong("no message where one begins"));
        }
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 {
            self.is_ended = true;
            let _ = self.bytes.split_to(8);
            return Ok(None);
        }
        if length > METADATA_BYTES_MAX {
            return Err(wrong(format!("{length} bytes of metadata")));
        }
        let Some(metadata) = behind.get(..length) else { return Ok(None) };
        let body = body_length(metadata)?;
        let all = 8 + length + body;
        if self.bytes.len() < all {
            return Ok(None);
        }
        let message = self.bytes.split_to(all).freeze();
        Ok(Some(Frame {
            metadata: message.slice(8..8 + length),
            body: message.slice(8 + length..),
        }))
    }
}

/// Bytes behind the metadata of a message.
fn body_length(metadata: &[u8]) -> Result<usize> {
    let message = root_as_message(metadata).map_err(wrong)?;
    let length = usize::try_from(message.bodyLength()).map_err(wrong)?;
    match length <= BATCH_BYTES_MAX {
        true => Ok(length),
        false => Err(too_long(length)),
    }
}

pub(super) fn wrong(fault: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the server's answer: {fault}"))
}

pub(super) fn too_long(length: usize) -> Error {
    let text = format!("the server sends a batch of {length} bytes");
    Error::new(ErrorKind::LimitReached, text)
}
