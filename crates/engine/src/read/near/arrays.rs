//! Arrow's arrays as columns: the way back of `read/export/arrow.rs`. Whatever a server sends is
//! compared with the type that the column has.

use arrow_array::cast::AsArray;
use arrow_array::types::{self, ArrowPrimitiveType};
use arrow_array::{Array as _, ArrayRef};
use rootfile::{Array, Numbers};

use remote::{Error, ErrorKind, Result};

fn other(expected: &str, found: &ArrayRef) -> Error {
    let message = format!("the server sends {} in place of {expected}", found.data_type());
    Error::new(ErrorKind::Corrupt, message)
}

/// The array, of the same type as `like`.
///
/// # Errors
/// `Corrupt` where it has another type.
pub fn array(found: &ArrayRef, like: &Array) -> Result<Array> {
    let is_optional = matches!(like, Array::Option { .. } | Array::Union { .. });
    if found.null_count() > 0 && !is_optional {
        return Err(other("values of which none is missing", found));
    }
    Ok(match like {
        Array::Numbers { numbers, shape } => {
            let flat = flattened(found, shape)?;
            Array::Numbers { numbers: numbers_of(&flat, numbers)?, shape: shape.clone() }
        }
        Array::List { content, .. } => {
            let list = found.as_list_opt::<i64>().ok_or_else(|| other("lists", found))?;
            let (offsets, range) = offsets_of(list.value_offsets());
            let inner = list.values().slice(range.start, range.end - range.start);
            Array::List { offsets: offsets.into(), content: Box::new(array(&inner, content)?) }
        }
        Array::Strings { .. } => {
            let texts = found.as_string_opt::<i64>().ok_or_else(|| other("texts", found))?;
            let (offsets, range) = offsets_of(texts.value_offsets());
            Array::Strings { offsets, bytes: texts.value_data()[range].to_vec() }
        }
        Array::Record { class, fields, .. } => {
            let entries = found.len();
            let fields = fields_of(found, fields)?;
            Array::Record { class: class.clone(), entries, fields }
        }
        Array::Regular { length, content, .. } => {
            let inner = items(found, *length)?;
            let content = Box::new(array(&inner, content)?);
            Array::Regular { length: *length, entries: found.len(), content }
        }
        Array::Option { content, .. } => option(found, content)?,
        Array::Union { contents, .. } => union(found, contents)?,
        Array::WithParameter { parameter, content } => {
            array(found, content)?.with_parameter(*parameter)
        }
    })
}

/// Offsets that begin at zero, and where their content lies.
fn offsets_of(offsets: &[i64]) -> (Vec<i64>, std::ops::Range<usize>) {
    let first = offsets.first().copied().unwrap_or_default();
    let last = offsets.last().copied().unwrap_or_default();
    // Arrow has verified that they ascend, and where they end.
    let own = offsets.iter().map(|offset| offset - first).collect();
    (own, first as usize..last as usize)
}

/// The items of lists of a fixed length.
fn items(found: &ArrayRef, length: usize) -> Result<ArrayRef> {
    let list = found.as_fixed_size_list_opt().ok_or_else(|| other("lists of one length", found))?;
    if usize::try_from(list.value_length()).ok() != Some(length) || found.null_count() > 0 {
        return Err(other(&format!("lists of {length} items"), found));
    }
    let first = list.value_offset_at(0);
    Ok(list.values().slice(first, length * list.len()))
}

/// The numbers in fixed inner dimensions.
fn flattened(found: &ArrayRef, shape: &[usize]) -> Result<ArrayRef> {
    let mut flat = found.clone();
    for length in shape {
        flat = items(&flat, *length)?;
    }
    Ok(flat)
}

