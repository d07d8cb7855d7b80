//! The pieces in which long ranges are fetched.

use std::ops::Range;

use crate::limits::PIECE_BYTES;

/// The first of the pieces in which a range is fetched: the client receives it while later ones are
/// on their way.
pub fn first_piece(range: &Range<u64>) -> Range<u64> {
    let piece = PIECE_BYTES as u64;
    let border = (range.start / piece + 1) * piece;
    range.start..range.end.min(border)
}
