//! Columns, as a read gives them.

use std::collections::BTreeSet;
use std::ops::{Index, Range};
use std::sync::Arc;

use rootfile::Array;
use rootfile::array::ArrayParameter;
use rootfile::tree::{BranchId, Interpretation};

use super::column_set::KeyedColumn;
use super::cut::Cut;
use crate::located::unlocated;
use remote::{Error, Result};

/// A branch that will be read, and how.
#[derive(Debug, Clone)]
pub struct Column {
    /// As the user gets it: the branch's path.
    pub name: String,
    pub branch: BranchId,
    pub interpretation: Arc<Interpretation>,
    /// The caller did not name it: where its data turn out to be unreadable, it is left out.
    pub optional: bool,
}

impl KeyedColumn for Column {
    /// A branch is read as values, or as bytes.
    type Key = (BranchId, bool);

    fn key(&self) -> Self::Key {
        (self.branch, self.interpretation.is_of_bytes())
    }
}

impl Column {
    /// The type of an entry as Awkward spells it: `float32`, `var * 3 * int16`, `string`.
    pub fn datashape(&self) -> String {
        datashape(&self.interpretation.empty())
    }
}

/// The type of an array's entries as Awkward spells it: `float32`, `var * 3 * int16`, `string`.
pub fn datashape(array: &Array) -> String {
    match array {
        Array::Numbers { numbers, shape } => {
            let dimensions = shape.iter().map(|length| format!("{length} * "));
            dimensions.chain([numbers.dtype().to_owned()]).collect()
        }
        Array::List { content, .. } => format!("var * {}", datashape(content)),
        Array::Strings { .. } => "string".into(),
        Array::Record { fields, .. } => {
            let fields = fields.iter().map(|(name, field)| format!("{name}: {}", datashape(field)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Array::Regular { length, content, .. } => format!("{length} * {}", datashape(content)),
        Array::Option { content, .. } => format!("?{}", datashape(content)),
        Array::Union { contents, .. } => {
            let contents: Vec<String> = contents.iter().map(datashape).collect();
            format!("union[{}]", contents.join(", "))
        }
        Array::WithParameter { parameter: ArrayParameter::SortedMap, content } => {
            match &**content {
                Array::Record { fields, .. } => {
                    let fields = fields.iter().map(|(_, field)| datashape(field));
                    format!("({})", fields.collect::<Vec<_>>().join(", "))
                }
                content => datashape(content),
            }
        }
        // Of whichever classes the data name.
        Array::WithParameter { parameter: ArrayParameter::Objects, .. } => "unknown".into(),
        Array::WithParameter { content, .. } => datashape(content),
    }
}

/// Columns of some entries.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// Half open, in entries of the tree.
    pub entries: Range<u64>,
    /// Those of the entries that a cut has left, as ascending runs; `None` where there is no cut.
    pub survivors: Option<Vec<Range<u64>>>,
    /// In the order in which they were asked for; all of the same length.
    pub columns: Vec<(String, Array)>,
    /// Optional columns that are left out of the whole read; the same in each of its batches.
    pub left_out: Vec<SkippedColumn>,
}

/// A column that the caller did not name, and whose data this version cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedColumn {
    /// Among the columns that were asked for.
    pub position: usize,
    pub column: String,
    /// `Unsupported`, with the place in the file.
    pub error: Error,
}

/// The error of a column that cannot be read in a batch, and was in those before.
pub(crate) fn too_late(error: Error) -> Error {
    error.with_advice(
        "columns that were not asked for by name are left out where their first entries cannot be read, not \
         where later ones cannot: choose columns without it",
    )
}

impl Batch {
    /// Columns without entries, with or without a cut.
    pub(crate) fn empty(
        entries: Range<u64>,
        cut: Option<&Cut>,
        columns: impl Iterator<Item = (String, Array)>,
    ) -> Self {
        let survivors = cut.map(|_| Vec::new());
        Batch { entries, survivors, columns: columns.collect(), left_out: Vec::new() }
    }

    /// The same with its entries counted from another beginning.
    pub(crate) fn shifted(mut self, first: u64) -> Self {
        let mut all = self.survivors.iter_mut().flatten().collect::<Vec<_>>();
        all.push(&mut self.entries);
        for run in all {
            *run = run.start.saturating_add(first)..run.end.saturating_add(first);
        }
        self
    }

    /// The column of that name, if there is one.
    pub fn get(&self, name: &str) -> Option<&Array> {
        self.columns.iter().find(|(column, _)| column == name).map(|(_, array)| array)
    }

    /// Bytes of memory in the arrays; offsets that columns share count once.
    pub fn nbytes(&self) -> usize {
        let mut counted = BTreeSet::new();
        let again = |(_, array): &(String, Array)| match array {
            Array::List { offsets, .. } => {
                let shared = offsets.shared();
                let again = shared.is_some_and(|shared| !counted.insert(Arc::as_ptr(shared)));
                if again { size_of_val(&offsets[..]) } else { 0 }
            }
            _ => 0,
        };
        let all: usize = self.columns.iter().map(|(_, array)| array.nbytes()).sum();
        all - self.columns.iter().map(again).sum::<usize>()
    }

    /// Number of entries in each column.
    pub fn len(&self) -> u64 {
        match &self.survivors {
            Some(runs) => runs.iter().map(|run| run.end - run.start).sum(),
            None => self.entries.end - self.entries.start,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Index<&str> for Batch {
    type Output = Array;

    /// # Panics
    /// Where no column has that name; [`Batch::get`] says so in another way.
    fn index(&self, name: &str) -> &Array {
        self.get(name).unwrap_or_else(|| panic!("the batch has no column {name:?}"))
    }
}

/// A part of a column: the entries of a basket, and their values.
pub(crate) type Piece = (Range<u64>, Arc<Array>);

/// One array of the pieces' share of some entries; `None` where there are no pieces.
pub(crate) fn joined(pieces: &[Piece], entries: &Range<u64>) -> Result<Option<Array>> {
    let part = |(held, array): &Piece| {
        let from = entries.start.max(held.start);
        let to = entries.end.min(held.end);
        array.slice((from - held.start) as usize..(to - held.start) as usize)
    };
    Array::concat(pieces.iter().map(part).collect()).map_err(unlocated)
}

/// The same values as those of which some may be missing.
pub(crate) fn optional(array: Array) -> Array {
    match array {
        Array::Option { .. } => array,
        content => {
            let index = (0..content.len() as i64).collect();
            Array::Option { index, content: Box::new(content) }
        }
    }
}
