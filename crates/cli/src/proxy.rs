//! `farroot proxy`: files of far servers, for clients near by.

use std::io::{self, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use ::serve::{Config, Content, Forwarding, Limits, Origin, Server};
use clap::Args;
use remote::display::shown_lines;

use crate::outcome::Outcome;
use crate::reading::ended;
use crate::run::random_text;
use crate::serve::ProtectionArguments;
use crate::setup::{other_user, own_proxy};
use crate::units::path;
use crate::user_proxy::{Door, Ends};

/// Serve files of far servers to clients near by, over XRootD and HTTP
///
/// ROOT, uproot, xrdcp and curl read through it by an address in an address:
/// root://PROXY//root://ORIGIN//path and http://PROXY/https://ORIGIN/path. All clients that read
/// one file share one open at its origin, and bytes that several of them want travel once.
///
/// On this machine it forwards to every server unless --origin lists some; to clients on other
/// machines it forwards to those listed alone. It reads public files, without your credentials:
/// every user of a machine can connect to it. For files of your own: farroot run -- COMMAND.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  farroot proxy
  farroot proxy --origin 'root://*.example.org' --access-log -")]
pub struct ProxyArguments {
    /// Port for both protocols; 0 takes any that is free
    #[arg(long, default_value_t = 1094)]
    port: u16,
    /// One more port, for clients that want HTTP elsewhere
    #[arg(long)]
    http_port: Option<u16>,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    address: IpAddr,
    /// The proxy that farroot setup has configured: on its port, with your credentials, for you
    #[arg(long, conflicts_with_all = ["port", "http_port", "address"])]
    mine: bool,
    /// For commands of `farroot run`, which starts it: it ends with the last of them
    #[arg(long, hide = true, conflicts_with_all = ["mine", "port", "http_port", "address"])]
    for_commands: bool,
    /// A server whose files may be read: root://*.cern.ch, https://data.example:8443, or * for all;
    /// without a port the usual one of its scheme, with :* any; may be given several times
    #[arg(long = "origin", value_name = "ORIGIN")]
    origins: Vec<Origin>,
    #[command(flatten)]
    protection: ProtectionArguments,
    /// Connections in all
    #[arg(long, default_value_t = Limits::default().connections)]
    connections: usize,
    /// Connections from one address (IPv6: from one /64 network)
    #[arg(long, default_value_t = Limits::default().connections_per_address)]
    connections_per_address: usize,
    /// Append a line of JSON to this file for each file that a client closes; - is standard error
    #[arg(long, value_name = "FILE", value_parser = path())]
    access_log: Option<PathBuf>,
    /// Say at the end, on standard error, where the time went
    #[arg(long)]
    report: bool,
}

/// Serves until Ctrl-C or SIGTERM.
///
/// # Errors
/// An error for the terminal.
pub fn run(arguments: ProxyArguments) -> Outcome {
    let ProxyArguments { port, http_port, address, mine, for_commands, origins, .. } = arguments;
    let ProxyArguments { connections, connections_per_address, access_log, report, .. } = arguments;
    let protection = arguments.protection.read();
    let limits = Limits { connections, connections_per_address, ..Limits::default() };
    let own = match (mine, for_commands) {
        (true, _) => Some(own_proxy()?),
        (_, true) => Some((0, random_text()?)),
        _ => None,
    };
    let forwards = match own {
        Some(_) => "files that you may read, for your own programs".to_owned(),
        None => described(&origins, address),
    };
    let port = own.as_ref().map_or(port, |(port, _)| *port);
    let secret = own.map(|(_, secret)| secret.into());
    let settings = remote::Config::from_env()?;
    let forwarding = Forwarding { settings, origins, secret, access_log };
    let prefix = forwarding.prefix();
    let content = Content::Far(Box::new(forwarding));
    let config = Config { address, port, http_port, limits, protection, ..Config::of(content) };
    let server = Arc::new(started(config)?);
    let wait = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = wait.map_err(|error| format!("cannot wait for Ctrl-C: {error}"))?;
    // `farroot proxy --mine` serves even where `farroot run` cannot find it.
    let door = match prefix.is_empty() {
        true => None,
        false => Some(runtime.block_on(async { Door::open() })),
    };
    if for_commands && let Some(Err(error)) = &door {
        return Err(format!("no command can find this proxy: {error}").into());
    }
    // Not as for other verbs, which have done their work when the reader of a pipe ends.
    let announced = match for_commands {
        // `farroot run`, which started this process, reads one line.
        true => writeln!(io::stdout(), "ready"),
        false => announce(&server, &forwards),
    };
    announced
        .map_err(|error| format!("cannot write the proxy's addresses to the output: {error}"))?;
    let ends = if for_commands { Ends::WithCommands } else { Ends::WhenTold };
    runtime.block_on(async {
        match door {
            Some(Ok(door)) => tokio::select! {
                () = door.attend(server.clone(), prefix, ends) => {}
                _ = ended() => {}
            },
            _ => drop(ended().await),
        }
    });
    server.flush();
    if let Some(account) = server.report().filter(|_| report) {
        eprint!("{}", shown_lines(&account.to_string()));
    }
    Ok(())
}

/// Starts a proxy.
///
/// # Errors
/// An error for the terminal.
pub fn started(config: Config) -> Result<Server, String> {
    let port = config.port;
    let address = config.address;
    Server::start(config).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            let by = other_user(port).map(|user| format!(" by {user}")).unwrap_or_default();
            let advice = "choose another with --port, or 0 for any";
            format!("port {port} on {address} is taken{by}: {advice}")
        }
        _ => format!("cannot start a proxy on {address}: {error}"),
    })
}

fn announce(server: &Server, forwards: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}\n{}\n{forwards}", server.root_url(), server.http_url())
}

/// Who may read which files.
fn described(origins: &[Origin], address: IpAddr) -> String {
    let whom =
        if address.is_loopback() { "clients on this machine" } else { "all who can connect" };
    let names: Vec<String> = origins.iter().map(Origin::to_string).collect();
    let what = match (names.is_empty(), address.is_loopback()) {
        (true, true) => "every server".to_owned(),
        (true, false) => "no server: name some with --origin".to_owned(),
        (false, _) => names.join(", "),
    };
    format!("public files, without credentials, for {whom}, of {what}")
}
