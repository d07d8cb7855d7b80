//! The meaning of a branch's bytes: from the tree's metadata to the type of a column.
//!
//! An [`Interpretation`] says two things. The [`Layout`] is the type of an entry: numbers, lists,
//! text, records, nested. The [`Entry`] is how one entry is laid out in a basket, which is where
//! bulk decoding is won: the same `float[]` comes bare (counted leaves), after ten bytes
//! (`std::vector`), or after one (pointers). Decoding itself is in `tree/decode`.
//!
//! One file per kind of branch: `plain.rs` (TBranch, where leaves say all), `element.rs`
//! (TBranchElement); `class.rs` looks into streamer info.

mod basic;
mod class;
mod element;
mod fields;
pub(crate) mod layout;
pub(crate) mod plain;
mod pointer;

use std::sync::{Arc, OnceLock};

use crate::array::{Array, Number, Offsets};
use crate::error::{Error, ErrorKind, Result};
use crate::streamer::Streamers;
use crate::tree::decode::bulk::Bulk;
use crate::tree::model::{Branch, BranchId, BranchKind, Tree};
use crate::types::cpp;
use layout::{Entry, Layout};

/// The classes of a file: their streamer infos, and how objects are read of each class that data
/// may name, compiled once for all branches.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassTable {
    pub streamers: Streamers,
    nameable: OnceLock<Arc<layout::Classes>>,
}

impl From<Streamers> for ClassTable {
    fn from(streamers: Streamers) -> Self {
        ClassTable { streamers, nameable: OnceLock::new() }
    }
}

impl ClassTable {
    /// Those that a layout needs where objects of any class are in it.
    fn named_in(&self, layout: &Layout) -> Option<Arc<layout::Classes>> {
        let nameable = || Arc::new(class::nameable(&self.streamers));
        layout.names_classes().then(|| self.nameable.get_or_init(nameable).clone())
    }
}

/// How to read a branch, and the type of its column.
#[derive(Debug, Clone, PartialEq)]
pub struct Interpretation {
    typename: String,
    pub(crate) layout: Layout,
    pub(crate) entry: Entry,
    counter: Option<BranchId>,
    /// Which leaf of that branch it is, where it has several.
    pub(crate) counter_leaf: usize,
    /// Those that the data may name, where they name any.
    pub(crate) classes: Option<Arc<layout::Classes>>,
    /// How values are read many at a time, where they can be.
    pub(crate) bulk: Option<Arc<Bulk>>,
}

impl Interpretation {
    /// How to read `branch`.
    ///
    /// # Errors
    /// `Unsupported`, naming branch and type, where this version cannot read it: also for a branch
    /// that only groups others.
    pub fn of(tree: &Tree, branch: BranchId, classes: &ClassTable) -> Result<Interpretation> {
        let interpretation = Interpretation::of_type(tree, branch, classes)?;
        let this = &tree.branches[branch.0 as usize];
        check_place(this)?;
        // Below a branch with values of its own ROOT fills nothing by itself. Other branches
        // without entries are empty, as in uproot.
        let parent = this.parent.and_then(|parent| tree.branches.get(parent.0 as usize));
        let is_below_values = parent.is_some_and(|one| matches!(one.kind, BranchKind::Plain));
        if is_below_values && this.entries == 0 && this.baskets.is_empty() && tree.entries > 0 {
            let message = format!("it was never filled: the tree has {} entries", tree.entries);
            return Err(Error::unsupported(message).within(&this.name));
        }
        Ok(interpretation)
    }

    /// The same for branches whose baskets are in another file.
    fn of_type(tree: &Tree, branch: BranchId, classes: &ClassTable) -> Result<Interpretation> {
        let this = tree
            .branches
            .get(branch.0 as usize)
            .ok_or_else(|| Error::not_found(format!("branch number {}", branch.0)))?;
        let outcome = match &this.kind {
            BranchKind::Plain | BranchKind::Clones { .. } => plain::interpret(branch, this),
            BranchKind::Element { .. } => element::interpret(tree, this, &classes.streamers),
            BranchKind::Object { .. } | BranchKind::Pointers { .. } if is_group(this) => {
                Err(Error::unsupported("group of branches, without a column of its own"))
            }
            // Without a single object: which class each pointer is of, if any.
            BranchKind::Pointers { .. } => element::interpret_indices(&classes.streamers),
            BranchKind::Object { class_name } => {
                element::interpret_object(this, class_name, &classes.streamers)
            }
            BranchKind::Other { class } => {
                Err(Error::unsupported(format!("branch of class {class}")))
            }
            BranchKind::Unreadable { why } => Err(why.clone()),
        };
        let mut interpretation = outcome.map_err(|e| e.within(&this.name))?;
        interpretation.classes = classes.named_in(&interpretation.layout);
        Ok(interpretation)
    }

    /// The bytes of each entry as they are.
    pub fn of_bytes(typename: impl Into<String>) -> Self {
        Self::new(typename, Layout::Text(layout::Text::Whole), Entry::Value)
    }

    /// How many objects a collection has, of which the branch itself only groups the members.
    pub fn of_counts() -> Self {
        Self::new("int32_t", Layout::number(Number::I32), Entry::Fixed)
    }

    /// Whether entries come as their bytes.
    pub fn is_of_bytes(&self) -> bool {
        matches!(self.layout, Layout::Text(layout::Text::Whole))
    }

    fn new(typename: impl Into<String>, layout: Layout, entry: Entry) -> Self {
        let bulk = match entry {
            Entry::Value => Bulk::of(&layout).map(Arc::new),
            _ => None,
        };
        let counter = None;
        let counter_leaf = 0;
        let classes = None;
        let typename = typename.into();
        Interpretation { typename, layout, entry, counter, counter_leaf, classes, bulk }
    }

