//! `farroot setup`: the client plug-in's configuration for good, and `farroot setup --remove`.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use clap::Args;
use remote::address::Address;

use crate::outcome::Outcome;
use crate::plugin::{permanent, proxy_of, text, write};
use crate::run::random_text;

/// How long a proxy on this machine may take to answer.
const CONNECT_TIME: Duration = Duration::from_secs(2);

/// Lead all root:// reads of this user through a proxy on this machine, for good
///
/// Writes ~/.xrootd/client.plugins.d/farroot.conf, which ROOT, uproot, xrdcp and XRootD's Python
/// read, with an address and a secret. From then on they need the proxy: farroot proxy --mine.
/// For single commands there is farroot run, which needs neither.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  farroot setup
  farroot setup --remove")]
pub struct SetupArguments {
    /// Port of the proxy
    #[arg(long, default_value_t = 21094)]
    port: u16,
    /// Take the configuration out again
    #[arg(long)]
    remove: bool,
}

/// Writes or removes it.
///
/// # Errors
/// An error for the terminal.
pub fn run(arguments: &SetupArguments) -> Outcome {
    let path = permanent().ok_or("this user has no home directory".to_owned())?;
    configure(arguments, &path, &mut std::io::stdout().lock())
}

fn configure(arguments: &SetupArguments, path: &Path, out: &mut impl Write) -> Outcome {
    let shown = path.display();
    let there = fs::read_to_string(path).ok();
    if there.as_ref().is_some_and(|there| proxy_of(there).is_none()) {
        return Err(format!("{shown} is none of farroot's: move it away first").into());
    }
    if arguments.remove {
        match there {
            None => writeln!(out, "there is no {shown}")?,
            Some(_) => {
                fs::remove_file(path).map_err(|error| format!("cannot remove {shown}: {error}"))?;
                writeln!(out, "removed {shown}")?;
            }
        }
        return Ok(());
    }
    if let Some(user) = other_user(arguments.port) {
        let text = format!("port {} is in the hands of {user}, who would", arguments.port);
        let text = format!("{text} read your secret and answer your programs: choose another");
        return Err(format!("{text} with --port").into());
    }
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    let proxy = format!("root://{here}//k-{}/", random_text()?);
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)
        .and_then(|()| write(path, &text(&proxy)))
        .map_err(|error| format!("cannot write {shown}: {error}"))?;
    writeln!(out, "wrote {shown}\nstart the proxy, now and after each start of this machine:")?;
    writeln!(out, "  farroot proxy --mine\nand go back with:\n  farroot setup --remove")?;
    Ok(())
}

/// The address and the secret of the user's own proxy.
///
/// # Errors
/// There is none, for the terminal.
pub fn own_proxy() -> Result<(u16, String), String> {
    let none = || "there is no configuration of a proxy of yours: farroot setup".to_owned();
    let path = permanent().ok_or_else(none)?;
    proxy_at(&path, none)
}

fn proxy_at(path: &Path, none: impl Fn() -> String) -> Result<(u16, String), String> {
    let written = fs::read_to_string(path).map_err(|_| none())?;
    let wrong = || format!("{} names no proxy: farroot setup writes it anew", path.display());
    let proxy = proxy_of(&written).ok_or_else(wrong)?;
    let address = Address::parse(proxy).map_err(|_| wrong())?;
    let way = address.path().into_owned();
    let secret = way.trim_matches('/').strip_prefix("k-").ok_or_else(wrong)?;
    Ok((address.port().ok_or_else(wrong)?, secret.to_owned()))
}

/// Another user who listens on a port of loopback; `None` for this user, and for a free port.
pub fn other_user(port: u16) -> Option<String> {
    let user = ::serve::user_of_port(port)?;
    let is_ours = user == rustix::process::geteuid().as_raw();
    (!is_ours).then(|| format!("another user (number {user})"))
}

/// The fault of the configuration; `None` where there is no fault, or no configuration.
pub fn fault() -> Option<String> {
    let path = permanent().filter(|path| path.exists())?;
    let advice = "start it with farroot proxy --mine, or go back with farroot setup --remove";
    match own_proxy() {
        Err(error) => Some(error),
        Ok((port, _)) => {
            if let Some(user) = other_user(port) {
                let text = format!("port {port}, to which {} leads, is in", path.display());
                let advice = "go back with farroot setup --remove, then choose another --port";
                return Some(format!("{text} the hands of {user}; {advice}"));
            }
            let here = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let error = TcpStream::connect_timeout(&here, CONNECT_TIME).err()?;
            let shown = path.display();
            Some(format!("{shown} leads XRootD's clients to {here}: {error}; {advice}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_comes_and_goes_and_others_stay() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(".xrootd/client.plugins.d/farroot.conf");
        let here = false;
        let gone = true;
        let configure = |remove| {
            let mut out = Vec::new();
            configure(&SetupArguments { port: 4094, remove }, &path, &mut out)
                .map(|_| String::from_utf8(out).unwrap())
        };
        let none = || "none".to_owned();
        assert!(configure(gone).unwrap().starts_with("there is no "));
        assert!(configure(here).unwrap().contains("farroot proxy --mine"));
        let (port, first) = proxy_at(&path, none).unwrap();
        assert_eq!((port, first.len() >= 16), (4094, true));
        configure(here).unwrap();
        assert_ne!(proxy_at(&path, none).unwrap().1, first, "a secret is used once");
        assert!(configure(gone).unwrap().starts_with("removed "));
        assert_eq!(proxy_at(&path, none), Err("none".to_owned()));
        fs::write(&path, "url = root://*\nlib = libOther.so\n").unwrap();
        for remove in [here, gone] {
            assert!(configure(remove).is_err());
        }
        assert!(fs::read_to_string(&path).unwrap().contains("libOther"));
    }
}
