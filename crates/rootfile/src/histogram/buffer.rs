//! Fills that wait in a histogram until its limits are chosen (ROOT: `TH1::fBuffer`).
//!
//! ROOT empties the buffer into the bins when a program first looks at them (`BufferEmpty`): a file
//! may have a histogram with empty bins, and all of its entries here.

use std::collections::BTreeSet;

use super::axis::{Bins, Shown};
use super::filled::{Filled, axes};
use super::limits;
use super::members::{extra, set_extra};
use crate::array::Numbers;
use crate::error::{Error, Result};
use crate::object::{ObjectId, ObjectRef, Objects, Value};

/// The bit of an axis whose bins are to have a whole width (ROOT: `TAxis::kIsInteger`).
const IS_INTEGER: i64 = 1 << 22;
/// The bit of histograms with limits of powers of two (ROOT: `TH1::kAutoBinPTwo`).
const IS_POWER_OF_TWO: i64 = 1 << 20;

/// The fills that wait in a histogram.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Waiting {
    /// Weight and place of each fill, one behind the other.
    pub fills: Vec<f64>,
    /// Numbers of a fill.
    pub stride: usize,
    /// Numbers that the buffer has room for.
    pub room: usize,
    axes: Vec<Choice>,
    is_power_of_two: bool,
}

/// How an axis may get limits.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Choice {
    is_integer: bool,
    is_labelled: bool,
}

impl Waiting {
    /// The fills that wait; `None` where there is no buffer, or it was emptied into the bins.
    ///
    /// # Errors
    /// `Corrupt` for a buffer that is shorter than it says.
    pub fn of(root: ObjectRef<'_>, filled: &Filled) -> Result<Option<Waiting>> {
        let Some(buffer) = buffer_of(root) else { return Ok(None) };
        let stride = 1 + filled.axes.len() + usize::from(filled.is_profile);
        let count = buffer.first().copied().unwrap_or_default();
        if count < 0.0 {
            return Ok(None);
        }
        let count = count as usize;
        let fills = count.checked_mul(stride).and_then(|len| buffer.get(1..1 + len));
        let Some(fills) = fills else {
            let message = format!("{count} fills in a buffer of {} numbers", buffer.len());
            return Err(Error::corrupt(message));
        };
        let choice = |(_, axis): (&str, ObjectRef<'_>)| Choice {
            is_integer: axis.int("fBits").is_ok_and(|bits| bits & IS_INTEGER != 0),
            is_labelled: !matches!(axis.member("fLabels"), None | Some(Value::Null)),
        };
        Ok(Some(Waiting {
            fills: fills.to_vec(),
            stride,
            room: buffer.len(),
            axes: axes(root)?.into_iter().map(choice).collect(),
            is_power_of_two: root.int("fBits")? & IS_POWER_OF_TWO != 0,
        }))
    }

    /// Fills all of it into the bins, between limits that are chosen where an axis has none.
    ///
    /// # Errors
    /// `Corrupt` where arrays are shorter than the axes say; `Limit` for too many bins.
    pub fn empty_into(&self, filled: &mut Filled) -> Result<()> {
        if self.fills.is_empty() {
            return Ok(());
        }
        match filled.has_limits() {
            true => self.extend(filled)?,
            false => self.choose_limits(filled)?,
        }
        for fill in self.fills.chunks_exact(self.stride) {
            filled.fill(&fill[1..], fill[0])?;
        }
        Ok(())
    }

    /// Takes as many fills of another histogram as there is room for, and gives back the rest.
    pub fn take(&mut self, mut more: Waiting) -> Waiting {
        let room = self.room.saturating_sub(1 + self.fills.len()) / self.stride * self.stride;
        let rest = more.fills.split_off(room.min(more.fills.len()));
        self.fills.append(&mut more.fills);
        Waiting { fills: rest, ..more }
    }

    /// The numbers of the buffer, the number of fills first.
    pub fn numbers(&self) -> Vec<f64> {
        let mut all = vec![(self.fills.len() / self.stride) as f64];
        all.extend(&self.fills);
        all.resize(self.room.max(all.len()), 0.0);
        all
    }

    fn values(&self, axis: usize) -> impl Iterator<Item = f64> {
        self.fills.chunks_exact(self.stride).map(move |fill| fill[1 + axis])
    }

    /// The least and the largest value of an axis, as ROOT compares them.
    fn reach(&self, number: usize, is_plain: bool) -> [f64; 2] {
        // Histograms of one axis leave out values that are not finite; all others begin with the
        // first value, whatever it is.
        let first = match is_plain {
            true => [f64::INFINITY, f64::NEG_INFINITY],
            false => self.values(number).next().map_or([0.0; 2], |value| [value; 2]),
        };
        let values = self.values(number).filter(|value| !is_plain || value.is_finite());
        values.fold(first, |[low, high], value| {
            [if value < low { value } else { low }, if value > high { value } else { high }]
        })
    }

    fn choose_limits(&self, filled: &mut Filled) -> Result<()> {
        let is_plain = filled.axes.len() == 1 && !filled.is_profile;
        // Axes with limits keep them, but for those of profiles.
        let is_profile = filled.is_profile;
        let is_kept = |axis: &Bins| !is_profile && axis.has_limits();
        let all_grow = filled.growth.iter().all(|growth| growth.can_extend);
        for (number, axis) in filled.axes.iter_mut().enumerate() {
            if is_kept(axis) {
                if all_grow {
                    self.widen(number, axis)?;
                }
                continue;
            }
            let [mut low, mut high] = self.reach(number, is_plain);
            let Choice { is_integer, is_labelled } = self.axes[number];
            let count = axis.count.max(1);
            let powers = match is_plain && self.is_power_of_two {
                true => limits::of_powers(count, low, high, is_integer),
                false => None,
            };
            if low >= high && is_labelled {
                [low, high] = [0.0, axis.count as f64];
            } else if low >= high {
                [low, high] = [low - 1.0, high + 1.0];
            }
            let limits = powers.unwrap_or_else(|| limits::around(count, low, high, is_integer));
            *axis =
                Bins { count: limits.bins, min: limits.min, max: limits.max, edges: Vec::new() };
        }
        // Axes that keep theirs are set, too, in the same call of ROOT's.
        filled.shown.fill(None);
        filled.resize()
    }

