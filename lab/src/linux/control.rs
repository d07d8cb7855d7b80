//! The control socket: one line in, one line out, while packets fly.
//!
//! `set HOST OPTION...` answers `ok`; `stats` answers one JSON object; anything else `error: why`.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::network::{Counters, Network};

const LINE_MAX: u64 = 4096;
const TIMEOUT: Duration = Duration::from_secs(2);

/// Answers on the socket until dropped.
#[derive(Debug)]
pub struct Control {
    path: PathBuf,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Control {
    pub fn start(path: PathBuf, network: Arc<Mutex<Network>>) -> io::Result<Control> {
        let listener = UnixListener::bind(&path)?;
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopping);
        let serve = move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                // Who goes away before the answer has lost only the answer.
                let _ = stream.and_then(|stream| serve_one(stream, &network));
            }
        };
        let thread = std::thread::Builder::new().name("farlab-control".into()).spawn(serve)?;
        Ok(Control { path, stopping, thread: Some(thread) })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        // The thread waits for a caller: be one.
        if UnixStream::connect(&self.path).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

/// Sends one line to the control socket at `path` and returns the answer.
pub fn ask(path: &Path, line: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    writeln!(stream, "{line}")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.trim_end().to_owned())
}

fn serve_one(stream: UnixStream, network: &Mutex<Network>) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut line = String::new();
    BufReader::new((&stream).take(LINE_MAX)).read_line(&mut line)?;
    let mut network = network.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = answer(&line, &mut network).unwrap_or_else(|why| format!("error: {why}"));
    drop(network);
    writeln!(&stream, "{answer}")
}

/// The answer to one line. A `set` with a wrong option changes nothing.
pub fn answer(line: &str, network: &mut Network) -> Result<String, String> {
    let mut words = line.split_whitespace();
    match words.next() {
        Some("set") => {
            let host = words.next().ok_or("set needs a host and options")?;
            let options = network.options_mut(host).ok_or(format!("no host `{host}`"))?;
            let mut changed = options.clone();
            words.try_for_each(|setting| changed.apply(setting))?;
            *options = changed;
            Ok("ok".into())
        }
        Some("stats") => Ok(stats(network)),
        _ => Err("say `set HOST OPTION...` or `stats`".into()),
    }
}

fn stats(network: &Network) -> String {
    let mut json = String::from("{");
    for (index, host) in network.hosts().iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        let sent = counters(&host.sent());
        let received = counters(&host.received());
        // Host names are checked to be plain letters, so they need no escapes.
        let _ = write!(
            json,
            "{comma}\"{}\": {{\"sent\": {sent}, \"received\": {received}}}",
            host.name
        );
    }
    json + "}"
}

fn counters(counters: &Counters) -> String {
    let Counters { packets, bytes, connections, lost, overflowed, cut } = counters;
    format!(
        "{{\"packets\": {packets}, \"bytes\": {bytes}, \"connections\": {connections}, \
         \"lost\": {lost}, \"overflowed\": {overflowed}, \"cut\": {cut}}}"
    )
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::options::LinkOptions;

    fn network() -> Network {
        let mut network = Network::default();
        network.add_host("far", Ipv4Addr::new(10, 78, 0, 2), LinkOptions::default(), 1);
        network
    }

    #[test]
    fn set_changes_a_host_and_only_as_a_whole() {
        let mut network = network();
        assert_eq!(answer("set far delay=5ms rate=1gbit\n", &mut network), Ok("ok".into()));
        assert_eq!(network.hosts()[0].options.rate, Some(125_000_000));
        assert!(answer("set far rate=none delay=soon", &mut network).is_err());
        assert_eq!(network.hosts()[0].options.rate, Some(125_000_000));
        assert!(answer("set moon up", &mut network).is_err());
        assert!(answer("hello", &mut network).is_err());
    }

    #[test]
    fn stats_name_every_counter() {
        let text = answer("stats", &mut network()).unwrap();
        assert!(text.starts_with("{\"far\": {\"sent\": {\"packets\": 0, \"bytes\": 0"), "{text}");
        assert!(text.ends_with("\"overflowed\": 0, \"cut\": 0}}}"), "{text}");
    }

    #[test]
    fn the_socket_answers_and_closes() {
        let path = std::env::temp_dir().join(format!("farlab-control-{}", std::process::id()));
        let control = Control::start(path.clone(), Arc::new(Mutex::new(network()))).unwrap();
        assert_eq!(ask(&path, "set far down").unwrap(), "ok");
        assert!(ask(&path, "stats").unwrap().contains("\"far\""));
        drop(control);
        assert!(UnixStream::connect(&path).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
