//! Histograms and profiles of the same axes, or with labels (ROOT: `TH1Merger`).
//!
//! The sum has all that is in the inputs, in any order of them. ROOT's merger has less of some: it
//! forgets functions and contours of the first histogram where it gives it other axes, leaves out
//! bins of profiles whose mean is zero where axes have labels or other limits, and keeps squares of
//! weights only if the first profile does.

use super::labels::{AxisBins, SumAxis};
use super::members::set_real;
use crate::array::Numbers;
use crate::error::{Error, Result};
use crate::histogram::axis::{Bins, Shown};
use crate::histogram::buffer::{Waiting, buffer_of};
use crate::histogram::cells::{self, add_extra, array_of};
use crate::histogram::common::Outside;
use crate::histogram::filled::{Filled, axes};
use crate::object::ObjectRef;
use crate::write::buffer::Buffer;
use crate::write::copy::record::Edits;

/// The bit of histograms whose bins `TH1::Add` averages, and its merger adds (ROOT:
/// `TH1::kIsAverage`).
const IS_AVERAGE: i64 = 1 << 18;
/// The bit of histograms with limits of powers of two, whose bins ROOT's merger chooses in another
/// way (ROOT: `TH1::kAutoBinPTwo`).
const IS_POWER_OF_TWO: i64 = 1 << 20;

/// The sum of histograms.
#[derive(Debug)]
pub struct HistogramSum {
    filled: Filled,
    axes: Vec<SumAxis>,
    /// Fills that wait until the axes have limits.
    waiting: Option<Waiting>,
    /// Where the inputs were filled beside their axes, once these differ.
    outside: Option<Outside>,
    has_common_axes: bool,
}

impl HistogramSum {
    /// The sum of one histogram.
    ///
    /// # Errors
    /// As [`super::ObjectSum::new`].
    pub fn new(root: ObjectRef<'_>) -> Result<HistogramSum> {
        let (mut filled, waiting) = read(root)?;
        let axes = axes(root)?.into_iter().map(|(name, axis)| SumAxis::new(axis, name));
        let axes = axes.collect::<Result<Vec<SumAxis>>>()?;
        filled.sums = filled.statistics(|axis| axes[axis].has_centres());
        let has_common_axes = root.int("fBits")? & IS_POWER_OF_TWO == 0;
        Ok(HistogramSum { filled, axes, waiting, outside: None, has_common_axes })
    }

    /// The sum of a histogram that is a part of another object, which ROOT adds with `TH1::Add`:
    /// its axes are those of all inputs.
    ///
    /// # Errors
    /// As [`HistogramSum::new`], and `Unsupported` for averages.
    pub fn of_part(root: ObjectRef<'_>) -> Result<HistogramSum> {
        check_part(root)?;
        Ok(HistogramSum { has_common_axes: false, ..HistogramSum::new(root)? })
    }

    /// Adds another histogram; `true` if the sum uses labels of its record, to be number `record`.
    ///
    /// # Errors
    /// As [`super::ObjectSum::add`].
    pub fn add(&mut self, their: ObjectRef<'_>, record: usize) -> Result<bool> {
        let (more, waiting) = read(their)?;
        if more.keeps_errors() {
            self.filled.keep_errors();
        }
        if !more.has_limits() {
            waiting.map_or(Ok(()), |waiting| self.fill(waiting))?;
            return Ok(false);
        }
        if !self.filled.has_limits() {
            self.take_axes(more.axes.clone())?;
        }
        let their_axes = axes(their)?;
        let compared: Vec<AxisBins> = match self.compared(&their_axes, &more) {
            Ok(compared) => compared,
            // Labels of an empty histogram are ignored, as in ROOT.
            Err(_) if more.is_empty() && self.has_labels(&their_axes)? => return Ok(false),
            Err(why) => return Err(why),
        };
        let their_own = their_axes.iter().map(|(name, axis)| SumAxis::new(*axis, name));
        let their_own = their_own.collect::<Result<Vec<_>>>()?;
        let sums = more.statistics(|axis| their_own[axis].has_centres());
        let before: usize = self.axes.iter().map(SumAxis::added).sum();
        let is_same = compared.iter().all(|bins| matches!(bins, AxisBins::Same));
        let places = match is_same {
            true if more.bins.len() != self.filled.bins.len() => {
                return Err(Error::unsupported("another number of bins than in the first input"));
            }
            true => None,
            false => Some(self.places(&compared, &more, record)?),
        };
        self.add_cells(&more, places.as_deref())?;
        for ((_, sum), (_, more)) in self.filled.sums.iter_mut().zip(sums) {
            *sum += more;
        }
        Ok(self.axes.iter().map(SumAxis::added).sum::<usize>() > before)
    }

