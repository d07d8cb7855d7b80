//! The meaning of a field: its columns, and the way they make an array.

use std::collections::BTreeSet;

use super::column::{Element, Encoding};
use super::names::{Names, is_anonymous};
use super::schema::{Field, Role, Schema};
use crate::array::Number;
use crate::error::{Error, Result};
use crate::tree::interpret::{ClassTable, Streamed};

/// How a field, or a part of one, is read.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldInterpretation {
    pub(super) layout: FieldLayout,
    pub(super) slots: Vec<Slot>,
}

/// A column that a field needs, in whichever representation a cluster has it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slot {
    /// Columns by representation.
    pub columns: Vec<u32>,
    pub element: Element,
    /// Elements of one entry; `None` inside of collections, where only offsets say how many.
    pub per_entry: Option<u64>,
    /// Entries from before the column was added are zero.
    pub deferred: bool,
}

/// The form of the array, with positions of slots.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FieldLayout {
    Numbers {
        slot: usize,
    },
    Text {
        ends: usize,
        bytes: usize,
    },
    List {
        ends: usize,
        item: Box<FieldLayout>,
    },
    Option {
        ends: usize,
        item: Box<FieldLayout>,
    },
    /// Lengths of a collection.
    Cardinality {
        ends: usize,
        wide: bool,
    },
    Fixed {
        length: u64,
        item: Box<FieldLayout>,
    },
    Record {
        fields: Vec<(String, FieldLayout)>,
    },
    Variant {
        switch: usize,
        alternatives: Vec<FieldLayout>,
    },
    /// Objects as ROOT's streamer writes them, one after the other.
    Streamed {
        ends: usize,
        bytes: usize,
        object: Streamed,
    },
}

impl FieldInterpretation {
    /// A field at the top with those fields in it that are in `keep` or below one that is.
    /// `classes` are those that the file describes, for objects in ROOT's streamer form.
    ///
    /// # Errors
    /// `Unsupported` naming the field and its type.
    pub fn pruned(
        schema: &Schema,
        names: &Names,
        classes: &ClassTable,
        top: u32,
        keep: &[u32],
    ) -> Result<Self> {
        let kept: BTreeSet<u32> = keep.iter().flat_map(|field| schema.ancestors(*field)).collect();
        let mut builder = Builder::new(schema, names, classes);
        if !keep.contains(&top) {
            builder.kept = Some(Kept { whole: keep.iter().copied().collect(), above: kept });
        }
        let layout = builder.field(top, Some(1))?;
        Ok(FieldInterpretation { layout, slots: builder.slots })
    }

    /// One field, wherever it is: in the lists that it is in, without the records.
    ///
    /// # Errors
    /// As [`FieldInterpretation::pruned`].
    pub fn of(schema: &Schema, names: &Names, classes: &ClassTable, field: u32) -> Result<Self> {
        let mut builder = Builder::new(schema, names, classes);
        let mut way: Vec<u32> = schema.ancestors(field).collect();
        let layout = builder.along(&mut way, Some(1))?;
        Ok(FieldInterpretation { layout, slots: builder.slots })
    }
}

/// Which of the fields below one are wanted.
struct Kept {
    whole: BTreeSet<u32>,
    above: BTreeSet<u32>,
}

struct Builder<'a> {
    schema: &'a Schema,
    names: &'a Names,
    classes: &'a ClassTable,
    kept: Option<Kept>,
    slots: Vec<Slot>,
}

impl<'a> Builder<'a> {
    fn new(schema: &'a Schema, names: &'a Names, classes: &'a ClassTable) -> Self {
        Builder { schema, names, classes, kept: None, slots: Vec::new() }
    }

    /// The last field of a way is the outermost; the first one is the one that is wanted.
    fn along(&mut self, way: &mut Vec<u32>, per_entry: Option<u64>) -> Result<FieldLayout> {
        let Some(id) = way.pop() else { return Err(Error::not_found("no such field")) };
        if way.is_empty() {
            return self.field(id, per_entry);
        }
        let field = &self.schema.fields[id as usize];
        match field.role {
            Role::Collection => {
                let ends = self.ends(id, per_entry)?;
                let item = Box::new(self.along(way, None)?);
                Ok(list(field, ends, item))
            }
            Role::Variant => Err(self.unsupported(id, "an alternative by itself")),
            _ => match field.array_size {
                Some(length) => {
                    let item = Box::new(self.along(way, times(per_entry, length))?);
                    Ok(FieldLayout::Fixed { length, item })
                }
                None => self.along(way, per_entry),
            },
        }
    }

