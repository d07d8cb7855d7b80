//! `farroot proxy`: files of far servers, for clients near by.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::serve::{ClusterSettings, Config, Content, Forwarding, Limits, Origin, Protection, Server};
use clap::Args;
use remote::cache::Cache;
use remote::display::shown_lines;
use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{error, info, warn};

use crate::log::{self, LogFormat};
use crate::outcome::{Failure, Outcome};
use crate::quotas;
use crate::reading::ended;
use crate::run::random_text;
use crate::serve::ProtectionArguments;
use crate::setup::{other_user, own_proxy};
use crate::site::SiteFile;
use crate::units::path;
use crate::user_proxy::{Door, Ends};

/// The usual port of XRootD.
const PORT: u16 = 1094;
/// Time for transfers to end.
const DRAIN_SECONDS: u64 = 30;

/// Serve files of far servers to clients near by, over XRootD and HTTP
///
/// ROOT, uproot, xrdcp and curl read through it by an address in an address:
/// root://PROXY//root://ORIGIN//path and http://PROXY/https://ORIGIN/path. All clients that read
/// one file share one open at its origin, and bytes that several of them want travel once.
///
/// On this machine it forwards to every server unless --origin lists some; to clients on other
/// machines it forwards to those listed alone. --origin file:///mnt/data serves a directory of this
/// machine. It reads public files, without your credentials: every user of a machine can connect to
/// it. For files of your own: farroot run -- COMMAND. --config names credentials for origins, and
/// who may then read what.
///
/// HUP has it read certificate, tokens and users again and open the access log by its name again.
/// TERM ends it after the transfers under way, --drain seconds at most; another TERM at once.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  farroot proxy
  farroot proxy --origin 'root://*.example.org' --access-log -")]
pub struct ProxyArguments {
    /// A TOML file with these options and settings of farroot: see docs/site-cache.md. Options of
    /// the command line, and variables, count more
    #[arg(long, value_name = "FILE", value_parser = path(), conflicts_with_all = ["mine", "for_commands"])]
    config: Option<PathBuf>,
    /// Only says whether the proxy could start with these options
    #[arg(long, conflicts_with_all = ["mine", "for_commands"])]
    check: bool,
    /// Port for both protocols, 1094 unless given; 0 takes any that is free
    #[arg(long)]
    port: Option<u16>,
    /// One more port, for clients that want HTTP elsewhere
    #[arg(long)]
    http_port: Option<u16>,
    /// A port for Arrow Flight, whose clients select entries, too; needs --select
    #[arg(long, value_name = "PORT", conflicts_with_all = ["mine", "for_commands"])]
    flight: Option<u16>,
    /// Address to listen on, 127.0.0.1 unless given
    #[arg(long)]
    address: Option<IpAddr>,
    /// The proxy that farroot setup has configured: on its port, with your credentials, for you
    #[arg(long, conflicts_with_all = ["port", "http_port", "address"])]
    mine: bool,
    /// For commands of `farroot run`, which starts it: it ends with the last of them
    #[arg(long, hide = true, conflicts_with_all = ["mine", "port", "http_port", "address"])]
    for_commands: bool,
    /// A server whose files may be read: root://*.cern.ch, https://data.example:8443, or * for all;
    /// without a port the usual one of its scheme, with :* any. Or a directory of this machine:
    /// file:///lustre/data. May be given several times
    #[arg(long = "origin", value_name = "ORIGIN")]
    origins: Vec<Origin>,
    /// Select entries of the files for clients, who then receive only those that are left of a cut:
    /// farroot.open(url, near="http://PROXY") (see docs/near.md)
    #[arg(long)]
    select: bool,
    #[command(flatten)]
    protection: ProtectionArguments,
    /// Connections in all, 1000 unless given
    #[arg(long)]
    connections: Option<usize>,
    /// Connections from one address (IPv6: from one /64 network), 500 unless given
    #[arg(long)]
    connections_per_address: Option<usize>,
    /// Write events on standard error, as lines of text or of JSON; RUST_LOG chooses them
    #[arg(long, value_enum, value_name = "FORMAT")]
    log: Option<LogFormat>,
    /// Seconds in which transfers may end after TERM, 30 unless given
    #[arg(long, value_name = "SECONDS")]
    drain: Option<u64>,
    /// Append a line of JSON to this file for each file that a client closes; - is standard error
    #[arg(long, value_name = "FILE", value_parser = path())]
    access_log: Option<PathBuf>,
    /// Say at the end, on standard error, where the time went
    #[arg(long)]
    report: bool,
}

