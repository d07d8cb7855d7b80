//! The footer: fields added while writing, and where the page lists are.
//!
//! ```text
//! footer        = feature flags  header checksum:u64  schema extension (a record)
//!                 list of cluster groups  [list of attribute sets]
//! cluster group = first entry:u64 entries:u64 clusters:u32   uncompressed length:u64 locator
//! ```

use std::ops::Range;

use bytes::Bytes;

use super::anchor::EnvelopeLink;
use super::attributes::AttributeSet;
use super::envelope::{Envelope, EnvelopeKind};
use super::schema::Schema;
use crate::error::{Error, Result};
use crate::known::Known;

/// Bytes of page lists to ask for beside the header: those of a hundred clusters of a hundred
/// columns take 500 kB.
const PAGE_LISTS_GUESS: u64 = 1 << 20;

/// Clusters whose pages one page list names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterGroup {
    pub first_entry: u64,
    pub entries: u64,
    pub clusters: u32,
    pub page_list: EnvelopeLink,
}

/// Content of the footer.
#[derive(Debug, Clone)]
pub(super) struct Footer {
    envelope: Envelope,
    pub groups: Vec<ClusterGroup>,
    pub attribute_sets: Vec<AttributeSet>,
    /// Whether there is a list of them, which may be empty.
    pub has_attribute_list: bool,
}

impl Footer {
    /// Opens the footer, which has the cluster groups also where the header has not come.
    pub fn open(stored: &Bytes, length: u64) -> Result<Footer> {
        let envelope = Envelope::open(EnvelopeKind::Footer, stored, length)?;
        let mut reader = envelope.reader();
        reader.feature_flags()?;
        reader.u64()?;
        reader.record()?;
        let (count, mut list) = reader.list(8 + 40)?;
        let mut groups = Vec::with_capacity(count);
        for _ in 0..count {
            let mut group = list.record()?;
            groups.push(ClusterGroup {
                first_entry: group.u64()?,
                entries: group.u64()?,
                clusters: group.u32()?,
                page_list: EnvelopeLink { length: group.u64()?, range: group.locator()?.range()? },
            });
        }
        let has_attribute_list = reader.remaining() > 0;
        let attribute_sets = AttributeSet::list(&mut reader)?;
        Ok(Footer { envelope, groups, attribute_sets, has_attribute_list })
    }

    /// Those page lists that are not here, up to some bytes: the next thing to be asked for.
    pub fn page_lists(&self, known: &Known) -> Vec<Range<u64>> {
        let mut room = PAGE_LISTS_GUESS;
        let mut lists = Vec::new();
        for group in &self.groups {
            let range = group.page_list.range.clone();
            let length = range.end - range.start;
            if length <= room {
                room -= length;
                lists.extend(known.missing(range));
            }
        }
        lists
    }

    /// The record of the fields and columns that came while writing, as it is.
    pub fn extension(&self) -> Result<Bytes> {
        let mut reader = self.envelope.reader();
        reader.feature_flags()?;
        reader.u64()?;
        let before = reader.remaining();
        reader.record()?;
        let after = reader.remaining();
        let content = self.envelope.content();
        let end = content.len() - after;
        Ok(content.slice(content.len() - before..end))
    }

    /// The bytes behind the cluster groups as they are: the list of attribute sets.
    pub fn attribute_list(&self) -> Result<Bytes> {
        let mut reader = self.envelope.reader();
        reader.feature_flags()?;
        reader.u64()?;
        reader.record()?;
        reader.list(8 + 40)?;
        let content = self.envelope.content();
        Ok(content.slice(content.len() - reader.remaining()..))
    }

    /// Adds the fields and columns that came while writing to those of the header.
    pub fn extend(&self, schema: &mut Schema, header_checksum: u64) -> Result<()> {
        let mut reader = self.envelope.reader();
        reader.feature_flags()?;
        belongs(reader.u64()?, header_checksum)?;
        let mut extension = reader.record()?;
        if extension.remaining() > 0 {
            schema.extend(&mut extension)?;
        }
        Ok(())
    }
}

/// Compares the checksum of the header with the one that another envelope states.
pub(super) fn belongs(said: u64, header_checksum: u64) -> Result<()> {
    if said == header_checksum {
        return Ok(());
    }
    Err(Error::corrupt("an envelope that belongs to another header"))
}
