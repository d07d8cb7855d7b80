//! `farroot run` as a shell sees it: the environment of its command, its end, and the files that
//! stay.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serve::{Config, Server};

/// `XDG_RUNTIME_DIR` of one test: the proxies in it belong to this test.
struct Runtime(tempfile::TempDir);

impl Runtime {
    fn new() -> Self {
        Runtime(tempfile::tempdir().unwrap())
    }

    fn farroot(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_farroot"));
        command
            .env("FARROOT_STORE", "0")
            .env_remove("XRD_PLUGINCONFDIR")
            .env("XDG_RUNTIME_DIR", self.0.path())
            .env("TMPDIR", env!("CARGO_TARGET_TMPDIR"));
        command
    }

    fn shell(&self, script: &str) -> Output {
        self.farroot().args(["run", "--", "sh", "-c", script]).output().expect("it runs")
    }

    /// Starts a command that prints its proxy's address and runs until its input ends.
    fn waiting(&self) -> Waiting {
        self.waiting_after("grep ^XROOT $XRD_PLUGINCONFDIR/farroot.conf", self.farroot())
    }

    /// Starts a command that runs `script`, then waits until its input ends.
    fn waiting_after(&self, script: &str, mut farroot: Command) -> Waiting {
        let script = &format!("{script}; read line; exit 5");
        let mut child = farroot
            .args(["run", "--", "sh", "-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Waiting { child, lines }
    }

    /// The sockets of the running proxies.
    fn sockets(&self) -> Vec<PathBuf> {
        let there = fs::read_dir(self.0.path().join("farroot")).unwrap();
        let there = there.map(|entry| entry.unwrap().path());
        there.filter(|path| path.extension().is_none()).collect()
    }
}

struct Waiting {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Waiting {
    /// The next line that the command prints; the first of [`Runtime::waiting`] is the proxy's
    /// address.
    fn proxy(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    /// Ends the command: its exit status, and standard error.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.child.stdin.take());
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

fn shell(script: &str) -> Output {
    Runtime::new().shell(script)
}

#[test]
fn commands_at_the_same_time_share_a_proxy_that_ends_with_the_last() {
    let runtime = Runtime::new();
    // Start all three before reading the output of any.
    let mut commands = [runtime.waiting(), runtime.waiting(), runtime.waiting()];
    let proxies = commands.each_mut().map(Waiting::proxy);
    assert!(proxies.iter().all(|proxy| *proxy == proxies[0]), "{proxies:?}");
    let socket = runtime.sockets();
    assert_eq!(socket.len(), 1, "{socket:?}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&runtime.0.path().join("farroot")), 0o700);
    let [first, second, third] = commands;
    assert_eq!(first.end().0, Some(5));
    let mut fourth = runtime.waiting();
    assert_eq!(fourth.proxy(), proxies[0]);
    for command in [second, third, fourth] {
        let (status, said) = command.end();
        assert_eq!((status, said.contains("nothing was read")), (Some(5), true), "{said}");
    }
    // The next proxy replaces a socket that an earlier one left behind.
    let mut next = runtime.waiting();
    assert_ne!(next.proxy(), proxies[0], "a secret is used by one proxy");
    assert_eq!(runtime.sockets(), socket);
    next.end();
    drop(UnixListener::bind(&socket[0]).unwrap());
    let mut last = runtime.waiting();
    assert_ne!(last.proxy(), "");
    last.end();
}

#[test]
fn other_settings_and_a_command_alone_have_proxies_of_their_own() {
    let runtime = Runtime::new();
    let mut shared = runtime.waiting();
    let proxy = shared.proxy();
    let show = "grep ^XROOT $XRD_PLUGINCONFDIR/farroot.conf";
    let seen = |command: &mut Command| {
        let output = command.args(["--", "sh", "-c", show]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(seen(runtime.farroot().arg("run")), proxy);
    assert_ne!(seen(runtime.farroot().args(["run", "--alone"])), proxy);
    assert_ne!(seen(runtime.farroot().env("BEARER_TOKEN", "another").arg("run")), proxy);
    // Other users can enter the folder: no proxy is shared, and the command still runs.
    let folder = runtime.0.path().join("farroot");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_ne!(seen(runtime.farroot().arg("run")), proxy);
    shared.end();
}

/// The HTTP status of the proxy's response to `GET path`.
#[cfg(target_os = "linux")]
fn status(proxy: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(proxy).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().to_owned()
}

/// Another user can connect to the proxy's port, but neither read its secret nor enter the folders
/// with its configuration and socket.
#[cfg(target_os = "linux")]
#[test]
fn another_user_of_the_machine_is_refused() {
    const NOBODY: u32 = 65534;
    if !rustix::process::geteuid().is_root() {
        return eprintln!("SKIPPED: only root can run a command as another user");
    }
    let runtime = Runtime::new();
    // The folders around farroot's own are open: its own must keep the other user out.
    fs::set_permissions(runtime.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let temporary = runtime.0.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    fs::set_permissions(&temporary, fs::Permissions::from_mode(0o1777)).unwrap();
    // In a container other users may not exist, and folders around this one may be closed to them.
    let mut probe = Command::new("ls");
    let probe = probe.arg("-d").arg(&temporary).uid(NOBODY).gid(NOBODY).output();
    if !probe.is_ok_and(|seen| seen.status.success()) {
        return eprintln!("SKIPPED: user {NOBODY} cannot see {}", temporary.display());
    }
    let mut farroot = runtime.farroot();
    farroot.env("TMPDIR", &temporary);
    let script = "cat $FARROOT_PROXY; echo; echo $XRD_PLUGINCONFDIR; echo $$";
    let mut command = runtime.waiting_after(script, farroot);
    let [with_secret, configuration, shell] = [(); 3].map(|()| command.proxy());
    let (proxy, secret) = with_secret["http://".len()..].split_once('/').unwrap();
    assert_eq!(status(proxy, &format!("/{secret}metrics")), "200");
    for path in ["/metrics", "/http://127.0.0.1:1/f", "/k-/metrics"] {
        assert_eq!(status(proxy, path), "403", "{path}");
    }
    let seen = Command::new("sh")
        .args(["-c", "id -u; ls -d \"$0\"; ls \"$1\" \"$2\"; cat \"$1\"/* /proc/$3/environ"])
        .args([temporary.as_path(), Path::new(&configuration), &runtime.0.path().join("farroot")])
        .arg(&shell)
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let text = String::from_utf8(seen.stdout).unwrap();
    assert_eq!(text, format!("{NOBODY}\n{}\n", temporary.display()));
    // Every user can read command lines.
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&line).contains(secret.trim_matches('/')));
    }
    assert_eq!(command.end().0, Some(5));
}

/// The proxies that the commands of one test have started, found by their environment.
#[cfg(target_os = "linux")]
fn proxies_of(runtime: &Runtime) -> Vec<rustix::process::Pid> {
    let mine = format!("XDG_RUNTIME_DIR={}\0", runtime.0.path().display());
    let has = |pid: &i32, file: &str, text: &str| {
        let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(text)
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| has(pid, "cmdline", "--for-commands") && has(pid, "environ", &mine))
        .filter_map(rustix::process::Pid::from_raw)
        .collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_proxy_that_was_killed_is_said_and_replaced() {
    let runtime = Runtime::new();
    let mut command = runtime.waiting();
    let proxy = command.proxy();
    let pids = proxies_of(&runtime);
    assert_eq!(pids.len(), 1);
    rustix::process::kill_process(pids[0], rustix::process::Signal::KILL).unwrap();
    while !proxies_of(&runtime).is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let mut next = runtime.waiting();
    assert_ne!(next.proxy(), proxy);
    let (status, said) = command.end();
    assert_eq!(status, Some(5));
    assert!(said.contains("the proxy has ended before the command"), "{said}");
    assert_eq!(next.end().0, Some(5));
}

#[test]
fn the_command_s_status_is_passed_on() {
    for (script, status) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143)] {
        assert_eq!(shell(script).status.code(), Some(status), "{script}");
    }
    let runtime = Runtime::new();
    let none = runtime.farroot().args(["run", "--", "no-such-command"]).output().unwrap();
    assert_eq!(none.status.code(), Some(127));
    assert!(String::from_utf8_lossy(&none.stderr).contains("no-such-command"));
    assert_eq!(runtime.farroot().arg("run").output().unwrap().status.code(), Some(2));
}

#[test]
fn the_command_finds_a_private_configuration_that_is_gone_afterwards() {
    let output = shell("cd $XRD_PLUGINCONFDIR; pwd; stat -c %a *; cat *.conf");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(!Path::new(lines[0]).exists(), "{text}");
    // The file of the plug-in, and that with the address for HTTP.
    assert_eq!(lines[1..3], ["600", "600"]);
    assert_eq!(lines[4], "url = root://*;xroot://*;roots://*;xroots://*");
    assert!(lines[7].starts_with("XROOT_PROXY = root://127.0.0.1:"), "{text}");
    let summary = String::from_utf8(output.stderr).unwrap();
    assert_eq!(summary, "farroot: nothing was read over XRootD through farroot\n");
}

#[test]
fn signals_reach_the_command() {
    use rustix::process::{Pid, Signal, kill_process};
    let runtime = Runtime::new();
    for (name, signal) in
        [("TERM", Signal::TERM), ("INT", Signal::INT), ("HUP", Signal::HUP), ("QUIT", Signal::QUIT)]
    {
        let script =
            format!("trap 'echo got; exit 3' {name}; echo ready; while :; do sleep 0.05; done");
        let mut child = runtime
            .farroot()
            .args(["run", "--quiet", "--", "sh", "-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "got", "{name}");
        assert_eq!(child.wait().unwrap().code(), Some(3), "{name}");
    }
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
    let runtime = Runtime::new();
    let mut command = runtime.farroot();
    let output = command.args(["run", "--", "xrdcp", "-s", &address]).arg(&copy).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(127) || text.contains("nothing was read") {
        eprintln!("SKIPPED: no xrdcp with XRootD's client plug-ins");
        return;
    }
    assert!(output.status.success(), "{text}");
    assert!(text.contains("opened 1 file and read 3.00 MB"), "{text}");
    assert!(fs::read(copy).unwrap() == content);
}