    /// A field of which each entry has `per_entry` elements.
    fn field(&mut self, id: u32, per_entry: Option<u64>) -> Result<FieldLayout> {
        let field = &self.schema.fields[id as usize];
        if field.field_version != 0 {
            let feature = format!("version {} of a field", field.field_version);
            return Err(self.unsupported(id, &feature));
        }
        match field.role {
            Role::Leaf => self.leaf(id, per_entry),
            Role::Collection => {
                let [item] = self.schema.fields[id as usize].children[..] else {
                    return Err(self.corrupt(id, "a collection without one kind of item"));
                };
                let ends = self.ends(id, per_entry)?;
                let item = Box::new(self.field(item, None)?);
                Ok(list(field, ends, item))
            }
            Role::Record => {
                let mut fields = Vec::new();
                for member in members(self.schema, id) {
                    if let Some(kept) = self.keeps(member) {
                        // Fields in a field that is wanted are wanted as a whole.
                        let narrower = if kept { self.kept.take() } else { None };
                        let layout = self.field(member, per_entry)?;
                        self.kept = narrower.or(self.kept.take());
                        fields.push((self.names.of(member).to_owned(), layout));
                    }
                }
                Ok(FieldLayout::Record { fields })
            }
            Role::Variant => {
                let [switch] = self.own_slots(id, per_entry)?[..] else {
                    return Err(self.corrupt(id, "a variant without its column"));
                };
                if self.slots[switch].element != Element::Switch {
                    return Err(self.corrupt(id, "a variant without a switch"));
                }
                let whole = self.kept.take();
                let alternatives = field.children.iter().map(|child| self.field(*child, None));
                let alternatives = alternatives.collect::<Result<_>>()?;
                self.kept = whole;
                Ok(FieldLayout::Variant { switch, alternatives })
            }
            Role::Streamer => self.streamed(id, per_entry),
            Role::Unknown(role) => {
                Err(self.unsupported(id, &format!("a field of structural role {role}")))
            }
        }
    }

    fn leaf(&mut self, id: u32, per_entry: Option<u64>) -> Result<FieldLayout> {
        let field = &self.schema.fields[id as usize];
        let per_item = match field.array_size {
            Some(length) => times(per_entry, length),
            None => per_entry,
        };
        let content = match (&field.children[..], field.columns.is_empty()) {
            ([item], true) => self.field(*item, per_item)?,
            ([], false) => self.simple(id, per_item)?,
            _ => return Err(self.corrupt(id, "a leaf with both columns and fields, or neither")),
        };
        Ok(match field.array_size {
            Some(length) => FieldLayout::Fixed { length, item: Box::new(content) },
            None => content,
        })
    }

    /// A field without fields below.
    fn simple(&mut self, id: u32, per_entry: Option<u64>) -> Result<FieldLayout> {
        let slots = self.own_slots(id, per_entry)?;
        let elements: Vec<Element> = slots.iter().map(|slot| self.slots[*slot].element).collect();
        match (&elements[..], &slots[..]) {
            ([Element::Index { .. }, Element::Number(Number::U8)], [ends, bytes]) => {
                self.slots[*bytes].per_entry = None;
                Ok(FieldLayout::Text { ends: *ends, bytes: *bytes })
            }
            ([Element::Index { .. }], [ends]) => {
                // As wide as the first of several representations.
                let first = self.slots[*ends].columns[0];
                let wide = self.schema.columns[first as usize].bits > 32;
                Ok(FieldLayout::Cardinality { ends: *ends, wide })
            }
            ([Element::Bool | Element::Number(_)], [slot]) => {
                Ok(FieldLayout::Numbers { slot: *slot })
            }
            _ => Err(self.unsupported(id, "these columns")),
        }
    }

