//! The bins of one axis (ROOT: `TAxis`).

use super::members::{extra, real};
use crate::error::{Error, Result};
use crate::object::ObjectRef;

/// Bins of an axis at most.
pub(crate) const BINS_MAX: usize = 1 << 24;
/// The part of a bin by which edges may differ that are the same (ROOT: `TH1::CheckAxisLimits`).
const TOLERANCE: f64 = 1e-10;

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
        // What is no number is above.
        if value.is_nan() || value >= self.max {
            return self.count + 1;
        }
        match self.edges.is_empty() {
            true => {
                let part = self.count as f64 * (value - self.min) / (self.max - self.min);
                1 + (part as usize).min(self.count)
            }
            false => self.edges.partition_point(|edge| *edge <= value).min(self.count + 1),
        }
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
