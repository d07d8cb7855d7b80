//! The type of an entry, and how entries lie in a basket.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fields::FieldNames;
use crate::array::{Array, ArrayParameter, Number, Offsets};
use crate::types::cpp;
use crate::types::scalar::Scalar;

/// How one entry lies in a basket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Always the same number of bytes: no offsets are needed.
    Fixed,
    /// As many numbers as fit between `header` bytes and the end of the entry: the column is a
    /// list of them. A `counted` header ends with how many they are.
    Items { header: usize, counted: bool },
    /// For each object of a collection an array, whose length is in another branch: the column is a
    /// list of lists.
    Arrays,
    /// Arrays of one object, whose length is in another branch.
    Array,
    /// Nothing: as many objects without members as another branch says. The column is a list of
    /// them.
    Counts,
    /// Values up to the end of the entry, as one member of the objects of a collection is
    /// written: the column is a list of them.
    Run,
    /// One value that knows its own length.
    Value,
    /// A structure of C of which some members are counted arrays or strings, without anything
    /// between them.
    Leaves,
}

/// The stored form of a value, and the array that it becomes.
#[derive(Debug, Clone, PartialEq)]
pub enum Layout {
    /// Numbers of a fixed shape; empty for just one.
    Scalars { scalar: Scalar, shape: Vec<usize> },
    /// A string.
    Text(Text),
    /// A count of four bytes, then the items.
    List(List),
    /// An object; a `header` of byte count and version stands in front of its members.
    Record { header: bool, record: Arc<Record> },
    /// A fixed number of items; arrays of collections and of `TString` have one frame for all.
    Regular { framed: bool, length: usize, item: Box<Layout> },
    /// As many items as another member of the same object says.
    Counted(Counted),
    /// As many items as the frame around them has bytes for.
    Filled(Box<Layout>),
    /// A value of the class that is named in front of it (`TLeafObject`), which must be this one.
    Named(Arc<str>, Box<Layout>),
    /// A pointer to an object of any class, which only the data name.
    Any,
    /// One of ROOT's containers, whose objects are of any class.
    Objects(Container),
    /// A pointer to an object of a class or of one that derives from it: nothing, the object, or
    /// a reference to one before.
    Pointer(Arc<Pointer>),
    /// Objects of a class that the file does not describe: there are none, or they have no
    /// members. The name is not known either where only their collection has one.
    Unknown(Option<Arc<str>>),
}

/// ROOT's containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// `TObjArray`: pointers.
    Array,
    /// `TOrdCollection` and `THashTable`: pointers, with no lower bound in front.
    Ordered,
    /// `TList` and its kin: pointers, each with an option.
    List,
    /// `TMap`: pointers to keys and to values.
    Map,
    /// `TClonesArray`: objects of one class, which is named once.
    Clones,
}

/// How objects are read whose class only the data name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Classes(pub BTreeMap<String, NamedClass>);

/// A class that data may name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedClass {
    pub layout: Layout,
    /// A column of such objects, without any.
    pub empty: Array,
}

/// How a string is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// `TString`: a length of one byte, or 255 and a length of four.
    Root,
    /// `char[]` of a leaf: the same, or no byte at all for no letters.
    Leaf,
    /// `std::string`: the same, as a member in a frame.
    Standard { framed: bool },
    /// `char*`: a length of four bytes.
    Pointed,
    /// `TObjString`: an object of which only the string is asked for, with its header where it is
    /// not the whole of a branch.
    Object { header: bool },
    /// Everything up to the end of the entry, whatever it is.
    Whole,
}

/// The header in front of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// Nothing, ever: `TArrayI` and its kin.
    None,
    /// Nothing in front of items of other collections; where these are written member by member,
    /// one frame in front of all.
    Run,
    /// Byte count and version, as for members and branches. The version may say that items are
    /// written member by member.
    Own,
}

/// A list of items.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    pub frame: Frame,
    pub parameter: Option<ArrayParameter>,
    pub item: Box<Layout>,
}

/// An array behind a pointer, with its length in another member.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    pub by: Counter,
    /// Whether the counter counts the rows of half a symmetric matrix, and not the items.
    pub triangle: bool,
    pub prefix: Prefix,
    pub item: Box<Layout>,
}

