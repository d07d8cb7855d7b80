//! The sums of weights and positions that a histogram keeps beside its bins (ROOT:
//! `TH1::GetStats`).
//!
//! In a histogram that was filled they are of the values themselves. Of one whose bins were set
//! only the bins' middles are known: all of a bin counts as if it were there.

use super::axis::{Bins, Shown};

/// The cells of a histogram whose values are not known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cells<'a> {
    pub axes: &'a [Bins],
    /// The part of each axis that is shown: other cells do not count.
    pub shown: &'a [Option<Shown>],
    /// Whether those below and above an axis count, where all of it is shown.
    pub counts_outside: bool,
}

impl Cells<'_> {
    /// The middle of a cell; `None` for one that does not count. An axis without centres has all
    /// bins at 0.
    pub fn middle(self, cell: usize, has_centres: impl Fn(usize) -> bool) -> Option<[f64; 3]> {
        let mut rest = cell;
        let mut middle = [0.0; 3];
        for (number, axis) in self.axes.iter().enumerate() {
            let bin = rest % axis.cells();
            rest /= axis.cells();
            let counts = match self.shown.get(number).copied().flatten() {
                Some(Shown { first, last }) => (first..=last).contains(&bin),
                None => self.counts_outside || (1..=axis.count).contains(&bin),
            };
            if !counts {
                return None;
            }
            if has_centres(number) {
                middle[number] = axis.centre(bin);
            }
        }
        Some(middle)
    }
}

/// The squared weights of a bin that keeps none, as ROOT takes them for the sum.
pub(crate) fn square_of(content: f64, dimensions: usize) -> f64 {
    match dimensions {
        // With its sign.
        2 => content,
        // ROOT squares the error, which is a root.
        _ => content.abs().sqrt().powi(2),
    }
}

/// Contributions of a value, or a bin, to each sum.
pub(crate) fn moments(w: f64, error: f64, [x, y, z]: [f64; 3]) -> [(&'static str, f64); 11] {
    [
        ("fTsumw", w),
        ("fTsumw2", error),
        ("fTsumwx", w * x),
        ("fTsumwx2", w * x * x),
        ("fTsumwy", w * y),
        ("fTsumwy2", w * y * y),
        ("fTsumwxy", w * x * y),
        ("fTsumwz", w * z),
        ("fTsumwz2", w * z * z),
        ("fTsumwxz", w * x * z),
        ("fTsumwyz", w * y * z),
    ]
}
