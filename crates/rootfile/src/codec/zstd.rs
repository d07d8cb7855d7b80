//! Zstandard (RFC 8878). A context kept from block to block is 1.3 times as fast on small baskets.

use std::slice::Chunks;

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd::zstd_safe::{CCtx, InBuffer, OutBuffer, ResetDirective};

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

/// Shorter planes are not worth blocks of their own.
const PLANE_LEN_MIN: usize = 4 << 10;

/// The compression context, and the level that was used last.
#[derive(Default)]
pub struct ZstdEncoder {
    context: Option<(i32, Compressor<'static>)>,
    /// Room for one frame, used again and again: new memory would be cleared for nothing.
    room: Vec<u8>,
}

impl ZstdEncoder {
    /// Appends a frame, whose blocks end where planes of so many bytes do; `false` where it would
    /// not be shorter than `source`.
    pub fn compress(
        &mut self,
        level: i32,
        source: &[u8],
        plane_len: usize,
        to: &mut Vec<u8>,
    ) -> Result<bool> {
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
        if self.room.len() < source.len() {
            self.room.resize(source.len(), 0);
        }
        let target = &mut self.room[..source.len()];
        let written = match (PLANE_LEN_MIN..source.len()).contains(&plane_len) {
            true => planes(context.context_mut(), source.chunks(plane_len), target),
            false => context.compress_to_buffer(source, target).ok(),
        };
        if written.is_none() {
            // Without room for a longer frame the library stops early, within the frame.
            let reset = context.context_mut().reset(ResetDirective::SessionOnly);
            reset.map_err(|_| Error::limit("zstd cannot begin anew"))?;
        }
        to.extend_from_slice(&self.room[..written.unwrap_or(0)]);
        Ok(written.is_some())
    }
}

/// A frame of several planes; `None` where there is no room for it.
fn planes(context: &mut CCtx<'_>, planes: Chunks<'_, u8>, target: &mut [u8]) -> Option<usize> {
    let (room, mut output) = (target.len(), OutBuffer::around(target));
    context.set_pledged_src_size(Some(room as u64)).ok()?;
    let last = planes.len() - 1;
    for (number, plane) in planes.enumerate() {
        let end = match number == last {
            true => ZSTD_EndDirective::ZSTD_e_end,
            false => ZSTD_EndDirective::ZSTD_e_flush,
        };
        let mut input = InBuffer::around(plane);
        while context.compress_stream2(&mut output, &mut input, end).ok()? > 0 {
            if output.pos() == room {
                return None;
            }
        }
    }
    Some(output.pos())
}

fn describe(fault: std::io::Error) -> Error {
    Error::corrupt(format!("invalid zstd data: {fault}"))
}
