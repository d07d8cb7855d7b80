//! Classes whose objects are streamed whole: layouts from their streamer infos.
//!
//! Each class is compiled once, with every version that the file knows. The version that the
//! branch asks for gives the column its fields; members of other versions go where their names are.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::basic::{Basic, shaped};
use super::fields::FieldNames;
use super::layout::{
    Classes, Container, Counted, Counter, Frame, Layout, List, NamedClass, Part, Prefix, Record,
    Text, Version,
};
use crate::array::{ArrayParameter, Number};
use crate::error::{Error, ErrorKind, Result};
use crate::streamer::{StreamerElement, StreamerInfo, Streamers};
use crate::types::code;
use crate::types::cpp::{self, Type};
use crate::types::scalar::Scalar;
use crate::types::special::Special;

/// Classes within classes within classes: more than any sane one.
const DEPTH_MAX: usize = 32;
/// Numbers, strings and lists in one object; the largest classes of experiments have thousands.
pub(super) const SIZE_MAX: usize = 1 << 16;
/// Items of an array in an object.
const LENGTH_MAX: usize = 1 << 24;
/// Classes that lead back to those that they are in, over and over.
const REPEATED_MAX: usize = 256;
/// Beginning of the class names of ATLAS's links to objects.
const LINK: &str = "ElementLink<";
/// Bytes of version and identifiers in front of the list of a `TRefArray`.
const TOBJECT: Part = Part::TObject { id: None, bits: None };

/// The streamer info of that version, or else that checksum, where they are given; the newest
/// where they are not.
pub(super) fn find<'a>(
    name: &str,
    version: Option<i32>,
    checksum: Option<u32>,
    classes: &'a Streamers,
) -> Option<&'a StreamerInfo> {
    if version.is_none() && checksum.is_none() {
        return classes.info(name, None);
    }
    let by_checksum = checksum.and_then(|checksum| classes.info_by_checksum(name, checksum));
    by_checksum.or_else(|| version.and_then(|version| classes.info(name, Some(version))))
}

