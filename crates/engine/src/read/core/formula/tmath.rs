//! Functions of `TMath` that the library of C does not have.
//! (Source: `TMath.cxx` of ROOT 6.40.)

/// As C++ converts on the machines that ROOT runs on: a number that does not fit becomes the least
/// integer.
pub(super) fn long(x: f64) -> i64 {
    let fits = (-(2f64.powi(63))..2f64.powi(63)).contains(&x);
    if fits { x as i64 } else { i64::MIN }
}

/// The same of 32 bits.
fn int(x: f64) -> i32 {
    let fits = x > f64::from(i32::MIN) - 1.0 && x < f64::from(i32::MAX) + 1.0;
    if fits { x as i32 } else { i32::MIN }
}

/// The nearest integer, of two the even one.
pub(super) fn nint(x: f64) -> f64 {
    int(x.round_ties_even()).into()
}

pub(super) fn is_odd(x: f64) -> f64 {
    (long(x) & 1) as f64
}

/// `x` in the bounds.
pub(super) fn range(least: f64, most: f64, x: f64) -> f64 {
    if x < least {
        least
    } else if x > most {
        most
    } else {
        x
    }
}

pub(super) fn gaus(x: f64, mean: f64, sigma: f64, is_normal: f64) -> f64 {
    /// √(2π), as ROOT has it.
    const ROOT_TAU: f64 = 2.506_628_274_631_000_2;
    if sigma == 0.0 {
        return 1e30;
    }
    let distance = (x - mean) / sigma;
    if distance.abs() > 39.0 {
        return 0.0;
    }
    let value = (-0.5 * distance * distance).exp();
    if is_normal == 0.0 { value } else { value / (ROOT_TAU * sigma) }
}

/// Infinite at the poles.
pub(super) fn gamma(x: f64) -> f64 {
    if x <= 0.0 && x.fract() == 0.0 { f64::INFINITY } else { libm::tgamma(x) }
}

pub(super) fn factorial(x: f64) -> f64 {
    let mut product = 1.0;
    for factor in 2..=int(x) {
        product *= f64::from(factor);
        if product == f64::INFINITY {
            break;
        }
    }
    product
}

pub(super) fn binomial(n: f64, k: f64) -> f64 {
    let n = int(n);
    let k = int(k);
    if n < 0 || k < 0 || n < k {
        return f64::NAN;
    }
    let least = k.min(n - k);
    let most = f64::from(n - least);
    if least == 0 {
        return 1.0;
    }
    let factors = (2..=least).rev().map(f64::from);
    factors.fold(most + 1.0, |product, one| product * ((most + one) / one))
}

pub(super) fn poisson(x: f64, mean: f64) -> f64 {
    match (mean < 0.0, x) {
        (true, _) => f64::NAN,
        (_, x) if x < 0.0 => 0.0,
        (_, 0.0) => (-mean).exp(),
        (_, x) => (x * mean.ln() - libm::lgamma(x + 1.0) - mean).exp(),
    }
}

/// The part of a normal distribution below `x`.
pub(super) fn freq(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The probability that a χ² of so many degrees of freedom is greater.
pub(super) fn prob(chi: f64, freedom: f64) -> f64 {
    let freedom = int(freedom);
    if freedom <= 0 || chi < 0.0 {
        return 0.0;
    }
    if chi == 0.0 {
        return 1.0;
    }
    // A sum of terms of a Poisson distribution whose mean is χ²/2, from the greatest on.
    let mean = chi / 2.0;
    let is_even = freedom % 2 == 0;
    let least = if is_even { 0.0 } else { 0.5 };
    let last = f64::from(freedom) / 2.0 - 1.0;
    let beyond = if is_even { 0.0 } else { libm::erfc(mean.sqrt()) };
    if last < least {
        return beyond;
    }
    let greatest = last.min(mean.floor() + least);
    let term = (greatest * mean.ln() - mean - libm::lgamma(greatest + 1.0)).exp();
    let mut sum = beyond + term;
    let mut down = term;
    let mut at = greatest;
    while at > least && down > sum * f64::EPSILON / 4.0 {
        down *= at / mean;
        at -= 1.0;
        sum += down;
    }
    let mut up = term;
    let mut at = greatest;
    while at < last && up > sum * f64::EPSILON / 4.0 {
        at += 1.0;
        up *= mean / at;
        sum += up;
    }
    if sum > 1.0 { 1.0 } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each value is of ROOT 6.40.
    #[test]
    fn values_are_those_of_root() {
        for (found, expected) in [
            (nint(2.5), 2.0),
            (nint(-1.5), -2.0),
            (nint(0.499_999_999_999_999_94), 0.0),
            (nint(1e10), -2_147_483_648.0),
            (is_odd(-3.7), 1.0),
            (range(0.0, 5.0, 12.25), 5.0),
            (gaus(0.5, 0.0, 1.0, 0.0), 0.882_496_902_584_595_5),
            (gaus(0.5, 1.0, 2.0, 1.0), 0.193_334_058_401_424_65),
            (gaus(40.0, 0.0, 1.0, 0.0), 0.0),
            (gaus(1.0, 0.0, 0.0, 0.0), 1e30),
            (gamma(-2.5), -0.945_308_720_482_941_9),
            (gamma(-40.0), f64::INFINITY),
            (factorial(-3.0), 1.0),
            (factorial(12.0), 479_001_600.0),
            (binomial(5.0, 2.0), 10.0),
            (binomial(12.0, 2.0), 66.0),
            (poisson(3.0, 2.5), 0.213_763_017_249_736_46),
            (poisson(0.0, 3.0), 0.049_787_068_367_863_944),
            (freq(-3.7), 0.000_107_799_733_477_388_23),
            (freq(2.5), 0.993_790_334_674_223_8),
            (prob(3.7, 2.0), 0.157_237_166_313_627_6),
            (prob(40.0, 6.0), 4.555_149_505_589_212_5e-7),
            (prob(0.1, 8.0), 0.999_999_749_786_052_7),
            (prob(5.0, 9.0), 0.834_308_260_193_407_5),
            (prob(12.25, 10.0), 0.268_673_349_496_028_67),
            (prob(-0.5, 2.0), 0.0),
            (prob(1.5, 0.0), 0.0),
        ] {
            let near = (found - expected).abs() <= 1e-12 * expected.abs();
            assert!(near || found == expected, "{found} {expected}");
        }
        assert!(binomial(1.0, 2.0).is_nan() && prob(f64::INFINITY, 2.0).is_nan());
    }
}
