//! Compression blocks: how a record's payload is compressed (ROOT: `R__zipMultipleAlgorithm`).
//!
//! ```text
//! payload = block block …          each block at most 16 MiB - 1 on either side
//! block   = 'Z' 'L'                algorithm: ZL, XZ, L4, ZS, CS
//!           method                 one byte: 8 for ZL and CS, else a library version
//!           compressed size        three bytes, little-endian, without these nine
//!           uncompressed size      three bytes, little-endian
//!           compressed bytes
//! ```
//!
//! A payload exactly as long as its content is not compressed and has no header at all.

use std::ops::Range;

use crate::codec::{Algorithm, Codecs};
use crate::error::{Error, Result};
use crate::memory;

/// Length of a block's header.
pub const HEADER_LEN: usize = 9;

/// No codec but LZMA and Zstandard compresses better than this (deflate: 1032 to 1).
const EXPANSION_TRUSTED: usize = 1032;

/// Fields of a block's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockHeader {
    pub algorithm: Algorithm,
    /// Bytes after the header.
    pub compressed_len: usize,
    pub uncompressed_len: usize,
}

impl BlockHeader {
    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    /// `Corrupt` where there are fewer than nine bytes or no known algorithm.
    pub fn read(bytes: &[u8]) -> Result<BlockHeader> {
        let Some((header, _)) = bytes.split_first_chunk::<HEADER_LEN>() else {
            return Err(Error::corrupt(format!(
                "{} bytes left where a compression block's header of {HEADER_LEN} was expected",
                bytes.len()
            )));
        };
        let [a, b, method, c0, c1, c2, u0, u1, u2] = *header;
        let algorithm = match (&[a, b], method) {
            (b"ZL", 8) => Algorithm::Zlib,
            (b"CS", 8) => Algorithm::Deflate,
            (b"XZ", 0) => Algorithm::Lzma,
            (b"L4", _) => Algorithm::Lz4,
            (b"ZS", _) => Algorithm::Zstd,
            _ => {
                let tag = [a, b, method].escape_ascii().to_string();
                return Err(Error::corrupt(format!("no compression block starts with \"{tag}\"")));
            }
        };
        Ok(BlockHeader {
            algorithm,
            compressed_len: u32::from_le_bytes([c0, c1, c2, 0]) as usize,
            uncompressed_len: u32::from_le_bytes([u0, u1, u2, 0]) as usize,
        })
    }
}

/// Whether the first of a payload's blocks is of a slow codec.
pub(crate) fn is_slow(payload: &[u8]) -> bool {
    BlockHeader::read(payload).is_ok_and(|header| header.algorithm.is_slow())
}

/// The header of a block of so many bytes behind it.
pub(crate) fn header(algorithm: Algorithm, stored: usize, content: usize) -> [u8; HEADER_LEN] {
    let ([a, b], method) = match algorithm {
        Algorithm::Zlib => (*b"ZL", 8),
        Algorithm::Deflate => (*b"CS", 8),
        Algorithm::Lzma => (*b"XZ", 0),
        Algorithm::Lz4 => (*b"L4", 1),
        Algorithm::Zstd => (*b"ZS", 1),
    };
    let [c0, c1, c2, _] = (stored as u32).to_le_bytes();
    let [u0, u1, u2, _] = (content as u32).to_le_bytes();
    [a, b, method, c0, c1, c2, u0, u1, u2]
}

/// The content of a record's payload: of length `uncompressed_len` (`fObjlen`), always.
///
/// # Errors
/// `Corrupt` where block headers, data and `uncompressed_len` contradict each other, `Checksum`
/// where a stored one does not match.
pub fn decompress(codecs: &mut Codecs, payload: &[u8], uncompressed_len: usize) -> Result<Vec<u8>> {
    // Fresh memory is zero: it need not be cleared block by block.
    let is_trusted = uncompressed_len / EXPANSION_TRUSTED <= payload.len();
    let mut content = if is_trusted { memory::filled(0, uncompressed_len)? } else { Vec::new() };
    decompress_into(codecs, payload, uncompressed_len, &mut content)?;
    Ok(content)
}

