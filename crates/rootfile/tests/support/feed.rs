//! Plays the part of the engine: supplies the ranges that are asked for.

use bytes::Bytes;
use farroot_rootfile::{Known, Progress, Result};

/// Calls `step` until it is ready, supplying the ranges that it requires from `file`.
pub fn until_ready<T>(
    file: &Bytes,
    known: &mut Known,
    mut step: impl FnMut(&Known) -> Result<Progress<T>>,
) -> Result<T> {
    const STEPS_MAX: usize = 100;
    for _ in 0..STEPS_MAX {
        match step(known)? {
            Progress::Ready(result) => return Ok(result),
            Progress::NeedsData(needs) => {
                assert!(!needs.required.is_empty(), "a step that needs nothing");
                for range in needs.required {
                    let part = file.slice(range.start as usize..range.end as usize);
                    known.supply(range.start, part);
                }
            }
        }
    }
    panic!("no result after {STEPS_MAX} steps");
}