/// Compiles the classes of one branch.
pub(super) struct Compiler<'a> {
    pub(super) classes: &'a Streamers,
    /// By class, and by version where one is asked for.
    done: BTreeMap<(String, Option<i32>), Arc<Record>>,
    /// Classes that are being compiled, outermost first.
    pub(super) within: Vec<String>,
    /// The outermost of them that a member led back to: the class compiled meanwhile has its record
    /// here only.
    lowest: usize,
    /// Whether the member compiled last led back.
    pub(super) led_back: bool,
    /// Classes that were compiled more than once, since they lead back.
    repeated: usize,
    /// Whether pointers in objects are followed.
    pub(super) follows: bool,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(classes: &'a Streamers) -> Self {
        Compiler {
            classes,
            done: BTreeMap::new(),
            within: Vec::new(),
            lowest: usize::MAX,
            led_back: false,
            repeated: 0,
            follows: true,
        }
    }

    /// Whether objects of a class are written member after member.
    pub(super) fn has_members(&self, class: &str) -> bool {
        !is_special(class) && !self.is_collection(class)
    }

    /// Whether a class is a collection of its own making, as ATLAS's `DataVector` is: its streamer
    /// info says that it is one, but not the type of its items.
    fn is_collection(&self, class: &str) -> bool {
        let of = |info: &'a StreamerInfo| match &info.elements[..] {
            [this] => this.class == "TStreamerSTL" && this.name == "This",
            _ => false,
        };
        self.classes.info(class, None).is_some_and(of)
    }

    /// An object of a class, with its header where the class has one.
    ///
    /// # Errors
    /// `Unsupported` where there is no streamer info or a member cannot be read.
    pub(super) fn object(&mut self, class: &str) -> Result<Layout> {
        if let Some(special) = special(class)? {
            return Ok(special);
        }
        Ok(Layout::Record { header: true, record: self.record(class, None, None)? })
    }

    /// An item of a collection. Of a class that the file does not describe there may be none.
    fn item(&mut self, kind: &Type) -> Result<Layout> {
        match kind {
            Type::Class(name) if !self.describes(name) => {
                Ok(Layout::Unknown(Some(name.as_str().into())))
            }
            kind => self.value(kind, false),
        }
    }

    /// The type of a collection that is a member, whose element knows the type of its items: an
    /// enumeration has a name like a class, and no streamer info.
    pub(super) fn kind(&self, type_name: &str, element: &StreamerElement) -> Result<Type> {
        Ok(match cpp::parse(type_name) {
            Type::Sequence { spelled, parameter, item } => {
                let number = match &*item {
                    Type::Class(name) if !self.describes(name) => {
                        Basic::of(element.item_code, "", "")?.map(|basic| basic.scalar)
                    }
                    _ => None,
                };
                let item = match number {
                    // Whatever it has in memory.
                    Some(Scalar::Number(_)) => Box::new(Type::Number(Number::I32)),
                    _ => item,
                };
                Type::Sequence { spelled, parameter, item }
            }
            kind => kind,
        })
    }

    /// The key or the value of a map, or a member of a pair, `framed` where collections are.
    fn in_pair(&mut self, kind: &Type, framed: bool) -> Result<Layout> {
        match kind {
            Type::Class(name) => match cpp::array(name) {
                Some((item, length)) => self.array(&item, length, framed),
                None if framed => self.value(kind, true),
                None => self.item(kind),
            },
            kind if framed => self.value(kind, true),
            kind => self.item(kind),
        }
    }

    /// A `std::array` that is a member: written as an array of C is.
    fn array(&mut self, item: &Type, length: usize, framed: bool) -> Result<Layout> {
        if length > LENGTH_MAX {
            return Err(Error::limit(format!("array of {length} items in an object")));
        }
        let item = match item {
            Type::Class(name) => match cpp::array(name) {
                Some((inner, length)) => self.array(&inner, length, false)?,
                None => self.item(item)?,
            },
            item => self.value(item, false)?,
        };
        Ok(match item {
            Layout::Scalars { scalar, shape } => {
                Layout::Scalars { scalar, shape: [&[length], &shape[..]].concat() }
            }
            item => {
                let is_framed = framed && matches!(item, Layout::List(_) | Layout::Text(_));
                nested(&[length], is_framed, item)
            }
        })
    }

    /// The key or value of a map where only its pair says how it is written: an enumeration as a
    /// number, and a `std::array` as an object with a header.
    fn said_by_pair(&mut self, pair: &str, element: &str, kind: &Type) -> Result<Option<Layout>> {
        let Type::Class(name) = kind else { return Ok(None) };
        let Some(info) = self.classes.info(pair, None) else { return Ok(None) };
        let member = info.elements.iter().find(|member| member.name == element);
        let code = member.map_or(0, |member| member.type_code);
        if self.describes(name) {
            let is_object = code == code::ANY && cpp::is_array(name);
            return is_object.then(|| self.object(name)).transpose();
        }
        let basic = Basic::of(code, "", "")?.filter(|basic| !basic.pointer);
        Ok(basic.map(|basic| shaped(basic.scalar, &[])))
    }

    pub(super) fn describes(&self, class: &str) -> bool {
        is_special(class)
            || self.classes.info(class, None).is_some()
            || cpp::pair(class).is_some()
            || class.starts_with(LINK)
    }

    /// A value of a type, `framed` where it is a member or a whole branch.
    ///
    /// # Errors
    /// As [`Compiler::object`].
    pub(super) fn value(&mut self, kind: &Type, framed: bool) -> Result<Layout> {
        let frame = if framed { Frame::Own } else { Frame::Run };
        Ok(match kind {
            Type::Number(number) => Layout::number(*number),
            Type::Double32 => Layout::Scalars { scalar: Scalar::Widened, shape: Vec::new() },
            Type::Text("TString") => Layout::Text(Text::Root),
            Type::Text(_) => Layout::Text(Text::Standard { framed }),
            Type::Sequence { parameter, item, .. } => {
                let item = Box::new(self.item(item)?);
                Layout::List(List { frame, parameter: *parameter, item })
            }
            Type::Map { pair, key, value, .. } => {
                let members = [("0", "first", key), ("1", "second", value)];
                let members = members.map(|(name, element, kind)| {
                    let said = self.said_by_pair(pair, element, kind)?;
                    Ok((name.into(), said.map_or_else(|| self.in_pair(kind, false), Ok)?))
                });
                let members = members.into_iter().collect::<Result<Vec<_>>>()?;
                let mut pair = Record::of_members(None, members);
                pair.parameter = Some(ArrayParameter::SortedMap);
                let item = Box::new(Layout::Record { header: false, record: Arc::new(pair) });
                Layout::List(List { frame, parameter: None, item })
            }
            Type::Class(name) if self.is_collection(name) => {
                let item = match cpp::first_argument(name) {
                    Some(item) => self.item(&item)?,
                    None => Layout::Unknown(None),
                };
                Layout::List(List { frame, parameter: None, item: Box::new(item) })
            }
            Type::Class(name) => self.object(name)?,
            Type::Pointer(target) => match &**target {
                Type::Class(name) => self.pointer(name)?,
                Type::Text(name) => self.pointer(name)?,
                _ => return Err(unsupported(&cpp::spelled(""), code::ANY_POINTER)),
            },
            Type::Other(name) => return Err(Error::unsupported(format!("type {name}"))),
        })
    }

    /// The members of a class, those of one version first.
    ///
    /// # Errors
    /// As [`Compiler::object`].
    pub(super) fn record(
        &mut self,
        class: &str,
        version: Option<i32>,
        checksum: Option<u32>,
    ) -> Result<Arc<Record>> {
        let first = find(class, version, checksum, self.classes);
        let key = (class.to_owned(), first.map(|info| info.version));
        if let Some(record) = self.done.get(&key) {
            return Ok(record.clone());
        }
        if self.within.is_empty() {
            self.repeated = 0;
        }
        let made = self.compiled(class, first);
        let (record, is_everywhere) = match made {
            Err(error) if is_limit(&error) && self.follows && self.within.is_empty() => {
                // Too large with the objects that its pointers lead to.
                self.follows = false;
                self.done.clear();
                let made = self.compiled(class, first);
                self.follows = true;
                self.done.clear();
                (made?.0, false)
            }
            made => made?,
        };
        let record = Arc::new(record);
        if is_everywhere {
            self.done.insert(key, record.clone());
        }
        Ok(record)
    }

    /// Compiles a class, and returns whether it would be the same within any other.
    fn compiled(&mut self, class: &str, info: Option<&StreamerInfo>) -> Result<(Record, bool)> {
        if self.repeated > REPEATED_MAX {
            return Err(Error::limit(format!("class {class} leads back to itself too often")));
        }
        self.enter(class)?;
        let outer = std::mem::replace(&mut self.lowest, usize::MAX);
        let record = match (info, cpp::pair(class)) {
            (Some(info), _) => self.of_info(info),
            (None, Some((first, second))) => self.of_pair(class, &first, &second),
            (None, None) if class.starts_with(LINK) => self.of_link(class),
            (None, None) => {
                Err(Error::unsupported(format!("class {class}, which has no streamer info")))
            }
        };
        self.within.pop();
        let is_everywhere = self.lowest >= self.within.len();
        self.lowest = if is_everywhere { outer } else { outer.min(self.lowest) };
        self.repeated += usize::from(!is_everywhere);
        Ok((record?, is_everywhere))
    }

    /// Begins a class, which is to be left by popping it.
    pub(super) fn enter(&mut self, class: &str) -> Result<()> {
        if self.within.len() > DEPTH_MAX {
            return Err(Error::limit(format!("class {class} is nested too deeply")));
        }
        if let Some(at) = self.within.iter().position(|outer| outer == class) {
            self.lowest = self.lowest.min(at);
            self.led_back = true;
            return Err(Error::unsupported(format!("class {class}, which contains itself")));
        }
        self.within.push(class.to_owned());
        Ok(())
    }

    /// A pair that the file does not describe.
    fn of_pair(&mut self, class: &str, first: &Type, second: &Type) -> Result<Record> {
        let first = self.in_pair(first, true)?;
        let second = self.in_pair(second, true)?;
        let members = vec![("first".into(), first), ("second".into(), second)];
        Ok(Record::of_members(Some(class.to_owned()), members))
    }

    /// ATLAS's links, which all have the members of their base class.
    fn of_link(&mut self, class: &str) -> Result<Record> {
        let base = self.record("ElementLinkBase", None, None)?;
        let names = base.names.clone();
        let size = base.size;
        let parts = vec![Part::Base { at: Some(0), version: 0, record: base, is_object: false }];
        let versions = vec![Version::new(0, 0, parts)];
        Ok(Record { class: Some(class.to_owned()), ..Record::of_parts(names, size, versions) })
    }

    fn of_info(&mut self, info: &StreamerInfo) -> Result<Record> {
        let mut fields = Fields::default();
        let parts = self.parts(info, &mut fields)?;
        fields.names.tell_apart();
        let versions = vec![Version::new(info.version, info.checksum, parts)];
        let mut record = Record::of_parts(fields.names, fields.size, versions);
        record.class = Some(info.class.clone());
        record.is_wrapper = cpp::is_array(&info.class) && record.has_one_array();
        let classes = self.classes;
        for other in classes.versions(&info.class) {
            let same = other.version == info.version && other.checksum == info.checksum;
            // A version that cannot be read is missed only where there is an object of it.
            if let (false, Ok(version)) = (same, self.adapted(other, &record)) {
                record.versions.push(version);
            }
        }
        Ok(record)
    }

    /// A version whose members go to the fields of the same names in `to`.
    fn adapted(&mut self, info: &StreamerInfo, to: &Record) -> Result<Version> {
        let mut fields = Fields { wanted: Some(to), ..Fields::default() };
        let parts = self.parts(info, &mut fields)?;
        Ok(Version::new(info.version, info.checksum, parts))
    }

    fn parts(&mut self, info: &StreamerInfo, fields: &mut Fields<'_>) -> Result<Vec<Part>> {
        let is_base = |element: &&StreamerElement| element.class == "TStreamerBase";
        let bases = info.elements.iter().filter(is_base).map(|element| element.name.clone());
        fields.bases = bases.collect();
        let mut parts = Vec::with_capacity(info.elements.len());
        for element in &info.elements {
            let part = self.part(element, fields);
            parts.extend(part.map_err(|e| e.within(&format!("{}::{}", info.class, element.name)))?);
            if fields.size > SIZE_MAX {
                return Err(Error::limit(format!("class {} of too many members", info.class)));
            }
        }
        Ok(parts)
    }

    /// The stored part of a member; `None` for one that lives in memory only.
    pub(super) fn part(
        &mut self,
        element: &StreamerElement,
        fields: &mut Fields<'_>,
    ) -> Result<Option<Part>> {
        let base = element.class == "TStreamerBase";
        Ok(match element.type_code {
            code::ARTIFICIAL.. | code::NOTHING => None,
            code::TOBJECT => Some(TOBJECT),
            _ if base && element.name == "TObject" => Some(TOBJECT),
            _ if base && Special::of(&element.name) == Some(Special::Nothing) => None,
            _ if base => Some(self.base(element, fields)?),
            code => match (code, code.saturating_sub(code::ARRAY)) {
                // An array's length says that it is one, not its code.
                (code::OBJECT_POINTER | code::ANY_POINTER | code::ANY_POINTER_NO_VIRTUAL, _)
                | (_, code::OBJECT_POINTER | code::ANY_POINTER | code::ANY_POINTER_NO_VIRTUAL) => {
                    Some(self.pointers(element, fields)?)
                }
                _ => {
                    self.led_back = false;
                    match self.member(element, fields) {
                        Ok(layout) => Some(fields.part(&element.name, layout)?),
                        // A member with a frame can be left out.
                        Err(_) if self.led_back && is_framed(element) => {
                            Some(fields.leave_out(&element.name, Part::Framed)?)
                        }
                        Err(error) => return Err(error),
                    }
                }
            },
        })
    }

    fn base(&mut self, element: &StreamerElement, fields: &mut Fields<'_>) -> Result<Part> {
        if let Some(layout) = special(&element.name)? {
            return fields.part(&element.name, layout);
        }
        // Classes without a version say -1.
        let version = Some(element.base_version).filter(|version| *version >= 0);
        let record = self.record(&element.name, version, None)?;
        let (at, record) = fields.add_base(record);
        let is_object = element.type_code == code::TNAMED;
        Ok(Part::Base { at, version: element.base_version, record, is_object })
    }

    fn member(&mut self, element: &StreamerElement, fields: &Fields<'_>) -> Result<Layout> {
        if let Some(basic) = Basic::of(element.type_code, &element.type_name, &element.title)? {
            let item = shaped(basic.scalar, &[]);
            return match element.array_len as usize {
                0 if basic.pointer => fields.counted(element, Prefix::Flag, item),
                0 => Ok(item),
                _ if basic.pointer => {
                    regular(element, false, fields.counted(element, Prefix::Flag, item)?)
                }
                _ => Ok(shaped(basic.scalar, &dimensions(element))),
            };
        }
        let class = element.type_name.trim_end_matches('*').trim_end();
        if matches!(element.class.as_str(), "TStreamerSTL" | "TStreamerSTLstring") {
            return self.collection(element, class);
        }
        match element.type_code {
            code::OBJECT | code::ANY | code::OBJECT_HELD | code::ANY_HELD => self.object(class),
            code::TNAMED => self.object("TNamed"),
            code::STRING => Ok(Layout::Text(Text::Root)),
            code::CHAR_STAR => Ok(Layout::Text(Text::Pointed)),
            code::STREAM_LOOP if element.array_len == 0 => {
                let item = match element.type_name.ends_with("**") {
                    true => self.pointer(class)?,
                    false => self.object(class)?,
                };
                fields.counted(element, Prefix::Frame, item)
            }
            number => match number.saturating_sub(code::ARRAY) {
                code::OBJECT | code::ANY | code::OBJECT_HELD | code::ANY_HELD => {
                    // Collections, too: `std::array` has them as objects.
                    let kind = self.kind(class, element)?;
                    regular(element, false, self.value(&kind, false)?)
                }
                code::STRING => regular(element, true, Layout::Text(Text::Root)),
                code::TOBJECT | code::TNAMED => regular(element, true, self.object(class)?),
                _ => Err(unsupported(&element.type_name, element.type_code)),
            },
        }
    }

    fn collection(&mut self, element: &StreamerElement, type_name: &str) -> Result<Layout> {
        let kind = self.kind(type_name, element)?;
        match element.array_len {
            0 => self.value(&kind, true),
            _ => regular(element, true, self.value(&kind, false)?),
        }
    }
}

