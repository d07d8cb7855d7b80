//! Baskets of a branch that an input lacks: zeros, empty texts and empty lists.

use std::ops::Range;

use super::plan::{ClusterRun, cluster_ends};
use crate::error::{Error, Result};
use crate::tree::{Branch, BranchId, BranchKind, Leaf, LeafKind};
use crate::write::basket_key::{self, BasketFields};
use crate::write::compression::{Compression, Encoders};
use crate::write::key::KeyHead;
use crate::write::table::RecordPlace;
use crate::write::tree::EMPTY_VECTOR;

/// Bytes of a basket before compression, about: clusters are joined up to this.
const BASKET_BYTES: u64 = 256 << 10;
/// Maximum bytes of a basket before compression, which its key counts in 31 bits.
const BASKET_BYTES_MAX: u64 = i32::MAX as u64;
/// Maximum bytes of all such baskets of an input before compression.
const FILLED_BYTES_MAX: u64 = 1 << 40;
/// Bytes before compression of one of ROOT's blocks, and the fewest of its header.
const BLOCK_BYTES_MAX: u64 = 1 << 24;
const BLOCK_HEADER_LEN: u64 = 9;
/// Bytes of the offset of an entry.
const OFFSET_BYTES: u64 = 4;
/// An empty text: its length of one byte.
const EMPTY_TEXT: &[u8] = &[0];
/// How the names of collections begin.
const COLLECTIONS: [&str; 12] = [
    "vector<",
    "list<",
    "deque<",
    "set<",
    "multiset<",
    "map<",
    "multimap<",
    "forward_list<",
    "unordered_set<",
    "unordered_multiset<",
    "unordered_map<",
    "unordered_multimap<",
];

/// Content of an entry that an input lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Filling {
    /// Nothing: the branches within have all content.
    Nothing,
    /// The same bytes for each entry.
    Same { entry: Vec<u8>, has_offsets: bool },
    /// Zeros of which an entry has as many as another branch of its tree counts, behind `fixed`.
    Counted { fixed: usize, item: usize, counter: BranchId },
}

/// A basket that is made up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledBasket {
    pub branch: usize,
    /// Counted in the input's tree.
    pub entries: Range<u64>,
}

impl Filling {
    /// The filling for entries of a branch.
    ///
    /// # Errors
    /// `Unsupported` for objects, and for numbers that are stored in a range of their own; `Limit`
    /// for entries that are longer than a basket.
    pub fn of(branch: &Branch) -> Result<Filling> {
        let has_offsets = branch.offset_len_of_further() != 0;
        let same = |entry: &[u8]| Ok(Filling::Same { entry: entry.to_vec(), has_offsets });
        let refused = |subject: &str| {
            let text = format!("{subject}: what stands for entries that are lacking is not known");
            Err(Error::unsupported(text))
        };
        match (&branch.kind, &branch.leaves[..]) {
            (BranchKind::Plain, [Leaf { kind: LeafKind::Chars, .. }]) => same(EMPTY_TEXT),
            (BranchKind::Plain, leaves) => Filling::of_leaves(leaves, has_offsets),
            // How many objects a split collection has, and a member of them.
            (BranchKind::Element { branch_type: 3 | 4, .. }, _) => same(&[0; 4]),
            (BranchKind::Element { branch_type: 31 | 41, .. }, _) => same(&[]),
            _ if branch.baskets.is_empty() && !branch.children.is_empty() => Ok(Filling::Nothing),
            (BranchKind::Element { class_name, id, branch_type, streamer_type, .. }, leaves) => {
                let len = leaves.first().map_or(1, |leaf| leaf.len.max(1) as usize);
                match (branch_type, streamer_type) {
                    (0, -1) if *id < 0 && is_collection(class_name) => same(&EMPTY_VECTOR),
                    (0, -1) if *id < 0 && is_text(class_name) => same(EMPTY_TEXT),
                    (_, 300 | 500) if len == 1 => same(&EMPTY_VECTOR),
                    (_, 65 | 365) if len == 1 => same(EMPTY_TEXT),
                    (_, number) => match size_of_number(*number) {
                        Some(size) => same(&zeros(size * len)?),
                        None => refused(&format!("objects of class {class_name}")),
                    },
                }
            }
            _ => refused("objects"),
        }
    }

