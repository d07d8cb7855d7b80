//! Files of this machine.
//!
//! A connection is a thread that waits for commands and reads with `pread` into the very buffers
//! that it hands on. It takes everything that is queued at each wake-up, so a request costs one
//! system call and one event. The open files are shared by all connections of a server.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{File, Metadata};
use std::io;
#[cfg(target_os = "linux")]
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use mutex::Mutex;
use rustix::io::Errno;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::oneshot;

use super::buffers::Buffers;
use super::{
    BothEnds, Command, ConnectionEvent, DriverLink, FileInfo, FileRef, RequestTag, Server,
    ServerTraits, cannot_list, cannot_locate, no_checksum, no_clock,
};
use crate::address::Address;
use crate::error::{Error, ErrorKind, Result};

/// Largest piece read and handed on at once: nearly every basket is shorter, so that none has to be
/// joined, and a cancel is heard soon enough.
pub const PIECE_BYTES: u64 = 16 << 20;

/// Ranges are scattered if they span more than this many times their bytes: then most of the
/// kernel's read-ahead is useless (`bench/`, experiment `posix`).
#[cfg(any(target_os = "linux", test))]
const SCATTERED: u64 = 4;

/// Maximum number of files that are open at a time, and the fewest where the system lets a process
/// have hardly any.
const FILES_OPEN_MAX: usize = 256;
const FILES_OPEN_MIN: usize = 8;
/// Which part of the files that the process may have these are, at most.
const FILES_PART: u64 = 4;

/// How many files are open at a time.
fn files_open() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let part = limit.map_or(usize::MAX, |limit| (limit / FILES_PART) as usize);
    part.clamp(FILES_OPEN_MIN, FILES_OPEN_MAX)
}

/// The file system of this machine.
#[derive(Debug, Default)]
pub struct LocalServer {
    files: Mutex<OpenFiles>,
    buffers: Arc<Buffers>,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    info: FileInfo,
}

/// Files that are open, at most as many as [`files_open`] says: the system lets a process have so
/// many, and readers have more. A file that was used long ago is closed, and opened again for its
/// next read; the driver then compares its identity with the one before.
#[derive(Debug, Default)]
struct OpenFiles {
    /// By the driver's tag for the file, with the time of the last use.
    files: BTreeMap<u32, (u64, Arc<OpenFile>)>,
    /// Counts uses.
    now: u64,
}

impl OpenFiles {
    fn get(&mut self, tag: u32) -> Option<Arc<OpenFile>> {
        self.now += 1;
        let (used, file) = self.files.get_mut(&tag)?;
        *used = self.now;
        Some(file.clone())
    }

    fn insert(&mut self, tag: u32, file: Arc<OpenFile>) {
        self.now += 1;
        self.files.insert(tag, (self.now, file));
        self.keep(files_open());
    }

    /// Closes files, those first that were used longest ago, until so many are left.
    fn keep(&mut self, count: usize) {
        while self.files.len() > count {
            let oldest = self.files.iter().min_by_key(|(_, (used, _))| *used);
            let Some(tag) = oldest.map(|(tag, _)| *tag) else { return };
            self.files.remove(&tag);
        }
    }

    /// Closes half of the files, those first that were used longest ago; whether there was one.
    fn close_half(&mut self) -> bool {
        let count = self.files.len();
        self.keep(count / 2);
        count > 0
    }
}

impl LocalServer {
    pub fn new() -> Self {
        Self::default()
    }

    fn opened(&self, file: &FileRef, link: &DriverLink) -> Result<Arc<OpenFile>> {
        let open = self.files.lock().get(file.tag);
        open.map_or_else(|| self.open(file, link), Ok)
    }

    fn open(&self, file: &FileRef, link: &DriverLink) -> Result<Arc<OpenFile>> {
        let open = Arc::new(open_at(&file.url, &self.files)?);
        // Before any connection can read from it.
        link.send(ConnectionEvent::Seen { file: file.tag, info: open.info.clone() });
        self.files.lock().insert(file.tag, open.clone());
        Ok(open)
    }
}

fn open_at(url: &Address, files: &Mutex<OpenFiles>) -> Result<OpenFile> {
    let path = url.to_local().ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, "not the address of a local file")
            .with_url(url.to_string())
    })?;
    let opened = match open_regular(path, files) {
        // fsspec and uproot, which take a % for itself, may have written the file.
        Err(error) if error.kind() == ErrorKind::NotFound => match as_written(url) {
            Some(path) => open_regular(path, files).map_err(|_| error),
            None => Err(error),
        },
        opened => opened,
    };
    opened.map_err(|error| error.with_url(url.to_string()))
}

