//! RNTuples: header, footer, page lists, pages, the arrays that they make, and entries that are
//! taken out of them.
//!
//! Checksums would refuse every mutation before it is looked at. So an input is the content of
//! three envelopes (how much longer than the envelopes a record may be, or zero for no limit, and
//! two lengths of two bytes, then header, footer and page list), and is sealed here; behind it lies
//! a good file, for the pages that the page list names.

use std::collections::BTreeMap;

use bytes::Bytes;
use rootfile::ntuple::{
    Anchor, Cluster, EnvelopeLink, FieldInterpretation, Names, PageUse, RNTuple,
};
use rootfile::tree::ClassTable;
use rootfile::write::copy::{CopiedNTuple, KeptEntries, SourceNTuple, Survivors};
use rootfile::write::{Compression, Encoders};
use rootfile::{Codecs, File, Known, block};
use twox_hash::XxHash3_64;

use super::{Input, all_there};
use crate::Target;

pub const TARGET: Target = Target {
    name: "ntuple",
    run,
    seeds,
    rounds: 3_000,
    // Entries from before a column was added have zeros in place of pages.
    memory: (64 << 20, 256),
};

const FILE: &[u8] = include_bytes!("../../../crates/rootfile/testdata/ntuple_fields.root");
const OTHER: &[u8] = include_bytes!("../../../crates/rootfile/testdata/ntuple_columns.root");
/// Where the envelopes are: behind the good file, each with room for the longest input.
const ROOM: u64 = 1 << 17;
const HEADER: u64 = 1 << 20;
const FOOTER: u64 = HEADER + ROOM;
const PAGE_LIST: u64 = FOOTER + ROOM;
const END: u64 = PAGE_LIST + ROOM;
/// More of each only takes longer.
const FIELDS_MAX: usize = 100;
const CLUSTERS_MAX: usize = 3;
const ELEMENTS_MAX: u64 = 1 << 20;

pub fn run(data: &[u8]) {
    look(data);
}

/// Looks at everything; how many entries of how many fields could be decoded.
fn look(data: &[u8]) -> usize {
    let mut input = Input::new(data);
    let longer = u64::from(input.byte());
    let mut length = || usize::from(u16::from_le_bytes([input.byte(), input.byte()]));
    let header = length();
    let footer = length();
    let rest = input.rest();
    let (header, rest) = rest.split_at(header.min(rest.len()));
    let (footer, page_list) = rest.split_at(footer.min(rest.len()));
    let page_list = &page_list[..page_list.len().min(usize::from(u16::MAX))];
    let (header, checksum) = sealed(1, header, None);
    let (footer, _) = sealed(2, footer, Some((8, checksum)));
    let (page_list, _) = sealed(3, page_list, Some((0, checksum)));
    let link = |at: u64, envelope: &[u8]| {
        let length = envelope.len() as u64;
        EnvelopeLink { range: at..at + length, length }
    };
    let longest = header.len().max(footer.len()).max(page_list.len()) as u64;
    let anchor = Anchor {
        version: [1, 0, 0, 0],
        header: link(HEADER, &header),
        footer: link(FOOTER, &footer),
        max_key_size: if longer == 0 { 0 } else { longest + longer },
    };
    let mut file = vec![0; END as usize];
    for (at, part) in [(0, FILE), (HEADER, &header), (FOOTER, &footer), (PAGE_LIST, &page_list)] {
        file[at as usize..][..part.len()].copy_from_slice(part);
    }
    let mut known = Known::new(Some(END));
    known.supply(0, file.into());
    taken(&known, anchor.clone());
    all_there(RNTuple::read(&known, anchor)).map_or(0, |ntuple| entries(&known, &ntuple))
}

/// Takes entries out of clusters as a skim does; how many fields of clusters gave theirs.
fn taken(known: &Known, anchor: Anchor) -> usize {
    let Some(source) = all_there(SourceNTuple::of(known, anchor, "")) else { return 0 };
    let groups = 0..source.ntuple.groups.len();
    let clusters = all_there(source.ntuple.clusters(known, groups)).unwrap_or_default();
    let elements = |cluster: &Cluster| {
        let pages = cluster.columns.iter().flat_map(|column| &column.pages);
        pages.map(|page| u64::from(page.elements)).fold(0, u64::saturating_add)
    };
    if clusters.len() > CLUSTERS_MAX || clusters.iter().any(|one| elements(one) > ELEMENTS_MAX) {
        return 0;
    }
    let runs = (0..source.ntuple.entries.min(ELEMENTS_MAX / 3)).step_by(3).map(|at| at..at + 1);
    let survivors = Survivors::new(runs.collect());
    let taken = KeptEntries { survivors: Some(&survivors), new_columns: None };
    let Ok((_, part)) = CopiedNTuple::new(source, None, taken) else { return 0 };
    let mut pages: BTreeMap<usize, BTreeMap<usize, Bytes>> = BTreeMap::new();
    for (cluster, at, range) in part.places().filter(|(cluster, ..)| part.group(*cluster).is_some())
    {
        let page = known.get(range.clone()).unwrap_or_default();
        pages.entry(cluster).or_default().insert(at, page);
    }
    let mut codecs = Codecs::new();
    let mut encoders = Encoders::default();
    let mut seen = 0;
    for (cluster, pages) in &pages {
        for (field, _) in part.fields(*cluster).into_iter().take(FIELDS_MAX) {
            let Ok(taken) = part.take(*cluster, field, pages, &mut codecs) else { continue };
            seen +=
                usize::from(part.join(vec![vec![taken]], Compression::NONE, &mut encoders).is_ok());
        }
    }
    seen
}

