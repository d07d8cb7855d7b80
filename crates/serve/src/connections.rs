//! Connections of clients: which are taken, and the protocol that each speaks.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::clients::{Client, Clients};
use crate::files::Files;
#[cfg(feature = "flight")]
use crate::flight::{self, FlightContent};
use crate::guard::Guard;
#[cfg(feature = "flight")]
use crate::peer::Peer;
use crate::select::Selector;
use crate::shaped::{Link, Shape};
use crate::stream::{Stream, Watched, prepare};
use crate::{http, neighbours, xrootd};

/// Pause after a refused accept (no file descriptors left): trying at once would only burn time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Clients that are refused in words at the same time; the connections of more are closed.
const REFUSALS_MAX: usize = 32;
/// How long that takes at most.
const REFUSAL_TIME: Duration = Duration::from_secs(5);
/// The first byte of TLS: a record of the handshake (RFC 8446, section 5.1).
const TLS_BEGINS: u8 = 22;
const REFUSAL: &str =
    "this server has no place for another connection: try again later, or with fewer connections";

/// The protocols of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// XRootD and HTTP/1.1, told apart by the first byte.
    Files,
    /// Arrow Flight.
    #[cfg(feature = "flight")]
    Flight,
}

/// State that all connections share.
#[derive(Debug)]
pub struct Shared {
    pub files: Files,
    pub selector: Option<Selector>,
    pub guard: Guard,
    pub link: Arc<Link>,
    pub shape: Shape,
    /// It reads with its user's credentials.
    pub is_of_one_user: bool,
    pub clients: Arc<Clients>,
    pub refusals: Arc<Semaphore>,
}

/// Places for refusals in words.
pub fn refusals() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(REFUSALS_MAX))
}

/// Takes connections until the listener's task is aborted.
pub async fn accept(listener: TcpListener, door: Door, shared: Arc<Shared>) {
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            shared.clients.make_room();
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        if prepare(&stream).is_err()
            || shared.is_of_one_user && neighbours::is_of_another_user(&stream, from)
        {
            continue;
        }
        match shared.clients.admit(from.ip()) {
            Some(client) => {
                let shared = shared.clone();
                tokio::spawn(async move { shared.serve(stream, door, client).await });
            }
            None => {
                let Ok(permit) = shared.refusals.clone().try_acquire_owned() else { continue };
                let shared = shared.clone();
                tokio::spawn(async move {
                    let _ = tokio::time::timeout(REFUSAL_TIME, shared.refuse(stream, door)).await;
                    drop(permit);
                });
            }
        }
    }
}

impl Shared {
    /// The stream as far away as wished, and its first byte, left where it is; `None` when there is
    /// none.
    async fn distant(&self, stream: TcpStream) -> (Box<dyn Stream>, Option<u8>) {
        if self.shape.is_plain() {
            let mut first = [0];
            let count = stream.peek(&mut first).await.unwrap_or(0);
            return (Box::new(stream), first[..count].first().copied());
        }
        let mut stream = self.link.shape(stream);
        let first = stream.peek().await;
        (Box::new(stream), first)
    }

    /// Serves one connection in a protocol of the port, until it ends or its place is needed.
    async fn serve(&self, stream: TcpStream, door: Door, client: Client) {
        let Ok(here) = stream.local_addr() else { return };
        let client = Arc::new(client);
        let serve = async {
            match door {
                Door::Files => self.serve_files(stream, &client, here).await,
                #[cfg(feature = "flight")]
                Door::Flight => self.serve_flight(stream, &client, here).await,
            }
        };
        tokio::select! {
            () = serve => {}
            () = client.closed() => {}
        }
    }

    /// Serves one connection in the protocol that its first byte shows.
    async fn serve_files(&self, stream: TcpStream, client: &Arc<Client>, here: SocketAddr) {
        let files = self.files.clone();
        let selector = self.selector.clone();
        let guard = self.guard.clone();
        let (stream, first) = self.distant(stream).await;
        let stream = Watched::new(stream, client.clone());
        match first {
            Some(0) => {
                let content = xrootd::XrootdContent { files, selects: selector.is_some() };
                xrootd::serve(Box::new(stream), content, guard, client.clone(), here).await;
            }
            Some(first) => {
                let is_encrypted = first == TLS_BEGINS && guard.has_tls();
                let stream = guard.within_if(is_encrypted, stream).await;
                let Ok((stream, peer)) = stream else { return };
                let content = http::HttpContent { files, selector, guard, peer };
                http::serve(stream, content, client.clone(), here).await;
            }
            None => {}
        }
    }

    /// Serves one connection of a client of Arrow Flight.
    #[cfg(feature = "flight")]
    async fn serve_flight(&self, stream: TcpStream, client: &Arc<Client>, here: SocketAddr) {
        let Some(selector) = self.selector.clone() else { return };
        let guard = self.guard.clone();
        let (stream, first) = self.distant(stream).await;
        let stream = Watched::of_answers(stream, client.clone());
        let is_encrypted = first == Some(TLS_BEGINS) && guard.has_tls();
        let (stream, peer): (Box<dyn Stream>, Peer) = match is_encrypted {
            true => match guard.within_http2(stream).await {
                Ok(within) => within,
                Err(_) => return,
            },
            false => (Box::new(stream), Peer::default()),
        };
        let content = FlightContent { selector, guard, peer };
        flight::serve(stream, content, client.clone(), here).await;
    }

    /// Says in the client's protocol that there is no place for it.
    async fn refuse(&self, stream: TcpStream, door: Door) {
        // Clients of Flight try again by themselves.
        if door != Door::Files {
            return;
        }
        let (stream, first) = self.distant(stream).await;
        match first {
            Some(0) => xrootd::refuse(stream, REFUSAL).await,
            Some(_) => http::refuse(stream, REFUSAL).await,
            None => {}
        }
    }
}
