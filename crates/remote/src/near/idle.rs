//! Connections to servers that select, between two requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mutex::Mutex;
use tokio::sync::Notify;

use crate::source::http::selected::SelectConnection;

/// Time after which a connection without a request is closed.
const IDLE: Duration = Duration::from_secs(30);
/// Connections of one caller to one server.
pub const CONNECTIONS_MAX: usize = 4;

/// A few for each server and caller. Cheap to clone.
#[derive(Clone, Default)]
pub struct IdleConnections(Arc<IdleInner>);

#[derive(Default)]
struct IdleInner {
    waiting: Mutex<WaitingConnections>,
    /// One has been made, or has not.
    made: Notify,
}

#[derive(Default)]
struct WaitingConnections {
    /// By server and caller.
    connections: BTreeMap<String, Vec<IdleConnection>>,
    /// Those that are being made.
    connecting: BTreeMap<String, usize>,
    /// Connections that have come here so far.
    count: u64,
}

struct IdleConnection {
    number: u64,
    connection: SelectConnection,
    /// Of its last answer.
    bytes: u64,
}

impl WaitingConnections {
    fn waiting(&self, key: &str) -> &[IdleConnection] {
        self.connections.get(key).map_or(&[], Vec::as_slice)
    }
}

impl IdleConnections {
    /// Most bytes of the last answer on a connection that waits; `None` where there is none.
    pub fn answered(&self, key: &str) -> Option<u64> {
        self.0.waiting.lock().waiting(key).iter().map(|idle| idle.bytes).max()
    }

    /// A connection that waits, or that is being made: a new one would be there later.
    pub async fn take(&self, key: &str) -> Option<SelectConnection> {
        loop {
            let made = self.0.made.notified();
            let mut made = std::pin::pin!(made);
            made.as_mut().enable();
            if let Some(taken) = self.take_waiting(key) {
                return Some(taken);
            }
            if !self.0.waiting.lock().connecting.contains_key(key) {
                return None;
            }
            made.await;
        }
    }

    /// The connection whose last answer had the most bytes: it sends the next one fastest.
    fn take_waiting(&self, key: &str) -> Option<SelectConnection> {
        let mut waiting = self.0.waiting.lock();
        let connections = waiting.connections.get_mut(key)?;
        let (at, _) = connections.iter().enumerate().max_by_key(|(_, idle)| idle.bytes)?;
        let taken = connections.swap_remove(at);
        if connections.is_empty() {
            waiting.connections.remove(key);
        }
        Some(taken.connection)
    }

    /// Notes that the caller makes connections until so many wait; returns how many are missing.
    /// Each comes by [`IdleConnections::made`].
    pub fn missing(&self, key: &str, wanted: usize) -> usize {
        let mut waiting = self.0.waiting.lock();
        let present = waiting.waiting(key).len();
        let connecting = waiting.connecting.get(key).copied().unwrap_or_default();
        let missing = wanted.saturating_sub(present + connecting);
        if missing > 0 {
            waiting.connecting.insert(key.to_owned(), connecting + missing);
        }
        missing
    }

    /// A connection that was missing has been made, or not.
    pub fn made(&self, key: String, connection: Option<SelectConnection>) {
        // Before it is no longer among those that are made, or another thread misses it between.
        if let Some(connection) = connection {
            self.put(key.clone(), connection, 0);
        }
        {
            let mut waiting = self.0.waiting.lock();
            if let Some(connecting) = waiting.connecting.get_mut(&key) {
                *connecting = connecting.saturating_sub(1);
            }
            waiting.connecting.retain(|_, count| *count > 0);
        }
        self.0.made.notify_waiters();
    }

    /// Keeps a connection for a while; its last answer had so many bytes.
    pub fn put(&self, key: String, connection: SelectConnection, bytes: u64) {
        let number = {
            let mut waiting = self.0.waiting.lock();
            waiting.count += 1;
            let number = waiting.count;
            let connections = waiting.connections.entry(key.clone()).or_default();
            connections.push(IdleConnection { number, connection, bytes });
            if connections.len() > CONNECTIONS_MAX {
                connections.remove(0);
            }
            number
        };
        let kept = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            tokio::time::sleep(IDLE).await;
            let Some(kept) = kept.upgrade() else { return };
            let mut waiting = kept.waiting.lock();
            let Some(connections) = waiting.connections.get_mut(&key) else { return };
            connections.retain(|idle| idle.number != number);
            if connections.is_empty() {
                waiting.connections.remove(&key);
            }
        });
    }

    pub fn clear(&self) {
        self.0.waiting.lock().connections.clear();
    }
}
