//! Files that the protocols serve: a folder of this machine, or files far away. The protocols know
//! names, open files and parts of answers; differences between the two are decided here.

use std::io;
use std::ops::Range;
use std::path::Path;

use remote::address::Address;
use remote::cache::Charges;
use remote::{Algorithm, Checksum};

use super::clients::Client;
use super::cluster::Node;
use super::far::{AskedAddress, CacheRules, CacheStatus, FarFile, FarFiles};
use super::folder::{FolderFile, FolderFiles, Listing, Stat};
use super::guest::Guest;

/// The served files. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Files {
    Folder(FolderFiles),
    Far(FarFiles),
}

/// An open file. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Opened {
    Folder(FolderFile),
    Far(FarFile),
}

/// A client's name of a file.
#[derive(Debug, Clone, Copy)]
pub struct Name<'a> {
    /// As a folder has it.
    pub path: &'a Path,
    /// As the request has it, with the parts for servers on the way.
    pub written: &'a str,
    /// The request's protocol escapes characters by `%` and two digits.
    pub is_encoded: bool,
}

impl<'a> Name<'a> {
    pub fn of_xrootd(request: &'a str) -> Self {
        Name { path: Path::new(path_of(request)), written: request, is_encoded: false }
    }
}

/// A request's path without the parts for servers on the way, and without the mark that requests
/// any server of a folder.
pub fn path_of(request: &str) -> &str {
    let path = request.split('?').next().unwrap_or_default();
    path.strip_prefix('*').unwrap_or(path)
}

impl Files {
    /// The folder, which alone may be changed. For what clients read there are the functions that
    /// take a [`Guest`].
    ///
    /// # Errors
    /// `Unsupported` where files are far away.
    pub fn folder(&self) -> io::Result<&FolderFiles> {
        match self {
            Files::Folder(folder) => Ok(folder),
            Files::Far(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Whether anything may be changed.
    pub fn are_writable(&self) -> bool {
        self.folder().is_ok_and(FolderFiles::are_writable)
    }

    /// Whether reading waits for other servers.
    pub fn are_far(&self) -> bool {
        matches!(self, Files::Far(_))
    }

    /// Where a client changes files that are far away: itself, at their origin.
    ///
    /// # Errors
    /// `Unsupported` where they are changed here; as for [`FarFiles::to_write`].
    pub async fn to_write(&self, guest: &Guest, name: Name<'_>) -> io::Result<Address> {
        match self {
            Files::Folder(_) => Err(io::ErrorKind::Unsupported.into()),
            Files::Far(far) => far.to_write(guest, name).await,
        }
    }

    /// A proxy's figures, where the name is theirs.
    pub async fn metrics(&self, guest: &Guest, written: &str) -> Option<io::Result<String>> {
        match self {
            Files::Folder(_) => None,
            Files::Far(far) => far.metrics(guest, written).await.transpose(),
        }
    }

    /// The names in a folder.
    ///
    /// # Errors
    /// As for [`FolderFiles::list`]; `Unsupported` where files are far away.
    pub async fn list(&self, guest: &Guest, name: Name<'_>) -> io::Result<Listing> {
        match self {
            Files::Folder(folder) => folder.list(guest, name.path).await,
            Files::Far(far) => {
                far.look(guest, name)?;
                Err(io::ErrorKind::Unsupported.into())
            }
        }
    }

    /// Whether a file is here. Wherever a far file is, this server brings it.
    ///
    /// # Errors
    /// As for [`stat`](Self::stat), but of a far file nothing is requested.
    pub async fn locate(&self, guest: &Guest, name: Name<'_>) -> io::Result<()> {
        match self {
            Files::Folder(_) => self.stat(guest, name).await.map(drop),
            Files::Far(far) => far.look(guest, name),
        }
    }

    /// The name of this server as a node of a cluster.
    pub fn cluster_node(&self) -> Option<Node> {
        match self {
            Files::Folder(_) => None,
            Files::Far(far) => far.cluster_node(),
        }
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// As for [`FolderFiles::open`]; the origin's error.
    pub async fn open(&self, guest: &Guest, name: Name<'_>) -> io::Result<Opened> {
        self.open_with(guest, name, CacheRules::default()).await
    }

    /// As [`open`](Self::open), with the client's rules for the cache of a proxy.
    ///
    /// # Errors
    /// As for [`open`](Self::open) and [`FarFiles::open`].
    pub async fn open_with(
        &self,
        guest: &Guest,
        name: Name<'_>,
        rules: CacheRules,
    ) -> io::Result<Opened> {
        Ok(match self {
            Files::Folder(folder) => Opened::Folder(folder.open(guest, name.path).await?),
            Files::Far(far) => Opened::Far(far.open(guest, name, rules).await?),
        })
    }

    /// The stat of a file or folder.
    ///
    /// # Errors
    /// As for [`open`](Self::open); folders of this machine are fine.
    pub async fn stat(&self, guest: &Guest, name: Name<'_>) -> io::Result<Stat> {
        match self {
            Files::Folder(folder) => folder.stat(guest, name.path).await,
            Files::Far(far) => far.stat(guest, name).await,
        }
    }

    /// The address or path of a file that a client may read, for a reader of its own.
    ///
    /// # Errors
    /// As for [`stat`](Self::stat), but of a far file nothing is requested.
    pub async fn address(&self, guest: &Guest, name: Name<'_>) -> io::Result<AskedAddress> {
        match self {
            Files::Folder(folder) => {
                let (path, _) = folder.real_file(guest, name.path).await?;
                let address = Address::local(Path::new(&path)).map_err(io::Error::other)?;
                Ok(AskedAddress { address, lent: None, now: None, charges: Charges::default() })
            }
            Files::Far(far) => far.address(guest, name).await,
        }
    }

    /// The stat of an open file now, which may differ from that of its open. A file far away never
    /// differs: reads of one that has changed fail.
    ///
    /// # Errors
    /// Those of the file system.
    pub async fn stat_now(&self, client: &Client, file: &Opened) -> io::Result<Stat> {
        match (self, file) {
            (Files::Folder(folder), Opened::Folder(file)) => folder.stat_now(client, file).await,
            _ => Ok(file.stat()),
        }
    }

    /// The file's checksum, of all its bytes.
    ///
    /// # Errors
    /// As for [`open`](Self::open); `Unsupported` where the origin keeps none.
    pub async fn checksum(
        &self,
        guest: &Guest,
        name: Name<'_>,
        algorithm: Algorithm,
    ) -> io::Result<Checksum> {
        match self {
            Files::Folder(folder) => {
                let file = folder.open(guest, name.path).await?;
                folder.checksum(&guest.client, &file, algorithm).await
            }
            Files::Far(far) => far.checksum(guest, name, algorithm).await,
        }
    }
}

impl Opened {
    /// The stat of the file when it was opened.
    pub fn stat(&self) -> Stat {
        match self {
            Opened::Folder(file) => file.stat,
            Opened::Far(file) => file.stat(),
        }
    }

    /// The same, of a folder of this machine: only such files can be written.
    pub fn of_folder(&self) -> Option<&FolderFile> {
        match self {
            Opened::Folder(file) => Some(file),
            Opened::Far(_) => None,
        }
    }

    /// How much of ranges the proxy has cached; `None` for files of this machine.
    pub fn cache_status(&self, ranges: &[Range<u64>]) -> Option<CacheStatus> {
        match self {
            Opened::Folder(_) => None,
            Opened::Far(file) => Some(file.cache_status(ranges)),
        }
    }
}