/// The path of a `file://` address as its text has it, where a % in it may be one.
fn as_written(url: &Address) -> Option<&Path> {
    let path = url.as_str().strip_prefix("file://").filter(|path| path.contains('%'))?;
    path.starts_with('/').then(|| Path::new(path))
}

fn open_regular(path: &Path, files: &Mutex<OpenFiles>) -> Result<OpenFile> {
    // Checked before opening: to open a pipe waits for its writer.
    let before = std::fs::metadata(path).map_err(|error| Error::from_io(&error))?;
    if before.is_dir() {
        return Err(Error::new(ErrorKind::InvalidArgument, "is a directory, not a file"));
    }
    if !before.is_file() {
        return Err(Error::new(ErrorKind::Unsupported, "is a device or a pipe, not a file"));
    }
    let file = open_or_make_room(path, files).map_err(|error| Error::from_io(&error))?;
    let mut info = info_of(&file)?;
    if info.size == 0 && has_bytes(&file)? {
        // It may have been written to meanwhile.
        info = info_of(&file)?;
        if info.size == 0 {
            let text = "has bytes, but the system gives its size as 0 (as in /proc and /sys)";
            return Err(Error::new(ErrorKind::Unsupported, text)
                .with_advice("copy it to a disk first, with `cat FILE > COPY`"));
        }
    }
    Ok(OpenFile { file, info })
}

fn has_bytes(file: &File) -> Result<bool> {
    let read = file.read_at(&mut [0], 0).map_err(|error| Error::from_io(&error))?;
    Ok(read > 0)
}

