//! A server as dCache is one: it says version 0x500, and its decoder keeps what comes behind
//! kXR_protocol, so that TLS never sees it.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
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
use xrootd::server::{Served, ServedTls, Server, ServerConfig, Tag};

use super::bed::{Bed, content};
use super::read;
use super::relay::Relay;

const TOKEN: &str = "MARKER.token.of.ada";

/// A server of one file.
struct Door {
    server: Server,
}

impl Door {
    fn new() -> Door {
        let config = ServerConfig {
            version: 0x500,
            tls: ServedTls::Demanded,
            security: "&P=ztn,0:4096:".to_owned(),
            ..ServerConfig::data_server(SessionId([5; 16]))
        };
        Door { server: Server::new(config) }
    }

    /// Serves until TLS begins, or to the end; what had been read beyond that is lost.
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
                        self.answer(tag, &request);
                        self.server.handle_room(now).ok()?;
                    }
                    Served::Login(_) => {}
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

    fn answer(&mut self, tag: Tag, request: &Request) {
        let info = StatInfo {
            id: "1".to_owned(),
            size: content().len() as u64,
            flags: StatFlags::READABLE,
            mtime: 1,
            more: None,
        };
        match request {
            Request::Auth(auth) => match token_of(&auth.credential) {
                Ok(token) if token.expose_secret() == TOKEN => self.server.answer_done(tag),
                _ => self.server.answer_error(tag, ErrorCode::AUTH_FAILED, "not ours"),
            },
            Request::Open(_) => self.server.answer_open(tag, Handle::from_slot(0), Some(&info)),
            Request::Stat(_) => self.server.answer_stat(tag, &info),
            Request::Read(read) => {
                let from = (read.offset as usize).min(content().len());
                let until = (from + read.length as usize).min(content().len());
                let bytes = Bytes::from(content()[from..until].to_vec());
                self.server.answer_data(tag, bytes, false);
            }
            Request::Query(_) => self.server.answer_text(tag, "readv_iov_max"),
            _ => self.server.answer_done(tag),
        }
    }
}

async fn start(bed: &Bed) -> u16 {
    let (certificate, key) = bed.host(&["localhost"]);
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
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut door = Door::new();
                // What was read too far is what dCache loses.
                let Some(_lost) = door.serve(&mut stream).await else { return };
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                door.serve(&mut stream).await;
            });
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_reads_ahead_gets_no_early_hello() {
    let bed = Bed::new();
    let relay = Relay::to(start(&bed).await).await;
    let config = bed.user(Some(TOKEN));
    // The login and its token have no request behind them, as it is not known to take any.
    for round_trips in [5, 5] {
        let read = read(&bed, &config, "root", &relay).await.unwrap();
        assert!(read <= round_trips, "{read} round trips");
        assert_eq!(relay.connections(), 1);
        assert!(!relay.saw(b"MARKER"));
    }
}
