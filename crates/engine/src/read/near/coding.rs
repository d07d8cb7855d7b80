//! The coding of an answer as a whole: zstd over the stream of Arrow, whose buffers are then not
//! compressed. Short batches have as many bytes of metadata as of columns, and repeat them.

use bytes::Bytes;
use zstd::stream::raw::{Decoder, Operation};
use zstd::stream::write::Encoder;
use zstd::zstd_safe::{CParameter, DParameter};

use super::frames::wrong;
use remote::{Error, ErrorKind, Result};

/// zstd's own usual level.
const LEVEL: i32 = 3;
/// The memory of each side for what may be repeated: 2 to the power of so many bytes.
const WINDOW_LOG: u32 = 20;
/// The window of other servers.
const WINDOW_LOG_MAX: u32 = 23;
/// Bytes that are decoded at a time, before the next ones are asked for.
const PIECE_BYTES: usize = 256 << 10;

/// The server's side.
pub struct AnswerEncoder(Encoder<'static, Vec<u8>>);

/// The client's side.
pub struct AnswerDecoder {
    decoder: Decoder<'static>,
    /// Bytes that have arrived and are not decoded.
    arrived: Bytes,
    /// More may come of them than the last piece.
    has_more: bool,
    /// Decoded bytes that may still come.
    room: u64,
}

fn unwritten(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the answer cannot be compressed: {error}"))
}

impl AnswerEncoder {
    /// # Errors
    /// No memory.
    pub fn new() -> Result<Self> {
        let mut encoder = Encoder::new(Vec::new(), LEVEL).map_err(unwritten)?;
        encoder.set_parameter(CParameter::WindowLog(WINDOW_LOG)).map_err(unwritten)?;
        Ok(AnswerEncoder(encoder))
    }

    /// These bytes, such that they can be decoded without later ones.
    ///
    /// # Errors
    /// No memory.
    pub fn encoded(&mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        use std::io::Write;
        self.0.write_all(bytes).and_then(|()| self.0.flush()).map_err(unwritten)?;
        Ok(std::mem::take(self.0.get_mut()))
    }

    /// The last bytes, and the end behind them.
    ///
    /// # Errors
    /// No memory.
    pub fn finished(mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        use std::io::Write;
        self.0.write_all(bytes).and_then(|()| self.0.finish()).map_err(unwritten)
    }
}

impl AnswerDecoder {
    /// An answer of at most so many bytes, decoded.
    ///
    /// # Errors
    /// No memory.
    pub fn new(decoded_max: u64) -> Result<Self> {
        let mut decoder = Decoder::new().map_err(wrong)?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX)).map_err(wrong)?;
        Ok(AnswerDecoder { decoder, arrived: Bytes::new(), has_more: false, room: decoded_max })
    }

    /// Bytes that have arrived, after all pieces of those before them.
    pub fn supply(&mut self, bytes: Bytes) {
        self.arrived = bytes;
        self.has_more = true;
    }

    /// The next bytes, decoded; `None` where more have to arrive.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are not encoded so; `LimitReached` for more than may come.
    pub fn next_piece(&mut self) -> Result<Option<Vec<u8>>> {
        let mut piece = vec![0; PIECE_BYTES];
        let mut filled = 0;
        while filled < piece.len() && self.has_more {
            let done = self.decoder.run_on_buffers(&self.arrived, &mut piece[filled..]);
            let done = done.map_err(wrong)?;
            let _ = self.arrived.split_to(done.bytes_read.min(self.arrived.len()));
            filled += done.bytes_written;
            // With room left over nothing is held back.
            self.has_more = !self.arrived.is_empty() || filled == piece.len();
            if done.bytes_read == 0 && done.bytes_written == 0 {
                self.has_more = false;
            }
        }
        if filled == 0 {
            return Ok(None);
        }
        self.room = self.room.checked_sub(filled as u64).ok_or_else(|| {
            let message = "the server's answer is longer than the columns can be";
            Error::new(ErrorKind::LimitReached, message)
        })?;
        piece.truncate(filled);
        Ok(Some(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], piece: usize, decoded_max: u64) -> Result<Vec<u8>> {
        let mut decoder = AnswerDecoder::new(decoded_max)?;
        let mut all = Vec::new();
        for part in bytes.chunks(piece.max(1)) {
            decoder.supply(Bytes::copy_from_slice(part));
            while let Some(piece) = decoder.next_piece()? {
                all.extend(piece);
            }
        }
        Ok(all)
    }

    fn encoded(parts: &[Vec<u8>]) -> (Vec<u8>, Vec<usize>) {
        let mut encoder = AnswerEncoder::new().unwrap();
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        for part in parts {
            bytes.extend(encoder.encoded(part).unwrap());
            ends.push(bytes.len());
        }
        bytes.extend(encoder.finished(b"end").unwrap());
        (bytes, ends)
    }

    #[test]
    fn each_part_can_be_read_as_soon_as_it_has_come() {
        let mut random = fastrand::Rng::with_seed(3);
        let zeros = vec![0; 3 * PIECE_BYTES];
        let noise: Vec<u8> = (0..PIECE_BYTES + 5).map(|_| random.u8(..)).collect();
        let parts = [vec![7; 10], zeros, Vec::new(), noise];
        let whole: Vec<u8> = [parts.concat(), b"end".to_vec()].concat();
        let (bytes, ends) = encoded(&parts);
        let room = whole.len() as u64;
        let mut known = 0;
        for (part, end) in parts.iter().zip(ends) {
            known += part.len();
            assert_eq!(decoded(&bytes[..end], 1000, room).unwrap(), whole[..known]);
        }
        for piece in [1, 13, bytes.len()] {
            assert_eq!(decoded(&bytes, piece, room).unwrap(), whole, "{piece}");
        }
        let error = decoded(&bytes, 100, room - 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitReached);
    }

    #[test]
    fn damage_is_an_error_or_other_bytes_and_never_a_panic() {
        let (bytes, _) = encoded(&[vec![1; 5000], (0..=255).collect()]);
        let mut random = fastrand::Rng::with_seed(9);
        for _ in 0..300 {
            let mut damaged = bytes.clone();
            let at = random.usize(0..damaged.len());
            damaged[at] = random.u8(..);
            let _ = decoded(&damaged, random.usize(1..200), 1 << 20);
        }
        assert!(decoded(&[bytes, vec![1, 2, 3, 4]].concat(), 100, 1 << 20).is_err());
    }
}
