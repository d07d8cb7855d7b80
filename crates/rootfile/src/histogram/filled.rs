//! A histogram's bins and sums, and how a value is filled in (ROOT: `TH1::Fill`, `TProfile::Fill`).

use super::axis::{Bins, Shown};
use super::cells::{self, reals};
use super::extend::Growth;
use super::members::{extra, number, real};
use super::moments::{Cells, moments, square_of};
use crate::array::Numbers;
use crate::error::{Error, Result};
use crate::object::{ObjectId, ObjectRef, Value};

/// Members of histograms that are added, beside the bins.
pub(crate) const SUMS: [&str; 14] = [
    "fEntries", "fTsumw", "fTsumw2", "fTsumwx", "fTsumwx2", "fTsumwy", "fTsumwy2", "fTsumwxy",
    "fTsumwz", "fTsumwz2", "fTsumwxz", "fTsumwyz", "fTsumwt", "fTsumwt2",
];
/// Base classes that have the bins.
const BINS: [&str; 6] = ["TArrayC", "TArrayS", "TArrayI", "TArrayL64", "TArrayF", "TArrayD"];
const AXES: [&str; 3] = ["fXaxis", "fYaxis", "fZaxis"];
/// The bit of histograms that keep no errors of weights (ROOT: `TH1::kIsNotW`).
const IS_NOT_WEIGHTED: i64 = 1 << 19;
/// `TH1::fStatOverflows` where values outside the axes count in the sums.
const CONSIDER_OVERFLOWS: i64 = 1;
/// Cells of a histogram at most.
const CELLS_MAX: usize = 1 << 27;

/// A histogram or profile of one to three dimensions.
#[derive(Debug, Clone)]
pub(crate) struct Filled {
    pub axes: Vec<Bins>,
    /// Whether each axis grows.
    pub growth: Vec<Growth>,
    /// The part of each axis that is shown; `None` for all of it, as of axes with other limits.
    pub shown: Vec<Option<Shown>>,
    /// The object and the number of its member that have the bins.
    pub place: (ObjectId, usize),
    pub bins: Numbers,
    /// Sums of squared weights; of a profile of weights times squared values.
    pub errors: Vec<f64>,
    /// Of a profile: sums of weights of each bin, and of their squares.
    pub bin_entries: Vec<f64>,
    pub bin_errors: Vec<f64>,
    /// Those of [`SUMS`] that the class has.
    pub sums: Vec<(&'static str, f64)>,
    pub is_profile: bool,
    /// Values that a profile takes; equal where it takes all.
    taken: [f64; 2],
    is_not_weighted: bool,
    considers_overflows: bool,
}

impl Filled {
    /// The bins and sums of an object of a class that derives from `TH1`, without the fills that
    /// wait in its buffer.
    ///
    /// # Errors
    /// `Unsupported` for classes whose bins are no array; `Corrupt`.
    pub fn of(root: ObjectRef<'_>) -> Result<Filled> {
        let (place, bins) = bins(root)?;
        let found = axes(root)?;
        let growth = found.iter().map(|(_, axis)| Growth::of(*axis)).collect();
        let shown = found.iter().map(|(_, axis)| Shown::of(*axis)).collect();
        let axes = found
            .into_iter()
            .map(|(name, axis)| Bins::of(axis).map_err(|error| error.within(name)));
        let axes = axes.collect::<Result<Vec<Bins>>>()?;
        let is_profile = root.member("fBinEntries").is_some();
        let [low, high] = [["fYmin", "fYmax"], ["fZmin", "fZmax"], ["fTmin", "fTmax"]]
            .get(axes.len() - 1)
            .map_or([0.0; 2], |names| names.map(|name| real(root, name)));
        let bits = root.int("fBits")?;
        let sums = SUMS.into_iter().filter_map(|name| Some((name, number(root, name)?)));
        Ok(Filled {
            axes,
            growth,
            shown,
            place,
            bins,
            errors: extra(root, "fSumw2"),
            bin_entries: extra(root, "fBinEntries"),
            bin_errors: extra(root, "fBinSumw2"),
            sums: sums.collect(),
            is_profile,
            taken: [low, high],
            is_not_weighted: bits & IS_NOT_WEIGHTED != 0,
            considers_overflows: root
                .int("fStatOverflows")
                .is_ok_and(|it| it == CONSIDER_OVERFLOWS),
        })
    }

