//! New columns, computed from other columns entry by entry.

use std::sync::Arc;

use rootfile::Array;

use super::columns::Batch;
use super::cut::{Cut, Predicate};
use super::request::ColumnRequest;
use remote::{Error, ErrorKind, Result};

/// Computes a column.
pub trait Compute: Send + Sync {
    /// One value for each entry of the batch, which has the columns of [`Definition::columns`] in
    /// their order. Called on any thread, for any part of the entries.
    ///
    /// # Errors
    /// Why the values cannot be computed; the read ends with it.
    fn compute(&self, columns: Batch) -> Result<Array>;
}

/// A new column.
#[derive(Clone)]
pub struct Definition {
    pub name: String,
    /// Its arguments: columns of the table, and columns that are defined before it.
    pub columns: Vec<ColumnRequest>,
    pub compute: Arc<dyn Compute>,
}

impl std::fmt::Debug for Definition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Definition");
        shown.field("name", &self.name).field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// Computes a column that is the same as its one argument.
struct Same;

impl Compute for Same {
    fn compute(&self, mut columns: Batch) -> Result<Array> {
        let missing = || Error::new(ErrorKind::InvalidArgument, "its column is missing");
        columns.columns.pop().map(|(_, array)| array).ok_or_else(missing)
    }
}

impl Definition {
    /// A new column with the values of another one.
    pub(crate) fn same(name: String, column: ColumnRequest) -> Definition {
        Definition { name, columns: vec![column], compute: Arc::new(Same) }
    }
}

/// Columns to read, and new columns to compute, for the columns that a caller wants.
#[derive(Debug, Clone)]
pub(crate) struct Computed {
    /// Columns of the table to read, each once.
    pub reads: Vec<ColumnRequest>,
    /// New columns to compute, in order, with the positions of their arguments among the values:
    /// first the columns that are read, then the results of earlier steps.
    steps: Vec<(Definition, Vec<usize>)>,
    /// Name of each wanted column, and its position among the values.
    wanted: Vec<(String, usize)>,
}

/// A predicate, or the computation of a column, that names new columns: computes these first.
struct After<T: ?Sized> {
    computed: Computed,
    then: Arc<T>,
}

/// The error, with the name of the new column in front of its message.
pub(super) fn of_column(name: &str, error: Error) -> Error {
    error.about(&format!("the new column {name}"))
}