/// The number that gives the length of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// A field of the object that the array is a member of.
    Field(usize),
    /// Another branch.
    Branch,
}

/// The bytes in front of a counted array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefix {
    Nothing,
    /// A byte: whether there is an array.
    Flag,
    /// Byte count and version.
    Frame,
}

/// The classes that a pointer may lead to, by name, each with the members of the first one.
#[derive(Debug, Clone, PartialEq)]
pub struct Pointer {
    pub classes: Vec<(String, Arc<Record>)>,
}

/// Members of an object or of a leaf list.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The class; `None` for leaf lists and for the pairs of a map.
    pub class: Option<String>,
    pub parameter: Option<ArrayParameter>,
    /// Names of the fields, those of base classes included.
    pub names: FieldNames,
    /// Numbers, strings and lists in all, however deep: the cost of the type of the column.
    pub size: usize,
    /// Whether objects are nothing but their only field: `std::array`.
    pub is_wrapper: bool,
    /// How each version of the class is written. The first gives the fields their types.
    pub versions: Vec<Version>,
}

/// How one version of a class is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    pub number: i32,
    /// Stands for the number in classes that have none.
    pub checksum: u32,
    pub parts: Vec<Part>,
    /// For each part the numbers that begin with it, if it is one.
    runs: Vec<Option<NumberRun>>,
}

/// Single numbers one after the other, which are read together.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberRun {
    /// Bytes in the file.
    pub size: usize,
    /// For each the field that it becomes, and whether it is a `float` that becomes a `double`.
    pub fields: Vec<(usize, bool)>,
}

/// The stored form of a member or a base class. `at` is the field that it becomes, if any.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Member {
        at: Option<usize>,
        layout: Layout,
    },
    /// A number that is of another type in the version which gave the field its type.
    Converted {
        at: usize,
        layout: Layout,
    },
    /// A base class, whose fields begin at `at`. Collections that are written member by member
    /// do not say its version: it is the one that was there when the class was compiled.
    /// Where `is_object` each is written as an object, also in such collections.
    Base {
        at: Option<usize>,
        version: i32,
        record: Arc<Record>,
        is_object: bool,
    },
    /// `TObject`: version, unique identifier, bits, and for referenced ones a process's number.
    TObject {
        id: Option<usize>,
        bits: Option<usize>,
    },
    /// Bytes that no field is made of.
    Skip(usize),
    /// Pointers to objects that are left out of records.
    Pointers(usize),
    /// A collection that is left out, with a frame around it or those of all objects.
    Framed,
    /// Everything up to the end of the object, which its header says.
    Rest,
}

impl Part {
    /// The field that a member becomes.
    pub(crate) fn member(&self) -> Option<usize> {
        match self {
            Part::Member { at, .. } => *at,
            Part::Converted { at, .. } => Some(*at),
            _ => None,
        }
    }

    /// The field that it becomes where it is a single number, and how that is stored.
    fn number(&self) -> Option<(usize, Scalar)> {
        match self {
            Part::Member { at: Some(at), layout: Layout::Scalars { scalar, shape } }
                if shape.is_empty() && matches!(scalar, Scalar::Number(_) | Scalar::Widened) =>
            {
                Some((*at, *scalar))
            }
            _ => None,
        }
    }
}

impl Layout {
    pub(crate) fn number(number: Number) -> Layout {
        Layout::Scalars { scalar: Scalar::Number(number), shape: Vec::new() }
    }

    /// A collection without a frame of its own.
    pub(crate) fn list_of(item: Layout) -> Layout {
        Layout::List(List { frame: Frame::None, parameter: None, item: Box::new(item) })
    }

    /// Bytes in the file where they are always the same.
    pub(crate) fn fixed_size(&self) -> Option<usize> {
        match self {
            Layout::Scalars { scalar, shape } => {
                shape.iter().try_fold(scalar.size(), |bytes, len| bytes.checked_mul(*len))
            }
            Layout::Record { header: false, record } => record.fixed_size(),
            _ => None,
        }
    }

