//! Zeros where there should be something else.
//!
//! A copy that broke off in a file made in its full length beforehand leaves them, and so do disks
//! that lost a block. That the bytes are zeros says more to a user than which field of them is
//! wrong.

use std::ops::Range;

use crate::error::Error;

/// Zeros in compressed bytes: by chance there are not nearly as many in a row.
const RUN_MIN: usize = 64;

/// That `bytes` begin with at least `len_min` zeros, in words.
pub(crate) fn in_front(bytes: &[u8], len_min: usize) -> Option<String> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    (zeros >= len_min).then(|| format!("{zeros} zeros instead of a record, {}", why()))
}

/// An error of decompressing these bytes, which says where there are zeros among them.
pub(crate) fn noted(error: Error, compressed: &[u8]) -> Error {
    match amid(compressed) {
        Some(note) => error.noting(&note),
        None => error,
    }
}

fn amid(compressed: &[u8]) -> Option<String> {
    let run = longest(compressed).filter(|run| run.len() >= RUN_MIN)?;
    let start = run.start;
    let len = compressed.len();
    Some(format!("{} of its {len} bytes are zeros, from byte {start} on, {}", run.len(), why()))
}

fn why() -> &'static str {
    "as a copy leaves them that broke off"
}

fn longest(bytes: &[u8]) -> Option<Range<usize>> {
    let mut at = 0;
    let runs = bytes.chunk_by(|a, b| (*a == 0) == (*b == 0)).map(|run| {
        at += run.len();
        (run[0] == 0, at - run.len()..at)
    });
    runs.filter(|(zero, _)| *zero).map(|(_, run)| run).max_by_key(Range::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_in_front_and_amid() {
        let mut bytes = vec![0; 100];
        assert!(in_front(&bytes, 29).unwrap().starts_with("100 zeros"));
        bytes[28] = 1;
        assert_eq!(in_front(&bytes, 29), None);
        assert!(
            amid(&bytes).unwrap().starts_with("71 of its 100 bytes are zeros, from byte 29 on")
        );
        bytes[60] = 1;
        assert_eq!((amid(&bytes), amid(&[])), (None, None));
    }
}
