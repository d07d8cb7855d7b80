//! Changes of names: directories made and removed, files removed and renamed, on disks and servers.

use std::io;
use std::path::Path;
use std::sync::Arc;

use xrootd::error::ErrorCode;

use crate::Remote;
use crate::address::{self, Address, Scheme};
use crate::disk;
use crate::error::{Error, ErrorKind, Result};
use crate::sink;
use crate::source::http::put::HttpChanger;
use crate::source::http::s3::ObjectWriter;
use crate::source::one_shot;
use crate::source::servers::config_for;
use crate::source::xrootd::XrootdServer;
use crate::source::xrootd::asking::{Asking, FileRequest, RequestFailure};

/// How often a request may be sent elsewhere.
const REDIRECTIONS_MAX: usize = 16;

impl Remote {
    /// Makes a directory, with those above it. One that is there stays; S3 has none.
    ///
    /// # Errors
    /// `Unsupported` where the protocol or the server makes none; why it cannot be made.
    pub async fn make_folder(&self, address: &str) -> Result<()> {
        let url = only(address)?;
        match (url.scheme(), url.to_local()) {
            (_, Some(path)) => disk::make_folders(path).map_err(|error| failed(path, &error)),
            (Scheme::Root | Scheme::Roots, _) => {
                self.change_path(&url, FileRequest::MakeFolder).await
            }
            (Scheme::Http | Scheme::Https, _) => self.make_http_folder(&url).await,
            (Scheme::S3, _) => Ok(()),
            _ => Err(not_changed(&url)),
        }
    }

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported` where the protocol or the server removes none; its refusal.
    pub async fn remove(&self, address: &str) -> Result<()> {
        let url = only(address)?;
        match (url.scheme(), url.to_local()) {
            (_, Some(path)) => std::fs::remove_file(path).map_err(|error| failed(path, &error)),
            (Scheme::Root | Scheme::Roots, _) => self.change_path(&url, FileRequest::Remove).await,
            (Scheme::Http | Scheme::Https, _) => {
                // Of a directory, WebDAV would remove all that is in it.
                if self.is_http_folder(&url).await? {
                    let text = "it is a directory";
                    return Err(at(&url, Error::new(ErrorKind::InvalidArgument, text)));
                }
                self.changer().remove(&url).await
            }
            (Scheme::S3, _) => {
                let settings = self.settings();
                let writer = ObjectWriter::new(&url, &settings.config, settings.network.clone())?;
                writer.remove().await
            }
            _ => Err(not_changed(&url)),
        }
    }

    /// Removes an empty directory; S3 has none.
    ///
    /// # Errors
    /// `InvalidArgument` where it is not empty; as [`Remote::remove`].
    pub async fn remove_folder(&self, address: &str) -> Result<()> {
        let url = only(address)?;
        match (url.scheme(), url.to_local()) {
            (_, Some(path)) => std::fs::remove_dir(path).map_err(|error| failed(path, &error)),
            (Scheme::Root | Scheme::Roots, _) => {
                self.change_path(&url, FileRequest::RemoveFolder).await
            }
            (Scheme::Http | Scheme::Https, _) => {
                // WebDAV would remove all that is in it.
                if !self.list(url.as_str()).await?.is_empty() {
                    return Err(at(&url, not_empty()));
                }
                self.changer().remove(&url.with_slash()).await
            }
            (Scheme::S3, _) => Ok(()),
            _ => Err(not_changed(&url)),
        }
    }

    /// Gives a file or directory another name in the same place; a file that has it is replaced.
    ///
    /// # Errors
    /// `Unsupported` where the two are in different places, or the server renames nothing; as
    /// [`Remote::remove`].
    pub async fn rename(&self, from: &str, to: &str) -> Result<()> {
        let from = only(from)?;
        let to = only(to)?;
        if from.server_key() != to.server_key() {
            let text = "the two names are in different places";
            let error = Error::new(ErrorKind::Unsupported, text);
            return Err(at(&to, error.with_advice("copy the file, and remove the first one")));
        }
        match (from.scheme(), from.to_local(), to.to_local()) {
            (_, Some(old), Some(new)) => {
                std::fs::rename(old, new).map_err(|error| failed(old, &error))
            }
            (Scheme::Root | Scheme::Roots, ..) => {
                let target = full_path(&to);
                let request = |from| FileRequest::Move { from, to: target.clone() };
                self.change_path(&from, request).await
            }
            (Scheme::Http | Scheme::Https, ..) => self.changer().rename(&from, &to, true).await,
            (Scheme::S3, ..) => {
                let error = Error::new(ErrorKind::Unsupported, "S3 renames no objects");
                Err(at(&from, error.with_advice("copy the object, and remove the first one")))
            }
            _ => Err(not_changed(&from)),
        }
    }

    pub(crate) fn changer(&self) -> HttpChanger {
        let settings = self.settings();
        let renaming = settings.renaming.clone();
        HttpChanger::new(&settings.config, settings.network.clone(), renaming)
    }

    /// Asks an XRootD server for a change of a path, wherever it sends to.
    async fn change_path(
        &self,
        url: &Address,
        request: impl Fn(String) -> FileRequest,
    ) -> Result<()> {
        let settings = self.settings();
        let mut there = url.clone();
        for _ in 0..REDIRECTIONS_MAX {
            let config = config_for(&there, &settings.config);
            let server = XrootdServer::new(&there, &config, settings.network.clone())?;
            let server = server.for_writing(&there);
            let notes = self.notes();
            let asking = Asking::start(Arc::new(server), there.clone(), config.checksums, notes);
            let asked = request(full_path(&there));
            let is_removal = matches!(asked, FileRequest::RemoveFolder(_));
            match asking.reply(asking.ask(asked)).await {
                Ok(_) => return Ok(()),
                Err(RequestFailure::Elsewhere(target)) => there = target,
                // The code of xrootd 6 for a directory with something in it.
                Err(RequestFailure::Server(said, _))
                    if is_removal && said.code == ErrorCode::ITEM_EXISTS =>
                {
                    return Err(at(url, not_empty()));
                }
                Err(refusal) => return Err(at(url, sink::refused(refusal))),
            }
        }
        let text = format!("sent on {REDIRECTIONS_MAX} times, from one server to another");
        Err(at(url, Error::new(ErrorKind::Io, text)))
    }

    /// Servers make one directory at a time.
    async fn make_http_folder(&self, url: &Address) -> Result<()> {
        let changer = self.changer();
        let mut missing = vec![url.clone()];
        let mut there = url.clone();
        loop {
            match changer.make_folder(&there).await {
                Err(error) if error.kind() == ErrorKind::NotFound => match there.parent() {
                    Some(above) => {
                        missing.push(above.clone());
                        there = above;
                    }
                    None => return Err(error),
                },
                // Servers answer so for a folder that is there, and where they make none.
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    match self.is_http_folder(&there).await {
                        Ok(true) => break,
                        _ => return Err(error),
                    }
                }
                made => {
                    made?;
                    break;
                }
            }
        }
        // The last one is there.
        missing.pop();
        for url in missing.iter().rev() {
            changer.make_folder(url).await?;
        }
        Ok(())
    }

    /// Whether a server lists a directory there; one that lists none has none.
    async fn is_http_folder(&self, url: &Address) -> Result<bool> {
        let settings = self.settings();
        match one_shot::list(url, false, &settings.config, settings.network.clone()).await {
            Ok(_) => Ok(true),
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::InvalidArgument | ErrorKind::Unsupported => {
                    Ok(false)
                }
                _ => Err(error),
            },
        }
    }
}

fn only(address: &str) -> Result<Address> {
    match <[Address; 1]>::try_from(address::parse(address)?) {
        Ok([url]) => Ok(url),
        Err(_) => {
            let error = Error::new(ErrorKind::InvalidArgument, "one address is changed at a time");
            Err(error.with_url(address))
        }
    }
}

fn full_path(url: &Address) -> String {
    url.to_xrootd().map(xrootd::url::Url::full_path).unwrap_or_default()
}

fn at(url: &Address, error: Error) -> Error {
    error.with_url(url.to_string())
}

fn failed(path: &Path, error: &io::Error) -> Error {
    let error = match error.kind() {
        io::ErrorKind::DirectoryNotEmpty => not_empty(),
        io::ErrorKind::IsADirectory => Error::new(ErrorKind::InvalidArgument, "it is a directory"),
        _ => Error::from_io(error),
    };
    error.retryable(false).with_url(path.to_string_lossy())
}

fn not_empty() -> Error {
    Error::new(ErrorKind::InvalidArgument, "the directory is not empty")
}

fn not_changed(url: &Address) -> Error {
    let text = format!("this version changes nothing at {}:// addresses", url.scheme().name());
    at(url, Error::new(ErrorKind::Unsupported, text))
}
