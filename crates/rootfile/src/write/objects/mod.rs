//! Objects that are no tables, as plain data that a file can take.
//!
//! Each has the members that a user sets, and writes the rest as ROOT's constructors leave it.
//! Members that could be inconsistent (the cells of a histogram and its axes) are checked when the
//! data become an object. (Source: the streamer infos of ROOT 6.40; `TH1.cxx`, `TProfileHelper.h`,
//! `TGraph.cxx` for the default values of members.)

mod axis;
mod collection;
mod efficiency;
mod graph;
mod histogram;
mod raw;
mod statistics;
#[cfg(test)]
mod tests;
mod text;

use super::buffer::{BITS, Buffer};

pub use axis::{Axis, AxisStyle};
pub use collection::{ListKind, ObjectList, ObjectMap};
pub use efficiency::Efficiency;
pub use graph::{Graph, GraphErrors};
pub use histogram::{Histogram, Options, Profile};
pub use raw::RawObject;
pub use text::{ObjString, Parameter, ParameterValue};

/// Lines, fill and markers that an object is drawn with (ROOT: `TAttLine`, `TAttFill`,
/// `TAttMarker`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Style {
    pub line_color: i16,
    pub line_style: i16,
    pub line_width: i16,
    pub fill_color: i16,
    pub fill_style: i16,
    pub marker_color: i16,
    pub marker_style: i16,
    pub marker_size: f32,
}

/// Stands for a limit that is computed when it is drawn.
pub const NO_LIMIT: f64 = -1111.0;

impl Style {
    /// Of a histogram in ROOT's default style.
    pub const HISTOGRAM: Style = Style { line_color: 602, fill_style: 1001, ..Style::GRAPH };

    /// Of a graph.
    pub const GRAPH: Style = Style {
        line_color: 1,
        line_style: 1,
        line_width: 1,
        fill_color: 0,
        fill_style: 1000,
        marker_color: 1,
        marker_style: 1,
        marker_size: 1.0,
    };

    /// Appends the three base classes.
    fn write(&self, to: &mut Buffer) {
        let line = to.begin(2);
        [self.line_color, self.line_style, self.line_width]
            .into_iter()
            .for_each(|number| to.i16(number));
        to.end(line);
        let fill = to.begin(2);
        [self.fill_color, self.fill_style].into_iter().for_each(|number| to.i16(number));
        to.end(fill);
        let marker = to.begin(3);
        [self.marker_color, self.marker_style].into_iter().for_each(|number| to.i16(number));
        to.f32(self.marker_size);
        to.end(marker);
    }
}

/// The bits of an object that are its own, and those that all have in a file: not whether it is
/// referred to, or has a place in a list of processes.
fn kept_bits(bits: u32) -> u32 {
    BITS | (bits & 0x00ff_ffcf)
}

/// An array of numbers with its length in front (ROOT: `TArrayD`).
fn write_array(to: &mut Buffer, numbers: &[f64]) {
    to.u32(numbers.len() as u32);
    numbers.iter().for_each(|number| to.f64(*number));
}

/// An array that another member counts: whether there is one, and the numbers.
fn write_counted(to: &mut Buffer, numbers: &[f64]) {
    to.bool(!numbers.is_empty());
    numbers.iter().for_each(|number| to.f64(*number));
}

/// A list without objects (ROOT: `TList`), for the functions of an object without fits.
fn write_empty_list(to: &mut Buffer) {
    let count = to.begin(5);
    to.tobject(BITS);
    to.string("");
    to.u32(0);
    to.end(count);
}
