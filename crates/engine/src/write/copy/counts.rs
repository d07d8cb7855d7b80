//! Numbers of items of an input's entries: read where a branch of so many is to be filled.

use remote::{Error, ErrorKind, Result};
use rootfile::{Array, Numbers};

use super::plan::PlannedInput;
use crate::read::core::skip::OnError;
use crate::read::core::spec::ColumnSpec;
use crate::read::core::steps::Step;
use crate::read::file::session::Session;
use crate::read::many::scan::{ScanBatches, ScanRequest, TableLocation};

/// Bytes of counts that are read at a time.
const STEP_BYTES: u64 = 8 << 20;

/// The counts of all entries of an input's tree.
pub async fn read(
    session: &Session,
    input: &PlannedInput,
    tree: &str,
    counter: &str,
) -> Result<Vec<u64>> {
    let place = TableLocation {
        url: input.address.clone(),
        path: Some(tree.to_owned()),
        ..TableLocation::default()
    };
    let request = ScanRequest {
        wanted: ColumnSpec::Named(vec![counter.to_owned()]),
        entries: 0..u64::MAX,
        step: Step::Bytes(STEP_BYTES),
        cut: None,
        on_error: OnError::Raise,
    };
    let mut batches = ScanBatches::new(session.clone(), vec![place], request);
    let mut counts = Vec::new();
    while let Some(batch) = batches.next().await {
        for (_, array) in batch?.batch.columns {
            let numbers = whole(&array).ok_or_else(|| {
                let text = format!("{tree}: {counter} counts items, and is no whole number");
                Error::new(ErrorKind::Unsupported, text).with_url(&*input.url)
            })?;
            counts.extend(numbers);
        }
    }
    Ok(counts)
}

/// Counts; those below zero are taken for none, as readers take them.
fn whole(array: &Array) -> Option<Vec<u64>> {
    fn counts<T: Copy + TryInto<u64>>(numbers: &[T]) -> Vec<u64> {
        numbers.iter().map(|number| (*number).try_into().unwrap_or(0)).collect()
    }
    let Array::Numbers { numbers, .. } = array else { return None };
    Some(match numbers {
        Numbers::I8(numbers) => counts(numbers),
        Numbers::I16(numbers) => counts(numbers),
        Numbers::I32(numbers) => counts(numbers),
        Numbers::I64(numbers) => counts(numbers),
        Numbers::U8(numbers) => counts(numbers),
        Numbers::U16(numbers) => counts(numbers),
        Numbers::U32(numbers) => counts(numbers),
        Numbers::U64(numbers) => counts(numbers),
        Numbers::Bool(_) | Numbers::F32(_) | Numbers::F64(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_numbers_from_zero() {
        let array = |numbers| Array::Numbers { numbers, shape: Vec::new() };
        assert_eq!(whole(&array(Numbers::I32(vec![3, -1, 0]))), Some(vec![3, 0, 0]));
        assert_eq!(whole(&array(Numbers::U8(vec![255]))), Some(vec![255]));
        assert_eq!(whole(&array(Numbers::F32(vec![1.0]))), None);
    }
}
