//! TBranchElement: a whole object, or one member of objects that were split.

use std::sync::Arc;

use super::basic::{Basic, shaped};
use super::class::{self, Compiler};
use super::layout::{Counted, Counter, Entry, Frame, Layout, List, Prefix, Record, Text, Version};
use super::plain::brackets;
use super::{Interpretation, is_group, shape_of};
use crate::array::ArrayParameter;
use crate::error::{Error, Result};
use crate::streamer::{self, Streamers};
use crate::tree::model::{Branch, BranchId, BranchKind, Leaf, LeafKind, Tree};
use crate::types::{code, cpp, names};

/// Byte count and version in front of a collection, and the number of items.
const COLLECTION_HEADER: usize = 10;
/// The fields of a `TBranchElement`, under short names.
struct Fields<'a> {
    branch: &'a Branch,
    class_name: &'a str,
    class_version: i32,
    checksum: u32,
    id: i32,
    branch_type: i32,
    streamer_type: i32,
}

pub(super) fn interpret(
    tree: &Tree,
    branch: &Branch,
    classes: &Streamers,
) -> Result<Interpretation> {
    let BranchKind::Element {
        class_name,
        clones_name,
        checksum,
        class_version,
        id,
        branch_type,
        streamer_type,
        count2,
        ..
    } = &branch.kind
    else {
        return Err(Error::unsupported("branch that is no TBranchElement"));
    };
    if is_group(branch) {
        return Err(Error::unsupported(format!(
            "group of {} branches of class {class_name}, without a column of its own",
            branch.children.len()
        )));
    }
    let fields = Fields {
        branch,
        class_name: if class_name.is_empty() { clones_name } else { class_name },
        class_version: *class_version,
        checksum: *checksum,
        id: *id,
        branch_type: *branch_type,
        streamer_type: *streamer_type,
    };
    match fields.branch_type {
        // The counts of a TClonesArray at the top.
        3 if *streamer_type == -1 => Ok(Interpretation::of_counts()),
        31 | 41 => {
            let counter = count2.or_else(|| fields.counter(tree, classes));
            fields.member_of_collection(counter, classes)
        }
        -1..=2 => fields.single(tree, classes),
        4 => Ok(fields.memberless(clones_name)),
        other => Err(Error::unsupported(format!("{class_name} in a branch of type {other}"))),
    }
}

