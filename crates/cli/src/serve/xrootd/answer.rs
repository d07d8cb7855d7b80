//! From requests to answers: what each request becomes, and what its result is called on the wire.

use std::collections::VecDeque;
use std::io;

use engine::checksum::{Algorithm, Checksum};
use xrootd::error::ErrorCode;
use xrootd::message::dirlist::{DirlistOptions, Entry as ListedEntry};
use xrootd::message::locate::Location;
use xrootd::message::open::OpenOptions;
use xrootd::message::query::QueryKind;
use xrootd::message::stat::{StatFlags, StatInfo, StatOptions};
use xrootd::message::{Query, Readv, Request};
use xrootd::server::{Tag, config_answer};

use super::Connection;
use super::read::{Job, Part, SEGMENT_BYTES_MAX, SEGMENTS_MAX, Segment, Step};
use crate::serve::files::{Entry, Opened, Stat};

/// What work away from the connection has come to.
#[derive(Debug)]
pub enum Outcome {
    Opened { tag: Tag, with_stat: bool, found: io::Result<Opened> },
    Stat { tag: Tag, found: io::Result<Stat> },
    Located { tag: Tag, found: io::Result<Stat> },
    Listed { tag: Tag, with_stat: bool, found: io::Result<Vec<Entry>> },
    Checksum { tag: Tag, found: io::Result<Checksum> },
    Read(Step),
}

impl Connection {
    /// Answers a request, or starts the work that will.
    pub(super) fn take_up(&mut self, tag: Tag, request: Request) {
        let export = self.export.clone();
        match request {
            Request::Open(open) => {
                self.opening = true;
                let with_stat = open.options.intersects(OpenOptions::RETSTAT);
                self.work.spawn_blocking(move || {
                    let found = export.open(path_of(&open.path));
                    Outcome::Opened { tag, with_stat, found }
                });
            }
            Request::Read(read) => match self.file(read.handle).cloned() {
                Some(file) => {
                    self.jobs.push_back(Job::range(tag, file, read.offset, read.length as usize));
                }
                None => self.not_open(tag),
            },
            Request::Pgread(read) => match self.file(read.handle).cloned() {
                Some(file) => {
                    self.jobs.push_back(Job::pages(tag, file, read.offset, read.length as usize));
                }
                None => self.not_open(tag),
            },
            Request::Readv(readv) => self.take_up_readv(tag, &readv),
            Request::Close(close) => match self.release(close.handle) {
                true => self.server.answer_done(tag),
                false => self.not_open(tag),
            },
            Request::Stat(stat) if stat.options.intersects(StatOptions::SPACE) => {
                // Nodes, free megabytes and use, for writing and for staging: there is neither.
                self.server.answer_text(tag, "0 0 0 0 0 0");
            }
            Request::Stat(stat) if stat.path.is_empty() => {
                match self.file(stat.handle).map(|file| file.stat) {
                    Some(stat) => self.server.answer_stat(tag, &stat_info(&stat)),
                    None => self.not_open(tag),
                }
            }
            Request::Stat(stat) => {
                self.work.spawn_blocking(move || Outcome::Stat {
                    tag,
                    found: export.stat(path_of(&stat.path)),
                });
            }
            Request::Locate(locate) => {
                self.work.spawn_blocking(move || Outcome::Located {
                    tag,
                    found: export.stat(path_of(&locate.path)),
                });
            }
            Request::Dirlist(list) => {
                let with_stat = list.options.intersects(DirlistOptions::WITH_STAT);
                self.work.spawn_blocking(move || {
                    let found = export.list(path_of(&list.path));
                    Outcome::Listed { tag, with_stat, found }
                });
            }
            Request::Query(query) => self.answer_query(tag, &query),
            Request::Ping(_) | Request::Endsess(_) => self.server.answer_done(tag),
            other => {
                let text = format!("{} is not served here", other.name());
                self.server.answer_error(tag, ErrorCode::UNSUPPORTED, &text);
            }
        }
    }

    fn take_up_readv(&mut self, tag: Tag, readv: &Readv) {
        if readv.segments.len() > SEGMENTS_MAX {
            return self.server.answer_error(
                tag,
                ErrorCode::ARG_TOO_LONG,
                "Read vector is too long",
            );
        }
        let mut segments = VecDeque::with_capacity(readv.segments.len());
        for wanted in &readv.segments {
            if wanted.length > SEGMENT_BYTES_MAX {
                let text = "Single readv transfer is too large";
                return self.server.answer_error(tag, ErrorCode::NO_MEMORY, text);
            }
            let Some(file) = self.file(wanted.handle).cloned() else { return self.not_open(tag) };
            let (handle, offset, length) = (wanted.handle, wanted.offset, wanted.length as usize);
            segments.push_back(Segment { handle, file, offset, length });
        }
        self.jobs.push_back(Job::segments(tag, segments));
    }

    fn answer_query(&mut self, tag: Tag, query: &Query) {
        if query.kind == QueryKind::CHECKSUM {
            return self.take_up_checksum(tag, query.argument.clone());
        }
        if query.kind != QueryKind::CONFIG {
            let text = "only the configuration and checksums can be queried";
            return self.server.answer_error(tag, ErrorCode::UNSUPPORTED, text);
        }
        let values = |key: &str| match key {
            "readv_iov_max" => Some(SEGMENTS_MAX.to_string()),
            "readv_ior_max" => Some(SEGMENT_BYTES_MAX.to_string()),
            "role" => Some("server".to_owned()),
            "version" => Some(concat!("farroot-", env!("CARGO_PKG_VERSION")).to_owned()),
            _ => None,
        };
        self.server.answer_text(tag, &config_answer(&query.argument, &values));
    }

