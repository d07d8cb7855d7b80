//! How long ranges are divided.

use std::ops::Range;

/// Longer ranges are wanted in pieces that end at multiples of this, which are whole pages: the
/// client has the first while later ones are on their way.
pub const PIECE_BYTES: u64 = 256 << 10;

/// The first of the pieces in which a long range is wanted.
pub fn first_piece(range: &Range<u64>) -> Range<u64> {
    let border = (range.start / PIECE_BYTES + 1) * PIECE_BYTES;
    range.start..range.end.min(border)
}
