//! Histograms and profiles of one to three dimensions (ROOT: `TH1D` and the like, `TProfile`).

use std::sync::Arc;

use super::axis::Axis;
use super::{NO_LIMIT, Style, kept_bits, statistics, write_array, write_counted, write_empty_list};
use crate::array::{Number, Numbers};
use crate::error::{Error, Result};
use crate::write::buffer::Buffer;
use crate::write::table::WritableObject;

/// Bit of objects that their directory deletes, as ROOT's histograms have it (`kMustCleanup`).
const MUST_CLEANUP: u32 = 1 << 3;
/// Cells that a record can hold.
const CELLS_MAX: usize = 1 << 27;

/// A histogram.
///
/// Its cells are in ROOT's order: the first axis runs fastest, and each axis begins with the cell
/// below it and ends with the one above it.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    pub name: String,
    pub title: String,
    /// One to three.
    pub axes: Vec<Axis>,
    /// Contents, as `int8`, `int16`, `int32`, `float32` or `float64` (`TH1C`, `S`, `I`, `F`, `D`);
    /// of a profile sums of weight times value, as `float64`.
    pub cells: Numbers,
    /// Sums of squared weights; empty where errors are the roots of the contents. Of a profile
    /// sums of weight times squared value, which it must have.
    pub sum_w2: Vec<f64>,
    /// How often it was filled.
    pub entries: f64,
    /// The sums that ROOT computes means from, in the order of `TH1::GetStats`; empty to have them
    /// computed from the cells.
    pub statistics: Vec<f64>,
    /// Members that only a profile has.
    pub profile: Option<Profile>,
    pub style: Style,
    /// Limits for drawing; [`NO_LIMIT`] where there are none.
    pub minimum: f64,
    pub maximum: f64,
    /// Axes behind its own, such as that of contents, whose titles are drawn.
    pub beyond: Vec<Axis>,
    pub options: Options,
}

/// Other members of a histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Of `TObject`.
    pub bits: u32,
    pub bar_offset: i16,
    pub bar_width: i16,
    pub norm_factor: f64,
    pub contours: Vec<f64>,
    pub option: String,
    /// How errors are computed (`EBinErrorOpt`).
    pub error_option: i32,
    /// Whether cells outside count in the sums (`EStatOverflows`).
    pub overflows: i32,
}

impl Default for Options {
    /// As ROOT's constructors leave it: errors are of the usual kind, and cells outside follow the
    /// user's setting (`kNeutral`).
    fn default() -> Self {
        Options {
            bits: MUST_CLEANUP,
            bar_offset: 0,
            bar_width: 1000,
            norm_factor: 0.0,
            contours: Vec::new(),
            option: String::new(),
            error_option: 0,
            overflows: 2,
        }
    }
}

/// Members of a profile beyond those of a histogram.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Profile {
    /// Sums of weights, a cell.
    pub entries: Vec<f64>,
    /// Sums of squared weights, a cell; empty where all weights are 1.
    pub sum_w2: Vec<f64>,
    /// Meaning of errors: 0 of the mean, 1 the spread, 2 the spread of whole numbers, 3 of weights
    /// that are variances (`EErrorType`).
    pub error_mode: i32,
    /// Values that are taken; equal where all are.
    pub low: f64,
    pub high: f64,
}

impl Histogram {
    /// Of cells that were filled once each weight of 1.
    pub fn new(name: &str, axes: Vec<Axis>, cells: Numbers) -> Self {
        let mut histogram = Histogram {
            name: name.to_owned(),
            title: String::new(),
            axes,
            cells,
            sum_w2: Vec::new(),
            entries: 0.0,
            statistics: Vec::new(),
            profile: None,
            style: Style::HISTOGRAM,
            minimum: NO_LIMIT,
            maximum: NO_LIMIT,
            beyond: Vec::new(),
            options: Options::default(),
        };
        histogram.entries = histogram.cells_as_f64().iter().sum();
        histogram
    }

