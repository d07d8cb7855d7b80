//! The footer: fields added while writing, and where the page lists are.
//!
//! ```text
//! footer        = feature flags  header checksum:u64  schema extension (a record)  list of cluster groups
//! cluster group = first entry:u64 entries:u64 clusters:u32   uncompressed length:u64 locator
//! ```

use bytes::Bytes;

use super::anchor::Link;
use super::envelope::{Envelope, Kind};
use super::schema::Schema;
use crate::error::{Error, Result};

/// Clusters whose pages one page list names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterGroup {
    pub first_entry: u64,
    pub entries: u64,
    pub clusters: u32,
    pub page_list: Link,
}

/// Opens the footer; adds its fields and columns to `schema`.
pub(super) fn footer(
    stored: &Bytes,
    length: u64,
    schema: &mut Schema,
    header_checksum: u64,
) -> Result<Vec<ClusterGroup>> {
    let envelope = Envelope::open(Kind::Footer, stored, length)?;
    let mut reader = envelope.reader();
    reader.feature_flags()?;
    belongs(reader.u64()?, header_checksum)?;
    let mut extension = reader.record()?;
    if extension.remaining() > 0 {
        schema.extend(&mut extension)?;
    }
    let (count, mut list) = reader.list(8 + 40)?;
    let mut groups = Vec::with_capacity(count);
    for _ in 0..count {
        let mut group = list.record()?;
        groups.push(ClusterGroup {
            first_entry: group.u64()?,
            entries: group.u64()?,
            clusters: group.u32()?,
            page_list: Link { length: group.u64()?, range: group.locator()? },
        });
    }
    Ok(groups)
}

/// Compares the checksum of the header with what another envelope says of it.
pub(super) fn belongs(said: u64, header_checksum: u64) -> Result<()> {
    if said == header_checksum {
        return Ok(());
    }
    Err(Error::corrupt("an envelope that belongs to another header"))
}
