//! LZMA in the .xz container, by liblzma.

use liblzma::stream::{Action, Check, Filters, LzmaOptions, Status, Stream};

use crate::error::{Error, Result};

/// Twice the memory that `xz -9` needs: a dictionary beyond that is a lie or an attack.
const MEMORY_BYTES_MAX: u64 = 128 << 20;

/// Number of bytes written; the container's checksum is verified and must be the last thing.
pub fn decompress(source: &[u8], target: &mut [u8]) -> Result<usize> {
    let mut stream = Stream::new_stream_decoder(MEMORY_BYTES_MAX, 0).map_err(describe)?;
    loop {
        let read = stream.total_in() as usize;
        let written = stream.total_out() as usize;
        let status = stream
            .process(&source[read..], &mut target[written..], Action::Finish)
            .map_err(describe)?;
        let read_now = stream.total_in() as usize;
        let written_now = stream.total_out() as usize;
        if status == Status::StreamEnd {
            if read_now != source.len() {
                return Err(Error::corrupt("bytes after the end of the LZMA stream"));
            }
            return Ok(written_now);
        }
        if (read_now, written_now) == (read, written) {
            return Err(Error::corrupt("LZMA stream and block header disagree in size"));
        }
    }
}

/// Appends a stream with a CRC32, as ROOT writes it; `false` where it would not be shorter.
///
/// The dictionary is a quarter of the content, as in ROOT: more is no help, and costs memory.
pub fn compress(level: i32, source: &[u8], to: &mut Vec<u8>) -> Result<bool> {
    const DICTIONARY_MIN: usize = 4096;
    let preset = level.clamp(0, 9) as u32;
    let mut options = LzmaOptions::new_preset(preset).map_err(failed)?;
    options.dict_size((source.len() / 4).max(DICTIONARY_MIN) as u32);
    let mut filters = Filters::new();
    filters.lzma2(&options);
    let mut stream = Stream::new_stream_encoder(&filters, Check::Crc32).map_err(failed)?;
    let start = to.len();
    to.resize(start + source.len(), 0);
    let status = stream.process(source, &mut to[start..], Action::Finish).map_err(failed)?;
    to.truncate(start + stream.total_out() as usize);
    Ok(status == Status::StreamEnd)
}

fn failed(fault: liblzma::stream::Error) -> Error {
    Error::limit(format!("LZMA cannot compress: {fault}"))
}

fn describe(fault: liblzma::stream::Error) -> Error {
    Error::corrupt(format!("invalid LZMA data: {fault}"))
}
