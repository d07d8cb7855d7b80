//! Answers to reads of far files: all bytes are requested when the client's request comes, and each
//! part is sent when its bytes are there.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use bytes::Bytes;
use xrootd::header::Handle;
use xrootd::message::readv;
use xrootd::pages;

use super::read::{Answered, STEP_BYTES};
use crate::clients::Client;
use crate::far::{FarFile, Reading};

/// The bytes that are still to arrive for a request.
#[derive(Debug)]
pub enum Incoming {
    Range(Reading),
    /// With a checksum of every page; the next one begins at this offset.
    Pages {
        reading: Reading,
        at: u64,
    },
    Segments {
        segments: VecDeque<readv::Segment>,
        readings: BTreeMap<Handle, Reading>,
    },
}

impl Incoming {
    pub fn range(client: &Client, file: &FarFile, offset: u64, length: usize) -> Self {
        Incoming::Range(reading(client, file, offset, length))
    }

    pub fn pages(client: &Client, file: &FarFile, offset: u64, length: usize) -> Self {
        Incoming::Pages { reading: reading(client, file, offset, length), at: offset }
    }

    /// Segments of files, all of which lie within them.
    pub fn segments(
        client: &Client,
        segments: Vec<readv::Segment>,
        files: &BTreeMap<Handle, FarFile>,
    ) -> Self {
        let of_file = |(handle, file): (&Handle, &FarFile)| {
            let here = segments.iter().filter(|segment| segment.handle == *handle);
            let ranges = here.map(|one| one.offset..one.offset + u64::from(one.length));
            (*handle, file.read(client, ranges.collect(), true))
        };
        let readings = files.iter().map(of_file).collect();
        Incoming::Segments { segments: segments.into(), readings }
    }

    /// Waits for the next part; with it, whether it is the last.
    pub async fn step(&mut self) -> (io::Result<Answered>, bool) {
        let part = self.part().await;
        let done = part.is_err()
            || match self {
                Incoming::Range(reading) | Incoming::Pages { reading, .. } => reading.is_done(),
                Incoming::Segments { segments, .. } => segments.is_empty(),
            };
        (part, done)
    }

    async fn part(&mut self) -> io::Result<Answered> {
        match self {
            Incoming::Range(reading) => {
                Ok(Answered::Frame(reading.next().await?.unwrap_or_default()))
            }
            Incoming::Pages { reading, at } => {
                let bytes = reading.next().await?.unwrap_or_default();
                let offset = *at;
                *at += bytes.len() as u64;
                Ok(Answered::Pages { offset, pages: pages::encode(offset, &bytes).into() })
            }
            Incoming::Segments { segments, readings } => records(segments, readings).await,
        }
    }
}

fn reading(client: &Client, file: &FarFile, offset: u64, length: usize) -> Reading {
    file.read(client, vec![offset..offset.saturating_add(length as u64)], false)
}

/// The first of the segments, and those behind it that have come.
async fn records(
    segments: &mut VecDeque<readv::Segment>,
    readings: &mut BTreeMap<Handle, Reading>,
) -> io::Result<Answered> {
    let mut records = Vec::new();
    let mut taken = 0;
    while let Some(segment) = segments.front().copied().filter(|_| taken < STEP_BYTES) {
        let reading = readings.get_mut(&segment.handle).ok_or(io::ErrorKind::NotFound)?;
        let bytes = match (segment.length, records.is_empty()) {
            (0, _) => Some(Bytes::new()),
            (_, true) => reading.next().await?,
            (_, false) => reading.ready()?,
        };
        let Some(bytes) = bytes else { break };
        taken += bytes.len();
        records.push((segment.handle, segment.offset, bytes));
        segments.pop_front();
    }
    Ok(Answered::Records(records))
}