    /// How the bins of each axis map to those of the sum, whose axes may become longer.
    fn compared(
        &mut self,
        theirs: &[(&'static str, ObjectRef<'_>)],
        more: &Filled,
    ) -> Result<Vec<AxisBins>> {
        if self.has_common_axes && !self.has_labels(theirs)? {
            let pairs = || self.filled.axes.iter().zip(&more.axes);
            let is_other: Vec<bool> =
                pairs().map(|(mine, their)| mine.differs_in(their).is_some()).collect();
            let common = pairs().map(|(mine, their)| match mine.differs_in(their) {
                None => Some(mine.clone()),
                Some(_) => mine.common(their),
            });
            let common = common.collect::<Option<Vec<Bins>>>();
            let is_moved = is_other.contains(&true) || self.outside.is_some();
            if let Some(common) = common.filter(|_| is_moved) {
                return self.moved(common, &is_other, more);
            }
        }
        let theirs = theirs.iter().map(|(_, axis)| *axis).zip(&more.axes);
        let pairs = self.axes.iter().zip(&self.filled.axes).zip(theirs);
        pairs
            .map(|((axis, mine), (their_axis, their))| axis.compare(mine, their_axis, their))
            .collect()
    }

    /// Moves the sum to axes that hold those of all inputs (ROOT: `DifferentAxesMerge`). All of an
    /// axis that is another one in any of them is shown.
    fn moved(
        &mut self,
        common: Vec<Bins>,
        is_other: &[bool],
        more: &Filled,
    ) -> Result<Vec<AxisBins>> {
        let outside = self.outside.get_or_insert_with(|| self.filled.outside());
        outside.add(&more.outside());
        if common != self.filled.axes {
            self.filled.move_to(common)?;
        }
        outside.check(&self.filled)?;
        self.filled.show_all(is_other);
        let pairs = self.filled.axes.iter().zip(&more.axes);
        let moved = pairs.map(|(mine, their)| match mine.differs_in(their) {
            None => AxisBins::Same,
            Some(_) => AxisBins::Moved(mine.places_of(their)),
        });
        Ok(moved.collect())
    }

    /// Adds each bin to the one at its place, or to the same one.
    fn add_cells(&mut self, more: &Filled, places: Option<&[Option<usize>]>) -> Result<()> {
        let place = |at: usize| places.map_or(Some(at), |all| all.get(at).copied()?);
        let mine = &mut self.filled;
        let now = cells::sizes(&mine.bins);
        let then = cells::sizes(&more.bins);
        add_extra(&mut mine.errors, &more.errors, (&now, &then), place)?;
        let entries = mine.bin_entries.clone();
        let without = (&*entries, &*more.bin_entries);
        add_extra(&mut mine.bin_errors, &more.bin_errors, without, place)?;
        add_extra(&mut mine.bin_entries, &more.bin_entries, (&[], &[]), place)?;
        cells::add(&mut mine.bins, &more.bins, place)
    }

