//! Sums of objects of several files, of the classes that `hadd` adds up.
//!
//! ROOT's rule for each class is that of `TH1Merger`, `TGraph::Merge`, `TEfficiency::Merge`,
//! `THnBase::Merge` and `TParameter::Merge`, and the tests compare the sums with those of `hadd`.

mod dense;
mod graph;
mod histogram;
mod labels;
mod members;
mod parameter;
mod poly;
mod sparse;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::histogram::members::real;
use crate::object::ObjectRef;
use crate::streamer::Streamers;
use crate::write::copy::object::CopiedObject;
use dense::DenseSum;
use graph::GraphSum;
use histogram::{HistogramSum, check_part};
use members::set_real;
use parameter::ParameterSum;
use poly::PolySum;
use sparse::SparseSum;

/// The sum of objects, with the first one's record.
#[derive(Debug)]
pub struct ObjectSum {
    object: CopiedObject,
    kind: Kind,
    /// Of one input the record stays as it is.
    is_sum: bool,
}

#[derive(Debug)]
enum Kind {
    Histogram(Box<HistogramSum>),
    /// The histograms of passed and of all entries, and the weight.
    Efficiency(Box<(HistogramSum, HistogramSum)>, f64),
    Graph(GraphSum),
    Dense(DenseSum),
    Sparse(SparseSum),
    Poly(PolySum),
    Parameter(ParameterSum),
}

impl ObjectSum {
    /// Whether objects of a class are added up.
    pub fn adds(streamers: &Streamers, class: &str) -> bool {
        let is = |base: &str| class == base || streamers.inherits(class, base);
        is("TH1")
            || is("TEfficiency")
            || (is("TGraph") && !is("TGraphMultiErrors"))
            || is("THn")
            || is("THnSparse")
            || ParameterSum::is_class(class)
    }

    /// The sum of one object.
    ///
    /// # Errors
    /// `Unsupported` for classes whose bins are no array.
    pub fn new(object: CopiedObject) -> Result<ObjectSum> {
        let kind = Kind::of(object.root())?;
        Ok(ObjectSum { object, kind, is_sum: false })
    }

    /// Adds another object.
    ///
    /// # Errors
    /// `Unsupported` where its class or axes differ from the first one's; as [`ObjectSum::new`].
    pub fn add(&mut self, other: CopiedObject) -> Result<()> {
        if self.object.root().class() != other.root().class() {
            let mine = self.object.root().class();
            let their = other.root().class();
            let message = format!("a {their} where the first input has a {mine}");
            return Err(Error::unsupported(message));
        }
        self.is_sum = true;
        // Objects of `other` that the sum uses are in a record behind those that it has.
        let next = self.object.records.len();
        let mine = self.object.root();
        let their = other.root();
        let is_used = match &mut self.kind {
            Kind::Histogram(sum) => sum.add(their, next)?,
            Kind::Efficiency(sums, weight) => {
                let [passed, total] = histograms(their)?;
                check_part(passed)?;
                check_part(total)?;
                let passed = sums.0.add(passed, next)?;
                let total = sums.1.add(total, next)?;
                let more = real(their, "fWeight");
                *weight = *weight * more / (*weight + more);
                passed | total
            }
            Kind::Graph(sum) => sum.add(their)?,
            Kind::Dense(sum) => sum.add(mine, their)?,
            Kind::Sparse(sum) if sum.is_empty() => {
                // The record of an empty one has no chunk for bins: `other` takes its place.
                labels::check_axes(mine, their)?;
                self.kind = Kind::of(their)?;
                self.object = other;
                return Ok(());
            }
            Kind::Sparse(sum) => sum.add(mine, their, next)?,
            Kind::Poly(sum) => sum.add(mine, their)?,
            Kind::Parameter(sum) => sum.add(their)?,
        };
        if is_used {
            self.object.records.push(other.records[0].clone());
        }
        Ok(())
    }

    /// The sum as an object.
    ///
    /// # Errors
    /// `Limit` for numbers that its members cannot hold.
    pub fn finish(self) -> Result<CopiedObject> {
        let ObjectSum { mut object, kind, is_sum } = self;
        if !is_sum {
            return Ok(object);
        }
        let record = Arc::clone(&object.records[0]);
        let root = record.root();
        let edits = &mut object.edits;
        match kind {
            Kind::Histogram(sum) => sum.edit(root, edits)?,
            Kind::Efficiency(sums, weight) => {
                let [passed, total] = histograms(root)?;
                sums.0.edit(passed, edits)?;
                sums.1.edit(total, edits)?;
                set_real(root, "fWeight", weight, edits);
            }
            Kind::Graph(sum) => sum.edit(root, edits)?,
            Kind::Dense(sum) => sum.edit(root, edits),
            Kind::Sparse(sum) => sum.edit(root, edits)?,
            Kind::Poly(sum) => sum.edit(root, edits)?,
            Kind::Parameter(sum) => sum.edit(root, edits)?,
        }
        Ok(object)
    }
}

impl Kind {
    fn of(root: ObjectRef<'_>) -> Result<Kind> {
        let is = |base: &str| root.base(base).is_some();
        Ok(if is("TH2Poly") {
            Kind::Poly(PolySum::new(root)?)
        } else if is("TH1") {
            Kind::Histogram(Box::new(HistogramSum::new(root)?))
        } else if is("TEfficiency") {
            let [passed, total] = histograms(root)?;
            let sums = (HistogramSum::of_part(passed)?, HistogramSum::of_part(total)?);
            Kind::Efficiency(Box::new(sums), real(root, "fWeight"))
        } else if is("TGraph") {
            Kind::Graph(GraphSum::new(root)?)
        } else if is("THnSparse") {
            Kind::Sparse(SparseSum::new(root)?)
        } else if is("THnBase") {
            Kind::Dense(DenseSum::new(root)?)
        } else {
            Kind::Parameter(ParameterSum::new(root)?)
        })
    }
}

/// The histograms of an efficiency: of passed entries, and of all.
fn histograms(efficiency: ObjectRef<'_>) -> Result<[ObjectRef<'_>; 2]> {
    let histogram = |name| {
        let found = efficiency.pointed(name)?;
        found.ok_or_else(|| Error::unsupported(format!("an efficiency without {name}")))
    };
    Ok([histogram("fPassedHistogram")?, histogram("fTotalHistogram")?])
}
