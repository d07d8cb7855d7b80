//! `farroot run -- COMMAND`: a command whose XRootD reads go through a proxy of its own.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;

use ::serve::{Config, Content, Figures, Forwarding, Server};
use clap::Args;
use remote::report::{count, size};
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use crate::outcome::{Failure, Outcome};
use crate::plugin::PrivateFolder;
use crate::proxy::started;

/// What a shell says of a command that is not there.
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
/// part of them, leads root:// addresses to a proxy on this machine that lives as long as the
/// command. It reads with your credentials, and other users are kept out by a secret. Programs that
/// read https:// can put FARROOT_PROXY, which is set for the command, before their addresses.
///
/// The exit status is the command's.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Append a line of JSON to this file for each file that is closed; - is standard error
    #[arg(long, value_name = "FILE")]
    access_log: Option<PathBuf>,
    /// Say nothing at the end
    #[arg(short, long)]
    quiet: bool,
    /// The command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

/// Runs the command.
///
/// # Errors
/// What is in the way, for the terminal; the command's own failure.
pub fn run(arguments: &RunArguments) -> Outcome {
    let secret = random_text()?;
    let forwarding = Forwarding {
        settings: remote::Config::from_env()?,
        origins: Vec::new(),
        secret: Some(secret.clone().into()),
        access_log: arguments.access_log.clone(),
    };
    let prefix = forwarding.prefix();
    let server = started(Config::of(Content::Far(Box::new(forwarding))))?;
    let proxy = format!("{}{prefix}", server.root_url());
    let chosen = std::env::var_os("XRD_PLUGINCONFDIR").filter(|folder| !folder.is_empty());
    // Not the secret itself: every user sees names in a folder for temporary files.
    let id = format!("{}-{}", std::process::id(), &random_text()?[..8]);
    let folder = PrivateFolder::new(&id, &proxy, chosen.as_ref().map(AsRef::as_ref))
        .map_err(|error| format!("cannot write the client plug-in's configuration: {error}"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot wait for a command: {error}"))?;
    let ended = runtime.block_on(async {
        let mut child = command(arguments, &folder, &format!("{}{prefix}", server.http_url()))
            .spawn()
            .map_err(|error| not_started(arguments, &error))?;
        let status = wait(&mut child).await;
        status.map_err(|error| Failure::Message(format!("cannot wait for the command: {error}")))
    });
    drop(folder);
    if !arguments.quiet && ended.is_ok() {
        say(&server);
    }
    outcome(ended?)
}

/// The command, with what leads its reads here.
fn command(arguments: &RunArguments, folder: &PrivateFolder, http_proxy: &str) -> Command {
    let mut command = Command::new(&arguments.command[0]);
    command
        .args(&arguments.command[1..])
        .env("XRD_PLUGINCONFDIR", folder.path())
        .env("FARROOT_PROXY", http_proxy)
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

/// Waits for the end of a command, to which it passes signals on.
async fn wait(child: &mut Child) -> io::Result<ExitStatus> {
    let (mut hangups, mut interrupts) =
        (signal(SignalKind::hangup())?, signal(SignalKind::interrupt())?);
    let (mut terminations, mut quits) =
        (signal(SignalKind::terminate())?, signal(SignalKind::quit())?);
    let (mut firsts, mut seconds) =
        (signal(SignalKind::user_defined1())?, signal(SignalKind::user_defined2())?);
    loop {
        let passed = tokio::select! {
            status = child.wait() => return status,
            _ = hangups.recv() => Signal::HUP,
            _ = interrupts.recv() => Signal::INT,
            _ = terminations.recv() => Signal::TERM,
            _ = quits.recv() => Signal::QUIT,
            _ = firsts.recv() => Signal::USR1,
            _ = seconds.recv() => Signal::USR2,
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

/// What the proxy has brought, in a line.
fn say(server: &Server) {
    let Some(figures) = server.figures() else { return };
    eprintln!("farroot: {}", summary(&figures));
}

fn summary(figures: &Figures) -> String {
    let Figures {
        opens, origin_opens, delivered, origin_bytes, origin_requests, used, cache, ..
    } = figures;
    if *opens == 0 {
        return "nothing was read over XRootD through farroot".to_owned();
    }
    let read = format!("{} and read {}", count(*opens, "file"), size(*delivered));
    let brought = format!(
        "{} came from {}, {}",
        size(*origin_bytes),
        count(*origin_opens, "open"),
        count(*origin_requests, "request")
    );
    let ahead = size(used.bytes_metadata + used.bytes_predicted);
    let cached = match cache.hit_bytes {
        0 => String::new(),
        bytes => format!("; {} came from the cache", size(bytes)),
    };
    format!(
        "opened {read}, of which {ahead} were here before they were asked for; {brought}{cached}"
    )
}

/// 32 digits that cannot be guessed.
///
/// # Errors
/// The system has no randomness.
pub fn random_text() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("no randomness for a secret: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