    /// The cost of the type of the column: see [`Record::size`].
    pub(crate) fn size(&self) -> usize {
        match self {
            Layout::Scalars { .. }
            | Layout::Text(_)
            | Layout::Unknown(_)
            | Layout::Any
            | Layout::Objects(_) => 1,
            Layout::List(List { item, .. })
            | Layout::Regular { item, .. }
            | Layout::Filled(item)
            | Layout::Counted(Counted { item, .. }) => item.size().saturating_add(1),
            Layout::Named(_, item) => item.size(),
            Layout::Record { record, .. } => record.size,
            Layout::Pointer(pointer) => {
                pointer.classes.first().map_or(1, |(_, record)| record.size.saturating_add(1))
            }
        }
    }

    /// Whether some of it is of a class that only the data name.
    pub(crate) fn names_classes(&self) -> bool {
        match self {
            Layout::Any | Layout::Objects(_) => true,
            Layout::Scalars { .. } | Layout::Text(_) | Layout::Unknown(_) => false,
            Layout::List(List { item, .. })
            | Layout::Regular { item, .. }
            | Layout::Filled(item)
            | Layout::Named(_, item)
            | Layout::Counted(Counted { item, .. }) => item.names_classes(),
            Layout::Record { record, .. } => record.names_classes(),
            Layout::Pointer(pointer) => {
                pointer.classes.iter().any(|(_, record)| record.names_classes())
            }
        }
    }

    /// An array without entries of this type.
    pub(crate) fn empty(&self) -> Array {
        match self {
            Layout::Scalars { scalar, shape } => {
                Array::Numbers { numbers: scalar.empty(), shape: shape.clone() }
            }
            Layout::List(List { parameter, item, .. }) => {
                with_parameter(list(item.empty()), *parameter)
            }
            Layout::Counted(Counted { item, .. }) | Layout::Filled(item) => list(item.empty()),
            Layout::Named(_, item) => item.empty(),
            Layout::Text(_) => Array::Strings { offsets: vec![0], bytes: Vec::new() },
            Layout::Record { record, .. } => record.empty(),
            Layout::Regular { length, item, .. } => {
                Array::Regular { length: *length, entries: 0, content: Box::new(item.empty()) }
            }
            Layout::Pointer(pointer) => {
                let content = pointer.classes.first().map(|(_, record)| record.empty());
                let content = Box::new(content.unwrap_or_else(|| memberless(None)));
                Array::Option { index: Vec::new(), content }
            }
            Layout::Unknown(class) => memberless(class.as_deref()),
            Layout::Any => any(),
            Layout::Objects(Container::Map) => {
                let fields = ["0", "1"].map(|name| (name.to_owned(), any())).to_vec();
                let pairs = Array::Record { class: None, entries: 0, fields };
                list(pairs.with_parameter(ArrayParameter::SortedMap))
            }
            Layout::Objects(_) => list(any()),
        }
    }
}

/// No objects yet, of whichever classes they will be.
fn any() -> Array {
    let tags = Vec::new();
    let index = Vec::new();
    let contents = Vec::new();
    Array::Union { tags, index, contents }.with_parameter(ArrayParameter::Objects)
}

pub(crate) fn memberless(class: Option<&str>) -> Array {
    let class = class.map(|name| cpp::spelled(name).into());
    Array::Record { class, entries: 0, fields: Vec::new() }
}

fn list(content: Array) -> Array {
    Array::List { offsets: Offsets::none(), content: Box::new(content) }
}

fn with_parameter(array: Array, parameter: Option<ArrayParameter>) -> Array {
    match parameter {
        Some(parameter) => array.with_parameter(parameter),
        None => array,
    }
}

impl Version {
    pub(crate) fn new(number: i32, checksum: u32, parts: Vec<Part>) -> Self {
        let mut runs = vec![None; parts.len()];
        let mut first = 0;
        for part in parts.chunk_by(|a, b| a.number().is_some() && b.number().is_some()) {
            let numbers: Vec<_> = part.iter().filter_map(Part::number).collect();
            if let (Some(run), false) = (runs.get_mut(first), numbers.is_empty()) {
                let size = numbers.iter().map(|(_, scalar)| scalar.size()).sum();
                let fields = numbers.iter().map(|(at, scalar)| (*at, *scalar == Scalar::Widened));
                *run = Some(NumberRun { size, fields: fields.collect() });
            }
            first += part.len();
        }
        Version { number, checksum, parts, runs }
    }

