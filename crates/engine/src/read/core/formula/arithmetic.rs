//! Operators on numbers, with the rules of NumPy.

use std::cmp::Ordering;

use rootfile::Numbers;
use rootfile::array::Number;

use super::node::Operator;
use super::numbers::{Cast, Computed, Side, Typed, common, holding, is_float};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unary {
    Minus,
    Plus,
    Invert,
    Absolute,
}

impl Binary {
    /// As it is written.
    pub fn of(operator: Operator) -> Option<Self> {
        Some(match operator {
            "+" => Binary::Add,
            "-" => Binary::Subtract,
            "*" => Binary::Multiply,
            "/" => Binary::Divide,
            "//" => Binary::FloorDivide,
            "%" => Binary::Remainder,
            "**" => Binary::Power,
            "&" => Binary::And,
            "|" => Binary::Or,
            "^" => Binary::Xor,
            "<<" => Binary::ShiftLeft,
            ">>" => Binary::ShiftRight,
            "<" => Binary::Less,
            "<=" => Binary::LessEqual,
            ">" => Binary::Greater,
            ">=" => Binary::GreaterEqual,
            "==" => Binary::Equal,
            "!=" => Binary::NotEqual,
            _ => return None,
        })
    }

    pub fn compares(self) -> bool {
        use Binary::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        matches!(self, Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual)
    }

    /// Whether it is true of two values in this order; `None` where they have none.
    pub fn holds(self, order: Option<Ordering>) -> bool {
        match self {
            Binary::Less => order == Some(Ordering::Less),
            Binary::LessEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Binary::Greater => order == Some(Ordering::Greater),
            Binary::GreaterEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
            Binary::Equal => order == Some(Ordering::Equal),
            _ => order != Some(Ordering::Equal),
        }
    }
}

impl Unary {
    /// As it is written.
    pub fn of(operator: Operator) -> Option<Self> {
        Some(match operator {
            "-" | "neg" => Unary::Minus,
            "+" => Unary::Plus,
            "~" => Unary::Invert,
            "abs" | "absolute" => Unary::Absolute,
            _ => return None,
        })
    }
}

/// Runs the same expression with `$type` as the type of whole numbers that `$number` is.
macro_rules! of_whole {
    ($number:expr, $type:ident => $body:expr, $otherwise:expr) => {
        match $number {
            Number::I8 => {
                type $type = i8;
                $body
            }
            Number::I16 => {
                type $type = i16;
                $body
            }
            Number::I32 => {
                type $type = i32;
                $body
            }
            Number::I64 => {
                type $type = i64;
                $body
            }
            Number::U8 => {
                type $type = u8;
                $body
            }
            Number::U16 => {
                type $type = u16;
                $body
            }
            Number::U32 => {
                type $type = u32;
                $body
            }
            Number::U64 => {
                type $type = u64;
                $body
            }
            _ => $otherwise,
        }
    };
}
pub(super) use of_whole;

/// An operator between numbers.
pub(super) fn binary(operation: Binary, left: Side<'_>, right: Side<'_>) -> Computed<Numbers> {
    if operation.compares() {
        return Ok(truths(compared(operation, left, right)));
    }
    let number = match (common(&[left, right]), operation) {
        (number, Binary::Divide) if !is_float(number) => Number::F64,
        (Number::Bool, Binary::Add | Binary::Or) => return bools(left, right, |a, b| a | b),
        (Number::Bool, Binary::Multiply | Binary::And) => return bools(left, right, |a, b| a & b),
        (Number::Bool, Binary::Xor) => return bools(left, right, |a, b| a ^ b),
        (Number::Bool, Binary::Subtract) => {
            return Err("subtracts true or false: ^ tells where they differ".to_owned());
        }
        (Number::Bool, _) => Number::I8,
        _ => holding(&[left, right])?,
    };
    of_whole!(number, T => T::whole(operation, &T::cast(left), &T::cast(right)).map(T::numbers), {
        match number {
            Number::F32 => f32::float(operation, &f32::cast(left), &f32::cast(right)),
            _ => f64::float(operation, &f64::cast(left), &f64::cast(right)),
        }
    })
}

