use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::cursor::Cursor;

/// Lengths of blocks: no number of eight bytes ends where the first ones do.
const LENS: [usize; 5] = [BLOCK_LEN_MIN + 5, BLOCK_LEN_MIN, BLOCK_LEN_MIN + 3, BLOCK_LEN_MIN, 9];

/// Does work on as many threads.
struct Threads(usize, AtomicUsize);

impl Workers for Threads {
    fn count(&self) -> usize {
        self.0
    }

    fn run(&self, work: Vec<Work<'_>>) {
        self.1.fetch_add(work.len(), Ordering::Relaxed);
        std::thread::scope(|scope| {
            for work in work {
                scope.spawn(move || work(&mut Codecs::default()));
            }
        });
    }
}

fn raw() -> Vec<u8> {
    (0..LENS.iter().sum::<usize>()).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// Blocks of one Zstandard frame each.
fn payload(raw: &[u8], lens: &[usize]) -> Bytes {
    let mut payload = Vec::new();
    let mut rest = raw;
    for len in lens {
        let (block, behind) = rest.split_at(*len);
        rest = behind;
        let stored = zstd::bulk::compress(block, 1).unwrap();
        payload.extend(b"ZS\x01");
        payload.extend(&(stored.len() as u32).to_le_bytes()[..3]);
        payload.extend(&(block.len() as u32).to_le_bytes()[..3]);
        payload.extend(stored);
    }
    payload.into()
}

#[test]
fn numbers_and_texts_are_the_same_in_blocks_as_in_one_piece() {
    let raw = raw();
    let whole = Bytes::from(raw.clone());
    let payload = payload(&raw, &LENS);
    for workers in [1, 2, 3, 9] {
        let workers = Threads(workers, AtomicUsize::new(0));
        let content = Content::new(payload.clone(), raw.len(), &workers).unwrap().unwrap();
        for (at, number, count) in [
            (0, Number::F64, raw.len() / 8),
            (3, Number::F64, raw.len() / 8 - 1),
            (BLOCK_LEN_MIN + 4, Number::I32, 1),
            (BLOCK_LEN_MIN - 1, Number::U16, BLOCK_LEN_MIN),
            (BLOCK_LEN_MIN - 1, Number::Bool, 2 * BLOCK_LEN_MIN),
            (raw.len() - 12, Number::I64, 1),
            (raw.len(), Number::I64, 0),
        ] {
            let mut one = Cursor::new(&whole, 0);
            let mut several = Cursor::over(&content, 0);
            one.skip(at).unwrap();
            several.skip(at).unwrap();
            let found = several.numbers(number, count).unwrap();
            // Byte by byte, as not every sequence of bytes is equal to itself as a number.
            assert_eq!(format!("{found:?}"), format!("{:?}", one.numbers(number, count).unwrap()));
            assert_eq!(
                (several.position(), several.remaining()),
                (one.position(), one.remaining())
            );
            assert!(several.numbers(Number::U8, one.remaining() + 1).is_err());
        }
        assert_eq!(workers.1.load(Ordering::Relaxed) > 0, workers.0 > 1);
    }
}

#[test]
fn small_reads_go_on_from_block_to_block() {
    let raw = raw();
    let whole = Bytes::from(raw.clone());
    let content = Content::new(payload(&raw, &LENS), raw.len(), &Alone).unwrap().unwrap();
    let mut one = Cursor::new(&whole, 50);
    let mut several = Cursor::over(&content, 50);
    for cursor in [&mut one, &mut several] {
        cursor.skip(BLOCK_LEN_MIN - 6).unwrap();
    }
    let part = (one.split(30).unwrap(), several.split(30).unwrap());
    for (mut one, mut several) in [part, (one, several)] {
        while one.remaining() > 0 {
            assert_eq!(several.offset(), one.offset());
            assert_eq!(several.clone().u32().ok(), one.clone().u32().ok());
            assert_eq!(several.clone().c_string(300).ok(), one.clone().c_string(300).ok());
            assert_eq!(several.clone().text().ok(), one.clone().text().ok());
            assert_eq!(several.clone().i16s(7).ok(), one.clone().i16s(7).ok());
            let step = one.remaining().min(7 + one.position() / 13);
            assert_eq!(several.clone().take(step).unwrap(), one.take(step).unwrap());
            several.skip(step).unwrap();
        }
        assert!(several.u8().is_err() && several.skip(1).is_err() && several.take(1).is_err());
    }
}

#[test]
fn what_is_in_one_block_or_in_tiny_ones_is_decompressed_at_once() {
    let raw = raw();
    let is_split = |lens: &[usize]| {
        let len = lens.iter().sum();
        Content::new(payload(&raw[..len], lens), len, &Alone).unwrap().is_some()
    };
    assert!(is_split(&[BLOCK_LEN_MIN, 1]));
    assert!(!is_split(&[BLOCK_LEN_MIN + 1]));
    assert!(!is_split(&[BLOCK_LEN_MIN, BLOCK_LEN_MIN - 1, 1]));
    assert!(Content::new(raw.clone().into(), raw.len(), &Alone).unwrap().is_none());
}

#[test]
fn blocks_that_are_wrong_are_named() {
    let raw = raw();
    let mut stored = payload(&raw, &LENS).to_vec();
    assert!(Content::new(stored.clone().into(), raw.len() + 1, &Alone).is_err());
    assert!(Content::new(stored[..stored.len() - 1].to_vec().into(), raw.len(), &Alone).is_err());
    let second = 9 + u32::from_le_bytes([stored[3], stored[4], stored[5], 0]) as usize;
    stored[second + 9] ^= 0xff;
    let content = Content::new(stored.into(), raw.len(), &Alone).unwrap().unwrap();
    let mut cursor = Cursor::over(&content, 0);
    assert!(cursor.u64().is_ok(), "the first block is as it was");
    let error = cursor.clone().numbers(Number::U8, 2 * BLOCK_LEN_MIN + 100).unwrap_err();
    assert!(error.to_string().contains(&format!("block at {second}")), "{error}");
    cursor.skip(BLOCK_LEN_MIN).unwrap();
    assert!(cursor.u64().is_err());
}
