//! zlib (RFC 1950) and bare deflate (RFC 1951) by libdeflate, whole blocks at a time.

use libdeflater::{DecompressionError, Decompressor};

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

fn describe(name: &str, fault: DecompressionError) -> Error {
    Error::corrupt(match fault {
        DecompressionError::BadData => format!("invalid {name} data"),
        DecompressionError::InsufficientSpace => {
            format!("{name} block holds more bytes than its header says")
        }
    })
}
