//! Branches and leaves of a tree, read for their metadata alone: each becomes one object, with the
//! members that a tree's metadata need and without separate objects for its base classes.
//!
//! Trees have thousands of branches, and a branch that is read in full takes a dozen objects. If a
//! branch or leaf is not as expected, the whole tree is read in full: see [`read_tree_object`].

use std::collections::BTreeMap;
use std::sync::Arc;

use super::marks::Marks;
use super::reader::{ObjectHeader, ObjectReader, read_to_extent};
use super::special::{collection_name, tobject};
use super::{ObjectId, Objects, Opaque, Value};
use crate::array::Number;
use crate::cursor::Cursor;
use crate::error::Result;
use crate::streamer::{Class, ClassId, ClassLayout, Count, Member, MemberKind, Streamers};
use crate::types::scalar::Scalar;

/// The classes whose objects are read this way; classes derived from them are read in full.
const CLASSES: [&str; 15] = [
    "TBranch",
    "TBranchElement",
    "TLeaf",
    "TLeafB",
    "TLeafC",
    "TLeafD",
    "TLeafD32",
    "TLeafElement",
    "TLeafF",
    "TLeafF16",
    "TLeafG",
    "TLeafI",
    "TLeafL",
    "TLeafO",
    "TLeafS",
];

/// The members of branches and leaves that a tree's metadata need, in alphabetical order, and
/// `fMaxBaskets`, the length of the arrays.
const MEMBERS: [&str; 35] = [
    "fBasketBytes",
    "fBasketEntry",
    "fBasketSeek",
    "fBasketSize",
    "fBaskets",
    "fBranchCount",
    "fBranchCount2",
    "fBranches",
    "fCheckSum",
    "fClassName",
    "fClassVersion",
    "fClonesName",
    "fCompress",
    "fEntries",
    "fEntryOffsetLen",
    "fFileName",
    "fFirstEntry",
    "fID",
    "fIOFeatures",
    "fIsUnsigned",
    "fLeafCount",
    "fLeaves",
    "fLen",
    "fLenType",
    "fMaxBaskets",
    "fMaximum",
    "fName",
    "fParentName",
    "fStreamerType",
    "fTitle",
    "fTotBytes",
    "fType",
    "fVirtual",
    "fWriteBasket",
    "fZipBytes",
];

/// Maximum depth of base classes of base classes.
const DEPTH_MAX: usize = 8;
/// Maximum of steps, for hostile lists of streamer infos in which classes have many bases.
const STEPS_MAX: usize = 1000;

/// Reads the object of a tree that `content` consists of. Branches and leaves have only the members
/// that [`read_tree`](crate::tree) needs, equal to those of [`read_object`](super::read_object).
///
/// # Errors
/// As [`read_object`](super::read_object).
pub(crate) fn read_tree_object(
    streamers: &Streamers,
    class: &str,
    content: Cursor<'_>,
    key_len: u64,
) -> Result<Objects> {
    let none = Opaque::new();
    let short = Extent::Members(Layouts::default());
    if let Ok((objects, Extent::Members(Layouts { has_failed: false, .. }))) =
        read_to_extent(streamers, class, content.clone(), key_len, &none, short)
    {
        return Ok(objects);
    }
    // From the beginning: the failed object may be inside others, which are partly read.
    read_to_extent(streamers, class, content, key_len, &none, Extent::All)
        .map(|(objects, _)| objects)
}

/// How much is read.
pub(super) enum Extent {
    All,
    /// All, with the positions of its parts.
    Marked(Marks),
    /// All, but of branches and leaves only the members that a tree's metadata need.
    Members(Layouts),
}

/// Layouts of branches and leaves, found when they are first needed.
#[derive(Default)]
pub(super) struct Layouts {
    /// By class and version, of which a broken file may have as many as objects.
    known: BTreeMap<(ClassId, u16), Option<Arc<ShortLayout>>>,
    /// Whether an object did not match its layout.
    has_failed: bool,
}

