use proptest::prelude::*;

use super::*;

const KINDS: usize = 8;

/// Arrays of every kind, nested, with the given number of entries.
fn arrays(entries: usize) -> impl Strategy<Value = Array> {
    let seed = prop::collection::vec(any::<u8>(), entries * 6 + 1);
    (0..KINDS, seed).prop_map(move |(kind, seed)| build(kind, entries, &seed))
}

fn build(kind: usize, entries: usize, seed: &[u8]) -> Array {
    let numbers = |count: usize| Numbers::I16((0..count).map(|i| i as i16 * 7).collect());
    let offsets = || {
        let mut at = 0;
        std::iter::once(0)
            .chain(seed.iter().take(entries).map(|step| {
                at += i64::from(step % 4);
                at
            }))
            .collect::<Vec<i64>>()
    };
    match kind {
        0 => Array::Numbers { numbers: numbers(entries), shape: vec![] },
        1 => Array::Numbers { numbers: numbers(entries * 6), shape: vec![2, 3] },
        2 => {
            let offsets = offsets();
            let inner = offsets[entries] as usize;
            Array::List { offsets: offsets.into(), content: Box::new(build(1, inner, &[])) }
        }
        3 => {
            let offsets = offsets();
            let bytes = (0..offsets[entries]).map(|i| b'a' + (i % 26) as u8).collect();
            Array::Strings { offsets, bytes }
        }
        4 => Array::Record {
            class: Some("Point".into()),
            entries,
            fields: (0..4).map(|kind| (format!("f{kind}"), build(kind, entries, seed))).collect(),
        },
        5 => {
            let content = Box::new(build(3, entries * 2, &seed.repeat(2)));
            Array::Regular { length: 2, entries, content }
        }
        6 => {
            let (index, there) = positions(&tags(entries, seed), 0);
            Array::Option { index, content: Box::new(build(2, there, seed)) }
        }
        _ => {
            let tags = tags(entries, seed);
            let (first, a) = positions(&tags, 0);
            let (second, b) = positions(&tags, 1);
            let index = first.iter().zip(second).map(|(a, b)| (*a).max(b).max(0)).collect();
            let contents = vec![build(0, a, seed), build(3, b, seed)];
            Array::Union { tags, index, contents }
        }
    }
}

/// -1, 0 and 1.
fn tags(entries: usize, seed: &[u8]) -> Vec<i8> {
    (0..entries).map(|at| (seed.get(at).unwrap_or(&1) % 3) as i8 - 1).collect()
}

/// The position of each entry of a tag among those of it, -1 for the others; and how many.
fn positions(tags: &[i8], tag: i8) -> (Vec<i64>, usize) {
    let mut next = 0;
    let position = |each: &i8| {
        let mine = *each == tag;
        next += i64::from(mine);
        if mine { next - 1 } else { -1 }
    };
    (tags.iter().map(position).collect(), next as usize)
}

proptest! {
    #[test]
    fn slices_joined_are_the_whole(
        array in (0..20usize).prop_flat_map(arrays),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let mut bounds: Vec<usize> = cuts.iter().map(|cut| cut.index(array.len() + 1)).collect();
        bounds.extend([0, array.len()]);
        bounds.sort_unstable();
        let parts: Vec<Array> =
            bounds.windows(2).map(|bound| array.slice(bound[0]..bound[1])).collect();
        prop_assert_eq!(parts.iter().map(Array::len).sum::<usize>(), array.len());
        let joined = Array::concat(parts).unwrap().unwrap();
        prop_assert_eq!(joined.nbytes(), array.nbytes());
        prop_assert_eq!(joined, array);
    }

    #[test]
    fn runs_gathered_are_slices_joined(
        array in arrays(12),
        runs in prop::collection::vec((0..12usize, 0..12usize), 0..5),
    ) {
        let runs: Vec<_> = runs.iter().map(|(a, b)| *a.min(b)..*a.max(b)).collect();
        let slices = runs.iter().map(|run| array.slice(run.clone())).collect();
        let joined = Array::concat(slices).unwrap().unwrap_or_else(|| array.empty_like());
        prop_assert_eq!(array.gather(&runs), joined);
    }

    #[test]
    fn a_slice_of_a_slice_is_a_slice(array in arrays(12), a in 0..6usize, b in 0..6usize) {
        let outer = array.slice(a..a + 6);
        prop_assert_eq!(outer.slice(b..6), array.slice(a + b..a + 6));
        prop_assert_eq!(array.slice(a..a), array.empty_like());
        prop_assert!(array.slice(a..a).is_empty());
    }
}

#[test]
fn absurd_reservations_are_not_made() {
    for kind in 0..KINDS {
        let mut array = build(kind, 2, &[1, 2]);
        let before = array.clone();
        array.reserve(usize::MAX, usize::MAX);
        assert_eq!(array, before);
    }
}

#[test]
fn nothing_joined_is_nothing() {
    assert_eq!(Array::concat(vec![]), Ok(None));
}

#[test]
fn different_types_do_not_join() {
    let kinds: Vec<Array> = (0..KINDS).map(|kind| build(kind, 2, &[1, 2])).collect();
    for (i, one) in kinds.iter().enumerate() {
        for (j, other) in kinds.iter().enumerate() {
            assert_eq!(Array::concat(vec![one.clone(), other.clone()]).is_ok(), i == j);
        }
    }
}

#[test]
#[should_panic(expected = "out of range")]
fn a_slice_beyond_the_end_is_a_mistake() {
    let _ = build(0, 3, &[]).slice(2..4);
}

#[test]
fn big_endian_numbers_of_every_type() {
    let bytes = [0xff, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x99];
    let converted = |mut numbers: Numbers| {
        numbers.extend_big_endian(&bytes).unwrap();
        numbers
    };
    use Numbers::*;
    assert_eq!(converted(Bool(vec![])), Bool(vec![1, 1, 0, 0, 0, 0, 0, 1, 1]));
    assert_eq!(converted(I8(vec![])), I8(vec![-1, 1, 0, 0, 0, 0, 0, 2, -0x67]));
    assert_eq!(converted(U8(vec![])), U8(bytes.to_vec()));
    assert_eq!(converted(I16(vec![])), I16(vec![-0xff, 0, 0, 2]));
    assert_eq!(converted(U16(vec![])), U16(vec![0xff01, 0, 0, 2]));
    assert_eq!(converted(I32(vec![])), I32(vec![-0xff_0000, 2]));
    assert_eq!(converted(U32(vec![])), U32(vec![0xff01_0000, 2]));
    assert_eq!(converted(I64(vec![])), I64(vec![-0xfe_ffff_ffff_fffe]));
    assert_eq!(converted(U64(vec![])), U64(vec![0xff01_0000_0000_0002]));
    assert_eq!(converted(F32(vec![])), F32(vec![f32::from_bits(0xff01_0000), f32::from_bits(2)]));
    assert_eq!(converted(F64(vec![])), F64(vec![f64::from_bits(0xff01_0000_0000_0002)]));
}
