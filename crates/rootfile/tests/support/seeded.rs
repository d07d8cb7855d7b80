//! Types and entries that are made up from a seed.

use std::sync::Arc;

use farroot_rootfile::array::Number;
use farroot_rootfile::write::{EntryType, TableColumn};
use farroot_rootfile::{Array, Numbers};

/// Numbers that follow from a seed.
pub struct Seeded(fastrand::Rng);

impl Seeded {
    pub fn new(seed: u64) -> Self {
        Seeded(fastrand::Rng::with_seed(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// Below `end`, which is not zero.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.u64(..end)
    }

    /// A type that RNTuple can hold; records not where they are read as something else.
    pub fn entry_type(&mut self, depth: u32, records: bool) -> EntryType {
        let inner = |seeded: &mut Seeded, records| {
            Box::new(seeded.entry_type(depth.saturating_sub(1), records))
        };
        match self.below(if depth == 0 { 4 } else { 11 }) {
            0..3 => EntryType::Number(Number::ALL[self.below(11) as usize]),
            3 => EntryType::String,
            4 | 5 => EntryType::List(inner(self, records)),
            6 => {
                let length = 1 + self.below(4) as usize;
                EntryType::Regular { length, content: inner(self, records) }
            }
            7 => EntryType::Option(inner(self, false)),
            8 => {
                let types = 0..1 + self.below(3);
                EntryType::Union(types.map(|_| *inner(self, records)).collect())
            }
            _ if records => {
                let members = 0..1 + self.below(3);
                let member = |at| (format!("m{at}"), *inner(self, true));
                EntryType::Record(members.map(member).collect())
            }
            _ => EntryType::List(inner(self, false)),
        }
    }

    pub fn columns(&mut self) -> Vec<TableColumn> {
        let column = |at| TableColumn {
            name: format!("c{at}"),
            title: format!("the {at}th of them"),
            entry: self.entry_type(3, true),
        };
        (0..5).map(column).collect()
    }

    fn numbers(&mut self, number: Number, count: usize) -> Numbers {
        let kind = self.below(3);
        let mut bits = || match kind {
            0 => self.next(),
            1 => self.below(5),
            _ => self.next() >> 40,
        };
        macro_rules! all {
            ($kind:ident, $type:ty) => {
                Numbers::$kind((0..count).map(|_| bits() as $type).collect())
            };
        }
        match number {
            Number::Bool => Numbers::Bool((0..count).map(|_| (bits() & 1) as u8).collect()),
            Number::I8 => all!(I8, i8),
            Number::I16 => all!(I16, i16),
            Number::I32 => all!(I32, i32),
            Number::I64 => all!(I64, i64),
            Number::U8 => all!(U8, u8),
            Number::U16 => all!(U16, u16),
            Number::U32 => all!(U32, u32),
            Number::U64 => all!(U64, u64),
            Number::F32 => Numbers::F32((0..count).map(|_| bits() as f32 / 7.0).collect()),
            Number::F64 => Numbers::F64((0..count).map(|_| bits() as f64 / 7.0).collect()),
        }
    }

    /// Entries of a type.
    pub fn array(&mut self, entry: &EntryType, entries: usize) -> Array {
        match entry {
            EntryType::Number(number) => {
                Array::Numbers { numbers: self.numbers(*number, entries), shape: vec![] }
            }
            EntryType::String => {
                let offsets = self.offsets(entries);
                let bytes = (0..offsets[entries]).map(|_| b'a' + self.below(26) as u8).collect();
                Array::Strings { offsets, bytes }
            }
            EntryType::List(content) => {
                let offsets = self.offsets(entries);
                let content = Box::new(self.array(content, offsets[entries] as usize));
                Array::List { offsets: offsets.into(), content }
            }
            EntryType::Regular { length, content } => {
                let content = Box::new(self.array(content, entries * length));
                Array::Regular { length: *length, entries, content }
            }
            EntryType::Record(members) => {
                let field = |(name, member): &(String, EntryType)| {
                    (name.clone(), self.array(member, entries))
                };
                let fields = members.iter().map(field).collect();
                Array::Record { class: None, entries, fields }
            }
            EntryType::Union(types) => {
                let len = 1 + self.below(entries as u64 + 1);
                let contents = types.iter().map(|entry| self.array(entry, len as usize)).collect();
                let below = types.len() as u64 + 1;
                let tags = (0..entries).map(|_| self.below(below) as i8 - 1).collect();
                let index = (0..entries).map(|_| self.below(len) as i64).collect();
                Array::Union { tags, index, contents }
            }
            EntryType::Option(content) => {
                // Some values are named twice, and some not at all.
                let len = 1 + self.below(entries as u64 + 1);
                let index = (0..entries).map(|_| self.below(len + len / 2 + 1));
                let index = index.map(|at| if at < len { at as i64 } else { -1 }).collect();
                Array::Option { index, content: Box::new(self.array(content, len as usize)) }
            }
        }
    }

    fn offsets(&mut self, entries: usize) -> Vec<i64> {
        let most = 1 + self.below(5);
        let mut end = 0;
        let mut next = |_| {
            end += self.below(most) as i64;
            end
        };
        let mut offsets = vec![0];
        offsets.extend((0..entries).map(&mut next));
        offsets
    }

    /// Entries of all columns.
    pub fn arrays(&mut self, columns: &[TableColumn], entries: usize) -> Vec<Arc<Array>> {
        columns.iter().map(|column| Arc::new(self.array(&column.entry, entries))).collect()
    }
}

/// The same entries in several parts, of lengths that follow from the seed.
pub fn divided(
    arrays: &[Arc<Array>],
    part: impl Fn(&mut Seeded) -> usize,
    seed: u64,
) -> Vec<Vec<Arc<Array>>> {
    let entries = arrays.first().map_or(0, |array| array.len());
    let mut seeded = Seeded::new(seed);
    let mut first = 0;
    let mut parts = Vec::new();
    while first < entries {
        let end = entries.min(first + part(&mut seeded));
        parts.push(arrays.iter().map(|array| Arc::new(array.slice(first..end))).collect());
        first = end;
    }
    parts
}
