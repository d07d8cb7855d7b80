//! Numbers, in all the ways in which members have them.

use super::Value;
use crate::array::{Number, Numbers};
use crate::cursor::Cursor;
use crate::error::Result;
use crate::memory;
use crate::types::framing::IS_REFERENCED;
use crate::types::reduced::Reduced;
use crate::types::scalar::Scalar;

pub(super) fn number(basic: Number, cursor: &mut Cursor<'_>) -> Result<Value> {
    Ok(match basic {
        Number::Bool => Value::Bool(cursor.u8()? != 0),
        Number::I8 => Value::Int(cursor.i8()?.into()),
        Number::I16 => Value::Int(cursor.i16()?.into()),
        Number::I32 => Value::Int(cursor.i32()?.into()),
        Number::I64 => Value::Int(cursor.i64()?),
        Number::U8 => Value::Uint(cursor.u8()?.into()),
        Number::U16 => Value::Uint(cursor.u16()?.into()),
        Number::U32 => Value::Uint(cursor.u32()?.into()),
        Number::U64 => Value::Uint(cursor.u64()?),
        Number::F32 => Value::Float(cursor.f32()?.into()),
        Number::F64 => Value::Float(cursor.f64()?),
    })
}

/// One number, in whichever way it is stored.
pub(super) fn scalar(scalar: Scalar, cursor: &mut Cursor<'_>) -> Result<Value> {
    match scalar {
        Scalar::Number(basic) => number(basic, cursor),
        Scalar::Bits => {
            let bits = cursor.u32()?;
            if bits & IS_REFERENCED != 0 {
                cursor.skip(2)?;
            }
            Ok(Value::Uint(bits.into()))
        }
        Scalar::Widened => Ok(Value::Float(cursor.f32()?.into())),
        Scalar::Reduced(how) => Ok(Value::Float(how.number(&cursor.take(how.size())?))),
    }
}

/// Numbers one behind the other.
pub(super) fn scalars(scalar: Scalar, count: usize, cursor: &mut Cursor<'_>) -> Result<Numbers> {
    match scalar {
        Scalar::Number(basic) => cursor.numbers(basic, count),
        Scalar::Bits => Ok(Numbers::U32(cursor.u32s(count)?)),
        Scalar::Widened => double32s(count, cursor),
        Scalar::Reduced(how) => reduced(how, count, cursor),
    }
}

pub(super) fn double32s(count: usize, cursor: &mut Cursor<'_>) -> Result<Numbers> {
    Ok(Numbers::F64(cursor.f32s(count)?.into_iter().map(f64::from).collect()))
}

fn reduced(how: Reduced, count: usize, cursor: &mut Cursor<'_>) -> Result<Numbers> {
    let bytes = cursor.take(count.saturating_mul(how.size()))?;
    Ok(if how.is_double() {
        let mut all = memory::with_room(count)?;
        how.extend_f64(&mut all, &bytes);
        Numbers::F64(all)
    } else {
        let mut all = memory::with_room(count)?;
        how.extend_f32(&mut all, &bytes);
        Numbers::F32(all)
    })
}