/// A sign before numbers.
pub(super) fn unary(operation: Unary, side: Side<'_>) -> Computed<Numbers> {
    let number = common(&[side]);
    match (number, operation) {
        (Number::Bool, Unary::Invert) => return Ok(truths(side.truths().map(|one| !one))),
        (Number::Bool, Unary::Absolute) => return Ok(truths(side.truths().map(|one| one))),
        (Number::Bool, _) => return Err("has a sign of true or false: ~ is their contrary".into()),
        (number, Unary::Invert) if is_float(number) => {
            return Err(format!("has ~ of {}", number.empty().dtype()));
        }
        _ => {}
    }
    Ok(of_whole!(number, T => T::numbers(T::cast(side).map(|one| T::signed(operation, one))), {
        match (number, operation) {
            (Number::F32, Unary::Minus) => f32::numbers(f32::cast(side).map(|one| -one)),
            (Number::F32, Unary::Absolute) => f32::numbers(f32::cast(side).map(f32::abs)),
            (Number::F32, _) => f32::numbers(f32::cast(side).map(|one| one)),
            (_, Unary::Minus) => f64::numbers(f64::cast(side).map(|one| -one)),
            (_, Unary::Absolute) => f64::numbers(f64::cast(side).map(f64::abs)),
            _ => f64::numbers(f64::cast(side).map(|one| one)),
        }
    }))
}

/// True and false as numbers.
pub(super) fn truths(all: Vec<bool>) -> Numbers {
    Numbers::Bool(all.into_iter().map(u8::from).collect())
}

fn bools(left: Side<'_>, right: Side<'_>, each: fn(bool, bool) -> bool) -> Computed<Numbers> {
    Ok(truths(left.truths().zip(&right.truths(), each)))
}

/// Integers are compared exactly, whatever their types; with floats in the common type of both.
fn compared(operation: Binary, left: Side<'_>, right: Side<'_>) -> Vec<bool> {
    fn of<T: Cast>(operation: Binary, left: Side<'_>, right: Side<'_>) -> Vec<bool> {
        let left = T::cast(left);
        let right = T::cast(right);
        match operation {
            Binary::Less => left.zip(&right, |a, b| a < b),
            Binary::LessEqual => left.zip(&right, |a, b| a <= b),
            Binary::Greater => left.zip(&right, |a, b| a > b),
            Binary::GreaterEqual => left.zip(&right, |a, b| a >= b),
            Binary::Equal => left.zip(&right, |a, b| a == b),
            _ => left.zip(&right, |a, b| a != b),
        }
    }
    match holding(&[left, right]) {
        Ok(Number::F32) => return of::<f32>(operation, left, right),
        Ok(Number::Bool) => return of::<u8>(operation, left, right),
        // Of integers only those of 64 bits, with and without a sign.
        Ok(Number::F64) if is_whole(left) && is_whole(right) => {}
        Ok(Number::F64) => return of::<f64>(operation, left, right),
        Ok(number) => return of_whole!(number, T => of::<T>(operation, left, right), Vec::new()),
        Err(_) => {}
    }
    let wide = |side: Side<'_>| -> Typed<'static, i128> {
        match side {
            Side::Int(one) => Typed::One(one),
            Side::Float(one) => Typed::One(one as i128),
            Side::Bool(one) => Typed::One(one.into()),
            Side::All(all) => Typed::All(
                super::numbers::for_any!(all, all => all.iter().map(|one| *one as i128).collect()),
            ),
        }
    };
    wide(left).zip(&wide(right), |a, b| operation.holds(Some(a.cmp(&b))))
}

fn is_whole(side: Side<'_>) -> bool {
    match side {
        Side::Int(_) | Side::Bool(_) => true,
        Side::Float(_) => false,
        Side::All(all) => !is_float(Number::of(all)),
    }
}

/// Operators on integers, which wrap around at the ends of their type.
pub(super) trait Whole: Cast {
    fn whole(
        operation: Binary,
        left: &Typed<'_, Self>,
        right: &Typed<'_, Self>,
    ) -> Computed<Vec<Self>>;

    fn signed(operation: Unary, one: Self) -> Self;
}

