//! Ranges of a far file as the body of an answer: all are requested when the answer begins, and
//! each piece is sent when its bytes are there.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;

use bytes::Bytes;

use super::body::{head_of, tail_of};
use crate::clients::Client;
use crate::far::{FarFile, Reading};

/// The ranges that are still to arrive for an answer.
#[derive(Debug)]
pub struct FarRanges {
    reading: Reading,
    /// For each range the head before it, and the bytes of it that have not been handed out.
    ranges: VecDeque<(Vec<u8>, u64)>,
    /// The bytes behind the last.
    tail: Vec<u8>,
    /// Bytes of all of it.
    left: u64,
}

impl FarRanges {
    /// One range as it is, several as `multipart/byteranges`.
    pub fn new(
        client: &Client,
        file: &FarFile,
        ranges: Vec<Range<u64>>,
        boundary: Option<String>,
    ) -> Self {
        let size = file.stat().size;
        let head =
            |range: &Range<u64>| boundary.as_ref().map(|boundary| head_of(boundary, range, size));
        let each = |range: &Range<u64>| (head(range).unwrap_or_default(), range.end - range.start);
        let parts: VecDeque<(Vec<u8>, u64)> = ranges.iter().map(each).collect();
        let tail = boundary.as_deref().map(tail_of).unwrap_or_default();
        let left = parts.iter().map(|(head, bytes)| head.len() as u64 + bytes).sum::<u64>();
        let left = left + tail.len() as u64;
        FarRanges { reading: file.read(client, ranges, false), ranges: parts, tail, left }
    }

    /// Bytes that have not been handed out.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Waits for the next bytes; none where the answer is empty.
    ///
    /// # Errors
    /// Why the file's server cannot deliver them.
    pub async fn next(&mut self) -> io::Result<Bytes> {
        let bytes = match self.ranges.front_mut() {
            Some((head, _)) if !head.is_empty() => std::mem::take(head).into(),
            Some((_, left)) => {
                let bytes = self.reading.next().await?.unwrap_or_default();
                *left = left.saturating_sub(bytes.len() as u64);
                if *left == 0 || bytes.is_empty() {
                    self.ranges.pop_front();
                }
                bytes
            }
            None => Bytes::from(std::mem::take(&mut self.tail)),
        };
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok(bytes)
    }
}
