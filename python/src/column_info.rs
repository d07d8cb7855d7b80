//! Descriptions of branches and fields, as files have them.

use std::sync::Arc;

use engine::{BranchId, Column};
use pyo3::prelude::*;

use crate::error::exception;
use crate::runtime::{Owned, invalid};

/// A branch of a tree or a field of an RNTuple, of the table itself or of a friend.
#[pyclass(frozen, module = "farroot._core")]
pub struct ColumnInfo {
    /// A tree or an RNTuple.
    table: Owned<Arc<dyn engine::Table>>,
    column: usize,
    friend: Option<String>,
    /// Members of its records that a formula names, each in the one before.
    #[pyo3(get)]
    members: Vec<String>,
}

/// Bytes of baskets in a file, as it keeps them.
#[derive(Default)]
#[pyclass(frozen, get_all, module = "farroot._core")]
pub struct StoredBytes {
    pub compressed: u64,
    pub uncompressed: u64,
    pub baskets: usize,
}

/// Where a basket is.
#[pyclass(frozen, get_all, module = "farroot._core")]
pub struct Basket {
    entry_start: u64,
    entry_stop: u64,
    /// First and last byte of its record, key included; `None` where the tree's own record has it.
    record: Option<(u64, u64)>,
}

impl ColumnInfo {
    pub fn new(table: Arc<dyn engine::Table>, column: usize, friend: Option<String>) -> Self {
        ColumnInfo { table: Owned::new(table), column, friend, members: Vec::new() }
    }

    /// The column that a name in a formula stands for.
    pub fn of_name(one: engine::ResolvedColumn) -> Self {
        let members = one.members;
        ColumnInfo { members, ..ColumnInfo::new(one.table, one.column, one.friend) }
    }

    /// The tree and the branch; `None` of a field.
    fn branch(&self, py: Python<'_>) -> PyResult<Option<(&engine::Tree, BranchId)>> {
        let tree = self.table.here(py)?.downcast_ref::<engine::Tree>();
        Ok(tree.map(|tree| (tree, BranchId(self.column as u32))))
    }

    fn field(&self, py: Python<'_>) -> PyResult<(&engine::RNTuple, usize)> {
        let ntuple = self.table.here(py)?.downcast_ref::<engine::RNTuple>();
        ntuple.map(|one| (one, self.column)).ok_or_else(|| invalid(py, "it is no field"))
    }

    fn with_friend(&self, text: &str) -> String {
        match &self.friend {
            Some(friend) => format!("{friend}.{text}"),
            None => text.to_owned(),
        }
    }
}

#[pymethods]
impl ColumnInfo {
    /// Its position among all columns of its table.
    #[getter]
    fn number(&self) -> usize {
        self.column
    }

    /// The name of the friend that has it.
    #[getter]
    fn friend(&self) -> Option<&str> {
        self.friend.as_deref()
    }

    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(&self.table.here(py)?.list().all()[self.column].name)
    }

    /// Names from the top to here, with the friend's in front.
    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.with_friend(&self.table.here(py)?.list().all()[self.column].path))
    }

    /// Its name in a request: its path, and of several of one path which of them.
    #[getter]
    fn address(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.with_friend(&self.table.here(py)?.list().address(self.column)))
    }

    /// Position of the column that it is in.
    #[getter]
    fn parent(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        Ok(self.table.here(py)?.list().all()[self.column].parent)
    }

    /// The columns directly in it.
    fn children(&self, py: Python<'_>) -> PyResult<Vec<ColumnInfo>> {
        let table = self.table.here(py)?;
        let all = table.list().all().iter().enumerate();
        let below = all.filter(|(_, one)| one.parent == Some(self.column));
        let info = |(at, _)| ColumnInfo::new(table.clone(), at, self.friend.clone());
        Ok(below.map(info).collect())
    }

    /// Whether it has the number of objects whose members are in branches of their own.
    #[getter]
    fn counts_objects(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.branch(py)?.is_some_and(|(tree, branch)| tree.counts_objects(branch)))
    }

    #[getter]
    fn is_branch(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.branch(py)?.is_some())
    }

    /// Whether it is a branch that only groups others, and has no entries of its own.
    #[getter]
    fn is_group(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.branch(py)?.is_some_and(|(tree, branch)| tree.is_group(branch)))
    }

    /// Title of a branch, description of a field.
    #[getter]
    fn title(&self, py: Python<'_>) -> PyResult<String> {
        if let Some((tree, branch)) = self.branch(py)? {
            return Ok(tree.metadata().branches[branch.0 as usize].title.clone());
        }
        let (ntuple, field) = self.field(py)?;
        let field = ntuple.names().all()[field].field;
        Ok(ntuple.metadata().schema.fields[field as usize].description.clone())
    }

    /// The type in C++: of a branch as uproot spells it, of a field as the file does.
    #[getter]
    fn typename(&self, py: Python<'_>) -> PyResult<String> {
        if let Some((tree, branch)) = self.branch(py)? {
            return Ok(tree.typename(branch));
        }
        let (ntuple, field) = self.field(py)?;
        let field = ntuple.names().all()[field].field;
        Ok(ntuple.metadata().schema.fields[field as usize].typename.clone())
    }

    /// The type of an entry, in Awkward's spelling; of a field at the top also with only those of
    /// its fields that are kept.
    #[pyo3(signature = (keep = None))]
    fn datashape(&self, py: Python<'_>, keep: Option<Vec<String>>) -> PyResult<String> {
        if let Some((tree, branch)) = self.branch(py)? {
            let column = tree.column(branch).map_err(|error| exception(py, &error))?;
            return Ok(Column::datashape(&column));
        }
        let (ntuple, field) = self.field(py)?;
        let column = match keep {
            None => ntuple.column(field),
            Some(keep) => {
                let keep: Vec<usize> = keep.iter().filter_map(|path| ntuple.find(path)).collect();
                ntuple.pruned(field, &keep)
            }
        };
        Ok(column.map_err(|error| exception(py, &error))?.datashape())
    }

    /// Number of entries of a branch, which may differ from the tree's.
    #[getter]
    fn num_entries(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(match self.branch(py)? {
            Some((tree, branch)) => tree.metadata().branches[branch.0 as usize].entries,
            None => self.table.here(py)?.num_entries(),
        })
    }

    /// Bytes and number of a branch's own baskets.
    fn stored(&self, py: Python<'_>) -> PyResult<StoredBytes> {
        let Some((tree, branch)) = self.branch(py)? else { return Ok(StoredBytes::default()) };
        let branch = &tree.metadata().branches[branch.0 as usize];
        let compressed = branch.zip_bytes;
        let uncompressed = branch.total_bytes;
        Ok(StoredBytes { compressed, uncompressed, baskets: branch.baskets.len() })
    }

    /// The own baskets of a branch.
    fn baskets(&self, py: Python<'_>) -> PyResult<Vec<Basket>> {
        let Some((tree, branch)) = self.branch(py)? else { return Ok(Vec::new()) };
        let baskets = tree.metadata().branches[branch.0 as usize].baskets.iter();
        let baskets = baskets.map(|basket| Basket {
            entry_start: basket.entries.start,
            entry_stop: basket.entries.end,
            record: basket.place.stored().map(|record| (record.start, record.end)),
        });
        Ok(baskets.collect())
    }
}
