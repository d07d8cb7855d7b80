use proptest::prelude::*;

use super::super::column::Element;
use super::*;

fn column(kind: u16, bits: u16) -> Column {
    let range = Some((-1.0, 3.0));
    Column { kind, bits, field: 0, representation: 0, deferred: false, range }
}

fn none(encoding: &Encoding) -> Elements {
    match encoding.element() {
        Element::Switch => Elements::Switches { index: Vec::new(), tags: Vec::new() },
        element => Elements::Numbers(element.empty()),
    }
}

fn decoded(kind: u16, bits: u16, raw: &[u8], count: usize) -> Numbers {
    let encoding = Encoding::of(&column(kind, bits)).unwrap();
    let mut elements = none(&encoding);
    encoding.decode(raw, count, &mut elements).unwrap();
    match elements {
        Elements::Numbers(numbers) => numbers,
        Elements::Switches { .. } => panic!("a switch"),
    }
}

/// All first bytes, then all second ones, …
fn split<const N: usize>(elements: &[[u8; N]]) -> Vec<u8> {
    (0..N).flat_map(|byte| elements.iter().map(move |element| element[byte])).collect()
}

proptest! {
    #[test]
    fn split_integers_in_zigzag(values in prop::collection::vec(any::<i64>(), 0..40)) {
        let zigzag = |value: &i64| ((value << 1) ^ (value >> 63)).to_le_bytes();
        let raw = split(&values.iter().map(zigzag).collect::<Vec<_>>());
        prop_assert_eq!(decoded(0x15, 64, &raw, values.len()), Numbers::I64(values));
    }

    #[test]
    fn small_integers_in_zigzag(values in prop::collection::vec(any::<i16>(), 0..40)) {
        let zigzag = |value: &i16| ((value << 1) ^ (value >> 15)).to_le_bytes();
        let raw = split(&values.iter().map(zigzag).collect::<Vec<_>>());
        prop_assert_eq!(decoded(0x11, 16, &raw, values.len()), Numbers::I16(values));
    }

    #[test]
    fn split_reals(values in prop::collection::vec(-1e30..1e30f64, 0..40)) {
        let raw = split(&values.iter().map(|value| value.to_le_bytes()).collect::<Vec<_>>());
        prop_assert_eq!(decoded(0x19, 64, &raw, values.len()), Numbers::F64(values));
    }

    #[test]
    fn ends_of_collections_as_differences(lengths in prop::collection::vec(any::<u16>(), 0..40)) {
        let raw = split(&lengths.iter().map(|n| u32::from(*n).to_le_bytes()).collect::<Vec<_>>());
        let ends = lengths.iter().scan(0, |end, length| {
            *end += i64::from(*length);
            Some(*end)
        });
        let ends = Numbers::I64(ends.collect());
        prop_assert_eq!(decoded(0x1a, 32, &raw, lengths.len()), ends);
    }

    #[test]
    fn numbers_without_gaps(bits in 1..=32u32, values in prop::collection::vec(any::<u32>(), 0..40)) {
        let mask = ((1u64 << bits) - 1) as u32;
        let length = (values.len() * bits as usize).div_ceil(8);
        let mut raw = vec![0u8; length];
        for (at, value) in values.iter().enumerate() {
            for bit in 0..bits as usize {
                let place = at * bits as usize + bit;
                raw[place / 8] |= ((value >> bit & 1) as u8) << (place % 8);
            }
        }
        let got: Vec<u32> = packed(&raw, values.len(), bits).collect();
        let expected: Vec<u32> = values.iter().map(|value| value & mask).collect();
        prop_assert_eq!(got, expected);
    }

    #[test]
    fn whatever_a_page_holds_there_is_a_result(
        kind in 0..0x20u16,
        bits in prop::sample::select(&[1u16, 8, 10, 16, 31, 32, 64, 96][..]),
        elements in 0..50u32,
        checksum: bool,
        stored in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let place = Page { elements, range: 0..stored.len() as u64, further: None, checksum };
        let column = column(kind, bits);
        let Ok(encoding) = Encoding::of(&column) else { return Ok(()) };
        let mut all = none(&encoding);
        all.push_zeros(3).unwrap();
        if page(&mut Codecs::default(), &column, &place, &stored, &mut all).is_ok() {
            let len = match all {
                Elements::Numbers(numbers) => numbers.len(),
                Elements::Switches { index, tags } => index.len().min(tags.len()),
            };
            prop_assert_eq!(len, 3 + elements as usize);
        }
    }
}

