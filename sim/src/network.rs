//! A simulated network: hosts with links, to which the production engine connects.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use engine::source::network::{Network, Stream};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::link::{self, End, Lane, Link};

/// Hosts by name and port.
#[derive(Clone, Default)]
pub struct World {
    hosts: Arc<Mutex<BTreeMap<(String, u16), Host>>>,
}

#[derive(Clone)]
struct Host {
    link: Link,
    lanes: [Arc<Lane>; 2],
    accepting: mpsc::UnboundedSender<End>,
    connections: usize,
}

impl World {
    /// Adds a host; new connections to it come out of the receiver.
    pub fn host(&self, name: &str, port: u16, link: Link) -> mpsc::UnboundedReceiver<End> {
        let (accepting, accepted) = mpsc::unbounded_channel();
        let host = Host { link, lanes: Default::default(), accepting, connections: 0 };
        self.hosts.lock().insert((name.to_owned(), port), host);
        accepted
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
        Box::pin(async move {
            let host = host.ok_or(io::ErrorKind::ConnectionRefused)?;
            // The client may send after one round trip; the host has known since half of one,
            // and its first bytes can only answer what has come.
            tokio::time::sleep(host.link.rtt).await;
            let (near, far) = link::connect(host.link, &host.lanes);
            host.accepting.send(far).map_err(|_| io::ErrorKind::ConnectionRefused)?;
            Ok(Box::new(near) as Box<dyn Stream>)
        })
    }
}
