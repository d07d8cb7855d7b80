//! From requests to answers: the work for each request, and the code of its result on the wire.

use std::collections::BTreeMap;
use std::io;

use remote::address::Address;
use remote::{Algorithm, Checksum, ErrorKind};
use tokio::sync::OwnedSemaphorePermit;
use xrootd::error::ErrorCode;
use xrootd::header::Handle;
use xrootd::message::dirlist::DirlistOptions;
use xrootd::message::locate::Location;
use xrootd::message::open::OpenOptions;
use xrootd::message::query::{QueryKind, SELECTS_KEY};
use xrootd::message::stat::{StatFlags, StatInfo, StatOptions};
use xrootd::message::{Open, Query, Readv, Request};
use xrootd::server::{Served, Tag, config_answer};

use super::Connection;
use super::asking::Asking;
use super::read::{Answered, Job, SEGMENT_BYTES_MAX, SEGMENTS_MAX, Step, stat_info};
use super::write::{Changed, WriteRoom, write_mode};
use crate::access::{Denial, Visitor};
use crate::clients::Client;
use crate::cluster::SentElsewhere;
use crate::far::known;
use crate::files::{Files, Name, Opened, path_of};
use crate::folder::{Stat, WriteMode};
use crate::gsi::GsiStep;

/// The outcome of work away from the connection.
#[derive(Debug)]
pub enum Outcome {
    Opened {
        tag: Tag,
        handle: Handle,
        with_stat: bool,
        /// It was opened to write, which counts as a change.
        is_change: bool,
        found: io::Result<Opened>,
    },
    Stat {
        tag: Tag,
        found: io::Result<Stat>,
    },
    Located {
        tag: Tag,
        found: io::Result<()>,
    },
    Checksum {
        tag: Tag,
        found: io::Result<Checksum>,
    },
    Changed {
        tag: Tag,
        found: io::Result<Changed>,
    },
    /// Where a client changes a far file.
    Elsewhere {
        tag: Tag,
        is_move: bool,
        found: io::Result<Address>,
    },
    /// There is room for the write that arrives.
    Room(Option<OwnedSemaphorePermit>),
    Read(Step),
    LoggedIn {
        tag: Tag,
        visitor: Result<Visitor, String>,
    },
    Gsi {
        tag: Tag,
        step: Result<GsiStep, String>,
    },
}

/// Whether a path is opened for a copy between two servers: the client then writes nothing itself.
fn is_of_third_party(path: &str) -> bool {
    let (_, query) = path.split_once('?').unwrap_or_default();
    query.split('&').any(|parameter| parameter.starts_with("tpc."))
}

impl Connection {
    /// Answers a request, or starts the work that will.
    pub(super) fn take_up(&mut self, tag: Tag, request: Request) {
        if self.take_up_change(tag, &request) {
            return;
        }
        match request {
            Request::Open(open) => self.take_up_open(tag, open),
            Request::Read(read) => match self.file(read.handle).cloned() {
                Some(file) => {
                    let length = read.length as usize;
                    self.reads.push(Job::range(tag, &self.client, file, read.offset, length));
                }
                None => self.not_open(tag),
            },
            Request::Pgread(read) => match self.file(read.handle).cloned() {
                Some(file) => {
                    let length = read.length as usize;
                    self.reads.push(Job::pages(tag, &self.client, file, read.offset, length));
                }
                None => self.not_open(tag),
            },
            Request::Readv(readv) => self.take_up_readv(tag, readv),
            Request::Auth(auth) => self.take_up_login(tag, &auth),
            Request::Close(close) => match self.opened.take(close.handle) {
                Some(_) => self.server.answer_done(tag),
                None => self.not_open(tag),
            },
            Request::Stat(stat) if stat.options.intersects(StatOptions::SPACE) => {
                // Nodes, free megabytes and use, for writing and for staging: there is neither.
                self.server.answer_text(tag, "0 0 0 0 0 0");
            }
            Request::Stat(ref stat) if stat.path.is_empty() => match self.file(stat.handle) {
                Some(_) => self.lookups.push((tag, request)),
                None => self.not_open(tag),
            },
            Request::Stat(_) | Request::Locate(_) => self.lookups.push((tag, request)),
            Request::Dirlist(list) => {
                let with_stat = list.options.intersects(DirlistOptions::WITH_STAT);
                self.reads.push(Job::names(tag, list.path, with_stat, self.asking()));
            }
            Request::Query(query) => self.answer_query(tag, &query),
            Request::Ping(_) | Request::Endsess(_) => self.server.answer_done(tag),
            other => {
                let text = format!("{} is not served here", other.name());
                self.server.answer_error(tag, ErrorCode::UNSUPPORTED, &text);
            }
        }
    }