/// The steps that read the needed members of an object, and the layout of these members.
pub(super) struct ShortLayout {
    steps: Vec<Step>,
    layout: Arc<ClassLayout>,
}

enum Step {
    /// A number of bytes without needed members.
    Skip(usize),
    SkipText,
    /// `TObject`, whose bits are the next member of the layout.
    Object,
    /// The header of a base class with this version, and its end.
    Begin(u16),
    End,
    /// A `TObjArray`; the member's value is the list of its objects.
    Items,
    /// The next member of the layout.
    Keep,
}

impl ShortLayout {
    /// The layout of a class; `None` if its objects have to be read in full.
    fn of(streamers: &Streamers, class: &Class, version: u16) -> Option<ShortLayout> {
        if !CLASSES.contains(&&*class.name) {
            return None;
        }
        let layout = class.layout(i32::from(version))?;
        let mut all = ShortLayouts { streamers, steps: Vec::new(), members: Vec::new() };
        all.add(layout, 0)?;
        let ShortLayouts { steps, members, .. } = all;
        let layout = ClassLayout { class: class.name.clone(), version: layout.version, members };
        Some(ShortLayout { steps, layout: Arc::new(layout) })
    }
}

/// A layout that is being made.
struct ShortLayouts<'s> {
    streamers: &'s Streamers,
    steps: Vec<Step>,
    members: Vec<Member>,
}

impl ShortLayouts<'_> {
    fn add(&mut self, layout: &ClassLayout, depth: usize) -> Option<()> {
        // For each member of this class its position among all kept members.
        let mut kept: Vec<Option<usize>> = Vec::with_capacity(layout.members.len());
        for member in &layout.members {
            let is_base = matches!(member.kind, MemberKind::Base(..));
            let is_kept = !is_base && MEMBERS.binary_search(&&*member.name).is_ok();
            kept.push(is_kept.then_some(self.members.len()));
            match &member.kind {
                MemberKind::Base(class, version) => self.base(*class, *version, depth)?,
                kind if is_kept => self.keep(&member.name, kind, &kept)?,
                MemberKind::Number(Scalar::Number(number)) => self.skip(number.size()),
                MemberKind::Text => self.steps.push(Step::SkipText),
                _ => return None,
            }
        }
        Some(())
    }

    fn base(&mut self, class: ClassId, version: i32, depth: usize) -> Option<()> {
        let base = self.streamers.class(class);
        if *base.name == *"TObject" {
            let is_known = self.members.iter().any(|known| *known.name == *"fBits");
            let kind = MemberKind::Number(Scalar::Number(Number::U32));
            self.steps.push(Step::Object);
            self.members.push(Member { name: "fBits".into(), kind });
            return (!is_known).then_some(());
        }
        if base.special.is_some() || depth >= DEPTH_MAX || self.steps.len() >= STEPS_MAX {
            return None;
        }
        let layout = base.layout(version)?.clone();
        self.steps.push(Step::Begin(u16::try_from(version).ok().filter(|version| *version > 0)?));
        self.add(&layout, depth + 1)?;
        self.steps.push(Step::End);
        Some(())
    }

    fn keep(&mut self, name: &Arc<str>, kind: &MemberKind, kept: &[Option<usize>]) -> Option<()> {
        let counted = |count: &Count| match count {
            Count::Member(name, Some(at)) => {
                Some(Count::Member(name.clone(), Some((*kept.get(*at)?)?)))
            }
            _ => None,
        };
        let kind = match kind {
            MemberKind::Number(_) | MemberKind::Text | MemberKind::Pointer => kind.clone(),
            MemberKind::Numbers(scalar, count) => MemberKind::Numbers(*scalar, counted(count)?),
            MemberKind::BasketSeeks(count) => MemberKind::BasketSeeks(counted(count)?),
            MemberKind::Object(_) => kind.clone(),
            _ => return None,
        };
        let is_array = |class: ClassId| *self.streamers.class(class).name == *"TObjArray";
        self.steps.push(match kind {
            MemberKind::Object(class) if is_array(class) => Step::Items,
            _ => Step::Keep,
        });
        if self.members.iter().any(|known| known.name == *name) {
            // A class and its base class have a member of the same name.
            return None;
        }
        self.members.push(Member { name: name.clone(), kind });
        Some(())
    }

    fn skip(&mut self, len: usize) {
        match self.steps.last_mut() {
            Some(Step::Skip(before)) => *before += len,
            _ => self.steps.push(Step::Skip(len)),
        }
    }
}