    /// Fills in the buffered fills of a histogram without limits, one after the other, as ROOT
    /// does.
    fn fill(&mut self, more: Waiting) -> Result<()> {
        let has_limits = self.filled.has_limits();
        let Some(mine) = self.waiting.as_mut().filter(|_| !has_limits) else {
            if !has_limits {
                self.waiting = Some(more);
                return Ok(());
            }
            return more.empty_into(&mut self.filled);
        };
        let rest = mine.take(more);
        if rest.fills.is_empty() {
            return Ok(());
        }
        // The buffer is full: the buffered fills decide the limits.
        let mine = self.waiting.take();
        mine.map_or(Ok(()), |mine| mine.empty_into(&mut self.filled))?;
        rest.empty_into(&mut self.filled)
    }

    /// Gives a sum without limits those of another histogram.
    fn take_axes(&mut self, axes: Vec<Bins>) -> Result<()> {
        let pairs = self.filled.axes.iter().zip(&axes);
        let is_other: Vec<bool> = pairs.map(|(mine, their)| mine != their).collect();
        self.filled.show_all(&is_other);
        self.filled.axes = axes;
        self.filled.resize()?;
        match self.waiting.take() {
            Some(waiting) => waiting.empty_into(&mut self.filled),
            None => Ok(()),
        }
    }

    fn has_labels(&self, theirs: &[(&'static str, ObjectRef<'_>)]) -> Result<bool> {
        let mut all = theirs.iter().map(|(_, axis)| super::labels::of(*axis));
        let mine = self.axes.iter().any(SumAxis::has_labels);
        Ok(mine || all.try_fold(false, |any, labels| labels.map(|all| any || !all.is_empty()))?)
    }

    /// The sum's bin for each bin of another histogram; `None` for empty ones. May extend axes.
    fn places(
        &mut self,
        compared: &[AxisBins],
        more: &Filled,
        record: usize,
    ) -> Result<Vec<Option<usize>>> {
        let filled = more.cells_filled();
        let mut all: Vec<Option<Vec<usize>>> = Vec::with_capacity(filled.len());
        for (at, is_filled) in filled.into_iter().enumerate() {
            if !is_filled {
                all.push(None);
                continue;
            }
            let mut rest = at;
            let mut place = Vec::with_capacity(more.axes.len());
            for (number, axis) in more.axes.iter().enumerate() {
                let bin = rest % axis.cells();
                rest /= axis.cells();
                let before: Vec<usize> = self.filled.axes.iter().map(Bins::cells).collect();
                let mine = &mut self.filled.axes[number];
                let their = &compared[number];
                let (bin, is_larger) = self.axes[number].place(mine, their, bin, record)?;
                if is_larger {
                    self.filled.shown[number] = None;
                    self.enlarge(&before)?;
                }
                place.push(bin);
            }
            all.push(Some(place));
        }
        let last: Vec<usize> = self.filled.axes.iter().map(Bins::cells).collect();
        Ok(all.into_iter().map(|place| place.map(|place| position(&place, &last))).collect())
    }

    /// Moves the bins to their numbers on extended axes, which had `before` bins each.
    fn enlarge(&mut self, before: &[usize]) -> Result<()> {
        let mine = &mut self.filled;
        let now: Vec<usize> = mine.axes.iter().map(Bins::cells).collect();
        let count = mine.cells()?;
        let place = |at: usize| {
            let mut rest = at;
            let bins = before.iter().zip(&now).map(|(before, now)| {
                let bin = rest % before;
                rest /= before;
                if bin + 1 == *before { now - 1 } else { bin }
            });
            let bins: Vec<usize> = bins.collect();
            Some(position(&bins, &now))
        };
        let mut bins = cells::zeros(&mine.bins, count)?;
        cells::add(&mut bins, &mine.bins, place)?;
        mine.bins = bins;
        for all in [&mut mine.errors, &mut mine.bin_entries, &mut mine.bin_errors] {
            if !all.is_empty() {
                let mut larger = vec![0.0; count];
                add_extra(&mut larger, all, (&[], &[]), place)?;
                *all = larger;
            }
        }
        Ok(())
    }

