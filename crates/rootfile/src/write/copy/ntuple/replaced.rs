//! Fields of an input whose numbers are replaced, in the encoding that they have: the ranges of an
//! attribute set, which count the entries of another RNTuple.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::ntuple::Schema;
use crate::ntuple::column::Encoding;
use crate::write::ntuple::schema::StoredColumn;

/// Columns of an input that get other numbers.
#[derive(Debug, Clone)]
pub struct ReplacedColumns {
    schema: Arc<Schema>,
    /// By number, in the order of the new columns.
    pub(super) columns: Vec<u32>,
}

impl ReplacedColumns {
    /// The columns of fields at the top of a schema that hold one number each.
    ///
    /// # Errors
    /// `Unsupported` with the field that is not there, or has other columns.
    pub(super) fn of(schema: &Schema, names: &[String]) -> Result<ReplacedColumns> {
        let column = |name: &String| {
            let is_named = |id: &u32| schema.fields[*id as usize].name == *name;
            let field = schema.top().find(is_named);
            let all = field.map(|field| schema.representations(field)).unwrap_or_default();
            match all.first().map(|columns| &columns[..]) {
                Some([column]) => Ok(*column),
                _ => Err(Error::unsupported("a field that is not one number").within(name)),
            }
        };
        let columns = names.iter().map(column).collect::<Result<_>>()?;
        Ok(ReplacedColumns { schema: Arc::new(schema.clone()), columns })
    }

    /// Gives new columns the encodings of those that they replace.
    ///
    /// # Errors
    /// `Unsupported` for numbers of another type.
    pub(super) fn encode_like(&self, stored: &mut [StoredColumn]) -> Result<()> {
        for (stored, column) in stored.iter_mut().zip(&self.columns) {
            let column = &self.schema.columns[*column as usize];
            let encoding = Encoding::of(column)?;
            if encoding.element() != stored.encoding.element() {
                return Err(Error::unsupported("numbers in place of those of another type"));
            }
            (stored.encoding, stored.bits) = (encoding, column.bits);
        }
        Ok(())
    }

    /// Whether a column belongs to a field that is replaced.
    pub(super) fn has(&self, field: u32) -> bool {
        self.columns.iter().any(|column| self.schema.columns[*column as usize].field == field)
    }
}
