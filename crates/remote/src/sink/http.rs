//! Files on servers of HTTP, which take a file only as a whole.
//!
//! The written bytes are kept, in memory or beyond that in a temporary file, and put under a name
//! beside its own, and the file gets its own when its checksum has been compared. A part of a file
//! is never put: servers are known that then replace the file by the part.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::task::spawn_blocking;

use super::{Content, CreateOptions, Sink, UploadNotes, Written, random_name};
use crate::address::Address;
use crate::checksum::{Algorithm, Checksum};
use crate::error::{Error, ErrorKind, Result};
use crate::source::http::body::UploadBytes;
use crate::source::http::put::{FileStamp, HttpChanger};
use crate::source::http::s3::is_presigned;
use crate::source::one_shot;

/// Bytes that are kept in memory; of a longer file all are kept on a disk.
const MEMORY_BYTES_MAX: usize = 16 << 20;
/// Maximum bytes gathered for one write to the disk: a basket may have only a few hundred.
const RUN_BYTES: usize = 1 << 20;

/// Why a file is written under its final name at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InPlace {
    /// The caller wants it.
    Wanted,
    /// The server renames no files.
    NoRenames,
    /// The address is signed for this request alone.
    Signed,
}

/// A file that is being written.
pub struct HttpFile {
    url: Address,
    options: CreateOptions,
    changer: HttpChanger,
    notes: UploadNotes,
    /// Why it is written under its final name at once.
    in_place: Option<InPlace>,
    /// All bytes or, with `disk`, the last ones; and the offset of the first byte in memory.
    memory: Vec<u8>,
    memory_at: u64,
    disk: Option<Arc<File>>,
}

impl HttpFile {
    /// Begins a file.
    ///
    /// # Errors
    /// `InvalidArgument` where it is there and may not be replaced; why that cannot be known.
    pub async fn create(
        url: &Address,
        options: CreateOptions,
        changer: HttpChanger,
        notes: UploadNotes,
    ) -> Result<Self> {
        let url = url.clone();
        let mut file = HttpFile {
            url: url.clone(),
            options,
            changer: changer.clone(),
            notes,
            in_place: None,
            memory: Vec::new(),
            memory_at: 0,
            disk: None,
        };
        if url.to_http().is_some_and(is_presigned) {
            file.in_place = Some(InPlace::Signed);
            return Ok(file);
        }
        let is_there = async {
            match options.overwrite {
                true => Ok(false),
                false => changer.is_there(&url).await,
            }
        };
        let [one, other] = [file.part()?, file.part()?];
        let renames = async { options.in_place || changer.renames(&one, &other).await };
        let (is_there, renames) = futures::future::join(is_there, renames).await;
        if is_there? {
            return Err(Error::target_is_there());
        }
        file.in_place = match options.in_place {
            true => Some(InPlace::Wanted),
            false => (!renames).then_some(InPlace::NoRenames),
        };
        Ok(file)
    }

    /// A name beside its own, for the same who asks.
    fn part(&self) -> Result<Address> {
        Ok(self.url.beside(&random_name(&self.url))?.with_query(self.url.query()))
    }

    async fn keep(&mut self, offset: u64, bytes: Bytes) -> Result<()> {
        let most = if self.disk.is_some() { RUN_BYTES } else { MEMORY_BYTES_MAX };
        // `Content` has checked that the bytes follow earlier ones or replace some of them.
        if let Some(at) = offset.checked_sub(self.memory_at) {
            let at = at as usize;
            let end = at + bytes.len();
            if end <= most.max(self.memory.len()) {
                self.memory.resize(self.memory.len().max(end), 0);
                self.memory[at..end].copy_from_slice(&bytes);
                return Ok(());
            }
        }
        let disk = self.spill().await?;
        self.memory_at = self.memory_at.max(offset + bytes.len() as u64);
        on_disk(disk, offset, bytes).await
    }

    /// Moves the bytes in memory to the file on disk, which it returns.
    async fn spill(&mut self) -> Result<Arc<File>> {
        let disk = match &self.disk {
            Some(disk) => disk.clone(),
            None => Arc::new(tempfile::tempfile().map_err(|error| Error::from_io(&error))?),
        };
        self.disk = Some(disk.clone());
        let memory = Bytes::from(std::mem::take(&mut self.memory));
        let at = self.memory_at;
        self.memory_at += memory.len() as u64;
        on_disk(disk.clone(), at, memory).await?;
        Ok(disk)
    }

