//! Members that are numbers, as type codes say.

use super::layout::Layout;
use crate::array::Number;
use crate::error::Result;
use crate::types::code;
use crate::types::scalar::Scalar;

/// A number or an array of numbers in streamer info.
pub(super) struct Basic {
    pub(super) scalar: Scalar,
    /// Behind a pointer: a flag of one byte, then as many as a counter says.
    pub(super) pointer: bool,
}

impl Basic {
    /// The number that a streamer type stands for, with the name of the element's type and the
    /// comment behind it; `None` where it is no number.
    pub(super) fn of(type_code: i32, type_name: &str, title: &str) -> Result<Option<Basic>> {
        let (basic, pointer) = match type_code {
            1..=19 => (type_code, false),
            21..=39 => (type_code - code::ARRAY, false),
            41..=59 => (type_code - code::COUNTED, true),
            _ => return Ok(None),
        };
        Ok(match basic {
            // ROOT's counters are signed; uproot's are not.
            code::COUNTER => Some(Scalar::Number(Number::U32)),
            basic => Scalar::of_code(basic, type_name, title)?,
        }
        .map(|scalar| Basic { scalar, pointer }))
    }
}

/// Numbers of a fixed shape.
pub(super) fn shaped(scalar: Scalar, shape: &[usize]) -> Layout {
    Layout::Scalars { scalar, shape: shape.to_vec() }
}
