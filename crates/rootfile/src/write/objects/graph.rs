//! Points with or without errors (ROOT: `TGraph`, `TGraphErrors`, `TGraphAsymmErrors`).

use std::sync::Arc;

use super::{NO_LIMIT, Style, kept_bits, write_counted, write_empty_list};
use crate::error::{Error, Result};
use crate::write::buffer::Buffer;
use crate::write::table::WritableObject;

/// Bit of a graph that ends at its frame, as ROOT's have it (`kClipFrame`).
const CLIP_FRAME: u32 = 1 << 10;

/// Points, in any order.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    pub name: String,
    pub title: String,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub errors: GraphErrors,
    pub style: Style,
    /// Limits of y for drawing; [`NO_LIMIT`] where there are none.
    pub minimum: f64,
    pub maximum: f64,
    /// Bits of `TObject`, and how it is drawn.
    pub bits: u32,
    pub option: String,
}

/// Errors, a point each.
#[derive(Debug, Clone, PartialEq)]
pub enum GraphErrors {
    None,
    Symmetric { x: Vec<f64>, y: Vec<f64> },
    Asymmetric { x_low: Vec<f64>, x_high: Vec<f64>, y_low: Vec<f64>, y_high: Vec<f64> },
}

impl GraphErrors {
    /// In the order of ROOT's members.
    fn arrays(&self) -> Vec<&[f64]> {
        match self {
            GraphErrors::None => Vec::new(),
            GraphErrors::Symmetric { x, y } => vec![x, y],
            GraphErrors::Asymmetric { x_low, x_high, y_low, y_high } => {
                vec![x_low, x_high, y_low, y_high]
            }
        }
    }
}

impl Graph {
    /// Points without errors.
    pub fn new(name: &str, x: Vec<f64>, y: Vec<f64>) -> Self {
        Graph {
            name: name.to_owned(),
            title: String::new(),
            x,
            y,
            errors: GraphErrors::None,
            style: Style::GRAPH,
            minimum: NO_LIMIT,
            maximum: NO_LIMIT,
            bits: CLIP_FRAME,
            option: String::new(),
        }
    }

    /// As an object that a file can take.
    ///
    /// # Errors
    /// `Unsupported` where there are not as many of each; `Limit` for more than 2^27 points.
    pub fn into_object(self) -> Result<Arc<dyn WritableObject>> {
        let points = self.x.len();
        if points > 1 << 27 {
            return Err(Error::limit(format!("a graph of {points} points")).within(&self.name));
        }
        let others = self.errors.arrays().into_iter().chain([&*self.y]);
        if let Some(len) = others.map(<[f64]>::len).find(|len| *len != points) {
            let message = format!("a graph of {points} x and {len} y or errors");
            return Err(Error::unsupported(message).within(&self.name));
        }
        Ok(Arc::new(Checked(self)))
    }

    /// The points themselves (ROOT: `TGraph`).
    fn write_points(&self, to: &mut Buffer) {
        let count = to.begin(5);
        to.tnamed(kept_bits(self.bits), &self.name, &self.title);
        self.style.write(to);
        to.u32(self.x.len() as u32);
        write_counted(to, &self.x);
        write_counted(to, &self.y);
        to.pointed("TList", write_empty_list);
        // No histogram: ROOT makes one when it draws.
        to.null();
        to.f64(self.minimum);
        to.f64(self.maximum);
        to.string(&self.option);
        to.end(count);
    }
}

/// A graph with as many of each.
struct Checked(Graph);

impl WritableObject for Checked {
    fn class(&self) -> &'static str {
        match self.0.errors {
            GraphErrors::None => "TGraph",
            GraphErrors::Symmetric { .. } => "TGraphErrors",
            GraphErrors::Asymmetric { .. } => "TGraphAsymmErrors",
        }
    }

    fn title(&self) -> &str {
        &self.0.title
    }

    fn classes(&self) -> Vec<&str> {
        vec![self.class()]
    }

    fn write(&self, to: &mut Buffer) {
        let arrays = self.0.errors.arrays();
        if arrays.is_empty() {
            return self.0.write_points(to);
        }
        let count = to.begin(3);
        self.0.write_points(to);
        arrays.into_iter().for_each(|array| write_counted(to, array));
        to.end(count);
    }
}