fn is_limit(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Limit(_))
}

/// Collections, and arrays of pointers that another member counts.
fn is_framed(element: &StreamerElement) -> bool {
    element.class == "TStreamerSTL"
        || (element.type_code == code::STREAM_LOOP && element.array_len == 0)
}

/// Classes that files need not describe, and ROOT's containers of objects of any class.
const NAMEABLE: [&str; 21] = [
    "TObject",
    "TObjString",
    "TString",
    "TRef",
    "TRefArray",
    "TDatime",
    "TArrayC",
    "TArrayS",
    "TArrayI",
    "TArrayL",
    "TArrayL64",
    "TArrayF",
    "TArrayD",
    "TObjArray",
    "TClonesArray",
    "TList",
    "THashList",
    "TSortedList",
    "TOrdCollection",
    "THashTable",
    "TMap",
];

/// Every class of objects that data may name, as far as it can be read.
pub(super) fn nameable(classes: &Streamers) -> Classes {
    let names = NAMEABLE.into_iter().chain(classes.heirs("TObject"));
    let mut compiler = Compiler::new(classes);
    let known = names.filter_map(|name| {
        let layout = compiler.object(name).ok()?;
        let empty = layout.empty();
        Some((name.to_owned(), NamedClass { layout, empty }))
    });
    Classes(known.collect())
}