    fn of_leaves(leaves: &[Leaf], has_offsets: bool) -> Result<Filling> {
        let mut fixed = 0;
        let mut item = 0;
        let mut counter = None;
        for leaf in leaves {
            use LeafKind::{Bool, F32, F64, I8, I16, I32, I64};
            if !matches!(leaf.kind, Bool | F32 | F64 | I8 | I16 | I32 | I64) {
                let message =
                    format!("leaf {}: only plain numbers can be filled with zeros", leaf.name);
                return Err(Error::unsupported(message));
            }
            let bytes = leaf.len as usize * leaf.len_type as usize;
            match leaf.count {
                None => fixed += bytes,
                Some((branch, _)) if counter.is_none_or(|counter| counter == branch) => {
                    item += bytes;
                    counter = Some(branch);
                }
                Some(_) => return Err(Error::unsupported("leaves of several counters")),
            }
        }
        match counter {
            Some(counter) => Ok(Filling::Counted { fixed, item, counter }),
            None => Ok(Filling::Same { entry: zeros(fixed)?, has_offsets }),
        }
    }

    /// The filling where the input lacks the counter, too.
    pub fn without_items(self) -> Filling {
        match self {
            Filling::Counted { fixed, .. } => {
                Filling::Same { entry: vec![0; fixed], has_offsets: true }
            }
            other => other,
        }
    }

    /// Bytes of an entry, with its offset; `counts` are of all entries where there is a counter.
    /// An entry without bytes counts as one, so that a basket has not just any number of these.
    fn entry_len(&self, counts: &[u64], entry: u64) -> u64 {
        match self {
            Filling::Nothing => 0,
            Filling::Same { entry, has_offsets } => {
                let len = entry.len() as u64 + if *has_offsets { OFFSET_BYTES } else { 0 };
                len.max(1)
            }
            Filling::Counted { fixed, item, .. } => {
                let count = counts.get(entry as usize).copied().unwrap_or(0);
                let items = count.saturating_mul(*item as u64);
                items.saturating_add(OFFSET_BYTES + *fixed as u64)
            }
        }
    }

    /// Bytes of some entries, with their offsets. Only those that were counted are looked at one by
    /// one: of others an input may claim any number.
    fn len(&self, entries: Range<u64>, counts: &[u64]) -> u64 {
        match self {
            Filling::Counted { .. } => {
                entries.fold(0, |len, at| self.entry_len(counts, at).saturating_add(len))
            }
            _ => self.entry_len(counts, 0).saturating_mul(entries.end - entries.start),
        }
    }

    /// The first of some entries that fit into a basket, at least one: the end of these and their
    /// bytes.
    fn first_basket(&self, entries: Range<u64>, counts: &[u64]) -> (u64, u64) {
        let first_len = self.entry_len(counts, entries.start);
        if !matches!(self, Filling::Counted { .. }) {
            let count = (BASKET_BYTES / first_len.max(1)).max(1);
            let count = count.min(entries.end - entries.start);
            return (entries.start + count, first_len.saturating_mul(count));
        }
        let mut len = first_len;
        for entry in entries.start + 1..entries.end {
            let more = self.entry_len(counts, entry).saturating_add(len);
            if more > BASKET_BYTES {
                return (entry, len);
            }
            len = more;
        }
        (entries.end, len)
    }

    /// Adds the bytes of all entries of an input to `bytes`, those of other branches.
    ///
    /// # Errors
    /// `Limit` for more than an input may lack.
    pub fn count_bytes(&self, entries: u64, counts: &[u64], bytes: &mut u64) -> Result<()> {
        *bytes = bytes.saturating_add(self.len(0..entries, counts));
        match *bytes {
            ..=FILLED_BYTES_MAX => Ok(()),
            _ => Err(Error::limit(format!("{entries} entries lack it: more than 1 TiB to fill"))),
        }
    }