    fn take_up_checksum(&mut self, tag: Tag, path: String) {
        let kind = path.split(['?', '&']).find_map(|part| part.strip_prefix("cks.type="));
        let algorithm = match kind.map_or(Ok(Algorithm::Adler32), str::parse) {
            Ok(algorithm) => algorithm,
            Err(_) => {
                let text = "checksums of this kind are not made here";
                return self.server.answer_error(tag, ErrorCode::UNSUPPORTED, text);
            }
        };
        let export = self.export.clone();
        self.work.spawn_blocking(move || {
            let found = export.open(path_of(&path)).and_then(|file| file.checksum(algorithm));
            Outcome::Checksum { tag, found }
        });
    }

    /// Answers what has been worked on.
    pub(super) fn finish(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Opened { tag, with_stat, found } => {
                self.opening = false;
                let file = match found {
                    Ok(file) => file,
                    Err(error) => return self.refuse(tag, &error),
                };
                let info = with_stat.then(|| stat_info(&file.stat));
                match self.hold(file) {
                    Some(handle) => self.server.answer_open(tag, handle, info.as_ref()),
                    None => {
                        let text = "too many files are open on this connection";
                        self.server.answer_error(tag, ErrorCode::OVERLOADED, text);
                    }
                }
            }
            Outcome::Stat { tag, found } => match found {
                Ok(stat) => self.server.answer_stat(tag, &stat_info(&stat)),
                Err(error) => self.refuse(tag, &error),
            },
            Outcome::Located { tag, found } => match found {
                Ok(_) => {
                    let address = self.address.to_string();
                    let here =
                        Location { manager: false, pending: false, writable: false, address };
                    self.server.answer_locations(tag, &[here]);
                }
                Err(error) => self.refuse(tag, &error),
            },
            Outcome::Listed { tag, with_stat, found } => match found {
                Ok(entries) => self.server.answer_entries(tag, &listed(entries, with_stat)),
                Err(error) => self.refuse(tag, &error),
            },
            Outcome::Checksum { tag, found } => match found {
                Ok(checksum) => self.server.answer_text(tag, &checksum.to_string()),
                Err(error) => self.refuse(tag, &error),
            },
            Outcome::Read(step) => self.finish_step(step),
        }
    }

    fn finish_step(&mut self, Step { tag, part, rest }: Step) {
        self.steps -= 1;
        let more = rest.is_some();
        match part {
            Ok(Part::Data(bytes)) => self.server.answer_data(tag, bytes, more),
            Ok(Part::Pages { offset, bytes }) => {
                self.server.answer_pages(tag, offset, &bytes, more);
            }
            Ok(Part::Records(records)) => self.server.answer_readv(tag, &records, more),
            Err(error) => self.refuse(tag, &error),
        }
        self.jobs.extend(rest);
    }

    fn refuse(&mut self, tag: Tag, error: &io::Error) {
        let (code, text) = match error.kind() {
            io::ErrorKind::NotFound => (ErrorCode::NOT_FOUND, "no such file or directory"),
            io::ErrorKind::PermissionDenied => (ErrorCode::NOT_AUTHORIZED, "not to be read here"),
            io::ErrorKind::IsADirectory => (ErrorCode::IS_DIRECTORY, "it is a directory"),
            io::ErrorKind::NotADirectory => (ErrorCode::FS_ERROR, "it is no directory"),
            io::ErrorKind::Unsupported => (ErrorCode::NOT_FILE, "it is no regular file"),
            io::ErrorKind::UnexpectedEof => {
                (ErrorCode::FS_ERROR, "a segment beyond the end of the file")
            }
            io::ErrorKind::QuotaExceeded => (ErrorCode::OVERLOADED, "too many entries to list"),
            _ => (ErrorCode::IO_ERROR, "the server cannot read it"),
        };
        self.server.answer_error(tag, code, text);
    }
}

/// A request's path without what is meant for servers on the way, and without the mark that asks
/// for any server of a folder.
fn path_of(request: &str) -> &str {
    let path = request.split('?').next().unwrap_or_default();
    path.strip_prefix('*').unwrap_or(path)
}

fn stat_info(stat: &Stat) -> StatInfo {
    let kind = match stat.is_folder {
        true => StatFlags::DIRECTORY | StatFlags::EXECUTABLE,
        false => StatFlags(0),
    };
    StatInfo {
        id: stat.inode.to_string(),
        size: stat.size,
        flags: StatFlags::READABLE | kind,
        mtime: i64::try_from(stat.modified.as_secs()).unwrap_or(i64::MAX),
        more: None,
    }
}

fn listed(entries: Vec<Entry>, with_stat: bool) -> Vec<ListedEntry> {
    let entry = |Entry { name, stat }: Entry| ListedEntry {
        name,
        stat: with_stat.then(|| stat_info(&stat)),
    };
    entries.into_iter().map(entry).collect()
}
