//! The sums of weights and positions that a histogram keeps beside its bins (ROOT:
//! `TH1::GetStats`).
//!
//! In a histogram that was filled they are of the values themselves. Of one whose bins were set
//! only the bins' middles are known: all of a bin counts as if it were there.

use super::axis::Bins;

/// The cells of a histogram whose values are not known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cells<'a> {
    pub axes: &'a [Bins],
    /// Whether those below and above an axis count.
    pub counts_outside: bool,
}

impl Cells<'_> {
    /// The sums, by the names of members and in ROOT's order. `weights` are the weight and the
    /// squared weights of a cell; an axis without centres has all bins at 0.
    pub fn moments(
        self,
        count: usize,
        weights: impl Fn(usize) -> [f64; 2],
        has_centres: impl Fn(usize) -> bool,
    ) -> [(&'static str, f64); 11] {
        let mut all = moments(0.0, 0.0, [0.0; 3]);
        for at in 0..count {
            let mut rest = at;
            let mut centres = [0.0; 3];
            let mut is_within = true;
            for (number, axis) in self.axes.iter().enumerate() {
                let bin = rest % axis.cells();
                rest /= axis.cells();
                is_within &= bin > 0 && bin <= axis.count;
                if has_centres(number) {
                    centres[number] = axis.centre(bin);
                }
            }
            if is_within || self.counts_outside {
                let [weight, square] = weights(at);
                let more = moments(weight, square, centres);
                all.iter_mut().zip(more).for_each(|((_, sum), (_, more))| *sum += more);
            }
        }
        all
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
