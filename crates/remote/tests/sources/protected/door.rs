//! A server of one file whose moods a test chooses: the credentials that it wants, when it refuses
//! clients, and when it goes away.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};
use mutex::Mutex;
use rustls::ServerConfig as TlsServer;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::ExposeSecret;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use xrootd::auth::token_of;
use xrootd::error::ErrorCode;
use xrootd::header::Handle;
use xrootd::message::Request;
use xrootd::message::login::SessionId;
use xrootd::message::stat::{StatFlags, StatInfo};
use xrootd::response::Redirect;
use xrootd::server::{Served, ServedTls, Server, ServerConfig, Tag};

use super::bed::{Bed, content};

/// A server's behaviour, and the messages that it has seen.
pub struct Door {
    pub version: u32,
    pub tls: ServedTls,
    pub security: &'static str,
    /// The token that is good now.
    pub token: Mutex<String>,
    /// Connections, counted from one, whose credential is refused.
    pub refuses: BTreeSet<usize>,
    /// Connections that end when TLS begins.
    pub resets: BTreeSet<usize>,
    /// After so many reads every connection ends, and this token is good.
    pub expires: Option<(usize, &'static str)>,
    /// Bytes right behind kXR_protocol never get to TLS, as in dCache.
    pub loses_hello: bool,
    /// Where files are.
    pub sends_to: Option<(&'static str, u16)>,
    pub connections: AtomicUsize,
    pub reads: AtomicUsize,
    /// Whom its certificate is for.
    pub names: &'static [&'static str],
    /// Each credential is refused in these words.
    pub says: Option<&'static str>,
    /// Each credential is taken, whatever it is.
    pub takes_all: bool,
    /// Opens are refused in these words.
    pub denies: Option<&'static str>,
    /// The tokens that were shown.
    pub shown: Mutex<Vec<String>>,
}

impl Default for Door {
    fn default() -> Self {
        Door {
            version: 0x511,
            tls: ServedTls::Demanded,
            security: "&P=ztn,0:4096:",
            token: Mutex::default(),
            refuses: BTreeSet::new(),
            resets: BTreeSet::new(),
            expires: None,
            loses_hello: false,
            sends_to: None,
            names: &["localhost"],
            says: None,
            takes_all: false,
            denies: None,
            connections: AtomicUsize::new(0),
            reads: AtomicUsize::new(0),
            shown: Mutex::default(),
        }
    }
}

impl Door {
    /// The port at which it listens from now on, with a certificate of this bed.
    pub async fn open(self: &Arc<Self>, bed: &Bed) -> u16 {
        let (certificate, key) = bed.host(self.names);
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = TlsServer::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let door = self.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let number = door.connections.fetch_add(1, Ordering::Relaxed) + 1;
                let mut visit = Visit::new(door.clone(), number);
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Some(mut rest) = visit.serve(&mut stream).await else { return };
                    if visit.door.resets.contains(&number) {
                        return;
                    }
                    if visit.door.loses_hello {
                        rest.clear();
                    }
                    let (reader, writer) = stream.into_split();
                    let stream = tokio::io::join(
                        AsyncReadExt::chain(std::io::Cursor::new(rest), reader),
                        writer,
                    );
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    visit.serve(&mut stream).await;
                });
            }
        });
        port
    }
}

/// One connection.
struct Visit {
    door: Arc<Door>,
    number: usize,
    server: Server,
}

impl Visit {
    fn new(door: Arc<Door>, number: usize) -> Visit {
        let config = ServerConfig {
            version: door.version,
            tls: door.tls,
            security: door.security.to_owned(),
            ..ServerConfig::data_server(SessionId([number as u8; 16]))
        };
        Visit { door, number, server: Server::new(config) }
    }

    /// Serves until TLS begins, or to the end; bytes read beyond that are lost.
    async fn serve(&mut self, stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Option<Bytes> {
        let now = std::time::Duration::ZERO;
        let mut buffer = BytesMut::new();
        loop {
            while let Some(event) = self.server.poll_event() {
                match event {
                    Served::StartTls { rest } => {
                        self.send(stream).await?;
                        return Some(rest);
                    }
                    Served::Request { tag, request } => {
                        self.answer(tag, &request)?;
                        if self.server.handle_room(now).is_err() {
                            // Answers are sent before the end.
                            self.send(stream).await;
                            return None;
                        }
                    }
                    Served::Login(_) | Served::WriteRefused { .. } => {}
                }
            }
            self.send(stream).await?;
            if stream.read_buf(&mut buffer).await.ok()? == 0 {
                return None;
            }
            self.server.handle_bytes(now, buffer.split().freeze()).ok()?;
        }
    }

    async fn send(&mut self, stream: &mut (impl AsyncWrite + Unpin)) -> Option<()> {
        while let Some(bytes) = self.server.poll_transmit() {
            stream.write_all(&bytes).await.ok()?;
        }
        stream.flush().await.ok()
    }

    /// None where the connection is to end at once.
    fn answer(&mut self, tag: Tag, request: &Request) -> Option<()> {
        let info = StatInfo {
            id: "1".to_owned(),
            size: content().len() as u64,
            flags: StatFlags::READABLE,
            mtime: 1,
            more: None,
        };
        match request {
            Request::Auth(auth) if &auth.protocol == b"unix" => self.server.answer_done(tag),
            Request::Auth(_) if self.door.takes_all => self.server.answer_done(tag),
            Request::Auth(_) if self.door.says.is_some() => {
                let words = self.door.says.unwrap_or_default();
                self.server.answer_error(tag, ErrorCode::AUTH_FAILED, words);
            }
            Request::Auth(auth) => {
                let token = token_of(&auth.credential).ok()?.expose_secret().to_owned();
                let good = token == *self.door.token.lock();
                self.door.shown.lock().push(token);
                match good && !self.door.refuses.contains(&self.number) {
                    true => self.server.answer_done(tag),
                    false => self.server.answer_error(tag, ErrorCode::AUTH_FAILED, "token expired"),
                }
            }
            Request::Open(_) if self.door.denies.is_some() => {
                let words = self.door.denies.unwrap_or_default();
                self.server.answer_error(tag, ErrorCode::NOT_AUTHORIZED, words);
            }
            Request::Open(_) => match self.door.sends_to {
                Some((host, port)) => {
                    let there = Redirect::to_host(host, port, None);
                    self.server.answer_redirect(tag, &there);
                }
                None => self.server.answer_open(tag, Handle::from_slot(0), Some(&info)),
            },
            Request::Stat(_) => self.server.answer_stat(tag, &info),
            Request::Read(read) => {
                let reads = self.door.reads.fetch_add(1, Ordering::Relaxed);
                if let Some((after, token)) = self.door.expires
                    && reads == after
                {
                    *self.door.token.lock() = token.to_owned();
                    return None;
                }
                let from = (read.offset as usize).min(content().len());
                let until = (from + read.length as usize).min(content().len());
                let bytes = Bytes::from(content()[from..until].to_vec());
                self.server.answer_data(tag, bytes, false);
            }
            Request::Query(_) => self.server.answer_text(tag, "readv_iov_max"),
            _ => self.server.answer_done(tag),
        }
        Some(())
    }
}
