//! A relay between a client and a server that holds everything back for a while, so that flights
//! can be told apart, and keeps the bytes that pass.

use std::sync::Arc;
use std::time::Duration;

use mutex::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep_until};

/// One way. Long against the time that a busy machine takes to answer.
const DELAY: Duration = Duration::from_millis(100);

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    Client,
    Server,
}

/// Bytes that have passed on one connection, in order.
type Passed = Arc<Mutex<Vec<(From, Vec<u8>)>>>;

/// A relay to a port of this machine.
#[derive(Clone)]
pub struct Relay {
    pub port: u16,
    connections: Arc<Mutex<Vec<Passed>>>,
}

impl Relay {
    pub async fn to(server: u16) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let relay =
            Relay { port: listener.local_addr().unwrap().port(), connections: Arc::default() };
        let connections = relay.connections.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else { continue };
                let passed = Passed::default();
                connections.lock().push(passed.clone());
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(pass(from_client, to_server, From::Client, passed.clone()));
                tokio::spawn(pass(from_server, to_client, From::Server, passed));
            }
        });
        relay
    }

    /// Round trips so far of the latest connection, itself one of them: flights of the client that
    /// were answered.
    pub fn round_trips(&self) -> usize {
        let connections = self.connections.lock();
        let passed = connections.last().expect("there is a connection").lock();
        let sides = passed.iter().map(|(from, _)| *from);
        let mut trips = 1;
        let mut last = From::Server;
        for from in sides {
            trips += usize::from(last == From::Client && from == From::Server);
            last = from;
        }
        trips
    }

    /// Forgets the bytes that have passed.
    pub fn clear(&self) {
        self.connections.lock().clear();
    }

    /// Connections so far.
    pub fn connections(&self) -> usize {
        self.connections.lock().len()
    }

    /// Whether this passed in clear, in either direction.
    pub fn saw(&self, text: &[u8]) -> bool {
        self.connections.lock().iter().any(|passed| {
            [From::Client, From::Server].into_iter().any(|side| {
                let passed = passed.lock();
                let of_side = passed.iter().filter(|(from, _)| *from == side);
                let all: Vec<u8> = of_side.flat_map(|(_, data)| data.clone()).collect();
                all.windows(text.len()).any(|window| window == text)
            })
        })
    }

    /// Bytes that clients have sent, a connection each.
    pub fn sent(&self) -> Vec<Vec<u8>> {
        let connections = self.connections.lock();
        let sent = connections.iter().map(|passed| {
            let passed = passed.lock();
            let of_client = passed.iter().filter(|(from, _)| *from == From::Client);
            of_client.flat_map(|(_, data)| data.clone()).collect()
        });
        sent.collect()
    }
}

async fn pass(
    mut from: impl AsyncRead + Unpin + Send + 'static,
    mut to: impl AsyncWrite + Unpin + Send + 'static,
    side: From,
    passed: Passed,
) {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        while let Some((due, data)) = receiver.recv().await {
            sleep_until(due).await;
            if to.write_all(&data).await.is_err() {
                return;
            }
        }
        let _ = to.shutdown().await;
    });
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count) = from.read(&mut buffer).await {
        if count == 0 {
            return;
        }
        let data = buffer[..count].to_vec();
        passed.lock().push((side, data.clone()));
        if sender.send((Instant::now() + DELAY, data)).is_err() {
            return;
        }
    }
}