impl Fields<'_> {
    /// One value an entry: a member of an object that was split, or a whole object.
    fn single(&self, tree: &Tree, classes: &Streamers) -> Result<Interpretation> {
        if let Some((basic, shape)) = self.basic(classes)? {
            let scalar = basic.scalar;
            let inner = brackets(&shape);
            let layout = shaped(scalar, &shape);
            let dimensions = self.dimensions();
            if basic.pointer && !dimensions.is_empty() {
                return self.counted_arrays(&dimensions, layout, self.counter(tree, classes));
            }
            return Ok(if basic.pointer {
                let entry = Entry::Items { header: 1, counted: false };
                Interpretation::new(format!("{}[]", scalar.typename()), layout, entry)
            } else {
                Interpretation::new(format!("{}{inner}", scalar.typename()), layout, Entry::Fixed)
            });
        }
        let type_name = self.type_name(classes);
        if self.streamer_type == code::STRING {
            return Ok(self.value("TString", Layout::Text(Text::Root)));
        }
        if self.streamer_type == code::CHAR_STAR {
            return Ok(self.value("char*", Layout::Text(Text::Pointed)));
        }
        let mut compiler = Compiler::new(classes);
        if self.streamer_type == code::STREAM_LOOP {
            return self.counted_objects(&type_name, &mut compiler);
        }
        if self.is_one_text() {
            return Ok(self.value("TString", Layout::Text(Text::Standard { framed: true })));
        }
        let kind = self.kind(&type_name, classes, &compiler)?;
        if self.id < 0 {
            return self.whole(&kind, &mut compiler);
        }
        let dimensions = self.dimensions();
        let layout = compiler.value(&kind, dimensions.is_empty());
        let layout = layout.map_err(|e| unsupported_type(e, &type_name))?;
        // As uproot spells it, which says of arrays of objects only that they are some.
        let shape = if is_object(&layout) { brackets(&dimensions) } else { String::new() };
        let name = format!("{}{shape}", cpp::spelled(&type_name));
        Ok(self.value(&name, self.arrayed(layout, &dimensions)))
    }

    /// A collection of objects without members in the file: how many they are.
    fn memberless(&self, item: &str) -> Interpretation {
        let record = Arc::new(Record::of_members(Some(item.to_owned()), Vec::new()));
        let layout = Layout::list_of(Layout::Record { header: false, record });
        self.value(&cpp::spelled(self.class_name), layout)
    }

    /// A fixed array of pointers to numbers that another member counts, a flag in front of each.
    fn counted_arrays(
        &self,
        dimensions: &[usize],
        item: Layout,
        counter: Option<BranchId>,
    ) -> Result<Interpretation> {
        let Layout::Scalars { scalar, .. } = &item else { return Err(self.unsupported("")) };
        let name = format!("{}[]{}", scalar.typename(), brackets(dimensions));
        let counter = counter.ok_or_else(|| self.unsupported(&name))?;
        let by = Counter::Branch;
        let prefix = Prefix::Flag;
        let one = Layout::Counted(Counted { by, triangle: false, prefix, item: item.into() });
        let layout = class::nested(dimensions, false, one);
        let mut arrays = Interpretation::new(name, layout, Entry::Array);
        arrays.counter = Some(counter);
        Ok(arrays)
    }

    /// An array of objects (`T*`) or of pointers to them (`T**`) that another member counts.
    fn counted_objects(
        &self,
        type_name: &str,
        compiler: &mut Compiler<'_>,
    ) -> Result<Interpretation> {
        let item = self.counted_item(type_name, compiler)?;
        Ok(self.value(&cpp::spelled(type_name), Layout::Filled(Box::new(item))))
    }

    fn counted_item(&self, type_name: &str, compiler: &mut Compiler<'_>) -> Result<Layout> {
        let target = type_name.strip_suffix('*').unwrap_or(type_name).trim_end();
        let item = compiler.value(&cpp::parse(target), false);
        item.map_err(|e| unsupported_type(e, type_name))
    }

    /// The sibling of this branch that holds the counts of its arrays, by the member's name.
    fn counter(&self, tree: &Tree, classes: &Streamers) -> Option<BranchId> {
        let count = &self.element(classes)?.count_name;
        let beside = &tree.branches.get(self.branch.parent?.0 as usize)?.children;
        let named = |id: &&BranchId| {
            let branch = tree.branches.get(id.0 as usize);
            branch.and_then(|branch| branch.name.rsplit('.').next()) == Some(count)
        };
        beside.iter().find(named).copied()
    }

    /// An array for each object of a collection, which another branch counts.
    fn arrays(
        &self,
        counter: Option<BranchId>,
        prefix: Prefix,
        item: Layout,
        type_name: &str,
    ) -> Result<Interpretation> {
        let counter = counter.ok_or_else(|| self.unsupported(type_name))?;
        let by = Counter::Branch;
        let one = Layout::Counted(Counted { by, triangle: false, prefix, item: item.into() });
        // So many pointers to arrays of one length.
        let shape = self.dimensions();
        let name = format!("{}[]{}", cpp::spelled(type_name), brackets(&shape));
        let layout = class::nested(&shape, false, one);
        let mut arrays = Interpretation::new(name, layout, Entry::Arrays);
        arrays.counter = Some(counter);
        Ok(arrays)
    }

    /// An object or a collection that is a branch of its own.
    fn whole(&self, kind: &cpp::Type, compiler: &mut Compiler<'_>) -> Result<Interpretation> {
        let spelled = cpp::spelled(self.class_name);
        let layout = match kind {
            cpp::Type::Class(name) if compiler.has_members(name) => {
                // Member after member; only a class's own streamer writes a header.
                let header = self.branch_type != 0;
                let checksum = Some(self.checksum);
                let record = compiler.record(name, Some(self.class_version), checksum);
                record.map(|record| Layout::Record { header, record })
            }
            cpp::Type::Text(_) => compiler.value(kind, self.streamer_type == code::STL),
            cpp::Type::Class(name) if name == "TObjString" => {
                Ok(Layout::Text(Text::Object { header: self.branch_type != 0 }))
            }
            kind => compiler.value(kind, true),
        };
        Ok(self.value(&spelled, layout.map_err(|e| unsupported_type(e, self.class_name))?))
    }

    /// A column of one value an entry. Vectors of numbers are decoded in bulk.
    fn value(&self, spelled: &str, layout: Layout) -> Interpretation {
        match layout {
            Layout::List(List { frame: Frame::Own, parameter: None, item })
                if matches!(*item, Layout::Scalars { .. }) =>
            {
                let entry = Entry::Items { header: COLLECTION_HEADER, counted: true };
                Interpretation::new(spelled, *item, entry)
            }
            layout => Interpretation::new(spelled, layout, Entry::Value),
        }
    }

    /// A member of the items of a TClonesArray (31) or a collection (41): a list.
    fn member_of_collection(
        &self,
        counter: Option<BranchId>,
        classes: &Streamers,
    ) -> Result<Interpretation> {
        if let Some((basic, shape)) = self.basic(classes)? {
            if basic.pointer {
                let item = shaped(basic.scalar, &[]);
                return self.arrays(counter, Prefix::Flag, item, &self.type_name(classes));
            }
            let bare = Entry::Items { header: 0, counted: false };
            let name = format!("{}[]{}", basic.scalar.typename(), brackets(&shape));
            return Ok(Interpretation::new(name, shaped(basic.scalar, &shape), bare));
        }
        let type_name = self.type_name(classes);
        if self.streamer_type == code::STRING {
            return Ok(Interpretation::new("TString[]", Layout::Text(Text::Root), Entry::Run));
        }
        if self.is_one_text() {
            let framed = Layout::Text(Text::Standard { framed: true });
            return Ok(Interpretation::new("TString[]", framed, Entry::Run));
        }
        if self.streamer_type == code::CHAR_STAR {
            return Ok(Interpretation::new("char*[]", Layout::Text(Text::Pointed), Entry::Run));
        }
        let dimensions = self.dimensions();
        let mut compiler = Compiler::new(classes);
        if self.streamer_type == code::STREAM_LOOP {
            let item = self.counted_item(&type_name, &mut compiler)?;
            return self.arrays(counter, Prefix::Frame, item, &type_name);
        }
        let kind = self.kind(&type_name, classes, &compiler)?;
        let layout = compiler.value(&kind, dimensions.is_empty());
        let layout = layout.map_err(|e| unsupported_type(e, &type_name))?;
        if self.streamer_type == code::BASE && has_no_bytes(&layout) {
            let name = format!("{}[]", cpp::spelled(&type_name));
            let mut objects = Interpretation::new(name, layout, Entry::Counts);
            objects.counter = self.branch.parent;
            return Ok(objects);
        }
        let name = format!("{}[]{}", cpp::spelled(&type_name), brackets(&dimensions));
        let are_bits =
            matches!(&layout, Layout::List(list) if list.parameter == Some(ArrayParameter::Bitset));
        let mut run = Interpretation::new(name, self.arrayed(layout, &dimensions), Entry::Run);
        if are_bits {
            // Files of ROOT 6.08 have such branches without a byte: their number then decides.
            run.counter = self.branch.parent;
        }
        Ok(run)
    }

    /// The type of the stored values.
    fn kind(
        &self,
        type_name: &str,
        classes: &Streamers,
        compiler: &Compiler<'_>,
    ) -> Result<cpp::Type> {
        let kind = match self.element(classes) {
            Some(element) => compiler.kind(type_name, element)?,
            None => cpp::parse(type_name),
        };
        if type_name.is_empty() { Err(self.unsupported("")) } else { Ok(kind) }
    }

    /// Whether it is an array of one `TString`, which has a frame as arrays have.
    fn is_one_text(&self) -> bool {
        self.streamer_type == code::ARRAY + code::STRING && self.dimensions().is_empty()
    }

    /// Of an array of objects.
    fn dimensions(&self) -> Vec<usize> {
        match &self.branch.leaves[..] {
            [leaf] => match super::fixed_shape(&leaf.title) {
                shape if shape.is_empty() && leaf.len > 1 => {
                    shape_of(&[&self.branch.name], leaf.len).unwrap_or_default()
                }
                shape => shape,
            },
            _ => Vec::new(),
        }
    }

    /// An array of that many values of a layout.
    fn arrayed(&self, layout: Layout, dimensions: &[usize]) -> Layout {
        let of = self.streamer_type - code::ARRAY;
        let has_frame = !is_object(&layout) && matches!(layout, Layout::List(_) | Layout::Text(_));
        // `std::array` has its collections as objects, one after the other.
        let collection =
            (has_frame && of != code::ANY) || [code::TOBJECT, code::TNAMED].contains(&of);
        class::nested(dimensions, collection, layout)
    }

    /// The number type of a member, and its shape.
    fn basic(&self, classes: &Streamers) -> Result<Option<(Basic, Vec<usize>)>> {
        // Only of reduced numbers and of bytes the code does not say all.
        let basic = self.streamer_type % code::ARRAY;
        let reduced = self.streamer_type < 60 && [code::DOUBLE32, code::FLOAT16].contains(&basic);
        let element = match reduced || basic == code::UCHAR {
            true => self.element(classes),
            false => None,
        };
        if reduced && element.is_none() {
            return Err(Error::unsupported("reduced number without streamer info"));
        }
        let (name, title) =
            element.map_or(("", ""), |element| (&element.type_name, &element.title));
        let Some(basic) = Basic::of(self.streamer_type, name, title)? else { return Ok(None) };
        let shape = match &self.branch.leaves[..] {
            // Titles of members of collections have how many objects there are instead.
            [leaf] if !basic.pointer => shape_of(&[&leaf.title, &self.branch.name], leaf.len)?,
            [_] => Vec::new(),
            leaves => {
                return Err(Error::corrupt(format!("TBranchElement with {} leaves", leaves.len())));
            }
        };
        Ok(Some((basic, shape)))
    }

    /// The streamer element of which this branch holds the values.
    fn element<'c>(&self, classes: &'c Streamers) -> Option<&'c streamer::StreamerElement> {
        let index = usize::try_from(self.id).ok()?;
        let version = Some(self.class_version);
        let checksum = Some(self.checksum);
        class::find(self.class_name, version, checksum, classes)?.elements.get(index)
    }

    /// The C++ type as ROOT spells it: the class of a whole object, else that of the member.
    fn type_name(&self, classes: &Streamers) -> String {
        if self.id < 0 {
            return self.class_name.to_string();
        }
        let name = |element: &streamer::StreamerElement| match element.type_code {
            code::BASE => element.name.clone(),
            code::TOBJECT | code::TNAMED if element.class == "TStreamerBase" => {
                element.name.clone()
            }
            _ => element.type_name.clone(),
        };
        let name = self.element(classes).map(name).unwrap_or_default();
        match self.streamer_type {
            // A pointer that is never null is stored as the object that it points to.
            code::STL_POINTER | code::OBJECT_HELD | code::ANY_HELD => {
                name.trim_end_matches('*').trim_end().to_owned()
            }
            _ => name,
        }
    }

    fn unsupported(&self, type_name: &str) -> Error {
        let type_name = if type_name.is_empty() {
            "without streamer info".into()
        } else {
            cpp::spelled(type_name)
        };
        Error::unsupported(format!("type {type_name} (streamer type {})", self.streamer_type))
    }
}

