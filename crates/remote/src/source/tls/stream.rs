//! A byte stream within TLS.
//!
//! The handshake goes on while the stream is read; nothing has to wait for it. Bytes that are
//! written before it ends are kept and leave in one write with the client's last message of the
//! handshake, which saves a packet, and the server a wake-up.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, InsufficientSizeError};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;

use super::config::TlsConfig;
use super::failure::{Failure, Stage, Why};
use crate::error::{Error, ErrorKind};
use crate::source::network::Stream;

/// Ciphertext that is read at once at the most, and the longest record of TLS fits in several
/// times (RFC 8446, section 5.2).
const INCOMING_BYTES: usize = 256 << 10;
/// While the handshake lasts.
const INCOMING_BYTES_FIRST: usize = 24 << 10;
/// Plaintext that is kept until the handshake ends, and ciphertext that is kept unsent.
const PENDING_BYTES_MAX: usize = 256 << 10;
/// The plaintext of a record, and the bytes that its encryption adds (RFC 8446, section 5.2).
const RECORD_BYTES: usize = 16 << 10;
const RECORD_OVERHEAD: usize = 64;

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
    connection: UnbufferedClientConnection,
    config: Arc<TlsConfig>,
    host: String,
    outgoing: Vec<u8>,
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
            let what = format!("{host:?} is no name that a certificate can be for: {why}");
            Error::new(ErrorKind::InvalidArgument, what)
        };
        let name = ServerName::try_from(bare.to_owned()).map_err(|e| wrong(e.to_string()))?;
        let alpn = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        let connection =
            UnbufferedClientConnection::new_with_alpn(config.rustls.clone(), name, alpn);
        Ok(TlsSession {
            connection: connection.map_err(|error| wrong(error.to_string()))?,
            config: config.clone(),
            host: bare.to_owned(),
            outgoing: Vec::new(),
        })
    }

    /// The first message of the handshake, for a caller that sends it behind bytes of its own,
    /// before the stream is read as TLS.
    pub fn hello(&mut self) -> Vec<u8> {
        // Without bytes from the server there is nothing else to be done, and nothing to fail.
        while let Ok(state) = self.connection.process_tls_records(&mut []).state {
            match state {
                ConnectionState::EncodeTlsData(mut data) => {
                    if append(&mut self.outgoing, |buffer| data.encode(buffer)).is_err() {
                        break;
                    }
                }
                ConnectionState::TransmitTlsData(data) => data.done(),
                _ => break,
            }
        }
        std::mem::take(&mut self.outgoing)
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
            outgoing: self.outgoing,
            sent: 0,
            unencrypted: Vec::new(),
            decrypted: Vec::new(),
            taken: 0,
            has_read: false,
            is_closed: false,
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
    connection: UnbufferedClientConnection,
    config: Arc<TlsConfig>,
    host: String,
    /// Ciphertext that has come, from `start` to `end`.
    incoming: Vec<u8>,
    start: usize,
    end: usize,
    /// Ciphertext that leaves, from `sent` on.
    outgoing: Vec<u8>,
    sent: usize,
    /// Written, and waiting for keys.
    unencrypted: Vec<u8>,
    /// Plaintext for which the reader's buffer was too small, from `taken` on.
    decrypted: Vec<u8>,
    taken: usize,
    /// A byte has come from within.
    has_read: bool,
    /// The server has ended the session, as TLS has it.
    is_closed: bool,
    failure: Option<Failure>,
    /// A task that waits to write, while another one reads.
    writer: Option<Waker>,
    handshake: watch::Sender<Handshake>,
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

    /// Decrypts the received bytes and encrypts the written ones, as far as either can be done.
    fn advance(&mut self, buffer: Option<&mut ReadBuf<'_>>) -> io::Result<()> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone().into_io());
        }
        let was_handshaking = self.connection.is_handshaking();
        let result = self.process(buffer);
        if was_handshaking && !self.connection.is_handshaking() {
            self.announce();
        }
        result.map_err(|error| {
            self.take_alert();
            self.fail(Why::Tls(error))
        })
    }

    /// After an error: the alert that says to the server why. A connection that has failed takes no
    /// other call.
    fn take_alert(&mut self) {
        while self.connection.wants_write() {
            match self.connection.process_tls_records(&mut []).state {
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    let _ = append(&mut self.outgoing, |buffer| data.encode(buffer));
                }
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while traffic.next_record().is_some() {}
                }
                _ => return,
            }
        }
    }

    fn process(&mut self, mut buffer: Option<&mut ReadBuf<'_>>) -> Result<(), rustls::Error> {
        loop {
            let incoming = &mut self.incoming[self.start..self.end];
            let status = self.connection.process_tls_records(incoming);
            let discard = status.discard;
            let mut is_idle = false;
            match status.state? {
                ConnectionState::EncodeTlsData(mut data) => {
                    append(&mut self.outgoing, |buffer| data.encode(buffer))?;
                }
                // It leaves before anything that is encrypted later.
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let mut bytes = record?.payload;
                        self.has_read |= !bytes.is_empty();
                        if let Some(buffer) = &mut buffer {
                            let (now, later) = bytes.split_at(bytes.len().min(buffer.remaining()));
                            buffer.put_slice(now);
                            bytes = later;
                        }
                        self.decrypted.extend_from_slice(bytes);
                    }
                    is_idle = buffer.as_ref().is_some_and(|buffer| buffer.remaining() == 0);
                }
                ConnectionState::PeerClosed => self.is_closed = true,
                ConnectionState::WriteTraffic(mut traffic) => {
                    let bytes = &self.unencrypted;
                    if !bytes.is_empty() {
                        append_encrypted(&mut self.outgoing, bytes.len(), |buffer| {
                            traffic.encrypt(bytes, buffer)
                        })?;
                        self.unencrypted.clear();
                    }
                    is_idle = true;
                }
                _ => is_idle = true,
            }
            self.start += discard;
            if is_idle {
                return Ok(());
            }
        }
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
        while self.sent < self.outgoing.len() {
            let stream = Pin::new(&mut self.stream);
            match ready!(stream.poll_write(context, &self.outgoing[self.sent..])) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(sent) => self.sent += sent,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        self.outgoing.clear();
        self.sent = 0;
        Poll::Ready(Ok(()))
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
        while let Poll::Ready(Ok(true)) = self.receive(context) {
            self.advance(None)?;
        }
        Poll::Ready(Err(self.fail(Why::Io(error.kind()))))
    }

    /// Reads ciphertext; false at its end.
    fn receive(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 && self.incoming.len() - self.end < RECORD_BYTES {
            self.incoming.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.incoming.len() {
            // A message of the handshake may be longer; rustls limits it.
            self.incoming.resize(2 * self.end, 0);
        }
        let mut buffer = ReadBuf::new(&mut self.incoming[self.end..]);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
        let count = buffer.filled().len();
        self.end += count;
        Poll::Ready(Ok(count > 0))
    }
}

