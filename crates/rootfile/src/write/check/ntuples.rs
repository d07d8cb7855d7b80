//! RNTuples: envelopes, clusters and pages.

use std::ops::Range;

use twox_hash::XxHash3_64;

use super::{Check, Severity};
use crate::key::Key;
use crate::ntuple::anchor::WITH_ATTRIBUTE_SETS;
use crate::ntuple::{Cluster, Page, RNTuple, Role};

/// Bytes of a page's checksum.
const CHECKSUM_LEN: usize = 8;

impl Check<'_> {
    pub(super) fn ntuple(&mut self, path: &str, key: &Key) {
        let Some(ntuple) = self.done(key.offset, self.file.ntuple(self.known, path)) else {
            return;
        };
        self.parts(path, key.offset, &ntuple);
        for set in &ntuple.attribute_sets {
            let path = format!("{path}/{}", set.name);
            let anchor = self.file.find(self.known, &path);
            let Some(key) = self.done(key.offset, anchor) else { continue };
            self.in_blob(&path, &(key.offset..key.offset.saturating_add(key.record_len)));
            let set = self.file.ntuple(self.known, &path);
            if let Some(set) = self.done(key.offset, set) {
                self.parts(&path, key.offset, &set);
            }
        }
    }

    /// Checks all records that an anchor leads to.
    fn parts(&mut self, path: &str, anchor: u64, ntuple: &RNTuple) {
        if ntuple.anchor.version >= WITH_ATTRIBUTE_SETS && !ntuple.has_attribute_list {
            let version = ntuple.anchor.version.map(|part| part.to_string()).join(".");
            let lack = "but its footer has no list of attribute sets";
            self.find(
                Severity::Broken,
                anchor,
                format!("{path}: of format version {version}, {lack}"),
            );
        }
        for link in [&ntuple.anchor.header, &ntuple.anchor.footer] {
            self.envelope(path, anchor, ntuple, &link.range);
        }
        for (at, group) in ntuple.groups.iter().enumerate() {
            self.envelope(path, anchor, ntuple, &group.page_list.range);
            let clusters = ntuple.clusters(self.known, at..at + 1);
            for cluster in self.done(anchor, clusters).unwrap_or_default() {
                self.cluster(path, ntuple, &cluster);
            }
        }
    }

    /// An envelope, which may be in several records.
    fn envelope(&mut self, path: &str, anchor: u64, ntuple: &RNTuple, range: &Range<u64>) {
        let pieces = ntuple.pieces(self.known, range);
        for piece in self.done(anchor, pieces).unwrap_or_default() {
            self.in_blob(path, &piece);
        }
    }

    fn cluster(&mut self, path: &str, ntuple: &RNTuple, cluster: &Cluster) {
        let entries = cluster.entries.end - cluster.entries.start;
        for (at, pages) in cluster.columns.iter().enumerate() {
            let elements: u64 = pages.pages.iter().map(|page| u64::from(page.elements)).sum();
            let expected = per_entry(ntuple, at).map(|each| each.saturating_mul(entries));
            if !pages.suppressed && expected.is_some_and(|expected| expected != elements) {
                let range = &cluster.entries;
                let message = format!("{elements} elements of column {at} in entries {range:?}");
                self.broken(0, format!("{path}: {message}"));
            }
            if pages.elsewhere.is_none() {
                pages.pages.iter().for_each(|page| self.page(path, page));
            }
        }
    }

    fn page(&mut self, path: &str, page: &Page) {
        let mut stored = Vec::new();
        for piece in page.pieces() {
            self.in_blob(path, piece);
            stored.extend_from_slice(&self.bytes_of(piece.clone()).unwrap_or_default());
        }
        if !page.checksum {
            return;
        }
        let Some((covered, checksum)) = stored.split_last_chunk::<CHECKSUM_LEN>() else { return };
        if XxHash3_64::oneshot(covered) != u64::from_le_bytes(*checksum) {
            self.broken(page.range.start, format!("{path}: a page with another checksum"));
        }
    }

    /// Marks the blob whose payload has a range as used; a range in no blob is a finding.
    fn in_blob(&mut self, path: &str, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        let record = self.records.range(..=range.start).next_back();
        let holds = |(at, key): &(&u64, &Key)| {
            let start = *at + key.key_len;
            let end = *at + key.record_len;
            key.class == "RBlob" && start <= range.start && range.end <= end
        };
        match record.filter(holds).map(|(at, _)| *at) {
            Some(at) => {
                self.used.insert(at);
            }
            None => self.unusual(range.start, format!("{path}: bytes {range:?} are in no RBlob")),
        }
    }
}

/// How many elements of a column each entry has, where that follows from the schema.
fn per_entry(ntuple: &RNTuple, column: usize) -> Option<u64> {
    let schema = &ntuple.schema;
    let column = schema.columns.get(column).filter(|column| !column.deferred)?;
    let own = schema.fields.get(column.field as usize)?;
    // A string has a column of characters, too, and other representations take turns.
    if own.columns.len() != 1 {
        return None;
    }
    let mut each = own.array_size.unwrap_or(1);
    for above in schema.ancestors(column.field).skip(1) {
        let field = schema.fields.get(above as usize)?;
        match field.role {
            Role::Leaf | Role::Record => each = each.checked_mul(field.array_size.unwrap_or(1))?,
            _ => return None,
        }
    }
    Some(each)
}
