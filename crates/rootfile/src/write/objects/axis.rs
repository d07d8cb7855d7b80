//! The axis of a histogram (ROOT: `TAxis`).

use super::kept_bits;
use crate::error::{Error, Result};
use crate::histogram::axis::Bins;
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
    /// Names of the first bins; empty where they are numbers only.
    pub labels: Vec<String>,
    /// The bins that the labels are of; empty for the first ones.
    pub labelled: Vec<u32>,
    /// How it is drawn; `None` for ROOT's default.
    pub style: Option<AxisStyle>,
}

/// How an axis is drawn (ROOT: `TAttAxis`), and the other members of a `TAxis`.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisStyle {
    pub divisions: i32,
    pub axis_color: i16,
    pub label_color: i16,
    pub label_font: i16,
    pub label_offset: f32,
    pub label_size: f32,
    pub tick_length: f32,
    pub title_offset: f32,
    pub title_size: f32,
    pub title_color: i16,
    pub title_font: i16,
    /// Bins that are drawn; both 0 for all.
    pub first: i32,
    pub last: i32,
    /// Bits of `TObject`, and those of its own, such as whether it grows.
    pub bits: u32,
    pub bits2: u16,
    pub time_display: bool,
    pub time_format: String,
}

impl AxisStyle {
    /// ROOT's default for an axis of this name.
    pub fn of(name: &str) -> Self {
        AxisStyle {
            divisions: 510,
            axis_color: 1,
            label_color: 1,
            label_font: 42,
            label_offset: 0.005,
            label_size: 0.035,
            tick_length: 0.03,
            title_offset: if name == "yaxis" { 0.0 } else { 1.0 },
            title_size: 0.035,
            title_color: 1,
            title_font: 42,
            first: 0,
            last: 0,
            bits: 0,
            bits2: 0,
            time_display: false,
            time_format: String::new(),
        }
    }

    fn write(&self, to: &mut Buffer) {
        let count = to.begin(4);
        to.i32(self.divisions);
        let colors = [self.axis_color, self.label_color, self.label_font];
        colors.into_iter().for_each(|number| to.i16(number));
        let sizes = [self.label_offset, self.label_size, self.tick_length];
        sizes.into_iter().for_each(|number| to.f32(number));
        [self.title_offset, self.title_size].into_iter().for_each(|number| to.f32(number));
        [self.title_color, self.title_font].into_iter().for_each(|number| to.i16(number));
        to.end(count);
    }
}

impl Axis {
    /// Of bins of the same width.
    pub fn regular(bins: u32, low: f64, high: f64) -> Self {
        Axis { bins, low, high, ..Axis::default() }
    }

    /// Of bins between borders.
    pub fn variable(edges: Vec<f64>) -> Self {
        let low = edges.first().copied();
        let high = edges.last().copied();
        Axis {
            bins: edges.len().saturating_sub(1) as u32,
            low: low.unwrap_or_default(),
            high: high.unwrap_or_default(),
            edges,
            ..Axis::default()
        }
    }

    /// ROOT's axis for directions that a histogram lacks.
    pub(super) fn placeholder() -> Self {
        Axis::regular(1, 0.0, 1.0)
    }

    /// Bins, those below and above included.
    pub(super) fn cells(&self) -> usize {
        self.bins as usize + 2
    }

    /// Where its bins are.
    pub(super) fn places(&self) -> Bins {
        let Axis { bins, low, high, .. } = *self;
        Bins { count: bins as usize, min: low, max: high, edges: self.edges.clone() }
    }

    pub(super) fn check(&self) -> Result<()> {
        let refused = |message: String| Err(Error::unsupported(message));
        if self.bins == 0 || self.bins > i32::MAX as u32 - 2 {
            return refused(format!("an axis of {} bins", self.bins));
        }
        if self.low >= self.high || !self.low.is_finite() || !self.high.is_finite() {
            return refused(format!("an axis from {} to {}", self.low, self.high));
        }
        if self.labels.len() > self.bins as usize {
            return refused(format!("{} labels of {} bins", self.labels.len(), self.bins));
        }
        let is_bin = |bin: &u32| (1..=self.bins).contains(bin);
        if ![0, self.labels.len()].contains(&self.labelled.len())
            || !self.labelled.iter().all(is_bin)
        {
            return refused(format!("labels of other bins than its {}", self.bins));
        }
        let Some((first, last)) = self.edges.first().zip(self.edges.last()) else { return Ok(()) };
        if self.edges.len() != self.bins as usize + 1 || (*first, *last) != (self.low, self.high) {
            let edges = self.edges.len();
            let bins = self.bins;
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
        let style = self.style.clone().unwrap_or_else(|| AxisStyle::of(name));
        to.tnamed(kept_bits(style.bits), name, &self.title);
        style.write(to);
        to.u32(self.bins);
        to.f64(self.low);
        to.f64(self.high);
        super::write_array(to, &self.edges);
        [style.first, style.last].into_iter().for_each(|bin| to.i32(bin));
        to.u16(style.bits2);
        to.bool(style.time_display);
        to.string(&style.time_format);
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
        for (at, label) in self.labels.iter().enumerate() {
            let bin = self.labelled.get(at).copied().unwrap_or(at as u32 + 1);
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
