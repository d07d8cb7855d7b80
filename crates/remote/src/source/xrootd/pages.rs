//! Whether ranges are read with checksums (kXR_pgread), and which of them have come damaged.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use mutex::Mutex;
use xrootd::error::{ErrorCode, RequestError};
use xrootd::message::protocol::ServerFlags;

use crate::config::Checksums;
use crate::error::{Error, ErrorKind};
use crate::source::FileRef;

/// Damaged ranges that are remembered until they are requested again.
const DAMAGED_KEPT: usize = 256;

/// Kinds of requests for bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Plain,
    Checked,
}

/// The knowledge that all connections to one server share of its checksums.
#[derive(Debug)]
pub struct Pages {
    wanted: Checksums,
    /// It has announced that it offers them.
    are_offered: AtomicBool,
    /// It says that it offers them, and does not know the request.
    are_refused: AtomicBool,
    /// Ranges that arrived damaged and have not been requested again, by the driver's tag of the
    /// file.
    damaged: Mutex<VecDeque<(u32, Range<u64>)>>,
}

impl Pages {
    pub fn new(wanted: Checksums) -> Self {
        let [are_offered, are_refused] = [false, false].map(AtomicBool::new);
        Pages { wanted, are_offered, are_refused, damaged: Mutex::default() }
    }

    /// Takes the server's flags.
    pub fn learn(&self, flags: Option<ServerFlags>) {
        self.are_offered.store(offers(flags), Ordering::Relaxed);
    }

    pub fn are_offered(&self) -> bool {
        self.are_offered.load(Ordering::Relaxed) && !self.are_refused.load(Ordering::Relaxed)
    }

    /// Nothing may be read without.
    pub fn are_demanded(&self) -> bool {
        self.wanted == Checksums::Always
    }

    /// The kind of requests for bytes of a file. Bytes inside TLS cannot come damaged.
    pub fn how(&self, file: &FileRef, is_encrypted: bool) -> How {
        let checked = match self.wanted {
            Checksums::Always => true,
            Checksums::Auto => file.file_use.is_opaque() && !is_encrypted && self.are_offered(),
            Checksums::Never => false,
        };
        if checked { How::Checked } else { How::Plain }
    }

    /// The server does not know them: whether it is read without from now on.
    pub fn do_without(&self) -> bool {
        self.are_refused.store(true, Ordering::Relaxed);
        !self.are_demanded()
    }

    /// A range has come damaged.
    pub fn damaged(&self, file: u32, range: Range<u64>) {
        let mut damaged = self.damaged.lock();
        if damaged.len() == DAMAGED_KEPT {
            damaged.pop_front();
        }
        damaged.push_back((file, range));
    }

    /// Bytes are requested: whether some of them have come damaged, and this is another try.
    pub fn were_damaged(&self, file: u32, range: &Range<u64>) -> bool {
        let mut damaged = self.damaged.lock();
        let before = damaged.len();
        damaged.retain(|(of, bad)| *of != file || bad.end <= range.start || range.end <= bad.start);
        damaged.len() < before
    }
}

/// Whether a server of these flags offers checksums.
pub fn offers(flags: Option<ServerFlags>) -> bool {
    flags.is_some_and(|flags| flags.contains(ServerFlags::CHECKSUMMED_PAGES))
}

/// A server that does not know the request answers with one of these errors.
pub fn is_unknown(error: &RequestError) -> bool {
    let RequestError::Server(error) = error else { return false };
    matches!(error.code, ErrorCode::UNSUPPORTED | ErrorCode::INVALID_REQUEST)
}

/// Checksums are demanded and not to be had.
pub fn not_offered() -> Error {
    Error::new(ErrorKind::Unsupported, "the server offers no checksums of what it sends")
        .with_advice("FARROOT_CHECKSUMS=auto reads without where there are none")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::address::FileUse;

    #[test]
    fn checksums_are_asked_for_where_they_are_offered_or_demanded() {
        let offering = Some(ServerFlags::IS_SERVER | ServerFlags::CHECKSUMMED_PAGES);
        let old = Some(ServerFlags::IS_SERVER);
        let url = Arc::new("root://host//f".parse().unwrap());
        let [decoded, copied] = [FileUse::Decoded, FileUse::Copied].map(|file_use| FileRef {
            tag: 1,
            url: Arc::clone(&url),
            file_use,
        });
        for (wanted, of_old, of_offering, of_decoded) in [
            (Checksums::Auto, How::Plain, How::Checked, How::Plain),
            (Checksums::Always, How::Checked, How::Checked, How::Checked),
            (Checksums::Never, How::Plain, How::Plain, How::Plain),
        ] {
            let pages = Pages::new(wanted);
            let asked = [None, old, offering].map(|flags| {
                pages.learn(flags);
                pages.how(&copied, false)
            });
            assert_eq!(asked, [of_old, of_old, of_offering], "{wanted:?}");
            assert_eq!(pages.how(&decoded, false), of_decoded);
            // TLS has a stronger one of every record.
            assert_eq!(pages.how(&copied, true), of_decoded);
            if pages.do_without() {
                assert_eq!(pages.how(&copied, false), How::Plain);
            } else {
                assert_eq!(wanted, Checksums::Always);
            }
        }
    }

    #[test]
    fn what_came_damaged_is_another_try_once() {
        let pages = Pages::new(Checksums::Auto);
        pages.damaged(1, 4096..8192);
        assert!(!pages.were_damaged(1, &(0..4096)) && !pages.were_damaged(2, &(0..9000)));
        assert!(pages.were_damaged(1, &(8000..9000)));
        assert!(!pages.were_damaged(1, &(8000..9000)));
        (0..1000).for_each(|page| pages.damaged(1, page..page + 1));
        assert_eq!(pages.damaged.lock().len(), DAMAGED_KEPT);
    }
}
