//! The command line: what each verb does with a lab.

mod args;
mod signals;

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Duration;

use clap::Parser;
use lab::linux::{self, Error, HostConfig, Lab, LabConfig, Result, Served};

use args::{Arguments, CheckArguments, LinkArguments, RunArguments, Verb};
use signals::Signals;

/// Exit code when the lab itself failed, as against the client in it.
const LAB_FAILED: u8 = 125;

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
        Verb::Set { control, host, knobs } => (control, format!("set {host} {}", knobs.join(" "))),
        Verb::Stats { control } => (control, "stats".to_owned()),
        Verb::Run(_) | Verb::Check(_) => return Ok(ExitCode::SUCCESS),
    };
    let asked = linux::ask(control, &line);
    let answer = asked.map_err(|error| Error::other("asking the lab", error.to_string()))?;
    if let Some(why) = answer.strip_prefix("error: ") {
        return Err(Error::other(line, why));
    }
    println!("{answer}");
    Ok(ExitCode::SUCCESS)
}

/// Becomes `farroot-lab` again, as root of a new user namespace with a `/run` of its own. Returns only
/// if that failed.
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
    let near = HostConfig { name: "near".into(), knobs: Default::default() };
    let far = HostConfig { name: "far".into(), knobs: link.knobs() };
    let hosts = [near, far].into_iter().chain(link.hosts.iter().cloned()).collect();
    let congestion = link.congestion.clone();
    Lab::start(&LabConfig { hosts, seed: link.seed, congestion })
}

fn run(arguments: &RunArguments, signals: &Signals) -> Result<ExitCode> {
    let mut lab = start(&arguments.link)?;
    if arguments.keep {
        lab.keep_directory();
        eprintln!("farroot-lab: logs in {}", lab.directory().display());
    }
    let mut client = lab.command("near", &arguments.client[0])?;
    client.args(&arguments.client[1..]);
    client.env("FARLAB_CONTROL", lab.control_path());
    client.env("FARLAB_RTT_MS", (arguments.link.rtt.as_secs_f64() * 1e3).to_string());
    let names: Vec<String> = lab.host_names().skip(1).map(String::from).collect();
    for name in &names {
        signals.check()?;
        let address = lab.address(name)?.to_string();
        let served = serve(&mut lab, name, arguments)?;
        let prefix = format!("FARLAB_{}", name.to_uppercase());
        client.env(format!("{prefix}_ADDRESS"), &address);
        if let Some(served) = served {
            client.env(format!("{prefix}_ROOT_URL"), &served.root_url);
            client.env(format!("{prefix}_HTTP_URL"), &served.http_url);
            if name == "far" {
                client.env("FARLAB_ADDRESS", &address);
                client.env("FARLAB_ROOT_URL", &served.root_url);
                client.env("FARLAB_HTTP_URL", &served.http_url);
            }
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

fn serve(lab: &mut Lab, host: &str, arguments: &RunArguments) -> Result<Option<Served>> {
    let Some(directory) = &arguments.serve else { return Ok(None) };
    match arguments.server.as_str() {
        "none" => Ok(None),
        "xrootd" => lab.serve_xrootd(host, directory).map(Some),
        command => lab.serve_command(host, command, directory, arguments.server_port).map(Some),
    }
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
    let found = linux::check(&lab, "near", "far", Duration::from_secs(arguments.seconds))?;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let trips = &found.round_trips;
    println!("connect        {:9.3} ms", ms(found.connect));
    println!(
        "round trip     {:9.3} ms median, {:.3} least, {:.3} most of {}",
        ms(trips[trips.len() / 2]),
        ms(trips[0]),
        ms(trips[trips.len() - 1]),
        trips.len()
    );
    let windows: Vec<String> =
        found.ramp_up_bytes.iter().map(|bytes| format!("{:.0}", *bytes as f64 / 1448.0)).collect();
    println!("ramp-up        {} segments after 1, 2, 3... round trips", windows.join(" "));
    println!(
        "rate           {:9.1} MB/s = {:.1} Mbit/s, headers included",
        found.rate / 1e6,
        found.rate * 8e-6
    );
    println!("link           {}", lab.stats());
    Ok(ExitCode::SUCCESS)
}
