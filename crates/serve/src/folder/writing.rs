//! Changes of files and folders by path or open file, on the threads that addresses share.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use xrootd::pages;

use super::changes::{Claims, WriteMode, Writing};
use super::paths::Folder;
use super::{FolderFile, FolderFiles, OpenHandle};
use crate::clients::Client;

/// Where pages that came damaged begin and end.
pub type Damaged = Vec<std::ops::Range<u64>>;

impl FolderFile {
    pub fn is_writable(&self) -> bool {
        self.file.writing.is_some()
    }

    /// Bytes for it have been refused: it will not be finished.
    pub fn note_refused(&self) {
        if let Some(writing) = &self.file.writing {
            writing.note_failure(io::ErrorKind::InvalidInput);
        }
    }
}

impl FolderFiles {
    /// Whether anything may be changed.
    pub fn are_writable(&self) -> bool {
        self.claims.is_some()
    }

    /// Opens a file for writing. A new one has its name once it is [finished](Self::finish), and
    /// leaves nothing behind without that.
    ///
    /// # Errors
    /// As for [`open`](Self::open); `AlreadyExists`; `ResourceBusy` while another client changes
    /// it; `ReadOnlyFilesystem` where nothing may be changed.
    pub async fn open_to_write(
        &self,
        client: &Client,
        path: impl AsRef<Path>,
        mode: WriteMode,
    ) -> io::Result<FolderFile> {
        let place = client.file_place().await.ok_or(io::ErrorKind::QuotaExceeded)?;
        let path = path.as_ref().to_owned();
        let open = move |folder: &Folder, claims: &Arc<Claims>| {
            let (file, stat, writing) = folder.open_to_write(&path, mode, claims)?;
            let handle = OpenHandle { file, writing: Some(writing), _place: place };
            Ok(FolderFile { file: Arc::new(handle), stat })
        };
        self.change(client, open).await
    }

    /// Writes bytes at a place of the file.
    ///
    /// # Errors
    /// Those of the file system; `PermissionDenied` where it is open for reading only.
    pub async fn write(
        &self,
        client: &Client,
        file: &FolderFile,
        offset: u64,
        bytes: Bytes,
    ) -> io::Result<()> {
        self.with(client, file, move |file, _| file.write_all_at(&bytes, offset)).await
    }

    /// Writes pages, each behind its checksum; those that came damaged are to be sent again, or the
    /// file cannot be finished.
    ///
    /// # Errors
    /// As for [`write`](Self::write); `InvalidInput` for bytes that are no pages, `FileTooLarge`
    /// where too many pages are damaged.
    pub async fn write_pages(
        &self,
        client: &Client,
        file: &FolderFile,
        offset: u64,
        wire: Bytes,
    ) -> io::Result<Damaged> {
        let write = move |file: &File, writing: &Writing| {
            let (bytes, damaged) =
                pages::decode(offset, &wire).ok_or(io::ErrorKind::InvalidInput)?;
            file.write_all_at(&bytes, offset)?;
            let starts: Vec<u64> = damaged.iter().map(|range| range.start).collect();
            writing.note_damage(offset..offset + bytes.len() as u64, &starts)?;
            Ok(damaged)
        };
        self.with(client, file, write).await
    }

    /// Waits until all bytes so far are safe from a crash of the machine.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub async fn sync(&self, client: &Client, file: &FolderFile) -> io::Result<()> {
        self.with(client, file, |file, _| file.sync_all()).await
    }

    /// Cuts the file, or lengthens it with zeros.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub async fn truncate(&self, client: &Client, file: &FolderFile, size: u64) -> io::Result<()> {
        self.with(client, file, move |file, _| file.set_len(size)).await
    }

    /// Gives a new file its name; nothing of it stays where that fails.
    ///
    /// # Errors
    /// As for [`write`](Self::write), also that of the first write that has failed;
    /// `AlreadyExists`; `InvalidData` where damaged pages have not been sent again.
    pub async fn finish(&self, client: &Client, file: FolderFile) -> io::Result<()> {
        self.with(client, &file, |file, writing| writing.finish(file)).await
    }

    /// Gives a file or folder another name; a file that has it already is replaced if that may be.
    ///
    /// # Errors
    /// As for [`open_to_write`](Self::open_to_write).
    pub async fn rename(
        &self,
        client: &Client,
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        may_replace: bool,
    ) -> io::Result<()> {
        let from = from.as_ref().to_owned();
        let to = to.as_ref().to_owned();
        let rename = move |folder: &Folder, claims: &Arc<Claims>| {
            folder.rename(&from, &to, may_replace, claims)
        };
        self.change(client, rename).await
    }

    /// Removes a file; one of `own`, which the client has open, leaves nothing when it is closed.
    ///
    /// # Errors
    /// As for [`open_to_write`](Self::open_to_write).
    pub async fn remove(
        &self,
        client: &Client,
        path: impl AsRef<Path>,
        own: Vec<FolderFile>,
    ) -> io::Result<()> {
        let path = path.as_ref().to_owned();
        let remove = move |folder: &Folder, claims: &Arc<Claims>| {
            folder.remove(&path, own.iter().filter_map(|file| file.file.writing.as_ref()), claims)
        };
        self.change(client, remove).await
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// As for [`open_to_write`](Self::open_to_write); `DirectoryNotEmpty`.
    pub async fn remove_folder(&self, client: &Client, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref().to_owned();
        let remove =
            move |folder: &Folder, claims: &Arc<Claims>| folder.remove_folder(&path, claims);
        self.change(client, remove).await
    }

    /// Makes a folder; with those above it, and no error where it is there, if `with_path`.
    ///
    /// # Errors
    /// As for [`open_to_write`](Self::open_to_write).
    pub async fn make_folder(
        &self,
        client: &Client,
        path: impl AsRef<Path>,
        with_path: bool,
    ) -> io::Result<()> {
        let path = path.as_ref().to_owned();
        let make = move |folder: &Folder, _: &Arc<Claims>| match with_path {
            true => folder.make_folders(&path),
            false => folder.make_folder(&path),
        };
        self.change(client, make).await
    }

    async fn change<T: Send + 'static>(
        &self,
        client: &Client,
        change: impl FnOnce(&Folder, &Arc<Claims>) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let claims = self.claims.clone().ok_or(io::ErrorKind::ReadOnlyFilesystem)?;
        let folder = self.folder.clone();
        self.turns.run(client.address(), move || change(&folder, &claims)).await
    }

    /// All work on a file that is open for writing; where any fails it will not be finished.
    async fn with<T: Send + 'static>(
        &self,
        client: &Client,
        file: &FolderFile,
        work: impl FnOnce(&File, &Writing) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let handle = file.file.clone();
        let work = move || match &handle.writing {
            Some(writing) => writing.attempt(|| work(&handle.file, writing)),
            None => Err(io::ErrorKind::PermissionDenied.into()),
        };
        self.turns.run(client.address(), work).await
    }
}
