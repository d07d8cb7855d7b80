//! The binary form of a notice. No function here reads or writes a file.
//!
//! ```text
//!   process u64 | begin u64 | end u64 | subject u32 | CRC32C of these
//! ```
//!
//! All numbers are little-endian. A page of memory (4 KiB) holds a whole number of notices, so a
//! write that is cut short because its process was killed leaves whole notices.

use std::ops::Range;

use crc32c::crc32c;

/// Bytes of a notice.
pub const NOTICE_BYTES: usize = 32;
/// The largest number of a process.
pub const PROCESSES_MAX: u64 = 1 << 32;

/// A notice of one process to the others about a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The number of the process among those that have the log open.
    pub process: u64,
    /// Bytes of the file.
    pub range: Range<u64>,
    /// The intent of the process.
    pub subject: Subject,
}

/// The intent of a process about the range of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// It requests the range from a server.
    Fetching,
    /// It will not fetch the parts of the range that it has announced.
    GivenUp,
}

const FETCHING: u32 = 1;
const GIVEN_UP: u32 = 2;

/// The bytes of a notice.
pub fn encode_notice(notice: &Notice) -> [u8; NOTICE_BYTES] {
    let mut bytes = [0; NOTICE_BYTES];
    let subject = match notice.subject {
        Subject::Fetching => FETCHING,
        Subject::GivenUp => GIVEN_UP,
    };
    bytes[..8].copy_from_slice(&notice.process.to_le_bytes());
    bytes[8..16].copy_from_slice(&notice.range.start.to_le_bytes());
    bytes[16..24].copy_from_slice(&notice.range.end.to_le_bytes());
    bytes[24..28].copy_from_slice(&subject.to_le_bytes());
    let sum = crc32c(&bytes[..28]);
    bytes[28..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// The notice at the beginning of `bytes`; `None` if they are too short or damaged.
pub fn decode_notice(bytes: &[u8]) -> Option<Notice> {
    let (bytes, _) = bytes.split_first_chunk::<NOTICE_BYTES>()?;
    let (said, sum) = bytes.split_last_chunk::<4>()?;
    let (numbers, _) = said.as_chunks::<8>();
    let [process, start, end] = numbers.first_chunk::<3>()?.map(u64::from_le_bytes);
    let subject = match u32::from_le_bytes(*said.last_chunk::<4>()?) {
        FETCHING => Subject::Fetching,
        GIVEN_UP => Subject::GivenUp,
        _ => return None,
    };
    let is_sane = process <= PROCESSES_MAX && start <= end;
    let is_whole = crc32c(said) == u32::from_le_bytes(*sum);
    (is_whole && is_sane).then_some(Notice { process, range: start..end, subject })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_whole_or_nothing() {
        for subject in [Subject::Fetching, Subject::GivenUp] {
            let notice = Notice { process: 7, range: 1000..5000, subject };
            let whole = encode_notice(&notice);
            assert_eq!(decode_notice(&whole), Some(notice.clone()));
            assert_eq!(decode_notice(&[&whole[..], b"the next"].concat()), Some(notice));
            for at in 0..whole.len() {
                assert_eq!(decode_notice(&whole[..at]), None, "cut at {at}");
                let mut changed = whole;
                changed[at] ^= 0x10;
                assert_eq!(decode_notice(&changed), None, "changed at {at}");
            }
        }
        for (process, start, end) in [(7, 5, 4), (PROCESSES_MAX + 1, 4, 5)] {
            let wrong = Notice { process, range: start..end, subject: Subject::Fetching };
            assert_eq!(decode_notice(&encode_notice(&wrong)), None);
        }
    }
}