fn numbers_of(found: &ArrayRef, like: &Numbers) -> Result<Numbers> {
    fn of<T: ArrowPrimitiveType>(found: &ArrayRef) -> Option<Vec<T::Native>> {
        Some(found.as_primitive_opt::<T>()?.values().to_vec())
    }
    let numbers = match like {
        Numbers::Bool(_) => found
            .as_boolean_opt()
            .map(|bits| Numbers::Bool(bits.values().iter().map(u8::from).collect())),
        Numbers::I8(_) => of::<types::Int8Type>(found).map(Numbers::I8),
        Numbers::I16(_) => of::<types::Int16Type>(found).map(Numbers::I16),
        Numbers::I32(_) => of::<types::Int32Type>(found).map(Numbers::I32),
        Numbers::I64(_) => of::<types::Int64Type>(found).map(Numbers::I64),
        Numbers::U8(_) => of::<types::UInt8Type>(found).map(Numbers::U8),
        Numbers::U16(_) => of::<types::UInt16Type>(found).map(Numbers::U16),
        Numbers::U32(_) => of::<types::UInt32Type>(found).map(Numbers::U32),
        Numbers::U64(_) => of::<types::UInt64Type>(found).map(Numbers::U64),
        Numbers::F32(_) => of::<types::Float32Type>(found).map(Numbers::F32),
        Numbers::F64(_) => of::<types::Float64Type>(found).map(Numbers::F64),
    };
    let is_whole = found.null_count() == 0;
    numbers.filter(|_| is_whole).ok_or_else(|| other(like.dtype(), found))
}

fn fields_of(found: &ArrayRef, like: &[(String, Array)]) -> Result<Vec<(String, Array)>> {
    let record = found.as_struct_opt().ok_or_else(|| other("records", found))?;
    let names = record.fields().iter().map(|field| field.name());
    if !names.eq(like.iter().map(|(name, _)| name)) {
        return Err(other("records with other fields", found));
    }
    let fields = record.columns().iter().zip(like);
    fields.map(|(field, (name, like))| Ok((name.clone(), array(field, like)?))).collect()
}

/// Values of which some may be missing: the content has those that are there.
fn option(found: &ArrayRef, like: &Array) -> Result<Array> {
    let is_there = |at: usize| found.is_valid(at);
    let mut index = Vec::with_capacity(found.len());
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    let mut count = 0;
    for at in 0..found.len() {
        if !is_there(at) {
            index.push(-1);
            continue;
        }
        index.push(count);
        count += 1;
        match runs.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    let parts = runs.iter().map(|run| array(&found.slice(run.start, run.len()), like));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let wrong = |error: rootfile::Error| Error::new(ErrorKind::Corrupt, error.to_string());
    let content = Array::concat(parts).map_err(wrong)?.unwrap_or_else(|| like.empty_like());
    Ok(Array::Option { index, content: Box::new(content) })
}

/// Variants; the first alternative is to have no value.
fn union(found: &ArrayRef, like: &[Array]) -> Result<Array> {
    let wrong = || other("variants", found);
    let variants = found.as_union_opt().ok_or_else(wrong)?;
    let offsets = variants.offsets().ok_or_else(wrong)?;
    let mut contents = Vec::with_capacity(like.len());
    for (number, like) in like.iter().enumerate() {
        let id = i8::try_from(number + 1).map_err(|_| wrong())?;
        let has = variants.fields().iter().any(|(known, _)| known == id);
        contents.push(array(has.then(|| variants.child(id)).ok_or_else(wrong)?, like)?);
    }
    let mut tags = Vec::with_capacity(found.len());
    let mut index = Vec::with_capacity(found.len());
    for (id, offset) in variants.type_ids().iter().zip(offsets.iter()) {
        let tag = id - 1;
        let is_inside = usize::try_from(tag).is_ok_and(|tag| {
            let content = contents.get(tag).map_or(0, Array::len);
            usize::try_from(*offset).is_ok_and(|at| at < content)
        });
        if tag >= 0 && !is_inside || tag < -1 {
            return Err(wrong());
        }
        tags.push(tag);
        index.push(if tag < 0 { -1 } else { i64::from(*offset) });
    }
    Ok(Array::Union { tags, index, contents })
}
