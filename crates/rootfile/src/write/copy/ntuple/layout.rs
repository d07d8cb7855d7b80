//! The fields and columns of an output, merged from those of all inputs.
//!
//! Fields of one path are the same field. Where inputs encode one in several ways, it has several
//! representations in the output, of which each cluster has one.
//! (Source: ROOT, `BinaryFormatSpecification.md`, "Column Description" and "Suppressed Columns".)

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result};
use crate::ntuple::{Column, Field, Role, Schema};
use crate::write::copy::Missing;
use crate::write::ntuple::description::LateColumns;

/// The column types of reals with fewer bits: truncated ones, and quantised ones, whose zero bits
/// mean the range's minimum; and plain floats.
const TRUNCATED: u16 = 0x1c;
const QUANTISED: u16 = 0x1d;
const REAL32: Storage = Storage { kind: 0x0c, bits: 32, range: None };

/// How the elements of a column are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Storage {
    kind: u16,
    bits: u16,
    range: Option<(f64, f64)>,
}

/// A field of the output.
#[derive(Debug)]
pub struct UnionField {
    /// `parent` and `source` are numbers of fields of the output.
    pub field: Field,
    /// The columns of each representation; empty for projected fields.
    pub representations: Vec<Vec<Storage>>,
}

/// A column of the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ColumnPlace {
    pub field: usize,
    /// Which of the field's representations.
    pub representation: usize,
    /// The position in that.
    pub position: usize,
}

/// All fields of the output.
#[derive(Debug, Default)]
pub struct UnionSchema {
    pub fields: Vec<UnionField>,
    /// The number of each field, by parent and name.
    places: BTreeMap<(Option<u32>, String), u32>,
    extra_types: Vec<(usize, Vec<u8>)>,
    inputs: usize,
    /// The names of the fields at the top that are copied; `None` for all.
    pub only: Option<BTreeSet<String>>,
    /// Whether a new header is written, as the first input's does not describe all of it.
    pub is_extended: bool,
}

impl Storage {
    fn of(column: &Column) -> Storage {
        Storage { kind: column.kind, bits: column.bits, range: column.range }
    }

    /// Whether ROOT reads it in a field whose first columns are stored in that way: it takes the
    /// bits and the range of these for all clusters (`RRealField::GenerateColumns`).
    fn is_read_behind(self, first: Storage) -> bool {
        let is_reduced = matches!(self.kind, TRUNCATED | QUANTISED);
        !is_reduced || (self.bits, self.range) == (first.bits, first.range)
    }

    /// Whether the value of zero bits is 0.
    fn has_zeros(self) -> bool {
        self.kind != QUANTISED || self.range.is_some_and(|(min, _)| min == 0.0)
    }
}

impl UnionField {
    /// Bits of one element of a column; 0 where there is no such column.
    pub fn bits(&self, representation: usize, position: usize) -> u16 {
        let columns = self.representations.get(representation);
        columns.and_then(|columns| columns.get(position)).map_or(0, |storage| storage.bits)
    }

    /// The first representation in which zero bits are zeros; `None` where there is none.
    pub fn zeros(&self) -> Option<usize> {
        let has_zeros = |all: &Vec<Storage>| all.iter().all(|storage| storage.has_zeros());
        self.representations.iter().position(has_zeros)
    }

    /// Whether zero bits are zeros in all representations.
    pub fn has_zeros_only(&self) -> bool {
        self.representations.iter().flatten().all(|storage| storage.has_zeros())
    }

    /// Whether fields of other inputs may be added in it: an untyped record, of no C++ class.
    pub fn is_open(&self) -> bool {
        self.field.role == Role::Record && self.field.typename.is_empty()
    }
}

