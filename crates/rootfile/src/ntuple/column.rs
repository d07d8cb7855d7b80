//! Column types: how elements are stored, and their types once decoded.

use super::schema::Column;
use crate::array::{Number, Numbers};
use crate::error::{Error, Result};

/// How the elements of a column are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Encoding {
    Bit,
    /// As they are, or with the bytes of all elements split: first bytes first. Split signed
    /// integers are in zigzag too.
    Number {
        number: Number,
        split: bool,
    },
    /// Half-precision reals.
    Real16 {
        split: bool,
    },
    /// Ends of collections; split ones as differences.
    Index {
        wide: bool,
        split: bool,
    },
    /// An index of 64 bits and a tag of 32.
    Switch,
    /// The highest `bits` bits of single-precision reals.
    Truncated {
        bits: u32,
    },
    /// Steps of a range, in `bits` bits.
    Quantised {
        bits: u32,
        min: f64,
        max: f64,
    },
    /// Whole numbers of `bits` bits; no column type has it: see [`Encoding::undecoded`].
    Packed {
        bits: u32,
    },
}

/// Type of an element once decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    Bool,
    Number(Number),
    /// The end of a collection.
    Index {
        wide: bool,
    },
    Switch,
}

impl Encoding {
    /// How the elements of `column` are stored.
    ///
    /// # Errors
    /// `Unsupported` for a type that a later version of the format has brought; `Corrupt` for a
    /// size that the type cannot have.
    pub fn of(column: &Column) -> Result<Encoding> {
        use Number::*;
        let number = |number, split| Encoding::Number { number, split };
        let encoding = match column.kind {
            0x00 => Encoding::Bit,
            0x01 | 0x02 | 0x04 => number(U8, false),
            0x03 => number(I8, false),
            0x05 => number(I16, false),
            0x06 => number(U16, false),
            0x07 => number(I32, false),
            0x08 => number(U32, false),
            0x09 => number(I64, false),
            0x0a => number(U64, false),
            0x0b => Encoding::Real16 { split: false },
            0x0c => number(F32, false),
            0x0d => number(F64, false),
            0x0e => Encoding::Index { wide: false, split: false },
            0x0f => Encoding::Index { wide: true, split: false },
            0x10 => Encoding::Switch,
            0x11 => number(I16, true),
            0x12 => number(U16, true),
            0x13 => number(I32, true),
            0x14 => number(U32, true),
            0x15 => number(I64, true),
            0x16 => number(U64, true),
            0x17 => Encoding::Real16 { split: true },
            0x18 => number(F32, true),
            0x19 => number(F64, true),
            0x1a => Encoding::Index { wide: false, split: true },
            0x1b => Encoding::Index { wide: true, split: true },
            0x1c => Encoding::Truncated { bits: u32::from(column.bits) },
            0x1d => quantised(column)?,
            other => return Err(Error::unsupported(format!("a column of type {other:#04x}"))),
        };
        if !encoding.bits_allowed().contains(&u32::from(column.bits)) {
            let message =
                format!("a column of type {:#04x} with {} bits", column.kind, column.bits);
            return Err(Error::corrupt(message));
        }
        Ok(encoding)
    }

    /// The encoding that decodes reals of fewer bits as the whole numbers that are stored, so that
    /// they can be encoded again without loss; other encodings stay as they are.
    pub(crate) fn undecoded(self) -> Encoding {
        match self {
            Encoding::Real16 { split } => Encoding::Number { number: Number::U16, split },
            Encoding::Truncated { bits } | Encoding::Quantised { bits, .. } => {
                Encoding::Packed { bits }
            }
            other => other,
        }
    }

    /// The type of the elements once decoded.
    pub fn element(&self) -> Element {
        match self {
            Encoding::Bit => Element::Bool,
            Encoding::Number { number, .. } => Element::Number(*number),
            Encoding::Index { wide, .. } => Element::Index { wide: *wide },
            Encoding::Switch => Element::Switch,
            Encoding::Packed { .. } => Element::Number(Number::U32),
            Encoding::Real16 { .. } | Encoding::Truncated { .. } | Encoding::Quantised { .. } => {
                Element::Number(Number::F32)
            }
        }
    }

    fn bits_allowed(&self) -> std::ops::RangeInclusive<u32> {
        let bits = match self {
            Encoding::Bit => 1,
            Encoding::Number { number, .. } => number.size() as u32 * 8,
            Encoding::Real16 { .. } => 16,
            Encoding::Index { wide: false, .. } => 32,
            Encoding::Index { wide: true, .. } => 64,
            Encoding::Switch => 96,
            Encoding::Truncated { .. } => return 10..=31,
            Encoding::Quantised { .. } | Encoding::Packed { .. } => return 1..=32,
        };
        bits..=bits
    }
}

fn quantised(column: &Column) -> Result<Encoding> {
    match column.range {
        Some((min, max)) if min.is_finite() && max.is_finite() && min <= max => {
            Ok(Encoding::Quantised { bits: u32::from(column.bits), min, max })
        }
        Some((min, max)) => {
            Err(Error::corrupt(format!("quantised reals in the range {min} to {max}")))
        }
        None => Err(Error::corrupt("quantised reals without a range")),
    }
}

impl Element {
    /// No elements of this type; a switch is no number, and nothing can be added to it as one.
    pub(crate) fn empty(self) -> Numbers {
        match self {
            Element::Bool => Numbers::Bool(Vec::new()),
            Element::Number(number) => number.empty(),
            Element::Index { .. } | Element::Switch => Numbers::I64(Vec::new()),
        }
    }

    /// The common type of two representations of one field: the one that holds the other's values.
    pub fn joined(self, other: Element) -> Option<Element> {
        use Number::{F32, F64};
        match (self, other) {
            (a, b) if a == b => Some(a),
            (Element::Index { .. }, Element::Index { .. }) => Some(Element::Index { wide: true }),
            (Element::Number(F32), Element::Number(F64))
            | (Element::Number(F64), Element::Number(F32)) => Some(Element::Number(F64)),
            _ => None,
        }
    }
}
