//! Fields and columns for the types of entries (read in [`crate::ntuple::schema`]).
//!
//! (Source: ROOT, `BinaryFormatSpecification.md`, "Mapping of C++ Types to Fields and Columns".)

use std::collections::{BTreeMap, BTreeSet};

use super::options::{RNTupleOptions, RealStorage};
use super::way::{self, Way, WayEnd, WayStep};
use crate::array::Number;
use crate::error::{Error, Result};
use crate::ntuple::column::Encoding;
use crate::ntuple::{Column, Field, Role, Schema};
use crate::write::schema::{EntryType, TableColumn};

const INDEX: [u16; 2] = [0x0f, 0x1b];
const CHAR: u16 = 0x02;
const SWITCH: u16 = 0x10;
/// Maximum alternatives of ROOT's variants.
const ALTERNATIVES_MAX: usize = 125;

/// The schema, and where its columns come from.
#[derive(Debug)]
pub(in crate::write) struct Plan {
    pub schema: Schema,
    pub columns: Vec<StoredColumn>,
}

/// A column that is written.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::write) struct StoredColumn {
    /// Which of the table's columns it is a part of.
    pub top: usize,
    pub way: Way,
    pub encoding: Encoding,
    /// Of one element.
    pub bits: u16,
}

impl Plan {
    /// For a table's columns.
    ///
    /// # Errors
    /// `Unsupported` for types and names that RNTuple does not have.
    pub fn new(columns: &[TableColumn], options: &RNTupleOptions) -> Result<Plan> {
        let mut builder = Builder {
            plan: Plan { schema: Schema::default(), columns: Vec::new() },
            options,
            used: BTreeSet::new(),
            top: 0,
        };
        let names = columns.iter().map(|column| &*column.name);
        distinct(names)?;
        for (top, TableColumn { name, title, entry }) in columns.iter().enumerate() {
            builder.top = top;
            builder.field(None, name, title, entry, &mut Vec::new(), name)?;
        }
        for (path, _) in &options.reals {
            if !builder.used.contains(path) {
                let message = format!("no reals \"{path}\" that could be stored with fewer bits");
                return Err(Error::unsupported(message));
            }
        }
        builder.counters(columns);
        let Plan { mut schema, columns } = builder.plan;
        schema.description = options.description.clone();
        describe(&mut schema, &options.descriptions);
        schema.writer = concat!("farroot ", env!("CARGO_PKG_VERSION")).into();
        Ok(Plan { schema, columns })
    }
}

/// Gives fields the descriptions that are said of them.
fn describe(schema: &mut Schema, descriptions: &BTreeMap<String, String>) {
    let mut paths: Vec<String> = Vec::new();
    // Fields come behind those that they are in.
    for field in &mut schema.fields {
        let path = match field.parent {
            Some(parent) => format!("{}.{}", paths[parent as usize], field.name),
            None => field.name.clone(),
        };
        if let Some(description) = descriptions.get(&path) {
            field.description = description.clone();
        }
        paths.push(path);
    }
}

struct Builder<'a> {
    plan: Plan,
    options: &'a RNTupleOptions,
    /// Paths of reals that were stored as the options say.
    used: BTreeSet<String>,
    top: usize,
}

