//! Cases that no small file shows.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use twox_hash::XxHash3_64;

use super::{RNTupleOptions, RNTupleWriter};
use crate::array::{Array, Numbers};
use crate::known::{Known, Progress};
use crate::ntuple::anchor::CLASS;
use crate::ntuple::{Anchor, Cluster, RNTuple};
use crate::write::buffer::Buffer;
use crate::write::compression::Encoders;
use crate::write::schema::{EntryType, TableColumn};
use crate::write::table::{RecordPlace, TableWriter};

fn numbers(entries: Range<u64>) -> Arc<Array> {
    Arc::new(Array::Numbers { numbers: Numbers::U64(entries.collect()), shape: vec![] })
}

/// The metadata of an RNTuple of one column whose first record is at `start`, and all bytes.
fn placed_at(start: u64, options: RNTupleOptions, entries: u64) -> (RNTuple, Vec<Cluster>, Bytes) {
    let entry = EntryType::of(&numbers(0..0)).unwrap();
    let columns = vec![TableColumn { name: "x".into(), title: String::new(), entry }];
    let mut writer = RNTupleWriter::new(columns, options).unwrap();
    writer.named("events");
    writer.extend(vec![numbers(0..entries)]).unwrap();
    writer.close();
    let mut encoders = Encoders::default();
    let mut bytes = Vec::new();
    let place = |bytes: &Vec<u8>| RecordPlace {
        offset: start + bytes.len() as u64,
        directory: 100,
        datime: 0,
    };
    while let Some(work) = writer.poll_work() {
        let encoded = work.encode.encode(&mut encoders).unwrap();
        let at = place(&bytes);
        writer.place(encoded, at).unwrap().iter().for_each(|part| bytes.extend_from_slice(part));
    }
    let finished = writer.finish(place(&bytes), &mut encoders).unwrap();
    bytes.extend(finished.records);
    let mut anchor = Buffer::default();
    finished.object.write(&mut anchor);
    let anchor = Anchor::read(CLASS, &anchor.into_vec().into(), 0).unwrap();
    let bytes = Bytes::from(bytes);
    let mut known = Known::new(Some(start + bytes.len() as u64));
    known.supply(start, bytes.clone());
    let ready = |progress| match progress {
        Progress::Ready(ntuple) => ntuple,
        Progress::NeedsData(needs) => panic!("all is there: {needs:?}"),
    };
    let ntuple = ready(RNTuple::read(&known, anchor).unwrap());
    match ntuple.clusters(&known, 0..ntuple.groups.len()).unwrap() {
        Progress::Ready(clusters) => (ntuple, clusters, bytes),
        Progress::NeedsData(needs) => panic!("all is there: {needs:?}"),
    }
}

#[test]
fn pages_far_behind_four_gigabytes() {
    let start = 7 << 40;
    let options = RNTupleOptions { cluster_bytes: 800, page_bytes: 240, ..Default::default() };
    let (ntuple, clusters, bytes) = placed_at(start, options, 1000);
    assert_eq!((ntuple.entries, clusters.len()), (1000, 10));
    assert_eq!(ntuple.schema.name, "events");
    for page in clusters.iter().flat_map(|cluster| &cluster.columns[0].pages) {
        let range = (page.range.start - start) as usize..(page.range.end - start) as usize;
        let (stored, checksum) = bytes[range].split_last_chunk::<8>().unwrap();
        assert_eq!(u64::from_le_bytes(*checksum), XxHash3_64::oneshot(stored));
        assert_eq!((page.elements, page.checksum), (25, true));
    }
}

/// A number of entries per cluster was taken for trees only.
#[test]
fn clusters_of_so_many_entries() {
    for (entries, expected) in [(1, 1000), (7, 143), (250, 4), (1000, 1), (u64::MAX, 1)] {
        let options = RNTupleOptions { cluster_entries: Some(entries), ..Default::default() };
        let (ntuple, clusters, _) = placed_at(100, options, 1000);
        assert_eq!((ntuple.entries, clusters.len()), (1000, expected));
        let is_full = |range: &Range<u64>| range.end - range.start == entries;
        assert!(clusters.iter().rev().skip(1).all(|cluster| is_full(&cluster.entries)));
    }
}

/// A reader fetches a page list as a whole, so that none may be very long.
#[test]
fn many_clusters_have_several_page_lists() {
    let options = RNTupleOptions { cluster_bytes: 1, checksums: false, ..Default::default() };
    let (ntuple, clusters, _) = placed_at(100, options, 9001);
    let groups: Vec<u32> = ntuple.groups.iter().map(|group| group.clusters).collect();
    assert_eq!((groups, clusters.len()), (vec![4000, 4000, 1001], 9001));
    assert_eq!(clusters[8500].entries, 8500..8501);
}

#[test]
fn records_that_cannot_be_are_refused() {
    for max_key_size in [0, 63, 1 << 31] {
        let options = RNTupleOptions { max_key_size, ..Default::default() };
        assert!(RNTupleWriter::new(vec![], options).is_err(), "{max_key_size}");
    }
}