    /// The numbers that begin with a part.
    pub(crate) fn run_at(&self, part: usize) -> Option<&NumberRun> {
        self.runs.get(part)?.as_ref()
    }

    /// Whether nothing is written for objects that are streamed member by member.
    pub(crate) fn takes_no_bytes(&self) -> bool {
        self.parts.iter().all(|part| match part {
            Part::Base { record, is_object: false, .. } => {
                record.versions.iter().all(Version::takes_no_bytes)
            }
            _ => false,
        })
    }
}

impl Record {
    fn names_classes(&self) -> bool {
        let parts = self.versions.iter().flat_map(|version| &version.parts);
        parts.into_iter().any(|part| match part {
            Part::Member { layout, .. } => layout.names_classes(),
            Part::Base { record, .. } => record.names_classes(),
            _ => false,
        })
    }

    /// Objects of a class that is still to be named.
    pub(crate) fn of_parts(names: FieldNames, size: usize, versions: Vec<Version>) -> Record {
        Record { class: None, parameter: None, names, size, is_wrapper: false, versions }
    }

    /// Members one after the other, of a class that is written in one way only.
    pub(crate) fn of_members(class: Option<String>, members: Vec<(String, Layout)>) -> Record {
        let size =
            members.iter().fold(0usize, |sum, (_, member)| sum.saturating_add(member.size()));
        let (names, layouts): (Vec<_>, Vec<_>) = members.into_iter().unzip();
        let member = |(at, layout)| Part::Member { at: Some(at), layout };
        let parts = layouts.into_iter().enumerate().map(member).collect();
        let versions = vec![Version::new(0, 0, parts)];
        let names = FieldNames::of_members(names);
        Record { class, ..Record::of_parts(names, size, versions) }
    }

    /// How objects that say this version, or 0 and this checksum, are written.
    pub(crate) fn version(&self, number: i32, checksum: u32) -> Option<&Version> {
        match &self.versions[..] {
            // Pairs, and classes with streamers of their own.
            [only] if only.number == 0 && only.checksum == 0 => Some(only),
            [only] if number == 0 => Some(only),
            all if checksum != 0 => all.iter().find(|version| version.checksum == checksum),
            all => all.iter().find(|version| version.number == number),
        }
    }

    /// Whether behind a version of 0 is a checksum, which these four bytes would be: the class has
    /// no version. Nothing is there where 0 is its version (`ClassDef(..., 0)`).
    pub(crate) fn has_checksum(&self, next: u32) -> bool {
        let is_zero = |version: &Version| version.number == 0 && version.checksum != 0;
        let all = &self.versions;
        all.iter().any(|version| version.checksum == next) || !all.iter().any(is_zero)
    }

    /// Only leaf lists: an object's TObject and other versions make its length vary.
    fn fixed_size(&self) -> Option<usize> {
        let ([version], None) = (&self.versions[..], &self.class) else { return None };
        version.parts.iter().try_fold(0usize, |sum, part| match part {
            Part::Member { layout, .. } => sum.checked_add(layout.fixed_size()?),
            _ => None,
        })
    }

    pub(crate) fn empty(&self) -> Array {
        let class = self.class.as_ref().map(|name| cpp::spelled(name).into());
        let mut columns = Vec::with_capacity(self.names.len());
        self.empty_columns(&mut columns);
        if let (true, [_]) = (self.is_wrapper, &columns[..]) {
            return columns.remove(0);
        }
        let fields = self.names.iter().map(str::to_owned).zip(columns).collect();
        with_parameter(Array::Record { class, entries: 0, fields }, self.parameter)
    }

    fn empty_columns(&self, columns: &mut Vec<Array>) {
        for part in self.versions.first().map_or(&[][..], |version| &version.parts) {
            match part {
                Part::Member { at: Some(_), layout } => columns.push(layout.empty()),
                Part::Base { at: Some(_), record, .. } => record.empty_columns(columns),
                Part::TObject { id, bits } => {
                    let asked = id.iter().chain(bits);
                    columns.extend(asked.map(|_| Layout::number(Number::U32).empty()));
                }
                _ => {}
            }
        }
    }
}