    async fn send(mut self, content: Content) -> Result<Written> {
        let upload = match self.disk {
            Some(_) => UploadBytes::Disk(self.spill().await?, content.len()),
            None => UploadBytes::Memory(std::mem::take(&mut self.memory).into()),
        };
        if self.in_place.is_none() {
            self.in_place = self.send_beside(&upload, &content).await?;
        }
        if let Some(why) = self.in_place {
            self.send_in_place(why, &upload, &content).await?;
        }
        let checksum = content.checksum(Algorithm::Adler32);
        Ok(Written::new(self.url.to_string(), content.len(), checksum))
    }

    /// Puts the file beside its name, which it then gets. Where the server does not rename it,
    /// nothing of it is then there, and it is to be written in place.
    async fn send_beside(
        &self,
        upload: &UploadBytes,
        content: &Content,
    ) -> Result<Option<InPlace>> {
        let part = self.part()?;
        let put = self.put(&part, upload, content, Ok(None)).await?;
        match self.changer.rename(&part, &self.url, self.options.overwrite).await {
            Ok(()) => match self.named(content).await {
                Ok(()) => {
                    put.keep();
                    Ok(None)
                }
                Err(error) => Err(put.undone(error).await),
            },
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                if let Some(why) = remove(&self.changer, &part).await {
                    let text = "is left over, and could not be removed";
                    self.notes.add(format!("warning: {part} {text}: {}", why.message()));
                }
                put.keep();
                Ok(Some(InPlace::NoRenames))
            }
            Err(error) => Err(put.undone(error).await),
        }
    }

    /// Whether the file has its name, as far as the server says.
    async fn named(&self, content: &Content) -> Result<()> {
        let text = match self.changer.state(&self.url).await {
            Ok(Some(stamp)) => match stamp.size().filter(|size| *size != content.len()) {
                Some(size) => format!("has {size} bytes there, of {}", content.len()),
                None => return Ok(()),
            },
            Ok(None) => "has no file of that name".to_owned(),
            // Some let files be written that they do not show.
            Err(_) => return Ok(()),
        };
        let text = format!("the server says that it has renamed the file, and {text}");
        let advice =
            "see what is there; `farroot cp --in-place` writes under the final name at once";
        let python = "see what is there; farroot.copy(..., in_place=True) writes under the final \
                      name at once";
        Err(Error::new(ErrorKind::Io, text).with_advice_for(advice, python))
    }

    /// Puts the file under its own name at once.
    async fn send_in_place(
        &self,
        why: InPlace,
        upload: &UploadBytes,
        content: &Content,
    ) -> Result<()> {
        let before = match why {
            InPlace::Signed => {
                let text = "its address is signed for one request";
                Err(Error::new(ErrorKind::PermissionDenied, text))
            }
            InPlace::Wanted | InPlace::NoRenames => self.changer.state(&self.url).await,
        };
        // It may have appeared since the request for it.
        if !self.options.overwrite && why != InPlace::Signed && before.clone()?.is_some() {
            return Err(Error::target_is_there());
        }
        let url = &self.url;
        match why {
            InPlace::Wanted => {}
            InPlace::NoRenames if before != Ok(None) => {
                let text =
                    "the server renames no files, and the earlier file would be lost at once";
                return Err(Error::new(ErrorKind::Unsupported, text).with_advice_for(
                    "write to another place, and copy that with `farroot cp --in-place`: it writes \
                     over the earlier file",
                    "write to another place, and copy that with farroot.copy(..., in_place=True): \
                     it writes over the earlier file",
                ));
            }
            InPlace::NoRenames => {
                let text = "renames no files: it was written under its final name at once";
                self.notes.add(format!("warning: the server of {url} {text}"));
            }
            InPlace::Signed => {
                let text = "is signed for itself alone: the file was written under its final name \
                            at once, and not compared";
                self.notes.add(format!("warning: {url} {text}"));
            }
        }
        self.put(url, upload, content, before).await.map(Put::keep)
    }

    /// Puts the file somewhere, where the server had `before`, and compares it. After an error
    /// nothing of it stays there.
    async fn put(
        &self,
        at: &Address,
        upload: &UploadBytes,
        content: &Content,
        before: Result<Option<FileStamp>>,
    ) -> Result<Put> {
        // Elsewhere that has been asked.
        let is_new = !self.options.overwrite && self.in_place == Some(InPlace::Signed);
        let changer = self.changer.clone();
        let mut put = Put { changer, at: at.clone(), before, is_over: false };
        if let Err(error) = self.changer.put(at, upload, is_new).await {
            return Err(put.undone(error).await);
        }
        if self.in_place == Some(InPlace::Signed) {
            return Ok(put);
        }
        // The earlier file is gone, whatever is done now.
        put.before = Ok(None);
        match self.compare(at, content).await {
            Ok(()) => Ok(put),
            Err(error) => Err(put.undone(error).await),
        }
    }

    /// Compares the server's checksum with that of the sent bytes.
    async fn compare(&self, url: &Address, content: &Content) -> Result<()> {
        let kind = Algorithm::Adler32;
        let Some(ours) = content.checksum(kind) else { return Ok(()) };
        match self.checksum_of(url, kind).await {
            Ok(theirs) if theirs != ours => {
                // A server may remember that of a file which had this name a moment ago.
                let kind = Algorithm::Crc32c;
                let theirs_now = self.checksum_of(url, kind).await.ok();
                if theirs_now.is_some() && theirs_now == content.checksum(kind) {
                    return Ok(());
                }
                let text = format!("the server has {theirs}, and {ours} was sent");
                let advice = "write it again; if it happens again, tell the site";
                Err(Error::new(ErrorKind::Corrupt, text).with_advice(advice))
            }
            Ok(_) => Ok(()),
            Err(_) => {
                self.notes.add(format!("{} gives no checksum to compare with", self.url));
                Ok(())
            }
        }
    }

    async fn checksum_of(&self, url: &Address, kind: Algorithm) -> Result<Checksum> {
        let HttpChanger { config, network, .. } = &self.changer;
        one_shot::checksum(url, Some(kind), config, network.clone()).await
    }
}

