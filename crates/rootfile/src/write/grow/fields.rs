//! The fields and columns of an existing RNTuple, as further entries are written.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::not_written;
use crate::array::Number;
use crate::error::{Error, Result};
use crate::ntuple::column::Encoding;
use crate::ntuple::{Field, FieldInterpretation, Names, Role, Schema};
use crate::tree::ClassTable;
use crate::write::ntuple::schema::StoredColumn;
use crate::write::schema::{EntryType, TableColumn};

/// The columns of a table whose fields are those at the top; projected fields follow from others.
///
/// # Errors
/// `Unsupported` for fields that are not read as arrays.
pub(super) fn columns_of(schema: &Schema, classes: &ClassTable) -> Result<Vec<TableColumn>> {
    let names = Names::new(schema);
    let tops = schema.top().filter(|id| schema.fields[*id as usize].source.is_none());
    let column = |id: u32| {
        let name = schema.fields[id as usize].name.clone();
        let of = || {
            let form = FieldInterpretation::pruned(schema, &names, classes, id, &[id])?;
            EntryType::of(&form.empty())
        };
        let entry = of().map_err(|error| not_written("field", &error).within(&name))?;
        Ok(TableColumn { name, title: String::new(), entry })
    };
    tops.map(column).collect()
}

/// The place of a new field.
pub(super) struct NewField {
    /// The record that it gets into; `None` at the top.
    pub parent: Option<u32>,
    pub name: String,
}

impl NewField {
    /// The column of this field in a table of new columns, by a name that no other one has.
    pub fn numbered(&self, at: usize, column: &TableColumn) -> TableColumn {
        match self.parent {
            Some(_) => TableColumn { name: format!("{at}_{}", self.name), ..column.clone() },
            None => column.clone(),
        }
    }
}

/// The place of a new field at a path: the names of the records that it is in and its own, joined
/// by dots.
///
/// # Errors
/// `Unsupported` for fields within others than records without a class.
pub(super) fn place_of(schema: &Schema, path: &str) -> Result<NewField> {
    let Some((above, name)) = path.rsplit_once('.') else {
        return Ok(NewField { parent: None, name: path.to_owned() });
    };
    let within = |message: &str| Error::unsupported(message).within(above);
    let mut parent = None;
    for part in above.split('.') {
        let is_meant =
            |field: &Field| field.parent == parent && field.name == part && field.source.is_none();
        let found = schema.fields.iter().position(is_meant);
        let at = found.ok_or_else(|| within("a new field within one that is not there"))?;
        let field = &schema.fields[at];
        if field.role != Role::Record || field.array_size.is_some() {
            return Err(within("a new field within one that is not a record of each entry"));
        }
        if !field.typename.is_empty() {
            let message = format!("a new field within an object of class {}", field.typename);
            return Err(within(&message));
        }
        parent = Some(at as u32);
    }
    Ok(NewField { parent, name: name.to_owned() })
}

/// Adds a column at a path to the columns of a table, which may be a member of a record.
pub(super) fn add_column(columns: &mut Vec<TableColumn>, new: TableColumn) {
    let mut parts = new.name.split('.');
    let top = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let Some((last, above)) = rest.split_last() else {
        columns.push(new);
        return;
    };
    let Some(column) = columns.iter_mut().find(|column| column.name == top) else { return };
    let mut entry = Some(&mut column.entry);
    for part in above {
        entry = match entry {
            Some(EntryType::Record(members)) => {
                members.iter_mut().find(|(name, _)| name == part).map(|(_, entry)| entry)
            }
            _ => None,
        };
    }
    if let Some(EntryType::Record(members)) = entry {
        members.push(((*last).to_owned(), new.entry));
    }
}

/// Gives the columns `stored`, which `written` describes, the encodings that an existing RNTuple
/// has.
///
/// # Returns
/// Of each existing column the one that is written. Columns of other representations have no
/// elements in new clusters.
///
/// # Errors
/// `Unsupported` with the field that is not written as it is described.
pub(super) fn encode_like(
    existing: &Schema,
    written: &Schema,
    stored: &mut [Arc<StoredColumn>],
) -> Result<Vec<Option<usize>>> {
    let fields = same_fields(written, existing)?;
    let mut columns = vec![None; existing.columns.len()];
    for (field, their) in written.fields.iter().zip(&fields) {
        if field.source.is_some() {
            continue;
        }
        let represented = represent(field.columns.iter(), *their, existing, stored);
        for (own, their) in represented.map_err(|error| error.within(&field.name))? {
            let column = &existing.columns[their as usize];
            let stored = Arc::make_mut(&mut stored[own as usize]);
            stored.encoding = Encoding::of(column)?;
            stored.bits = column.bits;
            columns[their as usize] = Some(own as usize);
        }
    }
    Ok(columns)
}

