//! First entries of clusters (ROOT: `TTree::TClusterIterator`).
//!
//! A tree says the size of its clusters in ranges of entries, each with its last entry
//! (`fClusterRangeEnd`, inclusive) and its size (`fClusterSize`); behind the last range the size is
//! `fAutoFlush`. Sizes that are zero or negative say nothing (a negative `fAutoFlush` counts
//! bytes).

/// First entries of the clusters of a tree, ascending from 0; empty where the tree does not say.
///
/// There is a flush at the start of each cluster, so there can't be many more clusters than
/// `baskets_max`, the number of baskets of the branch that has most: where a corrupt size says so,
/// the answer is that the tree does not say.
pub(super) fn cluster_starts(
    entries: u64,
    ranges: &[(i64, i64)],
    auto_flush: i64,
    baskets_max: usize,
) -> Vec<u64> {
    let clusters_max = baskets_max.saturating_add(ranges.len()).saturating_add(1);
    let mut starts = Vec::new();
    let mut start = 0;
    let open_end = [(entries.saturating_sub(1), auto_flush)];
    let ranges = ranges.iter().filter_map(|(last, size)| Some((u64::try_from(*last).ok()?, *size)));
    for (last, size) in ranges.chain(open_end) {
        let end = last.saturating_add(1).min(entries);
        if end <= start {
            continue;
        }
        let step = match u64::try_from(size) {
            Ok(size) if size > 0 => size,
            _ if end == entries && starts.is_empty() => return Vec::new(),
            _ => end - start,
        };
        let count = (end - start).div_ceil(step);
        if count > (clusters_max - starts.len().min(clusters_max)) as u64 {
            return Vec::new();
        }
        starts.extend((0..count).map(|n| start + n * step));
        start = end;
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_all_clusters() {
        assert_eq!(cluster_starts(10, &[], 4, 3), [0, 4, 8]);
        assert_eq!(cluster_starts(8, &[], 4, 2), [0, 4]);
        assert_eq!(cluster_starts(0, &[], 4, 0), []);
    }

    #[test]
    fn a_tree_that_does_not_say() {
        assert_eq!(cluster_starts(10, &[], -30_000_000, 5), []);
        assert_eq!(cluster_starts(10, &[], 0, 5), []);
    }

    #[test]
    fn ranges_with_their_own_sizes() {
        // Entries 0 to 5 in clusters of 3, 6 to 9 in one of unknown size, then clusters of 5.
        let ranges = [(5, 3), (9, 0)];
        assert_eq!(cluster_starts(17, &ranges, 5, 5), [0, 3, 6, 10, 15]);
        assert_eq!(cluster_starts(8, &ranges, 5, 5), [0, 3, 6]);
    }

    #[test]
    fn sizes_that_cannot_be_take_no_memory() {
        assert_eq!(cluster_starts(u64::MAX, &[], 1, 100), []);
        assert_eq!(cluster_starts(1 << 40, &[(i64::MAX, 1), (-7, -7)], 1, 100), []);
        assert_eq!(cluster_starts(5, &[(-7, 3), (2, 3), (1, 3)], 1, 100), [0, 3, 4]);
    }
}
