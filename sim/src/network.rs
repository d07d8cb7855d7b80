//! A simulated network: hosts with links, to which the production engine connects.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use mutex::Mutex;
use remote::source::network::{Network, Stream};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::link::{self, Breaker, End, Lane, Line, Link};

/// When TCP asks again for a connection (RFC 6298).
const FIRST_SYN_AGAIN: Duration = Duration::from_secs(1);
/// As the engine's own network does by default.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Hosts by name and port.
#[derive(Clone, Default)]
pub struct World {
    hosts: Arc<Mutex<BTreeMap<(String, u16), Host>>>,
}

#[derive(Clone)]
struct Host {
    line: Arc<Mutex<Line>>,
    lanes: [Arc<Lane>; 2],
    accepting: mpsc::UnboundedSender<End>,
    connections: usize,
    refuses: bool,
    breakers: Vec<Breaker>,
}

impl World {
    /// Adds a host; new connections to it come out of the receiver.
    pub fn host(&self, name: &str, port: u16, link: Link) -> mpsc::UnboundedReceiver<End> {
        let (accepting, accepted) = mpsc::unbounded_channel();
        let host = Host {
            line: Arc::new(Mutex::new(Line::new(link))),
            lanes: Default::default(),
            accepting,
            connections: 0,
            refuses: false,
            breakers: Vec::new(),
        };
        self.hosts.lock().insert((name.to_owned(), port), host);
        accepted
    }

    /// Changes a host's link from now on.
    pub fn change(&self, name: &str, port: u16, change: impl FnOnce(&mut Line)) {
        if let Some(host) = self.hosts.lock().get(&(name.to_owned(), port)) {
            change(&mut host.line.lock());
        }
    }

    /// A host's link is cut, and back after so long.
    pub fn cut(&self, name: &str, port: u16, time: Duration) {
        self.change(name, port, |line| line.down_until = Some(Instant::now() + time));
    }

    /// A host's server dies: its connections break, new ones are refused until it is back.
    pub fn kill(&self, name: &str, port: u16) {
        if let Some(host) = self.hosts.lock().get_mut(&(name.to_owned(), port)) {
            host.refuses = true;
            host.breakers.drain(..).for_each(|breaker| breaker.break_off());
        }
    }

    /// It is started again.
    pub fn restart(&self, name: &str, port: u16) {
        if let Some(host) = self.hosts.lock().get_mut(&(name.to_owned(), port)) {
            host.refuses = false;
        }
    }

    /// Bytes that a host's connections have brought so far: to the host, and to the client.
    pub fn delivered(&self, name: &str, port: u16) -> [u64; 2] {
        let hosts = self.hosts.lock();
        let host = hosts.get(&(name.to_owned(), port));
        host.map_or([0; 2], |host| host.lanes.each_ref().map(|lane| lane.delivered()))
    }

    /// How many connections have been made to a host.
    pub fn connections(&self, name: &str, port: u16) -> usize {
        self.hosts.lock().get(&(name.to_owned(), port)).map_or(0, |host| host.connections)
    }
}

impl Network for World {
    fn connect(&self, name: &str, port: u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
        let host = {
            let mut hosts = self.hosts.lock();
            let host = hosts.get_mut(&(name.to_owned(), port));
            host.map(|host| {
                host.connections += 1;
                host.clone()
            })
        };
        let world = self.clone();
        let key = (name.to_owned(), port);
        Box::pin(async move {
            let host = host.ok_or(io::ErrorKind::ConnectionRefused)?;
            let (rtt, down) = {
                let line = host.line.lock();
                let down =
                    line.down_until.map(|until| until.saturating_duration_since(Instant::now()));
                (line.link.rtt, down.filter(|down| !down.is_zero()))
            };
            let held_up = down.map_or(Duration::ZERO, |down| link::next_try(down, FIRST_SYN_AGAIN));
            if held_up > CONNECT_TIMEOUT {
                tokio::time::sleep(CONNECT_TIMEOUT).await;
                return Err(io::ErrorKind::TimedOut.into());
            }
            // The client may send after one round trip; the host has known since half of one, and
            // its first bytes can only answer requests that have come.
            tokio::time::sleep(rtt + held_up).await;
            let mut hosts = world.hosts.lock();
            let Some(host) = hosts.get_mut(&key).filter(|host| !host.refuses) else {
                return Err(io::ErrorKind::ConnectionRefused.into());
            };
            let (near, far) = link::connect(&host.line, &host.lanes);
            host.breakers.push(far.breaker());
            host.accepting.send(far).map_err(|_| io::ErrorKind::ConnectionRefused)?;
            Ok(Box::new(near) as Box<dyn Stream>)
        })
    }
}
