//! Storage of numbers.

use super::code;
use super::reduced::{Reduced, Target};
use crate::array::{Number, Numbers};
use crate::error::{Error, Result};

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
    /// The number that a member of a basic type is, by the code of one such number, the name of its
    /// type and the comment behind it; `None` for codes of anything else.
    ///
    /// # Errors
    /// `Unsupported` where the comment has a range that is not understood.
    pub(crate) fn of_code(code: i32, type_name: &str, title: &str) -> Result<Option<Scalar>> {
        let number = match code {
            code::CHAR | code::LEGACY_CHAR => Number::I8,
            code::SHORT => Number::I16,
            code::INT | code::COUNTER => Number::I32,
            code::LONG | code::LONG64 => Number::I64,
            code::FLOAT => Number::F32,
            code::DOUBLE => Number::F64,
            // Some versions of ROOT wrote bool with the code of unsigned char.
            code::UCHAR if matches!(type_name, "bool" | "Bool_t") => Number::Bool,
            code::UCHAR => Number::U8,
            code::USHORT => Number::U16,
            code::UINT => Number::U32,
            code::ULONG | code::ULONG64 => Number::U64,
            code::BOOL => Number::Bool,
            code::BITS => return Ok(Some(Scalar::Bits)),
            code::DOUBLE32 | code::FLOAT16 => {
                let target =
                    if code == code::DOUBLE32 { Target::Double32 } else { Target::Float16 };
                let scalar = Reduced::from_title(target, title);
                let wrong = || Error::unsupported(format!("range in \"{title}\""));
                return scalar.map(Some).ok_or_else(wrong);
            }
            _ => return Ok(None),
        };
        Ok(Some(Scalar::Number(number)))
    }

    /// Bytes in the file.
    pub fn size(self) -> usize {
        match self {
            Scalar::Number(number) => number.size(),
            Scalar::Widened | Scalar::Bits => 4,
            Scalar::Reduced(reduced) => reduced.size(),
        }
    }

    /// In uproot's spelling, which calls a `Double32_t` without a range by its stored type.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// (Source: ROOT, `TVirtualStreamerInfo::EReadWrite` and `TBufferFile`.)
    #[test]
    fn every_type_code() {
        let plain: Vec<Option<Scalar>> =
            (0..=code::ARRAY).map(|code| Scalar::of_code(code, "", "").unwrap()).collect();
        let truncated = Reduced::from_title(Target::Float16, "");
        let numbers = [
            Number::I8,
            Number::I16,
            Number::I32,
            Number::I64,
            Number::F32,
            Number::I32,
            Number::F64,
            Number::I8,
            Number::U8,
            Number::U16,
            Number::U32,
            Number::U64,
            Number::I64,
            Number::U64,
            Number::Bool,
        ];
        let mut expected: Vec<Option<Scalar>> =
            numbers.into_iter().map(|number| Some(Scalar::Number(number))).collect();
        expected.insert(code::BASE as usize, None);
        expected.insert(code::CHAR_STAR as usize, None);
        expected.insert(code::DOUBLE32 as usize, Some(Scalar::Widened));
        expected.insert(code::BITS as usize, Some(Scalar::Bits));
        expected.extend([truncated, None]);
        assert_eq!(plain, expected);
    }

    /// Some versions of ROOT wrote `bool` with the code of `unsigned char`: files of ROOT 5 have
    /// `TAxis::fTimeDisplay` so.
    #[test]
    fn bool_is_recognised_by_its_name() {
        for name in ["bool", "Bool_t"] {
            let scalar = Scalar::of_code(code::UCHAR, name, "").unwrap();
            assert_eq!(scalar, Some(Scalar::Number(Number::Bool)));
        }
    }

    #[test]
    fn ranges_stand_anywhere_in_a_comment() {
        for code in [code::DOUBLE32, code::FLOAT16] {
            let scalar = Scalar::of_code(code, "", "in cm [0,100,16]").unwrap().unwrap();
            assert_eq!(scalar.size(), 4);
            assert!(Scalar::of_code(code, "", "[0,b]").is_err());
        }
    }
}
