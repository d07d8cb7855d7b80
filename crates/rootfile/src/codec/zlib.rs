//! zlib (RFC 1950) and bare deflate (RFC 1951) by libdeflate, whole blocks at a time.

use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};

use crate::error::{Error, Result};

/// libdeflate's tables, made with the first block.
#[derive(Default)]
pub struct Zlib {
    tables: Option<Decompressor>,
}

impl Zlib {
    /// Number of bytes written; the Adler-32 is verified.
    pub fn decompress(&mut self, source: &[u8], target: &mut [u8]) -> Result<usize> {
        let tables = self.tables.get_or_insert_with(Decompressor::new);
        tables.zlib_decompress(source, target).map_err(|fault| describe("zlib", fault))
    }

    /// As [`Zlib::decompress`], for deflate without header and checksum.
    pub fn decompress_raw(&mut self, source: &[u8], target: &mut [u8]) -> Result<usize> {
        let tables = self.tables.get_or_insert_with(Decompressor::new);
        tables.deflate_decompress(source, target).map_err(|fault| describe("deflate", fault))
    }
}

/// libdeflate's compressor of the level that was used last.
#[derive(Default)]
pub struct ZlibEncoder {
    tables: Option<(i32, Compressor)>,
}

impl ZlibEncoder {
    /// Appends the stream; `false` where it would not be shorter than `source`.
    pub fn compress(&mut self, level: i32, source: &[u8], to: &mut Vec<u8>) -> Result<bool> {
        if self.tables.as_ref().is_none_or(|(made, _)| *made != level) {
            let wrong = |_| Error::unsupported(format!("zlib of level {level}"));
            self.tables =
                Some((level, Compressor::new(CompressionLvl::new(level).map_err(wrong)?)));
        }
        let Some((_, tables)) = &mut self.tables else { return Ok(false) };
        let start = to.len();
        to.resize(start + source.len(), 0);
        let written = tables.zlib_compress(source, &mut to[start..]).unwrap_or(0);
        to.truncate(start + written);
        Ok(written > 0)
    }
}

fn describe(name: &str, fault: DecompressionError) -> Error {
    Error::corrupt(match fault {
        DecompressionError::BadData => format!("invalid {name} data"),
        DecompressionError::InsufficientSpace => {
            format!("{name} block holds more bytes than its header says")
        }
    })
}
