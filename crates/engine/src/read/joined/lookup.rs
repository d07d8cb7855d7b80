//! Entries of a friend that are looked up by numbers of the table, and those that it lacks.

use std::collections::BTreeSet;
use std::ops::Range;

use rootfile::Array;
use rootfile::tree::TreeIndex;

use crate::read::core::alike::concatenated;
use crate::read::core::columns::{Batch, optional};
use crate::read::core::formula::Expression;
use crate::read::core::steps::{ReadPriority, Step};
use crate::read::core::table::Columns;
use remote::{Error, ErrorKind, Result};

/// Adds so many missing values.
pub fn padded(array: Array, missing: usize) -> Array {
    let mut array = optional(array);
    if let Array::Option { index, .. } = &mut array {
        index.resize(index.len() + missing, -1);
    }
    array
}

/// The entry of an index for each of `count` entries, of which `columns` hold the numbers.
pub fn entries_of(
    index: &TreeIndex,
    both: &[Expression; 2],
    columns: Vec<(String, Array)>,
    count: usize,
) -> Result<Vec<Option<u64>>> {
    let batch = Batch { entries: 0..count as u64, survivors: None, columns, left_out: Vec::new() };
    let major = numbers(&both[0], &batch)?;
    let minor = numbers(&both[1], &batch)?;
    Ok(major.into_iter().zip(minor).map(|(major, minor)| index.entry(major, minor)).collect())
}

fn numbers(expression: &Expression, batch: &Batch) -> Result<Vec<i64>> {
    let column = |name: &String| {
        let found = batch.columns.iter().find(|(known, _)| known == name);
        let lacks = || {
            Error::new(ErrorKind::NotInFile, format!("no column {name} to look entries up with"))
        };
        found.cloned().ok_or_else(lacks)
    };
    let columns = expression.columns.iter().map(column).collect::<Result<_>>()?;
    let entries = batch.entries.clone();
    let left_out = Vec::new();
    expression.integers(&Batch { entries, survivors: None, columns, left_out })
}

/// The columns for these entries of a friend, missing where there is none.
pub async fn read(name: &str, columns: &dyn Columns, wanted: &[Option<u64>]) -> Result<Vec<Array>> {
    let entries: BTreeSet<u64> = wanted.iter().flatten().copied().collect();
    if let Some(last) = entries.last().filter(|last| **last >= columns.num_entries()) {
        let message = format!("the index of {name:?} names entry {last}");
        return Err(Error::new(ErrorKind::Corrupt, message).with_url(columns.file().url()));
    }
    let runs = runs(columns, &entries);
    // All are on their way before the first is waited for.
    let mut begun = Vec::with_capacity(runs.len());
    for run in &runs {
        begun.push(columns.start(run.clone(), Step::Whole, ReadPriority::FIRST).await?);
    }
    let empty = columns.empty();
    let mut parts: Vec<Vec<Array>> = vec![Vec::new(); empty.len()];
    for mut batches in begun {
        let Some(batch) = batches.next_unreported().await.transpose()? else { continue };
        for (parts, (_, array)) in parts.iter_mut().zip(batch.columns) {
            parts.push(array);
        }
    }
    let index = positions(&runs, wanted);
    let read = empty.into_iter().zip(parts).map(|((_, empty), parts)| {
        let content = concatenated(parts)
            .map_err(|error| error.with_url(columns.file().url()))?
            .unwrap_or(empty);
        Ok(Array::Option { index: index.clone(), content: Box::new(content) })
    });
    read.collect()
}

/// Runs of entries that hold all of `entries`, with gaps that spare a basket of each column.
fn runs(columns: &dyn Columns, entries: &BTreeSet<u64>) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for entry in entries {
        match runs.last_mut() {
            Some(last) if last.end == *entry || columns.share_a_piece(last.end - 1, *entry) => {
                last.end = entry + 1;
            }
            _ => runs.push(*entry..entry + 1),
        }
    }
    runs
}

/// Where entries are in runs that follow each other; -1 for none.
fn positions(runs: &[Range<u64>], wanted: &[Option<u64>]) -> Vec<i64> {
    let mut before = Vec::with_capacity(runs.len());
    let mut total = 0;
    for run in runs {
        before.push(total);
        total += run.end - run.start;
    }
    let position = |entry: u64| {
        let at = runs.partition_point(|run| run.end <= entry);
        (before[at] + entry - runs[at].start) as i64
    };
    wanted.iter().map(|entry| entry.map_or(-1, position)).collect()
}

#[cfg(test)]
mod tests {
    use rootfile::Numbers;

    use super::*;

    #[test]
    fn positions_in_runs() {
        let runs = [3..5, 10..12];
        let wanted = [Some(11), None, Some(3), Some(10), Some(4), Some(11)];
        assert_eq!(positions(&runs, &wanted), [3, -1, 0, 2, 1, 3]);
    }

    #[test]
    fn missing_values_are_added_once() {
        let numbers = Array::Numbers { numbers: Numbers::I32(vec![7, 8]), shape: Vec::new() };
        let option = |index: &[i64]| Array::Option {
            index: index.to_vec(),
            content: numbers.clone().into(),
        };
        assert_eq!(padded(numbers.clone(), 1), option(&[0, 1, -1]));
        assert_eq!(padded(option(&[1, -1]), 2), option(&[1, -1, -1, -1]));
    }
}
