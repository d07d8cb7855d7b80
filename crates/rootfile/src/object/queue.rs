//! Objects that wait to be read, and the classes that they are of.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ObjectId;
use crate::streamer::ClassId;

/// A class by its name, and its identity where the file describes it.
#[derive(Debug, Clone)]
pub(super) struct ClassRef {
    pub name: Arc<str>,
    pub id: Option<ClassId>,
}

/// Objects that are read by native recursion; those deeper are read later.
pub(super) const DEPTH_AT_ONCE: u32 = 64;

/// Objects to be read later.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    pub objects: Vec<DeferredObject>,
    /// Objects that something refers to and that have not been met, by their references.
    pub expected: BTreeMap<u32, ObjectId>,
    /// Whether any were deferred.
    pub any: bool,
}

/// An object whose bytes are read later.
#[derive(Debug)]
pub(super) struct DeferredObject {
    pub id: ObjectId,
    pub class: ClassRef,
    /// Offset of its bytes in the record.
    pub at: usize,
    pub len: usize,
}
