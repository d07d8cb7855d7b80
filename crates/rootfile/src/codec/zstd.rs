//! Zstandard (RFC 8878). A context kept from block to block is 1.3 times as fast on small baskets.

use std::io;
use std::slice::Chunks;

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd::zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, ResetDirective, Strategy};

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

/// How hard an encoder searches for repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// A level of the codec.
    Level(i32),
    /// Of ZSTD only: the search of level 7 with four attempts, for repetitions of six bytes or
    /// more, in tables that fit into a processor's L1 cache. Baskets of `vector<float>` take a
    /// third of the time of level 10, and as many bytes.
    Short,
}

/// Parameters of [`Effort::Short`]: the tables have 2^13 and 2^12 entries.
const SHORT: [CParameter; 5] = [
    CParameter::Strategy(Strategy::ZSTD_lazy),
    CParameter::MinMatch(6),
    CParameter::HashLog(13),
    CParameter::ChainLog(12),
    CParameter::SearchLog(2),
];
/// The level that sets the other parameters of [`Effort::Short`].
const SHORT_LEVEL: i32 = 7;

/// The compression context, and the effort that was used last.
#[derive(Default)]
pub struct ZstdEncoder {
    context: Option<(Effort, Compressor<'static>)>,
    /// Room for one frame, used again and again: new memory would be cleared for nothing.
    room: Vec<u8>,
}

impl ZstdEncoder {
    /// Appends a frame, whose blocks end where planes of so many bytes do; `false` where it would
    /// not be shorter than `source`.
    pub fn compress(
        &mut self,
        effort: Effort,
        source: &[u8],
        plane_len: usize,
        to: &mut Vec<u8>,
    ) -> Result<bool> {
        let failed = |fault| Error::limit(format!("zstd cannot compress: {fault}"));
        let context = prepared(&mut self.context, effort).map_err(failed)?;
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

/// The context for that effort, made with the first block.
fn prepared<'a>(
    context: &'a mut Option<(Effort, Compressor<'static>)>,
    effort: Effort,
) -> io::Result<&'a mut Compressor<'static>> {
    let (level, parameters) = match effort {
        Effort::Level(level) => (level, &[][..]),
        Effort::Short => (SHORT_LEVEL, &SHORT[..]),
    };
    let new = context.is_none();
    let (set, context) = match context {
        Some(context) => context,
        None => context.insert((effort, Compressor::new(level)?)),
    };
    if new || *set != effort {
        let reset = context.context_mut().reset(ResetDirective::Parameters);
        reset.map_err(|_| io::Error::other("its parameters cannot be set anew"))?;
        context.set_compression_level(level)?;
        parameters.iter().try_for_each(|parameter| context.set_parameter(*parameter))?;
        *set = effort;
    }
    Ok(context)
}

/// A frame of several planes; `None` where there is no room for it.
fn planes(context: &mut CCtx<'_>, planes: Chunks<'_, u8>, target: &mut [u8]) -> Option<usize> {
    let room = target.len();
    let mut output = OutBuffer::around(target);
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

fn describe(fault: io::Error) -> Error {
    Error::corrupt(format!("invalid zstd data: {fault}"))
}
