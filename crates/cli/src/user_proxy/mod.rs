//! The proxy that the commands of one user share, and how `farroot run` finds it.
//!
//! The proxy listens on a Unix socket in a folder that only this user can enter. The socket's name
//! is a hash of the settings and credentials in the environment: a command with other settings has
//! another proxy. The proxy sends its addresses, secret included, over each connection, and runs
//! while a connection is open. A killed proxy leaves a socket at which connecting fails; the next
//! command then starts a new proxy.

mod guest;
mod host;
mod summary;

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

pub use self::guest::{Claim, join_or_start};
pub use self::host::{Door, Ends};
pub use self::summary::summary;

/// Prefixes of the environment variables with settings and credentials.
const SETTINGS: [&str; 13] = [
    "FARROOT_",
    "BEARER_TOKEN",
    "X509_",
    "KRB5",
    "XrdSec",
    "AWS_",
    "SSL_CERT_",
    "XDG_RUNTIME_DIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "HOME",
    "USER",
    "LOGNAME",
];
/// Set by `farroot run` for its command: an address, not a setting.
const SET_BY_RUN: &str = "FARROOT_PROXY";

/// The path of the socket for a proxy with this process's settings.
///
/// # Errors
/// The folder cannot be made, or other users can enter it.
fn socket() -> io::Result<PathBuf> {
    Ok(folder()?.join(format!("proxy-{:016x}", settings())))
}

/// The user's folder for sockets, in `XDG_RUNTIME_DIR` or else in the folder for temporary files.
fn folder() -> io::Result<PathBuf> {
    let own = rustix::process::geteuid().as_raw();
    let given = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folder = match given.filter(|given| given.is_absolute() && given.is_dir()) {
        Some(given) => given.join("farroot"),
        None => std::env::temp_dir().join(format!("farroot-{own}")),
    };
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // In `/tmp` another user may have made the folder, or a symbolic link.
    let there = fs::symlink_metadata(&folder)?;
    match there.is_dir() && there.uid() == own && there.mode() & 0o077 == 0 {
        true => Ok(folder),
        false => Err(io::Error::other(format!("others can enter {}", folder.display()))),
    }
}

/// A hash of everything that a proxy takes from its environment, and of its version.
fn settings() -> u64 {
    let is_setting =
        |name: &str| name != SET_BY_RUN && SETTINGS.iter().any(|setting| name.starts_with(setting));
    let mut variables: Vec<_> =
        std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_setting)).collect();
    variables.sort();
    // A relative path names another file in another working directory.
    let is_near = |(_, value): &(_, OsString)| {
        let path = Path::new(value);
        path.is_relative() && path.exists()
    };
    let here = variables.iter().any(is_near).then(std::env::current_dir);
    let mut hasher = DefaultHasher::new();
    (env!("CARGO_PKG_VERSION"), variables, here.and_then(Result::ok)).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
