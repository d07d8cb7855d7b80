//! A server of issuers, which describe themselves as a test wants.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use mutex::Mutex;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use super::Site;

/// The answer to requests for a path.
#[derive(Clone)]
pub enum Reply {
    Json(Value),
    Moved(String),
    Status(u16),
    /// A document that does not end.
    Huge,
    /// None.
    Hangs,
}

#[derive(Default)]
struct Known {
    replies: BTreeMap<String, Reply>,
    requests: BTreeMap<String, usize>,
}

/// Issuers `https://localhost:PORT/NAME`.
pub struct FakeIssuer {
    port: u16,
    known: Arc<Mutex<Known>>,
}

impl FakeIssuer {
    pub fn start(site: &Site) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let chain = vec![CertificateDer::from_pem_file(site.file("cert.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(site.file("key.pem")).unwrap();
        let config = ServerConfig::builder_with_provider(remote::source::tls::provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let config = Arc::new(config);
        let known: Arc<Mutex<Known>> = Arc::default();
        let shared = known.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let config = config.clone();
                let known = shared.clone();
                std::thread::spawn(move || answer(stream, config, &known));
            }
        });
        FakeIssuer { port, known }
    }

    /// The issuer of this name, as its tokens have it.
    pub fn url(&self, name: &str) -> String {
        self.place(name)
    }

    /// The address of a path.
    pub fn place(&self, path: &str) -> String {
        format!("https://localhost:{}/{path}", self.port)
    }

    pub fn description_path(&self, name: &str) -> String {
        format!("{name}/.well-known/openid-configuration")
    }

    /// The address at which an issuer describes itself.
    pub fn description_of(&self, name: &str) -> String {
        self.place(&self.description_path(name))
    }

    pub fn reply(&self, path: &str, reply: Reply) {
        self.known.lock().replies.insert(format!("/{path}"), reply);
    }

    /// What an issuer answers who is asked to describe itself.
    pub fn description(&self, name: &str, reply: Reply) {
        self.reply(&self.description_path(name), reply);
    }

    pub fn describe(&self, name: &str, issuer: &str, keys: &str) {
        self.description(name, Reply::Json(json!({"issuer": issuer, "jwks_uri": keys})));
    }

    /// Requests for a path so far.
    pub fn requests(&self, path: &str) -> usize {
        self.known.lock().requests.get(&format!("/{path}")).copied().unwrap_or_default()
    }
}

fn answer(stream: TcpStream, config: Arc<ServerConfig>, known: &Mutex<Known>) {
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            // A client that does not trust this server.
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let reply = {
        let mut known = known.lock();
        *known.requests.entry(path.clone()).or_default() += 1;
        known.replies.get(&path).cloned()
    };
    let of = |status: &str, headers: &str, body: &str| {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
    };
    let text = match reply {
        None => of("404 Not Found", "", ""),
        Some(Reply::Json(value)) => of("200 OK", "", &value.to_string()),
        Some(Reply::Moved(to)) => of("302 Found", &format!("Location: {to}\r\n"), ""),
        Some(Reply::Status(status)) => of(&format!("{status} Other"), "", ""),
        Some(Reply::Hangs) => {
            // Until the client has had enough.
            let _ = stream.read(&mut [0]);
            return;
        }
        Some(Reply::Huge) => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            while stream.write_all(&[b' '; 1 << 14]).is_ok() {}
            return;
        }
    };
    let _ = stream.write_all(text.as_bytes());
    stream.conn.send_close_notify();
    let _ = stream.flush();
}
