//! A server that runs for long: files that are read again, a check before the start, and an end
//! without cut transfers.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use crate::cluster::ClusterSettings;
use crate::far::FarFiles;
use crate::files::Files;
use crate::folder::FolderFiles;
use crate::{Config, Content, Protection, Server};

impl Config {
    /// That its ports are free and differ: all of them are taken, and let go.
    fn check_ports(&self) -> io::Result<()> {
        let flight = self.flight_door()?.is_some().then(|| self.flight_port.unwrap_or_default());
        let mut taken = Vec::new();
        for port in [Some(self.port), self.http_port, flight].into_iter().flatten() {
            let listener = TcpListener::bind((self.address, port)).map_err(|why| {
                io::Error::new(why.kind(), format!("port {port} of {}: {why}", self.address))
            })?;
            taken.push(listener);
        }
        Ok(())
    }
}

impl Server {
    /// Reads certificate, tokens and users again, and opens the access log by its name again. No
    /// connection ends: each next request needs a credential that is listed then.
    ///
    /// # Errors
    /// A file that cannot be read or is malformed; then its content stays as it was.
    pub fn reload(&self) -> io::Result<()> {
        self.reload_as(None)
    }

    /// As [`Server::reload`], with another protection from now on.
    ///
    /// # Errors
    /// As [`Server::reload`].
    pub fn reload_as(&self, protection: Option<&Protection>) -> io::Result<()> {
        self.shared.guard.reload(protection)?;
        match &self.files {
            Files::Folder(_) => Ok(()),
            Files::Far(far) => far.reopen_log(),
        }
    }

    /// Makes the proxy a node of a cluster, or of none. No connection ends: the next open of each
    /// client goes to the node that has the file then.
    ///
    /// # Errors
    /// `InvalidInput` where this node is not one of the cluster, and for a folder.
    pub fn set_cluster(&self, settings: Option<&ClusterSettings>) -> io::Result<()> {
        let _inside = self.runtime.as_ref().map(|runtime| runtime.enter());
        match &self.files {
            Files::Folder(_) if settings.is_some() => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, "only proxies share their files"))
            }
            Files::Folder(_) => Ok(()),
            Files::Far(far) => far.set_cluster(settings),
        }
    }

    /// Takes no connection any more, and ends each as soon as it has no request and no file open;
    /// after `most` all others. Returns the number of these. A node of a cluster first waits until
    /// no other node sends clients to it.
    pub async fn drain(&self, most: Duration) -> usize {
        self.shared.clients.begin_draining();
        if let Files::Far(far) = &self.files
            && let Some(noticed) = far.leave_cluster()
        {
            tokio::time::sleep(noticed).await;
        }
        self.listeners.lock().drain(..).for_each(|listener| listener.abort());
        self.shared.clients.drain(most).await
    }

    /// Whether a server could start: reads the files of its protection, opens its cache, and takes
    /// its ports for a moment.
    ///
    /// # Errors
    /// As [`Server::start`]; where no folder of the cache can be used, too, without which a server
    /// starts and caches nothing.
    pub fn check(config: &Config) -> io::Result<()> {
        config.check_settings()?;
        let guard = config.guard()?;
        config.flight_door()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(guard.check_issuers())?;
        match &config.content {
            Content::Folder { path, hidden, writable } => {
                FolderFiles::new(path, *hidden, *writable, 1)?;
            }
            Content::Far(forwarding) => {
                for origin in &forwarding.origins {
                    let Some(credential) = origin.credential() else { continue };
                    let wrong =
                        |why| io::Error::other(format!("the credential for {origin}: {why}"));
                    credential.check(&forwarding.settings.credential_store).map_err(wrong)?;
                }
                remote::cache::Cache::of(&forwarding.settings.cache).map_err(io::Error::other)?;
                let _inside = runtime.enter();
                let own = (config.address, config.port).into();
                FarFiles::start(forwarding, vec![own], 1)?;
            }
        }
        config.check_ports()
    }

    /// Waits until the bytes read of far files are in the disk cache, if there is one. Blocks.
    pub fn flush(&self) {
        if let Files::Far(far) = &self.files {
            far.flush();
        }
    }
}