impl ObjectReader<'_> {
    /// The short layout of an object; `None` if it has to be read in full.
    pub(super) fn short_layout(
        &mut self,
        class: ClassId,
        header: ObjectHeader,
    ) -> Option<Arc<ShortLayout>> {
        let Extent::Members(Layouts { known, .. }) = &mut self.extent else { return None };
        let version = header.version;
        if header.len.is_none() || version == 0 {
            return None;
        }
        let streamers = self.streamers;
        let new = || ShortLayout::of(streamers, streamers.class(class), version).map(Arc::new);
        known.entry((class, version)).or_insert_with(new).clone()
    }

    /// Reads the needed members of an object, which `cursor` contains exactly.
    pub(super) fn short_members(
        &mut self,
        id: ObjectId,
        version: u16,
        short: &ShortLayout,
        cursor: &mut Cursor<'_>,
    ) -> Result<()> {
        let done = self.values_of(short, cursor);
        if let (Err(_), Extent::Members(layouts)) = (&done, &mut self.extent) {
            layouts.has_failed = true;
        }
        self.set(id, i32::from(version), &short.layout, done?);
        Ok(())
    }

    fn values_of(&mut self, short: &ShortLayout, cursor: &mut Cursor<'_>) -> Result<Vec<Value>> {
        let ShortLayout { steps, layout } = short;
        self.charge(layout.members.len())?;
        let mut values = Vec::with_capacity(layout.members.len());
        let mut ends = [0; DEPTH_MAX];
        let mut depth = 0;
        for step in steps {
            match step {
                Step::Skip(len) => cursor.skip(*len)?,
                Step::SkipText => cursor.skip_text()?,
                Step::Object => values.push(tobject(cursor)?.1.into()),
                Step::Begin(version) => {
                    let header = ObjectHeader::read(cursor)?;
                    let Some(len) = header.len.filter(|_| header.version == *version) else {
                        return Err(cursor.unsupported("a base class of another version"));
                    };
                    ends[depth] = cursor.position() + len;
                    depth += 1;
                }
                Step::End => {
                    depth -= 1;
                    if cursor.position() != ends[depth] {
                        return Err(cursor.unsupported("a base class of another length"));
                    }
                }
                Step::Items => values.push(self.items(cursor)?),
                Step::Keep => {
                    let kind = &layout.members[values.len()].kind;
                    values.push(self.value(kind, &values, layout, cursor)?);
                }
            }
        }
        match cursor.remaining() {
            0 => Ok(values),
            left => Err(cursor.unsupported(format!("{left} bytes more than its members"))),
        }
    }

    /// The objects of a `TObjArray`.
    fn items(&mut self, cursor: &mut Cursor<'_>) -> Result<Value> {
        let header = ObjectHeader::read(cursor)?;
        let Some(len) = header.len else {
            return Err(cursor.unsupported("an array of unknown length"));
        };
        let mut content = cursor.split(len)?;
        collection_name(header.version, 2, &mut content)?;
        let count = content.count(4)?;
        content.skip(4)?;
        let all = self.many(count, &mut content, |to, at| to.pointer(at))?;
        match content.remaining() {
            0 => Ok(all),
            left => Err(content.unsupported(format!("{left} bytes more than its objects"))),
        }
    }
}
