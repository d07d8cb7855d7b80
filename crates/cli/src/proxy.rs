//! `farroot proxy`: files of far servers, for clients near by.

use std::io::{self, Write};
use std::net::IpAddr;
use std::path::PathBuf;

use ::serve::{Config, Content, Forwarding, Limits, Origin, Server};
use clap::Args;
use remote::display::shown_lines;

use crate::outcome::Outcome;
use crate::reading::ended;
use crate::setup::own_proxy;

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
    /// A server whose files may be read: root://*.cern.ch, https://data.example:8443, or * for all;
    /// without a port the usual one of its scheme, with :* any; may be given several times
    #[arg(long = "origin", value_name = "ORIGIN")]
    origins: Vec<Origin>,
    /// Connections in all
    #[arg(long, default_value_t = Limits::default().connections)]
    connections: usize,
    /// Connections from one address (IPv6: from one /64 network)
    #[arg(long, default_value_t = Limits::default().connections_per_address)]
    connections_per_address: usize,
    /// Append a line of JSON to this file for each file that a client closes; - is standard error
    #[arg(long, value_name = "FILE")]
    access_log: Option<PathBuf>,
    /// Say at the end, on standard error, where the time went
    #[arg(long)]
    report: bool,
}

/// Serves until Ctrl-C or SIGTERM.
///
/// # Errors
/// What is in the way, for the terminal.
pub fn run(arguments: ProxyArguments) -> Outcome {
    let ProxyArguments { mut port, http_port, address, mine, origins, .. } = arguments;
    let ProxyArguments { connections, connections_per_address, access_log, report, .. } = arguments;
    let mut forwards = described(&origins, address);
    let mut secret = None;
    if mine {
        let own = own_proxy()?;
        port = own.0;
        secret = Some(own.1.into());
        forwards = "files that you may read, for your own programs".to_owned();
    }
    let settings = remote::Config::from_env()?;
    let forwarding = Forwarding { settings, origins, secret, access_log };
    let config = Config {
        address,
        port,
        http_port,
        limits: Limits { connections, connections_per_address, ..Limits::default() },
        ..Config::of(Content::Far(Box::new(forwarding)))
    };
    let server = started(config)?;
    // Not as for other verbs, which have done their work when the reader of a pipe ends.
    announce(&server, &forwards)
        .map_err(|error| format!("cannot write the proxy's addresses to the output: {error}"))?;
    let wait = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = wait.map_err(|error| format!("cannot wait for Ctrl-C: {error}"))?;
    runtime.block_on(ended());
    if let Some(account) = server.report().filter(|_| report) {
        eprint!("{}", shown_lines(&account.to_string()));
    }
    Ok(())
}

/// Starts a proxy.
///
/// # Errors
/// What is in the way, for the terminal.
pub fn started(config: Config) -> Result<Server, String> {
    let (port, address) = (config.port, config.address);
    Server::start(config).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("port {port} on {address} is taken: choose another with --port, or 0 for any")
        }
        _ => format!("cannot start a proxy on {address}: {error}"),
    })
}

fn announce(server: &Server, forwards: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}\n{}\n{forwards}", server.root_url(), server.http_url())
}

/// Who may read what.
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
