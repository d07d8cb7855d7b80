//! `farroot run` as a shell sees it: what its command finds, how it ends, and what stays.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serve::{Config, Server};

fn farroot() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_farroot"));
    command
        .env("FARROOT_STORE", "0")
        .env_remove("XRD_PLUGINCONFDIR")
        .env("TMPDIR", env!("CARGO_TARGET_TMPDIR"));
    command
}

fn shell(script: &str) -> Output {
    farroot().args(["run", "--", "sh", "-c", script]).output().expect("it runs")
}

#[test]
fn the_command_s_status_is_passed_on() {
    for (script, status) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143)] {
        assert_eq!(shell(script).status.code(), Some(status), "{script}");
    }
    let none = farroot().args(["run", "--", "no-such-command"]).output().unwrap();
    assert_eq!(none.status.code(), Some(127));
    assert!(String::from_utf8_lossy(&none.stderr).contains("no-such-command"));
    assert_eq!(farroot().arg("run").output().unwrap().status.code(), Some(2));
}

#[test]
fn the_command_finds_a_private_configuration_that_is_gone_afterwards() {
    let output =
        shell("echo $XRD_PLUGINCONFDIR; stat -c %a $XRD_PLUGINCONFDIR/*; cat $XRD_PLUGINCONFDIR/*");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(!Path::new(lines[0]).exists(), "{text}");
    assert_eq!(lines[1], "600");
    assert_eq!(lines[3], "url = root://*;xroot://*;roots://*;xroots://*");
    assert!(lines[6].starts_with("XROOT_PROXY = root://127.0.0.1:"), "{text}");
    let summary = String::from_utf8(output.stderr).unwrap();
    assert_eq!(summary, "farroot: nothing was read over XRootD through farroot\n");
}

#[test]
fn signals_reach_the_command() {
    let script = "trap 'echo got; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = farroot()
        .args(["run", "--quiet", "--", "sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "got");
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

/// Reads a far file by XRootD's own client, where there is one with the plug-in.
#[test]
fn xrdcp_reads_through_the_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..3_000_000u32).map(|at| (at / 7 + at) as u8).collect();
    fs::write(folder.path().join("f.root"), &content).unwrap();
    let origin = Server::start(Config::new(folder.path())).unwrap();
    let copy = folder.path().join("copy");
    let address = format!("{}f.root", origin.root_url());
    let output =
        farroot().args(["run", "--", "xrdcp", "-s", &address]).arg(&copy).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(127) || text.contains("nothing was read") {
        eprintln!("SKIPPED: no xrdcp with XRootD's client plug-ins");
        return;
    }
    assert!(output.status.success(), "{text}");
    assert!(text.contains("opened 1 file and read 3.00 MB"), "{text}");
    assert!(fs::read(copy).unwrap() == content);
}
