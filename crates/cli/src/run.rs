//! `farroot run -- COMMAND`: a command whose XRootD reads go through a proxy of this user.

use std::ffi::OsString;
use std::future::poll_fn;
use std::io::{self, IsTerminal};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::task::Poll;

use ::serve::{Config, Content, Figures, Forwarding, Server};
use clap::{Args, ValueHint};
use data_encoding::HEXLOWER;
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use crate::outcome::{Failure, Outcome};
use crate::plugin::{Prefixes, PrivateFolder};
use crate::proxy::started;
use crate::units::path;
use crate::user_proxy::{Claim, join_or_start, summary};

/// A shell's exit code for a command that is not there.
const NO_COMMAND: u8 = 127;
/// Settings of XRootD's client, unless the user has others. For how long, and how often, it
/// tries to reach a server that is gone: by default minutes pass before a command has the error
/// of a proxy that was killed. And not to copy by pages, which before 5.6 the plug-in could not
/// pass on.
const SETTINGS: [(&str, &str); 3] =
    [("XRD_CONNECTIONWINDOW", "10"), ("XRD_CONNECTIONRETRY", "2"), ("XRD_CPUSEPGWRTRD", "0")];

/// Run a command whose reads over XRootD go through a proxy of this user
///
/// ROOT, uproot, xrdcp and XRootD's Python need no change: XRootD's own client plug-in, which is
/// part of them, leads root:// addresses to a proxy on this machine. Commands that run at the same
/// time, with the same settings, share it, and it ends with the last of them. It reads with your
/// credentials, and other users are kept out by a secret. Programs that read https:// can put the
/// prefix from the file that FARROOT_PROXY names, for the command, before their addresses.
///
/// The exit status is the command's.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  farroot run -- python3 analysis.py
  farroot run --access-log reads.jsonl -- python3 analysis.py")]
pub struct RunArguments {
    /// Append a line of JSON to this file for each file that is closed; - is standard error
    #[arg(long, value_name = "FILE", value_parser = path())]
    access_log: Option<PathBuf>,
    /// Read replicas of the files, with baskets that decompress faster: the first read of a file
    /// makes one in the cache, which takes as long as to copy it (see docs/cache.md)
    #[arg(long)]
    fast: bool,
    /// Say nothing at the end
    #[arg(short, long)]
    quiet: bool,
    /// Neither join a proxy that runs nor let others join: one for this command; so with
    /// --access-log
    #[arg(long)]
    alone: bool,
    /// The command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_hint = ValueHint::CommandWithArguments,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

/// The proxy that the command reads through.
enum Proxy {
    /// Another process, shared with other commands.
    Shared(Claim),
    /// In this process; the secret that its clients name in front of every path.
    Own(Server, String),
}

/// Runs the command.
///
/// # Errors
/// An error for the terminal; the command's own failure.
pub fn run(arguments: &RunArguments) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot wait for a command: {error}"))?;
    if arguments.fast && remote::cache::Cache::of(&remote::Config::from_env()?.cache)?.is_none() {
        let why = "--fast keeps replicas in the cache, and there is none: FARROOT_CACHE says how \
                   much is kept, as FARROOT_CACHE=\"20 GB\"";
        return Err(why.to_owned().into());
    }
    let is_alone = arguments.alone || arguments.access_log.is_some();
    let claim = if is_alone { None } else { runtime.block_on(join_or_start()) };
    let proxy = claim.map_or_else(|| own(arguments), |claim| Ok(Proxy::Shared(claim)))?;
    let chosen = std::env::var_os("XRD_PLUGINCONFDIR").filter(|folder| !folder.is_empty());
    // Not the secret itself: every user sees names in a folder for temporary files.
    let id = format!("{}-{}", std::process::id(), &random_text()?[..8]);
    let fast = if arguments.fast { "fast/" } else { "" };
    let prefixes = Prefixes {
        root: format!("{}{fast}", proxy.root()),
        http: format!("{}{fast}", proxy.http()),
    };
    let folder = PrivateFolder::new(&id, &prefixes, chosen.as_ref().map(AsRef::as_ref))
        .map_err(|error| format!("cannot write the client plug-in's configuration: {error}"))?;
    let ended = runtime.block_on(async {
        // Before the command starts: a signal may come as soon as it runs.
        let signals = Signals::taken()
            .map_err(|error| format!("cannot pass signals on to a command: {error}"))?;
        let mut child =
            command(arguments, &folder).spawn().map_err(|error| not_started(arguments, &error))?;
        let status = wait(&mut child, signals).await;
        status.map_err(|error| Failure::Message(format!("cannot wait for the command: {error}")))
    });
    drop(folder);
    let brought = runtime.block_on(proxy.end());
    if !arguments.quiet && ended.is_ok() {
        eprintln!("farroot: {brought}");
    }
    outcome(ended?)
}

