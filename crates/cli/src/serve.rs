//! `farroot serve DIR`: a folder's files over XRootD and HTTP.

use std::io::{self, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use ::serve::{Config, Content, HTTP_FIELDS, Limits, Protection, Server, Shape};
use clap::Args;

use crate::access::AccessFile;
use crate::outcome::Outcome;
use crate::units::{parse_rate, parse_time, path};

const EXAMPLES: &str = "Examples:
  farroot serve data/
  farroot serve data/ --rtt 100ms --flow-rate 20MB/s";

/// Serve the files below a folder over XRootD and HTTP
///
/// Anyone who can connect may read, unless --token or --users says who; and write with --writable
/// only. With --rtt, --rate or --flow-rate the server seems far away: bytes arrive later and no
/// faster, requests that are sent together are still answered together, and a new connection pays
/// one more round trip. There is no slow start and no loss.
///
/// No client keeps others out, or takes memory by not reading: --help has the limits.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = help_on_limits())]
pub struct ServeArguments {
    /// The folder
    #[arg(value_parser = path())]
    dir: PathBuf,
    /// Port for both protocols; 0 takes any that is free
    #[arg(long, default_value_t = 1094)]
    port: u16,
    /// One more port, for clients that want HTTP elsewhere
    #[arg(long)]
    http_port: Option<u16>,
    /// A port for Arrow Flight, whose clients select entries, too; needs --select
    #[arg(long, value_name = "PORT", requires = "select")]
    flight: Option<u16>,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    address: IpAddr,
    /// Round-trip time to emulate, e.g. 100ms
    #[arg(long, value_parser = parse_time, default_value = "0ms")]
    rtt: Duration,
    /// Rate in each direction of all connections together, e.g. 50MB/s or 1Gbit/s
    #[arg(long, value_parser = parse_rate)]
    rate: Option<u64>,
    /// Rate in each direction of every single connection
    #[arg(long, value_parser = parse_rate)]
    flow_rate: Option<u64>,
    /// Serve files and folders whose names begin with a dot, too
    #[arg(long)]
    hidden: bool,
    /// Let files be written, renamed and removed; from beyond this machine only with
    /// --token or --users
    #[arg(long)]
    writable: bool,
    /// Select entries of the files for clients, who then receive only those that are left of a cut:
    /// farroot.open(url, near=True) (see docs/near.md)
    #[arg(long)]
    select: bool,
    #[command(flatten)]
    protection: ProtectionArguments,
    /// A TOML file with rules that say who may read which files, and the issuers whose tokens are
    /// accepted: see docs/serve.md. The server refuses every file without a rule
    #[arg(long, value_name = "FILE", conflicts_with = "writable", value_parser = path())]
    access: Option<PathBuf>,
    /// Connections in all
    #[arg(long, default_value_t = Limits::default().connections)]
    connections: usize,
    /// Connections from one address (IPv6: from one /64 network)
    #[arg(long, default_value_t = Limits::default().connections_per_address)]
    connections_per_address: usize,
    /// Files open in all
    #[arg(long, default_value_t = Limits::default().files)]
    files: usize,
}

/// The part of `farroot serve --help` about the numbers that no option changes.
fn help_on_limits() -> String {
    let Limits {
        requests,
        request_bytes,
        answer_bytes,
        shared_bytes,
        answer_bytes_max,
        files_per_connection,
        threads,
        select,
        opening,
        idle,
        stalled,
        stalled_when_full,
        ..
    } = Limits::default();
    let kib = |bytes| bytes >> 10;
    let mib = |bytes| bytes >> 20;
    format!(
        "Limits:
- Connections: a new one beyond --connections or --connections-per-address takes the place of one that has not \
logged in, is idle, or has taken nothing of its answers for {} s; the oldest, of the address with the most. Where \
there is none it is refused in words.
- Files: one address has at most half of --files, a connection {files_per_connection}. Where there are no more, the \
connection with most files ends.
- Requests: {requests} of a connection wait for their answers, further ones are not read; a request, or the \
head of an HTTP request, has {} KiB, and a head {HTTP_FIELDS} fields.
- Memory: answers of a connection have {} KiB, up to {} MiB while all connections together have less than {} MiB \
beyond that. Files are read as fast as clients take them.
- Selections: {} at a time, {} of one address, each with a request of {} KiB, an answer of {} GiB and {} min, of which its steps take {} min.
- Threads: {threads} wait for the file system, in turn for each address.
- Time: connections end without a login or a complete HTTP request after {} s, idle after {} min, and when they take \
less than 16 KiB of their answers in {} s.

{EXAMPLES}",
        stalled_when_full.as_secs(),
        kib(request_bytes),
        kib(answer_bytes),
        mib(answer_bytes_max),
        mib(shared_bytes),
        select.requests,
        select.requests_per_address,
        kib(select.request_bytes),
        select.answer_bytes >> 30,
        select.time.as_secs() / 60,
        select.step_time.as_secs() / 60,
        opening.as_secs(),
        idle.as_secs() / 60,
        stalled.as_secs(),
    )
}

/// Who may connect to a server of this command, and how.
#[derive(Debug, Args)]
pub struct ProtectionArguments {
    /// Certificate (with those that lead to its authority) and key, PEM: https:// and roots://
    #[arg(long, num_args = 2, value_names = ["CERT", "KEY"], value_parser = path())]
    tls: Vec<PathBuf>,
    /// A file with bearer tokens, one a line: who shows one may read; needs --tls
    #[arg(long, value_name = "FILE", requires = "tls", value_parser = path())]
    token: Option<PathBuf>,
    /// A file with user:password on each line, for HTTP; needs --tls
    #[arg(long, value_name = "FILE", requires = "tls", value_parser = path())]
    users: Option<PathBuf>,
}

impl ProtectionArguments {
    pub fn read(self) -> Protection {
        let tls = <[PathBuf; 2]>::try_from(self.tls).ok();
        let tls = tls.map(|[certificate, key]| (certificate, key));
        Protection { tls, tokens: self.token, users: self.users, ..Protection::default() }
    }
}

/// Serves until Ctrl-C.
///
/// # Errors
/// An error for the terminal.
pub fn run(arguments: ServeArguments) -> Outcome {
    let ServeArguments { dir, port, http_port, address, rtt, rate, flow_rate, hidden, .. } =
        arguments;
    let ServeArguments { connections, connections_per_address, files, .. } = arguments;
    let ServeArguments { writable, select, flight, protection, access, .. } = arguments;
    let mut protection = protection.read();
    if let Some(path) = access {
        AccessFile::add_to(&path, &mut protection)?;
    }
    let content = Content::Folder { path: dir.clone(), hidden, writable };
    let config = Config {
        protection,
        limits: Limits { connections, connections_per_address, files, ..Limits::default() },
        address,
        port,
        http_port,
        flight_port: flight,
        select,
        shape: Shape { rtt, rate, flow_rate },
        ..Config::of(content)
    };
    let shape = config.shape;
    let server = Server::start(config).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("port {port} on {address} is taken: choose another with --port, or 0 for any")
        }
        _ => format!("cannot serve {}: {error}", dir.display()),
    })?;
    // Not as for other verbs, which have done their work when the reader of a pipe ends.
    announce(&server, &shape)
        .map_err(|error| format!("cannot write the server's addresses to the output: {error}"))?;
    let wait = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let waited = wait.and_then(|runtime| runtime.block_on(tokio::signal::ctrl_c()));
    Ok(waited.map_err(|error| format!("cannot wait for Ctrl-C: {error}"))?)
}

fn announce(server: &Server, shape: &Shape) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}\n{}", server.root_url(), server.http_url())?;
    server.flight_url().iter().try_for_each(|url| writeln!(out, "{url}"))?;
    match shape.is_plain() {
        true => Ok(()),
        false => writeln!(out, "{}", description(shape)),
    }
}

fn description(shape: &Shape) -> String {
    let mut text = format!("as if {:.1} ms away", shape.rtt.as_secs_f64() * 1e3);
    let rates = [(shape.rate, "in all"), (shape.flow_rate, "a connection")];
    for (rate, of) in rates.into_iter().filter_map(|(rate, of)| Some((rate?, of))) {
        text.push_str(&format!(", {:.1} MB/s {of}", rate as f64 / 1e6));
    }
    text
}
