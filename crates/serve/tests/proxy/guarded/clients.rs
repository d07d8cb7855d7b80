//! Clients within TLS: of HTTP, with one connection for many requests, and of XRootD.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use farroot_serve::Server;
use rustls::client::ResolvesClientCert;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, ClientConnection, RootCertStore, SignatureScheme, StreamOwned};
use xrootd::auth::gsi::GsiCredential;
use xrootd::auth::{Credential, Method};
use xrootd::client::{Answer, Client, ClientConfig as XrootdConfig, Event, FileId, RequestId, Tls};
use xrootd::error::{ErrorCode, RequestError};
use xrootd::message::open::OpenOptions;
use xrootd::profile::{Profile, Start};

use super::grid::Identity;

type Encrypted = StreamOwned<ClientConnection, TcpStream>;

/// A client that shows this, whatever authorities a server names.
#[derive(Debug)]
struct Shows(Option<Arc<CertifiedKey>>);

impl ResolvesClientCert for Shows {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.0.clone()
    }

    fn has_certs(&self) -> bool {
        self.0.is_some()
    }
}

fn trusting(certificate: &str, shown: Option<&Identity>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(remote::source::tls::provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_client_cert_resolver(Arc::new(Shows(shown.map(Identity::for_tls))));
    Arc::new(config)
}

fn connected(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

fn within(stream: TcpStream, certificate: &str, shown: Option<&Identity>) -> Encrypted {
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(trusting(certificate, shown), name).unwrap(), stream)
}

/// An answer of HTTP.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    pub status: u16,
    /// In small letters.
    pub head: String,
    pub body: Vec<u8>,
}

/// A connection of HTTP.
pub struct HttpClient<S>(S);

impl HttpClient<Encrypted> {
    pub fn new(server: &Server, certificate: &str) -> Self {
        HttpClient::showing(server, certificate, None)
    }

    /// With certificates of the client.
    pub fn showing(server: &Server, certificate: &str, shown: Option<&Identity>) -> Self {
        HttpClient(within(connected(server), certificate, shown))
    }
}

impl HttpClient<TcpStream> {
    pub fn of(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        HttpClient(stream)
    }

    pub fn plain(server: &Server) -> Self {
        HttpClient(connected(server))
    }
}

impl<S: Read + Write> HttpClient<S> {
    /// One request and its answer.
    pub fn ask(&mut self, method: &str, path: &str, headers: &str, body: &str) -> HttpAnswer {
        let length = match body.is_empty() {
            true => String::new(),
            false => format!("Content-Length: {}\r\n", body.len()),
        };
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}{length}\r\n{body}");
        self.0.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.0.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let length = crate::bed::header(&head, "content-length");
        let length = match (method, status) {
            ("HEAD", _) | (_, 304) => 0,
            _ => length.unwrap_or_else(|| panic!("{path}: {head}")).parse().unwrap(),
        };
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        HttpAnswer { status, head, body }
    }
}

/// The header by which a client says who it is.
pub fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

enum Line {
    Plain(TcpStream),
    Encrypted(Box<Encrypted>),
    /// While it is changed.
    None,
}

/// A session of XRootD.
pub struct Session {
    client: Client,
    line: Line,
    certificate: String,
    token: Option<String>,
    shown: Option<Identity>,
    gsi: Option<Box<GsiCredential>>,
    start: Instant,
    data: BTreeMap<RequestId, Vec<u8>>,
    done: BTreeMap<RequestId, Result<Option<Answer>, RequestError>>,
}

impl Session {
    /// Within TLS; with a token, or as nobody.
    pub fn new(server: &Server, certificate: &str, token: Option<&str>) -> Self {
        let mut config = XrootdConfig::new("me", "test", 1);
        config.tls = Tls::Required;
        config.authentication.insert(0, Method::Ztn);
        Self::with(server, config, certificate, token)
    }

    /// The same with certificates of the client.
    pub fn showing(
        server: &Server,
        certificate: &str,
        token: Option<&str>,
        shown: Option<&Identity>,
    ) -> Self {
        Session { shown: shown.cloned(), ..Session::new(server, certificate, token) }
    }

    /// Without TLS, with a login by gsi.
    pub fn by_gsi(server: &Server, credential: Box<GsiCredential>) -> Self {
        let mut config = XrootdConfig::new("me", "test", 1);
        config.authentication.insert(0, Method::Gsi);
        Session { gsi: Some(credential), ..Self::with(server, config, "", None) }
    }

    /// Without TLS.
    pub fn plain(server: &Server) -> Self {
        Self::with(server, XrootdConfig::new("me", "test", 1), "", None)
    }

