//! LZMA in the .xz container, by liblzma.

use liblzma::stream::{Action, Status, Stream};

use crate::error::{Error, Result};

/// Twice what `xz -9` needs: a dictionary beyond that is a lie or an attack.
const MEMORY_BYTES_MAX: u64 = 128 << 20;

/// Number of bytes written; the container's checksum is verified and must be the last thing.
pub fn decompress(source: &[u8], target: &mut [u8]) -> Result<usize> {
    let mut stream = Stream::new_stream_decoder(MEMORY_BYTES_MAX, 0).map_err(describe)?;
    loop {
        let (read, written) = (stream.total_in() as usize, stream.total_out() as usize);
        let status = stream
            .process(&source[read..], &mut target[written..], Action::Finish)
            .map_err(describe)?;
        let (read_now, written_now) = (stream.total_in() as usize, stream.total_out() as usize);
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

fn describe(fault: liblzma::stream::Error) -> Error {
    Error::corrupt(format!("invalid LZMA data: {fault}"))
}