/// Items of an array of fixed length.
pub(super) fn regular(element: &StreamerElement, framed: bool, item: Layout) -> Result<Layout> {
    let length = element.array_len as usize;
    if length > LENGTH_MAX {
        return Err(Error::limit(format!("array of {length} items in an object")));
    }
    Ok(nested(&dimensions(element), framed, item))
}

/// An array of so many dimensions, all of which have one frame.
pub(super) fn nested(dimensions: &[usize], framed: bool, item: Layout) -> Layout {
    let innermost_first = dimensions.iter().enumerate().rev();
    innermost_first.fold(item, |item, (depth, length)| Layout::Regular {
        framed: framed && depth == 0,
        length: *length,
        item: Box::new(item),
    })
}

/// The dimensions of an array of fixed length, the slowest first.
fn dimensions(element: &StreamerElement) -> Vec<usize> {
    let length = element.array_len as usize;
    let all: Vec<usize> = element.dimensions.iter().map(|length| *length as usize).collect();
    let product = all.iter().try_fold(1usize, |product, length| product.checked_mul(*length));
    if product == Some(length) { all } else { vec![length] }
}

/// Whether a class's streamer is written by hand in ROOT.
pub(super) fn is_special(class: &str) -> bool {
    class == "TObjString" || Special::of(class).is_some()
}

