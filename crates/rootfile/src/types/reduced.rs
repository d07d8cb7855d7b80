//! `Float16_t` and `Double32_t`: numbers stored with fewer bits than they have in memory.
//!
//! The comment of a member (or the title of a leaf) says how: `[min,max,bits]` is an unsigned
//! integer that counts steps from `min`, in four bytes whatever `bits` is; `[0,0,bits]` a mantissa
//! cut to `bits`, in three; nothing at all a `float` for `Double32_t`, and twelve bits of mantissa
//! for `Float16_t`. (Source: ROOT's `TBufferFile::ReadWithFactor`, `ReadWithNbits` and
//! `TStreamerElement::GetRange`.)

use std::f64::consts::PI;

use super::scalar::Scalar;

/// A number stored with fewer bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reduced {
    target: Target,
    form: Form,
}

/// Type of the number in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Float16,
    Double32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    /// Steps of `(max - min) / 2^bits` from `min`.
    Steps { min: f64, max: f64, bits: u32 },
    /// One byte of exponent, then two of mantissa with a sign bit above it.
    Truncated { bits: u32 },
}

/// Bits where a range does not say how many.
const RANGE_BITS: u32 = 32;
/// Bits of a `Float16_t`'s mantissa where nothing is said.
const FLOAT16_BITS: u32 = 12;
/// A mantissa and its sign must fit into two bytes.
const TRUNCATED_BITS_MAX: u32 = 14;

impl Reduced {
    /// How numbers are stored by a member of that comment or a leaf of that title; `None` where it
    /// cannot be understood.
    pub(crate) fn from_title(target: Target, title: &str) -> Option<Scalar> {
        let plain = match target {
            Target::Float16 => {
                Scalar::Reduced(Reduced { target, form: Form::Truncated { bits: FLOAT16_BITS } })
            }
            Target::Double32 => Scalar::Widened,
        };
        let Some(range) = bracket_with_comma(title) else { return Some(plain) };
        let mut items = range.split(',');
        let (min, max) = match (bound(items.next()?), bound(items.next()?)) {
            // Words in brackets, as comments have them.
            (None, None) => return Some(plain),
            (min, max) => (min?, max?),
        };
        let bits = match items.next() {
            Some(bits) => match bits.trim().parse::<i64>().ok()? {
                bits @ 2..=32 => bits as u32,
                _ => RANGE_BITS,
            },
            None => RANGE_BITS,
        };
        if min < max {
            return Some(Scalar::Reduced(Reduced { target, form: Form::Steps { min, max, bits } }));
        }
        if bits > TRUNCATED_BITS_MAX {
            return Some(plain);
        }
        Some(Scalar::Reduced(Reduced { target, form: Form::Truncated { bits } }))
    }

    /// Bytes in the file.
    pub fn size(self) -> usize {
        match self.form {
            Form::Steps { .. } => 4,
            Form::Truncated { .. } => 3,
        }
    }

    pub fn typename(self) -> &'static str {
        match self.target {
            Target::Float16 => "Float16_t",
            Target::Double32 => "Double32_t",
        }
    }

    /// Whether the column holds `double`.
    pub fn is_double(self) -> bool {
        self.target == Target::Double32
    }

    /// The number in `bytes`, of which there are as many as [`Reduced::size`].
    pub(crate) fn number(self, bytes: &[u8]) -> f64 {
        if self.is_double() {
            let mut one = Vec::with_capacity(1);
            self.extend_f64(&mut one, bytes);
            one.iter().sum()
        } else {
            let mut one = Vec::with_capacity(1);
            self.extend_f32(&mut one, bytes);
            one.iter().copied().map(f64::from).sum()
        }
    }

    /// Adds the numbers in `bytes` as `double`.
    pub(crate) fn extend_f64(self, numbers: &mut Vec<f64>, bytes: &[u8]) {
        match self.form {
            Form::Steps { min, max, bits } => {
                // As uproot computes it; ROOT divides by 2^32 - 1 where there are 32 bits.
                let step = (max - min) / 2f64.powi(bits as i32);
                numbers.extend(
                    bytes
                        .as_chunks::<4>()
                        .0
                        .iter()
                        .map(|steps| f64::from(u32::from_be_bytes(*steps)) * step + min),
                );
            }
            Form::Truncated { bits } => {
                numbers.extend(truncated(bytes, bits).map(f64::from));
            }
        }
    }

    /// Adds the numbers in `bytes` as `float`, computed in that precision.
    pub(crate) fn extend_f32(self, numbers: &mut Vec<f32>, bytes: &[u8]) {
        match self.form {
            Form::Steps { min, max, bits } => {
                let step = ((max - min) / 2f64.powi(bits as i32)) as f32;
                let min = min as f32;
                numbers.extend(
                    bytes
                        .as_chunks::<4>()
                        .0
                        .iter()
                        .map(|steps| u32::from_be_bytes(*steps) as f32 * step + min),
                );
            }
            Form::Truncated { bits } => numbers.extend(truncated(bytes, bits)),
        }
    }
}