    /// Puts the sum into `edits` of the first histogram's record.
    ///
    /// # Errors
    /// `Limit`.
    pub fn edit(&self, root: ObjectRef<'_>, edits: &mut Edits) -> Result<()> {
        let mine = &self.filled;
        for (name, sum) in &mine.sums {
            set_real(root, name, *sum, edits);
        }
        let arrays = [
            ("fSumw2", &mine.errors),
            ("fBinEntries", &mine.bin_entries),
            ("fBinSumw2", &mine.bin_errors),
        ];
        for (name, array) in arrays {
            edits.set_bytes(0, root, name, array_of(&Numbers::F64(array.clone())));
        }
        edits.set(0, root, "fNcells", &[mine.bins.len() as i64])?;
        for (number, (_, place)) in axes(root)?.into_iter().enumerate() {
            let axis = &self.axes[number];
            let bins = &mine.axes[number];
            if let Some(bits) = mine.growth[number].other_bits(place) {
                edits.set(0, place, "fBits2", &[bits])?;
            }
            if let Some(bits) = Shown::other_bits(mine.shown[number], place) {
                show_all(place, bits, edits)?;
            }
            // Labels, fills that waited and axes of other inputs may have extended it.
            if Bins::of(place)? != *bins {
                edits.set(0, place, "fNbins", &[bins.count as i64])?;
                set_real(place, "fXmin", bins.min, edits);
                set_real(place, "fXmax", bins.max, edits);
                let edges = Numbers::F64(bins.edges.clone());
                edits.set_bytes(0, place, "fXbins", array_of(&edges));
            }
            axis.edit(place, edits)?;
        }
        let (owner, member) = mine.place;
        let bytes: Buffer = array_of(&mine.bins);
        edits.members.insert(((0, owner), member), bytes.into_vec());
        match &self.waiting {
            Some(waiting) => edit_buffer(root, &waiting.numbers(), edits),
            None if buffer_of(root).is_some() => edit_buffer(root, &[], edits),
            None => Ok(()),
        }
    }
}

/// That a histogram which is a part of another object can be added.
///
/// # Errors
/// `Unsupported` for averages.
pub fn check_part(histogram: ObjectRef<'_>) -> Result<()> {
    if histogram.int("fBits")? & IS_AVERAGE != 0 {
        return Err(Error::unsupported("a histogram of averages (TH1::kIsAverage) has no sum"));
    }
    Ok(())
}

/// The bins of a histogram, and its fills that wait for limits that its axes do not have.
fn read(root: ObjectRef<'_>) -> Result<(Filled, Option<Waiting>)> {
    let mut filled = Filled::of(root)?;
    let waiting = Waiting::of(root, &filled)?;
    if !filled.has_limits() {
        return Ok((filled, waiting));
    }
    if let Some(waiting) = waiting {
        waiting.empty_into(&mut filled)?;
    }
    Ok((filled, None))
}

/// Gives an axis no part that is shown, and the bits without that of one.
fn show_all(axis: ObjectRef<'_>, bits: i64, edits: &mut Edits) -> Result<()> {
    ["fFirst", "fLast"].into_iter().try_for_each(|name| edits.set(0, axis, name, &[0]))?;
    edits.set_bits(0, axis, bits as u32)
}

fn edit_buffer(root: ObjectRef<'_>, numbers: &[f64], edits: &mut Edits) -> Result<()> {
    let mut to = Buffer::default();
    to.bool(!numbers.is_empty());
    numbers.iter().for_each(|number| to.f64(*number));
    edits.set_bytes(0, root, "fBuffer", to);
    edits.set(0, root, "fBufferSize", &[numbers.len() as i64])
}

/// The number of a bin from its numbers on the axes.
fn position(bins: &[usize], cells: &[usize]) -> usize {
    bins.iter().zip(cells).rev().fold(0, |all, (bin, cells)| all * cells + bin)
}
