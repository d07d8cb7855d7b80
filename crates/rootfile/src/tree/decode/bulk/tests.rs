//! In bulk or value by value, the same bytes are the same columns, or are refused.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::array::Number;
use crate::tree::Basket;
use crate::tree::interpret::Interpretation;
use crate::tree::interpret::layout::{Entry, Frame, List, Part, Record, Text, Version};
use crate::types::scalar::Scalar;

fn numbers(number: Number) -> Layout {
    Layout::number(number)
}

fn vector(item: Layout) -> Layout {
    Layout::List(List { frame: Frame::Own, parameter: None, item: Box::new(item) })
}

fn class(name: &str, version: i32, members: Vec<(&str, Layout)>) -> Record {
    let members = members.into_iter().map(|(name, layout)| (name.to_owned(), layout)).collect();
    let mut record = Record::of_members(Some(name.into()), members);
    let parts = record.versions[0].parts.clone();
    record.versions[0] = Version::new(version, 0, parts);
    record
}

/// `Hit { float x; short layer; vector<short> cells; string name; }`
fn hit() -> Record {
    let text = Layout::Text(Text::Standard { framed: true });
    let cells = vector(numbers(Number::I16));
    let x = numbers(Number::F32);
    let layer = numbers(Number::I16);
    class("Hit", 3, vec![("x", x), ("layer", layer), ("cells", cells), ("name", text)])
}

/// `Track : TObject { double pt; Double32_t eta; vector<Hit> hits; vector<vector<float>> lists; }`
fn track() -> Layout {
    let hits = vector(Layout::Record { header: true, record: Arc::new(hit()) });
    let inner = List { frame: Frame::Run, parameter: None, item: Box::new(numbers(Number::F32)) };
    let eta = Layout::Scalars { scalar: Scalar::Widened, shape: Vec::new() };
    let mut record = class(
        "Track",
        2,
        vec![
            ("pt", numbers(Number::F64)),
            ("eta", eta),
            ("hits", hits),
            ("lists", vector(Layout::List(inner))),
            ("fBits", numbers(Number::U32)),
        ],
    );
    let mut parts = record.versions[0].parts.clone();
    parts.truncate(4);
    let tobject = Part::TObject { id: None, bits: Some(4) };
    // The fields are in the order of the parts: the bits come last there too.
    parts.push(tobject);
    // An older one has only a number, of another type.
    let old = Part::Converted { at: 0, layout: numbers(Number::F32) };
    record.versions = vec![Version::new(2, 0, parts), Version::new(1, 0, vec![old])];
    Layout::Record { header: true, record: Arc::new(record) }
}

/// Bytes as ROOT writes them, with byte counts in front.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn framed(&mut self, version: u16, write: impl FnOnce(&mut Writer)) {
        let at = self.0.len();
        self.0.extend([0; 4]);
        self.0.extend(version.to_be_bytes());
        write(self);
        let count = (self.0.len() - at - 4) as u32 | 0x4000_0000;
        self.0[at..at + 4].copy_from_slice(&count.to_be_bytes());
    }

    fn count(&mut self, count: usize) {
        self.0.extend((count as u32).to_be_bytes());
    }

    fn number(&mut self, number: u8, size: usize) {
        self.0.extend((0..size).map(|byte| number.wrapping_mul(byte as u8 + 1)));
    }

    fn numbers(&mut self, all: &[u8], size: usize) {
        self.count(all.len());
        all.iter().for_each(|number| self.number(*number, size));
    }

    fn text(&mut self, text: &[u8]) {
        self.0.push(text.len() as u8);
        self.0.extend(text);
    }

    fn hits(&mut self, hits: &[Vec<u8>], by_members: bool) {
        if !by_members {
            return self.framed(9, |w| {
                w.count(hits.len());
                for hit in hits {
                    w.framed(3, |w| {
                        w.number(hit.len() as u8, 6);
                        w.framed(9, |w| w.numbers(hit, 2));
                        w.framed(9, |w| w.text(hit));
                    });
                }
            });
        }
        self.framed(9 | 0x4000, |w| {
            w.0.extend(3u16.to_be_bytes());
            w.count(hits.len());
            if hits.is_empty() {
                return;
            }
            hits.iter().for_each(|hit| w.number(hit.len() as u8, 4));
            hits.iter().for_each(|hit| w.number(hit.len() as u8, 2));
            w.framed(9, |w| hits.iter().for_each(|hit| w.numbers(hit, 2)));
            w.framed(9, |w| hits.iter().for_each(|hit| w.text(hit)));
        });
    }

    fn track(&mut self, one: &One) {
        if one.is_old {
            return self.framed(1, |w| w.number(one.pt, 4));
        }
        self.framed(2, |w| {
            w.number(one.pt, 8);
            w.number(one.pt, 4);
            w.hits(&one.hits, one.by_members);
            w.framed(9, |w| {
                w.count(one.lists.len());
                one.lists.iter().for_each(|list| w.numbers(list, 4));
            });
            w.0.extend([0, 1, 0, 0, 0, 0, 3, 0, 0, if one.is_referenced { 0x10 } else { 0 }]);
            w.0.extend(one.is_referenced.then_some([0, 7]).into_iter().flatten());
        });
    }
}

