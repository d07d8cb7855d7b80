//! Real TCP through a real lab. Skips, and says so, where namespaces cannot be made.
#![cfg(target_os = "linux")]

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use farroot_lab::linux::{HostConfig, Lab, LabConfig};
use farroot_lab::options::LinkOptions;

fn lab(far_settings: &str) -> Option<Lab> {
    lab_of(&[("near", ""), ("far", far_settings)])
}

fn lab_of(hosts: &[(&str, &str)]) -> Option<Lab> {
    if !rustix::process::getuid().is_root() || !Path::new("/dev/net/tun").exists() {
        eprintln!("SKIPPED: a lab needs root and /dev/net/tun");
        return None;
    }
    let host = |(name, settings): &(&str, &str)| {
        let mut options = LinkOptions::default();
        settings.split_whitespace().for_each(|setting| options.apply(setting).unwrap());
        HostConfig { name: name.to_string(), options }
    };
    let hosts = hosts.iter().map(host).collect();
    Some(Lab::start(&LabConfig { hosts, seed: 1, congestion: "cubic".into() }).unwrap())
}

fn is_installed(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("SKIPPED: {program} is not installed");
    }
    found
}

/// A directory with one file that any user may read.
fn directory_to_serve(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    fs::write(path.join("data"), b"far away").unwrap();
    path
}

/// Near requests `data` from far and returns the bytes that it got.
fn download(lab: &Lab, data: &[u8]) -> Vec<u8> {
    let server = SocketAddr::from((lab.address("far").unwrap(), 7000));
    let listener = lab.run_on("far", || TcpListener::bind(server).unwrap()).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| listener.accept().unwrap().0.write_all(data).unwrap());
        let read = || {
            let mut got = Vec::new();
            TcpStream::connect(server).unwrap().read_to_end(&mut got).unwrap();
            got
        };
        lab.run_on("near", read).unwrap()
    })
}

fn noise(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[test]
fn bytes_survive_loss() {
    let Some(lab) = lab("delay=5ms rate=20MB/s loss=1%") else { return };
    let data = noise(3_000_000);
    assert!(download(&lab, &data) == data);
    let lost = lab.with_hosts(|hosts| hosts[1].sent().lost);
    assert!(lost > 5, "{lost}");
}

#[test]
fn bytes_survive_full_queues() {
    let Some(lab) = lab("delay=5ms rate=20MB/s queue=64kB") else { return };
    let data = noise(5_000_000);
    assert!(download(&lab, &data) == data);
    assert!(lab.with_hosts(|hosts| hosts[1].sent().overflowed) > 0);
}

#[test]
fn a_round_trip_takes_no_less_than_was_asked_for() {
    let Some(lab) = lab("delay=20ms") else { return };
    let begun = Instant::now();
    download(&lab, b"x");
    assert!(begun.elapsed() >= Duration::from_millis(60), "handshake, then half a round trip");
    assert_eq!(lab.with_hosts(|hosts| hosts[1].received().connections), 1);
}

#[test]
fn a_cut_cable_heals() {
    let Some(lab) = lab("delay=1ms") else { return };
    lab.set("far", "down").unwrap();
    let data = noise(100_000);
    thread::scope(|scope| {
        let got = scope.spawn(|| download(&lab, &data));
        // The first attempt to connect is lost; TCP tries again after a second.
        while lab.with_hosts(|hosts| hosts[1].received().cut) == 0 {
            thread::sleep(Duration::from_millis(5));
        }
        lab.set("far", "up").unwrap();
        assert!(got.join().unwrap() == data);
    });
}

#[test]
fn everything_goes_when_the_lab_goes() {
    let Some(lab) = lab("delay=1ms") else { return };
    let directory = lab.directory().to_owned();
    let mut child = lab.command("far", "sleep").unwrap().arg("600").spawn().unwrap();
    drop(lab);
    assert!(!child.wait().unwrap().success());
    assert!(!directory.exists());
    let label = directory.file_name().unwrap().to_str().unwrap();
    assert!(!Path::new("/run/netns").join(format!("{label}-far")).exists());
}

#[test]
fn names_resolve_and_environment_reaches_the_client() {
    let Some(lab) = lab("delay=1ms") else { return };
    let script = "getent hosts far.farlab && hostname && echo $GREETING";
    let mut command = lab.command("near", "sh").unwrap();
    command.args(["-c", script]).env("GREETING", "hello").stderr(Stdio::inherit());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("10.78.0.2"), "{text}");
    assert!(text.contains("near.farlab\nhello"), "{text}");
}

#[test]
fn a_real_xrootd_serves_a_directory() {
    if !is_installed("xrootd") {
        return;
    }
    let Some(mut lab) = lab("delay=5ms") else { return };
    let directory = directory_to_serve("farlab-test-xrootd");
    let served = lab.serve_xrootd("far", &directory).unwrap();
    assert!(served.root_url.starts_with("root://10.78.0.2:"));
    let socket: SocketAddr = served.http_url["http://".len()..].parse().unwrap();
    let get = || {
        let mut stream = TcpStream::connect(socket).unwrap();
        stream.write_all(b"GET /data HTTP/1.1\r\nHost: far\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        let mut byte = [0];
        while !answer.ends_with(b"far away") && stream.read(&mut byte).unwrap() == 1 {
            answer.push(byte[0]);
        }
        answer
    };
    let answer = lab.run_on("near", get).unwrap();
    assert!(answer.ends_with(b"far away"), "{}", String::from_utf8_lossy(&answer));
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_redirector_sends_clients_to_its_data_servers() {
    if !is_installed("cmsd") || !is_installed("xrdcp") {
        return;
    }
    let hosts = [("near", ""), ("far", "delay=5ms"), ("one", "delay=5ms"), ("two", "delay=5ms")];
    let Some(mut lab) = lab_of(&hosts) else { return };
    let directory = directory_to_serve("farlab-test-cluster");
    let servers = ["one".to_string(), "two".to_string()];
    let all = lab.serve_cluster("far", &servers, &directory).unwrap();
    let (names, served): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    assert_eq!(names, ["far", "one", "two"]);
    let mut copy = lab.command("near", "xrdcp").unwrap();
    let output = copy.args(["-s", &format!("{}/data", served[0].root_url), "-"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "far away");
    let connections = |host: usize| lab.with_hosts(|hosts| hosts[host].received().connections);
    // The request to the redirector had its own name; the bytes came from one of the others.
    assert_eq!(connections(2) + connections(3), 1);
    fs::remove_dir_all(directory).unwrap();
}
