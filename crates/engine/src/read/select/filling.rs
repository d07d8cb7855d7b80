//! The values of columns as the coordinates of fills.

use rootfile::{Array, Numbers};

use crate::read::core::columns::datashape;
use remote::{Error, ErrorKind, Result};

/// The numbers of a column in their order, and how many each entry has.
pub struct Values {
    pub numbers: Vec<f64>,
    /// `None` where each entry has one.
    pub counts: Option<Vec<usize>>,
}

/// The numbers of a column, lists flattened; missing ones are left out.
///
/// # Errors
/// `InvalidArgument` for a column of other things than numbers.
pub fn values(name: &str, array: &Array) -> Result<Values> {
    let mut counts: Option<Vec<usize>> = None;
    let numbers = flattened(array, &mut counts).ok_or_else(|| {
        let message =
            format!("a histogram is filled with numbers, and {name} has {}", datashape(array));
        Error::new(ErrorKind::InvalidArgument, message)
    })?;
    Ok(Values { numbers, counts })
}

/// The numbers of an array; `counts` are how many of its entries each entry of the column has.
fn flattened(array: &Array, counts: &mut Option<Vec<usize>>) -> Option<Vec<f64>> {
    match array {
        Array::Numbers { numbers, shape } => {
            let width: usize = shape.iter().product();
            if !shape.is_empty() {
                widen(counts, array.len(), |_| width);
            }
            Some(floats(numbers))
        }
        Array::List { offsets, content } => {
            widen(counts, array.len(), |at| (offsets[at + 1] - offsets[at]) as usize);
            flattened(content, counts)
        }
        Array::Regular { length, content, .. } => {
            widen(counts, array.len(), |_| *length);
            flattened(content, counts)
        }
        Array::Option { index, content } => {
            widen(counts, index.len(), |at| usize::from(index[at] >= 0));
            let there = index.iter().filter_map(|at| usize::try_from(*at).ok());
            let runs: Vec<_> = there.map(|at| at..at + 1).collect();
            flattened(&content.gather(&runs), counts)
        }
        Array::WithParameter { content, .. } => flattened(content, counts),
        Array::Strings { .. } | Array::Record { .. } | Array::Union { .. } => None,
    }
}

/// Makes counts of entries out of counts of lists, of which each has `inner` items.
fn widen(counts: &mut Option<Vec<usize>>, lists: usize, inner: impl Fn(usize) -> usize) {
    let outer = counts.take().unwrap_or_else(|| vec![1; lists]);
    let mut first = 0;
    let widened = outer.into_iter().map(|count| {
        let sum = (first..first + count).map(&inner).sum();
        first += count;
        sum
    });
    *counts = Some(widened.collect());
}

/// Numbers as floats of 64 bits, each the nearest.
fn floats(numbers: &Numbers) -> Vec<f64> {
    fn of<T: Copy>(all: &[T], convert: impl Fn(T) -> f64) -> Vec<f64> {
        all.iter().map(|one| convert(*one)).collect()
    }
    match numbers {
        Numbers::Bool(all) | Numbers::U8(all) => of(all, f64::from),
        Numbers::I8(all) => of(all, f64::from),
        Numbers::I16(all) => of(all, f64::from),
        Numbers::I32(all) => of(all, f64::from),
        Numbers::I64(all) => of(all, |one| one as f64),
        Numbers::U16(all) => of(all, f64::from),
        Numbers::U32(all) => of(all, f64::from),
        Numbers::U64(all) => of(all, |one| one as f64),
        Numbers::F32(all) => of(all, f64::from),
        Numbers::F64(all) => all.clone(),
    }
}

impl Values {
    /// The numbers with as many for each entry as another column has: one for all of them, or the
    /// same number.
    ///
    /// # Errors
    /// `InvalidArgument` where an entry has another number of them.
    pub fn like(self, name: &str, counts: Option<&[usize]>) -> Result<Vec<f64>> {
        match (self.counts, counts) {
            (None, None) => Ok(self.numbers),
            (None, Some(counts)) => {
                let repeated = self.numbers.iter().zip(counts);
                Ok(repeated
                    .flat_map(|(number, count)| std::iter::repeat_n(*number, *count))
                    .collect())
            }
            (Some(own), Some(counts)) if own == counts => Ok(self.numbers),
            (Some(_), _) => {
                let message =
                    format!("{name} has another number of values for an entry than the other axes");
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
        }
    }
}
