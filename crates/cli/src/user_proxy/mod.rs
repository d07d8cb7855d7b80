//! The proxy that commands of one user share, and how they find it.
//!
//! It listens on a socket in a folder that only this user can enter, under a name that stands for
//! the settings and credentials in its environment: a command with other ones has another proxy.
//! Who connects there is sent the proxy's addresses, with the secret in them; as long as that
//! connection lasts, the proxy does. A socket cannot be stale as a file could: behind the socket of
//! a proxy that was killed nothing answers, and the next command begins anew.

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

/// Variables with settings and credentials; all that begin so count.
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
/// Set by `farroot run` for its command; it says where to read, not how.
const SET_BY_RUN: &str = "FARROOT_PROXY";

/// Where a proxy with this process's settings listens: the path of the socket.
///
/// # Errors
/// The folder cannot be made, or others could enter it.
fn socket() -> io::Result<PathBuf> {
    Ok(folder()?.join(format!("proxy-{:016x}", settings())))
}

/// The user's own folder, as long as this machine is up.
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
    // In a folder for temporary files another user may have made it, or a link.
    let there = fs::symlink_metadata(&folder)?;
    match there.is_dir() && there.uid() == own && there.mode() & 0o077 == 0 {
        true => Ok(folder),
        false => Err(io::Error::other(format!("others can enter {}", folder.display()))),
    }
}

/// A number for all that a proxy takes from its environment.
fn settings() -> u64 {
    let is_setting =
        |name: &str| name != SET_BY_RUN && SETTINGS.iter().any(|setting| name.starts_with(setting));
    let mut variables: Vec<_> =
        std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_setting)).collect();
    variables.sort();
    // Files that are named as seen from here are others elsewhere.
    let is_near = |(_, value): &(_, OsString)| {
        let path = Path::new(value);
        path.is_relative() && path.exists()
    };
    let here = variables.iter().any(is_near).then(std::env::current_dir);
    let mut hasher = DefaultHasher::new();
    (env!("CARGO_PKG_VERSION"), variables, here.and_then(Result::ok)).hash(&mut hasher);
    hasher.finish()
}
