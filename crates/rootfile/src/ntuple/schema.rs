//! Fields and columns: those of the header, and those that the footer adds.
//!
//! ```text
//! header  = feature flags  name  description  writer  schema
//! schema  = list of fields, of columns, of alias columns, of extra type information
//! field   = field version:u32 type version:u32 parent:u32 role:u16 flags:u16
//!           name  type  type alias  description   [array size:u64] [source:u32] [checksum:u32]
//! column  = type:u16 bits:u16 field:u32 flags:u16 representation:u16
//!           [first element:i64] [min:f64 max:f64]
//! alias   = physical column:u32 field:u32
//! ```
//!
//! Fields and columns are numbered as they come, those of the footer after those of the header.

use std::collections::BTreeMap;

use super::envelope::{Envelope, EnvelopeKind};
use super::reader::EnvelopeReader;
use crate::error::{Error, Result};

const FIELD_REPETITIVE: u16 = 1;
const FIELD_PROJECTED: u16 = 2;
const FIELD_CHECKSUM: u16 = 4;
const COLUMN_DEFERRED: u16 = 1;
const COLUMN_RANGE: u16 = 2;

/// Fields in fields; deeper ones are refused, since functions that walk over them recurse.
const DEPTH_MAX: usize = 64;

/// Fields beyond this are refused: each takes more memory than bytes of the file.
const FIELDS_MAX: usize = 1 << 21;
/// Bytes that the names and types of all fields may take, each with those of the fields it is in,
/// as paths have them.
const PATHS_LEN_MAX: usize = 1 << 28;

/// The role of a field for the fields below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Leaf,
    Collection,
    Record,
    Variant,
    /// Objects written by ROOT's streamer.
    Streamer,
    /// One that a later version of the format has brought.
    Unknown(u16),
}

/// A serialised C++ type.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub name: String,
    /// Normalised; empty for untyped records and collections.
    pub typename: String,
    pub type_alias: String,
    pub description: String,
    pub field_version: u32,
    pub type_version: u32,
    /// `None` at the top.
    pub parent: Option<u32>,
    pub role: Role,
    /// How many items each entry has, of fixed-size arrays and bitsets.
    pub array_size: Option<u64>,
    /// The field whose data a projected one shows.
    pub source: Option<u32>,
    /// Checksum of its class, as in ROOT's streamer information.
    pub checksum: Option<u32>,
    /// Fields directly below, in order.
    pub children: Vec<u32>,
    /// Physical columns, in order.
    pub columns: Vec<u32>,
}

/// A vector of simple elements.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// As in the file; see [`super::column::ColumnType`].
    pub kind: u16,
    /// Of one element as stored.
    pub bits: u16,
    pub field: u32,
    /// Which of several ways to store the field this column belongs to.
    pub representation: u16,
    /// Elements before this one were never written and are zero.
    pub deferred: bool,
    /// Inclusive, of quantised reals.
    pub range: Option<(f64, f64)>,
}

/// All fields and columns of an RNTuple.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schema {
    pub name: String,
    pub description: String,
    /// The program that wrote it.
    pub writer: String,
    pub fields: Vec<Field>,
    pub columns: Vec<Column>,
    /// Lists of extra type information (streamer infos of unsplit objects), of the header and of
    /// the footer: number of records and their bytes. The file has the same streamer infos.
    pub extra_types: Vec<(usize, Vec<u8>)>,
    paths_len: usize,
}

impl Schema {
    /// Reads the header.
    pub(super) fn read(header: &Envelope) -> Result<Schema> {
        let mut reader = header.reader();
        reader.feature_flags()?;
        let mut schema = Schema {
            name: reader.string()?,
            description: reader.string()?,
            writer: reader.string()?,
            ..Schema::default()
        };
        schema.extend(&mut reader)?;
        Ok(schema)
    }

    /// Adds the fields and columns of one schema description.
    pub(super) fn extend(&mut self, reader: &mut EnvelopeReader<'_>) -> Result<()> {
        let (count, mut fields) = reader.list(8 + 32)?;
        if self.fields.len().saturating_add(count) > FIELDS_MAX {
            return Err(Error::limit(format!("an RNTuple with more than {FIELDS_MAX} fields")));
        }
        for _ in 0..count {
            self.add_field(&mut fields.record()?)?;
        }
        let (count, mut columns) = reader.list(8 + 12)?;
        for _ in 0..count {
            self.add_column(&mut columns.record()?)?;
        }
        let (count, mut aliases) = reader.list(8 + 8)?;
        for _ in 0..count {
            self.add_alias(&mut aliases.record()?)?;
        }
        let (count, mut extra) = reader.list(0)?;
        if count > 0 {
            self.extra_types.push((count, extra.take(extra.remaining())?.to_vec()));
        }
        Ok(())
    }

