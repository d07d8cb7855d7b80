//! Axes whose bins have labels: bins of one label are the same bin (ROOT: `TH1Merger::LabelMerge`).
//!
//! A new label takes the first bin without a label; where there is none, the number of bins is
//! doubled, as in ROOT's `TH1::LabelsInflate`.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result};
use crate::histogram::axis::{BINS_MAX, Bins};
use crate::object::{ObjectId, ObjectRef};
use crate::write::buffer::{BITS, Buffer};
use crate::write::copy::record::{Edits, Object};

/// Set in `TAxis::fBits2` where labels may be added.
const CAN_EXTEND: i64 = 1 << 1;
/// The version of `TObject` that is written.
const OBJECT_VERSION: u16 = 1;

/// An axis of a sum.
#[derive(Debug)]
pub struct SumAxis {
    pub name: &'static str,
    /// The number of the bin of each label.
    labels: BTreeMap<String, usize>,
    /// The labels of the first input with their bins: several bins may have one label.
    first: Vec<(i64, String)>,
    can_extend: bool,
    /// Labels of other records: the label, the object and member with its bin, and the bin.
    added: Vec<(Object, (Object, usize), usize)>,
    is_larger: bool,
}

/// How the bins of another histogram's axis map to those of the sum.
#[derive(Debug)]
pub enum AxisBins {
    Same,
    /// The bin of the sum's axis for each bin of this one, which is shorter or finer.
    Moved(Vec<usize>),
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
        let first = of(axis)?;
        let labels = first.iter().cloned();
        Ok(SumAxis {
            name,
            labels: labels.filter_map(|(bin, label)| Some((label, bin.try_into().ok()?))).collect(),
            first,
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

    /// How the bins of another input's axis map to those of the sum.
    ///
    /// # Errors
    /// `Unsupported` for other bins, and for other labels where the axis cannot be extended or
    /// several bins have one label.
    pub fn compare(&self, mine: &Bins, axis: ObjectRef<'_>, their: &Bins) -> Result<AxisBins> {
        let labels = of(axis)?;
        let is_here = |(bin, label): &(i64, String)| {
            self.labels.get(label).is_some_and(|here| *here as i64 == *bin)
        };
        let same = match self.added.is_empty() {
            true => labels == self.first,
            false => labels.len() == self.labels.len() && labels.iter().all(is_here),
        };
        if same && mine.count == their.count {
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
            let message = format!("{}: labels that are not in all inputs", self.name);
            return Err(Error::unsupported(message));
        }
        if !(self.can_extend && can_extend(axis)) {
            let message =
                "other labels than in the first input, on an axis that cannot be extended";
            return Err(Error::unsupported(format!("{}: {message}", self.name)));
        }
        let texts: BTreeSet<&str> = labels.iter().map(|(_, label)| &**label).collect();
        if texts.len() < labels.len() || self.labels.len() < self.first.len() {
            let message = "other labels than in the first input, and several bins have one label";
            return Err(Error::unsupported(format!("{}: {message}", self.name)));
        }
        let count = their.count;
        let mut bins: Vec<Option<BinLabel>> = Vec::new();
        bins.resize_with(count.min(BINS_MAX) + 2, || None);
        for label in objects(axis)? {
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
    pub fn place(
        &mut self,
        mine: &mut Bins,
        bins: &AxisBins,
        bin: usize,
        record: usize,
    ) -> Result<(usize, bool)> {
        let labels = match bins {
            AxisBins::Same => return Ok((bin, false)),
            AxisBins::Moved(places) => {
                let place = places.get(bin).copied();
                return place.map(|place| (place, false)).ok_or_else(|| Error::corrupt("a bin"));
            }
            AxisBins::Labelled(labels) => labels,
        };
        let BinLabel { text, id, number } = match labels.get(bin) {
            Some(Some(label)) => label,
            _ if bin == 0 => return Ok((0, false)),
            _ if bin + 1 == labels.len() => return Ok((mine.count + 1, false)),
            _ => {
                let message = format!("{}: bin {bin} has no label, where others have", self.name);
                return Err(Error::unsupported(message));
            }
        };
        if let Some(place) = self.labels.get(text) {
            return Ok((*place, false));
        }
        let place = self.labels.len() + 1;
        let is_larger = place > mine.count;
        if is_larger {
            let Bins { count, min, max, .. } = &mut *mine;
            *count = 2 * (*count).max(1);
            *max = *min + 2.0 * (*max - *min);
            self.is_larger = true;
            if mine.count > BINS_MAX {
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

/// Checks that an axis has the same bins as that of the first input, but for rounding.
fn check_bins(mine: &Bins, their: &Bins, name: &str) -> Result<()> {
    match mine.differs_in(their) {
        None => Ok(()),
        Some(difference) => {
            let said = format!("{name}: other {difference} than in the first input");
            Err(Error::unsupported(said))
        }
    }
}

/// Checks that all axes of two histograms of many dimensions have the same bins and labels.
pub fn check_axes(mine: ObjectRef<'_>, their: ObjectRef<'_>) -> Result<()> {
    let mine = mine.objects("fAxes")?;
    let their = their.objects("fAxes")?;
    if mine.len() != their.len() {
        return Err(Error::unsupported("other dimensions than in the first input"));
    }
    for (at, (mine, their)) in
        mine.into_iter().flatten().zip(their.into_iter().flatten()).enumerate()
    {
        check_bins(&Bins::of(mine)?, &Bins::of(their)?, &format!("axis {at}"))?;
        if of(mine)? != of(their)? {
            let message = format!("axis {at}: other labels than in the first input");
            return Err(Error::unsupported(message));
        }
    }
    Ok(())
}