    /// Bins, those outside the axes included.
    ///
    /// # Errors
    /// `Limit` for more than a histogram has.
    pub fn cells(&self) -> Result<usize> {
        let count = self.axes.iter().try_fold(1usize, |all, axis| all.checked_mul(axis.cells()));
        let count = count.filter(|count| *count <= CELLS_MAX);
        count.ok_or_else(|| Error::limit("a histogram of too many bins"))
    }

    /// Whether every axis has limits: one of a histogram that is still to choose them has none.
    pub fn has_limits(&self) -> bool {
        self.axes.iter().take(self.looked_at()).all(Bins::has_limits)
    }

    /// How many axes decide: ROOT does not look at the third one of a profile.
    fn looked_at(&self) -> usize {
        if self.is_profile { 2 } else { 3 }
    }

    /// Gives every array as many cells as the axes have.
    ///
    /// # Errors
    /// As [`Filled::cells`].
    pub fn resize(&mut self) -> Result<()> {
        let count = self.cells()?;
        cells::extend(&mut self.bins, count);
        let profile = self.is_profile;
        for (all, is_there) in [
            (&mut self.errors, profile),
            (&mut self.bin_entries, profile),
            (&mut self.bin_errors, false),
        ] {
            if is_there || !all.is_empty() {
                all.resize(count, 0.0);
            }
        }
        Ok(())
    }

    pub fn sum(&self, name: &str) -> f64 {
        self.sums.iter().find(|(of, _)| *of == name).map_or(0.0, |(_, sum)| *sum)
    }

    /// Keeps squared weights from now on (ROOT: `TH1::Sumw2`, `TProfile::Sumw2`).
    pub fn keep_errors(&mut self) {
        // Those of profiles have a sign, as ROOT's.
        let (errors, contents) = match self.is_profile {
            true => (&mut self.bin_errors, self.bin_entries.clone()),
            false => (&mut self.errors, cells::sizes(&self.bins)),
        };
        if errors.is_empty() {
            *errors = contents;
        }
    }

    pub fn keeps_errors(&self) -> bool {
        !if self.is_profile { &self.bin_errors } else { &self.errors }.is_empty()
    }

    /// Fills in a value: its position on each axis, and behind that the value that a profile
    /// averages.
    ///
    /// # Errors
    /// `Corrupt` where the arrays are shorter than the axes say.
    pub fn fill(&mut self, value: &[f64], weight: f64) -> Result<()> {
        let dimensions = self.axes.len();
        let averaged = value.get(dimensions).copied().filter(|_| self.is_profile);
        let [low, high] = self.taken;
        if let Some(averaged) = averaged
            && low != high
            && !(averaged >= low && averaged <= high)
        {
            return Ok(());
        }
        self.add_to("fEntries", 1.0);
        let mut cell = 0;
        let mut stride = 1;
        let mut is_within = true;
        for (number, at) in value.iter().take(dimensions).enumerate() {
            let bin = self.find(number, *at)?;
            let axis = &self.axes[number];
            is_within &= bin > 0 && bin <= axis.count;
            cell += stride * bin;
            stride *= axis.cells();
        }
        if weight != 1.0 && !self.is_not_weighted {
            self.keep_errors();
        }
        let short = || Error::corrupt("arrays of a histogram that are shorter than its axes say");
        cells::add_one(&mut self.bins, cell, weight * averaged.unwrap_or(1.0)).ok_or_else(short)?;
        let square = averaged.map_or(weight * weight, |averaged| weight * averaged * averaged);
        for (all, number) in [
            (&mut self.errors, square),
            (&mut self.bin_entries, weight),
            (&mut self.bin_errors, weight * weight),
        ] {
            if !all.is_empty() {
                *all.get_mut(cell).ok_or_else(short)? += number;
            }
        }
        if is_within || self.considers_overflows {
            self.add_moments(&value[..dimensions], averaged, weight);
        }
        Ok(())
    }

    fn add_to(&mut self, name: &str, number: f64) {
        if let Some((_, sum)) = self.sums.iter_mut().find(|(of, _)| *of == name) {
            *sum += number;
        }
    }

    fn add_moments(&mut self, at: &[f64], averaged: Option<f64>, weight: f64) {
        let [x, y, z] = [0, 1, 2].map(|axis| at.get(axis).copied().unwrap_or_default());
        for (name, moment) in moments(weight, weight * weight, [x, y, z]) {
            self.add_to(name, moment);
        }
        if let (Some(averaged), Some([first, second])) = (averaged, self.averaged()) {
            self.add_to(first, weight * averaged);
            self.add_to(second, weight * averaged * averaged);
        }
    }

