//! A folder of this machine: files and folders by path, a part at a time, on threads that addresses
//! share in turn. Nothing outside of this module waits for a disk.

mod changes;
mod paths;
mod writing;

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use remote::address::Address;
use remote::source::FileInfo;
use remote::{Algorithm, Checksum, Hasher};

use self::changes::{Claims, Writing};
use self::paths::{Folder, Listed, PathCheck};
use super::access::ServedPlace;
use super::clients::{Client, FilePlace};
use super::guest::Guest;
use super::turns::Turns;

pub use self::changes::WriteMode;
pub use self::paths::{Entry, Stat};
pub use self::writing::Damaged;

/// Bytes of a checksum's file that are read in one turn.
const HASH_BYTES: u64 = 4 << 20;
/// Of these, read at a time.
const HASH_STEP_BYTES: usize = 256 << 10;

/// The served folder. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FolderFiles {
    folder: Arc<Folder>,
    rules_name: RulesName,
    /// `None` where nothing may be changed.
    claims: Option<Arc<Claims>>,
    turns: Arc<Turns>,
}

/// How rules call the files of a folder.
#[derive(Debug, Clone)]
enum RulesName {
    /// By their paths in it.
    Served,
    /// By addresses of this directory: the folder is an origin of a proxy.
    Mounted(Arc<Path>),
}

impl RulesName {
    fn of(&self, path: &Path) -> io::Result<ServedPlace> {
        match self {
            RulesName::Served => Ok(ServedPlace::of_folder(path.as_os_str().as_bytes())),
            RulesName::Mounted(directory) => {
                let path = directory.join(path.strip_prefix("/").unwrap_or(path));
                Ok(ServedPlace::of_far(&Address::local(&path).map_err(io::Error::other)?))
            }
        }
    }
}

/// An open file. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FolderFile {
    file: Arc<OpenHandle>,
    pub stat: Stat,
}

#[derive(Debug)]
struct OpenHandle {
    file: std::fs::File,
    /// `None` where it is open for reading.
    writing: Option<Writing>,
    _place: FilePlace,
}

/// A folder whose names have not all been handed out.
#[derive(Debug)]
pub struct Listing {
    listed: Listed,
    _place: FilePlace,
}

/// One of the pieces that are put one behind the other in memory.
#[derive(Debug)]
pub enum Fragment {
    Text(Vec<u8>),
    /// Exactly these bytes of a file.
    Bytes {
        file: FolderFile,
        offset: u64,
        count: usize,
    },
}

impl Fragment {
    pub fn len(&self) -> usize {
        match self {
            Fragment::Text(text) => text.len(),
            Fragment::Bytes { count, .. } => *count,
        }
    }
}

impl FolderFiles {
    /// The files in `folder` and below; those whose names, or whose folders' names, begin with a
    /// dot only where `hidden` is set. They may be changed where it is `writable`.
    ///
    /// # Errors
    /// The folder is not there, or is none.
    pub fn new(folder: &Path, hidden: bool, writable: bool, threads: usize) -> io::Result<Self> {
        let folder = Arc::new(Folder::new(folder, hidden, writable)?);
        let claims = writable.then(Arc::default);
        let rules_name = RulesName::Served;
        Ok(FolderFiles { folder, rules_name, claims, turns: Turns::new(threads) })
    }

