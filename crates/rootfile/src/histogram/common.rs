//! Bins that hold those of several axes (ROOT: `TH1::RecomputeAxisLimits`).
//!
//! Axes that grow have other limits in each file, and bins of the width of one, two, four, ... of
//! the first: each of them is whole within one of the widest.

use super::axis::{BINS_MAX, Bins};
use super::cells;
use super::filled::Filled;
use crate::error::{Error, Result};

/// How far a ratio may be from the whole number that it is (ROOT: `TH1::AlmostInteger`).
const NEAR: f64 = 1e-8;

/// Where a histogram was filled beside each axis: the middle of the bin below it, and of the one
/// above, in the numbers of the axis.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outside(Vec<[Option<f64>; 2]>);

fn is_whole(ratio: f64) -> bool {
    let part = ratio - ratio.floor();
    part < NEAR || (part - 1.0).abs() < NEAR
}

impl Bins {
    /// The bins of an axis that holds both, each bin within one; `None` where there is none, as for
    /// bins of different widths.
    pub fn common(&self, other: &Bins) -> Option<Bins> {
        if !self.edges.is_empty() || !other.edges.is_empty() {
            return None;
        }
        let widths = [self, other].map(|bins| (bins.max - bins.min) / bins.count as f64);
        let width = widths[0].max(widths[1]);
        let is_width = |width: f64| width.is_finite() && width > 0.0;
        if !widths.iter().all(|one| is_width(*one) && is_whole(width / one)) {
            return None;
        }
        let [mut min, mut max] = [self.min.min(other.min), self.max.max(other.max)];
        for (bins, width) in [(self, widths[0]), (other, widths[1])] {
            let before = (bins.min - min) / width;
            if !is_whole(before) {
                min -= (before.ceil() - before) * width;
            }
        }
        for (bins, width) in [(self, widths[0]), (other, widths[1])] {
            let behind = (max - bins.max) / width;
            if !is_whole(behind) {
                max += (behind.ceil() - behind) * width;
            }
        }
        let is_aligned = is_whole((self.min - min) / widths[0])
            && is_whole((max - self.max) / widths[0])
            && is_whole((max - min) / width);
        let count = ((max - min) / width).round();
        let is_count = count >= 1.0 && count <= BINS_MAX as f64;
        (is_aligned && is_count).then(|| Bins { count: count as usize, min, max, edges: vec![] })
    }

    /// The bin here for each bin of another axis, from its middle.
    pub fn places_of(&self, other: &Bins) -> Vec<usize> {
        let place = |bin: usize| match bin {
            0 => 0,
            bin if bin > other.count => self.count + 1,
            bin => self.find(other.centre(bin)),
        };
        (0..other.cells()).map(place).collect()
    }
}

impl Filled {
    /// Shows all of some of the axes.
    pub fn show_all(&mut self, axes: &[bool]) {
        for (shown, is_one) in self.shown.iter_mut().zip(axes) {
            *shown = shown.filter(|_| !is_one);
        }
    }

    /// Moves every bin to axes that hold the present ones.
    ///
    /// # Errors
    /// `Limit` for more bins than a histogram has; `Corrupt`.
    pub fn move_to(&mut self, axes: Vec<Bins>) -> Result<()> {
        let before = std::mem::replace(&mut self.axes, axes);
        let count = self.cells()?;
        let maps: Vec<Vec<usize>> =
            self.axes.iter().zip(&before).map(|(now, then)| now.places_of(then)).collect();
        let place = |at: usize| {
            let mut rest = at;
            let mut place = 0;
            let mut stride = 1;
            for (map, axis) in maps.iter().zip(&self.axes) {
                place += stride * map[rest % map.len()];
                rest /= map.len();
                stride *= axis.cells();
            }
            Some(place)
        };
        let mut bins = cells::zeros(&self.bins, count)?;
        cells::add(&mut bins, &self.bins, place)?;
        self.bins = bins;
        for all in [&mut self.errors, &mut self.bin_entries, &mut self.bin_errors] {
            if !all.is_empty() {
                let mut moved = vec![0.0; count];
                cells::add_extra(&mut moved, all, (&[], &[]), place)?;
                *all = moved;
            }
        }
        Ok(())
    }

    /// Where it was filled beside its axes.
    pub fn outside(&self) -> Outside {
        let mut found = vec![[None; 2]; self.axes.len()];
        for (at, _) in self.cells_filled().iter().enumerate().filter(|(_, filled)| **filled) {
            let mut rest = at;
            for (axis, [below, above]) in self.axes.iter().zip(&mut found) {
                let bin = rest % axis.cells();
                rest /= axis.cells();
                if bin == 0 {
                    *below = Some(axis.centre(0));
                } else if bin > axis.count {
                    *above = Some(axis.centre(bin));
                }
            }
        }
        Outside(found)
    }
}

impl Outside {
    /// Adds those of another histogram.
    pub fn add(&mut self, more: &Outside) {
        for ([below, above], [low, high]) in self.0.iter_mut().zip(&more.0) {
            *below = [*below, *low].into_iter().flatten().reduce(f64::max);
            *above = [*above, *high].into_iter().flatten().reduce(f64::min);
        }
    }

    /// That values which were filled in beside an axis are beside the common one, too.
    ///
    /// # Errors
    /// `Unsupported` where their bins are not known, as in ROOT's merger.
    pub fn check(&self, filled: &Filled) -> Result<()> {
        let axes = filled.axes.iter().zip(&filled.growth).zip(&self.0);
        for (number, ((axis, growth), [below, above])) in axes.enumerate() {
            let is_filled = below.is_some() || above.is_some();
            let is_known = below.is_none_or(|centre| centre < axis.min)
                && above.is_none_or(|centre| centre >= axis.max);
            if is_filled && (growth.can_extend || !is_known) {
                let message = "values beside an axis that is longer in another input, so that \
                               their bins are not known";
                return Err(Error::unsupported(format!("axis {number}: {message}")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(count: usize, min: f64, max: f64) -> Bins {
        Bins { count, min, max, edges: Vec::new() }
    }

    /// As ROOT 6.40 merges histograms with these axes.
    #[test]
    fn axes_have_the_common_one_of_root() {
        let first = bins(4, 0.0, 4.0);
        assert_eq!(first.common(&bins(4, 0.0, 16.0)), Some(bins(4, 0.0, 16.0)));
        assert_eq!(first.common(&bins(4, 1.0, 5.0)), Some(bins(5, 0.0, 5.0)));
        assert_eq!(bins(4, 0.0, 16.0).common(&bins(4, -4.0, 4.0)), Some(bins(5, -4.0, 16.0)));
        assert_eq!(first.common(&bins(3, 0.0, 8.0)), None);
        assert_eq!(first.common(&bins(4, 0.5, 4.5)), None);
        assert_eq!(first.common(&bins(1, 1e12, 1e12 + 1.0)), None, "too many bins");
        let irregular = Bins { edges: vec![0.0, 1.0, 2.0, 3.0, 4.0], ..first.clone() };
        assert_eq!(first.common(&irregular), None);
        assert_eq!(bins(2, 0.0, 8.0).places_of(&first), [0, 1, 1, 1, 1, 3]);
    }
}