/// For each field that is written the one of the same name and place in an existing schema, of
/// which all but projected fields are written.
fn same_fields(written: &Schema, existing: &Schema) -> Result<Vec<u32>> {
    let mut fields: Vec<u32> = Vec::with_capacity(written.fields.len());
    let mut known = BTreeMap::new();
    let of_columns = (0..).zip(&existing.fields).filter(|(_, their)| their.source.is_none());
    for (id, their) in of_columns {
        known.entry((their.parent, &*their.name)).or_insert(id);
    }
    for field in &written.fields {
        let parent = field.parent.map(|parent| fields[parent as usize]);
        let found = known.get(&(parent, &*field.name)).copied();
        let their = found.ok_or_else(|| unlike(&field.name, "it has other fields within it"))?;
        let other = &existing.fields[their as usize];
        if (field.role, field.array_size) != (other.role, other.array_size)
            || !is_alike(&field.typename, &other.typename, field.role)
        {
            let difference = format!("it is a \"{}\"", other.typename);
            return Err(unlike(&field.name, &difference));
        }
        fields.push(their);
    }
    let own = existing.fields.iter().filter(|field| field.source.is_none()).count();
    match own == fields.len() {
        true => Ok(fields),
        false => Err(unlike(&written.name, "some have fields within them that are not written")),
    }
}

/// Whether entries of a type that is written mean the same as those of an existing type.
fn is_alike(written: &str, existing: &str, role: Role) -> bool {
    let vector = existing.replace("ROOT::VecOps::RVec<", "std::vector<");
    match role {
        // The fields within it say the rest. A set or a map has rules of its own.
        Role::Record => !existing.starts_with("std::") || written == existing,
        Role::Collection if written.is_empty() => {
            existing.is_empty() || vector.starts_with("std::vector<")
        }
        _ => written == vector,
    }
}

/// For the columns of a field that is written those of a representation of the existing field.
fn represent<'a>(
    own: impl Iterator<Item = &'a u32> + Clone,
    field: u32,
    existing: &Schema,
    stored: &[Arc<StoredColumn>],
) -> Result<Vec<(u32, u32)>> {
    let holds = |representation: &Vec<u32>| {
        let same = own.clone().zip(representation).all(|(own, their)| {
            let their = Encoding::of(&existing.columns[*their as usize]);
            their.is_ok_and(|their| holds(their, stored[*own as usize].encoding))
        });
        same && own.clone().count() == representation.len()
    };
    let all = existing.representations(field);
    if all.is_empty() && own.clone().next().is_none() {
        return Ok(Vec::new());
    }
    let found = all.iter().find(|one| holds(one)).map(|one| own.clone().copied().zip(one.clone()));
    found.map(Iterator::collect).ok_or_else(|| {
        let error = Error::unsupported("its columns have an encoding that is not written");
        not_written("field", &error)
    })
}

/// Whether a column of that encoding holds elements that are otherwise encoded as `usual`.
fn holds(encoding: Encoding, usual: Encoding) -> bool {
    use Encoding::{Bit, Index, Number as Plain, Quantised, Real16, Switch, Truncated};
    match (usual, encoding) {
        (Bit, Bit) | (Switch, Switch) | (Index { .. }, Index { .. }) => true,
        (Plain { number, .. }, Plain { number: their, .. }) if number == their => true,
        (Plain { number: Number::F64, .. }, Plain { number: Number::F32, .. }) => true,
        (Plain { number: Number::F32 | Number::F64, .. }, other) => {
            matches!(other, Real16 { split: false } | Truncated { .. } | Quantised { .. })
        }
        _ => false,
    }
}

fn unlike(field: &str, difference: &str) -> Error {
    not_written("field", &Error::unsupported(difference)).within(field)
}
