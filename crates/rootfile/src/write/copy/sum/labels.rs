//! Axes whose bins have labels: bins of one label are the same bin (ROOT: `TH1Merger::LabelMerge`).
//!
//! A new label takes the first bin without a label; where there is none, the number of bins is
//! doubled, as in ROOT's `TH1::LabelsInflate`.

use std::collections::BTreeMap;

use super::members::set_real;
use crate::error::{Error, Result};
use crate::histogram::members::{extra, real};
use crate::object::{ObjectId, ObjectRef};
use crate::write::buffer::{BITS, Buffer};
use crate::write::copy::record::{Edits, Object};

/// Set in `TAxis::fBits2` where labels may be added.
const CAN_EXTEND: i64 = 1 << 1;
/// The version of `TObject` that is written.
const OBJECT_VERSION: u16 = 1;
/// Bins of an axis at most.
const BINS_MAX: usize = 1 << 24;

/// An axis of a sum.
#[derive(Debug)]
pub struct SumAxis {
    pub name: &'static str,
    pub bins: usize,
    min: f64,
    max: f64,
    /// The number of the bin of each label.
    labels: BTreeMap<String, usize>,
    can_extend: bool,
    /// Labels of other records: the label, the object and member with its bin, and the bin.
    added: Vec<(Object, (Object, usize), usize)>,
    is_larger: bool,
}

/// How the bins of another histogram's axis map to those of the sum.
#[derive(Debug)]
pub enum AxisBins {
    Same,
    /// By label: that of each bin.
    Labelled(Vec<Option<BinLabel>>),
}

/// A label, and the object and member that have the number of its bin.
#[derive(Debug)]
pub struct BinLabel {
    text: String,
    id: ObjectId,
    number: (ObjectId, usize),
}

/// The labels of an axis, with the numbers of their bins, in the order of these.
pub fn of(axis: ObjectRef<'_>) -> Result<Vec<(i64, String)>> {
    let labels = objects(axis)?.into_iter();
    let mut all = labels
        .map(|label| Ok((label.int("fUniqueID")?, label.string("fString")?)))
        .collect::<Result<Vec<_>>>()?;
    all.sort();
    Ok(all)
}