/// As [`decompress`], to the beginning of a buffer that grows where it is too short. It does not
/// shrink, because it would have to be cleared to grow again.
pub fn decompress_into<'b>(
    codecs: &mut Codecs,
    payload: &[u8],
    uncompressed_len: usize,
    buffer: &'b mut Vec<u8>,
) -> Result<&'b [u8]> {
    if payload.len() != uncompressed_len {
        check_sizes(payload, uncompressed_len)?;
    }
    if uncompressed_len / EXPANSION_TRUSTED <= payload.len() {
        memory::room(buffer, uncompressed_len.saturating_sub(buffer.len()))?;
    }
    if payload.len() == uncompressed_len {
        let target = grown(buffer, 0, uncompressed_len)?;
        target.copy_from_slice(payload);
        return Ok(target);
    }
    let mut rest = payload;
    let mut start = 0;
    while !rest.is_empty() {
        let (header, source, after) = split_block(rest)?;
        codecs
            .decompress(header.algorithm, source, grown(buffer, start, header.uncompressed_len)?)
            .map_err(|e| e.within(&name_of(payload.len() - rest.len() + HEADER_LEN)))?;
        start += header.uncompressed_len;
        rest = after;
    }
    Ok(&buffer[..uncompressed_len])
}

/// So many bytes of a buffer, which is made longer where they are not there.
fn grown(buffer: &mut Vec<u8>, start: usize, len: usize) -> Result<&mut [u8]> {
    let end = start + len;
    if buffer.len() < end {
        memory::room(buffer, end - buffer.len())?;
        buffer.resize(end, 0);
    }
    Ok(&mut buffer[start..end])
}

/// Walks over all headers, so that a payload that contradicts itself costs no memory.
fn check_sizes(payload: &[u8], uncompressed_len: usize) -> Result<()> {
    walk(payload, uncompressed_len, |_, _, _| ())
}

/// The name in errors of the block whose compressed bytes begin there in a payload.
pub(crate) fn name_of(source_start: usize) -> String {
    format!("block at {}", source_start - HEADER_LEN)
}

/// Goes over all blocks: header, place in the content, and compressed bytes' place in the payload.
///
/// # Errors
/// `Corrupt` where they contradict each other or `uncompressed_len`.
pub(crate) fn walk(
    payload: &[u8],
    uncompressed_len: usize,
    mut each: impl FnMut(BlockHeader, Range<usize>, Range<usize>),
) -> Result<()> {
    let mut rest = payload;
    let mut announced = 0usize;
    while !rest.is_empty() {
        let at = payload.len() - rest.len();
        if announced == uncompressed_len {
            return Err(Error::corrupt(format!(
                "{} bytes after the last compression block",
                rest.len()
            )));
        }
        let (header, _, after) =
            split_block(rest).map_err(|e| e.within(&format!("block at {at}")))?;
        // At most 2^24 for each nine bytes of a slice: no overflow in 64 bits.
        let range = announced..announced + header.uncompressed_len;
        announced = range.end;
        if announced > uncompressed_len {
            return Err(Error::corrupt(format!(
                "compression blocks up to byte {at} hold {announced} bytes, their record only {uncompressed_len}"
            )));
        }
        each(header, range, at + HEADER_LEN..payload.len() - after.len());
        rest = after;
    }
    if announced != uncompressed_len {
        return Err(Error::corrupt(format!(
            "all compression blocks hold {announced} bytes, their record says {uncompressed_len}"
        )));
    }
    Ok(())
}

/// Header, compressed bytes, and the bytes that follow them.
fn split_block(bytes: &[u8]) -> Result<(BlockHeader, &[u8], &[u8])> {
    let header = BlockHeader::read(bytes)?;
    let rest = &bytes[HEADER_LEN..];
    if header.uncompressed_len == 0 {
        return Err(Error::corrupt("compression block without content"));
    }
    match rest.split_at_checked(header.compressed_len) {
        Some((source, after)) => Ok((header, source, after)),
        None => Err(Error::corrupt(format!(
            "compression block of {} bytes where only {} are left",
            header.compressed_len,
            rest.len()
        ))),
    }
}

#[cfg(test)]
mod tests;
