//! Sums that a histogram keeps beside its cells (ROOT: `TH1::GetStats`).
//!
//! In a histogram that was filled they are of the values themselves. Of one that was made from
//! cells only the bins' middles are known: ROOT computes the same where it finds none.

use super::axis::Axis;
use super::histogram::Histogram;

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
    let squares = |at: usize| histogram.sum_w2.get(at).copied();
    let mut sums = vec![0.0; count(histogram.axes.len())];
    let mut averaged = [0.0; 2];
    for (at, cell) in cells.iter().enumerate() {
        let Some(center) = center(&histogram.axes, at) else { continue };
        let (weight, weight2) = match &histogram.profile {
            Some(profile) => {
                averaged[0] += cell;
                averaged[1] += squares(at).unwrap_or_default();
                let entries = profile.entries[at];
                (entries, profile.sum_w2.get(at).copied().unwrap_or(entries))
            }
            // The error of a cell below zero is of its size, as ROOT has it.
            None => (*cell, squares(at).unwrap_or(cell.abs())),
        };
        let [x, y, z] = center;
        let of_one = [1.0, 0.0, x, x * x, y, y * y, x * y, z, z * z, x * z, y * z];
        sums.iter_mut().zip(of_one).for_each(|(sum, number)| *sum += weight * number);
        sums[1] += weight2;
    }
    if histogram.profile.is_some() {
        sums.extend(averaged);
    }
    sums
}

/// The middle of a cell; `None` for one below or above an axis.
fn center(axes: &[Axis], cell: usize) -> Option<[f64; 3]> {
    let mut rest = cell;
    let mut center = [0.0; 3];
    for (axis, to) in axes.iter().zip(&mut center) {
        let bin = rest % axis.cells();
        rest /= axis.cells();
        if bin == 0 || bin > axis.bins as usize {
            return None;
        }
        *to = axis.center(bin);
    }
    Some(center)
}
