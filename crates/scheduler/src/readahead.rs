//! The read-ahead window before the consumer, in bytes.
//!
//! The window is a multiple of the bytes that the link holds (round trip x rate), on a floor while
//! the link is unknown or short. It grows when a demand catches its hint still under way: the
//! consumer was faster than the window. It shrinks when hinted bytes are cancelled unused. Both are
//! weighed by bytes, so that a thousand small hints move it no more than one large one.

/// The multiple is counted in quarters.
const MULTIPLE_FIRST: u64 = 8;
const MULTIPLE_MIN: u64 = 1;
const MULTIPLE_MAX: u64 = 64;

#[derive(Debug)]
pub(crate) struct Readahead {
    floor: u64,
    ceiling: u64,
    multiple: u64,
    late: u64,
    wasted: u64,
}

impl Readahead {
    pub(crate) fn new(floor: u64, ceiling: u64) -> Self {
        Readahead { floor, ceiling, multiple: MULTIPLE_FIRST, late: 0, wasted: 0 }
    }

    /// Bytes of hints that may be admitted on links that hold `pipe` bytes.
    pub(crate) fn window(&self, pipe: u64) -> u64 {
        (pipe.max(self.floor) / 4).saturating_mul(self.multiple).min(self.ceiling)
    }

    /// A demand found its hint admitted and not ready.
    pub(crate) fn late(&mut self, bytes: u64, pipe: u64) {
        self.late = self.late.saturating_add(bytes);
        if self.late >= self.window(pipe) / 2 {
            self.late = 0;
            self.multiple = (self.multiple + self.multiple.div_ceil(4)).min(MULTIPLE_MAX);
        }
    }

    /// Hinted bytes were fetched, or nearly, and the consumer did not want them.
    pub(crate) fn wasted(&mut self, bytes: u64, pipe: u64) {
        self.wasted = self.wasted.saturating_add(bytes);
        if self.wasted >= self.window(pipe) / 8 {
            self.wasted = 0;
            self.multiple = (self.multiple / 2).max(MULTIPLE_MIN);
        }
    }

    /// Hinted bytes were wanted after all: sixteen of them make up for one wasted.
    pub(crate) fn used(&mut self, bytes: u64) {
        self.wasted = self.wasted.saturating_sub(bytes / 16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_window_follows_the_link_between_floor_and_ceiling() {
        let readahead = Readahead::new(8 * MIB, 100 * MIB);
        assert_eq!(readahead.window(0), 16 * MIB);
        assert_eq!(readahead.window(20 * MIB), 40 * MIB);
        assert_eq!(readahead.window(u64::MAX), 100 * MIB);
    }

    #[test]
    fn late_hints_widen_it_by_their_bytes() {
        let mut many = Readahead::new(8 * MIB, 1000 * MIB);
        for _ in 0..1024 {
            many.late(8 * 1024, 0);
        }
        let mut one = Readahead::new(8 * MIB, 1000 * MIB);
        one.late(8 * MIB, 0);
        assert_eq!(many.window(0), one.window(0));
        assert_eq!(one.window(0), 20 * MIB);
    }

    #[test]
    fn waste_halves_it_and_use_makes_up_for_waste() {
        let mut readahead = Readahead::new(8 * MIB, 1000 * MIB);
        readahead.wasted(MIB, 0);
        readahead.used(16 * MIB);
        readahead.wasted(MIB + MIB / 2, 0);
        assert_eq!(readahead.window(0), 16 * MIB);
        readahead.wasted(MIB / 2, 0);
        assert_eq!(readahead.window(0), 8 * MIB);
        for _ in 0..100 {
            readahead.wasted(100 * MIB, 0);
        }
        assert_eq!(readahead.window(0), 2 * MIB, "never nothing");
    }
}
