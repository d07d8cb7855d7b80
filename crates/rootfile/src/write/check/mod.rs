//! Checks whether a file keeps the promises of writers of ROOT files to each other, also those that
//! no reader notices.
//!
//! ROOT reads many a wrong file without a word: a free list that the next writer will write over
//! data by, a key list that finds the oldest of several objects, a count that is cut off where a
//! leaf's maximum is too small. All of these are looked for here, in the whole file.
//!
//! (Source: ROOT, `io/doc/TFile`, `TFile::Init`, `TFree`, `TDirectoryFile::AppendKey`,
//! `TBranch::GetBasket`; RNTuple's `BinaryFormatSpecification.md`.)

mod directories;
mod free;
mod ntuples;
mod objects;
mod records;
#[cfg(test)]
mod tests;
mod trees;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::key::Key;
use crate::known::{Known, Progress};

/// Further findings are not looked for.
const FINDINGS_MAX: usize = 1000;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// ROOT writes it otherwise, and reads it all the same.
    Unusual,
    /// Bytes that nothing needs.
    Wasteful,
    /// A reader fails at it or gets other values, or the next writer writes over data.
    Broken,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Unusual => "unusual",
            Severity::Wasteful => "wasteful",
            Severity::Broken => "broken",
        })
    }
}

/// Something that a file should not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    /// The byte that it is about.
    pub offset: u64,
    pub message: String,
}

impl Finding {
    fn broken(offset: u64, error: &Error) -> Self {
        Finding { severity: Severity::Broken, offset, message: error.to_string() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}: {}", self.offset, self.severity, self.message)
    }
}

/// All that is wrong with a whole file; nothing for a right one. A file that does not open has one
/// finding that says why.
pub fn check(bytes: &Bytes) -> Vec<Finding> {
    let mut known = Known::new(Some(bytes.len() as u64));
    known.supply(0, bytes.clone());
    let file = match File::open(&known) {
        Ok(Progress::Ready(file)) => file,
        Ok(Progress::NeedsData(_)) => return vec![lacking(0)],
        Err(error) => return vec![Finding::broken(0, &error)],
    };
    let mut check = Check {
        bytes,
        file: &file,
        known: &known,
        records: BTreeMap::new(),
        gaps: BTreeMap::new(),
        used: BTreeSet::new(),
        findings: Vec::new(),
    };
    check.header();
    check.chain();
    check.directories();
    check.free();
    check.unused();
    check.findings.truncate(FINDINGS_MAX);
    check.findings
}

/// A file, the keys of its records, and the findings so far.
struct Check<'a> {
    bytes: &'a Bytes,
    file: &'a File,
    known: &'a Known,
    /// By offset.
    records: BTreeMap<u64, Key>,
    /// Stretches that say that they are free, by offset, and their lengths.
    gaps: BTreeMap<u64, u64>,
    /// Records that something leads to.
    used: BTreeSet<u64>,
    findings: Vec<Finding>,
}

impl Check<'_> {
    fn find(&mut self, severity: Severity, offset: u64, message: impl Into<String>) {
        let finding = Finding { severity, offset, message: message.into() };
        // An object says the same of each of many parts.
        if self.findings.len() < FINDINGS_MAX && self.findings.last() != Some(&finding) {
            self.findings.push(finding);
        }
    }

    fn broken(&mut self, offset: u64, message: impl Into<String>) {
        self.find(Severity::Broken, offset, message);
    }

    fn wasteful(&mut self, offset: u64, message: impl Into<String>) {
        self.find(Severity::Wasteful, offset, message);
    }

    fn unusual(&mut self, offset: u64, message: impl Into<String>) {
        self.find(Severity::Unusual, offset, message);
    }

    /// An error of reading something: bytes that contradict each other, or a form that this version
    /// or any reader does not know.
    fn failed(&mut self, offset: u64, error: &Error, message: impl Into<String>) {
        match error.kind {
            ErrorKind::Unsupported(_) | ErrorKind::Limit(_) => self.unusual(offset, message),
            _ => self.broken(offset, message),
        }
    }

    /// The result of a step that has the whole file, or a finding.
    fn done<T>(&mut self, offset: u64, result: Result<Progress<T>>) -> Option<T> {
        match result {
            Ok(Progress::Ready(done)) => Some(done),
            Ok(Progress::NeedsData(_)) => {
                self.findings.push(lacking(offset));
                None
            }
            Err(error) => {
                self.failed(offset, &error, error.to_string());
                None
            }
        }
    }

    fn bytes_of(&self, range: Range<u64>) -> Option<Bytes> {
        let start = usize::try_from(range.start).ok()?;
        let end = usize::try_from(range.end).ok()?;
        (start <= end && end <= self.bytes.len()).then(|| self.bytes.slice(start..end))
    }

    /// The record of a key, if it lies in the file.
    fn record_of(&self, key: &Key) -> Option<Bytes> {
        self.bytes_of(key.offset..key.offset.checked_add(key.record_len)?)
    }

    /// A record of that class that something at `from` leads to. The file's own records are of
    /// the class of the first, whatever that is.
    fn uses(&mut self, offset: u64, len: u64, class: &str, from: u64) -> Option<Key> {
        let found = self.records.get(&offset).cloned().or_else(|| self.key_at(offset, len));
        let own = self.records.get(&self.file.header.begin).map(|key| key.class.clone());
        let is_one = |key: &Key| {
            // RNTuples that are a file of their own leave the class out.
            let is_own = key.class.is_empty() || Some(&key.class) == own.as_ref();
            key.class == class || class == "TFile" && is_own
        };
        let Some(key) = found.filter(|key| key.record_len == len) else {
            self.broken(
                from,
                format!("no {class} of {len} bytes at {offset}, where one should be"),
            );
            return None;
        };
        if !is_one(&key) {
            let other = &key.class;
            self.unusual(
                offset,
                format!("a record of class \"{other}\" where a {class} should be"),
            );
        }
        self.used.insert(offset);
        Some(key)
    }

    /// The key of a record that something leads to, where the chain of records does not.
    fn key_at(&self, offset: u64, len: u64) -> Option<Key> {
        Key::of_record(&self.bytes_of(offset..offset.checked_add(len)?)?, offset).ok()
    }
}

fn lacking(offset: u64) -> Finding {
    Finding::broken(offset, &Error::corrupt("something lies behind the end of the file"))
}
