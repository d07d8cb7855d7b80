//! The axis of a histogram (ROOT: `TAxis`).

use crate::error::{Error, Result};
use crate::write::buffer::{BITS, Buffer};

/// Bins along one direction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Axis {
    pub title: String,
    /// How many bins, those below and above the axis aside.
    pub bins: u32,
    /// Where the first bin begins and the last one ends.
    pub low: f64,
    pub high: f64,
    /// The borders of bins of different widths, one more than there are bins; empty where all have
    /// the same width.
    pub edges: Vec<f64>,
    /// What the first bins are called; empty where they are numbers only.
    pub labels: Vec<String>,
}

impl Axis {
    /// Of bins of the same width.
    pub fn regular(bins: u32, low: f64, high: f64) -> Self {
        Axis { bins, low, high, ..Axis::default() }
    }

    /// Of bins between borders.
    pub fn variable(edges: Vec<f64>) -> Self {
        let (low, high) = (edges.first().copied(), edges.last().copied());
        Axis {
            bins: edges.len().saturating_sub(1) as u32,
            low: low.unwrap_or_default(),
            high: high.unwrap_or_default(),
            edges,
            ..Axis::default()
        }
    }

    /// What ROOT has for directions that a histogram lacks.
    pub(super) fn placeholder() -> Self {
        Axis::regular(1, 0.0, 1.0)
    }

    /// Bins, those below and above included.
    pub(super) fn cells(&self) -> usize {
        self.bins as usize + 2
    }

    /// The middle of a bin, the first of which is 1.
    pub(super) fn center(&self, bin: usize) -> f64 {
        match (self.edges.get(bin - 1), self.edges.get(bin)) {
            (Some(low), Some(high)) => 0.5 * (low + high),
            _ => {
                let width = (self.high - self.low) / f64::from(self.bins);
                self.low + (bin as f64 - 0.5) * width
            }
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let refused = |what: String| Err(Error::unsupported(what));
        if self.bins == 0 || self.bins > i32::MAX as u32 - 2 {
            return refused(format!("an axis of {} bins", self.bins));
        }
        if self.low >= self.high || !self.low.is_finite() || !self.high.is_finite() {
            return refused(format!("an axis from {} to {}", self.low, self.high));
        }
        if self.labels.len() > self.bins as usize {
            return refused(format!("{} labels of {} bins", self.labels.len(), self.bins));
        }
        let Some((first, last)) = self.edges.first().zip(self.edges.last()) else { return Ok(()) };
        if self.edges.len() != self.bins as usize + 1 || (*first, *last) != (self.low, self.high) {
            let (edges, bins) = (self.edges.len(), self.bins);
            return refused(format!("{edges} edges from {first} to {last} of {bins} bins"));
        }
        match self.edges.windows(2).all(|pair| pair[0] < pair[1]) {
            true => Ok(()),
            false => refused("edges that do not rise".into()),
        }
    }

    /// Appends the axis; ROOT calls the three of a histogram `xaxis`, `yaxis` and `zaxis`.
    pub(super) fn write(&self, to: &mut Buffer, name: &str) {
        let count = to.begin(10);
        to.tnamed(BITS, name, &self.title);
        write_style(to, if name == "yaxis" { 0.0 } else { 1.0 });
        to.u32(self.bins);
        to.f64(self.low);
        to.f64(self.high);
        super::write_array(to, &self.edges);
        // Nothing of it is hidden, and it is no time.
        [0, 0].into_iter().for_each(|bin| to.i32(bin));
        to.u16(0);
        to.bool(false);
        to.string("");
        match self.labels.is_empty() {
            true => to.null(),
            false => to.pointed("THashList", |to| self.write_labels(to)),
        }
        // Labels of single bins that were changed in a drawing.
        to.null();
        to.end(count);
    }

    /// Strings whose unique ID is the bin.
    fn write_labels(&self, to: &mut Buffer) {
        // A `THashList` is written as the `TList` that it is.
        let count = to.begin(5);
        to.tobject(BITS);
        to.string("");
        to.u32(self.labels.len() as u32);
        for (bin, label) in (1..).zip(&self.labels) {
            to.pointed("TObjString", |to| {
                let count = to.begin(1);
                to.u16(1);
                to.u32(bin);
                to.u32(BITS);
                to.string(label);
                to.end(count);
            });
            to.string("");
        }
        to.end(count);
    }
}

/// How it is drawn (ROOT: `TAttAxis`), as ROOT's default style has it.
fn write_style(to: &mut Buffer, title_offset: f32) {
    let count = to.begin(4);
    to.i32(510);
    [1, 1, 42].into_iter().for_each(|number| to.i16(number));
    [0.005, 0.035, 0.03, title_offset, 0.035].into_iter().for_each(|number| to.f32(number));
    [1, 42].into_iter().for_each(|number| to.i16(number));
    to.end(count);
}