    /// As an object that a file can take.
    ///
    /// # Errors
    /// `Unsupported` where cells, sums and axes do not belong together, or ROOT has no histogram
    /// of such cells; `Limit` for more cells than a record holds.
    pub fn into_object(mut self) -> Result<Arc<dyn WritableObject>> {
        let class = self.check().map_err(|error| error.within(&self.name))?;
        if self.statistics.is_empty() {
            self.statistics = statistics::of_cells(&self);
        }
        Ok(Arc::new(Checked { class, histogram: self }))
    }

    pub(super) fn cells_as_f64(&self) -> Vec<f64> {
        let mut cells = Number::F64.empty();
        // Numbers convert to numbers: it is only memory that may lack, as for any copy.
        let _ = cells.extend_converted(&self.cells);
        match cells {
            Numbers::F64(cells) => cells,
            _ => Vec::new(),
        }
    }

    /// The class, if all belongs together.
    fn check(&self) -> Result<String> {
        let refused = |message: String| Err(Error::unsupported(message));
        let axes = self.axes.len();
        if !(1..=3).contains(&axes) {
            return refused(format!("a histogram of {axes} axes: ROOT has those of 1 to 3"));
        }
        self.axes.iter().chain(&self.beyond).try_for_each(Axis::check)?;
        let cells = self.axes.iter().try_fold(1, |all: usize, axis| all.checked_mul(axis.cells()));
        let Some(cells) = cells.filter(|cells| *cells <= CELLS_MAX) else {
            return Err(Error::limit(format!("a histogram of more than {CELLS_MAX} cells")));
        };
        let arrays = [("cells", self.cells.len()), ("sums of squares", self.sum_w2.len())];
        for (name, len) in arrays {
            if len != cells && (len > 0 || name == "cells") {
                return refused(format!("{len} {name} of {cells} cells"));
            }
        }
        let mut sums = statistics::count(axes);
        if let Some(profile) = &self.profile {
            sums += 2;
            profile.check(cells, self.sum_w2.len())?;
        }
        if ![0, sums].contains(&self.statistics.len()) {
            return refused(format!("{} statistics, there are {sums}", self.statistics.len()));
        }
        self.class()
    }

    fn class(&self) -> Result<String> {
        let letter = match Number::of(&self.cells) {
            Number::I8 => 'C',
            Number::I16 => 'S',
            Number::I32 => 'I',
            Number::F32 => 'F',
            Number::F64 => 'D',
            _ => {
                let cells = self.cells.dtype();
                let supported = "int8, int16, int32, float32 and float64";
                return Err(Error::unsupported(format!(
                    "cells of {cells}: written are {supported}"
                )));
            }
        };
        match (&self.profile, self.axes.len()) {
            (None, axes) => Ok(format!("TH{axes}{letter}")),
            (Some(_), _) if letter != 'D' => {
                let cells = self.cells.dtype();
                Err(Error::unsupported(format!("a profile of {cells}: ROOT has float64")))
            }
            (Some(_), 1) => Ok("TProfile".into()),
            (Some(_), axes) => Ok(format!("TProfile{axes}D")),
        }
    }

    /// Writes the members that all histograms have (ROOT: `TH1`).
    fn write_common(&self, to: &mut Buffer) {
        let count = to.begin(8);
        let options = &self.options;
        to.tnamed(kept_bits(options.bits), &self.name, &self.title);
        self.style.write(to);
        to.u32(self.cells.len() as u32);
        let placeholder = Axis::placeholder();
        for (at, name) in ["xaxis", "yaxis", "zaxis"].into_iter().enumerate() {
            let mut axes = self.axes.iter().chain(&self.beyond);
            axes.nth(at).unwrap_or(&placeholder).write(to, name);
        }
        [options.bar_offset, options.bar_width].into_iter().for_each(|number| to.i16(number));
        to.f64(self.entries);
        self.statistics[..4].iter().for_each(|sum| to.f64(*sum));
        to.f64(self.maximum);
        to.f64(self.minimum);
        to.f64(options.norm_factor);
        write_array(to, &options.contours);
        write_array(to, &self.sum_w2);
        to.string(&options.option);
        write_empty_list(to);
        // No values wait to be filled in.
        to.u32(0);
        write_counted(to, &[]);
        [options.error_option, options.overflows].into_iter().for_each(|option| to.i32(option));
        to.end(count);
    }