/// Opens a file. Where the process has as many open as the system lets it have, `files` give way:
/// others in the process, of which nothing is known here, may have most of them.
fn open_or_make_room(path: &Path, files: &Mutex<OpenFiles>) -> io::Result<File> {
    loop {
        match File::open(path) {
            Err(error) if is_full(&error) && files.lock().close_half() => {}
            opened => return opened,
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    let is = |errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
    is(Errno::MFILE) || is(Errno::NFILE)
}

/// Size and version of an open file now.
fn info_of(file: &File) -> Result<FileInfo> {
    info_in(&file.metadata().map_err(|error| Error::from_io(&error))?)
}

/// Size and version of a file by the system's description.
///
/// # Errors
/// `LimitReached` for a file that is larger than any that can be read.
pub fn info_in(metadata: &Metadata) -> Result<FileInfo> {
    let modified = metadata.mtime();
    let nanoseconds = metadata.mtime_nsec();
    let version = format!("inode {}, {nanoseconds} ns", metadata.ino());
    let info = FileInfo::new(metadata.len(), Some(modified), Some(version))?;
    Ok(FileInfo { status_changed: Some((metadata.ctime(), metadata.ctime_nsec())), ..info })
}

impl Server for LocalServer {
    fn name(&self) -> &str {
        "file://"
    }

    fn traits(&self) -> ServerTraits {
        ServerTraits {
            segments_max: 1024,
            segment_bytes_max: 64 << 20,
            request_bytes_max: 64 << 20,
            pipelined: true,
            suffix: true,
            both_ends: BothEnds::Never,
            request_overhead: Duration::from_micros(3),
            local: true,
            connections_max: Some(4),
            checksums: false,
            one_range: false,
            selects: false,
        }
    }

    fn forget(&self, file: &FileRef) {
        self.files.lock().files.remove(&file.tag);
    }

    fn run(self: Arc<Self>, link: DriverLink) -> BoxFuture<'static, ()> {
        let connection = link.connection;
        let events = link.events.clone();
        let (alive, ended) = oneshot::channel::<()>();
        let reader =
            Reader { server: self, link, queue: VecDeque::new(), cancelled: BTreeSet::new() };
        Box::pin(async move {
            // Not one of the runtime's blocking threads: those hold up the runtime's end.
            let thread =
                std::thread::Builder::new().name("farroot-local".into()).spawn(move || {
                    let _alive = alive;
                    reader.run();
                });
            if let Err(error) = thread {
                let error = Some(Error::from_io(&error));
                let _ = events.send((connection, ConnectionEvent::Disconnected { error }));
            }
            let _ = ended.await;
        })
    }
}

struct Reader {
    server: Arc<LocalServer>,
    link: DriverLink,
    queue: VecDeque<Command>,
    /// Requests, queued or current, that no read waits for any more.
    cancelled: BTreeSet<RequestTag>,
}

/// The commands have ended: nothing that is left needs doing.
struct Ended;

impl Reader {
    fn run(mut self) {
        self.link.send(ConnectionEvent::Connected);
        while let Ok(command) = self.next() {
            let Ok(()) = self.execute(command) else { break };
        }
        self.link.send(ConnectionEvent::Disconnected { error: None });
    }

    fn next(&mut self) -> std::result::Result<Command, Ended> {
        self.take_in(None)?;
        match self.queue.pop_front() {
            Some(command) => Ok(command),
            None => self.link.commands.blocking_recv().ok_or(Ended),
        }
    }

    /// Takes in the commands that arrived meanwhile, so that a cancel overtakes the reads before
    /// it.
    fn take_in(&mut self, current: Option<RequestTag>) -> std::result::Result<(), Ended> {
        loop {
            match self.link.commands.try_recv() {
                Ok(Command::Cancel { request }) => {
                    let queued =
                        self.queue.iter().any(|command| request_of(command) == Some(request));
                    if queued || current == Some(request) {
                        self.cancelled.insert(request);
                    }
                }
                Ok(command) => self.queue.push_back(command),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(Ended),
            }
        }
    }

    fn execute(&mut self, command: Command) -> std::result::Result<(), Ended> {
        match command {
            Command::Open { request, file, part } => match self.server.open(&file, &self.link) {
                Ok(open) => {
                    self.link.send(ConnectionEvent::Opened { request, info: open.info.clone() });
                    self.read(request, &file, &open, &part.ranges(open.info.size))
                }
                Err(error) => {
                    self.link.send(ConnectionEvent::Failed { request, error });
                    Ok(())
                }
            },
            Command::Fetch { request, file, segments } => {
                match self.server.opened(&file, &self.link) {
                    Ok(open) => self.read(request, &file, &open, &segments),
                    Err(error) => {
                        self.link.send(ConnectionEvent::Failed { request, error });
                        Ok(())
                    }
                }
            }
            Command::Cancel { .. } => Ok(()),
            Command::Close { file } => {
                self.server.forget(&file);
                Ok(())
            }
            Command::List { request, directory, .. } => {
                self.link.send(cannot_list(request, &directory));
                Ok(())
            }
            Command::Checksum { request, file, .. } => {
                self.link.send(no_checksum(request, &file));
                Ok(())
            }
            Command::Locate { request, file } => {
                self.link.send(cannot_locate(request, &file));
                Ok(())
            }
            Command::Clock { request, file } => {
                self.link.send(no_clock(request, &file));
                Ok(())
            }
        }
    }

    /// Bytes that have been read are of the file that was opened where it has not been written to
    /// meanwhile.
    fn check(&self, file: &FileRef, open: &OpenFile) -> Result<()> {
        let now = info_of(&open.file)?;
        open.info.is_still(&now).map_err(|error| {
            self.link.send(ConnectionEvent::Seen { file: file.tag, info: now });
            error.with_url(file.url.as_str())
        })
    }

    fn read(
        &mut self,
        request: RequestTag,
        file: &FileRef,
        open: &OpenFile,
        segments: &[Range<u64>],
    ) -> std::result::Result<(), Ended> {
        self.link.send(ConnectionEvent::Sent { request });
        announce(&open.file, segments);
        for segment in segments {
            let end = segment.end.min(open.info.size);
            let mut at = segment.start;
            while at < end {
                if self.cancelled.remove(&request) {
                    self.link.send(ConnectionEvent::Done { request });
                    return Ok(());
                }
                let piece = at..end.min(at.saturating_add(PIECE_BYTES));
                match self.server.buffers.read(&open.file, piece.clone()) {
                    Ok(bytes) => {
                        if let Err(error) = self.check(file, open) {
                            self.link.send(ConnectionEvent::Failed { request, error });
                            return Ok(());
                        }
                        if bytes.is_empty() {
                            break;
                        }
                        let offset = at;
                        at += bytes.len() as u64;
                        self.link.send(ConnectionEvent::Data { request, offset, bytes });
                    }
                    Err(error) => {
                        let error = Error::from_io(&error).with_range(piece);
                        let error = error.with_url(file.url.to_string());
                        self.link.send(ConnectionEvent::Failed { request, error });
                        return Ok(());
                    }
                }
                self.take_in(Some(request))?;
            }
        }
        self.cancelled.remove(&request);
        self.link.send(ConnectionEvent::Done { request });
        Ok(())
    }
}

/// Asks the kernel to read scattered ranges in parallel, unless the first is in memory. Read one by
/// one, each would wait for the disk, and most of the read-ahead would be useless. For ranges that
/// are close together the kernel's own read-ahead is better.
#[cfg(target_os = "linux")]
fn announce(file: &File, segments: &[Range<u64>]) {
    if !are_scattered(segments) || segments.first().is_none_or(|first| is_in_memory(file, first)) {
        return;
    }
    for segment in segments {
        let length = NonZeroU64::new(segment.end.saturating_sub(segment.start));
        // Only advice: an error changes nothing.
        let _ = rustix::fs::fadvise(file, segment.start, length, rustix::fs::Advice::WillNeed);
    }
}

#[cfg(not(target_os = "linux"))]
fn announce(_: &File, _: &[Range<u64>]) {}

/// Whether the ranges span more than [`SCATTERED`] times their bytes.
#[cfg(any(target_os = "linux", test))]
fn are_scattered(segments: &[Range<u64>]) -> bool {
    let start = segments.iter().map(|segment| segment.start).min().unwrap_or_default();
    let end = segments.iter().map(|segment| segment.end).max().unwrap_or_default();
    let wanted: u64 = segments.iter().map(|segment| segment.end - segment.start).sum();
    segments.len() > 1 && wanted.saturating_mul(SCATTERED) < end - start
}

/// Whether the range's first byte is in memory; false if the file system cannot tell.
#[cfg(target_os = "linux")]
fn is_in_memory(file: &File, range: &Range<u64>) -> bool {
    use rustix::io::{ReadWriteFlags, preadv2};
    let mut byte = [0];
    let parts = &mut [std::io::IoSliceMut::new(&mut byte)];
    preadv2(file, parts, range.start, ReadWriteFlags::NOWAIT).is_ok()
}

fn request_of(command: &Command) -> Option<RequestTag> {
    match command {
        Command::Open { request, .. }
        | Command::Fetch { request, .. }
        | Command::List { request, .. }
        | Command::Checksum { request, .. }
        | Command::Locate { request, .. }
        | Command::Clock { request, .. } => Some(*request),
        Command::Cancel { .. } | Command::Close { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_pipes_and_absent_files_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let kind = |path: &Path| {
            open_at(&Address::local(path).unwrap(), &Mutex::default())
                .map(|open| open.info.size)
                .map_err(|e| e.kind())
        };
        assert_eq!(kind(directory.path()), Err(ErrorKind::InvalidArgument));
        assert_eq!(kind(&directory.path().join("none")), Err(ErrorKind::NotFound));
        assert_eq!(kind(Path::new("/dev/null")), Err(ErrorKind::Unsupported));
        let odd = directory.path().join("50% of #1?.root");
        std::fs::write(&odd, b"root").unwrap();
        assert_eq!(kind(&odd), Ok(4));
        let empty = directory.path().join("empty.root");
        std::fs::write(&empty, b"").unwrap();
        assert_eq!(kind(&empty), Ok(0));
        // A copy of it was empty.
        if cfg!(target_os = "linux") {
            assert_eq!(kind(Path::new("/proc/self/status")), Err(ErrorKind::Unsupported));
        }
    }

    /// Regression: merges of more files than a process may have open failed.
    #[test]
    fn the_files_that_were_used_last_stay_open() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.root");
        std::fs::write(&path, b"root").unwrap();
        let open =
            || Arc::new(open_at(&Address::local(&path).unwrap(), &Mutex::default()).unwrap());
        let mut files = OpenFiles::default();
        (0..3).for_each(|tag| files.insert(tag, open()));
        assert!(files.get(0).is_some());
        files.keep(2);
        let left: Vec<u32> = files.files.keys().copied().collect();
        assert_eq!(left, [0, 2]);
        assert!(files_open() >= FILES_OPEN_MIN);
        assert!(files.close_half());
        assert_eq!(files.files.keys().collect::<Vec<_>>(), [&0]);
        assert!(files.close_half() && !files.close_half());
    }

    #[test]
    fn ranges_with_large_gaps_are_scattered() {
        for (segments, scattered) in [
            (vec![], false),
            (vec![0..10], false),
            (vec![0..10, 10..20], false),
            (vec![0..10, 60..70], false),
            (vec![0..10, 71..81], true),
            (vec![1_000..1_010, 0..10], true),
        ] {
            assert_eq!(are_scattered(&segments), scattered, "{segments:?}");
        }
    }

    /// uproot writes `file:///a%20b` to a file that has the % in its name.
    #[test]
    fn a_url_is_decoded_unless_only_the_file_of_its_text_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("file://{}/a%20b", directory.path().display());
        let url = Address::parse(&url).unwrap();
        let size = || open_at(&url, &Mutex::default()).map(|open| open.info.size);
        assert_eq!(size().map_err(|error| error.kind()), Err(ErrorKind::NotFound));
        std::fs::write(directory.path().join("a%20b"), b"text").unwrap();
        assert_eq!(size().unwrap(), 4);
        std::fs::write(directory.path().join("a b"), b"decoded").unwrap();
        assert_eq!(size().unwrap(), 7);
    }
}