    /// Whether each bin was filled: a profile's with values of zero have entries and no content.
    pub fn cells_filled(&self) -> Vec<bool> {
        let contents = reals(&self.bins);
        let others = [&self.errors, &self.bin_entries, &self.bin_errors];
        let is_filled = |at: usize| {
            let others = others.iter().filter_map(|all| all.get(at));
            others.chain([&contents[at]]).any(|number| *number != 0.0)
        };
        (0..contents.len()).map(is_filled).collect()
    }

    /// Nothing was filled in.
    pub fn is_empty(&self) -> bool {
        self.sum("fEntries") == 0.0 && !self.cells_filled().contains(&true)
    }

    /// The sums. Of a histogram whose bins were set, not filled, and of one of which a part is
    /// shown, they are computed from the bins, as in ROOT's `GetStats`; an axis has no centres
    /// where its labels may be extended.
    pub fn statistics(&self, has_centres: impl Fn(usize) -> bool) -> Vec<(&'static str, f64)> {
        let mut all = self.sums.clone();
        // A profile may have fills outside its axes only.
        let is_set = self.sum("fTsumw") == 0.0 && (self.is_profile || self.sum("fEntries") > 0.0);
        if !is_set && self.shown.iter().take(self.looked_at()).all(Option::is_none) {
            return all;
        }
        all.iter_mut().filter(|(name, _)| *name != "fEntries").for_each(|(_, sum)| *sum = 0.0);
        let contents = reals(&self.bins);
        // Cells outside count in no profile of three axes.
        let counts_outside = self.considers_overflows && self.axes.len() <= self.looked_at();
        let cells = Cells { axes: &self.axes, shown: &self.shown, counts_outside };
        let mut found = moments(0.0, 0.0, [0.0; 3]);
        let mut averaged = [0.0; 2];
        for (at, content) in contents.iter().enumerate() {
            let Some(middle) = cells.middle(at, &has_centres) else { continue };
            let [weight, square] = self.weights(at, *content);
            let more = moments(weight, square, middle);
            found.iter_mut().zip(more).for_each(|((_, sum), (_, more))| *sum += more);
            averaged[0] += content;
            averaged[1] += self.errors.get(at).copied().unwrap_or_default();
        }
        let of_values =
            self.averaged().into_iter().flat_map(|names| names.into_iter().zip(averaged));
        for (name, more) in found.into_iter().chain(of_values) {
            all.iter_mut().filter(|(of, _)| *of == name).for_each(|(_, sum)| *sum += more);
        }
        all
    }

    /// The weights of a cell, and their squares.
    fn weights(&self, at: usize, content: f64) -> [f64; 2] {
        if self.is_profile {
            let weight = self.bin_entries.get(at).copied().unwrap_or_default();
            return [weight, self.bin_errors.get(at).copied().unwrap_or(weight)];
        }
        let square = match self.errors.get(at) {
            Some(square) => square.abs(),
            None => square_of(content, self.axes.len()),
        };
        [content, square]
    }

    /// The sums of a profile's averaged values: they have the letter of the next axis, which has
    /// no other sums.
    fn averaged(&self) -> Option<[&'static str; 2]> {
        let names = [["fTsumwy", "fTsumwy2"], ["fTsumwz", "fTsumwz2"], ["fTsumwt", "fTsumwt2"]];
        names.get(self.axes.len() - 1).copied().filter(|_| self.is_profile)
    }
}

/// The axes that a histogram has, as many as it has dimensions.
pub(crate) fn axes(histogram: ObjectRef<'_>) -> Result<Vec<(&'static str, ObjectRef<'_>)>> {
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

/// The object and the number of its member that have the bins, and the bins.
fn bins(histogram: ObjectRef<'_>) -> Result<((ObjectId, usize), Numbers)> {
    let found = BINS.into_iter().find_map(|class| {
        let array = histogram.base(class)?;
        let Some(Value::Numbers(numbers)) = array.member("fArray") else { return None };
        Some((histogram.base_position(class)?, numbers.clone()))
    });
    let class = histogram.class();
    found.ok_or_else(|| Error::unsupported(format!("the bins of an object of class {class}")))
}