/// Classes whose streamers are written by hand in ROOT, as uproot gives them; `None` for all
/// others.
///
/// # Errors
/// `Unsupported` for those that are read as objects of their own only.
fn special(class: &str) -> Result<Option<Layout>> {
    if class == "TObjString" {
        return Ok(Some(Layout::Text(Text::Object { header: true })));
    }
    let Some(special) = Special::of(class) else { return Ok(None) };
    let record = |names: &[&str], size, parts| {
        let names = FieldNames::of_members(names.iter().copied());
        let record = Record::of_parts(names, size, vec![Version::new(0, 0, parts)]);
        Record { class: Some(class.to_owned()), ..record }
    };
    let bare = |record| Layout::Record { header: false, record: Arc::new(record) };
    Ok(Some(match special {
        Special::Text if class == "TString" => Layout::Text(Text::Root),
        Special::Text => Layout::Text(Text::Standard { framed: false }),
        Special::Object => {
            let parts = vec![Part::TObject { id: Some(0), bits: Some(1) }];
            bare(record(&["fUniqueID", "fBits"], 2, parts))
        }
        Special::Ref => {
            // The number of the process that the object was made in comes last.
            let parts = vec![Part::TObject { id: Some(0), bits: None }, Part::Skip(2)];
            bare(record(&["ref"], 1, parts))
        }
        Special::Datime => {
            let member = ("fDatime".to_owned(), Layout::number(Number::U32));
            bare(Record::of_members(Some(class.to_owned()), vec![member]))
        }
        Special::RefArray => {
            let by_size = Counted {
                by: Counter::Field(1),
                triangle: false,
                prefix: Prefix::Nothing,
                item: Box::new(Layout::number(Number::I32)),
            };
            let parts = vec![
                TOBJECT,
                Part::Member { at: Some(0), layout: Layout::Text(Text::Root) },
                Part::Member { at: Some(1), layout: Layout::number(Number::I32) },
                // Lower bound, and the number of the process.
                Part::Skip(6),
                Part::Member { at: Some(2), layout: Layout::Counted(by_size) },
            ];
            let mut record = record(&["fName", "fSize", "refs"], 4, parts);
            record.versions[0].number = 1;
            Layout::Record { header: true, record: Arc::new(record) }
        }
        Special::ObjArray => Layout::Objects(Container::Array),
        Special::List => Layout::Objects(Container::List),
        Special::Ordered => Layout::Objects(Container::Ordered),
        Special::Map => Layout::Objects(Container::Map),
        Special::ClonesArray => Layout::Objects(Container::Clones),
        Special::SymmetricMatrix(number) => symmetric_matrix(class, number),
        Special::Array(number) => Layout::list_of(Layout::number(number)),
        Special::Nothing => bare(record(&[], 0, Vec::new())),
        Special::NumberMap
        | Special::RooList
        | Special::TreeIndex
        | Special::Basket
        | Special::BranchClones => {
            return Err(Error::unsupported(format!("class {class} in a branch")));
        }
    }))
}

