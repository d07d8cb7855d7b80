//! Branches that a table's columns become.

use std::collections::{BTreeMap, BTreeSet};

use super::options::{Jagged, TextBranch, TreeOptions};
use crate::array::Number;
use crate::error::{Error, Result};
use crate::write::schema::{EntryType, TableColumn};

/// Lists in lists, and members in members: a type has no more.
const DEPTH_MAX: usize = 16;
/// Numbers of a fixed array (`fLen`), of which a basket holds one at least.
const FIXED_LEN_MAX: usize = 1 << 24;

/// A branch of a tree that is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlannedBranch {
    pub name: String,
    /// The user's title; empty where a leaf list says all.
    pub title: String,
    /// The column that it takes entries from, and the members of records on the way.
    pub column: usize,
    pub path: Vec<usize>,
    pub kind: PlannedKind,
}

/// Kinds of entries of a branch.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PlannedKind {
    /// Numbers of a fixed shape, which may count others.
    Flat { number: Number, shape: Vec<usize>, is_counter: bool },
    /// The lengths of the lists that the column has.
    Counts,
    /// Lists of numbers of a fixed shape, counted by an earlier branch.
    Counted { number: Number, shape: Vec<usize>, counter: usize },
    /// Texts as `TLeafC`.
    Chars,
    /// A `std::string`.
    StdString,
    /// A `std::vector` of that class.
    Vector { class: String },
}

impl PlannedKind {
    /// Whether entries can be of different lengths.
    pub fn has_offsets(&self) -> bool {
        !matches!(self, PlannedKind::Flat { .. } | PlannedKind::Counts)
    }
}

/// A branch of lists, and another of lists or of their lengths that it must agree with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SameCounts {
    pub branch: usize,
    pub as_branch: usize,
}

/// All branches of a tree, and which of them must agree.
#[derive(Debug, Default)]
pub(super) struct TreePlan {
    pub branches: Vec<PlannedBranch>,
    pub agreeing: Vec<SameCounts>,
    /// By the name of the counter.
    counters: BTreeMap<String, usize>,
    names: BTreeMap<String, usize>,
}

/// Where a branch comes from.
#[derive(Debug, Clone)]
struct Source<'a> {
    name: String,
    title: &'a str,
    column: usize,
    path: Vec<usize>,
    /// The name of the outermost lists that it is in.
    list: Option<String>,
    depth: usize,
}

impl TreePlan {
    /// # Errors
    /// `Unsupported` for types that a tree does not hold, names that are not there or there twice,
    /// and for no columns at all.
    pub fn new(columns: &[TableColumn], options: &TreeOptions) -> Result<Self> {
        let mut plan = TreePlan::default();
        let given = plan.add_given_counters(columns, options)?;
        for (at, column) in columns.iter().enumerate() {
            if given.contains(&at) {
                continue;
            }
            let source = Source {
                name: column.name.clone(),
                title: &column.title,
                column: at,
                path: Vec::new(),
                list: None,
                depth: 0,
            };
            let added = plan.add(&source, &column.entry, options);
            added.map_err(|error| error.within(&column.name))?;
        }
        match plan.branches.is_empty() {
            false => Ok(plan),
            true => Err(Error::unsupported("a tree without columns")),
        }
    }

    /// Columns that count others go first, as a reader needs the counts first.
    fn add_given_counters(
        &mut self,
        columns: &[TableColumn],
        options: &TreeOptions,
    ) -> Result<Vec<usize>> {
        let mut given = Vec::new();
        let counted = columns.iter().filter(|column| {
            options.jagged_of(&column.name) == Jagged::Counter && is_counted(&column.entry)
        });
        let counters: BTreeSet<_> =
            counted.map(|column| options.counter_of(&column.name)).collect();
        for (at, column) in columns.iter().enumerate() {
            let EntryType::Number(number @ (Number::I32 | Number::U32)) = &column.entry else {
                continue;
            };
            if !counters.contains(&column.name) {
                continue;
            }
            given.push(at);
            let kind = PlannedKind::Flat { number: *number, shape: Vec::new(), is_counter: true };
            let branch = self.push(PlannedBranch {
                name: column.name.clone(),
                title: column.title.clone(),
                column: at,
                path: Vec::new(),
                kind,
            })?;
            self.counters.insert(column.name.clone(), branch);
        }
        Ok(given)
    }

