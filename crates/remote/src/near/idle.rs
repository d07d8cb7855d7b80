//! Connections to servers that select, between two requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mutex::Mutex;

use crate::source::http::selected::SelectConnection;

/// Time after which a connection without a request is closed.
const IDLE: Duration = Duration::from_secs(30);

/// At most one for each server and caller. Cheap to clone.
#[derive(Clone, Default)]
pub struct IdleConnections(Arc<Mutex<WaitingConnections>>);

#[derive(Default)]
struct WaitingConnections {
    connections: BTreeMap<String, IdleConnection>,
    /// Connections that have come here so far.
    count: u64,
}

struct IdleConnection {
    number: u64,
    connection: SelectConnection,
    /// Of its last answer.
    bytes: u64,
}

impl IdleConnections {
    /// Bytes of the last answer on the connection that waits; `None` where there is none.
    pub fn answered(&self, key: &str) -> Option<u64> {
        self.0.lock().connections.get(key).map(|idle| idle.bytes)
    }

    pub fn take(&self, key: &str) -> Option<SelectConnection> {
        self.0.lock().connections.remove(key).map(|idle| idle.connection)
    }

    /// Keeps a connection for a while, in place of another one; its last answer had so many bytes.
    pub fn put(&self, key: String, connection: SelectConnection, bytes: u64) {
        let number = {
            let mut waiting = self.0.lock();
            waiting.count += 1;
            let number = waiting.count;
            waiting.connections.insert(key.clone(), IdleConnection { number, connection, bytes });
            number
        };
        let kept = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            tokio::time::sleep(IDLE).await;
            let Some(kept) = kept.upgrade() else { return };
            let mut waiting = kept.lock();
            if waiting.connections.get(&key).is_some_and(|idle| idle.number == number) {
                waiting.connections.remove(&key);
            }
        });
    }

    pub fn clear(&self) {
        self.0.lock().connections.clear();
    }
}
