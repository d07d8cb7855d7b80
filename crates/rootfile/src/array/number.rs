//! The plain number types that a file can hold.

use super::Numbers;

/// A plain number type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl Number {
    /// All there are.
    pub const ALL: [Number; 11] = [
        Number::Bool,
        Number::I8,
        Number::I16,
        Number::I32,
        Number::I64,
        Number::U8,
        Number::U16,
        Number::U32,
        Number::U64,
        Number::F32,
        Number::F64,
    ];

    /// Bytes in the file.
    pub fn size(self) -> usize {
        match self {
            Number::Bool | Number::I8 | Number::U8 => 1,
            Number::I16 | Number::U16 => 2,
            Number::I32 | Number::U32 | Number::F32 => 4,
            Number::I64 | Number::U64 | Number::F64 => 8,
        }
    }

    /// The type of such numbers.
    pub fn of(numbers: &Numbers) -> Number {
        match numbers {
            Numbers::Bool(_) => Number::Bool,
            Numbers::I8(_) => Number::I8,
            Numbers::I16(_) => Number::I16,
            Numbers::I32(_) => Number::I32,
            Numbers::I64(_) => Number::I64,
            Numbers::U8(_) => Number::U8,
            Numbers::U16(_) => Number::U16,
            Numbers::U32(_) => Number::U32,
            Numbers::U64(_) => Number::U64,
            Numbers::F32(_) => Number::F32,
            Numbers::F64(_) => Number::F64,
        }
    }

    /// No numbers of this type.
    pub fn empty(self) -> Numbers {
        match self {
            Number::Bool => Numbers::Bool(Vec::new()),
            Number::I8 => Numbers::I8(Vec::new()),
            Number::I16 => Numbers::I16(Vec::new()),
            Number::I32 => Numbers::I32(Vec::new()),
            Number::I64 => Numbers::I64(Vec::new()),
            Number::U8 => Numbers::U8(Vec::new()),
            Number::U16 => Numbers::U16(Vec::new()),
            Number::U32 => Numbers::U32(Vec::new()),
            Number::U64 => Numbers::U64(Vec::new()),
            Number::F32 => Numbers::F32(Vec::new()),
            Number::F64 => Numbers::F64(Vec::new()),
        }
    }
}