    fn add(&mut self, source: &Source<'_>, entry: &EntryType, options: &TreeOptions) -> Result<()> {
        if source.depth > DEPTH_MAX {
            return Err(Error::unsupported(format!("types more than {DEPTH_MAX} levels deep")));
        }
        let (shape, inner) = fixed(entry)?;
        match inner {
            EntryType::Number(number) => {
                let kind = PlannedKind::Flat { number: *number, shape, is_counter: false };
                self.add_branch(source, kind)
            }
            EntryType::Record(members) => {
                self.add_members(source, members, options, |member| member)
            }
            EntryType::String => {
                let kind = match options.text_of(&source.name) {
                    TextBranch::Leaf => PlannedKind::Chars,
                    TextBranch::StdString => PlannedKind::StdString,
                };
                self.add_branch(source, kind)
            }
            EntryType::List(content) => self.add_lists(source, content, options),
            EntryType::Option(_) => Err(Error::unsupported(
                "entries that may be missing: a tree has a value for each (fill them first)",
            )),
            EntryType::Union(_) => Err(several_types()),
            EntryType::Regular { .. } => self.add_vector(source, entry),
        }
    }

    /// A branch for each member, of the type that `wrap` makes of the member's own.
    fn add_members(
        &mut self,
        source: &Source<'_>,
        members: &[(String, EntryType)],
        options: &TreeOptions,
        wrap: impl Fn(EntryType) -> EntryType,
    ) -> Result<()> {
        for (at, (inner, member)) in members.iter().enumerate() {
            let mut source = source.clone();
            source.name = options.name_of_field(&source.name, inner);
            source.path.push(at);
            source.depth += 1;
            let added = self.add(&source, &wrap(member.clone()), options);
            added.map_err(|error| error.within(inner))?;
        }
        Ok(())
    }

    fn add_lists(
        &mut self,
        source: &Source<'_>,
        content: &EntryType,
        options: &TreeOptions,
    ) -> Result<()> {
        let mut lists = 1;
        let mut inmost = content;
        while let EntryType::List(content) = inmost {
            (lists, inmost) = (lists + 1, content);
        }
        if let EntryType::Record(members) = inmost {
            let mut source = source.clone();
            source.list.get_or_insert_with(|| source.name.clone());
            let list = |content, _| EntryType::List(Box::new(content));
            let wrap = |member| (0..lists).fold(member, list);
            return self.add_members(&source, members, options, wrap);
        }
        let (shape, inner) = fixed(content)?;
        match inner {
            EntryType::Number(number)
                if options.jagged_of(&source.name) == Jagged::Counter || !shape.is_empty() =>
            {
                let counter = self.counter(source, options)?;
                self.add_branch(source, PlannedKind::Counted { number: *number, shape, counter })?;
                let branch = self.branches.len() - 1;
                self.agreeing.push(SameCounts { branch, as_branch: counter });
                Ok(())
            }
            _ => self.add_vector(source, &EntryType::List(Box::new(content.clone()))),
        }
    }

    /// The branch that counts the lists of a source.
    fn counter(&mut self, source: &Source<'_>, options: &TreeOptions) -> Result<usize> {
        let name = options.counter_of(source.list.as_deref().unwrap_or(&source.name));
        if let Some(there) = self.counters.get(&name) {
            return Ok(*there);
        }
        let counter = self.push(PlannedBranch {
            name: name.clone(),
            title: String::new(),
            column: source.column,
            path: source.path.clone(),
            kind: PlannedKind::Counts,
        })?;
        self.counters.insert(name, counter);
        Ok(counter)
    }

