//! Histograms and profiles of the same axes, or with labels (ROOT: `TH1Merger`).

use super::labels::{AxisBins, SumAxis};
use super::members::set_real;
use crate::array::Numbers;
use crate::error::{Error, Result};
use crate::histogram::cells::{self, add_extra, array_of, reals};
use crate::histogram::members::{extra, number, real};
use crate::object::{ObjectId, ObjectRef, Value};
use crate::write::buffer::Buffer;
use crate::write::copy::record::Edits;

/// The bit of histograms whose bins are averaged, not added (ROOT: `TH1::kIsAverage`).
const IS_AVERAGE: i64 = 1 << 18;
/// Members of histograms that are added, beside the bins.
pub const SUMS: [&str; 14] = [
    "fEntries", "fTsumw", "fTsumw2", "fTsumwx", "fTsumwx2", "fTsumwy", "fTsumwy2", "fTsumwxy",
    "fTsumwz", "fTsumwz2", "fTsumwxz", "fTsumwyz", "fTsumwt", "fTsumwt2",
];
/// Base classes that have the bins.
const BINS: [&str; 6] = ["TArrayC", "TArrayS", "TArrayI", "TArrayL64", "TArrayF", "TArrayD"];
const AXES: [&str; 3] = ["fXaxis", "fYaxis", "fZaxis"];

/// The sum of histograms.
#[derive(Debug)]
pub struct HistogramSum {
    sums: Vec<(&'static str, f64)>,
    axes: Vec<SumAxis>,
    is_profile: bool,
    /// The object and the number of its member that have the bins.
    place: (ObjectId, usize),
    bins: Numbers,
    errors: Vec<f64>,
    /// Of a profile: entries of each bin, and their squared weights.
    bin_entries: Vec<f64>,
    bin_errors: Vec<f64>,
    is_larger: bool,
}

/// The number of bins of an axis, with underflow and overflow.
fn cells_of(axis: &SumAxis) -> usize {
    axis.bins + 2
}

impl HistogramSum {
    /// The sum of one histogram.
    ///
    /// # Errors
    /// As [`super::ObjectSum::new`].
    pub fn new(root: ObjectRef<'_>) -> Result<HistogramSum> {
        check(root)?;
        let (place, bins) = bins(root)?;
        let axes = axes(root)?.into_iter().map(|(name, axis)| SumAxis::new(axis, name));
        let mut histogram = HistogramSum {
            sums: Vec::new(),
            axes: axes.collect::<Result<_>>()?,
            is_profile: root.member("fBinEntries").is_some(),
            place,
            bins,
            errors: extra(root, "fSumw2"),
            bin_entries: extra(root, "fBinEntries"),
            bin_errors: extra(root, "fBinSumw2"),
            is_larger: false,
        };
        histogram.sums = histogram.statistics(root, &histogram.axes)?;
        Ok(histogram)
    }

