//! Files that were never closed: their writer died, or is still writing.
//!
//! Such a file has no list of keys, but every record still begins with its own key, and says how
//! long it is (a gap: the negative of that). Going from record to record finds the objects that
//! were saved; records written after the last save, baskets mostly, belong to nothing. (Source:
//! ROOT, `TFile::Recover`, which finds the top directory's objects in the same way.)

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use super::classes::{KnownClasses, classes};
use super::open::header;
use super::{File, bytes_of, ready};
use crate::cursor::Cursor;
use crate::directory::Directory;
use crate::error::{Error, Result};
use crate::header::Header;
use crate::key::Key;
use crate::known::{Known, Needs, Progress};

/// Bytes of a record that are looked at: its key, whose names are seldom longer.
const KEY_LEN_GUESS: u64 = 512;
/// Where a key says how long it is.
const KEY_LEN_AT: usize = 14;
/// Bytes looked at beyond the present record, first and at most: small records are gone through
/// by megabytes, and large ones are jumped over.
const WINDOW_MIN: u64 = 64 << 10;
const WINDOW_MAX: u64 = 8 << 20;
/// Objects of one file, as many as a directory's list could sensibly hold.
const KEYS_MAX: usize = 1 << 20;

/// A walk from record to record.
#[derive(Debug)]
pub struct Recovery {
    header: Header,
    /// The next record.
    at: u64,
    size: u64,
    window: u64,
    /// Keys by the offset of the directory that they are in.
    keys: BTreeMap<u64, Vec<Key>>,
    count: usize,
    /// The last record of streamer infos.
    infos: Option<Range<u64>>,
    is_over: bool,
}

impl Recovery {
    /// Begins at the first record of a file of `size` bytes whose head is known.
    ///
    /// # Errors
    /// As [`File::open`] for the header.
    pub fn start(known: &Known, size: u64) -> Result<Progress<Recovery>> {
        let header = ready!(header(known)?);
        Ok(Progress::Ready(Recovery {
            at: header.begin,
            header: Header { end: size, ..header },
            size,
            window: WINDOW_MIN,
            keys: BTreeMap::new(),
            count: 0,
            infos: None,
            is_over: false,
        }))
    }

    /// Goes on as far as the bytes reach. Those before [`Self::position`] are not needed again.
    ///
    /// # Errors
    /// `Limit` for more objects than a file can sensibly hold.
    pub fn advance(&mut self, known: &Known) -> Result<Progress<()>> {
        while !self.is_over && self.at < self.size {
            let Some(bytes) = self.key_bytes(known) else {
                return Ok(Progress::NeedsData(self.needs(known)));
            };
            self.record(&bytes)?;
        }
        Ok(Progress::Ready(()))
    }

    /// The bytes of the present record's key, and perhaps more; `None` where some are missing.
    fn key_bytes(&self, known: &Known) -> Option<Bytes> {
        let look = |length| known.get(self.at..self.at.saturating_add(length).min(self.size));
        let bytes = look(KEY_LEN_GUESS)?;
        let mut cursor = Cursor::new(&bytes, self.at);
        match cursor.skip(KEY_LEN_AT).and_then(|()| cursor.u16()).map_or(0, u64::from) {
            // An image has its picture in the title.
            longer if longer > KEY_LEN_GUESS => look(longer),
            _ => Some(bytes),
        }
    }

    /// The next stretch of the file, and the one behind it for the same round trip.
    fn needs(&mut self, known: &Known) -> Needs {
        let stop = self.at.saturating_add(self.window).min(self.size);
        let further = stop.saturating_add(self.window).min(self.size);
        self.window = (self.window * 2).min(WINDOW_MAX);
        let required = known.missing(self.at..stop);
        let speculative = known.missing(stop..further);
        Needs { required, speculative, ..Needs::default() }
    }

    /// Takes one record in; the walk ends where there is none any more.
    fn record(&mut self, bytes: &Bytes) -> Result<()> {
        let mut cursor = Cursor::new(bytes, self.at);
        let length = cursor.i32().map_or(0, i64::from);
        let next = self.at.checked_add(length.unsigned_abs()).filter(|next| *next <= self.size);
        // Zeros, or a record that was being written.
        let Some(next) = next.filter(|next| *next > self.at) else {
            self.is_over = true;
            return Ok(());
        };
        if length > 0 {
            match Key::of_record(bytes, self.at) {
                Ok(key) if key.offset == self.at => self.take(key, next)?,
                // No record begins here: the writer stopped amid something.
                _ => self.is_over = true,
            }
        }
        self.at = next;
        Ok(())
    }

    fn take(&mut self, key: Key, next: u64) -> Result<()> {
        // Lists of keys and of gaps are written under the class of their directory.
        let is_list = key.class == "TFile" || key.directory_offset == key.offset;
        // Pages of RNTuples have no name.
        let is_part = matches!(&*key.class, "TBasket" | "RBlob");
        if is_part || is_list || key.offset == self.header.begin {
            return Ok(());
        }
        if key.name == "StreamerInfo" {
            self.infos = Some(key.offset..next);
            return Ok(());
        }
        self.count += 1;
        if self.count > KEYS_MAX {
            return Err(Error::limit(format!("more than {KEYS_MAX} objects in a file")));
        }
        self.keys.entry(key.directory_offset).or_default().push(key);
        Ok(())
    }

    /// The file with the objects that were found.
    ///
    /// # Errors
    /// `NotFound` where there is none; `Corrupt` where the streamer infos cannot be read.
    pub fn finish(&self, known: &Known) -> Result<Progress<File>> {
        let nothing =
            || Error::not_found("the file was never closed, and nothing in it was saved before");
        let mut unlisted = self.keys.clone();
        let keys = unlisted.remove(&self.header.begin).ok_or_else(nothing)?;
        let mut header = self.header.clone();
        let infos = match &self.infos {
            Some(infos) => {
                header.infos_offset = infos.start;
                header.info_len = infos.end - infos.start;
                ready!(bytes_of(known, infos.clone(), "streamer infos")?)
            }
            None => Bytes::new(),
        };
        Ok(Progress::Ready(File {
            classes: classes(&infos, &header, &KnownClasses::default())?,
            header,
            top: Directory::new("", keys, 0..0),
            is_recovered: true,
            unlisted,
        }))
    }

    /// Offset of the next record.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// Objects found so far, in all directories.
    pub fn found(&self) -> usize {
        self.count
    }
}
