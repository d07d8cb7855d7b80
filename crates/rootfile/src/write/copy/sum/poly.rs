//! Histograms of polygons (ROOT: `TH2Poly::Merge`), of the same polygons in the same order.

use super::members::set_real;
use crate::array::Numbers;
use crate::error::{Error, Result};
use crate::histogram::cells;
use crate::histogram::filled::SUMS;
use crate::histogram::members::{extra, number, real};
use crate::object::{ObjectRef, Value};
use crate::write::buffer::Buffer;
use crate::write::copy::record::Edits;

const OVERFLOW: &str = "fOverflow";
/// Members of polygons that are compared.
const EDGES: [&str; 4] = ["fXmin", "fXmax", "fYmin", "fYmax"];

#[derive(Debug)]
pub struct PolySum {
    bins: Vec<f64>,
    /// Contents outside all bins, in nine regions.
    overflow: Vec<f64>,
    errors: Vec<f64>,
    sums: Vec<(&'static str, f64)>,
    /// Of a profile: sums of the bins, then of the nine regions outside.
    averaged: Vec<[f64; 4]>,
}

/// Sums that a bin of a profile keeps: of weights, of values, of squares of both.
const OF_BIN: [&str; 4] = ["fSumw", "fSumvw", "fSumw2", "fSumwv2"];

impl PolySum {
    pub fn new(root: ObjectRef<'_>) -> Result<PolySum> {
        let sums = SUMS.into_iter().filter_map(|name| Some((name, number(root, name)?)));
        Ok(PolySum {
            bins: bins(root)?.into_iter().map(|bin| real(bin, "fContent")).collect(),
            overflow: overflow(root),
            errors: extra(root, "fSumw2"),
            sums: sums.collect(),
            averaged: averaged(root)?.into_iter().map(sums_of).collect(),
        })
    }

    pub fn add(&mut self, mine: ObjectRef<'_>, their: ObjectRef<'_>) -> Result<bool> {
        let my_bins = bins(mine)?;
        let their_bins = bins(their)?;
        let shape = |bin: &ObjectRef<'_>| EDGES.map(|name| real(*bin, name));
        let more_overflow = overflow(their);
        let more_errors = extra(their, "fSumw2");
        if !my_bins.iter().map(shape).eq(their_bins.iter().map(shape))
            || more_overflow.len() != self.overflow.len()
            || more_errors.len() != self.errors.len()
        {
            return Err(Error::unsupported("other polygons or errors than in the first input"));
        }
        for (sum, bin) in self.bins.iter_mut().zip(their_bins) {
            *sum += real(bin, "fContent");
        }
        let averaged = averaged(their)?;
        if averaged.len() != self.averaged.len() {
            return Err(Error::unsupported("a profile of polygons, and another class"));
        }
        for (sums, bin) in self.averaged.iter_mut().zip(averaged) {
            sums.iter_mut().zip(sums_of(bin)).for_each(|(sum, more)| *sum += more);
        }
        cells::add_extra(&mut self.overflow, &more_overflow, (&[], &[]), Some)?;
        cells::add_extra(&mut self.errors, &more_errors, (&[], &[]), Some)?;
        for (name, sum) in &mut self.sums {
            *sum += real(their, name);
        }
        Ok(false)
    }

    pub fn edit(&self, root: ObjectRef<'_>, edits: &mut Edits) -> Result<()> {
        for (bin, sum) in bins(root)?.into_iter().zip(&self.bins) {
            if self.averaged.is_empty() {
                set_real(bin, "fContent", *sum, edits);
            }
        }
        for (bin, sums) in averaged(root)?.into_iter().zip(&self.averaged) {
            OF_BIN.iter().zip(sums).for_each(|(name, sum)| set_real(bin, name, *sum, edits));
            let [weights, values, _, squares] = *sums;
            if weights != 0.0 {
                let mean = values / weights;
                set_real(bin, "fAverage", mean, edits);
                let spread = (squares / weights - mean * mean).abs().sqrt();
                set_real(bin, "fError", spread, edits);
                if real(bin, "fContent") == real(bin, "fAverage") {
                    set_real(bin, "fContent", mean, edits);
                }
            }
        }
        for (name, sum) in &self.sums {
            set_real(root, name, *sum, edits);
        }
        let mut to = Buffer::default();
        self.overflow.iter().for_each(|number| to.f64(*number));
        edits.set_bytes(0, root, OVERFLOW, to);
        let errors = cells::array_of(&Numbers::F64(self.errors.clone()));
        edits.set_bytes(0, root, "fSumw2", errors);
        Ok(())
    }
}

fn bins(root: ObjectRef<'_>) -> Result<Vec<ObjectRef<'_>>> {
    Ok(root.objects("fBins")?.into_iter().flatten().collect())
}

/// The bins of a profile, and the regions outside; empty for other classes.
fn averaged(root: ObjectRef<'_>) -> Result<Vec<ObjectRef<'_>>> {
    if root.member("fOverflowBins").is_none() {
        return Ok(Vec::new());
    }
    let outside = root.objects("fOverflowBins")?.into_iter().flatten();
    Ok(bins(root)?.into_iter().chain(outside).collect())
}

fn sums_of(bin: ObjectRef<'_>) -> [f64; 4] {
    OF_BIN.map(|name| real(bin, name))
}

fn overflow(root: ObjectRef<'_>) -> Vec<f64> {
    match root.member(OVERFLOW) {
        Some(Value::Numbers(Numbers::F64(all))) => all.clone(),
        _ => Vec::new(),
    }
}