impl Builder<'_> {
    /// Adds a field, those in it, and their columns. `steps` lead to its values, `path` is its name
    /// for users.
    fn field(
        &mut self,
        parent: Option<u32>,
        name: &str,
        description: &str,
        entry: &EntryType,
        steps: &mut Vec<WayStep>,
        path: &str,
    ) -> Result<()> {
        let typename = typename(entry).map_err(|error| error.within(path))?;
        if matches!(entry, EntryType::Option(content) if !way::is_typed(content)) {
            // As lists of none or one, which uproot makes of them, they would be read as lists.
            let message = format!("{entry}: ROOT has no type for records that may be missing");
            return Err(Error::unsupported(message).within(path));
        }
        let role = match entry {
            // ROOT has arrays of items with a type only.
            EntryType::Regular { content, .. } if !way::is_typed(content) => Role::Collection,
            EntryType::List(_) | EntryType::Option(_) => Role::Collection,
            EntryType::Record(_) => Role::Record,
            EntryType::Union(_) => Role::Variant,
            EntryType::Number(_) | EntryType::String | EntryType::Regular { .. } => Role::Leaf,
        };
        let id = self.add(parent, name, typename, role);
        self.plan.schema.fields[id as usize].description = description.to_owned();
        match entry {
            EntryType::Number(number) => {
                let (kind, bits, range) = self.number(id, *number, path)?;
                self.column(id, kind, bits, range, steps, WayEnd::Values)?;
            }
            EntryType::String => {
                self.ends(id, steps)?;
                self.column(id, CHAR, 8, None, steps, WayEnd::Values)?;
            }
            EntryType::Regular { length, content } if way::is_typed(content) => {
                self.plan.schema.fields[id as usize].array_size = Some(*length as u64);
                self.inner(id, content, WayStep::Fixed, steps, path)?;
            }
            EntryType::Regular { content, .. }
            | EntryType::List(content)
            | EntryType::Option(content) => {
                self.ends(id, steps)?;
                self.inner(id, content, WayStep::Items, steps, path)?;
            }
            EntryType::Record(members) => {
                distinct(members.iter().map(|(name, _)| &**name))
                    .map_err(|error| error.within(path))?;
                let is_tuple = way::is_tuple(members);
                for (at, (name, member)) in members.iter().enumerate() {
                    steps.push(WayStep::Member(at));
                    let path = format!("{path}.{name}");
                    let name = if is_tuple { &format!("_{name}") } else { name };
                    self.field(Some(id), name, "", member, steps, &path)?;
                    steps.pop();
                }
            }
            EntryType::Union(types) => self.alternatives(id, types, steps, path)?,
        }
        Ok(())
    }

    /// The fields of a union, in the record that is made of it before it is stored.
    fn alternatives(
        &mut self,
        parent: u32,
        types: &[EntryType],
        steps: &mut Vec<WayStep>,
        path: &str,
    ) -> Result<()> {
        if types.len() > ALTERNATIVES_MAX {
            let message =
                format!("a union of {} types: {ALTERNATIVES_MAX} at the most", types.len());
            return Err(Error::unsupported(message).within(path));
        }
        self.column(parent, SWITCH, 96, None, steps, WayEnd::Switches)?;
        for (at, entry) in types.iter().enumerate() {
            steps.extend([WayStep::Member(at + 1), WayStep::Items]);
            self.field(Some(parent), &format!("_{at}"), "", entry, steps, path)?;
            steps.truncate(steps.len() - 2);
        }
        Ok(())
    }

    /// The field of the items of another one.
    fn inner(
        &mut self,
        parent: u32,
        content: &EntryType,
        step: WayStep,
        steps: &mut Vec<WayStep>,
        path: &str,
    ) -> Result<()> {
        steps.push(step);
        self.field(Some(parent), "_0", "", content, steps, path)?;
        steps.pop();
        Ok(())
    }

    fn add(&mut self, parent: Option<u32>, name: &str, typename: String, role: Role) -> u32 {
        let fields = &mut self.plan.schema.fields;
        let id = fields.len() as u32;
        if let Some(parent) = parent {
            fields[parent as usize].children.push(id);
        }
        fields.push(Field {
            name: name.to_owned(),
            typename,
            type_alias: String::new(),
            description: String::new(),
            field_version: 0,
            type_version: 0,
            parent,
            role,
            array_size: None,
            source: None,
            checksum: None,
            children: Vec::new(),
            columns: Vec::new(),
        });
        id
    }

    fn is_split(&self) -> bool {
        self.options.compression.level > 0
    }

    fn ends(&mut self, field: u32, steps: &[WayStep]) -> Result<()> {
        let kind = INDEX[usize::from(self.is_split())];
        self.column(field, kind, 64, None, steps, WayEnd::Ends)
    }

    fn column(
        &mut self,
        field: u32,
        kind: u16,
        bits: u16,
        range: Option<(f64, f64)>,
        steps: &[WayStep],
        end: WayEnd,
    ) -> Result<()> {
        let Plan { schema, columns } = &mut self.plan;
        let column = Column { kind, bits, field, representation: 0, deferred: false, range };
        let encoding =
            Encoding::of(&column).map_err(|error| Error::unsupported(error.to_string()))?;
        let way = Way { steps: steps.to_vec(), end };
        columns.push(StoredColumn { top: self.top, way, encoding, bits });
        schema.fields[field as usize].columns.push(schema.columns.len() as u32);
        schema.columns.push(column);
        Ok(())
    }

    /// The type of a number's column, its bits, and the range of quantised reals.
    #[allow(clippy::type_complexity)]
    fn number(
        &mut self,
        field: u32,
        number: Number,
        path: &str,
    ) -> Result<(u16, u16, Option<(f64, f64)>)> {
        let chosen = self.options.reals.iter().find(|(of, _)| of == path);
        let is_real = matches!(number, Number::F32 | Number::F64);
        let Some((_, storage)) = chosen.filter(|_| is_real) else {
            let bits = if number == Number::Bool { 1 } else { 8 * number.size() as u16 };
            return Ok((kind(number, self.is_split()), bits, None));
        };
        self.used.insert(path.to_owned());
        Ok(match *storage {
            RealStorage::Single => {
                if number == Number::F64 {
                    let field = &mut self.plan.schema.fields[field as usize];
                    field.type_alias = "Double32_t".into();
                }
                (kind(Number::F32, self.is_split()), 32, None)
            }
            // ROOT does not know the split form.
            RealStorage::Half => (0x0b, 16, None),
            RealStorage::Truncated { bits } => (0x1c, within_bits(bits, path)?, None),
            RealStorage::Quantised { bits, min, max } => {
                if min.is_nan() || max.is_nan() || min >= max {
                    let message = format!("\"{path}\" in the range {min} to {max}");
                    return Err(Error::unsupported(message));
                }
                (0x1d, within_bits(bits, path)?, Some((min, max)))
            }
        })
    }

    /// Fields that show how many items the lists of columns have.
    fn counters(&mut self, columns: &[TableColumn]) {
        let Some(pattern) = &self.options.counter_name else { return };
        let mut names: BTreeSet<&str> = columns.iter().map(|column| &*column.name).collect();
        let tops: Vec<u32> = self.plan.schema.top().collect();
        let lists = columns.iter().zip(tops);
        let mut counters = Vec::new();
        for (column, source) in lists {
            let name = pattern.replace("{name}", &column.name);
            if matches!(column.entry, EntryType::List(_)) && !names.contains(&*name) {
                counters.push((name, source));
            }
        }
        names.clear();
        for (name, source) in counters {
            let typename = "ROOT::RNTupleCardinality<std::uint32_t>".to_owned();
            let id = self.add(None, &name, typename, Role::Leaf);
            let fields = &mut self.plan.schema.fields;
            let index = fields[source as usize].columns.clone();
            let counter = &mut fields[id as usize];
            (counter.source, counter.columns) = (Some(source), index);
        }
    }
}

