//! LZ4 blocks as ROOT writes them: XXH64 of the compressed bytes (seed 0, big-endian), then those.
//!
//! The safe decoder of `lz4_flex` is chosen with open eyes: its `unsafe` one is several times
//! slower on data with long runs, and C brings little on the usual content of TTrees.

use twox_hash::XxHash64;

use crate::error::{Error, Result};

/// Number of bytes written, after the checksum has been verified.
pub fn decompress(source: &[u8], target: &mut [u8]) -> Result<usize> {
    let Some((stored, block)) = source.split_first_chunk::<8>() else {
        return Err(Error::corrupt("LZ4 block is too short for its checksum"));
    };
    let stored = u64::from_be_bytes(*stored);
    let computed = XxHash64::oneshot(0, block);
    if stored != computed {
        return Err(Error::checksum(format!(
            "LZ4 block has XXH64 {computed:016x}, the file says {stored:016x}"
        )));
    }
    lz4_flex::block::decompress_into(block, target)
        .map_err(|fault| Error::corrupt(format!("invalid LZ4 data: {fault}")))
}

/// Appends checksum and block (ROOT's level 1; `lz4_flex` has no others). It always fits.
pub fn compress(source: &[u8], to: &mut Vec<u8>) -> bool {
    let block = lz4_flex::block::compress(source);
    to.extend_from_slice(&XxHash64::oneshot(0, &block).to_be_bytes());
    to.extend_from_slice(&block);
    true
}
