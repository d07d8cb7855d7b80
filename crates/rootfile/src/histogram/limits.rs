//! Limits that ROOT chooses for an axis without any (ROOT: `THLimitsFinder`).

use super::axis::BINS_MAX;

/// Part of the bins that stay free on each side, where limits are powers of two.
const PART_ASIDE: f64 = 0.05;

/// Limits for bins of one width, and how many bins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    pub min: f64,
    pub max: f64,
    pub bins: usize,
}

/// How often a width is tried at most; ROOT tries without end.
const TRIES_MAX: u32 = 10_000;

/// Limits around values from `min` to `max`; `is_integer` asks for bins of a whole width.
pub(crate) fn around(bins: usize, min: f64, max: f64, is_integer: bool) -> Limits {
    let margin = match is_integer {
        true => 5.0 * (max - min) / bins as f64,
        false => 0.1 * (max - min),
    };
    let below = if min - margin < 0.0 && min >= 0.0 { 0.0 } else { min - margin };
    let above = if max + margin > 0.0 && max <= 0.0 { 0.0 } else { max + margin };
    let [low, high, width] = optimized(below, above, bins);
    let mut limits = match width <= 0.0 || width > 1e39 {
        true => Limits { min: -1.0, max: 1.0, bins },
        false => {
            let delta = 0.01 * (max - min);
            Limits { min: low.min(min - delta), max: high.max(max + delta), bins }
        }
    };
    if is_integer {
        limits.make_whole(below, above);
    }
    limits
}

/// Limits and a number of bins that are powers of two, around values from `min` to `max` (ROOT:
/// `TH1::AutoP2FindLimits`); `None` where ROOT takes [`around`].
pub(crate) fn of_powers(bins: usize, min: f64, max: f64, is_integer: bool) -> Option<Limits> {
    if min >= max {
        return None;
    }
    let limits = around(bins, min, max, is_integer);
    let [low, high] = match limits.max.abs() > limits.min.abs() {
        true => {
            let high = power(limits.max, true);
            [high - power(high - limits.min, true), high]
        }
        false => {
            let low = power(limits.min, false);
            [low, low + power(limits.max - low, true)]
        }
    };
    let wanted = ((high - low) / (max - min) * limits.bins as f64).trunc();
    let (part, exponent) = split(wanted);
    let bins = if (part - 0.5).abs() > 0.001 { 2f64.powi(exponent) } else { wanted };
    let width = (high - low) / bins;
    let aside = (bins * PART_ASIDE).trunc();
    let even = |bins: f64| if bins % 2.0 == 0.0 { bins } else { bins + 1.0 };
    let above = even(((high - max) / width).trunc()) - aside;
    let below = even(((min - low) / width).trunc()) - aside;
    let bins = bins - above - below;
    (1.0..=BINS_MAX as f64).contains(&bins).then_some(Limits {
        min: low + width * below,
        max: high - width * above,
        bins: bins as usize,
    })
}

/// The next power of two, larger or smaller.
fn power(number: f64, is_larger: bool) -> f64 {
    let (part, exponent) = split(number);
    let up = is_larger == (number > 0.0);
    2f64.powi(if up { exponent } else { exponent - 1 }).copysign(part)
}

/// A number between a half and one, and the power of two to multiply it with (C: `frexp`).
fn split(number: f64) -> (f64, i32) {
    if number == 0.0 || !number.is_finite() {
        return (number, 0);
    }
    if number.is_subnormal() {
        let (part, exponent) = split(number * 2f64.powi(64));
        return (part, exponent - 64);
    }
    let mut exponent = number.abs().log2().floor() as i32 + 1;
    let mut part = number / 2f64.powi(exponent - 1) / 2.0;
    if part.abs() >= 1.0 {
        (part, exponent) = (part / 2.0, exponent + 1);
    } else if part.abs() < 0.5 {
        (part, exponent) = (part * 2.0, exponent - 1);
    }
    (part, exponent)
}