    fn add_field(&mut self, reader: &mut EnvelopeReader<'_>) -> Result<()> {
        let id = self.fields.len() as u32;
        let at = reader.clone();
        let field_version = reader.u32()?;
        let type_version = reader.u32()?;
        let parent = Some(reader.u32()?).filter(|parent| *parent != id);
        let role = match reader.u16()? {
            0 => Role::Leaf,
            1 => Role::Collection,
            2 => Role::Record,
            3 => Role::Variant,
            4 => Role::Streamer,
            other => Role::Unknown(other),
        };
        let flags = reader.u16()?;
        let mut field = Field {
            name: reader.string()?,
            typename: reader.string()?,
            type_alias: reader.string()?,
            description: reader.string()?,
            field_version,
            type_version,
            parent,
            role,
            array_size: None,
            source: None,
            checksum: None,
            children: Vec::new(),
            columns: Vec::new(),
        };
        if flags & FIELD_REPETITIVE != 0 {
            field.array_size = Some(reader.u64()?);
        }
        if flags & FIELD_PROJECTED != 0 {
            field.source = Some(reader.u32()?);
        }
        if flags & FIELD_CHECKSUM != 0 {
            field.checksum = Some(reader.u32()?);
        }
        if let Some(parent) = parent {
            // A parent comes before its children: there are no circles.
            match self.fields.get_mut(parent as usize) {
                Some(parent) => parent.children.push(id),
                None => return Err(at.corrupt(format!("field {id} in field {parent}"))),
            }
            if self.ancestors(parent).count() >= DEPTH_MAX {
                let message = format!("an RNTuple with more than {DEPTH_MAX} fields in each other");
                return Err(Error::limit(message));
            }
        }
        self.fields.push(field);
        let lengths = self.ancestors(id).map(|id| {
            let field = &self.fields[id as usize];
            field.name.len() + field.typename.len()
        });
        self.paths_len = self.paths_len.saturating_add(lengths.sum());
        if self.paths_len > PATHS_LEN_MAX {
            let message = format!("an RNTuple with names of more than {PATHS_LEN_MAX} bytes");
            return Err(Error::limit(message));
        }
        Ok(())
    }

    fn add_column(&mut self, reader: &mut EnvelopeReader<'_>) -> Result<()> {
        let id = self.columns.len() as u32;
        let at = reader.clone();
        let kind = reader.u16()?;
        let bits = reader.u16()?;
        let field = reader.u32()?;
        let flags = reader.u16()?;
        let representation = reader.u16()?;
        // Below zero the column is suppressed, too: another representation has these elements.
        let deferred = flags & COLUMN_DEFERRED != 0 && reader.i64()? > 0;
        let range = match flags & COLUMN_RANGE {
            0 => None,
            _ => Some((reader.f64()?, reader.f64()?)),
        };
        match self.fields.get_mut(field as usize) {
            Some(field) => field.columns.push(id),
            None => return Err(at.corrupt(format!("column {id} of field {field}"))),
        }
        self.columns.push(Column { kind, bits, field, representation, deferred, range });
        Ok(())
    }

    fn add_alias(&mut self, reader: &mut EnvelopeReader<'_>) -> Result<()> {
        let at = reader.clone();
        let physical = reader.u32()?;
        let field = reader.u32()?;
        match self.fields.get_mut(field as usize) {
            Some(field) if (physical as usize) < self.columns.len() => field.columns.push(physical),
            _ => return Err(at.corrupt(format!("field {field} shows column {physical}"))),
        }
        Ok(())
    }

    /// Adds the fields and columns of another schema behind its own.
    pub(crate) fn append(&mut self, other: &Schema) {
        self.append_within(other, &BTreeMap::new());
    }

    /// The same; `parents` are the own fields that some of the other's fields at the top get into,
    /// by their numbers there.
    pub(crate) fn append_within(&mut self, other: &Schema, parents: &BTreeMap<u32, u32>) {
        let fields = self.fields.len() as u32;
        let columns = self.columns.len() as u32;
        for (field, parent) in parents {
            self.fields[*parent as usize].children.push(field + fields);
        }
        self.fields.extend((0..).zip(&other.fields).map(|(id, field)| Field {
            parent: match field.parent {
                Some(parent) => Some(parent + fields),
                None => parents.get(&id).copied(),
            },
            source: field.source.map(|source| source + fields),
            children: field.children.iter().map(|child| child + fields).collect(),
            columns: field.columns.iter().map(|column| column + columns).collect(),
            ..field.clone()
        }));
        let moved = |column: &Column| Column { field: column.field + fields, ..column.clone() };
        self.columns.extend(other.columns.iter().map(moved));
    }

    /// A field and those above it, up to the top.
    pub fn ancestors(&self, field: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(field), |id| self.fields.get(*id as usize)?.parent)
    }

    /// The columns of a field, one list for each of its representations.
    pub fn representations(&self, field: u32) -> Vec<Vec<u32>> {
        let mut all: Vec<Vec<u32>> = Vec::new();
        let mut last = None;
        for column in &self.fields[field as usize].columns {
            let number = self.columns[*column as usize].representation;
            match all.last_mut() {
                Some(columns) if last == Some(number) => columns.push(*column),
                _ => all.push(vec![*column]),
            }
            last = Some(number);
        }
        all
    }

    /// Fields that are in no other.
    pub fn top(&self) -> impl Iterator<Item = u32> {
        let fields = self.fields.iter().enumerate();
        fields.filter(|(_, field)| field.parent.is_none()).map(|(id, _)| id as u32)
    }
}

/// Opens the header.
pub(super) fn header(stored: &bytes::Bytes, length: u64) -> Result<(Schema, u64)> {
    let envelope = Envelope::open(EnvelopeKind::Header, stored, length)?;
    Ok((Schema::read(&envelope)?, envelope.checksum))
}