/// Whether it is written as an object is, also in arrays.
fn is_object(layout: &Layout) -> bool {
    match layout {
        Layout::Record { .. } | Layout::Text(Text::Object { .. }) => true,
        Layout::List(list) => list.frame == Frame::None,
        _ => false,
    }
}

/// Whether nothing is written of objects that are split.
fn has_no_bytes(layout: &Layout) -> bool {
    match layout {
        Layout::Record { record, .. } => {
            record.names.is_empty() && record.versions.iter().all(Version::takes_no_bytes)
        }
        _ => false,
    }
}

/// TBranchObject: a whole object, with the name of its class in front where its leaf says so.
pub(super) fn interpret_object(
    branch: &Branch,
    class: &str,
    classes: &Streamers,
) -> Result<Interpretation> {
    let item = Compiler::new(classes).value(&cpp::parse(class), true);
    let item = item.map_err(|e| unsupported_type(e, class))?;
    let layout = match &branch.leaves[..] {
        [Leaf { kind: LeafKind::Object { named: true }, .. }] => {
            Layout::Named(class.into(), Box::new(item))
        }
        [Leaf { kind: LeafKind::Object { named: false }, .. }] => item,
        _ => return Err(Error::unsupported("TBranchObject without a TLeafObject")),
    };
    Ok(Interpretation::new(cpp::spelled(class), layout, Entry::Value))
}

