//! Sums of a histogram that is made from its cells.

use super::axis::Axis;
use super::histogram::Histogram;
use crate::histogram::axis::Bins;
use crate::histogram::moments::{Cells, square_of};

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
    let cells = histogram.cells_as_f64();
    let axes: Vec<Bins> = histogram.axes.iter().map(Axis::to_bins).collect();
    let squares = |at: usize| histogram.sum_w2.get(at).copied();
    let weights = |at: usize| match &histogram.profile {
        Some(profile) => {
            let entries = profile.entries[at];
            [entries, profile.sum_w2.get(at).copied().unwrap_or(entries)]
        }
        None => {
            let square = squares(at).map(f64::abs);
            [cells[at], square.unwrap_or_else(|| square_of(cells[at], axes.len()))]
        }
    };
    let of_histogram = Cells { axes: &axes, counts_outside: false };
    let moments = of_histogram.moments(cells.len(), weights, |_| true);
    let mut sums: Vec<f64> = moments.iter().map(|(_, sum)| *sum).collect();
    sums.truncate(count(axes.len()));
    if histogram.profile.is_some() {
        let one = |at: usize| [cells[at], squares(at).unwrap_or_default()];
        let averaged = of_histogram.moments(cells.len(), one, |_| false);
        sums.extend([averaged[0].1, averaged[1].1]);
    }
    sums
}