/// Appends the output of an encoder that needs a buffer large enough.
fn append(
    outgoing: &mut Vec<u8>,
    mut encode: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>,
) -> Result<(), rustls::Error> {
    let at = outgoing.len();
    let size = match encode(&mut []) {
        Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => {
            required_size
        }
        _ => return Ok(()),
    };
    outgoing.resize(at + size, 0);
    let written = encode(&mut outgoing[at..]);
    let written = written.map_err(|error| rustls::Error::General(error.to_string()))?;
    outgoing.truncate(at + written);
    Ok(())
}

fn append_encrypted(
    outgoing: &mut Vec<u8>,
    plain: usize,
    mut encrypt: impl FnMut(&mut [u8]) -> Result<usize, EncryptError>,
) -> Result<(), rustls::Error> {
    let at = outgoing.len();
    outgoing.resize(at + plain + (plain / RECORD_BYTES + 2) * RECORD_OVERHEAD, 0);
    let written = match encrypt(&mut outgoing[at..]) {
        Err(EncryptError::InsufficientSize(InsufficientSizeError { required_size })) => {
            outgoing.resize(at + required_size, 0);
            encrypt(&mut outgoing[at..])
        }
        written => written,
    };
    let written = written.map_err(|error| rustls::Error::General(error.to_string()))?;
    outgoing.truncate(at + written);
    Ok(())
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
            if this.taken < this.decrypted.len() {
                let kept = &this.decrypted[this.taken..];
                let count = kept.len().min(buffer.remaining());
                buffer.put_slice(&kept[..count]);
                this.taken += count;
                return Poll::Ready(Ok(()));
            }
            this.decrypted.clear();
            this.taken = 0;
            let advanced = this.advance(Some(buffer));
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
            advanced?;
            if this.is_closed {
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
        if this.outgoing.len() - this.sent >= PENDING_BYTES_MAX {
            ready!(this.send_for_writer(context))?;
        }
        let room = PENDING_BYTES_MAX.saturating_sub(this.unencrypted.len());
        if room == 0 {
            // The handshake's end wakes it.
            this.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        let count = bytes.len().min(room);
        this.unencrypted.extend_from_slice(&bytes[..count]);
        this.advance(None)?;
        if let Poll::Ready(Err(error)) = this.send_for_writer(context) {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(count))
    }

    /// Sends the encrypted bytes; those that wait for the handshake leave with its end.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.advance(None)?;
        ready!(this.send_for_writer(context))?;
        Pin::new(&mut this.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.connection.is_handshaking() && this.advance(None).is_ok() {
            let incoming = &mut this.incoming[this.start..this.end];
            if let Ok(ConnectionState::WriteTraffic(mut traffic)) =
                this.connection.process_tls_records(incoming).state
            {
                let outgoing = &mut this.outgoing;
                let ended =
                    append_encrypted(outgoing, 0, |buffer| traffic.queue_close_notify(buffer));
                ended.map_err(io::Error::other)?;
            }
        }
        ready!(this.send_for_writer(context))?;
        Pin::new(&mut this.stream).poll_shutdown(context)
    }
}