    fn add_vector(&mut self, source: &Source<'_>, entry: &EntryType) -> Result<()> {
        let class = class_of(entry)?;
        self.add_branch(source, PlannedKind::Vector { class })
    }

    fn add_branch(&mut self, source: &Source<'_>, kind: PlannedKind) -> Result<()> {
        self.push(PlannedBranch {
            name: source.name.clone(),
            title: source.title.to_owned(),
            column: source.column,
            path: source.path.clone(),
            kind,
        })
        .map(drop)
    }

    fn push(&mut self, branch: PlannedBranch) -> Result<usize> {
        let at = self.branches.len();
        if branch.name.is_empty() {
            return Err(Error::unsupported("a column without a name"));
        }
        if branch.name.contains(['[', ']']) {
            let message = "a name with brackets, which readers take for dimensions";
            return Err(Error::unsupported(message));
        }
        if self.names.insert(branch.name.clone(), at).is_some() {
            return Err(Error::unsupported(format!(
                "two branches of the name \"{}\"",
                branch.name
            )));
        }
        self.branches.push(branch);
        Ok(at)
    }
}

/// A type without the fixed dimensions around it, and these.
fn fixed(mut entry: &EntryType) -> Result<(Vec<usize>, &EntryType)> {
    let whole = entry;
    let mut shape = Vec::new();
    while let EntryType::Regular { length, content } = entry {
        shape.push(*length);
        entry = content;
    }
    let size = shape.iter().try_fold(1usize, |size, length| size.checked_mul(*length));
    match (entry, size) {
        (_, Some(1..FIXED_LEN_MAX)) => {}
        (_, Some(0)) => return Err(Error::unsupported("arrays of the fixed length 0")),
        _ => return Err(Error::limit(format!("arrays of the fixed lengths {shape:?}"))),
    }
    Ok(match entry {
        EntryType::Number(_) => (shape, entry),
        _ => (Vec::new(), whole),
    })
}

/// Whether a column becomes branches that need a counter of the column's own name.
fn is_counted(entry: &EntryType) -> bool {
    match entry {
        EntryType::List(content) => match &**content {
            EntryType::Record(members) => members.iter().any(|(_, member)| is_array(member)),
            content => is_array(content),
        },
        _ => false,
    }
}

fn is_array(entry: &EntryType) -> bool {
    matches!(fixed(entry), Ok((_, EntryType::Number(_))))
}

/// The C++ class of lists, as ROOT spells it.
fn class_of(entry: &EntryType) -> Result<String> {
    Ok(match entry {
        EntryType::Number(number) => cpp(*number).to_owned(),
        EntryType::String => "string".to_owned(),
        EntryType::List(content) | EntryType::Regular { content, .. } => {
            let inner = class_of(content)?;
            let space = if inner.ends_with('>') { " " } else { "" };
            format!("vector<{inner}{space}>")
        }
        EntryType::Record(_) => {
            return Err(Error::unsupported("records within arrays of fixed length"));
        }
        EntryType::Union(_) => return Err(several_types()),
        EntryType::Option(_) => {
            return Err(Error::unsupported(
                "items that may be missing: a tree has a value for each (fill them first)",
            ));
        }
    })
}

fn several_types() -> Error {
    Error::unsupported("values of several types in one column: an RNTuple can hold them")
}

fn cpp(number: Number) -> &'static str {
    match number {
        Number::Bool => "bool",
        Number::I8 => "signed char",
        Number::I16 => "short",
        Number::I32 => "int",
        Number::I64 => "Long64_t",
        Number::U8 => "unsigned char",
        Number::U16 => "unsigned short",
        Number::U32 => "unsigned int",
        Number::U64 => "ULong64_t",
        Number::F32 => "float",
        Number::F64 => "double",
    }
}