    /// The entries of each basket: whole clusters, several small ones together, large ones divided.
    /// No baskets where the branches within have it all, as in the other inputs.
    pub fn baskets(&self, clusters: &[ClusterRun], counts: &[u64]) -> Vec<Range<u64>> {
        let mut all: Vec<Range<u64>> = Vec::new();
        if *self == Filling::Nothing {
            return all;
        }
        let mut open = 0..0;
        let mut open_len = 0u64;
        for end in cluster_ends(clusters) {
            let cluster = open.end..end;
            let len = self.len(cluster.clone(), counts);
            if open_len.saturating_add(len) > BASKET_BYTES && open.start < open.end {
                all.push(std::mem::replace(&mut open, cluster.start..cluster.start));
                open_len = 0;
            }
            if len <= BASKET_BYTES {
                (open.end, open_len) = (end, open_len + len);
                continue;
            }
            loop {
                (open.end, open_len) = self.first_basket(open.end..end, counts);
                if open.end == end {
                    break;
                }
                let behind = open.end..open.end;
                all.push(std::mem::replace(&mut open, behind));
            }
        }
        if open.start < open.end {
            all.push(open);
        }
        all
    }

    /// Appends entries and, where they can be of different lengths, their offsets; the bytes of the
    /// entries alone.
    fn write(
        &self,
        entries: Range<u64>,
        counts: &[u64],
        key_len: usize,
        to: &mut Vec<u8>,
    ) -> usize {
        let mut offsets = Vec::new();
        for at in entries {
            offsets.push((key_len + to.len()) as u32);
            match self {
                Filling::Nothing => {}
                Filling::Same { entry, .. } => to.extend_from_slice(entry),
                Filling::Counted { .. } => {
                    let len = self.entry_len(counts, at) - OFFSET_BYTES;
                    to.resize(to.len() + len as usize, 0);
                }
            }
        }
        let data_len = to.len();
        if self.has_offsets() {
            to.extend_from_slice(&(offsets.len() as u32 + 1).to_be_bytes());
            offsets.iter().for_each(|offset| to.extend_from_slice(&offset.to_be_bytes()));
            to.extend_from_slice(&[0; 4]);
        }
        data_len
    }

    fn has_offsets(&self) -> bool {
        match self {
            Filling::Nothing => false,
            Filling::Same { has_offsets, .. } => *has_offsets,
            Filling::Counted { .. } => true,
        }
    }

    /// A basket's record for a place, with a key that begins as `head`, and its bytes before
    /// compression, with those of the key.
    ///
    /// # Errors
    /// `Limit` for a basket that is too long; as [`Encoders::compress`].
    pub fn record(
        &self,
        head: &KeyHead,
        place: RecordPlace,
        entries: Range<u64>,
        counts: &[u64],
        compression: Compression,
        encoders: &mut Encoders,
    ) -> Result<(Vec<u8>, usize)> {
        check_len(self.len(entries.clone(), counts))?;
        let key_len = head.len(place.offset);
        let count = entries.end - entries.start;
        let mut content = Vec::new();
        let data_len = self.write(entries, counts, key_len, &mut content);
        let mut stored = Vec::new();
        encoders.compress(compression, &content, &mut stored)?;
        let fields = BasketFields {
            entries: count,
            data_len,
            content_len: content.len(),
            has_offsets: self.has_offsets(),
        };
        let mut record = basket_key::key(head, place, stored.len(), fields)?.into_vec();
        record.append(&mut stored);
        Ok((record, key_len + content.len()))
    }
}

/// Bytes before compression that so many stored ones can be, about.
pub(super) fn content_max(stored: u64) -> u64 {
    (stored / BLOCK_HEADER_LEN + 1).saturating_mul(BLOCK_BYTES_MAX)
}

/// # Errors
/// `Limit` for more bytes than a basket may have.
fn check_len(len: u64) -> Result<()> {
    match len <= BASKET_BYTES_MAX {
        true => Ok(()),
        false => Err(Error::limit(format!("entries that are lacking: a basket of {len} bytes"))),
    }
}

/// An entry of zeros.
///
/// # Errors
/// As [`check_len`].
fn zeros(len: usize) -> Result<Vec<u8>> {
    check_len(len as u64).map(|()| vec![0; len])
}

fn is_collection(class: &str) -> bool {
    let name = class.strip_prefix("std::").unwrap_or(class);
    COLLECTIONS.iter().any(|beginning| name.starts_with(beginning))
}

fn is_text(class: &str) -> bool {
    matches!(class, "string" | "std::string" | "TString")
}

