//! Numbers, in all the ways in which members have them.

use super::Value;
use crate::array::{Number, Numbers};
use crate::cursor::Cursor;
use crate::error::Result;
use crate::memory;
use crate::streamer::Kind;
use crate::types::reduced::Reduced;

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

/// A `Float16_t` without a range: exponent in one byte, then sign and 12 bits of mantissa in two
/// (ROOT: `TBufferFile::ReadWithNbits`).
pub(super) fn float16(cursor: &mut Cursor<'_>) -> Result<f32> {
    const BITS: u32 = 12;
    let exponent = u32::from(cursor.u8()?);
    let mantissa = u32::from(cursor.u16()?);
    let low = mantissa & ((1 << (BITS + 1)) - 1);
    let magnitude = f32::from_bits((exponent << 23) | (low << (23 - BITS)));
    Ok(if mantissa & (1 << (BITS + 1)) != 0 { -magnitude } else { magnitude })
}

/// An array of numbers, of any way in which they are written.
pub(super) fn numbers(kind: &Kind, count: usize, cursor: &mut Cursor<'_>) -> Result<Numbers> {
    match kind {
        Kind::Numbers(basic, _) => cursor.numbers(*basic, count),
        Kind::Double32(_) => double32s(count, cursor),
        Kind::Float16(_) => float16s(count, cursor),
        Kind::Packed(how, _) => packed(*how, count, cursor),
        _ => Err(cursor.unsupported("an array of what is no number")),
    }
}

pub(super) fn double32s(count: usize, cursor: &mut Cursor<'_>) -> Result<Numbers> {
    Ok(Numbers::F64(cursor.f32s(count)?.into_iter().map(f64::from).collect()))
}

pub(super) fn packed(how: Reduced, count: usize, cursor: &mut Cursor<'_>) -> Result<Numbers> {
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

fn float16s(count: usize, cursor: &mut Cursor<'_>) -> Result<Numbers> {
    let mut part = cursor.split(count.saturating_mul(3))?;
    let all = (0..count).map(|_| float16(&mut part)).collect::<Result<Vec<f32>>>()?;
    Ok(Numbers::F32(all))
}
