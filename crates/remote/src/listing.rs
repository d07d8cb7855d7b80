//! Listings of a directory, of a disk or of a server.

use std::path::Path;
use std::time::SystemTime;

use crate::Remote;
use crate::address::Address;
use crate::error::{Error, ErrorKind, Result};
use crate::home::expanded;
use crate::source::{ListedName, one_shot};

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Without the directory.
    pub name: String,
    /// The address to open it by; empty where the protocol has none for such a name.
    pub address: String,
    /// Bytes of a file; `None` of a directory, and where the server does not report it.
    pub size: Option<u64>,
    /// `None` where the server does not report it.
    pub is_directory: Option<bool>,
    /// When a file was last changed; `None` where the server does not report it.
    pub modified: Option<SystemTime>,
}

impl Remote {
    /// The entries of a directory, by name.
    ///
    /// # Errors
    /// `Unsupported` where a server lists nothing; `NotFound`; an error of listing it.
    pub async fn list(&self, directory: &str) -> Result<Vec<Listed>> {
        let mut listed = match directory.contains("://") && !directory.starts_with("file://") {
            false => on_disk(directory)?,
            true => {
                let url = Address::parse(directory)?;
                let settings = self.settings();
                let entries =
                    one_shot::list(&url, true, &settings.config, settings.network.clone()).await?;
                let address = |name: &str| {
                    let child = url.child(name);
                    child.map_or_else(|_| String::new(), |child| child.as_str().to_owned())
                };
                let listed = |entry: ListedName| {
                    let address = address(&entry.name);
                    let ListedName { name, is_directory, size, modified } = entry;
                    Listed { name, address, size, is_directory, modified }
                };
                entries.into_iter().map(listed).collect()
            }
        };
        listed.sort();
        Ok(listed)
    }

    /// Whether an address is that of a directory, as far as it shows without a request.
    pub fn is_directory(&self, address: &str) -> bool {
        match address.contains("://") {
            true => match Address::parse(address) {
                Ok(url) if url.to_s3().is_some() => {
                    url.path().is_empty() || url.path().ends_with('/')
                }
                _ => address.split('?').next().is_some_and(|path| path.ends_with('/')),
            },
            false => expanded(Path::new(address)).is_dir(),
        }
    }
}

fn on_disk(directory: &str) -> Result<Vec<Listed>> {
    let url = Address::parse(directory)?;
    let path = url
        .to_local()
        .ok_or_else(|| Error::new(ErrorKind::InvalidArgument, "not a path").with_url(directory))?;
    let wrong = |error: &std::io::Error| Error::from_io(error).retryable(false).with_url(directory);
    let mut listed = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|error| wrong(&error))? {
        let entry = entry.map_err(|error| wrong(&error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Of the target of a link.
        let there = std::fs::metadata(entry.path()).ok();
        listed.push(Listed {
            address: entry.path().to_string_lossy().into_owned(),
            name,
            size: there.as_ref().filter(|there| there.is_file()).map(std::fs::Metadata::len),
            modified: there.as_ref().and_then(|there| there.modified().ok()),
            is_directory: there.map(|there| there.is_dir()),
        });
    }
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_directory_ends_with_a_slash_or_is_a_bucket() {
        let remote = Remote::start(crate::Config::default(), std::sync::Arc::new(NoNetwork));
        for (address, is) in [
            ("root://h//d/", true),
            ("root://h//d/?x=1", true),
            ("root://h//f", false),
            ("s3://bucket", true),
            ("s3://bucket/", true),
            ("s3://bucket/d/", true),
            ("s3://bucket/f", false),
        ] {
            assert_eq!(remote.is_directory(address), is, "{address}");
        }
    }

    /// Regression: files whose names begin with a dot were listed on servers, but not on a disk, so
    /// that recursive copies left them out without a word.
    #[tokio::test]
    async fn all_files_of_a_disk_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", ".a"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let remote = Remote::start(crate::Config::default(), std::sync::Arc::new(NoNetwork));
        let listed = remote.list(folder.path().to_str().unwrap()).await.unwrap();
        let names: Vec<String> = listed.into_iter().map(|one| one.name).collect();
        assert_eq!(names, [".a", "b"]);
    }

    struct NoNetwork;

    impl crate::source::network::Network for NoNetwork {
        fn connect(
            &self,
            _: &str,
            _: u16,
        ) -> futures::future::BoxFuture<
            'static,
            std::io::Result<Box<dyn crate::source::network::Stream>>,
        > {
            Box::pin(async { Err(std::io::ErrorKind::Unsupported.into()) })
        }
    }
}
