//! Clusters of the output: each copied cluster becomes one; clusters of which only some entries are
//! taken are joined, also across inputs.

use std::ops::Range;

use super::part::ClusterPart;
use crate::ntuple::Schema;

/// Approximate bytes of taken entries that become one cluster of the output: as stored in the
/// inputs, and decoded.
const STORED_BYTES: u64 = 32 << 20;
const DECODED_BYTES: u64 = 128 << 20;

/// The clusters of one input that become a cluster of the output, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputGroup {
    /// The number of the output's cluster.
    pub number: usize,
    pub clusters: Range<usize>,
    /// Whether clusters of further inputs may join it.
    pub is_open: bool,
}

/// The clusters of the output so far.
#[derive(Debug, Default)]
pub struct Groups {
    count: usize,
    /// Clusters of the inputs so far.
    clusters: usize,
    /// The last cluster, while more may join it.
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    /// The position of the inputs' schema among all schemas.
    schema: usize,
    /// Suppressed columns: the clusters have other representations of their fields.
    suppressed: Vec<usize>,
    stored_bytes: u64,
    decoded_bytes: u64,
}

impl Groups {
    /// Number of clusters of the inputs so far.
    pub fn clusters(&self) -> usize {
        self.clusters
    }

    /// Groups of the clusters of the next input; `at` is the position of its schema.
    pub fn add(&mut self, at: usize, schema: &Schema, clusters: &[ClusterPart]) -> Vec<InputGroup> {
        // Missing elements of such columns are zeros at the beginning of a cluster.
        let has_late = schema.columns.iter().any(|column| column.deferred);
        if has_late && !clusters.is_empty() {
            self.open = None;
        }
        self.clusters += clusters.len();
        let mut groups: Vec<InputGroup> = Vec::new();
        for (number, cluster) in clusters.iter().enumerate() {
            let open = self.open.take().filter(|open| open.takes(at, cluster));
            match (&open, groups.last_mut()) {
                (Some(_), Some(group)) => group.clusters.end = number + 1,
                _ => {
                    self.count += usize::from(open.is_none());
                    let clusters = number..number + 1;
                    groups.push(InputGroup { number: self.count - 1, clusters, is_open: false });
                }
            }
            let open = open.or_else(|| cluster.kept.is_some().then(|| Open::new(at, cluster)));
            self.open = open.and_then(|open| open.with(cluster));
        }
        if has_late && !clusters.is_empty() {
            self.open = None;
        }
        if let Some(last) = groups.last_mut() {
            last.is_open = self.open.is_some();
        }
        groups
    }
}

impl Open {
    fn new(schema: usize, first: &ClusterPart) -> Open {
        let suppressed = first.suppressed().collect();
        Open { schema, suppressed, stored_bytes: 0, decoded_bytes: 0 }
    }

    /// Whether the entries taken out of a cluster can be joined to earlier ones.
    fn takes(&self, schema: usize, cluster: &ClusterPart) -> bool {
        let is_like = || cluster.suppressed().eq(self.suppressed.iter().copied());
        cluster.kept.is_some() && schema == self.schema && is_like()
    }

    /// Adds the entries taken out of a cluster; `None` once the output's cluster is full.
    fn with(mut self, cluster: &ClusterPart) -> Option<Open> {
        self.stored_bytes = self.stored_bytes.saturating_add(cluster.taken_stored_bytes());
        self.decoded_bytes = self.decoded_bytes.saturating_add(cluster.taken_decoded_bytes());
        (self.stored_bytes < STORED_BYTES && self.decoded_bytes < DECODED_BYTES).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::part::ColumnPart;
    use super::*;
    use crate::ntuple::Column;

    /// A cluster of 100 entries, of which `taken` are taken.
    fn cluster(taken: u64, element_len: u64) -> ClusterPart {
        let pages = vec![(100, 0)];
        let compression = 505;
        let suppressed = element_len == 0;
        let column = ColumnPart { pages, element_len, compression, suppressed };
        let mut cluster = ClusterPart::made(100, vec![column]);
        cluster.kept = (taken < 100).then(|| vec![0..taken]);
        cluster.entries = 0..taken;
        cluster
    }

    fn grouped(groups: &mut Groups, schema: usize, clusters: &[ClusterPart]) -> Vec<InputGroup> {
        groups.add(schema, &Schema::default(), clusters)
    }

    fn group(number: usize, clusters: Range<usize>, is_open: bool) -> InputGroup {
        InputGroup { number, clusters, is_open }
    }

    #[test]
    fn taken_entries_are_joined_across_inputs() {
        let mut all = Groups::default();
        let taken = cluster(3, 8);
        let copied = cluster(100, 8);
        let one = [taken.clone(), taken.clone()];
        assert_eq!(grouped(&mut all, 0, &one), [group(0, 0..2, true)]);
        assert_eq!(grouped(&mut all, 0, &[]), []);
        let two = [taken.clone(), copied.clone(), taken.clone()];
        let of_two = [group(0, 0..1, false), group(1, 1..2, false), group(2, 2..3, true)];
        assert_eq!(grouped(&mut all, 0, &two), of_two);
        assert_eq!(grouped(&mut all, 1, &one), [group(3, 0..2, true)], "another schema");
        let other = [cluster(3, 0)];
        assert_eq!(grouped(&mut all, 1, &other), [group(4, 0..1, true)], "others suppressed");
        assert_eq!(grouped(&mut all, 1, &[copied]), [group(5, 0..1, false)]);
    }

    #[test]
    fn a_cluster_ends_where_its_entries_are_many_once_decoded() {
        let mut all = Groups::default();
        let half = cluster(50, 1 << 20);
        let clusters = vec![half; 5];
        let ends = [group(0, 0..3, false), group(1, 3..5, true)];
        assert_eq!(grouped(&mut all, 0, &clusters), ends);
    }

    #[test]
    fn columns_that_were_added_late_are_not_joined_across_inputs() {
        let mut all = Groups::default();
        let late =
            Column { kind: 0, bits: 1, field: 0, representation: 0, deferred: true, range: None };
        let mut schema = Schema::default();
        schema.columns.push(late);
        let clusters = [cluster(3, 8), cluster(3, 8)];
        for number in 0..2 {
            assert_eq!(all.add(0, &schema, &clusters), [group(number, 0..2, false)]);
        }
    }
}