/// Checks that each new column has a name, and that no two have the same.
///
/// # Errors
/// `InvalidArgument` with the name.
pub(crate) fn check_names(definitions: &[Definition]) -> Result<()> {
    for (at, Definition { name, .. }) in definitions.iter().enumerate() {
        let message = match &definitions[..at] {
            _ if name.is_empty() => "a new column needs a name".to_owned(),
            before if before.iter().any(|other| other.name == *name) => {
                format!("the new column {name} is defined twice")
            }
            _ => continue,
        };
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    Ok(())
}

impl Computed {
    /// The reads and steps for `wanted`. A definition may use columns that are defined before it.
    pub fn new(definitions: &[Definition], wanted: &[ColumnRequest]) -> Computed {
        let mut computed = Computed { reads: Vec::new(), steps: Vec::new(), wanted: Vec::new() };
        let mut needed: Vec<&ColumnRequest> = wanted.iter().collect();
        let mut is_used = vec![false; definitions.len()];
        for (at, definition) in definitions.iter().enumerate().rev() {
            is_used[at] = needed.iter().any(|column| column.name == definition.name);
            if is_used[at] {
                needed.retain(|column| column.name != definition.name);
                needed.extend(&definition.columns);
            }
        }
        for column in needed {
            if !computed.reads.contains(column) {
                computed.reads.push(column.clone());
            }
        }
        let used = definitions.iter().zip(is_used).filter(|(_, is_used)| *is_used);
        for (definition, _) in used {
            let columns = definition.columns.iter().map(|column| computed.place(column));
            let columns = columns.collect();
            computed.steps.push((definition.clone(), columns));
        }
        let places = wanted.iter().map(|column| (column.name.clone(), computed.place(column)));
        computed.wanted = places.collect();
        computed
    }

    /// Number of wanted columns.
    pub fn wanted_columns(&self) -> usize {
        self.wanted.len()
    }

    /// The position of a column among the values of the reads and of the steps so far.
    fn place(&self, column: &ColumnRequest) -> usize {
        let steps = self.steps.iter().rposition(|(step, _)| step.name == column.name);
        match steps {
            Some(step) => self.reads.len() + step,
            None => self.reads.iter().position(|read| read == column).unwrap_or_default(),
        }
    }

    /// The wanted columns, from a batch with the columns of `reads` in their order.
    ///
    /// # Errors
    /// As [`Compute::compute`], and `InvalidArgument` where the number of values is not that of
    /// entries; both name the column.
    pub fn batch(&self, batch: Batch) -> Result<Batch> {
        let entries = batch.len();
        let Batch { entries: range, survivors, columns, left_out } = batch;
        let with = |columns: Vec<(String, Array)>| Batch {
            entries: range.clone(),
            survivors: survivors.clone(),
            columns,
            left_out: Vec::new(),
        };
        let mut values = columns;
        for (definition, places) in &self.steps {
            let arguments = places.iter().map(|at| values[*at].clone()).collect();
            let array = definition.compute.compute(with(arguments));
            let array = array.and_then(|array| as_many(array, entries));
            let array = array.map_err(|error| of_column(&definition.name, error))?;
            values.push((definition.name.clone(), array));
        }
        let wanted = self.wanted.iter().map(|(name, at)| (name.clone(), values[*at].1.clone()));
        Ok(Batch { left_out, ..with(wanted.collect()) })
    }
}

/// The array; `InvalidArgument` where it does not have one value for each entry.
fn as_many(array: Array, entries: u64) -> Result<Array> {
    let found = array.len();
    if found as u64 == entries {
        return Ok(array);
    }
    let message = format!("{found} values for {entries} entries");
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

impl Predicate for After<dyn Predicate> {
    fn decide(&self, columns: Batch) -> Result<Vec<bool>> {
        self.then.decide(self.computed.batch(columns)?)
    }
}

impl Compute for After<dyn Compute> {
    fn compute(&self, columns: Batch) -> Result<Array> {
        self.then.compute(self.computed.batch(columns)?)
    }
}

/// A cut with the same result that reads columns of the table only, and computes the new ones.
pub(crate) fn cut_of(definitions: &[Definition], cut: &Cut) -> Cut {
    let computed = Computed::new(definitions, &cut.columns);
    if computed.steps.is_empty() {
        return cut.clone();
    }
    let columns = computed.reads.clone();
    Cut { columns, predicate: Arc::new(After { computed, then: cut.predicate.clone() }) }
}

/// A new column with the same values that reads columns of the table, and of those that
/// `definitions` lack.
pub(crate) fn definition_of(definitions: &[Definition], one: &Definition) -> Definition {
    let computed = Computed::new(definitions, &one.columns);
    if computed.steps.is_empty() {
        return one.clone();
    }
    let columns = computed.reads.clone();
    let compute = Arc::new(After { computed, then: one.compute.clone() });
    Definition { name: one.name.clone(), columns, compute }
}

#[cfg(test)]
mod tests {
    use rootfile::Numbers;

    use super::*;

    fn doubles(numbers: &[f64]) -> Array {
        Array::Numbers { numbers: Numbers::F64(numbers.to_vec()), shape: Vec::new() }
    }

    fn batch(columns: &[(&str, &[f64])]) -> Batch {
        let entries = 0..columns[0].1.len() as u64;
        let columns = columns.iter().map(|(name, all)| ((*name).to_owned(), doubles(all)));
        let columns = columns.collect();
        Batch { entries, survivors: None, columns, left_out: Vec::new() }
    }

    fn defined() -> Vec<Definition> {
        let all = [("twice", "2.0 * x"), ("other", "y + 1.0"), ("sum", "twice + y")];
        all.map(|(name, text)| Definition::parse(name, text).unwrap()).to_vec()
    }

    #[test]
    fn what_is_needed_is_read_once_and_computed_in_order() {
        let wanted = ["sum", "x"].map(ColumnRequest::named);
        let computed = Computed::new(&defined(), &wanted);
        let reads: Vec<_> = computed.reads.iter().map(|column| &*column.name).collect();
        assert_eq!(reads, ["x", "y"]);
        assert_eq!(computed.steps.len(), 2);
        let found = computed.batch(batch(&[("x", &[1.0, 2.0]), ("y", &[10.0, 20.0])])).unwrap();
        assert_eq!(found.get("sum"), Some(&doubles(&[12.0, 24.0])));
        assert_eq!(found.get("x"), Some(&doubles(&[1.0, 2.0])));
    }

    #[test]
    fn a_cut_may_name_what_is_defined() {
        let cut = cut_of(&defined(), &Cut::parse("(sum > 20) & (y < 100)").unwrap());
        let names: Vec<_> = cut.columns.iter().map(|column| &*column.name).collect();
        assert_eq!(names, ["y", "x"]);
        let columns = batch(&[("y", &[10.0, 20.0, 200.0]), ("x", &[1.0, 2.0, 3.0])]);
        assert_eq!(cut.predicate.decide(columns).unwrap(), [false, true, false]);
    }

    /// Returns one value, whatever the number of entries, or an error.
    struct Wrong(bool);

    impl Compute for Wrong {
        fn compute(&self, _columns: Batch) -> Result<Array> {
            let error = || Error::new(ErrorKind::InvalidArgument, "no values");
            if self.0 { Ok(doubles(&[1.0])) } else { Err(error()) }
        }
    }

    /// Regression: errors of formulas did not name the new column.
    #[test]
    fn errors_name_the_column() {
        for (has_value, said) in [(true, "1 values for 2 entries"), (false, "no values")] {
            let columns = vec![ColumnRequest::named("x")];
            let compute = Arc::new(Wrong(has_value));
            let wrong = Definition { name: "ratio".to_owned(), columns, compute };
            let computed = Computed::new(&[wrong], &[ColumnRequest::named("ratio")]);
            let error = computed.batch(batch(&[("x", &[1.0, 2.0])])).unwrap_err();
            assert_eq!(error.message(), format!("the new column ratio: {said}"));
        }
        let error = Definition::parse("ratio", "x /").unwrap_err();
        assert!(error.message().starts_with("the new column ratio: the formula"), "{error}");
    }

    #[test]
    fn names_are_new_ones() {
        assert!(check_names(&defined()).is_ok());
        let twice = [defined(), defined()].concat();
        assert!(check_names(&twice).unwrap_err().to_string().contains("twice"));
        assert!(Definition::parse("x", "1 +").is_err());
        assert!(Definition::parse("x", "root(y)").is_err());
    }
}
