//! Files whose bytes follow from their offsets, and reads of all of one.

use std::ops::Range;

use bytes::Bytes;
use engine::{Engine, Error};
use futures::StreamExt;
use remote::fetch::{Urgency, Want};

/// Bytes that are requested at once.
const PIECE_BYTES: u64 = 128 << 10;

/// The content of a file: no two places in a megabyte look alike for long.
pub fn content(size: usize) -> Bytes {
    (0..size as u64).map(byte).collect()
}

fn byte(at: u64) -> u8 {
    (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

/// Reads a file of [`content`] from beginning to end, the first pieces as demands.
///
/// # Errors
/// The engine's.
///
/// # Panics
/// Where a byte is wrong.
pub async fn read(engine: &Engine, address: &str) -> Result<u64, Error> {
    let file = engine.remote().open_bytes(address).await?;
    let size = file.info().size;
    let ranges: Vec<Range<u64>> = (0..size.div_ceil(PIECE_BYTES))
        .map(|piece| piece * PIECE_BYTES..size.min((piece + 1) * PIECE_BYTES))
        .collect();
    let want = |(order, range): (usize, &Range<u64>)| Want {
        range: range.clone(),
        cost: range.end - range.start,
        urgency: if order < 4 { Urgency::Demand } else { Urgency::Hint },
        order: order as u64,
    };
    let mut wants = file.want(ranges.iter().enumerate().map(want).collect());
    let mut read = 0;
    while let Some(delivery) = wants.next().await {
        let delivery = delivery?;
        let start = ranges[delivery.index].start;
        for (at, found) in (start..).zip(delivery.bytes.iter()) {
            assert_eq!(*found, byte(at), "byte {at} of {address}");
        }
        read += delivery.bytes.len() as u64;
    }
    Ok(read)
}