    /// Moves limits to the least and the largest value, as ROOT does beside an axis without limits
    /// where all grow: the first value does not count.
    fn widen(&self, number: usize, axis: &mut Bins) -> Result<()> {
        for value in self.values(number).skip(1) {
            if value.is_infinite() {
                let message =
                    "an infinite value waits in a histogram, which ROOT takes for a limit";
                return Err(Error::unsupported(format!("axis {number}: {message}")));
            }
            axis.min = if value < axis.min { value } else { axis.min };
            axis.max = if value > axis.max { value } else { axis.max };
        }
        Ok(())
    }

    /// Extends axes to the least and the largest value first, where all of them grow.
    fn extend(&self, filled: &mut Filled) -> Result<()> {
        if !filled.growth.iter().all(|growth| growth.can_extend) {
            return Ok(());
        }
        let is_plain = filled.axes.len() == 1 && !filled.is_profile;
        for number in 0..filled.axes.len() {
            let [low, high] = self.reach(number, is_plain);
            if low < filled.axes[number].min {
                filled.extend(number, low)?;
            }
            if high >= filled.axes[number].max {
                filled.extend(number, high)?;
            }
        }
        Ok(())
    }
}

/// The buffer of a histogram that has one.
pub(crate) fn buffer_of(root: ObjectRef<'_>) -> Option<&[f64]> {
    match root.member("fBuffer") {
        Some(Value::Numbers(Numbers::F64(buffer))) if !buffer.is_empty() => Some(buffer),
        _ => None,
    }
}

/// Empties the buffers of all histograms among these objects, so that their members are those that
/// ROOT shows. A histogram whose buffer cannot be emptied becomes one that is not read.
pub(crate) fn empty_all(objects: &mut Objects) {
    let waits = |object: ObjectRef<'_>| {
        buffer_of(object).is_some_and(|buffer| buffer[0] > 0.0) && object.base("TH1").is_some()
    };
    // Base classes, which have the buffer too, come behind the objects that they are bases of.
    let mut inner: BTreeSet<ObjectId> = BTreeSet::new();
    let mut outer: Vec<ObjectId> = Vec::new();
    for object in objects.iter().filter(|object| waits(*object)) {
        if !inner.contains(&object.id) {
            outer.push(object.id);
        }
        let mut bases: Vec<ObjectId> = object.bases().collect();
        while let Some(base) = bases.pop() {
            inner.insert(base);
            bases.extend(object.of(base).bases());
        }
    }
    for id in outer.into_iter().filter(|id| !inner.contains(id)) {
        if let Err(why) = empty(objects, id) {
            objects.set_unread(id, why);
        }
    }
}

fn empty(objects: &mut Objects, id: ObjectId) -> Result<()> {
    let root = objects.get(id);
    let mut filled = Filled::of(root)?;
    let Some(waiting) = Waiting::of(root, &filled)? else { return Ok(()) };
    waiting.empty_into(&mut filled)?;
    let places: Vec<ObjectId> = axes(root)?.into_iter().map(|(_, axis)| axis.id).collect();
    let arrays = ["fSumw2", "fBinEntries", "fBinSumw2"].map(|name| {
        let array = root.member(name).and_then(|_| root.pointed(name).ok().flatten());
        (name, array.map(|array| array.id))
    });
    let mut buffer = buffer_of(root).map(<[f64]>::to_vec).unwrap_or_default();
    let count = (waiting.fills.len() / waiting.stride) as f64;
    // As ROOT marks a buffer that is in the bins: with a count below zero.
    buffer[0] = if filled.sum("fEntries").trunc() == count { -count } else { 0.0 };
    let cells = filled.bins.len();
    for (number, (axis, bins)) in places.into_iter().zip(&filled.axes).enumerate() {
        if let Some(bits) = filled.growth[number].other_bits(objects.get(axis)) {
            objects.set(axis, "fBits2", Value::Int(bits));
        }
        if let Some(bits) = Shown::other_bits(filled.shown[number], objects.get(axis)) {
            ["fFirst", "fLast"].into_iter().for_each(|name| objects.set(axis, name, Value::Int(0)));
            objects.set(axis, "fBits", Value::Int(bits));
        }
        objects.set(axis, "fNbins", Value::Int(bins.count as i64));
        objects.set(axis, "fXmin", Value::Float(bins.min));
        objects.set(axis, "fXmax", Value::Float(bins.max));
        if bins.edges.is_empty() && !extra(objects.get(axis), "fXbins").is_empty() {
            set_extra(objects, axis, "fXbins", Vec::new());
        }
    }
    for (name, sum) in &filled.sums {
        objects.set(id, name, Value::Float(*sum));
    }
    let kept = [filled.errors, filled.bin_entries, filled.bin_errors];
    for ((_, array), numbers) in arrays.into_iter().zip(kept) {
        if let Some(array) = array {
            objects.set(array, "fArray", Value::Numbers(Numbers::F64(numbers)));
        }
    }
    objects.set(id, "fNcells", Value::Int(cells as i64));
    objects.set(id, "fBuffer", Value::Numbers(Numbers::F64(buffer)));
    objects.set(id, "fArray", Value::Numbers(filled.bins));
    Ok(())
}
