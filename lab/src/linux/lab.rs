//! A lab: hosts, the network between them, and the commands that run on them.

use std::ffi::OsStr;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::control::{self, Control};
use super::error::{Doing, Error, Result};
use super::namespace::{self, Namespace};
use super::pump::Pump;
use super::server::Server;
use crate::network::{Host, Network};
use crate::options::LinkOptions;

/// The labs of one process have different numbers.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// The lab to build.
#[derive(Debug, Clone)]
pub struct LabConfig {
    pub hosts: Vec<HostConfig>,
    /// Decides which packets are lost.
    pub seed: u64,
    /// TCP's congestion control in all hosts: `cubic`, `bbr`, `reno` or another one of the kernel.
    pub congestion: String,
}

/// One host to build.
#[derive(Debug, Clone)]
pub struct HostConfig {
    /// Lower-case letters and digits; on every host of the lab it resolves as `NAME.farlab`.
    pub name: String,
    pub options: LinkOptions,
}

/// A running lab. Dropping it ends everything that runs in it and removes the namespaces.
#[derive(Debug)]
pub struct Lab {
    // Fields are dropped in this order: first who talks, then the wires, then the hosts.
    pub(super) servers: Vec<Server>,
    control: Option<Control>,
    pump: Option<Pump>,
    hosts: Vec<LabHost>,
    network: Arc<Mutex<Network>>,
    directory: Directory,
}

#[derive(Debug)]
struct LabHost {
    name: String,
    address: Ipv4Addr,
    namespace: Namespace,
}

impl Lab {
    /// Builds the namespaces, connects them, and starts to move packets.
    ///
    /// Needs root, or a user namespace in which the caller is root (see `farroot-lab run`).
    pub fn start(config: &LabConfig) -> Result<Lab> {
        namespace::remove_leftovers();
        let label =
            format!("farlab-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let directory = Directory::create(&label)?;
        let network = Arc::new(Mutex::new(Network::default()));
        let mut lab = Lab {
            servers: Vec::new(),
            control: None,
            pump: None,
            hosts: Vec::new(),
            network,
            directory,
        };
        let mut devices = Vec::new();
        for host in &config.hosts {
            let address = lab.next_address(&host.name)?;
            let namespace = Namespace::create(format!("{label}-{}", host.name))?;
            devices.push(namespace.connect(address, &config.congestion)?);
            let seed = config.seed.wrapping_add(lab.hosts.len() as u64);
            let options = host.options.clone();
            lab.lock_network().add_host(&host.name, address, options, seed);
            lab.hosts.push(LabHost { name: host.name.clone(), address, namespace });
        }
        lab.write_names()?;
        let pump = Pump::start(Arc::clone(&lab.network), devices);
        lab.pump = Some(pump.doing(|| "starting to move packets".into())?);
        let control = Control::start(lab.control_path(), Arc::clone(&lab.network));
        lab.control = Some(control.doing(|| "opening the control socket".into())?);
        Ok(lab)
    }

    /// Where [`control::ask`] reaches this lab.
    pub fn control_path(&self) -> PathBuf {
        self.directory().join("control")
    }

    /// Files of this lab: logs, configurations. Removed with it unless [`Lab::keep_directory`].
    pub fn directory(&self) -> &Path {
        &self.directory.path
    }

    /// Leaves the directory behind, for a look at the logs; returns where it will lie.
    pub fn keep_directory(&mut self) -> PathBuf {
        self.directory.keep = true;
        self.directory.kept_path()
    }

    /// The names of the hosts, in the order of the configuration.
    pub fn host_names(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(|host| host.name.as_str())
    }

    pub fn address(&self, host: &str) -> Result<Ipv4Addr> {
        Ok(self.host(host)?.address)
    }

    /// Changes options of a host, for example `delay=50ms rate=1gbit`.
    pub fn set(&self, host: &str, settings: &str) -> Result<()> {
        let line = format!("set {host} {settings}");
        let answer = control::answer(&line, &mut self.lock_network());
        answer.map(drop).map_err(|why| Error::other(line, why))
    }

    /// The packets that each host's link has carried and dropped, as one JSON object.
    pub fn stats(&self) -> String {
        control::answer("stats", &mut self.lock_network()).unwrap_or_default()
    }

    /// Looks at the hosts as the network sees them.
    pub fn with_hosts<T>(&self, look: impl FnOnce(&[Host]) -> T) -> T {
        look(self.lock_network().hosts())
    }

    /// A command that will run on `host`. It is terminated if this process dies.
    pub fn command(&self, host: &str, program: impl AsRef<OsStr>) -> Result<Command> {
        let mut command = self.wrapped(host)?;
        command.args(["setpriv", "--pdeathsig", "TERM", "--"]).arg(program);
        Ok(command)
    }

    /// Runs `work` on a thread that lives on `host`: its sockets are that host's.
    pub fn run_on<T: Send>(&self, host: &str, work: impl FnOnce() -> T + Send) -> Result<T> {
        self.host(host)?.namespace.run_inside(work)
    }

    /// Enters the host's network, with the lab's names in `/etc/hosts`; the program is still to
    /// come.
    pub(super) fn wrapped(&self, host: &str) -> Result<Command> {
        let net = format!("--net={}", self.host(host)?.namespace.path().display());
        let enter = r#"mount --bind "$0" /etc/hosts && hostname "$1" && shift && exec "$@""#;
        let mut command = Command::new("nsenter");
        command.args([&net, "--", "unshare", "--mount", "--uts", "sh", "-c", enter]);
        command.arg(self.directory().join("hosts")).arg(format!("{host}.farlab"));
        Ok(command)
    }

    fn host(&self, name: &str) -> Result<&LabHost> {
        let host = self.hosts.iter().find(|host| host.name == name);
        host.ok_or_else(|| Error::other(format!("host `{name}`"), "this lab has no such host"))
    }

    /// Checks a new host's name and gives it an address.
    fn next_address(&self, name: &str) -> Result<Ipv4Addr> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let known = self.hosts.iter().any(|host| host.name == name);
        if name.is_empty() || name.len() > 32 || !name.chars().all(plain) || known {
            let why = "must be its own, of lower-case letters and digits";
            return Err(Error::other(format!("host name `{name}`"), why));
        }
        let last = u8::try_from(self.hosts.len() + 1).ok().filter(|last| *last < 255);
        let last = last.ok_or_else(|| Error::other("adding a host", "a lab has at most 254"))?;
        Ok(Ipv4Addr::new(10, 78, 0, last))
    }

    fn write_names(&self) -> Result<()> {
        let mut names = String::from("127.0.0.1 localhost\n");
        for host in &self.hosts {
            names += &format!("{} {}.farlab {}\n", host.address, host.name, host.name);
        }
        let path = self.directory().join("hosts");
        fs::write(&path, names).doing(|| format!("writing {}", path.display()))
    }

    fn lock_network(&self) -> std::sync::MutexGuard<'_, Network> {
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The lab's files, removed at the end.
#[derive(Debug)]
struct Directory {
    path: PathBuf,
    keep: bool,
}

impl Directory {
    fn create(label: &str) -> Result<Directory> {
        let path = std::env::temp_dir().join(label);
        fs::create_dir(&path).doing(|| format!("creating {}", path.display()))?;
        Ok(Directory { path, keep: false })
    }
}

impl Directory {
    /// Another name than a running lab's, so that no later lab takes it for a leftover.
    fn kept_path(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.path.with_file_name(format!("kept-{name}"))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = if self.keep {
            fs::rename(&self.path, self.kept_path())
        } else {
            fs::remove_dir_all(&self.path)
        };
    }
}
