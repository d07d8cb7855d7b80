//! Trees: the numbers of branches about their baskets, and the baskets.

use bytes::Bytes;

use super::Check;
use crate::codec::Codecs;
use crate::key::Key;
use crate::tree::basket::Basket;
use crate::tree::{BasketRef, Branch, BranchKind, Tree};

/// Sums over the baskets of a branch.
#[derive(Default)]
struct Sum {
    total: u64,
    zip: u64,
    /// The largest number, where the branch holds counts.
    count_max: Option<i64>,
}

impl Check<'_> {
    pub(super) fn tree(&mut self, path: &str, key: &Key) {
        let Some(tree) = self.done(key.offset, self.file.tree(self.known, path)) else { return };
        let mut codecs = Codecs::default();
        let counts = counts(&tree);
        for (at, branch) in tree.branches.iter().enumerate() {
            let path = format!("{path}:{}", branch.name);
            let sum = self.branch(&path, key, branch, counts[at], &mut codecs);
            let leaf = branch.leaves.first().map_or(0, |leaf| leaf.maximum);
            if sum.count_max.is_some_and(|max| max > leaf) {
                let max = sum.count_max.unwrap_or_default();
                self.broken(key.offset, format!("{path}: a count of {max}, its leaf says {leaf}"));
            }
            if branch.entries > tree.entries {
                let here = branch.entries;
                let there = tree.entries;
                self.unusual(key.offset, format!("{path}: {here} entries in a tree of {there}"));
            }
        }
        let starts = &tree.cluster_starts;
        if starts.windows(2).any(|pair| pair[0] >= pair[1])
            || starts.last().is_some_and(|last| *last > 0 && *last >= tree.entries)
        {
            self.unusual(key.offset, format!("{path}: clusters at {starts:?} of {}", tree.entries));
        }
    }

    fn branch(
        &mut self,
        path: &str,
        tree: &Key,
        branch: &Branch,
        is_count: bool,
        codecs: &mut Codecs,
    ) -> Sum {
        let mut sum = Sum { count_max: is_count.then_some(i64::MIN), ..Sum::default() };
        if !branch.file_name.is_empty() {
            return sum;
        }
        let mut next = branch.first_entry;
        for basket in &branch.baskets {
            if basket.entries.start != next || basket.entries.end < next {
                let entries = &basket.entries;
                self.broken(tree.offset, format!("{path}: a basket of {entries:?} behind {next}"));
            }
            next = basket.entries.end;
            self.basket(path, branch, basket, &mut sum, codecs);
        }
        let has_data = branch.kind == BranchKind::Plain && branch.children.is_empty();
        if has_data && branch.baskets.is_empty() && branch.entries > 0 {
            self.broken(tree.offset, format!("{path}: {} entries, no baskets", branch.entries));
        }
        if !branch.baskets.is_empty() && next != branch.first_entry.saturating_add(branch.entries) {
            let entries = branch.entries;
            self.broken(tree.offset, format!("{path}: baskets up to {next} of {entries} entries"));
        }
        let all_stored = branch.baskets.iter().all(|basket| basket.place.stored().is_some());
        let said = (branch.total_bytes, branch.zip_bytes);
        if all_stored && !branch.baskets.is_empty() && said != (sum.total, sum.zip) {
            let sums = (sum.total, sum.zip);
            self.unusual(
                tree.offset,
                format!("{path}: (fTotBytes, fZipBytes) {said:?}, are {sums:?}"),
            );
        }
        sum
    }

    fn basket(
        &mut self,
        path: &str,
        branch: &Branch,
        basket: &BasketRef,
        sum: &mut Sum,
        codecs: &mut Codecs,
    ) {
        let mut record = Bytes::new();
        if let Some(range) = basket.place.stored() {
            let len = range.end.saturating_sub(range.start);
            let Some(key) = self.uses(range.start, len, "TBasket", range.start) else { return };
            if key.name != branch.name {
                self.unusual(key.offset, format!("{path}: a basket of \"{}\"", key.name));
            }
            sum.total += key.content_len + key.key_len;
            sum.zip += key.record_len;
            record = self.record_of(&key).unwrap_or_default();
        }
        let offset = basket.place.stored().map_or(0, |range| range.start);
        let read = match Basket::read(basket, &record, codecs) {
            Ok(read) => read,
            Err(error) => return self.failed(offset, &error, format!("{path}: {error}")),
        };
        if let Some(max) = &mut sum.count_max {
            let size = read.data.len().checked_div(read.entries).unwrap_or(0);
            *max = (*max).max(largest(read.data, size));
        }
        let has_offsets = read.entry_offsets.is_some();
        let of_objects = branch.leaves.is_empty();
        if has_offsets && branch.entry_offset_len == 0 && !of_objects {
            self.unusual(offset, format!("{path}: entry offsets in a branch of fEntryOffsetLen 0"));
        }
    }
}

/// Whether each branch is nothing but counts of another one's entries.
fn counts(tree: &Tree) -> Vec<bool> {
    let mut counts = vec![false; tree.branches.len()];
    for leaf in tree.branches.iter().flat_map(|branch| &branch.leaves) {
        let Some((branch, _)) = leaf.count else { continue };
        let at = branch.0 as usize;
        let is_plain = |branch: &Branch| {
            let only = branch.leaves.len() == 1 && branch.leaves[0].len == 1;
            branch.kind == BranchKind::Plain && only
        };
        if tree.branches.get(at).is_some_and(is_plain) {
            counts[at] = true;
        }
    }
    counts
}

/// The largest of signed numbers of so many bytes.
fn largest(data: &[u8], size: usize) -> i64 {
    if !matches!(size, 1 | 2 | 4 | 8) {
        return i64::MIN;
    }
    let number = |bytes: &[u8]| {
        let mut whole = if bytes[0] < 0x80 { [0; 8] } else { [0xff; 8] };
        whole[8 - size..].copy_from_slice(bytes);
        i64::from_be_bytes(whole)
    };
    data.chunks_exact(size).map(number).max().unwrap_or(i64::MIN)
}