/// Where and how a proxy serves: the command line, else its file, else the usual.
struct Plan {
    config: Config,
    /// The files that it forwards, in words.
    forwards: String,
    /// The text that clients write in front of an origin.
    prefix: String,
    drain: Duration,
    cluster: Option<ClusterSettings>,
    source: ReloadSource,
}

/// Where the settings are read from that may change while the proxy serves.
struct ReloadSource {
    /// The protection of the command line.
    given: Protection,
    config: Option<PathBuf>,
    /// The file as the proxy has started with it.
    started: SiteFile,
}

impl ReloadSource {
    /// Has a server use the settings as they are now.
    fn reload(&self, server: &Server) -> io::Result<()> {
        let site = self.config.as_deref().map(SiteFile::read).transpose();
        let site = site.map_err(io::Error::other)?.unwrap_or_default();
        let cluster = site.cluster().map_err(io::Error::other)?;
        server.reload_as(Some(&self.given.clone().or(site.protection())))?;
        server.set_cluster(cluster.as_ref())?;
        let keys = site.not_reloaded(&self.started);
        if !keys.is_empty() {
            warn!("{}: changed, and ignored until the proxy is started again", keys.join(", "));
        }
        Ok(())
    }
}

/// Serves until Ctrl-C or SIGTERM.
///
/// # Errors
/// An error for the terminal.
pub fn run(arguments: ProxyArguments) -> Outcome {
    let ProxyArguments { for_commands, report, check, .. } = arguments;
    let Plan { config, forwards, prefix, drain, cluster, source } = plan(arguments)?;
    if check {
        return checked(&config, &forwards);
    }
    let wait = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = wait.map_err(|error| format!("cannot wait for Ctrl-C: {error}"))?;
    // Before anybody knows of this process, which a hangup would end until then.
    let hangups = runtime.block_on(async { signal(SignalKind::hangup()) });
    let hangups = hangups.map_err(|error| format!("cannot wait for a hangup: {error}"))?;
    let server = Arc::new(started(config)?);
    server.set_cluster(cluster.as_ref()).map_err(|error| error.to_string())?;
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
        let told = async {
            match for_commands {
                true => drop(ended().await),
                false => served(&server, drain, &source, hangups).await,
            }
        };
        match door {
            Some(Ok(door)) => tokio::select! {
                () = door.attend(server.clone(), prefix, ends) => {}
                () = told => {}
            },
            _ => told.await,
        }
    });
    server.flush();
    if let Some(account) = server.report().filter(|_| report) {
        eprint!("{}", shown_lines(&account.to_string()));
    }
    Ok(())
}

/// The options and those of the file.
fn plan(arguments: ProxyArguments) -> Result<Plan, Failure> {
    let ProxyArguments { mine, for_commands, mut origins, access_log, select, .. } = arguments;
    let site = arguments.config.as_deref().map(SiteFile::read).transpose()?.unwrap_or_default();
    let address = arguments.address.or(site.address).unwrap_or(Ipv4Addr::LOCALHOST.into());
    let usual = Limits::default();
    let connections = arguments.connections.or(site.connections);
    let per_address = arguments.connections_per_address.or(site.connections_per_address);
    let limits = Limits {
        connections: connections.unwrap_or(usual.connections),
        connections_per_address: per_address.unwrap_or(usual.connections_per_address),
        ..usual
    };
    match arguments.log.or(site.log) {
        Some(format) => log::start_as(format),
        // The administrator of a service reads its warnings, also those about a reload.
        None if arguments.config.is_some() => log::start_with_warnings(),
        None => log::start(),
    }
    if origins.is_empty() {
        origins = site.origins()?;
    }
    let given = arguments.protection.read();
    let protection = given.clone().or(site.protection());
    let own = match (mine, for_commands) {
        (true, _) => Some(own_proxy()?),
        (_, true) => Some((0, random_text()?)),
        _ => None,
    };
    let forwards = match own {
        Some(_) => "files that you may read, for your own programs".to_owned(),
        None => described(&origins, address, &protection),
    };
    let port = own.as_ref().map(|(port, _)| *port);
    let port = port.or(arguments.port).or(site.port).unwrap_or(PORT);
    let secret = own.map(|(_, secret)| secret.into());
    let mut settings = remote::Config::from_env()?;
    site.apply(&mut settings)?;
    let http_port = arguments.http_port.or(site.http_port);
    let drain = Duration::from_secs(arguments.drain.or(site.drain).unwrap_or(DRAIN_SECONDS));
    let cluster = site.cluster()?;
    let access_log = access_log.or(site.access_log.clone());
    let forwarding = Forwarding { settings, origins, secret, access_log };
    let prefix = forwarding.prefix();
    let content = Content::Far(Box::new(forwarding));
    let select = select || site.select;
    let flight_port = arguments.flight.or(site.flight);
    let source = ReloadSource { given, config: arguments.config, started: site };
    let config = Config {
        address,
        port,
        http_port,
        flight_port,
        select,
        limits,
        protection,
        ..Config::of(content)
    };
    Ok(Plan { config, forwards, prefix, drain, cluster, source })
}

