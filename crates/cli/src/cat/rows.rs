//! Parts that the texts of entries have in common.

use engine::Batch;

/// How entries are written one after the other.
#[derive(Clone, Copy)]
pub struct Rows {
    pub head: fn(&mut Vec<u8>, &[&str]),
    pub batch: fn(&mut Vec<u8>, &Batch),
}
