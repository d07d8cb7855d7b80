//! Codecs: the compressed bytes of one block to exactly the bytes that its header announces, and
//! back.
//!
//! One file per algorithm, all of the same form: `decompress(…, source, target)` fills `target`
//! to its last byte or fails, `compress(…, source, to)` appends to `to`. [`crate::block`] knows the
//! headers; nothing here does.

mod lz4;
mod lzma;
mod unpacked;
mod zlib;
mod zstd;

pub(crate) use lz4::compress as compress_lz4;
pub(crate) use lzma::compress as compress_lzma;
pub use unpacked::Unpacked;
use unpacked::UnpackedItems;
pub(crate) use zlib::ZlibEncoder;
pub use zstd::Effort;
pub(crate) use zstd::ZstdEncoder;

use crate::error::{Error, Result};

/// State that decompression reuses from one block to the next: one per thread, owned by the caller.
///
/// A new one costs nothing until the first block of an algorithm is met.
#[derive(Default)]
pub struct Codecs {
    zlib: zlib::Zlib,
    zstd: zstd::Zstd,
    /// The decompressed record of the basket at hand.
    pub(crate) scratch: Vec<u8>,
    /// Contents of baskets and pages of slow codecs, for who asks for them.
    pub(crate) unpacked: UnpackedItems,
    /// Bytes that came out of slow codecs.
    slow_bytes: u64,
}

impl std::fmt::Debug for Codecs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Codecs").field("scratch_bytes", &self.scratch.capacity()).finish()
    }
}

/// Algorithm of one block, by the first two bytes of its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// `ZL`
    Zlib,
    /// `CS`: deflate without zlib's header and checksum, as ROOT wrote before 2.x.
    Deflate,
    /// `XZ`
    Lzma,
    /// `L4`: eight bytes of XXH64 in front of the LZ4 block.
    Lz4,
    /// `ZS`
    Zstd,
}

impl Algorithm {
    /// Whether it takes many times as long as others to decompress. Zlib takes a fifth of LZMA's
    /// time.
    pub fn is_slow(self) -> bool {
        self == Algorithm::Lzma
    }
}

impl Codecs {
    pub fn new() -> Self {
        Self::default()
    }

    /// Decompresses `source` into the whole of `target`.
    pub(crate) fn decompress(
        &mut self,
        algorithm: Algorithm,
        source: &[u8],
        target: &mut [u8],
    ) -> Result<()> {
        let announced = target.len();
        let written = match algorithm {
            Algorithm::Zlib => self.zlib.decompress(source, target)?,
            Algorithm::Deflate => self.zlib.decompress_raw(source, target)?,
            Algorithm::Lzma => lzma::decompress(source, target)?,
            Algorithm::Lz4 => lz4::decompress(source, target)?,
            Algorithm::Zstd => self.zstd.decompress(source, target)?,
        };
        if written != announced {
            return Err(Error::corrupt(format!(
                "{algorithm:?} block holds {written} bytes, its header says {announced}"
            )));
        }
        if algorithm.is_slow() {
            self.slow_bytes += announced as u64;
        }
        Ok(())
    }

    /// Keeps the content of each basket and page of a slow codec that is decompressed from now on,
    /// up to so many bytes in all.
    pub fn keep_unpacked(&mut self, bytes_max: usize) {
        self.unpacked.begin(bytes_max);
    }

    /// What has been kept; nothing more is.
    pub fn take_unpacked(&mut self) -> Vec<Unpacked> {
        self.unpacked.take()
    }

    /// Bytes that slow codecs have decompressed to since the last call.
    pub fn take_slow_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.slow_bytes)
    }
}
