//! Fills that wait in a histogram until its limits are chosen (ROOT: `TH1::fBuffer`).
//!
//! ROOT empties the buffer into the bins when a program first looks at them (`BufferEmpty`): a file
//! may have a histogram with empty bins, and all of its entries here.

use super::axis::Bins;
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
/// Set in `TAxis::fBits2` of an axis that grows with what is filled.
const CAN_EXTEND: i64 = 1 << 1;

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
    can_extend: bool,
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
            let what = format!("{count} fills in a buffer of {} numbers", buffer.len());
            return Err(Error::corrupt(what));
        };
        let choice = |(_, axis): (&str, ObjectRef<'_>)| Choice {
            is_integer: axis.int("fBits").is_ok_and(|bits| bits & IS_INTEGER != 0),
            is_labelled: !matches!(axis.member("fLabels"), None | Some(Value::Null)),
            can_extend: axis.int("fBits2").is_ok_and(|bits| bits & CAN_EXTEND != 0),
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
    /// `Unsupported` where ROOT would extend an axis, or choose limits of powers of two.
    pub fn empty_into(&self, filled: &mut Filled) -> Result<()> {
        if self.fills.is_empty() {
            return Ok(());
        }
        if !filled.has_limits() {
            self.choose_limits(filled)?;
        }
        self.refuse_extension(filled)?;
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

    fn choose_limits(&self, filled: &mut Filled) -> Result<()> {
        if self.is_power_of_two {
            let what = "entries that wait for limits of powers of two (TH1::kAutoBinPTwo)";
            return Err(unsupported(what));
        }
        // Histograms of one axis leave out what is no number; all others compare as they go.
        let is_plain = filled.axes.len() == 1 && !filled.is_profile;
        for (number, axis) in filled.axes.iter_mut().enumerate() {
            let values = self.values(number).filter(|value| !is_plain || value.is_finite());
            let found = values.fold(None, |found: Option<[f64; 2]>, value| match found {
                None => Some([value, value]),
                Some([low, high]) => Some([
                    if value < low { value } else { low },
                    if value > high { value } else { high },
                ]),
            });
            let Some([mut low, mut high]) = found.filter(|all| all.iter().all(|n| n.is_finite()))
            else {
                return Err(unsupported("entries without finite values that wait for limits"));
            };
            let Choice { is_integer, is_labelled, .. } = self.axes[number];
            if low >= high && is_labelled {
                [low, high] = [0.0, axis.count as f64];
            } else if low >= high {
                [low, high] = [low - 1.0, high + 1.0];
            }
            let limits = limits::around(axis.count.max(1), low, high, is_integer);
            *axis =
                Bins { count: limits.bins, min: limits.min, max: limits.max, edges: Vec::new() };
        }
        filled.resize()
    }

    /// Refuses a fill outside an axis that grows.
    pub fn refuse_extension(&self, filled: &Filled) -> Result<()> {
        for (number, (axis, choice)) in filled.axes.iter().zip(&self.axes).enumerate() {
            let is_outside = |value: f64| !(value >= axis.min && value < axis.max);
            if choice.can_extend && self.values(number).any(is_outside) {
                return Err(unsupported("entries that wait for an axis to be extended"));
            }
        }
        Ok(())
    }
}

fn unsupported(what: &str) -> Error {
    let advice = "ROOT fills them in when it reads the histogram, and writes it without them then";
    Error::unsupported(format!("a histogram with {what}: {advice}"))
}

/// The buffer of a histogram that has one.
pub(crate) fn buffer_of(root: ObjectRef<'_>) -> Option<&[f64]> {
    match root.member("fBuffer") {
        Some(Value::Numbers(Numbers::F64(buffer))) if !buffer.is_empty() => Some(buffer),
        _ => None,
    }
}

/// Empties the buffers of all histograms among these objects, so that their members are those that
/// ROOT shows.
///
/// # Errors
/// As [`Waiting::of`] and [`Waiting::empty_into`].
pub(crate) fn empty_all(objects: &mut Objects) -> Result<()> {
    let waits = |object: ObjectRef<'_>| {
        buffer_of(object).is_some_and(|buffer| buffer[0] > 0.0) && object.base("TH1").is_some()
    };
    // Base classes, which have the buffer too, come behind what they are bases of.
    let mut inner: Vec<ObjectId> = Vec::new();
    let mut outer: Vec<ObjectId> = Vec::new();
    for object in objects.iter().filter(|object| waits(*object)) {
        if !inner.contains(&object.id) {
            outer.push(object.id);
        }
        let mut bases: Vec<ObjectId> = object.bases().collect();
        while let Some(base) = bases.pop() {
            inner.push(base);
            bases.extend(object.of(base).bases());
        }
    }
    for id in outer {
        if !inner.contains(&id) {
            let class = objects.get(id).class().to_owned();
            empty(objects, id).map_err(|error| error.within(&class))?;
        }
    }
    Ok(())
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
    for (axis, bins) in places.into_iter().zip(&filled.axes) {
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