fn within_bits(bits: u32, path: &str) -> Result<u16> {
    let refused = || Error::unsupported(format!("\"{path}\" in {bits} bits"));
    u16::try_from(bits).map_err(|_| refused())
}

/// The type of a number's column.
fn kind(number: Number, is_split: bool) -> u16 {
    match (number, is_split) {
        (Number::Bool, _) => 0x00,
        (Number::I8, _) => 0x03,
        (Number::U8, _) => 0x04,
        (Number::I16, false) => 0x05,
        (Number::U16, false) => 0x06,
        (Number::I32, false) => 0x07,
        (Number::U32, false) => 0x08,
        (Number::I64, false) => 0x09,
        (Number::U64, false) => 0x0a,
        (Number::F32, false) => 0x0c,
        (Number::F64, false) => 0x0d,
        (Number::I16, true) => 0x11,
        (Number::U16, true) => 0x12,
        (Number::I32, true) => 0x13,
        (Number::U32, true) => 0x14,
        (Number::I64, true) => 0x15,
        (Number::U64, true) => 0x16,
        (Number::F32, true) => 0x18,
        (Number::F64, true) => 0x19,
    }
}

/// As ROOT spells the type; nothing for records other than tuples, and for types that contain such
/// records: they have none.
fn typename(entry: &EntryType) -> Result<String> {
    if !way::is_typed(entry) {
        return Ok(String::new());
    }
    let all = |types: &mut dyn Iterator<Item = &EntryType>| {
        let names = types.map(typename).collect::<Result<Vec<_>>>();
        names.map(|names| names.join(","))
    };
    Ok(match entry {
        EntryType::Number(number) => match number {
            Number::Bool | Number::F32 | Number::F64 => number.typename().to_owned(),
            _ => format!("std::{}", number.typename()),
        },
        EntryType::String => "std::string".into(),
        EntryType::Regular { length: 0, .. } => {
            return Err(Error::unsupported(format!("{entry}: arrays of no items")));
        }
        EntryType::Regular { length, content } => {
            format!("std::array<{},{length}>", typename(content)?)
        }
        EntryType::Option(content) => format!("std::optional<{}>", typename(content)?),
        EntryType::List(content) => format!("std::vector<{}>", typename(content)?),
        EntryType::Record(members) => {
            format!("std::tuple<{}>", all(&mut members.iter().map(|(_, member)| member))?)
        }
        EntryType::Union(types) => format!("std::variant<{}>", all(&mut types.iter())?),
    })
}