    fn take_up_open(&mut self, tag: Tag, open: Open) {
        if open.options.writes() && is_of_third_party(&open.path) {
            // Before a file is made, which the copy would leave empty.
            let text = "tpc not supported: copies between two servers go through their client";
            return self.server.answer_error(tag, ErrorCode::UNSUPPORTED, text);
        }
        let Some(handle) = self.opened.reserve(self.client.limits().files_per_connection) else {
            let text = "too many files are open on this connection";
            return self.server.answer_error(tag, ErrorCode::OVERLOADED, text);
        };
        let with_stat = open.options.intersects(OpenOptions::RETSTAT);
        let mode = write_mode(&open);
        let is_change = mode.is_some();
        self.is_changing |= is_change;
        let files = self.files.clone();
        let client = self.client.clone();
        let asking = self.asking();
        self.work.spawn(async move {
            let found = match mode {
                Some(mode) => open_to_write(&files, &client, path_of(&open.path), mode).await,
                None => {
                    let guest = asking.guest(&open.path).await;
                    files.open(&guest, Name::of_xrootd(&open.path)).await
                }
            };
            Outcome::Opened { tag, handle, with_stat, is_change, found }
        });
    }

    fn take_up_readv(&mut self, tag: Tag, readv: Readv) {
        if readv.segments.len() > SEGMENTS_MAX {
            return self.server.answer_error(
                tag,
                ErrorCode::ARG_TOO_LONG,
                "Read vector is too long",
            );
        }
        let mut files = BTreeMap::new();
        for wanted in &readv.segments {
            if wanted.length > SEGMENT_BYTES_MAX {
                let text = "Single readv transfer is too large";
                return self.server.answer_error(tag, ErrorCode::NO_MEMORY, text);
            }
            let Some(file) = self.file(wanted.handle).cloned() else { return self.not_open(tag) };
            files.insert(wanted.handle, file);
        }
        match Job::segments(tag, &self.client, readv.segments, files) {
            Ok(job) => self.reads.push(job),
            Err(error) => self.refuse(tag, &error),
        }
    }