/// Serves a site: HUP has the files read again, TERM ends it after the transfers under way.
async fn served(server: &Server, drain: Duration, source: &ReloadSource, mut hangups: Signal) {
    let reload = async {
        // From here on, no signal ends the process by itself.
        tell(NotifyState::Ready);
        while hangups.recv().await.is_some() {
            tell(NotifyState::Reloading);
            match source.reload(server) {
                Ok(()) => info!(
                    "certificate, tokens, users, issuers, authorities, rules, cluster and access log are read again"
                ),
                Err(error) => error!("{error}: everything stays as it was"),
            }
            tell(NotifyState::Ready);
        }
    };
    let number = tokio::select! {
        biased;
        number = ended() => number,
        () = reload => return,
    };
    tell(NotifyState::Stopping);
    if i32::from(number) != SignalKind::terminate().as_raw_value() {
        return;
    }
    info!("no client is taken any more; transfers may end within {} s", drain.as_secs());
    tokio::select! {
        cut = server.drain(drain) => match cut {
            0 => info!("all transfers have ended"),
            _ => warn!("{cut} connections were still in use after {} s", drain.as_secs()),
        },
        _ = ended() => warn!("ended at once, by a second signal"),
    }
}

/// Tells systemd, where it has started this process.
fn tell(state: NotifyState<'_>) {
    let mut states = vec![state];
    if matches!(states[..], [NotifyState::Reloading]) {
        states.extend(NotifyState::monotonic_usec_now().ok());
    }
    // A process that systemd has not started has no socket for it.
    let _ = sd_notify::notify(false, &states);
}

/// `farroot proxy --check`.
fn checked(config: &Config, forwards: &str) -> Outcome {
    let Config { address, port, .. } = config;
    Server::check(config).map_err(|error| format!("a proxy could not start: {error}"))?;
    println!("a proxy could start on {address}, port {port}: {forwards}");
    let Content::Far(far) = &config.content else { return Ok(()) };
    let cache = Cache::of(&far.settings.cache)?.filter(|_| !far.settings.cache.quotas.is_empty());
    for quota in cache.iter().flat_map(|cache| cache.totals().quotas) {
        println!("{}", quotas::described(&quota));
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
    writeln!(out, "{}\n{}", server.root_url(), server.http_url())?;
    server.flight_url().iter().try_for_each(|url| writeln!(out, "{url}"))?;
    writeln!(out, "{forwards}")
}

/// Who may read which files.
fn described(origins: &[Origin], address: IpAddr, protection: &Protection) -> String {
    let whom =
        if address.is_loopback() { "clients on this machine" } else { "all who can connect" };
    let names: Vec<String> = origins.iter().map(Origin::to_string).collect();
    let servers = match (names.is_empty(), address.is_loopback()) {
        (true, true) => "every server".to_owned(),
        (true, false) => "no server: name some with --origin".to_owned(),
        (false, _) => names.join(", "),
    };
    match protection.rules.len() {
        0 => format!("public files, without credentials, for {whom}, of {servers}"),
        1 => format!("files that one rule lets {whom} read, of {servers}"),
        rules => format!("files that {rules} rules let {whom} read, of {servers}"),
    }
}