    /// Whether no basket can be decoded without the values of [`Interpretation::counter`].
    pub fn always_needs_counts(&self) -> bool {
        match self.entry {
            Entry::Arrays | Entry::Array | Entry::Counts => true,
            Entry::Leaves => self.counter.is_some(),
            _ => false,
        }
    }

    #[cfg(test)]
    pub(crate) fn for_tests(layout: Layout, entry: Entry) -> Self {
        Self::new("", layout, entry)
    }

    #[cfg(test)]
    pub(crate) fn expect_counter(&mut self) {
        self.counter = Some(BranchId(1));
    }

    /// The type of the column in uproot's spelling: `float`, `uint8_t[3]`, `std::vector<float>`.
    pub fn typename(&self) -> &str {
        &self.typename
    }

    /// The branch that holds how many items an entry has, or each of its arrays, if there is one.
    /// It is needed only for some baskets: see [`Interpretation::needs_counts`].
    pub fn counter(&self) -> Option<BranchId> {
        self.counter
    }

    /// A column of this type without entries: its type and shape, and where decoding appends.
    pub fn empty(&self) -> Array {
        let item = self.layout.empty();
        match self.entry {
            Entry::Items { .. } | Entry::Run | Entry::Arrays | Entry::Counts => {
                Array::List { offsets: Offsets::none(), content: Box::new(item) }
            }
            Entry::Fixed | Entry::Value | Entry::Leaves | Entry::Array => item,
        }
    }
}

/// Objects of a class that are written one by one outside of branches, as in the fields of
/// RNTuples that ROOT's streamer writes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Streamed {
    pub(super) layout: Layout,
    /// Those that the data may name, where they name any.
    pub(super) classes: Option<Arc<layout::Classes>>,
}

impl Streamed {
    /// How objects of a class are read.
    ///
    /// # Errors
    /// `Unsupported`, as of branches, where this version cannot read them.
    pub fn of(class: &str, classes: &ClassTable) -> Result<Streamed> {
        let layout = class::Compiler::new(&classes.streamers).object(class)?;
        let classes = classes.named_in(&layout);
        Ok(Streamed { layout, classes })
    }

    /// An array without objects.
    pub fn empty(&self) -> Array {
        self.layout.empty()
    }
}

/// The type of any branch in uproot's spelling, also of those that cannot be read: the class of a
/// group, `unknown` where nothing is known.
pub fn typename(tree: &Tree, branch: BranchId, classes: &ClassTable) -> String {
    match Interpretation::of_type(tree, branch, classes) {
        Ok(interpretation) => interpretation.typename,
        Err(Error { kind: ErrorKind::NotFound(_), .. }) => "unknown".into(),
        Err(_) => match &tree.branches[branch.0 as usize].kind {
            BranchKind::Element { .. } => element::class_typename(tree, branch, &classes.streamers),
            BranchKind::Object { class_name } => cpp::spelled(class_name),
            BranchKind::Pointers { class_name } => class_name.clone(),
            _ => "unknown".into(),
        },
    }
}

/// That the baskets of a branch are in the file of its tree.
///
/// # Errors
/// `Unsupported` with the name of the other file (ROOT: `TBranch::SetFile`).
pub fn check_place(branch: &Branch) -> Result<()> {
    if branch.file_name.is_empty() {
        return Ok(());
    }
    let message = format!(
        "its baskets are in another file, {} (fFileName, TBranch::SetFile); ROOT's CloneTree puts \
         them into one",
        branch.file_name
    );
    Err(Error::unsupported(message).within(&branch.name))
}

/// Whether the branch only groups its sub-branches, and has no column of its own.
pub fn is_group(branch: &Branch) -> bool {
    match &branch.kind {
        BranchKind::Element { branch_type, streamer_type, .. } => {
            // A TClonesArray at the top is read as its counts.
            let counts = *branch_type == 3 && *streamer_type == -1;
            !branch.children.is_empty() && !counts
        }
        BranchKind::Clones { .. } => false,
        // A branch with leaves has values of its own, whatever is below it.
        BranchKind::Plain => !branch.children.is_empty() && branch.leaves.is_empty(),
        _ => !branch.children.is_empty(),
    }
}

/// `[2][3]` as numbers; dimensions that are names of counters are left out.
fn fixed_shape(title: &str) -> Vec<usize> {
    let mut shape = Vec::new();
    let mut rest = title;
    while let Some((_, after)) = rest.split_once('[') {
        let Some((inner, after)) = after.split_once(']') else { break };
        if let Ok(len) = inner.trim().parse() {
            shape.push(len);
        }
        rest = after;
    }
    shape
}

/// The shape that one of several texts gives which agrees with `len` numbers, else that many in a
/// row.
fn shape_of(texts: &[&str], len: u32) -> Result<Vec<usize>> {
    let agrees = |shape: &Vec<usize>| {
        let product = shape.iter().try_fold(1usize, |product, len| product.checked_mul(*len));
        product == Some(len as usize)
    };
    let shape = texts.iter().map(|text| fixed_shape(text)).find(agrees);
    match (len, shape) {
        (0, _) => {
            let title = texts.first().unwrap_or(&"");
            Err(Error::corrupt(format!("leaf \"{title}\" says that it holds no numbers")))
        }
        (_, Some(shape)) => Ok(shape),
        // A title that someone has changed: one number is no array.
        (1, None) => Ok(Vec::new()),
        (len, None) => Ok(vec![len as usize]),
    }
}

#[cfg(test)]
mod tests;
