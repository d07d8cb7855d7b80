//! Notices of the ranges that the processes that share a cache are fetching, so that one of them
//! fetches each range of a file.
//!
//! Each file that is being read has a log beside the cache's data. Before a process asks a server
//! for ranges it appends a notice of them and reads the notices of other processes: the process
//! whose notice is first in the log fetches. A notice is valid while its process has the log open,
//! which a lock shows ([`crate::locks`]); the kernel frees the lock of a process that was killed.
//! The fetched bytes are in the cache, not in the log.
//!
//! ```text
//!   <folder>/farroot-cache/v1/notices/<number of the address>
//! ```
//!
//! No function here waits, and a process can do without notices: where the log cannot be used, each
//! process fetches for itself.

pub mod record;
mod table;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mutex::Mutex;

use self::record::{NOTICE_BYTES, Notice, PROCESSES_MAX, Subject, decode_notice, encode_notice};
use self::table::Table;
use crate::locks;

/// The name of the folder.
const FOLDER: &str = "notices";
/// Length from which a log takes no further notices: processes have shared it for long.
const LOG_BYTES_MAX: u64 = 64 << 20;
/// The byte on which each process has a shared lock while it has the log open.
const OPEN: Range<u64> = 0..1;
/// Offset of the bytes that processes lock: each the byte at its own number.
const PROCESSES: u64 = 1 << 32;
/// Most numbers that a process tries in search of a free one.
const TRIES_OF_NUMBERS: usize = 1000;
/// Attempts to open a log, since another process may remove it meanwhile.
const TRIES: u32 = 4;
/// Age from which a log that no process has open is removed.
const ABANDONED_FOR: Duration = Duration::from_secs(600);

/// One process's view of the notices of one file.
#[derive(Debug)]
pub struct Notices {
    path: PathBuf,
    log: Mutex<Log>,
}

#[derive(Debug)]
struct Log {
    file: File,
    /// The number of this process.
    number: u64,
    /// Bytes of the log that are in the table.
    read: u64,
    table: Table,
}

impl Notices {
    /// Opens the log of the address with this number, in the folder where the cache's data are.
    /// `None` where it cannot be used.
    pub fn open(data: &Path, address: u64, now: Duration) -> Option<Self> {
        let folder = data.join(FOLDER);
        if !folder.is_dir() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
        }
        let path = folder.join(format!("{address:016x}"));
        (0..TRIES).find_map(|_| Self::open_once(&path, now))
    }

    fn open_once(path: &Path, now: Duration) -> Option<Self> {
        let mut options = File::options();
        options.read(true).append(true).create(true).mode(0o600);
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = options.open(path).ok()?;
        if locks::lock(&file, OPEN) {
            // No other process has the log open: its notices are no longer valid.
            file.set_len(0).ok()?;
        }
        let is_shared = locks::share(&file, OPEN);
        if !is_shared || file.metadata().ok()?.nlink() == 0 {
            return None;
        }
        let mut log = Log { file, number: 0, read: 0, table: Table::default() };
        let last = log.learn(u64::MAX, now).ok()?;
        // Another process that opened the log at the same moment may have the number.
        let is_free = |number: &u64| locks::lock(&log.file, byte(*number));
        log.number = (last + 1..=PROCESSES_MAX).take(TRIES_OF_NUMBERS).find(is_free)?;
        Some(Notices { path: path.to_owned(), log: Mutex::new(log) })
    }

    /// Appends notices of the ranges that no other process is fetching. Returns for each range the
    /// process that fetches it; `None` if it is this one.
    pub fn announce(&self, ranges: &[Range<u64>], now: Duration) -> Vec<Option<u64>> {
        self.log.lock().announce(ranges, now).unwrap_or_else(|_| vec![None; ranges.len()])
    }

    /// Withdraws the notices of ranges that this process will not fetch.
    pub fn withdraw(&self, ranges: &[Range<u64>]) {
        // If that fails, other processes wait for the ranges for up to `table::VALID_FOR`.
        let _ = self.log.lock().append(ranges, Subject::GivenUp);
    }

    /// Reads the new notices of other processes, and checks which of the `waited` processes have
    /// ended or deliver nothing.
    pub fn refresh(&self, waited: &BTreeSet<u64>, now: Duration) {
        let mut log = self.log.lock();
        let _ = log.learn(u64::MAX, now);
        for process in waited {
            if !log.is_alive(*process) {
                log.table.end(*process);
            }
        }
        log.table.wait_for(waited, now);
    }

    /// The process that fetches all of a range and can be waited for, as of the last refresh.
    pub fn holder(&self, range: &Range<u64>, now: Duration) -> Option<u64> {
        self.log.lock().table.holder(range, now)
    }

    /// Notes that a range fetched by `process` is in the cache.
    pub fn arrived(&self, process: Option<u64>, range: &Range<u64>, now: Duration) {
        self.log.lock().table.arrived(process, range, now);
    }

    /// Forgets all notices of a range that could not be read from the cache.
    pub fn forget(&self, range: &Range<u64>) {
        self.log.lock().table.forget(range);
    }
}