    /// Adds another histogram; `true` if the sum uses labels of its record, to be number `record`.
    ///
    /// # Errors
    /// As [`super::ObjectSum::add`].
    pub fn add(
        &mut self,
        (mine, their): (ObjectRef<'_>, ObjectRef<'_>),
        record: usize,
    ) -> Result<bool> {
        check(their)?;
        let (_, more) = bins(their)?;
        let more_errors = extra(their, "fSumw2");
        let is_empty = number(their, "fEntries") == Some(0.0)
            && reals(&more).iter().chain(&more_errors).all(|bin| *bin == 0.0);
        let (my_axes, their_axes) = (axes(mine)?, axes(their)?);
        let pairs = self.axes.iter().zip(my_axes.iter().zip(&their_axes));
        let compared = pairs.map(|(axis, ((_, mine), (_, their)))| axis.compare(*mine, *their));
        let compared: Vec<AxisBins> = match compared.collect::<Result<_>>() {
            Ok(compared) => compared,
            // Labels of an empty histogram are ignored, as in ROOT.
            Err(_) if is_empty && self.has_labels(&their_axes)? => return Ok(false),
            Err(why) => return Err(why),
        };
        let their_own = their_axes.iter().map(|(name, axis)| SumAxis::new(*axis, name));
        let their_own = their_own.collect::<Result<Vec<_>>>()?;
        let sums = self.statistics(their, &their_own)?;
        let before: usize = self.axes.iter().map(SumAxis::added).sum();
        let is_same = compared.iter().all(|bins| matches!(bins, AxisBins::Same));
        let places = match is_same {
            true if more.len() != self.bins.len() => {
                return Err(Error::unsupported("another number of bins than in the first input"));
            }
            true => None,
            false => Some(self.places(&compared, (&their_own, &more, &more_errors), record)?),
        };
        let place = |at: usize| places.as_ref().map_or(Some(at), |all| all.get(at).copied()?);
        let (now, then) = (reals(&self.bins), reals(&more));
        add_extra(&mut self.errors, &more_errors, (&now, &then), place)?;
        let (entries, more_entries) = (self.bin_entries.clone(), extra(their, "fBinEntries"));
        let more_bin_errors = extra(their, "fBinSumw2");
        add_extra(&mut self.bin_errors, &more_bin_errors, (&entries, &more_entries), place)?;
        add_extra(&mut self.bin_entries, &more_entries, (&[], &[]), place)?;
        cells::add(&mut self.bins, &more, place)?;
        for ((_, sum), (_, more)) in self.sums.iter_mut().zip(sums) {
            *sum += more;
        }
        Ok(self.axes.iter().map(SumAxis::added).sum::<usize>() > before)
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
        (axes, bins, errors): (&[SumAxis], &Numbers, &[f64]),
        record: usize,
    ) -> Result<Vec<Option<usize>>> {
        let contents = reals(bins);
        let mut all: Vec<Option<Vec<usize>>> = Vec::with_capacity(contents.len());
        for (at, content) in contents.iter().enumerate() {
            if *content == 0.0 && errors.get(at).is_none_or(|error| *error == 0.0) {
                all.push(None);
                continue;
            }
            let mut rest = at;
            let mut place = Vec::with_capacity(axes.len());
            for (number, axis) in axes.iter().enumerate() {
                let bin = rest % cells_of(axis);
                rest /= cells_of(axis);
                let before: Vec<usize> = self.axes.iter().map(cells_of).collect();
                let (bin, is_larger) = self.axes[number].place(&compared[number], bin, record)?;
                if is_larger {
                    self.enlarge(&before)?;
                }
                place.push(bin);
            }
            all.push(Some(place));
        }
        let last: Vec<usize> = self.axes.iter().map(cells_of).collect();
        Ok(all.into_iter().map(|place| place.map(|place| position(&place, &last))).collect())
    }

    /// Moves the bins to their numbers on extended axes, which had `before` bins each.
    fn enlarge(&mut self, before: &[usize]) -> Result<()> {
        let now: Vec<usize> = self.axes.iter().map(cells_of).collect();
        let count = now.iter().try_fold(1usize, |all, cells| all.checked_mul(*cells));
        let count = count.filter(|count| *count <= i32::MAX as usize);
        let count = count.ok_or_else(|| Error::limit("a histogram of too many labels"))?;
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
        let mut bins = cells::zeros(&self.bins, count)?;
        cells::add(&mut bins, &self.bins, place)?;
        self.bins = bins;
        for all in [&mut self.errors, &mut self.bin_entries, &mut self.bin_errors] {
            if !all.is_empty() {
                let mut larger = vec![0.0; count];
                add_extra(&mut larger, all, (&[], &[]), place)?;
                *all = larger;
            }
        }
        self.is_larger = true;
        Ok(())
    }