/// Removes the part of a file that was put, after an error, which then names a file that may have
/// stayed. A server that refuses bytes, or keeps them aside until all have come, still has the file
/// from `before`: that stays.
async fn undone(
    changer: &HttpChanger,
    at: &Address,
    before: &Result<Option<FileStamp>>,
    error: Error,
) -> Error {
    let unknown = |why: &Error| {
        let text = "may be incomplete, or as it was before: see what is there";
        error.clone().and(&format!("{at} {text} (the server does not say: {})", why.message()))
    };
    match before {
        Ok(None) => {}
        Ok(before) => match changer.state(at).await {
            Ok(now) if now == *before => return error,
            Ok(_) => {}
            Err(why) => return unknown(&why),
        },
        Err(why) => return unknown(why),
    }
    let Some(why) = remove(changer, at).await else { return error };
    if why.kind() == ErrorKind::Connection {
        return unknown(&why);
    }
    let text = "is wrong or incomplete and could not be removed: remove it";
    error.and(&format!("{at} {text} ({})", why.message()))
}

/// Removes a file that was put; why that stays, where it does.
async fn remove(changer: &HttpChanger, at: &Address) -> Option<Error> {
    let why = changer.remove(at).await.err()?;
    // Where a server has taken no bytes there is nothing to remove.
    let is_gone = why.kind() == ErrorKind::NotFound || changer.state(at).await == Ok(None);
    (!is_gone).then_some(why)
}

/// A file that was put, or is being put. It is removed where the caller gives up.
struct Put {
    changer: HttpChanger,
    at: Address,
    /// The file that the server had there.
    before: Result<Option<FileStamp>>,
    is_over: bool,
}

impl Put {
    /// It stays, or was removed.
    fn keep(mut self) {
        self.is_over = true;
    }

    /// Removes it, after an error: see [`undone`].
    async fn undone(self, error: Error) -> Error {
        let error = undone(&self.changer, &self.at, &self.before, error).await;
        self.keep();
        error
    }
}

impl Drop for Put {
    fn drop(&mut self) {
        if let (false, Ok(runtime)) = (self.is_over, tokio::runtime::Handle::try_current()) {
            let changer = self.changer.clone();
            let at = self.at.clone();
            let before = self.before.clone();
            let why = Error::new(ErrorKind::Cancelled, "writing was given up");
            runtime.spawn(async move { drop(undone(&changer, &at, &before, why).await) });
        }
    }
}

/// Writes on a thread that may wait for the disk.
async fn on_disk(disk: Arc<File>, offset: u64, bytes: Bytes) -> Result<()> {
    let write = spawn_blocking(move || disk.write_all_at(&bytes, offset));
    let written = write.await.unwrap_or_else(|error| Err(io::Error::other(error)));
    written.map_err(|error| {
        Error::new(ErrorKind::Io, format!("the file that is kept until it is sent: {error}"))
            .with_advice("make room on the disk that TMPDIR names")
    })
}

impl Sink for HttpFile {
    fn write(&mut self, offset: u64, bytes: Bytes, _: bool) -> BoxFuture<'_, Result<()>> {
        self.keep(offset, bytes).boxed()
    }

    /// Nothing is safe before all is there.
    fn sync(&mut self) -> BoxFuture<'_, Result<()>> {
        futures::future::ready(Ok(())).boxed()
    }

    fn finish(self: Box<Self>, content: Content) -> BoxFuture<'static, Result<Written>> {
        self.send(content).boxed()
    }

    fn abandon(self: Box<Self>) -> BoxFuture<'static, ()> {
        futures::future::ready(()).boxed()
    }
}