/// `TMatrixTSym`: its base class, and half of its numbers behind that.
fn symmetric_matrix(class: &str, number: Number) -> Layout {
    const BASE_VERSION: i32 = 5;
    let int = || Layout::number(Number::I32);
    let half = Counted {
        by: Counter::Field(0),
        triangle: true,
        prefix: Prefix::Nothing,
        item: Box::new(Layout::number(number)),
    };
    let members = vec![
        ("fNrows".into(), int()),
        ("fNcols".into(), int()),
        ("fRowLwb".into(), int()),
        ("fColLwb".into(), int()),
        // Not signed for uproot.
        ("fNelems".into(), Layout::number(Number::U32)),
        ("fNrowIndex".into(), int()),
        ("fTol".into(), Layout::number(number)),
    ];
    let mut base = Record::of_members(None, members);
    let parts = std::mem::take(&mut base.versions[0].parts);
    base.versions = vec![Version::new(BASE_VERSION, 0, [vec![TOBJECT], parts].concat())];
    let mut names = base.names.clone();
    names.push("fElements");
    let elements = Part::Member { at: Some(base.names.len()), layout: Layout::Counted(half) };
    let size = base.size + 1;
    let base =
        Part::Base { at: Some(0), version: BASE_VERSION, record: Arc::new(base), is_object: false };
    let versions = vec![Version::new(0, 0, vec![base, elements])];
    let record =
        Record { class: Some(class.to_owned()), ..Record::of_parts(names, size, versions) };
    Layout::Record { header: false, record: Arc::new(record) }
}

