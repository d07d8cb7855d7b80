//! Configuration of a server.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use remote::cache::CacheConfig;
use remote::credentials::Environment;

use super::connections::Door;
use super::far::Forwarding;
use super::guard::{self, Guard, GuardedFiles, Protection};
use super::limits::{Limits, descriptors};
use super::origin::Origin;
use super::shaped::Shape;

/// The content to serve, the ports, and how far away the server shall seem.
#[derive(Debug, Clone)]
pub struct Config {
    pub content: Content,
    /// The address to listen on.
    pub address: IpAddr,
    /// The port for both protocols; 0 lets the kernel choose.
    pub port: u16,
    /// One more port for both protocols, where a client insists on one.
    pub http_port: Option<u16>,
    /// A port for Arrow Flight, where entries are selected.
    pub flight_port: Option<u16>,
    /// Whether entries are selected here for clients (`POST /select`).
    pub select: bool,
    pub shape: Shape,
    pub protection: Protection,
    /// Lowered as far as the process's file descriptors require.
    pub limits: Limits,
}

/// The content to serve.
#[derive(Debug, Clone)]
pub enum Content {
    /// Everything below a folder, which may be read by anyone who can connect.
    Folder {
        path: PathBuf,
        /// Whether files and folders whose names begin with a dot are served.
        hidden: bool,
        /// Whether who may read may also write, rename and remove.
        writable: bool,
    },
    /// Files of other servers.
    Far(Box<Forwarding>),
}

impl Config {
    /// Serves `folder` to this machine, on a port that the kernel chooses, at no distance.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let path = folder.into();
        Self::of(Content::Folder { path, hidden: false, writable: false })
    }

    /// The same of any content.
    pub fn of(content: Content) -> Self {
        Config {
            content,
            address: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            http_port: None,
            flight_port: None,
            select: false,
            shape: Shape::default(),
            protection: Protection::default(),
            limits: Limits::default(),
        }
    }

    /// The protection, ready to be used.
    ///
    /// # Errors
    /// As [`Guard::new`]; `InvalidInput` where anyone on the network could change files, and where
    /// files that rules are for could be changed.
    pub(crate) fn guard(&self) -> io::Result<Guard> {
        let environment = match &self.content {
            Content::Folder { .. } => Environment::of_process(),
            Content::Far(far) => far.settings.credential_store.environment().clone(),
        };
        let served = match &self.content {
            Content::Folder { .. } => GuardedFiles::default(),
            Content::Far(far) => {
                GuardedFiles { is_far: true, quotas: far.settings.cache.quotas.clone() }
            }
        };
        let guard = Guard::new(&self.protection, served, environment)?;
        let is_writable = matches!(self.content, Content::Folder { writable: true, .. });
        if is_writable && guard.has_rules() {
            let message =
                "rules say who may read, and none who may write: serve without --writable";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let shows = |origin: &Origin| origin.credential().is_some();
        let has_credential = match &self.content {
            Content::Folder { .. } => false,
            Content::Far(far) => far.origins.iter().any(shows),
        };
        if has_credential && !guard.has_rules() {
            let message = "an origin is shown a credential, and no rule says who may then read";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        if is_writable && guard.is_open() && !self.address.is_loopback() {
            return Err(guard::unprotected(self.address));
        }
        Ok(guard)
    }

    /// The door of the port for Arrow Flight, if there is one.
    ///
    /// # Errors
    /// `InvalidInput` where no entries are selected; `Unsupported` in a build without Flight.
    pub(crate) fn flight_door(&self) -> io::Result<Option<Door>> {
        match self.flight_port {
            None => Ok(None),
            Some(_) if !self.select => {
                let message = "Arrow Flight sends selected entries: add --select";
                Err(io::Error::new(io::ErrorKind::InvalidInput, message))
            }
            #[cfg(feature = "flight")]
            Some(_) => Ok(Some(Door::Flight)),
            #[cfg(not(feature = "flight"))]
            Some(_) => {
                let message = "this build of farroot has no Arrow Flight (feature `flight`)";
                Err(io::Error::new(io::ErrorKind::Unsupported, message))
            }
        }
    }

    /// Its numbers and folders have a meaning.
    ///
    /// # Errors
    /// `InvalidInput`: a server that would take no client; a folder of the cache that is listed
    /// twice, whose disk would count twice.
    pub(crate) fn check_settings(&self) -> io::Result<()> {
        let wrong = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        let Limits { connections, connections_per_address, .. } = self.limits;
        for (name, value) in
            [("connections", connections), ("connections-per-address", connections_per_address)]
        {
            if value == 0 {
                return wrong(format!("{name} = 0 would take no client: give 1 or more"));
            }
        }
        let Content::Far(far) = &self.content else { return Ok(()) };
        let CacheConfig { folder, more_folders, .. } = &far.settings.cache;
        let mut seen = BTreeSet::new();
        for folder in folder.iter().chain(more_folders) {
            if !seen.insert(folder.canonicalize().unwrap_or_else(|_| folder.clone())) {
                return wrong(format!("{} is twice in cache_folder", folder.display()));
            }
        }
        Ok(())
    }

    /// The limits, lowered to this process's file descriptors and its memory for far files.
    pub(crate) fn limits_here(&self) -> Limits {
        let limits = self.limits.clone().within(descriptors());
        match &self.content {
            Content::Folder { .. } => limits,
            Content::Far(far) => limits.within_memory(far.settings.memory_bytes_max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Server;

    /// Zeros were taken for ones, and a disk that was listed twice for two.
    #[test]
    fn settings_that_mean_nothing_are_errors() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().to_owned();
        let limits = Limits::default();
        let cache = CacheConfig {
            folder: Some(folder.clone()),
            more_folders: vec![folder.join("other"), folder.join(".")],
            ..CacheConfig::default()
        };
        let settings = remote::Config { cache, ..remote::Config::default() };
        let far = Forwarding { settings, origins: Vec::new(), secret: None, access_log: None };
        let all = Limits { connections: 0, ..limits.clone() };
        let each = Limits { connections_per_address: 0, ..limits };
        for (config, why) in [
            (Config { limits: all, ..Config::new(&folder) }, "connections = 0"),
            (Config { limits: each, ..Config::new(&folder) }, "connections-per-address = 0"),
            (Config::of(Content::Far(Box::new(far))), "twice in cache_folder"),
        ] {
            for error in [Server::check(&config).unwrap_err(), Server::start(config).unwrap_err()] {
                assert!(error.to_string().contains(why), "{error}");
            }
        }
    }
}