/// That names are those of fields, and no two are the same.
fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Result<()> {
    let mut all = BTreeSet::new();
    for name in names {
        let wrong = |c: char| c.is_control() || matches!(c, '.' | ' ' | '\\' | '/');
        if name.is_empty() || name.contains(wrong) {
            let message = format!("a field called \"{name}\": no spaces, dots or slashes, please");
            return Err(Error::unsupported(message));
        }
        if !all.insert(name) {
            return Err(Error::unsupported(format!("two fields called \"{name}\"")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, entry: EntryType) -> TableColumn {
        TableColumn { name: name.into(), title: String::new(), entry }
    }

    fn list(entry: EntryType) -> EntryType {
        EntryType::List(Box::new(entry))
    }

    #[test]
    fn types_as_root_spells_them() {
        let number = EntryType::Number(Number::I32);
        let array = EntryType::Regular { length: 3, content: Box::new(number.clone()) };
        let option = EntryType::Option(Box::new(list(array)));
        let spelled = typename(&list(option)).unwrap();
        assert_eq!(spelled, "std::vector<std::optional<std::vector<std::array<std::int32_t,3>>>>");
        let record = EntryType::Record(vec![("x".into(), number)]);
        assert_eq!(typename(&list(list(record.clone()))).unwrap(), "");
        assert_eq!(typename(&EntryType::Option(Box::new(record.clone()))).unwrap(), "");
        let tuple = EntryType::Record(vec![
            ("0".into(), list(EntryType::String)),
            ("1".into(), EntryType::Number(Number::F64)),
        ]);
        let union = EntryType::Union(vec![EntryType::Number(Number::Bool), tuple]);
        let spelled = typename(&list(union.clone())).unwrap();
        assert_eq!(
            spelled,
            "std::vector<std::variant<bool,std::tuple<std::vector<std::string>,double>>>"
        );
        assert_eq!(typename(&EntryType::Union(vec![union, record])).unwrap(), "");
    }

    #[test]
    fn names_that_root_does_not_have() {
        let number = || EntryType::Number(Number::F32);
        for names in [["a", "a"], ["a", ""], ["a", "b c"], ["a.b", "c"], ["a", "b\n"]] {
            let columns = names.map(|name| column(name, number()));
            assert!(Plan::new(&columns, &RNTupleOptions::default()).is_err(), "{names:?}");
        }
    }

    #[test]
    fn descriptions_of_fields_in_others() {
        let record = EntryType::Record(vec![("x".into(), EntryType::Number(Number::F32))]);
        let columns = [column("x", EntryType::String), column("r", list(record))];
        let said = [("r._0", "a record"), ("r._0.x", "a member"), ("r.x", "nothing")];
        let descriptions = said.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
        let options = RNTupleOptions { descriptions, ..RNTupleOptions::default() };
        let plan = Plan::new(&columns, &options).unwrap();
        let found: Vec<_> = plan.schema.fields.iter().map(|field| &*field.description).collect();
        assert_eq!(found, ["", "", "a record", "a member"]);
    }

    #[test]
    fn options_about_reals_that_are_not_there() {
        let columns = [column("x", list(EntryType::Number(Number::F32)))];
        let with = |path: &str, storage| {
            let reals = vec![(path.to_owned(), storage)];
            Plan::new(&columns, &RNTupleOptions { reals, ..RNTupleOptions::default() })
        };
        assert!(with("x", RealStorage::Half).is_ok());
        assert!(with("y", RealStorage::Half).is_err());
        for bits in [0, 9, 32, 1 << 20] {
            assert!(with("x", RealStorage::Truncated { bits }).is_err(), "{bits}");
        }
        assert!(with("x", RealStorage::Quantised { bits: 8, min: 1.0, max: 1.0 }).is_err());
    }
}
