//! The records of an RNTuple that no directory lists (ROOT: `RBlob`; read in [`crate::ntuple`]).

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::ntuple::EnvelopeLink;
use crate::write::buffer::Buffer;
use crate::write::compression::{Compression, Encoders};
use crate::write::key::KeyHead;
use crate::write::table::RecordPlace;

/// Bytes of the place of a further record.
const PLACE_LEN: u64 = 8;

/// Records one after the other.
#[derive(Debug)]
pub(in crate::write) struct Records {
    head: KeyHead,
    /// Longest payload.
    max: u64,
    offset: u64,
    bytes: Vec<Bytes>,
}

/// The key of a record at `place`, whose payload has `len` bytes.
///
/// # Errors
/// `Limit` where it is too long for a key.
pub(in crate::write) fn key_of(place: RecordPlace, len: u64) -> Result<Vec<u8>> {
    key(&head(place), place.offset, len)
}

fn head(place: RecordPlace) -> KeyHead {
    KeyHead {
        class: "RBlob".into(),
        name: String::new(),
        title: String::new(),
        datime: place.datime,
        cycle: 1,
        directory: place.directory,
        extra: 0,
    }
}

fn key(head: &KeyHead, offset: u64, len: u64) -> Result<Vec<u8>> {
    let mut key = Buffer::default();
    head.write(&mut key, offset, len, len)?;
    Ok(key.into_vec())
}

impl Records {
    /// From a place on, with payloads of at most `max` bytes each.
    pub fn new(place: RecordPlace, max: u64) -> Self {
        Records { head: head(place), max, offset: place.offset, bytes: Vec::new() }
    }

    /// Begins a record whose payload is the next `len` bytes that are added; returns the payload's
    /// offset.
    ///
    /// # Errors
    /// `Limit` where it is too long for a key.
    pub fn begin(&mut self, len: u64) -> Result<u64> {
        self.add(key(&self.head, self.offset, len)?.into());
        Ok(self.offset)
    }

    /// Bytes of the payload of the record that was begun last.
    pub fn add(&mut self, bytes: Bytes) {
        self.offset += bytes.len() as u64;
        self.bytes.push(bytes);
    }

    /// Adds a payload of any length: in as many records as it needs, of which the first ends with
    /// the places of the others.
    ///
    /// # Errors
    /// `Limit` where one record cannot hold the places of the others.
    pub fn blob(&mut self, payload: Bytes) -> Result<u64> {
        let len = payload.len() as u64;
        if len <= self.max {
            let start = self.begin(len)?;
            self.add(payload);
            return Ok(start);
        }
        let mut further = len.div_ceil(self.max) - 1;
        if len + further * PLACE_LEN > (further + 1) * self.max {
            further += 1;
        }
        if further * PLACE_LEN >= self.max {
            let message = format!("{len} bytes in records of {}", self.max);
            return Err(Error::limit(message));
        }
        let start = self.begin(self.max)?;
        let mut rest = payload;
        self.add(rest.split_to((self.max - further * PLACE_LEN) as usize));
        let step = self.max + self.head.len(start) as u64;
        let places = (1..=further).flat_map(|at| (start + at * step).to_le_bytes());
        self.add(places.collect::<Vec<u8>>().into());
        for _ in 0..further {
            let part = rest.split_to(rest.len().min(self.max as usize));
            self.begin(part.len() as u64)?;
            self.add(part);
        }
        Ok(start)
    }

    /// Adds an envelope, compressed.
    ///
    /// # Errors
    /// As [`Encoders::compress`] and [`Records::blob`].
    pub fn envelope(
        &mut self,
        envelope: &[u8],
        compression: Compression,
        encoders: &mut Encoders,
    ) -> Result<EnvelopeLink> {
        let mut stored = Vec::new();
        encoders.compress(compression, envelope, &mut stored)?;
        self.stored_envelope(stored.into(), envelope.len() as u64)
    }

    /// Adds an envelope as it is stored, which has `length` bytes before compression.
    ///
    /// # Errors
    /// As [`Records::blob`].
    pub fn stored_envelope(&mut self, stored: Bytes, length: u64) -> Result<EnvelopeLink> {
        let len = stored.len() as u64;
        let start = self.blob(stored)?;
        Ok(EnvelopeLink { range: start..start + len, length })
    }

    /// Longest payload of one record.
    pub fn max(&self) -> u64 {
        self.max
    }

    pub fn into_bytes(self) -> Vec<Bytes> {
        self.bytes
    }
}
