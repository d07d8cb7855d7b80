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
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use remote::runtime;

pub use self::guest::{Claim, join_or_start};
pub use self::host::{Door, Ends};
pub use self::summary::summary;

/// Prefixes of the environment variables with settings and credentials.
const SETTINGS: [&str; 20] = [
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
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "LOGNAME",
];
/// Set by `farroot run` for its command: an address, not a setting.
const SET_BY_RUN: &str = "FARROOT_PROXY";

/// The path of the socket for a proxy with this process's settings.
///
/// # Errors
/// The folder cannot be made, or other users can enter it.
fn socket() -> io::Result<PathBuf> {
    let folder = runtime::folder();
    runtime::claim(&folder)?;
    Ok(folder.join(format!("proxy-{:016x}", settings())))
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
