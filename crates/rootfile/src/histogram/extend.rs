//! Axes that grow with the values filled in (ROOT: `TH1::ExtendAxis`,
//! `TProfileHelper::ExtendAxis`).

use super::axis::Bins;
use super::cells::{self, reals};
use super::filled::Filled;
use crate::error::{Error, Result};
use crate::object::ObjectRef;

/// Set in `TAxis::fBits2` of an axis that grows with the values filled in.
const CAN_EXTEND: i64 = 1 << 1;
/// Set there where bins are found by their labels.
const IS_ALPHANUMERIC: i64 = 1;

/// Whether an axis grows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Growth {
    pub can_extend: bool,
    /// By labels only: numbers outside stay there.
    pub is_alphanumeric: bool,
}

impl Growth {
    pub fn of(axis: ObjectRef<'_>) -> Growth {
        let bits = axis.int("fBits2").unwrap_or_default();
        Growth { can_extend: bits & CAN_EXTEND != 0, is_alphanumeric: bits & IS_ALPHANUMERIC != 0 }
    }

    /// Other bits for an axis that does not grow any more.
    pub fn other_bits(self, axis: ObjectRef<'_>) -> Option<i64> {
        let bits = axis.int("fBits2").ok()?;
        (bits & CAN_EXTEND != 0 && !self.can_extend).then_some(bits & !CAN_EXTEND)
    }
}

impl Filled {
    /// The bin of a value on an axis, which grows to have it where it can (ROOT:
    /// `TAxis::FindBin`).
    ///
    /// # Errors
    /// As [`Filled::extend`].
    pub fn find(&mut self, number: usize, value: f64) -> Result<usize> {
        let axis = &self.axes[number];
        let is_within = value >= axis.min && value < axis.max;
        if !is_within && !self.growth[number].is_alphanumeric {
            self.extend(number, value)?;
        }
        Ok(self.axes[number].find(value))
    }

    /// Doubles the range of an axis that can be extended until a value is within, as ROOT does:
    /// fills outside of the axis before are lost. NaN ends the growth of histograms, not that of
    /// profiles.
    ///
    /// # Errors
    /// `Corrupt` where arrays are shorter than the axes say.
    pub fn extend(&mut self, number: usize, value: f64) -> Result<()> {
        if !self.growth[number].can_extend {
            return Ok(());
        }
        if value.is_nan() {
            let grows = self.is_profile;
            self.growth.iter_mut().for_each(|growth| growth.can_extend &= grows);
            return Ok(());
        }
        let Some([min, max]) = self.axes[number].doubled(value) else { return Ok(()) };
        let before = self.axes.clone();
        let axis = &mut self.axes[number];
        (axis.min, axis.max) = (min, max);
        self.move_cells(&before, number)
    }

    /// Moves each cell of the axes of before to where its middle is now.
    fn move_cells(&mut self, before: &[Bins], number: usize) -> Result<()> {
        let short = || Error::corrupt("arrays of a histogram that are shorter than its axes say");
        let count = self.bins.len();
        let old = self.clone();
        let contents = reals(&old.bins);
        self.bins = cells::zeros(&old.bins, count)?;
        for all in [&mut self.errors, &mut self.bin_entries, &mut self.bin_errors] {
            all.fill(0.0);
        }
        for (at, content) in contents.iter().enumerate() {
            let mut rest = at;
            let mut place = 0;
            let mut stride = 1;
            let mut is_inside = true;
            for (index, (then, now)) in before.iter().zip(&self.axes).enumerate() {
                let bin = rest % then.cells();
                rest /= then.cells();
                let is_bin = bin > 0 && bin <= then.count;
                is_inside &= is_bin || index != number;
                place += stride * now.find(then.centre(bin));
                stride *= now.cells();
            }
            let filled = if self.is_profile { old.bin_entries.get(at) } else { Some(content) };
            if !is_inside || filled.is_none_or(|filled| *filled == 0.0) {
                continue;
            }
            cells::add_one(&mut self.bins, place, *content).ok_or_else(short)?;
            for (all, old) in [
                (&mut self.errors, &old.errors),
                (&mut self.bin_entries, &old.bin_entries),
                (&mut self.bin_errors, &old.bin_errors),
            ] {
                if !all.is_empty() {
                    let number = old.get(at).ok_or_else(short)?;
                    *all.get_mut(place).ok_or_else(short)? += number;
                }
            }
        }
        Ok(())
    }
}
