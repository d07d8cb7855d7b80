//! The bins of one axis (ROOT: `TAxis`).

use super::members::{extra, real};
use crate::error::{Error, Result};
use crate::object::ObjectRef;

/// Bins of an axis at most.
pub(crate) const BINS_MAX: usize = 1 << 24;
/// The part of a bin by which edges may differ that are the same (ROOT: `TH1::CheckAxisLimits`).
const TOLERANCE: f64 = 1e-10;
/// How often the range of an axis is doubled at most.
const DOUBLINGS_MAX: usize = 65;
/// The bit of axes of which a part is shown (ROOT: `TAxis::kAxisRange`).
const HAS_RANGE: i64 = 1 << 11;

/// The bins of an axis that are shown, where these are not all (ROOT: `TAxis::SetRange`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shown {
    pub first: usize,
    pub last: usize,
}

impl Shown {
    /// The part of an object of class `TAxis` that is shown; `None` where that is all of it.
    pub fn of(axis: ObjectRef<'_>) -> Option<Shown> {
        let number = |name| usize::try_from(axis.int(name).ok()?).ok();
        let has_range = axis.int("fBits").is_ok_and(|bits| bits & HAS_RANGE != 0);
        Some(Shown { first: number("fFirst")?, last: number("fLast")? }).filter(|_| has_range)
    }

    /// Other bits for an axis of which all is shown now.
    pub fn other_bits(now: Option<Shown>, axis: ObjectRef<'_>) -> Option<i64> {
        let bits = axis.int("fBits").ok()?;
        (bits & HAS_RANGE != 0 && now.is_none()).then_some(bits & !HAS_RANGE)
    }
}

/// Bins between two limits, of one width or between edges.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bins {
    /// Number of bins, those below and above the axis aside.
    pub count: usize,
    pub min: f64,
    pub max: f64,
    /// Borders of bins of different widths, one more than there are bins; else empty.
    pub edges: Vec<f64>,
}

impl Bins {
    /// The bins of an object of class `TAxis`.
    ///
    /// # Errors
    /// `Unsupported` for more bins than an axis has.
    pub fn of(axis: ObjectRef<'_>) -> Result<Bins> {
        let count = usize::try_from(axis.int("fNbins")?).ok().filter(|bins| *bins <= BINS_MAX);
        let count = count.ok_or_else(|| Error::unsupported("the number of bins of an axis"))?;
        let edges = extra(axis, "fXbins");
        Ok(Bins { count, min: real(axis, "fXmin"), max: real(axis, "fXmax"), edges })
    }

    /// Bins, those below and above included.
    pub fn cells(&self) -> usize {
        self.count + 2
    }

    /// Whether it has limits, or is still to get them.
    pub fn has_limits(&self) -> bool {
        self.min < self.max
    }

    /// Where a bin begins, the first of which is 1 (ROOT: `TAxis::GetBinLowEdge`).
    pub fn low(&self, bin: usize) -> f64 {
        match self.edges.get(bin.wrapping_sub(1)) {
            Some(edge) if bin <= self.count => *edge,
            _ => self.min + (bin as f64 - 1.0) * self.regular_width(),
        }
    }

    /// The middle of a bin, the first of which is 1 (ROOT: `TAxis::GetBinCenter`).
    pub fn centre(&self, bin: usize) -> f64 {
        match (self.edges.get(bin.wrapping_sub(1)), self.edges.get(bin)) {
            (Some(low), Some(high)) => low + 0.5 * (high - low),
            _ => self.min + (bin as f64 - 0.5) * self.regular_width(),
        }
    }

    /// The bin of a value: 0 below the axis, and one behind the last above (ROOT:
    /// `TAxis::FindFixBin`).
    pub fn find(&self, value: f64) -> usize {
        if value < self.min {
            return 0;
        }
        // NaN is above.
        if value.is_nan() || value >= self.max {
            return self.count + 1;
        }
        match self.edges.is_empty() {
            true => {
                let part = self.count as f64 * (value - self.min) / (self.max - self.min);
                // Rounding may lead to the bin before or behind the one between whose borders the
                // value is.
                let bin = 1 + (part as usize).min(self.count);
                let bin = if value < self.low(bin) { bin.saturating_sub(1) } else { bin };
                if value >= self.low(bin + 1) { bin + 1 } else { bin }
            }
            false => self.edges.partition_point(|edge| *edge <= value).min(self.count + 1),
        }
    }

    /// Limits that have a value between them, from doubling the range again and again (ROOT:
    /// `TH1::FindNewAxisLimits`); `None` where that does not end soon.
    pub fn doubled(&self, value: f64) -> Option<[f64; 2]> {
        let [mut min, mut max] = [self.min, self.max];
        let mut range = max - min;
        if min >= max || self.count == 0 {
            return None;
        }
        for _ in 0..=DOUBLINGS_MAX {
            match value {
                low if low < min => min -= range,
                high if high >= max => max += range,
                _ => return Some([min, max]),
            }
            range *= 2.0;
        }
        None
    }

    fn regular_width(&self) -> f64 {
        (self.max - self.min) / self.count as f64
    }

    fn width(&self, bin: usize) -> f64 {
        match (self.edges.get(bin.wrapping_sub(1)), self.edges.get(bin)) {
            (Some(low), Some(high)) => high - low,
            _ => self.regular_width(),
        }
    }

    /// The word for the first thing in which other bins differ, but for rounding; `None` where
    /// they are the same bins.
    pub fn differs_in(&self, other: &Bins) -> Option<&'static str> {
        let near = |mine: f64, their: f64, bin| {
            mine == their || (mine - their).abs() < self.width(bin) * TOLERANCE
        };
        if self.count != other.count {
            return Some("numbers of bins");
        }
        let limits = near(self.min, other.min, 1) && near(self.max, other.max, self.count);
        if !limits {
            return Some("limits");
        }
        let edge = |bins: &Bins, at: usize| match at == bins.count {
            true => bins.max,
            false => bins.low(at + 1),
        };
        let is_same = self.edges.is_empty() && other.edges.is_empty()
            || (1..self.count).all(|at| near(edge(self, at), edge(other, at), at));
        (!is_same).then_some("edges")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With 1 + int(bins * (x - min) / (max - min)) alone this value was in bin 4.
    #[test]
    fn a_value_is_between_the_borders_of_its_bin() {
        let axis = Bins { count: 8, min: 361000.0, max: 361000.008, edges: Vec::new() };
        assert_eq!(axis.find(361000.00399999996), 5);
        let all: Vec<usize> = (0..8).map(|bin| axis.find(axis.low(bin + 1))).collect();
        assert_eq!(all, (1..=8).collect::<Vec<_>>());
    }

    #[test]
    fn a_range_is_doubled_until_a_value_is_within() {
        let axis = Bins { count: 4, min: 0.0, max: 4.0, edges: Vec::new() };
        assert_eq!(axis.doubled(-1.0), Some([-4.0, 4.0]));
        assert_eq!(axis.doubled(4.0), Some([0.0, 8.0]));
        assert_eq!(axis.doubled(-5.0), Some([-12.0, 4.0]));
        assert_eq!(axis.doubled(f64::INFINITY), None);
        assert_eq!(Bins { max: 0.0, ..axis }.doubled(1.0), None);
    }
}