    /// Starts the lookups that wait, and the next checksum.
    pub(super) fn look_up(&mut self) {
        while let Some((tag, request)) = self.lookups.next(|_, _| true) {
            let files = self.files.clone();
            let asking = self.asking();
            let client = self.client.clone();
            let open = match &request {
                Request::Stat(stat) if stat.path.is_empty() => self.file(stat.handle).cloned(),
                _ => None,
            };
            self.work.spawn(async move {
                match open {
                    Some(file) => {
                        Outcome::Stat { tag, found: files.stat_now(&client, &file).await }
                    }
                    None => looked_up(tag, request, &files, &asking).await,
                }
            });
        }
        while let Some((tag, path)) = self.checksums.next(|_, _| true) {
            let files = self.files.clone();
            let asking = self.asking();
            self.work.spawn(async move {
                let found = checksum(&path, &files, &asking).await;
                Outcome::Checksum { tag, found }
            });
        }
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
            // A proxy makes none, and its origins may make any.
            "chksum" => self.files.folder().is_ok().then(checksums_made),
            "readv_iov_max" => Some(SEGMENTS_MAX.to_string()),
            "readv_ior_max" => Some(SEGMENT_BYTES_MAX.to_string()),
            SELECTS_KEY => self.selects.then(|| "1".to_owned()),
            "role" => Some("server".to_owned()),
            "sitename" => Some("farroot".to_owned()),
            "version" => Some(concat!("farroot-", env!("CARGO_PKG_VERSION")).to_owned()),
            _ => None,
        };
        self.server.answer_text(tag, &config_answer(&query.argument, &values));
    }

    fn take_up_checksum(&mut self, tag: Tag, path: String) {
        match algorithm_of(&path) {
            Some(_) => self.checksums.push((tag, path)),
            None => {
                let text = "checksums of this kind are not made here";
                self.server.answer_error(tag, ErrorCode::UNSUPPORTED, text);
            }
        }
    }

    /// Answers with the outcome of work.
    ///
    /// # Errors
    /// The answer has begun and cannot be ended: the connection has to.
    pub(super) fn finish(&mut self, outcome: Outcome) -> io::Result<()> {
        match outcome {
            Outcome::Read(step) => return self.finish_step(step),
            Outcome::LoggedIn { tag, visitor } => self.finish_login(tag, visitor),
            Outcome::Gsi { tag, step } => self.finish_gsi(tag, step),
            Outcome::Changed { tag, found } => self.finish_change(tag, found),
            Outcome::Elsewhere { tag, is_move, found } => {
                self.finish_elsewhere(tag, is_move, found);
            }
            Outcome::Room(room) => {
                self.write_room = room.map_or(WriteRoom::None, WriteRoom::Held);
            }
            Outcome::Opened { tag, handle, with_stat, is_change, found } => {
                self.is_changing &= !is_change;
                self.finish_open(tag, handle, with_stat, found);
            }
            Outcome::Stat { tag, found } => {
                self.lookups.done();
                match found {
                    Ok(stat) => self.server.answer_stat(tag, &self.info(&stat)),
                    Err(error) => self.refuse(tag, &error),
                }
            }
            Outcome::Located { tag, found } => {
                self.lookups.done();
                match found {
                    Ok(_) => {
                        // A certificate is for names, and not for the addresses behind them.
                        let node = self.files.cluster_node().map(|node| node.to_string());
                        let address = node.unwrap_or_else(|| self.address.to_string());
                        let writable = self.files.are_writable();
                        let here = Location { manager: false, pending: false, writable, address };
                        self.server.answer_locations(tag, &[here]);
                    }
                    Err(error) => self.refuse(tag, &error),
                }
            }
            Outcome::Checksum { tag, found } => {
                self.checksums.done();
                match found {
                    Ok(checksum) => self.server.answer_text(tag, &checksum.to_string()),
                    Err(error) => self.refuse(tag, &error),
                }
            }
        }
        Ok(())
    }

    fn finish_open(
        &mut self,
        tag: Tag,
        handle: Handle,
        with_stat: bool,
        found: io::Result<Opened>,
    ) {
        let opened = match found {
            Ok(file) => {
                let info = with_stat.then(|| self.info(&file.stat()));
                self.server.answer_open(tag, handle, info.as_ref());
                Some(file)
            }
            Err(error) => {
                self.refuse(tag, &error);
                None
            }
        };
        for (tag, request) in self.opened.settle(handle, opened).into_iter().rev() {
            self.queue.push_front(Served::Request { tag, request });
        }
    }

    fn finish_step(&mut self, step: Step) -> io::Result<()> {
        let Step { tag, part, rest, is_within_frame } = step;
        self.reads.done();
        self.is_alone = false;
        let more = rest.is_some();
        match part {
            Ok(Answered::Frame(bytes)) => self.server.answer_data(tag, bytes, more),
            Ok(Answered::Pages { offset, pages }) => {
                self.server.answer_encoded_pages(tag, offset, pages, more);
            }
            Ok(Answered::Records(records)) => self.server.answer_readv(tag, &records, more),
            Ok(Answered::Begin { length, bytes, more }) => {
                self.server.begin_records(tag, length, bytes, more);
            }
            Ok(Answered::Continue(bytes)) => self.server.continue_records(bytes),
            Err(error) if is_within_frame => return Err(error),
            Err(error) => self.refuse(tag, &error),
        }
        match rest {
            Some(job) if job.is_within_frame() => self.reads.push_first(job),
            Some(job) => self.reads.push(job),
            None => {}
        }
        Ok(())
    }

    /// The stat of a file for a client.
    fn info(&self, stat: &Stat) -> StatInfo {
        let mut info = stat_info(stat);
        if self.files.are_writable() {
            info.flags = info.flags | StatFlags::WRITABLE;
        }
        info
    }

    pub(super) fn refuse(&mut self, tag: Tag, error: &io::Error) {
        if let Some(known) = known(error) {
            return self.server.answer_error(tag, code_of(known), &known.to_string());
        }
        if let Some(node) = SentElsewhere::of(error) {
            return self.server.answer_redirect(tag, &node.redirect());
        }
        if let Some(denial) = Denial::of(error) {
            return self.server.answer_error(tag, ErrorCode::NOT_AUTHORIZED, &denial.to_string());
        }
        let (code, text) = match error.kind() {
            io::ErrorKind::NotFound => (ErrorCode::NOT_FOUND, "no such file or directory"),
            io::ErrorKind::PermissionDenied => (ErrorCode::NOT_AUTHORIZED, "not to be used here"),
            io::ErrorKind::IsADirectory => (ErrorCode::IS_DIRECTORY, "it is a directory"),
            io::ErrorKind::NotADirectory => (ErrorCode::FS_ERROR, "it is no directory"),
            io::ErrorKind::Unsupported => (ErrorCode::NOT_FILE, "it is no regular file"),
            io::ErrorKind::UnexpectedEof => {
                (ErrorCode::FS_ERROR, "a segment beyond the end of the file")
            }
            io::ErrorKind::QuotaExceeded => {
                (ErrorCode::OVERLOADED, "too many files are open here: try again later")
            }
            io::ErrorKind::AlreadyExists => (ErrorCode::ITEM_EXISTS, "it is there already"),
            io::ErrorKind::DirectoryNotEmpty => (ErrorCode::FS_ERROR, "the directory is not empty"),
            io::ErrorKind::ResourceBusy => {
                (ErrorCode::FILE_LOCKED, "another client writes it: try again later")
            }
            io::ErrorKind::StorageFull => (ErrorCode::NO_SPACE, "the disk is full"),
            io::ErrorKind::InvalidData => {
                (ErrorCode::CHECKSUM_ERROR, "pages came damaged and were not sent again")
            }
            io::ErrorKind::InvalidInput => (ErrorCode::ARG_INVALID, "this cannot be done"),
            io::ErrorKind::FileTooLarge => {
                (ErrorCode::TOO_MANY_ERRORS, "too large, or too many pages came damaged")
            }
            _ => (ErrorCode::IO_ERROR, "the server cannot read or write it"),
        };
        self.server.answer_error(tag, code, text);
    }
}