/// Starts a proxy for this command alone.
///
/// # Errors
/// Why the proxy cannot start, for the terminal.
fn own(arguments: &RunArguments) -> Result<Proxy, Failure> {
    let forwarding = Forwarding {
        settings: remote::Config::from_env()?,
        origins: Vec::new(),
        secret: Some(random_text()?.into()),
        access_log: arguments.access_log.clone(),
    };
    let prefix = forwarding.prefix();
    Ok(Proxy::Own(started(Config::of(Content::Far(Box::new(forwarding))))?, prefix))
}

impl Proxy {
    /// The prefix for an origin's `root://` address.
    fn root(&self) -> String {
        match self {
            Proxy::Shared(claim) => claim.root.clone(),
            Proxy::Own(server, prefix) => format!("{}{prefix}", server.root_url()),
        }
    }

    /// The prefix for an origin's `http://` or `https://` address.
    fn http(&self) -> String {
        match self {
            Proxy::Shared(claim) => claim.http.clone(),
            Proxy::Own(server, prefix) => format!("{}{prefix}", server.http_url()),
        }
    }

    /// Ends the use of the proxy once the command has ended; returns one line about its reads.
    async fn end(self) -> String {
        match self {
            Proxy::Shared(claim) => claim.end().await.unwrap_or_else(|| {
                "the proxy has ended before the command, whose last reads have failed".to_owned()
            }),
            Proxy::Own(server, _) => {
                server.flush();
                summary(&Figures::default(), &server.figures().unwrap_or_default())
            }
        }
    }
}

/// The command, with the environment that leads its reads here.
fn command(arguments: &RunArguments, folder: &PrivateFolder) -> Command {
    let mut command = Command::new(&arguments.command[0]);
    command
        .args(&arguments.command[1..])
        .env("XRD_PLUGINCONFDIR", folder.path())
        .env("FARROOT_PROXY", folder.http_address())
        // Both would count more than the configuration.
        .env_remove("XRD_PLUGIN")
        .env_remove("XROOT_PROXY");
    for (name, value) in SETTINGS.into_iter().filter(|(name, _)| std::env::var_os(name).is_none()) {
        command.env(name, value);
    }
    command
}

fn not_started(arguments: &RunArguments, error: &io::Error) -> Failure {
    let name = arguments.command[0].to_string_lossy();
    Failure::Message(format!("cannot run {name}: {error}")).print();
    Failure::Status(NO_COMMAND)
}

/// Signals that `farroot run` passes on to the command.
struct Signals(Vec<(tokio::signal::unix::Signal, Signal)>);

impl Signals {
    /// Takes over the signals: from now on they do not end this process.
    fn taken() -> io::Result<Self> {
        let passed =
            [Signal::HUP, Signal::INT, Signal::TERM, Signal::QUIT, Signal::USR1, Signal::USR2];
        let each = passed
            .into_iter()
            .map(|passed| Ok((signal(SignalKind::from_raw(passed.as_raw()))?, passed)));
        each.collect::<io::Result<_>>().map(Signals)
    }

    async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            for (signals, passed) in &mut self.0 {
                if signals.poll_recv(context).is_ready() {
                    return Poll::Ready(*passed);
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// Waits for the end of a command, to which it passes signals on.
async fn wait(child: &mut Child, mut signals: Signals) -> io::Result<ExitStatus> {
    loop {
        let passed = tokio::select! {
            status = child.wait() => return status,
            passed = signals.next() => passed,
        };
        let is_of_terminal = matches!(passed, Signal::INT | Signal::QUIT) && is_in_foreground();
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(pid) = pid.filter(|_| !is_of_terminal) {
            // A command that has ended needs none.
            let _ = kill_process(pid, passed);
        }
    }
}

/// Whether keys of a terminal send signals here, and to the command as well.
fn is_in_foreground() -> bool {
    let input = io::stdin();
    input.is_terminal() && tcgetpgrp(&input).is_ok_and(|group| group == getpgrp())
}

fn outcome(status: ExitStatus) -> Outcome {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(Failure::Status(u8::try_from(code).unwrap_or(1))),
        (None, signal) => {
            let number = signal.and_then(|number| u8::try_from(number).ok());
            Err(Failure::Signal(number.unwrap_or_default()))
        }
    }
}

/// 32 digits that cannot be guessed.
///
/// # Errors
/// The system has no randomness.
pub fn random_text() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("no randomness for a secret: {error}"))?;
    Ok(HEXLOWER.encode(&bytes))
}