    fn with(server: &Server, config: XrootdConfig, certificate: &str, token: Option<&str>) -> Self {
        Session {
            client: Client::new(config, Profile::default(), Start::Careful),
            line: Line::Plain(connected(server)),
            certificate: certificate.to_owned(),
            token: token.map(str::to_owned),
            shown: None,
            gsi: None,
            start: Instant::now(),
            data: BTreeMap::new(),
            done: BTreeMap::new(),
        }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Makes a request; nothing is sent before its outcome is wanted.
    pub fn ask<T>(&mut self, ask: impl FnOnce(&mut Client, Duration) -> T) -> T {
        ask(&mut self.client, self.start.elapsed())
    }

    pub fn open(&mut self, path: &str) -> (FileId, RequestId) {
        self.ask(|client, now| client.open(now, path, OpenOptions::FOR_READING))
    }

    /// Sends and receives; whether the server is still there.
    fn exchange(&mut self) -> bool {
        while let Some(bytes) = self.client.poll_transmit(self.now()) {
            match &mut self.line {
                Line::Plain(stream) => stream.write_all(&bytes).unwrap(),
                Line::Encrypted(stream) => stream.write_all(&bytes).unwrap(),
                Line::None => unreachable!(),
            }
        }
        let mut buffer = vec![0; 1 << 16];
        let count = match &mut self.line {
            Line::Plain(stream) => stream.read(&mut buffer).unwrap(),
            Line::Encrypted(stream) => stream.read(&mut buffer).unwrap(),
            Line::None => unreachable!(),
        };
        buffer.truncate(count);
        self.client.handle_bytes(self.now(), Bytes::from(buffer)).unwrap();
        count > 0
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::StartTls { rest } => {
                assert!(rest.is_empty());
                let Line::Plain(stream) = std::mem::replace(&mut self.line, Line::None) else {
                    panic!("TLS twice")
                };
                let stream = within(stream, &self.certificate, self.shown.as_ref());
                self.line = Line::Encrypted(Box::new(stream));
            }
            Event::CredentialWanted { method: Method::Gsi, .. } => match self.gsi.take() {
                Some(credential) => {
                    let credential = Credential::Gsi(credential);
                    self.ask(|client, now| client.provide(now, credential));
                }
                None => self.ask(|client, now| client.lack(now, &Method::Gsi, "none".to_owned())),
            },
            Event::CredentialWanted { method, .. } => match self.token.clone() {
                Some(token) => {
                    let credential = Credential::Ztn(token.into());
                    self.ask(|client, now| client.provide(now, credential));
                }
                None => self.ask(|client, now| client.lack(now, &method, "none".to_owned())),
            },
            Event::Data { request, bytes, .. } => {
                self.data.entry(request).or_default().extend_from_slice(&bytes);
            }
            Event::Opened { request, .. } | Event::Done { request } => {
                self.done.insert(request, Ok(None));
            }
            Event::Answer { request, answer } => {
                self.done.insert(request, Ok(Some(answer)));
            }
            Event::Failed { request, error } => {
                self.done.insert(request, Err(error));
            }
            _ => {}
        }
    }

    /// The outcome of a request.
    pub fn outcome(&mut self, request: RequestId) -> Result<Option<Answer>, RequestError> {
        loop {
            while let Some(event) = self.client.poll_event() {
                self.take(event);
            }
            if let Some(outcome) = self.done.get(&request) {
                return outcome.clone();
            }
            assert!(self.exchange(), "the server hung up");
        }
    }

    /// Whether the server does not let the client log in, and hangs up.
    pub fn is_locked_out(&mut self) -> bool {
        while self.done.is_empty() {
            while let Some(event) = self.client.poll_event() {
                self.take(event);
            }
            if self.done.is_empty() && !self.exchange() {
                return true;
            }
        }
        self.done.values().all(Result::is_err)
    }

    /// The code of its refusal; `None` where it is not refused.
    pub fn refusal(&mut self, request: RequestId) -> Option<ErrorCode> {
        match self.outcome(request) {
            Err(RequestError::Server(error)) => Some(error.code),
            Err(other) => panic!("{other}"),
            Ok(_) => None,
        }
    }

    /// The text of its refusal.
    pub fn said(&mut self, request: RequestId) -> String {
        self.outcome(request).unwrap_err().to_string()
    }

    /// The bytes that came for it.
    pub fn bytes(&self, request: RequestId) -> &[u8] {
        self.data.get(&request).map_or(&[], Vec::as_slice)
    }
}