/// Operators on floats.
trait Float: Cast {
    fn float(
        operation: Binary,
        left: &Typed<'_, Self>,
        right: &Typed<'_, Self>,
    ) -> Computed<Numbers>;
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl Whole for $type {
            #[allow(unused_comparisons)]
            fn whole(
                operation: Binary,
                left: &Typed<'_, Self>,
                right: &Typed<'_, Self>,
            ) -> Computed<Vec<Self>> {
                if operation == Binary::Power && right.any(|exponent| exponent < 0) {
                    return Err("has an integer to a negative power: write it as a float".into());
                }
                let is_shift = |by: $type| by >= 0 && (by as u64) < <$type>::BITS as u64;
                Ok(match operation {
                    Binary::Add => left.zip(right, <$type>::wrapping_add),
                    Binary::Subtract => left.zip(right, <$type>::wrapping_sub),
                    Binary::Multiply => left.zip(right, <$type>::wrapping_mul),
                    Binary::FloorDivide => left.zip(right, |a, b| {
                        if b == 0 {
                            return 0;
                        }
                        let down = a.wrapping_rem(b) != 0 && (a < 0) != (b < 0);
                        a.wrapping_div(b).wrapping_sub(<$type>::from(down as u8 != 0))
                    }),
                    Binary::Remainder => left.zip(right, |a, b| {
                        if b == 0 {
                            return 0;
                        }
                        let rest = a.wrapping_rem(b);
                        if rest != 0 && (rest < 0) != (b < 0) { rest.wrapping_add(b) } else { rest }
                    }),
                    Binary::Power => left.zip(right, |a, b| {
                        let mut base: $type = a;
                        let mut rest: u64 = b as u64;
                        let mut power: $type = 1;
                        while rest > 0 {
                            if rest & 1 == 1 {
                                power = power.wrapping_mul(base);
                            }
                            base = base.wrapping_mul(base);
                            rest >>= 1;
                        }
                        power
                    }),
                    Binary::And => left.zip(right, |a, b| a & b),
                    Binary::Or => left.zip(right, |a, b| a | b),
                    Binary::Xor => left.zip(right, |a, b| a ^ b),
                    Binary::ShiftLeft => left.zip(right, |a, b| if is_shift(b) { a << b } else { 0 }),
                    _ => left.zip(right, |a, b| match is_shift(b) {
                        true => a >> b,
                        false if a < 0 => (0 as $type).wrapping_sub(1),
                        false => 0,
                    }),
                })
            }

            #[allow(unused_comparisons)]
            fn signed(operation: Unary, one: Self) -> Self {
                match operation {
                    Unary::Minus => one.wrapping_neg(),
                    Unary::Absolute if one < 0 => one.wrapping_neg(),
                    Unary::Plus | Unary::Absolute => one,
                    Unary::Invert => !one,
                }
            }
        }
    )*};
}

macro_rules! float {
    ($($type:ty),*) => {$(
        impl Float for $type {
            fn float(
                operation: Binary,
                left: &Typed<'_, Self>,
                right: &Typed<'_, Self>,
            ) -> Computed<Numbers> {
                Ok(Self::numbers(match operation {
                    Binary::Add => left.zip(right, |a, b| a + b),
                    Binary::Subtract => left.zip(right, |a, b| a - b),
                    Binary::Multiply => left.zip(right, |a, b| a * b),
                    Binary::Divide => left.zip(right, |a, b| a / b),
                    Binary::FloorDivide => left.zip(right, |a, b| {
                        if b == 0.0 {
                            return a / b;
                        }
                        let rest = a % b;
                        let mut exact = (a - rest) / b;
                        if rest != 0.0 && (b < 0.0) != (rest < 0.0) {
                            exact -= 1.0;
                        }
                        if exact == 0.0 {
                            return (0.0 as $type).copysign(a / b);
                        }
                        let down = exact.floor();
                        if exact - down > 0.5 { down + 1.0 } else { down }
                    }),
                    Binary::Remainder => left.zip(right, |a, b| {
                        let rest = a % b;
                        match rest != 0.0 {
                            _ if b == 0.0 => rest,
                            true if (b < 0.0) != (rest < 0.0) => rest + b,
                            true => rest,
                            false => (0.0 as $type).copysign(b),
                        }
                    }),
                    Binary::Power => match right {
                        Typed::One(2.0) => left.map(|a| a * a),
                        Typed::One(0.5) => left.map(<$type>::sqrt),
                        Typed::One(-1.0) => left.map(|a| 1.0 / a),
                        _ => left.zip(right, <$type>::powf),
                    },
                    _ => {
                        let dtype = Number::of(&Self::numbers(Vec::new())).empty().dtype();
                        return Err(format!("has an operator of bits, &, |, ^, << or >>, of {dtype}"));
                    }
                }))
            }
        }
    )*};
}

whole!(i8, i16, i32, i64, u8, u16, u32, u64);
float!(f32, f64);