fn truncated(bytes: &[u8], bits: u32) -> impl Iterator<Item = f32> {
    let sign = 1u32 << (bits + 1);
    bytes.as_chunks::<3>().0.iter().map(move |[exponent, high, low]| {
        let mantissa = u32::from(u16::from_be_bytes([*high, *low]));
        let magnitude = (u32::from(*exponent) << 23) | ((mantissa & (sign - 1)) << (23 - bits));
        let number = f32::from_bits(magnitude);
        if mantissa & sign == 0 { number } else { -number }
    })
}

/// The text between the first brackets that hold a comma.
fn bracket_with_comma(title: &str) -> Option<&str> {
    title
        .split('[')
        .skip(1)
        .filter_map(|after| after.split_once(']'))
        .map(|(inner, _)| inner)
        .find(|inner| inner.contains(','))
}

/// A number, or one of the multiples of pi that ROOT knows.
fn bound(text: &str) -> Option<f64> {
    let text = text.trim();
    let (sign, name) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let magnitude = match name {
        "pi" => PI,
        "2pi" | "2*pi" | "twopi" => 2.0 * PI,
        "pi/2" => PI / 2.0,
        "pi/4" => PI / 4.0,
        number => number.parse().ok().filter(|number: &f64| number.is_finite())?,
    };
    Some(sign * magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubles(title: &str, bytes: &[u8]) -> Vec<f64> {
        let Some(Scalar::Reduced(reduced)) = Reduced::from_title(Target::Double32, title) else {
            panic!("{title} is not a reduced number");
        };
        let mut numbers = Vec::new();
        reduced.extend_f64(&mut numbers, bytes);
        numbers
    }

    #[test]
    fn steps_count_from_the_minimum() {
        assert_eq!(doubles("x[0, 8, 8]", &[0, 0, 0, 1, 0, 0, 1, 0]), [8.0 / 256.0, 8.0]);
        assert_eq!(doubles("[-pi,pi]", &[0x80, 0, 0, 0]), [0.0]);
    }

    #[test]
    fn truncated_numbers_as_root_wrote_them() {
        // demo-double32: member fR14, `[0,  0, 14]`.
        let stored = [128, 36, 123, 128, 131, 199, 127, 151, 106];
        let expected = [3.14001465, -2.11804199, -1.36584473];
        for (number, expected) in doubles("[0,  0, 14]", &stored).into_iter().zip(expected) {
            assert!((number - expected).abs() < 1e-8, "{number} is not {expected}");
        }
    }

    #[test]
    fn titles_without_a_range() {
        assert_eq!(Reduced::from_title(Target::Double32, "x[3]"), Some(Scalar::Widened));
        let Some(Scalar::Reduced(reduced)) = Reduced::from_title(Target::Float16, "x") else {
            panic!("a Float16_t is always reduced");
        };
        assert_eq!((reduced.size(), reduced.form), (3, Form::Truncated { bits: 12 }));
    }

    /// ROOT says so, and takes all of them; files have it all the same.
    #[test]
    fn as_many_bits_as_there_cannot_be() {
        for title in ["[0,1,1]", "[0,1,33]", "[0,1,-3]", "[0,1]"] {
            assert_eq!(doubles(title, &[0x80, 0, 0, 0]), [0.5], "{title}");
        }
    }

    #[test]
    fn half_a_range_is_refused() {
        for title in ["[0,b]", "[a,1]", "[0,1,x]", "[0,]", "[0,inf,8]"] {
            assert_eq!(Reduced::from_title(Target::Double32, title), None, "{title}");
        }
    }

    /// As ROOT does: a word that is no number counts as 0, and from 0 to 0 is no range.
    #[test]
    fn words_in_brackets_are_no_range() {
        for title in ["position [cm, see manual]", "[a,b]", "[,]"] {
            let how = Reduced::from_title(Target::Double32, title);
            assert_eq!(how, Some(Scalar::Widened), "{title}");
        }
    }
}