#[derive(Debug, Clone)]
struct One {
    pt: u8,
    hits: Vec<Vec<u8>>,
    lists: Vec<Vec<u8>>,
    by_members: bool,
    is_old: bool,
    is_referenced: bool,
}

fn some() -> impl Strategy<Value = One> {
    let lists = || prop::collection::vec(prop::collection::vec(any::<u8>(), 0..5), 0..4);
    let seldom = || prop::bool::weighted(0.05);
    (any::<u8>(), lists(), lists(), any::<bool>(), seldom(), seldom()).prop_map(
        |(pt, hits, lists, by_members, is_old, is_referenced)| One {
            pt,
            hits,
            lists,
            by_members,
            is_old,
            is_referenced,
        },
    )
}

/// Columns of some bytes, in bulk and value by value, as text: NaN is then equal to itself.
fn both(layout: Layout, data: &[u8], offsets: &[u32]) -> [Option<String>; 2] {
    let bulk = Interpretation::for_tests(layout, Entry::Value);
    assert!(bulk.bulk.is_some());
    let mut single = bulk.clone();
    single.bulk = None;
    [bulk, single].map(|how| {
        let entries = offsets.len() - 1;
        let entry_offsets = Some(offsets.to_vec());
        let lengths = None;
        let basket = Basket { data, entry_offsets, entries, lengths, is_nothing: false, start: 0 };
        let mut column = how.empty();
        how.decode(&basket, 0..entries, &mut column).ok().map(|()| format!("{column:?}"))
    })
}

fn written(all: &[One]) -> (Vec<u8>, Vec<u32>) {
    let mut writer = Writer::default();
    let mut offsets = vec![0];
    for one in all {
        writer.track(one);
        offsets.push(writer.0.len() as u32);
    }
    (writer.0, offsets)
}

proptest! {
    #[test]
    fn objects_are_the_same_in_bulk(all in prop::collection::vec(some(), 1..60)) {
        let (data, offsets) = written(&all);
        let [bulk, single] = both(track(), &data, &offsets);
        prop_assert!(bulk.is_some());
        prop_assert_eq!(bulk, single);
    }

    #[test]
    fn damaged_objects_are_the_same_in_bulk(
        all in prop::collection::vec(some(), 1..8),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let (mut data, offsets) = written(&all);
        for (at, byte) in damage {
            let at = at.index(data.len());
            data[at] = byte;
        }
        let [bulk, single] = both(track(), &data, &offsets);
        prop_assert_eq!(bulk, single);
    }
}

#[test]
fn entries_of_more_than_is_gone_through_at_once_follow_each_other() {
    let one = One {
        pt: 7,
        hits: vec![vec![3; 200]; 20],
        lists: vec![vec![1, 2]; 300],
        by_members: true,
        is_old: false,
        is_referenced: false,
    };
    let (data, offsets) = written(&vec![one; 40]);
    assert!(data.len() > 4 * BYTES_TOGETHER as usize);
    let [bulk, single] = both(track(), &data, &offsets);
    assert!(bulk.is_some());
    assert_eq!(bulk, single);
}

#[test]
fn what_only_the_data_tell_is_read_value_by_value() {
    let counted = Layout::Filled(Box::new(numbers(Number::F32)));
    let bits = Layout::Scalars { scalar: Scalar::Bits, shape: Vec::new() };
    for layout in [Layout::Any, counted, vector(bits), Layout::Text(Text::Whole)] {
        assert!(Bulk::of(&layout).is_none());
    }
}