    /// A histogram of one to three dimensions, without the members that a profile adds.
    fn write_plain(&self, to: &mut Buffer) {
        let axes = self.axes.len();
        let count = to.begin(if axes == 1 { 3 } else { 4 });
        let sums = &self.statistics[4..statistics::count(axes)];
        match axes {
            1 => self.write_common(to),
            2 => {
                let inner = to.begin(5);
                self.write_common(to);
                // A factor that nothing reads.
                to.f64(1.0);
                sums.iter().for_each(|sum| to.f64(*sum));
                to.end(inner);
            }
            _ => {
                let inner = to.begin(6);
                self.write_common(to);
                // `TAtt3D`, which has no members.
                let empty = to.begin(1);
                to.end(empty);
                sums.iter().for_each(|sum| to.f64(*sum));
                to.end(inner);
            }
        }
        to.u32(self.cells.len() as u32);
        match &self.cells {
            Numbers::I8(cells) => cells.iter().for_each(|cell| to.i8(*cell)),
            Numbers::I16(cells) => cells.iter().for_each(|cell| to.i16(*cell)),
            Numbers::I32(cells) => cells.iter().for_each(|cell| to.i32(*cell)),
            Numbers::F32(cells) => cells.iter().for_each(|cell| to.f32(*cell)),
            Numbers::F64(cells) => cells.iter().for_each(|cell| to.f64(*cell)),
            other => debug_assert!(false, "cells of {}", other.dtype()),
        }
        to.end(count);
    }
}

impl Profile {
    fn check(&self, cells: usize, sum_w2: usize) -> Result<()> {
        let refused = |message: String| Err(Error::unsupported(message));
        let lens = (self.entries.len(), sum_w2);
        if lens != (cells, cells) {
            // ROOT looks into both without asking how long they are.
            let (entries, squares) = lens;
            let profile = format!("a profile of {cells} cells");
            return refused(format!("{profile} with {entries} entries and {squares} squares"));
        }
        if ![0, cells].contains(&self.sum_w2.len()) {
            return refused(format!("{} sums of squares of {cells} cells", self.sum_w2.len()));
        }
        if !(0..=3).contains(&self.error_mode) || self.low > self.high {
            let Profile { error_mode, low, high, .. } = self;
            return refused(format!("a profile of error mode {error_mode} from {low} to {high}"));
        }
        Ok(())
    }
}

/// A histogram whose parts belong together, and its class.
struct Checked {
    class: String,
    histogram: Histogram,
}

impl WritableObject for Checked {
    fn class(&self) -> &str {
        &self.class
    }

    fn title(&self) -> &str {
        &self.histogram.title
    }

    fn classes(&self) -> Vec<&str> {
        let Histogram { axes, beyond, .. } = &self.histogram;
        let labels = axes.iter().chain(beyond).any(|axis| !axis.labels.is_empty());
        let texts = labels.then_some("TObjString");
        [&*self.class].into_iter().chain(texts).collect()
    }

    fn write(&self, to: &mut Buffer) {
        let histogram = &self.histogram;
        let Some(profile) = &histogram.profile else { return histogram.write_plain(to) };
        let count = to.begin(if histogram.axes.len() == 1 { 7 } else { 8 });
        histogram.write_plain(to);
        write_array(to, &profile.entries);
        to.i32(profile.error_mode);
        to.f64(profile.low);
        to.f64(profile.high);
        let sums = &histogram.statistics[statistics::count(histogram.axes.len())..];
        sums.iter().for_each(|sum| to.f64(*sum));
        write_array(to, &profile.sum_w2);
        to.end(count);
    }
}
