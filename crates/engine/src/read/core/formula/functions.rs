//! Functions of formulas: NumPy's, and those of C that NumPy does not have.

use rootfile::Numbers;
use rootfile::array::Number;

use super::arithmetic::{Unary, of_whole, truths, unary};
use super::numbers::{Cast, Computed, Side, Typed, common, holding, is_float};

/// Names of the functions, with how many arguments they take at least and at most.
pub(super) const FUNCTIONS: [(&str, usize, usize); 63] = [
    ("abs", 1, 1),
    ("absolute", 1, 1),
    ("acos", 1, 1),
    ("acosh", 1, 1),
    ("arccos", 1, 1),
    ("arccosh", 1, 1),
    ("arcsin", 1, 1),
    ("arcsinh", 1, 1),
    ("arctan", 1, 1),
    ("arctan2", 2, 2),
    ("arctanh", 1, 1),
    ("asin", 1, 1),
    ("asinh", 1, 1),
    ("atan", 1, 1),
    ("atan2", 2, 2),
    ("atanh", 1, 1),
    ("cbrt", 1, 1),
    ("ceil", 1, 1),
    ("conj", 1, 1),
    ("conjugate", 1, 1),
    ("copysign", 2, 2),
    ("cos", 1, 1),
    ("cosh", 1, 1),
    ("erf", 1, 1),
    ("erfc", 1, 1),
    ("exp", 1, 1),
    ("exp2", 1, 1),
    ("expm1", 1, 1),
    ("fabs", 1, 1),
    ("factorial", 1, 1),
    ("floor", 1, 1),
    ("fmax", 2, 2),
    ("fmin", 2, 2),
    ("gamma", 1, 1),
    ("hypot", 2, 2),
    ("imag", 1, 1),
    ("isfinite", 1, 1),
    ("isinf", 1, 1),
    ("isnan", 1, 1),
    ("lgamma", 1, 1),
    ("log", 1, 1),
    ("log10", 1, 1),
    ("log1p", 1, 1),
    ("log2", 1, 1),
    ("logical_and", 2, 2),
    ("logical_not", 1, 1),
    ("logical_or", 2, 2),
    ("maximum", 2, 2),
    ("minimum", 2, 2),
    ("neg", 1, 1),
    ("nextafter", 2, 2),
    ("real", 1, 1),
    ("rint", 1, 1),
    ("round", 1, 2),
    ("signbit", 1, 1),
    ("sin", 1, 1),
    ("sinh", 1, 1),
    ("sqrt", 1, 1),
    ("tan", 1, 1),
    ("tanh", 1, 1),
    ("tgamma", 1, 1),
    ("trunc", 1, 1),
    ("where", 3, 3),
];

/// A function of floats of 64 bits, and the same of 32.
type Floats<A, B> = (A, B);
type OfOne = Floats<fn(f64) -> f64, fn(f32) -> f32>;
type OfTwo = Floats<fn(f64, f64) -> f64, fn(f32, f32) -> f32>;

/// A function of one number that gives a float.
fn of_one(name: &str) -> Option<OfOne> {
    Some(match name {
        "arccos" | "acos" => (f64::acos, f32::acos),
        "arccosh" | "acosh" => (libm::acosh, libm::acoshf),
        "arcsin" | "asin" => (f64::asin, f32::asin),
        "arcsinh" | "asinh" => (libm::asinh, libm::asinhf),
        "arctan" | "atan" => (f64::atan, f32::atan),
        "arctanh" | "atanh" => (libm::atanh, libm::atanhf),
        "cbrt" => (f64::cbrt, f32::cbrt),
        "cos" => (f64::cos, f32::cos),
        "cosh" => (f64::cosh, f32::cosh),
        "exp" => (f64::exp, f32::exp),
        "exp2" => (f64::exp2, f32::exp2),
        "expm1" => (f64::exp_m1, f32::exp_m1),
        "log" => (f64::ln, f32::ln),
        "log10" => (f64::log10, f32::log10),
        "log1p" => (f64::ln_1p, f32::ln_1p),
        "log2" => (f64::log2, f32::log2),
        "rint" => (f64::round_ties_even, f32::round_ties_even),
        "sin" => (f64::sin, f32::sin),
        "sinh" => (f64::sinh, f32::sinh),
        "sqrt" => (f64::sqrt, f32::sqrt),
        "tan" => (f64::tan, f32::tan),
        "tanh" => (f64::tanh, f32::tanh),
        "fabs" => (f64::abs, f32::abs),
        "ceil" => (f64::ceil, f32::ceil),
        "floor" => (f64::floor, f32::floor),
        "trunc" => (f64::trunc, f32::trunc),
        _ => return None,
    })
}

