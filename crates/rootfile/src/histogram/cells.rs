//! Sums of bin contents in their own number type.

use crate::array::Numbers;
use crate::error::{Error, Result};
use crate::write::buffer::Buffer;

/// The numbers as `f64`; empty for types that bins do not have.
pub fn reals(numbers: &Numbers) -> Vec<f64> {
    match numbers {
        Numbers::I8(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Numbers::I16(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Numbers::I32(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Numbers::I64(all) => all.iter().map(|n| *n as f64).collect(),
        Numbers::F32(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Numbers::F64(all) => all.clone(),
        _ => Vec::new(),
    }
}

/// Adds number `i` of `more` to number `place(i)` of `sum`, or skips it where that is `None`.
/// Integers stop at their type's limits, as in ROOT.
///
/// # Errors
/// `Unsupported` where the types differ, or `sum` has too few numbers.
pub fn add(
    sum: &mut Numbers,
    more: &Numbers,
    place: impl Fn(usize) -> Option<usize>,
) -> Result<()> {
    fn each<T: Copy>(
        sum: &mut [T],
        more: &[T],
        place: impl Fn(usize) -> Option<usize>,
        add: impl Fn(T, T) -> T,
    ) -> Result<()> {
        for (at, more) in more.iter().enumerate() {
            let Some(place) = place(at) else { continue };
            let other = || Error::unsupported("another number of bins than in the first input");
            let sum = sum.get_mut(place).ok_or_else(other)?;
            *sum = add(*sum, *more);
        }
        Ok(())
    }
    match (sum, more) {
        (Numbers::I8(sum), Numbers::I8(more)) => {
            each(sum, more, place, |a, b| a.saturating_add(b).max(-i8::MAX))
        }
        (Numbers::I16(sum), Numbers::I16(more)) => {
            each(sum, more, place, |a, b| a.saturating_add(b).max(-i16::MAX))
        }
        (Numbers::I32(sum), Numbers::I32(more)) => {
            each(sum, more, place, |a, b| a.saturating_add(b).max(-i32::MAX))
        }
        (Numbers::I64(sum), Numbers::I64(more)) => {
            each(sum, more, place, |a, b| a.saturating_add(b).max(-i64::MAX))
        }
        (Numbers::F32(sum), Numbers::F32(more)) => each(sum, more, place, |a, b| a + b),
        (Numbers::F64(sum), Numbers::F64(more)) => each(sum, more, place, |a, b| a + b),
        _ => Err(Error::unsupported("bins of another type than in the first input")),
    }
}

/// A number as C++ converts it to an `Int_t` on today's machines: a number that does not fit
/// becomes the least one.
fn int(number: f64) -> i32 {
    let fits = number > -2_147_483_649.0 && number < 2_147_483_648.0;
    if fits { number as i32 } else { i32::MIN }
}

/// The same for a `Long64_t`.
fn long(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}

/// The sizes of numbers: squares of errors of contents without sums of squared weights.
pub fn sizes(numbers: &Numbers) -> Vec<f64> {
    reals(numbers).into_iter().map(f64::abs).collect()
}

/// Adds a number to that at a place, as [`add`] does; `None` where there is no such place.
pub fn add_one(sum: &mut Numbers, at: usize, more: f64) -> Option<()> {
    match sum {
        Numbers::I8(all) => {
            let cell = all.get_mut(at)?;
            *cell = i32::from(*cell).wrapping_add(int(more)).clamp(-127, 127) as i8;
        }
        Numbers::I16(all) => {
            let cell = all.get_mut(at)?;
            *cell = i32::from(*cell).wrapping_add(int(more)).clamp(-32767, 32767) as i16;
        }
        Numbers::I32(all) => {
            let cell = all.get_mut(at)?;
            let most = i64::from(i32::MAX);
            *cell = i64::from(*cell).wrapping_add(long(more)).clamp(-most, most) as i32;
        }
        Numbers::I64(all) => {
            let cell = all.get_mut(at)?;
            *cell = cell.saturating_add(long(more)).max(-i64::MAX);
        }
        Numbers::F32(all) => *all.get_mut(at)? += more as f32,
        Numbers::F64(all) => *all.get_mut(at)? += more,
        _ => return None,
    }
    Some(())
}

/// `count` zeros of the type of `like`.
///
/// # Errors
/// `Unsupported` for types that bins do not have.
pub fn zeros(like: &Numbers, count: usize) -> Result<Numbers> {
    Ok(match like {
        Numbers::I8(_) => Numbers::I8(vec![0; count]),
        Numbers::I16(_) => Numbers::I16(vec![0; count]),
        Numbers::I32(_) => Numbers::I32(vec![0; count]),
        Numbers::I64(_) => Numbers::I64(vec![0; count]),
        Numbers::F32(_) => Numbers::F32(vec![0.0; count]),
        Numbers::F64(_) => Numbers::F64(vec![0.0; count]),
        _ => return Err(Error::unsupported("bins of an unusual type")),
    })
}

macro_rules! each {
    ($numbers:expr, $all:ident => $made:expr) => {
        match $numbers {
            Numbers::I8($all) => $made,
            Numbers::I16($all) => $made,
            Numbers::I32($all) => $made,
            Numbers::I64($all) => $made,
            Numbers::F32($all) => $made,
            Numbers::F64($all) => $made,
            _ => {}
        }
    };
}

/// The first `count` numbers; `None` where there are fewer.
pub fn first(numbers: &Numbers, count: usize) -> Option<Numbers> {
    let mut all = numbers.clone();
    each!(&mut all, all => all.truncate(count));
    (all.len() == count).then_some(all)
}

/// Appends zeros up to `count` numbers.
pub fn extend(numbers: &mut Numbers, count: usize) {
    each!(numbers, all => all.resize(count, Default::default()));
}

/// The bytes of a `TArray` or a vector: the number of elements, then these.
pub fn array_of(numbers: &Numbers) -> Buffer {
    let mut to = Buffer::default();
    to.u32(numbers.len() as u32);
    match numbers {
        Numbers::I8(all) => all.iter().for_each(|n| to.i8(*n)),
        Numbers::I16(all) => all.iter().for_each(|n| to.i16(*n)),
        Numbers::I32(all) => all.iter().for_each(|n| to.i32(*n)),
        Numbers::I64(all) => all.iter().for_each(|n| to.i64(*n)),
        Numbers::F32(all) => all.iter().for_each(|n| to.f32(*n)),
        Numbers::F64(all) => all.iter().for_each(|n| to.f64(*n)),
        _ => {}
    }
    to
}

/// Adds `more` to `sum` as [`add`] does. Either may be empty: `without` has the numbers to take
/// instead, first for `sum`.
///
/// # Errors
/// `Corrupt` where `sum` has too few numbers.
pub fn add_extra(
    sum: &mut Vec<f64>,
    more: &[f64],
    without: (&[f64], &[f64]),
    place: impl Fn(usize) -> Option<usize>,
) -> Result<()> {
    let other = match (sum.is_empty(), more.is_empty()) {
        (true, true) => return Ok(()),
        (true, false) => {
            *sum = without.0.to_vec();
            more
        }
        (false, true) => without.1,
        (false, false) => more,
    };
    for (at, more) in other.iter().enumerate() {
        let Some(place) = place(at) else { continue };
        let other = || Error::corrupt("arrays of a histogram that are not of one length");
        *sum.get_mut(place).ok_or_else(other)? += more;
    }
    Ok(())
}
