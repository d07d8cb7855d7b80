//! A schema as header and footer have it (read in [`crate::ntuple::schema`]).
//!
//! (Source: ROOT, `BinaryFormatSpecification.md`, "Header Envelope".)

use super::envelope::EnvelopeWriter;
use crate::ntuple::{Column, EnvelopeKind, Field, Role, Schema};

const FIELD_REPETITIVE: u16 = 1;
const FIELD_PROJECTED: u16 = 2;
const FIELD_CHECKSUM: u16 = 4;
const COLUMN_RANGE: u16 = 2;

/// The header's envelope, and its checksum.
pub(in crate::write) fn header(schema: &Schema) -> (Vec<u8>, u64) {
    let mut to = EnvelopeWriter::new(EnvelopeKind::Header);
    to.u64(0);
    to.string(&schema.name);
    to.string(&schema.description);
    to.string(&schema.writer);
    describe(schema, &mut to);
    to.finish()
}

/// Appends fields, columns, and which columns projected fields show.
pub(in crate::write) fn describe(schema: &Schema, to: &mut EnvelopeWriter) {
    to.list(schema.fields.len(), |to| {
        schema.fields.iter().zip(0..).for_each(|(each, id)| to.record(|to| field(each, id, to)));
    });
    to.list(schema.columns.len(), |to| {
        schema.columns.iter().for_each(|each| to.record(|to| column(each, to)));
    });
    let projected = schema.fields.iter().zip(0u32..).filter(|(field, _)| field.source.is_some());
    let aliases: Vec<(u32, u32)> = projected
        .flat_map(|(field, id)| field.columns.iter().map(move |column| (*column, id)))
        .collect();
    to.list(aliases.len(), |to| {
        aliases.into_iter().for_each(|(column, field)| to.record(|to| alias(column, field, to)));
    });
    let extra = schema.extra_types.iter().map(|(count, _)| count).sum();
    to.list(extra, |to| schema.extra_types.iter().for_each(|(_, bytes)| to.bytes(bytes)));
}

/// Fields and columns that came after the header was written. Columns of fields that the header
/// has are further representations. `aliases` are numbers of columns, and of projected fields that
/// show them.
#[derive(Debug, Default)]
pub(in crate::write) struct LateColumns {
    /// Fields, with their numbers, whose columns come with them.
    pub fields: Vec<(u32, Field)>,
    pub columns: Vec<Column>,
    pub aliases: Vec<(u32, u32)>,
}

impl LateColumns {
    /// The footer's record of additions: the record `before`, if there is one, and these columns
    /// behind its own. `None` where `before` is no such record.
    pub fn extension(&self, before: Option<&[u8]>) -> Option<Vec<u8>> {
        let mut rest = before.map_or(Some(&[][..]), |record| record.get(8..))?;
        let mut lists: [&[u8]; 4] = [&[0; 12]; 4];
        for list in lists.iter_mut().filter(|_| before.is_some()) {
            let size = i64::from_le_bytes(rest.get(..8)?.try_into().ok()?);
            let size = usize::try_from(size.checked_neg()?).ok()?;
            (*list, rest) = rest.split_at_checked(size).filter(|(list, _)| list.len() >= 12)?;
        }
        let [fields, columns, aliases, extra] = lists;
        let count = |list: &[u8]| list[8..12].iter().rev().fold(0, |n, b| n << 8 | usize::from(*b));
        let mut to = EnvelopeWriter::part();
        to.record(|to| {
            to.list(count(fields) + self.fields.len(), |to| {
                to.bytes(&fields[12..]);
                self.fields.iter().for_each(|(id, each)| to.record(|to| field(each, *id, to)));
            });
            to.list(count(columns) + self.columns.len(), |to| {
                to.bytes(&columns[12..]);
                self.columns.iter().for_each(|each| to.record(|to| column(each, to)));
            });
            to.list(count(aliases) + self.aliases.len(), |to| {
                to.bytes(&aliases[12..]);
                self.aliases
                    .iter()
                    .for_each(|&(column, field)| to.record(|to| alias(column, field, to)));
            });
            to.list(count(extra), |to| to.bytes(&extra[12..]));
            to.bytes(rest);
        });
        Some(to.into_part())
    }
}

fn alias(column: u32, field: u32, to: &mut EnvelopeWriter) {
    to.u32(column);
    to.u32(field);
}

fn field(field: &Field, id: u32, to: &mut EnvelopeWriter) {
    to.u32(field.field_version);
    to.u32(field.type_version);
    to.u32(field.parent.unwrap_or(id));
    to.u16(match field.role {
        Role::Leaf => 0,
        Role::Collection => 1,
        Role::Record => 2,
        Role::Variant => 3,
        Role::Streamer => 4,
        Role::Unknown(role) => role,
    });
    let repetitive = field.array_size.map_or(0, |_| FIELD_REPETITIVE);
    let projected = field.source.map_or(0, |_| FIELD_PROJECTED);
    to.u16(repetitive | projected | field.checksum.map_or(0, |_| FIELD_CHECKSUM));
    for text in [&field.name, &field.typename, &field.type_alias, &field.description] {
        to.string(text);
    }
    if let Some(size) = field.array_size {
        to.u64(size);
    }
    if let Some(source) = field.source {
        to.u32(source);
    }
    if let Some(checksum) = field.checksum {
        to.u32(checksum);
    }
}

fn column(column: &Column, to: &mut EnvelopeWriter) {
    to.u16(column.kind);
    to.u16(column.bits);
    to.u32(column.field);
    to.u16(column.range.map_or(0, |_| COLUMN_RANGE));
    to.u16(column.representation);
    if let Some((min, max)) = column.range {
        to.f64(min);
        to.f64(max);
    }
}