fn entries(known: &Known, ntuple: &RNTuple) -> usize {
    let Some(clusters) = all_there(ntuple.clusters(known, 0..ntuple.groups.len())) else {
        return 0;
    };
    let names = Names::new(&ntuple.schema);
    let classes = ClassTable::default();
    let mut codecs = Codecs::default();
    let mut seen = 0;
    for named in names.all().iter().take(FIELDS_MAX) {
        let how = FieldInterpretation::of(&ntuple.schema, &names, &classes, named.field);
        let Ok(how) = how else { continue };
        for cluster in clusters.iter().take(CLUSTERS_MAX) {
            let entries = cluster.entries.end - cluster.entries.start;
            if how.decoded_bytes(&ntuple.schema, cluster) > ELEMENTS_MAX || entries > ELEMENTS_MAX {
                continue;
            }
            if let Ok(runs) = how.stretches(cluster, &[0..entries / 3, entries / 2..entries]) {
                runs.iter().for_each(|run| assert!(run.end <= entries));
            }
            let Ok(pages) = how.pages(cluster, 0..entries) else { continue };
            let stored = |page: PageUse| {
                let mut whole = Vec::new();
                for piece in page.page.pieces() {
                    whole.extend_from_slice(&known.get(piece.clone())?);
                }
                Some((page, Bytes::from(whole)))
            };
            let stored: Option<Vec<_>> = pages.into_iter().map(stored).collect();
            let Some(stored) = stored else { continue };
            let mut array = how.empty();
            how.reserve(stored.iter().map(|(page, _)| page), &mut array);
            let schema = &ntuple.schema;
            if how.append(schema, cluster, 0..entries, &stored, &mut codecs, &mut array).is_ok() {
                assert_eq!(array.len() as u64, entries, "an array of another length");
                seen += array.len();
            }
        }
    }
    seen
}

/// An envelope around some content, and its checksum; the header's goes where the content says
/// which header it belongs to.
fn sealed(kind: u64, content: &[u8], belongs: Option<(usize, u64)>) -> (Vec<u8>, u64) {
    let length = content.len() as u64 + 16;
    let mut bytes = (kind | length << 16).to_le_bytes().to_vec();
    bytes.extend(content);
    if let Some((at, checksum)) = belongs
        && let Some(place) = bytes[8..].get_mut(at..at + 8)
    {
        place.copy_from_slice(&checksum.to_le_bytes());
    }
    let checksum = XxHash3_64::oneshot(&bytes);
    bytes.extend(checksum.to_le_bytes());
    (bytes, checksum)
}

/// The content of the envelopes of good files. The footer names the place of the page list that
/// will be sealed; where there are more, these are the good file's.
fn seeds() -> Vec<Vec<u8>> {
    [FILE, OTHER].map(seed).into()
}

fn seed(file: &[u8]) -> Vec<u8> {
    let mut known = Known::new(Some(file.len() as u64));
    known.supply(0, Bytes::copy_from_slice(file));
    let root = all_there(File::open(&known)).expect("a good file");
    let ntuple = all_there(root.ntuple(&known, "events")).expect("an RNTuple");
    let content = |link: &EnvelopeLink| {
        let stored = &file[link.range.start as usize..link.range.end as usize];
        let length = link.length as usize;
        let whole = match stored.len() == length {
            true => stored.to_vec(),
            false => block::decompress(&mut Codecs::default(), stored, length).expect("is good"),
        };
        whole[8..length - 8].to_vec()
    };
    let page_list = &ntuple.groups[0].page_list;
    let header = content(&ntuple.anchor.header);
    let mut footer = content(&ntuple.anchor.footer);
    // Uncompressed length, then size and place.
    let locator = |length: u64, range: std::ops::Range<u64>| {
        let size = (range.end - range.start) as u32;
        [&length.to_le_bytes()[..], &size.to_le_bytes(), &range.start.to_le_bytes()].concat()
    };
    let before = locator(page_list.length, page_list.range.clone());
    let after = locator(page_list.length, PAGE_LIST..PAGE_LIST + page_list.length);
    let at = footer.windows(20).position(|bytes| bytes == before).expect("the first group");
    footer[at..at + 20].copy_from_slice(&after);
    let lengths = [header.len(), footer.len()].map(|length| (length as u16).to_le_bytes());
    [&[0][..], &lengths.concat(), &header, &footer, &content(page_list)].concat()
}

#[test]
fn the_seeds_are_good() {
    let seen: Vec<usize> = seeds().iter().map(|seed| look(seed)).collect();
    assert!(seen[0] > 30 * 120, "{seen:?}");
}
