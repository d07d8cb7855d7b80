//! A server of gsi as Debian has none: with the prime and the digest of xrootd 6, or with requests
//! that no server should make.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use credentials::x509::{Certificate, certificates};
use credentials::{Identity, x509};
use secrecy::SecretBox;
use xrootd::auth::gsi::{Group, GsiServer, Peer, Primes, PublicKey, RANDOM_BYTES};
use xrootd::error::ErrorCode;
use xrootd::header::Handle;
use xrootd::message::Request;
use xrootd::message::login::SessionId;
use xrootd::server::{Served, Server, ServerConfig};

use super::bed::content;

/// The sizes of xrootd 6; the prime is that of RFC 3526, group 15.
const GROUP_15: &str = include_str!("../../../../../xrootd/samples/gsi.group15.pem");

/// Signs as a host, and trusts any client that has the key of its certificate.
#[derive(Debug)]
struct Host(Identity);

impl Peer for Host {
    fn sign(&self, raw: &[u8]) -> Result<Vec<u8>, String> {
        self.0.sign_raw(raw).map_err(|error| error.to_string())
    }

    fn verify(&self, chain: &str, _authorities: &[&str]) -> Result<PublicKey, String> {
        let first = certificates(chain.as_bytes()).into_iter().next().ok_or("no certificate")?;
        let key = Certificate::parse(&first).map(|facts| x509::PublicKey::of(&facts.public_key));
        let key = key.ok().flatten().ok_or("not of RSA")?;
        Ok(PublicKey::new(&key.modulus, &key.exponent))
    }
}

/// The client's messages that a server has seen.
#[derive(Default)]
pub struct Seen {
    /// Messages of authentication.
    pub messages: u32,
    /// The certificates of a client that has proven to have their key.
    pub chain: Option<String>,
}

/// Serves one connection, on this port. `change` has the last word on its message with the
/// certificate.
pub fn serve(
    host: Identity,
    change: impl Fn(Bytes) -> Bytes + Send + 'static,
) -> (u16, JoinHandle<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut config = ServerConfig::data_server(SessionId([1; 16]));
        config.security = "&P=gsi,v:10600,c:ssl,ca:00000000.0".to_owned();
        let mut server = Server::new(config);
        let group = Group::of_pem(GROUP_15).unwrap();
        let primes = Primes { group, digests: "sha256".to_owned() };
        let certificate = host.chain_pem().concat();
        let random = SecretBox::new(Box::new([0x5a; RANDOM_BYTES]));
        let exchange = GsiServer::new(certificate, primes, random, Arc::new(Host(host)));
        let mut seen = Seen::default();
        let mut buffer = vec![0; 1 << 16];
        loop {
            while let Some(event) = server.poll_event() {
                if let Served::Request { tag, request } = event {
                    answer(&mut server, tag, &request, &exchange, &change, &mut seen);
                }
            }
            while let Some(bytes) = server.poll_transmit() {
                if socket.write_all(&bytes).is_err() {
                    return seen;
                }
            }
            match socket.read(&mut buffer) {
                Ok(count @ 1..) => {
                    let bytes = Bytes::copy_from_slice(&buffer[..count]);
                    server.handle_bytes(Duration::ZERO, bytes).unwrap();
                }
                _ => return seen,
            }
        }
    });
    (port, thread)
}

fn answer(
    server: &mut Server,
    tag: xrootd::server::Tag,
    request: &Request,
    exchange: &GsiServer,
    change: &impl Fn(Bytes) -> Bytes,
    seen: &mut Seen,
) {
    match request {
        Request::Auth(auth) => {
            seen.messages += 1;
            if seen.messages == 1 {
                server.answer_more(tag, change(exchange.begin(&auth.credential).unwrap()));
                return;
            }
            match exchange.proceed(&auth.credential) {
                Ok(chain) => {
                    seen.chain = Some(chain);
                    server.answer_done(tag);
                }
                Err(why) => server.answer_error(tag, ErrorCode::AUTH_FAILED, &why.to_string()),
            }
            server.handle_room(Duration::ZERO).unwrap();
        }
        Request::Open(_) => {
            server.answer_open(tag, Handle([0; 4]), None);
        }
        Request::Read(read) => {
            let at = read.offset as usize;
            let end = content().len().min(at + read.length as usize);
            server.answer_data(tag, content()[at..end].to_vec().into(), false);
        }
        _ => server.answer_error(tag, ErrorCode::UNSUPPORTED, "not here"),
    }
}
