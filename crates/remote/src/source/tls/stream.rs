//! A byte stream within TLS.
//!
//! The handshake goes on while the stream is read; nothing has to wait for it. Bytes that are
//! written before it ends are kept and leave in one write with the client's last message of the
//! handshake, which saves a packet, and the server a wake-up.

use std::io::{self, BufRead, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;

use super::config::TlsConfig;
use super::failure::{Failure, Stage, Why};
use crate::error::{Error, ErrorKind};
use crate::source::network::Stream;

/// Ciphertext that is read at once at the most: much more than the longest record of TLS (RFC 8446,
/// section 5.2), so that few calls of the system are needed.
const INCOMING_BYTES: usize = 256 << 10;
/// While the handshake lasts.
const INCOMING_BYTES_FIRST: usize = 24 << 10;
/// Plaintext that is kept until the handshake ends, and ciphertext that is kept unsent.
const PENDING_BYTES_MAX: usize = 256 << 10;

/// How far the handshake has come.
#[derive(Debug, Clone, Default)]
pub enum Handshake {
    #[default]
    Running,
    Done(Arc<Peer>),
    /// Then, or with the first read; with the peer as far as the server had identified itself.
    Failed(Failure, Option<Arc<Peer>>),
}

/// A server's identity and parameters in a session.
#[derive(Debug, Clone)]
pub struct Peer {
    /// `TLS 1.3`.
    pub version: &'static str,
    /// Keys were agreed on in an earlier connection.
    pub is_resumed: bool,
    /// DER, the server's own certificate first.
    pub chain: Vec<Vec<u8>>,
}

/// A session of TLS before it has a stream.
pub struct TlsSession {
    connection: ClientConnection,
    config: Arc<TlsConfig>,
    host: String,
}

impl TlsSession {
    /// A session with a server of this name. `alpn` names the protocols that are spoken within, if
    /// the server is to know (RFC 7301).
    ///
    /// # Errors
    /// `InvalidArgument` for a name that no certificate can have.
    pub fn new(host: &str, config: &Arc<TlsConfig>, alpn: &[&str]) -> Result<Self, Error> {
        let bare = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
        let wrong = |why: String| {
            let message = format!("{host:?} is no name that a certificate can be for: {why}");
            Error::new(ErrorKind::InvalidArgument, message)
        };
        let name = ServerName::try_from(bare.to_owned()).map_err(|e| wrong(e.to_string()))?;
        let alpn = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        let connection = ClientConnection::new_with_alpn(config.rustls.clone(), name, alpn);
        let mut connection = connection.map_err(|error| wrong(error.to_string()))?;
        connection.set_buffer_limit(Some(PENDING_BYTES_MAX));
        Ok(TlsSession { connection, config: config.clone(), host: bare.to_owned() })
    }

    /// The first message of the handshake, for a caller that sends it behind bytes of its own,
    /// before the stream is read as TLS.
    pub fn hello(&mut self) -> Vec<u8> {
        let mut hello = Vec::new();
        encode(&mut self.connection, &mut hello);
        hello
    }

    /// The session over a stream, some bytes of which have been read already.
    pub fn over(self, stream: Box<dyn Stream>, read: &[u8]) -> Encrypted {
        let mut incoming = vec![0; INCOMING_BYTES_FIRST.max(read.len())];
        incoming[..read.len()].copy_from_slice(read);
        Encrypted {
            stream,
            connection: self.connection,
            config: self.config,
            host: self.host,
            incoming,
            start: 0,
            end: read.len(),
            outgoing: Vec::new(),
            sent: 0,
            has_read: false,
            failure: None,
            writer: None,
            handshake: watch::Sender::default(),
        }
    }
}

/// Bytes of this process on their way through TLS. A server that ends the connection without TLS's
/// own end is an error: any machine on the way could have done it.
pub struct Encrypted {
    stream: Box<dyn Stream>,
    connection: ClientConnection,
    config: Arc<TlsConfig>,
    host: String,
    /// Ciphertext that has come, from `start` to `end`.
    incoming: Vec<u8>,
    start: usize,
    end: usize,
    /// Ciphertext that leaves, from `sent` on. More may be in the connection.
    outgoing: Vec<u8>,
    sent: usize,
    /// A byte has come from within.
    has_read: bool,
    failure: Option<Failure>,
    /// A task that waits to write, while another one reads.
    writer: Option<Waker>,
    handshake: watch::Sender<Handshake>,
}

/// The plaintext that has come from the server.
enum Plaintext {
    /// There are bytes to be read.
    Here,
    /// Some may come.
    None,
    /// The server has ended the session, as TLS has it.
    Ended,
}

impl Encrypted {
    /// Watches how the handshake goes, which is carried on by whatever reads the stream.
    pub fn watch(&self) -> watch::Receiver<Handshake> {
        self.handshake.subscribe()
    }

    fn fail(&mut self, why: Why) -> io::Error {
        let stage = match self.connection.is_handshaking() {
            true => Stage::Handshake,
            false if !self.has_read => Stage::FirstRead,
            false => Stage::Later,
        };
        let failure = match &self.failure {
            // The first failure is the cause.
            Some(failure) => failure.clone(),
            None => {
                let version = self.connection.protocol_version();
                Failure::new(&self.host, stage, why, version, &self.config)
            }
        };
        self.failure = Some(failure.clone());
        if stage != Stage::Later {
            self.handshake.send_modify(|handshake| {
                let peer = match handshake {
                    Handshake::Running => None,
                    Handshake::Done(peer) => Some(peer.clone()),
                    Handshake::Failed(_, peer) => peer.take(),
                };
                *handshake = Handshake::Failed(failure.clone(), peer);
            });
        }
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
        failure.into_io()
    }

    fn check(&self) -> io::Result<()> {
        match &self.failure {
            Some(failure) => Err(failure.clone().into_io()),
            None => Ok(()),
        }
    }

    /// Decrypts the received bytes, until there is plaintext to read or they are used up.
    fn advance(&mut self) -> io::Result<Plaintext> {
        loop {
            match self.connection.reader().fill_buf() {
                Ok([]) => return Ok(Plaintext::Ended),
                // A failure comes behind the bytes before it.
                Ok(_) => return Ok(Plaintext::Here),
                // Nothing is decrypted.
                Err(_) => {}
            }
            if self.start == self.end {
                self.check()?;
                return Ok(Plaintext::None);
            }
            let was_handshaking = self.connection.is_handshaking();
            let result = self.decrypt();
            if was_handshaking && !self.connection.is_handshaking() {
                self.announce();
            }
            if let Err(error) = result {
                self.start = self.end;
                self.fail(Why::Tls(error));
            }
        }
    }

    /// Decrypts as much as the connection takes at once, which is about one record.
    fn decrypt(&mut self) -> Result<(), rustls::Error> {
        let taken = match self.connection.read_tls(&mut &self.incoming[self.start..self.end]) {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            taken => taken,
        };
        self.start += taken.map_err(|error| rustls::Error::General(error.to_string()))?;
        self.connection.process_new_packets().map(drop)
    }

    /// Hands plaintext to a reader, as much as has come and there is room for.
    fn hand_over(&mut self, buffer: &mut ReadBuf<'_>) -> io::Result<Plaintext> {
        while buffer.remaining() > 0 {
            let plaintext = self.advance()?;
            if !matches!(plaintext, Plaintext::Here) {
                return Ok(plaintext);
            }
            self.has_read = true;
            let mut reader = self.connection.reader();
            let bytes = reader.fill_buf()?;
            let count = bytes.len().min(buffer.remaining());
            buffer.put_slice(&bytes[..count]);
            reader.consume(count);
        }
        Ok(Plaintext::Here)
    }

    fn announce(&mut self) {
        let version = match self.connection.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_3) => "TLS 1.3",
            _ => "TLS 1.2",
        };
        let is_resumed = self.connection.handshake_kind() == Some(rustls::HandshakeKind::Resumed);
        let chain = self.connection.peer_certificates().unwrap_or_default();
        let chain = chain.iter().map(|certificate| certificate.to_vec()).collect();
        self.handshake.send_replace(Handshake::Done(Arc::new(Peer { version, is_resumed, chain })));
        self.incoming.resize(INCOMING_BYTES.max(self.end), 0);
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
    }

    /// Sends the encrypted bytes.
    fn send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.sent == self.outgoing.len() {
                self.outgoing.clear();
                self.sent = 0;
                encode(&mut self.connection, &mut self.outgoing);
                if self.outgoing.is_empty() {
                    return Poll::Ready(Ok(()));
                }
            }
            let stream = Pin::new(&mut self.stream);
            match ready!(stream.poll_write(context, &self.outgoing[self.sent..])) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(sent) => self.sent += sent,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Sends for a task that writes. A server that has refused and closed has mostly said why
    /// before: its message counts for more than the failure to send to it.
    fn send_for_writer(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let error = match self.send(context) {
            Poll::Ready(Err(error)) => error,
            Poll::Ready(Ok(())) => return Poll::Ready(Ok(())),
            Poll::Pending => {
                self.writer = Some(context.waker().clone());
                return Poll::Pending;
            }
        };
        while self.end < self.incoming.len()
            && let Poll::Ready(Ok(true)) = self.receive(context)
        {
            self.advance()?;
        }
        Poll::Ready(Err(self.fail(Why::Io(error.kind()))))
    }

    /// Reads ciphertext, as far as there is room for it; false at its end.
    fn receive(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        let mut buffer = ReadBuf::new(&mut self.incoming[self.end..]);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
        let count = buffer.filled().len();
        self.end += count;
        Poll::Ready(Ok(count > 0))
    }
}