impl Limits {
    fn make_whole(&mut self, below: f64, above: f64) {
        let min = self.min.trunc();
        let max = self.max.trunc();
        self.min = if self.min < 0.0 && self.min != min { min - 1.0 } else { min };
        self.max = match self.max {
            part if part > 0.0 && part != max => max + 1.0,
            0.0 => 1.0,
            _ => max,
        };
        if self.min >= self.max {
            self.max = self.min + 1.0;
        }
        let width = ((self.max - self.min) / self.bins as f64).trunc().max(1.0);
        self.bins = ((self.max - self.min) / width) as usize;
        if self.min + self.bins as f64 * width < above {
            self.bins += 1;
            self.max = self.min + self.bins as f64 * width;
        }
        if self.min > below {
            self.bins += 1;
            self.min = self.max - self.bins as f64 * width;
        }
    }
}

/// Rounded limits and the width of bins between them, of about as many as there were.
fn optimized(min: f64, max: f64, wanted: usize) -> [f64; 3] {
    let high = if min == max { max + 1.0 } else { max };
    let wanted = wanted as f64;
    let mut tried = wanted.max(2.0);
    for _ in 0..TRIES_MAX {
        let Some(mut width) = rounded_width((high - min) / tried) else {
            let about = (high - min) / tried;
            // Neither comparison holds for NaN.
            let is_out = about >= f64::from(f32::MAX) || about <= 0.0;
            return if is_out { [0.0, 0.0, 0.0] } else { [0.0, 1.0, 0.01] };
        };
        if (min / width).abs() > 1e9 {
            return [min, high, width];
        }
        let floor = |number: f64| number.trunc() - if number < 0.0 { 1.0 } else { 0.0 };
        let first = floor(min / width);
        let last = floor(high / width + 1.00001);
        let limits = [width * first, width * last];
        let bins = last - first;
        if wanted <= 1.0 && bins != 1.0 {
            width *= 2.0;
        } else if wanted > 5.0 && 2.0 * bins == wanted {
            tried += 1.0;
            continue;
        }
        let [low, high] = trimmed([min, high], limits, width);
        return [low, high, width];
    }
    [min, high, (high - min) / wanted]
}

/// The next of 1, 2 and 5 times a power of ten; `None` for widths out of all bounds.
fn rounded_width(width: f64) -> Option<f64> {
    if width >= f64::from(f32::MAX) || width.is_nan() || width <= 0.0 {
        return None;
    }
    let mut power = width.log10().trunc();
    if power.abs() > 200.0 {
        return None;
    }
    if width <= 1.0 {
        power -= 1.0;
    }
    // The subtraction keeps rounding from deciding the comparisons.
    let mantissa = width * 10f64.powf(-power) - 1e-10;
    let digit = match mantissa {
        small if small <= 1.0 => 1.0,
        small if small <= 2.0 => 2.0,
        small if small <= 5.0 => 5.0,
        _ => 10.0,
    };
    match digit {
        10.0 => Some(10f64.powf(power + 1.0)),
        digit => Some(digit * 10f64.powf(power)),
    }
}

/// Limits without a bin at either end that no value is in.
fn trimmed(values: [f64; 2], limits: [f64; 2], width: f64) -> [f64; 2] {
    let least = width * 0.0001;
    let [mut low, mut high] = limits;
    if values[0] - low >= least {
        low += width;
    }
    if high - values[1] >= least {
        high -= width;
    }
    if low >= high { limits } else { [low, high] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ROOT 6.40 shows these limits of a `TH1F` of ten bins that was filled with 1 to 5.
    #[test]
    fn limits_are_those_of_root() {
        let limits = |bins, min, max, is_integer| {
            let Limits { min, max, bins } = around(bins, min, max, is_integer);
            [min, max, bins as f64]
        };
        assert_eq!(limits(10, 1.0, 5.0, false), [0.96, 5.04, 10.0]);
        // Limits of NaN, and of infinite values.
        assert_eq!(limits(10, f64::NAN, f64::NAN, false), [0.0, 1.0, 10.0]);
        assert_eq!(limits(10, 5.0, f64::INFINITY, false), [-1.0, 1.0, 10.0]);
    }

    #[test]
    fn powers_of_two_are_around_a_number() {
        let all = [(5.0, true), (5.0, false), (-5.0, true), (-5.0, false), (8.0, true)];
        let powers = all.map(|(number, is_larger)| power(number, is_larger));
        assert_eq!(powers, [8.0, 4.0, -4.0, -8.0, 16.0]);
        assert_eq!(split(0.1), (0.8, -3));
        assert_eq!(split(f64::from_bits(1)).1, -1073);
        assert!(of_powers(10, 5.0, 5.0, false).is_none());
    }
}