    /// The members of [`SUMS`]. Of a histogram whose bins were set, not filled, they are computed
    /// from the bins, as in ROOT's `GetStats`.
    fn statistics(
        &self,
        root: ObjectRef<'_>,
        axes: &[SumAxis],
    ) -> Result<Vec<(&'static str, f64)>> {
        let all = SUMS.into_iter().filter_map(|name| Some((name, number(root, name)?)));
        let mut all: Vec<(&'static str, f64)> = all.collect();
        let is_set = real(root, "fTsumw") == 0.0 && real(root, "fEntries") > 0.0;
        if !is_set || self.is_profile {
            return Ok(all);
        }
        let (contents, errors) = (reals(&bins(root)?.1), extra(root, "fSumw2"));
        let edges = self::axes(root)?.into_iter().map(|(_, axis)| extra(axis, "fXbins"));
        let edges: Vec<Vec<f64>> = edges.collect();
        for (at, content) in contents.iter().enumerate() {
            let mut rest = at;
            let (mut centres, mut is_within) = ([0.0; 3], true);
            for (number, axis) in axes.iter().enumerate() {
                let bin = rest % cells_of(axis);
                rest /= cells_of(axis);
                is_within &= bin > 0 && bin <= axis.bins;
                if is_within && axis.has_centres() {
                    centres[number] = axis.centre(&edges[number], bin);
                }
            }
            if is_within {
                let error = errors.get(at).copied().unwrap_or(content.abs());
                let moments = moments(*content, error, centres);
                for (name, sum) in &mut all {
                    *sum += moments.iter().find(|(of, _)| of == name).map_or(0.0, |(_, m)| *m);
                }
            }
        }
        Ok(all)
    }

    /// Puts the sum into `edits` of the first histogram's record.
    ///
    /// # Errors
    /// `Limit`.
    pub fn edit(&self, root: ObjectRef<'_>, edits: &mut Edits) -> Result<()> {
        for (name, sum) in &self.sums {
            set_real(root, name, *sum, edits);
        }
        let arrays = [
            ("fSumw2", &self.errors),
            ("fBinEntries", &self.bin_entries),
            ("fBinSumw2", &self.bin_errors),
        ];
        for (name, array) in arrays {
            edits.set_bytes((0, root), name, array_of(&Numbers::F64(array.clone())));
        }
        if self.is_larger {
            edits.set((0, root), "fNcells", &[self.bins.len() as i64])?;
        }
        for (axis, (_, place)) in self.axes.iter().zip(axes(root)?) {
            axis.edit(place, edits)?;
        }
        let (owner, member) = self.place;
        let bytes: Buffer = array_of(&self.bins);
        edits.members.insert(((0, owner), member), bytes.into_vec());
        Ok(())
    }
}

/// What a bin contributes to the members of [`SUMS`].
fn moments(w: f64, error: f64, [x, y, z]: [f64; 3]) -> [(&'static str, f64); 11] {
    [
        ("fTsumw", w),
        ("fTsumw2", error),
        ("fTsumwx", w * x),
        ("fTsumwx2", w * x * x),
        ("fTsumwy", w * y),
        ("fTsumwy2", w * y * y),
        ("fTsumwxy", w * x * y),
        ("fTsumwz", w * z),
        ("fTsumwz2", w * z * z),
        ("fTsumwxz", w * x * z),
        ("fTsumwyz", w * y * z),
    ]
}

/// The number of a bin from its numbers on the axes.
fn position(bins: &[usize], cells: &[usize]) -> usize {
    bins.iter().zip(cells).rev().fold(0, |all, (bin, cells)| all * cells + bin)
}

/// The axes that a histogram has, as many as it has dimensions.
fn axes(histogram: ObjectRef<'_>) -> Result<Vec<(&'static str, ObjectRef<'_>)>> {
    let dimensions = match histogram {
        of if of.base("TH3").is_some() => 3,
        of if of.base("TH2").is_some() => 2,
        _ => 1,
    };
    let axis = |name| match histogram.pointed(name)? {
        Some(axis) => Ok((name, axis)),
        None => Err(Error::corrupt(format!("a histogram without {name}"))),
    };
    AXES.into_iter().take(dimensions).map(axis).collect()
}

pub fn check(histogram: ObjectRef<'_>) -> Result<()> {
    if histogram.int("fBits")? & IS_AVERAGE != 0 {
        return Err(Error::unsupported("a histogram of averages (TH1::kIsAverage) has no sum"));
    }
    match histogram.member("fBuffer") {
        Some(Value::Numbers(buffer)) if !buffer.is_empty() => {
            Err(Error::unsupported("a histogram whose entries are in a buffer, not in bins"))
        }
        _ => Ok(()),
    }
}

/// The object and the number of its member that have the bins, and the bins.
fn bins(histogram: ObjectRef<'_>) -> Result<((ObjectId, usize), Numbers)> {
    let found = BINS.into_iter().find_map(|class| {
        let array = histogram.base(class)?;
        let Some(Value::Numbers(numbers)) = array.member("fArray") else { return None };
        Some((histogram.base_position(class)?, numbers.clone()))
    });
    let class = histogram.class();
    found.ok_or_else(|| Error::unsupported(format!("the sum of objects of class {class}")))
}
