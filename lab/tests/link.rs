//! Real TCP through a real lab. Skips, and says so, where namespaces cannot be made.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use lab::knobs::Knobs;
use lab::linux::{HostConfig, Lab, LabConfig};

fn lab(far_settings: &str) -> Option<Lab> {
    let mut knobs = Knobs::default();
    far_settings.split_whitespace().for_each(|setting| knobs.apply(setting).unwrap());
    let near = HostConfig { name: "near".into(), knobs: Knobs::default() };
    let far = HostConfig { name: "far".into(), knobs };
    if !rustix::process::getuid().is_root() || !Path::new("/dev/net/tun").exists() {
        eprintln!("SKIPPED: a lab needs root and /dev/net/tun");
        return None;
    }
    let config = LabConfig { hosts: vec![near, far], seed: 1, congestion: "cubic".into() };
    Some(Lab::start(&config).unwrap())
}

/// Near asks far for `data` and returns what it got.
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
