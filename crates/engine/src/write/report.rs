//! Sizes of a file that was written, and the times of its parts.

use std::fmt;
use std::time::Duration;

use remote::report::{count, size};
use remote::{Checksum, Written};

/// A file that has been written.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WriteReport {
    /// Its address, without secrets.
    pub address: String,
    /// Bytes of the file.
    pub size: u64,
    /// Of all its bytes; `None` where it was there before.
    pub checksum: Option<Checksum>,
    /// Of the upload: see [`Written::warnings`].
    pub warnings: Vec<String>,
    /// Of all tables.
    pub entries: u64,
    /// Bytes of the arrays that were added to tables.
    pub array_bytes: u64,
    /// The tables, in the order in which they were made.
    pub tables: Vec<TableReport>,
    /// From the beginning to the file's name.
    pub time: Duration,
    /// Spent by threads on encoding, summed over them.
    pub encoding: Duration,
    /// In which the place was handed bytes: while it takes no more, it holds up the rest.
    pub carrying: Duration,
    /// In which callers waited for room, summed over them.
    pub for_room: Duration,
    /// In which nothing was under way, as callers brought nothing.
    pub for_callers: Duration,
    /// The most bytes held at one time.
    pub held_bytes_max: u64,
}

/// A table that has been written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableReport {
    /// Where it is in the file.
    pub path: String,
    pub entries: u64,
}

/// Counts of a write.
#[derive(Debug)]
pub struct Counts {
    begun: Duration,
    pub entries: u64,
    pub array_bytes: u64,
    pub encoding: Duration,
    pub carried: u64,
    pub carrying: Duration,
    pub for_room: Duration,
    idle: Duration,
    idle_since: Option<Duration>,
    held_bytes_max: usize,
}

impl Counts {
    pub fn begin(now: Duration) -> Self {
        Counts {
            begun: now,
            entries: 0,
            array_bytes: 0,
            encoding: Duration::ZERO,
            carried: 0,
            carrying: Duration::ZERO,
            for_room: Duration::ZERO,
            idle: Duration::ZERO,
            idle_since: Some(now),
            held_bytes_max: 0,
        }
    }

    /// Notes the bytes that are held, and whether any work is under way, from this moment on.
    pub fn note(&mut self, held: usize, is_busy: bool, now: Duration) {
        self.held_bytes_max = self.held_bytes_max.max(held);
        match (is_busy, self.idle_since) {
            (true, Some(since)) => {
                self.idle += now.saturating_sub(since);
                self.idle_since = None;
            }
            (false, None) => self.idle_since = Some(now),
            _ => {}
        }
    }

    pub fn report(&self, written: Written, tables: Vec<TableReport>, now: Duration) -> WriteReport {
        let Written { address, size, checksum, warnings } = written;
        WriteReport {
            address,
            size,
            checksum,
            warnings,
            entries: self.entries,
            array_bytes: self.array_bytes,
            tables,
            time: now.saturating_sub(self.begun),
            encoding: self.encoding,
            carrying: self.carrying,
            for_room: self.for_room,
            for_callers: self.idle,
            held_bytes_max: self.held_bytes_max as u64,
        }
    }
}

impl fmt::Display for WriteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WriteReport { address, checksum, entries, tables, .. } = self;
        write!(f, "{address}: {}", size(self.size))?;
        if let Some(checksum) = checksum {
            write!(f, ", {checksum}")?;
        }
        let of = count(tables.len() as u64, "table");
        let arrays = size(self.array_bytes);
        writeln!(f, "\n{} in {of}, {arrays} of arrays", noun(*entries))?;
        let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
        let [time, encoding, carrying, room, callers] =
            [self.time, self.encoding, self.carrying, self.for_room, self.for_callers].map(seconds);
        writeln!(f, "{time}; threads encoded for {encoding}, bytes were handed on for {carrying}")?;
        write!(f, "callers waited {room} for room, and were waited for {callers}; ")?;
        write!(f, "{} held at the most", size(self.held_bytes_max))
    }
}

fn noun(entries: u64) -> String {
    match entries {
        1 => "1 entry".to_owned(),
        _ => format!("{entries} entries"),
    }
}