/// Where members go: into new fields, or into those of a record by their names.
#[derive(Default)]
pub(super) struct Fields<'a> {
    pub(super) names: FieldNames,
    pub(super) size: usize,
    /// The base classes of the version that is being read.
    pub(super) bases: Vec<String>,
    pub(super) wanted: Option<&'a Record>,
}

impl Fields<'_> {
    /// The stored part of a member of that name.
    pub(super) fn part(&mut self, name: &str, layout: Layout) -> Result<Part> {
        let Some(wanted) = self.wanted else {
            self.names.push(name);
            self.size = self.size.saturating_add(layout.size());
            return Ok(Part::Member { at: Some(self.names.len() - 1), layout });
        };
        let Some(at) = wanted.names.find(name, &self.bases) else {
            return Ok(Part::Member { at: None, layout });
        };
        match (wanted.field(at), &layout) {
            (Some(known), _) if known.empty() == layout.empty() => {
                Ok(Part::Member { at: Some(at), layout })
            }
            (Some(Layout::Scalars { shape: known, .. }), Layout::Scalars { shape, .. })
                if known == shape =>
            {
                Ok(Part::Converted { at, layout })
            }
            _ => Err(Error::unsupported(format!("member {name} of another type than elsewhere"))),
        }
    }

    /// Whether a record has a member of that name.
    pub(super) fn is_in(&self, record: &Record, name: &str) -> bool {
        record.names.find(name, &self.bases).is_some()
    }

    /// The stored part of a member that is no field.
    pub(super) fn leave_out(&self, name: &str, part: Part) -> Result<Part> {
        match self.wanted {
            // It would be said to be empty.
            Some(wanted) if wanted.names.find(name, &self.bases).is_some() => {
                Err(Error::unsupported(format!("member {name} of another type than elsewhere")))
            }
            _ => Ok(part),
        }
    }

    /// Where the fields of a base class begin, and how it is read into these.
    fn add_base(&mut self, base: Arc<Record>) -> (Option<usize>, Arc<Record>) {
        let Some(wanted) = self.wanted else {
            self.names.extend(base.class.as_deref().unwrap_or_default(), &base.names);
            self.size = self.size.saturating_add(base.size);
            return (Some(self.names.len() - base.names.len()), base);
        };
        match wanted.base(&base.class) {
            Some((at, known)) => (Some(at), known),
            None => (None, base),
        }
    }

    /// An array that another member of the object counts, which comes before it.
    fn counted(&self, element: &StreamerElement, prefix: Prefix, item: Layout) -> Result<Layout> {
        let names = self.wanted.map_or(&self.names, |wanted| &wanted.names);
        let by = names.find(&element.count_name, &[]).ok_or_else(|| {
            Error::unsupported(format!(
                "array that {} counts, which is no member",
                element.count_name
            ))
        })?;
        let by = Counter::Field(by);
        Ok(Layout::Counted(Counted { by, triangle: false, prefix, item: Box::new(item) }))
    }
}

impl Record {
    /// Whether its only field is an array that has items.
    fn has_one_array(&self) -> bool {
        match self.field(0) {
            Some(Layout::Scalars { shape, .. }) => !shape.is_empty() && !shape.contains(&0),
            Some(Layout::Regular { length, .. }) => *length > 0,
            _ => false,
        }
    }

    /// How a field is written in the version that gave it its type; `None` for those of `TObject`.
    fn field(&self, at: usize) -> Option<&Layout> {
        self.versions.first()?.parts.iter().find_map(|part| match part {
            Part::Member { at: Some(own), layout } if *own == at => Some(layout),
            Part::Base { at: Some(first), record, .. } => at
                .checked_sub(*first)
                .filter(|at| *at < record.names.len())
                .and_then(|at| record.field(at)),
            _ => None,
        })
    }

    /// A base class, and where its fields begin.
    fn base(&self, class: &Option<String>) -> Option<(usize, Arc<Record>)> {
        self.versions.first()?.parts.iter().find_map(|part| match part {
            Part::Base { at: Some(first), record, .. } if record.class == *class => {
                Some((*first, record.clone()))
            }
            Part::Base { at: Some(first), record, .. } => {
                record.base(class).map(|(within, record)| (first + within, record))
            }
            _ => None,
        })
    }
}

pub(super) fn unsupported(type_name: &str, type_code: i32) -> Error {
    let name = cpp::spelled(type_name);
    Error::unsupported(format!("member of type {name} (streamer type {type_code})"))
}
