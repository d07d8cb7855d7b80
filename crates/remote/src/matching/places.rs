//! Directories of a disk or of a server, as a pattern goes through them.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::address::{Address, Scheme};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::source::network::Network;
use crate::source::{ListedName, one_shot};

/// A file or directory that a pattern has led to.
#[derive(Clone)]
pub(super) enum MatchedPlace {
    Disk(PathBuf),
    Far(Address),
}

/// A name in a directory.
#[derive(Clone)]
pub(super) struct MatchedName {
    pub name: OsString,
    /// Whether further directories may be below: not behind links of a disk, which may lead back.
    /// `None` where the server does not report it.
    pub is_directory: Option<bool>,
}

impl MatchedPlace {
    /// A part of a pattern as names are compared with it.
    pub fn name_in_path<'a>(&self, part: &'a str) -> Cow<'a, str> {
        match self {
            MatchedPlace::Far(url)
                if matches!(url.scheme(), Scheme::Http | Scheme::Https | Scheme::Pelican) =>
            {
                percent_encoding::percent_decode_str(part).decode_utf8_lossy()
            }
            _ => Cow::Borrowed(part),
        }
    }

    pub fn child(&self, name: &OsStr) -> Result<MatchedPlace> {
        match self {
            MatchedPlace::Disk(folder) => Ok(MatchedPlace::Disk(folder.join(name))),
            MatchedPlace::Far(folder) => {
                folder.child(&name.to_string_lossy()).map(MatchedPlace::Far)
            }
        }
    }

    /// The text to open it by. A file that is left out is not to go unnoticed.
    pub fn text(&self) -> Result<String> {
        match self {
            MatchedPlace::Disk(path) => as_text(path),
            MatchedPlace::Far(url) => Ok(url.as_str().to_owned()),
        }
    }

    /// Whether a name without pattern is there, where that shows without a listing.
    pub fn is_there(&self) -> Option<bool> {
        match self {
            MatchedPlace::Disk(path) => Some(path.symlink_metadata().is_ok()),
            MatchedPlace::Far(_) => None,
        }
    }

    /// The names in it, in any order; `None` where it is no directory, as files among those that a
    /// pattern matches.
    pub async fn entries(
        &self,
        with_facts: bool,
        config: &Config,
        network: &Arc<dyn Network>,
    ) -> Result<Option<Vec<MatchedName>>> {
        match self {
            MatchedPlace::Disk(folder) => on_disk(folder),
            MatchedPlace::Far(url) => {
                match one_shot::list(url, with_facts, config, network.clone()).await {
                    Err(error) if is_no_directory(&error) => Ok(None),
                    listed => Ok(Some(listed?.into_iter().filter_map(MatchedName::of).collect())),
                }
            }
        }
    }
}

impl MatchedName {
    /// No name leads out of its directory.
    fn of(listed: ListedName) -> Option<MatchedName> {
        let ListedName { name, is_directory, .. } = listed;
        let leads_away = matches!(&*name, "" | "." | "..") || name.contains('/');
        (!leads_away).then(|| MatchedName { name: name.into(), is_directory })
    }
}

pub fn is_no_directory(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidArgument)
}

/// One that may not be read holds nothing for us, as in a shell.
fn on_disk(folder: &Path) -> Result<Option<Vec<MatchedName>>> {
    let read = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let wrong = |error: &io::Error| {
        Error::from_io(error).retryable(false).with_url(folder.to_string_lossy())
    };
    let entries = match std::fs::read_dir(read) {
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::PermissionDenied => return Ok(None),
            _ => return Err(wrong(&error)),
        },
        Ok(entries) => entries,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| wrong(&error))?;
        let is_directory = entry.file_type().is_ok_and(|there| there.is_dir());
        found.push(MatchedName { name: entry.file_name(), is_directory: Some(is_directory) });
    }
    Ok(Some(found))
}

pub(super) fn as_text(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let text = "among the files that the pattern matches is one whose name is not UTF-8";
        Error::new(ErrorKind::Unsupported, text)
            .with_url(path.to_string_lossy())
            .with_advice("give the file another name")
    })
}