/// The code of an error at an origin on the wire.
fn code_of(error: &remote::Error) -> ErrorCode {
    match error.kind() {
        _ if error.is_directory() => ErrorCode::IS_DIRECTORY,
        ErrorKind::NotFound => ErrorCode::NOT_FOUND,
        ErrorKind::PermissionDenied | ErrorKind::Unauthenticated => ErrorCode::NOT_AUTHORIZED,
        ErrorKind::InvalidArgument => ErrorCode::ARG_INVALID,
        ErrorKind::Unsupported => ErrorCode::UNSUPPORTED,
        ErrorKind::TimedOut => ErrorCode::REQUEST_TIMED_OUT,
        ErrorKind::Connection => ErrorCode::NO_SERVER,
        ErrorKind::Cancelled => ErrorCode::CANCELLED,
        // XRootD's clients would repeat the request after an `IO_ERROR`, in vain.
        ErrorKind::Changed => ErrorCode::CONFLICT,
        _ => ErrorCode::IO_ERROR,
    }
}

async fn open_to_write(
    files: &Files,
    client: &Client,
    path: &str,
    mode: WriteMode,
) -> io::Result<Opened> {
    Ok(Opened::Folder(files.folder()?.open_to_write(client, path, mode).await?))
}

/// Looks at a path.
async fn looked_up(tag: Tag, request: Request, files: &Files, asking: &Asking) -> Outcome {
    match request {
        Request::Locate(locate) => {
            let guest = asking.guest(&locate.path).await;
            Outcome::Located {
                tag,
                found: files.locate(&guest, Name::of_xrootd(&locate.path)).await,
            }
        }
        Request::Stat(stat) if !stat.path.is_empty() => {
            let guest = asking.guest(&stat.path).await;
            Outcome::Stat { tag, found: files.stat(&guest, Name::of_xrootd(&stat.path)).await }
        }
        _ => Outcome::Stat { tag, found: Err(io::ErrorKind::InvalidInput.into()) },
    }
}

async fn checksum(path: &str, files: &Files, asking: &Asking) -> io::Result<Checksum> {
    let algorithm = algorithm_of(path).ok_or(io::ErrorKind::Unsupported)?;
    files.checksum(&asking.guest(path).await, Name::of_xrootd(path), algorithm).await
}

/// The kind of checksum that a query names; `None` where it is not known.
fn algorithm_of(query: &str) -> Option<Algorithm> {
    let kind = query.split(['?', '&']).find_map(|part| part.strip_prefix("cks.type="));
    kind.map_or(Some(Algorithm::Adler32), |kind| kind.parse().ok())
}

/// The kinds of checksums as xrootd lists them: numbered, the default first.
fn checksums_made() -> String {
    let kinds = Algorithm::ALL.iter().enumerate();
    kinds.map(|(at, kind)| format!("{at}:{}", kind.name())).collect::<Vec<_>>().join(",")
}
