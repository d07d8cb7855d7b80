//! Connections through a proxy of HTTP. Through `CONNECT` all of `https` is between us and the
//! server: the proxy sees host and port. Of `http` it sees everything, as all on the way do.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::error::{Error, ErrorKind, Result};
use crate::proxies::Proxy;
use crate::source::network::{Network, Stream};
use crate::source::tls::{TlsConfig, TlsSession};

/// The head of a proxy's answer is not longer.
const HEAD_BYTES_MAX: usize = 64 << 10;

impl Proxy {
    /// A connection to the proxy.
    ///
    /// # Errors
    /// Why there is none, naming the proxy.
    pub async fn connect(
        &self,
        network: &dyn Network,
        tls: Option<&Arc<TlsConfig>>,
    ) -> Result<Box<dyn Stream>> {
        let stream = network.connect(&self.host, self.port).await.map_err(|error| {
            let why = Error::from_io(&error);
            let text = format!("the proxy {self} is not reached: {}", why.message());
            Error::new(ErrorKind::Connection, text).with_advice(
                "check http_proxy, https_proxy, all_proxy and no_proxy, or FARROOT_HTTP_PROXY",
            )
        })?;
        Ok(match tls {
            Some(tls) => {
                let host = self.host.trim_matches(['[', ']']);
                Box::new(TlsSession::new(host, tls, &["http/1.1"])?.over(stream, &[]))
            }
            None => stream,
        })
    }

    /// Has the proxy connect to a server; the stream is then one to that.
    ///
    /// # Errors
    /// The proxy's refusal; the end of the connection; `TimedOut`.
    pub async fn tunnel(
        &self,
        mut stream: Box<dyn Stream>,
        server: (&str, u16),
        time_limit: Duration,
    ) -> Result<Box<dyn Stream>> {
        let (host, port) = server;
        let host = match host.contains(':') && !host.starts_with('[') {
            true => format!("[{host}]"),
            false => host.to_owned(),
        };
        let version = env!("CARGO_PKG_VERSION");
        let mut request = format!(
            "CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\
             User-Agent: farroot/{version}\r\n"
        );
        if let Some(credentials) = &self.credentials {
            request.push_str(&format!("Proxy-Authorization: {}\r\n", credentials.expose_secret()));
        }
        request.push_str("\r\n");
        let answer = timeout(time_limit, async {
            stream.write_all(request.as_bytes()).await?;
            stream.flush().await?;
            head(&mut stream).await
        });
        let head = answer.await.map_err(|_| {
            let text = format!("the proxy {self} has not answered for {} s", time_limit.as_secs());
            Error::new(ErrorKind::TimedOut, text)
        })?;
        let head = head.map_err(|error| {
            let text = format!("the proxy {self} broke the connection: {error}");
            Error::new(ErrorKind::Connection, text)
        })?;
        let line = String::from_utf8_lossy(&head);
        let line = line.lines().next().unwrap_or_default().trim();
        let status: u16 = line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        match status {
            200..=299 if line.starts_with("HTTP/1.") => Ok(stream),
            _ => Err(self.refusal(status, line)),
        }
    }

    fn refusal(&self, status: u16, line: &str) -> Error {
        let said: String = line.chars().filter(|letter| !letter.is_control()).take(200).collect();
        let text = format!("the proxy {self} refuses the connection: {said}");
        match status {
            407 => Error::new(ErrorKind::Unauthenticated, text).with_advice(
                "write user and password into the proxy's address: http://USER:PASSWORD@HOST:PORT",
            ),
            401 | 403 => Error::new(ErrorKind::PermissionDenied, text)
                .with_advice("ask the site, or name the server in no_proxy"),
            _ => Error::new(ErrorKind::Connection, text).retryable(status >= 500),
        }
    }
}

/// The head of an answer, and nothing behind it: the server speaks second.
async fn head(stream: &mut Box<dyn Stream>) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == HEAD_BYTES_MAX {
            return Err(io::Error::other("an answer without end"));
        }
        head.push(stream.read_u8().await?);
    }
    Ok(head)
}
