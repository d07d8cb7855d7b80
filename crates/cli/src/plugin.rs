//! The configuration of XRootD's own client plug-in (`libXrdClProxyPlugin`), which has ROOT, uproot
//! and xrdcp read through a proxy: it is part of XRootD, of ROOT's wheel and of XRootD's.
//!
//! The file is scoped to addresses of servers. `XRD_PLUGIN` would catch the local target of a copy,
//! too, and `url = *` is a place of which XrdCl has one only, which packages of Debian take.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The name of the file; XrdCl reads all that end so.
const NAME: &str = "farroot.conf";
/// Not one that XrdCl reads.
const HTTP_ADDRESS: &str = "http-address";
/// Stands before a proxy's address in the file.
const ADDRESS: &str = "XROOT_PROXY = ";

/// The text that leads clients to a proxy, whose address ends with the secret.
pub fn text(proxy: &str) -> String {
    format!(
        "# Written by farroot\n\
         url = root://*;xroot://*;roots://*;xroots://*\n\
         lib = libXrdClProxyPlugin.so\n\
         enable = true\n\
         {ADDRESS}{proxy}\n"
    )
}

/// The proxy's address in a text of [`text`].
pub fn proxy_of(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix(ADDRESS)).map(str::trim)
}

/// Where XrdCl looks without `XRD_PLUGINCONFDIR`.
pub fn permanent() -> Option<PathBuf> {
    let home = remote::home_of_user()?;
    Some(home.join(".xrootd/client.plugins.d").join(NAME))
}

/// Writes a file that only this user can read.
///
/// # Errors
/// Those of the file system.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    remote::replace_private(path, text.as_bytes())
}

/// Prefixes of addresses of origins, the secret included.
#[derive(Debug)]
pub struct Prefixes {
    pub root: String,
    pub http: String,
}

/// A folder with the configuration for one command, removed when dropped.
#[derive(Debug)]
pub struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// With the files of the folder that the user has chosen before, so that other plug-ins go on.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn new(id: &str, proxy: &Prefixes, chosen: Option<&Path>) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("farroot-run-{id}"));
        DirBuilder::new().mode(0o700).create(&path)?;
        let folder = PrivateFolder(path);
        let others = match chosen.map(fs::read_dir) {
            // To XRootD's client it holds nothing, either.
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => None,
            others => others.transpose()?,
        };
        let others = others.into_iter().flatten().flatten();
        for other in others.filter(|other| other.path().is_file() && other.file_name() != NAME) {
            fs::copy(other.path(), folder.0.join(other.file_name()))?;
        }
        write(&folder.0.join(NAME), &text(&proxy.root))?;
        write(&folder.http_address(), &proxy.http)?;
        Ok(folder)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file with the prefix of addresses of HTTP: variables of the environment are printed, and
    /// the secret is in it.
    pub fn http_address(&self) -> PathBuf {
        self.0.join(HTTP_ADDRESS)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_command_s_folder_is_private_and_gone_afterwards() {
        let chosen = tempfile::tempdir().unwrap();
        fs::write(chosen.path().join("other.conf"), "url = x").unwrap();
        fs::write(chosen.path().join(NAME), "old").unwrap();
        let proxy = "root://127.0.0.1:9//k-s/";
        let http = "http://127.0.0.1:9/k-s/";
        let id = format!("test-{}", std::process::id());
        let prefixes = Prefixes { root: proxy.to_owned(), http: http.to_owned() };
        let folder = PrivateFolder::new(&id, &prefixes, Some(chosen.path())).unwrap();
        let path = folder.path().to_owned();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&path.join(NAME))), (0o700, 0o600));
        assert_eq!(fs::read_to_string(path.join("other.conf")).unwrap(), "url = x");
        let written = fs::read_to_string(path.join(NAME)).unwrap();
        assert_eq!(proxy_of(&written), Some(proxy));
        assert_eq!(mode(&folder.http_address()), 0o600);
        assert_eq!(fs::read_to_string(folder.http_address()).unwrap(), http);
        drop(folder);
        assert!(!path.exists());
        let missing = chosen.path().join("missing");
        drop(PrivateFolder::new(&id, &prefixes, Some(&missing)).expect("it holds nothing"));
    }
}
