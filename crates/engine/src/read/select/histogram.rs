//! Histograms of one to three axes, filled entry by entry: so the sums do not depend on the pieces
//! in which the entries come.

use std::fmt::Write;

use super::bounds::SelectTotals;
use super::filling::values;
use super::turn::StepsInTurn;
use crate::read::near::request::HistogramAxis;
use remote::{Error, ErrorKind, Result};
use rootfile::Array;

/// Bins of all axes together, those beyond the edges included.
const CELLS_MAX: usize = 4_000_000;
const AXES_MAX: usize = 3;

/// A histogram: the first bin of each axis is that of values below it, the last one that of values
/// above it and of those that are no numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Bins of each axis, without those two.
    pub bins: Vec<usize>,
    /// Sums of weights, the last axis fastest.
    pub values: Vec<f64>,
    /// Sums of squares of weights; `None` without weights.
    pub variances: Option<Vec<f64>>,
}

/// The bins of an axis.
enum Bins {
    Regular { count: usize, start: f64, stop: f64 },
    Edges(Vec<f64>),
}

impl Bins {
    fn of(axis: &HistogramAxis) -> Result<Bins> {
        let wrong = |message: &str| Err(Error::new(ErrorKind::InvalidArgument, message));
        let HistogramAxis { bins, start, stop, edges, .. } = axis;
        match (bins, start, stop, edges) {
            (Some(count), Some(start), Some(stop), None) => {
                let is_range = start < stop && (stop - start).is_finite();
                match *count > 0 && is_range {
                    true => Ok(Bins::Regular { count: *count, start: *start, stop: *stop }),
                    false => wrong("an axis has at least one bin, from a number to a larger one"),
                }
            }
            (None, None, None, Some(edges)) => {
                let ascend = edges.windows(2).all(|pair| pair[0] < pair[1]);
                match edges.len() > 1 && ascend {
                    true => Ok(Bins::Edges(edges.clone())),
                    false => wrong("the edges of an axis are at least two numbers that ascend"),
                }
            }
            _ => wrong("an axis has bins, start and stop, or edges"),
        }
    }

    fn count(&self) -> usize {
        match self {
            Bins::Regular { count, .. } => *count,
            Bins::Edges(edges) => edges.len() - 1,
        }
    }

    /// The bin of a value, counted from the one below the axis: as boost-histogram has it.
    fn index(&self, value: f64) -> usize {
        match self {
            Bins::Regular { count, start, stop } => {
                let place = (value - start) / (stop - start);
                match place {
                    _ if place >= 1.0 || place.is_nan() => count + 1,
                    _ if place < 0.0 => 0,
                    _ => 1 + (place * *count as f64) as usize,
                }
            }
            Bins::Edges(edges) if value.is_nan() => edges.len(),
            Bins::Edges(edges) => edges.partition_point(|edge| *edge <= value),
        }
    }
}

/// Fills a histogram with the columns of its axes and the weight, as they are read.
///
/// # Errors
/// `InvalidArgument` for axes that are none; `LimitReached` for too many bins; those of reading.
pub(super) async fn filled(
    mut batches: StepsInTurn,
    axes: &[HistogramAxis],
    has_weight: bool,
) -> Result<(Histogram, SelectTotals)> {
    let bins = axes.iter().map(Bins::of).collect::<Result<Vec<_>>>()?;
    let mut histogram = Histogram::new(&bins, has_weight)?;
    let mut totals = SelectTotals::default();
    while let Some(batch) = batches.next().await {
        let batch = batch?.batch;
        if let Some(skipped) = batch.left_out.first() {
            return Err(skipped.error.clone());
        }
        totals.entries += batch.entries.end - batch.entries.start;
        totals.selected += batch.len();
        histogram.fill(&bins, &batch.columns, has_weight)?;
    }
    Ok((histogram, totals))
}

