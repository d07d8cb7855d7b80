//! Reads fields of an RNTuple whole, as the engine does cluster by cluster, and shows entries.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use farroot_rootfile::ntuple::{Cluster, FieldInterpretation, Names, PageUse, RNTuple};
use farroot_rootfile::tree::ClassTable;
use farroot_rootfile::{Array, Codecs, Known, Numbers, Result};

use super::feed;

pub struct Opened {
    pub bytes: Bytes,
    /// Classes that the file describes.
    pub classes: Arc<ClassTable>,
    pub ntuple: RNTuple,
    pub names: Names,
    pub clusters: Vec<Cluster>,
}

impl Opened {
    /// Reads the page lists of an RNTuple.
    pub fn of(
        bytes: &Bytes,
        mut known: Known,
        ntuple: RNTuple,
        classes: impl Into<Arc<ClassTable>>,
    ) -> Result<Opened> {
        let groups = 0..ntuple.groups.len();
        let clusters =
            feed::until_ready(bytes, &mut known, |known| ntuple.clusters(known, groups.clone()))?;
        let names = Names::new(&ntuple.schema);
        let classes = classes.into();
        Ok(Opened { bytes: bytes.clone(), classes, ntuple, names, clusters })
    }

    pub fn interpretation(&self, path: &str) -> Result<FieldInterpretation> {
        let named = self.names.all().iter().find(|named| named.path == path).expect(path);
        FieldInterpretation::of(&self.ntuple.schema, &self.names, &self.classes, named.field)
    }

    pub fn field(&self, path: &str) -> Result<Array> {
        self.entries(&self.interpretation(path)?, 0..self.ntuple.entries)
    }

    /// Some entries, from all clusters that have any of them.
    pub fn entries(&self, how: &FieldInterpretation, entries: Range<u64>) -> Result<Array> {
        let mut codecs = Codecs::default();
        let mut array = how.empty();
        for cluster in &self.clusters {
            let start = entries.start.clamp(cluster.entries.start, cluster.entries.end);
            let end = entries.end.clamp(start, cluster.entries.end);
            let local = start - cluster.entries.start..end - cluster.entries.start;
            if local.is_empty() {
                continue;
            }
            let stored = |page: PageUse| {
                let range = page.page.range.start as usize..page.page.range.end as usize;
                let bytes = self.bytes.get(range).unwrap_or_default();
                (page, Bytes::copy_from_slice(bytes))
            };
            let pages: Vec<_> =
                how.pages(cluster, local.clone())?.into_iter().map(stored).collect();
            how.append(&self.ntuple.schema, cluster, local, &pages, &mut codecs, &mut array)?;
        }
        Ok(array)
    }
}

/// One entry as text: `[1, 2]`, `{x: 1}`, `"text"`, `null`.
pub fn shown(array: &Array, row: usize) -> String {
    let span = |offsets: &[i64]| offsets[row] as usize..offsets[row + 1] as usize;
    let list = |content: &Array, rows: Range<usize>| {
        let items: Vec<String> = rows.map(|row| shown(content, row)).collect();
        format!("[{}]", items.join(", "))
    };
    match array {
        Array::Numbers { numbers, shape } => match shape.split_first() {
            None => number(numbers, row),
            Some((length, inner)) => {
                let inner = Array::Numbers { numbers: numbers.clone(), shape: inner.to_vec() };
                list(&inner, row * length..(row + 1) * length)
            }
        },
        Array::List { offsets, content } => list(content, span(offsets)),
        Array::Strings { offsets, bytes } => {
            format!("{:?}", String::from_utf8_lossy(&bytes[span(offsets)]))
        }
        Array::Record { fields, .. } => {
            let show = |(name, field): &(String, Array)| format!("{name}: {}", shown(field, row));
            format!("{{{}}}", fields.iter().map(show).collect::<Vec<_>>().join(", "))
        }
        Array::Regular { length, content, .. } => list(content, row * length..(row + 1) * length),
        Array::Option { index, content } => match usize::try_from(index[row]) {
            Ok(row) => shown(content, row),
            Err(_) => "null".to_owned(),
        },
        Array::Union { tags, index, contents } => match usize::try_from(tags[row]) {
            Ok(tag) => shown(&contents[tag], index[row] as usize),
            Err(_) => "null".to_owned(),
        },
        Array::WithParameter { content, .. } => shown(content, row),
    }
}

fn number(numbers: &Numbers, row: usize) -> String {
    match numbers {
        Numbers::Bool(all) => (all[row] != 0).to_string(),
        Numbers::I8(all) => all[row].to_string(),
        Numbers::I16(all) => all[row].to_string(),
        Numbers::I32(all) => all[row].to_string(),
        Numbers::I64(all) => all[row].to_string(),
        Numbers::U8(all) => all[row].to_string(),
        Numbers::U16(all) => all[row].to_string(),
        Numbers::U32(all) => all[row].to_string(),
        Numbers::U64(all) => all[row].to_string(),
        Numbers::F32(all) => all[row].to_string(),
        Numbers::F64(all) => all[row].to_string(),
    }
}
