//! The access log: a line of JSON for each file that a client closes. It names files without their
//! queries, and no user.

use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// Lines that wait to be written; where the disk is slower than that, lines are dropped.
const LINES_MAX: usize = 4096;

/// Where lines go. A thread writes them.
#[derive(Debug)]
pub struct AccessLog {
    path: PathBuf,
    work: SyncSender<Work>,
}

/// The work of the thread that writes.
enum Work {
    Line(String),
    /// Goes on in another file.
    Continue(Box<dyn Write + Send>),
}

/// One line.
#[derive(Debug, Serialize)]
struct Line<'a> {
    /// Seconds since 1970, at the close.
    time: f64,
    client: IpAddr,
    file: &'a str,
    /// Of the file.
    size: u64,
    /// Bytes that the client was handed.
    bytes: u64,
    /// From open to close.
    seconds: f64,
}

impl AccessLog {
    /// Appends to a file, or writes on standard error where the path is `-`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn start(path: &Path) -> io::Result<Self> {
        let out = opened(path)?;
        let (work, waiting) = sync_channel(LINES_MAX);
        std::thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || write_all(out, &waiting))?;
        Ok(AccessLog { path: path.to_owned(), work })
    }

    /// Opens the file by its name again, after another program has renamed it.
    ///
    /// # Errors
    /// As [`AccessLog::start`]; then lines go where they went.
    pub fn reopen(&self) -> io::Result<()> {
        let out = opened(&self.path)?;
        // Lines that have waited so far belong into the old file.
        let ended = |_| io::Error::other("the thread that writes the access log has ended");
        self.work.send(Work::Continue(out)).map_err(ended)
    }

    /// A client has closed a file.
    pub fn closed(&self, client: IpAddr, file: &str, size: u64, bytes: u64, seconds: f64) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = Line { time: now.as_secs_f64(), client, file, size, bytes, seconds };
        let Ok(text) = serde_json::to_string(&line) else { return };
        let _ = self.work.try_send(Work::Line(text));
    }
}

fn opened(path: &Path) -> io::Result<Box<dyn Write + Send>> {
    Ok(match path == Path::new("-") {
        true => Box::new(io::stderr()),
        false => Box::new(remote::open_to_append(path).map_err(io::Error::other)?),
    })
}

fn write_all(mut out: Box<dyn Write>, waiting: &Receiver<Work>) {
    while let Ok(work) = waiting.recv() {
        match work {
            // A log that cannot be written is no reason to serve no files.
            Work::Line(line) => drop(writeln!(out, "{line}")),
            Work::Continue(other) => out = other,
        }
    }
}
