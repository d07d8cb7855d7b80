//! Sums that a histogram keeps beside its cells (ROOT: `TH1::GetStats`).
//!
//! In a histogram that was filled they are of the values themselves. Of one that was made from
//! cells only the bins' middles are known: ROOT computes the same where it finds none.

use super::histogram::Histogram;
use crate::histogram::axis::Bins;
use crate::histogram::moments::{Cells, moments};

/// How many sums a histogram of so many axes has, without being a profile.
pub(super) fn count(axes: usize) -> usize {
    match axes {
        1 => 4,
        2 => 7,
        _ => 11,
    }
}

/// The sums in ROOT's order: of weights, of their squares, and of weights times x, x², then y, y²,
/// xy, then z, z², xz, yz; of a profile then those of the averaged value and of its square.
///
/// Cells below and above an axis do not count.
pub(super) fn of_cells(histogram: &Histogram) -> Vec<f64> {
    let contents = histogram.cells_as_f64();
    let axes: Vec<Bins> = histogram.axes.iter().map(super::Axis::places).collect();
    let squares = |at: usize| histogram.sum_w2.get(at).copied();
    let cells = Cells { axes: &axes, shown: &[], counts_outside: false };
    let mut sums = vec![0.0; count(axes.len())];
    let mut averaged = [0.0; 2];
    for (at, content) in contents.iter().enumerate() {
        let Some(middle) = cells.middle(at, |_| true) else { continue };
        let (weight, square) = match &histogram.profile {
            Some(profile) => {
                averaged[0] += content;
                averaged[1] += squares(at).unwrap_or_default();
                let entries = profile.entries[at];
                (entries, profile.sum_w2.get(at).copied().unwrap_or(entries))
            }
            // Exact, where ROOT would square a root.
            None => (*content, squares(at).unwrap_or(content.abs())),
        };
        let more = moments(weight, square, middle);
        sums.iter_mut().zip(more).for_each(|(sum, (_, more))| *sum += more);
    }
    if histogram.profile.is_some() {
        sums.extend(averaged);
    }
    sums
}
