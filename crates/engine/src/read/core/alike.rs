//! Columns of several tables: they are found by name, and here compared by type.

use remote::{Error, ErrorKind, Result};
use rootfile::Array;

use super::columns::{Batch, datashape};
use crate::located::unlocated;

/// Treatment of a column that has another type in some of several tables. No entry is rounded:
/// where a type cannot hold all entries exactly, that is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TypeRule {
    /// It has the type of each table.
    #[default]
    Own,
    /// It has the smallest type that holds the entries of all tables so far.
    Common,
    /// It has the type of the first table.
    First,
}

/// The types of columns of several tables.
#[derive(Debug, Clone, Default)]
pub struct ColumnTypes {
    rule: TypeRule,
    known: Vec<KnownType>,
    /// Names of the columns in the present table, and whether each has to be converted.
    own: Vec<(String, bool)>,
}

/// The columns of a table by name, without entries, and where the table is.
#[derive(Debug, Clone)]
pub struct TableTypes<'a> {
    pub columns: Vec<(String, Array)>,
    pub path: &'a str,
    pub url: &'a str,
}

/// The type of a column so far.
#[derive(Debug, Clone)]
struct KnownType {
    empty: Array,
    /// The file that has it.
    url: String,
}

impl ColumnTypes {
    pub fn new(rule: TypeRule) -> Self {
        ColumnTypes { rule, ..ColumnTypes::default() }
    }

    /// Whether tables are compared; else [`ColumnTypes::begin`] need not be called.
    pub fn compare(&self) -> bool {
        self.rule != TypeRule::Own
    }

    /// Types that begin with those of a first table.
    pub fn of(rule: TypeRule, first: &TableTypes<'_>) -> Self {
        let known = first.columns.iter().map(|(_, empty)| KnownType::of(empty.clone(), first));
        ColumnTypes { rule, known: known.collect(), ..ColumnTypes::default() }
    }

    /// Goes on to the next table: the same columns in the same order.
    ///
    /// # Errors
    /// `Unsupported` with the file, the column and both types where these do not go together.
    pub fn begin(&mut self, table: &TableTypes<'_>) -> Result<()> {
        if !self.compare() {
            return Ok(());
        }
        if self.known.is_empty() {
            *self = ColumnTypes::of(self.rule, table);
        }
        self.own.clear();
        for (known, (name, empty)) in self.known.iter_mut().zip(&table.columns) {
            let common = known.empty.common_type(empty);
            let common = common.filter(|common| {
                self.rule == TypeRule::Common || *common == known.empty.empty_like()
            });
            let Some(common) = common else {
                return Err(known.differs(self.rule, table, name, empty));
            };
            self.own.push((name.clone(), common != *empty));
            if common != known.empty {
                *known = KnownType::of(common, table);
            }
        }
        Ok(())
    }

    /// A batch of the present table, as the types say.
    ///
    /// # Errors
    /// `Limit` where that needs more memory than there is.
    pub fn convert(&self, mut batch: Batch) -> Result<Batch> {
        let mut own = self.own.iter().zip(&self.known);
        for (name, array) in &mut batch.columns {
            // Columns that cannot be read may be left out.
            let Some(((_, is_other), known)) = own.find(|((own, _), _)| own == name) else { break };
            if *is_other {
                let stored = std::mem::replace(array, known.empty.empty_like());
                *array = stored.into_type(&known.empty).map_err(unlocated)?;
            }
        }
        Ok(batch)
    }

    /// The first column, by name, of several tables, as its declared type.
    ///
    /// # Errors
    /// `Unsupported` where that does not hold it exactly.
    pub fn declared(&self, name: &str, array: Array) -> Result<Array> {
        let Some(known) = self.known.first() else { return Ok(array) };
        let empty = array.empty_like();
        match known.empty.common_type(&empty) {
            Some(common) if common == known.empty && common != empty => {
                array.into_type(&known.empty).map_err(unlocated)
            }
            Some(common) if common != known.empty => {
                let own = datashape(&empty);
                let known = datashape(&known.empty);
                let message = format!("column {name} is {own} here and {known} in the first file");
                Err(Error::new(ErrorKind::Unsupported, message))
            }
            _ => Ok(array),
        }
    }

    /// As [`ColumnTypes::convert`], of the column at a position.
    ///
    /// # Errors
    /// As [`ColumnTypes::convert`].
    pub fn convert_one(&self, at: usize, array: Array) -> Result<Array> {
        match (self.own.get(at), self.known.get(at)) {
            (Some((_, true)), Some(known)) => array.into_type(&known.empty).map_err(unlocated),
            _ => Ok(array),
        }
    }
}

impl KnownType {
    fn of(empty: Array, table: &TableTypes<'_>) -> KnownType {
        KnownType { empty, url: table.url.to_owned() }
    }

    fn differs(&self, rule: TypeRule, table: &TableTypes<'_>, name: &str, empty: &Array) -> Error {
        let own = datashape(empty);
        let known = datashape(&self.empty);
        let path = table.path;
        let why = match rule {
            TypeRule::First => "which does not hold it exactly",
            TypeRule::Own | TypeRule::Common => "and no type holds both exactly",
        };
        let message =
            format!("{path}: column {name} is {own} here and {known} in {}, {why}", self.url);
        let error = Error::new(ErrorKind::Unsupported, message).with_url(table.url);
        match (rule, self.empty.common_type(empty)) {
            (TypeRule::First, Some(common)) if common == *empty => {
                error.with_advice("name a file with the wider type first")
            }
            _ => error.with_advice("take these files apart, or leave the column out"),
        }
    }
}

/// All parts of one column as one array, of the smallest type that holds all of them exactly.
///
/// # Errors
/// `Corrupt` where there is no such type.
pub fn concatenated(parts: Vec<Array>) -> Result<Option<Array>> {
    let mut rest = parts.iter();
    let first = rest.next().map(Array::empty_like);
    let common = first.and_then(|first| rest.try_fold(first, |all, part| all.common_type(part)));
    let parts = match common {
        Some(common) => parts
            .into_iter()
            .map(|part| part.into_type(&common).map_err(unlocated))
            .collect::<Result<_>>()?,
        None => parts,
    };
    Array::concat(parts).map_err(unlocated)
}
