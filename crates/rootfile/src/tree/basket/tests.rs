//! Baskets written by ROOT 6.40 without compression, three entries each, branch by branch of a
//! tree with `n/I`, `x[n]/F`, a `std::vector<short>` and a `std::string`.

use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;

#[rustfmt::skip]
const COUNTED: &[u8] = &[
    0x00, 0x00, 0x00, 0x61,                         // fNbytes: 97
    0x03, 0xec,                                     // version 1004: eight-byte seeks
    0x00, 0x00, 0x00, 0x20,                         // fObjlen: 32
    0x7e, 0xe8, 0xd2, 0x87,                         // fDatime
    0x00, 0x41,                                     // fKeylen: 65
    0x00, 0x00,                                     // fCycle
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x25, // fSeekKey
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x64, // fSeekPdir
    0x07, b'T', b'B', b'a', b's', b'k', b'e', b't',
    0x01, b'x',
    0x01, b't',
    0x00, 0x03,                                     // version of TBasket
    0x00, 0x00, 0x7d, 0x00,                         // fBufferSize
    0x00, 0x00, 0x03, 0xe8,                         // fNevBufSize
    0x00, 0x00, 0x00, 0x03,                         // fNevBuf
    0x00, 0x00, 0x00, 0x4d,                         // fLast: 77
    0x00,                                           // flag
    0x3f, 0x80, 0x00, 0x00,                         // 1.0
    0x40, 0x00, 0x00, 0x00,  0x40, 0x20, 0x00, 0x00, // 2.0, 2.5
    0x00, 0x00, 0x00, 0x04,                         // four entry offsets, the last one unused
    0x00, 0x00, 0x00, 0x41,  0x00, 0x00, 0x00, 0x41,
    0x00, 0x00, 0x00, 0x45,  0x00, 0x00, 0x00, 0x00,
];
/// The same with `TIOFeatures::Set("kGenerateOffsetMap")`: the offsets follow from `n`.
#[rustfmt::skip]
const GENERATED: &[u8] = &[
    0x00, 0x00, 0x00, 0x4e, 0x03, 0xec, 0x00, 0x00, 0x00, 0x0c, 0x7e, 0xe8, 0xd2, 0x87,
    0x00, 0x42, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x22, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x64,
    0x07, b'T', b'B', b'a', b's', b'k', b'e', b't', 0x01, b'x', 0x01, b't',
    0x00, 0x03, 0x00, 0x00, 0x7d, 0x00,
    0xff, 0xff, 0xfc, 0x18,                         // fNevBufSize: negative, so that …
    0x01,                                           // … fIOBits follow
    0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x4e,
    0x50,                                           // flag: 80, offsets are generated
    0x3f, 0x80, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x40, 0x20, 0x00, 0x00,
];
/// And the `std::string`, which has no counter: sizes are stored instead of offsets.
#[rustfmt::skip]
const SIZES: &[u8] = &[
    0x00, 0x00, 0x00, 0x5f, 0x03, 0xec, 0x00, 0x00, 0x00, 0x1d, 0x7e, 0xe8, 0xd2, 0x87,
    0x00, 0x42, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xe9, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x64,
    0x07, b'T', b'B', b'a', b's', b'k', b'e', b't', 0x01, b's', 0x01, b't',
    0x00, 0x03, 0x00, 0x00, 0x7d, 0x00, 0xff, 0xff, 0xfc, 0x18, 0x01,
    0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x4b, 0x00,
    0x00,                                           // ""
    0x02, b'a', b'b',
    0x04, b'a', b'b', b'a', b'b',
    0x00, 0x00, 0x00, 0x04,                         // nothing, size of "", of "ab", unused
    0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x01,
    0x00, 0x00, 0x00, 0x03,  0xff, 0xff, 0xff, 0xba,
];

/// Positions of `fLast` and the flag in [`COUNTED`].
const AT_LAST: usize = 60;
const AT_FLAG: usize = 64;
const KEY_LEN: usize = 65;

fn stored(record: &[u8], entries: usize) -> Result<(Vec<u8>, Option<Vec<u32>>)> {
    let mut codecs = Codecs::new();
    Basket::stored(record, None, entries, &mut codecs).map(|b| (b.data.to_vec(), b.entry_offsets))
}

fn embedded(bytes: &[u8], entries: usize) -> Result<(Vec<u8>, Option<Vec<u32>>)> {
    Basket::embedded(bytes, entries).map(|b| (b.data.to_vec(), b.entry_offsets))
}

/// As ROOT streams a basket into its tree: the offsets in front, then a buffer with room for a key.
fn embed(flag: u8, offsets: &[u8], buffer: &[u8]) -> Vec<u8> {
    let mut bytes = COUNTED[..KEY_LEN].to_vec();
    bytes[AT_FLAG] = flag;
    [&bytes, offsets, &[0xee; KEY_LEN][..], buffer].concat()
}

#[test]
fn offsets_become_relative_to_the_first_entry() {
    let (data, offsets) = stored(COUNTED, 3).unwrap();
    assert_eq!(data, COUNTED[KEY_LEN..77]);
    assert_eq!(offsets, Some(vec![0, 0, 4, 12]));
}

#[test]
fn a_tail_is_not_the_baskets() {
    assert_eq!(stored(&[COUNTED, b"next record"].concat(), 3), stored(COUNTED, 3));
}

