//! Operations of decoders on columns of every type.

use std::ops::Range;

use crate::array::{Array, Numbers};
use crate::error::Result;
use crate::types::scalar::Scalar;

/// Adds stored numbers; `bytes` is a whole number of them.
pub fn extend(scalar: Scalar, numbers: &mut Numbers, bytes: &[u8]) -> Result<()> {
    if let Scalar::Number(_) | Scalar::Bits = scalar {
        return numbers.extend_big_endian(bytes);
    }
    numbers.room(bytes.len() / scalar.size())?;
    match (scalar, numbers) {
        (Scalar::Widened, Numbers::F64(numbers)) => {
            let (floats, _) = bytes.as_chunks::<4>();
            numbers.extend(floats.iter().map(|float| f64::from(f32::from_be_bytes(*float))));
        }
        (Scalar::Reduced(reduced), Numbers::F64(numbers)) => reduced.extend_f64(numbers, bytes),
        (Scalar::Reduced(reduced), Numbers::F32(numbers)) => reduced.extend_f32(numbers, bytes),
        _ => wrong_column(),
    }
    Ok(())
}

/// Adds the stored numbers of some pieces of `bytes`, each a whole number of them.
pub fn extend_pieces(
    scalar: Scalar,
    numbers: &mut Numbers,
    bytes: &[u8],
    mut pieces: impl Iterator<Item = Range<usize>> + Clone,
) -> Result<()> {
    match scalar {
        Scalar::Number(_) | Scalar::Bits => numbers.extend_big_endian_pieces(bytes, pieces),
        scalar => pieces.try_for_each(|piece| extend(scalar, numbers, &bytes[piece])),
    }
}

/// A whole number that counts something.
pub fn integer(numbers: &Numbers, at: usize) -> Option<i64> {
    Some(match numbers {
        Numbers::I8(all) => i64::from(*all.get(at)?),
        Numbers::I16(all) => i64::from(*all.get(at)?),
        Numbers::I32(all) => i64::from(*all.get(at)?),
        Numbers::I64(all) => *all.get(at)?,
        Numbers::U8(all) => i64::from(*all.get(at)?),
        Numbers::U16(all) => i64::from(*all.get(at)?),
        Numbers::U32(all) => i64::from(*all.get(at)?),
        Numbers::U64(all) => i64::try_from(*all.get(at)?).ok()?,
        Numbers::Bool(_) | Numbers::F32(_) | Numbers::F64(_) => return None,
    })
}

/// The array itself where it has a parameter.
pub fn plain(column: &mut Array) -> &mut Array {
    match column {
        Array::WithParameter { content, .. } => content,
        column => column,
    }
}

/// Number of objects in a column, and their fields.
pub fn record_of(column: &mut Array) -> (&mut usize, &mut [(String, Array)]) {
    match plain(column) {
        Array::Record { entries, fields, .. } => (entries, fields),
        _ => wrong_column(),
    }
}

/// The caller's mistake, not the file's.
pub fn wrong_column() -> ! {
    panic!("decoding into a column of another type")
}
