//! One network namespace: a host of the lab, with its own addresses, routes and TCP settings.

use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::error::{Doing, Error, Result};
use super::tun;

const NAMESPACES: &str = "/run/netns";

/// TCP as a well-kept site tunes it. Buffers hold a bandwidth-delay product of 2 Gbit/s at 250 ms,
/// and no run learns from the one before (initial windows and thresholds are kept per destination
/// else).
const SETTINGS: [(&str, &str); 7] = [
    ("ipv4/tcp_rmem", "4096 131072 67108864"),
    ("ipv4/tcp_wmem", "4096 65536 67108864"),
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/tcp_slow_start_after_idle", "1"),
    ("ipv4/tcp_fastopen", "0"),
    ("ipv6/conf/all/disable_ipv6", "1"),
    ("ipv6/conf/default/disable_ipv6", "1"),
];

/// A namespace that goes away with this value, and so do the processes in it.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes the namespace `name`.
    pub fn create(name: String) -> Result<Namespace> {
        ip(&["netns", "add", &name])?;
        let namespace = Namespace { name };
        ip(&["-n", &namespace.name, "link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    pub fn path(&self) -> PathBuf {
        PathBuf::from(NAMESPACES).join(&self.name)
    }

    /// Adds the TUN device with `address` and sets TCP up; returns our end of the device.
    pub fn connect(&self, address: Ipv4Addr, congestion: &str) -> Result<File> {
        self.run_inside(configure_tcp)??;
        let device = self.run_inside(tun::open)?.doing(|| "opening /dev/net/tun".into())?;
        ip(&["-n", &self.name, "addr", "add", &format!("{address}/24"), "dev", tun::DEVICE])?;
        // The queue of the device itself must never drop packets.
        let up = ["link", "set", tun::DEVICE, "mtu", "1500", "txqueuelen", "20000", "up"];
        ip(&[&["-n", &self.name], &up[..]].concat())?;
        // A route names its congestion control even where the system reserves the choice for
        // itself.
        let network = format!("{}/24", Ipv4Addr::from(u32::from(address) & 0xffff_ff00));
        let route = ["route", "replace", &network, "dev", tun::DEVICE, "congctl", congestion];
        ip(&[&["-n", &self.name], &route[..]].concat())?;
        Ok(device)
    }

    /// Runs `work` on a thread of its own that lives in this namespace.
    pub fn run_inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        let path = self.path();
        let file = File::open(&path).doing(|| format!("opening {}", path.display()))?;
        let run = || -> io::Result<T> {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(work())
        };
        let result = thread::scope(|scope| scope.spawn(run).join());
        match result {
            Ok(result) => result.doing(|| format!("entering {}", path.display())),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn configure_tcp() -> Result<()> {
    for (key, value) in SETTINGS {
        let written = fs::write(format!("/proc/sys/net/{key}"), value);
        // A kernel without IPv6 lacks those files, and needs them not.
        if written.is_err() && key.starts_with("ipv4") {
            return written.doing(|| format!("setting net/{key} to {value}"));
        }
    }
    Ok(())
}

impl Drop for Namespace {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

/// Removes the namespaces that labs whose process is gone have left (they were killed without a
/// chance to tidy up).
pub fn remove_leftovers() {
    for name in names_in(Path::new(NAMESPACES)).filter(|name| is_orphan(name)) {
        remove(&name);
    }
    let temporary = std::env::temp_dir();
    for name in names_in(&temporary).filter(|name| is_orphan(name)) {
        let _ = fs::remove_dir_all(temporary.join(name));
    }
}

fn names_in(directory: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// True for `farlab-PID-...` whose process is gone.
fn is_orphan(name: &str) -> bool {
    let owner = name.strip_prefix("farlab-").and_then(|rest| rest.split('-').next());
    let owner = owner.and_then(|pid| pid.parse::<u32>().ok());
    owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
}

/// Ends the processes inside, then the namespace. Failures are not reported: it is the last act.
fn remove(name: &str) {
    for signal in [Signal::TERM, Signal::KILL] {
        let inside = processes(name);
        if inside.is_empty() {
            break;
        }
        for pid in inside {
            let _ = kill_process(pid, signal);
        }
        let gone = |_: &u32| processes(name).is_empty();
        let _ = (0..40).inspect(|_| thread::sleep(Duration::from_millis(50))).find(gone);
    }
    let _ = ip(&["netns", "del", name]);
}

fn processes(name: &str) -> Vec<Pid> {
    let output = Command::new("ip").args(["netns", "pids", name]).stderr(Stdio::null()).output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .split_whitespace()
        .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
        .collect()
}

fn ip(arguments: &[&str]) -> Result<()> {
    let doing = || format!("ip {}", arguments.join(" "));
    let output = Command::new("ip").args(arguments).output().doing(doing)?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::other(doing(), String::from_utf8_lossy(&output.stderr).trim()))
}