#[test]
fn generated_offsets_are_not_in_the_file() {
    assert_eq!(stored(GENERATED, 3).unwrap(), (COUNTED[KEY_LEN..77].to_vec(), None));
}

#[test]
fn sizes_stand_for_offsets() {
    let (data, offsets) = stored(SIZES, 3).unwrap();
    assert_eq!(data, b"\0\x02ab\x04abab");
    assert_eq!(offsets, Some(vec![0, 1, 4, 9]));
}

#[test]
fn compressed_content() {
    // The same content as ROOT's zlib would have it: here in a stored deflate block.
    let content = &COUNTED[KEY_LEN..];
    let mut payload = b"CS\x08\x25\0\0\x20\0\0\x01\x20\x00\xdf\xff".to_vec();
    payload.extend_from_slice(content);
    let mut record = [&COUNTED[..KEY_LEN], &payload].concat();
    record[3] = record.len() as u8;
    assert_eq!(stored(&record, 3), stored(COUNTED, 3));
}

#[test]
fn the_branch_must_agree_on_the_number_of_entries() {
    for entries in [0, 2, 4, usize::MAX] {
        let error = stored(COUNTED, entries).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Corrupt(_)), "{error}");
    }
}

#[test]
fn every_truncation_is_an_error() {
    for record in [COUNTED, GENERATED, SIZES] {
        for len in 0..record.len() {
            assert!(stored(&record[..len], 3).is_err(), "{len}");
        }
    }
}

#[test]
fn embedded_baskets_have_offsets_in_front() {
    let entries = &COUNTED[KEY_LEN..77];
    let offsets = &COUNTED[77..];
    let expected = stored(COUNTED, 3).unwrap();
    assert_eq!(embedded(&embed(11, offsets, entries), 3).unwrap(), expected);
    assert_eq!(embedded(&embed(51, &[offsets, offsets].concat(), entries), 3).unwrap(), expected);
    assert_eq!(embedded(&embed(12, &[], entries), 3).unwrap(), (expected.0.clone(), None));
    let mut displaced = offsets.to_vec();
    displaced[8] = 0x7f;
    assert!(embedded(&embed(11, &displaced, entries), 3).is_err());
    assert_eq!(embedded(&embed(31, &displaced, entries), 3).unwrap(), expected);
}

#[test]
fn every_truncation_of_an_embedded_basket_is_an_error() {
    let whole = embed(11, &COUNTED[77..], &COUNTED[KEY_LEN..77]);
    for len in 0..whole.len() {
        assert!(embedded(&whole[..len], 3).is_err(), "{len}");
    }
    let tail = [&whole[..], b"tail"].concat();
    assert_eq!(embedded(&tail, 3), embedded(&whole, 3));
}

#[test]
fn corrupt_fields_are_errors() {
    for (at, value, case) in [
        (0, 0x80, "negative fNbytes"),
        (3, 0x60, "fNbytes cuts into the offsets"),
        (6, 0x80, "negative fObjlen"),
        (9, 0x21, "fObjlen beyond what is there"),
        (14, 0x80, "negative fKeylen"),
        (14, 0x7f, "fKeylen beyond the record"),
        (AT_LAST, 0x80, "negative fLast"),
        (AT_LAST + 3, 0x40, "fLast within the key"),
        (AT_LAST + 3, 0x62, "fLast beyond the content"),
        (56, 0x7f, "absurd number of entries"),
        (80, 0x03, "fewer offsets than promised, and bytes to spare"),
        (77, 0x7f, "absurd number of offsets"),
        (77, 0x80, "negative number of offsets"),
        (88, 0xff, "offsets not ascending"),
        (84, 0x42, "bytes before the first entry"),
    ] {
        let mut record = COUNTED.to_vec();
        record[at] = value;
        let outcome = stored(&record, 3);
        if case.starts_with("fewer") {
            assert_eq!(outcome, stored(COUNTED, 3), "three are enough");
        } else {
            assert!(outcome.is_err(), "{case}: {outcome:?}");
        }
    }
}

#[test]
fn unknown_features_are_unsupported() {
    let mut record = GENERATED.to_vec();
    record[56] = 0x03;
    assert!(matches!(stored(&record, 3).unwrap_err().kind, ErrorKind::Unsupported(_)));
}

#[test]
fn errors_of_stored_baskets_say_where() {
    let place = BasketPlace::Stored(293..390);
    let reference = BasketRef { entries: 5..9, place };
    let error = Basket::read(&reference, COUNTED, &mut Codecs::new()).unwrap_err();
    assert_eq!(error.offset, Some(293));
}

proptest! {
    #[test]
    fn any_change_gives_ordered_offsets_or_an_error(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        in_tree in any::<bool>(),
    ) {
        let mut bytes = match in_tree {
            true => embed(11, &COUNTED[77..], &COUNTED[KEY_LEN..77]),
            false => COUNTED.to_vec(),
        };
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let outcome = if in_tree { embedded(&bytes, 3) } else { stored(&bytes, 3) };
        if let Ok((data, Some(offsets))) = outcome {
            prop_assert_eq!(offsets.len(), 4);
            prop_assert!(offsets.is_sorted());
            prop_assert_eq!(offsets[3] as usize, data.len());
        }
    }
}