impl UnionSchema {
    /// Adds the fields of a further input. Returns for each its number in the output, `None` for
    /// those that are left out.
    ///
    /// # Errors
    /// `Unsupported` with the field that differs from that of the inputs before; `Corrupt`.
    pub fn add(&mut self, schema: &Schema, missing: Missing) -> Result<Vec<Option<u32>>> {
        let before = self.fields.len();
        let mut taken = vec![false; before];
        let mut fields: Vec<Option<u32>> = Vec::with_capacity(schema.fields.len());
        for field in &schema.fields {
            let is_left_out = |only: &BTreeSet<String>| !only.contains(&field.name);
            if field.parent.is_none() && self.only.as_ref().is_some_and(is_left_out) {
                self.is_extended |= self.inputs == 0;
                fields.push(None);
                continue;
            }
            let parent = field.parent.map(|parent| fields[parent as usize]);
            let Some(parent) = parent.map_or(Some(None), |parent| parent.map(Some)) else {
                fields.push(None);
                continue;
            };
            let place = match self.places.get(&(parent, field.name.clone())) {
                Some(place) => {
                    let twice = taken.get_mut(*place as usize).map(|taken| *taken = true);
                    if twice.is_none() {
                        return Err(Error::corrupt(format!("two fields {}", field.name)));
                    }
                    self.check_type(*place as usize, field)?;
                    Some(*place)
                }
                None => self.place(field, parent, before, missing)?,
            };
            fields.push(place);
        }
        self.sources(schema, &fields, before)?;
        for (id, place) in (0..).zip(&fields) {
            if let Some(place) = place.filter(|_| schema.fields[id as usize].source.is_none()) {
                self.representations(schema, id, place as usize, missing)?;
            }
        }
        if self.may_extend(missing) {
            self.is_extended |= schema.columns.iter().any(|column| column.deferred);
        }
        for extra in &schema.extra_types {
            if !self.extra_types.contains(extra) {
                self.extra_types.push(extra.clone());
            }
        }
        let lacking = (0..before).filter(|at| !taken[*at]);
        let added = if self.inputs > 0 { before..self.fields.len() } else { 0..0 };
        if missing == Missing::Union {
            lacking.chain(added).for_each(|at| self.make_zeros(at));
        }
        self.inputs += 1;
        Ok(fields)
    }

    /// Checks that a field has the same type as in the inputs before.
    fn check_type(&self, place: usize, their: &Field) -> Result<()> {
        let mine = &self.fields[place].field;
        let same = |of: &Field| (of.type_version, of.role, of.array_size, of.source.is_some());
        if mine.typename == their.typename && same(mine) == same(their) {
            return Ok(());
        }
        let message = format!(
            "a field of type \"{}\" (version {}) where the inputs before have \"{}\" ({})",
            their.typename, their.type_version, mine.typename, mine.type_version
        );
        Err(Error::unsupported(message).within(&self.path(place)))
    }

    /// Adds a field that the inputs before lack; `None` where such fields are left out.
    fn place(
        &mut self,
        field: &Field,
        parent: Option<u32>,
        before: usize,
        missing: Missing,
    ) -> Result<Option<u32>> {
        if self.inputs > 0 {
            let is_open = |parent: usize| parent >= before || self.fields[parent].is_open();
            let message = match missing {
                Missing::Strict => "a field that the first input lacks",
                _ if parent.is_some_and(|parent| !is_open(parent as usize)) => {
                    "a part of an object that the inputs before have without it"
                }
                Missing::Filter => return Ok(None),
                Missing::Union => "",
            };
            if !message.is_empty() {
                let path = parent.map(|parent| self.path(parent as usize) + ".");
                let path = path.unwrap_or_default() + &field.name;
                return Err(Error::unsupported(message).within(&path));
            }
            self.is_extended = true;
        }
        let place = self.fields.len() as u32;
        let field = Field { parent, children: Vec::new(), columns: Vec::new(), ..field.clone() };
        self.places.insert((parent, field.name.clone()), place);
        self.fields.push(UnionField { field, representations: Vec::new() });
        Ok(Some(place))
    }

    /// Sets the sources of new projected fields, and checks that the sources of the others are the
    /// same as in the inputs before.
    fn sources(&mut self, schema: &Schema, fields: &[Option<u32>], before: usize) -> Result<()> {
        for (field, place) in schema.fields.iter().zip(fields) {
            let Some(place) = place.map(|place| place as usize) else { continue };
            let source = match field.source.map(|source| fields.get(source as usize)) {
                None => None,
                Some(Some(Some(source))) => Some(*source),
                Some(_) => {
                    let message = "a projected field whose source is not in the output";
                    return Err(Error::unsupported(message).within(&self.path(place)));
                }
            };
            let mine = &mut self.fields[place].field;
            if place >= before {
                mine.source = source;
                continue;
            }
            if mine.source != source {
                let message = "a field that shows another one than in the inputs before";
                return Err(Error::unsupported(message).within(&self.path(place)));
            }
        }
        Ok(())
    }

    /// Whether an input may lead to a new header. Inputs of a skim do not, but for the first: it is
    /// written before the others are known.
    fn may_extend(&self, missing: Missing) -> bool {
        self.inputs == 0 || missing != Missing::Filter
    }