/// `TBranchSTL`: for each pointer the number of its class, or 0.
pub(super) fn interpret_indices(classes: &Streamers) -> Result<Interpretation> {
    let layout = Compiler::new(classes).object("TIndArray")?;
    Ok(Interpretation::new("TIndArray", layout, Entry::Value))
}

/// Keeps the reason and says for which type.
fn unsupported_type(error: Error, type_name: &str) -> Error {
    error.within(&format!("type {}", cpp::spelled(type_name)))
}

/// The type name of a branch that cannot be read.
pub(super) fn class_typename(tree: &Tree, branch: BranchId, classes: &Streamers) -> String {
    let branch = &tree.branches[branch.0 as usize];
    let BranchKind::Element {
        class_name,
        id,
        branch_type,
        class_version,
        checksum,
        streamer_type,
        ..
    } = &branch.kind
    else {
        return "unknown".into();
    };
    let fields = Fields {
        branch,
        class_name,
        class_version: *class_version,
        checksum: *checksum,
        id: *id,
        branch_type: *branch_type,
        streamer_type: *streamer_type,
    };
    let name = fields.type_name(classes);
    match () {
        () if name.is_empty() => "unknown".into(),
        // uproot leaves the class of a group as ROOT spells it, that of a member nearly so.
        () if is_group(branch) && *id >= 0 => names::of_numbers(&name),
        () if is_group(branch) => name,
        () if matches!(branch_type, 31 | 41) => format!("{}[]", cpp::spelled(&name)),
        () => cpp::spelled(&name),
    }
}