fn objects(axis: ObjectRef<'_>) -> Result<Vec<ObjectRef<'_>>> {
    if axis.member("fLabels").is_none() {
        return Ok(Vec::new());
    }
    Ok(axis.objects("fLabels")?.into_iter().flatten().collect())
}

fn can_extend(axis: ObjectRef<'_>) -> bool {
    axis.int("fBits2").is_ok_and(|bits| bits & CAN_EXTEND != 0)
}

impl SumAxis {
    pub fn new(axis: ObjectRef<'_>, name: &'static str) -> Result<SumAxis> {
        let bins = usize::try_from(axis.int("fNbins")?).ok().filter(|bins| *bins <= BINS_MAX);
        let bins = bins.ok_or_else(|| Error::unsupported(format!("{name}: its number of bins")))?;
        let labels = of(axis)?.into_iter();
        Ok(SumAxis {
            name,
            bins,
            min: real(axis, "fXmin"),
            max: real(axis, "fXmax"),
            labels: labels.filter_map(|(bin, label)| Some((label, bin.try_into().ok()?))).collect(),
            can_extend: can_extend(axis),
            added: Vec::new(),
            is_larger: false,
        })
    }

    pub fn has_labels(&self) -> bool {
        !self.labels.is_empty()
    }

    /// Whether bins have centres; ROOT takes 0 for labelled axes that can be extended.
    pub fn has_centres(&self) -> bool {
        self.labels.is_empty() || !self.can_extend
    }

    pub fn centre(&self, axis: &[f64], bin: usize) -> f64 {
        match axis {
            [] => self.min + (self.max - self.min) * (bin as f64 - 0.5) / self.bins as f64,
            edges => edges.get(bin).map_or(0.0, |high| (edges[bin - 1] + high) / 2.0),
        }
    }

    /// How the bins of another input's axis, `their`, map to those of the sum.
    ///
    /// # Errors
    /// `Unsupported` for other bins, and for other labels where the axis cannot be extended.
    pub fn compare(&self, mine: ObjectRef<'_>, their: ObjectRef<'_>) -> Result<AxisBins> {
        let labels = of(their)?;
        let is_here = |(bin, label): &(i64, String)| {
            self.labels.get(label).is_some_and(|here| *here as i64 == *bin)
        };
        let count = usize::try_from(their.int("fNbins")?).unwrap_or(0);
        let same = labels.len() == self.labels.len() && labels.iter().all(is_here);
        if same && count == self.bins {
            if !self.is_larger {
                check_bins(mine, their, self.name)?;
            }
            return Ok(AxisBins::Same);
        }
        if labels.is_empty() || self.labels.is_empty() {
            let both_lack = labels.is_empty() && self.labels.is_empty();
            if both_lack {
                check_bins(mine, their, self.name)?;
            }
            let what = format!("{}: labels that are not in all inputs", self.name);
            return Err(Error::unsupported(what));
        }
        if !(self.can_extend && can_extend(their)) {
            let what = "other labels than in the first input, on an axis that cannot be extended";
            return Err(Error::unsupported(format!("{}: {what}", self.name)));
        }
        let mut bins: Vec<Option<BinLabel>> = Vec::new();
        bins.resize_with(count.min(BINS_MAX) + 2, || None);
        for label in objects(their)? {
            let bin = usize::try_from(label.int("fUniqueID")?).unwrap_or(usize::MAX);
            let number = label.base_position("TObject");
            if let (Some(place), Some(number)) = (bins.get_mut(bin), number) {
                *place = Some(BinLabel { text: label.string("fString")?, id: label.id, number });
            }
        }
        Ok(AxisBins::Labelled(bins))
    }

    /// The bin of the sum for a bin of another axis, and whether this axis was extended for it.
    ///
    /// # Errors
    /// `Unsupported` for a bin that has no label; `Limit`.
    pub fn place(&mut self, bins: &AxisBins, bin: usize, record: usize) -> Result<(usize, bool)> {
        let labels = match bins {
            AxisBins::Same => return Ok((bin, false)),
            AxisBins::Labelled(labels) => labels,
        };
        let BinLabel { text, id, number } = match labels.get(bin) {
            Some(Some(label)) => label,
            _ if bin == 0 => return Ok((0, false)),
            _ if bin + 1 == labels.len() => return Ok((self.bins + 1, false)),
            _ => {
                let what = format!("{}: bin {bin} has no label, where others have", self.name);
                return Err(Error::unsupported(what));
            }
        };
        if let Some(place) = self.labels.get(text) {
            return Ok((*place, false));
        }
        let place = self.labels.len() + 1;
        let is_larger = place > self.bins;
        if is_larger {
            self.bins = 2 * self.bins.max(1);
            self.max = self.min + 2.0 * (self.max - self.min);
            self.is_larger = true;
            if self.bins > BINS_MAX {
                return Err(Error::limit(format!("{}: too many labels", self.name)));
            }
        }
        self.labels.insert(text.clone(), place);
        self.added.push(((record, *id), ((record, number.0), number.1), place));
        Ok((place, is_larger))
    }

    /// The number of labels that are in other records.
    pub fn added(&self) -> usize {
        self.added.len()
    }

    pub fn edit(&self, axis: ObjectRef<'_>, edits: &mut Edits) -> Result<()> {
        if self.is_larger {
            edits.set((0, axis), "fNbins", &[self.bins as i64])?;
            set_real(axis, "fXmax", self.max, edits);
        }
        // Axes of ROOT 4 have no list of labels.
        if self.added.is_empty() {
            return Ok(());
        }
        let Some(list) = axis.pointed("fLabels")? else { return Ok(()) };
        for (label, number, bin) in &self.added {
            edits.added.entry((0, list.id)).or_default().push(*label);
            let mut to = Buffer::default();
            to.u16(OBJECT_VERSION);
            to.u32(*bin as u32);
            to.u32(BITS);
            edits.members.insert(*number, to.into_vec());
        }
        Ok(())
    }
}

/// Checks that an axis has the same bins as that of the first input.
fn check_bins(mine: ObjectRef<'_>, their: ObjectRef<'_>, name: &str) -> Result<()> {
    for member in ["fNbins", "fXmin", "fXmax"] {
        if mine.member(member) != their.member(member) {
            let what = format!("{name}: other bins than in the first input ({member})");
            return Err(Error::unsupported(what));
        }
    }
    if extra(mine, "fXbins") != extra(their, "fXbins") {
        return Err(Error::unsupported(format!("{name}: other edges than in the first input")));
    }
    Ok(())
}

/// Checks that all axes of two histograms of many dimensions have the same bins and labels.
pub fn check_axes(mine: ObjectRef<'_>, their: ObjectRef<'_>) -> Result<()> {
    let (mine, their) = (mine.objects("fAxes")?, their.objects("fAxes")?);
    if mine.len() != their.len() {
        return Err(Error::unsupported("other dimensions than in the first input"));
    }
    for (at, (mine, their)) in
        mine.into_iter().flatten().zip(their.into_iter().flatten()).enumerate()
    {
        check_bins(mine, their, &format!("axis {at}"))?;
        if of(mine)? != of(their)? {
            let what = format!("axis {at}: other labels than in the first input");
            return Err(Error::unsupported(what));
        }
    }
    Ok(())
}