/// A function of two numbers that gives a float.
fn of_two(name: &str) -> Option<OfTwo> {
    Some(match name {
        "arctan2" | "atan2" => (f64::atan2, f32::atan2),
        "copysign" => (f64::copysign, f32::copysign),
        "hypot" => (f64::hypot, f32::hypot),
        "nextafter" => (libm::nextafter, libm::nextafterf),
        _ => return None,
    })
}

/// A function of C, computed in floats of 64 bits; as in uproot, floats of 32 bits give such.
fn special(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "erf" => libm::erf,
        "erfc" => libm::erfc,
        "gamma" | "tgamma" => gamma,
        "lgamma" => libm::lgamma,
        "factorial" => |number| gamma(number.round_ties_even() + 1.0),
        _ => return None,
    })
}

/// Of whole numbers without any error, as far as floats have them.
fn gamma(number: f64) -> f64 {
    if number == f64::NEG_INFINITY || (number <= 0.0 && number.fract() == 0.0) {
        // A pole, on whose sides it has different signs.
        return f64::NAN;
    }
    if number.fract() == 0.0 && number <= 23.0 {
        return (2..number as u64).map(|factor| factor as f64).product();
    }
    libm::tgamma(number)
}

/// A function of numbers.
pub(super) fn function(name: &str, sides: &[Side<'_>]) -> Computed<Numbers> {
    match (name, sides) {
        ("where", [condition, yes, no]) => chosen(*condition, *yes, *no),
        (name, [one, other]) => two(name, *one, *other),
        (name, [one]) => single(name, *one),
        _ => Err(format!("has a function {name} of other arguments")),
    }
}

fn single(name: &str, side: Side<'_>) -> Computed<Numbers> {
    if let Some(each) = special(name) {
        let all = f64::cast(side).map(each);
        return Ok(match common(&[side]) {
            Number::F32 => Numbers::F32(all.into_iter().map(|one| one as f32).collect()),
            _ => Numbers::F64(all),
        });
    }
    let number = common(&[side]);
    let is_whole = !is_float(number);
    match name {
        "abs" | "absolute" => return unary(Unary::Absolute, side),
        "neg" => return unary(Unary::Minus, side),
        "conj" | "conjugate" if number == Number::Bool => return Ok(same(Number::I8, side)),
        "conj" | "conjugate" | "real" => return Ok(same(number, side)),
        "ceil" | "floor" | "trunc" if is_whole => return Ok(same(number, side)),
        "round" if is_whole && number != Number::Bool => return Ok(same(number, side)),
        "round" => return single("rint", side),
        "imag" => return Ok(zeros(same(number, side))),
        "isfinite" => return Ok(truths(f64::cast(side).map(f64::is_finite))),
        "isinf" => return Ok(truths(f64::cast(side).map(f64::is_infinite))),
        "isnan" => return Ok(truths(f64::cast(side).map(f64::is_nan))),
        "signbit" => return Ok(truths(f64::cast(side).map(f64::is_sign_negative))),
        "logical_not" => return Ok(truths(side.truths().map(|one| !one))),
        _ => {}
    }
    let Some((double, single)) = of_one(name) else {
        return Err(format!("has a function {name} of one argument"));
    };
    Ok(match is_single(number) {
        true => Numbers::F32(f32::cast(side).map(single)),
        false => Numbers::F64(f64::cast(side).map(double)),
    })
}

fn two(name: &str, one: Side<'_>, other: Side<'_>) -> Computed<Numbers> {
    match name {
        "logical_and" => return Ok(truths(one.truths().zip(&other.truths(), |a, b| a && b))),
        "logical_or" => return Ok(truths(one.truths().zip(&other.truths(), |a, b| a || b))),
        "maximum" | "minimum" | "fmax" | "fmin" => return extreme(name, one, other),
        "round" => return rounded(one, other),
        _ => {}
    }
    let Some((double, single)) = of_two(name) else {
        return Err(format!("has a function {name} of two arguments"));
    };
    Ok(match are_single(&[one, other]) {
        true => Numbers::F32(f32::cast(one).zip(&f32::cast(other), single)),
        false => Numbers::F64(f64::cast(one).zip(&f64::cast(other), double)),
    })
}

/// Whether floats of 32 bits come of numbers of these types together.
fn are_single(sides: &[Side<'_>]) -> bool {
    let typed = sides.iter().filter_map(|side| match side {
        Side::All(all) => Some(Number::of(all)),
        _ => None,
    });
    match typed.clone().count() {
        0 | 1 => is_single(common(sides)),
        _ => typed.clone().all(is_single),
    }
}

/// Whether floats of 32 bits come of numbers of this type. (NumPy has floats of 16 bits for the
/// smallest integers, which no column has.)
fn is_single(number: Number) -> bool {
    number == Number::F32 || (!is_float(number) && number.size() < 4)
}

/// The same numbers as those of a type.
fn same(number: Number, side: Side<'_>) -> Numbers {
    of_whole!(number, T => T::numbers(T::cast(side).map(|one| one)), {
        match number {
            Number::Bool => truths(side.truths().map(|one| one)),
            Number::F32 => Numbers::F32(f32::cast(side).map(|one| one)),
            _ => Numbers::F64(f64::cast(side).map(|one| one)),
        }
    })
}

/// As many zeros of the same type.
fn zeros(numbers: Numbers) -> Numbers {
    let number = Number::of(&numbers);
    let length = numbers.len();
    of_whole!(number, T => T::numbers(vec![0 as T; length]), {
        match number {
            Number::F32 => Numbers::F32(vec![0.0; length]),
            Number::F64 => Numbers::F64(vec![0.0; length]),
            _ => Numbers::Bool(vec![0; length]),
        }
    })
}

fn extreme(name: &str, one: Side<'_>, other: Side<'_>) -> Computed<Numbers> {
    fn of<T: Cast>(name: &str, one: Side<'_>, other: Side<'_>) -> Numbers {
        let is_greatest = matches!(name, "maximum" | "fmax");
        let keeps_nan = matches!(name, "maximum" | "minimum");
        let is_nan = |a: T| a.partial_cmp(&a).is_none();
        T::numbers(T::cast(one).zip(&T::cast(other), |a, b| {
            let is_first = match (is_nan(a), is_nan(b)) {
                (true, _) => keeps_nan,
                (_, true) => !keeps_nan,
                _ if is_greatest => a >= b,
                _ => a <= b,
            };
            if is_first { a } else { b }
        }))
    }
    let number = holding(&[one, other])?;
    Ok(of_whole!(number, T => of::<T>(name, one, other), {
        match number {
            Number::F32 => of::<f32>(name, one, other),
            Number::F64 => of::<f64>(name, one, other),
            _ => {
                let is_greatest = matches!(name, "maximum" | "fmax");
                let each = |a, b| if is_greatest { a | b } else { a & b };
                truths(one.truths().zip(&other.truths(), each))
            }
        }
    }))
}

fn chosen(condition: Side<'_>, yes: Side<'_>, no: Side<'_>) -> Computed<Numbers> {
    fn of<T: Cast>(condition: &Typed<'_, bool>, length: usize, sides: [Side<'_>; 2]) -> Vec<T> {
        let [yes, no] = sides.map(T::cast);
        let pick = |at| if condition.at(at) { yes.at(at) } else { no.at(at) };
        (0..length).map(pick).collect()
    }
    let number = holding(&[yes, no])?;
    let length = [condition, yes, no].iter().find_map(|side| side.len()).unwrap_or(1);
    let condition = condition.truths();
    let sides = [yes, no];
    Ok(of_whole!(number, T => T::numbers(of::<T>(&condition, length, sides)), {
        match number {
            Number::F32 => Numbers::F32(of(&condition, length, sides)),
            Number::F64 => Numbers::F64(of(&condition, length, sides)),
            _ => Numbers::Bool(of(&condition, length, sides)),
        }
    }))
}

/// To so many digits behind the point, or before it where they are negative.
fn rounded(side: Side<'_>, digits: Side<'_>) -> Computed<Numbers> {
    let Side::Int(digits) = digits else {
        return Err("rounds to digits that are no constant".to_owned());
    };
    let Ok(digits) = i32::try_from(digits.clamp(-400, 400)) else { unreachable!("clamped") };
    let number = common(&[side]);
    let scale = 10f64.powi(digits.abs());
    let double = |one: f64| match digits < 0 {
        true => (one / scale).round_ties_even() * scale,
        false => (one * scale).round_ties_even() / scale,
    };
    if !is_float(number) && number != Number::Bool {
        return Ok(match digits < 0 {
            true => same(number, Side::All(&Numbers::F64(f64::cast(side).map(double)))),
            false => same(number, side),
        });
    }
    if !is_single(number) {
        return Ok(Numbers::F64(f64::cast(side).map(double)));
    }
    let scale = scale as f32;
    Ok(Numbers::F32(f32::cast(side).map(|one| match digits < 0 {
        true => (one / scale).round_ties_even() * scale,
        false => (one * scale).round_ties_even() / scale,
    })))
}