#[test]
fn halves_of_every_kind() {
    let halves = [
        (0x0000, 0.0),
        (0x8000, -0.0),
        (0x3c00, 1.0),
        (0xc500, -5.0),
        (0x7bff, 65504.0),
        (0x0001, 2f32.powi(-24)),
        (0x03ff, 1023.0 * 2f32.powi(-24)),
        (0x7c00, f32::INFINITY),
        (0xfc00, f32::NEG_INFINITY),
    ];
    for (half, single) in halves {
        assert_eq!(real16(half).to_bits(), f32::to_bits(single), "{half:04x}");
    }
    assert!(real16(0x7e00).is_nan());
}

#[test]
fn reals_of_few_bits() {
    // 1.0 is 0x3f800000: of its highest ten bits eight are exponent.
    let Numbers::F32(values) = decoded(0x1c, 10, &[0xfe, 0x00], 1) else { panic!("reals") };
    assert_eq!(values, [1.0]);
    assert_eq!(decoded(0x1d, 2, &[0b11_10_01_00], 4), {
        let step = |n: f64| (-1.0 + n * 4.0 / 3.0) as f32;
        Numbers::F32(vec![-1.0, step(1.0), step(2.0), 3.0])
    });
}

#[test]
fn bits_and_switches() {
    let bits = decoded(0x00, 1, &[0b1010_0001, 0b10], 10);
    assert_eq!(bits, Numbers::Bool(vec![1, 0, 0, 0, 0, 1, 0, 1, 0, 1]));
    let raw: Vec<u8> = (1..=24).collect();
    let encoding = Encoding::of(&column(0x10, 96)).unwrap();
    let mut switches = none(&encoding);
    encoding.decode(&raw, 2, &mut switches).unwrap();
    let index = vec![0x0807_0605_0403_0201, 0x1413_1211_100f_0e0d];
    assert_eq!(switches, Elements::Switches { index, tags: vec![0x0c0b_0a09, 0x1817_1615] });
}

#[test]
fn reals_are_widened_where_another_representation_has_doubles() {
    for (kind, bits) in [(0x0c, 32), (0x18, 32), (0x0b, 16), (0x1c, 31)] {
        let encoding = Encoding::of(&column(kind, bits)).unwrap();
        let mut all = Elements::Numbers(Numbers::F64(vec![0.5]));
        let raw = vec![0; usize::from(bits).div_ceil(8)];
        encoding.decode(&raw, 1, &mut all).unwrap();
        assert_eq!(all, Elements::Numbers(Numbers::F64(vec![0.5, 0.0])), "{kind:#04x}");
        assert!(encoding.decode(&raw, 1, &mut Elements::Numbers(Numbers::I64(vec![]))).is_err());
    }
}

#[test]
fn sizes_that_a_type_cannot_have_are_refused() {
    for (kind, bits) in
        [(0x00, 8), (0x07, 31), (0x10, 64), (0x1c, 9), (0x1c, 32), (0x1d, 0), (0x1d, 33)]
    {
        assert!(Encoding::of(&column(kind, bits)).is_err(), "{kind:#04x} {bits}");
    }
    let error = Encoding::of(&column(0x1e, 32)).unwrap_err();
    assert!(error.to_string().contains("0x1e"), "{error}");
    for range in [None, Some((f64::NAN, 1.0)), Some((2.0, 1.0)), Some((0.0, f64::INFINITY))] {
        assert!(Encoding::of(&Column { range, ..column(0x1d, 8) }).is_err(), "{range:?}");
    }
}

#[test]
fn a_wrong_checksum_is_an_error() {
    let payload = 7i32.to_le_bytes();
    let mut stored = payload.to_vec();
    stored.extend(twox_hash::XxHash3_64::oneshot(&payload).to_le_bytes());
    let place = Page { elements: 1, range: 0..12, further: None, checksum: true };
    let read = |stored: &[u8]| {
        let mut all = Elements::Numbers(Numbers::I32(vec![5]));
        page(&mut Codecs::default(), &column(0x07, 32), &place, stored, &mut all).map(|()| all)
    };
    assert_eq!(read(&stored), Ok(Elements::Numbers(Numbers::I32(vec![5, 7]))));
    for at in 0..stored.len() {
        let mut wrong = stored.clone();
        wrong[at] ^= 4;
        let error = read(&wrong).unwrap_err();
        assert!(error.to_string().contains("XXH3"), "{at}: {error}");
        assert!(read(&stored[..at]).is_err(), "{at} bytes");
    }
}
