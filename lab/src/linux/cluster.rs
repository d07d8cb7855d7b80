//! A real federation: a redirector (xrootd and cmsd) and data servers that have logged in to it.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::error::{Doing, Error, Result};
use super::lab::Lab;
use super::server::{HTTP_PORT, ROOT_PORT, START_MAX, Served, as_server_user};

/// Where the cluster's own daemon listens.
const CMSD_PORT: u16 = 1213;

/// How long a redirector may take to become active before requests go to it all the same.
const ACTIVE_MAX: Duration = Duration::from_secs(5);

impl Lab {
    /// Starts a redirector on `manager` and a data server on each of `servers`, all of them serving
    /// `directory` read-only, and waits until the redirector knows them all. Clients need the lab's
    /// names (`NAME.farlab`), which commands of the lab have. Returns each host with its endpoints;
    /// the manager first.
    pub fn serve_cluster(
        &mut self,
        manager: &str,
        servers: &[String],
        directory: &Path,
    ) -> Result<Vec<(String, Served)>> {
        if servers.is_empty() {
            return Err(Error::other("starting a cluster", "it needs a --host as data server"));
        }
        let found = directory.canonicalize();
        let directory = found.doing(|| format!("looking for {}", directory.display()))?;
        let mut all = vec![self.start_node(manager, manager, &directory)?];
        for server in servers {
            all.push(self.start_node(server, manager, &directory)?);
        }
        self.wait_for_servers(manager, servers.len())?;
        Ok(all)
    }

    fn cluster_directory(&self, host: &str) -> PathBuf {
        self.directory().join(format!("cluster-{host}"))
    }

    fn start_node(
        &mut self,
        host: &str,
        manager: &str,
        directory: &Path,
    ) -> Result<(String, Served)> {
        let own = self.cluster_directory(host);
        fs::create_dir(&own).doing(|| format!("creating {}", own.display()))?;
        let config = own.join("cluster.cfg");
        let text = if host == manager {
            manager_config(manager, &own)
        } else {
            server_config(manager, directory, &own)
        };
        fs::write(&config, text).doing(|| format!("writing {}", config.display()))?;
        let root_ports: &[u16] =
            if host == manager { &[ROOT_PORT] } else { &[ROOT_PORT, HTTP_PORT] };
        let cmsd_ports: &[u16] = if host == manager { &[CMSD_PORT] } else { &[] };
        let mut pids = Vec::new();
        // A server's xrootd and cmsd wait for each other; the cmsd has no port of its own there.
        for (program, ports) in [("cmsd", cmsd_ports), ("xrootd", root_ports)] {
            let mut command = self.wrapped(host)?;
            command.args(as_server_user(&own)?).args([program, "-n", "lab", "-c"]).arg(&config);
            let log = own.join(format!("{program}.log"));
            pids.push(self.start_server(host, command, &log, ports)?);
        }
        Ok((host.to_owned(), Served::xrootd(self.address(host)?, pids)))
    }

    /// Asks the redirector which servers it has, as any client may.
    fn wait_for_servers(&self, manager: &str, wanted: usize) -> Result<()> {
        let begun = Instant::now();
        // Before it is active, a redirector answers that clients come back in ten seconds.
        let log = self.cluster_directory(manager).join("cmsd.log");
        while begun.elapsed() < ACTIVE_MAX
            && !fs::read_to_string(&log).is_ok_and(|text| text.contains("changed to active"))
        {
            thread::sleep(Duration::from_millis(50));
        }
        let address = format!("{}:{ROOT_PORT}", self.address(manager)?);
        loop {
            let mut locate = self.command(manager, "xrdfs")?;
            let output = locate.args([&address, "locate", "*"]).output();
            let text = output.doing(|| "starting xrdfs".into())?.stdout;
            let known = String::from_utf8_lossy(&text).lines().count();
            if known >= wanted {
                return Ok(());
            }
            if begun.elapsed() > START_MAX {
                let why = format!("{known} of {wanted} data servers have logged in");
                return Err(Error::other(format!("redirector on {address}"), why));
            }
            thread::sleep(Duration::from_millis(200));
        }
    }
}

fn manager_config(manager: &str, own: &Path) -> String {
    format!(
        "all.role manager\n\
         all.manager {manager}.farlab:{CMSD_PORT}\n\
         all.export / r/o\n\
         all.adminpath {own}/admin\n\
         all.pidpath {own}/admin\n\
         cms.delay startup 2 lookup 1 servers 1\n\
         xrd.port {ROOT_PORT} if exec xrootd\n\
         xrd.port {CMSD_PORT} if exec cmsd\n",
        own = own.display(),
    )
}

fn server_config(manager: &str, directory: &Path, own: &Path) -> String {
    format!(
        "all.role server\n\
         all.manager {manager}.farlab:{CMSD_PORT}\n\
         all.export / r/o\n\
         all.adminpath {own}/admin\n\
         all.pidpath {own}/admin\n\
         oss.localroot {directory}\n\
         cms.delay startup 2 lookup 1 servers 1\n\
         cms.space linger 0 recalc 15 min 1m 2m\n\
         xrd.port {ROOT_PORT} if exec xrootd\n\
         if exec xrootd\n\
         xrd.protocol http:{HTTP_PORT} libXrdHttp.so\n\
         fi\n\
         xrootd.chksum max 2 adler32 crc32c\n",
        directory = directory.display(),
        own = own.display(),
    )
}
