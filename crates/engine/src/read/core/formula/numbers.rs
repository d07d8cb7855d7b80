//! Types of numbers as NumPy has them (NEP 50), and numbers as those of one type.

use std::borrow::Cow;

use rootfile::Numbers;
use rootfile::array::Number;

/// A result, or why there is none: the end of a sentence that begins with the formula.
pub(super) type Computed<T> = Result<T, String>;

/// One side of an operation on numbers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side<'a> {
    /// Python's number, which takes the type of the other side.
    Int(i128),
    Float(f64),
    Bool(bool),
    All(&'a Numbers),
}

/// Numbers of one type, or one number for all.
#[derive(Debug, Clone)]
pub(super) enum Typed<'a, T: Copy> {
    One(T),
    All(Cow<'a, [T]>),
}

/// Runs the same expression for the vector of whichever type it is.
macro_rules! for_any {
    ($numbers:expr, $vec:ident => $body:expr) => {
        match $numbers {
            Numbers::Bool($vec) => $body,
            Numbers::I8($vec) => $body,
            Numbers::I16($vec) => $body,
            Numbers::I32($vec) => $body,
            Numbers::I64($vec) => $body,
            Numbers::U8($vec) => $body,
            Numbers::U16($vec) => $body,
            Numbers::U32($vec) => $body,
            Numbers::U64($vec) => $body,
            Numbers::F32($vec) => $body,
            Numbers::F64($vec) => $body,
        }
    };
}
pub(super) use for_any;

/// A type to which numbers of any type are converted, as C does.
pub(super) trait Cast: Copy + PartialOrd {
    fn cast(side: Side<'_>) -> Typed<'_, Self>;

    fn numbers(all: Vec<Self>) -> Numbers;
}

macro_rules! casts {
    ($($kind:ident $type:ty),*) => {$(
        impl Cast for $type {
            fn cast(side: Side<'_>) -> Typed<'_, Self> {
                match side {
                    Side::Int(one) => Typed::One(one as $type),
                    Side::Float(one) => Typed::One(one as $type),
                    Side::Bool(one) => Typed::One(u8::from(one) as $type),
                    Side::All(Numbers::$kind(all)) => Typed::All(Cow::Borrowed(all)),
                    Side::All(all) => {
                        Typed::All(for_any!(all, all => all.iter().map(|one| *one as $type).collect()))
                    }
                }
            }

            fn numbers(all: Vec<Self>) -> Numbers {
                Numbers::$kind(all)
            }
        }
    )*};
}

casts!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64);

impl<T: Copy> Typed<'_, T> {
    pub fn map<R>(&self, each: impl Fn(T) -> R) -> Vec<R> {
        match self {
            Typed::One(one) => vec![each(*one)],
            Typed::All(all) => all.iter().map(|one| each(*one)).collect(),
        }
    }

    /// Of pairs, as many as there are; one of two constants.
    pub fn zip<R>(&self, other: &Typed<'_, T>, each: impl Fn(T, T) -> R) -> Vec<R> {
        match (self, other) {
            (left, Typed::One(b)) => left.map(|a| each(a, *b)),
            (Typed::One(a), right) => right.map(|b| each(*a, b)),
            (Typed::All(left), Typed::All(right)) => {
                left.iter().zip(right.iter()).map(|(a, b)| each(*a, *b)).collect()
            }
        }
    }

    pub fn at(&self, place: usize) -> T {
        match self {
            Typed::One(one) => *one,
            Typed::All(all) => all[place],
        }
    }

    pub fn any(&self, is: impl Fn(T) -> bool) -> bool {
        match self {
            Typed::One(one) => is(*one),
            Typed::All(all) => all.iter().any(|one| is(*one)),
        }
    }
}

impl Side<'_> {
    /// Which of them are not zero.
    pub fn truths(self) -> Typed<'static, bool> {
        match self {
            Side::Int(one) => Typed::One(one != 0),
            Side::Float(one) => Typed::One(one != 0.0),
            Side::Bool(one) => Typed::One(one),
            Side::All(all) => Typed::All(Cow::Owned(for_any!(all, all => nonzero(all)))),
        }
    }

    /// How many; `None` of a constant.
    pub fn len(self) -> Option<usize> {
        match self {
            Side::All(all) => Some(all.len()),
            _ => None,
        }
    }
}

fn nonzero<T: Copy + Default + PartialEq>(all: &[T]) -> Vec<bool> {
    all.iter().map(|one| *one != T::default()).collect()
}

pub(super) fn is_float(number: Number) -> bool {
    matches!(number, Number::F32 | Number::F64)
}

pub(super) fn is_signed(number: Number) -> bool {
    matches!(number, Number::I8 | Number::I16 | Number::I32 | Number::I64)
}

/// The least and the greatest number of a type of integers.
fn limits(number: Number) -> (i128, i128) {
    let bits = 8 * number.size() as u32;
    match is_signed(number) {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    }
}

/// The type that holds the numbers of both.
pub(super) fn promoted(one: Number, other: Number) -> Number {
    use Number::{Bool, F32, F64, I16, I32, I64};
    match (one, other) {
        (one, other) if one == other => one,
        (Bool, number) | (number, Bool) => number,
        (F64, _) | (_, F64) => F64,
        (F32, number) | (number, F32) if is_float(number) || number.size() < 4 => F32,
        (F32, _) | (_, F32) => F64,
        (one, other) if is_signed(one) == is_signed(other) => {
            if one.size() > other.size() {
                one
            } else {
                other
            }
        }
        (one, other) => {
            let (signed, unsigned) = if is_signed(one) { (one, other) } else { (other, one) };
            match unsigned.size() {
                size if signed.size() > size => signed,
                1 => I16,
                2 => I32,
                4 => I64,
                _ => F64,
            }
        }
    }
}

/// The type that these have together. Constants have none beside numbers.
pub(super) fn common(sides: &[Side<'_>]) -> Number {
    let typed = sides.iter().filter_map(|side| match side {
        Side::All(numbers) => Some(Number::of(numbers)),
        Side::Bool(_) => Some(Number::Bool),
        Side::Int(_) | Side::Float(_) => None,
    });
    let Some(mut number) = typed.reduce(promoted) else {
        let is_float = sides.iter().any(|side| matches!(side, Side::Float(_)));
        return if is_float { Number::F64 } else { Number::I64 };
    };
    for side in sides {
        match side {
            Side::Float(_) if !is_float(number) => number = Number::F64,
            Side::Int(_) if number == Number::Bool => number = Number::I64,
            _ => {}
        }
    }
    number
}

/// The type in which these are computed with.
///
/// # Errors
/// Where an integer is outside of it.
pub(super) fn holding(sides: &[Side<'_>]) -> Computed<Number> {
    let number = common(sides);
    for side in sides {
        let Side::Int(one) = side else { continue };
        let (least, most) = if is_float(number) { (i128::MIN, i128::MAX) } else { limits(number) };
        if !(least..=most).contains(one) {
            let dtype = number.empty().dtype();
            return Err(format!("has {one} beside numbers of {dtype}, which cannot hold it"));
        }
    }
    Ok(number)
}