    fn representations(
        &mut self,
        schema: &Schema,
        id: u32,
        place: usize,
        missing: Missing,
    ) -> Result<()> {
        for columns in schema.representations(id) {
            let stored: Vec<Storage> =
                columns.iter().map(|id| Storage::of(&schema.columns[*id as usize])).collect();
            let mine = &mut self.fields[place].representations;
            if mine.first().is_some_and(|first| first.len() != stored.len()) {
                let message = "representations of different columns";
                return Err(Error::corrupt(message).within(&self.path(place)));
            }
            if !mine.contains(&stored) {
                let firsts = mine.first().into_iter().flatten();
                let is_read = firsts.zip(&stored).all(|(first, one)| one.is_read_behind(*first));
                if self.inputs > 0 && !is_read {
                    let message = "reals with other bits or another range than in the inputs \
                                   before, which ROOT would read as if they had theirs: write \
                                   one of them anew";
                    return Err(Error::unsupported(message).within(&self.path(place)));
                }
                let mine = &mut self.fields[place].representations;
                mine.push(stored);
                self.is_extended |= self.inputs > 0 && self.may_extend(missing);
            }
        }
        Ok(())
    }

    /// Adds a representation for zeros to a field that has none.
    fn make_zeros(&mut self, at: usize) {
        let field = &mut self.fields[at];
        if !field.representations.is_empty() && field.zeros().is_none() {
            field.representations.push(vec![REAL32]);
            self.is_extended = true;
        }
    }

    /// The number of the representation that is stored like these columns of an input.
    pub fn representation(&self, place: usize, schema: &Schema, columns: &[u32]) -> Option<usize> {
        let stored = columns.iter().map(|id| Storage::of(&schema.columns[*id as usize]));
        let all = &self.fields[place].representations;
        all.iter().position(|mine| mine.iter().copied().eq(stored.clone()))
    }

    /// The names of the fields above a field and its own, joined by dots.
    pub fn path(&self, place: usize) -> String {
        let Field { name, parent, .. } = &self.fields[place].field;
        match parent {
            Some(parent) => format!("{}.{name}", self.path(*parent as usize)),
            None => name.clone(),
        }
    }

    /// The columns of the output in the order of a new header.
    pub fn columns(&self) -> Vec<ColumnPlace> {
        let mut all = Vec::new();
        for (field, UnionField { representations, .. }) in self.fields.iter().enumerate() {
            for (representation, columns) in representations.iter().enumerate() {
                let positions = 0..columns.len();
                all.extend(positions.map(|position| ColumnPlace {
                    field,
                    representation,
                    position,
                }));
            }
        }
        all
    }

    /// The output's schema with those columns, and with the name and description of the first
    /// input's RNTuple.
    pub fn schema(&self, first: &Schema, columns: &[ColumnPlace]) -> Schema {
        let mut schema = Schema::default();
        schema.name.clone_from(&first.name);
        schema.description.clone_from(&first.description);
        schema.writer.clone_from(&first.writer);
        schema.extra_types.clone_from(&self.extra_types);
        schema.fields = self.fields.iter().map(|field| field.field.clone()).collect();
        for (id, place) in (0..).zip(columns) {
            schema.columns.push(self.column(*place));
            schema.fields[place.field].columns.push(id);
        }
        for place in 0..schema.fields.len() {
            if let Some(source) = schema.fields[place].source {
                schema.fields[place].columns = schema.fields[source as usize].columns.clone();
            }
        }
        schema
    }

    /// A column of the output, as header and footer describe it.
    fn column(&self, place: ColumnPlace) -> Column {
        let ColumnPlace { field, representation, position } = place;
        let Storage { kind, bits, range } =
            self.fields[field].representations[representation][position];
        let field = field as u32;
        let representation = representation as u16;
        Column { kind, bits, field, representation, deferred: false, range }
    }

    /// Columns that came after the header was written, behind the `first` ones.
    pub fn late_columns(&self, columns: &[ColumnPlace], first: usize) -> LateColumns {
        let mut late = LateColumns::default();
        for (id, place) in columns.iter().enumerate().skip(first) {
            late.columns.push(self.column(*place));
            let shows = |field: &UnionField| field.field.source == Some(place.field as u32);
            let shown = (0..).zip(&self.fields).filter(|(_, field)| shows(field));
            late.aliases.extend(shown.map(|(field, _): (u32, _)| (id as u32, field)));
        }
        late
    }
}
