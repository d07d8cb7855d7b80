//! Directories of this machine whose files a proxy serves: mounts of file systems that are slower
//! than its cache. Names stay within a directory as in a served folder.

use std::io;
use std::path::{Path, PathBuf};

use remote::address::Address;
use remote::source::FileInfo;
use remote::{Algorithm, Checksum};

use crate::folder::FolderFiles;
use crate::guest::Guest;
use crate::origin::Origin;

/// The directories.
#[derive(Debug)]
pub struct Mounts(Vec<Mount>);

#[derive(Debug)]
struct Mount {
    origin: Origin,
    /// As the origin names it.
    directory: PathBuf,
    folder: FolderFiles,
}

/// A file of a mount as it is now.
pub struct MountedFile {
    pub address: Address,
    pub info: FileInfo,
}

impl Mounts {
    /// Those among the origins, each read on so many threads: a mount that hangs leaves the others.
    ///
    /// # Errors
    /// An origin that is no directory of this machine.
    pub fn new(origins: &[Origin], threads: usize) -> io::Result<Self> {
        let mount = |origin: &Origin| -> Option<io::Result<Mount>> {
            let directory = origin.directory()?;
            let wrong = |why: &dyn std::fmt::Display| {
                let text = format!("the origin {origin}: {why}");
                io::Error::new(io::ErrorKind::InvalidInput, text)
            };
            if directory.parent().is_none() {
                let why = "it would serve all files of this machine: name a directory of it";
                return Some(Err(wrong(&why)));
            }
            let folder = FolderFiles::mounted(&directory, threads);
            let folder = folder.map_err(|error| wrong(&error));
            Some(folder.map(|folder| Mount { origin: origin.clone(), directory, folder }))
        };
        origins.iter().filter_map(mount).collect::<io::Result<_>>().map(Mounts)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The file that an address of a mount leads to, by its real path: links count where they lead
    /// to within the mount, and to a file that the client may read.
    ///
    /// # Errors
    /// As [`FolderFiles::open`]; `PermissionDenied` where the client may not read it.
    pub async fn file(&self, guest: &Guest, address: &Address) -> io::Result<MountedFile> {
        let (mount, inside) = self.of(address).ok_or(io::ErrorKind::PermissionDenied)?;
        let (real, info) = mount.folder.real_file(guest, inside).await?;
        let address = Address::local(Path::new(&real)).map_err(io::Error::other)?;
        Ok(MountedFile { address, info })
    }

    /// The name that clients use of a file, which another file may have named by its real path;
    /// `None` also for a client that may not read it.
    pub async fn named(&self, guest: &Guest, address: &Address) -> Option<Address> {
        let path = address.to_local()?;
        if self.of(address).is_some() {
            return Some(address.clone());
        }
        for mount in &self.0 {
            if let Ok(inside) = mount.folder.inside(guest, path).await {
                return mount.named(&inside).ok();
            }
        }
        None
    }

    /// The checksum of all bytes of a file.
    ///
    /// # Errors
    /// As [`FolderFiles::open`].
    pub async fn checksum(
        &self,
        guest: &Guest,
        address: &Address,
        algorithm: Algorithm,
    ) -> io::Result<Checksum> {
        let path = address.to_local().unwrap_or(Path::new(""));
        for mount in &self.0 {
            if let Ok(inside) = mount.folder.inside(guest, path).await {
                let file = mount.folder.open(guest, inside).await?;
                return mount.folder.checksum(&guest.client, &file, algorithm).await;
            }
        }
        Err(io::ErrorKind::PermissionDenied.into())
    }

    /// The mount of an address, and the path in it.
    fn of(&self, address: &Address) -> Option<(&Mount, PathBuf)> {
        let mount = self.0.iter().find(|mount| mount.origin.allows(address))?;
        let inside = address.to_local()?.strip_prefix(&mount.directory).ok()?;
        Some((mount, inside.to_owned()))
    }
}

impl Mount {
    fn named(&self, inside: &Path) -> io::Result<Address> {
        Address::local(&self.directory.join(inside)).map_err(io::Error::other)
    }
}
