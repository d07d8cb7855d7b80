//! The command line: the verbs, and their work with a lab.

mod args;
mod signals;

use std::io::Write as _;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Duration;

use clap::Parser;
use farroot_lab::linux::{self, Error, HostConfig, Lab, LabConfig, Result, Served};

use args::{Arguments, CheckArguments, LinkArguments, RunArguments, Verb};
use signals::Signals;

/// Exit code when the lab itself failed, as against the client in it.
const LAB_FAILED: u8 = 125;

const NEAR: &str = "near";
const FAR: &str = "far";

pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Verb::Set { .. } | Verb::Stats { .. } = arguments.verb {
        return report(ask(&arguments.verb));
    }
    if !rustix::process::getuid().is_root() {
        return report(Err(start_again_in_user_namespace()));
    }
    let signals = match Signals::catch() {
        Ok(signals) => signals,
        Err(error) => return report(Err(error)),
    };
    report(match arguments.verb {
        Verb::Run(run_arguments) => run(&run_arguments, &signals),
        Verb::Check(check_arguments) => check(&check_arguments, &signals),
        Verb::Set { .. } | Verb::Stats { .. } => Ok(ExitCode::SUCCESS),
    })
}

fn report(result: Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        eprintln!("farroot-lab: {error}");
        ExitCode::from(LAB_FAILED)
    })
}

fn ask(verb: &Verb) -> Result<ExitCode> {
    let (control, line) = match verb {
        Verb::Set { control, host, options } => {
            (control, format!("set {host} {}", options.join(" ")))
        }
        Verb::Stats { control } => (control, "stats".to_owned()),
        Verb::Run(_) | Verb::Check(_) => return Ok(ExitCode::SUCCESS),
    };
    let asked = linux::ask(control, &line);
    let answer = asked.map_err(|error| Error::other("asking the lab", error.to_string()))?;
    if let Some(why) = answer.strip_prefix("error: ") {
        return Err(Error::other(line, why));
    }
    print(&format!("{answer}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes to standard output, where a reader that has gone away is an error and no panic.
fn print(text: &str) -> Result<()> {
    let written = std::io::stdout().write_all(text.as_bytes());
    written.map_err(|error| Error::other("writing the answer", error.to_string()))
}

/// Becomes `farroot-lab` again, as root of a new user namespace with a `/run` of its own. Returns
/// only if that failed.
fn start_again_in_user_namespace() -> Error {
    let needs_root = "needs root, or a system that lets users make user namespaces";
    if linux::is_rootless() {
        return Error::other("starting", needs_root);
    }
    let Ok(program) = std::env::current_exe() else {
        return Error::other("starting", needs_root);
    };
    let enter = r#"mount -t tmpfs tmpfs /run && mkdir /run/netns && exec "$0" "$@""#;
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "--net", "sh", "-c", enter]);
    command.arg(program).args(std::env::args_os().skip(1)).env(linux::ROOTLESS, "1");
    Error::other("starting in a user namespace", format!("{}; {needs_root}", command.exec()))
}

fn start(link: &LinkArguments) -> Result<Lab> {
    let near = HostConfig { name: NEAR.into(), options: Default::default() };
    let far = HostConfig { name: FAR.into(), options: link.options() };
    let hosts = [near, far].into_iter().chain(link.hosts.iter().cloned()).collect();
    let congestion = link.congestion.clone();
    Lab::start(&LabConfig { hosts, seed: link.seed, congestion })
}

fn run(arguments: &RunArguments, signals: &Signals) -> Result<ExitCode> {
    let mut lab = start(&arguments.link)?;
    if arguments.keep {
        eprintln!("farroot-lab: logs will be in {}", lab.keep_directory().display());
    }
    let mut client = lab.command(NEAR, &arguments.client[0])?;
    client.args(&arguments.client[1..]);
    client.env("FARLAB_CONTROL", lab.control_path());
    client.env("FARLAB_ADDRESS", lab.address(FAR)?.to_string());
    client.env("FARLAB_RTT_MS", (arguments.link.rtt.as_secs_f64() * 1e3).to_string());
    for (name, served) in serve(&mut lab, arguments, signals)? {
        tell_client(&mut client, &format!("FARLAB_{}", name.to_uppercase()), &served);
        if name == FAR {
            tell_client(&mut client, "FARLAB", &served);
        }
    }
    signals.check()?;
    let failed = |error: std::io::Error| Error::other("running the client", error.to_string());
    let mut child = client.spawn().map_err(failed)?;
    signals.forward_to(&child);
    let status = child.wait().map_err(failed)?;
    signals.child_is_gone();
    if let Some(path) = &arguments.stats {
        write_stats(path, &lab.stats())?;
    }
    Ok(exit_code(status))
}

/// Starts the servers on all far hosts; returns each host with its endpoints.
fn serve(
    lab: &mut Lab,
    arguments: &RunArguments,
    signals: &Signals,
) -> Result<Vec<(String, Served)>> {
    let far: Vec<String> = lab.host_names().skip(1).map(String::from).collect();
    let Some(directory) = &arguments.serve else { return Ok(Vec::new()) };
    if arguments.server == "cluster" {
        signals.check()?;
        return lab.serve_cluster(FAR, &far[1..], directory);
    }
    let mut all = Vec::new();
    for host in far {
        signals.check()?;
        let served = match arguments.server.as_str() {
            "xrootd" => lab.serve_xrootd(&host, directory)?,
            command => lab.serve_command(&host, command, directory, arguments.server_port)?,
        };
        all.push((host, served));
    }
    Ok(all)
}

fn tell_client(client: &mut Command, prefix: &str, served: &Served) {
    let pids: Vec<String> = served.pids.iter().map(u32::to_string).collect();
    client.env(format!("{prefix}_ROOT_URL"), &served.root_url);
    client.env(format!("{prefix}_HTTP_URL"), &served.http_url);
    client.env(format!("{prefix}_PIDS"), pids.join(" "));
}

fn write_stats(path: &Path, stats: &str) -> Result<()> {
    let written = std::fs::write(path, format!("{stats}\n"));
    written.map_err(|error| Error::other(format!("writing {}", path.display()), error.to_string()))
}

/// The client's own code; as shells do, 128 + the signal that ended it.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

fn check(arguments: &CheckArguments, signals: &Signals) -> Result<ExitCode> {
    let lab = start(&arguments.link)?;
    signals.check()?;
    let found = linux::check(&lab, NEAR, FAR, Duration::from_secs(arguments.seconds))?;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let trips = &found.round_trips;
    let windows: Vec<String> =
        found.ramp_up_bytes.iter().map(|bytes| format!("{:.0}", *bytes as f64 / 1448.0)).collect();
    let text = format!(
        "connect        {:9.3} ms\n\
         round trip     {:9.3} ms median, {:.3} least, {:.3} most of {}\n\
         ramp-up        {} segments after 1, 2, 3... round trips\n\
         rate           {:9.1} MB/s = {:.1} Mbit/s, headers included\n\
         link           {}\n",
        ms(found.connect),
        ms(trips[trips.len() / 2]),
        ms(trips[0]),
        ms(trips[trips.len() - 1]),
        trips.len(),
        windows.join(" "),
        found.rate / 1e6,
        found.rate * 8e-6,
        lab.stats(),
    );
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}