    /// The files in a directory that is an origin of a proxy.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn mounted(directory: &Path, threads: usize) -> io::Result<Self> {
        let files = Self::new(directory, false, false, threads)?;
        Ok(FolderFiles { rules_name: RulesName::Mounted(directory.into()), ..files })
    }

    /// Looks for something by its path, with the right of a client to each place.
    async fn look<T: Send + 'static>(
        &self,
        guest: &Guest,
        path: impl AsRef<Path>,
        look: impl FnOnce(&Folder, &Path, PathCheck<'_>) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let FolderFiles { folder, rules_name, .. } = self.clone();
        let path = path.as_ref().to_owned();
        let asks = guest.clone();
        let look = move || look(&folder, &path, &|place| asks.may_read(&rules_name.of(place)?));
        self.turns.run(guest.client.address(), look).await
    }

    /// The stat of `path`.
    ///
    /// # Errors
    /// As for [`open`](Self::open); folders are fine.
    pub async fn stat(&self, guest: &Guest, path: impl AsRef<Path>) -> io::Result<Stat> {
        self.look(guest, path, Folder::stat).await
    }

    /// The path of a file on this machine, with its size and version, for a reader in this process.
    ///
    /// # Errors
    /// As for [`open`](Self::open); `Unsupported` for a path that is no text.
    pub async fn real_file(
        &self,
        guest: &Guest,
        path: impl AsRef<Path>,
    ) -> io::Result<(String, FileInfo)> {
        self.look(guest, path, Folder::real_file).await
    }

    /// The path in the folder of a path of this machine, which is one of a served file.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub async fn inside(&self, guest: &Guest, path: &Path) -> io::Result<PathBuf> {
        self.look(guest, path, Folder::inside).await
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied`, `IsADirectory`; `Unsupported` for devices, pipes and
    /// sockets; `QuotaExceeded` where the client, or all clients, have too many files open; a
    /// [`Denial`](crate::access::Denial) where the client may not read there, or where a link
    /// leads.
    pub async fn open(&self, guest: &Guest, path: impl AsRef<Path>) -> io::Result<FolderFile> {
        let place = guest.client.file_place().await.ok_or(io::ErrorKind::QuotaExceeded)?;
        let open = move |folder: &Folder, path: &Path, may: PathCheck<'_>| {
            let (file, stat) = folder.open(path, may)?;
            let handle = OpenHandle { file, writing: None, _place: place };
            Ok(FolderFile { file: Arc::new(handle), stat })
        };
        self.look(guest, path, open).await
    }

    /// The stat of an open file now, which may differ from that of its open.
    ///
    /// # Errors
    /// Those of the file system.
    pub async fn stat_now(&self, client: &Client, file: &FolderFile) -> io::Result<Stat> {
        let file = file.file.clone();
        self.turns.run(client.address(), move || Ok(Stat::of(&file.file.metadata()?))).await
    }

    /// Bytes that the file has now.
    ///
    /// # Errors
    /// Those of the file system.
    pub async fn size(&self, client: &Client, file: &FolderFile) -> io::Result<u64> {
        let file = file.file.clone();
        self.turns.run(client.address(), move || Ok(file.file.metadata()?.len())).await
    }

    /// Up to `count` bytes from `offset` on; fewer only at the end of the file.
    ///
    /// # Errors
    /// Those of the file system.
    pub async fn read(
        &self,
        client: &Client,
        file: &FolderFile,
        offset: u64,
        count: usize,
    ) -> io::Result<Vec<u8>> {
        let file = file.file.clone();
        let read = move || {
            let mut bytes = vec![0; count];
            let filled = paths::fill(&file.file, &mut bytes, offset)?;
            bytes.truncate(filled);
            Ok(bytes)
        };
        self.turns.run(client.address(), read).await
    }

    /// All parts, one behind the other.
    ///
    /// # Errors
    /// Those of the file system; `UnexpectedEof` where a file ends before a part does.
    pub async fn gather(&self, client: &Client, parts: Vec<Fragment>) -> io::Result<Vec<u8>> {
        let gather = move || {
            let mut bytes = Vec::with_capacity(parts.iter().map(Fragment::len).sum());
            for part in parts {
                match part {
                    Fragment::Text(text) => bytes.extend_from_slice(&text),
                    Fragment::Bytes { file, offset, count } => {
                        let start = bytes.len();
                        bytes.resize(start + count, 0);
                        if paths::fill(&file.file.file, &mut bytes[start..], offset)? < count {
                            return Err(io::ErrorKind::UnexpectedEof.into());
                        }
                    }
                }
            }
            Ok(bytes)
        };
        self.turns.run(client.address(), gather).await
    }

    /// The names in a folder, to be taken with [`names`](Self::names).
    ///
    /// # Errors
    /// As for [`open`](Self::open); `NotADirectory`.
    pub async fn list(&self, guest: &Guest, path: impl AsRef<Path>) -> io::Result<Listing> {
        let place = guest.client.file_place().await.ok_or(io::ErrorKind::QuotaExceeded)?;
        let list = move |folder: &Folder, path: &Path, may: PathCheck<'_>| {
            Ok(Listing { listed: folder.list(path, may)?, _place: place })
        };
        self.look(guest, path, list).await
    }

    /// The next names of a folder that the client may know, sorted, of which `text_bytes` of each
    /// name gives how many bytes of `room` it takes; and the rest of the folder, if there may be
    /// more.
    ///
    /// # Errors
    /// Those of the file system.
    pub async fn names(
        &self,
        guest: &Guest,
        mut listing: Listing,
        room: usize,
        text_bytes: impl Fn(usize) -> usize + Send + 'static,
    ) -> io::Result<(Vec<Entry>, Option<Listing>)> {
        let names = move |folder: &Folder, _: &Path, may: PathCheck<'_>| {
            let (entries, more) = listing.listed.next(folder, may, room, text_bytes)?;
            Ok((entries, more.then_some(listing)))
        };
        self.look(guest, "", names).await
    }

    /// The file's checksum, of all its bytes, made in many turns.
    ///
    /// # Errors
    /// Those of the file system.
    pub async fn checksum(
        &self,
        client: &Client,
        file: &FolderFile,
        algorithm: Algorithm,
    ) -> io::Result<Checksum> {
        let mut hasher = Hasher::new(algorithm);
        let mut offset = 0;
        loop {
            let file = file.file.clone();
            let step = move || {
                let mut buffer = vec![0; HASH_STEP_BYTES];
                let stop = offset + HASH_BYTES;
                while offset < stop {
                    let filled = paths::fill(&file.file, &mut buffer, offset)?;
                    hasher.update(&buffer[..filled]);
                    offset += filled as u64;
                    if filled < buffer.len() {
                        return Ok((hasher, offset, true));
                    }
                }
                Ok((hasher, offset, false))
            };
            let (hashed, at, done) = self.turns.run(client.address(), step).await?;
            if done {
                return Ok(hashed.finish());
            }
            (hasher, offset) = (hashed, at);
        }
    }
}
