//! RNTuples: envelopes, clusters and pages.

use std::ops::Range;

use bytes::Bytes;
use twox_hash::XxHash3_64;

use super::{Check, Severity};
use crate::codec::Codecs;
use crate::key::Key;
use crate::ntuple::anchor::WITH_ATTRIBUTE_SETS;
use crate::ntuple::{Cluster, FieldInterpretation, Names, Page, PageUse, RNTuple, Role, Schema};

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
        let fields = self.fields(ntuple);
        let mut codecs = Codecs::default();
        for (at, group) in ntuple.groups.iter().enumerate() {
            self.envelope(path, anchor, ntuple, &group.page_list.range);
            let clusters = ntuple.clusters(self.known, at..at + 1);
            for cluster in self.done(anchor, clusters).unwrap_or_default() {
                let found = self.findings.len();
                self.cluster(path, ntuple, &cluster);
                if self.findings.len() > found {
                    continue;
                }
                for (name, field) in &fields {
                    let path = format!("{path}:{name}");
                    self.values(&path, &ntuple.schema, &cluster, field, &mut codecs);
                }
            }
        }
    }

    /// The fields at the top whose values can be read.
    fn fields(&self, ntuple: &RNTuple) -> Vec<(String, FieldInterpretation)> {
        let schema = &ntuple.schema;
        let names = Names::new(schema);
        let field = |id: u32| {
            let read = FieldInterpretation::of(schema, &names, &self.file.classes, id).ok()?;
            Some((schema.fields[id as usize].name.clone(), read))
        };
        schema.top().filter_map(field).collect()
    }

    /// That the values of a field in a whole cluster can be read: that the offsets of collections
    /// lead to all of their items.
    fn values(
        &mut self,
        path: &str,
        schema: &Schema,
        cluster: &Cluster,
        field: &FieldInterpretation,
        codecs: &mut Codecs,
    ) {
        let entries = 0..cluster.entries.end - cluster.entries.start;
        let mut array = field.empty();
        let read = field.pages(cluster, entries.clone()).and_then(|pages| {
            let stored = |page: PageUse| {
                let bytes = self.page_bytes(&page.page);
                (page, bytes)
            };
            let pages: Vec<(PageUse, Bytes)> = pages.into_iter().map(stored).collect();
            field.append(schema, cluster, entries, &pages, codecs, &mut array)
        });
        if let Err(error) = read {
            let range = &cluster.entries;
            self.failed(0, &error, format!("{path}: entries {range:?}: {error}"));
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
        if entries == 0 {
            self.broken(0, format!("{path}: a cluster without entries, which ROOT refuses"));
        }
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
        page.pieces().for_each(|piece| self.in_blob(path, piece));
        if !page.checksum {
            return;
        }
        let stored = self.page_bytes(page);
        let Some((covered, checksum)) = stored.split_last_chunk::<CHECKSUM_LEN>() else { return };
        if XxHash3_64::oneshot(covered) != u64::from_le_bytes(*checksum) {
            self.broken(page.range.start, format!("{path}: a page with another checksum"));
        }
    }

    /// The bytes of a page, as far as the file has them.
    fn page_bytes(&self, page: &Page) -> Bytes {
        let mut pieces =
            page.pieces().map(|piece| self.bytes_of(piece.clone()).unwrap_or_default());
        match (pieces.next(), pieces.next()) {
            (Some(first), None) => first,
            (first, second) => first.into_iter().chain(second).chain(pieces).flatten().collect(),
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