    /// Objects in ROOT's streamer form: the offsets and bytes of each.
    fn streamed(&mut self, id: u32, per_entry: Option<u64>) -> Result<FieldLayout> {
        let typename = &self.schema.fields[id as usize].typename;
        let object = Streamed::of(typename, self.classes);
        let object = object.map_err(|error| error.within(&self.path(id)))?;
        let slots = self.own_slots(id, per_entry)?;
        let elements: Vec<Element> = slots.iter().map(|slot| self.slots[*slot].element).collect();
        match (&elements[..], &slots[..]) {
            ([Element::Index { .. }, Element::Number(Number::U8)], [ends, bytes]) => {
                self.slots[*bytes].per_entry = None;
                Ok(FieldLayout::Streamed { ends: *ends, bytes: *bytes, object })
            }
            _ => Err(self.corrupt(id, "objects without the columns of their bytes")),
        }
    }

    fn ends(&mut self, id: u32, per_entry: Option<u64>) -> Result<usize> {
        let slots = self.own_slots(id, per_entry)?;
        match slots[..] {
            [ends] if matches!(self.slots[ends].element, Element::Index { .. }) => Ok(ends),
            _ => Err(self.corrupt(id, "a collection without its offsets")),
        }
    }

    /// Makes slots for a field's columns, as many as a representation has.
    fn own_slots(&mut self, id: u32, per_entry: Option<u64>) -> Result<Vec<usize>> {
        let representations = self.schema.representations(id);
        let width = representations.first().map_or(0, Vec::len);
        if representations.iter().any(|columns| columns.len() != width) {
            return Err(self.corrupt(id, "representations of different columns"));
        }
        let first = self.slots.len();
        for position in 0..width {
            let columns: Vec<u32> =
                representations.iter().map(|columns| columns[position]).collect();
            let element = self.element(id, &columns)?;
            let descriptions = columns.iter().map(|id| &self.schema.columns[*id as usize]);
            let deferred = descriptions.clone().any(|column| column.deferred);
            self.slots.push(Slot { columns, element, per_entry, deferred });
        }
        Ok((first..self.slots.len()).collect())
    }

    fn element(&self, id: u32, columns: &[u32]) -> Result<Element> {
        // As ROOT computes them: a step of a double field is seldom a single-precision real.
        let has_steps = |id: &u32| self.schema.columns[*id as usize].range.is_some();
        let is_double = self.schema.fields[id as usize].typename == "double";
        if is_double && columns.iter().any(has_steps) {
            return Ok(Element::Number(Number::F64));
        }
        let mut joined: Option<Element> = None;
        for column in columns {
            let encoding = Encoding::of(&self.schema.columns[*column as usize])
                .map_err(|error| error.within(&self.path(id)))?;
            joined = match joined {
                None => Some(encoding.element()),
                Some(so_far) => match so_far.joined(encoding.element()) {
                    Some(joined) => Some(joined),
                    None => return Err(self.unsupported(id, "columns of different types")),
                },
            };
        }
        joined.ok_or_else(|| self.corrupt(id, "no columns"))
    }

    /// `None` where a field is not wanted, else whether all of it is.
    fn keeps(&self, field: u32) -> Option<bool> {
        match &self.kept {
            None => Some(false),
            Some(kept) if kept.whole.contains(&field) => Some(true),
            Some(kept) => kept.above.contains(&field).then_some(false),
        }
    }

    fn unsupported(&self, id: u32, feature: &str) -> Error {
        let typename = &self.schema.fields[id as usize].typename;
        Error::unsupported(format!("{feature}, of type \"{typename}\"")).within(&self.path(id))
    }

    fn corrupt(&self, id: u32, message: &str) -> Error {
        Error::corrupt(message).within(&self.path(id))
    }

    fn path(&self, id: u32) -> String {
        let mut names: Vec<&str> =
            self.schema.ancestors(id).map(|id| &*self.schema.fields[id as usize].name).collect();
        names.reverse();
        names.join(".")
    }
}

fn list(field: &Field, ends: usize, item: Box<FieldLayout>) -> FieldLayout {
    if field.typename.starts_with("std::optional<") {
        FieldLayout::Option { ends, item }
    } else {
        FieldLayout::List { ends, item }
    }
}

fn times(per_entry: Option<u64>, length: u64) -> Option<u64> {
    per_entry.map(|count| count.saturating_mul(length))
}

/// The members of a class and of its bases: its own first, then those of its last base.
fn members(schema: &Schema, record: u32) -> Vec<u32> {
    let mut members = Vec::new();
    let mut open = vec![record];
    while let Some(id) = open.pop() {
        for child in &schema.fields[id as usize].children {
            if is_anonymous(schema, *child) {
                open.push(*child);
            } else {
                members.push(*child);
            }
        }
    }
    members
}
