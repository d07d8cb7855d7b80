//! Efficiencies: passed and total numbers, a bin each (ROOT: `TEfficiency`).

use std::sync::Arc;

use super::histogram::Histogram;
use super::{Style, write_empty_list};
use crate::error::{Error, Result};
use crate::write::buffer::{BITS, Buffer};
use crate::write::table::WritableObject;

/// Version in front of a collection of the standard library (ROOT 6.40).
const COLLECTION_VERSION: u16 = 10;

/// Two histograms of the same axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Efficiency {
    pub name: String,
    pub title: String,
    pub passed: Histogram,
    pub total: Histogram,
    /// Of the intervals that are drawn.
    pub confidence_level: f64,
    /// How intervals are computed (`EStatOption`): 0 is Clopper and Pearson's.
    pub statistic: i32,
    /// Of the prior beta distribution that Bayesian intervals take.
    pub beta: (f64, f64),
    pub weight: f64,
    pub style: Style,
}

impl Efficiency {
    /// With ROOT's intervals.
    pub fn new(name: &str, passed: Histogram, total: Histogram) -> Self {
        Efficiency {
            name: name.to_owned(),
            title: String::new(),
            passed,
            total,
            confidence_level: 0.682_689_492_137,
            statistic: 0,
            beta: (1.0, 1.0),
            weight: 1.0,
            style: Style::GRAPH,
        }
    }

    /// As an object that a file can take.
    ///
    /// # Errors
    /// `Unsupported` where one is not a part of the other; those of [`Histogram::into_object`].
    pub fn into_object(self) -> Result<Arc<dyn WritableObject>> {
        let refused = |message: &str| Err(Error::unsupported(message).within(&self.name));
        if self.passed.axes != self.total.axes {
            return refused("the histogram of what passed has other axes than that of all");
        }
        let pairs = self.passed.cells_as_f64().into_iter().zip(self.total.cells_as_f64());
        if pairs.into_iter().any(|(passed, total)| passed > total) {
            return refused("a bin in which more passed than there are");
        }
        let within = |error: Error| error.within(&self.name);
        let passed = self.passed.clone();
        let total = self.total.clone();
        Ok(Arc::new(Checked {
            passed: passed.into_object().map_err(within)?,
            total: total.into_object().map_err(within)?,
            efficiency: self,
        }))
    }
}

/// An efficiency whose histograms belong together.
struct Checked {
    efficiency: Efficiency,
    passed: Arc<dyn WritableObject>,
    total: Arc<dyn WritableObject>,
}

impl WritableObject for Checked {
    fn class(&self) -> &'static str {
        "TEfficiency"
    }

    fn title(&self) -> &str {
        &self.efficiency.title
    }

    fn classes(&self) -> Vec<&str> {
        let both = [&self.passed, &self.total].map(|histogram| histogram.classes());
        ["TEfficiency"].into_iter().chain(both.into_iter().flatten()).collect()
    }

    fn write(&self, to: &mut Buffer) {
        let Efficiency { name, title, confidence_level, statistic, beta, weight, style, .. } =
            &self.efficiency;
        let count = to.begin(2);
        to.tnamed(BITS, name, title);
        style.write(to);
        to.f64(beta.0);
        to.f64(beta.1);
        // No parameters of single bins: an empty collection.
        let bins = to.begin(COLLECTION_VERSION);
        to.u32(0);
        to.end(bins);
        to.f64(*confidence_level);
        write_empty_list(to);
        to.pointed(self.passed.class(), |to| self.passed.write(to));
        to.i32(*statistic);
        to.pointed(self.total.class(), |to| self.total.write(to));
        to.f64(*weight);
        to.end(count);
    }
}