impl Histogram {
    fn new(bins: &[Bins], has_weight: bool) -> Result<Self> {
        if !(1..=AXES_MAX).contains(&bins.len()) {
            let message = format!("a histogram has one to {AXES_MAX} axes, and not {}", bins.len());
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let counts: Vec<usize> = bins.iter().map(Bins::count).collect();
        let cells = counts.iter().try_fold(1usize, |cells, count| cells.checked_mul(count + 2));
        let cells = cells.filter(|cells| *cells <= CELLS_MAX).ok_or_else(|| {
            let message = format!("a histogram of more than {CELLS_MAX} bins");
            Error::new(ErrorKind::LimitReached, message)
        })?;
        let variances = has_weight.then(|| vec![0.0; cells]);
        Ok(Histogram { bins: counts, values: vec![0.0; cells], variances })
    }

    /// Adds entries.
    fn fill(&mut self, bins: &[Bins], columns: &[(String, Array)], has_weight: bool) -> Result<()> {
        if columns.len() != bins.len() + usize::from(has_weight) {
            let message = "each axis, and the weight, has a column of its own";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let mut found = Vec::with_capacity(columns.len());
        for (name, array) in columns {
            found.push((name, values(name, array)?));
        }
        let counts = found[..bins.len()].iter().find_map(|(_, one)| one.counts.clone());
        let mut coordinates = Vec::with_capacity(found.len());
        for (name, one) in found {
            coordinates.push(one.like(name, counts.as_deref())?);
        }
        let fills = coordinates.first().map_or(0, Vec::len);
        for fill in 0..fills {
            let mut cell = 0;
            for (axis, values) in bins.iter().zip(&coordinates) {
                cell = cell * (axis.count() + 2) + axis.index(values[fill]);
            }
            let weight = if has_weight { coordinates[bins.len()][fill] } else { 1.0 };
            self.values[cell] += weight;
            if let Some(variances) = &mut self.variances {
                variances[cell] += weight * weight;
            }
        }
        Ok(())
    }

    /// The histogram of a server's answer.
    ///
    /// # Errors
    /// `Corrupt` for an answer that is none, or one of other axes.
    pub(super) fn of_json(text: &str, axes: &[HistogramAxis], has_weight: bool) -> Result<Self> {
        let wrong = || Error::new(ErrorKind::Corrupt, "the server's answer is no histogram");
        let bins = axes.iter().map(Bins::of).collect::<Result<Vec<_>>>()?;
        let empty = Histogram::new(&bins, has_weight)?;
        let numbers = |key: &str| {
            let (_, behind) = text.split_once(&format!("\"{key}\": ["))?;
            let all = behind.split_once(']')?.0.split(',');
            // Exactly: libraries of JSON may be off by the last bit.
            let all = all.map(|one| one.trim_matches([' ', '"']).parse::<f64>().ok());
            all.collect::<Option<Vec<_>>>()
        };
        let values = numbers("values").ok_or_else(wrong)?;
        let variances = match has_weight {
            true => Some(numbers("variances").ok_or_else(wrong)?),
            false => None,
        };
        let histogram = Histogram { bins: empty.bins.clone(), values, variances };
        let cells = |one: &Histogram| (one.values.len(), one.variances.as_ref().map(Vec::len));
        (cells(&histogram) == cells(&empty)).then_some(histogram).ok_or_else(wrong)
    }

    /// The histogram in JSON, and its cost.
    pub fn json(&self, totals: SelectTotals) -> String {
        let SelectTotals { entries, selected, seconds, .. } = totals;
        let bins: Vec<String> = self.bins.iter().map(usize::to_string).collect();
        let mut text = format!("{{\"version\": 1, \"bins\": [{}], ", bins.join(", "));
        let _ = write!(text, "\"values\": [{}], ", numbers(&self.values));
        if let Some(variances) = &self.variances {
            let _ = write!(text, "\"variances\": [{}], ", numbers(variances));
        }
        let _ = write!(text, "\"entries\": {entries}, \"selected\": {selected}, ");
        let _ = writeln!(text, "\"seconds\": {seconds:.6}}}");
        text
    }
}

/// Numbers with all their digits; of those that JSON lacks their names.
fn numbers(all: &[f64]) -> String {
    let text = |number: &f64| match number.is_finite() {
        true => format!("{number}"),
        false => format!("\"{number}\""),
    };
    all.iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use rootfile::Numbers;

    use super::*;
    use crate::read::near::request::SelectColumn;

    fn axis(bins: usize, start: f64, stop: f64) -> HistogramAxis {
        let column = SelectColumn::Text("x".into());
        HistogramAxis {
            column,
            bins: Some(bins),
            start: Some(start),
            stop: Some(stop),
            edges: None,
        }
    }

    fn floats(numbers: &[f64]) -> Array {
        Array::Numbers { numbers: Numbers::F64(numbers.to_vec()), shape: Vec::new() }
    }

    #[test]
    fn values_beyond_the_axis_and_those_that_are_no_numbers_have_bins_of_their_own() {
        let bins = [Bins::of(&axis(2, 0.0, 1.0)).unwrap()];
        let mut histogram = Histogram::new(&bins, false).unwrap();
        let all = [-0.1, 0.0, 0.49, 0.5, 1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        histogram.fill(&bins, &[("x".into(), floats(&all))], false).unwrap();
        assert_eq!(histogram.values, [2.0, 2.0, 1.0, 3.0]);
        let edges = HistogramAxis { edges: Some(vec![0.0, 1.0, 3.0]), ..axis(1, 0.0, 1.0) };
        let edges = HistogramAxis { bins: None, start: None, stop: None, ..edges };
        let bins = [Bins::of(&edges).unwrap()];
        let mut histogram = Histogram::new(&bins, false).unwrap();
        let all = [-1.0, 0.0, 1.0, 2.9, 3.0, f64::NAN];
        histogram.fill(&bins, &[("x".into(), floats(&all))], false).unwrap();
        assert_eq!(histogram.values, [1.0, 1.0, 2.0, 2.0]);
    }

    #[test]
    fn lists_are_filled_item_by_item_with_the_weight_of_their_entry() {
        let bins = [Bins::of(&axis(1, 0.0, 10.0)).unwrap(), Bins::of(&axis(1, 0.0, 10.0)).unwrap()];
        let list = |offsets: Vec<i64>, items: &[f64]| Array::List {
            offsets: offsets.into(),
            content: Box::new(floats(items)),
        };
        let mut histogram = Histogram::new(&bins, true).unwrap();
        let x = ("x".to_owned(), list(vec![0, 2, 2, 3], &[1.0, 2.0, 3.0]));
        let y = ("y".to_owned(), floats(&[5.0, 6.0, 70.0]));
        let weight = ("w".to_owned(), floats(&[2.0, 100.0, 3.0]));
        histogram.fill(&bins, &[x.clone(), y, weight.clone()], true).unwrap();
        assert_eq!(histogram.values[4..6], [4.0, 3.0]);
        assert_eq!(histogram.variances.as_ref().unwrap()[4..6], [8.0, 9.0]);
        let z = ("z".to_owned(), list(vec![0, 1, 2, 3], &[1.0, 2.0, 3.0]));
        assert!(histogram.fill(&bins, &[x, z, weight], true).is_err());
    }

    #[test]
    fn a_histogram_has_the_same_bits_in_another_process() {
        let values = vec![0.1, 1.0 / 3.0, 5e-324, f64::MAX, f64::NAN, f64::NEG_INFINITY, 3.0];
        let axes = [axis(5, 0.0, 1.0)];
        let sums = Some(values.iter().map(|one| one * 7.0).collect());
        let histogram = Histogram { bins: vec![5], values, variances: sums };
        let text = histogram.json(SelectTotals::default());
        let again = Histogram::of_json(&text, &axes, true).unwrap();
        let bits = |all: &[f64]| all.iter().map(|one| one.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&again.values), bits(&histogram.values));
        assert!(Histogram::of_json(&text, &[axis(4, 0.0, 1.0)], true).is_err());
        assert!(Histogram::of_json("{}", &axes, true).is_err());
    }

    #[test]
    fn axes_that_are_none_are_refused() {
        for (bins, start, stop) in
            [(0, 0.0, 1.0), (1, 1.0, 1.0), (1, f64::NAN, 1.0), (1, f64::NEG_INFINITY, 1.0)]
        {
            assert!(Bins::of(&axis(bins, start, stop)).is_err(), "{bins} {start} {stop}");
        }
        let large = [Bins::of(&axis(usize::MAX - 2, 0.0, 1.0)).unwrap()];
        assert!(Histogram::new(&large, false).is_err());
        let none = HistogramAxis { edges: Some(vec![1.0]), bins: None, ..axis(1, 0.0, 1.0) };
        assert!(Bins::of(&none).is_err());
    }
}