/// Takes the bytes that the connection has to send, all in one piece.
fn encode(connection: &mut ClientConnection, outgoing: &mut Vec<u8>) {
    // A vector takes everything.
    while connection.wants_write() && connection.write_tls(outgoing).is_ok() {}
}

impl AsyncRead for Encrypted {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        loop {
            let plaintext = this.hand_over(buffer);
            // If nothing can be sent any more, something that says why may still come.
            if let Poll::Ready(Ok(())) = this.send(context)
                && let Some(writer) = this.writer.take()
            {
                writer.wake();
            }
            if buffer.filled().len() > before {
                // An error is kept, and comes with the next read.
                return Poll::Ready(Ok(()));
            }
            if let Plaintext::Ended = plaintext? {
                if !this.has_read && this.config.is_asked() {
                    return Poll::Ready(Err(this.fail(Why::Cut)));
                }
                return Poll::Ready(Ok(()));
            }
            match ready!(this.receive(context)) {
                Ok(true) => {}
                Ok(false) => return Poll::Ready(Err(this.fail(Why::Cut))),
                Err(error) => return Poll::Ready(Err(this.fail(Why::Io(error.kind())))),
            }
        }
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.check()?;
        this.advance()?;
        loop {
            let count = this.connection.writer().write(bytes)?;
            let sent = this.send_for_writer(context);
            if let Poll::Ready(Err(error)) = sent {
                return Poll::Ready(Err(error));
            }
            if count > 0 || bytes.is_empty() {
                return Poll::Ready(Ok(count));
            }
            ready!(sent)?;
            if this.connection.is_handshaking() {
                // The handshake's end wakes it.
                this.writer = Some(context.waker().clone());
                return Poll::Pending;
            }
        }
    }

    /// Sends the encrypted bytes; those that wait for the handshake leave with its end.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.check()?;
        this.advance()?;
        ready!(this.send_for_writer(context))?;
        Pin::new(&mut this.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.connection.is_handshaking() && this.failure.is_none() {
            this.connection.send_close_notify();
        }
        ready!(this.send_for_writer(context))?;
        Pin::new(&mut this.stream).poll_shutdown(context)
    }
}