/// Bytes of a number that a streamer element is, or each of an array of fixed length (20 more).
pub(super) fn size_of_number(streamer_type: i32) -> Option<usize> {
    match streamer_type % 20 {
        _ if !(1..40).contains(&streamer_type) => None,
        1 | 11 | 18 => Some(1),
        2 | 12 => Some(2),
        3 | 5 | 6 | 13 | 15 => Some(4),
        4 | 8 | 14 | 16 | 17 => Some(8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn small_clusters_are_joined_and_large_ones_divided() {
        let entry = vec![0; 1 << 10];
        let filling = Filling::Same { entry, has_offsets: false };
        let run = |entries, size| ClusterRun { entries, size };
        assert_eq!(filling.baskets(&[run(300, 100)], &[]), [0..200, 200..300]);
        assert_eq!(filling.baskets(&[run(300, 0)], &[]), [0..256, 256..300]);
        assert_eq!(filling.baskets(&[run(100, 100), run(120, 50)], &[]), [0..220]);
        assert_eq!(filling.baskets(&[], &[]), []);
        let counted = Filling::Counted { fixed: 0, item: 1, counter: BranchId(0) };
        let counts = [100 << 10, 100 << 10, 100 << 10, 300 << 10, 1];
        assert_eq!(counted.baskets(&[run(5, 5)], &counts), [0..2, 2..3, 3..4, 4..5]);
    }

    /// Regression: a damaged counter took memory for all the items that it counts.
    #[test]
    fn more_items_than_a_basket_holds_are_refused() {
        let filling = Filling::Counted { fixed: 0, item: 8, counter: BranchId(0) };
        for count in [i32::MAX as u64, u64::MAX] {
            let counts = [1, count, count, 1];
            let baskets = filling.baskets(&[ClusterRun { entries: 4, size: 4 }], &counts);
            assert_eq!(baskets, [0..1, 1..2, 2..3, 3..4]);
            let place = RecordPlace { offset: 0, directory: 0, datime: 0 };
            let head = basket_key::head("x", "t", 0, place);
            let mut encoders = Encoders::default();
            let mut record = |entries| {
                filling.record(&head, place, entries, &counts, Compression::NONE, &mut encoders)
            };
            let error = record(1..2).unwrap_err();
            assert!(matches!(error.kind, ErrorKind::Limit(_)), "{error:?}");
            assert!(record(3..4).is_ok());
        }
        assert!(zeros(usize::MAX).is_err());
    }

    /// Regression: entries were looked at one by one, of which a tree may claim any number, and
    /// those without bytes went into one basket. Nothing stopped an input from claiming 2^62.
    #[test]
    fn entries_cost_nothing_until_their_baskets_are_made() {
        let run = |entries| [ClusterRun { entries, size: 0 }];
        let float = Filling::Same { entry: vec![0; 4], has_offsets: false };
        let baskets = float.baskets(&run(1 << 36), &[]);
        assert_eq!((baskets.len(), &baskets[1]), (1 << 20, &(1 << 16..2 << 16)));
        let empty = Filling::Same { entry: Vec::new(), has_offsets: false };
        let many = empty.baskets(&run(3 << 18), &[]);
        assert_eq!(many, [0..1 << 18, 1 << 18..2 << 18, 2 << 18..3 << 18]);
        let mut bytes = 0;
        float.count_bytes(1 << 36, &[], &mut bytes).unwrap();
        assert_eq!(bytes, 1 << 38);
        for entries in [1 << 38, 1 << 62, u64::MAX] {
            let error = float.count_bytes(entries, &[], &mut bytes).unwrap_err();
            assert!(matches!(error.kind, ErrorKind::Limit(_)), "{error:?}");
        }
    }

    #[test]
    fn counted_items_are_as_many_as_their_counter_says() {
        let filling = Filling::Counted { fixed: 0, item: 4, counter: BranchId(0) };
        let mut content = Vec::new();
        assert_eq!(filling.write(1..4, &[9, 2, 0, 1], 50, &mut content), 12);
        let numbers: Vec<u8> =
            [4u32, 50, 58, 58, 0].into_iter().flat_map(u32::to_be_bytes).collect();
        assert_eq!(content, [&[0; 12], &numbers[..]].concat());
        content.clear();
        assert_eq!(filling.without_items().write(0..2, &[], 50, &mut content), 0);
        assert_eq!(content.len(), 16);
    }
}
