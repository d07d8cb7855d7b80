//! Offsets within a record's objects that a copy has to move or change.

use super::ObjectId;

/// A part of a record's content, by bytes from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub at: usize,
    pub end: usize,
    pub part: Marked,
}

/// Kinds of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marked {
    /// A byte count, and all that it counts.
    Counted,
    /// A pointer to nothing.
    Null,
    /// A pointer to an object that is elsewhere in the record.
    Reference(ObjectId),
    /// A pointer to an object that could not be read.
    Lost,
    /// A pointer with its object, whose own bytes begin at `body`.
    Object { id: ObjectId, body: usize },
    /// A member of an object, by its position in the layout.
    Member { object: ObjectId, member: usize },
    /// The pointers of a `TObjArray` or `TList`, with how many there are in front.
    Items { object: ObjectId, first: usize },
    /// One of them, with the fields that belong to it.
    Item,
}

/// The marks of a record. A part is in front of those within it.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    pub all: Vec<Mark>,
}

impl Marks {
    /// Begins a part that ends where [`Marks::end`] says.
    pub fn begin(&mut self, at: usize, part: Marked) -> usize {
        self.all.push(Mark { at, end: at, part });
        self.all.len() - 1
    }

    pub fn end(&mut self, mark: usize, end: usize) {
        self.all[mark].end = end;
    }
}