impl Drop for Notices {
    /// The last process to close the log removes it.
    fn drop(&mut self) {
        let file = &self.log.get_mut().file;
        let is_named = file.metadata().is_ok_and(|metadata| metadata.nlink() > 0);
        if is_named && locks::lock(file, OPEN) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Log {
    fn announce(&mut self, ranges: &[Range<u64>], now: Duration) -> io::Result<Vec<Option<u64>>> {
        self.learn(u64::MAX, now)?;
        // Not checked: a process that has ended may have fetched the range before. See `refresh`.
        let mut holders: Vec<Option<u64>> =
            ranges.iter().map(|range| self.table.holder(range, now)).collect();
        let free = |holders: &[Option<u64>]| -> Vec<Range<u64>> {
            let free = ranges.iter().zip(holders).filter(|(_, holder)| holder.is_none());
            free.map(|(range, _)| range.clone()).collect()
        };
        let ours = free(&holders);
        if self.read > LOG_BYTES_MAX {
            return Ok(holders);
        }
        let end = self.append(&ours, Subject::Fetching)?;
        // Notices that others appended between the read and this append come first.
        let from = self.read;
        self.learn(end - (ours.len() * NOTICE_BYTES) as u64, now)?;
        if self.read > from {
            for (range, holder) in ranges.iter().zip(&mut holders).filter(|(_, h)| h.is_none()) {
                *holder = self.table.holder(range, now);
            }
            let kept = free(&holders);
            let lost: Vec<Range<u64>> =
                ours.into_iter().filter(|range| !kept.contains(range)).collect();
            self.append(&lost, Subject::GivenUp)?;
        }
        Ok(holders)
    }

    fn is_alive(&self, process: u64) -> bool {
        locks::first_locked(&self.file, byte(process)).is_some()
    }

    /// Appends notices in one write; returns the log's offset after them.
    fn append(&mut self, ranges: &[Range<u64>], subject: Subject) -> io::Result<u64> {
        if ranges.is_empty() {
            return Ok(self.read);
        }
        let process = self.number;
        let notice = |range: &Range<u64>| Notice { process, range: range.clone(), subject };
        let bytes: Vec<u8> =
            ranges.iter().flat_map(|range| encode_notice(&notice(range))).collect();
        self.file.write_all(&bytes)?;
        self.file.stream_position()
    }

    /// Reads other processes' notices up to `end`, or to the log's end; returns the largest process
    /// number in them.
    fn learn(&mut self, end: u64, now: Duration) -> io::Result<u64> {
        let mut last = 0;
        let mut bytes = [0; 128 * NOTICE_BYTES];
        while self.read < end {
            let most = bytes.len().min((end - self.read) as usize);
            let length = self.file.read_at(&mut bytes[..most], self.read)?;
            let whole = length - length % NOTICE_BYTES;
            if whole == 0 {
                break;
            }
            for notice in bytes[..whole].chunks_exact(NOTICE_BYTES).filter_map(decode_notice) {
                last = last.max(notice.process);
                if notice.process != self.number {
                    self.table.take(&notice, now);
                }
            }
            self.read += whole as u64;
        }
        Ok(last)
    }
}

/// The byte that a process locks.
fn byte(process: u64) -> Range<u64> {
    PROCESSES + process..PROCESSES + process + 1
}

/// Removes old logs of processes that were killed.
pub fn clean(data: &Path) {
    let Ok(entries) = fs::read_dir(data.join(FOLDER)) else { return };
    let is_old = |metadata: &fs::Metadata| {
        let age = metadata.modified().map(|modified| modified.elapsed().unwrap_or_default());
        metadata.is_file() && age.is_ok_and(|age| age > ABANDONED_FOR)
    };
    for entry in entries.flatten().filter(|entry| entry.metadata().is_ok_and(|m| is_old(&m))) {
        let mut options = File::options();
        options.read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = options.open(entry.path());
        // The lock is held until the log is removed.
        if let Ok(file) = file
            && locks::lock(&file, OPEN)
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
