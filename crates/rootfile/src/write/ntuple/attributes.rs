//! The list of linked attribute sets in a footer (read in [`crate::ntuple`]).

use std::ops::Range;

use bytes::Bytes;

use super::envelope::EnvelopeWriter;
use super::records::Records;
use crate::error::Result;
use crate::ntuple::AttributeSet;
use crate::ntuple::anchor::WITH_ATTRIBUTE_SETS;
use crate::write::buffer::Buffer;
use crate::write::table::WritableObject;

/// An attribute set that has been written, as the footer of its RNTuple names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedSet {
    name: String,
    /// Major and minor version of the meaning of its fields.
    schema_version: [u16; 2],
    /// The place of its anchor, which no directory lists.
    anchor: Range<u64>,
    /// Bytes of the anchor, uncompressed.
    length: u32,
}

/// The version of the meaning of the fields of sets that are written here.
pub(in crate::write) const SCHEMA_VERSION: [u16; 2] = [1, 0];

impl LinkedSet {
    /// Adds the anchor of a set to records.
    ///
    /// # Errors
    /// As [`Records::blob`].
    pub(in crate::write) fn write(
        records: &mut Records,
        anchor: &dyn WritableObject,
        name: &str,
        schema_version: [u16; 2],
    ) -> Result<LinkedSet> {
        let mut content = Buffer::default();
        anchor.write(&mut content);
        let content = Bytes::from(content.into_vec());
        let len = content.len() as u64;
        let start = records.blob(content)?;
        let anchor = start..start + len;
        Ok(LinkedSet { name: name.to_owned(), schema_version, anchor, length: len as u32 })
    }

    /// A set of an existing RNTuple; `None` for one that is in no file.
    pub(in crate::write) fn existing(set: &AttributeSet) -> Option<LinkedSet> {
        let (anchor, length) = set.anchor()?;
        let AttributeSet { name, schema_version, .. } = set;
        let name = name.clone();
        Some(LinkedSet { name, schema_version: *schema_version, anchor, length })
    }

    pub(in crate::write) fn name(&self) -> &str {
        &self.name
    }
}

/// The version of the format of an RNTuple with those sets, which would else have `version`.
pub(in crate::write) fn version_with(version: [u16; 4], sets: &[LinkedSet]) -> [u16; 4] {
    match sets.is_empty() {
        true => version,
        false => version.max(WITH_ATTRIBUTE_SETS),
    }
}

/// The list frame of attribute sets; empty bytes without any.
pub(in crate::write) fn list(sets: &[LinkedSet]) -> Bytes {
    if sets.is_empty() {
        return Bytes::new();
    }
    let mut to = EnvelopeWriter::part();
    to.list(sets.len(), |to| {
        for LinkedSet { name, schema_version: [major, minor], anchor, length } in sets {
            to.record(|to| {
                to.u16(*major);
                to.u16(*minor);
                to.u32(*length);
                to.locator(anchor.start, anchor.end - anchor.start);
                to.string(name);
            });
        }
    });
    to.into_part().into()
}
