//! Servers on the lab's hosts: the real xrootd, or any command that listens on a port.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::error::{Doing, Error, Result};
use super::lab::Lab;

/// Ports of xrootd in its own namespace, where they cannot meet anyone else's.
pub(super) const ROOT_PORT: u16 = 1094;
pub(super) const HTTP_PORT: u16 = 8080;

/// A server must answer within this time of its start.
pub(super) const START_MAX: Duration = Duration::from_secs(20);
/// How long a server may take to stop by itself.
const STOP_MAX: Duration = Duration::from_secs(3);

/// Where clients find a server.
#[derive(Debug, Clone)]
pub struct Served {
    /// `root://ADDRESS:PORT/`; the path, with its own slash, follows.
    pub root_url: String,
    /// `http://ADDRESS:PORT`; the path follows.
    pub http_url: String,
    /// The processes to kill, stop (SIGSTOP) or continue in a test of faults.
    pub pids: Vec<u32>,
}

impl Served {
    pub(super) fn xrootd(address: Ipv4Addr, pids: Vec<u32>) -> Served {
        Served {
            root_url: format!("root://{address}:{ROOT_PORT}/"),
            http_url: format!("http://{address}:{HTTP_PORT}"),
            pids,
        }
    }
}

/// A server that is stopped when dropped.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
}

impl Lab {
    /// Starts xrootd on `host`, serving `directory` read-only by root:// and http://, and waits
    /// until it answers. As root it runs as user `xrootd`, who must be able to read the directory.
    pub fn serve_xrootd(&mut self, host: &str, directory: &Path) -> Result<Served> {
        let directory =
            directory.canonicalize().doing(|| format!("looking for {}", directory.display()))?;
        let own = self.directory().join(format!("xrootd-{host}"));
        fs::create_dir(&own).doing(|| format!("creating {}", own.display()))?;
        let config = own.join("xrootd.cfg");
        fs::write(&config, xrootd_config(&directory, &own))
            .doing(|| format!("writing {}", config.display()))?;
        let mut command = self.wrapped(host)?;
        command.args(as_server_user(&own)?);
        command.args(["xrootd", "-n", "lab", "-c"]).arg(&config);
        let ports = [ROOT_PORT, HTTP_PORT];
        let pid = self.start_server(host, command, &own.join("log"), &ports)?;
        Ok(Served::xrootd(self.address(host)?, vec![pid]))
    }

    /// Starts `shell_command` on `host` and waits until it listens on `port`. It finds the
    /// directory to serve, its own address and the port in `FARLAB_DIRECTORY`, `FARLAB_ADDRESS`,
    /// `FARLAB_PORT`.
    pub fn serve_command(
        &mut self,
        host: &str,
        shell_command: &str,
        directory: &Path,
        port: u16,
    ) -> Result<Served> {
        let address = self.address(host)?;
        let mut command = self.command(host, "sh")?;
        command.args(["-c", shell_command]);
        command.env("FARLAB_DIRECTORY", directory);
        command.env("FARLAB_ADDRESS", address.to_string()).env("FARLAB_PORT", port.to_string());
        let log = self.directory().join(format!("server-{host}.log"));
        let pid = self.start_server(host, command, &log, &[port])?;
        Ok(Served {
            root_url: format!("root://{address}:{port}/"),
            http_url: format!("http://{address}:{port}"),
            pids: vec![pid],
        })
    }

    /// Starts a server and waits until it listens on all `ports`; returns its process.
    pub(super) fn start_server(
        &mut self,
        host: &str,
        mut command: Command,
        log: &Path,
        ports: &[u16],
    ) -> Result<u32> {
        let opened = File::create(log).and_then(|file| Ok((file.try_clone()?, file)));
        let (out, err) = opened.doing(|| format!("creating {}", log.display()))?;
        // Its own process group: a Ctrl-C on the terminal is for the client first.
        command.current_dir("/").stdin(Stdio::null()).stdout(out).stderr(err).process_group(0);
        let child = command.spawn().doing(|| format!("starting {command:?}"))?;
        let mut server = Server { child };
        let address = self.address(host)?;
        let begun = Instant::now();
        for port in ports {
            let socket = SocketAddr::from((address, *port));
            while !self.run_on(host, || TcpStream::connect(socket).is_ok())? {
                let ended = server.child.try_wait().doing(|| "waiting for the server".into())?;
                if ended.is_some() || begun.elapsed() > START_MAX {
                    let text = fs::read_to_string(log).unwrap_or_default();
                    let why = ended.map_or("does not answer".into(), |status| status.to_string());
                    let tail = text.lines().rev().take(15).collect::<Vec<_>>();
                    let tail = tail.into_iter().rev().collect::<Vec<_>>().join("\n");
                    return Err(Error::other(
                        format!("server on {socket}"),
                        format!("{why}\n{tail}"),
                    ));
                }
                thread::sleep(Duration::from_millis(20));
            }
        }
        let pid = server.child.id();
        self.servers.push(server);
        Ok(pid)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < STOP_MAX {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn xrootd_config(directory: &Path, own: &Path) -> String {
    format!(
        "all.export / r/o\n\
         oss.localroot {directory}\n\
         all.adminpath {own}/admin\n\
         all.pidpath {own}/admin\n\
         xrd.port {ROOT_PORT}\n\
         xrd.protocol http:{HTTP_PORT} libXrdHttp.so\n\
         http.listingdeny false\n\
         xrootd.chksum max 2 adler32 crc32c\n",
        directory = directory.display(),
        own = own.display(),
    )
}

/// The words that make the rest of a command line run as an ordinary user; xrootd refuses to be
/// root. `own` becomes that user's.
pub(super) fn as_server_user(own: &Path) -> Result<Vec<String>> {
    if crate::linux::is_rootless() {
        let words = "unshare --user --map-user=1000 --map-group=1000 setpriv --pdeathsig TERM --";
        return Ok(words.split(' ').map(String::from).collect());
    }
    let users = fs::read_to_string("/etc/passwd").doing(|| "reading /etc/passwd".into())?;
    let find = |name: &str| {
        let line = users.lines().find_map(|line| line.strip_prefix(&format!("{name}:")))?;
        let mut ids = line.split(':').skip(1).map(|id| id.parse::<u32>().ok());
        Some((ids.next()??, ids.next()??))
    };
    let (uid, gid) = find("xrootd")
        .or_else(|| find("nobody"))
        .ok_or_else(|| Error::other("choosing a user for xrootd", "no user xrootd or nobody"))?;
    std::os::unix::fs::chown(own, Some(uid), Some(gid))
        .doing(|| format!("giving {} to xrootd", own.display()))?;
    let words = format!("setpriv --reuid={uid} --regid={gid} --init-groups --pdeathsig TERM --");
    Ok(words.split(' ').map(String::from).collect())
}
