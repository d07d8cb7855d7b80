//! How numbers are stored.

use super::reduced::Reduced;
use crate::array::{Number, Numbers};

/// How a number is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    Number(Number),
    /// The bits of a TObject: a `uint32_t`, which a process id follows where the object is
    /// referenced.
    Bits,
    /// Stored as `float`, meant as `double` (`Double32_t` without a range).
    Widened,
    Reduced(Reduced),
}

impl Number {
    /// In uproot's spelling.
    pub fn typename(self) -> &'static str {
        match self {
            Number::Bool => "bool",
            Number::I8 => "int8_t",
            Number::I16 => "int16_t",
            Number::I32 => "int32_t",
            Number::I64 => "int64_t",
            Number::U8 => "uint8_t",
            Number::U16 => "uint16_t",
            Number::U32 => "uint32_t",
            Number::U64 => "uint64_t",
            Number::F32 => "float",
            Number::F64 => "double",
        }
    }
}

impl Scalar {
    /// Bytes in the file.
    pub fn size(self) -> usize {
        match self {
            Scalar::Number(number) => number.size(),
            Scalar::Widened | Scalar::Bits => 4,
            Scalar::Reduced(reduced) => reduced.size(),
        }
    }

    /// In uproot's spelling, which calls a `Double32_t` without a range by what is stored.
    pub fn typename(self) -> &'static str {
        match self {
            Scalar::Number(number) => number.typename(),
            Scalar::Bits => Number::U32.typename(),
            Scalar::Widened => "float",
            Scalar::Reduced(reduced) => reduced.typename(),
        }
    }

    pub(crate) fn empty(self) -> Numbers {
        match self {
            Scalar::Number(number) => number.empty(),
            Scalar::Bits => Numbers::U32(Vec::new()),
            Scalar::Widened => Numbers::F64(Vec::new()),
            Scalar::Reduced(reduced) if reduced.is_double() => Numbers::F64(Vec::new()),
            Scalar::Reduced(_) => Numbers::F32(Vec::new()),
        }
    }
}
