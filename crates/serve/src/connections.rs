//! Connections of clients: which are taken, and the protocol that each speaks.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::clients::{Client, Clients};
use crate::files::Files;
use crate::guard::Guard;
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
pub async fn accept(listener: TcpListener, shared: Arc<Shared>) {
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
                tokio::spawn(async move { shared.serve(stream, client).await });
            }
            None => {
                let Ok(permit) = shared.refusals.clone().try_acquire_owned() else { continue };
                let shared = shared.clone();
                tokio::spawn(async move {
                    let _ = tokio::time::timeout(REFUSAL_TIME, shared.refuse(stream)).await;
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

    /// Serves one connection in the protocol that its first byte shows, until it ends or its place
    /// is needed.
    async fn serve(&self, stream: TcpStream, client: Client) {
        let Ok(here) = stream.local_addr() else { return };
        let client = Arc::new(client);
        let files = self.files.clone();
        let selector = self.selector.clone();
        let guard = self.guard.clone();
        let serve = async {
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
                    let Ok(stream) = stream else { return };
                    let content = http::HttpContent { files, selector, guard, is_encrypted };
                    http::serve(stream, content, client.clone(), here).await;
                }
                None => {}
            }
        };
        tokio::select! {
            () = serve => {}
            () = client.closed() => {}
        }
    }

    /// Says in the client's protocol that there is no place for it.
    async fn refuse(&self, stream: TcpStream) {
        let (stream, first) = self.distant(stream).await;
        match first {
            Some(0) => xrootd::refuse(stream, REFUSAL).await,
            Some(_) => http::refuse(stream, REFUSAL).await,
            None => {}
        }
    }
}
