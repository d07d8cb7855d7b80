//! Clusters of RNTuples of which some entries are taken.
//!
//! A thread takes the entries of fields at the top out of a cluster, once all pages of these fields
//! have been read. When that is done for all clusters that become one cluster of the output, from
//! one input or several, threads encode the taken entries, some fields at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use rootfile::write::copy::{BlockNumbers, NTuplePart, TakenField};

/// Bytes of taken entries that a thread encodes at a time, about.
const ENCODED_BYTES: usize = 4 << 20;

/// The clusters of an output's present input of which some pages have been read.
#[derive(Default)]
pub struct OpenClusters {
    open: BTreeMap<usize, OpenCluster>,
    /// By cluster of the output, the number of its inputs' clusters whose pages are all read.
    whole: BTreeMap<usize, usize>,
}

struct OpenCluster {
    /// By place.
    pages: BTreeMap<usize, Bytes>,
    /// Fields at the top of which pages are lacking, with the places of all their pages.
    fields: Vec<(u32, Vec<usize>)>,
}

/// A page that has been read: its cluster, its place there, and its bytes.
pub struct ArrivedPage {
    pub place: BlockNumbers,
    pub bytes: Bytes,
}

/// Fields of a cluster that have all their pages.
pub struct WholeFields {
    pub cluster: usize,
    pub fields: Vec<u32>,
    pub pages: BTreeMap<usize, Bytes>,
    /// Approximate bytes of their taken entries once decoded.
    pub decoded_bytes: u64,
    /// The cluster of the output that its entries go to.
    pub group: usize,
    /// Whether they are the last fields for that cluster.
    pub is_last: bool,
}

/// The entries taken for a cluster of the output.
pub struct TakenFields {
    /// By field at the top, each with the number of its cluster among those of all inputs.
    fields: BTreeMap<u32, Vec<(usize, TakenField)>>,
    /// The part of one of the inputs that the entries come from; all have the same schema.
    pub part: Arc<NTuplePart>,
}

impl OpenClusters {
    /// Adds pages; returns the fields that now have all their pages.
    pub fn add(&mut self, part: &NTuplePart, pages: Vec<ArrivedPage>) -> Vec<WholeFields> {
        let mut touched = BTreeSet::new();
        for ArrivedPage { place, bytes } in pages {
            let cluster = place.owner;
            let open = self.open.entry(cluster).or_insert_with(|| OpenCluster {
                pages: BTreeMap::new(),
                fields: part.fields(cluster),
            });
            open.pages.insert(place.number, bytes);
            touched.insert(cluster);
        }
        touched.into_iter().filter_map(|cluster| self.whole_fields(part, cluster)).collect()
    }

    /// The first cluster that lacks pages, counted in its input.
    pub fn incomplete(&self) -> Option<usize> {
        self.open.keys().next().copied()
    }

    fn whole_fields(&mut self, part: &NTuplePart, cluster: usize) -> Option<WholeFields> {
        let group = part.group(cluster)?;
        let OpenCluster { pages, fields } = self.open.get_mut(&cluster)?;
        let is_whole = |(_, places): &mut (u32, Vec<usize>)| {
            places.iter().all(|place| pages.contains_key(place))
        };
        let whole: Vec<(u32, Vec<usize>)> = fields.extract_if(.., is_whole).collect();
        if whole.is_empty() {
            return None;
        }
        let lent = whole.iter().flat_map(|(_, places)| places);
        let lent = lent.filter_map(|place| Some((*place, pages.get(place)?.clone()))).collect();
        // Several columns may share a page.
        let still: BTreeSet<usize> = fields.iter().flat_map(|(_, all)| all.clone()).collect();
        pages.retain(|place, _| still.contains(place));
        let mut is_last = false;
        if fields.is_empty() {
            self.open.remove(&cluster);
            let whole = self.whole.entry(group).or_default();
            *whole += 1;
            is_last = part.joined(group) == Some(*whole);
        }
        let fields: Vec<u32> = whole.into_iter().map(|(field, _)| field).collect();
        let decoded_bytes = part.decoded_bytes(cluster, &fields);
        Some(WholeFields { cluster, fields, pages: lent, decoded_bytes, group, is_last })
    }
}

impl TakenFields {
    pub fn new(part: Arc<NTuplePart>) -> TakenFields {
        TakenFields { fields: BTreeMap::new(), part }
    }

    /// Adds entries taken out of a cluster; `cluster` is its number among those of all inputs.
    pub fn add(&mut self, cluster: usize, fields: Vec<TakenField>) {
        for field in fields {
            self.fields.entry(field.field()).or_default().push((cluster, field));
        }
    }

    /// Parts for one thread each, and their bytes: the taken entries of some fields, of each field
    /// in the order of the clusters.
    pub fn parts(self) -> Vec<(Vec<Vec<TakenField>>, usize)> {
        let mut parts: Vec<(Vec<Vec<TakenField>>, usize)> = Vec::new();
        for mut taken in self.fields.into_values() {
            taken.sort_by_key(|(cluster, _)| *cluster);
            let taken: Vec<TakenField> = taken.into_iter().map(|(_, field)| field).collect();
            let more: usize = taken.iter().map(TakenField::bytes).sum();
            match parts.last_mut() {
                Some((part, bytes)) if *bytes < ENCODED_BYTES => {
                    part.push(taken);
                    *bytes += more;
                }
                _ => parts.push((vec![taken], more)),
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_without_some_pages_is_incomplete() {
        let mut clusters = OpenClusters::default();
        assert_eq!(clusters.incomplete(), None);
        let open = OpenCluster { pages: BTreeMap::new(), fields: vec![(0, vec![4])] };
        clusters.open.insert(3, open);
        assert_eq!(clusters.incomplete(), Some(3));
    }
}
